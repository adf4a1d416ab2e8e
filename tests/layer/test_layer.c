/* SPDX-License-Identifier: MIT */
/*
 * Properties of the layer that single calls don't show: the sum over shards is the whole layer, positions are those of
 * known frameworks, and options raise no floating-point exception.
 */
#include "support/calls.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

/* Returns true if the layer of a call may be split into shards, and all its tokens have output rows. */
static bool is_divisible(const struct call *call)
{
    const inlay_layer_spec *spec = &call->spec;
    return call->tokens.type == INLAY_F32 && call->tokens.rows > 0 && call->tokens.vocab == 0 &&
           call->tokens.extents == NULL && spec->out_type == INLAY_F32 && spec->pooling == INLAY_POOLING_NONE &&
           spec->norm == INLAY_NORM_NONE && spec->segments == NULL && spec->bad_id != INLAY_BAD_ID_SKIP &&
           call->batch.dropout == 0;
}

static inlay_status forward(const struct call *call, const inlay_table *tokens, float *out)
{
    inlay_layer_spec spec = call->spec;
    inlay_layer *layer;
    spec.tokens = tokens;
    ck_assert_int_eq(inlay_layer_create(&spec, NULL, &layer), INLAY_OK);
    inlay_status status = inlay_forward(layer, &call->batch, out, call->row_bytes, NULL, NULL);
    inlay_layer_destroy(layer);
    return status;
}

/* The sum of the outputs of a table's shards equals the output of the whole table. */
START_TEST(shards_add_up)
{
    enum { MAX_FLOATS = 24000 };
    static float whole[MAX_FLOATS], part[MAX_FLOATS], sum[MAX_FLOATS];
    const struct call_sizes sizes = {(const size_t[]){1, 3, 16, 100, 512}, 5, 512, 60, MAX_FLOATS * sizeof(float)};
    struct source source = {.random = {77}};
    calls_prepare(&sizes);
    for (int compared = 0; compared < 400;) {
        struct call call;
        call_draw(&call, &source, &sizes);
        if (is_divisible(&call) && forward(&call, &call.tokens, whole) == INLAY_OK) {
            const inlay_table *all = &call.tokens;
            inlay_table shard;
            size_t shards = 2 + choose(&source, 3), first = 0, n = call.rows * all->dim;
            for (size_t i = 0; i < shards; i++, first += shard.rows) {
                shard = *all;
                shard.rows = i + 1 < shards ? choose(&source, all->rows + 1 - first) : all->rows - first;
                shard.data = shard.rows > 0 ? (const unsigned char *)all->data + first * all->stride_bytes : NULL;
                shard = inlay_table_shard(shard, first, all->rows);
                ck_assert_int_eq(forward(&call, &shard, part), INLAY_OK);
                for (size_t at = 0; at < n; at++)
                    sum[at] = i > 0 ? sum[at] + part[at] : part[at];
            }
            for (size_t at = 0; at < n; at++)
                EXPECT(same_float(sum[at], whole[at]), "call %d, %zu shards: element %zu is %a, not %a", compared,
                       shards, at, (double)sum[at], (double)whole[at]);
            compared++;
        }
        call_end(&call);
    }
}
END_TEST

/* The positions of fairseq, RoBERTa and OPT, written by hand. */
START_TEST(positions_of_frameworks)
{
    enum { SEQ = 5, PAD = 1 };
    static const struct {
        int64_t start;
        int32_t ids[SEQ];
        float positions[SEQ];
    } cases[] = {
        {PAD + 1, {0, 5, 6, 7, 2}, {2, 3, 4, 5, 6}},     {PAD + 1, {0, 5, 2, PAD, PAD}, {2, 3, 4, 1, 1}},
        {PAD + 1, {PAD, PAD, 0, 5, 2}, {1, 1, 2, 3, 4}}, {PAD + 1, {0, PAD, 5, PAD, 2}, {2, 1, 3, 1, 4}},
        {2, {PAD, PAD, PAD, PAD, PAD}, {1, 1, 1, 1, 1}}, {2, {PAD, 2, 100, 7, 8}, {1, 2, 3, 4, 5}},
    };
    static float zeros[200], numbers[12];
    for (int i = 0; i < 12; i++)
        numbers[i] = (float)i;
    inlay_table tokens = inlay_table_f32(zeros, 200, 1), positions = inlay_table_f32(numbers, 12, 1);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.positions = &positions;
    spec.padding_id = PAD;
    spec.zero_rows = INLAY_ZERO_ROWS_POSITIONED;
    spec.position_mode = INLAY_POSITION_MODE_PADDING_AWARE;
    inlay_layer *layer;
    ck_assert_int_eq(inlay_layer_create(&spec, NULL, &layer), INLAY_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float out[SEQ];
        inlay_batch batch = inlay_batch_i32(cases[i].ids, 1, SEQ, cases[i].start);
        ck_assert_int_eq(inlay_forward(layer, &batch, out, 4, NULL, NULL), INLAY_OK);
        EXPECT(memcmp(out, cases[i].positions, sizeof out) == 0, "case %zu: %g %g %g %g %g", i, (double)out[0],
               (double)out[1], (double)out[2], (double)out[3], (double)out[4]);
    }
    inlay_layer_destroy(layer);
}
END_TEST

/* Padding keeps its row and isn't counted. Ids outside the table have a row of zeros. */
START_TEST(padding_keeps_its_row)
{
    const float rows[4] = {10, 20, 30, 40}, numbers[6] = {.5f, 1, 2, 3, 4, 5};
    const int32_t ids[5] = {2, 1, 3, 99, 1};
    const float expected[5] = {30 + 2, 20 + 1, 40 + 3, 0 + 4, 20 + 1};
    inlay_table tokens = inlay_table_f32(rows, 4, 1), positions = inlay_table_f32(numbers, 6, 1);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    inlay_batch batch = inlay_batch_i32(ids, 1, 5, 2);
    inlay_layer *layer;
    float out[5];
    spec.positions = &positions;
    spec.padding_id = 1;
    spec.bad_id = INLAY_BAD_ID_ZERO;
    spec.zero_rows = INLAY_ZERO_ROWS_TABLE;
    spec.position_mode = INLAY_POSITION_MODE_PADDING_AWARE;
    ck_assert_int_eq(inlay_layer_create(&spec, NULL, &layer), INLAY_OK);
    ck_assert_int_eq(inlay_forward(layer, &batch, out, 4, NULL, NULL), INLAY_OK);
    EXPECT(memcmp(out, expected, sizeof out) == 0, "%g %g %g %g %g", (double)out[0], (double)out[1], (double)out[2],
           (double)out[3], (double)out[4]);
    inlay_layer_destroy(layer);
}
END_TEST

/* Subnormal options are checked by their bits, which raises nothing in the host's environment. */
START_TEST(subnormal_options_raise_nothing)
{
    static float row[4] = {1, 2, 3, 4};
    const int32_t ids[2] = {0, 0};
    inlay_table tokens = inlay_table_f32(row, 1, 4);
    for (int flush = 0; flush < 2; flush++) {
        float out[8];
        inlay_layer *layer;
        inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
        inlay_batch batch = inlay_batch_i32(ids, 1, 2, 0);
        spec.norm = INLAY_NORM_RMS;
        spec.epsilon = 0x1p-149f;
        batch.dropout = 0x1p-149f;
        set_flush(flush);
        feclearexcept(FE_ALL_EXCEPT);
#ifdef __x86_64__
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~0x3fu); /* also unmasks the one for subnormals */
#endif
        inlay_status created = inlay_layer_create(&spec, NULL, &layer);
        inlay_status status = inlay_forward(layer, &batch, out, sizeof row, NULL, NULL);
#ifdef __x86_64__
        unsigned raised = __builtin_ia32_stmxcsr() & 0x3f;
#else
        int raised = fetestexcept(FE_ALL_EXCEPT);
#endif
        set_flush(false);
        inlay_layer_destroy(layer);
        EXPECT(created == INLAY_OK && status == INLAY_OK && raised == 0, "flush %d: statuses %d, %d, flags %x", flush,
               created, status, (unsigned)raised);
    }
}
END_TEST

/* An allocator without memory, which records how much was requested. */
static void *refuse(void *ctx, size_t bytes)
{
    *(size_t *)ctx = bytes;
    return NULL;
}

static void release_nothing(void *ctx, void *memory)
{
    (void)ctx;
    (void)memory;
}

/* INLAY_CACHED_POSITIONS_DEFAULT is 4096 rows, capped at 64 MiB. */
START_TEST(default_cache_is_as_promised)
{
    static const size_t dims[] = {1, 512, 4096, 4097, 5000};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        const size_t held = ((size_t)64 << 20) / (dims[i] * sizeof(float)), rows = held < 4096 ? held : 4096;
        const size_t cached[] = {INLAY_CACHED_POSITIONS_DEFAULT, rows, rows - 1};
        size_t bytes[3];
        inlay_sinusoid_spec formula = inlay_sinusoid_spec_default(dims[i]);
        inlay_sinusoid *sinusoid;
        ck_assert_int_eq(inlay_sinusoid_create(&formula, NULL, &sinusoid), INLAY_OK);
        inlay_table tokens = inlay_table_f32(NULL, 0, dims[i]);
        inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
        spec.sinusoid = sinusoid;
        for (size_t k = 0; k < 3; k++) {
            const inlay_allocator allocator = {&bytes[k], refuse, release_nothing};
            inlay_layer *layer;
            spec.cached_positions = cached[k];
            ck_assert_int_eq(inlay_layer_create(&spec, &allocator, &layer), INLAY_ERROR_NO_MEMORY);
        }
        inlay_sinusoid_destroy(sinusoid);
        EXPECT(bytes[0] == bytes[1] && bytes[1] - bytes[2] == dims[i] * sizeof(float), "dim %zu: %zu, %zu, %zu bytes",
               dims[i], bytes[0], bytes[1], bytes[2]);
    }
}
END_TEST

/* Overwrites and frees an argument, so later uses of it read nonsense. */
static void scrap(void *memory, size_t bytes)
{
    memset(memory, 0xee, bytes);
    free(memory);
}

static void *copy_of(const void *from, size_t bytes)
{
    void *copy = malloc(bytes);
    ck_assert_ptr_nonnull(copy);
    return memcpy(copy, from, bytes);
}

/* What headers call copied is free again when a handle is made; gamma and beta are read by every call. */
START_TEST(handles_copy_specs_and_keep_pointers_to_arrays)
{
    enum { ROWS = 6, DIM = 8, IDS = 3 };
    static const float rows[3][ROWS][DIM] = {{{1, 5, 2}, {3, 1, 4}}, {{2, 7, 1}, {8, 2, 8}}, {{1, 8, 2}, {8, 4, 5}}};
    static const int32_t ids[IDS] = {1, 0, 1}, segments[IDS] = {0, 1, 1};
    float gamma[DIM], beta[DIM] = {0}, out[3][IDS][DIM];
    const inlay_table_extent extents[2] = {{rows[0], NULL, NULL, 0}, {rows[0][1], NULL, NULL, 1}};
    inlay_table views[3] = {inlay_table_from_extents(inlay_table_f32(NULL, ROWS, DIM), extents, 2, 0),
                            inlay_table_f32(rows[1], ROWS, DIM), inlay_table_f32(rows[2], ROWS, DIM)};
    inlay_tuning tuning = inlay_tuning_default();
    inlay_tuning_state state = {.size = sizeof state};
    inlay_layer_spec spec = inlay_layer_spec_default(NULL);
    for (int i = 0; i < DIM; i++)
        gamma[i] = 1;
    spec.norm = INLAY_NORM_LAYER;
    spec.gamma = gamma;
    spec.beta = beta;
    inlay_layer *layers[2];
    for (int scrapped = 0; scrapped < 2; scrapped++) {
        void *parts[] = {copy_of(&views[0], sizeof views[0]), copy_of(&views[1], sizeof views[1]),
                         copy_of(&views[2], sizeof views[2]), copy_of(&tuning, sizeof tuning),
                         copy_of(&state, sizeof state)};
        const size_t bytes[] = {sizeof views[0], sizeof views[1], sizeof views[2], sizeof tuning, sizeof state};
        inlay_layer_spec *copy = copy_of(&spec, sizeof spec);
        copy->tokens = parts[0];
        copy->positions = parts[1];
        copy->segments = parts[2];
        copy->tuning = parts[3];
        copy->tuning_state = parts[4];
        ck_assert_int_eq(inlay_layer_create(copy, NULL, &layers[scrapped]), INLAY_OK);
        inlay_batch batch = inlay_batch_i32(ids, 1, IDS, 2);
        batch.segment_ids = segments;
        batch.segment_id_type = INLAY_ID_I32;
        if (scrapped == 0)
            ck_assert_int_eq(inlay_forward(layers[0], &batch, out[0], sizeof out[0][0], NULL, NULL), INLAY_OK);
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
            scrap(parts[i], bytes[i]);
        scrap(copy, sizeof *copy);
        ck_assert_int_eq(inlay_forward(layers[scrapped], &batch, out[1], sizeof out[0][0], NULL, NULL), INLAY_OK);
        EXPECT(memcmp(out[0], out[1], sizeof out[0]) == 0, "a layer reads what it should have copied");
        beta[0] = 4;
        gamma[1] = 0;
        ck_assert_int_eq(inlay_forward(layers[scrapped], &batch, out[2], sizeof out[0][0], NULL, NULL), INLAY_OK);
        EXPECT(out[2][0][0] == out[0][0][0] + 4 && out[2][0][1] == 0, "gamma or beta was copied");
        beta[0] = 0;
        gamma[1] = 1;
        inlay_layer_destroy(layers[scrapped]);
    }
}
END_TEST

START_TEST(sinusoids_and_ngrams_copy_their_arrays)
{
    enum { DIM = 8, IDS = 4, LENGTH = 2 };
    static const double frequencies[DIM / 2] = {1, 0.5, 0.25, 0.125};
    static const int64_t multipliers[LENGTH] = {3, 5}, resets[1] = {2}, masks[1] = {3};
    static const inlay_ngram_column column = {.length = LENGTH, .modulus = 97, .offset = 10};
    static const int32_t ids[IDS] = {1, 2, 3, 4};
    float out[2][DIM];
    int32_t found[2][IDS];
    for (int scrapped = 0; scrapped < 2; scrapped++) {
        double *inv_freq = copy_of(frequencies, sizeof frequencies);
        inlay_sinusoid_spec formula = inlay_sinusoid_spec_default(DIM);
        formula.inv_freq = inv_freq;
        inlay_sinusoid *sinusoid;
        ck_assert_int_eq(inlay_sinusoid_create(&formula, NULL, &sinusoid), INLAY_OK);
        inlay_ngram_spec hash = inlay_ngram_spec_default(10, LENGTH, INLAY_NGRAM_MIX_ADD);
        void *arrays[] = {copy_of(multipliers, sizeof multipliers), copy_of(resets, sizeof resets),
                          copy_of(masks, sizeof masks), copy_of(&column, sizeof column)};
        hash.multipliers = arrays[0];
        hash.resets = arrays[1];
        hash.masks = arrays[2];
        hash.columns = arrays[3];
        hash.vectors = hash.reset_count = hash.mask_count = hash.column_count = 1;
        inlay_ngram *ngram;
        ck_assert_int_eq(inlay_ngram_create(&hash, NULL, &ngram), INLAY_OK);
        for (int i = 0; scrapped && i < DIM / 2; i++)
            inv_freq[i] = -1;
        for (size_t i = 0; scrapped && i < sizeof arrays / sizeof *arrays; i++)
            memset(arrays[i], 0xee, sizeof resets);
        const inlay_ngram_batch batch = inlay_ngram_batch_i32(ids, 1, IDS);
        ck_assert_int_eq(inlay_sinusoid_rows(sinusoid, 9, 1, INLAY_F32, out[scrapped], sizeof out[0], NULL), INLAY_OK);
        ck_assert_int_eq(
            inlay_ngram_ids(ngram, &batch, 0, 1, INLAY_ID_I32, found[scrapped], sizeof found[0][0], NULL, NULL),
            INLAY_OK);
        inlay_sinusoid_destroy(sinusoid);
        inlay_ngram_destroy(ngram);
        free(inv_freq);
        for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
            free(arrays[i]);
    }
    EXPECT(memcmp(out[0], out[1], sizeof out[0]) == 0, "a sinusoid reads frequencies of the caller's");
    EXPECT(memcmp(found[0], found[1], sizeof found[0]) == 0, "an n-gram handle reads arrays of the caller's");
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("layer");
    TCase *promises = tcase_create("promises");
    tcase_set_timeout(promises, 600);
    tcase_add_test(promises, shards_add_up);
    tcase_add_test(promises, positions_of_frameworks);
    tcase_add_test(promises, padding_keeps_its_row);
    tcase_add_test(promises, subnormal_options_raise_nothing);
    tcase_add_test(promises, default_cache_is_as_promised);
    tcase_add_test(promises, handles_copy_specs_and_keep_pointers_to_arrays);
    tcase_add_test(promises, sinusoids_and_ngrams_copy_their_arrays);
    suite_add_tcase(suite, promises);
    return run_suite(argc, argv, suite);
}
