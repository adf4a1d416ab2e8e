/* SPDX-License-Identifier: MIT */
/*
 * Creating and destroying layers.
 */
#include "base/environment.h"
#include "base/line.h"
#include "base/memory.h"
#include "layer/validate.h"
#include "positions/rows.h"

/* Returns the fields of a view that this version has; the rest was checked to be zero. */
static inlay_table known_part(const inlay_table *table)
{
    inlay_table known = *table;
    known.size = sizeof known;
    return known;
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
    *cached = spec->sinusoid != NULL ? inlay_cached_rows(spec->cached_positions, spec->sinusoid->dim) : 0;
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
        .pruned = inlay_first_mapping_gap(spec) < spec->token_mapping_length,
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
    /* Aligned, so rows of whole cache lines don't straddle any. */
    unsigned char *const cache = inlay_next_line((unsigned char *)(made + 1));
    if (spec->positions != NULL)
        made->positions = known_part(spec->positions);
    else
        made->positions = inlay_table_f32(cache, cached, spec->tokens->dim);
    made->spec.positions = inlay_has_positions(spec) ? &made->positions : NULL;
    made->reads.extents[made->reads.count++] = inlay_bytes_at(made, bytes);
    if (spec->sinusoid != NULL)
        made->reads.extents[made->reads.count++] = inlay_bytes_at(spec->sinusoid, spec->sinusoid->bytes);
    if (cached > 0)
        inlay_fill_cache(spec->sinusoid, cached, cache);
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
