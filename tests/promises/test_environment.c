/* SPDX-License-Identifier: MIT */
/*
 * The host's floating-point environment: rounding modes, flush-to-zero, unmasked exceptions and sticky flags neither
 * change a result nor are changed.
 */
#include "support/support.h"

#include "support/system.h"

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 37, ROWS = 40, TOKENS = 64 };

/* Tables and outputs full of subnormals, infinities and NaN; made in the default environment. */
static struct {
    unsigned char table[ROWS * DIM * sizeof(float)];
    int32_t ids[TOKENS];
    double frequencies[DIM / 2 + 1];
    float out[11][TOKENS * DIM];
    unsigned char halves[ROWS][DIM * sizeof(uint16_t) + 3];
} data;

static void make_data(void)
{
    struct random random = {3};
    random_rows(&random, data.table, ROWS, DIM, DIM * sizeof(float));
    for (size_t i = 0; i < TOKENS; i++)
        data.ids[i] = (int32_t)random_below(&random, ROWS);
    for (int i = 0; i < DIM / 2 + 1; i++)
        data.frequencies[i] = i % 3 == 0 ? 1e-45 * (i + 1) : i % 3 == 1 ? 5e-324 : 0.3 / (i + 1);
}

/* Hashes and sums n-grams; their quotients are computed in double. */
static inlay_status run_ngrams(const inlay_table *tokens)
{
    static const int64_t multipliers[] = {0x123456789abcdef, -0x7edcba9876543211};
    const inlay_ngram_column columns[] = {{1, 0, ROWS, 0, 0}, {2, 0, ROWS - 3, 0, 2}, {2, 0, 99999989, 0, 0}};
    const size_t row = DIM * sizeof(float);
    inlay_ngram_spec spec = inlay_ngram_spec_default(ROWS, 2, INLAY_NGRAM_MIX_ADD);
    const inlay_ngram_batch batch = inlay_ngram_batch_i32(data.ids, 4, TOKENS / 4);
    inlay_ngram_lookup lookup = inlay_ngram_lookup_default(&tokens, 1);
    inlay_ngram *ngram;
    spec.multipliers = multipliers;
    spec.vectors = 1;
    spec.columns = columns;
    spec.column_count = 3;
    lookup.columns = 2;
    lookup.combine = INLAY_NGRAM_SUM;
    lookup.scale = 0x1.8p-3f;
    inlay_status status = inlay_ngram_create(&spec, NULL, &ngram);
    status |= inlay_ngram_forward(ngram, &batch, &lookup, data.out[9], row, NULL, NULL);
    status |= inlay_ngram_ids(ngram, &batch, 2, 1, INLAY_ID_I32, data.out[9] + DIM - 1, row, NULL, NULL);
    inlay_ngram_destroy(ngram);
    return status;
}

/* Rotates rows with subnormal and infinite elements; the rest of each row is zeros. */
static inlay_status run_rotation(void)
{
    inlay_rotary_spec spec = inlay_rotary_spec_default(DIM / 2 * 2);
    spec.scaling = INLAY_ROTARY_LINEAR;
    spec.factor = 3;
    spec.cached_positions = 4;
    inlay_rotary *rotary;
    inlay_status status = inlay_rotary_create(&spec, NULL, &rotary);
    inlay_rotary_tensor rows = inlay_rotary_in_place(INLAY_F32, data.table, 1, DIM);
    rows.out = data.out[10];
    const inlay_batch batch = inlay_batch_i32(NULL, 1, ROWS, 0);
    status |= inlay_rotate(rotary, &batch, &rows, 1, INLAY_ROTARY_FORWARD, NULL, NULL);
    rows = inlay_rotary_in_place(INLAY_F16, data.out[10] + ROWS * DIM, 1, DIM);
    rows.data = data.table;
    status |= inlay_rotate(rotary, &batch, &rows, 1, INLAY_ROTARY_INVERSE, NULL, NULL);
    inlay_rotary_destroy(rotary);
    return status;
}

/* Runs every operation in the caller's environment, including creation of handles. */
static void run_all(void)
{
    enum { REALS = 6 };
    static const float reals[REALS] = {0x1p-149f, -0x1p-130f, 0.7f, -999.25f, 0x1.fffffep30f, 1};
    const size_t row = DIM * sizeof(float);
    inlay_table tokens = inlay_table_f32(data.table, ROWS, DIM);
    inlay_sinusoid *sinusoid = make_sinusoid(DIM, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.sinusoid = sinusoid;
    spec.cached_positions = 5;
    spec.scale = inlay_sqrt_dim(DIM);
    inlay_layer *layer;
    inlay_status status = inlay_layer_create(&spec, NULL, &layer);
    inlay_batch batch = inlay_batch_i32(data.ids, 4, TOKENS / 4, 0);
    status |= inlay_forward(layer, &batch, data.out[0], row, NULL, NULL);
    status |= inlay_gather(&tokens, data.ids, INLAY_ID_I32, TOKENS, 0x1p-3f, data.out[1], row, NULL, NULL);
    status |= inlay_scale(data.out[1], row, TOKENS, DIM, 0x1.8p-126f, data.out[2], row, NULL);
    status |= inlay_add_positions(data.out[2], row, 2, TOKENS / 2, &tokens, 3, NULL, NULL);
    status |= inlay_sinusoid_rows(sinusoid, 1000000, TOKENS, INLAY_F32, data.out[3], row, NULL);
    inlay_layer_destroy(layer);
    inlay_sinusoid_destroy(sinusoid);
    inlay_sinusoid_spec recipe = inlay_sinusoid_spec_recipe(INLAY_RECIPE_MLX, DIM + 1);
    status |= inlay_sinusoid_create(&recipe, NULL, &sinusoid);
    status |=
        inlay_sinusoid_at(sinusoid, reals, INLAY_POSITION_F32, REALS, INLAY_F32, data.out[4], row + 4, NULL, NULL);
    status |= inlay_sinusoid_rows(sinusoid, 4999, 9, INLAY_F16, data.out[5], row + 4, NULL);
    inlay_rotary_spec yarn = inlay_rotary_spec_default(DIM + 1);
    yarn.scaling = INLAY_ROTARY_YARN;
    yarn.factor = 3.3;
    yarn.original_length = 2048;
    double rotary[DIM / 2 + 1], attention_factor;
    status |=
        inlay_rotary_rows(sinusoid, 4999, 9, INLAY_F32, INLAY_ROTARY_HALVES, data.out[7], data.out[8], row + 4, NULL);
    status |= inlay_rotary_frequencies(&yarn, rotary, &attention_factor);
    memcpy(data.out[7] + 20 * DIM, rotary, sizeof rotary);
    /* Subnormals, read and computed. */
    inlay_table_storage storage = inlay_table_storage_of(INLAY_F16, data.halves, DIM);
    inlay_table halves;
    storage.stride_bytes = sizeof *data.halves;
    status |= inlay_table_quantize(&tokens, &storage, &halves, NULL);
    status |= inlay_gather(&halves, data.ids, INLAY_ID_I32, 12, 0x1.8p-120f, data.out[5] + 20 * DIM, row, NULL, NULL);
    inlay_sinusoid_destroy(sinusoid);
    /* Frequencies so low that sines are subnormal floats, and products of doubles underflow. */
    inlay_sinusoid_spec given = inlay_sinusoid_spec_default(DIM);
    given.inv_freq = data.frequencies;
    given.amplitude = 1.7;
    status |= inlay_sinusoid_create(&given, NULL, &sinusoid);
    status |= inlay_sinusoid_at(sinusoid, reals, INLAY_POSITION_F32, REALS, INLAY_BF16, data.out[6], row, NULL, NULL);
    status |= inlay_sinusoid_rows(sinusoid, 1, 20, INLAY_F32, data.out[6] + REALS * DIM, row, NULL);
    inlay_sinusoid_destroy(sinusoid);
    status |= run_ngrams(&tokens);
    status |= run_rotation();
    ck_assert_int_eq(status, INLAY_OK);
}

static uint64_t control_word(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr();
#elif defined(__aarch64__)
    uint64_t fpcr, fpsr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    __asm__ volatile("mrs %0, fpsr" : "=r"(fpsr));
    return fpcr ^ fpsr << 32;
#else
    uint32_t fpscr;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(fpscr));
    return fpscr;
#endif
}

START_TEST(rounding_modes_and_flush_to_zero)
{
    make_data();
    run_all();
    struct digest wanted = sha256(data.out, sizeof data.out);
    for (int environment = 0; environment < ENVIRONMENTS; environment++) {
        set_environment(environment);
        uint64_t before = control_word();
        run_all();
        uint64_t after = control_word();
        set_environment(0);
        struct digest got = sha256(data.out, sizeof data.out);
        EXPECT(before == after, "environment %d: control word %#lx became %#lx", environment, (unsigned long)before,
               (unsigned long)after);
        EXPECT(strcmp(got.text, wanted.text) == 0, "environment %d changed a result", environment);
    }
}
END_TEST

START_TEST(sticky_flags_are_kept)
{
    make_data();
    for (int flags = 0; flags <= FE_ALL_EXCEPT; flags += FE_ALL_EXCEPT) {
        feclearexcept(FE_ALL_EXCEPT);
        feraiseexcept(flags);
        run_all();
        EXPECT(fetestexcept(FE_ALL_EXCEPT) == flags, "sticky flags %#x became %#x", (unsigned)flags,
               (unsigned)fetestexcept(FE_ALL_EXCEPT));
    }
    feclearexcept(FE_ALL_EXCEPT);
}
END_TEST

START_TEST(unmasked_exceptions_do_not_fire)
{
    make_data();
    run_all();
    struct digest wanted = sha256(data.out, sizeof data.out);
    feclearexcept(FE_ALL_EXCEPT);
    if (!traps_enable()) {
        printf("skipped unmasked exceptions: this CPU does not trap them\n");
        return;
    }
    const bool enabled = traps_are_enabled();
    run_all();
    EXPECT(traps_are_enabled() == enabled, "the exception mask was not restored");
    /* A base that is NaN or infinite is rejected by its bits. */
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(8);
    static const uint64_t signalling = UINT64_C(0x7ff0000000000001);
    memcpy(&spec.base, &signalling, sizeof spec.base);
    inlay_sinusoid *none;
    inlay_status status = inlay_sinusoid_create(&spec, NULL, &none);
    traps_disable();
    EXPECT(status == INLAY_ERROR_BASE, "a signalling NaN is a base");
    struct digest got = sha256(data.out, sizeof data.out);
    EXPECT(strcmp(got.text, wanted.text) == 0, "unmasked exceptions changed a result");
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "environment", NULL, NULL, rounding_modes_and_flush_to_zero, sticky_flags_are_kept,
                     unmasked_exceptions_do_not_fire);
}
