/* SPDX-License-Identifier: MIT */
/*
 * Implements a trial: its arena, executor, random data, hash and error.
 */
#include "selftest/check.h"

#include <stdarg.h>
#include <string.h>

#include "text/message.h"

/* ---- The arena -------------------------------------------------------------------------------------------------- */

enum { ARENA_BYTES = 1 << 23, LINE = 64 };

static unsigned char *arena; /* [ARENA_BYTES], from the first trial on */
static size_t arena_used;

/* Returns cache lines filled with a pattern, one more than needed, so that the array can be shifted. */
static void *allocate(void *ctx, size_t bytes)
{
    (void)ctx;
    const size_t whole = (bytes / LINE + 2) * LINE;
    if (whole > ARENA_BYTES - arena_used)
        out_of_memory("a check", (double)whole);
    arena_used += whole;
    return memset(arena + arena_used - whole, 0x5a, whole);
}

static void release(void *ctx, void *memory)
{
    (void)ctx;
    (void)memory;
}

const inlay_allocator in_arena = {NULL, allocate, release};

void *trial_array(struct trial *trial, size_t size)
{
    return (unsigned char *)allocate(NULL, size) + trial->shift;
}

/* ---- Random data ------------------------------------------------------------------------------------------------ */

uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

void *trial_noise(struct trial *trial, size_t size, uint64_t seed)
{
    unsigned char *noise = trial_array(trial, size);
    for (size_t i = 0; i < size; i++)
        noise[i] = (unsigned char)next_random(&seed);
    return noise;
}

/* Numbers have 24 bits, so they are exact in every rounding mode. The largest magnitude is 2. */
void *trial_floats(struct trial *trial, size_t n, uint64_t seed)
{
    static const uint32_t special[] = {0x80000000, 0, 0x00000001, 0x807fffff, 0x00800000, 0x3f800000};
    unsigned char *floats = trial_array(trial, n * sizeof(float));
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = next_random(&seed);
        const float x = (float)((int32_t)(bits & 0xffffff) - 0x800000) * 0x1p-22f;
        const void *value = bits >> 58 == 0 ? (const void *)&special[(bits >> 32) % 6] : &x;
        memcpy(floats + i * sizeof x, value, sizeof x);
    }
    return floats;
}

void *trial_ids(struct trial *trial, inlay_id_type type, size_t n, int64_t low, uint64_t count, uint64_t *state)
{
    static const size_t sizes[] = {[INLAY_ID_I32] = 4, [INLAY_ID_I64] = 8, [INLAY_ID_U8] = 1,
                                   [INLAY_ID_U16] = 2, [INLAY_ID_I16] = 2, [INLAY_ID_U32] = 4};
    unsigned char *ids = trial_array(trial, n * sizeof(int64_t));
    for (size_t i = 0; i < n; i++) {
        const int64_t id = low + (int64_t)(next_random(state) % count);
        memcpy(ids + i * sizes[type], &id, sizes[type]); /* little-endian */
    }
    return ids;
}

/* ---- Results ---------------------------------------------------------------------------------------------------- */

struct trial trial_begin(void)
{
    if (arena == NULL)
        arena = xcalloc(1, ARENA_BYTES, "a check");
    arena_used = -(uintptr_t)arena % LINE;             /* align arrays to cache lines */
    return (struct trial){.hash = 0xcbf29ce484222325}; /* the FNV-1a offset basis */
}

void trial_bytes(struct trial *trial, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        trial->hash = (trial->hash ^ bytes[i]) * 0x100000001b3;
}

/* The sign and payload of NaNs may differ between machines, so every NaN is replaced by the one in PyTorch's
   results. */
void trial_rows(struct trial *trial, const void *rows, size_t n, size_t dim, size_t stride_bytes,
                inlay_element_type type)
{
    const size_t bytes = type == INLAY_F32 ? 4 : 2;
    const uint32_t infinity = type == INLAY_F32 ? 0x7f800000 : type == INLAY_F16 ? 0x7c00 : 0x7f80;
    const uint32_t magnitude = type == INLAY_F32 ? 0x7fffffff : 0x7fff;
    const uint32_t nan = type == INLAY_F32 ? 0x7fc00000 : 0x7fff;
    for (const unsigned char *row = rows; n > 0; n--, row += stride_bytes) {
        for (size_t column = 0; column < dim; column++) {
            uint32_t bits = 0;
            memcpy(&bits, row + column * bytes, bytes); /* little-endian */
            bits = (bits & magnitude) > infinity ? nan : bits;
            trial_bytes(trial, &bits, bytes);
        }
        trial_bytes(trial, row + dim * bytes, stride_bytes - dim * bytes);
    }
}

void trial_fault(struct trial *trial, const char *format, ...)
{
    if (trial->fault[0] != '\0')
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(trial->fault, sizeof trial->fault, format, arguments);
    va_end(arguments);
}

/* ---- Calls ------------------------------------------------------------------------------------------------------ */

/* The executor for split calls. It runs every second part, starting with the last one, then the others. */
static void run_out_of_order(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    (void)ctx;
    for (size_t parity = 0; parity < 2; parity++)
        for (size_t i = count; i-- > 0;)
            if (i % 2 == parity)
                task(arg, i);
}

const inlay_executor out_of_order = {NULL, run_out_of_order, 3};

void trial_ok(struct trial *trial, const char *call, inlay_status status)
{
    if (status != INLAY_OK)
        trial_fault(trial, "%s fails: %s", call, inlay_status_string(status));
}

inlay_sinusoid *trial_sinusoid(struct trial *trial, const inlay_sinusoid_spec *spec)
{
    inlay_sinusoid *sinusoid;
    trial_ok(trial, "inlay_sinusoid_create", inlay_sinusoid_create(spec, &in_arena, &sinusoid));
    return sinusoid;
}

void trial_forward(struct trial *trial, const inlay_layer_spec *spec, const inlay_batch *batch, size_t rows)
{
    const size_t dim = spec->tokens->dim, stride = inlay_table_row_bytes(spec->out_type, dim) + 2;
    void *out = trial_array(trial, rows * stride);
    inlay_layer *layer;
    trial_ok(trial, "inlay_layer_create", inlay_layer_create(spec, &in_arena, &layer));
    trial_ok(trial, "inlay_forward", inlay_forward(layer, batch, out, stride, trial->executor, NULL));
    trial_rows(trial, out, rows, dim, stride, spec->out_type);
}

/* ---- Families --------------------------------------------------------------------------------------------------- */

const char *item_name(const struct family *family, size_t item)
{
    if (family->rows == NULL)
        return family->item(item);
    const char *row = (const char *)family->rows + item * family->row_bytes;
    return item < family->row_count ? *(const char *const *)(const void *)row : NULL;
}
