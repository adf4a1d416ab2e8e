/* SPDX-License-Identifier: MIT */
/*
 * inlay_ngram_history(): computes the histories after accepted tokens.
 */
#include "base/arguments.h"
#include "ngram/batch.h"

#include <string.h>

/* Checks that no sequence accepts more tokens than it has; reports the first that does. */
static inlay_status check_accepted(const struct inlay_ngram_input *input, const int64_t *accepted, inlay_fault *fault)
{
    for (size_t b = 0; b < input->sequences.count; b++) {
        const uint64_t count = inlay_load_once((uint64_t)inlay_id_at(accepted, INLAY_ID_I64, b));
        if (count > inlay_sequence_tokens(&input->sequences, b).count) {
            *fault = (inlay_fault){.sequence = b, .value = (int64_t)count};
            return inlay_blame(fault, INLAY_ERROR_HISTORY, "accepted", NULL);
        }
    }
    return INLAY_OK;
}

/* Copies ids of any type as bytes. */
static void copy_ids(unsigned char *to, const void *ids, size_t first, size_t count, size_t id_bytes)
{
    if (count > 0)
        memcpy(to, (const unsigned char *)ids + first * id_bytes, count * id_bytes);
}

/* Writes the history of sequence b and returns its length. Assembled in a local buffer, since `out` may be the history
   itself. */
static size_t write_history(const struct inlay_ngram_input *input, size_t b, const int64_t *accepted,
                            unsigned char *out)
{
    const size_t places = input->ngram->length - 1, id_bytes = inlay_id_bytes(input->batch.id_type);
    unsigned char ids[INLAY_NGRAM_MAX_LENGTH * sizeof(int64_t)] = {0};
    struct inlay_sequence sequence = inlay_sequence_tokens(&input->sequences, b);
    if (accepted != NULL) {
        const uint64_t count = inlay_load_once((uint64_t)inlay_id_at(accepted, INLAY_ID_I64, b));
        sequence.count = count < sequence.count ? (size_t)count : sequence.count;
    }
    const size_t taken = inlay_min(sequence.count, places), end = sequence.first + sequence.count;
    const struct inlay_sequence past = inlay_ngram_past_of(input, b, places - taken);
    copy_ids(ids + (places - taken - past.count) * id_bytes, input->batch.history, past.first, past.count, id_bytes);
    copy_ids(ids + (places - taken) * id_bytes, input->batch.ids, end - taken, taken, id_bytes);
    if (places > 0)
        memcpy(out + b * places * id_bytes, ids, places * id_bytes);
    return past.count + taken;
}

/* Checks an output array of n elements, called `field`, against all arrays that are read. */
static inlay_status check_output(const struct inlay_ngram_input *input, const int64_t *accepted, const char *field,
                                 const void *out, size_t n, size_t element_bytes, const void *in_place,
                                 struct inlay_extent *written, inlay_fault *fault)
{
    *written = (struct inlay_extent){0, 0};
    inlay_status status =
        n > 0 ? inlay_blame(fault, inlay_check_array(out, n, element_bytes, written), field, NULL) : INLAY_OK;
    if (status == INLAY_OK)
        status = inlay_ngram_check_reads(input, *written, in_place, fault);
    return inlay_check_if_there(status, fault, "accepted", accepted, input->sequences.count, sizeof *accepted,
                                *written);
}

inlay_status inlay_ngram_history(const inlay_ngram *ngram, const inlay_ngram_batch *batch, const int64_t *accepted,
                                 void *out, uint32_t *out_lengths, inlay_fault *fault)
{
    inlay_fault unused;
    fault = fault != NULL ? fault : &unused;
    struct inlay_ngram_input input;
    struct inlay_extent ids, lengths = {0, 0};
    inlay_status status = inlay_ngram_validate(&input, ngram, batch, fault);
    if (status != INLAY_OK || input.sequences.count == 0)
        return status;
    const size_t places = ngram->length - 1, sequences = input.sequences.count;
    const bool all_full = places == 0 || (input.batch.history != NULL && input.batch.history_lengths == NULL);
    size_t n;
    if (__builtin_mul_overflow(sequences, places, &n))
        return inlay_blame(fault, INLAY_ERROR_OVERFLOW, "sequences", NULL);
    status = check_output(&input, accepted, "out", out, n, inlay_id_bytes(input.batch.id_type),
                          out == batch->history ? out : NULL, &ids, fault);
    if (status == INLAY_OK && (out_lengths != NULL || !all_full))
        status = check_output(&input, accepted, "out_lengths", out_lengths, sequences, sizeof *out_lengths,
                              out_lengths == batch->history_lengths ? out_lengths : NULL, &lengths, fault);
    if (status == INLAY_OK && inlay_extents_overlap(ids, lengths))
        status = inlay_blame(fault, INLAY_ERROR_OVERLAP, "out_lengths", NULL);
    if (status == INLAY_OK)
        status = inlay_ngram_check_contents(&input, fault);
    if (status == INLAY_OK && accepted != NULL)
        status = check_accepted(&input, accepted, fault);
    if (status != INLAY_OK)
        return status;
    for (size_t b = 0; b < sequences; b++) {
        const uint32_t length = (uint32_t)write_history(&input, b, accepted, out);
        if (out_lengths != NULL)
            memcpy((unsigned char *)(void *)out_lengths + b * sizeof length, &length, sizeof length);
    }
    return INLAY_OK;
}
