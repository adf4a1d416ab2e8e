/* SPDX-License-Identifier: MIT */
/*
 * The public functions that write rows of sinusoids: consecutive positions, lists, and rotary tables.
 */
#include "dispatch/dispatch.h"
#include "base/fpenv.h"
#include "positions/generator.h"
#include "base/executor.h"
#include "positions/list.h"
#include "table/element.h"
#include "table/ids.h"

#include <string.h>

/* Rows of one call, cut for the executor. */
struct rows {
    const struct inlay_kernels *kernels;
    const inlay_sinusoid *sinusoid;
    struct inlay_positions positions;
    size_t n, parts;
    inlay_element_type type;
    bool stream;
    unsigned char *out; /* of rotary tables the cosines */
    unsigned char *sin; /* of rotary tables */
    size_t out_stride_bytes;
    inlay_rotary_layout layout;
    void (*fill)(const struct rows *rows); /* all of them */
};

/* Rows [first, first + n) of all. */
static struct rows some_of(const struct rows *all, size_t first, size_t n)
{
    struct rows some = *all;
    some.n = n;
    some.out += first * all->out_stride_bytes;
    if (all->sin != NULL)
        some.sin += first * all->out_stride_bytes;
    if (all->positions.list != NULL)
        some.positions.list =
            (const unsigned char *)all->positions.list + first * inlay_position_bytes(all->positions.type);
    else
        some.positions.first += (uint32_t)first;
    return some;
}

/* Parts begin where blocks would: an anchor is as dear as some rows. */
static void run_part(void *arg, size_t index)
{
    const struct rows *all = arg;
    size_t blocks = (all->n + INLAY_ANCHOR_ROWS - 1) / INLAY_ANCHOR_ROWS;
    size_t first = inlay_share_begin(blocks, all->parts, index) * INLAY_ANCHOR_ROWS;
    size_t end = inlay_share_begin(blocks, all->parts, index + 1) * INLAY_ANCHOR_ROWS;
    const struct rows some = some_of(all, first, (end < all->n ? end : all->n) - first);
    struct inlay_fpenv host = inlay_fpenv_enter();
    all->fill(&some);
    if (all->stream)
        inlay_store_fence();
    inlay_fpenv_leave(host);
}

static void run(struct rows *rows, const inlay_executor *executor)
{
    size_t bytes = rows->n * rows->sinusoid->dim * inlay_type_bytes(rows->type);
    size_t blocks = (rows->n + INLAY_ANCHOR_ROWS - 1) / INLAY_ANCHOR_ROWS;
    rows->kernels = inlay_dispatch();
    rows->parts = inlay_parts(executor, bytes);
    rows->parts = rows->parts < blocks ? rows->parts : blocks;
    inlay_run_parts(executor, rows->parts, run_part, rows);
}

static void fill_rows(const struct rows *rows)
{
    inlay_sinusoid_fill(rows->kernels, rows->sinusoid, rows->positions, rows->n, rows->type, rows->out,
                        rows->out_stride_bytes, rows->stream);
}

static void run_rows(const inlay_sinusoid *sinusoid, struct inlay_positions positions, size_t n, inlay_element_type type,
                     void *out, size_t out_stride_bytes, const inlay_executor *executor)
{
    struct rows rows = {
        .sinusoid = sinusoid,
        .positions = positions,
        .n = n,
        .type = type,
        .stream = n * sinusoid->dim * inlay_type_bytes(type) > INLAY_FILL_BYTES,
        .out = out,
        .out_stride_bytes = out_stride_bytes,
        .fill = fill_rows,
    };
    run(&rows, executor);
}

inlay_status inlay_sinusoid_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n, inlay_element_type type, void *out,
                                 size_t out_stride_bytes, const inlay_executor *executor)
{
    if (sinusoid == NULL)
        return INLAY_ERROR_NULL;
    struct inlay_extent written;
    inlay_status status = inlay_check_matrix(out, n, sinusoid->dim, type, out_stride_bytes, &written);
    if (status == INLAY_OK)
        status = inlay_check_executor(executor);
    if (status != INLAY_OK || n == 0)
        return status;
    inlay_fault ignored;
    if (!inlay_positions_in(first, n, INLAY_POSITION_LIMIT, &ignored))
        return INLAY_ERROR_POSITION;
    const struct inlay_positions positions = {.first = (uint32_t)first};
    run_rows(sinusoid, positions, n, type, out, out_stride_bytes, executor);
    return INLAY_OK;
}

inlay_status inlay_sinusoid_at(const inlay_sinusoid *sinusoid, const void *positions, inlay_position_type position_type,
                               size_t n, inlay_element_type type, void *out, size_t out_stride_bytes,
                               const inlay_executor *executor, inlay_fault *fault)
{
    if (sinusoid == NULL)
        return INLAY_ERROR_NULL;
    if (inlay_position_bytes(position_type) == 0)
        return INLAY_ERROR_OPTION;
    struct inlay_extent written, read;
    inlay_status status = inlay_check_matrix(out, n, sinusoid->dim, type, out_stride_bytes, &written);
    if (status == INLAY_OK)
        status = inlay_check_executor(executor);
    if (status != INLAY_OK || n == 0)
        return status;
    status = inlay_check_array(positions, n, inlay_position_bytes(position_type), &read);
    if (status != INLAY_OK)
        return status;
    if (inlay_extents_overlap(written, read))
        return INLAY_ERROR_OVERLAP;
    size_t bad = inlay_first_bad_position(positions, position_type, n);
    if (bad < n) {
        if (fault != NULL)
            *fault = (inlay_fault){0, bad,
                                   position_type == INLAY_POSITION_I64 ? inlay_id_at(positions, INLAY_ID_I64, bad) : 0};
        return INLAY_ERROR_POSITION;
    }
    const struct inlay_positions list = {.list = positions, .type = position_type};
    run_rows(sinusoid, list, n, type, out, out_stride_bytes, executor);
    return INLAY_OK;
}

/* Sines and cosines apart, each a block of its own, whatever the sinusoid's layout is. */
static struct inlay_placement apart(size_t pairs)
{
    return (struct inlay_placement){.cos = pairs, .sines = pairs, .cosines = pairs, .columns = 2 * pairs};
}

/* Each of n elements twice in a row. */
static void double_words(const unsigned char *from, size_t n, unsigned char *to)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t word;
        memcpy(&word, from + i * sizeof word, sizeof word);
        memcpy(to + 2 * i * sizeof word, &word, sizeof word);
        memcpy(to + (2 * i + 1) * sizeof word, &word, sizeof word);
    }
}

static void double_halves(const unsigned char *from, size_t n, unsigned char *to)
{
    for (size_t i = 0; i < n; i++) {
        uint16_t half;
        memcpy(&half, from + i * sizeof half, sizeof half);
        memcpy(to + 2 * i * sizeof half, &half, sizeof half);
        memcpy(to + (2 * i + 1) * sizeof half, &half, sizeof half);
    }
}

/* Entries [first, first + n) of a row of one table, which has them once, twice in blocks of `half`, or twice in a row.
 */
static void spread(const unsigned char *from, size_t n, size_t element, inlay_rotary_layout layout, size_t first,
                   size_t half, unsigned char *row)
{
    if (layout == INLAY_ROTARY_INTERLEAVED) {
        if (element == sizeof(uint32_t))
            double_words(from, n, row + 2 * first * element);
        else
            double_halves(from, n, row + 2 * first * element);
        return;
    }
    memcpy(row + first * element, from, n * element);
    if (layout == INLAY_ROTARY_HALVES)
        memcpy(row + (half + first) * element, from, n * element);
}

static void fill_rotary(const struct rows *rows)
{
    enum { COLUMNS = 2 * INLAY_GENERATOR_PAIRS, ROWS = 4 };
    _Alignas(64) unsigned char buffer[ROWS][COLUMNS * sizeof(float)];
    const inlay_sinusoid *sinusoid = rows->sinusoid;
    size_t element = inlay_type_bytes(rows->type), half = sinusoid->pairs;
    struct inlay_generator generator;
    for (size_t first = 0; first < half; first += INLAY_GENERATOR_PAIRS) {
        size_t pairs = half - first < INLAY_GENERATOR_PAIRS ? half - first : INLAY_GENERATOR_PAIRS;
        struct inlay_placement piece = apart(pairs);
        inlay_generator_start(&generator, rows->kernels, sinusoid, first, pairs, rows->type, rows->positions);
        for (size_t done = 0; done < rows->n; done += ROWS) {
            size_t some = rows->n - done < ROWS ? rows->n - done : ROWS;
            inlay_generator_rows(&generator, &piece, some, buffer[0], sizeof *buffer, NULL);
            for (size_t row = 0; row < some; row++) {
                size_t at = (done + row) * rows->out_stride_bytes;
                spread(buffer[row], pairs, element, rows->layout, first, half, rows->sin + at);
                spread(buffer[row] + pairs * element, pairs, element, rows->layout, first, half, rows->out + at);
            }
        }
    }
}

inlay_status inlay_rotary_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n, inlay_element_type type,
                               inlay_rotary_layout layout, void *cos, void *sin, size_t out_stride_bytes,
                               const inlay_executor *executor)
{
    if (sinusoid == NULL)
        return INLAY_ERROR_NULL;
    if (layout < INLAY_ROTARY_PAIRS || layout > INLAY_ROTARY_INTERLEAVED)
        return INLAY_ERROR_OPTION;
    if (sinusoid->dim % 2 == 1)
        return INLAY_ERROR_SHAPE;
    size_t columns = layout == INLAY_ROTARY_PAIRS ? sinusoid->pairs : sinusoid->dim;
    struct inlay_extent cosines, sines;
    inlay_status status = inlay_check_matrix(cos, n, columns, type, out_stride_bytes, &cosines);
    if (status == INLAY_OK)
        status = inlay_check_matrix(sin, n, columns, type, out_stride_bytes, &sines);
    if (status == INLAY_OK)
        status = inlay_check_executor(executor);
    if (status != INLAY_OK || n == 0)
        return status;
    uintptr_t apart_by = cosines.begin < sines.begin ? sines.begin - cosines.begin : cosines.begin - sines.begin;
    size_t row_bytes = columns * inlay_type_bytes(type);
    bool side_by_side = apart_by >= row_bytes && apart_by <= out_stride_bytes - row_bytes;
    if (inlay_extents_overlap(cosines, sines) && !side_by_side)
        return INLAY_ERROR_OVERLAP;
    inlay_fault ignored;
    if (!inlay_positions_in(first, n, INLAY_POSITION_LIMIT, &ignored))
        return INLAY_ERROR_POSITION;
    const struct inlay_positions positions = {.first = (uint32_t)first};
    struct rows rows = {
        .sinusoid = sinusoid,
        .positions = positions,
        .n = n,
        .type = type,
        .out = cos,
        .sin = sin,
        .out_stride_bytes = out_stride_bytes,
        .layout = layout,
        .fill = fill_rotary,
    };
    run(&rows, executor);
    return INLAY_OK;
}
