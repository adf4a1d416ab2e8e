/* SPDX-License-Identifier: MIT */
/*
 * Rows of sinusoids in blocks: an anchor from exact phases, rotation by the kernels in use, and what they leave in
 * doubt from the integer path. Baseline code for the guarded environment; its own floating-point operations are
 * comparisons and conversions that round nothing.
 */
#include "positions/generator.h"

#include "base/fpenv.h"
#include "base/rounding.h"
#include "positions/list.h"
#include "table/element.h"

#include <string.h>

enum { TILE_ROWS = 16 };

void inlay_generator_start(struct inlay_generator *generator, const struct inlay_kernels *kernels,
                           const inlay_sinusoid *sinusoid, size_t first, size_t pairs, inlay_element_type type,
                           struct inlay_positions positions)
{
    bool turns = positions.list == NULL && sinusoid->angles == NULL;
    generator->kernels = kernels;
    generator->sinusoid = sinusoid;
    generator->first = first;
    generator->pairs = pairs;
    generator->type = type;
    generator->computed = sinusoid->angles != NULL ? INLAY_F32 : type;
    generator->positions = positions;
    generator->row = 0;
    generator->anchor_rows = turns ? INLAY_ANCHOR_ROWS : 1;
    generator->since_anchor = generator->anchor_rows;
    generator->reanchors = INLAY_MOST_REANCHORS;
    size_t bytes = inlay_padded(pairs) * sizeof(double);
    if (turns) {
        memcpy(generator->state.sin_step, sinusoid->sin_step + first, bytes);
        memcpy(generator->state.cos_step, sinusoid->cos_step + first, bytes);
    } else {
        memset(generator->state.sin_step, 0, bytes);
        memset(generator->state.cos_step, 0, bytes);
    }
}

static double position_of(const struct inlay_generator *generator, size_t row)
{
    const struct inlay_positions *positions = &generator->positions;
    if (positions->list != NULL)
        return inlay_position_at(positions->list, positions->type, row);
    return (double)(positions->first + (uint32_t)row);
}

/* Makes the state afresh for a position, from its exact phases. */
static void anchor_exactly(struct inlay_generator *generator, double position)
{
    static const double sin_of_quarters[4] = {0, 1, 0, -1};
    static const double cos_of_quarters[4] = {1, 0, -1, 0};
    enum { BLOCK = 64 };
    double half_turns[BLOCK], quadrant_sin[BLOCK], quadrant_cos[BLOCK], angles[BLOCK];
    const inlay_sinusoid *sinusoid = generator->sinusoid;
    struct inlay_real x = inlay_real_of(position);
    for (size_t done = 0; done < generator->pairs; done += BLOCK) {
        size_t pairs = generator->pairs - done < BLOCK ? generator->pairs - done : BLOCK;
        size_t first = generator->first + done;
        if (sinusoid->angles != NULL)
            sinusoid->angles->compute(sinusoid->factors + first, pairs, position, angles);
        for (size_t i = 0; i < pairs; i++) {
            unsigned quadrant;
            if (sinusoid->angles != NULL)
                x = inlay_real_of(angles[i]);
            half_turns[i] = inlay_phase_half_turns(inlay_frequency_of(sinusoid, first + i), x, &quadrant);
            quadrant_sin[i] = sin_of_quarters[quadrant];
            quadrant_cos[i] = cos_of_quarters[quadrant];
        }
        for (size_t i = pairs; i < inlay_padded(pairs); i++) {
            half_turns[i] = 0.25; /* whose sine and cosine, sqrt(1/2), lie amid no two numbers of any type */
            quadrant_sin[i] = 0;
            quadrant_cos[i] = 1;
        }
        struct inlay_sinusoid_anchor block = {
            .pairs = inlay_padded(pairs),
            .rows = generator->anchor_rows,
            .reanchors = generator->anchor_rows > 1 ? INLAY_MOST_REANCHORS : 0,
            .amplitude = sinusoid->amplitude,
            .half_turns = half_turns,
            .quadrant_sin = quadrant_sin,
            .quadrant_cos = quadrant_cos,
            .state = &generator->state,
            .first = done,
        };
        generator->kernels->sinusoid_anchor(&block);
    }
    generator->reanchors = 0;
}

/* The same for the position INLAY_ANCHOR_ROWS rows after the latest anchor, by turning that. */
static void reanchor(struct inlay_generator *generator)
{
    const inlay_sinusoid *sinusoid = generator->sinusoid;
    const struct inlay_sinusoid_reanchor next = {
        .pairs = inlay_padded(generator->pairs),
        .amplitude = sinusoid->amplitude,
        .sin = sinusoid->sin_reanchor + generator->first,
        .cos = sinusoid->cos_reanchor + generator->first,
        .state = &generator->state,
    };
    generator->kernels->sinusoid_reanchor(&next);
    generator->reanchors++;
}

static void anchor(struct inlay_generator *generator, double position)
{
    if (generator->anchor_rows > 1 && generator->reanchors < INLAY_MOST_REANCHORS)
        reanchor(generator);
    else
        anchor_exactly(generator, position);
    generator->since_anchor = 0;
}

static void put(unsigned char *row, size_t index, uint64_t bits, inlay_element_type type)
{
    uint32_t wide = (uint32_t)bits;
    uint16_t narrow = (uint16_t)bits;
    if (type == INLAY_F32)
        memcpy(row + index * sizeof wide, &wide, sizeof wide);
    else
        memcpy(row + index * sizeof narrow, &narrow, sizeof narrow);
}

/* token * scale + entry at one column, where there are tokens: by the kernel that does it everywhere. */
static void put_sum(const struct inlay_generator *generator, const struct inlay_sinusoid_tile *tile, size_t row,
                    unsigned char *to, uint32_t bits)
{
    /* Cosines can come before sines: signed. */
    ptrdiff_t from_sines = to - tile->sin_out - (ptrdiff_t)(row * tile->out_stride_bytes);
    const unsigned char *token = tile->tokens[row] + ((ptrdiff_t)tile->sin_at + from_sines);
    const unsigned char *entry = (const unsigned char *)&bits;
    struct inlay_embed_tile sum = {
        .rows = &token, .positions = &entry, .out = &to, .count = 1, .columns = 1, .scale = tile->scale};
    generator->kernels->embed[INLAY_F32](&sum);
}

/* Writes an entry of pair i exactly, if it has a column. */
static void put_exact(const struct inlay_generator *generator, const struct inlay_sinusoid_tile *tile, size_t row,
                      size_t i, bool cosine)
{
    if (i >= (cosine ? tile->cosines : tile->sines))
        return;
    double position = position_of(generator, generator->row + row);
    uint64_t bits = inlay_sinusoid_exact(generator->sinusoid, generator->first + i, cosine, position, tile->type);
    unsigned char *out = (cosine ? tile->cos_out : tile->sin_out) + row * tile->out_stride_bytes;
    size_t index = tile->interleaved ? 2 * i : i;
    if (tile->tokens != NULL)
        put_sum(generator, tile, row, out + index * sizeof(float), (uint32_t)bits);
    else
        put(out, index, bits, tile->type);
}

/* Computes the entries exactly that a kernel left in doubt. No fence between what was streamed and this: stores of one
   thread to one address stay in order, and fences here took 3 % of a table's time. */
static void mend(const struct inlay_generator *generator, const struct inlay_sinusoid_tile *tile)
{
    const uint32_t *marks = tile->undecided;
    for (size_t row = 0; row < tile->rows; row++)
        for (size_t group = 0; group < tile->pairs; group += INLAY_PAIR_GROUP)
            for (uint32_t doubtful = *marks++; doubtful != 0; doubtful &= doubtful - 1) {
                unsigned bit = (unsigned)__builtin_ctz(doubtful);
                put_exact(generator, tile, row, group + bit % INLAY_PAIR_GROUP, bit >= INLAY_PAIR_GROUP);
            }
}

/* The row of position 0 is the same for every frequency, and a sine of 0 lies within no bound of its own size. */
static void put_first_row(const struct inlay_generator *generator, const struct inlay_sinusoid_tile *tile)
{
    if (generator->pairs == 0)
        return; /* dim 1, whose column is not by the formula */
    uint64_t one = inlay_sinusoid_exact(generator->sinusoid, 0, true, 0, tile->type);
    size_t step = tile->interleaved ? 2 : 1;
    for (size_t i = 0; i < tile->sines; i++)
        put(tile->sin_out, i * step, 0, tile->type);
    for (size_t i = 0; i < tile->cosines; i++)
        put(tile->cos_out, i * step, one, tile->type);
}

/* The column of its own that an odd dim ends in: zeros, or the cosine of the first frequency. */
static void put_last_column(const struct inlay_generator *generator, size_t column, size_t n, unsigned char *out,
                            size_t stride_bytes)
{
    const inlay_sinusoid *sinusoid = generator->sinusoid;
    for (size_t row = 0; row < n; row++) {
        uint64_t bits = 0;
        if (sinusoid->odd == INLAY_SINUSOID_ODD_WRAP && sinusoid->pairs > 0)
            bits = inlay_sinusoid_exact(sinusoid, 0, true, position_of(generator, generator->row + row),
                                        generator->computed);
        put(out + row * stride_bytes, column, bits, generator->computed);
    }
}

/* The next n rows; `stream`: past the caches, where every row's first sine and cosine lie on a cache line. */
static void generate(struct inlay_generator *generator, const struct inlay_placement *placement, size_t n,
                     unsigned char *out, size_t stride_bytes, bool stream, const struct inlay_companions *with)
{
    uint32_t marks[TILE_ROWS * INLAY_GENERATOR_PAIRS / INLAY_PAIR_GROUP];
    size_t element = inlay_type_bytes(generator->computed);
    bool turns = generator->anchor_rows > 1;
    struct inlay_sinusoid_tile tile = {
        .pairs = generator->pairs,
        .sines = placement->sines,
        .cosines = placement->cosines,
        .state = &generator->state,
        .type = generator->computed,
        .out_stride_bytes = stride_bytes,
        .interleaved = placement->interleaved,
        .stream = stream,
        .undecided = marks,
    };
    if (with != NULL) {
        struct inlay_placement row = inlay_sinusoid_in_row(generator->sinusoid, generator->first, generator->pairs);
        tile.sin_at = row.sin * sizeof(float);
        tile.cos_at = row.cos * sizeof(float);
        tile.scale = with->scale;
    }
    if (placement->last)
        put_last_column(generator, placement->last_column, n, out, stride_bytes);
    for (size_t done = 0; done < n; done += tile.rows) {
        double position = position_of(generator, generator->row);
        tile.sin_out = out + done * stride_bytes + placement->sin * element;
        tile.cos_out = out + done * stride_bytes + placement->cos * element;
        tile.tokens = with != NULL && with->tokens != NULL ? with->tokens + done : NULL;
        tile.next = with != NULL && with->next != NULL ? with->next + done : NULL;
        tile.rows = 1;
        if (position == 0) {
            put_first_row(generator, &tile);
        } else {
            if (generator->since_anchor == generator->anchor_rows)
                anchor(generator, position);
            if (turns) {
                size_t left = INLAY_ANCHOR_ROWS - generator->since_anchor;
                tile.rows = n - done < left ? n - done : left;
                tile.rows = tile.rows < TILE_ROWS ? tile.rows : TILE_ROWS;
            }
            memset(marks, 0, tile.rows * inlay_padded(tile.pairs) / INLAY_PAIR_GROUP * sizeof *marks);
            if (generator->kernels->sinusoid_rows(&tile))
                mend(generator, &tile);
            generator->since_anchor += (unsigned)tile.rows;
        }
        generator->row += tile.rows;
    }
}

/* Floats times a scale; streamed where the ISA does. In place where both addresses are the same. */
static void copy_floats(const struct inlay_kernels *kernels, const unsigned char *from, unsigned char *to, size_t n,
                        float scale, bool stream)
{
    struct inlay_embed_tile tile = {
        .rows = &from, .out = &to, .count = 1, .columns = n, .scale = scale, .stream = stream};
    kernels->embed[INLAY_F32](&tile);
}

/* Floats rounded to a 16-bit type where they lie. */
static void cast_floats(unsigned char *row, size_t n, inlay_element_type type)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, row + i * sizeof bits, sizeof bits);
        put(row, i, type == INLAY_F16 ? inlay_float_to_f16(bits) : inlay_float_to_bf16(bits), type);
    }
}

void inlay_generator_rows(struct inlay_generator *generator, const struct inlay_placement *placement, size_t n,
                          unsigned char *out, size_t stride_bytes, const struct inlay_companions *with)
{
    float scale = generator->sinusoid->float_amplitude;
    generate(generator, placement, n, out, stride_bytes, false, with);
    for (size_t row = 0; row < n; row++) {
        unsigned char *at = out + row * stride_bytes;
        if (scale != 1)
            copy_floats(generator->kernels, at, at, placement->columns, scale, false);
        if (generator->type != generator->computed)
            cast_floats(at, placement->columns, generator->type);
    }
}

/* Whether rows begin on cache lines, their sines and their cosines, as whole rows and in pieces. */
static bool on_lines(const struct inlay_placement *row, inlay_element_type type, const unsigned char *out, size_t stride_bytes)
{
    uintptr_t sin = (uintptr_t)out + row->sin * inlay_type_bytes(type);
    uintptr_t cos = row->interleaved ? sin : (uintptr_t)out + row->cos * inlay_type_bytes(type);
    return (sin | cos | stride_bytes) % 64 == 0;
}

bool inlay_sinusoid_adds(const inlay_sinusoid *sinusoid, const unsigned char *out, size_t stride_bytes, bool stream)
{
    struct inlay_placement row = inlay_sinusoid_in_row(sinusoid, 0, sinusoid->pairs);
    return sinusoid->angles == NULL && !row.last && (!stream || on_lines(&row, INLAY_F32, out, stride_bytes));
}

void inlay_generator_add(struct inlay_generator *generator, size_t n, unsigned char *out, size_t stride_bytes,
                         bool stream, const struct inlay_companions *with)
{
    struct inlay_placement row = inlay_sinusoid_in_row(generator->sinusoid, generator->first, generator->pairs);
    generate(generator, &row, n, out, stride_bytes, stream, with);
}

/*
 * Rows whose pieces are made in a buffer that stays in L1, and copied from there: for recipes in 16 bits, and where
 * rows that are streamed do not lie on cache lines; the copying kernel knows how to begin and end them. Not inlined, so
 * that who needs no buffer has none in its frame.
 */
static __attribute__((noinline)) void fill_through_buffer(struct inlay_generator *generator, size_t n,
                                                          unsigned char *out, size_t out_stride_bytes, bool stream)
{
    enum { COLUMNS = 2 * INLAY_GENERATOR_PAIRS + 16, ROWS = 4 };
    _Alignas(64) unsigned char buffer[ROWS][COLUMNS * sizeof(float)];
    size_t element = inlay_type_bytes(generator->type);
    struct inlay_placement piece = inlay_sinusoid_in_piece(generator->sinusoid, generator->first, generator->pairs);
    for (size_t done = 0; done < n; done += ROWS) {
        size_t rows = n - done < ROWS ? n - done : ROWS;
        inlay_generator_rows(generator, &piece, rows, buffer[0], sizeof *buffer, NULL);
        for (size_t row = 0; row < rows; row++)
            for (int i = 0; i < piece.runs; i++) {
                const unsigned char *from = buffer[row] + piece.run[i].at * element;
                unsigned char *to = out + (done + row) * out_stride_bytes + piece.run[i].first * element;
                if (generator->type == INLAY_F32)
                    copy_floats(generator->kernels, from, to, piece.run[i].count, 1, stream);
                else
                    memcpy(to, from, piece.run[i].count * element);
            }
    }
}

void inlay_sinusoid_fill(const struct inlay_kernels *kernels, const inlay_sinusoid *sinusoid,
                         struct inlay_positions positions, size_t n, inlay_element_type type, unsigned char *out,
                         size_t out_stride_bytes, bool stream)
{
    struct inlay_generator generator;
    size_t first = 0;
    do { /* once where there is not one pair */
        size_t pairs = sinusoid->pairs - first;
        pairs = pairs < INLAY_GENERATOR_PAIRS ? pairs : INLAY_GENERATOR_PAIRS;
        struct inlay_placement row = inlay_sinusoid_in_row(sinusoid, first, pairs);
        bool direct = !stream || on_lines(&row, type, out, out_stride_bytes);
        inlay_generator_start(&generator, kernels, sinusoid, first, pairs, type, positions);
        if (sinusoid->angles != NULL ? stream || type != INLAY_F32 : !direct && type == INLAY_F32)
            fill_through_buffer(&generator, n, out, out_stride_bytes, stream);
        else
            generate(&generator, &row, n, out, out_stride_bytes, stream && direct, NULL);
        first += INLAY_GENERATOR_PAIRS;
    } while (first < sinusoid->pairs);
    if (sinusoid->angles != NULL && !stream && type == INLAY_F32 && sinusoid->float_amplitude != 1)
        for (size_t row = 0; row < n; row++) {
            unsigned char *at = out + row * out_stride_bytes;
            copy_floats(kernels, at, at, sinusoid->dim, sinusoid->float_amplitude, false);
        }
}
