/* SPDX-License-Identifier: MIT */
/*
 * Graphs of ggml with one gather, of tables with random contents, allocated as llama.cpp allocates its own: weights in
 * a buffer of weights, everything else by the allocator of graphs, which lets a SCALE overwrite what it reads.
 */
#pragma once

#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <stdbool.h>
#include <stdint.h>

/** What a graph gathers. */
struct shape {
    enum ggml_type type;
    int64_t dim, rows, count;             /**< columns, rows of the table, ids */
    int64_t more_columns;                 /**< of the rows of the table that the table is a view of */
    int64_t first_row;                    /**< of it */
    int64_t first_id;                     /**< of the list that the ids are a view of */
    enum ggml_backend_buffer_usage usage; /**< of the table's buffer */
    bool scaled;                          /**< a SCALE follows */
    bool reshaped;                        /**< with a RESHAPE between the two */
    bool kept;                            /**< somebody also wants the rows before the SCALE */
    float scale;
    void *memory; /**< where the table lies, as in a mapped file; null: it is allocated */
};

/** A graph that is allocated. */
struct graph {
    struct ggml_context *weights, *nodes;
    ggml_backend_buffer_t buffer;
    ggml_gallocr_t allocator;
    struct ggml_cgraph *graph;
    struct ggml_tensor *whole, *table, *all_ids, *ids, *rows, *out;
};

/** Returns the next of a sequence of random numbers. */
uint64_t random_bits(uint64_t *state);

/** Returns a random number in [low, high]. */
int64_t random_between(uint64_t *state, int64_t low, int64_t high);

/** Makes a graph; its table and ids have no contents yet. Ends the program if there is no memory. */
struct graph graph_make(const struct shape *shape);

/** Fills the table: with random bits, or with random rows that ggml quantises. */
void graph_fill_table(struct graph *graph, bool bits, uint64_t *random);

/** Fills the ids with rows of the table. */
void graph_fill_ids(struct graph *graph, uint64_t *random);

/** Fills everything that the graph will write with a pattern. */
void graph_forget(struct graph *graph);

/** Releases all of it. */
void graph_free(struct graph *graph);
