/* SPDX-License-Identifier: MIT */
/*
 * The separate operations gather, scale and add_positions: each is a pass with fewer terms.
 */
#include "base/executor.h"
#include "base/rounding.h"
#include "layer/handle.h"
#include "layer/routes.h"
#include "positions/list.h"
#include "table/view.h"

float inlay_sqrt_dim(size_t dim)
{
    /* The root has 97 fraction bits. It is at least 2^-81 away from the midpoint of two floats unless it is one: for a
       midpoint m, which has 25 bits, n - m^2 is a multiple of 2^-48. */
    return inlay_round_f32(inlay_fixed_sqrt(inlay_fixed_integer(dim)), 0, false);
}

/* Plans and runs validated work with the terms of `spec` and the default tuning. */
static inlay_status run_validated(inlay_layer_spec *spec, const inlay_batch *batch, void *out, size_t out_stride_bytes,
                                  const inlay_executor *executor)
{
    inlay_tuning tuning = inlay_tuning_default();
    if (batch->ids == NULL) {
        /* Rows without ids are sequential, so the hardware prefetcher works well with long runs over each sequence:
           shared positions may fill half of L2 rather than half of L1. (Zen 4: 16.7 instead of 18.8 ms for
           8 x 2048 x 4096.) */
        tuning.block_bytes = inlay_l2_bytes() / 2;
    }
    spec->tuning = &tuning;
    const struct inlay_work work = {
        .spec = spec,
        .tokens = spec->tokens,
        .batch = *batch,
        .out = out,
        .out_stride_bytes = out_stride_bytes,
        .row_bytes = spec->tokens->dim * sizeof(float),
        .rows = batch->sequences * batch->length,
        .positions_end = 0, /* no sinusoid */
        .longest = batch->length,
        .special_rows = spec->tokens->vocab > 0,
    };
    struct inlay_plan plan;
    inlay_make_plan(&plan, &work, executor, NULL);
    inlay_plan_run(&plan, executor);
    spec->tuning = NULL;
    return INLAY_OK;
}

/* Checks a table that is read, the executor, and `rows` output rows, and sets the extent of the output. It must not
   overlap the view or, unless it is written in place, the table. The two names are those of the arguments. */
static inlay_status check_arguments(const inlay_table *table, const char *table_name, bool in_place, const void *out,
                                    const char *out_name, size_t rows, size_t out_stride_bytes,
                                    const inlay_executor *executor, struct inlay_extent *written, inlay_fault *fault)
{
    struct inlay_table_arrays read;
    if (table == NULL)
        return inlay_blame(fault, INLAY_ERROR_NULL, table_name, NULL);
    inlay_status status = inlay_check_table(table, &read, table_name, fault);
    status = inlay_check_executor(status, executor, fault);
    if (status == INLAY_OK)
        status = inlay_blame(fault, inlay_check_matrix(out, rows, table->dim, INLAY_F32, out_stride_bytes, written),
                             out_name, NULL);
    if (status != INLAY_OK)
        return status;
    const bool overlaps = inlay_extents_overlap(*written, inlay_bytes_at(table, sizeof *table)) ||
                          (!in_place && inlay_arrays_overlap(*written, &read) && inlay_table_overlaps(*written, table));
    return overlaps ? inlay_blame(fault, INLAY_ERROR_OVERLAP, out_name, NULL) : INLAY_OK;
}

inlay_status inlay_gather(const inlay_table *table, const void *ids, inlay_id_type id_type, size_t n, float scale,
                          void *out, size_t out_stride_bytes, const inlay_executor *executor, inlay_fault *fault)
{
    struct inlay_extent written;
    inlay_status status =
        check_arguments(table, "table", false, out, "out", n, out_stride_bytes, executor, &written, fault);
    if (status == INLAY_OK && inlay_id_bytes(id_type) == 0)
        status = inlay_blame(fault, INLAY_ERROR_OPTION, "id_type", "is not an inlay_id_type");
    if (status == INLAY_OK && n > 0)
        status = inlay_blame(fault, inlay_check_read(ids, n, inlay_id_bytes(id_type), written), "ids", NULL);
    if (status != INLAY_OK || n == 0)
        return status;
    const struct inlay_sequences one = {1, n, NULL};
    inlay_fault unused;
    if (!inlay_ids_in(&one, ids, id_type, n, inlay_vocab_of(table), fault != NULL ? fault : &unused))
        return inlay_blame(fault, INLAY_ERROR_ID, "ids", NULL);
    inlay_layer_spec spec = inlay_layer_spec_default(table);
    spec.scale = scale;
    inlay_batch batch = inlay_batch_i32(NULL, 1, n, 0);
    batch.ids = ids;
    batch.id_type = id_type;
    return run_validated(&spec, &batch, out, out_stride_bytes, executor);
}

inlay_status inlay_scale(const void *x, size_t x_stride_bytes, size_t n, size_t dim, float scale, void *out,
                         size_t out_stride_bytes, const inlay_executor *executor)
{
    const inlay_table rows = inlay_table_view(INLAY_F32, x, n, dim, x_stride_bytes);
    const bool in_place = x == out && x_stride_bytes == out_stride_bytes;
    struct inlay_extent written;
    inlay_status status =
        check_arguments(&rows, "x", in_place, out, "out", n, out_stride_bytes, executor, &written, NULL);
    if (status != INLAY_OK || n == 0)
        return status;
    inlay_layer_spec spec = inlay_layer_spec_default(&rows);
    spec.scale = scale;
    if (in_place) /* the output was just read, so it is in cache */
        spec.stores = INLAY_STORES_CACHED;
    const inlay_batch batch = inlay_batch_i32(NULL, 1, n, 0);
    return run_validated(&spec, &batch, out, out_stride_bytes, executor);
}

inlay_status inlay_add_positions(void *x, size_t x_stride_bytes, size_t batch, size_t seq, const inlay_table *positions,
                                 int64_t start, const inlay_executor *executor, inlay_fault *fault)
{
    struct inlay_extent written;
    size_t tokens;
    if (__builtin_mul_overflow(batch, seq, &tokens))
        return inlay_blame(fault, INLAY_ERROR_OVERFLOW, "batch", NULL);
    inlay_status status =
        check_arguments(positions, "positions", false, x, "x", tokens, x_stride_bytes, executor, &written, fault);
    if (status == INLAY_OK && positions->vocab > 0)
        status = inlay_blame(fault, INLAY_ERROR_OPTION, "positions", "is a shard");
    if (status != INLAY_OK || tokens == 0)
        return status;
    inlay_fault unused;
    if (!inlay_positions_in(start, seq, positions->rows, fault != NULL ? fault : &unused))
        return inlay_blame(fault, INLAY_ERROR_POSITION, "start", NULL);
    inlay_table rows = inlay_table_view(INLAY_F32, x, tokens, positions->dim, x_stride_bytes);
    inlay_layer_spec spec = inlay_layer_spec_default(&rows);
    spec.positions = positions;
    spec.stores = INLAY_STORES_CACHED; /* as inlay_scale() in place */
    const inlay_batch call = inlay_batch_i32(NULL, batch, seq, start);
    return run_validated(&spec, &call, x, x_stride_bytes, executor);
}
