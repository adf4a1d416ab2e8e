/* SPDX-License-Identifier: MIT */
/*
 * What a layer learns of its own calls: which prefetch strategy and which source of positions is fastest, by timing
 * parts of calls; and which stores are, by timing whole calls. Everything lies in the
 * handle, in arrays of atomics: no lock, no allocation. Threads that race lose a sample, which does no harm,
 * since every choice gives the same bits.
 */
#pragma once

#include "base/ticks.h"
#include "learn/strategy.h"

#include <stdatomic.h>

/* Calls of fewer bytes are not timed: reading the clock and choosing would take longer than what they could gain. */
enum { INLAY_LEARN_LEAST_BYTES = 256 * 1024 };

/* Samples that a choice rests on. A median of five withstands two that were disturbed. */
enum { INLAY_LEARN_SAMPLES = 5 };

/* One part in INLAY_LEARN_EXPLORE tries another strategy, until each has its samples: with what is skipped, less than a
   quarter of the bytes. Later it is one of more, so that a change of ids, neighbours or frequency is noticed. */
enum { INLAY_LEARN_EXPLORE = 5, INLAY_LEARN_RETRY = 128 };

/* Bytes of output that are timed together, and those after a change of strategy that no sample counts: they still use
   what the strategy before has prefetched. */
enum { INLAY_LEARN_PART_BYTES = 512 * 1024, INLAY_LEARN_SKIPPED_BYTES = 128 * 1024 };

/* Ticks per MiB of output that a strategy took. */
struct inlay_arm {
    _Atomic(uint32_t) samples[INLAY_LEARN_SAMPLES];
    _Atomic(uint32_t) count; /* so far; each replaces the oldest one */
};

/* Calls of one class: of about one size, whose sequences are embedded together, or one by one. */
struct inlay_class {
    struct inlay_arm arms[2][INLAY_STRATEGIES]; /* with positions that are read, and computed */
    _Atomic(uint32_t) best[2];                  /* the strategy of either source */
    _Atomic(uint32_t) reference[2];             /* the median of the best one when it was chosen */
    _Atomic(uint32_t) turns[2];                 /* parts that have chosen so far */
    _Atomic(uint32_t) computes;                 /* the faster source; COMPUTES_UNKNOWN: not chosen yet */
    _Atomic(uint32_t) calls;                    /* that could have either source */
    _Atomic(uint32_t) samples;                  /* so far, with those that this learning began with */
    _Atomic(uint32_t) used;                     /* by the last call that was timed as a whole: strategy and source */
};

/* Calls whose outputs take 2^k to 2^(k+1) bytes, of which some are written by either kind of stores. */
struct inlay_epochs {
    _Atomic(uint32_t) calls;
    struct inlay_arm arms[2]; /* with cached and with non-temporal stores */
    _Atomic(uint32_t) stores; /* the inlay_stores chosen; 0: none yet */
};

struct inlay_learner {
    struct inlay_class classes[INLAY_LEARNT_CLASSES];
    struct inlay_epochs epochs[INLAY_LEARNT_SIZES];
    bool fixed; /* it keeps what it begins with, and times nothing */
};

/* What a call of a class may choose from, and what it begins with. */
struct inlay_choices {
    struct inlay_class *learns;           /* null: nothing, `computes` and `prefetch` are fixed */
    enum inlay_prefetcher prefetchers[2]; /* with positions that are read, and computed */
    inlay_prefetch prefetch[2];           /* likewise, strategies that they can follow */
    bool computes;                        /* whether positions are computed */
    bool either;                          /* they could be read as well */
    bool chosen;                          /* the layer chooses between both, not compute_bytes */
    bool whole;                           /* a part of the call is timed as a whole */
    bool tries_source;                    /* a quarter of the call, or all of a call that is timed as a whole, takes
                                             its positions from the other source, to be timed */
};

/* Lets a call learn that writes `bytes`, part_bytes of them in each of its parts, if their size permits. `lone`: its
   sequences are embedded one by one, since their sinusoids are computed or could be. Returns whether it begins with
   what was learnt. */
bool inlay_learner_join(struct inlay_learner *learner, size_t bytes, size_t part_bytes, bool lone,
                        struct inlay_choices *choices);

/* Lets a call begin with a strategy, as far as it can follow that. */
static inline void inlay_choices_begin(struct inlay_choices *choices, inlay_prefetch prefetch)
{
    for (int computes = 0; computes < 2; computes++)
        choices->prefetch[computes] = inlay_strategy_within(prefetch, choices->prefetchers[computes]);
}

/* Begins with what another layer has learnt. */
void inlay_learner_begin(struct inlay_learner *learner, const inlay_learnt *learnt);

/* Writes what has been learnt. */
void inlay_learner_read(const struct inlay_learner *learner, inlay_learnt *learnt);

/* ---- Parts of calls --------------------------------------------------------------------------------------------- */

/* How a thread goes through its part of a call: the strategy in use, and the clock of what it takes. */
struct inlay_pace {
    const struct inlay_choices *choices;
    inlay_prefetch prefetch;
    bool computes;
    bool timed;  /* what is done since `begin` will be a sample */
    size_t left; /* bytes until the next look at the clock */
    size_t done; /* bytes since the last one */
    uint64_t begin;
};

/* Begins a part of a call that learns. */
void inlay_pace_learn(struct inlay_pace *pace);

static inline void inlay_pace_begin(struct inlay_pace *pace, const struct inlay_choices *choices)
{
    pace->choices = choices;
    pace->computes = choices->computes;
    pace->left = SIZE_MAX;
    pace->done = 0;
    if (choices->learns != NULL)
        inlay_pace_learn(pace);
    else
        pace->prefetch = choices->prefetch[choices->computes];
}

/* Stops the clock of a part, or lets it go on: what is done once for many rows would count for few of them. */
static inline void inlay_pace_hold(struct inlay_pace *pace)
{
    if (pace->choices->learns != NULL && !pace->choices->whole && pace->timed)
        pace->begin = inlay_ticks() - pace->begin;
}

/* Says where the positions of the rows that follow come from. What lies before is no sample. */
void inlay_pace_source(struct inlay_pace *pace, bool computes);

/* Takes the time and chooses the strategy of what follows. Returns whether it is another one. */
bool inlay_pace_look(struct inlay_pace *pace);

/* Says that rows of `bytes` of output were written. Returns whether another strategy follows. */
static inline bool inlay_pace_wrote(struct inlay_pace *pace, size_t bytes)
{
    pace->done += bytes;
    if (pace->left > bytes) {
        pace->left -= bytes;
        return false;
    }
    return inlay_pace_look(pace);
}

/* Ends a part of a call. */
void inlay_pace_end(struct inlay_pace *pace);

/* ---- Stores ----------------------------------------------------------------------------------------------------- */

/* Calls of one epoch, and those at its beginning that no sample counts: they pay for what other stores have left. */
enum { INLAY_EPOCH_CALLS = 8, INLAY_EPOCH_SKIPPED = 3 };

/* Outputs of fewer bytes are never streamed: the consumer finds them in a cache of every CPU. */
enum { INLAY_EPOCH_LEAST_LOG2 = 22 };

/* A call whose stores are learnt. */
struct inlay_epoch_call {
    struct inlay_learner *learner;
    struct inlay_epochs *epochs;
    size_t bytes;
    uint32_t index;
    bool streams;
    bool timed;  /* and is to be ended */
    bool chosen; /* the faster stores are known */
    uint64_t begin;
};

/* What is read of the output of a timed call, to learn what its consumer will wait for: pieces of it, evenly spaced. */
enum { INLAY_EPOCH_PIECES = 8, INLAY_EPOCH_PIECE_BYTES = 32 * 1024 };

/* Where a call has written its output. */
struct inlay_written {
    const unsigned char *data;
    size_t rows, row_bytes, stride_bytes;
};

/* Chooses the stores of a call of at least 2^INLAY_EPOCH_LEAST_LOG2 bytes and begins to time it. `streams`: what it
   would take if nothing were learnt. */
struct inlay_epoch_call inlay_epoch_begin(struct inlay_learner *learner, size_t bytes, bool streams);
void inlay_epoch_end(const struct inlay_epoch_call *call, const struct inlay_written *output);
