/* SPDX-License-Identifier: MIT */
/*
 * The conversions of widen.h, by hand: not every compiler that builds the tool has _Float16.
 */
#include "widen.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

size_t type_bytes(inlay_element_type type)
{
    return type == INLAY_F32 ? 4 : 2;
}

/* IEEE 754 binary16: a sign, 5 bits of exponent, 10 of fraction. */
static float from_half(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    int fraction = bits & 0x3ff;
    float magnitude = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                      : exponent == 0 ? ldexpf((float)fraction, -24)
                                      : ldexpf((float)(fraction + 0x400), exponent - 25);
    return bits >> 15 ? -magnitude : magnitude;
}

/* The upper half of a float32. */
static float from_bfloat16(uint16_t bits)
{
    uint32_t whole = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &whole, sizeof value);
    return value;
}

void widen(inlay_element_type type, const void *elements, size_t n, float *values)
{
    const uint16_t *halves = elements;
    switch (type) {
    case INLAY_F32:
        if (values != elements)
            memcpy(values, elements, n * sizeof *values);
        break;
    case INLAY_F16:
        for (size_t i = 0; i < n; i++)
            values[i] = from_half(halves[i]);
        break;
    case INLAY_BF16:
        for (size_t i = 0; i < n; i++)
            values[i] = from_bfloat16(halves[i]);
        break;
    default: /* no type of an output */
        break;
    }
}
