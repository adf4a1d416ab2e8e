/* SPDX-License-Identifier: MIT */
/*
 * inlay_backward(): adds the gradients of a batch to those of its tables. A part is a range of columns and processes
 * all tokens in order, so every sum has the same order for any number of parts. Parts share no element.
 */
#include "base/executor.h"
#include "base/fpenv.h"
#include "base/line.h"
#include "dispatch/dispatch.h"
#include "layer/rows.h"
#include "layer/validate.h"

enum { TOKENS, POSITIONS, SEGMENTS, TABLES };

/* Tokens whose rows are looked up and prefetched before the first one is added. */
enum { BLOCK_TOKENS = 16 };

/* Columns are split at whole cache lines. Parts are wide enough that longer runs outweigh the gaps between them. */
enum { LINE_COLUMNS = INLAY_CACHE_LINE / sizeof(float), PART_COLUMNS = 4 * LINE_COLUMNS };

/* Gradients of one table. */
struct target {
    const inlay_table *table; /* null: the layer has no such table */
    unsigned char *data;      /* null: not wanted */
    size_t stride_bytes;
    struct inlay_extent extent;
};

struct backward_job {
    struct inlay_work work; /* its output is the gradient of the output, which is only read */
    const struct inlay_kernels *kernels;
    struct target targets[TABLES];
    size_t parts;
};

/* Columns [column, column + columns) of some tokens of one sequence. */
struct added_block {
    const struct backward_job *job;
    size_t column, columns;
    size_t count;
    enum inlay_row_kind kinds[BLOCK_TOKENS];
    size_t rows[TABLES][BLOCK_TOKENS];
    const unsigned char *from[BLOCK_TOKENS]; /* gradients of the output */
    float scale;                             /* factor of the gradients of token rows */
};

/* Returns true if a token of that kind has a row in a table. */
static bool has_row(int table, enum inlay_row_kind kind)
{
    return table == TOKENS ? kind == INLAY_ROW : inlay_row_gets_terms(kind);
}

/* Prefetches the block's destination for writing. */
static void prefetch(const unsigned char *row, size_t row_bytes)
{
    for (size_t at = 0; at < row_bytes; at += INLAY_CACHE_LINE)
        __builtin_prefetch(row + at, 1);
}

/* Adds the block to the gradients of one table. Rows are added one after the other, since some may be the same. */
static void add_block(const struct added_block *block, int table)
{
    const struct target *target = &block->job->targets[table];
    const unsigned char *from[BLOCK_TOKENS];
    unsigned char *to[BLOCK_TOKENS];
    size_t count = 0;
    for (size_t i = 0; i < block->count; i++)
        if (has_row(table, block->kinds[i])) {
            from[count] = block->from[i];
            to[count] = target->data + block->rows[table][i] * target->stride_bytes + block->column * sizeof(float);
            prefetch(to[count++], block->columns * sizeof(float));
        }
    struct inlay_embed_tile tile = inlay_floats_tile(from, to, count, block->columns);
    tile.positions = (const unsigned char *const *)to;
    tile.scale = table == TOKENS ? block->scale : 1;
    if (count > 0)
        block->job->kernels->embed(&tile);
}

static void add_to_tables(const struct added_block *block)
{
    for (int table = 0; table < TABLES; table++)
        if (block->job->targets[table].data != NULL)
            add_block(block, table);
}

static void add_sequence(struct added_block *block, size_t b)
{
    const struct inlay_work *work = &block->job->work;
    const struct inlay_sequence sequence = inlay_sequence_of(work, b);
    struct inlay_position_counter counter = inlay_count_positions(work, b);
    block->scale = work->spec->scale;
    for (size_t s = 0; s < sequence.count; s += block->count) {
        block->count = inlay_min(sequence.count - s, BLOCK_TOKENS);
        for (size_t i = 0; i < block->count; i++) {
            const size_t token = sequence.first + s + i;
            block->kinds[i] = inlay_row_of(work, token, &block->rows[TOKENS][i]);
            if (work->spec->positions != NULL)
                block->rows[POSITIONS][i] =
                    inlay_position_within(work, inlay_next_position(work, &counter, token, s + i));
            if (work->spec->segments != NULL)
                block->rows[SEGMENTS][i] = inlay_segment_of(work, token);
            block->from[i] = inlay_out_of(work, sequence, b, s + i) + block->column * sizeof(float);
        }
        add_to_tables(block);
    }
}

/* Returns the factor of a token whose sequence has `pooled` pooled rows. Not inlined, so its arithmetic stays within
   its caller's guarded environment. */
static __attribute__((noinline)) float pooled_scale(const struct inlay_work *work, size_t token, uint64_t id,
                                                    size_t pooled)
{
    const float scale = inlay_pooled_factor(work, token, id);
    return work->spec->pooling == INLAY_POOLING_MEAN ? scale / (float)pooled : scale;
}

/* Adds the gradient of a pooled row to each of its rows, token by token, since each can have its own factor. */
static void add_pooled(struct added_block *block, size_t b)
{
    const struct inlay_work *work = &block->job->work;
    const struct inlay_sequence sequence = inlay_sequence_of(work, b);
    size_t pooled = 0, row;
    for (size_t s = 0; s < sequence.count; s++)
        pooled += inlay_row_of(work, sequence.first + s, &row) == INLAY_ROW;
    block->count = 1;
    block->from[0] = work->out + b * work->out_stride_bytes + block->column * sizeof(float);
    for (size_t s = 0; s < sequence.count && pooled > 0; s++) {
        uint64_t id;
        block->kinds[0] = inlay_row_and_id_of(work, sequence.first + s, &block->rows[TOKENS][0], &id);
        if (block->kinds[0] != INLAY_ROW)
            continue;
        block->scale = pooled_scale(work, sequence.first + s, id, pooled);
        add_to_tables(block);
    }
}

static void (*const passes[])(struct added_block *block, size_t b) = {
    [INLAY_POOLING_NONE] = add_sequence,
    [INLAY_POOLING_SUM] = add_pooled,
    [INLAY_POOLING_MEAN] = add_pooled,
};

static void add_part(void *arg, size_t index)
{
    const struct backward_job *job = arg;
    const struct inlay_work *work = &job->work;
    const size_t dim = work->tokens->dim, lines = (dim + LINE_COLUMNS - 1) / LINE_COLUMNS;
    struct added_block block = {.job = job, .column = inlay_share_begin(lines, job->parts, index) * LINE_COLUMNS};
    block.columns = inlay_min(inlay_share_begin(lines, job->parts, index + 1) * LINE_COLUMNS, dim) - block.column;
    struct inlay_fpenv host = inlay_fpenv_enter();
    for (size_t b = 0; b < work->batch.sequences; b++)
        passes[work->spec->pooling](&block, b);
    inlay_fpenv_leave(host);
}

/* ---- Validation ------------------------------------------------------------------------------------------------- */

static const char *const target_names[TABLES] = {
    [TOKENS] = "tokens", [POSITIONS] = "positions", [SEGMENTS] = "segments"};

/* Collects the gradients that are wanted, and their extents. */
static inlay_status check_targets(const inlay_layer *layer, const inlay_gradients *gradients,
                                  struct target targets[TABLES], inlay_fault *fault)
{
    const inlay_layer_spec *spec = &layer->spec;
    if (!inlay_struct_known(gradients, sizeof *gradients))
        return inlay_blame(fault, INLAY_ERROR_OPTION, "size", INLAY_SIZE_UNKNOWN);
    if (spec->out_type != INLAY_F32)
        return inlay_blame(fault, INLAY_ERROR_OPTION, "layer", "has outputs that are not float32");
    const inlay_table *const learned = spec->sinusoid == NULL ? spec->positions : NULL;
    targets[TOKENS] = (struct target){&layer->tokens, gradients->tokens, gradients->tokens_stride_bytes, {0, 0}};
    targets[POSITIONS] = (struct target){learned, gradients->positions, gradients->positions_stride_bytes, {0, 0}};
    targets[SEGMENTS] = (struct target){spec->segments, gradients->segments, gradients->segments_stride_bytes, {0, 0}};
    inlay_status status = INLAY_OK;
    for (int i = 0; i < TABLES && status == INLAY_OK; i++) {
        struct target *target = &targets[i];
        if (target->data != NULL && target->table == NULL)
            status = inlay_blame(fault, INLAY_ERROR_OPTION, target_names[i], "the layer has no such table");
        else if (target->data != NULL)
            status = inlay_blame(fault,
                                 inlay_check_matrix(target->data, target->table->rows, target->table->dim, INLAY_F32,
                                                    target->stride_bytes, &target->extent),
                                 target_names[i], NULL);
    }
    return status;
}

/* Checks that no gradient overlaps another one or any input of the call. */
static inlay_status check_overlaps(const inlay_layer *layer, const struct inlay_work *work,
                                   const struct target targets[TABLES], inlay_fault *fault)
{
    struct inlay_extent from;
    inlay_status status = inlay_check_rows(work->out, work->rows, work->row_bytes, work->out_stride_bytes, &from);
    for (int i = 0; i < TABLES && status == INLAY_OK; i++) {
        const struct inlay_extent written = targets[i].extent;
        status = inlay_check_reads(layer, &work->batch, inlay_tokens_of(work), target_names[i], written, fault);
        bool overlaps = inlay_extents_overlap(written, from);
        for (int j = 0; j < i; j++)
            overlaps = overlaps || inlay_extents_overlap(written, targets[j].extent);
        if (status == INLAY_OK && overlaps)
            status = inlay_blame(fault, INLAY_ERROR_OVERLAP, target_names[i], NULL);
    }
    return status;
}

/* Returns the number of parts: at most one per thread, since shorter runs of columns are slower. */
static size_t parts_of(const struct inlay_work *work, const inlay_executor *executor)
{
    const size_t most = inlay_max(work->tokens->dim / PART_COLUMNS, 1);
    const size_t parts = inlay_min(inlay_parts(executor, inlay_bytes_of(work)), most);
    return executor != NULL ? inlay_min(parts, executor->threads) : 1;
}

inlay_status inlay_backward(const inlay_layer *layer, const inlay_batch *batch, const void *out_gradient,
                            size_t out_stride_bytes, const inlay_gradients *gradients, const inlay_executor *executor,
                            inlay_fault *fault)
{
    if (layer == NULL || gradients == NULL)
        return inlay_blame(fault, INLAY_ERROR_NULL, layer == NULL ? "layer" : "gradients", NULL);
    struct backward_job job;
    inlay_status status = check_targets(layer, gradients, job.targets, fault);
    if (status == INLAY_OK)
        status =
            inlay_validate(&job.work, layer, batch, "out_gradient", out_gradient, out_stride_bytes, executor, fault);
    if (status != INLAY_OK || job.work.rows == 0)
        return status;
    status = check_overlaps(layer, &job.work, job.targets, fault);
    if (status != INLAY_OK)
        return status;
    job.kernels = inlay_dispatch();
    job.parts = parts_of(&job.work, executor);
    inlay_run_parts(executor, job.parts, add_part, &job);
    return INLAY_OK;
}
