/* SPDX-License-Identifier: MIT */
/*
 * Calls that instructions.py counts under callgrind. Each case is a separate function, never inlined and named
 * count_<case>, so the profile lists its cost. main() first makes the same calls once, to resolve symbols and choose
 * the ISA. The tables hold small numbers; results are ignored.
 */
#include "dispatch/cpu.h"
#include "dispatch/tuning.h"

#include <inlay/inlay.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    VOCAB = 1000,
    DIM = 512,
    BATCH = 32,
    SEQ = 16,
    NARROW_DIM = 64,
    NARROW_ROWS = 4096,
    WIDE_DIM = 2048,
    WIDE_VOCAB = VOCAB * DIM / WIDE_DIM,
    WIDE_ROWS = 256,
    TABLE_DIM = 1024,
    TABLE_ROWS = 64,
    FAR_DIM = 4096,
    FAR_POSITION = 5000,
};

/* Rows start at a cache line: streaming unaligned rows takes more instructions. */
static _Alignas(64) float table[VOCAB * DIM], out[WIDE_ROWS * WIDE_DIM];
static int8_t codes[VOCAB * DIM];
static float scales[VOCAB];
static int32_t ids[NARROW_ROWS];
static inlay_table tokens, narrow, wide, quantized;
static inlay_layer *layer, *quantized_layer;
static inlay_sinusoid *sinusoid, *far_sinusoid;

static void require(inlay_status status)
{
    if (status == INLAY_OK)
        return;
    fprintf(stderr, "instructions: %s\n", inlay_status_string(status));
    exit(1);
}

static void forward(const inlay_layer *with, size_t batch, size_t seq)
{
    const inlay_batch all = inlay_batch_i32(ids, batch, seq, 0);
    require(inlay_forward(with, &all, out, DIM * sizeof(float), NULL, NULL));
}

static void gather(const inlay_table *from, size_t n)
{
    require(inlay_gather(from, ids, INLAY_ID_I32, n, 1, out, from->dim * sizeof(float), NULL, NULL));
}

static void sinusoids(const inlay_sinusoid *of, int64_t position, size_t rows, size_t dim)
{
    require(inlay_sinusoid_rows(of, position, rows, INLAY_F32, out, dim * sizeof(float), NULL));
}

static __attribute__((noinline)) void count_forward_one_token(void)
{
    forward(layer, 1, 1);
}

static __attribute__((noinline)) void count_forward_batch(void)
{
    forward(layer, BATCH, SEQ);
}

static __attribute__((noinline)) void count_forward_int8(void)
{
    forward(quantized_layer, BATCH, SEQ);
}

static __attribute__((noinline)) void count_gather_one_token(void)
{
    gather(&tokens, 1);
}

static __attribute__((noinline)) void count_gather_narrow(void)
{
    gather(&narrow, NARROW_ROWS);
}

static __attribute__((noinline)) void count_gather_wide(void)
{
    gather(&wide, WIDE_ROWS);
}

static __attribute__((noinline)) void count_sinusoid_rows(void)
{
    sinusoids(sinusoid, 0, TABLE_ROWS, TABLE_DIM);
}

static __attribute__((noinline)) void count_far_position(void)
{
    sinusoids(far_sinusoid, FAR_POSITION, 1, FAR_DIM);
}

static const struct {
    const char *name;
    void (*run)(void);
    size_t per; /* the count is divided by this */
} cases[] = {
    {"forward_one_token", count_forward_one_token, 1},   {"forward_batch", count_forward_batch, BATCH *SEQ},
    {"forward_int8", count_forward_int8, BATCH *SEQ},    {"gather_one_token", count_gather_one_token, 1},
    {"gather_narrow", count_gather_narrow, NARROW_ROWS}, {"gather_wide", count_gather_wide, WIDE_ROWS},
    {"sinusoid_rows", count_sinusoid_rows, TABLE_ROWS},  {"far_position", count_far_position, 1},
};

static inlay_sinusoid *make_sinusoid(size_t dim)
{
    const inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(dim);
    inlay_sinusoid *made;
    require(inlay_sinusoid_create(&spec, NULL, &made));
    return made;
}

static inlay_layer *make_layer(const inlay_table *of)
{
    inlay_layer_spec spec = inlay_layer_spec_default(of);
    spec.scale = inlay_sqrt_dim(DIM);
    spec.sinusoid = make_sinusoid(DIM);
    spec.cached_positions = SEQ;
    inlay_layer *made;
    require(inlay_layer_create(&spec, NULL, &made));
    return made;
}

/* Sets fixed CPU values, so the results don't depend on this CPU. */
static void fix_cpu(void)
{
    static const struct inlay_cpu cpu = {.compute_bytes = 1 << 20,
                                         .short_rows = INLAY_PREFETCH_L2_LINE_AHEAD_8,
                                         .long_rows = INLAY_PREFETCH_L2_LINE_AHEAD_2};
    atomic_store(&inlay_cpu_found, &cpu);
    atomic_store(&inlay_l2_found, (size_t)1 << 20);
}

static void prepare(void)
{
    fix_cpu();
    for (size_t i = 0; i < VOCAB * DIM; i++) {
        table[i] = (float)(i % 251) - 125;
        codes[i] = (int8_t)(i % 251 - 125);
    }
    for (size_t i = 0; i < VOCAB; i++)
        scales[i] = 0.5f;
    for (size_t i = 0; i < NARROW_ROWS; i++)
        ids[i] = (int32_t)(i * 7919 % WIDE_VOCAB);
    tokens = inlay_table_f32(table, VOCAB, DIM);
    narrow = inlay_table_f32(table, VOCAB, NARROW_DIM);
    wide = inlay_table_f32(table, WIDE_VOCAB, WIDE_DIM);
    quantized = inlay_table_i8(codes, scales, VOCAB, DIM);
    layer = make_layer(&tokens);
    quantized_layer = make_layer(&quantized);
    sinusoid = make_sinusoid(TABLE_DIM);
    far_sinusoid = make_sinusoid(FAR_DIM);
}

/* Runs all cases and prints the name and divisor of each. The script reads this function's calls in the profile. */
static __attribute__((noinline)) void measure_all(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cases[i].run();
        printf("%s %zu\n", cases[i].name, cases[i].per);
    }
}

int main(void)
{
    prepare();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cases[i].run();
    measure_all();
    return 0;
}
