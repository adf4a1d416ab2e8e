/* SPDX-License-Identifier: MIT */
/*
 * Validation of sequences.
 */
#include "table/sequences.h"

inlay_status inlay_count_ragged_tokens(struct inlay_sequences *sequences, size_t *tokens, inlay_fault *fault)
{
    const int64_t *offsets = sequences->offsets;
    struct inlay_extent read;
    *tokens = sequences->length;
    if (offsets != NULL && sequences->count > SIZE_MAX / sizeof *offsets - 1)
        return inlay_blame(fault, INLAY_ERROR_OVERFLOW, "sequences", NULL);
    if (sequences->length != INLAY_LENGTH_FROM_OFFSETS)
        return INLAY_OK;
    /* Without sequences the output has no rows, and no array is read. */
    uint64_t last = 0;
    inlay_status status = inlay_check_array(offsets, sequences->count + 1, sizeof *offsets, &read);
    if (status == INLAY_OK && sequences->count > 0)
        last = inlay_load_once((uint64_t)inlay_id_at(offsets, INLAY_ID_I64, sequences->count));
    *tokens = (size_t)last;
    sequences->length = *tokens;
    if (status != INLAY_OK || (last < SIZE_MAX && last <= INT64_MAX))
        return inlay_blame(fault, status, "offsets", NULL);
    *fault = (inlay_fault){.sequence = sequences->count, .value = (int64_t)last};
    return inlay_blame(fault, INLAY_ERROR_OFFSETS, "offsets", NULL);
}

inlay_status inlay_check_offsets(const struct inlay_sequences *sequences, size_t longest_allowed, size_t *longest,
                                 inlay_fault *fault)
{
    uint64_t before = 0;
    *longest = 0;
    for (size_t b = 0; b <= sequences->count; b++) {
        uint64_t offset = inlay_load_once((uint64_t)inlay_id_at(sequences->offsets, INLAY_ID_I64, b));
        bool good = b == 0 ? offset == 0 : offset >= before && offset <= sequences->length;
        if (b == sequences->count)
            good = good && offset == sequences->length;
        good = good && offset - before <= longest_allowed;
        if (!good) {
            *fault = (inlay_fault){.sequence = b, .value = (int64_t)offset};
            return inlay_blame(fault, INLAY_ERROR_OFFSETS, "offsets", NULL);
        }
        if (offset - before > *longest)
            *longest = (size_t)(offset - before);
        before = offset;
    }
    return INLAY_OK;
}

size_t inlay_sequence_at(const struct inlay_sequences *sequences, size_t token)
{
    if (sequences->offsets == NULL)
        return token / sequences->length;
    size_t b = 0, end = sequences->count;
    while (end - b > 1) {
        const size_t middle = b + (end - b) / 2;
        if (inlay_offset_at(sequences, middle) <= token)
            b = middle;
        else
            end = middle;
    }
    return b;
}

inlay_fault inlay_fault_at(const struct inlay_sequences *sequences, const void *ids, inlay_id_type type, size_t token)
{
    const size_t b = inlay_sequence_at(sequences, token);
    return (inlay_fault){
        .sequence = b, .token = token - inlay_first_token(sequences, b), .value = inlay_id_at(ids, type, token)};
}
