/* SPDX-License-Identifier: MIT */
/*
 * ggml graphs with one gather from a random table, allocated like in llama.cpp: weights in a weight buffer, everything
 * else by the graph allocator, which lets a SCALE overwrite its input.
 */
#pragma once

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <stdbool.h>
#include <stdint.h>

/** The gather of a graph. */
struct shape {
    enum ggml_type type;
    int64_t dim, rows, count;             /**< columns, rows of the table, ids */
    int64_t more_columns;                 /**< extra columns of the tensor that the table is a view of */
    int64_t first_row;                    /**< of the view */
    int64_t first_id;                     /**< of the ids, in the list that they are a view of */
    enum ggml_backend_buffer_usage usage; /**< of the table's buffer */
    bool scaled;                          /**< a SCALE follows */
    bool reshaped;                        /**< with a RESHAPE between the two */
    bool kept;                            /**< the rows before the SCALE are also used */
    float scale;
    void *memory; /**< the table's memory, like a mapped file; null: allocated */
};

/** An allocated graph. */
struct graph {
    struct ggml_context *weights, *nodes;
    ggml_backend_buffer_t buffer;
    ggml_gallocr_t allocator;
    struct ggml_cgraph *graph;
    struct ggml_tensor *whole, *table, *all_ids, *ids, *rows, *out;
};

/** Returns the next random number. */
uint64_t random_bits(uint64_t *state);

/** Returns a random number in [low, high]. */
int64_t random_between(uint64_t *state, int64_t low, int64_t high);

/** Makes a graph with uninitialized table and ids. Ends the program if allocation fails. */
struct graph graph_make(const struct shape *shape);

/** Fills the table with random bits, or with random rows quantized by ggml. */
void graph_fill_table(struct graph *graph, bool bits, uint64_t *random);

/** Fills the ids with rows of the table. */
void graph_fill_ids(struct graph *graph, uint64_t *random);

/** Fills all outputs of the graph with a pattern. */
void graph_forget(struct graph *graph);

/** Frees everything. */
void graph_free(struct graph *graph);
