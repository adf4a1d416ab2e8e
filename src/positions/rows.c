/* SPDX-License-Identifier: MIT */
/*
 * Parts begin where blocks of rows between anchors would begin, since an anchor takes as long as some rows.
 */
#include "positions/rows.h"

#include "base/executor.h"
#include "base/fpenv.h"
#include "base/least.h"
#include "dispatch/dispatch.h"
#include "positions/list.h"
#include "table/element.h"

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
    const struct inlay_rows part = rows_between(all, first, inlay_least(end, all->n));
    struct inlay_fpenv host = inlay_fpenv_enter();
    part.fill(&part);
    if (part.stream)
        inlay_store_fence();
    inlay_fpenv_leave(host);
}

void inlay_rows_run(struct inlay_rows *rows, const inlay_executor *executor)
{
    size_t bytes = rows->n * rows->sinusoid->dim * inlay_type_bytes(rows->type);
    rows->blocks = (rows->n + INLAY_ANCHOR_ROWS - 1) / INLAY_ANCHOR_ROWS;
    rows->parts = inlay_least(inlay_parts(executor, bytes), rows->blocks);
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
    inlay_rows_run(rows, executor);
    return INLAY_OK;
}
