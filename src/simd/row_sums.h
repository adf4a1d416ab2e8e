/* SPDX-License-Identifier: MIT */
/*
 * The sums of a row that norms need, in the lanes that dispatch/kernels.h prescribes. Included by simd/kernels.h; no
 * intrinsics, no includes.
 */

/* The lanes and the registers that hold them. */
enum { SUM_LANES = 16, SUM_VECS = SUM_LANES / VEC_DOUBLES };

_Static_assert(SUM_LANES % VEC_DOUBLES == 0, "registers hold the contract's lanes");
_Static_assert((int)SUM_LANES == (int)LINE_FLOATS, "lane_sums_add() takes a cache line");

struct lane_sums {
    vec_double values[SUM_VECS], squares[SUM_VECS];
};

VEC_INLINE struct lane_sums lane_sums_zero(void)
{
    struct lane_sums sums;
    for (size_t k = 0; k < SUM_VECS; k++)
        sums.values[k] = sums.squares[k] = vec_double_set1(0);
    return sums;
}

/* Adds a vector of columns, the k-th of a line; to the values only if `centered`. The square of a float and its product
   with 1 are exact in double, so fma rounds like a sum. It relieves the units that convert and add: 0.96 of the time of
   a layer with LayerNorm (Zen 4). */
VEC_INLINE void lane_sums_add(struct lane_sums *sums, size_t k, vec columns, bool centered)
{
    const struct vec_double_two x = vec_to_doubles(columns);
    if (centered) {
        sums->values[2 * k] = vec_double_fma(x.low, vec_double_set1(1), sums->values[2 * k]);
        sums->values[2 * k + 1] = vec_double_fma(x.high, vec_double_set1(1), sums->values[2 * k + 1]);
    }
    sums->squares[2 * k] = vec_double_fma(x.low, x.low, sums->squares[2 * k]);
    sums->squares[2 * k + 1] = vec_double_fma(x.high, x.high, sums->squares[2 * k + 1]);
}

/* Returns the sum of `count` lanes, a power of two. Changes them. */
VEC_INLINE double lane_total(double *lanes, size_t count)
{
    for (size_t half = count / 2; half > 0; half /= 2)
        for (size_t lane = 0; lane < half; lane++)
            lanes[lane] += lanes[lane + half];
    return lanes[0];
}

/* Returns the sum of all lanes. Changes them. */
VEC_INLINE double lane_vecs_total(vec_double *sums)
{
    double lanes[VEC_DOUBLES];
    for (size_t half = SUM_VECS / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++)
            sums[k] = sums[k] + sums[k + half];
    vec_double_store(lanes, sums[0]);
    return lane_total(lanes, VEC_DOUBLES);
}

/* Returns the sums, after adding the last `count` columns, fewer than SUM_LANES, and zeros. */
VEC_INLINE struct inlay_row_sums lane_sums_total(struct lane_sums *sums, const unsigned char *columns, size_t count)
{
    if (count > 0) {
        float last[SUM_LANES] = {0};
        memcpy(last, columns, count * sizeof(float));
        for (size_t k = 0; k < SUM_LANES / VEC_LEN; k++)
            lane_sums_add(sums, k, vec_load((const unsigned char *)(last + k * VEC_LEN)), true);
    }
    return (struct inlay_row_sums){lane_vecs_total(sums->values), lane_vecs_total(sums->squares)};
}
