/* SPDX-License-Identifier: MIT */
/*
 * Validation of a batch of n-grams.
 */
#include "ngram/batch.h"

inlay_status inlay_ngram_validate(struct inlay_ngram_input *input, const inlay_ngram *ngram,
                                  const inlay_ngram_batch *batch, inlay_fault *fault)
{
    if (ngram == NULL || batch == NULL)
        return inlay_blame(fault, INLAY_ERROR_NULL, ngram == NULL ? "ngram" : "batch", NULL);
    if (!inlay_struct_known(batch, sizeof *batch))
        return inlay_blame(fault, INLAY_ERROR_OPTION, "size", INLAY_SIZE_UNKNOWN);
    if (inlay_id_bytes(batch->id_type) == 0)
        return inlay_blame(fault, INLAY_ERROR_OPTION, "id_type", "is not an inlay_id_type");
    if (batch->reserved != 0)
        return inlay_blame(fault, INLAY_ERROR_OPTION, "reserved", "is not 0");
    if (batch->history_lengths != NULL && batch->history == NULL)
        return inlay_blame(fault, INLAY_ERROR_OPTION, "history_lengths", "needs history");
    *input = (struct inlay_ngram_input){
        .ngram = ngram,
        .batch = *batch,
        .sequences = {batch->sequences, batch->length, batch->offsets},
    };
    return inlay_count_tokens(&input->sequences, &input->tokens, fault);
}

inlay_status inlay_ngram_check_reads(const struct inlay_ngram_input *input, struct inlay_extent written,
                                     const void *in_place, inlay_fault *fault)
{
    const inlay_ngram *ngram = input->ngram;
    const size_t sequences = input->sequences.count, id_bytes = inlay_id_bytes(input->batch.id_type);
    const int64_t *offsets = input->sequences.offsets;
    const uint32_t *lengths = input->batch.history_lengths;
    const struct inlay_extent nothing = {0, 0};
    size_t past = 0;
    inlay_status status = INLAY_OK;
    if (input->batch.history != NULL && __builtin_mul_overflow(sequences, ngram->length - 1, &past))
        return inlay_blame(fault, INLAY_ERROR_OVERFLOW, "history", NULL);
    if (input->tokens > 0)
        status = inlay_blame(fault, inlay_check_read(input->batch.ids, input->tokens, id_bytes, written), "ids", NULL);
    status = inlay_check_if_there(status, fault, "offsets", offsets, sequences + 1, sizeof *offsets, written);
    if (past > 0)
        status = inlay_check_if_there(status, fault, "history", input->batch.history, past, id_bytes,
                                      input->batch.history == in_place ? nothing : written);
    status = inlay_check_if_there(status, fault, "history_lengths", lengths, sequences, sizeof *lengths,
                                  lengths == in_place ? nothing : written);
    status =
        inlay_check_if_there(status, fault, "ngram", ngram->token_map, ngram->vocab, sizeof *ngram->token_map, written);
    return status == INLAY_OK && inlay_extents_overlap(written, inlay_bytes_at(ngram, ngram->bytes))
               ? inlay_blame(fault, INLAY_ERROR_OVERLAP, "ngram", NULL)
               : status;
}

/* Checks all histories. Reports the first one that is too long or has an id outside the vocabulary. */
static inlay_status check_history(const struct inlay_ngram_input *input, inlay_fault *fault)
{
    const size_t places = input->ngram->length - 1, id_bytes = inlay_id_bytes(input->batch.id_type);
    const unsigned char *history = input->batch.history;
    for (size_t b = 0; b < input->sequences.count; b++) {
        uint64_t count = places;
        if (input->batch.history_lengths != NULL)
            count = inlay_load_once((uint64_t)inlay_id_at(input->batch.history_lengths, INLAY_ID_U32, b));
        if (count > places) {
            *fault = (inlay_fault){.sequence = b, .value = (int64_t)count};
            return inlay_blame(fault, INLAY_ERROR_HISTORY, "history_lengths", NULL);
        }
        const size_t first = (b + 1) * places - (size_t)count;
        const size_t bad =
            inlay_first_bad_id(history + first * id_bytes, input->batch.id_type, (size_t)count, input->ngram->vocab);
        if (bad < count) {
            const size_t at = first + bad;
            *fault = (inlay_fault){
                .sequence = b, .token = at - b * places, .value = inlay_id_at(history, input->batch.id_type, at)};
            return inlay_blame(fault, INLAY_ERROR_HISTORY, "history", NULL);
        }
    }
    return INLAY_OK;
}

inlay_status inlay_ngram_check_contents(const struct inlay_ngram_input *input, inlay_fault *fault)
{
    size_t longest;
    inlay_status status = INLAY_OK;
    if (input->sequences.offsets != NULL)
        status = inlay_check_offsets(&input->sequences, SIZE_MAX, &longest, fault);
    if (status == INLAY_OK && input->batch.history != NULL)
        status = check_history(input, fault);
    if (status == INLAY_OK && !inlay_ids_in(&input->sequences, input->batch.ids, input->batch.id_type, input->tokens,
                                            input->ngram->vocab, fault))
        status = inlay_blame(fault, INLAY_ERROR_ID, "ids", NULL);
    return status;
}
