/* SPDX-License-Identifier: MIT */
/*
 * Bytes become a layer and a batch: small sizes, every option, and values that no caller should send. Every ISA that
 * runs here must come to the same status, place of the fault and output as scalar does; every array has exactly the
 * bytes that a call may touch. For libFuzzer, and for replay.c, which has no more than a corpus.
 */
#include "dispatch/dispatch.h"
#include "dispatch/kernels.h"

#include <inlay/inlay.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 1 << 19, MOST_BLOCKS = 32, PATTERN = 0xa5 };

struct reader {
    const uint8_t *at, *end;
    uint64_t state; /* of what arrays are filled with */
    void *blocks[MOST_BLOCKS];
    size_t n_blocks;
    bool impossible; /* sizes that the library may believe, but nobody here has */
};

/* Past the end all is 0, which stands for what is ordinary. */
static unsigned byte(struct reader *reader)
{
    return reader->at < reader->end ? *reader->at++ : 0;
}

static bool rarely(struct reader *reader)
{
    return byte(reader) >= 250;
}

static uint64_t mixed(struct reader *reader)
{
    uint64_t z = (reader->state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A number below n, or one of those that must be refused. */
static size_t size_below(struct reader *reader, size_t n)
{
    static const size_t hostile[] = {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX / 2 + 1};
    unsigned b = byte(reader);
    return b >= 253 ? hostile[b - 253] : b % n;
}

static int64_t number(struct reader *reader, int64_t limit)
{
    const int64_t hostile[] = {-1,
                               limit,
                               (int64_t)((uint64_t)limit + 1),
                               (int64_t)((uint64_t)limit - 1),
                               INT32_MIN,
                               INT64_MIN,
                               INT64_MAX,
                               UINT32_MAX,
                               INT32_MAX,
                               INLAY_POSITION_LIMIT - 3,
                               INLAY_POSITION_LIMIT,
                               INT64_C(1) << 32,
                               UINT8_MAX,
                               UINT16_MAX,
                               INT16_MIN,
                               -2};
    unsigned b = byte(reader);
    return b >= 240 ? hostile[b - 240] : b;
}

static float real(struct reader *reader)
{
    static const float values[] = {1, 0.5f, 22.627417f, -3, 0, -0.0f, 0x1p-140f, 0x1p127f};
    unsigned b = byte(reader);
    uint32_t bits = 0;
    if (b < 248)
        return values[b % 8];
    for (int i = 0; i < 4; i++)
        bits = bits << 8 | byte(reader);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A value of an enum that has so many, and now and then one more. */
static unsigned option(struct reader *reader, unsigned first, unsigned n)
{
    static const unsigned hostile[] = {0, 99, UINT32_MAX};
    unsigned b = byte(reader);
    return b >= 253 ? (b == 253 ? first + n : hostile[b - 253]) : first + b % n;
}

/* No more than 2^63, which is past every limit. */
static unsigned __int128 product(size_t a, size_t b)
{
    const unsigned __int128 most = (unsigned __int128)1 << 63, exact = (unsigned __int128)a * b;
    return exact < most ? exact : most;
}

/* n elements that end where their block does, at any address. */
static unsigned char *block_of(struct reader *reader, unsigned __int128 bytes)
{
    size_t offset = byte(reader) % 8;
    if (bytes > MOST_BYTES) {
        reader->impossible = reader->impossible || bytes <= PTRDIFF_MAX;
        bytes = 0;
    }
    unsigned char *block = malloc((size_t)bytes + offset + (bytes == 0));
    if (block == NULL || reader->n_blocks == MOST_BLOCKS)
        abort();
    reader->blocks[reader->n_blocks++] = block;
    return block + offset;
}

static unsigned char *floats(struct reader *reader, unsigned __int128 n)
{
    static const float special[] = {0, -0.0f, 0x1p-149f, __builtin_inff(), -__builtin_inff(), __builtin_nanf("")};
    unsigned char *to = block_of(reader, n * sizeof(float));
    if (n * sizeof(float) > MOST_BYTES)
        return to;
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = mixed(reader);
        float value = (float)(int32_t)bits * 0x1p-30f;
        if (bits >> 60 == 0)
            value = special[(bits >> 32) % (sizeof special / sizeof *special)];
        memcpy(to + i * sizeof value, &value, sizeof value);
    }
    return to;
}

static unsigned char *noise(struct reader *reader, unsigned __int128 n)
{
    unsigned char *to = block_of(reader, n);
    for (size_t i = 0; n <= MOST_BYTES && i < n; i++)
        to[i] = (unsigned char)mixed(reader);
    return to;
}

static size_t id_bytes(inlay_id_type type)
{
    static const size_t bytes[] = {0, 4, 8, 1, 2, 2, 4};
    return (unsigned)type < sizeof bytes / sizeof *bytes ? bytes[type] : 1;
}

static const void *ids(struct reader *reader, unsigned __int128 n, inlay_id_type type, int64_t limit)
{
    unsigned char *to = block_of(reader, n * id_bytes(type));
    if (n * id_bytes(type) > MOST_BYTES || n > 4096)
        return to;
    uint64_t fallback = limit > 0 ? (uint64_t)limit : 1;
    for (size_t i = 0; i < n; i++) {
        int64_t value = reader->at < reader->end ? number(reader, limit) : (int64_t)(mixed(reader) % fallback);
        if (value >= limit && value < 240 && limit > 0)
            value %= limit;
        memcpy(to + i * id_bytes(type), &value, id_bytes(type));
    }
    return to;
}

/* A struct whose size may be that of another version. */
struct view {
    inlay_table rows;
    uint64_t behind;
};

static void later(struct reader *reader, size_t *size, uint64_t *behind)
{
    static const size_t sizes[] = {0, 1, 1025, SIZE_MAX};
    *behind = 0;
    if (!rarely(reader))
        return;
    unsigned b = byte(reader);
    *behind = b & 1;
    *size = b & 2 ? *size + 8 : b & 4 ? *size - 1 : sizes[b >> 3 & 3];
}

static void table(struct reader *reader, struct view *view, size_t dim)
{
    inlay_table *rows = &view->rows;
    *rows = inlay_table_f32(NULL, size_below(reader, 12), rarely(reader) ? size_below(reader, 5) : dim);
    rows->type = (inlay_element_type)option(reader, 1, INLAY_ELEMENT_TYPES - 1);
    bool grouped = rows->type == INLAY_U4_GROUPED;
    if (grouped)
        rows->group = rarely(reader) ? byte(reader) : 32u << byte(reader) % 3;
    else
        rows->group = rarely(reader);
    size_t row_bytes = inlay_table_row_bytes(rows->type, rows->dim);
    rows->stride_bytes = rarely(reader) ? size_below(reader, 64) : row_bytes + byte(reader) % 8;
    unsigned __int128 bytes = 0;
    if (rows->rows > 0)
        bytes = product(rows->rows - 1, rows->stride_bytes) + row_bytes;
    if (rows->rows > 0 && !rarely(reader))
        rows->data =
            rows->type == INLAY_F32 && rows->stride_bytes % 4 == 0 ? floats(reader, bytes / 4) : noise(reader, bytes);
    size_t scales = grouped && rows->group > 0 ? rows->dim / rows->group : 1;
    if (grouped || rows->type == INLAY_I8 || rows->type == INLAY_I8_INVERSE || rarely(reader))
        rows->scales = rarely(reader) ? NULL : floats(reader, product(rows->rows, scales));
    if (grouped ? byte(reader) % 2 : rarely(reader))
        rows->zeros = noise(reader, product(rows->rows, scales / 2 + scales % 2));
    later(reader, &rows->size, &view->behind);
}

static void run_backwards(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    (void)ctx;
    while (count > 0)
        task(arg, --count);
}

/* Held positions are no larger than this fuzzer has time for. */
static void *allocate(void *ctx, size_t bytes)
{
    (void)ctx;
    return bytes <= MOST_BYTES ? malloc(bytes) : NULL;
}

static void release(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

struct call {
    inlay_tuning tuning;
    struct view tokens, positions, segments;
    struct {
        inlay_layer_spec spec;
        uint64_t behind;
    } layer;
    struct {
        inlay_batch batch;
        uint64_t behind;
    } batch;
    inlay_executor executor;
    bool threads;
    size_t out_stride_bytes, out_bytes; /* none where they overflow */
    size_t rows;
};

static void read_layer(struct reader *reader, struct call *call, size_t dim, inlay_sinusoid **sinusoid)
{
    inlay_layer_spec *spec = &call->layer.spec;
    table(reader, &call->tokens, dim);
    inlay_table *tokens = &call->tokens.rows;
    dim = tokens->dim;
    if (byte(reader) % 4 == 3) {
        tokens->first_row = size_below(reader, 8);
        tokens->vocab = rarely(reader) ? size_below(reader, 16) : tokens->first_row + tokens->rows + byte(reader) % 4;
    }
    *spec = inlay_layer_spec_default(rarely(reader) ? NULL : tokens);
    unsigned kind = byte(reader) % 8;
    if (kind >= 4 && kind < 7 && dim > 0 && dim < 8192) {
        inlay_sinusoid_spec formula = inlay_sinusoid_spec_default(rarely(reader) ? dim + 1 : dim);
        formula.layout = (inlay_sinusoid_layout)(1 + byte(reader) % 3);
        formula.odd = (inlay_sinusoid_odd)(1 + byte(reader) % 3);
        if (inlay_sinusoid_create(&formula, NULL, sinusoid) != INLAY_OK)
            abort();
        spec->sinusoid = *sinusoid;
        spec->cached_positions = size_below(reader, 40);
    }
    if (kind == 1 || kind == 2 || kind == 7) {
        table(reader, &call->positions, dim);
        spec->positions = &call->positions.rows;
        spec->clamp_positions = option(reader, 0, 2);
        if (kind == 7 && rarely(reader))
            call->positions.rows.vocab = call->positions.rows.rows + 1;
    }
    unsigned segmented = byte(reader);
    if (segmented % 4 == 1) {
        table(reader, &call->segments, dim);
        spec->segments = &call->segments.rows;
        spec->segments_first = segmented / 4 % 3; /* 2 is no option */
    }
    spec->scale = real(reader);
    spec->stores = (inlay_stores)option(reader, 0, 3);
    inlay_tuning *tuning = &call->tuning;
    *tuning = inlay_tuning_default();
    spec->tuning = tuning;
    tuning->stream_bytes = size_below(reader, 255);
    tuning->compute_bytes = size_below(reader, 255);
    tuning->block_bytes = byte(reader) * (size_t)100;
    unsigned ahead = byte(reader);
    tuning->prefetch_bytes = ahead * (size_t)100;
    tuning->l2_bytes = ahead % 2 ? 0 : (size_t)1 << 20;
    spec->padding_id = byte(reader) % 2 ? number(reader, (int64_t)tokens->rows) : -1;
    spec->substitute_id = number(reader, (int64_t)tokens->rows) % 16;
    spec->bad_id = (inlay_bad_id)option(reader, 0, 5);
    spec->zero_rows = (inlay_zero_rows)option(reader, 0, 2);
    if (byte(reader) % 4 == 1)
        spec->position_mode = (inlay_position_mode)option(reader, 0, 2);
    if (byte(reader) % 4 == 1) {
        spec->norm = (inlay_norm)option(reader, 0, 3);
        spec->epsilon = byte(reader) % 2 ? 1e-5f : real(reader);
        if (byte(reader) % 2)
            spec->gamma = floats(reader, dim);
        if (byte(reader) % 4 == 1)
            spec->beta = floats(reader, dim);
    }
    if (byte(reader) % 4 == 1)
        spec->pooling = (inlay_pooling)option(reader, 0, 3);
    spec->out_type = (inlay_element_type)option(reader, 1, 3);
    later(reader, &spec->size, &call->layer.behind);
}

static void read_batch(struct reader *reader, struct call *call)
{
    const inlay_layer_spec *spec = &call->layer.spec;
    const inlay_table *tokens_view = &call->tokens.rows;
    inlay_batch *batch = &call->batch.batch;
    int64_t vocab = (int64_t)(tokens_view->vocab > 0 ? tokens_view->vocab : tokens_view->rows);
    *batch = inlay_batch_i32(NULL, size_below(reader, 6), size_below(reader, 12), 0);
    if (batch->length < 12 && rarely(reader))
        batch->length *= 13;
    batch->id_type = (inlay_id_type)option(reader, 1, 6);
    unsigned __int128 tokens = product(batch->sequences, batch->length);
    if (byte(reader) % 2) {
        unsigned __int128 n = (unsigned __int128)batch->sequences + 1;
        unsigned char *offsets = block_of(reader, n * 8);
        int64_t at = 0;
        for (size_t b = 0; n <= 6 && b < n; b++) {
            memcpy(offsets + b * 8, &at, 8);
            int64_t value = rarely(reader) ? number(reader, at) : (int64_t)((uint64_t)at + byte(reader) % 6);
            at = value;
        }
        if (n <= 6)
            memcpy(&at, offsets + (size_t)(n - 1) * 8, 8);
        if (batch->length < 255 && at >= 0 && at < 300 && !rarely(reader))
            batch->length = (size_t)at;
        tokens = batch->length;
        batch->offsets = (const int64_t *)(const void *)offsets;
        if (byte(reader) % 2)
            batch->padded_length = size_below(reader, 14);
    } else {
        batch->padded_length = rarely(reader);
    }
    if (!rarely(reader))
        batch->ids = ids(reader, tokens, batch->id_type, vocab);
    int64_t limit = spec->sinusoid != NULL    ? INLAY_POSITION_LIMIT
                    : spec->positions != NULL ? (int64_t)spec->positions->rows
                                              : 0;
    batch->start = number(reader, limit);
    if (byte(reader) % 4 == 1)
        batch->starts = ids(reader, batch->sequences, INLAY_ID_I64, limit);
    if (byte(reader) % 4 == 1 && (limit > 0 || rarely(reader))) {
        batch->position_id_type = (inlay_id_type)option(reader, 1, 6);
        batch->position_ids = ids(reader, tokens, batch->position_id_type, limit < 50 ? limit : 50);
    }
    if (byte(reader) % 2 && (spec->segments != NULL || rarely(reader))) {
        batch->segment_id_type = (inlay_id_type)option(reader, 1, 6);
        batch->segment_ids = ids(reader, tokens, batch->segment_id_type, (int64_t)call->segments.rows.rows);
    }
    if (byte(reader) % 4 == 1 && (spec->pooling != INLAY_POOLING_NONE || rarely(reader)))
        batch->weights = floats(reader, tokens);
    if (byte(reader) % 4 == 1) {
        batch->dropout = real(reader);
        batch->dropout_key = byte(reader);
        batch->dropout_offset = byte(reader);
    }
    later(reader, &batch->size, &call->batch.behind);
    unsigned __int128 rows = spec->pooling != INLAY_POOLING_NONE ? batch->sequences
                             : batch->padded_length > 0          ? product(batch->sequences, batch->padded_length)
                                                                 : tokens;
    size_t row_bytes = inlay_table_row_bytes(spec->out_type, tokens_view->dim);
    call->out_stride_bytes = rarely(reader) ? size_below(reader, 64) : row_bytes + byte(reader) % 70;
    unsigned __int128 bytes = rows > 0 ? (rows - 1) * call->out_stride_bytes + row_bytes : 0;
    if (bytes > MOST_BYTES)
        reader->impossible = reader->impossible || bytes <= PTRDIFF_MAX;
    call->rows = bytes > MOST_BYTES ? 0 : (size_t)rows;
    call->out_bytes = bytes > MOST_BYTES ? 0 : (size_t)bytes;
    call->threads = byte(reader) % 2;
    call->executor = (inlay_executor){NULL, rarely(reader) ? NULL : run_backwards, size_below(reader, 9)};
}

static bool is_nan(const unsigned char *at, inlay_element_type type)
{
    uint32_t bits = at[0] | (uint32_t)at[1] << 8;
    if (type == INLAY_F32)
        return ((bits | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24) & INT32_MAX) > 0x7f800000;
    return (bits & 0x7fff) > (type == INLAY_F16 ? 0x7c00 : 0x7f80);
}

/* The same bytes, or both NaN. */
static bool same(const struct call *call, const unsigned char *a, const unsigned char *b)
{
    inlay_element_type type = call->layer.spec.out_type;
    size_t element = type == INLAY_F32 ? 4 : 2, row_bytes = inlay_table_row_bytes(type, call->tokens.rows.dim);
    if (memcmp(a, b, call->out_bytes) == 0)
        return true;
    for (size_t row = 0; row < call->rows; row++)
        for (size_t i = 0; i < call->out_stride_bytes; i += element) {
            size_t at = row * call->out_stride_bytes + i;
            if (i >= row_bytes) { /* between rows */
                size_t gap = row + 1 < call->rows ? call->out_stride_bytes - i : 0;
                if (memcmp(a + at, b + at, gap) != 0)
                    return false;
                break;
            }
            if (memcmp(a + at, b + at, element) != 0 && !(is_nan(a + at, type) && is_nan(b + at, type)))
                return false;
        }
    return true;
}

static void demand(bool holds, const char *what, const struct inlay_kernels *kernels)
{
    if (!holds) {
        fprintf(stderr, "%s on %s\n", what, kernels->name);
        abort();
    }
}

/* What a call came to on one ISA. */
struct result {
    inlay_status created, status;
    inlay_fault fault;
    unsigned char *out;
};

static struct result run(struct reader *reader, const struct call *call, const struct inlay_kernels *kernels)
{
    static const inlay_allocator allocator = {NULL, allocate, release};
    struct result result = {.fault = {77, 77, 77}, .out = block_of(reader, call->out_bytes)};
    if (call->out_bytes > 0)
        memset(result.out, PATTERN, call->out_bytes);
    inlay_layer *layer;
    inlay_dispatch_use(kernels);
    result.created = inlay_layer_create(&call->layer.spec, &allocator, &layer);
    demand((result.created == INLAY_OK) == (layer != NULL), "a handle", kernels);
    if (result.created == INLAY_OK)
        result.status = inlay_forward(layer, &call->batch.batch, result.out, call->out_stride_bytes,
                                      call->threads ? &call->executor : NULL, &result.fault);
    inlay_layer_destroy(layer);
    if (result.created != INLAY_OK || result.status != INLAY_OK)
        for (size_t i = 0; i < call->out_bytes; i++)
            demand(result.out[i] == PATTERN, "a failed call wrote", kernels);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t dims[] = {512, 513, 1100, 4096, 4097, 4100, SIZE_MAX / 2, SIZE_MAX};
    struct reader reader = {data, data + size, size, {NULL}, 0, false};
    struct call call;
    memset(&call, 0, sizeof call);
    inlay_sinusoid *sinusoid = NULL;
    unsigned b = byte(&reader);
    size_t dim = b >= 248 ? dims[b - 248] : b >= 192 ? (b - 191) * (size_t)32 % 288 : b % 100;
    read_layer(&reader, &call, dim, &sinusoid);
    read_batch(&reader, &call);
    const struct inlay_kernels *kernels;
    bool runs;
    if (!reader.impossible) {
        struct result scalar = run(&reader, &call, &inlay_kernels_scalar);
        for (size_t i = 0; (kernels = inlay_dispatch_at(i, &runs)) != NULL; i++) {
            if (!runs || kernels == &inlay_kernels_scalar)
                continue;
            struct result result = run(&reader, &call, kernels);
            demand(result.created == scalar.created && result.status == scalar.status, "another status", kernels);
            demand(memcmp(&result.fault, &scalar.fault, sizeof scalar.fault) == 0, "another fault", kernels);
            demand(same(&call, result.out, scalar.out), "other rows", kernels);
        }
        inlay_dispatch_use(NULL);
    }
    inlay_sinusoid_destroy(sinusoid);
    for (size_t i = 0; i < reader.n_blocks; i++)
        free(reader.blocks[i]);
    return 0;
}
