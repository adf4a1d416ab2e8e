/* SPDX-License-Identifier: MIT */
/*
 * Turns bytes into a forward call (tests/support/calls.h), sometimes with broken arguments. Every ISA that runs here
 * must match the reference, or the scalar kernels where the reference does not apply: same status, fault and output.
 * For libFuzzer, and for replay.c without it.
 */
#include "support/calls.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Refuses position caches that would take too long to fill. */
static void *allocate(void *ctx, size_t bytes)
{
    (void)ctx;
    return bytes <= 1 << 21 ? malloc(bytes) : NULL;
}

static void release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

/* Sets some arguments to values that must be refused or be harmless. Array sizes are set too small, or too large for
   any array. */
static void break_arguments(struct call *call, struct source *source)
{
    /* Arguments, each with a bad value. */
#define ARGUMENT(member, value)                                                                                        \
    {                                                                                                                  \
        offsetof(struct call, member), sizeof(((struct call *)NULL)->member), value                                    \
    }
#define TABLE(table)                                                                                                   \
    ARGUMENT(table.size, sizeof(inlay_table) - 1), ARGUMENT(table.rows, 0), ARGUMENT(table.dim, 1),                    \
        ARGUMENT(table.stride_bytes, 1), ARGUMENT(table.type, INLAY_ELEMENT_TYPES), ARGUMENT(table.group, 8),          \
        ARGUMENT(table.first_row, 3), ARGUMENT(table.vocab, 1)
    static const struct {
        size_t at, bytes;
        uint64_t value;
    } arguments[] = {
        TABLE(tokens),
        TABLE(positions),
        TABLE(segments),
        ARGUMENT(tokens.size, sizeof(inlay_table) + 8),
        ARGUMENT(tokens.extent_count, 0),
        ARGUMENT(tokens.extent_rows, 1),
        ARGUMENT(tuning.size, sizeof(inlay_tuning) + 8),
        ARGUMENT(tuning.stream_bytes, 0),
        ARGUMENT(tuning.compute_bytes, 100),
        ARGUMENT(tuning.block_bytes, 0),
        ARGUMENT(tuning.prefetch, INLAY_PREFETCH_L2_BLOCKS + 1),
        ARGUMENT(spec.size, sizeof(inlay_layer_spec) + 8),
        ARGUMENT(spec.cached_positions, 1),
        ARGUMENT(spec.scale, 0x7f7fffff),
        ARGUMENT(spec.stores, 3),
        ARGUMENT(spec.padding_id, 1),
        ARGUMENT(spec.substitute_id, MAX_TABLE_ROWS),
        ARGUMENT(spec.bad_id, 5),
        ARGUMENT(spec.zero_rows, 3),
        ARGUMENT(spec.position_mode, 2),
        ARGUMENT(spec.clamp_positions, 2),
        ARGUMENT(spec.segments_first, 1),
        ARGUMENT(spec.norm, 4),
        ARGUMENT(spec.epsilon, 0x7f800000), /* infinity */
        ARGUMENT(spec.pooling, 3),
        ARGUMENT(spec.out_type, 0),
        ARGUMENT(spec.token_mapping_length, 0),
        ARGUMENT(spec.token_mapping_type, 7),
        ARGUMENT(spec.token_weights_length, 0),
        ARGUMENT(spec.self_tuning, INLAY_SELF_TUNING_OFF + 1),
        ARGUMENT(batch.size, sizeof(inlay_batch) + 8),
        ARGUMENT(batch.id_type, 0),
        ARGUMENT(batch.dropout, 0x3f800000), /* 1 */
        ARGUMENT(batch.sequences, 0),
        ARGUMENT(batch.length, 0),
        ARGUMENT(batch.padded_length, UINT64_MAX),
        ARGUMENT(batch.start, INT64_MAX),
        ARGUMENT(batch.position_id_type, 0),
        ARGUMENT(batch.segment_id_type, 0),
        ARGUMENT(executor.threads, 0),
        ARGUMENT(stride, 1), /* of the output */
    };
    /* Bad values for any argument: counts that exceed memory and overflow when multiplied, invalid enums and struct
       sizes, floats that are NaN or negative. */
    static const uint64_t huge[] = {UINT64_MAX, UINT64_MAX - 7, UINT64_C(0x8000000080000000),
                                    UINT64_C(0x8000000080000004)};
    static const unsigned char zeros[24576];
    const void *const tokens = &call->tokens;
    /* Pointers, and what may replace them besides null. */
    const struct {
        size_t at;
        const void *other;
    } pointers[] = {
        {offsetof(struct call, tokens.data), NULL},        {offsetof(struct call, tokens.scales), zeros},
        {offsetof(struct call, tokens.zeros), zeros},      {offsetof(struct call, positions.zeros), zeros},
        {offsetof(struct call, spec.tokens), NULL},        {offsetof(struct call, spec.sinusoid), NULL},
        {offsetof(struct call, spec.positions), tokens},   {offsetof(struct call, spec.segments), tokens},
        {offsetof(struct call, spec.token_mapping), NULL}, {offsetof(struct call, spec.token_weights), zeros},
        {offsetof(struct call, spec.gamma), zeros},        {offsetof(struct call, spec.beta), zeros},
        {offsetof(struct call, batch.ids), NULL},          {offsetof(struct call, batch.offsets), zeros},
        {offsetof(struct call, batch.starts), zeros},      {offsetof(struct call, batch.position_ids), zeros},
        {offsetof(struct call, batch.segment_ids), zeros}, {offsetof(struct call, batch.weights), zeros},
        {offsetof(struct call, tokens.extents), NULL},     {offsetof(struct call, executor.run), NULL},
    };
    static const inlay_allocator allocator = {NULL, allocate, release};
    call->allocator = &allocator;
    call->broken = true;
    call->after_tokens = call->after_tuning = call->after_spec = call->after_batch = choose(source, 2);
    for (uint64_t n = 1 + choose(source, 2); n > 0; n--)
        if (one_in(source, 3)) {
            size_t i = choose(source, sizeof pointers / sizeof *pointers);
            /* Without offsets, `length` would have another meaning. */
            bool null = one_in(source, 2) && pointers[i].at != offsetof(struct call, batch.offsets);
            memcpy((unsigned char *)call + pointers[i].at, null ? &(const void *){NULL} : &pointers[i].other,
                   sizeof(void *));
        } else {
            size_t i = choose(source, sizeof arguments / sizeof *arguments);
            uint64_t value = one_in(source, 2) ? huge[choose(source, 4)] : arguments[i].value;
            memcpy((unsigned char *)call + arguments[i].at, &value, arguments[i].bytes);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t dims[] = {1,  2,  3,  7,  8,  15,  16,  17,  24,  31,  32,  33,  40,   48,
                                  64, 65, 96, 97, 99, 128, 160, 192, 256, 257, 512, 513, 1100, 4352};
    static const struct call_sizes sizes = {dims, sizeof dims / sizeof *dims, 4352, 300, 150000};
    static bool prepared;
    if (!prepared)
        calls_prepare(&sizes);
    prepared = true;
    struct source source = {{size}, data, data + size};
    struct call call;
    if (size == 0)
        return 0;
    bool broken = one_in(&source, 4);
    source.random.state += choose(&source, 256) << 32;
    call_draw(&call, &source, &sizes);
    if (broken)
        break_arguments(&call, &source);
    inlay_dispatch_use(broken ? &inlay_kernels_scalar : NULL);
    struct outcome expected = call_expect(&call);
    const struct inlay_kernels *kernels;
    bool runs;
    for (size_t i = 0; (kernels = inlay_dispatch_at(i, &runs)) != NULL; i++) {
        inlay_dispatch_use(runs ? kernels : &inlay_kernels_scalar);
        const char *wrong = call_check(&call, &expected);
        if (wrong != NULL) {
            fprintf(stderr, "%s on %s\n", wrong, kernels->name);
            abort();
        }
    }
    inlay_dispatch_use(NULL);
    call_end(&call);
    return 0;
}
