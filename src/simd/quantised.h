/* SPDX-License-Identifier: MIT */
/*
 * How the stored numbers of each type become floats, once for every ISA, over the words of its vec.h: where a block of
 * 32 columns lies, what its columns share, and how VEC_LEN of them are read. Included by simd/kernels.h. Holds no
 * intrinsics and includes nothing but lists. `type` is a constant where these functions are called, so that each type
 * is a loop of its own.
 */

enum {
    QUANTISED_BLOCK = 32,                 /* columns that are read together; a superblock has 2 or 8 of them */
    QUANTISED_HALF = QUANTISED_BLOCK / 2, /* the fewest columns that share a scale */
};

_Static_assert(QUANTISED_BLOCK == 2 * LINE_FLOATS, "a block becomes two cache lines of floats");
_Static_assert(VEC_LEN <= QUANTISED_HALF, "a vector lies within one half of a block");

/* A row, as the tile describes it. */
struct quantised_row {
    const unsigned char *bytes, *scales, *zeros;
    size_t zero_at, group;
    float *shared; /* [32]: what quantised_share() writes of a superblock */
};

/* What makes a value of the number q that is stored: (q + shift) * factor + bias. A type has some of them. `grows`: q
   is multiplied by 256 first, rarely and only of types that are read as small numbers. */
struct quantised_terms {
    vec shift, factor, bias;
    bool grows;
};

/* The values of 4-bit numbers: those of INLAY_IQ4_NL, and twice those of a 4-bit float (E2M1), in which -0 is 0. */
static const signed char quantised_iq4_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                 1,    13,   25,  38,  53,  69,  89,  113};
static const signed char quantised_e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

/* Some bits of each column of a superblock: `bits` of each byte from `at` on, the lowest ones first. Every 32 * `wide`
   bytes hold 8 / `bits` times as many columns: `wide` blocks in the lowest bits, `wide` in the next. */
struct quantised_plane {
    size_t at, bits, wide;
};

/*
 * How a type is laid out and which terms it has. Blocks have `header_bytes` of scale, then 32 numbers of `bits` bits.
 * `halves`: byte i holds the numbers of columns i and i + 16, rather than those of columns 2 i and 2 i + 1, which may
 * stand for `values`; in a header of 6 bytes or more the last four hold a fifth bit of each. `small`:
 * numbers are read as 2^-8 of what they are, and the factor makes up for that unless it would be infinite. Superblocks
 * of `blocks` blocks have `bytes`; those whose numbers lie in planes are low + 2^low.bits * high - `less`. `parts`: the
 * factor of each of 8 or 16 parts of a superblock is a number of units, a float16 at `unit_at`, and minus its bias one
 * of units that lie behind that.
 */
struct quantised_layout {
    size_t header_bytes, bits;
    bool halves, small, shifted, scaled, biased;
    float shift;
    const signed char *values;
    size_t blocks, bytes, parts, unit_at;
    struct quantised_plane low, high;
    uint32_t less;
};

static const struct quantised_layout quantised_layouts[INLAY_ELEMENT_TYPES] = {
#define QUANTISED_TYPE(name, type, ...) [type] = {__VA_ARGS__},
#include "simd/quantised_types.h"
#undef QUANTISED_TYPE
};

/* Returns the bytes of n numbers; the last one may fill one half of its byte. */
VEC_INLINE size_t quantised_number_bytes(inlay_element_type type, size_t n)
{
    const size_t bits = quantised_layouts[type].bits;
    return bits == 4 ? (n + 1) / 2 : n * (bits / 8);
}

/* Returns the bytes of a block, or of a superblock. */
VEC_INLINE size_t quantised_bytes(inlay_element_type type)
{
    const struct quantised_layout *layout = &quantised_layouts[type];
    return layout->blocks > 0 ? layout->bytes : layout->header_bytes + quantised_number_bytes(type, QUANTISED_BLOCK);
}

/* Returns where a block, or the superblock that it belongs to, lies in the row. */
VEC_INLINE const unsigned char *quantised_block(inlay_element_type type, const struct quantised_row *row, size_t block)
{
    const size_t blocks = quantised_layouts[type].blocks;
    return row->bytes + (blocks > 0 ? block / blocks : block) * quantised_bytes(type);
}

/* Returns where the numbers from column `within` of a block on lie in the row, of types that are no superblocks. */
VEC_INLINE const unsigned char *quantised_at(inlay_element_type type, const struct quantised_row *row, size_t block,
                                             size_t within)
{
    const struct quantised_layout *layout = &quantised_layouts[type];
    return quantised_block(type, row, block) + layout->header_bytes +
           (layout->halves ? within % QUANTISED_HALF : quantised_number_bytes(type, within));
}

/* Returns whether rows are made of whole blocks or superblocks, so that no call ends within one. */
VEC_INLINE bool quantised_whole(inlay_element_type type)
{
    return quantised_layouts[type].header_bytes > 0 || quantised_layouts[type].blocks > 0;
}

/* ---- What columns share ----------------------------------------------------------------------------------------- */

/* Returns one float16 in all lanes, as floats. */
VEC_INLINE vec quantised_half(const unsigned char *from)
{
    uint16_t half;
    memcpy(&half, from, sizeof half);
    const vec_half_bits halves = (vec_half_bits){0} + half;
    return vec_load_f16((const unsigned char *)&halves);
}

/* Adds 256 times a factor, so that its product with a number that is read as 2^-8 of what it is has one rounding. */
VEC_INLINE void quantised_small_factor(struct quantised_terms *terms, float factor)
{
    terms->grows = (inlay_bits_f32(factor) & INT32_MAX) >= (127 + 120) << 23;
    terms->factor = vec_set1(terms->grows ? factor : factor * 256);
}

/* The same of the power of two 2^(e - 127), of which 255 is NaN. */
VEC_INLINE void quantised_e8m0(struct quantised_terms *terms, uint32_t e)
{
    const uint32_t nan = 0x7fc00000;
    terms->grows = e > 246;
    terms->factor = (vec)vec_bits_set1(!terms->grows ? (e + 8) << 23 : e == 255 ? nan : e << 23);
}

/* Returns the terms that do not change along a row. */
VEC_INLINE struct quantised_terms quantised_row_terms(inlay_element_type type, const struct quantised_row *row)
{
    struct quantised_terms terms = {.shift = vec_set1(quantised_layouts[type].shift)};
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
    case INLAY_U4_ROWWISE:
        terms.factor = quantised_half(row->scales);
        terms.bias = quantised_half(row->scales + 2);
        break;
    case INLAY_E4M3:
        quantised_small_factor(&terms, inlay_load_f32(row->scales, 0));
        break;
    default:
        break;
    }
    return terms;
}

/* Returns the power of two 2^(e - 128), of which 0 and 1 are subnormal. */
VEC_INLINE vec quantised_mxfp4_scale(uint32_t e)
{
    return (vec)vec_bits_set1(e < 2 ? UINT32_C(0x200000) << e : (e - 1) << 23);
}

/* Returns 4-bit number i of an array, the lower half of each byte first. */
VEC_INLINE int quantised_nibble(const unsigned char *bytes, size_t i)
{
    return bytes[i / 2] >> i % 2 * 4 & 15;
}

/* Returns zero point i of a type. */
VEC_INLINE int quantised_zero(inlay_element_type type, const unsigned char *zeros, size_t i)
{
    if (type == INLAY_I8_GROUPED)
        return (signed char)zeros[i];
    return type == INLAY_U8_GROUPED ? zeros[i] : quantised_nibble(zeros, i);
}

/* Returns the row's terms with those that belong to one block. */
VEC_INLINE struct quantised_terms quantised_block_terms(inlay_element_type type, const struct quantised_row *row,
                                                        size_t block, struct quantised_terms terms)
{
    const struct quantised_layout *layout = &quantised_layouts[type];
    const unsigned char *at = quantised_block(type, row, block);
    if (layout->header_bytes > 1) {
        terms.factor = quantised_half(at);
        if (layout->biased)
            terms.bias = quantised_half(at + 2);
    }
    switch (type) {
    case INLAY_MXFP4:
        terms.factor = quantised_mxfp4_scale(at[0]);
        break;
    case INLAY_E4M3_E8M0:
        quantised_e8m0(&terms, row->scales[block]);
        break;
    case INLAY_U4_GROUPED:
    case INLAY_U4_GROUPED_FLAT:
    case INLAY_I8_GROUPED:
    case INLAY_U8_GROUPED: {
        /* A shift divides by the group, which is a power of two: a division would take as long as the block. */
        size_t group = block * QUANTISED_BLOCK >> __builtin_ctzl(row->group);
        terms.factor = vec_set1(inlay_load_f32(row->scales, group));
        if (row->zeros != NULL)
            terms.shift = vec_set1(-(float)quantised_zero(type, row->zeros, row->zero_at + group));
        break;
    }
    default:
        break;
    }
    return terms;
}

/* Returns half of an unsigned E4M3 number without NaN: 127 is 0, and 255, since bit 7 is ignored, half of 480. A float
   with these bits is 2^-120 of the number, subnormal ones too. */
VEC_INLINE vec quantised_nvfp4_scale(uint32_t x)
{
    return (vec)vec_bits_set1(x == 127 ? 0 : (x & 127) << 20) * 0x1p119f;
}

/* Returns eight bytes. Vectors read them at once, so that they must be written at once. */
VEC_INLINE uint64_t quantised_eight(uint32_t low, uint32_t high)
{
    return low | (uint64_t)high << 32;
}

/* Writes how many units the factors of a superblock are, 16 bytes, and then how many its biases are. */
VEC_INLINE void quantised_units(inlay_element_type type, const unsigned char *superblock, uint64_t units[4])
{
    const uint32_t sixes = 0x3f3f3f3f, fours = 0xf0f0f0f, twos = 0x3030303;
    uint32_t b[3];
    switch (type) {
    case INLAY_Q2_K:
        memcpy(units, superblock, 16);
        for (size_t i = 0; i < 2; i++) {
            units[2 + i] = units[i] >> 4 & quantised_eight(fours, fours);
            units[i] &= quantised_eight(fours, fours);
        }
        break;
    case INLAY_Q3_K:
        memcpy(b, superblock + 96, sizeof b);
        for (size_t i = 0; i < 2; i++)
            units[i] = quantised_eight((b[0] >> 4 * i & fours) | (b[2] >> 4 * i & twos) << 4,
                                       (b[1] >> 4 * i & fours) | (b[2] >> (4 * i + 2) & twos) << 4);
        break;
    case INLAY_Q4_K:
    case INLAY_Q5_K:
        memcpy(b, superblock + 4, sizeof b);
        units[0] = quantised_eight(b[0] & sixes, (b[2] & fours) | (b[0] >> 6 & twos) << 4);
        units[2] = quantised_eight(b[1] & sixes, (b[2] >> 4 & fours) | (b[1] >> 6 & twos) << 4);
        break;
    case INLAY_Q6_K:
        memcpy(units, superblock + 192, 16);
        break;
    case INLAY_IQ4_XS:
        for (size_t j = 0; j < 8; j++)
            units[0] |= (uint64_t)(quantised_nibble(superblock + 4, j) | (superblock[2 + j / 4] >> j % 4 * 2 & 3) << 4)
                        << 8 * j;
        break;
    case INLAY_IQ3_S:
        for (size_t j = 0; j < 8; j++)
            units[0] |= (uint64_t)(2 * quantised_nibble(superblock + 106, j) + 1) << 8 * j;
        break;
    default:
        break;
    }
}

/* Writes the factors of the parts of a superblock, and behind 16 of them the biases. */
VEC_INLINE void quantised_share(inlay_element_type type, const struct quantised_row *row, size_t block)
{
    const struct quantised_layout *layout = &quantised_layouts[type];
    const unsigned char *at = quantised_block(type, row, block);
    const float less = type == INLAY_Q3_K || type == INLAY_IQ4_XS ? 32 : 0;
    uint64_t units[4] = {0};
    quantised_units(type, at, units);
    const unsigned char *scales = (const unsigned char *)units, *leasts = scales + 16;
    const vec unit = quantised_half(at + layout->unit_at);
    for (size_t i = 0; i < layout->parts; i += VEC_LEN)
        vec_store((unsigned char *)(row->shared + i), unit * (vec_load_i8(scales + i) - less));
    if (layout->biased) {
        const vec least_unit = quantised_half(at + layout->unit_at + 2);
        for (size_t i = 0; i < layout->parts; i += VEC_LEN)
            vec_store((unsigned char *)(row->shared + 16 + i), least_unit * -vec_load_i8(leasts + i));
    }
}

/* Returns the block's terms with those that belong to its first 16 columns or to its last, which begin at `within`. */
VEC_INLINE struct quantised_terms quantised_half_terms(inlay_element_type type, const struct quantised_row *row,
                                                       size_t block, size_t within, struct quantised_terms terms)
{
    const struct quantised_layout *layout = &quantised_layouts[type];
    const size_t half = within / QUANTISED_HALF;
    if (type == INLAY_E2M1_F32)
        terms.factor = vec_set1(inlay_load_f32(row->scales, block * 2 + half));
    if (type == INLAY_NVFP4)
        terms.factor = quantised_nvfp4_scale(quantised_block(type, row, block)[block % 2 * 2 + half]);
    if (layout->parts > 0) {
        const size_t part = (block % 8 * 2 + half) * layout->parts / 16;
        terms.factor = vec_set1(row->shared[part]);
        if (layout->biased)
            terms.bias = vec_set1(row->shared[16 + part]);
    }
    return terms;
}

/* ---- Numbers and values ----------------------------------------------------------------------------------------- */

/* Reads VEC_LEN 4-bit numbers of a block whose byte i holds those of columns i and i + 16, as bytes. */
VEC_INLINE vec_bytes quantised_halves(const unsigned char *from, size_t within)
{
    return within < QUANTISED_HALF ? vec_load_bytes(from) & 15 : vec_load_bytes(from) >> 4;
}

/* Returns ones in the lanes of VEC_LEN columns of a block whose bit, of 32 in four bytes, is set. */
VEC_INLINE vec_bits quantised_bits_set(const unsigned char *bytes, size_t within)
{
    static const uint32_t bit_of_lane[QUANTISED_HALF] = {1 << 0,  1 << 1,  1 << 2,  1 << 3, 1 << 4,  1 << 5,
                                                         1 << 6,  1 << 7,  1 << 8,  1 << 9, 1 << 10, 1 << 11,
                                                         1 << 12, 1 << 13, 1 << 14, 1 << 15};
    const vec_bits lanes = (vec_bits)vec_load((const unsigned char *)bit_of_lane);
    uint32_t bits;
    memcpy(&bits, bytes, sizeof bits);
    return (vec_bits)((vec_bits_set1(bits >> within) & lanes) == lanes);
}

/* Reads VEC_LEN numbers of INLAY_IQ3_S, from column `within` of block `block` of a superblock on: magnitudes of four
   columns at an index of 9 bits in the grid, and signs. */
VEC_INLINE vec quantised_iq3_s(const unsigned char *superblock, size_t block, size_t within)
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
    return (vec)((vec_bits)magnitudes ^ (quantised_bits_set(signs, within) & UINT32_C(1) << 31));
}

/* Reads the bits that a plane has of VEC_LEN columns, which begin at column `within` of block `block` of a superblock,
   as bits from `lowest` on. */
VEC_INLINE vec_bits quantised_plane_bits(struct quantised_plane plane, const unsigned char *superblock, size_t block,
                                         size_t within, size_t lowest)
{
    const size_t columns = plane.wide * (8 / plane.bits), in_chunk = block % columns;
    const unsigned char *from = superblock + plane.at + block / columns * plane.wide * QUANTISED_BLOCK +
                                in_chunk % plane.wide * QUANTISED_BLOCK + within;
    const uint32_t first = (uint32_t)(in_chunk / plane.wide * plane.bits), to = (uint32_t)lowest;
    const vec_bits bytes = vec_bits_of_bytes(vec_load_bytes(from));
    if (to == 0 && first + plane.bits == 8) /* no others are left */
        return bytes >> first;
    return (first > to ? bytes >> (first - to) : bytes << (to - first)) & (uint32_t)((1 << plane.bits) - 1) << to;
}

/* Reads VEC_LEN numbers of a superblock as floats, exactly. */
VEC_INLINE vec quantised_super_load(inlay_element_type type, const struct quantised_row *row, size_t block,
                                    size_t within)
{
    const struct quantised_layout *layout = &quantised_layouts[type];
    const unsigned char *at = quantised_block(type, row, block);
    block %= layout->blocks;
    if (type == INLAY_NVFP4) {
        at += 4 + (block * QUANTISED_BLOCK + within) / QUANTISED_HALF * 8;
        return vec_lookup(quantised_e2m1, vec_load_u4_halves(at, within % QUANTISED_HALF));
    }
    if (type == INLAY_IQ4_XS)
        return vec_lookup(layout->values,
                          quantised_halves(at + 8 + block * QUANTISED_HALF + within % QUANTISED_HALF, within));
    if (type == INLAY_IQ3_S)
        return quantised_iq3_s(at, block, within);
    vec_bits numbers = quantised_plane_bits(layout->low, at, block, within, 0);
    if (layout->high.bits > 0)
        numbers |= quantised_plane_bits(layout->high, at, block, within, layout->low.bits);
    return vec_from_bits(layout->less > 0 ? numbers - layout->less : numbers);
}

/* Reads VEC_LEN numbers as floats, exactly; `within` is the column of their block that they begin at. */
VEC_INLINE vec quantised_load(inlay_element_type type, const unsigned char *from, size_t within)
{
    const struct quantised_layout *layout = &quantised_layouts[type];
    if (layout->halves) {
        const vec_bytes numbers = quantised_halves(from, within);
        if (layout->values != NULL)
            return vec_lookup(layout->values, numbers);
        const vec_bits bits = vec_bits_of_bytes(numbers);
        /* Fifth bits lie before the first of the numbers. */
        const unsigned char *fifths = from - within % QUANTISED_HALF - 4;
        return vec_from_bits(layout->header_bytes < 6 ? bits : bits | (quantised_bits_set(fifths, within) & 16));
    }
    if (layout->bits == 4 && layout->values != NULL)
        return vec_lookup(layout->values, vec_load_u4_bytes(from)) * 0.5f;
    if (layout->bits == 4)
        return vec_load_u4(from);
    switch (type) {
    case INLAY_F16:
        return vec_load_f16(from);
    case INLAY_BF16:
        return vec_load_bf16(from);
    case INLAY_E4M3:
    case INLAY_E4M3_E8M0:
        return vec_load_e4m3(from);
    case INLAY_U8_ROWWISE:
    case INLAY_U8_GROUPED:
        return vec_from_bits(vec_bits_of_bytes(vec_load_bytes(from)));
    default:
        return vec_load_i8(from);
    }
}

VEC_INLINE vec quantised_value(inlay_element_type type, vec x, struct quantised_terms terms)
{
    const struct quantised_layout *layout = &quantised_layouts[type];
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
VEC_INLINE vec quantised_values(inlay_element_type type, const struct quantised_row *row, size_t block, size_t within,
                                struct quantised_terms terms)
{
    vec x = quantised_layouts[type].blocks > 0 ? quantised_super_load(type, row, block, within)
                                               : quantised_load(type, quantised_at(type, row, block, within), within);
    return quantised_value(type, x, terms);
}
