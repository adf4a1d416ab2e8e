/* SPDX-License-Identifier: MIT */
/*
 * Rows of E4M3 as bfloat16, once for every ISA, over the words of its vec.h: most numbers are looked up in a table of
 * 16, rather than converted to floats, multiplied and rounded. Included by simd/kernels.h behind simd/cast.h and
 * simd/quantised.h. Holds no intrinsics and includes nothing.
 */
/*
 * The numbers 0 to 7 are multiples of 2^-9, and 8 to 15 are 1 + i / 8 times 2^-6; those of every larger exponent are
 * these times a power of two. So are their products with a factor, and the same rounded, unless any of these lies
 * outside the normal range. Hence a row's products with numbers 0 to 15, rounded to bfloat16, tell all others: a number
 * has the product of the one below 16 with the same fraction, and its own exponent, minus 1, is added to that of the
 * product. 256 times the factor of a row, the scale of the call and the powers of two of blocks lie in [2^-50, 2^51).
 * Products with all of them are normal then: the least is 2^-9 * 2^-58 * 2^-50, the largest 448 * 2^50 * 2^51.
 */

enum {
    E4M3_EXPONENT_LEAST = 127 - 50,
    E4M3_EXPONENT_MOST = 127 + 50,
};

/* What numbers become in rows with a factor: `words` tells the bits of their products, if both factors are `moderate`.
   Entries that have an exponent, 8 to 15, are those of 2^-7, so that a number's own exponent is added. */
struct e4m3_table {
    struct vec_table words;
    uint32_t factor; /* its bits */
    bool made, moderate;
};

/* Returns whether a float's exponent is moderate: no infinity, no NaN, no zero and no subnormal number. */
VEC_INLINE bool e4m3_moderate(uint32_t bits)
{
    return (bits >> 23 & 0xff) - E4M3_EXPONENT_LEAST <= E4M3_EXPONENT_MOST - E4M3_EXPONENT_LEAST;
}

/* Makes the table for a row's terms and the scale of the call, by the arithmetic of every other type, unless it is that
   of the row before. */
VEC_INLINE void e4m3_make_table(struct e4m3_table *table, inlay_element_type type, struct quantised_terms terms,
                                vec scale)
{
    static const unsigned char numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static const uint32_t exponents[16] = {[8] = 1 << 7, 1 << 7, 1 << 7, 1 << 7, 1 << 7, 1 << 7, 1 << 7, 1 << 7};
    /* The factors of blocks are powers of two, which are added to the exponents of products with 1. */
    if (type == INLAY_E4M3_E8M0)
        quantised_e8m0(&terms, 127);
    const uint32_t factor = ((vec_bits)terms.factor)[0];
    if (table->made && table->factor == factor)
        return;
    unsigned char words[32];
    for (size_t i = 0; i < 16; i += VEC_LEN) {
        const vec x = quantised_value(type, quantised_load(type, numbers + i, 0), terms) * scale;
        const vec_bits exponent = (vec_bits)vec_load((const unsigned char *)(exponents + i));
        vec_store_halves(words + 2 * i, (vec)(((vec_bits)cast_upper(x) >> 16) - exponent));
    }
    *table = (struct e4m3_table){
        .words = vec_table_load(words),
        .factor = factor,
        .made = true,
        .moderate = e4m3_moderate(factor) && e4m3_moderate(((vec_bits)scale)[0]),
    };
}

/* Computes a cache line of bfloat16 from the 32 numbers of a block. Returns false if they need the general way: a NaN
   is among them, or a power of two that is not moderate. One shift moves sign and exponent of a number to those of
   bfloat16, and adding its sign inverts that of the product. */
VEC_INLINE bool e4m3_line(inlay_element_type type, struct vec_table words, const struct quantised_row *row,
                          size_t block, vec *line)
{
    const uint32_t e = type == INLAY_E4M3_E8M0 ? row->scales[block] : 127;
    const unsigned char *from = quantised_block(type, row, block);
    if (e - E4M3_EXPONENT_LEAST > E4M3_EXPONENT_MOST - E4M3_EXPONENT_LEAST)
        return false;
    const vec_half_bits power = (vec_half_bits){0} + (uint16_t)((e - 127) << 7);
    vec_half_bits seen = {0};
    for (size_t i = 0; i < LINE_VECS; i++) {
        const vec_half_bits x = vec_half_bits_load_i8(from + i * VEC_BYTES / 2), number = x & 0x7f;
        const vec_half_bits first = vec_half_bits_min(number, (x & 7) | 8);
        vec_half_bits product = vec_table_lookup(words, first) + ((x << 4) & 0x8780);
        if (type == INLAY_E4M3_E8M0)
            product = vec_half_bits_add_if(product, power, number);
        seen |= number + 1;
        line[i] = (vec)product;
    }
    return !vec_bits_test((vec_bits)seen, 0x800080);
}
