/* SPDX-License-Identifier: MIT */
/* Implements graphs.h. */
#include "graphs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t random_bits(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t x = *state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

int64_t random_between(uint64_t *state, int64_t low, int64_t high)
{
    return low + (int64_t)(random_bits(state) % (uint64_t)(high - low + 1));
}

static void require(bool made, const char *what)
{
    if (made)
        return;
    fprintf(stderr, "there is no memory for %s\n", what);
    exit(1);
}

static struct ggml_context *new_context(void)
{
    struct ggml_init_params parameters = {
        .mem_size = 32 * ggml_tensor_overhead() + ggml_graph_overhead(), .mem_buffer = NULL, .no_alloc = true};
    struct ggml_context *made = ggml_init(parameters);
    require(made != NULL, "a context");
    return made;
}

/* Adds the nodes of a graph after its table. */
static void add_nodes(struct graph *made, const struct shape *shape)
{
    struct ggml_context *nodes = made->nodes;
    made->all_ids = ggml_new_tensor_1d(nodes, GGML_TYPE_I32, shape->first_id + shape->count);
    ggml_set_name(made->all_ids, "ids");
    ggml_set_input(made->all_ids);
    ggml_set_output(made->all_ids); /* or later results could overwrite them */
    made->ids = shape->first_id == 0
                    ? made->all_ids
                    : ggml_view_1d(nodes, made->all_ids, shape->count, (size_t)shape->first_id * sizeof(int32_t));
    made->rows = ggml_get_rows(nodes, made->table, made->ids);
    ggml_set_name(made->rows, "rows");
    made->out = made->rows;
    if (shape->reshaped)
        made->out = ggml_reshape_3d(nodes, made->out, shape->dim / 2, 2, shape->count);
    if (shape->scaled)
        made->out = ggml_scale(nodes, made->out, shape->scale);
    if (shape->kept)
        ggml_set_output(made->rows);
    ggml_set_output(made->out);
}

struct graph graph_make(const struct shape *shape)
{
    struct graph made = {.weights = new_context(), .nodes = new_context()};
    made.whole =
        ggml_new_tensor_2d(made.weights, shape->type, shape->dim + shape->more_columns, shape->first_row + shape->rows);
    ggml_set_name(made.whole, "table");
    if (shape->memory == NULL) {
        made.buffer = ggml_backend_alloc_ctx_tensors_from_buft(made.weights, ggml_backend_cpu_buffer_type());
        require(made.buffer != NULL, "a table");
    } else {
        made.buffer = ggml_backend_cpu_buffer_from_ptr(shape->memory, ggml_nbytes(made.whole));
        require(made.buffer != NULL, "a table");
        ggml_backend_tensor_alloc(made.buffer, made.whole, shape->memory);
    }
    ggml_backend_buffer_set_usage(made.buffer, shape->usage);
    made.table = made.whole;
    if (shape->first_row != 0 || shape->more_columns != 0) {
        made.table = ggml_view_2d(made.nodes, made.whole, shape->dim, shape->rows, made.whole->nb[1],
                                  (size_t)shape->first_row * made.whole->nb[1]);
        ggml_set_name(made.table, "view");
    }
    add_nodes(&made, shape);
    made.graph = ggml_new_graph(made.nodes);
    ggml_build_forward_expand(made.graph, made.out);
    made.allocator = ggml_gallocr_new(ggml_backend_cpu_buffer_type());
    require(made.allocator != NULL && ggml_gallocr_alloc_graph(made.allocator, made.graph), "a graph");
    return made;
}

/* Returns a normally distributed number, by Box-Muller. */
static float random_normal(uint64_t *random)
{
    const double u = ((double)(random_bits(random) >> 11) + 0.5) * 0x1p-53;
    const double v = (double)(random_bits(random) >> 11) * 0x1p-53;
    return (float)(sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

void graph_fill_table(struct graph *graph, bool bits, uint64_t *random)
{
    struct ggml_tensor *table = graph->whole;
    const size_t bytes = ggml_nbytes(table);
    if (bits) {
        for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
            const uint64_t word = random_bits(random);
            memcpy((char *)table->data + i, &word, bytes - i < sizeof word ? bytes - i : sizeof word);
        }
        return;
    }
    const size_t elements = (size_t)ggml_nelements(table);
    float *values = malloc(elements * sizeof *values);
    require(values != NULL, "rows");
    for (size_t i = 0; i < elements; i++)
        values[i] = random_normal(random);
    if (table->type == GGML_TYPE_F32)
        memcpy(table->data, values, bytes);
    else
        ggml_quantize_chunk(table->type, values, table->data, 0, table->ne[1], table->ne[0], NULL);
    free(values);
}

void graph_fill_ids(struct graph *graph, uint64_t *random)
{
    int32_t *ids = graph->all_ids->data;
    for (int64_t i = 0; i < graph->all_ids->ne[0]; i++)
        ids[i] = (int32_t)random_between(random, 0, graph->table->ne[1] - 1);
}

void graph_forget(struct graph *graph)
{
    memset(graph->rows->data, 0x5a, ggml_nbytes(graph->rows));
    memset(graph->out->data, 0x5a, ggml_nbytes(graph->out));
}

void graph_free(struct graph *graph)
{
    ggml_gallocr_free(graph->allocator);
    ggml_backend_buffer_free(graph->buffer);
    ggml_free(graph->nodes);
    ggml_free(graph->weights);
}
