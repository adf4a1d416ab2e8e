/* SPDX-License-Identifier: MIT */
/*
 * Checks of errors: a call with one bad argument returns the status of that argument, names the place of a bad id,
 * position, segment or offset, and writes nothing.
 */
#include "selftest/check.h"

#include <string.h>

enum { VOCAB = 50, SEQUENCES = 4, LENGTH = 40, TOKENS = SEQUENCES * LENGTH, DIM = 65, POSITION_ROWS = 64 };

/* A layer and a batch that are valid until a check corrupts them. */
struct call {
    int32_t ids[TOKENS], segment_ids[TOKENS];
    int64_t offsets[SEQUENCES + 1];
    inlay_table tokens, positions, segments;
    inlay_layer_spec spec;
    inlay_batch batch;
    size_t stride;
    unsigned char *out;
    size_t out_bytes;
    inlay_executor executor;
};

static void negative_id(struct call *call)
{
    call->ids[2 * LENGTH + 7] = -5;
}

static void id_past_vocab(struct call *call)
{
    call->ids[TOKENS - 1] = VOCAB;
}

static void first_of_two_ids(struct call *call)
{
    call->ids[LENGTH] = 2147483647;
    call->ids[TOKENS - 2] = -1;
}

static void position_past_table(struct call *call)
{
    call->batch.start = POSITION_ROWS - LENGTH + 1;
}

static void negative_position(struct call *call)
{
    call->batch.start = -1;
}

static void segment_past_types(struct call *call)
{
    call->segment_ids[3] = 2;
}

static void decreasing_offsets(struct call *call)
{
    call->batch.offsets = call->offsets;
    call->batch.length = TOKENS;
    call->offsets[2] = LENGTH - 1;
}

static void short_stride(struct call *call)
{
    call->stride = DIM * sizeof(float) - 1;
}

static void null_ids(struct call *call)
{
    call->batch.ids = NULL;
}

static void null_output(struct call *call)
{
    call->out = NULL;
}

static void no_id_type(struct call *call)
{
    call->batch.id_type = (inlay_id_type)77;
}

static void whole_dropout(struct call *call)
{
    call->batch.dropout = 1;
}

static void huge_batch(struct call *call)
{
    call->batch.sequences = SIZE_MAX / 2;
}

static void output_over_ids(struct call *call)
{
    call->batch.ids = call->out + 5;
}

static void executor_without_threads(struct call *call)
{
    call->executor.threads = 0;
}

static void no_columns(struct call *call)
{
    call->tokens.dim = 0;
}

static void other_dim(struct call *call)
{
    call->positions.dim = DIM - 1;
}

static void negative_epsilon(struct call *call)
{
    call->spec.norm = INLAY_NORM_RMS;
    call->spec.epsilon = -1;
}

static void unknown_size(struct call *call)
{
    call->spec.size = 2000;
}

static const struct error_check {
    const char *name;
    void (*corrupt)(struct call *call);
    inlay_status status;
    size_t sequence, token; /* of the fault, for a status that has one */
    int64_t value;
} checks[] = {
    {"negative id", negative_id, INLAY_ERROR_ID, 2, 7, -5},
    {"id past the vocabulary", id_past_vocab, INLAY_ERROR_ID, SEQUENCES - 1, LENGTH - 1, VOCAB},
    {"first of two bad ids", first_of_two_ids, INLAY_ERROR_ID, 1, 0, 2147483647},
    {"position past the table", position_past_table, INLAY_ERROR_POSITION, 0, LENGTH - 1, POSITION_ROWS},
    {"negative position", negative_position, INLAY_ERROR_POSITION, 0, 0, -1},
    {"segment past the types", segment_past_types, INLAY_ERROR_SEGMENT, 0, 3, 2},
    {"decreasing offsets", decreasing_offsets, INLAY_ERROR_OFFSETS, 2, 0, LENGTH - 1},
    {.name = "short stride", .corrupt = short_stride, .status = INLAY_ERROR_STRIDE},
    {.name = "null ids", .corrupt = null_ids, .status = INLAY_ERROR_NULL},
    {.name = "null output", .corrupt = null_output, .status = INLAY_ERROR_NULL},
    {.name = "type that is none", .corrupt = no_id_type, .status = INLAY_ERROR_OPTION},
    {.name = "dropout of everything", .corrupt = whole_dropout, .status = INLAY_ERROR_OPTION},
    {.name = "batch larger than memory", .corrupt = huge_batch, .status = INLAY_ERROR_OVERFLOW},
    {.name = "output over ids", .corrupt = output_over_ids, .status = INLAY_ERROR_OVERLAP},
    {.name = "executor without threads", .corrupt = executor_without_threads, .status = INLAY_ERROR_OPTION},
    {.name = "table without columns", .corrupt = no_columns, .status = INLAY_ERROR_SHAPE},
    {.name = "positions of another dim", .corrupt = other_dim, .status = INLAY_ERROR_SHAPE},
    {.name = "negative epsilon", .corrupt = negative_epsilon, .status = INLAY_ERROR_OPTION},
    {.name = "spec of unknown size", .corrupt = unknown_size, .status = INLAY_ERROR_OPTION},
};

const char *error_item(size_t item)
{
    return item < sizeof checks / sizeof *checks ? checks[item].name : NULL;
}

static void run_alone(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++)
        task(arg, i);
}

static void make_call(struct trial *trial, struct call *call)
{
    uint64_t state = 1;
    for (size_t i = 0; i < TOKENS; i++) {
        call->ids[i] = (int32_t)(next_random(&state) % VOCAB);
        call->segment_ids[i] = (int32_t)(i % 2);
    }
    for (size_t i = 0; i <= SEQUENCES; i++)
        call->offsets[i] = (int64_t)(i * LENGTH);
    call->tokens = trial_table(trial, INLAY_F32, VOCAB, DIM, 1);
    call->positions = trial_table(trial, INLAY_F32, POSITION_ROWS, DIM, 2);
    call->segments = trial_table(trial, INLAY_F32, 2, DIM, 3);
    call->spec = inlay_layer_spec_default(&call->tokens);
    call->spec.positions = &call->positions;
    call->spec.segments = &call->segments;
    call->batch = inlay_batch_i32(call->ids, SEQUENCES, LENGTH, 0);
    call->batch.segment_ids = call->segment_ids;
    call->batch.segment_id_type = INLAY_ID_I32;
    call->stride = DIM * sizeof(float) + 4;
    call->out_bytes = TOKENS * call->stride;
    call->out = trial_array(trial, call->out_bytes);
    call->executor = (inlay_executor){NULL, run_alone, 3};
}

static bool has_place(inlay_status status)
{
    return status == INLAY_ERROR_ID || status == INLAY_ERROR_POSITION || status == INLAY_ERROR_SEGMENT ||
           status == INLAY_ERROR_OFFSETS;
}

void error_run(struct trial *trial, size_t item)
{
    static struct call call;
    const struct error_check *wanted = &checks[item];
    make_call(trial, &call);
    unsigned char *out = call.out, *before = trial_array(trial, call.out_bytes);
    memcpy(before, out, call.out_bytes);
    wanted->corrupt(&call);
    inlay_layer *layer = NULL;
    inlay_fault fault = {99, 99, 99};
    inlay_status status = inlay_layer_create(&call.spec, NULL, &layer);
    if (status == INLAY_OK)
        status = inlay_forward(layer, &call.batch, call.out, call.stride, &call.executor, &fault);
    inlay_layer_destroy(layer);
    if (status != wanted->status)
        trial_fault(trial, "the status is %d, not %d", (int)status, (int)wanted->status);
    if (memcmp(out, before, call.out_bytes) != 0)
        trial_fault(trial, "something is written in spite of the error");
    const bool found =
        fault.sequence == wanted->sequence && fault.token == wanted->token && fault.value == wanted->value;
    if (has_place(wanted->status) && !found)
        trial_fault(trial, "the place is sequence %zu, token %zu, value %lld", fault.sequence, fault.token,
                    (long long)fault.value);
    if (!has_place(wanted->status) && (fault.sequence != 99 || fault.token != 99 || fault.value != 99))
        trial_fault(trial, "a place is written, which this status does not have");
}
