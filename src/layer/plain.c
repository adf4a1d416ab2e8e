/* SPDX-License-Identifier: MIT */
/*
 * The plain operations, and what is said of the library itself: check arguments, describe the work, run the pass.
 */
#include "base/executor.h"
#include "layer/embed.h"
#include "layer/resolve.h"
#include "positions/list.h"
#include "table/view.h"

#include <string.h>

float inlay_sqrt_dim(size_t dim)
{
    uint32_t bits = inlay_exact_sqrt_f32(dim);
    float root;
    memcpy(&root, &bits, sizeof root);
    return root;
}

inlay_status inlay_gather(const inlay_table *table, const void *ids, inlay_id_type id_type, size_t n, float scale,
                          void *out, size_t out_stride_bytes, const inlay_executor *executor, inlay_fault *fault)
{
    if (table == NULL)
        return INLAY_ERROR_NULL;
    struct inlay_table_extents read;
    struct inlay_extent read_ids, view, written;
    inlay_status status = inlay_check_table(table, &read);
    if (status == INLAY_OK)
        status = inlay_check_executor(executor);
    if (status != INLAY_OK)
        return status;
    if (inlay_id_bytes(id_type) == 0)
        return INLAY_ERROR_OPTION;
    status = inlay_check_matrix(out, n, table->dim, INLAY_F32, out_stride_bytes, &written);
    if (status != INLAY_OK || n == 0)
        return status;
    status = inlay_check_array(ids, n, inlay_id_bytes(id_type), &read_ids);
    if (status != INLAY_OK)
        return status;
    status = inlay_check_array(table, table->size, 1, &view);
    if (status != INLAY_OK)
        return status;
    if (inlay_table_overlaps(written, &read) || inlay_extents_overlap(written, read_ids) ||
        inlay_extents_overlap(written, view))
        return INLAY_ERROR_OVERLAP;
    size_t bad = inlay_first_bad_id(ids, id_type, n, table->vocab > 0 ? table->vocab : table->rows);
    if (bad < n) {
        if (fault != NULL)
            *fault = (inlay_fault){0, bad, inlay_id_at(ids, id_type, bad)};
        return INLAY_ERROR_ID;
    }
    struct inlay_embed_work work = {
        .tokens = table,
        .ids = ids,
        .id_type = id_type,
        .ruled = table->vocab > 0,
        .padding_id = -1,
        .scale = scale,
        .sequences = 1,
        .length = n,
        .longest = n,
        .out_length = n,
        .dim = table->dim,
        .out = out,
        .out_stride_bytes = out_stride_bytes,
        .out_type = INLAY_F32,
        .tuning = inlay_thresholds_of(NULL, INLAY_STORES_AUTOMATIC, table),
    };
    inlay_embed_run(&work, executor);
    return INLAY_OK;
}

inlay_status inlay_scale(const void *x, size_t x_stride_bytes, size_t n, size_t dim, float scale, void *out,
                         size_t out_stride_bytes, const inlay_executor *executor)
{
    struct inlay_extent read, written;
    inlay_status status = inlay_check_matrix(x, n, dim, INLAY_F32, x_stride_bytes, &read);
    if (status == INLAY_OK)
        status = inlay_check_executor(executor);
    if (status != INLAY_OK)
        return status;
    status = inlay_check_matrix(out, n, dim, INLAY_F32, out_stride_bytes, &written);
    if (status != INLAY_OK || n == 0)
        return status;
    bool in_place = x == out && x_stride_bytes == out_stride_bytes;
    if (!in_place && inlay_extents_overlap(written, read))
        return INLAY_ERROR_OVERLAP;
    inlay_table rows = inlay_table_f32(x, n, dim);
    rows.stride_bytes = x_stride_bytes;
    struct inlay_embed_work work = {
        .tokens = &rows,
        .scale = scale,
        .sequences = 1,
        .length = n,
        .longest = n,
        .out_length = n,
        .dim = dim,
        .out = out,
        .out_stride_bytes = out_stride_bytes,
        .out_type = INLAY_F32,
        .tuning = inlay_thresholds_of(NULL, INLAY_STORES_AUTOMATIC, &rows),
    };
    if (in_place) /* what is written was just read: it lies in cache */
        work.tuning.stores = INLAY_STORES_CACHED;
    inlay_embed_run(&work, executor);
    return INLAY_OK;
}

inlay_status inlay_add_positions(void *x, size_t x_stride_bytes, size_t batch, size_t seq, const inlay_table *positions,
                                 int64_t start, const inlay_executor *executor, inlay_fault *fault)
{
    if (positions == NULL)
        return INLAY_ERROR_NULL;
    struct inlay_table_extents read;
    struct inlay_extent view, written;
    inlay_status status = inlay_check_table(positions, &read);
    if (status == INLAY_OK && positions->vocab > 0)
        status = INLAY_ERROR_OPTION;
    if (status == INLAY_OK)
        status = inlay_check_executor(executor);
    if (status != INLAY_OK)
        return status;
    size_t tokens;
    if (__builtin_mul_overflow(batch, seq, &tokens))
        return INLAY_ERROR_OVERFLOW;
    status = inlay_check_matrix(x, tokens, positions->dim, INLAY_F32, x_stride_bytes, &written);
    if (status != INLAY_OK || tokens == 0)
        return status;
    status = inlay_check_array(positions, positions->size, 1, &view);
    if (status != INLAY_OK)
        return status;
    if (inlay_table_overlaps(written, &read) || inlay_extents_overlap(written, view))
        return INLAY_ERROR_OVERLAP;
    inlay_fault found;
    if (!inlay_positions_in(start, seq, positions->rows, &found)) {
        if (fault != NULL)
            *fault = found;
        return INLAY_ERROR_POSITION;
    }
    inlay_table rows = inlay_table_f32(x, tokens, positions->dim);
    rows.stride_bytes = x_stride_bytes;
    struct inlay_embed_work work = {
        .tokens = &rows,
        .scale = 1,
        .positions = positions,
        .start = start,
        .sequences = batch,
        .length = seq,
        .longest = seq,
        .out_length = seq,
        .dim = positions->dim,
        .out = x,
        .out_stride_bytes = x_stride_bytes,
        .out_type = INLAY_F32,
        .tuning = inlay_thresholds_of(NULL, INLAY_STORES_AUTOMATIC, &rows),
    };
    work.tuning.stores = INLAY_STORES_CACHED; /* as inlay_scale in place */
    inlay_embed_run(&work, executor);
    return INLAY_OK;
}
