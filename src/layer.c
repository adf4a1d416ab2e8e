/* SPDX-License-Identifier: MIT */
/*
 * The layer handle: views, scale and positions settled once; forward checks a batch against them and runs the pass.
 */
#include "dispatch.h"
#include "embed.h"
#include "fpenv.h"
#include "generator.h"
#include "memory.h"
#include "tasks.h"
#include "validate.h"

enum { CACHE_LINE = 64 };

struct inlay_layer {
    inlay_allocator allocator;
    inlay_rows tokens;
    /* Rows in memory: learned ones of the caller's, or the first of the sinusoid, held behind this struct. */
    inlay_rows positions;
    struct inlay_table_extents token_extents, position_extents;
    const inlay_sinusoid *sinusoid;
    bool has_positions;
    float scale;
    struct inlay_tuning tuning;
};

/* Also tells which bytes the caller's tables touch; those of absent positions are none. */
static inlay_status check_spec(const inlay_layer_spec *spec, struct inlay_table_extents *tokens,
                               struct inlay_table_extents *positions)
{
    *positions = (struct inlay_table_extents){{0, 0}, {0, 0}, {0, 0}};
    if (spec == NULL)
        return INLAY_NULL;
    if (!inlay_struct_known(spec, sizeof *spec))
        return INLAY_OPTION;
    if (spec->tokens == NULL)
        return INLAY_NULL;
    if (spec->stores != INLAY_STORES_AUTOMATIC && spec->stores != INLAY_STORES_CACHED &&
        spec->stores != INLAY_STORES_STREAMED)
        return INLAY_OPTION;
    if (spec->sinusoid != NULL && spec->positions != NULL)
        return INLAY_OPTION;
    inlay_status status = inlay_check_rows(spec->tokens, tokens);
    if (status != INLAY_OK)
        return status;
    if (spec->sinusoid != NULL && spec->sinusoid->dim != spec->tokens->dim)
        return INLAY_SHAPE;
    if (spec->positions == NULL)
        return INLAY_OK;
    status = inlay_check_rows(spec->positions, positions);
    if (status != INLAY_OK)
        return status;
    return spec->positions->dim == spec->tokens->dim ? INLAY_OK : INLAY_SHAPE;
}

/* A view as this version knows it: what a later one appended was zero and is dropped. */
static inlay_rows known_part(const inlay_rows *rows)
{
    inlay_rows known = *rows;
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
        return INLAY_NULL;
    *layer = NULL;
    struct inlay_table_extents token_extents, position_extents;
    inlay_allocator memory;
    inlay_status status = check_spec(spec, &token_extents, &position_extents);
    if (status == INLAY_OK)
        status = inlay_allocator_of(allocator, &memory);
    if (status != INLAY_OK)
        return status;

    size_t held = held_rows(spec), bytes;
    if (__builtin_mul_overflow(held, spec->tokens->dim, &bytes) ||
        __builtin_mul_overflow(bytes, sizeof(float), &bytes) ||
        __builtin_add_overflow(bytes, sizeof(inlay_layer) + CACHE_LINE, &bytes))
        return INLAY_OVERFLOW;
    inlay_layer *made = memory.allocate(memory.ctx, bytes);
    if (made == NULL)
        return INLAY_NO_MEMORY;
    *made = (inlay_layer){
        .allocator = memory,
        .tokens = known_part(spec->tokens),
        .positions = spec->positions != NULL ? known_part(spec->positions)
                                             : inlay_rows_f32(held_begin(made), held, spec->tokens->dim),
        .token_extents = token_extents,
        .position_extents = position_extents,
        .sinusoid = spec->sinusoid,
        .has_positions = spec->sinusoid != NULL || spec->positions != NULL,
        .scale = spec->scale,
        .tuning = {spec->stores, spec->stream_bytes, spec->compute_bytes, spec->block_bytes, spec->prefetch_rows},
    };
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

/* The first bad position of a batch, or else its first bad id, with its place. */
static inlay_status check_tokens(const inlay_layer *layer, const inlay_batch *batch, size_t tokens, inlay_fault *fault)
{
    uint64_t positions = layer->sinusoid != NULL ? (uint64_t)INLAY_POSITION_LIMIT : layer->positions.rows;
    if (layer->has_positions && batch->starts == NULL &&
        !inlay_positions_in(batch->start, batch->length, positions, fault))
        return INLAY_POSITION;
    if (layer->has_positions && batch->starts != NULL)
        for (size_t b = 0; b < batch->sequences; b++)
            if (!inlay_positions_in(inlay_id_at(batch->starts, INLAY_ID_I64, b), batch->length, positions, fault)) {
                fault->sequence = b;
                return INLAY_POSITION;
            }
    size_t bad = inlay_first_bad_id(batch->ids, batch->id_type, tokens, layer->tokens.rows);
    if (bad == tokens)
        return INLAY_OK;
    *fault = (inlay_fault){bad / batch->length, bad % batch->length, inlay_id_at(batch->ids, batch->id_type, bad)};
    return INLAY_ID;
}

inlay_status inlay_forward(const inlay_layer *layer, const inlay_batch *batch, void *out, size_t out_stride_bytes,
                           const inlay_executor *executor, inlay_fault *fault)
{
    if (layer == NULL || batch == NULL)
        return INLAY_NULL;
    if (!inlay_struct_known(batch, sizeof *batch) || inlay_id_bytes(batch->id_type) == 0 || batch->reserved != 0 ||
        batch->reserved_too != 0)
        return INLAY_OPTION;
    size_t tokens;
    if (__builtin_mul_overflow(batch->sequences, batch->length, &tokens))
        return INLAY_OVERFLOW;
    struct inlay_extent read_ids, written;
    inlay_status status = inlay_check_extent(out, tokens, layer->tokens.dim, INLAY_F32, out_stride_bytes, &written);
    if (status == INLAY_OK)
        status = inlay_check_executor(executor);
    if (status != INLAY_OK || tokens == 0)
        return status;
    status = inlay_check_array(batch->ids, tokens, inlay_id_bytes(batch->id_type), &read_ids);
    if (status != INLAY_OK)
        return status;
    struct inlay_extent read_starts = {0, 0};
    if (batch->starts != NULL)
        status = inlay_check_array(batch->starts, batch->sequences, sizeof *batch->starts, &read_starts);
    if (status != INLAY_OK)
        return status;
    if (inlay_extents_overlap(written, read_ids) || inlay_extents_overlap(written, read_starts) ||
        inlay_table_overlaps(written, &layer->token_extents) || inlay_table_overlaps(written, &layer->position_extents))
        return INLAY_OVERLAP;
    inlay_fault found;
    status = check_tokens(layer, batch, tokens, &found);
    if (status != INLAY_OK) {
        if (fault != NULL)
            *fault = found;
        return status;
    }
    struct inlay_embed_work work = {
        .tokens = &layer->tokens,
        .ids = batch->ids,
        .id_type = batch->id_type,
        .scale = layer->scale,
        .positions = layer->has_positions ? &layer->positions : NULL,
        .sinusoid = layer->sinusoid,
        .start = batch->start,
        .starts = batch->starts,
        .sequences = batch->sequences,
        .length = batch->length,
        .dim = layer->tokens.dim,
        .out = out,
        .out_stride_bytes = out_stride_bytes,
        .tuning = layer->tuning,
    };
    inlay_embed_run(&work, executor);
    return INLAY_OK;
}
