// SPDX-License-Identifier: MIT
//
// A server in an open loop: decode steps of many sequences and prefills of one, at fixed rates, each with one read of
// its output. Layers that learn from these calls are beside one that has settled and one that learns nothing, in turn.
#ifndef INLAY_BENCH_SERVE_SERVE_H
#define INLAY_BENCH_SERVE_SERVE_H

// Registers the rows of the series. While Google Benchmark only finds out which are chosen, they measure nothing.
void register_serve(bool choosing);

// Prints the percentiles of what was measured.
void print_serve();

#endif
