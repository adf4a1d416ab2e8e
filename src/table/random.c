/* SPDX-License-Identifier: MIT */
/*
 * Random tables: each element is a quantile at a Philox number of its index.
 */
#include "base/arguments.h"
#include "base/bits.h"
#include "base/compare.h"
#include "base/fpenv.h"
#include "base/philox.h"
#include "table/element.h"
#include "table/normal.h"

#include <float.h>

/* A distribution, and its probabilities below, within and above the bounds. Numbers u in (0, 1) are mapped to the
   probability within. */
struct spread {
    inlay_random_kind kind;
    double mean, deviation, low, high;
    double below, within, above;
};

static struct spread spread_of(const inlay_random_spec *spec)
{
    struct spread spread = {spec->kind, spec->mean, spec->deviation, spec->low, spec->high, 0, 1, 0};
    if (spec->kind != INLAY_RANDOM_TRUNCATED_NORMAL)
        return spread;
    /* Compute each probability from its own tail, where it is small and has all its digits. */
    double low_tail = inlay_normal_below(spec->low < 0 ? spec->low : -spec->low);
    double high_tail = inlay_normal_below(spec->high < 0 ? spec->high : -spec->high);
    spread.below = spec->low < 0 ? low_tail : 1 - low_tail;
    spread.above = spec->high < 0 ? 1 - high_tail : high_tail;
    if (spec->low >= 0)
        spread.within = low_tail - high_tail;
    else if (spec->high < 0)
        spread.within = high_tail - low_tail;
    else
        spread.within = 1 - low_tail - high_tail;
    return spread;
}

/* Returns the quantile at u = (word + 1/2) / 2^32. */
static double number_of(const struct spread *spread, uint32_t word)
{
    const double u = (word + 0.5) * 0x1p-32, rest = (~word + 0.5) * 0x1p-32; /* exact, as is their sum, 1 */
    if (spread->kind == INLAY_RANDOM_UNIFORM)
        return spread->low + (spread->high - spread->low) * u;
    double z = inlay_normal_quantile(spread->below + spread->within * u, spread->above + spread->within * rest);
    if (spread->kind == INLAY_RANDOM_TRUNCATED_NORMAL) {
        z = z < spread->low ? spread->low : z;
        z = z > spread->high ? spread->high : z;
    }
    return spread->mean + spread->deviation * z;
}

/* Never inlined: its arithmetic must stay between entering and leaving the guarded environment. */
static __attribute__((noinline)) void fill_rows(const inlay_random_spec *spec, unsigned char *out, size_t rows,
                                                size_t dim, size_t stride_bytes)
{
    const struct spread spread = spread_of(spec);
    struct inlay_philox_stream stream;
    inlay_philox_begin(&stream, spec->key, spec->offset, (uint64_t)spec->first_row * dim);
    for (size_t row = 0; row < rows; row++, out += stride_bytes) {
        bool zero = spec->zero_row >= 0 && (uint64_t)spec->first_row + row == (uint64_t)spec->zero_row;
        for (size_t column = 0; column < dim;) {
            size_t n;
            const uint32_t *words = inlay_philox_take(&stream, dim - column, &n);
            for (size_t i = 0; i < n; i++)
                inlay_store_f32(out, column + i, zero ? 0 : (float)number_of(&spread, words[i]));
            column += n;
        }
    }
}

/* Returns true if x is a number in the range of floats. */
static bool in_floats(double x)
{
    return inlay_double_in(x, -(double)FLT_MAX, (double)FLT_MAX);
}

static bool bounds_valid(const inlay_random_spec *spec)
{
    const double infinity = __builtin_inf();
    if (inlay_double_less(spec->high, spec->low))
        return false;
    if (spec->kind != INLAY_RANDOM_TRUNCATED_NORMAL)
        return in_floats(spec->low) && in_floats(spec->high);
    return (in_floats(spec->low) || inlay_double_in(spec->low, -infinity, -infinity)) &&
           (in_floats(spec->high) || inlay_double_in(spec->high, infinity, infinity)) &&
           !inlay_double_less(8, spec->low) && !inlay_double_less(spec->high, -8);
}

inlay_status inlay_table_random(const inlay_random_spec *spec, void *out, size_t rows, size_t dim, size_t stride_bytes)
{
    if (spec == NULL)
        return INLAY_ERROR_NULL;
    if (!inlay_struct_known(spec, sizeof *spec) || spec->reserved != 0 || spec->kind < INLAY_RANDOM_NORMAL ||
        spec->kind > INLAY_RANDOM_UNIFORM)
        return INLAY_ERROR_OPTION;
    if (!in_floats(spec->mean) || !inlay_double_in(spec->deviation, 0, (double)FLT_MAX) || !bounds_valid(spec) ||
        spec->zero_row < -1)
        return INLAY_ERROR_OPTION;
    struct inlay_extent written;
    inlay_status status = inlay_check_matrix(out, rows, dim, INLAY_F32, stride_bytes, &written);
    if (status != INLAY_OK || rows == 0)
        return status;
    uint64_t end;
    if (__builtin_add_overflow((uint64_t)spec->first_row, (uint64_t)rows, &end) ||
        __builtin_mul_overflow(end, (uint64_t)dim, &end))
        return INLAY_ERROR_OVERFLOW;
    status = inlay_check_read(spec, spec->size, 1, written);
    if (status != INLAY_OK)
        return status;
    struct inlay_fpenv host = inlay_fpenv_enter();
    fill_rows(spec, out, rows, dim, stride_bytes);
    inlay_fpenv_leave(host);
    return INLAY_OK;
}
