/* SPDX-License-Identifier: MIT */
/*
 * A tensor that holds rows of a table, and what lies beside it: scales and zero points, under the names that
 * checkpoints agree on. The data stay where they are; scales and zero points are converted if no table can have them as
 * they are.
 */
#pragma once

#include "handle.h"

/** A tensor, the table that its rows are, and what the call has that makes it. */
struct inlay_piece {
    inlay_file *file;
    inlay_file_error *error;
    char *name; /**< [room], for names of tensors: 32 bytes more than those of the call take */
    size_t room;
    const inlay_file_tensor
        *shared; /**< one number, the scale of all tensors of a pattern without their own; or null */
    const inlay_file_tensor *tensor;
    const inlay_file_tensor *scales, *read[8]; /**< next to the tensor: its scales, and all that was found */
    inlay_file_table table;
};

/** Makes a piece of a tensor: checks that it can be a table, and finds its scales and zero points.
   INLAY_FILE_ERROR_TYPE if the names next to it leave open what its rows mean. */
bool inlay_piece_make(struct inlay_piece *piece, const inlay_file_tensor *tensor);

/** Finds the shared scale of the tensors whose names begin with `stem` [size]. INLAY_FILE_ERROR_MISSING if it is
 * absent.
 */
bool inlay_piece_find_shared(struct inlay_piece *piece, const char *stem, size_t size);

/** Converts [rows, columns] of F32, F16, BF16 or F8_E4M3 to float32 and multiplies them by a factor. */
void inlay_piece_convert(const inlay_file_tensor *from, size_t rows, size_t columns, float factor, float *out);
