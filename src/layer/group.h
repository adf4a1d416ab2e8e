/* SPDX-License-Identifier: MIT */
/*
 * A group: a few tokens of one sequence on their way through the general path, as floats in L1. The general path sums
 * them; the post-ops finish them.
 */
#pragma once

#include "layer/rows.h"
#include "tile/tile.h"

enum { INLAY_GROUP_TOKENS = 16 };

struct inlay_group {
    const struct inlay_part *part;
    size_t first, count; /* of the ids; of the output rows if sequences are pooled */
    enum inlay_row_kind kinds[INLAY_GROUP_TOKENS];
    size_t rows[INLAY_GROUP_TOKENS];
    size_t positions[INLAY_GROUP_TOKENS];
    unsigned char *floats[INLAY_GROUP_TOKENS]; /* columns [column, column + columns) of each token */
    size_t floats_stride_bytes;
    size_t column, columns;
    bool stream; /* the sum is the result and uses non-temporal stores */
};

/* Finishes whole rows of floats, as inlay_stage.finish does; the context is the part. */
void inlay_finish_rows(const void *context, unsigned char *const *floats, const struct inlay_row_sums *sums,
                       unsigned char *const *out, size_t count);

/* Writes columns of rows of floats to out[i] as the output's type. */
void inlay_convert_rows(const struct inlay_part *part, unsigned char *const *floats, unsigned char *const *out,
                        size_t count, size_t columns);

/* Applies norm and dropout to the floats of whole rows, then converts them to out[i], unless that is where the floats
   are. */
void inlay_finish_group(const struct inlay_group *group, unsigned char *const *out);
