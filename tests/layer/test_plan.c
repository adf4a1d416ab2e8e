/* SPDX-License-Identifier: MIT */
/*
 * The plans of calls: for each decision, calls on both sides of it, and the text of inlay_forward_explain(). Tables and
 * outputs are addresses that must not be accessed.
 */
#include "support/support.h"

#include "support/system.h"

#include <stdlib.h>
#include <string.h>

enum { MIB = 1024 * 1024 };

/* The initial strategy on unknown CPUs. */
#define LINE_AHEAD_2 "prefetch:  to L2, the same line 2 rows ahead: the default"
#define LINE_AHEAD_8 "prefetch:  to L2, the same line 8 rows ahead: the default"
#define BLOCKS "prefetch:  to L2, blocks of rows"

struct planned {
    const char *says;
    size_t sequences, length, dim, rows;
    int64_t start;
    inlay_element_type type;
    bool sinusoid, streamed, normed, segmented;
    const char *scalar; /* null, or the text on the scalar ISA, which doesn't prefetch */
};

static const struct planned plans[] = {
    {"positions: none", 2, 8, 512, 1000, .type = INLAY_F32},
    {"positions: read", 2, 8, 512, 1000, .sinusoid = true},
    {"positions: computed: not all", 2, 8, 512, 1000, .start = 10, .sinusoid = true},
    {"positions: found", 2, 8, 512, 1000, .start = 10, .sinusoid = true, .normed = true},
    {"route:     lookup path: token-type embeddings", 2, 8, 512, 1000, .normed = true, .segmented = true},
    {"route:     lookup path: a norm follows", 2, 8, 4096, 1000, .normed = true},
    {"route:     general path: rows are summed as floats", 2, 8, 4097, 1000, .normed = true},
    {"route:     general path: positions may not be in memory", 2, 8, 512, 1000, .start = 10, .sinusoid = true,
     .normed = true},
    {"route:     lookup path: token-type embeddings", 2, 8, 512, 1000, .type = INLAY_F16, .segmented = true},
    {"route:     general path: quantized terms", 2, 8, 512, 1000, .type = INLAY_F16, .sinusoid = true,
     .segmented = true},
    {"stores:    cached: the output is no larger", 2, 8, 512, 1000, .type = INLAY_F32},
    {"stores:    non-temporal: the output is larger", 64, 1024, 512, 1000, .type = INLAY_F32},
    {"stores:    non-temporal: the output is larger", 4096, 1024, 8, 1000, .type = INLAY_F32},
    {"stores:    non-temporal: the output is larger", 1024, 1024, 66, 1000, .type = INLAY_F32},
    {"stores:    non-temporal: the output is larger", 256, 1024, 258, 1000, .type = INLAY_F32},
    {"stores:    non-temporal: chosen by the caller", 2, 8, 66, 1000, .streamed = true},
    {"prefetch:  none: there is one token", 1, 1, 512, 1000, .type = INLAY_F32},
    {"prefetch:  none: there is one token", 1, 1, 512, 1000, .start = 16, .sinusoid = true},
    {"prefetch:  to L1, the first lines of 16 rows", 2, 8, 512, 1000, .type = INLAY_F32},
    {"prefetch:  to L1, the first lines of 16 rows", 2, 8, 4096, 1 << 17, .type = INLAY_F32},
    {LINE_AHEAD_8, 2, 8, 512, 1000, .type = INLAY_F16, .scalar = BLOCKS},
    {LINE_AHEAD_8, 2, 8, 512, 1000, .type = INLAY_F16, .scalar = BLOCKS, .segmented = true},
    {LINE_AHEAD_8, 64, 1024, 512, 1000, .normed = true, .scalar = BLOCKS},
    {BLOCKS, 64, 1024, 512, 1000, .type = INLAY_F16, .sinusoid = true, .segmented = true},
    {LINE_AHEAD_8, 2, 8, 512, 1 << 20, .type = INLAY_F32, .scalar = BLOCKS}, /* short rows of a table larger than any
                                                                            cache */
    {LINE_AHEAD_8, 64, 1024, 512, 1000, .type = INLAY_F32, .scalar = BLOCKS},
    {LINE_AHEAD_2, 64, 1024, 2048, 1 << 16, .type = INLAY_F32, .scalar = BLOCKS},
    {LINE_AHEAD_2, 1, 8, 512, 1000, .start = 10, .sinusoid = true,
     .scalar = "prefetch:  to L1, the first lines of 16 rows"},
    {LINE_AHEAD_8, 1, 8, 512, 1 << 20, .start = 10, .sinusoid = true, .scalar = BLOCKS},
    {"each entry is added as it is computed", 1, 8, 512, 1000, .start = 10, .sinusoid = true,
     .scalar = "computed: not all of them are cached; 16 rows are cached; in blocks of rows"},
};

/* Only x86-64 has non-temporal stores. */
static const char *said_here(const struct planned *plan)
{
    if (strncmp(tested->name, "avx", 3) != 0 && strncmp(plan->says, "stores:", 7) == 0)
        return "stores:    cached: this ISA has no non-temporal stores\n";
    return strcmp(tested->name, "scalar") == 0 && plan->scalar != NULL ? plan->scalar : plan->says;
}

START_TEST(each_decision_has_its_reason)
{
    const size_t table_bytes = (size_t)1 << 32, out_bytes = (size_t)1 << 30, max_tokens = 4 * MIB;
    unsigned char *table = pages_reserve(table_bytes);
    unsigned char *out = pages_reserve(out_bytes);
    unsigned char *ids = calloc(max_tokens, 1);
    ck_assert_ptr_nonnull(ids);
    const struct planned *plan = &plans[_i];
    const inlay_element_type type = plan->type != 0 ? plan->type : INLAY_F32;
    const inlay_tuning tuning = {
        .size = sizeof tuning, .stream_bytes = MIB, .compute_bytes = SIZE_MAX, .block_bytes = 12 * 1024};
    const inlay_table tokens =
        inlay_table_view(type, table, plan->rows, plan->dim, inlay_table_row_bytes(type, plan->dim));
    const inlay_table segments = inlay_table_f32(table, 2, plan->dim);
    const inlay_sinusoid_spec frequencies = inlay_sinusoid_spec_default(plan->dim);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    inlay_sinusoid *sinusoid = NULL;
    inlay_layer *layer;
    if (plan->sinusoid)
        ck_assert_int_eq(inlay_sinusoid_create(&frequencies, NULL, &sinusoid), INLAY_OK);
    spec.sinusoid = sinusoid;
    spec.segments = plan->segmented ? &segments : NULL;
    spec.cached_positions = plan->sinusoid ? 16 : INLAY_CACHED_POSITIONS_DEFAULT;
    spec.tuning = &tuning;
    spec.norm = plan->normed ? INLAY_NORM_RMS : INLAY_NORM_NONE;
    spec.stores = plan->streamed ? INLAY_STORES_STREAMED : INLAY_STORES_AUTOMATIC;
    ck_assert_int_eq(inlay_layer_create(&spec, NULL, &layer), INLAY_OK);
    inlay_batch batch = inlay_batch_i32(NULL, plan->sequences, plan->length, plan->start);
    batch.ids = ids;
    batch.id_type = INLAY_ID_U8;
    char text[2000];
    const char *says = said_here(plan);
    ck_assert_int_eq(
        inlay_forward_explain(layer, &batch, out, plan->dim * sizeof(float), NULL, NULL, text, sizeof text), INLAY_OK);
    EXPECT(strstr(text, says) != NULL, "a plan does not say \"%s\":\n%s", says, text);
    inlay_layer_destroy(layer);
    inlay_sinusoid_destroy(sinusoid);
    free(ids);
    pages_release(table, table_bytes);
    pages_release(out, out_bytes);
}
END_TEST

/* The plan for tables and ids that are not plain. */
START_TEST(mappings_extents_and_weights)
{
    static float rows[4][8];
    static const uint8_t mapping[3] = {3, 0, 3}, ids[2] = {2, 1};
    static const float weights[3] = {1, 2, 3};
    const inlay_table_extent extents[2] = {{rows[0], NULL, NULL, 0}, {rows[2], NULL, NULL, 2}};
    for (size_t extent_rows = 0; extent_rows <= 2; extent_rows += 2) {
        const inlay_table tokens = inlay_table_from_extents(inlay_table_f32(NULL, 4, 8), extents, 2, extent_rows);
        inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
        spec.token_mapping = mapping;
        spec.token_mapping_type = INLAY_ID_U8;
        spec.token_mapping_length = spec.token_weights_length = 3;
        spec.token_weights = weights;
        spec.pooling = INLAY_POOLING_MEAN;
        spec.norm = INLAY_NORM_L2;
        inlay_layer *layer = make_layer_of(&spec);
        inlay_batch batch = inlay_batch_i32(NULL, 1, 2, 0);
        batch.ids = ids;
        batch.id_type = INLAY_ID_U8;
        float out[8];
        char text[2000];
        ck_assert_int_eq(inlay_forward_explain(layer, &batch, out, sizeof out, NULL, NULL, text, sizeof text),
                         INLAY_OK);
        const char *const says[] = {extent_rows > 0 ? "in 2 extents, which are found by a division"
                                                    : "in 2 extents, which are found by a binary",
                                    "through a mapping of 3 ids", "post-ops:  mean of weighted rows L2 norm\n"};
        for (size_t i = 0; i < 3; i++)
            EXPECT(strstr(text, says[i]) != NULL, "a plan does not say \"%s\":\n%s", says[i], text);
        inlay_layer_destroy(layer);
    }
}
END_TEST

/* Pooled rows are prefetched by the kernel that adds them, except rows with factors, which are passed one by one. */
START_TEST(pooled_rows_are_prefetched_by_the_kernel)
{
    static const float rows[4][8], weights[2] = {1, 2};
    static const int32_t ids[2] = {2, 1};
    const inlay_table tokens = inlay_table_f32(rows, 4, 8);
    inlay_tuning tuning = inlay_tuning_default();
    tuning.prefetch = INLAY_PREFETCH_L2_LINE_AHEAD_8;
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.pooling = INLAY_POOLING_MEAN;
    spec.tuning = &tuning;
    inlay_layer *layer = make_layer_of(&spec);
    for (int weighted = 0; weighted < 2; weighted++) {
        inlay_batch batch = inlay_batch_i32(ids, 1, 2, 0);
        batch.weights = weighted ? weights : NULL;
        const bool by_kernel = !weighted && strcmp(tested->name, "scalar") != 0;
        const char *says = by_kernel ? "the same line 8 rows ahead" : "to L2, blocks of rows";
        float out[8];
        char text[2000];
        ck_assert_int_eq(inlay_forward_explain(layer, &batch, out, sizeof out, NULL, NULL, text, sizeof text),
                         INLAY_OK);
        EXPECT(strstr(text, says) != NULL, "a plan does not say \"%s\":\n%s", says, text);
    }
    inlay_layer_destroy(layer);
}
END_TEST

static void run_nothing(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    (void)ctx;
    (void)count;
    (void)task;
    (void)arg;
}

/* The number of parts and its reason, with and without an executor. */
START_TEST(parts_have_their_reason)
{
    enum { SEQUENCES = 2, LENGTH = 128, WIDTH = 256 };
    static const float rows[4][WIDTH];
    static const uint8_t ids[SEQUENCES * LENGTH];
    static float out[SEQUENCES * LENGTH][WIDTH];
    static const inlay_executor executor = {.run = run_nothing, .threads = 4};
    static const struct {
        const inlay_executor *executor;
        size_t length;
        inlay_pooling pooling;
        const char *says;
    } cases[] = {
        {NULL, LENGTH, INLAY_POOLING_NONE, "parts:     1: there is no executor\n"},
        {&executor, 8, INLAY_POOLING_NONE, "parts:     1: too little work for a second thread\n"},
        {&executor, LENGTH, INLAY_POOLING_NONE, "(4 along positions, 1 along sequences): positions are split first"},
        {&executor, LENGTH, INLAY_POOLING_SUM, "(1 along positions, 2 along sequences): a sequence cannot be split"},
    };
    const inlay_table tokens = inlay_table_f32(rows, 4, WIDTH);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
        spec.pooling = cases[i].pooling;
        inlay_layer *layer = make_layer_of(&spec);
        inlay_batch batch = inlay_batch_i32(NULL, SEQUENCES, cases[i].length, 0);
        batch.ids = ids;
        batch.id_type = INLAY_ID_U8;
        char text[2000];
        ck_assert_int_eq(
            inlay_forward_explain(layer, &batch, out, sizeof *out, cases[i].executor, NULL, text, sizeof text),
            INLAY_OK);
        EXPECT(strstr(text, cases[i].says) != NULL, "a plan does not say \"%s\":\n%s", cases[i].says, text);
        inlay_layer_destroy(layer);
    }
}
END_TEST

/* A short buffer truncates and terminates the text; no buffer is an error, reported after other errors. */
START_TEST(texts_of_plans)
{
    static const float rows[4][8];
    static const int32_t ids[2] = {2, 1}, bad_ids[2] = {2, 4};
    const inlay_table tokens = inlay_table_f32(rows, 4, 8);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    inlay_layer *layer = make_layer_of(&spec);
    const inlay_batch batch = inlay_batch_i32(ids, 1, 2, 0), bad = inlay_batch_i32(bad_ids, 1, 2, 0);
    float out[2][8];
    char whole[2000], text[2000];
    const size_t stride = sizeof *out;
    ck_assert_int_eq(inlay_forward_explain(layer, &batch, out, stride, NULL, NULL, whole, sizeof whole), INLAY_OK);
    for (size_t size = 1; size <= strlen(whole) + 1; size++) {
        memset(text, 0x55, sizeof text);
        ck_assert_int_eq(inlay_forward_explain(layer, &batch, out, stride, NULL, NULL, text, size), INLAY_OK);
        EXPECT(strlen(text) == size - 1 && memcmp(text, whole, size - 1) == 0 && text[size] == 0x55, "%zu bytes", size);
    }
    text[0] = 0x55;
    EXPECT(inlay_forward_explain(layer, &batch, out, stride, NULL, NULL, NULL, 9) == INLAY_ERROR_NULL, "no text");
    EXPECT(inlay_forward_explain(layer, &batch, out, stride, NULL, NULL, text, 0) == INLAY_ERROR_SHAPE, "no bytes");
    EXPECT(inlay_forward_explain(layer, &bad, out, stride, NULL, NULL, NULL, 0) == INLAY_ERROR_ID, "a bad id");
    EXPECT(text[0] == 0x55, "a text of no bytes was written");
    inlay_layer_destroy(layer);
}
END_TEST

int main(int argc, char **argv)
{
    variable_set("INLAY_CPU", "unknown");
    Suite *suite = suite_create("plan");
    TCase *decisions = tcase_create("decisions");
    tcase_add_loop_test(decisions, each_decision_has_its_reason, 0, (int)(sizeof plans / sizeof *plans));
    tcase_add_test(decisions, mappings_extents_and_weights);
    tcase_add_test(decisions, pooled_rows_are_prefetched_by_the_kernel);
    tcase_add_test(decisions, parts_have_their_reason);
    tcase_add_test(decisions, texts_of_plans);
    suite_add_tcase(suite, decisions);
    return run_suite(argc, argv, suite);
}
