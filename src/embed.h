/* SPDX-License-Identifier: MIT */
/*
 * The one pass behind gather, scale, add_positions and forward: a validated piece of work, cut into tiles, its ids and
 * positions resolved to row pointers, the kernels run on them. Included by inlay.c and layer.c.
 */
#ifndef INLAY_EMBED_H
#define INLAY_EMBED_H

#include "policy.h"
#include "sinusoid.h"

/* out[b, s, :] = rows[ids[b, s], :] * scale + position(start(b) + s), every field validated by who fills it in. */
struct inlay_embed_work {
    const inlay_rows *tokens; /* without ids token i takes row i */
    const void *ids;
    inlay_id_type id_type;
    float scale;
    /* Positions: those of a table, later ones of the sinusoid; neither: no such term. */
    const inlay_rows *positions;
    const inlay_sinusoid *sinusoid;
    int64_t start;
    const int64_t *starts; /* [sequences], or null: start for all */

    size_t sequences, length, dim;
    unsigned char *out;
    size_t out_stride_bytes;
    inlay_stores stores;
    struct inlay_tuning tuning;
};

/* Cuts the work for the executor; each part guards the floating-point environment of its thread, runs the kernels in
   use, and fences what they streamed. */
void inlay_embed_run(const struct inlay_embed_work *work, const inlay_executor *executor);

#endif
