/* SPDX-License-Identifier: MIT */
/*
 * Validation of calls: one function per kind of argument, called in order by inlay_validate(), which also fills in the
 * work.
 */
#include "layer/validate.h"

#include "base/compare.h"
#include "base/executor.h"
#include "layer/rows.h"
#include "table/view.h"

#include <float.h>

/* ---- The struct, its shapes and its arrays ---------------------------------------------------------------------- */

static inline inlay_status bad_field(inlay_fault *fault, const char *field, const char *reason)
{
    return inlay_blame_field(fault, INLAY_ERROR_OPTION, field, reason);
}

/* Returns true if ids have a type, or neither are given. */
static inline bool type_fits(const void *ids, inlay_id_type type)
{
    return ids != NULL ? inlay_id_bytes(type) > 0 : type == 0;
}

static inline inlay_status check_fields(const inlay_layer_spec *spec, const inlay_batch *batch, inlay_fault *fault)
{
    static const char wrong_type[] = "is not an inlay_id_type, or not 0 without ids";
    const bool pooled = spec->pooling != INLAY_POOLING_NONE, shard = inlay_is_shard(spec->tokens);
    const float below_one = 1 - FLT_EPSILON / 2;
    if (!inlay_struct_known(batch, sizeof *batch))
        return bad_field(fault, "size", INLAY_SIZE_UNKNOWN);
    if (inlay_id_bytes(batch->id_type) == 0)
        return bad_field(fault, "id_type", "is not an inlay_id_type");
    if (batch->weights != NULL && !pooled)
        return bad_field(fault, "weights", "needs a layer with pooling");
    if (batch->padded_length > 0 && batch->offsets == NULL)
        return bad_field(fault, "padded_length", "needs offsets");
    if (batch->padded_length > 0 && pooled)
        return bad_field(fault, "padded_length", "excludes pooling, which has one row per sequence");
    if (!inlay_float_within(batch->dropout, shard ? 0 : below_one))
        return bad_field(fault, "dropout", shard ? "is not 0, and the layer has a shard" : "is not in [0, 1)");
    if (batch->position_ids != NULL && !inlay_has_positions(spec))
        return bad_field(fault, "position_ids", "needs a layer with positions");
    if (!type_fits(batch->position_ids, batch->position_id_type))
        return bad_field(fault, "position_id_type", wrong_type);
    if (batch->segment_ids != NULL && spec->segments == NULL)
        return bad_field(fault, "segment_ids", "needs a layer with segments");
    if (!type_fits(batch->segment_ids, batch->segment_id_type))
        return bad_field(fault, "segment_id_type", wrong_type);
    return INLAY_OK;
}

/* Returns true if the output overlaps an array of the layer's tables. Rarely called, so not inlined. */
static __attribute__((noinline)) bool overlaps_tables(const inlay_layer *layer, struct inlay_extent written)
{
    const inlay_table *const tables[] = {&layer->tokens, layer->spec.positions, layer->spec.segments};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (tables[i] != NULL && inlay_table_overlaps(written, tables[i]))
            return true;
    return false;
}

/* Returns true if the output overlaps anything that the layer reads. */
static inline bool overlaps_layer(const inlay_layer *layer, struct inlay_extent written)
{
    const struct inlay_layer_reads *reads = &layer->reads;
    for (size_t i = 0; i < reads->count; i++)
        if (inlay_extents_overlap(written, reads->extents[i]) &&
            (i >= reads->of_tables || overlaps_tables(layer, written)))
            return true;
    return false;
}

inlay_status inlay_check_reads(const inlay_layer *layer, const inlay_batch *batch, size_t tokens, const char *output,
                               struct inlay_extent written, inlay_fault *fault)
{
    const size_t sequences = batch->sequences;
    inlay_status status = INLAY_OK;
    if (tokens > 0)
        status = inlay_blame(fault, inlay_check_read(batch->ids, tokens, inlay_id_bytes(batch->id_type), written),
                             "ids", NULL);
    status = inlay_check_if_there(status, fault, "starts", batch->starts, sequences, sizeof *batch->starts, written);
    status =
        inlay_check_if_there(status, fault, "offsets", batch->offsets, sequences + 1, sizeof *batch->offsets, written);
    status = inlay_check_if_there(status, fault, "position_ids", batch->position_ids, tokens,
                                  inlay_id_bytes(batch->position_id_type), written);
    status = inlay_check_if_there(status, fault, "segment_ids", batch->segment_ids, tokens,
                                  inlay_id_bytes(batch->segment_id_type), written);
    status = inlay_check_if_there(status, fault, "weights", batch->weights, tokens, sizeof(float), written);
    if (status == INLAY_OK && overlaps_layer(layer, written))
        status = inlay_blame_field(fault, INLAY_ERROR_OVERLAP, output, "overlaps what the layer reads");
    return status;
}

/* ---- The contents of the arrays --------------------------------------------------------------------------------- */

/* Returns one more than the last position if positions count up from the starts; UINT64_MAX if some are negative. */
static uint64_t end_of_positions(const struct inlay_work *work)
{
    const size_t sequences = work->batch.starts != NULL ? work->batch.sequences : 1;
    uint64_t end = 0;
    for (size_t b = 0; b < sequences; b++) {
        const int64_t start =
            work->batch.starts != NULL ? inlay_id_at(work->batch.starts, INLAY_ID_I64, b) : work->batch.start;
        const size_t count = work->batch.starts != NULL ? inlay_sequence_of(work, b).count : work->longest;
        const uint64_t end_of_sequence = start < 0 ? UINT64_MAX : (uint64_t)start + count;
        if (count > 0 && end_of_sequence > end)
            end = end_of_sequence;
    }
    return end;
}

/* Returns the field that gives positions. */
static const char *position_field(const struct inlay_work *work)
{
    return work->batch.position_ids != NULL ? "position_ids" : work->batch.starts != NULL ? "starts" : "start";
}

/* Checks positions token by token, as the lookup and general paths find them. Unused positions may be invalid. */
static inlay_status check_each_position(const struct inlay_work *work, inlay_fault *fault)
{
    const uint64_t limit = inlay_position_limit(work);
    for (size_t b = 0; b < work->batch.sequences; b++) {
        const struct inlay_sequence sequence = inlay_sequence_of(work, b);
        struct inlay_position_counter counter = inlay_count_positions(work, b);
        for (size_t s = 0; s < sequence.count; s++) {
            size_t token = sequence.first + s, row;
            uint64_t position = inlay_next_position(work, &counter, token, s);
            bool exists = position < limit || (work->spec->clamp_positions && (int64_t)position >= 0 && limit > 0);
            if (!exists && inlay_row_gets_terms(inlay_row_of(work, token, &row))) {
                *fault = (inlay_fault){.sequence = b, .token = s, .value = (int64_t)position};
                return inlay_blame_field(fault, INLAY_ERROR_POSITION, position_field(work), NULL);
            }
        }
    }
    return INLAY_OK;
}

/* Checks that every id has a row, if some values of the mapping are INLAY_NO_ROW. */
static inlay_status check_pruned_ids(const struct inlay_work *work, const struct inlay_sequences *sequences,
                                     size_t tokens, inlay_fault *fault)
{
    const void *const ids = work->batch.ids;
    for (size_t token = 0; token < tokens; token++) {
        const uint64_t id = inlay_load_once((uint64_t)inlay_id_at(ids, work->batch.id_type, token));
        const bool known = id < inlay_id_limit(work->spec);
        if (known && !inlay_id_lacks_row(work->spec, id))
            continue;
        *fault = inlay_fault_at(sequences, ids, work->batch.id_type, token);
        return inlay_blame_field(fault, INLAY_ERROR_ID, "ids", known ? "has no row in token_mapping" : NULL);
    }
    return INLAY_OK;
}

/* Validates offsets, ids, positions and segment ids, in this order. Sets the longest sequence, and whether its
   positions must be computed token by token. */
static inlay_status check_contents(struct inlay_work *work, const inlay_layer *layer,
                                   const struct inlay_sequences *sequences, size_t tokens, inlay_fault *fault)
{
    if (work->batch.offsets != NULL) {
        const size_t padded = work->batch.padded_length;
        inlay_status status = inlay_check_offsets(sequences, padded > 0 ? padded : SIZE_MAX, &work->longest, fault);
        if (status != INLAY_OK)
            return status;
    }
    if (layer->bad_ids_fail && layer->pruned) {
        inlay_status status = check_pruned_ids(work, sequences, tokens, fault);
        if (status != INLAY_OK)
            return status;
    } else if (layer->bad_ids_fail &&
               !inlay_ids_in(sequences, work->batch.ids, work->batch.id_type, tokens, layer->id_limit, fault))
        return inlay_blame_field(fault, INLAY_ERROR_ID, "ids", NULL);
    const bool counted = work->batch.position_ids == NULL && !work->padding_aware && !work->spec->clamp_positions;
    const bool positioned = work->spec->positions != NULL;
    work->positions_end = counted && positioned ? end_of_positions(work) : UINT64_MAX;
    /* If some positions don't exist, they are valid only if no token uses them. */
    work->positions_per_token = positioned && work->positions_end > inlay_position_limit(work);
    if (work->positions_per_token) {
        inlay_status status = check_each_position(work, fault);
        if (status != INLAY_OK)
            return status;
    }
    if (work->batch.segment_ids != NULL &&
        !inlay_ids_in(sequences, work->batch.segment_ids, work->batch.segment_id_type, tokens,
                      work->spec->segments->rows, fault))
        return inlay_blame_field(fault, INLAY_ERROR_SEGMENT, "segment_ids", NULL);
    return INLAY_OK;
}

inlay_status inlay_validate(struct inlay_work *work, const inlay_layer *layer, const inlay_batch *batch,
                            const char *output, const void *out, size_t out_stride_bytes,
                            const inlay_executor *executor, inlay_fault *fault)
{
    inlay_fault unused;
    fault = fault != NULL ? fault : &unused;
    if (layer == NULL || batch == NULL)
        return inlay_blame_field(fault, INLAY_ERROR_NULL, layer == NULL ? "layer" : "batch", NULL);
    const inlay_layer_spec *spec = &layer->spec;
    size_t tokens = 0;
    struct inlay_extent written = {0, 0};
    struct inlay_sequences sequences = inlay_sequences_of(batch);
    inlay_status status = check_fields(spec, batch, fault);
    if (status == INLAY_OK)
        status = inlay_count_tokens(&sequences, &tokens, fault);
    if (status != INLAY_OK)
        return status;
    work->rows = spec->pooling != INLAY_POOLING_NONE ? batch->sequences : tokens;
    if (batch->padded_length > 0 && __builtin_mul_overflow(batch->sequences, batch->padded_length, &work->rows))
        return inlay_blame_field(fault, INLAY_ERROR_OVERFLOW, "padded_length", NULL);
    status = layer->row_bytes > 0 ? inlay_check_rows(out, work->rows, layer->row_bytes, out_stride_bytes, &written)
                                  : INLAY_ERROR_OVERFLOW;
    status = inlay_blame(fault, status, status == INLAY_ERROR_STRIDE ? "out_stride_bytes" : output, NULL);
    status = inlay_check_executor(status, executor, fault);
    if (status != INLAY_OK || work->rows == 0)
        return status;
    status = inlay_check_reads(layer, batch, tokens, output, written, fault);
    if (status != INLAY_OK)
        return status;
    work->spec = spec;
    work->tokens = &layer->tokens;
    work->batch = *batch;
    work->batch.length = sequences.length;
    work->out = (unsigned char *)(uintptr_t)out;
    work->out_stride_bytes = out_stride_bytes;
    work->row_bytes = layer->row_bytes;
    work->longest = sequences.length;
    work->special_rows = layer->special_rows;
    work->pruned = layer->pruned;
    work->padding_aware = spec->position_mode == INLAY_POSITION_MODE_PADDING_AWARE;
    return check_contents(work, layer, &sequences, tokens, fault);
}
