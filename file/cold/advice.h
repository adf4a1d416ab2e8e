/* SPDX-License-Identifier: MIT */
/*
 * Whether the pages of a call are requested from the disk before its rows are read. Requesting them makes rows from the
 * disk three to five times faster and rows in memory twenty times slower, and asking the system where they are takes as
 * long as requesting them. So it is learnt from the time that rows take. Here is the decision, without clocks and
 * calls.
 *
 *     off   calls are judged by the time of their rows; two slow ones in turn, or a slow sample, turn it on
 *     on    the pages of all rows are requested; a sample of rows of every 16th call is read without, and turns it
 *           off if none of them was slow
 *
 * A sample is a few rows of a call that are timed one by one. One slow row decides nothing: the system may have
 * interrupted the thread there, for milliseconds perhaps. Large calls begin with a sample also while requests are off.
 */
#ifndef INLAY_FILE_ADVICE_H
#define INLAY_FILE_ADVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/** A page that takes longer than this came from a disk. One that is in memory and only has to be mapped takes up to
    6 us, one that is mapped 0.03 to 0.5 us, and one that an SSD delivers 60 to 100 us. */
#define INLAY_SLOW_NS 10000

enum {
    INLAY_ADVICE_PERIOD = 16, /**< calls, of which one is sampled while requests are on */
    INLAY_ADVICE_SAMPLE = 4,  /**< rows of a sample */
    INLAY_ADVICE_LARGE = 512, /**< rows of a call that begins with a sample also while requests are off */
    INLAY_ADVICE_FIRST = 4,   /**< calls before the first sample of a file */
};

enum { INLAY_ADVICE_ON = 0, INLAY_ADVICE_OFF = 1, INLAY_ADVICE_OFF_ONCE_SLOW = 2 };

/** What was learnt. All zero: requests are on, as suits a file that was just opened. Any number of threads may use it;
    none depends on what another one wrote. */
struct inlay_advice {
    atomic_uint state;
    atomic_uint calls; /**< while requests are on */
};

/** What to do before the rows of a call are read. */
enum inlay_advice_step { INLAY_ADVICE_NOTHING, INLAY_ADVICE_TAKE_SAMPLE, INLAY_ADVICE_REQUEST };

static inline enum inlay_advice_step inlay_advice_next(struct inlay_advice *advice, size_t rows)
{
    if (atomic_load_explicit(&advice->state, memory_order_relaxed) != INLAY_ADVICE_ON)
        return rows >= INLAY_ADVICE_LARGE ? INLAY_ADVICE_TAKE_SAMPLE : INLAY_ADVICE_NOTHING;
    const unsigned call = atomic_fetch_add_explicit(&advice->calls, 1, memory_order_relaxed);
    return call % INLAY_ADVICE_PERIOD == INLAY_ADVICE_FIRST ? INLAY_ADVICE_TAKE_SAMPLE : INLAY_ADVICE_REQUEST;
}

static inline void inlay_advice_become(struct inlay_advice *advice, unsigned state)
{
    if (atomic_load_explicit(&advice->state, memory_order_relaxed) != state)
        atomic_store_explicit(&advice->state, state, memory_order_relaxed);
}

/** Learns from a sample, of which so many rows were slow, and returns whether to request the pages of the call. */
static inline bool inlay_advice_sampled(struct inlay_advice *advice, size_t slow)
{
    if (slow != 1)
        inlay_advice_become(advice, slow == 0 ? INLAY_ADVICE_OFF : INLAY_ADVICE_ON);
    return atomic_load_explicit(&advice->state, memory_order_relaxed) == INLAY_ADVICE_ON;
}

/** Learns from a call whose pages were not requested. */
static inline void inlay_advice_measured(struct inlay_advice *advice, bool slow)
{
    const unsigned state = atomic_load_explicit(&advice->state, memory_order_relaxed);
    if (state == INLAY_ADVICE_ON)
        return;
    if (!slow)
        inlay_advice_become(advice, INLAY_ADVICE_OFF);
    else
        inlay_advice_become(advice, state == INLAY_ADVICE_OFF ? INLAY_ADVICE_OFF_ONCE_SLOW : INLAY_ADVICE_ON);
}

#endif
