/* SPDX-License-Identifier: MIT */
/*
 * Checks of errors: a call with one bad argument returns the status of that argument, names the place of a bad id,
 * position, segment or offset, and writes nothing.
 */
#include "selftest/check.h"

#include <string.h>

enum {
    VOCAB = 50,
    SEQUENCES = 4,
    LENGTH = 40,
    TOKENS = SEQUENCES * LENGTH,
    DIM = 65,
    POSITION_ROWS = 64,
    STRIDE = DIM * sizeof(float) + 4,
    OUT_BYTES = TOKENS * STRIDE + 64 /* wherever it begins */
};

/* A layer and a batch that are valid until a check changes them. */
static struct call {
    int32_t ids[TOKENS], segment_ids[TOKENS];
    int64_t offsets[SEQUENCES + 1];
    inlay_table tokens, positions, segments;
    inlay_layer_spec spec;
    inlay_batch batch;
    inlay_executor executor;
    unsigned char output[OUT_BYTES], *out;
    size_t stride;
} call;

/* What a check puts in a field of the call. */
struct change {
    void *field;
    const void *value;
    size_t bytes;
};

#define SET(field, value)                                                                                              \
    {                                                                                                                  \
        &call.field, &(const __typeof__(call.field)){value}, sizeof call.field                                         \
    }

/* Where a call begins to look for a fault, which stays there unless it finds one. */
#define NO_PLACE                                                                                                       \
    {                                                                                                                  \
        99, 99, 99                                                                                                     \
    }

static const struct error_check {
    const char *name;
    inlay_status status;
    inlay_fault place;
    struct change changes[3];
} checks[] = {
    {"negative id", INLAY_ERROR_ID, {2, 7, -5}, {SET(ids[2 * LENGTH + 7], -5)}},
    {"id past the vocabulary", INLAY_ERROR_ID, {SEQUENCES - 1, LENGTH - 1, VOCAB}, {SET(ids[TOKENS - 1], VOCAB)}},
    {"first of two bad ids",
     INLAY_ERROR_ID,
     {1, 0, 2147483647},
     {SET(ids[LENGTH], 2147483647), SET(ids[TOKENS - 2], -1)}},
    {"position past the table",
     INLAY_ERROR_POSITION,
     {0, LENGTH - 1, POSITION_ROWS},
     {SET(batch.start, POSITION_ROWS - LENGTH + 1)}},
    {"negative position", INLAY_ERROR_POSITION, {0, 0, -1}, {SET(batch.start, -1)}},
    {"segment past the types", INLAY_ERROR_SEGMENT, {0, 3, 2}, {SET(segment_ids[3], 2)}},
    {"decreasing offsets",
     INLAY_ERROR_OFFSETS,
     {2, 0, LENGTH - 1},
     {SET(batch.offsets, call.offsets), SET(batch.length, TOKENS), SET(offsets[2], LENGTH - 1)}},
    {"short stride", INLAY_ERROR_STRIDE, NO_PLACE, {SET(stride, DIM * sizeof(float) - 1)}},
    {"null ids", INLAY_ERROR_NULL, NO_PLACE, {SET(batch.ids, NULL)}},
    {"null output", INLAY_ERROR_NULL, NO_PLACE, {SET(out, NULL)}},
    {"type that is none", INLAY_ERROR_OPTION, NO_PLACE, {SET(batch.id_type, (inlay_id_type)77)}},
    {"dropout of everything", INLAY_ERROR_OPTION, NO_PLACE, {SET(batch.dropout, 1)}},
    {"batch larger than memory", INLAY_ERROR_OVERFLOW, NO_PLACE, {SET(batch.sequences, SIZE_MAX / 2)}},
    {"output over ids", INLAY_ERROR_OVERLAP, NO_PLACE, {SET(batch.ids, call.output + 5)}},
    {"executor without threads", INLAY_ERROR_OPTION, NO_PLACE, {SET(executor.threads, 0)}},
    {"table without columns", INLAY_ERROR_SHAPE, NO_PLACE, {SET(tokens.dim, 0)}},
    {"positions of another dim", INLAY_ERROR_SHAPE, NO_PLACE, {SET(positions.dim, DIM - 1)}},
    {"negative epsilon", INLAY_ERROR_OPTION, NO_PLACE, {SET(spec.norm, INLAY_NORM_RMS), SET(spec.epsilon, -1)}},
    {"spec of unknown size", INLAY_ERROR_OPTION, NO_PLACE, {SET(spec.size, 2000)}},
};

static void make_call(struct trial *trial)
{
    uint64_t state = 1;
    for (size_t i = 0; i < TOKENS; i++) {
        call.ids[i] = (int32_t)(next_random(&state) % VOCAB);
        call.segment_ids[i] = (int32_t)(i % 2);
    }
    for (size_t i = 0; i <= SEQUENCES; i++)
        call.offsets[i] = (int64_t)(i * LENGTH);
    call.tokens = trial_table(trial, INLAY_F32, VOCAB, DIM, 1);
    call.positions = trial_table(trial, INLAY_F32, POSITION_ROWS, DIM, 2);
    call.segments = trial_table(trial, INLAY_F32, 2, DIM, 3);
    call.spec = inlay_layer_spec_default(&call.tokens);
    call.spec.positions = &call.positions;
    call.spec.segments = &call.segments;
    call.batch = inlay_batch_i32(call.ids, SEQUENCES, LENGTH, 0);
    call.batch.segment_ids = call.segment_ids;
    call.batch.segment_id_type = INLAY_ID_I32;
    call.executor = out_of_order;
    memset(call.output, 0x5a, OUT_BYTES);
    call.out = call.output + trial->shift;
    call.stride = STRIDE;
}

static void error_run(struct trial *trial, size_t item)
{
    static unsigned char before[OUT_BYTES];
    static const inlay_fault no_place = NO_PLACE;
    const struct error_check *wanted = &checks[item];
    make_call(trial);
    memcpy(before, call.output, OUT_BYTES);
    for (const struct change *change = wanted->changes; change < wanted->changes + 3 && change->bytes > 0; change++)
        memcpy(change->field, change->value, change->bytes);
    inlay_layer *layer;
    inlay_fault fault = no_place;
    inlay_status status = inlay_layer_create(&call.spec, &in_arena, &layer);
    if (status == INLAY_OK)
        status = inlay_forward(layer, &call.batch, call.out, call.stride, &call.executor, &fault);
    if (status != wanted->status)
        trial_fault(trial, "the status is %d, not %d", (int)status, (int)wanted->status);
    if (memcmp(call.output, before, OUT_BYTES) != 0)
        trial_fault(trial, "something is written in spite of the error");
    if (fault.sequence == wanted->place.sequence && fault.token == wanted->place.token &&
        fault.value == wanted->place.value)
        return;
    if (wanted->place.value != no_place.value)
        trial_fault(trial, "the place is sequence %zu, token %zu, value %lld", fault.sequence, fault.token,
                    (long long)fault.value);
    else
        trial_fault(trial, "a place is written, which this status does not have");
}

const struct family error_checks = {"error", error_run, ITEMS_OF(checks)};
