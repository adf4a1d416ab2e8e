/* SPDX-License-Identifier: MIT */
/*
 * Floating-point numbers as bits, and unaligned floats.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t inlay_bits_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline uint64_t inlay_bits_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float inlay_f32_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline double inlay_f64_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Returns float i of an unaligned array. */
static inline float inlay_load_f32(const void *from, size_t i)
{
    float x;
    memcpy(&x, (const unsigned char *)from + i * sizeof x, sizeof x);
    return x;
}

static inline void inlay_store_f32(void *to, size_t i, float x)
{
    memcpy((unsigned char *)to + i * sizeof x, &x, sizeof x);
}
