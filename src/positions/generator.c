/* SPDX-License-Identifier: MIT */
/*
 * Rows of sinusoids in blocks: an anchor, rotation by the kernels, and the exact fallback for entries that their
 * rounding test leaves undecided. Baseline code for the guarded environment. Its own floating-point operations are
 * comparisons and conversions that don't round.
 */
#include "positions/generator.h"

#include "base/bits.h"
#include "base/line.h"
#include "base/minmax.h"
#include "positions/list.h"
#include "table/element.h"

#include <string.h>

void inlay_generator_start(struct inlay_generator *generator, const struct inlay_kernels *kernels,
                           const inlay_sinusoid *sinusoid, size_t first, size_t pairs, inlay_element_type type,
                           struct inlay_positions positions, size_t rows)
{
    bool exact = sinusoid->angles == NULL && kernels->lanes > 0;
    size_t direct_rows = kernels->fma ? INLAY_DIRECT_ROWS : INLAY_DIRECT_ROWS_UNFUSED;
    bool rotates = positions.list == NULL && sinusoid->angles == NULL;
    size_t bytes = inlay_padded(pairs) * sizeof(double);
    generator->kernels = kernels;
    generator->sinusoid = sinusoid;
    generator->first = first;
    generator->pairs = pairs;
    generator->type = type;
    generator->computed = sinusoid->angles != NULL ? INLAY_F32 : type;
    generator->positions = positions;
    generator->row = 0;
    generator->anchor_rows = rotates ? INLAY_ANCHOR_ROWS : 1;
    generator->rows_left = 0;
    generator->reanchors = INLAY_MAX_REANCHORS;
    generator->direct = exact && (positions.list != NULL || rows <= direct_rows);
    if (generator->direct && (positions.list == NULL || positions.type == INLAY_POSITION_I64))
        return; /* all positions are integers and need no state */
    if (rotates) {
        memcpy(generator->state.sin_step, sinusoid->sin_step + first, bytes);
        memcpy(generator->state.cos_step, sinusoid->cos_step + first, bytes);
    } else {
        memset(generator->state.sin_step, 0, bytes);
        memset(generator->state.cos_step, 0, bytes);
    }
}

static double position_of_row(const struct inlay_generator *generator, size_t row)
{
    const struct inlay_positions *positions = &generator->positions;
    if (positions->list != NULL)
        return inlay_position_at(positions->list, positions->type, row);
    return (double)(positions->first + (uint32_t)row);
}

/* Writes the positions of the next rows, at most n. Stops at a position that is 0 or not an integer, and returns the
   number before it. The row of position 0 is constant. */
static size_t whole_positions(const struct inlay_generator *generator, size_t n, double *positions)
{
    for (size_t i = 0; i < n; i++) {
        positions[i] = position_of_row(generator, generator->row + i);
        if (positions[i] == 0 || positions[i] != (double)(int64_t)positions[i])
            return i;
    }
    return n;
}

/* ---- Anchors ---------------------------------------------------------------------------------------------------- */

/* Computes the state of a position from its exact phases. */
static void anchor_exactly(struct inlay_generator *generator, double position)
{
    static const double sin_of_quarters[4] = {0, 1, 0, -1};
    static const double cos_of_quarters[4] = {1, 0, -1, 0};
    enum { BLOCK = 64 };
    double half_turns[BLOCK], quadrant_sin[BLOCK], quadrant_cos[BLOCK], angles[BLOCK];
    const inlay_sinusoid *sinusoid = generator->sinusoid;
    struct inlay_real x = inlay_real_of(position);
    for (size_t done = 0; done < generator->pairs; done += BLOCK) {
        size_t pairs = inlay_min(generator->pairs - done, BLOCK), first = generator->first + done;
        if (sinusoid->angles != NULL)
            inlay_angles_compute(sinusoid->angles, sinusoid->factors + first, pairs, position, angles);
        for (size_t i = 0; i < pairs; i++) {
            unsigned quadrant;
            if (sinusoid->angles != NULL)
                x = inlay_real_of(angles[i]);
            half_turns[i] = inlay_phase_half_turns(inlay_frequency_of(sinusoid, first + i), x, &quadrant);
            quadrant_sin[i] = sin_of_quarters[quadrant];
            quadrant_cos[i] = cos_of_quarters[quadrant];
        }
        for (size_t i = pairs; i < inlay_padded(pairs); i++) {
            half_turns[i] = 0.25; /* the rounding test always decides sqrt(1/2), its sine and cosine */
            quadrant_sin[i] = 0;
            quadrant_cos[i] = 1;
        }
        struct inlay_sinusoid_anchor block = {
            .pairs = inlay_padded(pairs),
            .rows = (unsigned)generator->anchor_rows,
            .reanchors = generator->anchor_rows > 1 ? INLAY_MAX_REANCHORS : 0,
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

/* Computes the state INLAY_ANCHOR_ROWS rows after the current anchor by rotating that anchor. */
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
    if (generator->anchor_rows > 1 && generator->reanchors < INLAY_MAX_REANCHORS)
        reanchor(generator);
    else if (generator->kernels->lanes > 0)
        anchor_exactly(generator, position);
    generator->rows_left = generator->anchor_rows;
}

/* ---- Entries that no kernel computes ---------------------------------------------------------------------------- */

static void write_entry(unsigned char *row, size_t column, uint64_t bits, inlay_element_type type)
{
    uint16_t narrow = (uint16_t)bits;
    if (type == INLAY_F32)
        inlay_store_f32(row, column, inlay_f32_of_bits((uint32_t)bits));
    else
        memcpy(row + column * sizeof narrow, &narrow, sizeof narrow);
}

/* Writes token * scale + entry at `to`, with the embed kernel, as for all other columns. */
static void write_sum(const struct inlay_generator *generator, const struct inlay_sinusoid_tile *tile, size_t row,
                      unsigned char *to, uint32_t bits)
{
    /* The distance is signed: cosines can come before sines. */
    ptrdiff_t from_sines = to - tile->sin_out - (ptrdiff_t)(row * tile->out_stride_bytes);
    const unsigned char *token = tile->tokens[row] + ((ptrdiff_t)tile->sin_at + from_sines);
    inlay_embed_floats(generator->kernels, token, (const unsigned char *)&bits, to, INLAY_F32, 1, tile->scale, false);
}

/* Writes the exact sine or cosine of pair i, if it has a column. */
static void write_exactly(const struct inlay_generator *generator, const struct inlay_sinusoid_tile *tile, size_t row,
                          size_t i, bool cosine)
{
    if (i >= (cosine ? tile->cosines : tile->sines))
        return;
    double position = position_of_row(generator, generator->row + row);
    uint64_t bits = inlay_sinusoid_exact(generator->sinusoid, generator->first + i, cosine, position, tile->type);
    unsigned char *out = (cosine ? tile->cos_out : tile->sin_out) + row * tile->out_stride_bytes;
    size_t column = tile->interleaved ? 2 * i : i;
    if (tile->tokens != NULL)
        write_sum(generator, tile, row, out + column * sizeof(float), (uint32_t)bits);
    else
        write_entry(out, column, bits, tile->type);
}

/* Computes all undecided entries exactly. No fence is needed after the non-temporal stores: stores of one thread to one
   address stay in order. Fences here took 3 % of a table's time. */
static void decide(const struct inlay_generator *generator, const struct inlay_sinusoid_tile *tile)
{
    const uint32_t *word = tile->undecided;
    for (size_t row = 0; row < tile->rows; row++)
        for (size_t group = 0; group < tile->pairs; group += INLAY_PAIR_GROUP)
            for (uint32_t left = *word++; left != 0; left &= left - 1) {
                unsigned bit = (unsigned)__builtin_ctz(left);
                write_exactly(generator, tile, row, group + bit % INLAY_PAIR_GROUP, bit >= INLAY_PAIR_GROUP);
            }
}

/* Writes the row of position 0, which is the same for every frequency. It has no state, since bounds are relative to
   the size of a sine, and no such bound exists for 0. */
static void write_row_of_zero(const struct inlay_generator *generator, const struct inlay_sinusoid_tile *tile)
{
    if (generator->pairs == 0)
        return; /* dim 1 has only an extra column */
    uint64_t one = inlay_sinusoid_exact(generator->sinusoid, 0, true, 0, tile->type);
    size_t step = tile->interleaved ? 2 : 1;
    for (size_t i = 0; i < tile->sines; i++)
        write_entry(tile->sin_out, i * step, 0, tile->type);
    for (size_t i = 0; i < tile->cosines; i++)
        write_entry(tile->cos_out, i * step, one, tile->type);
}

/* Writes the extra last column of an odd dim for n rows: zeros, or the cosine of the first frequency. */
static void write_last_column(const struct inlay_generator *generator, size_t column, size_t n, unsigned char *out,
                              size_t stride_bytes)
{
    const inlay_sinusoid *sinusoid = generator->sinusoid;
    bool wraps = sinusoid->odd == INLAY_SINUSOID_ODD_WRAP && sinusoid->pairs > 0;
    for (size_t row = 0; row < n; row++) {
        double position = position_of_row(generator, generator->row + row);
        uint64_t bits = wraps ? inlay_sinusoid_exact(sinusoid, 0, true, position, generator->computed) : 0;
        write_entry(out + row * stride_bytes, column, bits, generator->computed);
    }
}

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

/* Runs the kernel, and computes the entries that it leaves undecided. */
static void run_tile(const struct inlay_generator *generator, const struct inlay_sinusoid_tile *tile)
{
    memset(tile->undecided, 0, tile->rows * inlay_padded(tile->pairs) / INLAY_PAIR_GROUP * sizeof *tile->undecided);
    if (generator->kernels->sinusoid_rows(tile))
        decide(generator, tile);
}

/* Generates the next n rows. `stream`: uses non-temporal stores; the first sine and the first cosine of every row must
   then be aligned to a cache line. */
static void generate(struct inlay_generator *generator, const struct inlay_placement *placement, size_t n,
                     unsigned char *out, size_t stride_bytes, bool stream, const struct inlay_fused_rows *fused)
{
    uint32_t undecided[INLAY_GENERATOR_ROWS * INLAY_GENERATOR_PAIRS / INLAY_PAIR_GROUP];
    double positions[INLAY_GENERATOR_ROWS];
    size_t element = inlay_type_bytes(generator->computed);
    struct inlay_sinusoid_tile tile = {
        .pairs = generator->pairs,
        .sines = placement->sines,
        .cosines = placement->cosines,
        .state = &generator->state,
        .turns_high = generator->direct ? generator->sinusoid->turns_high + generator->first : NULL,
        .turns_low = generator->direct ? generator->sinusoid->turns_low + generator->first : NULL,
        .amplitude = generator->sinusoid->amplitude,
        .type = generator->computed,
        .out_stride_bytes = stride_bytes,
        .interleaved = placement->interleaved,
        .stream = stream,
        .undecided = undecided,
    };
    if (fused != NULL) {
        struct inlay_placement row = inlay_sinusoid_in_row(generator->sinusoid, generator->first, generator->pairs);
        tile.sin_at = row.sin * sizeof(float);
        tile.cos_at = row.cos * sizeof(float);
        tile.scale = fused->scale;
        tile.near = fused->near;
    }
    if (placement->last)
        write_last_column(generator, placement->last_column, n, out, stride_bytes);
    for (size_t done = 0; done < n; done += tile.rows) {
        double position;
        tile.sin_out = out + done * stride_bytes + placement->sin * element;
        tile.cos_out = out + done * stride_bytes + placement->cos * element;
        tile.tokens = fused != NULL && fused->tokens != NULL ? fused->tokens + done : NULL;
        tile.next = fused != NULL && fused->next != NULL ? fused->next + done : NULL;
        tile.rows = 0;
        /* A list may change concurrently: each position is loaded once. */
        if (generator->direct) {
            tile.rows = whole_positions(generator, inlay_min(n - done, INLAY_GENERATOR_ROWS), positions);
            position = positions[0];
        } else {
            position = position_of_row(generator, generator->row);
        }
        tile.positions = tile.rows > 0 ? positions : NULL;
        if (tile.positions != NULL) {
            run_tile(generator, &tile);
        } else if (position == 0) {
            tile.rows = 1;
            write_row_of_zero(generator, &tile);
        } else {
            if (generator->rows_left == 0)
                anchor(generator, position);
            tile.rows = inlay_min(inlay_min(n - done, generator->rows_left), INLAY_GENERATOR_ROWS);
            run_tile(generator, &tile);
            generator->rows_left -= tile.rows;
        }
        generator->row += tile.rows;
    }
}

void inlay_generator_rows(struct inlay_generator *generator, const struct inlay_placement *placement, size_t n,
                          unsigned char *out, size_t stride_bytes, const struct inlay_fused_rows *fused)
{
    float scale = generator->sinusoid->float_amplitude;
    generate(generator, placement, n, out, stride_bytes, false, fused);
    for (size_t row = 0; row < n && (scale != 1 || generator->type != generator->computed); row++) {
        unsigned char *at = out + row * stride_bytes;
        inlay_embed_floats(generator->kernels, at, NULL, at, generator->type, placement->columns, scale, false);
    }
}

/* Returns true if the first sine and the first cosine of every row are aligned to a cache line. Those of every
   generator then are too, since INLAY_GENERATOR_PAIRS entries are a multiple of a line. */
static bool on_lines(const struct inlay_placement *row, inlay_element_type type, const unsigned char *out,
                     size_t stride_bytes)
{
    size_t sin = row->sin * inlay_type_bytes(type), cos = row->interleaved ? 0 : row->cos * inlay_type_bytes(type);
    return ((uintptr_t)out | sin | cos | stride_bytes) % INLAY_CACHE_LINE == 0;
}

bool inlay_sinusoid_adds(const inlay_sinusoid *sinusoid, const unsigned char *out, size_t stride_bytes, bool stream)
{
    struct inlay_placement row = inlay_sinusoid_in_row(sinusoid, 0, sinusoid->pairs);
    return sinusoid->angles == NULL && !row.last && (!stream || on_lines(&row, INLAY_F32, out, stride_bytes));
}

void inlay_generator_add(struct inlay_generator *generator, size_t n, unsigned char *out, size_t stride_bytes,
                         bool stream, const struct inlay_fused_rows *fused)
{
    struct inlay_placement row = inlay_sinusoid_in_row(generator->sinusoid, generator->first, generator->pairs);
    generate(generator, &row, n, out, stride_bytes, stream, fused);
}

/*
 * Generates pieces of rows in a buffer that stays in L1 and copies them to `out`: for recipes that scale or convert
 * floats, and for non-temporal stores to rows that aren't aligned to cache lines, since the copying kernel handles
 * partial lines. Not inlined, so callers that need no buffer have none in their frame.
 */
static __attribute__((noinline)) void fill_through_buffer(struct inlay_generator *generator, size_t n,
                                                          unsigned char *out, size_t out_stride_bytes, bool stream)
{
    _Alignas(INLAY_CACHE_LINE) unsigned char buffer[INLAY_PIECE_ROWS][INLAY_PIECE_COLUMNS * sizeof(float)];
    size_t element = inlay_type_bytes(generator->type);
    struct inlay_placement piece = inlay_sinusoid_in_piece(generator->sinusoid, generator->first, generator->pairs);
    for (size_t done = 0; done < n; done += INLAY_PIECE_ROWS) {
        size_t rows = inlay_min(n - done, INLAY_PIECE_ROWS);
        inlay_generator_rows(generator, &piece, rows, buffer[0], sizeof *buffer, NULL);
        for (size_t row = 0; row < rows; row++)
            for (int i = 0; i < piece.runs; i++) {
                const unsigned char *from = buffer[row] + piece.run[i].at * element;
                unsigned char *to = out + (done + row) * out_stride_bytes + piece.run[i].first * element;
                if (generator->type == INLAY_F32)
                    inlay_embed_floats(generator->kernels, from, NULL, to, INLAY_F32, piece.run[i].count, 1, stream);
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
    /* The floats of a recipe go through a buffer if they are converted or use non-temporal stores. Otherwise they are
       scaled in place, since the general path has its own buffer and no stack left for another one. */
    const bool recipe = sinusoid->angles != NULL, buffered = recipe && (stream || type != INLAY_F32);
    size_t first = 0;
    do { /* once even for dim 1, which has no pairs */
        size_t pairs = inlay_min(sinusoid->pairs - first, INLAY_GENERATOR_PAIRS);
        struct inlay_placement row = inlay_sinusoid_in_row(sinusoid, first, pairs);
        bool aligned = on_lines(&row, type, out, out_stride_bytes);
        inlay_generator_start(&generator, kernels, sinusoid, first, pairs, type, positions, n);
        if (buffered || (stream && !aligned && type == INLAY_F32))
            fill_through_buffer(&generator, n, out, out_stride_bytes, stream);
        else
            generate(&generator, &row, n, out, out_stride_bytes, stream && aligned, NULL);
        first += INLAY_GENERATOR_PAIRS;
    } while (first < sinusoid->pairs);
    for (size_t row = 0; row < n && recipe && !buffered && sinusoid->float_amplitude != 1; row++) {
        unsigned char *at = out + row * out_stride_bytes;
        inlay_embed_floats(kernels, at, NULL, at, INLAY_F32, sinusoid->dim, sinusoid->float_amplitude, false);
    }
}
