/* SPDX-License-Identifier: MIT */
/*
 * Sinusoids: frequencies prepared in fixed point, and their phases reduced exactly for each position. Baseline code;
 * integers only, the kernels do the rest.
 */
#include "sinusoid.h"

#include "dispatch.h"
#include "fpenv.h"
#include "memory.h"
#include "validate.h"

#include <string.h>

/* Compared as bits, which orders positive doubles and puts negative ones and NaN above them: no floating-point
   exception can be raised in the host's environment. */
static bool base_is_valid(double base)
{
    const double lowest = 1, highest = 1e30;
    uint64_t bits, low, high;
    memcpy(&bits, &base, sizeof bits);
    memcpy(&low, &lowest, sizeof low);
    memcpy(&high, &highest, sizeof high);
    return low <= bits && bits <= high;
}

static inlay_status check_spec(const inlay_sinusoid_spec *spec)
{
    if (spec == NULL)
        return INLAY_NULL;
    if (!inlay_struct_known(spec, sizeof *spec) || spec->reserved != 0)
        return INLAY_OPTION;
    if (spec->layout != INLAY_LAYOUT_INTERLEAVED && spec->layout != INLAY_LAYOUT_SPLIT)
        return INLAY_OPTION;
    if (spec->dim == 0 || spec->dim > INT32_MAX)
        return INLAY_SHAPE;
    return base_is_valid(spec->base) ? INLAY_OK : INLAY_BASE;
}

/* Frequency i is base^(-2i/dim) / (2 pi) turns: one exp, then one multiplication each. Truncation adds up to fewer than
   2^-225 even at the largest dim, 2^-235 at dim 4096. */
static void prepare_frequencies(inlay_sinusoid *sinusoid, double base)
{
    struct inlay_fixed ln_base = inlay_fixed_ln(base);
    struct inlay_fixed twice = inlay_fixed_add(&ln_base, &ln_base);
    struct inlay_fixed exponent = inlay_fixed_div(&twice, (uint32_t)sinusoid->dim);
    struct inlay_fixed ratio = inlay_fixed_exp_negative(&exponent);
    sinusoid->frequencies[0] = inlay_fixed_inverse_two_pi;
    for (size_t i = 1; i < sinusoid->pairs; i++)
        sinusoid->frequencies[i] = inlay_fixed_mul(&sinusoid->frequencies[i - 1], &ratio);
}

inlay_status inlay_sinusoid_create(const inlay_sinusoid_spec *spec, const inlay_allocator *allocator,
                                   inlay_sinusoid **sinusoid)
{
    if (sinusoid == NULL)
        return INLAY_NULL;
    *sinusoid = NULL;
    inlay_allocator memory;
    inlay_status status = check_spec(spec);
    if (status == INLAY_OK)
        status = inlay_allocator_of(allocator, &memory);
    if (status != INLAY_OK)
        return status;

    size_t pairs = spec->dim / 2 + spec->dim % 2;
    size_t bytes;
    if (__builtin_mul_overflow(pairs, sizeof(struct inlay_fixed), &bytes) ||
        __builtin_add_overflow(bytes, sizeof(inlay_sinusoid), &bytes))
        return INLAY_OVERFLOW;
    inlay_sinusoid *made = memory.allocate(memory.ctx, bytes);
    if (made == NULL)
        return INLAY_NO_MEMORY;
    made->allocator = memory;
    made->dim = spec->dim;
    made->pairs = pairs;
    made->layout = spec->layout;
    inlay_taylor_init(&made->taylor);
    prepare_frequencies(made, spec->base);
    *sinusoid = made;
    return INLAY_OK;
}

void inlay_sinusoid_destroy(inlay_sinusoid *sinusoid)
{
    if (sinusoid != NULL)
        sinusoid->allocator.release(sinusoid->allocator.ctx, sinusoid);
}

static size_t cosines_of(const inlay_sinusoid *sinusoid, size_t first, size_t pairs)
{
    bool last_has_none = sinusoid->dim % 2 == 1 && first + pairs == sinusoid->pairs;
    return last_has_none ? pairs - 1 : pairs;
}

int inlay_sinusoid_columns(const inlay_sinusoid *sinusoid, size_t first, size_t pairs, struct inlay_columns runs[2])
{
    size_t cosines = cosines_of(sinusoid, first, pairs);
    bool whole_row = pairs == sinusoid->pairs;
    if (sinusoid->layout == INLAY_LAYOUT_INTERLEAVED || whole_row) {
        runs[0] = (struct inlay_columns){2 * first, pairs + cosines, 0};
        runs[1] = (struct inlay_columns){0, 0, 0};
        return 1;
    }
    runs[0] = (struct inlay_columns){first, pairs, 0};
    runs[1] = (struct inlay_columns){sinusoid->pairs + first, cosines, pairs};
    return cosines > 0 ? 2 : 1;
}

void inlay_sinusoid_fill(const struct inlay_kernels *kernels, const inlay_sinusoid *sinusoid, uint32_t position,
                         size_t first, size_t pairs, unsigned char *piece)
{
    static const double sin_of_quarters[4] = {0, 1, 0, -1};
    static const double cos_of_quarters[4] = {1, 0, -1, 0};
    enum { BLOCK = 128 };
    double half_turns[BLOCK], quadrant_sin[BLOCK], quadrant_cos[BLOCK];

    bool interleaved = sinusoid->layout == INLAY_LAYOUT_INTERLEAVED;
    struct inlay_sinusoid_tile tile = {
        .taylor = &sinusoid->taylor,
        .position = position,
        .half_turns = half_turns,
        .quadrant_sin = quadrant_sin,
        .quadrant_cos = quadrant_cos,
        .interleaved = interleaved,
    };
    for (size_t done = 0; done < pairs; done += BLOCK) {
        tile.frequencies = sinusoid->frequencies + first + done;
        tile.pairs = pairs - done < BLOCK ? pairs - done : BLOCK;
        tile.cosines = cosines_of(sinusoid, first + done, tile.pairs);
        tile.sin = piece + (interleaved ? 2 * done : done) * sizeof(float);
        tile.cos = piece + (interleaved ? 0 : pairs + done) * sizeof(float);
        for (size_t i = 0; i < tile.pairs; i++) {
            struct inlay_phase phase = inlay_phase_at(&tile.frequencies[i], position);
            half_turns[i] = inlay_phase_half_turns(&phase);
            quadrant_sin[i] = sin_of_quarters[phase.quadrant];
            quadrant_cos[i] = cos_of_quarters[phase.quadrant];
        }
        for (size_t i = tile.pairs; i % INLAY_PAIRS_PADDING != 0; i++)
            half_turns[i] = quadrant_sin[i] = quadrant_cos[i] = 0;
        kernels->sinusoid_f32(&tile);
    }
}

void inlay_sinusoid_fill_rows(const struct inlay_kernels *kernels, const inlay_sinusoid *sinusoid, uint32_t position,
                              size_t n, unsigned char *out, size_t out_stride_bytes)
{
    for (size_t i = 0; i < n; i++)
        inlay_sinusoid_fill(kernels, sinusoid, position + (uint32_t)i, 0, sinusoid->pairs, out + i * out_stride_bytes);
}

inlay_status inlay_sinusoid_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n, inlay_type type, void *out,
                                 size_t out_stride_bytes)
{
    if (sinusoid == NULL)
        return INLAY_NULL;
    if (type != INLAY_F32)
        return INLAY_OPTION;
    struct inlay_extent written;
    inlay_status status = inlay_check_extent(out, n, sinusoid->dim, out_stride_bytes, &written);
    if (status != INLAY_OK || n == 0)
        return status;
    inlay_fault ignored;
    if (!inlay_positions_in(first, n, INLAY_POSITION_LIMIT, &ignored))
        return INLAY_POSITION;

    const struct inlay_kernels *kernels = inlay_dispatch();
    struct inlay_fpenv host = inlay_fpenv_enter();
    inlay_sinusoid_fill_rows(kernels, sinusoid, (uint32_t)first, n, out, out_stride_bytes);
    inlay_fpenv_leave(host);
    return INLAY_OK;
}
