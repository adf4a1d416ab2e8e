/* SPDX-License-Identifier: MIT */
/*
 * The types of tables besides float32, and the names of the functions that embed their rows. Included by simd/kernels.h
 * once for each thing that it makes of the list, which is what QUANTISED_TYPE then is.
 */

QUANTISED_TYPE(embed_f16, INLAY_F16)
QUANTISED_TYPE(embed_bf16, INLAY_BF16)
QUANTISED_TYPE(embed_i8, INLAY_I8)
QUANTISED_TYPE(embed_i8_inverse, INLAY_I8_INVERSE)
QUANTISED_TYPE(embed_u8_rowwise, INLAY_U8_ROWWISE)
QUANTISED_TYPE(embed_u4_rowwise, INLAY_U4_ROWWISE)
QUANTISED_TYPE(embed_u4_grouped, INLAY_U4_GROUPED)
QUANTISED_TYPE(embed_u4_grouped_flat, INLAY_U4_GROUPED_FLAT)
QUANTISED_TYPE(embed_q8_0, INLAY_Q8_0)
QUANTISED_TYPE(embed_q4_0, INLAY_Q4_0)
QUANTISED_TYPE(embed_e4m3, INLAY_E4M3)
QUANTISED_TYPE(embed_e4m3_e8m0, INLAY_E4M3_E8M0)
QUANTISED_TYPE(embed_q4_1, INLAY_Q4_1)
QUANTISED_TYPE(embed_q5_0, INLAY_Q5_0)
QUANTISED_TYPE(embed_q5_1, INLAY_Q5_1)
QUANTISED_TYPE(embed_iq4_nl, INLAY_IQ4_NL)
QUANTISED_TYPE(embed_mxfp4, INLAY_MXFP4)
QUANTISED_TYPE(embed_nvfp4, INLAY_NVFP4)
QUANTISED_TYPE(embed_q3_k, INLAY_Q3_K)
QUANTISED_TYPE(embed_q4_k, INLAY_Q4_K)
QUANTISED_TYPE(embed_q5_k, INLAY_Q5_K)
QUANTISED_TYPE(embed_q6_k, INLAY_Q6_K)
