/* SPDX-License-Identifier: MIT */
/*
 * Rotary tables: the entries of a sinusoid as a table of cosines and a table of sines.
 */
#include "base/executor.h"
#include "base/line.h"
#include "base/minmax.h"
#include "positions/rows.h"
#include "table/element.h"

#include <string.h>

/* Writes each of n elements twice. Inlined, so the copies have a constant size. */
static inline void repeat_each(const unsigned char *from, size_t n, size_t element, unsigned char *to)
{
    for (size_t i = 0; i < n; i++) {
        memcpy(to + 2 * i * element, from + i * element, element);
        memcpy(to + (2 * i + 1) * element, from + i * element, element);
    }
}

/* Writes entries [first, first + n) of one table's row, which has `half` different entries, in the given layout. */
static void spread(const unsigned char *from, size_t n, size_t element, inlay_rotary_layout layout, size_t first,
                   size_t half, unsigned char *row)
{
    if (layout == INLAY_ROTARY_INTERLEAVED) {
        if (element == sizeof(uint32_t))
            repeat_each(from, n, sizeof(uint32_t), row + 2 * first * element);
        else
            repeat_each(from, n, sizeof(uint16_t), row + 2 * first * element);
        return;
    }
    memcpy(row + first * element, from, n * element);
    if (layout == INLAY_ROTARY_HALVES)
        memcpy(row + (half + first) * element, from, n * element);
}

static void fill_rotary(const struct inlay_rows *rows)
{
    _Alignas(INLAY_CACHE_LINE) unsigned char buffer[INLAY_PIECE_ROWS][INLAY_PIECE_COLUMNS * sizeof(float)];
    const inlay_sinusoid *sinusoid = rows->sinusoid;
    size_t element = inlay_type_bytes(rows->type), half = sinusoid->pairs;
    struct inlay_generator generator;
    for (size_t first = 0; first < half; first += INLAY_GENERATOR_PAIRS) {
        size_t pairs = inlay_min(half - first, INLAY_GENERATOR_PAIRS);
        /* The buffer has sines, then cosines, regardless of the sinusoid's layout. */
        const struct inlay_placement piece = {.cos = pairs, .sines = pairs, .cosines = pairs, .columns = 2 * pairs};
        inlay_generator_start(&generator, rows->kernels, sinusoid, first, pairs, rows->type, rows->positions, rows->n);
        for (size_t done = 0; done < rows->n; done += INLAY_PIECE_ROWS) {
            size_t some = inlay_min(rows->n - done, INLAY_PIECE_ROWS);
            inlay_generator_rows(&generator, &piece, some, buffer[0], sizeof *buffer, NULL);
            for (size_t row = 0; row < some; row++) {
                size_t at = (done + row) * rows->out_stride_bytes;
                spread(buffer[row], pairs, element, rows->layout, first, half, rows->sin + at);
                spread(buffer[row] + pairs * element, pairs, element, rows->layout, first, half, rows->out + at);
            }
        }
    }
}

/* Returns true if two tables with the same stride overlap. Their rows may share a stride without overlapping. */
static bool tables_overlap(struct inlay_extent a, struct inlay_extent b, size_t row_bytes, size_t stride_bytes)
{
    uintptr_t distance = a.begin < b.begin ? b.begin - a.begin : a.begin - b.begin;
    bool side_by_side = distance >= row_bytes && distance <= stride_bytes - row_bytes;
    return inlay_extents_overlap(a, b) && !side_by_side;
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
    const struct inlay_extent handle = inlay_bytes_at(sinusoid, sinusoid->bytes);
    struct inlay_extent cosines = {0, 0}, sines = {0, 0};
    inlay_status status = inlay_check_matrix(cos, n, columns, type, out_stride_bytes, &cosines);
    if (status == INLAY_OK)
        status = inlay_check_matrix(sin, n, columns, type, out_stride_bytes, &sines);
    status = inlay_check_executor(status, executor, NULL);
    if (status == INLAY_OK && (inlay_extents_overlap(cosines, handle) || inlay_extents_overlap(sines, handle) ||
                               tables_overlap(cosines, sines, columns * inlay_type_bytes(type), out_stride_bytes)))
        status = INLAY_ERROR_OVERLAP;
    if (status != INLAY_OK)
        return status;
    struct inlay_rows rows = {.fill = fill_rotary,
                              .sinusoid = sinusoid,
                              .n = n,
                              .type = type,
                              .layout = layout,
                              .out = cos,
                              .sin = sin,
                              .out_stride_bytes = out_stride_bytes};
    return inlay_rows_run_from(&rows, first, executor);
}
