/* SPDX-License-Identifier: MIT */
/*
 * One shape of layer measured with several tunings side by side, for `inlay tune`. It neither prints nor knows what
 * the thresholds mean.
 */
#ifndef INLAY_TOOL_CONTEST_H
#define INLAY_TOOL_CONTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "choice.h"

/** Memory that all contenders share. */
struct arena {
    size_t table_bytes, positions_bytes, out_bytes;
    float *table, *positions, *out;
    int32_t *ids;
};

/** Allocates and touches arrays for outputs of up to `largest` bytes. DONE, or FAILED with a message. */
int arena_make(struct arena *arena, size_t largest);

void arena_free(struct arena *arena);

/** A forward pass of float32 rows, with learned positions or cached sinusoids. */
struct shape {
    size_t sequences, length, dim;
    bool sinusoid;
};

/**
 * Measures a shape with each of the tunings [n] in turn, round after round, for about `seconds`, and writes the
 * shortest time of a call to seconds_of [n]. DONE, or FAILED with a message.
 */
int contest_run(const struct arena *arena, const struct shape *shape, const inlay_tuning *tunings, size_t n,
                double seconds, double *seconds_of);

#endif
