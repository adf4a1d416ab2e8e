/* SPDX-License-Identifier: MIT */
/*
 * A tensor that holds rows of a table, and what lies beside it: scales and zero points, under the names that
 * checkpoints agree on. The data stay where they are; scales and zero points are converted if no table can have them as
 * they are.
 */
#ifndef INLAY_FILE_PIECE_H
#define INLAY_FILE_PIECE_H

#include "handle.h"

/** A tensor, and the table that its rows are. */
struct inlay_piece {
    const inlay_file_tensor *tensor;
    inlay_table view;
    float scale; /**< of the whole table */
};

/** What the functions below need of a call. */
struct inlay_piece_request {
    inlay_file *file;
    inlay_file_error *error;
    char *name; /**< [room], for names of tensors: 32 bytes more than those of the call take */
    size_t room;
};

/** Makes a piece of a tensor: checks that it can be a table, and finds its scales and zero points. */
inlay_file_status inlay_piece_make(const struct inlay_piece_request *request, const inlay_file_tensor *tensor,
                                   struct inlay_piece *piece);

/** Finds one number that is the scale of all tensors whose names begin with `stem` [size]. *scale stays where there is
    none. */
inlay_file_status inlay_piece_shared_scale(const struct inlay_piece_request *request, const char *stem, size_t size,
                                           float *scale);

#endif
