/* SPDX-License-Identifier: MIT */
/*
 * Sinusoids: frequencies prepared in fixed point, once. Baseline code, integers only.
 */
#include "sinusoid.h"

#include "dispatch.h"
#include "fpenv.h"
#include "generator.h"
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

/* What one position turns each pair by: with zeros as padding, which kernels turn into zeros. */
static void prepare_steps(inlay_sinusoid *sinusoid)
{
    sinusoid->sin_step = (double *)(sinusoid->frequencies + sinusoid->pairs);
    sinusoid->cos_step = sinusoid->sin_step + inlay_padded(sinusoid->pairs);
    memset(sinusoid->sin_step, 0, 2 * inlay_padded(sinusoid->pairs) * sizeof(double));
    for (size_t i = 0; i < sinusoid->pairs; i++) {
        struct inlay_phase phase = inlay_phase_at(&sinusoid->frequencies[i], 1);
        struct inlay_sincos_f64 step = inlay_exact_sincos_f64(&sinusoid->taylor, &phase);
        sinusoid->sin_step[i] = step.sin;
        sinusoid->cos_step[i] = step.cos;
    }
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
    if (__builtin_mul_overflow(inlay_padded(pairs), sizeof(struct inlay_fixed) + 2 * sizeof(double), &bytes) ||
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
    prepare_steps(made);
    *sinusoid = made;
    return INLAY_OK;
}

void inlay_sinusoid_destroy(inlay_sinusoid *sinusoid)
{
    if (sinusoid != NULL)
        sinusoid->allocator.release(sinusoid->allocator.ctx, sinusoid);
}

size_t inlay_sinusoid_cosines(const inlay_sinusoid *sinusoid, size_t first, size_t pairs)
{
    bool last_has_none = sinusoid->dim % 2 == 1 && first + pairs == sinusoid->pairs;
    return last_has_none ? pairs - 1 : pairs;
}

int inlay_sinusoid_columns(const inlay_sinusoid *sinusoid, size_t first, size_t pairs, struct inlay_columns runs[2])
{
    size_t cosines = inlay_sinusoid_cosines(sinusoid, first, pairs);
    bool whole_row = pairs == sinusoid->pairs;
    if (sinusoid->layout == INLAY_LAYOUT_INTERLEAVED || whole_row) {
        runs[0] = (struct inlay_columns){2 * first, pairs + cosines, 0};
        return 1;
    }
    runs[0] = (struct inlay_columns){first, pairs, 0};
    runs[1] = (struct inlay_columns){sinusoid->pairs + first, cosines, pairs};
    return cosines > 0 ? 2 : 1;
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
    bool stream = inlay_streams(INLAY_STORES_AUTOMATIC, n, sinusoid->dim);
    struct inlay_fpenv host = inlay_fpenv_enter();
    inlay_sinusoid_fill(kernels, sinusoid, (uint32_t)first, n, out, out_stride_bytes, stream);
    if (stream)
        inlay_store_fence();
    inlay_fpenv_leave(host);
    return INLAY_OK;
}
