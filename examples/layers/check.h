/* SPDX-License-Identifier: MIT */
/* Shared by the example layers: random tables, number formats, and comparison with plain definitions. */
#ifndef INLAY_EXAMPLE_LAYERS_CHECK_H
#define INLAY_EXAMPLE_LAYERS_CHECK_H

#include <inlay/inlay.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void require(inlay_status status)
{
    if (status == INLAY_OK)
        return;
    fprintf(stderr, "%s\n", inlay_status_string(status));
    exit(1);
}

/* Fills a table in (-1, 1), in place of a checkpoint. Reproducible; each key gives other numbers. */
static inline void fill(float *table, size_t rows, size_t dim, uint64_t key)
{
    inlay_random_spec spec = inlay_random_spec_default(INLAY_RANDOM_UNIFORM, key);
    spec.low = -1;
    require(inlay_table_random(&spec, table, rows, dim, dim * sizeof *table));
}

static inline uint16_t to_bfloat16(float value) /* finite values, rounded to nearest even */
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static inline float from_bfloat16(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double from_float16(const uint8_t *bytes) /* finite values, little-endian */
{
    const int bits = bytes[0] | bytes[1] << 8, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    const double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 ? -magnitude : magnitude;
}

static inline double from_e4m3(uint8_t byte) /* finite values */
{
    const int exponent = (byte >> 3) & 15, fraction = byte & 7;
    const double magnitude = exponent == 0 ? ldexp(fraction, -9) : ldexp(8 + fraction, exponent - 10);
    return byte >> 7 ? -magnitude : magnitude;
}

/* The row of a hashed n-gram column for token t of a whole sequence, as defined in <inlay/ngram.h>. */
static inline int64_t ngram_row(const inlay_ngram_spec *spec, size_t column, const int64_t *ids, size_t t)
{
    const inlay_ngram_column *c = &spec->columns[column];
    const int64_t *multipliers = spec->multipliers + c->vector * spec->length;
    uint64_t sum = 0;
    int blocked = 0;
    for (size_t s = 0; s < c->length; s++) {
        const int64_t id = s <= t ? ids[t - s] : -1;
        blocked |= id < 0;
        for (size_t i = 0; i < spec->mask_count; i++)
            blocked |= id == spec->masks[i];
        for (size_t i = 0; i < spec->reset_count; i++)
            blocked |= s > 0 && id == spec->resets[i];
        const uint64_t word = blocked ? spec->pad : spec->token_map != NULL ? spec->token_map[id] : (uint64_t)id;
        const uint64_t product = word * (uint64_t)multipliers[s];
        sum = spec->mix == INLAY_NGRAM_MIX_XOR ? sum ^ product : sum + product;
    }
    /* With XOR, real models keep sums below 2^63, so this is the remainder of a positive number. */
    return (int64_t)(c->offset + sum % c->modulus);
}

/* Returns an exit status: 0 if every element is within `tolerance` of its definition. */
static inline int compare(const char *name, const float *out, const double *expected, size_t n, double tolerance)
{
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += !(fabs(out[i] - expected[i]) <= tolerance); /* also counts NaN */
    printf("%s: %s\n", name, wrong == 0 ? "as its definition" : "NOT as its definition");
    return wrong > 0;
}

#endif
