/* SPDX-License-Identifier: MIT */
/*
 * The ggml operations that the backend takes: GET_ROWS of weights, and SCALE of gathered rows. ggml asks for them when
 * it divides a graph among backends. Nodes are checked again when they are computed, since a program may give a backend
 * any graph.
 */
#pragma once

#include <ggml-backend.h>
#include <inlay/file.h>
#include <stdbool.h>
#include <stdint.h>

#include "pool.h"

/** State for computing graphs: one per llama.cpp context, used by one thread at a time. */
struct inlay_ggml_state {
    struct inlay_ggml_pool pool;
    inlay_file_reader reader; /**< detects rows read from disk, since weights are mapped */
    size_t threads;           /**< maximum per call, >= 1 */
    bool counts;              /**< time graphs and log these counts */
    uint64_t calls;           /**< number of gathers */
    uint64_t fused;           /**< gathers that also scaled their rows */
    uint64_t rows;            /**< rows written */
    uint64_t microseconds;    /**< time in all graphs */
};

/** Maps ggml types to inlay's by name. Returns false if the loaded ggml's operations differ from the header's; then
   nothing else may be called. */
bool inlay_ggml_operations_start(void);

/**
 * Returns true if the backend computes a node.
 *
 * @param node  of any operation; may be unallocated, except its weights
 * @param any   also gather from tables that are not weights
 */
bool inlay_ggml_takes(const struct ggml_tensor *node, bool any);

/**
 * Computes the nodes of a graph. Stops at the first node that fails: its output and later ones are not written.
 *
 * @return GGML_STATUS_SUCCESS; GGML_STATUS_FAILED, after logging the reason, if an id is out of range or the backend
 * does not support a node
 */
enum ggml_status inlay_ggml_compute(struct inlay_ggml_state *state, struct ggml_cgraph *graph);
