/* SPDX-License-Identifier: MIT */
/*
 * The operations of ggml that the backend takes: GET_ROWS of weights, and SCALE of what it gathers. Which they are is
 * asked when a graph is divided among backends; they are checked again when they are computed, since programs may give
 * a backend any graph.
 */
#pragma once

#include <ggml-backend.h>
#include <inlay/file.h>
#include <stdbool.h>
#include <stdint.h>

#include "pool.h"

/** What computes graphs: one of each context of llama.cpp, used by one thread at a time. */
struct inlay_ggml_state {
    struct inlay_ggml_pool pool;
    inlay_file_reader reader; /**< whether rows come from the disk: weights are mapped */
    size_t threads;           /**< the most that a call may use, >= 1 */
    bool counts;              /**< whether graphs are timed, and the counts logged */
    uint64_t calls;           /**< gathers */
    uint64_t fused;           /**< those of them that scaled their rows too */
    uint64_t rows;            /**< that they wrote */
    uint64_t microseconds;    /**< of all graphs */
};

/** Finds the element type of inlay for each type of ggml, by their names. Returns whether the ggml that runs has the
    operations of the header: without them nothing else may be called. */
bool inlay_ggml_operations_start(void);

/**
 * Returns whether the backend computes a node.
 *
 * @param node  of any operation; it need not be allocated, but for its weights
 * @param any   also gather from tables that are not weights
 */
bool inlay_ggml_takes(const struct ggml_tensor *node, bool any);

/**
 * Computes the nodes of a graph.
 *
 * @return GGML_STATUS_SUCCESS; GGML_STATUS_FAILED after a line in the log, if an id is not below the rows of its table
 * or a node is none that the backend takes. Such a node's output is not written, nor any after it
 */
enum ggml_status inlay_ggml_compute(struct inlay_ggml_state *state, struct ggml_cgraph *graph);
