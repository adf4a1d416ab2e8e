/* SPDX-License-Identifier: MIT */
/*
 * A tensor that holds rows of a table, with its scales and zero points, under the names that checkpoints agree on. The
 * data stays in place; scales and zero points are converted if tables don't support their type.
 */
#pragma once

#include "handle.h"

/** A tensor, the table of its rows, and the state of the call that makes it. */
struct inlay_piece {
    inlay_file *file;
    inlay_file_error *error;
    char *name; /**< [room], for names of tensors: 32 bytes more than the caller's names */
    size_t room;
    const inlay_file_tensor
        *shared; /**< one number, the scale of all tensors of a pattern without their own; or null */
    const inlay_file_tensor *tensor;
    const inlay_file_tensor *scales, *read[9]; /**< its scales, and all tensors found next to it */
    inlay_file_table table;
};

/** Makes a piece of a tensor: checks that it can be a table, and finds its scales and zero points. Reports
    INLAY_FILE_ERROR_TYPE if the meaning of its rows isn't clear from the tensors next to it. */
bool inlay_piece_make(struct inlay_piece *piece, const inlay_file_tensor *tensor);

/** Finds the scale shared by the tensors of a pattern, named after `stem` [size]. Reports INLAY_FILE_ERROR_MISSING if
    its file lacks it. */
bool inlay_piece_find_shared(struct inlay_piece *piece, const char *stem, size_t size);

/** Returns true if the elements of a tensor are float64. */
bool inlay_piece_is_double(const inlay_file_tensor *tensor);

/** Converts [rows, columns] of F32, F16, BF16, F8_E4M3 or float64 to float32 and multiplies them by a factor. float64
   is rounded to nearest even first. */
void inlay_piece_convert(const inlay_file_tensor *from, size_t rows, size_t columns, float factor, float *out);
