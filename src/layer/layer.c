/* SPDX-License-Identifier: MIT */
/*
 * Creating and destroying layers.
 */
#include "base/environment.h"
#include "base/fpenv.h"
#include "base/line.h"
#include "base/memory.h"
#include "base/minmax.h"
#include "dispatch/dispatch.h"
#include "layer/validate.h"
#include "positions/generator.h"

/* Returns the fields of a view that this version has; the rest was checked to be zero. */
static inlay_table known_part(const inlay_table *table)
{
    inlay_table known = *table;
    known.size = sizeof known;
    return known;
}

/* Returns the number of rows of the sinusoid to cache. */
static size_t cached_rows(const inlay_layer_spec *spec)
{
    const size_t default_rows = 4096, default_floats = ((size_t)64 << 20) / sizeof(float);
    if (spec->sinusoid == NULL)
        return 0;
    if (spec->cached_positions != INLAY_CACHED_POSITIONS_DEFAULT)
        return spec->cached_positions < INLAY_POSITION_LIMIT ? spec->cached_positions : (size_t)INLAY_POSITION_LIMIT;
    return inlay_min(default_floats / spec->sinusoid->dim, default_rows);
}

/* Returns the start of a layer's cached rows, aligned to a cache line: rows of whole lines then don't straddle any. */
static unsigned char *cached_begin(inlay_layer *layer)
{
    unsigned char *end = (unsigned char *)(layer + 1);
    return end + (INLAY_CACHE_LINE - (uintptr_t)end % INLAY_CACHE_LINE) % INLAY_CACHE_LINE;
}

/* Computes the cached rows of a layer's sinusoid. Not inlined: it runs kernels in the guarded environment. */
static __attribute__((noinline)) void fill_cache(const inlay_layer *layer, size_t rows, unsigned char *cache)
{
    const struct inlay_kernels *kernels = inlay_dispatch();
    const struct inlay_positions first = {.first = 0};
    struct inlay_fpenv host = inlay_fpenv_enter();
    inlay_sinusoid_fill(kernels, layer->spec.sinusoid, first, rows, INLAY_F32, cache, layer->positions.stride_bytes,
                        false);
    inlay_fpenv_leave(host);
}

static bool self_tunes(const inlay_layer_spec *spec)
{
    return spec->tuning == NULL && spec->self_tuning == INLAY_SELF_TUNING_ON &&
           !inlay_environment_is("INLAY_SELF_TUNING", "off");
}

/* Checks a spec. Sets the memory that its layers read, the rows that they cache and the bytes of their handle. */
static inlay_status check(const inlay_layer_spec *spec, inlay_fault *fault, struct inlay_layer_reads *reads,
                          size_t *cached, size_t *bytes)
{
    inlay_status status = inlay_check_spec(spec, reads, fault);
    if (status != INLAY_OK)
        return status;
    *cached = cached_rows(spec);
    if (__builtin_mul_overflow(*cached, spec->tokens->dim, bytes) ||
        __builtin_mul_overflow(*bytes, sizeof(float), bytes) ||
        __builtin_add_overflow(*bytes, sizeof(inlay_layer) + INLAY_CACHE_LINE, bytes))
        return inlay_blame(fault, INLAY_ERROR_OVERFLOW, "cached_positions", NULL);
    return INLAY_OK;
}

inlay_status inlay_layer_spec_check(const inlay_layer_spec *spec, inlay_fault *fault)
{
    struct inlay_layer_reads reads;
    size_t cached, bytes;
    return check(spec, fault, &reads, &cached, &bytes);
}

inlay_status inlay_layer_create(const inlay_layer_spec *spec, const inlay_allocator *allocator, inlay_layer **layer)
{
    if (layer == NULL)
        return INLAY_ERROR_NULL;
    *layer = NULL;
    struct inlay_layer_reads reads;
    inlay_allocator memory;
    size_t cached, bytes;
    inlay_status status = check(spec, NULL, &reads, &cached, &bytes);
    if (status == INLAY_OK)
        status = inlay_allocator_of(allocator, &memory);
    if (status != INLAY_OK)
        return status;
    inlay_layer *made = memory.allocate(memory.ctx, bytes);
    if (made == NULL)
        return INLAY_ERROR_NO_MEMORY;
    const size_t id_limit = inlay_id_limit(spec);
    *made = (inlay_layer){
        .allocator = memory,
        .spec = *spec,
        .tokens = known_part(spec->tokens),
        .reads = reads,
        .row_bytes = inlay_table_row_bytes(spec->out_type, spec->tokens->dim),
        .id_limit = id_limit,
        .bad_ids_fail = spec->bad_id == INLAY_BAD_ID_ERROR || (spec->bad_id == INLAY_BAD_ID_CLAMP && id_limit == 0),
        .special_rows = spec->bad_id != INLAY_BAD_ID_ERROR || spec->padding_id >= 0 || spec->tokens->vocab > 0 ||
                        spec->token_mapping != NULL,
        .tuning = spec->tuning != NULL ? *spec->tuning : inlay_tuning_default(),
    };
    made->own_tuner.fixed = !self_tunes(spec);
    made->tuner = self_tunes(spec) || (spec->tuning_state != NULL && spec->tuning == NULL) ? &made->own_tuner : NULL;
    if (spec->tuning_state != NULL)
        inlay_tuner_begin(&made->own_tuner, spec->tuning_state);
    made->spec.tuning_state = NULL;
    made->spec.tokens = &made->tokens;
    made->spec.tuning = &made->tuning;
    if (spec->segments != NULL) {
        made->segments = known_part(spec->segments);
        made->spec.segments = &made->segments;
    }
    if (spec->positions != NULL)
        made->positions = known_part(spec->positions);
    else
        made->positions = inlay_table_f32(cached_begin(made), cached, spec->tokens->dim);
    made->spec.positions = inlay_has_positions(spec) ? &made->positions : NULL;
    made->reads.extents[made->reads.count++] = inlay_bytes_at(made, bytes);
    if (spec->sinusoid != NULL)
        made->reads.extents[made->reads.count++] = inlay_bytes_at(spec->sinusoid, spec->sinusoid->bytes);
    if (cached > 0)
        fill_cache(made, cached, cached_begin(made));
    *layer = made;
    return INLAY_OK;
}

void inlay_layer_destroy(inlay_layer *layer)
{
    if (layer != NULL)
        layer->allocator.release(layer->allocator.ctx, layer);
}

inlay_status inlay_layer_tuning_state(const inlay_layer *layer, inlay_tuning_state *state)
{
    if (layer == NULL || state == NULL)
        return INLAY_ERROR_NULL;
    if (!inlay_struct_known(state, sizeof *state))
        return INLAY_ERROR_OPTION;
    inlay_tuner_read(&layer->own_tuner, state);
    return INLAY_OK;
}
