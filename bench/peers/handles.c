/* SPDX-License-Identifier: MIT */
/*
 * Wraps inline functions and structs of the header for Python: layers, batches, and an executor on OpenMP threads. Only
 * three parts of the measured code are here: that executor, the consumer of an output, and the loop in peers_repeat.
 */
#include <inlay/inlay.h>

static inlay_layer *create(const void *table, size_t vocab, size_t dim, const inlay_sinusoid *sinusoid,
                           const inlay_table *positions, size_t seq)
{
    inlay_table tokens = inlay_table_f32(table, vocab, dim);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.scale = inlay_sqrt_dim(dim);
    spec.sinusoid = sinusoid;
    spec.positions = positions;
    spec.cached_positions = seq;
    inlay_layer *layer;
    return inlay_layer_create(&spec, NULL, &layer) == INLAY_OK ? layer : NULL;
}

/* Returns exact sinusoids, or null on failure. */
INLAY_API inlay_sinusoid *peers_sinusoid(size_t dim)
{
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(dim);
    inlay_sinusoid *sinusoid;
    return inlay_sinusoid_create(&spec, NULL, &sinusoid) == INLAY_OK ? sinusoid : NULL;
}

/* Returns a layer with sinusoids, cached for positions below seq, or null on failure. */
INLAY_API inlay_layer *peers_sinusoid_layer(const void *table, size_t vocab, size_t dim, const inlay_sinusoid *sinusoid,
                                            size_t seq)
{
    return create(table, vocab, dim, sinusoid, NULL, seq);
}

/* Returns a layer with learned positions [seq, dim], or null on failure. */
INLAY_API inlay_layer *peers_learned_layer(const void *table, size_t vocab, size_t dim, const void *positions,
                                           size_t seq)
{
    inlay_table rows = inlay_table_f32(positions, seq, dim);
    return create(table, vocab, dim, NULL, &rows, 0);
}

/* Returns the layer of an encoder, with learned positions [seq, dim], segments [2, dim] and LayerNorm, or null on
   failure. */
INLAY_API inlay_layer *peers_encoder_layer(const void *table, size_t vocab, size_t dim, const void *positions,
                                           size_t seq, const void *segments, const void *gamma, const void *beta,
                                           float epsilon)
{
    inlay_table tokens = inlay_table_f32(table, vocab, dim), rows = inlay_table_f32(positions, seq, dim);
    inlay_table types = inlay_table_f32(segments, 2, dim);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.positions = &rows;
    spec.segments = &types;
    spec.segments_first = 1;
    spec.norm = INLAY_NORM_LAYER;
    spec.gamma = gamma;
    spec.beta = beta;
    spec.epsilon = epsilon;
    inlay_layer *layer;
    return inlay_layer_create(&spec, NULL, &layer) == INLAY_OK ? layer : NULL;
}

INLAY_API size_t peers_batch_bytes(void)
{
    return sizeof(inlay_batch);
}

/* `segment_ids` may be null. */
INLAY_API void peers_batch(inlay_batch *batch, const int64_t *ids, const int64_t *segment_ids, size_t sequences,
                           size_t length)
{
    *batch = inlay_batch_i64(ids, sequences, length, 0);
    batch->segment_ids = segment_ids;
    batch->segment_id_type = segment_ids ? INLAY_ID_I64 : (inlay_id_type)0;
}

static void run(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    const inlay_executor *executor = ctx;
#pragma omp parallel for schedule(dynamic) num_threads((int)executor->threads)
    for (size_t i = 0; i < count; i++)
        task(arg, i);
}

/* Returns the executor, after setting its number of threads. */
INLAY_API const inlay_executor *peers_executor(size_t threads)
{
    static inlay_executor executor;
    executor = (inlay_executor){&executor, run, threads};
    return &executor;
}

#ifdef __x86_64__
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static uint32_t
sum(const uint32_t *x, size_t n)
{
    uint32_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += x[i];
    return total;
}

/* Returns the sum of an output of [n] words, in place of its consumer. Each thread reads an equal part. */
INLAY_API uint32_t peers_read(const uint32_t *out, size_t n, size_t threads)
{
    if (threads == 1)
        return sum(out, n);
    uint32_t total = 0;
#pragma omp parallel for schedule(static) reduction(+ : total) num_threads((int)threads)
    for (size_t i = 0; i < threads; i++)
        total += sum(out + n * i / threads, n * (i + 1) / threads - n * i / threads);
    return total;
}

/* Makes calls without Python in between, and reads [read] words of each output. */
INLAY_API void peers_repeat(size_t calls, const inlay_layer *layer, const inlay_batch *batch, void *out,
                            size_t out_stride_bytes, const inlay_executor *executor, size_t read)
{
    while (calls--) {
        inlay_forward(layer, batch, out, out_stride_bytes, executor, NULL);
        peers_read(out, read, executor ? executor->threads : 1);
    }
}
