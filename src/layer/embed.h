/* SPDX-License-Identifier: MIT */
/*
 * The pass behind gather, scale, add_positions and forward: a validated piece of work, cut into parts. What every token
 * has a place in the plain way goes through embed.c, all else through stages.c. Included by them and by those who fill
 * the work in, inlay.c and layer.c.
 */
#ifndef INLAY_EMBED_H
#define INLAY_EMBED_H

#include "dispatch/kernels.h"
#include "dispatch/tuning.h"
#include "positions/sinusoid.h"

/* out = cast(dropout(norm(row * scale + position + segment))), every field validated by who fills it in; absent terms
   are null or 0. */
struct inlay_embed_work {
    const inlay_table *tokens;
    const void *ids; /* without ids token i takes row i */
    inlay_id_type id_type;
    float scale;
    /* Ids that are no row: only looked at where `ruled`. */
    bool ruled;
    inlay_bad_id bad_id;
    int64_t padding_id, substitute_id;
    bool zeros_positioned;

    /* Positions: those of a table, later ones of the sinusoid; neither: no such term. */
    const inlay_table *positions;
    const inlay_sinusoid *sinusoid;
    int64_t start;
    const int64_t *starts; /* [sequences], or null: start for all */
    /* Where positions of tokens are listed, numbered or clamped, they do not simply follow each other. */
    const void *listed;
    inlay_id_type listed_type;
    bool numbered, clamped;
    bool apart; /* as they are in those three ways, or since some tokens that stand between others take none */

    size_t sequences, length, dim;
    const int64_t *offsets; /* [sequences + 1], or null: each sequence has `length` tokens, else all together */
    size_t longest;         /* with offsets: no sequence has more tokens */
    size_t out_length;      /* rows of the output for each sequence; 0: packed */
    unsigned char *out;
    size_t out_stride_bytes;

    /* Stages: a term more, then those behind the sum. */
    const inlay_table *segments;
    bool segments_first; /* (row * scale + segment) + position */
    const void *segment_ids;
    inlay_id_type segment_id_type;
    inlay_norm norm;
    float epsilon;
    const unsigned char *gamma, *beta;
    inlay_pooling pooling;
    const unsigned char *weights;
    float dropout; /* positive, or 0: none */
    uint64_t dropout_key, dropout_offset;
    inlay_element_type out_type;

    struct inlay_thresholds tuning;
};

/* Tokens [s, s_end) of sequences [b, b_end), as far as each has them: what one thread does. */
struct inlay_part {
    const struct inlay_embed_work *work;
    const struct inlay_kernels *kernels;
    bool stream, far, narrow, staged;
    size_t b, b_end, s, s_end;
};

/* Cuts the work for the executor; each part guards the floating-point environment of its thread, runs the kernels in
   use, and fences what they streamed. */
void inlay_embed_run(const struct inlay_embed_work *work, const inlay_executor *executor);

/* Writes what a token has that takes no row of the table (enum inlay_kind of resolve.h): columns of floats. */
void inlay_put_no_row(const struct inlay_kernels *kernels, int kind, float scale, const unsigned char *position,
                      unsigned char *out, size_t columns);

/* A part of work that has stages, pooling, or positions that do not simply follow each other. Runs kernels. */
void inlay_stages_run(const struct inlay_part *part);

#endif
