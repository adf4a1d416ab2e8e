/* SPDX-License-Identifier: MIT */
/*
 * struct inlay_moves: how a call moves its rows, decided once before it runs: by which kernels, with which stores, and
 * what it may prefetch.
 */
#pragma once

#include "dispatch/kernels.h"
#include "dispatch/tuning.h"
#include "learn/learner.h"

struct inlay_moves {
    const struct inlay_kernels *kernels;
    struct inlay_choices choices; /* what is prefetched, or learnt to be */
    bool narrow_moves;            /* move 32 bytes at a time, where vectors are longer */
    bool stream;                  /* non-temporal stores */
};

/* Returns whether an output of that many bytes is written by non-temporal stores. */
static inline bool inlay_streams(const struct inlay_kernels *kernels, inlay_stores stores, const inlay_tuning *tuning,
                                 size_t written_bytes)
{
    return kernels->streams &&
           (stores == INLAY_STORES_AUTOMATIC ? written_bytes > tuning->stream_bytes : stores == INLAY_STORES_STREAMED);
}
