/* SPDX-License-Identifier: MIT */
/*
 * The public functions that write rows of a sinusoid: of consecutive positions, and of a list.
 */
#include "base/executor.h"
#include "positions/list.h"
#include "positions/rows.h"
#include "table/element.h"
#include "table/ids.h"

static void fill_sinusoid(const struct inlay_rows *rows)
{
    inlay_sinusoid_fill(rows->kernels, rows->sinusoid, rows->positions, rows->n, rows->type, rows->out,
                        rows->out_stride_bytes, rows->stream);
}

/* Validates what both functions have in common, writes it to *rows and the extent of the output to *written. */
static inlay_status begin_rows(struct inlay_rows *rows, const inlay_sinusoid *sinusoid, size_t n,
                               inlay_element_type type, void *out, size_t out_stride_bytes,
                               const inlay_executor *executor, struct inlay_extent *written)
{
    if (sinusoid == NULL)
        return INLAY_ERROR_NULL;
    *rows = (struct inlay_rows){.fill = fill_sinusoid,
                                .sinusoid = sinusoid,
                                .n = n,
                                .type = type,
                                .out = out,
                                .out_stride_bytes = out_stride_bytes};
    inlay_status status = inlay_check_matrix(out, n, sinusoid->dim, type, out_stride_bytes, written);
    status = inlay_check_executor(status, executor);
    if (status == INLAY_OK && inlay_extents_overlap(*written, inlay_bytes_at(sinusoid, sinusoid->bytes)))
        status = INLAY_ERROR_OVERLAP;
    return status;
}

inlay_status inlay_sinusoid_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n, inlay_element_type type,
                                 void *out, size_t out_stride_bytes, const inlay_executor *executor)
{
    struct inlay_rows rows;
    struct inlay_extent written;
    inlay_status status = begin_rows(&rows, sinusoid, n, type, out, out_stride_bytes, executor, &written);
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
        return INLAY_ERROR_OPTION;
    inlay_status status = begin_rows(&rows, sinusoid, n, type, out, out_stride_bytes, executor, &written);
    if (status == INLAY_OK && n > 0)
        status = inlay_check_read(positions, n, position_bytes, written);
    if (status != INLAY_OK)
        return status;
    size_t bad = inlay_first_bad_position(positions, position_type, n);
    if (bad < n) {
        int64_t value = position_type == INLAY_POSITION_I64 ? inlay_id_at(positions, INLAY_ID_I64, bad) : 0;
        if (fault != NULL)
            *fault = (inlay_fault){0, bad, value};
        return INLAY_ERROR_POSITION;
    }
    rows.positions = (struct inlay_positions){.list = positions, .type = position_type};
    inlay_rows_run(&rows, executor);
    return INLAY_OK;
}
