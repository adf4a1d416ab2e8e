/* SPDX-License-Identifier: MIT */
/*
 * Every error of creating a layer, for every field of its spec; the memory of handles; executors; and the library's
 * version and status functions.
 */
#include "errors/errors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(every_status_has_its_own_sentence)
{
    for (int a = INLAY_OK; a <= INLAY_ERROR_HISTORY; a++)
        for (int b = INLAY_OK; b < a; b++)
            EXPECT(strcmp(inlay_status_string((inlay_status)a), inlay_status_string((inlay_status)b)) != 0,
                   "status %d and %d read the same", a, b);
    const int outside[] = {-1, INLAY_ERROR_HISTORY + 1, 999};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        EXPECT(strcmp(inlay_status_string((inlay_status)outside[i]), "not a status of this version") == 0,
               "status %d reads \"%s\"", outside[i], inlay_status_string((inlay_status)outside[i]));
}
END_TEST

START_TEST(version_is_that_of_the_header)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", INLAY_VERSION_MAJOR, INLAY_VERSION_MINOR, INLAY_VERSION_PATCH);
    EXPECT(strcmp(inlay_version(), text) == 0, "version %s is not %s", inlay_version(), text);
    EXPECT(strcmp(inlay_version(), MESON_VERSION) == 0, "version %s is not Meson's %s", inlay_version(), MESON_VERSION);
}
END_TEST

/* Expects a status from a spec with another value in one field, and a fault that names that field, or another one. */
#define EXPECT_SPEC(wanted, field, value) EXPECT_SPEC_BLAMES(wanted, field, value, #field)
#define EXPECT_SPEC_BLAMES(wanted, field, value, name)                                                                 \
    do {                                                                                                               \
        EXPECT_WITH(wanted, spec, field, value, create_layer(&spec));                                                  \
        EXPECT_BLAMED(wanted, name);                                                                                   \
    } while (0)

START_TEST(fields_of_specs)
{
    static float parameters[DIM];
    const inlay_table tokens = good_table(), learned = good_table(), empty = inlay_table_f32(NULL, 0, DIM),
                      wider = inlay_table_f32(table, 4, DIM + 1), shard = inlay_table_shard(good_table(), 0, ROWS + 1);
    inlay_sinusoid *wider_sinusoid = make_sinusoid(DIM + 1, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    inlay_layer *made = (inlay_layer *)1;
    EXPECT_STATUS(create_layer(&spec), INLAY_OK);
    EXPECT_STATUS(create_layer(NULL), INLAY_ERROR_NULL);
    EXPECT_BLAMED(INLAY_ERROR_NULL, "spec");
    EXPECT_STATUS(inlay_layer_create(&spec, NULL, NULL), INLAY_ERROR_NULL);
    EXPECT_SPEC(INLAY_ERROR_NULL, tokens, NULL);
    EXPECT_SPEC(INLAY_ERROR_OPTION, size, 0);
    EXPECT_SPEC(INLAY_ERROR_OPTION, size, 8);
    EXPECT_SPEC(INLAY_ERROR_OPTION, size, sizeof spec - 1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, stores, (inlay_stores)3);
    EXPECT_SPEC(INLAY_ERROR_OPTION, bad_id, (inlay_bad_id)5);
    EXPECT_SPEC(INLAY_ERROR_OPTION, bad_id, (inlay_bad_id)-1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, zero_rows, (inlay_zero_rows)3);
    EXPECT_SPEC(INLAY_ERROR_OPTION, position_mode, (inlay_position_mode)2);
    EXPECT_SPEC(INLAY_ERROR_OPTION, position_mode, INLAY_POSITION_MODE_PADDING_AWARE); /* no positions, no padding */
    EXPECT_SPEC(INLAY_ERROR_OPTION, clamp_positions, 1);                               /* no positions */
    EXPECT_SPEC(INLAY_ERROR_OPTION, clamp_positions, 2);
    EXPECT_SPEC(INLAY_ERROR_OPTION, norm, (inlay_norm)4);
    EXPECT_SPEC(INLAY_ERROR_OPTION, pooling, (inlay_pooling)3);
    EXPECT_SPEC(INLAY_ERROR_OPTION, out_type, (inlay_element_type)0);
    EXPECT_SPEC(INLAY_ERROR_OPTION, out_type, INLAY_I8);
    EXPECT_SPEC(INLAY_ERROR_OPTION, out_type, (inlay_element_type)INLAY_ELEMENT_TYPES);
    EXPECT_SPEC(INLAY_OK, epsilon, 0x1.fffffep127f);
    EXPECT_SPEC(INLAY_OK, epsilon, -0.0f);
    EXPECT_SPEC(INLAY_ERROR_OPTION, epsilon, -0x1p-149f);
    EXPECT_SPEC(INLAY_ERROR_OPTION, epsilon, -1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, epsilon, NAN);
    EXPECT_SPEC(INLAY_ERROR_OPTION, epsilon, INFINITY);
    EXPECT_SPEC(INLAY_ERROR_OPTION, gamma, parameters); /* no norm */
    EXPECT_SPEC(INLAY_ERROR_OPTION, beta, parameters);
    EXPECT_SPEC(INLAY_ERROR_OPTION, segments, &empty);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, segments, &wider);
    EXPECT_SPEC(INLAY_ERROR_OPTION, segments, &shard);
    EXPECT_SPEC(INLAY_ERROR_OPTION, segments_first, 1); /* no segments */
    EXPECT_SPEC(INLAY_ERROR_OPTION, positions, &shard);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, positions, &wider);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, sinusoid, wider_sinusoid);
    EXPECT_SPEC(INLAY_OK, substitute_id, -1); /* for another policy */
    spec.bad_id = INLAY_BAD_ID_SUBSTITUTE;
    EXPECT_SPEC(INLAY_OK, substitute_id, ROWS - 1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, substitute_id, ROWS);
    EXPECT_SPEC(INLAY_ERROR_OPTION, substitute_id, -1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, substitute_id, INT64_MIN);
    EXPECT_SPEC_BLAMES(INLAY_ERROR_OPTION, tokens, &empty, "substitute_id");
    spec = inlay_layer_spec_default(&tokens);
    spec.positions = &learned;
    EXPECT_SPEC(INLAY_OK, size, sizeof spec);
    EXPECT_SPEC_BLAMES(INLAY_ERROR_OPTION, sinusoid, sinusoid, "positions");
    EXPECT_SPEC(INLAY_ERROR_OPTION, position_mode, INLAY_POSITION_MODE_PADDING_AWARE);
    EXPECT_SPEC(INLAY_ERROR_OPTION, pooling, INLAY_POOLING_SUM);
    spec.padding_id = 0;
    EXPECT_SPEC(INLAY_OK, position_mode, INLAY_POSITION_MODE_PADDING_AWARE);
    spec = inlay_layer_spec_default(&tokens);
    spec.segments = &learned;
    EXPECT_SPEC(INLAY_ERROR_OPTION, pooling, INLAY_POOLING_MEAN);
    EXPECT_SPEC(INLAY_OK, segments_first, 1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, segments_first, 2);
    spec = inlay_layer_spec_default(&tokens);
    spec.norm = INLAY_NORM_RMS;
    EXPECT_SPEC(INLAY_OK, gamma, parameters);
    EXPECT_SPEC(INLAY_ERROR_OPTION, beta, parameters);
    EXPECT_SPEC_BLAMES(INLAY_ERROR_OPTION, tokens, &shard, "norm");
    spec.norm = INLAY_NORM_L2;
    EXPECT_SPEC(INLAY_OK, gamma, parameters);
    EXPECT_SPEC(INLAY_OK, pooling, INLAY_POOLING_MEAN);
    EXPECT_SPEC(INLAY_ERROR_OPTION, beta, parameters);
    EXPECT_SPEC_BLAMES(INLAY_ERROR_OPTION, tokens, &shard, "norm");
    spec = inlay_layer_spec_default(&shard);
    EXPECT_SPEC(INLAY_ERROR_OPTION, pooling, INLAY_POOLING_SUM);
    EXPECT_SPEC(INLAY_ERROR_OPTION, segments, &learned);
    EXPECT_STATUS(inlay_layer_create(NULL, NULL, &made), INLAY_ERROR_NULL);
    EXPECT(made == NULL, "a failed creation left a handle");
    inlay_layer_destroy(NULL);
    inlay_sinusoid_destroy(wider_sinusoid);
}
END_TEST

/* The mapping and the weights of ids: values, lengths, types, and valid ids. */
START_TEST(mappings_and_weights)
{
    static int32_t rows[12] = {ROWS - 1, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
    static float weights[12];
    static const int32_t ids[] = {11, 12}, negative[] = {-1};
    const inlay_table tokens = good_table(), shard = inlay_table_shard(good_table(), 2, ROWS + 4);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    EXPECT_SPEC(INLAY_ERROR_OPTION, token_mapping_length, 1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, token_mapping_type, INLAY_ID_I32);
    EXPECT_SPEC(INLAY_ERROR_OPTION, token_weights_length, ROWS);
    EXPECT_SPEC(INLAY_ERROR_OPTION, self_tuning, INLAY_SELF_TUNING_OFF + 1);
    spec.token_mapping = rows;
    spec.token_mapping_type = INLAY_ID_I32;
    spec.token_mapping_length = 12;
    EXPECT_STATUS(create_layer(&spec), INLAY_OK);
    EXPECT_SPEC(INLAY_ERROR_OPTION, token_mapping_type, (inlay_id_type)0);
    EXPECT_SPEC(INLAY_ERROR_OPTION, token_mapping_type, (inlay_id_type)7);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, token_mapping_length, 0);
    EXPECT_SPEC_BLAMES(INLAY_ERROR_OVERFLOW, token_mapping_length, SIZE_MAX, "token_mapping");
    for (int i = 0; i < 12; i += 11) {
        const int32_t kept = rows[i];
        rows[i] = ROWS;
        EXPECT_STATUS(create_layer(&spec), INLAY_ERROR_ID);
        EXPECT_BLAMED(INLAY_ERROR_ID, "token_mapping");
        rows[i] = -2;
        EXPECT_STATUS(create_layer(&spec), INLAY_ERROR_ID);
        EXPECT(blamed.token == (size_t)i && blamed.value == -2, "the fault is at %zu", blamed.token);
        rows[i] = kept;
    }
    EXPECT_SPEC(INLAY_OK, tokens, &shard); /* rows of its vocabulary */
    rows[0] = ROWS + 3;
    EXPECT_SPEC(INLAY_OK, tokens, &shard);
    rows[0] = ROWS + 4;
    EXPECT_SPEC_BLAMES(INLAY_ERROR_ID, tokens, &shard, "token_mapping");
    rows[0] = 0;
    /* Ids are those of the mapping. */
    spec.bad_id = INLAY_BAD_ID_SUBSTITUTE;
    EXPECT_SPEC(INLAY_OK, substitute_id, 11);
    EXPECT_SPEC(INLAY_ERROR_OPTION, substitute_id, 12);
    spec.bad_id = INLAY_BAD_ID_ERROR;
    inlay_layer *layer = make_layer_of(&spec);
    inlay_batch batch = inlay_batch_i32(ids, 1, 1, 0);
    EXPECT_STATUS(forward(layer, &batch, NULL), INLAY_OK);
    batch.length = 2;
    inlay_fault fault;
    EXPECT_STATUS(forward(layer, &batch, &fault), INLAY_ERROR_ID);
    EXPECT(fault.token == 1 && fault.value == 12, "the fault is at token %zu", fault.token);
    batch = inlay_batch_i32(negative, 1, 1, 0);
    EXPECT_STATUS(forward(layer, &batch, NULL), INLAY_ERROR_ID);
    batch.ids = ids;
    EXPECT_STATUS(inlay_forward(layer, &batch, rows, sizeof rows, NULL, NULL), INLAY_ERROR_OVERLAP);
    /* A value that was changed to an invalid row is read as row 0. */
    static const int32_t changed[] = {ROWS, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        rows[11] = changed[i];
        EXPECT_STATUS(forward(layer, &batch, NULL), INLAY_OK);
        EXPECT(memcmp(out.begin, table[0], ROW_BYTES) == 0, "value %ld became another row", (long)changed[i]);
    }
    rows[11] = 3;
    inlay_layer_destroy(layer);
    /* Weights apply to ids, and need pooling. */
    spec.token_weights = weights;
    spec.token_weights_length = 12;
    EXPECT_STATUS(create_layer(&spec), INLAY_ERROR_OPTION);
    EXPECT_BLAMED(INLAY_ERROR_OPTION, "token_weights");
    spec.pooling = INLAY_POOLING_MEAN;
    EXPECT_STATUS(create_layer(&spec), INLAY_OK);
    EXPECT_SPEC_BLAMES(INLAY_ERROR_OPTION, token_weights, NULL, "token_weights_length");
    EXPECT_SPEC(INLAY_ERROR_SHAPE, token_weights_length, 11);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, token_weights_length, ROWS);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, token_weights_length, 0);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, token_weights_length, SIZE_MAX);
    layer = make_layer_of(&spec);
    EXPECT_STATUS(inlay_forward(layer, &batch, weights + 8, ROW_BYTES, NULL, NULL), INLAY_ERROR_OVERLAP);
    EXPECT_STATUS(forward(layer, &batch, NULL), INLAY_OK);
    inlay_layer_destroy(layer);
}
END_TEST

/* Ids whose mapping is INLAY_NO_ROW take the out-of-vocabulary policy, even if entries change between calls. */
START_TEST(pruned_ids)
{
    static int16_t rows[] = {2, INLAY_NO_ROW, INLAY_NO_ROW, 1};
    static const uint8_t limits[] = {UINT8_MAX};
    static const int32_t ids[] = {3, 2, 0};
    static const unsigned char zeros[ROW_BYTES];
    const inlay_table tokens = good_table();
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.token_mapping = rows;
    spec.token_mapping_type = INLAY_ID_I16;
    spec.token_mapping_length = 4;
    EXPECT_SPEC_BLAMES(INLAY_ERROR_OPTION, bad_id, INLAY_BAD_ID_CLAMP, "bad_id");
    rows[3] = -2; /* after values without a row */
    EXPECT_STATUS(create_layer(&spec), INLAY_ERROR_ID);
    EXPECT_BLAMED(INLAY_ERROR_ID, "token_mapping");
    EXPECT(blamed.token == 3 && blamed.value == -2, "the fault is at %zu", blamed.token);
    rows[3] = ROWS;
    EXPECT_STATUS(create_layer(&spec), INLAY_ERROR_ID);
    rows[3] = 1;
    spec.bad_id = INLAY_BAD_ID_SUBSTITUTE;
    EXPECT_SPEC_BLAMES(INLAY_ERROR_OPTION, substitute_id, 2, "substitute_id");
    EXPECT_SPEC(INLAY_OK, substitute_id, 3);
    spec.padding_id = 2; /* a row of zeros needs no row of the table */
    EXPECT_SPEC(INLAY_OK, substitute_id, 2);
    spec.bad_id = INLAY_BAD_ID_ERROR;
    inlay_layer *layer = make_layer_of(&spec);
    const inlay_batch batch = inlay_batch_i32(ids, 1, 3, 0);
    inlay_fault fault;
    EXPECT_STATUS(forward(layer, &batch, &fault), INLAY_OK);
    EXPECT(memcmp(out.begin + ROW_BYTES, zeros, ROW_BYTES) == 0, "padding became a row of the table");
    rows[3] = INLAY_NO_ROW;
    EXPECT_STATUS(forward(layer, &batch, &fault), INLAY_ERROR_ID);
    EXPECT(fault.token == 0 && fault.value == 3 && strcmp(fault.field, "ids") == 0, "the fault is at %zu", fault.token);
    rows[3] = 1;
    inlay_layer_destroy(layer);
    EXPECT_SPEC_BLAMES(INLAY_ERROR_ID, token_mapping_type, INLAY_ID_U16, "token_mapping");
    spec.token_mapping = limits;
    spec.token_mapping_length = 1;
    EXPECT_SPEC_BLAMES(INLAY_ERROR_ID, token_mapping_type, INLAY_ID_U8, "token_mapping");
}
END_TEST

START_TEST(specs_of_later_versions)
{
    const inlay_table tokens = good_table();
    struct {
        inlay_layer_spec spec;
        uint64_t behind;
    } later = {inlay_layer_spec_default(&tokens), 0};
    struct {
        inlay_tuning tuning;
        uint64_t behind;
    } tuning = {inlay_tuning_default(), 0};
    later.spec.size = sizeof later;
    later.spec.tuning = &tuning.tuning;
    tuning.tuning.size = sizeof tuning;
    EXPECT_STATUS(create_layer(&later.spec), INLAY_OK);
    EXPECT_WITH(INLAY_ERROR_OPTION, later, behind, 1, create_layer(&later.spec));
    EXPECT_WITH(INLAY_ERROR_OPTION, tuning, behind, 1, create_layer(&later.spec));
    EXPECT_WITH(INLAY_ERROR_OPTION, tuning, tuning.size, sizeof tuning.tuning - 1, create_layer(&later.spec));
}
END_TEST

/* Tables, tunings and states of self-tuning are blamed by their field; the reason names theirs. */
START_TEST(fields_of_fields)
{
    const inlay_table tokens = good_table();
    const inlay_table_extent extents[2] = {{table[0], NULL, NULL, 0}, {table[4], NULL, NULL, 4}};
    inlay_table bad = tokens;
    inlay_tuning tuning = inlay_tuning_default();
    inlay_tuning_state state = {.size = sizeof state};
    inlay_layer_spec spec = inlay_layer_spec_default(&bad);
#define EXPECT_REASON(wanted, object, field, value, name, word)                                                        \
    do {                                                                                                               \
        EXPECT_WITH(wanted, object, field, value, create_layer(&spec));                                                \
        EXPECT_BLAMED(wanted, name);                                                                                   \
        EXPECT(strstr(blamed.reason, word) != NULL, "\"%s\" lacks \"%s\"", blamed.reason, word);                       \
    } while (0)
    EXPECT_REASON(INLAY_ERROR_OPTION, bad, size, 8, "tokens", "size");
    EXPECT_REASON(INLAY_ERROR_OPTION, bad, type, (inlay_element_type)0, "tokens", "type");
    EXPECT_REASON(INLAY_ERROR_OPTION, bad, group, 32, "tokens", "group");
    EXPECT_REASON(INLAY_ERROR_OPTION, bad, scales, table, "tokens", "scales");
    EXPECT_REASON(INLAY_ERROR_OPTION, bad, zeros, table, "tokens", "zeros");
    EXPECT_REASON(INLAY_ERROR_OPTION, bad, extents, extents, "tokens", "extents");
    EXPECT_REASON(INLAY_ERROR_SHAPE, bad, dim, 0, "tokens", "dim");
    EXPECT_REASON(INLAY_ERROR_SHAPE, bad, first_row, 1, "tokens", "vocab");
    EXPECT_REASON(INLAY_ERROR_STRIDE, bad, stride_bytes, 8, "tokens", "stride_bytes");
    EXPECT_REASON(INLAY_ERROR_NULL, bad, data, NULL, "tokens", "null");
    EXPECT_REASON(INLAY_ERROR_OVERFLOW, bad, rows, SIZE_MAX, "tokens", "address space");
    bad = inlay_table_from_extents(tokens, extents, 2, 0);
    EXPECT_REASON(INLAY_ERROR_SHAPE, bad, rows, 4, "tokens", "extents");
    bad = tokens;
    spec.tuning = &tuning;
    EXPECT_REASON(INLAY_ERROR_OPTION, tuning, prefetch, (inlay_prefetch)8, "tuning", "prefetch");
    EXPECT_REASON(INLAY_ERROR_OPTION, tuning, reserved, 1, "tuning", "reserved");
    spec.tuning = NULL;
    spec.tuning_state = &state;
    EXPECT_REASON(INLAY_ERROR_OPTION, state, size, 8, "tuning_state", "size");
    EXPECT_REASON(INLAY_ERROR_OPTION, state, prefetch[5], 8, "tuning_state", "prefetch");
    EXPECT_REASON(INLAY_ERROR_OPTION, state, computes[5], 2, "tuning_state", "computes");
    EXPECT_REASON(INLAY_ERROR_OPTION, state, stores[7], 3, "tuning_state", "stores");
    EXPECT_REASON(INLAY_ERROR_OPTION, state, reserved[3], 1, "tuning_state", "reserved");
}
END_TEST

/* Post-ops that need whole float rows limit their length. */
START_TEST(wide_rows)
{
    const inlay_table wide = inlay_table_f32(NULL, 0, 4097), widest = inlay_table_f32(NULL, 0, 4096);
    inlay_sinusoid *formula = make_sinusoid(4097, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
    inlay_layer_spec spec = inlay_layer_spec_default(&wide);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, pooling, INLAY_POOLING_SUM);
    EXPECT_SPEC(INLAY_OK, norm, INLAY_NORM_RMS);
    spec.out_type = INLAY_F16;
    spec.cached_positions = 0;
    EXPECT_SPEC(INLAY_OK, scale, 1);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, norm, INLAY_NORM_LAYER);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, sinusoid, formula);
    spec = inlay_layer_spec_default(&widest);
    EXPECT_SPEC(INLAY_OK, pooling, INLAY_POOLING_SUM);
    inlay_sinusoid_destroy(formula);
}
END_TEST

/* An allocator that counts, and fails on demand. */
struct counted {
    int live, calls;
    bool fails;
};

static void *counted_allocate(void *ctx, size_t bytes)
{
    struct counted *counted = ctx;
    counted->calls++;
    if (counted->fails)
        return NULL;
    counted->live++;
    return malloc(bytes);
}

static void counted_release(void *ctx, void *memory)
{
    struct counted *counted = ctx;
    counted->live--;
    free(memory);
}

START_TEST(handles_and_their_memory)
{
    struct counted counted = {0, 0, false};
    inlay_allocator allocator = {&counted, counted_allocate, counted_release};
    inlay_table tokens = good_table();
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(DIM);
    inlay_sinusoid *made, *none;
    EXPECT_STATUS(inlay_sinusoid_create(&spec, &allocator, &made), INLAY_OK);
    inlay_layer_spec layer_spec = inlay_layer_spec_default(&tokens);
    layer_spec.sinusoid = made;
    inlay_layer *layer;
    EXPECT_STATUS(inlay_layer_create(&layer_spec, &allocator, &layer), INLAY_OK);
    EXPECT(counted.live == 2, "%d blocks live", counted.live);
    inlay_layer_destroy(layer);
    counted.fails = true;
    EXPECT_STATUS(inlay_layer_create(&layer_spec, &allocator, &layer), INLAY_ERROR_NO_MEMORY);
    EXPECT_STATUS(inlay_sinusoid_create(&spec, &allocator, &none), INLAY_ERROR_NO_MEMORY);
    EXPECT(layer == NULL && none == NULL, "a failed creation left a handle");
    counted.fails = false;
    inlay_allocator incomplete[] = {{NULL, NULL, NULL}, {NULL, counted_allocate, NULL}, {NULL, NULL, counted_release}};
    for (size_t i = 0; i < sizeof incomplete / sizeof *incomplete; i++) {
        EXPECT_STATUS(inlay_sinusoid_create(&spec, &incomplete[i], &none), INLAY_ERROR_NULL);
        EXPECT_STATUS(inlay_layer_create(&layer_spec, &incomplete[i], &layer), INLAY_ERROR_NULL);
    }
    if (sizeof(size_t) == 8) {
        inlay_sinusoid *wide = make_sinusoid(1 << 20, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
        inlay_table wide_tokens = inlay_table_f32(NULL, 0, 1 << 20);
        layer_spec = inlay_layer_spec_default(&wide_tokens);
        layer_spec.sinusoid = wide;
        layer_spec.cached_positions = INLAY_POSITION_LIMIT;
        counted.fails = true;
        EXPECT_STATUS(inlay_layer_create(&layer_spec, &allocator, &layer), INLAY_ERROR_NO_MEMORY);
#ifndef SANITIZED
        /* 8 PiB, which malloc refuses, and sets errno. */
        EXPECT_STATUS(inlay_layer_create(&layer_spec, NULL, &layer), INLAY_ERROR_NO_MEMORY);
#endif
        inlay_sinusoid_destroy(wide);
    }
    inlay_sinusoid_destroy(made);
    EXPECT(counted.live == 0, "%d blocks leaked", counted.live);
}
END_TEST

static void run_nothing(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    (void)ctx, (void)count, (void)task, (void)arg;
}

START_TEST(executors)
{
    static const int32_t ids[TOKENS];
    static const int64_t positions[SEQ];
    static const struct {
        inlay_executor executor;
        inlay_status wanted;
    } bad[] = {{{NULL, NULL, 1}, INLAY_ERROR_NULL}, {{NULL, run_nothing, 0}, INLAY_ERROR_OPTION}};
    inlay_table tokens = good_table();
    inlay_layer *layer = make_layer(&tokens, sinusoid, NULL);
    inlay_batch batch = inlay_batch_i32(ids, BATCH, SEQ, 0);
    unsigned char *to = out.begin, *sin = to + 3 * ROW_BYTES;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const inlay_executor *e = &bad[i].executor;
        const inlay_status wanted = bad[i].wanted;
        EXPECT_STATUS(inlay_forward(layer, &batch, to, ROW_BYTES, e, NULL), wanted);
        EXPECT_STATUS(inlay_forward(layer, &batch, to, ROW_BYTES, e, &blamed), wanted);
        EXPECT_BLAMED(wanted, "executor");
        EXPECT_STATUS(inlay_gather(&tokens, ids, INLAY_ID_I32, TOKENS, 1, to, ROW_BYTES, e, NULL), wanted);
        EXPECT_STATUS(inlay_scale(table, ROW_BYTES, 3, DIM, 2, to, ROW_BYTES, e), wanted);
        EXPECT_STATUS(inlay_add_positions(to, ROW_BYTES, 1, 2, &tokens, 0, e, NULL), wanted);
        EXPECT_STATUS(inlay_sinusoid_rows(sinusoid, 0, 3, INLAY_F32, to, ROW_BYTES, e), wanted);
        EXPECT_STATUS(
            inlay_sinusoid_at(sinusoid, positions, INLAY_POSITION_I64, SEQ, INLAY_F32, to, ROW_BYTES, e, NULL), wanted);
        EXPECT_STATUS(inlay_rotary_rows(sinusoid, 0, 3, INLAY_F32, INLAY_ROTARY_HALVES, to, sin, ROW_BYTES, e), wanted);
    }
    inlay_layer_destroy(layer);
}
END_TEST

#define EXPECT_CALL(wanted, name, call)                                                                                \
    do {                                                                                                               \
        EXPECT_STATUS(call, wanted);                                                                                   \
        EXPECT_BLAMED(wanted, name);                                                                                   \
    } while (0)

/* The faults of the functions that have no spec and no batch, and of gradients. */
START_TEST(arguments_are_named)
{
    static const int32_t ids[] = {0, ROWS};
    static const int64_t positions[] = {0, INT64_MAX};
    static float sums[ROWS][DIM];
    const inlay_table tokens = good_table(), shard = inlay_table_shard(good_table(), 0, ROWS + 1);
    inlay_layer *layer = make_layer(&tokens, NULL, NULL);
    const inlay_batch batch = inlay_batch_i32(ids, 1, 1, 0);
    inlay_gradients gradients = inlay_gradients_none(DIM);
    void *to = out.begin;
    inlay_fault *f = &blamed;
    EXPECT_CALL(INLAY_ERROR_NULL, "table", inlay_gather(NULL, ids, INLAY_ID_I32, 1, 1, to, ROW_BYTES, NULL, f));
    EXPECT_CALL(INLAY_ERROR_NULL, "ids", inlay_gather(&tokens, NULL, INLAY_ID_I32, 1, 1, to, ROW_BYTES, NULL, f));
    EXPECT_CALL(INLAY_ERROR_NULL, "out", inlay_gather(&tokens, ids, INLAY_ID_I32, 1, 1, NULL, ROW_BYTES, NULL, f));
    EXPECT_CALL(INLAY_ERROR_ID, "ids", inlay_gather(&tokens, ids, INLAY_ID_I32, 2, 1, to, ROW_BYTES, NULL, f));
    EXPECT_CALL(INLAY_ERROR_OPTION, "id_type",
                inlay_gather(&tokens, ids, (inlay_id_type)0, 1, 1, to, ROW_BYTES, NULL, f));
    EXPECT_CALL(INLAY_ERROR_OVERLAP, "out", inlay_gather(&tokens, ids, INLAY_ID_I32, 1, 1, table, ROW_BYTES, NULL, f));
    EXPECT_CALL(INLAY_ERROR_NULL, "positions", inlay_add_positions(to, ROW_BYTES, 1, 1, NULL, 0, NULL, f));
    EXPECT_CALL(INLAY_ERROR_OPTION, "positions", inlay_add_positions(to, ROW_BYTES, 1, 1, &shard, 0, NULL, f));
    EXPECT_CALL(INLAY_ERROR_POSITION, "start", inlay_add_positions(to, ROW_BYTES, 1, 1, &tokens, ROWS, NULL, f));
    EXPECT_CALL(INLAY_ERROR_OVERFLOW, "batch", inlay_add_positions(to, ROW_BYTES, SIZE_MAX, 2, &tokens, 0, NULL, f));
    EXPECT_CALL(INLAY_ERROR_NULL, "sinusoid",
                inlay_sinusoid_at(NULL, positions, INLAY_POSITION_I64, 1, INLAY_F32, to, ROW_BYTES, NULL, f));
    EXPECT_CALL(INLAY_ERROR_OPTION, "position_type",
                inlay_sinusoid_at(sinusoid, positions, (inlay_position_type)0, 1, INLAY_F32, to, ROW_BYTES, NULL, f));
    EXPECT_CALL(INLAY_ERROR_POSITION, "positions",
                inlay_sinusoid_at(sinusoid, positions, INLAY_POSITION_I64, 2, INLAY_F32, to, ROW_BYTES, NULL, f));
    EXPECT_CALL(INLAY_ERROR_NULL, "gradients", inlay_backward(layer, &batch, to, ROW_BYTES, NULL, NULL, f));
    EXPECT_CALL(INLAY_ERROR_NULL, "out_gradient", inlay_backward(layer, &batch, NULL, ROW_BYTES, &gradients, NULL, f));
    EXPECT_WITH(INLAY_ERROR_OPTION, gradients, size, 8,
                inlay_backward(layer, &batch, to, ROW_BYTES, &gradients, NULL, f));
    EXPECT_BLAMED(INLAY_ERROR_OPTION, "size");
    EXPECT_WITH(INLAY_ERROR_OPTION, gradients, positions, sums,
                inlay_backward(layer, &batch, to, ROW_BYTES, &gradients, NULL, f));
    EXPECT_BLAMED(INLAY_ERROR_OPTION, "positions");
    EXPECT_WITH(INLAY_ERROR_OVERLAP, gradients, tokens, table,
                inlay_backward(layer, &batch, to, ROW_BYTES, &gradients, NULL, f));
    EXPECT_BLAMED(INLAY_ERROR_OVERLAP, "tokens");
    inlay_layer_destroy(layer);
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "errors of layers", make_fixture, free_fixture, every_status_has_its_own_sentence,
                     version_is_that_of_the_header, fields_of_specs, mappings_and_weights, pruned_ids, fields_of_fields,
                     specs_of_later_versions, wide_rows, handles_and_their_memory, executors, arguments_are_named);
}
