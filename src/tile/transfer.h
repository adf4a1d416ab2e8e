/* SPDX-License-Identifier: MIT */
/*
 * struct inlay_transfers: how a call moves its rows, decided once before it runs: kernels, kind of stores, prefetching.
 */
#pragma once

#include "dispatch/kernels.h"
#include "dispatch/tuning.h"
#include "tune/tuner.h"

struct inlay_transfers {
    const struct inlay_kernels *kernels;
    struct inlay_choices choices; /* prefetch strategy, fixed or self-tuned */
    bool narrow_transfers;        /* move 32 bytes at a time on ISAs with longer vectors */
    bool stream;                  /* non-temporal stores */
};

/* Returns true if an output of `written_bytes` is written with non-temporal stores. */
static inline bool inlay_streams(const struct inlay_kernels *kernels, inlay_stores stores, const inlay_tuning *tuning,
                                 size_t written_bytes)
{
    return kernels->streams &&
           (stores == INLAY_STORES_AUTOMATIC ? written_bytes > tuning->stream_bytes : stores == INLAY_STORES_STREAMED);
}
