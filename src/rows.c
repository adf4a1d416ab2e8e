/* SPDX-License-Identifier: MIT */
/*
 * The public functions that write rows of sinusoids: consecutive positions, lists, and rotary tables.
 */
#include "dispatch.h"
#include "fpenv.h"
#include "generator.h"
#include "validate.h"

#include <string.h>

static void fill(const inlay_sinusoid *sinusoid, struct inlay_positions positions, size_t n, inlay_type type, void *out,
                 size_t out_stride_bytes)
{
    const struct inlay_kernels *kernels = inlay_dispatch();
    bool stream = inlay_streams(INLAY_STORES_AUTOMATIC, n, sinusoid->dim * inlay_type_bytes(type));
    struct inlay_fpenv host = inlay_fpenv_enter();
    inlay_sinusoid_fill(kernels, sinusoid, positions, n, type, out, out_stride_bytes, stream);
    if (stream)
        inlay_store_fence();
    inlay_fpenv_leave(host);
}

inlay_status inlay_sinusoid_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n, inlay_type type, void *out,
                                 size_t out_stride_bytes)
{
    if (sinusoid == NULL)
        return INLAY_NULL;
    struct inlay_extent written;
    inlay_status status = inlay_check_extent(out, n, sinusoid->dim, type, out_stride_bytes, &written);
    if (status != INLAY_OK || n == 0)
        return status;
    inlay_fault ignored;
    if (!inlay_positions_in(first, n, INLAY_POSITION_LIMIT, &ignored))
        return INLAY_POSITION;
    const struct inlay_positions positions = {.first = (uint32_t)first};
    fill(sinusoid, positions, n, type, out, out_stride_bytes);
    return INLAY_OK;
}

inlay_status inlay_sinusoid_at(const inlay_sinusoid *sinusoid, const void *positions, inlay_position_type position_type,
                               size_t n, inlay_type type, void *out, size_t out_stride_bytes, inlay_fault *fault)
{
    if (sinusoid == NULL)
        return INLAY_NULL;
    if (inlay_position_bytes(position_type) == 0)
        return INLAY_OPTION;
    struct inlay_extent written, read;
    inlay_status status = inlay_check_extent(out, n, sinusoid->dim, type, out_stride_bytes, &written);
    if (status != INLAY_OK || n == 0)
        return status;
    status = inlay_check_positions(positions, position_type, n, &read);
    if (status != INLAY_OK)
        return status;
    if (inlay_extents_overlap(written, read))
        return INLAY_OVERLAP;
    size_t bad = inlay_first_bad_position(positions, position_type, n);
    if (bad < n) {
        if (fault != NULL)
            *fault = (inlay_fault){0, bad,
                                   position_type == INLAY_POSITION_I64 ? inlay_id_at(positions, INLAY_ID_I64, bad) : 0};
        return INLAY_POSITION;
    }
    const struct inlay_positions list = {.list = positions, .type = position_type};
    fill(sinusoid, list, n, type, out, out_stride_bytes);
    return INLAY_OK;
}

/* Sines and cosines apart, each a block of its own, whatever the sinusoid's layout is. */
static struct inlay_placement apart(size_t pairs)
{
    return (struct inlay_placement){.cos = pairs, .sines = pairs, .cosines = pairs, .columns = 2 * pairs};
}

/* Entries [first, first + n) of a row of one table, which has them once, twice in blocks of `half`, or twice in a row.
 */
static void spread(const unsigned char *from, size_t n, size_t element, inlay_rotary_layout layout, size_t first,
                   size_t half, unsigned char *row)
{
    if (layout != INLAY_ROTARY_INTERLEAVED)
        memcpy(row + first * element, from, n * element);
    if (layout == INLAY_ROTARY_HALVES)
        memcpy(row + (half + first) * element, from, n * element);
    if (layout == INLAY_ROTARY_INTERLEAVED)
        for (size_t i = 0; i < n; i++) {
            memcpy(row + 2 * (first + i) * element, from + i * element, element);
            memcpy(row + (2 * (first + i) + 1) * element, from + i * element, element);
        }
}

static void fill_rotary(const inlay_sinusoid *sinusoid, struct inlay_positions positions, size_t n, inlay_type type,
                        inlay_rotary_layout layout, unsigned char *cos, unsigned char *sin, size_t stride_bytes)
{
    const struct inlay_kernels *kernels = inlay_dispatch();
    enum { COLUMNS = 2 * INLAY_GENERATOR_PAIRS, ROWS = INLAY_BLOCK_BYTES / (COLUMNS * sizeof(float)) };
    _Alignas(64) unsigned char buffer[ROWS][COLUMNS * sizeof(float)];
    size_t element = inlay_type_bytes(type);
    struct inlay_generator generator;
    struct inlay_fpenv host = inlay_fpenv_enter();
    for (size_t first = 0; first < sinusoid->pairs; first += INLAY_GENERATOR_PAIRS) {
        size_t pairs = sinusoid->pairs - first;
        pairs = pairs < INLAY_GENERATOR_PAIRS ? pairs : INLAY_GENERATOR_PAIRS;
        struct inlay_placement piece = apart(pairs);
        inlay_generator_start(&generator, kernels, sinusoid, first, pairs, type, positions);
        for (size_t done = 0; done < n; done += ROWS) {
            size_t rows = n - done < ROWS ? n - done : ROWS;
            inlay_generator_rows(&generator, &piece, rows, buffer[0], sizeof *buffer);
            for (size_t row = 0; row < rows; row++) {
                size_t at = (done + row) * stride_bytes;
                spread(buffer[row], pairs, element, layout, first, sinusoid->pairs, sin + at);
                spread(buffer[row] + pairs * element, pairs, element, layout, first, sinusoid->pairs, cos + at);
            }
        }
    }
    inlay_fpenv_leave(host);
}

inlay_status inlay_rotary_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n, inlay_type type,
                               inlay_rotary_layout layout, void *cos, void *sin, size_t out_stride_bytes)
{
    if (sinusoid == NULL)
        return INLAY_NULL;
    if (layout < INLAY_ROTARY_PAIRS || layout > INLAY_ROTARY_INTERLEAVED)
        return INLAY_OPTION;
    if (sinusoid->dim % 2 == 1)
        return INLAY_SHAPE;
    size_t columns = layout == INLAY_ROTARY_PAIRS ? sinusoid->pairs : sinusoid->dim;
    struct inlay_extent cosines, sines;
    inlay_status status = inlay_check_extent(cos, n, columns, type, out_stride_bytes, &cosines);
    if (status == INLAY_OK)
        status = inlay_check_extent(sin, n, columns, type, out_stride_bytes, &sines);
    if (status != INLAY_OK || n == 0)
        return status;
    if (inlay_extents_overlap(cosines, sines))
        return INLAY_OVERLAP;
    inlay_fault ignored;
    if (!inlay_positions_in(first, n, INLAY_POSITION_LIMIT, &ignored))
        return INLAY_POSITION;
    const struct inlay_positions positions = {.first = (uint32_t)first};
    fill_rotary(sinusoid, positions, n, type, layout, cos, sin, out_stride_bytes);
    return INLAY_OK;
}
