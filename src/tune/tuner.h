/* SPDX-License-Identifier: MIT */
/*
 * Self-tuning of a layer: times parts of calls to choose a prefetch strategy and the source of positions, and whole
 * calls to choose stores. All state is in the handle, in arrays of atomics: no lock, no allocation. Racing threads can
 * lose a sample, which is harmless, since all choices give the same bits.
 */
#pragma once

#include "base/ticks.h"
#include "tune/strategy.h"

#include <stdatomic.h>

/* Smaller calls aren't timed: reading the clock and choosing would cost more than they could gain. */
enum { INLAY_TUNE_MIN_BYTES = 256 * 1024 };

/* Samples per choice. A median of five tolerates two outliers. */
enum { INLAY_TUNE_SAMPLES = 5 };

/* One part in INLAY_TUNE_EXPLORE tries another strategy until all have their samples: less than a quarter of the
   bytes, including skipped ones. Later it is one in INLAY_TUNE_RETRY, to detect changes of ids, neighbors or
   frequency. */
enum { INLAY_TUNE_EXPLORE = 5, INLAY_TUNE_RETRY = 128 };

/* Bytes of output that are timed together, and bytes not counted after a change of strategy, since they still use what
   the previous strategy prefetched. */
enum { INLAY_TUNE_PART_BYTES = 512 * 1024, INLAY_TUNE_SKIPPED_BYTES = 128 * 1024 };

/* Times of a strategy, in ticks per MiB of output. */
struct inlay_candidate {
    _Atomic(uint32_t) samples[INLAY_TUNE_SAMPLES];
    _Atomic(uint32_t) count; /* samples so far; each replaces the oldest one */
};

/* A class of calls: similar in size, with sequences that run together, or one by one. */
struct inlay_class {
    struct inlay_candidate candidates[2][INLAY_STRATEGIES]; /* with positions that are read, and computed */
    _Atomic(uint32_t) best[2];                              /* best strategy of each source */
    _Atomic(uint32_t) reference[2];                         /* its median when it was chosen */
    _Atomic(uint32_t) turns[2];                             /* number of parts that have chosen */
    _Atomic(uint32_t) computes;                             /* the faster source; COMPUTES_UNKNOWN: not chosen yet */
    _Atomic(uint32_t) calls;                                /* number of calls that could use either source */
    _Atomic(uint32_t) samples; /* number of samples, including those of the initial state */
    _Atomic(uint32_t) used;    /* strategy and source of the last call that was timed as a whole */
};

/* Calls with outputs of 2^k to 2^(k+1) bytes, some of which use the other kind of stores. */
struct inlay_store_trials {
    _Atomic(uint32_t) calls;
    struct inlay_candidate candidates[2]; /* with cached and with non-temporal stores */
    _Atomic(uint32_t) stores;             /* the chosen inlay_stores; 0: none yet */
};

struct inlay_tuner {
    struct inlay_class classes[INLAY_TUNING_CALL_CLASSES];
    struct inlay_store_trials store_trials[INLAY_TUNING_OUTPUT_CLASSES];
    bool fixed; /* keeps the initial settings and times nothing */
};

/* A call whose stores are tuned. Zero: it isn't. */
struct inlay_store_trial_call {
    struct inlay_store_trials *store_trials;
    size_t bytes;
    uint32_t index;
    inlay_stores stores; /* the faster ones; INLAY_STORES_AUTOMATIC: not known yet */
    bool timed;          /* must be ended */
    bool others;         /* uses the other ones, to time them */
    uint64_t begin;
};

/* What a tuner knows about a class of calls. */
struct inlay_class_state {
    struct inlay_class *class;
    bool fixed;               /* the tuner times nothing */
    bool tries;               /* the call may try another source of positions */
    uint32_t samples;         /* 0: nothing is known */
    inlay_prefetch best[2];   /* of each source of positions; INLAY_PREFETCH_AUTOMATIC: not known */
    uint32_t lacking[2];      /* the strategies of each that lack samples, one bit each */
    uint32_t computes, calls; /* as in struct inlay_class */
};

/* What a tuner knows when a call is planned, read once. */
struct inlay_tuned {
    struct inlay_class_state classes[2]; /* for sequences that run together, and one by one */
    struct inlay_store_trial_call stores;
};

/* Reads what the tuner knows about calls that write `bytes`, which are at least INLAY_TUNE_MIN_BYTES. If `begins`, the
   call will run: its stores are timed if it is its turn, and it may try other choices. `tunes_stores`: it can use both
   kinds of stores. */
void inlay_tuner_ask(struct inlay_tuner *tuner, size_t bytes, bool tunes_stores, bool begins,
                     struct inlay_tuned *tuned);

/* What a call can do, and what it does without self-tuning. Passed by value, so small calls keep it in registers. */
struct inlay_options {
    enum inlay_prefetcher prefetchers[2]; /* with positions that are read, and computed */
    inlay_prefetch prefetch;
    bool computes;     /* positions are computed */
    bool either;       /* they could be read as well */
    size_t part_bytes; /* written by each part of the call; read only with self-tuning */
};

/* The choices of a call: its options, with what self-tuning found and wants to try. */
struct inlay_choices {
    struct inlay_class *tuned;            /* null: `computes` and `prefetch` are fixed */
    enum inlay_prefetcher prefetchers[2]; /* of the options */
    inlay_prefetch prefetch[2];           /* initial strategy of each, which its prefetcher supports */
    bool computes;                        /* positions are computed */
    bool either;                          /* of the options */
    bool picked;                          /* by self-tuning, not by default */
    bool chosen;                          /* self-tuning chooses the source of positions, not compute_bytes */
    bool whole;                           /* each part of the call is timed as a whole */
    bool tries_source;                    /* a quarter of the call, or all of a call that is timed as a whole, uses the
                                             other source of positions, to be timed */
};

/* Chooses without self-tuning. */
static inline void inlay_choose_fixed(struct inlay_choices *choices, struct inlay_options options)
{
    choices->tuned = NULL;
    for (int computes = 0; computes < 2; computes++) {
        choices->prefetchers[computes] = options.prefetchers[computes];
        choices->prefetch[computes] = inlay_strategy_within(options.prefetch, options.prefetchers[computes]);
    }
    choices->computes = options.computes;
    choices->either = options.either;
    choices->picked = choices->chosen = choices->whole = choices->tries_source = false;
}

/* Chooses, given the state of the call's class. */
void inlay_choose(struct inlay_choices *choices, const struct inlay_class_state *known, struct inlay_options options);

/* Starts a call that takes part in self-tuning. */
void inlay_tuner_start(const struct inlay_choices *choices);

/* Starts with the state of another layer. */
void inlay_tuner_begin(struct inlay_tuner *tuner, const inlay_tuning_state *state);

/* Reads the state. */
void inlay_tuner_read(const struct inlay_tuner *tuner, inlay_tuning_state *state);

/* ---- Parts of calls --------------------------------------------------------------------------------------------- */

/* A thread's progress through its part of a call: the current strategy and the clock. */
struct inlay_part_timer {
    const struct inlay_choices *choices;
    inlay_prefetch prefetch;
    bool computes;
    bool timed;  /* the work since `begin` will be a sample */
    size_t left; /* bytes until the clock is read again */
    size_t done; /* bytes since it was last read */
    uint64_t begin;
};

/* Starts a part of a call that takes part in self-tuning. */
void inlay_part_timer_tune(struct inlay_part_timer *timer);

static inline void inlay_part_timer_begin(struct inlay_part_timer *timer, const struct inlay_choices *choices)
{
    timer->choices = choices;
    timer->computes = choices->computes;
    timer->left = SIZE_MAX;
    timer->done = 0;
    if (choices->tuned != NULL)
        inlay_part_timer_tune(timer);
    else
        timer->prefetch = choices->prefetch[choices->computes];
}

/* Stops or continues the clock of a part: work done once for many rows would be charged to few of them. */
static inline void inlay_part_timer_hold(struct inlay_part_timer *timer)
{
    if (timer->choices->tuned != NULL && !timer->choices->whole && timer->timed)
        timer->begin = inlay_ticks() - timer->begin;
}

/* Sets the source of positions of the following rows. Earlier rows aren't sampled. */
void inlay_part_timer_source(struct inlay_part_timer *timer, bool computes);

/* Reads the clock and chooses the next strategy. Returns true if it changes. */
bool inlay_part_timer_look(struct inlay_part_timer *timer);

/* Reports rows of `bytes` of output as written. Returns true if the strategy changes. */
static inline bool inlay_part_timer_wrote(struct inlay_part_timer *timer, size_t bytes)
{
    timer->done += bytes;
    if (timer->left > bytes) {
        timer->left -= bytes;
        return false;
    }
    return inlay_part_timer_look(timer);
}

/* Ends a part of a call. */
void inlay_part_timer_end(struct inlay_part_timer *timer);

/* ---- Stores ----------------------------------------------------------------------------------------------------- */

/* Calls per store_trial, and the first ones that aren't counted, since they are slowed by what other stores left in
 * cache. */
enum { INLAY_STORE_TRIAL_CALLS = 8, INLAY_STORE_TRIAL_SKIPPED = 3 };

/* Smaller outputs are never streamed: the consumer finds them in the cache of any CPU. */
enum { INLAY_STORE_TRIAL_MIN_LOG2 = 22 };

/* The output of a timed call is read in evenly spaced pieces, to estimate how long its consumer will wait. */
enum { INLAY_STORE_TRIAL_PIECES = 8, INLAY_STORE_TRIAL_PIECE_BYTES = 32 * 1024 };

/* Where a call has written its output. */
struct inlay_written {
    const unsigned char *data;
    size_t rows, row_bytes, stride_bytes;
};

/* Ends the call of a timed trial that used non-temporal stores, or cached ones. */
void inlay_store_trial_end(struct inlay_tuner *tuner, const struct inlay_store_trial_call *call, bool streamed,
                           const struct inlay_written *output);
