/* SPDX-License-Identifier: MIT */
/*
 * The layer handle: views, scale and positions settled once; forward checks a batch against them and runs the pass.
 */
#include "dispatch/dispatch.h"
#include "base/compare.h"
#include "base/fpenv.h"
#include "positions/generator.h"
#include "base/memory.h"
#include "layer/resolve.h"
#include "base/executor.h"

#include <float.h>
#include <string.h>

enum { CACHE_LINE = 64 };

/* Rows of floats on their way through stages that take whole rows (stages.c). */
enum { MOST_STAGED_DIM = 4096 };

/* What tables, gamma and beta touch: no output may. */
struct touched {
    struct inlay_extent extents[11];
    size_t count;
};

struct inlay_layer {
    inlay_allocator allocator;
    inlay_layer_spec spec; /* its pointers to views point to these: */
    inlay_table tokens;
    /* Rows in memory: learned ones of the caller's, or the first of the sinusoid, held behind this struct. */
    inlay_table positions;
    inlay_table segments;
    struct touched touched;
    struct inlay_thresholds tuning;
};

static bool positioned(const inlay_layer_spec *spec)
{
    return spec->sinusoid != NULL || spec->positions != NULL;
}

static uint64_t vocab_of(const inlay_table *tokens)
{
    return tokens->vocab > 0 ? tokens->vocab : tokens->rows;
}

/* Whether numbers are such as this version knows, and fields go together. */
static bool options_known(const inlay_layer_spec *spec)
{
    const inlay_table *tokens = spec->tokens;
    bool norm = spec->norm != INLAY_NORM_NONE, pooled = spec->pooling != INLAY_POOLING_NONE;
    bool shard = tokens->vocab > 0 && tokens->rows < tokens->vocab;
    if (spec->stores > INLAY_STORES_STREAMED || spec->bad_id > INLAY_BAD_ID_SKIP ||
        spec->zero_rows > INLAY_ZERO_ROWS_POSITIONED || spec->position_mode > INLAY_POSITION_MODE_PADDING_AWARE ||
        spec->clamp_positions > 1 || spec->segments_first > 1 || spec->norm > INLAY_NORM_RMS ||
        spec->pooling > INLAY_POOLING_MEAN)
        return false;
    if (inlay_type_bytes(spec->out_type) == 0 || !inlay_float_in(spec->epsilon, 0, FLT_MAX))
        return false;
    if (spec->sinusoid != NULL && spec->positions != NULL)
        return false;
    if (spec->clamp_positions && spec->positions == NULL)
        return false;
    if (spec->segments_first && spec->segments == NULL)
        return false;
    if (spec->position_mode == INLAY_POSITION_MODE_PADDING_AWARE && (spec->padding_id < 0 || !positioned(spec)))
        return false;
    if (!norm && (spec->gamma != NULL || spec->beta != NULL))
        return false;
    if (spec->norm == INLAY_NORM_RMS && spec->beta != NULL)
        return false;
    if (shard && (norm || pooled || spec->segments != NULL))
        return false;
    if (pooled && (positioned(spec) || spec->segments != NULL))
        return false;
    return spec->bad_id != INLAY_BAD_ID_SUBSTITUTE ||
           (spec->substitute_id >= 0 && (uint64_t)spec->substitute_id < vocab_of(tokens));
}

static void touch(struct touched *touched, struct inlay_extent extent)
{
    if (extent.begin < extent.end)
        touched->extents[touched->count++] = extent;
}

/* Also tells which bytes the caller's tables touch. */
static inlay_status check_spec(const inlay_layer_spec *spec, struct touched *touched)
{
    struct inlay_table_extents tables[3];
    struct inlay_extent gamma = {0, 0}, beta = {0, 0};
    memset(tables, 0, sizeof tables);
    if (spec == NULL)
        return INLAY_ERROR_NULL;
    if (!inlay_struct_known(spec, sizeof *spec))
        return INLAY_ERROR_OPTION;
    if (spec->tuning != NULL && !inlay_struct_known(spec->tuning, sizeof *spec->tuning))
        return INLAY_ERROR_OPTION;
    if (spec->tokens == NULL)
        return INLAY_ERROR_NULL;
    inlay_status status = inlay_check_table(spec->tokens, &tables[0]);
    if (status == INLAY_OK && spec->positions != NULL)
        status = inlay_check_table(spec->positions, &tables[1]);
    if (status == INLAY_OK && spec->segments != NULL)
        status = inlay_check_table(spec->segments, &tables[2]);
    if (status != INLAY_OK)
        return status;
    if (!options_known(spec) || (spec->positions != NULL && spec->positions->vocab > 0) ||
        (spec->segments != NULL && (spec->segments->vocab > 0 || spec->segments->rows == 0)))
        return INLAY_ERROR_OPTION;
    size_t dim = spec->tokens->dim;
    if ((spec->sinusoid != NULL && spec->sinusoid->dim != dim) ||
        (spec->positions != NULL && spec->positions->dim != dim) ||
        (spec->segments != NULL && spec->segments->dim != dim))
        return INLAY_ERROR_SHAPE;
    bool whole_rows = spec->pooling != INLAY_POOLING_NONE ||
                      (spec->out_type != INLAY_F32 && (spec->norm != INLAY_NORM_NONE || spec->sinusoid != NULL));
    if (whole_rows && dim > MOST_STAGED_DIM)
        return INLAY_ERROR_SHAPE;
    if (spec->gamma != NULL)
        status = inlay_check_array(spec->gamma, dim, sizeof(float), &gamma);
    if (status == INLAY_OK && spec->beta != NULL)
        status = inlay_check_array(spec->beta, dim, sizeof(float), &beta);
    touched->count = 0;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        touch(touched, tables[i].data);
        touch(touched, tables[i].scales);
        touch(touched, tables[i].zeros);
    }
    touch(touched, gamma);
    touch(touched, beta);
    return status;
}

/* A view as this version knows it: what a later one appended was zero and is dropped. */
static inlay_table known_part(const inlay_table *rows)
{
    inlay_table known = *rows;
    known.size = sizeof known;
    return known;
}

static size_t held_rows(const inlay_layer_spec *spec)
{
    if (spec->sinusoid == NULL)
        return 0;
    if (spec->cached_positions != INLAY_CACHED_POSITIONS_DEFAULT)
        return spec->cached_positions < INLAY_POSITION_LIMIT ? spec->cached_positions : (size_t)INLAY_POSITION_LIMIT;
    const size_t rows = 4096, floats = (64 << 20) / sizeof(float);
    size_t fit = floats / spec->sinusoid->dim;
    return fit < rows ? fit : rows;
}

/* Where the rows that a layer holds begin: on a cache line, so that rows of whole lines split none. */
static unsigned char *held_begin(inlay_layer *layer)
{
    uintptr_t end = (uintptr_t)(layer + 1);
    return (unsigned char *)(layer + 1) + (CACHE_LINE - end % CACHE_LINE) % CACHE_LINE;
}

inlay_status inlay_layer_create(const inlay_layer_spec *spec, const inlay_allocator *allocator, inlay_layer **layer)
{
    if (layer == NULL)
        return INLAY_ERROR_NULL;
    *layer = NULL;
    struct touched touched;
    inlay_allocator memory;
    inlay_status status = check_spec(spec, &touched);
    if (status == INLAY_OK)
        status = inlay_allocator_of(allocator, &memory);
    if (status != INLAY_OK)
        return status;

    size_t held = held_rows(spec), bytes;
    if (__builtin_mul_overflow(held, spec->tokens->dim, &bytes) ||
        __builtin_mul_overflow(bytes, sizeof(float), &bytes) ||
        __builtin_add_overflow(bytes, sizeof(inlay_layer) + CACHE_LINE, &bytes))
        return INLAY_ERROR_OVERFLOW;
    inlay_layer *made = memory.allocate(memory.ctx, bytes);
    if (made == NULL)
        return INLAY_ERROR_NO_MEMORY;
    *made = (inlay_layer){
        .allocator = memory,
        .spec = *spec,
        .tokens = known_part(spec->tokens),
        .positions = spec->positions != NULL ? known_part(spec->positions)
                                             : inlay_table_f32(held_begin(made), held, spec->tokens->dim),
        .touched = touched,
        .tuning = inlay_thresholds_of(spec->tuning, spec->stores, spec->tokens),
    };
    made->spec.tuning = NULL; /* copied: the caller's may be gone */
    made->spec.tokens = &made->tokens;
    made->spec.positions = positioned(spec) ? &made->positions : NULL;
    if (spec->segments != NULL) {
        made->segments = known_part(spec->segments);
        made->spec.segments = &made->segments;
    }
    if (held > 0) {
        const struct inlay_kernels *kernels = inlay_dispatch();
        struct inlay_fpenv host = inlay_fpenv_enter();
        const struct inlay_positions first = {.first = 0};
        inlay_sinusoid_fill(kernels, spec->sinusoid, first, held, INLAY_F32, held_begin(made),
                            made->positions.stride_bytes, false);
        inlay_fpenv_leave(host);
    }
    *layer = made;
    return INLAY_OK;
}

void inlay_layer_destroy(inlay_layer *layer)
{
    if (layer != NULL)
        layer->allocator.release(layer->allocator.ctx, layer);
}

/* Whether what a batch brings goes with the layer. */
static bool batch_known(const inlay_layer_spec *spec, const inlay_batch *batch)
{
    if (!inlay_struct_known(batch, sizeof *batch) || inlay_id_bytes(batch->id_type) == 0)
        return false;
    if (batch->position_ids != NULL ? inlay_id_bytes(batch->position_id_type) == 0 || !positioned(spec)
                                 : batch->position_id_type != 0)
        return false;
    if (batch->segment_ids != NULL ? inlay_id_bytes(batch->segment_id_type) == 0 || spec->segments == NULL
                                : batch->segment_id_type != 0)
        return false;
    if ((batch->weights != NULL && spec->pooling == INLAY_POOLING_NONE) ||
        (batch->padded_length > 0 && (batch->offsets == NULL || spec->pooling != INLAY_POOLING_NONE)))
        return false;
    bool shard = spec->tokens->vocab > 0 && spec->tokens->rows < spec->tokens->vocab;
    const float below_one = 1 - FLT_EPSILON / 2;
    return inlay_float_in(batch->dropout, 0, shard ? 0 : below_one);
}

/* The longest sequence; offsets must begin at 0, never fall, and end at the number of tokens. */
static inlay_status check_offsets(const inlay_batch *batch, size_t *longest, inlay_fault *fault)
{
    *longest = 0;
    uint64_t before = 0;
    for (size_t b = 0; b <= batch->sequences; b++) {
        uint64_t offset = inlay_load_once((uint64_t)inlay_id_at(batch->offsets, INLAY_ID_I64, b));
        bool good = b == 0 ? offset == 0 : offset >= before && offset <= batch->length;
        if (b == batch->sequences)
            good = good && offset == batch->length;
        if (good && batch->padded_length > 0)
            good = offset - before <= batch->padded_length;
        if (!good) {
            *fault = (inlay_fault){b, 0, (int64_t)offset};
            return INLAY_ERROR_OFFSETS;
        }
        if (offset - before > *longest)
            *longest = (size_t)(offset - before);
        before = offset;
    }
    return INLAY_OK;
}

/* Positions token by token, as stages.c finds them; of tokens that have none in the output none is looked at. */
static inlay_status check_each_position(const struct inlay_embed_work *work, inlay_fault *fault)
{
    uint64_t limit = inlay_position_limit(work);
    for (size_t b = 0; b < work->sequences; b++) {
        struct inlay_sequence sequence = inlay_sequence_of(work, b);
        struct inlay_numbers numbers = inlay_numbers_of(work, b);
        for (size_t s = 0; s < sequence.count; s++) {
            size_t token = sequence.first + s, row;
            uint64_t position = inlay_next_number(work, &numbers, token, s);
            enum inlay_kind kind = inlay_row_of(work, token, &row);
            bool taken = kind == INLAY_ROW || kind == INLAY_ZEROS;
            bool good = position < limit || (work->clamped && (int64_t)position >= 0 && limit > 0);
            if (taken && !good) {
                *fault = (inlay_fault){b, s, (int64_t)position};
                return INLAY_ERROR_POSITION;
            }
        }
    }
    return INLAY_OK;
}

/* Whether positions simply follow each other in every sequence, and all of them exist. */
static bool follow(const struct inlay_embed_work *work)
{
    uint64_t limit = inlay_position_limit(work);
    inlay_fault fault;
    if (work->listed != NULL || work->numbered || work->clamped)
        return false;
    if (work->starts == NULL)
        return work->longest == 0 || inlay_positions_in(work->start, work->longest, limit, &fault);
    if (work->offsets == NULL)
        return work->longest == 0 || inlay_starts_in(work, 0, work->sequences, work->longest, limit);
    for (size_t b = 0; b < work->sequences; b++) {
        size_t count = inlay_sequence_of(work, b).count;
        if (count > 0 && !inlay_positions_in(inlay_id_at(work->starts, INLAY_ID_I64, b), count, limit, &fault))
            return false;
    }
    return true;
}

/* Where not all positions exist, it may be that no token takes one of those that do not. */
static inlay_status check_positions(struct inlay_embed_work *work, inlay_fault *fault)
{
    if (work->positions == NULL || follow(work))
        return INLAY_OK;
    work->apart = true;
    return check_each_position(work, fault);
}

/* Where a token of the ids stands in the batch. */
static inlay_fault fault_at(const struct inlay_embed_work *work, const void *ids, inlay_id_type type, size_t token)
{
    size_t b = 0;
    if (work->offsets == NULL)
        b = token / work->length;
    else
        while (b + 1 < work->sequences && inlay_offset_of(work, b + 1) <= token)
            b++;
    return (inlay_fault){b, token - inlay_sequence_of(work, b).first, inlay_id_at(ids, type, token)};
}

/* The first bad id of a batch, or else its first bad position, or segment, with its place: which positions are taken
   depends on ids. */
static inlay_status check_tokens(struct inlay_embed_work *work, size_t tokens, inlay_fault *fault)
{
    uint64_t vocab = vocab_of(work->tokens);
    if (work->bad_id == INLAY_BAD_ID_ERROR || (work->bad_id == INLAY_BAD_ID_CLAMP && vocab == 0)) {
        size_t bad = inlay_first_bad_id(work->ids, work->id_type, tokens, (size_t)vocab);
        if (bad < tokens) {
            *fault = fault_at(work, work->ids, work->id_type, bad);
            return INLAY_ERROR_ID;
        }
    }
    inlay_status status = check_positions(work, fault);
    if (status != INLAY_OK)
        return status;
    if (work->segment_ids != NULL) {
        size_t bad = inlay_first_bad_id(work->segment_ids, work->segment_id_type, tokens, work->segments->rows);
        if (bad < tokens) {
            *fault = fault_at(work, work->segment_ids, work->segment_id_type, bad);
            return INLAY_ERROR_SEGMENT;
        }
    }
    return INLAY_OK;
}

/* The work that a batch is for a layer. */
static struct inlay_embed_work work_of(const inlay_layer *layer, const inlay_batch *batch, void *out,
                                       size_t out_stride_bytes)
{
    const inlay_layer_spec *spec = &layer->spec;
    return (struct inlay_embed_work){
        .tokens = &layer->tokens,
        .ids = batch->ids,
        .id_type = batch->id_type,
        .scale = spec->scale,
        .ruled = spec->bad_id != INLAY_BAD_ID_ERROR || spec->padding_id >= 0 || layer->tokens.vocab > 0,
        .bad_id = spec->bad_id,
        .padding_id = spec->padding_id,
        .substitute_id = spec->substitute_id,
        .zeros_positioned = spec->zero_rows == INLAY_ZERO_ROWS_POSITIONED,
        .positions = spec->positions,
        .sinusoid = spec->sinusoid,
        .start = batch->start,
        .starts = batch->starts,
        .listed = batch->position_ids,
        .listed_type = batch->position_id_type,
        .numbered = spec->position_mode == INLAY_POSITION_MODE_PADDING_AWARE,
        .clamped = spec->clamp_positions != 0,
        .apart = false, /* every field is named: gcc clears what is not, in a slow way */
        .sequences = batch->sequences,
        .length = batch->length,
        .dim = layer->tokens.dim,
        .offsets = batch->offsets,
        .longest = batch->length,
        .out_length = batch->offsets != NULL ? batch->padded_length : batch->length,
        .out = out,
        .out_stride_bytes = out_stride_bytes,
        .segments = spec->segments,
        .segments_first = spec->segments_first != 0,
        .segment_ids = batch->segment_ids,
        .segment_id_type = batch->segment_id_type,
        .norm = spec->norm,
        .epsilon = spec->epsilon,
        .gamma = spec->gamma,
        .beta = spec->beta,
        .pooling = spec->pooling,
        .weights = batch->weights,
        .dropout = batch->dropout,
        .dropout_key = batch->dropout_key,
        .dropout_offset = batch->dropout_offset,
        .out_type = spec->out_type,
        .tuning = layer->tuning,
    };
}

/* An array of a batch: there, and not where the output is. */
static inlay_status check_read(const void *data, size_t n, size_t element_bytes, struct inlay_extent written)
{
    struct inlay_extent read;
    inlay_status status = inlay_check_array(data, n, element_bytes, &read);
    return status == INLAY_OK && inlay_extents_overlap(written, read) ? INLAY_ERROR_OVERLAP : status;
}

/* All that a call reads; what is null is absent, but for ids. */
static inlay_status check_arrays(const inlay_layer *layer, const inlay_batch *batch, size_t tokens,
                                 struct inlay_extent written)
{
    inlay_status status = INLAY_OK;
    if (tokens > 0)
        status = check_read(batch->ids, tokens, inlay_id_bytes(batch->id_type), written);
    if (status == INLAY_OK && batch->starts != NULL)
        status = check_read(batch->starts, batch->sequences, sizeof *batch->starts, written);
    if (status == INLAY_OK && batch->offsets != NULL)
        status = check_read(batch->offsets, batch->sequences + 1, sizeof *batch->offsets, written);
    if (status == INLAY_OK && batch->position_ids != NULL)
        status = check_read(batch->position_ids, tokens, inlay_id_bytes(batch->position_id_type), written);
    if (status == INLAY_OK && batch->segment_ids != NULL)
        status = check_read(batch->segment_ids, tokens, inlay_id_bytes(batch->segment_id_type), written);
    if (status == INLAY_OK && batch->weights != NULL)
        status = check_read(batch->weights, tokens, sizeof(float), written);
    for (size_t i = 0; i < layer->touched.count && status == INLAY_OK; i++)
        if (inlay_extents_overlap(written, layer->touched.extents[i]))
            status = INLAY_ERROR_OVERLAP;
    return status;
}

inlay_status inlay_forward(const inlay_layer *layer, const inlay_batch *batch, void *out, size_t out_stride_bytes,
                           const inlay_executor *executor, inlay_fault *fault)
{
    if (layer == NULL || batch == NULL)
        return INLAY_ERROR_NULL;
    if (!batch_known(&layer->spec, batch))
        return INLAY_ERROR_OPTION;
    inlay_batch counted;
    if (batch->length == INLAY_LENGTH_FROM_OFFSETS) {
        if (batch->offsets == NULL)
            return INLAY_ERROR_NULL;
        if (batch->sequences > SIZE_MAX / sizeof *batch->offsets - 1)
            return INLAY_ERROR_OVERFLOW;
        counted = *batch;
        counted.length =
            (size_t)inlay_load_once((uint64_t)inlay_id_at(batch->offsets, INLAY_ID_I64, batch->sequences));
        batch = &counted;
    }
    size_t tokens = batch->length, rows;
    bool ragged = batch->offsets != NULL, pooled = layer->spec.pooling != INLAY_POOLING_NONE;
    if (!ragged && __builtin_mul_overflow(batch->sequences, batch->length, &tokens))
        return INLAY_ERROR_OVERFLOW;
    if (__builtin_mul_overflow(batch->sequences, batch->padded_length, &rows) ||
        (ragged && batch->sequences > SIZE_MAX / sizeof *batch->offsets - 1))
        return INLAY_ERROR_OVERFLOW;
    rows = pooled ? batch->sequences : batch->padded_length > 0 ? rows : tokens;
    struct inlay_extent written;
    inlay_status status =
        inlay_check_matrix(out, rows, layer->tokens.dim, layer->spec.out_type, out_stride_bytes, &written);
    if (status == INLAY_OK)
        status = inlay_check_executor(executor);
    if (status != INLAY_OK || rows == 0)
        return status;
    status = check_arrays(layer, batch, tokens, written);
    if (status != INLAY_OK)
        return status;
    struct inlay_embed_work work = work_of(layer, batch, out, out_stride_bytes);
    inlay_fault found;
    if (ragged)
        status = check_offsets(batch, &work.longest, &found);
    if (status == INLAY_OK)
        status = check_tokens(&work, tokens, &found);
    if (status != INLAY_OK) {
        if (fault != NULL)
            *fault = found;
        return status;
    }
    inlay_embed_run(&work, executor);
    return INLAY_OK;
}
