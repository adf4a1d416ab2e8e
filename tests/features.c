/* SPDX-License-Identifier: MIT */
/*
 * What the library can, on one ISA against scalar, bit by bit: a line per feature, of which features.py makes the table
 * of the README. Every case is a whole forward call over random data, cut for an executor that runs parts backwards.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VOCAB = 200,
    SEQUENCES = 5,
    LENGTH = 23,
    TOKENS = SEQUENCES * LENGTH,
    POSITIONS = 64,
    SEGMENTS = 3,
    MOST_DIM = 1024
};

/* All that a case may change, and the memory of it. */
struct scene {
    size_t dim;
    inlay_layer_spec spec;
    inlay_batch batch;
    inlay_table tokens, positions, segments;
    inlay_sinusoid *sinusoid;
    size_t out_rows;
    float table[VOCAB * MOST_DIM], learned[POSITIONS * MOST_DIM], types[SEGMENTS * MOST_DIM];
    float gamma[MOST_DIM], beta[MOST_DIM], weights[TOKENS];
    unsigned char stored[VOCAB * (MOST_DIM * 2 + 8)], ids[TOKENS * 8];
    float scales[VOCAB * MOST_DIM / 32];
    unsigned char zeros[VOCAB * MOST_DIM / 64];
    int64_t starts[SEQUENCES], offsets[SEQUENCES + 1], listed[TOKENS];
    uint8_t segment_ids[TOKENS];
};

static void with_ids(struct scene *scene, inlay_id_type type, const int64_t *ids)
{
    static const size_t bytes[] = {0, 4, 8, 1, 2, 2, 4};
    for (size_t i = 0; i < TOKENS; i++)
        memcpy(scene->ids + i * bytes[type], &ids[i], bytes[type]); /* little-endian, as the library is */
    scene->batch.ids = scene->ids;
    scene->batch.id_type = type;
}

static void random_ids(struct scene *scene, inlay_id_type type, int64_t low, int64_t high)
{
    struct random random = {type};
    int64_t ids[TOKENS];
    for (size_t i = 0; i < TOKENS; i++)
        ids[i] = low + (int64_t)random_below(&random, (uint64_t)(high - low));
    with_ids(scene, type, ids);
}

static void with_sinusoid(struct scene *scene, size_t held)
{
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(scene->dim);
    if (inlay_sinusoid_create(&spec, NULL, &scene->sinusoid) != INLAY_OK)
        abort();
    scene->spec.sinusoid = scene->sinusoid;
    scene->spec.cached_positions = held;
}

static void with_learned(struct scene *scene)
{
    scene->spec.positions = &scene->positions;
}

static void with_stored(struct scene *scene, inlay_element_type type)
{
    inlay_table *tokens = &scene->tokens;
    const inlay_table from = *tokens;
    tokens->data = scene->stored;
    tokens->type = type;
    tokens->stride_bytes = inlay_table_row_bytes(type, scene->dim);
    bool grouped = type == INLAY_U4_GROUPED;
    tokens->group = grouped ? 32 : 0;
    tokens->scales = grouped || type == INLAY_I8 || type == INLAY_I8_INVERSE ? scene->scales : NULL;
    tokens->zeros = grouped ? scene->zeros : NULL;
    if (quantize(&from, tokens, NULL) != INLAY_OK)
        abort();
    with_learned(scene);
}

static void with_offsets(struct scene *scene)
{
    static const int64_t offsets[SEQUENCES + 1] = {0, 40, 40, 41, 100, TOKENS};
    memcpy(scene->offsets, offsets, sizeof offsets);
    scene->batch.offsets = scene->offsets;
    scene->batch.length = TOKENS;
}

static void with_norm(struct scene *scene, inlay_norm norm)
{
    scene->spec.norm = norm;
    scene->spec.epsilon = 1e-5f;
    scene->spec.gamma = scene->gamma;
    scene->spec.beta = norm == INLAY_NORM_LAYER ? scene->beta : NULL;
}

/* What each case changes. */
static void ids_u8(struct scene *scene)
{
    random_ids(scene, INLAY_ID_U8, 0, VOCAB);
}
static void ids_u16(struct scene *scene)
{
    random_ids(scene, INLAY_ID_U16, 0, VOCAB);
}
static void ids_i16(struct scene *scene)
{
    random_ids(scene, INLAY_ID_I16, 0, VOCAB);
}
static void ids_i32(struct scene *scene)
{
    random_ids(scene, INLAY_ID_I32, 0, VOCAB);
}
static void ids_u32(struct scene *scene)
{
    random_ids(scene, INLAY_ID_U32, 0, VOCAB);
}
static void ids_i64(struct scene *scene)
{
    random_ids(scene, INLAY_ID_I64, 0, VOCAB);
}

static void bad_ids(struct scene *scene, inlay_bad_id policy)
{
    random_ids(scene, INLAY_ID_I32, -VOCAB, 2 * VOCAB);
    scene->spec.bad_id = policy;
    scene->spec.substitute_id = 7;
    with_sinusoid(scene, 16);
}
static void bad_clamp(struct scene *scene)
{
    bad_ids(scene, INLAY_BAD_ID_CLAMP);
}
static void bad_zero(struct scene *scene)
{
    bad_ids(scene, INLAY_BAD_ID_ZERO);
}
static void bad_substitute(struct scene *scene)
{
    bad_ids(scene, INLAY_BAD_ID_SUBSTITUTE);
}
static void bad_skip(struct scene *scene)
{
    bad_ids(scene, INLAY_BAD_ID_SKIP);
}

static void padding_bare(struct scene *scene)
{
    random_ids(scene, INLAY_ID_I64, 0, 3);
    scene->spec.padding_id = 1;
    with_learned(scene);
}
static void padding_positioned(struct scene *scene)
{
    padding_bare(scene);
    scene->spec.zero_rows = INLAY_ZERO_ROWS_POSITIONED;
}

static void sinusoid_held(struct scene *scene)
{
    with_sinusoid(scene, INLAY_CACHED_POSITIONS_DEFAULT);
}
static void sinusoid_computed(struct scene *scene)
{
    with_sinusoid(scene, 0);
    scene->batch.start = 2000000000;
}
static void learned(struct scene *scene)
{
    with_learned(scene);
}
static void starts(struct scene *scene)
{
    with_sinusoid(scene, 30);
    scene->batch.starts = scene->starts;
}
static void listed(struct scene *scene)
{
    with_sinusoid(scene, 30);
    scene->batch.position_ids = scene->listed;
    scene->batch.position_id_type = INLAY_ID_I64;
}
static void padding_aware(struct scene *scene)
{
    random_ids(scene, INLAY_ID_I64, 0, 3);
    with_learned(scene);
    scene->spec.padding_id = 1;
    scene->spec.zero_rows = INLAY_ZERO_ROWS_POSITIONED;
    scene->spec.position_mode = INLAY_POSITION_MODE_PADDING_AWARE;
    scene->batch.start = 2;
}
static void clamped(struct scene *scene)
{
    with_learned(scene);
    scene->spec.clamp_positions = 1;
    scene->batch.start = POSITIONS - 5;
}

static void ragged(struct scene *scene)
{
    with_offsets(scene);
    with_sinusoid(scene, 30);
}
static void padded(struct scene *scene)
{
    ragged(scene);
    scene->batch.padded_length = 70;
    scene->out_rows = SEQUENCES * 70;
}

static void f16(struct scene *scene)
{
    with_stored(scene, INLAY_F16);
}
static void bf16(struct scene *scene)
{
    with_stored(scene, INLAY_BF16);
}
static void i8(struct scene *scene)
{
    with_stored(scene, INLAY_I8);
}
static void i8_inverse(struct scene *scene)
{
    with_stored(scene, INLAY_I8_INVERSE);
}
static void u8_rowwise(struct scene *scene)
{
    with_stored(scene, INLAY_U8_ROWWISE);
}
static void u4_rowwise(struct scene *scene)
{
    with_stored(scene, INLAY_U4_ROWWISE);
}
static void u4_grouped(struct scene *scene)
{
    with_stored(scene, INLAY_U4_GROUPED);
}
static void q8_0(struct scene *scene)
{
    with_stored(scene, INLAY_Q8_0);
}
static void q4_0(struct scene *scene)
{
    with_stored(scene, INLAY_Q4_0);
}

static void out_f16(struct scene *scene)
{
    with_sinusoid(scene, 10);
    scene->spec.out_type = INLAY_F16;
}
static void out_bf16(struct scene *scene)
{
    with_learned(scene);
    scene->spec.out_type = INLAY_BF16;
}

static void segments(struct scene *scene)
{
    with_learned(scene);
    scene->spec.segments = &scene->segments;
    scene->batch.segment_ids = scene->segment_ids;
    scene->batch.segment_id_type = INLAY_ID_U8;
}
static void segments_first(struct scene *scene)
{
    with_sinusoid(scene, 10);
    scene->spec.segments = &scene->segments;
    scene->spec.segments_first = 1;
    scene->batch.segment_ids = scene->segment_ids;
    scene->batch.segment_id_type = INLAY_ID_U8;
}
static void layer_norm(struct scene *scene)
{
    segments(scene);
    with_norm(scene, INLAY_NORM_LAYER);
}
static void rms_norm(struct scene *scene)
{
    with_norm(scene, INLAY_NORM_RMS);
}

static void pooled(struct scene *scene, inlay_pooling pooling)
{
    with_offsets(scene);
    scene->spec.pooling = pooling;
    scene->out_rows = SEQUENCES;
}
static void bag_sum(struct scene *scene)
{
    pooled(scene, INLAY_POOLING_SUM);
}
static void bag_mean(struct scene *scene)
{
    pooled(scene, INLAY_POOLING_MEAN);
}
static void bag_weighted(struct scene *scene)
{
    pooled(scene, INLAY_POOLING_SUM);
    scene->batch.weights = scene->weights;
}

static void dropout(struct scene *scene)
{
    with_learned(scene);
    scene->batch.dropout = 0.1f;
    scene->batch.dropout_key = 42;
}

static void shard(struct scene *scene)
{
    with_learned(scene);
    scene->tokens.first_row = VOCAB / 4;
    scene->tokens.rows = VOCAB / 2;
    scene->tokens.vocab = VOCAB;
}

static const struct {
    const char *feature, *name;
    void (*set)(struct scene *scene);
} cases[] = {
    {"ids", "u8", ids_u8},
    {"ids", "u16", ids_u16},
    {"ids", "i16", ids_i16},
    {"ids", "i32", ids_i32},
    {"ids", "u32", ids_u32},
    {"ids", "i64", ids_i64},
    {"bad ids", "clamped", bad_clamp},
    {"bad ids", "zeros", bad_zero},
    {"bad ids", "substituted", bad_substitute},
    {"bad ids", "skipped", bad_skip},
    {"padding", "zeros", padding_bare},
    {"padding", "zeros with positions", padding_positioned},
    {"positions", "sinusoids held", sinusoid_held},
    {"positions", "sinusoids computed at 2,000,000,000", sinusoid_computed},
    {"positions", "learned", learned},
    {"positions", "a start for each sequence", starts},
    {"positions", "one for each token", listed},
    {"positions", "numbered around padding", padding_aware},
    {"positions", "clamped to the last", clamped},
    {"ragged batches", "packed", ragged},
    {"ragged batches", "padded", padded},
    {"stored types", "float16", f16},
    {"stored types", "bfloat16", bf16},
    {"stored types", "int8", i8},
    {"stored types", "int8 of CTranslate2", i8_inverse},
    {"stored types", "8-bit rowwise", u8_rowwise},
    {"stored types", "4-bit rowwise", u4_rowwise},
    {"stored types", "4-bit in groups", u4_grouped},
    {"stored types", "Q8_0", q8_0},
    {"stored types", "Q4_0", q4_0},
    {"output types", "float16", out_f16},
    {"output types", "bfloat16", out_bf16},
    {"segments and norms", "segments", segments},
    {"segments and norms", "segments before positions", segments_first},
    {"segments and norms", "LayerNorm", layer_norm},
    {"segments and norms", "RMSNorm", rms_norm},
    {"pooling", "sum", bag_sum},
    {"pooling", "mean", bag_mean},
    {"pooling", "weighted", bag_weighted},
    {"training", "dropout", dropout},
    {"shards", "a part of the vocabulary", shard},
};

static void fill(struct random *random, float *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = (float)(int32_t)random_bits(random) * 0x1p-30f;
}

static void set_up(struct scene *scene, size_t dim)
{
    struct random random = {dim};
    *scene = (struct scene){.dim = dim, .out_rows = TOKENS};
    fill(&random, scene->table, VOCAB * dim);
    fill(&random, scene->learned, POSITIONS * dim);
    fill(&random, scene->types, SEGMENTS * dim);
    fill(&random, scene->gamma, dim);
    fill(&random, scene->beta, dim);
    fill(&random, scene->weights, TOKENS);
    scene->tokens = inlay_table_f32(scene->table, VOCAB, dim);
    scene->positions = inlay_table_f32(scene->learned, POSITIONS, dim);
    scene->segments = inlay_table_f32(scene->types, SEGMENTS, dim);
    for (size_t b = 0; b < SEQUENCES; b++)
        scene->starts[b] = (int64_t)random_below(&random, 40);
    for (size_t i = 0; i < TOKENS; i++) {
        scene->listed[i] = (int64_t)random_below(&random, POSITIONS);
        scene->segment_ids[i] = (uint8_t)random_below(&random, SEGMENTS);
    }
    scene->spec = inlay_layer_spec_default(&scene->tokens);
    scene->spec.scale = inlay_sqrt_dim(dim);
    scene->batch = inlay_batch_i32(NULL, SEQUENCES, LENGTH, 0);
    random_ids(scene, INLAY_ID_I32, 0, VOCAB);
}

static void backwards(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    (void)ctx;
    while (count-- > 0)
        task(arg, count);
}

/* The output of a case, on these kernels. */
static bool run(const struct scene *scene, const struct inlay_kernels *kernels, const inlay_executor *executor,
                unsigned char *out, size_t bytes, size_t row_bytes)
{
    inlay_layer *layer;
    inlay_dispatch_use(kernels);
    memset(out, 0x5a, bytes);
    inlay_status status = inlay_layer_create(&scene->spec, NULL, &layer);
    if (status == INLAY_OK)
        status = inlay_forward(layer, &scene->batch, out, row_bytes, executor, NULL);
    inlay_layer_destroy(layer);
    if (status != INLAY_OK)
        printf("%s\n", inlay_status_string(status));
    return status == INLAY_OK;
}

static bool equal(size_t i, struct scene *scene, size_t dim, unsigned char *out, unsigned char *oracle)
{
    const inlay_executor executor = {.run = backwards, .threads = 3};
    const struct inlay_kernels *scalar = NULL;
    bool runs;
    for (size_t k = 0; inlay_dispatch_at(k, &runs) != NULL; k++)
        scalar = inlay_dispatch_at(k, &runs);
    set_up(scene, dim);
    cases[i].set(scene);
    size_t row_bytes = dim * (scene->spec.out_type == INLAY_F32 ? 4 : 2), bytes = scene->out_rows * row_bytes;
    bool same = run(scene, scalar, NULL, oracle, bytes, row_bytes) &&
                run(scene, tested, &executor, out, bytes, row_bytes) && memcmp(out, oracle, bytes) == 0;
    inlay_sinusoid_destroy(scene->sinusoid);
    return same;
}

int main(int argc, char **argv)
{
    static const size_t dims[] = {32, 96, 128, 384, 1024};
    static struct scene scene;
    static unsigned char out[SEQUENCES * 70 * MOST_DIM * 4], oracle[sizeof out];
    if (!test_isa(argc > 1 ? argv[1] : NULL))
        return EXIT_SKIP;
    bool good = true;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool same = true;
        for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
            same = equal(i, &scene, dims[d], out, oracle) && same;
        printf("%s\t%s\t%s\n", cases[i].feature, cases[i].name, same ? "exact" : "DIFFERS");
        good = good && same;
    }
    return good ? 0 : 1;
}
