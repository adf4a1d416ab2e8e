// SPDX-License-Identifier: MIT
//
// Tables larger than memory: random rows of a mapped file whose pages the system has to read from its disk, and rows of
// one that is in memory by now. What is measured is the wall time of calls one after another, since a thread that waits
// for a disk takes no time of its own. Needs libinlay-file; without it there are no such rows.
#ifndef INLAY_BENCH_COLD_H
#define INLAY_BENCH_COLD_H

#ifdef INLAY_BENCH_FILE

// Registers the rows of the series. While Google Benchmark only finds out which are chosen, they measure nothing.
void register_cold(bool choosing);

// Prints what was measured as rows per second, beside the targets.
void print_cold();

#else

inline void register_cold(bool)
{
}

inline void print_cold()
{
}

#endif

#endif
