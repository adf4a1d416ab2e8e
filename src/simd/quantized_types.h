/* SPDX-License-Identifier: MIT */
/*
 * X-macro list of the table types other than float32: the function that embeds a type's rows, the type, and its fields
 * of struct quantized_layout (simd/quantized.h). Included by simd/quantized.h and simd/kernels.h, which define
 * QUANTIZED_TYPE differently.
 */

QUANTIZED_TYPE(embed_f16, INLAY_F16, .bits = 16)
QUANTIZED_TYPE(embed_bf16, INLAY_BF16, .bits = 16)
QUANTIZED_TYPE(embed_i8, INLAY_I8, .bits = 8, .negative = true, .scaled = true)
QUANTIZED_TYPE(embed_i8_inverse, INLAY_I8_INVERSE, .bits = 8, .negative = true, .scaled = true)
QUANTIZED_TYPE(embed_u8_rowwise, INLAY_U8_ROWWISE, .bits = 8, .scaled = true, .biased = true)
QUANTIZED_TYPE(embed_u4_rowwise, INLAY_U4_ROWWISE, .bits = 4, .scaled = true, .biased = true)
QUANTIZED_TYPE(embed_u4_grouped, INLAY_U4_GROUPED, .bits = 4, .grouped = true, .shifted = true, .scaled = true,
               .shift = -8)
QUANTIZED_TYPE(embed_u4_grouped_flat, INLAY_U4_GROUPED_FLAT, .bits = 4, .grouped = true, .shifted = true,
               .scaled = true)
QUANTIZED_TYPE(embed_q8_0, INLAY_Q8_0, .header_bytes = 2, .bits = 8, .negative = true, .scaled = true)
QUANTIZED_TYPE(embed_q4_0, INLAY_Q4_0, .header_bytes = 2, .bits = 4, .halves = true, .shifted = true, .scaled = true,
               .shift = -8)
QUANTIZED_TYPE(embed_e4m3, INLAY_E4M3, .bits = 8, .small = true, .scaled = true)
QUANTIZED_TYPE(embed_e4m3_e8m0, INLAY_E4M3_E8M0, .bits = 8, .small = true, .scaled = true)
QUANTIZED_TYPE(embed_q4_1, INLAY_Q4_1, .header_bytes = 4, .bits = 4, .halves = true, .scaled = true, .biased = true)
QUANTIZED_TYPE(embed_q5_0, INLAY_Q5_0, .header_bytes = 6, .bits = 4, .halves = true, .shifted = true, .scaled = true,
               .shift = -16)
QUANTIZED_TYPE(embed_q5_1, INLAY_Q5_1, .header_bytes = 8, .bits = 4, .halves = true, .scaled = true, .biased = true)
QUANTIZED_TYPE(embed_iq4_nl, INLAY_IQ4_NL, .header_bytes = 2, .bits = 4, .halves = true, .scaled = true,
               .values = quantized_iq4_nl)
QUANTIZED_TYPE(embed_mxfp4, INLAY_MXFP4, .header_bytes = 1, .bits = 4, .halves = true, .scaled = true,
               .values = quantized_e2m1)
QUANTIZED_TYPE(embed_nvfp4, INLAY_NVFP4, .scaled = true, .blocks = 2, .bytes = 36, .values = quantized_e2m1)
QUANTIZED_TYPE(embed_q3_k, INLAY_Q3_K, .scaled = true, .blocks = 8, .bytes = 110, .parts = 16, .unit_at = 108,
               .low = {32, 2, 1}, .high = {0, 1, 1}, .less = 4)
QUANTIZED_TYPE(embed_q4_k, INLAY_Q4_K, .scaled = true, .biased = true, .blocks = 8, .bytes = 144, .parts = 8,
               .unit_at = 0, .low = {16, 4, 1})
QUANTIZED_TYPE(embed_q5_k, INLAY_Q5_K, .scaled = true, .biased = true, .blocks = 8, .bytes = 176, .parts = 8,
               .unit_at = 0, .low = {48, 4, 1}, .high = {16, 1, 1})
QUANTIZED_TYPE(embed_q6_k, INLAY_Q6_K, .scaled = true, .blocks = 8, .bytes = 210, .parts = 16, .unit_at = 208,
               .low = {0, 4, 2}, .high = {128, 2, 1}, .less = 32)
QUANTIZED_TYPE(embed_q2_k, INLAY_Q2_K, .scaled = true, .biased = true, .blocks = 8, .bytes = 84, .parts = 16,
               .unit_at = 80, .low = {16, 2, 1})
QUANTIZED_TYPE(embed_iq4_xs, INLAY_IQ4_XS, .scaled = true, .blocks = 8, .bytes = 136, .parts = 8, .unit_at = 0,
               .values = quantized_iq4_nl)
QUANTIZED_TYPE(embed_iq3_s, INLAY_IQ3_S, .scaled = true, .blocks = 8, .bytes = 110, .parts = 8, .unit_at = 0)
QUANTIZED_TYPE(embed_i8_grouped, INLAY_I8_GROUPED, .bits = 8, .grouped = true, .negative = true, .shifted = true,
               .scaled = true)
QUANTIZED_TYPE(embed_u8_grouped, INLAY_U8_GROUPED, .bits = 8, .grouped = true, .shifted = true, .scaled = true,
               .shift = -128)
QUANTIZED_TYPE(embed_e2m1_f32, INLAY_E2M1_F32, .bits = 4, .scaled = true, .values = quantized_e2m1)
QUANTIZED_TYPE(embed_u2_affine, INLAY_U2_AFFINE, .bits = 2, .grouped = true, .scaled = true, .biased = true)
QUANTIZED_TYPE(embed_u3_affine, INLAY_U3_AFFINE, .bits = 3, .grouped = true, .scaled = true, .biased = true)
QUANTIZED_TYPE(embed_u4_affine, INLAY_U4_AFFINE, .bits = 4, .grouped = true, .scaled = true, .biased = true)
QUANTIZED_TYPE(embed_u5_affine, INLAY_U5_AFFINE, .bits = 5, .grouped = true, .scaled = true, .biased = true)
QUANTIZED_TYPE(embed_u6_affine, INLAY_U6_AFFINE, .bits = 6, .grouped = true, .scaled = true, .biased = true)
QUANTIZED_TYPE(embed_u8_affine, INLAY_U8_AFFINE, .bits = 8, .grouped = true, .scaled = true, .biased = true)
QUANTIZED_TYPE(embed_u8_rowwise_first, INLAY_U8_ROWWISE_FIRST, .bits = 8, .scaled = true, .biased = true)
QUANTIZED_TYPE(embed_u4_rowwise_first, INLAY_U4_ROWWISE_FIRST, .bits = 4, .scaled = true, .biased = true)
QUANTIZED_TYPE(embed_u2_rowwise_first, INLAY_U2_ROWWISE_FIRST, .bits = 2, .scaled = true, .biased = true)
QUANTIZED_TYPE(embed_u2_rowwise, INLAY_U2_ROWWISE, .bits = 2, .scaled = true, .biased = true)
