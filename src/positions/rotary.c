/* SPDX-License-Identifier: MIT */
/*
 * Creating and destroying rotary handles, of frequencies or of given rows.
 */
#include "positions/rotary.h"

#include "base/compare.h"
#include "base/line.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "positions/rows.h"

#include <string.h>

static bool known_layout(inlay_rotary_layout layout)
{
    return layout == INLAY_ROTARY_HALVES || layout == INLAY_ROTARY_INTERLEAVED;
}

static bool known_dim(size_t dim)
{
    return dim > 0 && dim % 2 == 0 && dim <= INLAY_ROTARY_MAX_DIM;
}

/* Checks the fields that don't depend on the scaling. */
static inlay_status check_rotary_spec(const inlay_rotary_spec *spec)
{
    if (spec->reserved != 0 || spec->reserved2 != 0 || !known_layout(spec->layout) || spec->float_angles > 1)
        return INLAY_ERROR_OPTION;
    return known_dim(spec->dim) ? INLAY_OK : INLAY_ERROR_SHAPE;
}

/* Copies the axis of each pair, and checks the copy, since another thread may change the array. */
static inlay_status copy_pair_axes(const inlay_rotary_spec *spec, uint8_t *pair_axes)
{
    const size_t axes = inlay_max(spec->axes, 1), pairs = spec->dim / 2;
    if (axes > INLAY_ROTARY_MAX_AXES)
        return INLAY_ERROR_OPTION;
    if (spec->pair_axes == NULL) {
        memset(pair_axes, 0, pairs);
        return axes == 1 ? INLAY_OK : INLAY_ERROR_NULL;
    }
    memcpy(pair_axes, spec->pair_axes, pairs);
    for (size_t i = 0; i < pairs; i++)
        if (pair_axes[i] >= axes)
            return INLAY_ERROR_OPTION;
    return INLAY_OK;
}

/* Sorts the pairs by axis. */
static void sort_pairs(inlay_rotary *rotary, const uint8_t *pair_axes, size_t pairs)
{
    size_t n = 0;
    for (size_t axis = 0; axis < rotary->axes; axis++) {
        for (size_t i = 0; i < pairs; i++)
            if (pair_axes[i] == axis)
                rotary->pairs[n++] = (uint16_t)i;
        rotary->first_pair[axis + 1] = n;
    }
}

/* Makes the sinusoid that computes rows of cosines and sines. */
static inlay_status make_rotary_sinusoid(const inlay_rotary_spec *spec, const inlay_allocator *allocator,
                                         inlay_sinusoid **sinusoid)
{
    double inv_freq[INLAY_ROTARY_MAX_DIM / 2];
    inlay_sinusoid_spec rows = inlay_sinusoid_spec_default(spec->dim);
    rows.layout = INLAY_SINUSOID_LAYOUT_SPLIT_COS_FIRST;
    rows.base = spec->base;
    rows.float_angles = spec->float_angles;
    rows.inv_freq = spec->inv_freq;
    if (spec->inv_freq != NULL) {
        if (!inlay_double_is_zero(spec->attention_factor))
            rows.amplitude = spec->attention_factor;
    } else {
        const inlay_status status = inlay_rotary_frequencies(spec, inv_freq, &rows.amplitude);
        if (status != INLAY_OK)
            return status;
        if (spec->scaling != INLAY_ROTARY_DEFAULT || spec->float_angles == 1)
            rows.inv_freq = inv_freq;
    }
    return inlay_sinusoid_create(&rows, allocator, sinusoid);
}

inlay_status inlay_rotary_create(const inlay_rotary_spec *given, const inlay_allocator *allocator,
                                 inlay_rotary **rotary)
{
    if (rotary == NULL)
        return INLAY_ERROR_NULL;
    *rotary = NULL;
    inlay_allocator memory;
    inlay_sinusoid *sinusoid = NULL;
    uint8_t pair_axes[INLAY_ROTARY_MAX_DIM / 2];
    if (given == NULL)
        return INLAY_ERROR_NULL;
    if (!inlay_struct_known(given, sizeof *given))
        return INLAY_ERROR_OPTION;
    inlay_rotary_spec copy; /* another thread may change the spec after the checks */
    memcpy(&copy, given, sizeof copy);
    copy.size = sizeof copy;
    const inlay_rotary_spec *spec = &copy;
    inlay_status status = check_rotary_spec(spec);
    if (status == INLAY_OK)
        status = copy_pair_axes(spec, pair_axes);
    if (status == INLAY_OK)
        status = inlay_allocator_of(allocator, &memory);
    if (status == INLAY_OK)
        status = make_rotary_sinusoid(spec, allocator, &sinusoid);
    if (status != INLAY_OK)
        return status;
    const size_t row_bytes = spec->dim * sizeof(float), cached = inlay_cached_rows(spec->cached_positions, spec->dim);
    inlay_rotary *made = NULL;
    size_t bytes;
    if (__builtin_mul_overflow(cached, row_bytes, &bytes) ||
        __builtin_add_overflow(bytes, sizeof *made + INLAY_CACHE_LINE, &bytes))
        status = INLAY_ERROR_OVERFLOW;
    else if ((made = memory.allocate(memory.ctx, bytes)) == NULL)
        status = INLAY_ERROR_NO_MEMORY;
    if (status != INLAY_OK) {
        inlay_sinusoid_destroy(sinusoid);
        return status;
    }
    unsigned char *table = inlay_next_line((unsigned char *)(made + 1));
    *made = (inlay_rotary){.allocator = memory,
                           .sinusoid = sinusoid,
                           .dim = spec->dim,
                           .interleaved = spec->layout == INLAY_ROTARY_INTERLEAVED,
                           .limit = (size_t)INLAY_POSITION_LIMIT,
                           .cached = cached,
                           .table = table,
                           .axes = inlay_max(spec->axes, 1)};
    sort_pairs(made, pair_axes, spec->dim / 2);
    if (cached > 0)
        inlay_fill_cache(sinusoid, cached, table);
    *rotary = made;
    return INLAY_OK;
}

inlay_status inlay_rotary_from_rows(const float *rows, size_t count, size_t dim, inlay_rotary_layout layout,
                                    const inlay_allocator *allocator, inlay_rotary **rotary)
{
    if (rotary == NULL)
        return INLAY_ERROR_NULL;
    *rotary = NULL;
    if (!known_layout(layout))
        return INLAY_ERROR_OPTION;
    if (!known_dim(dim))
        return INLAY_ERROR_SHAPE;
    inlay_allocator memory;
    struct inlay_extent extent;
    inlay_status status = inlay_check_rows(rows, count, dim * sizeof(float), dim * sizeof(float), &extent);
    if (status == INLAY_OK)
        status = inlay_allocator_of(allocator, &memory);
    if (status != INLAY_OK)
        return status;
    inlay_rotary *made = memory.allocate(memory.ctx, sizeof *made);
    if (made == NULL)
        return INLAY_ERROR_NO_MEMORY;
    *made = (inlay_rotary){.allocator = memory,
                           .dim = dim,
                           .interleaved = layout == INLAY_ROTARY_INTERLEAVED,
                           .limit = inlay_min(count, (size_t)INLAY_POSITION_LIMIT),
                           .cached = count,
                           .table = (const unsigned char *)rows,
                           .axes = 1};
    *rotary = made;
    return INLAY_OK;
}

void inlay_rotary_destroy(inlay_rotary *rotary)
{
    if (rotary == NULL)
        return;
    const inlay_allocator memory = rotary->allocator;
    inlay_sinusoid_destroy(rotary->sinusoid);
    memory.release(memory.ctx, rotary);
}
