/* SPDX-License-Identifier: MIT */
/*
 * Every error of a forward call, for every field of the batch and everything that the output may overlap, with the
 * place of the fault.
 */
#include "errors/errors.h"

#include <math.h>
#include <string.h>

static const int32_t ids[TOKENS];

static void expect_fault(const inlay_fault *fault, size_t sequence, size_t token, int64_t value)
{
    EXPECT(fault->sequence == sequence && fault->token == token && fault->value == value,
           "the fault is at [%zu][%zu] = %ld, not at [%zu][%zu] = %ld", fault->sequence, fault->token,
           (long)fault->value, sequence, token, (long)value);
}

START_TEST(bad_ids)
{
    static const int64_t bad[] = {-1,        ROWS,      ROWS + 1,   INT32_MIN,   INT32_MAX,
                                  INT64_MIN, INT64_MAX, UINT32_MAX, 0x100000000, 0x100000001};
    inlay_table tokens = good_table();
    inlay_layer *layer = make_layer(&tokens, sinusoid, NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t place = 0; place < TOKENS; place++) {
            int64_t wide[TOKENS] = {0, ROWS - 1, 0, ROWS - 1, 0, 1};
            int32_t narrow[TOKENS] = {0, ROWS - 1, 0, ROWS - 1, 0, 1};
            wide[place] = bad[i];
            inlay_fault fault = {.sequence = 99, .token = 99, .value = 99};
            inlay_batch batch = inlay_batch_i64(wide, BATCH, SEQ, 0);
            EXPECT_STATUS(forward(layer, &batch, &fault), INLAY_ERROR_ID);
            expect_fault(&fault, place / SEQ, place % SEQ, bad[i]);
            EXPECT_STATUS(forward(layer, &batch, NULL), INLAY_ERROR_ID);
            EXPECT_STATUS(inlay_gather(&tokens, wide, INLAY_ID_I64, TOKENS, 1, out.begin, ROW_BYTES, NULL, &fault),
                          INLAY_ERROR_ID);
            expect_fault(&fault, 0, place, bad[i]);
            if (bad[i] < INT32_MIN || bad[i] > INT32_MAX)
                continue;
            narrow[place] = (int32_t)bad[i];
            EXPECT_STATUS(inlay_gather(&tokens, narrow, INLAY_ID_I32, TOKENS, 1, out.begin, ROW_BYTES, NULL, &fault),
                          INLAY_ERROR_ID);
            expect_fault(&fault, 0, place, bad[i]);
        }
    inlay_layer_destroy(layer);
}
END_TEST

START_TEST(bad_positions)
{
    static const struct {
        int64_t start;
        size_t bad_of_formula, bad_of_table; /* the first bad token; SEQ if there is none */
    } cases[] = {
        {0, SEQ, SEQ},
        {2, SEQ, SEQ},
        {3, SEQ, 2},
        {5, SEQ, 0},
        {6, SEQ, 0},
        {-1, 0, 0},
        {INT64_MIN, 0, 0},
        {INLAY_POSITION_LIMIT - 3, SEQ, 0},
        {INLAY_POSITION_LIMIT - 2, 2, 0},
        {INLAY_POSITION_LIMIT, 0, 0},
        {UINT32_MAX, 0, 0},
        {INT64_MAX, 0, 0},
    };
    inlay_table tokens = good_table(), learned = inlay_table_f32(table, 5, DIM), none = inlay_table_f32(NULL, 0, DIM);
    inlay_layer *formula = make_layer(&tokens, sinusoid, NULL), *table_layer = make_layer(&tokens, NULL, &learned);
    inlay_layer *without = make_layer(&tokens, NULL, NULL), *empty = make_layer(&tokens, NULL, &none);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t start = cases[i].start;
        const size_t first_bad[2] = {cases[i].bad_of_formula, cases[i].bad_of_table};
        inlay_batch batch = inlay_batch_i32(ids, BATCH, SEQ, start);
        inlay_status wanted[2];
        for (int k = 0; k < 2; k++) {
            inlay_fault fault;
            wanted[k] = first_bad[k] < SEQ ? INLAY_ERROR_POSITION : INLAY_OK;
            EXPECT_STATUS(forward(k == 0 ? formula : table_layer, &batch, &fault), wanted[k]);
            if (first_bad[k] < SEQ)
                expect_fault(&fault, 0, first_bad[k], start + (int64_t)first_bad[k]);
        }
        EXPECT_STATUS(forward(without, &batch, NULL), INLAY_OK);
        EXPECT_STATUS(forward(empty, &batch, NULL), INLAY_ERROR_POSITION);
        EXPECT_STATUS(inlay_sinusoid_rows(sinusoid, start, SEQ, INLAY_F32, out.begin, ROW_BYTES, NULL), wanted[0]);
        EXPECT_STATUS(inlay_add_positions(out.begin, ROW_BYTES, BATCH, SEQ, &learned, start, NULL, NULL), wanted[1]);
    }
    inlay_layer_destroy(empty);
    inlay_layer_destroy(without);
    inlay_layer_destroy(formula);
    inlay_layer_destroy(table_layer);
}
END_TEST

/* Positions past a clamped table use its last row, up to the largest numbers. */
START_TEST(far_positions_are_clamped)
{
    static const int64_t starts[] = {ROWS, INT64_C(1) << 32, (INT64_C(1) << 32) - 1, INT64_MAX - 1, INT64_MAX};
    inlay_table tokens = good_table(), last = inlay_table_f32(table[ROWS - 1], 1, DIM);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.positions = &tokens;
    spec.clamp_positions = 1;
    inlay_layer *layer = make_layer_of(&spec);
    spec.positions = &last;
    inlay_layer *expected = make_layer_of(&spec);
    float rows[TOKENS][DIM], right[TOKENS][DIM];
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        inlay_batch batch = inlay_batch_i32(ids, BATCH, SEQ, starts[i]);
        EXPECT_STATUS(inlay_forward(layer, &batch, rows, sizeof *rows, NULL, NULL), INLAY_OK);
        batch.start = 0;
        EXPECT_STATUS(inlay_forward(expected, &batch, right, sizeof *right, NULL, NULL), INLAY_OK);
        EXPECT(memcmp(rows, right, sizeof rows) == 0, "not the last row from %lld on", (long long)starts[i]);
    }
    inlay_layer_destroy(layer);
    inlay_layer_destroy(expected);
}
END_TEST

START_TEST(arguments)
{
    inlay_table tokens = good_table();
    inlay_layer *layer = make_layer(&tokens, sinusoid, NULL);
    inlay_batch batch = inlay_batch_i32(ids, BATCH, SEQ, 0);
    const struct {
        const inlay_layer *layer;
        const inlay_batch *batch;
        void *out;
        size_t stride_bytes;
        inlay_status wanted;
        const char *field;
    } calls[] = {
        {layer, &batch, out.begin, ROW_BYTES, INLAY_OK, ""},
        {NULL, &batch, out.begin, ROW_BYTES, INLAY_ERROR_NULL, "layer"},
        {layer, NULL, out.begin, ROW_BYTES, INLAY_ERROR_NULL, "batch"},
        {layer, &batch, NULL, ROW_BYTES, INLAY_ERROR_NULL, "out"},
        {layer, &batch, out.begin, ROW_BYTES - 1, INLAY_ERROR_STRIDE, "out_stride_bytes"},
        {layer, &batch, out.begin, 0, INLAY_ERROR_STRIDE, "out_stride_bytes"},
        {layer, &batch, out.begin, SIZE_MAX / 2, INLAY_ERROR_OVERFLOW, "out"},
        {layer, &batch, (void *)(UINTPTR_MAX - 8), ROW_BYTES, INLAY_ERROR_OVERFLOW, "out"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        EXPECT_STATUS(inlay_forward(calls[i].layer, calls[i].batch, calls[i].out, calls[i].stride_bytes, NULL, NULL),
                      calls[i].wanted);
        EXPECT_STATUS(inlay_forward(calls[i].layer, calls[i].batch, calls[i].out, calls[i].stride_bytes, NULL, &blamed),
                      calls[i].wanted);
        EXPECT_BLAMED(calls[i].wanted, calls[i].field);
    }
    char text[INLAY_PLAN_TEXT_BYTES];
    EXPECT_STATUS(inlay_forward_explain(layer, &batch, out.begin, ROW_BYTES, NULL, &blamed, NULL, 1), INLAY_ERROR_NULL);
    EXPECT_BLAMED(INLAY_ERROR_NULL, "text");
    EXPECT_STATUS(inlay_forward_explain(layer, &batch, out.begin, ROW_BYTES, NULL, &blamed, text, 0),
                  INLAY_ERROR_SHAPE);
    EXPECT_BLAMED(INLAY_ERROR_SHAPE, "text_bytes");
    /* Without work, nothing is checked. */
    batch = inlay_batch_i32(NULL, 0, SEQ, -5);
    EXPECT_STATUS(inlay_forward(layer, &batch, NULL, ROW_BYTES, NULL, NULL), INLAY_OK);
    batch = inlay_batch_i32(NULL, BATCH, 0, 0);
    EXPECT_STATUS(inlay_forward(layer, &batch, NULL, ROW_BYTES, NULL, NULL), INLAY_OK);
    inlay_layer_destroy(layer);
}
END_TEST

/* Expects a status from a batch with another value in one field, and a fault that names that field, or another one. */
#define EXPECT_BATCH(wanted, field, value) EXPECT_BATCH_BLAMES(wanted, field, value, #field)
#define EXPECT_BATCH_BLAMES(wanted, field, value, name)                                                                \
    do {                                                                                                               \
        EXPECT_WITH(wanted, batch, field, value, forward(layer, &batch, NULL));                                        \
        EXPECT_BLAMED(wanted, name);                                                                                   \
    } while (0)

START_TEST(fields_of_batches)
{
    static const float weights[TOKENS] = {0};
    inlay_table tokens = good_table(), shard = inlay_table_shard(good_table(), 0, ROWS + 1);
    inlay_layer *layer = make_layer(&tokens, sinusoid, NULL), *sharded = make_layer(&shard, sinusoid, NULL);
    inlay_layer *bare = make_layer(&tokens, NULL, NULL);
    inlay_batch batch = inlay_batch_i32(ids, BATCH, SEQ, 0);
    EXPECT_BATCH(INLAY_ERROR_NULL, ids, NULL);
    EXPECT_BATCH(INLAY_ERROR_OPTION, size, 0);
    EXPECT_BATCH(INLAY_ERROR_OPTION, size, sizeof batch - 1);
    EXPECT_BATCH(INLAY_ERROR_OPTION, id_type, (inlay_id_type)0);
    EXPECT_BATCH(INLAY_ERROR_OPTION, id_type, (inlay_id_type)7);
    EXPECT_BATCH(INLAY_ERROR_OPTION, position_id_type, INLAY_ID_I32); /* without position ids */
    EXPECT_BATCH(INLAY_ERROR_OPTION, segment_id_type, INLAY_ID_I32);
    EXPECT_BATCH_BLAMES(INLAY_ERROR_OPTION, position_ids, ids, "position_id_type"); /* without a type */
    EXPECT_BATCH(INLAY_ERROR_OPTION, weights, weights);
    EXPECT_BATCH(INLAY_ERROR_OPTION, padded_length, 3);
    EXPECT_BATCH(INLAY_ERROR_OPTION, dropout, 1);
    EXPECT_BATCH(INLAY_ERROR_OPTION, dropout, NAN);
    EXPECT_BATCH(INLAY_ERROR_OPTION, dropout, INFINITY);
    EXPECT_BATCH(INLAY_ERROR_OPTION, dropout, -0x1p-149f);
    EXPECT_BATCH(INLAY_OK, dropout, -0.0f);
    EXPECT_BATCH(INLAY_OK, dropout, 0x1p-149f);
    EXPECT_BATCH(INLAY_OK, dropout, 0x1.fffffep-1f);
    EXPECT_BATCH(INLAY_ERROR_OVERFLOW, sequences, SIZE_MAX);
    EXPECT_BATCH(INLAY_ERROR_OVERFLOW, sequences, SIZE_MAX / 2);
    EXPECT_BATCH_BLAMES(INLAY_ERROR_NULL, length, INLAY_LENGTH_FROM_OFFSETS, "offsets"); /* without offsets */
    EXPECT_WITH(INLAY_OK, batch, start, 0, forward(sharded, &batch, NULL));
    EXPECT_WITH(INLAY_ERROR_OPTION, batch, dropout, 0.5f, forward(sharded, &batch, NULL));
    EXPECT_BLAMED(INLAY_ERROR_OPTION, "dropout");
    batch.length = 1;
    /* sequences * dim * 4 is a multiple of 2^64 (or of 2^32). */
    EXPECT_BATCH_BLAMES(INLAY_ERROR_OVERFLOW, sequences, (SIZE_MAX >> 4) + 1, "out");
    batch = inlay_batch_i32(ids, BATCH, SEQ, 0);
    batch.position_ids = ids;
    EXPECT_BATCH(INLAY_OK, position_id_type, INLAY_ID_I32);
    EXPECT_BATCH(INLAY_ERROR_OPTION, position_id_type, (inlay_id_type)7);
    batch = inlay_batch_i32(ids, BATCH, SEQ, 0);
    batch.segment_ids = ids;
    EXPECT_BATCH_BLAMES(INLAY_ERROR_OPTION, segment_id_type, INLAY_ID_I32, "segment_ids"); /* no segments */
    EXPECT_WITH(INLAY_ERROR_OPTION, batch, position_ids, ids, forward(bare, &batch, NULL));
    EXPECT_BLAMED(INLAY_ERROR_OPTION, "position_ids");
    inlay_layer_destroy(layer);
    inlay_layer_destroy(sharded);
    inlay_layer_destroy(bare);
}
END_TEST

START_TEST(batches_of_later_versions)
{
    inlay_table tokens = good_table();
    inlay_layer *layer = make_layer(&tokens, sinusoid, NULL);
    struct {
        inlay_batch batch;
        uint64_t behind;
    } later = {inlay_batch_i32(ids, BATCH, SEQ, 0), 0};
    later.batch.size = sizeof later;
    EXPECT_STATUS(forward(layer, &later.batch, NULL), INLAY_OK);
    later.behind = 1;
    EXPECT_STATUS(forward(layer, &later.batch, NULL), INLAY_ERROR_OPTION);
    inlay_layer_destroy(layer);
}
END_TEST

START_TEST(ragged_batches)
{
    static const int64_t offsets[BATCH + 1] = {0, SEQ, TOKENS};
    inlay_table tokens = good_table();
    inlay_layer *layer = make_layer(&tokens, sinusoid, NULL);
    inlay_batch batch = inlay_batch_ragged(ids, INLAY_ID_I32, offsets, BATCH, 0);
    EXPECT_BATCH(INLAY_OK, length, TOKENS);
    EXPECT_BATCH(INLAY_OK, length, INLAY_LENGTH_FROM_OFFSETS);
    EXPECT_BATCH_BLAMES(INLAY_ERROR_OVERFLOW, sequences, SIZE_MAX / sizeof *offsets / 2 + 1, "offsets"); /* the last
                                                                                          offset is not in memory */
    EXPECT_BATCH(INLAY_ERROR_NULL, offsets, NULL);
    EXPECT_BATCH_BLAMES(INLAY_ERROR_OFFSETS, length, TOKENS - 1, "offsets");
    EXPECT_BATCH_BLAMES(INLAY_ERROR_OFFSETS, length, TOKENS + 1, "offsets");
    EXPECT_BATCH_BLAMES(INLAY_ERROR_OVERFLOW, length, SIZE_MAX - 1, "out");
    EXPECT_BATCH_BLAMES(INLAY_ERROR_OFFSETS, padded_length, SEQ - 1, "offsets");
    EXPECT_BATCH(INLAY_OK, padded_length, SEQ);
    EXPECT_BATCH(INLAY_ERROR_OVERFLOW, padded_length, SIZE_MAX);
    EXPECT_BATCH_BLAMES(INLAY_ERROR_OVERFLOW, padded_length, SIZE_MAX / 4, "out");
    EXPECT_BATCH(INLAY_ERROR_OVERFLOW, sequences, SIZE_MAX);
    EXPECT_BATCH(INLAY_ERROR_OVERFLOW, sequences, SIZE_MAX / 8);
    batch.length = TOKENS;
    EXPECT_BATCH(INLAY_ERROR_OVERFLOW, sequences, SIZE_MAX);
    static const struct {
        int64_t offsets[BATCH + 1];
        size_t at;
    } wrong[] = {
        {{1, SEQ, TOKENS}, 0},       {{-1, SEQ, TOKENS}, 0},
        {{0, -1, TOKENS}, 1},        {{0, TOKENS + 1, TOKENS}, 1},
        {{0, INT64_MAX, TOKENS}, 1}, {{0, SEQ, SEQ - 1}, 2},
        {{0, SEQ, TOKENS + 1}, 2},   {{0, SEQ, TOKENS - 1}, 2},
        {{0, INT64_MIN, TOKENS}, 1}, {{INT64_MIN, INT64_MIN, TOKENS}, 0},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        inlay_fault fault = {.sequence = 99, .token = 99, .value = 99};
        EXPECT_WITH(INLAY_ERROR_OFFSETS, batch, offsets, wrong[i].offsets, forward(layer, &batch, &fault));
        expect_fault(&fault, wrong[i].at, 0, wrong[i].offsets[wrong[i].at]);
    }
    inlay_layer_destroy(layer);
}
END_TEST

START_TEST(starts_of_sequences)
{
    inlay_table tokens = good_table(), learned = inlay_table_f32(table, 5, DIM);
    inlay_layer *formula = make_layer(&tokens, sinusoid, NULL), *positioned = make_layer(&tokens, NULL, &learned);
    int64_t starts[BATCH] = {0, 2};
    inlay_batch batch = inlay_batch_i32(ids, BATCH, SEQ, -5); /* ignored because there are starts */
    batch.starts = starts;
    inlay_fault fault;
    EXPECT_STATUS(forward(formula, &batch, NULL), INLAY_OK);
    EXPECT_STATUS(forward(positioned, &batch, NULL), INLAY_OK);
    starts[1] = 3;
    EXPECT_STATUS(forward(positioned, &batch, &fault), INLAY_ERROR_POSITION);
    expect_fault(&fault, 1, 2, 5);
    starts[1] = -1;
    EXPECT_STATUS(forward(formula, &batch, &fault), INLAY_ERROR_POSITION);
    expect_fault(&fault, 1, 0, -1);
    starts[1] = INLAY_POSITION_LIMIT - SEQ;
    EXPECT_STATUS(forward(formula, &batch, NULL), INLAY_OK);
    EXPECT_WITH(INLAY_ERROR_OPTION, batch, padded_length, SEQ, forward(formula, &batch, NULL)); /* without offsets */
    batch.starts = (const int64_t *)(void *)(out.begin + 8);
    EXPECT_STATUS(forward(formula, &batch, NULL), INLAY_ERROR_OVERLAP);
    inlay_layer_destroy(formula);
    inlay_layer_destroy(positioned);
}
END_TEST

/* ---- Overlaps --------------------------------------------------------------------------------------------------- */

/* Memory with a place for each array that a call reads, and outputs across the borders of each. */
enum { WIDE = 96, WIDE_BYTES = WIDE * sizeof(float), ROOM = 4096, ARRAYS = 12 };
static unsigned char memory[ARRAYS][ROOM], before[ARRAYS][ROOM];

/* Expects INLAY_ERROR_OVERLAP if an output row covers only the last or only the first byte of an array, and INLAY_OK if
   it is adjacent. */
static void expect_borders(const inlay_layer *layer, const inlay_batch *batch, int array, size_t bytes)
{
    unsigned char *const begin = memory[array] + WIDE_BYTES, *const end = begin + bytes;
    unsigned char *const outputs[] = {begin, end - 1, begin - WIDE_BYTES + 1, end, begin - WIDE_BYTES};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        const inlay_status wanted = i < 3 ? INLAY_ERROR_OVERLAP : INLAY_OK;
        memcpy(before, memory, sizeof memory);
        inlay_status status = inlay_forward(layer, batch, outputs[i], WIDE_BYTES, NULL, NULL);
        EXPECT(status == wanted, "array %d, output %zu: \"%s\"", array, i, inlay_status_string(status));
        EXPECT(status == INLAY_OK || memcmp(before, memory, sizeof memory) == 0, "array %d, output %zu: wrote", array,
               i);
        memcpy(memory, before, sizeof memory);
    }
}

START_TEST(outputs_over_inputs)
{
    enum { DATA, SCALES, ZEROS, POSITIONS, SEGMENTS, GAMMA, BETA, IDS, POSITION_IDS, SEGMENT_IDS, OFFSETS, WEIGHTS };
    const unsigned char *at[ARRAYS];
    for (int i = 0; i < ARRAYS; i++)
        at[i] = memory[i] + WIDE_BYTES;
    /* Four rows of three groups: zero points take two bytes per row, six in total, or three bytes per row. */
    static const struct {
        inlay_element_type type;
        size_t zeros;
    } kinds[] = {{INLAY_U4_GROUPED, 8}, {INLAY_U4_GROUPED_FLAT, 6}, {INLAY_I8_GROUPED, 12}};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        const size_t row_bytes = inlay_table_row_bytes(kinds[kind].type, WIDE);
        const size_t data = 4 * row_bytes, zeros = kinds[kind].zeros;
        const size_t bytes[ARRAYS] = {data, 48, zeros, 3 * WIDE_BYTES, 2 * WIDE_BYTES, WIDE_BYTES, WIDE_BYTES, 4, 4,
                                      4,    16, 4};
        inlay_table tokens = inlay_table_view(kinds[kind].type, at[DATA], 4, WIDE, row_bytes);
        tokens.group = 32;
        tokens.scales = at[SCALES];
        tokens.zeros = at[ZEROS];
        const inlay_table learned = inlay_table_f32(at[POSITIONS], 3, WIDE),
                          segments = inlay_table_f32(at[SEGMENTS], 2, WIDE);
        inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
        spec.pooling = INLAY_POOLING_SUM;
        inlay_layer *pooled = make_layer_of(&spec);
        spec.pooling = INLAY_POOLING_NONE;
        spec.positions = &learned;
        spec.segments = &segments;
        spec.norm = INLAY_NORM_LAYER;
        spec.gamma = at[GAMMA];
        spec.beta = at[BETA];
        inlay_layer *layer = make_layer_of(&spec);
        /* One token of one sequence. */
        const int64_t offsets[2] = {0, 1};
        memcpy(memory[OFFSETS] + WIDE_BYTES, offsets, sizeof offsets);
        inlay_batch batch = inlay_batch_i32((const int32_t *)(const void *)at[IDS], 1, 1, 0), weighted = batch;
        batch.position_ids = at[POSITION_IDS];
        batch.segment_ids = at[SEGMENT_IDS];
        batch.position_id_type = batch.segment_id_type = INLAY_ID_I32;
        batch.offsets = (const int64_t *)(const void *)at[OFFSETS];
        weighted.weights = at[WEIGHTS];
        for (int i = 0; i < WEIGHTS; i++)
            expect_borders(layer, &batch, i, bytes[i]);
        expect_borders(pooled, &weighted, WEIGHTS, bytes[WEIGHTS]);
        inlay_layer_destroy(layer);
        inlay_layer_destroy(pooled);
    }
}
END_TEST

/* A call reads its structs before it writes, so an output may overlap them. */
START_TEST(outputs_over_structs)
{
    static union {
        struct {
            inlay_batch batch;
            inlay_fault fault;
        } structs;
        float rows[BATCH * 64][DIM];
    } both;
    static int32_t many_ids[BATCH * 64];
    inlay_table tokens = good_table();
    inlay_layer *layer = make_layer(&tokens, NULL, NULL);
    both.structs.batch = inlay_batch_i32(many_ids, BATCH, 64, 0);
    for (int column = 0; column < DIM; column++)
        table[0][column] = 1.5f;
    EXPECT_STATUS(inlay_forward(layer, &both.structs.batch, both.rows, ROW_BYTES, NULL, &both.structs.fault), INLAY_OK);
    for (int i = 0; i < BATCH * 64; i++)
        EXPECT(memcmp(both.rows[i], table[0], ROW_BYTES) == 0, "row %d is wrong", i);
    inlay_batch batch = inlay_batch_i32(many_ids, 1, 1, 0);
    EXPECT_STATUS(inlay_forward(layer, &batch, layer, ROW_BYTES, NULL, NULL), INLAY_ERROR_OVERLAP);
    inlay_layer_destroy(layer);
}
END_TEST

/* Outputs of two rows across each border of a table of plain rows, for each function that reads it. */
START_TEST(overlaps_of_plain_rows)
{
    enum { BLOCK = 64 * ROW_BYTES };
    static unsigned char block[BLOCK], copy[BLOCK];
    unsigned char *tokens_at = block + 10 * ROW_BYTES, *positions_at = block + 25 * ROW_BYTES;
    unsigned char *ids_at = block + 40 * ROW_BYTES;
    inlay_table tokens = inlay_table_f32(tokens_at, 4, DIM), learned = inlay_table_f32(positions_at, 4, DIM);
    inlay_layer *layer = make_layer(&tokens, NULL, &learned);
    inlay_batch batch = inlay_batch_i32(NULL, 1, 2, 0);
    batch.ids = ids_at;
    const struct {
        unsigned char *at;
        size_t bytes;
    } inputs[] = {{tokens_at, 4 * ROW_BYTES}, {positions_at, 4 * ROW_BYTES}, {ids_at, 2 * sizeof(int32_t)}};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        unsigned char *begin = inputs[i].at, *end = begin + inputs[i].bytes;
        unsigned char *outputs[] = {begin, begin - 2 * ROW_BYTES + 1, end - 1, begin + 1, end, begin - 2 * ROW_BYTES};
        for (size_t k = 0; k < sizeof outputs / sizeof *outputs; k++) {
            const inlay_status wanted = k < 4 ? INLAY_ERROR_OVERLAP : INLAY_OK;
            memset(block, 0, sizeof block);
            EXPECT_STATUS(inlay_forward(layer, &batch, outputs[k], ROW_BYTES, NULL, NULL), wanted);
            if (i == 1)
                EXPECT_STATUS(inlay_add_positions(outputs[k], ROW_BYTES, 1, 2, &learned, 0, NULL, NULL), wanted);
            else
                EXPECT_STATUS(inlay_gather(&tokens, ids_at, INLAY_ID_I32, 2, 1, outputs[k], ROW_BYTES, NULL, NULL),
                              wanted);
            EXPECT(wanted == INLAY_OK || memcmp(block, copy, sizeof block) == 0, "an overlapping call wrote");
        }
    }
    inlay_layer_destroy(layer);
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "errors of batches", make_fixture, free_fixture, bad_ids, bad_positions,
                     far_positions_are_clamped, arguments, fields_of_batches, batches_of_later_versions, ragged_batches,
                     starts_of_sequences, outputs_over_inputs, outputs_over_structs, overlaps_of_plain_rows);
}
