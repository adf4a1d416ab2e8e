/* SPDX-License-Identifier: MIT */
/*
 * Promises about the layer that no comparison of single calls shows: the sum over shards is the whole layer, positions
 * are those of known frameworks, and options raise no floating-point exception.
 */
#include "calls.h"

#include <fenv.h>
#include <string.h>

static void forward(const inlay_layer_spec *spec, const inlay_batch *batch, float *out)
{
    inlay_layer *layer;
    ck_assert_int_eq(inlay_layer_create(spec, NULL, &layer), INLAY_OK);
    ck_assert_int_eq(inlay_forward(layer, batch, out, spec->tokens->dim * sizeof(float), NULL, NULL), INLAY_OK);
    inlay_layer_destroy(layer);
}

/* The sum of what the shards of a table write is what the whole table writes. */
START_TEST(shards_add_up)
{
    enum { VOCAB = 11, COUNT = 60, MAX_DIM = 512 };
    static const size_t dims[] = {1, 3, 16, 100, MAX_DIM};
    static float whole[COUNT * MAX_DIM], part[COUNT * MAX_DIM], sum[COUNT * MAX_DIM];
    static float rows[VOCAB * MAX_DIM], learned_rows[COUNT * MAX_DIM];
    struct source source = {.random = {77}};
    for (int round = 0; round < 400; round++) {
        size_t dim = dims[choose(&source, 5)];
        random_rows(&source.random, (unsigned char *)rows, VOCAB, dim, dim * 4);
        random_rows(&source.random, (unsigned char *)learned_rows, COUNT, dim, dim * 4);
        inlay_table table = inlay_table_f32(rows, VOCAB, dim), learned = inlay_table_f32(learned_rows, COUNT, dim);
        inlay_layer_spec spec = inlay_layer_spec_default(&table);
        inlay_sinusoid *sinusoid = make_sinusoid(dim, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
        uint64_t kind = choose(&source, 4);
        spec.sinusoid = kind == 1 || kind == 2 ? sinusoid : NULL;
        spec.cached_positions = kind == 1 ? 0 : 30;
        spec.positions = kind == 3 ? &learned : NULL;
        spec.scale = one_in(&source, 2) ? -2.5f : 1;
        spec.padding_id = one_in(&source, 2) ? (int64_t)choose(&source, VOCAB) : -1;
        spec.zero_rows = (inlay_zero_rows)choose(&source, 2);
        spec.bad_id = (inlay_bad_id)choose(&source, 4);
        spec.substitute_id = (int64_t)choose(&source, VOCAB);
        if (kind > 0 && spec.padding_id >= 0 && one_in(&source, 2))
            spec.position_mode = INLAY_POSITION_MODE_PADDING_AWARE;
        int32_t ids[COUNT];
        for (size_t i = 0; i < COUNT; i++) {
            ids[i] = (int32_t)choose(&source, VOCAB);
            if (spec.bad_id != INLAY_BAD_ID_ERROR && one_in(&source, 5))
                ids[i] = one_in(&source, 2) ? VOCAB : -1;
        }
        inlay_batch batch = inlay_batch_i32(ids, 3, COUNT / 3, 1);
        forward(&spec, &batch, whole);
        size_t shards = 2 + choose(&source, 3), first = 0;
        for (size_t i = 0; i < shards; i++) {
            size_t n = i + 1 < shards ? choose(&source, VOCAB + 1 - first) : VOCAB - first;
            inlay_table shard = inlay_table_f32(n > 0 ? rows + first * dim : NULL, n, dim);
            shard.first_row = first;
            shard.vocab = VOCAB;
            first += n;
            inlay_layer_spec of_shard = spec;
            of_shard.tokens = &shard;
            forward(&of_shard, &batch, part);
            for (size_t at = 0; at < COUNT * dim; at++)
                sum[at] = i > 0 ? sum[at] + part[at] : part[at];
        }
        for (size_t at = 0; at < COUNT * dim; at++)
            EXPECT(same_float(sum[at], whole[at]), "round %d: %zu shards, token %zu, column %zu: %a, not %a", round,
                   shards, at / dim, at % dim, (double)sum[at], (double)whole[at]);
        inlay_sinusoid_destroy(sinusoid);
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

/* Subnormal options are looked at in the host's environment: as bits, which raise nothing there. */
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
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~0x3fu); /* that of subnormals too */
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

int main(int argc, char **argv)
{
    Suite *suite = suite_create("layer");
    TCase *promises = tcase_create("promises");
    tcase_set_timeout(promises, 600);
    tcase_add_test(promises, shards_add_up);
    tcase_add_test(promises, positions_of_frameworks);
    tcase_add_test(promises, subnormal_options_raise_nothing);
    suite_add_tcase(suite, promises);
    return run_suite(argc, argv, suite);
}
