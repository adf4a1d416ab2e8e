/* SPDX-License-Identifier: MIT */
/*
 * Inverted dropout, word by word of Philox.
 */
#include "layer/dropout.h"

#include "base/bits.h"
#include "base/philox.h"

/* Returns p * 2^32 for 0 <= p < 1, rounded to nearest even: the product is exact, and adding 2^52 rounds it. */
static uint32_t threshold_of(float p)
{
    return (uint32_t)((double)p * 0x1p32 + 0x1p52 - 0x1p52);
}

void inlay_dropout(unsigned char *row, size_t columns, uint64_t first_element, uint64_t key, uint64_t offset, float p)
{
    const uint32_t threshold = threshold_of(p);
    if (threshold == 0) /* 1 / (1 - p) then rounds to 1 */
        return;
    const float factor = (float)(1 / (1 - (double)p));
    struct inlay_philox_stream stream;
    inlay_philox_begin(&stream, key, offset, first_element);
    while (columns > 0) {
        size_t n;
        const uint32_t *words = inlay_philox_take(&stream, columns, &n);
        for (size_t i = 0; i < n; i++)
            inlay_store_f32(row, i, words[i] >= threshold ? inlay_load_f32(row, i) * factor : 0);
        row += n * sizeof(float);
        columns -= n;
    }
}
