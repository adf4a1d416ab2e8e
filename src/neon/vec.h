/* SPDX-License-Identifier: MIT */
/*
 * The vector operations of src/simd in NEON (aarch64): all NEON intrinsics in the library.
 */
#pragma once

#ifndef __aarch64__
#error "NEON here is that of aarch64: ARMv7's flushes subnormals and has no vectors of doubles"
#endif

#include <arm_neon.h>

#define VEC_LEN 4
#define VEC_SLEEF_SINCOSPI Sleef_sincospid2_u05advsimd
#define VEC_STREAMS 0

typedef float32x4_t vec;
typedef float64x2_t vec_double;
typedef uint8x8_t vec_bytes;

#include "simd/vec_ops.h"

/* These load VEC_LEN elements of a type and convert them to floats, exactly. */
VEC_INLINE vec vec_load_f16(const unsigned char *from)
{
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(from)));
}

VEC_INLINE vec vec_load_bf16(const unsigned char *from)
{
    return vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(vld1_u8(from)), 16));
}

/* Loads VEC_LEN bytes into the lower half of a register. */
VEC_INLINE vec_bytes vec_load_bytes(const unsigned char *from)
{
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return vreinterpret_u8_u32(vdup_n_u32(word));
}

VEC_INLINE vec vec_load_i8(const unsigned char *from)
{
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(vec_load_bytes(from))))));
}

/* Widens bytes to 32-bit integers. */
VEC_INLINE vec_bits vec_bits_of_bytes(vec_bytes bytes)
{
    return vmovl_u16(vget_low_u16(vmovl_u8(bytes)));
}

/* Looks up bytes below 16 in a table, as floats. */
VEC_INLINE vec vec_lookup(const signed char values[16], vec_bytes at)
{
    const int8x8_t found = vqtbl1_s8(vld1q_s8(values), at);
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(found))));
}

/* Loads VEC_LEN E4M3 numbers, divided by 256: read as float16 they differ in bias and in the bits of NaN. */
VEC_INLINE vec vec_load_e4m3(const unsigned char *from)
{
    const int16x4_t wide = vget_low_s16(vshll_n_s8(vreinterpret_s8_u8(vec_load_bytes(from)), 7));
    const uint16x4_t half = vand_u16(vreinterpret_u16_s16(wide), vdup_n_u16(0xbf80));
    const uint16x4_t nan = vand_u16(vadd_u16(half, vdup_n_u16(0x80)), vdup_n_u16(0x4000));
    return vcvt_f32_f16(vreinterpret_f16_u16(vorr_u16(half, nan)));
}

/* These load VEC_LEN 4-bit numbers, the lower half of each byte first, as bytes and as floats. */
VEC_INLINE vec_bytes vec_load_u4_bytes(const unsigned char *from)
{
    uint16_t half;
    memcpy(&half, from, sizeof half);
    uint8x8_t bytes = vreinterpret_u8_u16(vdup_n_u16(half));
    return vzip1_u8(vand_u8(bytes, vdup_n_u8(15)), vshr_n_u8(bytes, 4));
}

VEC_INLINE vec vec_load_u4(const unsigned char *from)
{
    return vec_from_bits(vec_bits_of_bytes(vec_load_u4_bytes(from)));
}

/* Returns a0 b0 a1 b1 ... */
VEC_INLINE struct vec_two vec_interleave(vec a, vec b)
{
    return (struct vec_two){vzip1q_f32(a, b), vzip2q_f32(a, b)};
}

/* Returns a0 a2 ... b0 b2 ..., then a1 a3 ... b1 b3 ... */
VEC_INLINE struct vec_two vec_deinterleave(vec a, vec b)
{
    return (struct vec_two){vuzp1q_f32(a, b), vuzp2q_f32(a, b)};
}

/* Returns the halves of lanes as a0 b0 a1 b1 ...: the lower halves, then the upper halves. */
VEC_INLINE struct vec_half_bits_two vec_zip_halves(vec a, vec b)
{
    const uint16x8_t x = vreinterpretq_u16_f32(a), y = vreinterpretq_u16_f32(b);
    return (struct vec_half_bits_two){vtrn1q_u16(x, y), vtrn2q_u16(x, y)};
}

/* Swaps lanes 2i and 2i + 1. */
VEC_INLINE vec vec_swap_neighbors(vec x)
{
    return vrev64q_f32(x);
}

VEC_INLINE struct vec_double_two vec_to_doubles(vec x)
{
    return (struct vec_double_two){vcvt_f64_f32(vget_low_f32(x)), vcvt_high_f64_f32(x)};
}

VEC_INLINE vec_double vec_double_min(vec_double a, vec_double b)
{
    return vminq_f64(a, b);
}

/* Returns a * b + c, rounded once. */
VEC_INLINE vec_double vec_double_fma(vec_double a, vec_double b, vec_double c)
{
    return vfmaq_f64(c, a, b);
}

/* Returns lanes of b where the top bit of `by` is set, else lanes of a. */
VEC_INLINE vec_double vec_double_select(vec_double_bits by, vec_double a, vec_double b)
{
    return vbslq_f64((uint64x2_t)vshrq_n_s64((int64x2_t)by, 63), b, a);
}

VEC_INLINE vec vec_from_doubles(vec_double low, vec_double high)
{
    return vcvt_high_f32_f64(vcvt_f32_f64(low), high);
}

/* Like vec_from_doubles(), but rounds to odd: the last bit is set if the result is inexact, so rounding again to a
   narrower type equals rounding once. */
VEC_INLINE vec vec_from_doubles_odd(vec_double low, vec_double high)
{
    return vcvtx_high_f32_f64(vcvtx_f32_f64(low), high);
}

/* Rounds floats to float16, in the lower halves of the lanes. */
VEC_INLINE vec vec_round_f16(vec x)
{
    return vreinterpretq_f32_u32(vmovl_u16(vreinterpret_u16_f16(vcvt_f16_f32(x))));
}

/* Like vec_round_bf16(), for any floats. Rounding a NaN could carry into its exponent, so a NaN is made quiet instead
   and keeps the upper bits of its payload. */
VEC_INLINE vec vec_round_bf16_any(vec x)
{
    uint32x4_t quiet = vorrq_u32(vshrq_n_u32(vreinterpretq_u32_f32(x), 16), vdupq_n_u32(0x40));
    return vbslq_f32(vceqq_f32(x, x), vec_round_bf16(x), vreinterpretq_f32_u32(quiet));
}

/* Stores the lower halves of the lanes, packed. */
VEC_INLINE void vec_store_halves(unsigned char *to, vec x)
{
    vst1_u8(to, vreinterpret_u8_u16(vmovn_u32(vreinterpretq_u32_f32(x))));
}

/* Rounds floats to float16 and stores them. */
VEC_INLINE void vec_store_f16(unsigned char *to, vec x)
{
    vst1_u8(to, vreinterpret_u8_f16(vcvt_f16_f32(x)));
}

/* Returns the upper halves of the lanes of a, then of b. */
VEC_INLINE vec vec_pack_upper(vec a, vec b)
{
    return vreinterpretq_f32_u16(vuzp2q_u16(vreinterpretq_u16_f32(a), vreinterpretq_u16_f32(b)));
}

/* Rounds two registers of floats to one of float16. */
VEC_INLINE vec vec_pack_f16(vec a, vec b)
{
    return vreinterpretq_f32_f16(vcvt_high_f16_f32(vcvt_f16_f32(a), b));
}

/* Loads VEC_DOUBLES unsigned 32-bit integers into 64-bit lanes. */
VEC_INLINE vec_double_bits vec_widen(const uint32_t *from)
{
    return (vec_double_bits)vmovl_u32(vld1_u32(from));
}

/* Loads signed bytes as 16-bit integers. */
VEC_INLINE vec_half_bits vec_half_bits_load_i8(const unsigned char *from)
{
    return (vec_half_bits)vmovl_s8(vreinterpret_s8_u8(vld1_u8(from)));
}

/* Returns (a + b + 1) / 2 of unsigned 16-bit lanes. */
VEC_INLINE vec_half_bits vec_half_bits_average(vec_half_bits a, vec_half_bits b)
{
    return vrhaddq_u16(a, b);
}

/* Returns the minimum of unsigned 16-bit lanes. */
VEC_INLINE vec_half_bits vec_half_bits_min(vec_half_bits a, vec_half_bits b)
{
    return vminq_u16(a, b);
}

/* Adds b to the lanes of a where `by` is not 0. */
VEC_INLINE vec_half_bits vec_half_bits_add_if(vec_half_bits a, vec_half_bits b, vec_half_bits by)
{
    return vaddq_u16(a, vandq_u16(b, vtstq_u16(by, by)));
}

/* True if any lane has any of `bits` set. */
VEC_INLINE bool vec_bits_test(vec_bits x, uint32_t bits)
{
    return vmaxvq_u32(vandq_u32(x, vdupq_n_u32(bits))) != 0;
}

/* A table of 16 16-bit integers, for indices below 16. Each index becomes the indices of two bytes. */
struct vec_table {
    uint8x16x2_t bytes;
};

VEC_INLINE struct vec_table vec_table_load(const unsigned char *from)
{
    return (struct vec_table){{{vld1q_u8(from), vld1q_u8(from + 16)}}};
}

VEC_INLINE vec_half_bits vec_table_lookup(struct vec_table table, vec_half_bits at)
{
    const uint16x8_t bytes_at = vmlaq_n_u16(vdupq_n_u16(0x0100), at, 0x0202);
    return vreinterpretq_u16_u8(vqtbl2q_u8(table.bytes, vreinterpretq_u8_u16(bytes_at)));
}

/* Multiplies the lower halves of 64-bit lanes. */
VEC_INLINE vec_double_bits vec_mul_lower(vec_double_bits a, vec_double_bits b)
{
    return (vec_double_bits)vmull_u32(vmovn_u64((uint64x2_t)a), vmovn_u64((uint64x2_t)b));
}

/* Returns the minimum of unsigned 32-bit lanes. */
VEC_INLINE vec_bits vec_bits_min(vec_bits a, vec_bits b)
{
    return (vec_bits)vminq_u32((uint32x4_t)a, (uint32x4_t)b);
}

#include "simd/lanes.h"
