/* SPDX-License-Identifier: MIT */
/*
 * The public functions that write rows of a sinusoid, for consecutive positions and for lists, and their parts. Parts
 * start at multiples of blocks between anchors, since an anchor takes as long as several rows.
 */
#include "positions/rows.h"

#include "base/executor.h"
#include "base/fpenv.h"
#include "base/minmax.h"
#include "dispatch/dispatch.h"
#include "positions/list.h"
#include "table/element.h"
#include "table/ids.h"

/* Returns rows [first, end) of all rows. */
static struct inlay_rows rows_between(const struct inlay_rows *all, size_t first, size_t end)
{
    struct inlay_rows some = *all;
    some.n = end - first;
    some.out += first * all->out_stride_bytes;
    if (all->sin != NULL)
        some.sin += first * all->out_stride_bytes;
    if (all->positions.list != NULL)
        some.positions.list =
            (const unsigned char *)all->positions.list + first * inlay_position_bytes(all->positions.type);
    some.positions.first += (uint32_t)first;
    return some;
}

static void fill_part(void *arg, size_t index)
{
    const struct inlay_rows *all = arg;
    size_t first = inlay_share_begin(all->blocks, all->parts, index) * INLAY_ANCHOR_ROWS;
    size_t end = inlay_share_begin(all->blocks, all->parts, index + 1) * INLAY_ANCHOR_ROWS;
    const struct inlay_rows part = rows_between(all, first, inlay_min(end, all->n));
    struct inlay_fpenv host = inlay_fpenv_enter();
    part.fill(&part);
    if (part.stream)
        inlay_store_fence();
    inlay_fpenv_leave(host);
}

/* Writes all rows, validated by the caller, in parts on the executor's threads. */
static void run_rows(struct inlay_rows *rows, const inlay_executor *executor)
{
    size_t bytes = rows->n * rows->sinusoid->dim * inlay_type_bytes(rows->type);
    rows->blocks = (rows->n + INLAY_ANCHOR_ROWS - 1) / INLAY_ANCHOR_ROWS;
    rows->parts = inlay_min(inlay_parts(executor, bytes), rows->blocks);
    rows->kernels = inlay_dispatch();
    const inlay_tuning tuning = inlay_tuning_default();
    rows->stream = rows->kernels->streams && rows->sin == NULL && bytes > tuning.stream_bytes;
    inlay_run_parts(executor, rows->parts, fill_part, rows);
}

inlay_status inlay_rows_run_from(struct inlay_rows *rows, int64_t first, const inlay_executor *executor)
{
    inlay_fault ignored;
    if (rows->n > 0 && !inlay_positions_in(first, rows->n, INLAY_POSITION_LIMIT, &ignored))
        return INLAY_ERROR_POSITION;
    rows->positions.first = (uint32_t)first;
    run_rows(rows, executor);
    return INLAY_OK;
}

/* ---- Cached rows of handles ------------------------------------------------------------------------------------- */

size_t inlay_cached_rows(size_t cached_positions, size_t dim)
{
    const size_t default_rows = 4096, default_floats = ((size_t)64 << 20) / sizeof(float);
    if (cached_positions == INLAY_CACHED_POSITIONS_DEFAULT)
        return inlay_min(default_floats / dim, default_rows);
    return cached_positions < INLAY_POSITION_LIMIT ? cached_positions : (size_t)INLAY_POSITION_LIMIT;
}

void inlay_fill_cache(const inlay_sinusoid *sinusoid, size_t rows, unsigned char *cache)
{
    const struct inlay_kernels *kernels = inlay_dispatch();
    const struct inlay_positions first = {.first = 0};
    struct inlay_fpenv host = inlay_fpenv_enter();
    inlay_sinusoid_fill(kernels, sinusoid, first, rows, INLAY_F32, cache, sinusoid->dim * sizeof(float), false);
    inlay_fpenv_leave(host);
}

/* ---- Rows of a sinusoid ----------------------------------------------------------------------------------------- */

static void fill_sinusoid(const struct inlay_rows *rows)
{
    inlay_sinusoid_fill(rows->kernels, rows->sinusoid, rows->positions, rows->n, rows->type, rows->out,
                        rows->out_stride_bytes, rows->stream);
}

/* Validates the common arguments of both functions, and sets *rows and the extent of the output, *written. */
static inlay_status begin_rows(struct inlay_rows *rows, const inlay_sinusoid *sinusoid, size_t n,
                               inlay_element_type type, void *out, size_t out_stride_bytes,
                               const inlay_executor *executor, struct inlay_extent *written, inlay_fault *fault)
{
    if (sinusoid == NULL)
        return inlay_blame(fault, INLAY_ERROR_NULL, "sinusoid", NULL);
    *rows = (struct inlay_rows){.fill = fill_sinusoid,
                                .sinusoid = sinusoid,
                                .n = n,
                                .type = type,
                                .out = out,
                                .out_stride_bytes = out_stride_bytes};
    inlay_status status = inlay_check_matrix(out, n, sinusoid->dim, type, out_stride_bytes, written);
    status = inlay_blame(fault, status, status == INLAY_ERROR_OPTION ? "type" : "out", NULL);
    status = inlay_check_executor(status, executor, fault);
    if (status == INLAY_OK && inlay_extents_overlap(*written, inlay_bytes_at(sinusoid, sinusoid->bytes)))
        status = inlay_blame(fault, INLAY_ERROR_OVERLAP, "out", NULL);
    return status;
}

inlay_status inlay_sinusoid_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n, inlay_element_type type,
                                 void *out, size_t out_stride_bytes, const inlay_executor *executor)
{
    struct inlay_rows rows;
    struct inlay_extent written;
    inlay_status status = begin_rows(&rows, sinusoid, n, type, out, out_stride_bytes, executor, &written, NULL);
    return status == INLAY_OK ? inlay_rows_run_from(&rows, first, executor) : status;
}

inlay_status inlay_sinusoid_at(const inlay_sinusoid *sinusoid, const void *positions, inlay_position_type position_type,
                               size_t n, inlay_element_type type, void *out, size_t out_stride_bytes,
                               const inlay_executor *executor, inlay_fault *fault)
{
    struct inlay_rows rows;
    struct inlay_extent written;
    size_t position_bytes = inlay_position_bytes(position_type);
    if (sinusoid != NULL && position_bytes == 0)
        return inlay_blame(fault, INLAY_ERROR_OPTION, "position_type", "is not an inlay_position_type");
    inlay_status status = begin_rows(&rows, sinusoid, n, type, out, out_stride_bytes, executor, &written, fault);
    if (status == INLAY_OK && n > 0)
        status = inlay_blame(fault, inlay_check_read(positions, n, position_bytes, written), "positions", NULL);
    if (status != INLAY_OK)
        return status;
    size_t bad = inlay_first_bad_position(positions, position_type, n);
    if (bad < n) {
        int64_t value = position_type == INLAY_POSITION_I64 ? inlay_id_at(positions, INLAY_ID_I64, bad) : 0;
        if (fault != NULL)
            *fault = (inlay_fault){.token = bad, .value = value};
        return inlay_blame(fault, INLAY_ERROR_POSITION, "positions", NULL);
    }
    rows.positions = (struct inlay_positions){.list = positions, .type = position_type};
    run_rows(&rows, executor);
    return INLAY_OK;
}
