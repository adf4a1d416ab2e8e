/* SPDX-License-Identifier: MIT */
/*
 * Decides if a call requests its pages from the disk before reading its rows. Requesting them makes rows on disk three
 * to five times faster, but rows in memory twenty times slower, and asking the system where they are takes as long. So
 * the decision is based on measured times. This file only makes the decision; it uses no clocks or system calls.
 *
 *     off   calls are judged by the time of their rows; two slow ones in a row, or a slow sample, turn it on
 *     on    the pages of all rows are requested; every 16th call begins with a sample, which turns it off if none of
 *           its rows was slow
 *
 * A sample is a few rows of a call that are timed one by one. A single slow row decides nothing, since the thread may
 * have been interrupted, even for milliseconds. Large calls begin with a sample while requests are off, too.
 *
 * The state is in an inlay_file_reader. C++ programs include its definition, so its fields aren't atomic types; the
 * functions below load and store them atomically. No thread relies on two fields being consistent with each other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <inlay/file.h>

/** A page that takes longer than this came from a disk. A mapped page takes 0.03 to 0.5 us, one in memory that must be
    mapped up to 6 us, and one from an SSD 60 to 100 us. */
#define INLAY_SLOW_NS 10000

enum {
    INLAY_ADVICE_PERIOD = 16, /**< calls per sample while requests are on */
    INLAY_ADVICE_SAMPLE = 4,  /**< rows of a sample */
    INLAY_ADVICE_LARGE = 512, /**< rows of a call that begins with a sample even while requests are off */
    INLAY_ADVICE_FIRST = 4,   /**< calls before the first sample of a file */
    INLAY_ADVICE_TIMED = 4,   /**< minimum pages of a call that is timed while requests are off: with fewer, the clock
                                 takes a tenth of the time, and requesting them together gains little */
};

enum { INLAY_ADVICE_ON = 0, INLAY_ADVICE_OFF = 1, INLAY_ADVICE_OFF_ONCE_SLOW = 2 };

/** What to do before reading the rows of a call. */
enum inlay_advice_step { INLAY_ADVICE_NOTHING, INLAY_ADVICE_TAKE_SAMPLE, INLAY_ADVICE_REQUEST };

static inline uint32_t inlay_advice_state(const inlay_file_reader *reader)
{
    return __atomic_load_n(&reader->state, __ATOMIC_RELAXED);
}

static inline enum inlay_advice_step inlay_advice_next(inlay_file_reader *reader, size_t rows)
{
    if (inlay_advice_state(reader) != INLAY_ADVICE_ON)
        return rows >= INLAY_ADVICE_LARGE ? INLAY_ADVICE_TAKE_SAMPLE : INLAY_ADVICE_NOTHING;
    const uint32_t call = __atomic_fetch_add(&reader->calls, 1, __ATOMIC_RELAXED);
    return call % INLAY_ADVICE_PERIOD == INLAY_ADVICE_FIRST ? INLAY_ADVICE_TAKE_SAMPLE : INLAY_ADVICE_REQUEST;
}

static inline void inlay_advice_become(inlay_file_reader *reader, uint32_t state)
{
    if (inlay_advice_state(reader) != state)
        __atomic_store_n(&reader->state, state, __ATOMIC_RELAXED);
}

/** Records a sample with `slow` slow rows. Returns true if the pages of the call should be requested. */
static inline bool inlay_advice_sampled(inlay_file_reader *reader, size_t slow)
{
    if (slow != 1)
        inlay_advice_become(reader, slow == 0 ? INLAY_ADVICE_OFF : INLAY_ADVICE_ON);
    return inlay_advice_state(reader) == INLAY_ADVICE_ON;
}

/** Records a call whose pages were not requested. */
static inline void inlay_advice_measured(inlay_file_reader *reader, bool slow)
{
    const uint32_t state = inlay_advice_state(reader);
    if (state == INLAY_ADVICE_ON)
        return;
    if (!slow)
        inlay_advice_become(reader, INLAY_ADVICE_OFF);
    else
        inlay_advice_become(reader, state == INLAY_ADVICE_OFF ? INLAY_ADVICE_OFF_ONCE_SLOW : INLAY_ADVICE_ON);
}
