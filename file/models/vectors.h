/* SPDX-License-Identifier: MIT */
/*
 * Tensors of one dimension as arrays of the types that layers and n-grams read: weights of norms and tokens as float32,
 * constants of hashes as integers. What has that type already stays where it is; the rest is converted into memory of
 * the caller's.
 */
#pragma once

#include "error.h"

/**
 * Finds the float32 values of a tensor of type F32, F16, BF16 or F64, whose values are rounded to nearest even.
 *
 * @param floats  where to write the address of its values [shape[0]], at any address
 * @param owned   where to write null, or memory to free() later, which *floats is
 * @return false with INLAY_FILE_ERROR_SHAPE if it has not one dimension, _TYPE or _NO_MEMORY
 */
bool inlay_vector_floats(const inlay_file_tensor *tensor, const void **floats, float **owned, inlay_file_error *error);

/** Finds the id type of a tensor of one dimension and of type I32 or I64. INLAY_FILE_ERROR_SHAPE or _TYPE. */
bool inlay_vector_id_type(const inlay_file_tensor *tensor, inlay_id_type *type, inlay_file_error *error);

/** Writes the integers of a tensor of any rank and of type I32, I64, U32 or U64 into memory to free() later.
    INLAY_FILE_ERROR_TYPE, also for an integer of 2^63 and more; INLAY_FILE_ERROR_NO_MEMORY. */
bool inlay_vector_integers(const inlay_file_tensor *tensor, int64_t **integers, size_t *count, inlay_file_error *error);
