/* SPDX-License-Identifier: MIT */
/*
 * Rows of sinusoids in blocks: an anchor from exact phases, rotation by the kernels in use, and what they leave in
 * doubt from the integer path. Baseline code, integers only.
 */
#include "generator.h"

#include "fpenv.h"

#include <string.h>

void inlay_generator_start(struct inlay_generator *generator, const struct inlay_kernels *kernels,
                           const inlay_sinusoid *sinusoid, size_t first, size_t pairs, uint32_t position)
{
    generator->kernels = kernels;
    generator->sinusoid = sinusoid;
    generator->first = first;
    generator->pairs = pairs;
    generator->position = position;
    generator->since_anchor = INLAY_ANCHOR_ROWS;
}

/* Makes the state afresh for the present position. */
static void anchor(struct inlay_generator *generator)
{
    static const double sin_of_quarters[4] = {0, 1, 0, -1};
    static const double cos_of_quarters[4] = {1, 0, -1, 0};
    enum { BLOCK = 128 };
    double half_turns[BLOCK], quadrant_sin[BLOCK], quadrant_cos[BLOCK];
    for (size_t done = 0; done < generator->pairs; done += BLOCK) {
        size_t pairs = generator->pairs - done < BLOCK ? generator->pairs - done : BLOCK;
        const struct inlay_fixed *frequencies = generator->sinusoid->frequencies + generator->first + done;
        for (size_t i = 0; i < pairs; i++) {
            unsigned quadrant;
            half_turns[i] = inlay_phase_half_turns(&frequencies[i], generator->position, &quadrant);
            quadrant_sin[i] = sin_of_quarters[quadrant];
            quadrant_cos[i] = cos_of_quarters[quadrant];
        }
        for (size_t i = pairs; i < inlay_padded(pairs); i++)
            half_turns[i] = quadrant_sin[i] = quadrant_cos[i] = 0;
        struct inlay_sinusoid_anchor block = {
            .pairs = inlay_padded(pairs),
            .half_turns = half_turns,
            .quadrant_sin = quadrant_sin,
            .quadrant_cos = quadrant_cos,
            .sin_step = generator->sinusoid->sin_step + generator->first + done,
            .sin = generator->sin + done,
            .cos = generator->cos + done,
            .sin_bound = generator->sin_bound + done,
            .cos_bound = generator->cos_bound + done,
        };
        generator->kernels->sinusoid_anchor(&block);
    }
    generator->since_anchor = 0;
}

static void put(unsigned char *row, size_t column, uint32_t bits)
{
    memcpy(row + column * sizeof bits, &bits, sizeof bits);
}

/* Computes the entries exactly that a kernel left in doubt. */
static void mend(const struct inlay_sinusoid_tile *tile)
{
    const uint32_t *marks = tile->marks;
    if (tile->stream)
        inlay_store_fence(); /* what is mended must not be overtaken by what was streamed */
    for (size_t row = 0; row < tile->rows; row++)
        for (size_t group = 0; group < tile->pairs; group += INLAY_PAIR_GROUP)
            for (uint32_t doubtful = *marks++; doubtful != 0; doubtful &= doubtful - 1) {
                unsigned bit = (unsigned)__builtin_ctz(doubtful);
                size_t i = group + bit % INLAY_PAIR_GROUP;
                bool is_cosine = bit >= INLAY_PAIR_GROUP;
                if (i >= (is_cosine ? tile->cosines : tile->pairs))
                    continue;
                struct inlay_phase phase = inlay_phase_at(&tile->frequencies[i], tile->position + (uint32_t)row);
                struct inlay_sincos_f32 value = inlay_exact_sincos_f32(tile->taylor, &phase);
                size_t at = row * tile->out_stride_bytes;
                if (tile->interleaved)
                    put(tile->sin_out + at, 2 * i + is_cosine, is_cosine ? value.cos : value.sin);
                else
                    put((is_cosine ? tile->cos_out : tile->sin_out) + at, i, is_cosine ? value.cos : value.sin);
            }
}

/* The row of position 0 is 0, 1, 0, 1, ...: a sine of exactly 0 lies within no bound of its own size. */
static void put_first_row(const struct inlay_sinusoid_tile *tile)
{
    const uint32_t one = 0x3f800000;
    for (size_t i = 0; i < tile->pairs; i++) {
        put(tile->sin_out, tile->interleaved ? 2 * i : i, 0);
        if (i < tile->cosines)
            put(tile->interleaved ? tile->sin_out : tile->cos_out, tile->interleaved ? 2 * i + 1 : i, one);
    }
}

void inlay_generator_rows(struct inlay_generator *generator, size_t n, unsigned char *sin, unsigned char *cos,
                          size_t stride_bytes, bool stream)
{
    enum { TILE_ROWS = 16 };
    uint32_t marks[TILE_ROWS * INLAY_GENERATOR_PAIRS / INLAY_PAIR_GROUP];
    const inlay_sinusoid *sinusoid = generator->sinusoid;
    struct inlay_sinusoid_tile tile = {
        .pairs = generator->pairs,
        .cosines = inlay_sinusoid_cosines(sinusoid, generator->first, generator->pairs),
        .sin = generator->sin,
        .cos = generator->cos,
        .sin_bound = generator->sin_bound,
        .cos_bound = generator->cos_bound,
        .sin_step = sinusoid->sin_step + generator->first,
        .cos_step = sinusoid->cos_step + generator->first,
        .frequencies = sinusoid->frequencies + generator->first,
        .taylor = &sinusoid->taylor,
        .out_stride_bytes = stride_bytes,
        .interleaved = sinusoid->layout == INLAY_LAYOUT_INTERLEAVED,
        .stream = stream,
        .marks = marks,
    };
    for (size_t done = 0; done < n; done += tile.rows) {
        tile.sin_out = sin + done * stride_bytes;
        tile.cos_out = tile.interleaved ? NULL : cos + done * stride_bytes;
        tile.position = generator->position;
        if (tile.position == 0) {
            tile.rows = 1;
            put_first_row(&tile);
        } else {
            if (generator->since_anchor == INLAY_ANCHOR_ROWS)
                anchor(generator);
            size_t left = INLAY_ANCHOR_ROWS - generator->since_anchor;
            tile.rows = n - done < left ? n - done : left;
            tile.rows = tile.rows < TILE_ROWS ? tile.rows : TILE_ROWS;
            if (generator->kernels->sinusoid_f32(&tile))
                mend(&tile);
            generator->since_anchor += (unsigned)tile.rows;
        }
        generator->position += (uint32_t)tile.rows;
    }
}

/* Rows of a piece whose addresses do not lie on cache lines: generated in a buffer that stays in L1, and streamed out
   of it by the kernel that knows how to begin and end rows. */
static void fill_through_buffer(struct inlay_generator *generator, size_t n, unsigned char *out,
                                size_t out_stride_bytes)
{
    enum { ROWS = INLAY_BLOCK_BYTES / (2 * INLAY_GENERATOR_PAIRS * sizeof(float)) };
    _Alignas(64) float buffer[ROWS][2 * INLAY_GENERATOR_PAIRS];
    struct inlay_columns runs[2];
    int count = inlay_sinusoid_columns(generator->sinusoid, generator->first, generator->pairs, runs);
    for (size_t row = 0; row < n; row += ROWS) {
        size_t rows = n - row < ROWS ? n - row : ROWS;
        inlay_generator_rows(generator, rows, (unsigned char *)buffer, (unsigned char *)&buffer[0][generator->pairs],
                             sizeof *buffer, false);
        for (int run = 0; run < count; run++) {
            const unsigned char *from[ROWS];
            unsigned char *to[ROWS];
            for (size_t i = 0; i < rows; i++) {
                from[i] = (const unsigned char *)&buffer[i][runs[run].at];
                to[i] = out + (row + i) * out_stride_bytes + runs[run].first * sizeof(float);
            }
            struct inlay_embed_tile tile = {
                .rows = from, .out = to, .count = rows, .columns = runs[run].count, .scale = 1, .stream = true};
            generator->kernels->embed_f32(&tile);
        }
    }
}

void inlay_sinusoid_fill(const struct inlay_kernels *kernels, const inlay_sinusoid *sinusoid, uint32_t position,
                         size_t n, unsigned char *out, size_t out_stride_bytes, bool stream)
{
    bool interleaved = sinusoid->layout == INLAY_LAYOUT_INTERLEAVED;
    struct inlay_generator generator;
    for (size_t first = 0; first < sinusoid->pairs; first += INLAY_GENERATOR_PAIRS) {
        size_t pairs = sinusoid->pairs - first;
        pairs = pairs < INLAY_GENERATOR_PAIRS ? pairs : INLAY_GENERATOR_PAIRS;
        unsigned char *sin = out + (interleaved ? 2 * first : first) * sizeof(float);
        unsigned char *cos = interleaved ? NULL : out + (sinusoid->pairs + first) * sizeof(float);
        bool on_lines = ((uintptr_t)sin | (uintptr_t)cos | out_stride_bytes) % 64 == 0;
        inlay_generator_start(&generator, kernels, sinusoid, first, pairs, position);
        if (stream && !on_lines)
            fill_through_buffer(&generator, n, out, out_stride_bytes);
        else
            inlay_generator_rows(&generator, n, sin, cos, out_stride_bytes, stream);
    }
}
