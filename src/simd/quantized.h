/* SPDX-License-Identifier: MIT */
/*
 * How the stored numbers of each type become floats: where a block of 32 columns is, the scales its columns share, and
 * how VEC_LEN of them are loaded. Written once over the vector operations of vec.h. Included by simd/kernels.h; no
 * intrinsics, and includes only lists. `type` is a constant where these functions are called, so each type gets its own
 * loop.
 */

enum {
    QUANTIZED_BLOCK = 32,                 /* columns read together; a superblock has 2 or 8 blocks */
    QUANTIZED_HALF = QUANTIZED_BLOCK / 2, /* the fewest columns that share a scale */
};

_Static_assert(QUANTIZED_BLOCK == 2 * LINE_FLOATS, "a block becomes two cache lines of floats");
_Static_assert(VEC_LEN <= QUANTIZED_HALF, "a vector is within one half of a block");

/* A row of a tile. */
struct quantized_row {
    const unsigned char *bytes, *scales, *zeros;
    size_t zero_at, group;
    float *shared; /* [32], written by quantized_share(): factors of a superblock's parts, then biases */
};

/* A stored number q becomes (q + shift) * factor + bias; each type has some of these terms. If `grows`, q is multiplied
   by 256 first. This is rare, and only for types that are read as small numbers. */
struct quantized_terms {
    vec shift, factor, bias;
    bool grows;
};

/* The values of 4-bit codes: INLAY_IQ4_NL, and twice the values of a 4-bit float (E2M1), where -0 is 0. */
static const signed char quantized_iq4_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                 1,    13,   25,  38,  53,  69,  89,  113};
static const signed char quantized_e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* A bit plane of a superblock: `bits` bits of each column, packed in bytes from `at` on, lowest bits first. Each 32 *
   `wide` bytes hold `wide` blocks in their lowest bits, the next `wide` blocks in the bits above, and so on. */
struct quantized_plane {
    size_t at, bits, wide;
};

/*
 * The layout of a type and its terms.
 *
 * A block is `header_bytes` of scales, then 32 numbers of `bits` bits. `halves`: byte i holds columns i and i + 16,
 * else numbers are packed from the lowest bits on. If `header_bytes` >= 6, the header ends in four bytes with a fifth
 * bit of each number. `negative`: 8-bit numbers are signed. `grouped`: a group of columns shares the terms.
 * `values`: null, or the values of 4-bit codes. `small`: numbers are read as 2^-8 of their value; the factor makes up
 * for it unless it would be infinite.
 *
 * A superblock is `blocks` blocks in `bytes` bytes. Planes: numbers are low + 2^low.bits * high - `less`. `parts`: each
 * of 8 or 16 parts has an integer scale, which multiplies the float16 at `unit_at`, and, if `biased`, an integer
 * minimum, which multiplies minus the next float16.
 */
struct quantized_layout {
    size_t header_bytes, bits;
    bool halves, negative, small, grouped, shifted, scaled, biased;
    float shift;
    const signed char *values;
    size_t blocks, bytes, parts, unit_at;
    struct quantized_plane low, high;
    uint32_t less;
};

static const struct quantized_layout quantized_layouts[INLAY_ELEMENT_TYPES] = {
#define QUANTIZED_TYPE(name, type, ...) [type] = {__VA_ARGS__},
#include "simd/quantized_types.h"
#undef QUANTIZED_TYPE
};

/* Returns the bytes of n numbers, rounded up. */
VEC_INLINE size_t quantized_number_bytes(inlay_element_type type, size_t n)
{
    return (n * quantized_layouts[type].bits + 7) / 8;
}

/* Returns the bytes of a block or superblock. */
VEC_INLINE size_t quantized_bytes(inlay_element_type type)
{
    const struct quantized_layout *layout = &quantized_layouts[type];
    return layout->blocks > 0 ? layout->bytes : layout->header_bytes + quantized_number_bytes(type, QUANTIZED_BLOCK);
}

/* True if numbers cross bytes or a byte has more than two, so a block is loaded by shifts. Superblocks are not. */
VEC_INLINE bool quantized_is_packed(inlay_element_type type)
{
    return quantized_layouts[type].bits % 4 != 0;
}

/* Returns the address of a block, or of the superblock that contains it. */
VEC_INLINE const unsigned char *quantized_block(inlay_element_type type, const struct quantized_row *row, size_t block)
{
    const size_t blocks = quantized_layouts[type].blocks;
    return row->bytes + (blocks > 0 ? block / blocks : block) * quantized_bytes(type);
}

/* Returns the address of the numbers from column `within` of a block on, or of the first number of a packed block. Not
   for superblocks. */
VEC_INLINE const unsigned char *quantized_at(inlay_element_type type, const struct quantized_row *row, size_t block,
                                             size_t within)
{
    const struct quantized_layout *layout = &quantized_layouts[type];
    return quantized_block(type, row, block) + layout->header_bytes +
           (layout->halves              ? within % QUANTIZED_HALF
            : quantized_is_packed(type) ? 0
                                        : quantized_number_bytes(type, within));
}

/* True if rows consist of whole blocks or superblocks, so no call ends within one. */
VEC_INLINE bool quantized_whole(inlay_element_type type)
{
    return quantized_layouts[type].header_bytes > 0 || quantized_layouts[type].blocks > 0 || quantized_is_packed(type);
}

/* ---- What columns share ----------------------------------------------------------------------------------------- */

/* Broadcasts a float16, as floats. */
VEC_INLINE vec quantized_half(const unsigned char *from)
{
    uint16_t half;
    memcpy(&half, from, sizeof half);
    const vec_half_bits halves = (vec_half_bits){0} + half;
    return vec_load_f16((const unsigned char *)&halves);
}

/* Sets a factor for numbers that are read as 2^-8 of their value. Multiplying the factor by 256 is exact, so the
   product is rounded once. If that overflows, `grows` multiplies the number instead. */
VEC_INLINE void quantized_small_factor(struct quantized_terms *terms, float factor)
{
    terms->grows = (inlay_bits_f32(factor) & INT32_MAX) >= (127 + 120) << 23;
    terms->factor = vec_set1(terms->grows ? factor : factor * 256);
}

/* Sets such a factor to 2^(e - 127), or NaN if e is 255. */
VEC_INLINE void quantized_e8m0(struct quantized_terms *terms, uint32_t e)
{
    const uint32_t nan = 0x7fc00000;
    terms->grows = e > 246;
    terms->factor = (vec)vec_bits_set1(!terms->grows ? (e + 8) << 23 : e == 255 ? nan : e << 23);
}

/* Returns the terms that are constant along a row. */
VEC_INLINE struct quantized_terms quantized_row_terms(inlay_element_type type, const struct quantized_row *row)
{
    struct quantized_terms terms = {.shift = vec_set1(quantized_layouts[type].shift)};
    switch (type) {
    case INLAY_I8:
        terms.factor = vec_set1(inlay_load_f32(row->scales, 0));
        break;
    case INLAY_I8_INVERSE:
        terms.factor = vec_set1(1 / inlay_load_f32(row->scales, 0));
        break;
    case INLAY_U8_ROWWISE:
        terms.factor = vec_set1(inlay_load_f32(row->scales, 0));
        terms.bias = vec_set1(inlay_load_f32(row->scales, 1));
        break;
    case INLAY_U8_ROWWISE_FIRST:
    case INLAY_U4_ROWWISE_FIRST:
    case INLAY_U2_ROWWISE_FIRST:
    case INLAY_U2_ROWWISE:
    case INLAY_U4_ROWWISE:
        terms.factor = quantized_half(row->scales);
        terms.bias = quantized_half(row->scales + 2);
        break;
    case INLAY_E4M3:
        quantized_small_factor(&terms, inlay_load_f32(row->scales, 0));
        break;
    default:
        break;
    }
    return terms;
}

/* Returns 2^(e - 128), which is subnormal for e = 0 and 1. */
VEC_INLINE vec quantized_mxfp4_scale(uint32_t e)
{
    return (vec)vec_bits_set1(e < 2 ? UINT32_C(0x200000) << e : (e - 1) << 23);
}

/* Returns 4-bit number i of an array, the lower half of each byte first. */
VEC_INLINE int quantized_nibble(const unsigned char *bytes, size_t i)
{
    return bytes[i / 2] >> i % 2 * 4 & 15;
}

/* Returns zero point i of a type. */
VEC_INLINE int quantized_zero(inlay_element_type type, const unsigned char *zeros, size_t i)
{
    if (type == INLAY_I8_GROUPED)
        return (signed char)zeros[i];
    return type == INLAY_U8_GROUPED ? zeros[i] : quantized_nibble(zeros, i);
}

/* Sets the terms of a group of columns. */
VEC_INLINE struct quantized_terms quantized_group_terms(inlay_element_type type, const struct quantized_row *row,
                                                        size_t group, struct quantized_terms terms)
{
    const bool biased = quantized_layouts[type].biased;
    terms.factor = vec_set1(inlay_load_f32(row->scales, biased ? 2 * group : group));
    if (biased)
        terms.bias = vec_set1(inlay_load_f32(row->scales, 2 * group + 1));
    else if (row->zeros != NULL)
        terms.shift = vec_set1(-(float)quantized_zero(type, row->zeros, row->zero_at + group));
    return terms;
}

/* Adds the terms of a block to those of its row. */
VEC_INLINE struct quantized_terms quantized_block_terms(inlay_element_type type, const struct quantized_row *row,
                                                        size_t block, struct quantized_terms terms)
{
    const struct quantized_layout *layout = &quantized_layouts[type];
    const unsigned char *at = quantized_block(type, row, block);
    if (layout->header_bytes > 1) {
        terms.factor = quantized_half(at);
        if (layout->biased)
            terms.bias = quantized_half(at + 2);
    }
    switch (type) {
    case INLAY_MXFP4:
        terms.factor = quantized_mxfp4_scale(at[0]);
        break;
    case INLAY_E4M3_E8M0:
        quantized_e8m0(&terms, row->scales[block]);
        break;
    default:
        break;
    }
    /* The group is a power of two, so shift: a division would take as long as the block. */
    if (layout->grouped)
        terms = quantized_group_terms(type, row, block * QUANTIZED_BLOCK >> __builtin_ctzl(row->group), terms);
    return terms;
}

/* Returns half of an NVFP4 scale, an unsigned E4M3 without NaN; half, because quantized_e2m1 has twice the values. 127
   is 0, and bit 7 is ignored, so 255 is 480. A float with these bits is 2^-120 times the scale,
   also for subnormal scales. */
VEC_INLINE vec quantized_nvfp4_scale(uint32_t x)
{
    return (vec)vec_bits_set1(x == 127 ? 0 : (x & 127) << 20) * 0x1p119f;
}

/* Joins eight bytes, so they are stored at once: vectors load them at once. */
VEC_INLINE uint64_t quantized_eight(uint32_t low, uint32_t high)
{
    return low | (uint64_t)high << 32;
}

/* Unpacks the integer scales of a superblock's parts into 16 bytes, then their integer minima into 16 more. */
VEC_INLINE void quantized_units(inlay_element_type type, const unsigned char *superblock, uint64_t units[4])
{
    const uint32_t sixes = 0x3f3f3f3f, fours = 0xf0f0f0f, twos = 0x3030303;
    uint32_t b[3];
    switch (type) {
    case INLAY_Q2_K:
        memcpy(units, superblock, 16);
        for (size_t i = 0; i < 2; i++) {
            units[2 + i] = units[i] >> 4 & quantized_eight(fours, fours);
            units[i] &= quantized_eight(fours, fours);
        }
        break;
    case INLAY_Q3_K:
        memcpy(b, superblock + 96, sizeof b);
        for (size_t i = 0; i < 2; i++)
            units[i] = quantized_eight((b[0] >> 4 * i & fours) | (b[2] >> 4 * i & twos) << 4,
                                       (b[1] >> 4 * i & fours) | (b[2] >> (4 * i + 2) & twos) << 4);
        break;
    case INLAY_Q4_K:
    case INLAY_Q5_K:
        memcpy(b, superblock + 4, sizeof b);
        units[0] = quantized_eight(b[0] & sixes, (b[2] & fours) | (b[0] >> 6 & twos) << 4);
        units[2] = quantized_eight(b[1] & sixes, (b[2] >> 4 & fours) | (b[1] >> 6 & twos) << 4);
        break;
    case INLAY_Q6_K:
        memcpy(units, superblock + 192, 16);
        break;
    case INLAY_IQ4_XS:
        for (size_t j = 0; j < 8; j++)
            units[0] |= (uint64_t)(quantized_nibble(superblock + 4, j) | (superblock[2 + j / 4] >> j % 4 * 2 & 3) << 4)
                        << 8 * j;
        break;
    case INLAY_IQ3_S:
        for (size_t j = 0; j < 8; j++)
            units[0] |= (uint64_t)(2 * quantized_nibble(superblock + 106, j) + 1) << 8 * j;
        break;
    default:
        break;
    }
}

/* Writes the factors of a superblock's parts to row->shared[0, 16), and their biases to row->shared[16, 32). */
VEC_INLINE void quantized_share(inlay_element_type type, const struct quantized_row *row, size_t block)
{
    const struct quantized_layout *layout = &quantized_layouts[type];
    const unsigned char *at = quantized_block(type, row, block);
    const float less = type == INLAY_Q3_K || type == INLAY_IQ4_XS ? 32 : 0;
    uint64_t units[4] = {0};
    quantized_units(type, at, units);
    const unsigned char *scales = (const unsigned char *)units, *leasts = scales + 16;
    const vec unit = quantized_half(at + layout->unit_at);
    for (size_t i = 0; i < layout->parts; i += VEC_LEN)
        vec_store((unsigned char *)(row->shared + i), unit * (vec_load_i8(scales + i) - less));
    if (layout->biased) {
        const vec min_unit = quantized_half(at + layout->unit_at + 2);
        for (size_t i = 0; i < layout->parts; i += VEC_LEN)
            vec_store((unsigned char *)(row->shared + 16 + i), min_unit * -vec_load_i8(leasts + i));
    }
}

/* Adds the terms of the half block that starts at column `within`. `narrow`: it is a group. */
VEC_INLINE struct quantized_terms quantized_half_terms(inlay_element_type type, bool narrow,
                                                       const struct quantized_row *row, size_t block, size_t within,
                                                       struct quantized_terms terms)
{
    const struct quantized_layout *layout = &quantized_layouts[type];
    const size_t half = within / QUANTIZED_HALF;
    if (narrow && half == 1) /* the first half has the terms of the block */
        terms = quantized_group_terms(type, row, 2 * block + 1, terms);
    if (type == INLAY_E2M1_F32)
        terms.factor = vec_set1(inlay_load_f32(row->scales, block * 2 + half));
    if (type == INLAY_NVFP4)
        terms.factor = quantized_nvfp4_scale(quantized_block(type, row, block)[block % 2 * 2 + half]);
    if (layout->parts > 0) {
        const size_t part = (block % 8 * 2 + half) * layout->parts / 16;
        terms.factor = vec_set1(row->shared[part]);
        if (layout->biased)
            terms.bias = vec_set1(row->shared[16 + part]);
    }
    return terms;
}

/* ---- Numbers and values ----------------------------------------------------------------------------------------- */

/* Loads VEC_LEN 4-bit numbers, as bytes, of a block whose byte i holds columns i and i + 16. */
VEC_INLINE vec_bytes quantized_halves(const unsigned char *from, size_t within)
{
    return within < QUANTIZED_HALF ? vec_load_bytes(from) & 15 : vec_load_bytes(from) >> 4;
}

/* Returns all ones in lane i if bit `within` + i is set, of 32 bits in four bytes. */
VEC_INLINE vec_bits quantized_bits_set(const unsigned char *bytes, size_t within)
{
    static const uint32_t bit_of_lane[QUANTIZED_HALF] = {1 << 0,  1 << 1,  1 << 2,  1 << 3, 1 << 4,  1 << 5,
                                                         1 << 6,  1 << 7,  1 << 8,  1 << 9, 1 << 10, 1 << 11,
                                                         1 << 12, 1 << 13, 1 << 14, 1 << 15};
    const vec_bits lanes = (vec_bits)vec_load((const unsigned char *)bit_of_lane);
    uint32_t bits;
    memcpy(&bits, bytes, sizeof bits);
    return (vec_bits)((vec_bits_set1(bits >> within) & lanes) == lanes);
}

/* Loads VEC_LEN numbers of INLAY_IQ3_S, from column `within` of a superblock's block on. A 9-bit index into the grid
   gives the magnitudes of four columns; the signs are separate bits. */
VEC_INLINE vec quantized_iq3_s(const unsigned char *superblock, size_t block, size_t within)
{
    static const uint16_t grid[512] = {
#include "base/iq3_s.inc"
    };
    const unsigned char *indices = superblock + 2 + block * 8, *ninth = superblock + 66 + block,
                        *signs = superblock + 74 + block * 4;
    unsigned char digits[VEC_LEN];
    for (size_t i = 0; i < VEC_LEN / 4; i++) {
        const size_t four = within / 4 + i;
        uint32_t spread = grid[indices[four] | (*ninth >> four & 1) << 8];
        spread = (spread | spread << 10) & 0x3f003f;
        spread = (spread | spread << 5) & 0x7070707;
        memcpy(digits + i * sizeof spread, &spread, sizeof spread);
    }
    const vec magnitudes = vec_from_bits(vec_bits_of_bytes(vec_load_bytes(digits)) * 2 + 1);
    return (vec)((vec_bits)magnitudes ^ (quantized_bits_set(signs, within) & UINT32_C(1) << 31));
}

/* Loads a plane's bits of VEC_LEN columns, from column `within` of a superblock's block on, and shifts them to bit
   `lowest`. */
VEC_INLINE vec_bits quantized_plane_bits(struct quantized_plane plane, const unsigned char *superblock, size_t block,
                                         size_t within, size_t lowest)
{
    const size_t columns = plane.wide * (8 / plane.bits), in_chunk = block % columns;
    const unsigned char *from = superblock + plane.at + block / columns * plane.wide * QUANTIZED_BLOCK +
                                in_chunk % plane.wide * QUANTIZED_BLOCK + within;
    const uint32_t first = (uint32_t)(in_chunk / plane.wide * plane.bits), to = (uint32_t)lowest;
    const vec_bits bytes = vec_bits_of_bytes(vec_load_bytes(from));
    if (to == 0 && first + plane.bits == 8) /* no other bits remain */
        return bytes >> first;
    return (first > to ? bytes >> (first - to) : bytes << (to - first)) & (uint32_t)((1 << plane.bits) - 1) << to;
}

/* Loads VEC_LEN numbers of a superblock as floats, exactly. */
VEC_INLINE vec quantized_super_load(inlay_element_type type, const struct quantized_row *row, size_t block,
                                    size_t within)
{
    const struct quantized_layout *layout = &quantized_layouts[type];
    const unsigned char *at = quantized_block(type, row, block);
    block %= layout->blocks;
    if (type == INLAY_NVFP4) {
        at += 4 + (block * QUANTIZED_BLOCK + within) / QUANTIZED_HALF * 8;
        return vec_lookup(quantized_e2m1, vec_load_u4_halves(at, within % QUANTIZED_HALF));
    }
    if (type == INLAY_IQ4_XS)
        return vec_lookup(layout->values,
                          quantized_halves(at + 8 + block * QUANTIZED_HALF + within % QUANTIZED_HALF, within));
    if (type == INLAY_IQ3_S)
        return quantized_iq3_s(at, block, within);
    vec_bits numbers = quantized_plane_bits(layout->low, at, block, within, 0);
    if (layout->high.bits > 0)
        numbers |= quantized_plane_bits(layout->high, at, block, within, layout->low.bits);
    return vec_from_bits(layout->less > 0 ? numbers - layout->less : numbers);
}

/* Loads VEC_LEN numbers of 2, 3, 5 or 6 bits as floats, from column `within` of a packed block on. Each word that is
   loaded holds 16, 8 or 4 of them, and is within the block. */
VEC_INLINE vec quantized_packed(const unsigned char *block, size_t bits, size_t within)
{
    static const uint32_t lane_indices[QUANTIZED_HALF] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    const vec_bits lanes = (vec_bits)vec_load((const unsigned char *)lane_indices);
    const uint32_t in_word = bits == 2 ? 16 : bits == 3 ? 8 : 4;
    vec_bits numbers = {0};
    for (uint32_t first = 0; first < VEC_LEN; first += in_word) {
        const uint32_t bit = (uint32_t)((within + first) * bits), last = (uint32_t)(4 * bits - sizeof bit);
        const uint32_t at = bit / 8 < last ? bit / 8 : last;
        const vec_bits shifts = ((lanes - first) * (uint32_t)bits + (bit - 8 * at)) & 31;
        const vec_bits chosen = (vec_bits)((lanes & ~(in_word - 1)) == first) & ((UINT32_C(1) << bits) - 1);
        uint32_t word;
        memcpy(&word, block + at, sizeof word);
        numbers |= vec_bits_set1(word) >> shifts & chosen;
    }
    return vec_from_bits(numbers);
}

/* Loads VEC_LEN numbers as floats, exactly. The first one is column `within` of its block. */
VEC_INLINE vec quantized_load(inlay_element_type type, const unsigned char *from, size_t within)
{
    const struct quantized_layout *layout = &quantized_layouts[type];
    if (layout->halves) {
        const vec_bytes numbers = quantized_halves(from, within);
        if (layout->values != NULL)
            return vec_lookup(layout->values, numbers);
        const vec_bits bits = vec_bits_of_bytes(numbers);
        /* Fifth bits precede the block's numbers. */
        const unsigned char *fifths = from - within % QUANTIZED_HALF - 4;
        return vec_from_bits(layout->header_bytes < 6 ? bits : bits | (quantized_bits_set(fifths, within) & 16));
    }
    if (layout->bits == 4 && layout->values != NULL)
        return vec_lookup(layout->values, vec_load_u4_bytes(from)) * 0.5f;
    if (layout->bits == 4)
        return vec_load_u4(from);
    if (quantized_is_packed(type))
        return quantized_packed(from, layout->bits, within);
    switch (type) {
    case INLAY_F16:
        return vec_load_f16(from);
    case INLAY_BF16:
        return vec_load_bf16(from);
    case INLAY_E4M3:
    case INLAY_E4M3_E8M0:
        return vec_load_e4m3(from);
    default:
        return layout->negative ? vec_load_i8(from) : vec_from_bits(vec_bits_of_bytes(vec_load_bytes(from)));
    }
}

VEC_INLINE vec quantized_value(inlay_element_type type, vec x, struct quantized_terms terms)
{
    const struct quantized_layout *layout = &quantized_layouts[type];
    if (layout->small && terms.grows)
        x = x * 256;
    if (layout->shifted)
        x = x + terms.shift;
    if (layout->scaled)
        x = x * terms.factor;
    if (layout->biased)
        x = x + terms.bias;
    return x;
}

/* Returns VEC_LEN values, from column `within` of a block on. */
VEC_INLINE vec quantized_values(inlay_element_type type, const struct quantized_row *row, size_t block, size_t within,
                                struct quantized_terms terms)
{
    vec x = quantized_layouts[type].blocks > 0 ? quantized_super_load(type, row, block, within)
                                               : quantized_load(type, quantized_at(type, row, block, within), within);
    return quantized_value(type, x, terms);
}
