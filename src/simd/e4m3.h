/* SPDX-License-Identifier: MIT */
/*
 * E4M3 rows as bfloat16, by a table of 16 products instead of a conversion, a product and a rounding. Written once over
 * the vector operations of vec.h. Included by simd/kernels.h after simd/cast.h and simd/quantized.h; no intrinsics, no
 * includes.
 */
/*
 * Codes 0 to 15 are the multiples i * 2^-9. Every larger code is the code of 8 to 15 with the same fraction, times a
 * power of two. The same holds for products with a factor, and for those rounded to bfloat16, while all of them are
 * normal numbers. So a row needs only the rounded products of codes 0 to 15. For any other code, take the product of
 * the code of 8 to 15 with the same fraction, and add the code's exponent, minus 1, to the exponent of the product.
 *
 * 256 times a row's factor, the scale of the call and the powers of two of blocks must each be in [2^-50, 2^51). Then
 * all products are normal: the smallest is 2^-9 * 2^-58 * 2^-50, the largest 448 * 2^50 * 2^51.
 */

enum {
    MIN_E4M3_EXPONENT = 127 - 50,
    MAX_E4M3_EXPONENT = 127 + 50,
};

/* The bfloat16 bits of the products of codes 0 to 15 with a row's factor and the scale; valid if both are `moderate`.
   Entries 8 to 15 are stored with an exponent smaller by 1, so a code's own exponent is added as is. */
struct e4m3_table {
    struct vec_table words;
    uint32_t factor; /* the bits of the float */
    bool made, moderate;
};

/* True if a float's exponent is in the range above. Excludes infinities, NaNs, zeros and subnormals. */
VEC_INLINE bool e4m3_moderate(uint32_t bits)
{
    return (bits >> 23 & 0xff) - MIN_E4M3_EXPONENT <= MAX_E4M3_EXPONENT - MIN_E4M3_EXPONENT;
}

/* Fills the table for a row's terms and the scale of the call, with the same arithmetic as other types. Keeps the
   previous row's table if the factor is the same. */
VEC_INLINE void e4m3_make_table(struct e4m3_table *table, inlay_element_type type, struct quantized_terms terms,
                                vec scale)
{
    static const unsigned char numbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    static const uint32_t exponents[16] = {[8] = 1 << 7, 1 << 7, 1 << 7, 1 << 7, 1 << 7, 1 << 7, 1 << 7, 1 << 7};
    /* Scales of blocks are powers of two. The table is for a scale of 1; e4m3_line() adds the exponent. */
    if (type == INLAY_E4M3_E8M0)
        quantized_e8m0(&terms, 127);
    const uint32_t factor = ((vec_bits)terms.factor)[0];
    if (table->made && table->factor == factor)
        return;
    unsigned char words[32];
    for (size_t i = 0; i < 16; i += VEC_LEN) {
        const vec x = quantized_value(type, quantized_load(type, numbers + i, 0), terms) * scale;
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

/* Computes a cache line of bfloat16 from the 32 codes of a block. Returns false if the block needs the general path,
   because it has a NaN or its power of two is not moderate. One shift moves a code's sign and exponent to their places
   in bfloat16. Adding the sign flips that of the product. */
VEC_INLINE bool e4m3_line(inlay_element_type type, struct vec_table words, const struct quantized_row *row,
                          size_t block, vec *line)
{
    const uint32_t e = type == INLAY_E4M3_E8M0 ? row->scales[block] : 127;
    const unsigned char *from = quantized_block(type, row, block);
    if (e - MIN_E4M3_EXPONENT > MAX_E4M3_EXPONENT - MIN_E4M3_EXPONENT)
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
