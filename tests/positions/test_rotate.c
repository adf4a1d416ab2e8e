/* SPDX-License-Identifier: MIT */
/*
 * Rotary positions, applied: SIMD kernels against scalar ones bit by bit, results against long double, every way to
 * give positions, memory orders, executors, and every error.
 */
#include "support/support.h"

#include "base/bits.h"
#include "base/executor.h"
#include "positions/rotary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const inlay_rotary_layout layouts[] = {INLAY_ROTARY_HALVES, INLAY_ROTARY_INTERLEAVED};

static size_t bytes_of(inlay_element_type type)
{
    return type == INLAY_F32 ? 4 : 2;
}

static float value_at(inlay_element_type type, const unsigned char *row, size_t column)
{
    float x;
    const inlay_table one = inlay_table_view(type, row + column * bytes_of(type), 1, 1, bytes_of(type));
    const int64_t id = 0;
    ck_assert_int_eq(inlay_gather(&one, &id, INLAY_ID_I64, 1, 1, &x, sizeof x, NULL, NULL), INLAY_OK);
    return x;
}

/* True if all elements have the same bits or are NaN. */
static bool same_elements(inlay_element_type type, const unsigned char *a, const unsigned char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(a + i * bytes_of(type), b + i * bytes_of(type), bytes_of(type)) != 0 &&
            !(isnan(value_at(type, a, i)) && isnan(value_at(type, b, i))))
            return false;
    return true;
}

/* Fills elements: random bits, or with `tame` numbers in [-2, 2). */
static void fill(struct random *random, inlay_element_type type, unsigned char *at, size_t n, bool tame)
{
    for (size_t i = 0; i < n; i++) {
        float x = (float)(4 * random_unit(random) - 2);
        if (!tame)
            x = random_float(random);
        uint32_t bits = inlay_bits_f32(x);
        if (type == INLAY_F16)
            bits = tame ? (uint32_t)(0x3800 + random_below(random, 0x800)) : (uint32_t)random_bits(random);
        else if (type == INLAY_BF16)
            bits >>= 16;
        memcpy(at + i * bytes_of(type), &bits, bytes_of(type));
    }
}

/* ---- The kernels ------------------------------------------------------------------------------------------------- */

/* Rotates heads by the kernel under test and by the scalar one, and compares all bytes. */
static void compare_kernels(struct random *random, struct arena *arena, struct inlay_rotary_tile tile,
                            inlay_element_type type, bool in_place, enum placement placement)
{
    enum { HEADS = 3, ROOM = 8192 };
    static unsigned char data[ROOM], expected[ROOM];
    static float angles[2 * INLAY_ROTARY_MAX_DIM];
    const size_t rest = random_below(random, 3), columns = 2 * tile.pairs + rest, head = columns * bytes_of(type);
    const size_t stride = head + random_below(random, 5), bytes = (HEADS - 1) * stride + head;
    for (size_t i = 0; i < 2 * tile.pairs; i++)
        angles[i] = (float)(2 * random_unit(random) - 1);
    struct arena angle_arena = arena_make(2 * tile.pairs * sizeof(float));
    unsigned char *row = arena_place(&angle_arena, 2 * tile.pairs * sizeof(float), AT_END, 0);
    memcpy(row, angles, 2 * tile.pairs * sizeof(float));
    unsigned char *out = arena_place(arena, bytes, placement, random_below(random, 64));
    fill(random, type, data, ROOM / bytes_of(type), false);
    memcpy(expected, out, bytes);
    struct inlay_rotary_heads heads = {.type = type,
                                       .heads = HEADS,
                                       .columns = columns,
                                       .in = data,
                                       .in_head_bytes = stride,
                                       .out = expected,
                                       .out_head_bytes = stride};
    tile.angles = (const unsigned char *const[]){row};
    tile.tokens = tile.count = 1;
    tile.tensors = &heads;
    inlay_kernels_scalar.rotate(&tile);
    if (in_place)
        for (size_t h = 0; h < HEADS; h++)
            memcpy(out + h * stride, data + h * stride, head);
    heads.in = in_place ? out : data;
    heads.out = out;
    tested->rotate(&tile);
    for (size_t h = 0; h < HEADS; h++)
        EXPECT(same_elements(type, out + h * stride, expected + h * stride, columns),
               "%zu pairs of type %d, interleaved %d, inverse %d, in place %d: head %zu differs", tile.pairs, (int)type,
               tile.interleaved, tile.inverse, in_place, h);
    EXPECT(arena_untouched_outside(arena, out, HEADS, stride, head), "%zu pairs of type %d: wrote outside", tile.pairs,
           (int)type);
    arena_free(&angle_arena);
}

START_TEST(kernels_match_scalar_between_guard_pages)
{
    struct random random = {1};
    struct arena arena = arena_make(16384);
    for (size_t pairs = 1; pairs <= 150; pairs++)
        for (int way = 0; way < 8; way++)
            for (inlay_element_type type = INLAY_F32; type <= INLAY_BF16; type++)
                compare_kernels(&random, &arena,
                                (struct inlay_rotary_tile){.pairs = pairs, .interleaved = way & 1, .inverse = way & 2},
                                type, way & 4, (enum placement)(pairs * 8 + (size_t)way + type) % 3);
    arena_free(&arena);
}
END_TEST

/* ---- Whole calls ------------------------------------------------------------------------------------------------- */

static inlay_rotary *make_rotary(const inlay_rotary_spec *spec)
{
    inlay_rotary *rotary = NULL;
    ck_assert_int_eq(inlay_rotary_create(spec, NULL, &rotary), INLAY_OK);
    return rotary;
}

static void rotate(const inlay_rotary *rotary, const inlay_batch *batch, const inlay_rotary_tensor *tensors, size_t n,
                   inlay_rotary_direction direction)
{
    inlay_fault fault = {0};
    const inlay_status status = inlay_rotate(rotary, batch, tensors, n, direction, NULL, &fault);
    EXPECT(status == INLAY_OK, "%s: %s", fault.field, fault.reason);
}

static inlay_rotary_spec scaled_spec(inlay_rotary_scaling scaling, size_t dim)
{
    static double factors[INLAY_ROTARY_MAX_DIM / 2];
    for (size_t i = 0; i < INLAY_ROTARY_MAX_DIM / 2; i++)
        factors[i] = 1 + (double)i / 16;
    inlay_rotary_spec spec = inlay_rotary_spec_default(dim);
    spec.scaling = scaling;
    spec.factor = 4;
    spec.original_length = 4096;
    spec.length = 10000;
    spec.low_freq_factor = 1;
    spec.high_freq_factor = 4;
    spec.short_factors = spec.long_factors = factors;
    spec.cached_positions = 100;
    return spec;
}

/* Sets the axes of the pairs of a spec: one section after another, interleaved, or random. */
static void set_axes(inlay_rotary_spec *spec, struct random *random, size_t axes, int way)
{
    static uint8_t pair_axes[INLAY_ROTARY_MAX_DIM / 2];
    for (size_t i = 0; i < spec->dim / 2; i++)
        pair_axes[i] = (uint8_t)(way == 0   ? i * axes / (spec->dim / 2)
                                 : way == 1 ? i % axes
                                            : random_below(random, (unsigned)axes));
    spec->axes = axes;
    spec->pair_axes = pair_axes;
}

/* Compares one rotated head with its definition in long double. `factor` is that of cosines and sines. */
static void check_head(inlay_element_type type, const inlay_rotary_spec *spec, const double *frequencies, double factor,
                       const int64_t *positions, const unsigned char *in, const unsigned char *out)
{
    const inlay_rotary_layout layout = spec->layout;
    const size_t pairs = spec->dim / 2;
    const long double half_ulp = type == INLAY_F32 ? 0 : type == INLAY_F16 ? 0x1p-11L : 0x1p-8L;
    for (size_t i = 0; i < pairs; i++) {
        const size_t first = layout == INLAY_ROTARY_HALVES ? i : 2 * i;
        const size_t second = layout == INLAY_ROTARY_HALVES ? pairs + i : 2 * i + 1;
        const int64_t position = positions[spec->pair_axes[i]];
        const long double angle = (long double)position * frequencies[i];
        const long double c = cosl(angle) * factor, s = sinl(angle) * factor;
        const long double x = value_at(type, in, first), y = value_at(type, in, second);
        const long double x_out = x * c - y * s, y_out = y * c + x * s;
        const long double size = (fabsl(x) + fabsl(y)) * factor;
        const long double bound = size * 0x3p-24L + size * half_ulp + 0x1p-25L;
        EXPECT(
            fabsl(value_at(type, out, first) - x_out) <= bound && fabsl(value_at(type, out, second) - y_out) <= bound,
            "type %d, layout %d, pair %zu of %zu at %lld: %g %g, not %Lg %Lg", (int)type, (int)layout, i, pairs,
            (long long)position, (double)value_at(type, out, first), (double)value_at(type, out, second), x_out, y_out);
    }
}

START_TEST(results_match_long_double)
{
    static const size_t dims[] = {2, 6, 24, 32, 64, 80, 96, 128, 256, 1024};
    static const int64_t starts[] = {0, 98, 4095, 1000000};
    struct random random = {2};
    enum { N = 4, HEADS = 2 };
    static unsigned char in[N * HEADS * INLAY_ROTARY_MAX_DIM * 4], out[sizeof in];
    for (inlay_rotary_scaling scaling = INLAY_ROTARY_DEFAULT; scaling <= INLAY_ROTARY_LONGROPE; scaling++)
        for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
            for (size_t way = 0; way < 6; way++) {
                const inlay_element_type type = (inlay_element_type)(INLAY_F32 + way / 2);
                inlay_rotary_spec spec = scaled_spec(scaling, dims[d]);
                double frequencies[INLAY_ROTARY_MAX_DIM / 2], factor;
                if (dims[d] == 2 && (scaling == INLAY_ROTARY_NTK || scaling == INLAY_ROTARY_DYNAMIC_NTK))
                    continue;
                ck_assert_int_eq(inlay_rotary_frequencies(&spec, frequencies, &factor), INLAY_OK);
                spec.layout = layouts[way % 2];
                set_axes(&spec, &random, 1 + (d + (size_t)scaling) % INLAY_ROTARY_MAX_AXES, (int)way / 2);
                inlay_rotary *rotary = make_rotary(&spec);
                fill(&random, type, in, N * HEADS * dims[d], true);
                inlay_rotary_tensor tensor = inlay_rotary_in_place(type, in, HEADS, dims[d]);
                tensor.out = out;
                const int64_t start = starts[(d + way) % 4];
                inlay_batch batch = inlay_batch_i32(NULL, 1, N, start);
                int64_t positions[N][INLAY_ROTARY_MAX_AXES], ids[INLAY_ROTARY_MAX_AXES * N];
                for (size_t i = 0; i < N * spec.axes; i++)
                    ids[i] = positions[i % N][i / N] = start + (int64_t)(i % N * (1 + i / N));
                if (spec.axes > 1) {
                    batch.position_ids = ids;
                    batch.position_id_type = INLAY_ID_I64;
                }
                rotate(rotary, &batch, &tensor, 1, INLAY_ROTARY_FORWARD);
                const size_t head = dims[d] * bytes_of(type);
                for (size_t t = 0; t < N; t++)
                    for (size_t h = 0; h < HEADS; h++)
                        check_head(type, &spec, frequencies, factor, positions[t], in + (t * HEADS + h) * head,
                                   out + (t * HEADS + h) * head);
                inlay_rotary_destroy(rotary);
            }
}
END_TEST

/* A call of several sequences. Each head is compared with calls of one token, one for each axis. */
enum { DIM = 40, COLUMNS = 45, HEADS = 3, SEQUENCES = 3, TOKENS = 120, HEAD = COLUMNS * sizeof(float) };

/* Where the tokens are, and their positions on each axis. */
struct tokens {
    size_t count, sequences[TOKENS], places[TOKENS];
    int64_t positions[INLAY_ROTARY_MAX_AXES][TOKENS];
};

/* Rotates the heads of a token by the position of each axis, and keeps the pairs of this axis. */
static void expect_heads(const inlay_rotary *rotary, const inlay_rotary_spec *spec, const struct tokens *tokens,
                         size_t t, inlay_rotary_direction direction, const inlay_rotary_tensor *heads,
                         float expected[HEADS][COLUMNS])
{
    for (size_t axis = 0; axis < spec->axes; axis++) {
        float rotated[HEADS][COLUMNS];
        inlay_rotary_tensor one = *heads;
        one.out = rotated;
        one.out_strides.head = HEAD;
        const inlay_batch token = inlay_batch_i32(NULL, 1, 1, tokens->positions[axis][t]);
        rotate(rotary, &token, &one, 1, direction);
        for (size_t i = 0; i < (size_t)HEADS * COLUMNS; i++) {
            const size_t c = i % COLUMNS, pair = spec->layout == INLAY_ROTARY_HALVES ? c % (DIM / 2) : c / 2;
            if (c >= DIM || spec->pair_axes[pair] == axis)
                expected[i / COLUMNS][c] = rotated[i / COLUMNS][c];
        }
    }
}

static void check_tokens(const inlay_rotary *rotary, const inlay_rotary_spec *spec, const inlay_batch *batch,
                         const struct tokens *tokens, const inlay_rotary_strides *data_strides,
                         const inlay_rotary_strides *out_strides)
{
    enum { ROOM = SEQUENCES * TOKENS * (HEADS + 1) * HEAD };
    static unsigned char in[ROOM], out[ROOM], same[ROOM];
    struct random random = {3};
    fill(&random, INLAY_F32, in, ROOM / sizeof(float), true);
    memset(out, 0x5a, ROOM);
    memcpy(same, in, ROOM);
    inlay_rotary_tensor tensor = inlay_rotary_in_place(INLAY_F32, in, HEADS, COLUMNS);
    tensor.data_strides = *data_strides;
    tensor.out_strides = *out_strides;
    tensor.out = out;
    const inlay_rotary_direction direction = spec->axes % 2 ? INLAY_ROTARY_FORWARD : INLAY_ROTARY_INVERSE;
    rotate(rotary, batch, &tensor, 1, direction);
    size_t written = 0;
    for (size_t t = 0; t < tokens->count; t++) {
        const size_t b = tokens->sequences[t], s = tokens->places[t];
        float expected[HEADS][COLUMNS];
        tensor.data = in + b * data_strides->sequence + s * data_strides->token;
        expect_heads(rotary, spec, tokens, t, direction, &tensor, expected);
        for (size_t h = 0; h < HEADS; h++) {
            unsigned char *at = out + b * out_strides->sequence + s * out_strides->token + h * out_strides->head;
            EXPECT(memcmp(at, expected[h], HEAD) == 0, "token %zu, head %zu at position %lld differs", t, h,
                   (long long)tokens->positions[0][t]);
            memset(at, 0x5a, HEAD);
            written++;
        }
    }
    for (size_t i = 0; i < ROOM; i++)
        EXPECT(out[i] == 0x5a, "%zu heads: byte %zu was written", written, i);
    EXPECT(memcmp(in, same, ROOM) == 0, "the input changed");
}

/* Memory orders: [sequences, tokens, heads], [sequences, heads, tokens], [tokens, sequences, heads] with gaps. */
static const inlay_rotary_strides orders[] = {
    {TOKENS * HEADS * HEAD, HEADS *HEAD, HEAD},
    {TOKENS * HEADS * HEAD, HEAD, TOKENS *HEAD},
    {(HEADS + 1) * HEAD, SEQUENCES *(HEADS + 1) * HEAD, HEAD + 12},
};

/* Draws the positions of a token: on each axis the same, or that of the token before or another one; small or not. */
static void draw_positions(struct random *random, struct tokens *tokens, size_t axes)
{
    const size_t t = tokens->count;
    const bool same = random_below(random, 3) == 0;
    for (size_t axis = 0; axis < axes; axis++) {
        int64_t position = (int64_t)random_below(random, random_below(random, 2) ? 150 : 1u << 31);
        if (t > 0 && random_below(random, 2))
            position = tokens->positions[axis][t - 1];
        tokens->positions[axis][t] = same && axis > 0 ? tokens->positions[0][t] : position;
    }
}

/* Writes positions [axes, tokens] as ids. */
static void write_ids(const struct tokens *tokens, size_t axes, inlay_id_type type, void *ids)
{
    for (size_t axis = 0; axis < axes; axis++)
        for (size_t t = 0; t < tokens->count; t++) {
            const int64_t position = tokens->positions[axis][t];
            const size_t i = axis * tokens->count + t;
            if (type == INLAY_ID_I32)
                ((int32_t *)ids)[i] = (int32_t)position;
            else
                ((int64_t *)ids)[i] = position;
        }
}

START_TEST(every_way_to_give_positions)
{
    static const int64_t starts[SEQUENCES] = {2147483647 - 39, 0, 97}, offsets[] = {0, 7, 7, 40};
    static int64_t ids[INLAY_ROTARY_MAX_AXES * TOKENS];
    static struct tokens tokens;
    struct random random = {4};
    inlay_rotary_spec spec = inlay_rotary_spec_default(DIM);
    spec.cached_positions = 100;
    for (int way = 0; way < 36 * INLAY_ROTARY_MAX_AXES; way++) {
        const bool ragged = way % 3 == 2, with_starts = way / 3 % 2, with_ids = way / 6 % 2;
        const inlay_id_type type = way / 2 % 2 ? INLAY_ID_I32 : INLAY_ID_I64;
        inlay_batch batch = inlay_batch_i32(NULL, SEQUENCES, 40, 70);
        batch.offsets = ragged ? offsets : NULL;
        batch.starts = with_starts ? starts : NULL;
        batch.position_ids = with_ids ? ids : NULL;
        batch.position_id_type = with_ids ? type : (inlay_id_type)0;
        set_axes(&spec, &random, 1 + (size_t)way / 36, way / 12 % 3);
        tokens.count = 0;
        for (size_t b = 0; b < SEQUENCES; b++)
            for (size_t s = 0; s < (ragged ? (size_t)(offsets[b + 1] - offsets[b]) : 40); s++, tokens.count++) {
                draw_positions(&random, &tokens, spec.axes);
                for (size_t axis = 0; axis < spec.axes && !with_ids; axis++)
                    tokens.positions[axis][tokens.count] = (with_starts ? starts[b] : 70) + (int64_t)s;
                tokens.sequences[tokens.count] = b;
                tokens.places[tokens.count] = s;
            }
        write_ids(&tokens, spec.axes, type, ids);
        spec.layout = layouts[way % 2];
        inlay_rotary *rotary = make_rotary(&spec);
        check_tokens(rotary, &spec, &batch, &tokens, &orders[way / 12 % 3], &orders[(way + 1) % 3]);
        /* Without a stride, sequences are packed, or padded_length tokens apart. */
        inlay_rotary_strides packed = orders[0];
        packed.sequence = 0;
        batch.padded_length = ragged && with_starts ? 33 : 0;
        for (size_t t = 0; t < tokens.count; t++)
            tokens.places[t] =
                batch.padded_length > 0 ? tokens.sequences[t] * batch.padded_length + tokens.places[t] : t;
        check_tokens(rotary, &spec, &batch, &tokens, &packed, &packed);
        inlay_rotary_destroy(rotary);
    }
}
END_TEST

START_TEST(caches_and_given_frequencies_change_no_bits)
{
    enum { N = 300 };
    static float base[N][DIM], other[N][DIM];
    struct random random = {5};
    double frequencies[DIM / 2], factor;
    inlay_rotary_spec spec = scaled_spec(INLAY_ROTARY_YARN, DIM);
    ck_assert_int_eq(inlay_rotary_frequencies(&spec, frequencies, &factor), INLAY_OK);
    const inlay_batch batch = inlay_batch_i32(NULL, 1, N, 3900);
    const inlay_rotary_tensor tensors[] = {inlay_rotary_in_place(INLAY_F32, base, 1, DIM),
                                           inlay_rotary_in_place(INLAY_F32, other, 1, DIM)};
    static const size_t caches[] = {0, 4000, 5000, INLAY_CACHED_POSITIONS_DEFAULT};
    for (uint32_t float_angles = 0; float_angles < 2; float_angles++)
        for (size_t i = 0; i < 8; i++) {
            fill(&random, INLAY_F32, (unsigned char *)base, N * DIM, false);
            memcpy(other, base, sizeof base);
            spec.float_angles = float_angles;
            spec.cached_positions = 1;
            spec.inv_freq = NULL;
            spec.attention_factor = 0;
            inlay_rotary *rotary = make_rotary(&spec);
            rotate(rotary, &batch, &tensors[0], 1, INLAY_ROTARY_FORWARD);
            inlay_rotary_destroy(rotary);
            spec.cached_positions = caches[i / 2];
            spec.inv_freq = i % 2 ? frequencies : NULL;
            spec.attention_factor = i % 2 ? factor : 0;
            rotary = make_rotary(&spec);
            rotate(rotary, &batch, &tensors[1], 1, INLAY_ROTARY_FORWARD);
            inlay_rotary_destroy(rotary);
            EXPECT(same_elements(INLAY_F32, (unsigned char *)base, (unsigned char *)other, (size_t)N * DIM),
                   "case %zu, float angles %u", i, float_angles);
        }
}
END_TEST

START_TEST(given_rows_rotate_like_computed_ones)
{
    enum { N = 90, H = 2, COUNT = 100, MAX_D = 66 };
    static float rows[COUNT * MAX_D];
    static unsigned char x[N * H * MAX_D * 4], y[sizeof x];
    static int64_t ids[N];
    struct random random = {10};
    struct arena arena = arena_make(sizeof rows);
    for (int way = 0; way < 24; way++) {
        const inlay_element_type type = (inlay_element_type)(INLAY_F32 + way / 2 % 3);
        const size_t d = way / 6 % 2 ? MAX_D : 6;
        inlay_sinusoid_spec sines = inlay_sinusoid_spec_default(d);
        sines.layout = INLAY_SINUSOID_LAYOUT_SPLIT_COS_FIRST;
        inlay_sinusoid *sinusoid;
        ck_assert_int_eq(inlay_sinusoid_create(&sines, NULL, &sinusoid), INLAY_OK);
        const size_t row_bytes = d * sizeof(float);
        ck_assert_int_eq(inlay_sinusoid_rows(sinusoid, 0, COUNT, INLAY_F32, rows, row_bytes, NULL), INLAY_OK);
        inlay_sinusoid_destroy(sinusoid);
        unsigned char *at = arena_place(&arena, COUNT * row_bytes, AT_END, 0);
        memcpy(at, rows, COUNT * row_bytes);
        inlay_rotary_spec spec = inlay_rotary_spec_default(d);
        spec.layout = layouts[way % 2];
        inlay_batch batch = inlay_batch_i32(NULL, 1, N, COUNT - N);
        for (size_t i = 0; i < N; i++)
            ids[i] = (int64_t)random_below(&random, COUNT);
        batch.position_ids = way / 12 ? ids : NULL;
        batch.position_id_type = way / 12 ? INLAY_ID_I64 : (inlay_id_type)0;
        inlay_rotary *computed = make_rotary(&spec), *given;
        ck_assert_int_eq(inlay_rotary_from_rows((const float *)(void *)at, COUNT, d, layouts[way % 2], NULL, &given),
                         INLAY_OK);
        fill(&random, type, x, N * H * d, true);
        memcpy(y, x, sizeof x);
        const inlay_rotary_tensor x_heads = inlay_rotary_in_place(type, x, H, d);
        const inlay_rotary_tensor y_heads = inlay_rotary_in_place(type, y, H, d);
        rotate(computed, &batch, &x_heads, 1, INLAY_ROTARY_FORWARD);
        rotate(given, &batch, &y_heads, 1, INLAY_ROTARY_FORWARD);
        EXPECT(memcmp(x, y, N * H * d * bytes_of(type)) == 0, "way %d: given rows rotate differently", way);
        inlay_rotary_destroy(computed);
        inlay_rotary_destroy(given);
    }
    arena_free(&arena);
}
END_TEST

/* Rounding to bfloat16 must not carry into the sign of a NaN. */
static void check_nans(const float *rows, size_t dim, inlay_rotary_layout layout, inlay_element_type type,
                       inlay_rotary_direction direction)
{
    enum { D = 128 };
    uint16_t x[D];
    float numbers[D];
    for (size_t i = 0; i < dim; i++)
        x[i] = type == INLAY_F16 ? 0x3c00 : 0x3f80; /* 1 */
    inlay_rotary *given;
    ck_assert_int_eq(inlay_rotary_from_rows(rows, 1, dim, layout, NULL, &given), INLAY_OK);
    const inlay_batch batch = inlay_batch_i32(NULL, 1, 1, 0);
    const inlay_rotary_tensor heads = inlay_rotary_in_place(type, x, 1, dim);
    rotate(given, &batch, &heads, 1, direction);
    const inlay_table table = inlay_table_view(type, x, 1, dim, dim * sizeof *x);
    ck_assert_int_eq(inlay_gather(&table, &(int32_t){0}, INLAY_ID_I32, 1, 1, numbers, sizeof numbers, NULL, NULL),
                     INLAY_OK);
    for (size_t i = 0; i < dim; i++)
        EXPECT(isnan(numbers[i]), "dim %zu, type %d, layout %d, direction %d, column %zu: %g", dim, (int)type,
               (int)layout, (int)direction, i, (double)numbers[i]);
    inlay_rotary_destroy(given);
}

/* Cosines are NaNs, sines, or both. */
START_TEST(nans_of_given_rows_stay_nan)
{
    static const uint32_t nans[] = {0x7fffffff, 0xffffffff, 0x7f800001, 0x7fc00000, 0xff80ffff};
    for (size_t dim = 8; dim <= 128; dim *= 2)
        for (int way = 0; way < 24; way++) {
            float rows[128];
            for (size_t i = 0; i < dim; i++) {
                rows[i] = 0.5F;
                if (way % 3 == 0 || (i < dim / 2) == (way % 3 == 1))
                    memcpy(rows + i, &nans[i % 5], sizeof *rows);
            }
            check_nans(rows, dim, layouts[way / 3 % 2], way / 6 % 2 ? INLAY_F16 : INLAY_BF16,
                       way / 12 ? INLAY_ROTARY_INVERSE : INLAY_ROTARY_FORWARD);
        }
}
END_TEST

START_TEST(tensors_of_several_types_rotate_as_alone)
{
    enum { N = 5, H = 2, D = 70, BYTES = N * H * D * 4 };
    static const inlay_element_type types[] = {INLAY_BF16, INLAY_F32, INLAY_F16, INLAY_BF16, INLAY_BF16, INLAY_F32};
    enum { TENSORS = sizeof types / sizeof *types };
    static unsigned char together[TENSORS][BYTES], alone[TENSORS][BYTES];
    struct random random = {9};
    for (int way = 0; way < 4; way++) {
        const inlay_rotary_direction direction = way / 2 ? INLAY_ROTARY_INVERSE : INLAY_ROTARY_FORWARD;
        inlay_rotary_spec spec = inlay_rotary_spec_default(D);
        spec.layout = layouts[way % 2];
        inlay_rotary *rotary = make_rotary(&spec);
        const inlay_batch batch = inlay_batch_i32(NULL, 1, N, 7);
        inlay_rotary_tensor tensors[TENSORS];
        for (size_t k = 0; k < TENSORS; k++) {
            fill(&random, types[k], alone[k], N * H * D, true);
            memcpy(together[k], alone[k], BYTES);
            tensors[k] = inlay_rotary_in_place(types[k], alone[k], H, D);
            rotate(rotary, &batch, &tensors[k], 1, direction);
            tensors[k] = inlay_rotary_in_place(types[k], together[k], H, D);
        }
        rotate(rotary, &batch, tensors, TENSORS, direction);
        for (size_t k = 0; k < TENSORS; k++)
            EXPECT(memcmp(together[k], alone[k], BYTES) == 0, "way %d: tensor %zu differs", way, k);
        inlay_rotary_destroy(rotary);
    }
}
END_TEST

START_TEST(packed_queries_and_keys_in_place)
{
    /* [tokens, queries | keys | values], and per head a query, a key and a value as in GPT-NeoX, without and with a gap
       after each token. */
    enum { N = 70, D = 24, QUERIES = 4, KEYS = 2, ALL = QUERIES + 2 * KEYS, GAP = 8 };
    static float x[N * (12 * D + GAP)], expected[N * (12 * D + GAP)];
    struct random random = {6};
    inlay_rotary_spec spec = inlay_rotary_spec_default(D);
    inlay_rotary *rotary = make_rotary(&spec);
    for (int neox = 0; neox < 3; neox++) {
        const size_t heads = neox ? 12 : ALL, token_floats = heads * D + (neox == 2 ? GAP : 0);
        fill(&random, INLAY_F32, (unsigned char *)x, sizeof x / sizeof *x, true);
        memcpy(expected, x, sizeof x);
        float *first = x;
        inlay_rotary_tensor tensors[] = {
            inlay_rotary_in_place(INLAY_F32, first, 4, D),
            inlay_rotary_in_place(INLAY_F32, neox ? first + D : first + QUERIES * D, neox ? 4 : KEYS, D)};
        for (int i = 0; i < 2; i++) {
            tensors[i].data_strides = (inlay_rotary_strides){0, token_floats * sizeof(float), D * sizeof(float)};
            tensors[i].data_strides.head *= neox ? 3 : 1;
            tensors[i].out_strides = tensors[i].data_strides;
        }
        const inlay_batch batch = inlay_batch_i32(NULL, 1, N, 5);
        rotate(rotary, &batch, tensors, 2, INLAY_ROTARY_FORWARD);
        for (size_t t = 0; t < N; t++)
            for (size_t h = 0; h < heads; h++) {
                float *at = expected + t * token_floats + h * D;
                const inlay_rotary_tensor one = inlay_rotary_in_place(INLAY_F32, at, 1, D);
                const inlay_batch token = inlay_batch_i32(NULL, 1, 1, 5 + (int64_t)t);
                if (neox ? h % 3 < 2 : h < QUERIES + KEYS)
                    rotate(rotary, &token, &one, 1, INLAY_ROTARY_FORWARD);
            }
        EXPECT(memcmp(x, expected, sizeof x) == 0, "neox %d: packed heads differ", neox);
    }
    inlay_rotary_destroy(rotary);
}
END_TEST

START_TEST(inverse_undoes_a_rotation)
{
    enum { N = 20, H = 2 };
    static unsigned char x[N * H * 128 * 4], kept[sizeof x];
    struct random random = {7};
    for (int way = 0; way < 6; way++) {
        const inlay_element_type type = (inlay_element_type)(INLAY_F32 + way / 2);
        inlay_rotary_spec spec = inlay_rotary_spec_default(128);
        spec.layout = layouts[way % 2];
        inlay_rotary *rotary = make_rotary(&spec);
        fill(&random, type, x, (size_t)N * H * 128, true);
        memcpy(kept, x, sizeof x);
        const inlay_rotary_tensor tensor = inlay_rotary_in_place(type, x, H, 128);
        const inlay_batch batch = inlay_batch_i32(NULL, 1, N, 4090);
        rotate(rotary, &batch, &tensor, 1, INLAY_ROTARY_FORWARD);
        EXPECT(memcmp(x, kept, sizeof x) != 0, "nothing was rotated");
        rotate(rotary, &batch, &tensor, 1, INLAY_ROTARY_INVERSE);
        const float bound = type == INLAY_F32 ? 0x1p-20f : type == INLAY_F16 ? 0x1p-8f : 0x1p-5f;
        for (size_t i = 0; i < (size_t)N * H * 128; i++)
            EXPECT(fabsf(value_at(type, x, i) - value_at(type, kept, i)) <= bound, "way %d: element %zu is %g, not %g",
                   way, i, (double)value_at(type, x, i), (double)value_at(type, kept, i));
        inlay_rotary_destroy(rotary);
    }
}
END_TEST

/* ---- Executors --------------------------------------------------------------------------------------------------- */

/* Arrays that an executor overwrites before it runs parts, as another thread could. */
struct rewrite {
    void *arrays[3];
    size_t bytes;
    int value;
    size_t parts;
};

static void run_backwards(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    struct rewrite *rewrite = ctx;
    rewrite->parts = count;
    for (size_t i = 0; i < 3 && rewrite->arrays[i] != NULL; i++)
        memset(rewrite->arrays[i], rewrite->value, rewrite->bytes);
    for (size_t i = count; i-- > 0;)
        task(arg, i);
}

START_TEST(parts_change_no_bits)
{
    enum { N = 301, H = 5, D = 64 };
    static float x[3][N][H][D], expected[3][N][H][D];
    static int32_t ids[3 * 3 * N];
    struct random random = {8};
    struct rewrite none = {.parts = 0};
    inlay_rotary_spec spec = scaled_spec(INLAY_ROTARY_LLAMA3, D);
    set_axes(&spec, &random, 3, 1);
    inlay_rotary *rotary = make_rotary(&spec);
    fill(&random, INLAY_F32, (unsigned char *)x, sizeof x / sizeof(float), true);
    memcpy(expected, x, sizeof x);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        ids[i] = (int32_t)random_below(&random, 200);
    inlay_batch batch = inlay_batch_i32(NULL, 3, N, 3);
    const inlay_rotary_tensor one = inlay_rotary_in_place(INLAY_F32, expected, H, D);
    rotate(rotary, &batch, &one, 1, INLAY_ROTARY_FORWARD);
    for (size_t threads = 1; threads <= 14; threads++) {
        if (threads == 8) {
            batch.position_ids = ids;
            batch.position_id_type = INLAY_ID_I32;
            memcpy(expected, x, sizeof x);
            rotate(rotary, &batch, &one, 1, INLAY_ROTARY_FORWARD);
        }
        static float y[3][N][H][D];
        memcpy(y, x, sizeof x);
        const inlay_executor executor = {&none, run_backwards, threads};
        const inlay_rotary_tensor tensor = inlay_rotary_in_place(INLAY_F32, y, H, D);
        ck_assert_int_eq(inlay_rotate(rotary, &batch, &tensor, 1, INLAY_ROTARY_FORWARD, &executor, NULL), INLAY_OK);
        EXPECT(memcmp(y, expected, sizeof y) == 0, "%zu threads change bits", threads);
        EXPECT(threads == 1 || none.parts >= threads, "%zu parts for %zu threads", none.parts, threads);
    }
    inlay_rotary_destroy(rotary);
}
END_TEST

START_TEST(arrays_that_change_during_a_call_lead_nowhere_else)
{
    enum { N = 200, B = 2, H = 4, D = 64 };
    static float expected[B][N][H][D];
    struct arena arena = arena_make(B * N * H * D * sizeof(float));
    unsigned char *x = arena_place(&arena, B * N * H * D * sizeof(float), AT_END, 0);
    struct arena row_arena = arena_make((B * N + 2) * D * sizeof(float));
    unsigned char *rows = arena_place(&row_arena, (B * N + 2) * D * sizeof(float), AT_END, 0);
    inlay_rotary_spec spec = inlay_rotary_spec_default(D);
    struct random random = {9};
    spec.cached_positions = 300;
    set_axes(&spec, &random, 3, 1);
    inlay_rotary *computed = make_rotary(&spec), *given;
    ck_assert_int_eq(inlay_rotary_from_rows((const float *)(void *)rows, B * N + 2, D, spec.layout, NULL, &given),
                     INLAY_OK);
    for (int way = 0; way < 24; way++) {
        const inlay_rotary *rotary = way / 12 ? given : computed;
        static const int values[] = {0xff, 0x7f, 1, 0};
        int64_t starts[B + 1] = {1, 2}, offsets[B + 1] = {0, N / 2, B * N}, ids[3][B * N] = {0};
        struct rewrite rewrite = {.bytes = sizeof starts, .value = values[way % 4]};
        inlay_batch batch = inlay_batch_i32(NULL, B, N, 0);
        size_t n = 0;
        if (way / 4 % 3 == 0)
            rewrite.arrays[n++] = starts, batch.starts = starts;
        if (way / 4 % 3 == 1)
            rewrite.arrays[n++] = ids[way % 3], batch.position_ids = ids, batch.position_id_type = INLAY_ID_I64;
        inlay_rotary_tensor tensor = inlay_rotary_in_place(INLAY_F32, x, H, D);
        if (way / 4 % 3 == 2) {
            rewrite.arrays[n++] = offsets + 1; /* 0 leaves all tokens to the second sequence */
            rewrite.bytes = sizeof *offsets;
            offsets[1] = N;
            batch.offsets = offsets;
            batch.length = B * N;
            tensor.data_strides.sequence = tensor.out_strides.sequence = (size_t)N * H * D * sizeof(float);
        }
        const inlay_executor executor = {&rewrite, run_backwards, 4};
        fill(&random, INLAY_F32, x, (size_t)B * N * H * D, true);
        memcpy(expected, x, sizeof expected);
        EXPECT(inlay_rotate(rotary, &batch, &tensor, 1, INLAY_ROTARY_FORWARD, &executor, NULL) == INLAY_OK &&
                   rewrite.parts > 1,
               "way %d did not run in parts", way);
        if (way / 4 == 1) /* all are invalid, and 0 again */
            EXPECT(memcmp(x, expected, sizeof expected) == 0, "way %d: other positions than 0", way);
    }
    inlay_rotary_destroy(computed);
    inlay_rotary_destroy(given);
    arena_free(&row_arena);
    arena_free(&arena);
}
END_TEST

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* Expects an error that blames a field, unchanged data and unchanged errno; returns the fault. */
static struct {
    const inlay_rotary *rotary;
    inlay_batch batch;
    inlay_rotary_tensor tensors[INLAY_ROTARY_MAX_TENSORS + 1];
    size_t count;
    float data[2][4][2][DIM]; /* queries and keys, [2 sequences of 2 tokens, 2 heads, DIM] */
} call;

static void reset_call(void)
{
    call.batch = inlay_batch_i32(NULL, 2, 2, 0);
    call.count = 2;
    for (size_t k = 0; k < sizeof call.tensors / sizeof *call.tensors; k++)
        call.tensors[k] = inlay_rotary_in_place(INLAY_F32, call.data[k % 2], 2, DIM);
}

static inlay_fault expect_error(inlay_status wanted, const char *field)
{
    static float before[2][4][2][DIM];
    memcpy(before, call.data, sizeof before);
    inlay_fault fault = {.field = "no field", .reason = ""};
    errno = 0;
    inlay_status got =
        inlay_rotate(call.rotary, &call.batch, call.tensors, call.count, INLAY_ROTARY_FORWARD, NULL, NULL);
    EXPECT(got == wanted, "\"%s\" without a fault, not \"%s\"", inlay_status_string(got), inlay_status_string(wanted));
    got = inlay_rotate(call.rotary, &call.batch, call.tensors, call.count, INLAY_ROTARY_FORWARD, NULL, &fault);
    EXPECT(got == wanted, "\"%s\", not \"%s\"", inlay_status_string(got), inlay_status_string(wanted));
    EXPECT(wanted == INLAY_OK || (strcmp(fault.field, field) == 0 && strlen(fault.reason) > 0),
           "\"%s: %s\", not %s, is at fault", fault.field, fault.reason, field);
    EXPECT(wanted == INLAY_OK || (memcmp(before, call.data, sizeof before) == 0 && errno == 0), "%s: wrote", field);
    reset_call();
    return fault;
}

START_TEST(errors_of_calls)
{
    const inlay_rotary_spec spec = inlay_rotary_spec_default(DIM);
    inlay_rotary *rotary = make_rotary(&spec);
    reset_call();
    expect_error(INLAY_ERROR_NULL, "rotary");
    call.rotary = rotary;
    expect_error(INLAY_OK, "");
    EXPECT(inlay_rotate(rotary, NULL, call.tensors, 1, INLAY_ROTARY_FORWARD, NULL, NULL) == INLAY_ERROR_NULL, "batch");
    EXPECT(inlay_rotate(rotary, &call.batch, NULL, 1, INLAY_ROTARY_FORWARD, NULL, NULL) == INLAY_ERROR_NULL, "tensors");
    EXPECT(inlay_rotate(rotary, &call.batch, NULL, 0, INLAY_ROTARY_FORWARD, NULL, NULL) == INLAY_OK, "no tensors");
    EXPECT(inlay_rotate(rotary, &call.batch, call.tensors, 1, (inlay_rotary_direction)2, NULL, NULL) ==
               INLAY_ERROR_OPTION,
           "direction");
    const inlay_executor idle = {NULL, NULL, 2};
    EXPECT(inlay_rotate(rotary, &call.batch, call.tensors, 1, INLAY_ROTARY_FORWARD, &idle, NULL) == INLAY_ERROR_NULL,
           "executor");
#define EXPECT_ERROR(status, name, field, value)                                                                       \
    do {                                                                                                               \
        call.field = (value);                                                                                          \
        expect_error(status, name);                                                                                    \
    } while (0)
    EXPECT_ERROR(INLAY_ERROR_OPTION, "count", count, INLAY_ROTARY_MAX_TENSORS + 1);
    EXPECT_ERROR(INLAY_ERROR_OPTION, "size", batch.size, 8);
    EXPECT_ERROR(INLAY_ERROR_OPTION, "padded_length", batch.padded_length, 4);
    EXPECT_ERROR(INLAY_ERROR_OPTION, "position_id_type", batch.position_id_type, INLAY_ID_I32);
    EXPECT_ERROR(INLAY_ERROR_OVERFLOW, "sequences", batch.sequences, SIZE_MAX);
    EXPECT_ERROR(INLAY_ERROR_OVERFLOW, "data", batch.sequences, SIZE_MAX / 8);
    EXPECT_ERROR(INLAY_ERROR_OPTION, "type", tensors[1].type, INLAY_I8);
    EXPECT_ERROR(INLAY_ERROR_OPTION, "type", tensors[1].type, (inlay_element_type)0);
    EXPECT_ERROR(INLAY_ERROR_OPTION, "reserved", tensors[0].reserved, 1);
    EXPECT_ERROR(INLAY_ERROR_SHAPE, "columns", tensors[0].columns, DIM - 1);
    EXPECT_ERROR(INLAY_ERROR_OVERFLOW, "columns", tensors[0].columns, SIZE_MAX / 2);
    EXPECT_ERROR(INLAY_ERROR_NULL, "data", tensors[1].data, NULL);
    EXPECT_ERROR(INLAY_ERROR_NULL, "out", tensors[1].out, NULL);
    EXPECT_ERROR(INLAY_ERROR_STRIDE, "data_strides", tensors[0].data_strides.head, DIM * sizeof(float) - 1);
    EXPECT_ERROR(INLAY_ERROR_STRIDE, "out_strides", tensors[0].out_strides.token, 0);
    EXPECT_ERROR(INLAY_ERROR_STRIDE, "out_strides", tensors[0].out_strides.token, 2 * DIM * sizeof(float) - 1);
    EXPECT_ERROR(INLAY_ERROR_OVERFLOW, "data", tensors[0].data_strides.token, SIZE_MAX / 2);
    EXPECT_ERROR(INLAY_ERROR_OVERLAP, "out", tensors[1].out, call.data[0]);
    EXPECT_ERROR(INLAY_ERROR_OVERLAP, "out", tensors[0].out, (char *)call.data + 4);
    EXPECT_ERROR(INLAY_ERROR_OVERLAP, "out", tensors[1].out, (char *)call.data[0] + sizeof call.data[0] - 4);
    EXPECT_ERROR(INLAY_ERROR_OVERLAP, "out", tensors[0].out, rotary);
    EXPECT_ERROR(INLAY_ERROR_OVERLAP, "out", tensors[0].out_strides.token, 2 * DIM * sizeof(float) + 4);
    EXPECT_ERROR(INLAY_ERROR_OVERLAP, "starts", batch.starts, (const int64_t *)call.data);
    /* Queries and keys in each other's gaps, but the keys of a token begin 4 bytes too early or end 4 bytes too late.
       In place, and with the queries written to the gaps of the keys. */
    static float other[2][4][4][DIM];
    for (int way = 0; way < 4; way++) {
        for (size_t k = 0; k < 2; k++) {
            call.tensors[k].data_strides.token = call.tensors[k].out_strides.token = sizeof other[0][0];
            call.tensors[k].data = call.tensors[k].out =
                (char *)call.data + k * (sizeof other[0][0] / 2 + 4 - (way % 2 ? 8 : 0));
        }
        if (way / 2) {
            call.tensors[0].data = other[0];
            call.tensors[1].out = other[1];
        }
        expect_error(INLAY_ERROR_OVERLAP, "out");
    }
    /* Heads and tokens change places in the same memory. */
    call.tensors[0].out_strides.token = call.tensors[0].data_strides.head;
    call.tensors[0].out_strides.head = call.tensors[0].data_strides.token;
    call.batch.sequences = 1;
    expect_error(INLAY_ERROR_OVERLAP, "out");
    /* No token or no head: nothing is read or written. */
    call.batch.position_ids = (const void *)(uintptr_t)16;
    call.batch.position_id_type = INLAY_ID_I32;
    EXPECT_ERROR(INLAY_OK, "", count, 0);
    call.batch.starts = (const int64_t *)(uintptr_t)16;
    call.tensors[0].heads = 0;
    EXPECT_ERROR(INLAY_OK, "", tensors[1].heads, 0);
    call.batch.length = 0;
    EXPECT_ERROR(INLAY_OK, "", tensors[0].data, NULL);
    call.tensors[0].data = call.tensors[0].out = NULL;
    EXPECT_ERROR(INLAY_OK, "", tensors[0].heads, 0);

    EXPECT_ERROR(INLAY_ERROR_POSITION, "start", batch.start, -1);
    call.batch.start = INLAY_POSITION_LIMIT - 1;
    inlay_fault fault = expect_error(INLAY_ERROR_POSITION, "start");
    EXPECT(fault.sequence == 0 && fault.token == 1 && fault.value == INLAY_POSITION_LIMIT, "start: where");
    const int64_t starts[] = {0, INLAY_POSITION_LIMIT - 1};
    call.batch.starts = starts;
    fault = expect_error(INLAY_ERROR_POSITION, "starts");
    EXPECT(fault.sequence == 1 && fault.token == 1 && fault.value == INLAY_POSITION_LIMIT, "starts: where");
    const int32_t ids[] = {0, 1, 2, -5};
    call.batch.position_ids = ids;
    call.batch.position_id_type = INLAY_ID_I32;
    fault = expect_error(INLAY_ERROR_POSITION, "position_ids");
    EXPECT(fault.sequence == 1 && fault.token == 1 && fault.value == -5, "position_ids: where");
    const int64_t offsets[] = {0, 3, 2};
    call.batch.offsets = offsets;
    call.batch.length = 2;
    fault = expect_error(INLAY_ERROR_OFFSETS, "offsets");
    EXPECT(fault.sequence == 1 && fault.value == 3, "offsets: where");
    inlay_rotary_destroy(rotary);
}
END_TEST

START_TEST(errors_of_axes)
{
    struct random random = {10};
    inlay_rotary_spec spec = inlay_rotary_spec_default(DIM);
    set_axes(&spec, &random, 3, 0);
    inlay_rotary *rotary = make_rotary(&spec);
    reset_call();
    call.rotary = rotary;
    const int64_t offsets[] = {0, 3, 4};
    for (size_t i = 0; i < (size_t)3 * 4 * 2; i++) {
        const bool ragged = i % 2;
        int64_t ids[3 * 4] = {0};
        ids[i / 2] = i / 4 % 2 ? INLAY_POSITION_LIMIT : -5;
        call.batch.position_ids = ids;
        call.batch.position_id_type = INLAY_ID_I64;
        if (ragged) {
            call.batch.offsets = offsets;
            call.batch.length = 4;
        }
        const size_t token = i / 2 % 4, sequence = ragged ? token == 3 : token / 2;
        const inlay_fault fault = expect_error(INLAY_ERROR_POSITION, "position_ids");
        EXPECT(fault.sequence == i / 8 * 2 + sequence && fault.token == token - sequence * (ragged ? 3 : 2) &&
                   fault.value == ids[i / 2],
               "id %zu: sequence %zu, token %zu", i / 2, fault.sequence, fault.token);
    }
    /* Only the last row of position ids overlaps the queries. */
    call.batch.position_id_type = INLAY_ID_I64;
    EXPECT_ERROR(INLAY_ERROR_OVERLAP, "position_ids", batch.position_ids, (char *)call.data - 2 * 4 * sizeof(int64_t));
    inlay_rotary_destroy(rotary);
}
END_TEST

static int releases;

static void *allocate_second(void *ctx, size_t bytes)
{
    int *calls = ctx;
    return ++*calls == 1 ? malloc(bytes) : NULL;
}

static void release(void *ctx, void *memory)
{
    (void)ctx;
    releases++;
    free(memory);
}

START_TEST(errors_of_specs)
{
    static const double bad[DIM / 2] = {(double)NAN};
    int calls = 0;
    const inlay_allocator allocator = {&calls, allocate_second, release};
    inlay_rotary *rotary;
#define EXPECT_SPEC(status, name, value)                                                                               \
    do {                                                                                                               \
        inlay_rotary_spec spec = inlay_rotary_spec_default(DIM);                                                       \
        spec.name = (value);                                                                                           \
        rotary = (inlay_rotary *)1;                                                                                    \
        const inlay_status got = inlay_rotary_create(&spec, NULL, &rotary);                                            \
        EXPECT(got == (status) && rotary == NULL, #name " is \"%s\"", inlay_status_string(got));                       \
    } while (0)
    EXPECT_SPEC(INLAY_ERROR_OPTION, size, 0);
    EXPECT_SPEC(INLAY_ERROR_OPTION, reserved, 1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, layout, INLAY_ROTARY_PAIRS);
    EXPECT_SPEC(INLAY_ERROR_OPTION, layout, (inlay_rotary_layout)4);
    EXPECT_SPEC(INLAY_ERROR_OPTION, float_angles, 2);
    EXPECT_SPEC(INLAY_ERROR_OPTION, scaling, (inlay_rotary_scaling)8);
    EXPECT_SPEC(INLAY_ERROR_OPTION, scaling, INLAY_ROTARY_LLAMA3);
    EXPECT_SPEC(INLAY_ERROR_OPTION, inv_freq, bad);
    EXPECT_SPEC(INLAY_ERROR_BASE, base, 0.5);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, dim, 0);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, dim, 3);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, dim, INLAY_ROTARY_MAX_DIM + 2);
    EXPECT_SPEC(INLAY_ERROR_OPTION, axes, INLAY_ROTARY_MAX_AXES + 1);
    EXPECT_SPEC(INLAY_ERROR_NULL, axes, 2);
    inlay_rotary_spec spec = inlay_rotary_spec_default(DIM);
    uint8_t pair_axes[DIM / 2] = {0};
    spec.pair_axes = pair_axes;
    for (spec.axes = 0; spec.axes <= INLAY_ROTARY_MAX_AXES; spec.axes++)
        for (uint8_t axis = 0; axis < 6; axis++) {
            const inlay_status wanted = axis < (spec.axes > 1 ? spec.axes : 1) ? INLAY_OK : INLAY_ERROR_OPTION;
            pair_axes[DIM / 2 - 1] = axis;
            EXPECT(inlay_rotary_create(&spec, NULL, &rotary) == wanted, "axis %d of %zu", axis, spec.axes);
            inlay_rotary_destroy(rotary);
        }
    spec = inlay_rotary_spec_default(DIM);
    EXPECT(inlay_rotary_create(NULL, NULL, &rotary) == INLAY_ERROR_NULL && rotary == NULL, "spec");
    EXPECT(inlay_rotary_create(&spec, NULL, NULL) == INLAY_ERROR_NULL, "rotary");
    EXPECT(inlay_rotary_create(&spec, &allocator, &rotary) == INLAY_ERROR_NO_MEMORY && rotary == NULL, "no memory");
    EXPECT(calls == 2 && releases == 1, "%d allocations, %d releases", calls, releases);
    inlay_rotary_destroy(NULL);
}
END_TEST

/* Allocates, and changes the spec as another thread might. */
static void *allocate_and_change(void *ctx, size_t bytes)
{
    inlay_rotary_spec *spec = ctx;
    spec->axes = INLAY_ROTARY_MAX_AXES;
    spec->dim = DIM / 2;
    spec->layout = INLAY_ROTARY_INTERLEAVED;
    return malloc(bytes);
}

static void release_any(void *ctx, void *memory)
{
    (void)ctx;
    free(memory);
}

START_TEST(fields_of_the_spec_are_read_once)
{
    static const uint8_t pair_axes[DIM / 2] = {0, 1};
    inlay_rotary_spec spec = inlay_rotary_spec_default(DIM);
    spec.axes = 2;
    spec.pair_axes = pair_axes;
    const inlay_allocator allocator = {&spec, allocate_and_change, release_any};
    inlay_rotary *rotary;
    EXPECT(inlay_rotary_create(&spec, &allocator, &rotary) == INLAY_OK, "create");
    EXPECT(spec.axes == INLAY_ROTARY_MAX_AXES, "not changed");
    EXPECT(rotary->axes == 2 && rotary->dim == DIM, "%zu axes, dim %zu", rotary->axes, rotary->dim);
    EXPECT(!rotary->interleaved, "interleaved");
    EXPECT(rotary->first_pair[2] == DIM / 2, "%zu pairs", rotary->first_pair[2]);
    inlay_rotary_destroy(rotary);
}
END_TEST

START_TEST(errors_of_given_rows)
{
    enum { COUNT = 9 };
    static float rows[COUNT + 8][DIM]; /* the rows, and room for the heads of a tensor */
    int calls = 1;
    const inlay_allocator allocator = {&calls, allocate_second, release}, half = {&calls, allocate_second, NULL};
    inlay_rotary *rotary;
#define EXPECT_ROWS(status, data, count, dim, layout, allocator)                                                       \
    do {                                                                                                               \
        rotary = (inlay_rotary *)1;                                                                                    \
        const inlay_status got = inlay_rotary_from_rows((data), (count), (dim), (layout), (allocator), &rotary);       \
        EXPECT(got == (status) && (rotary == NULL) == (got != INLAY_OK), "\"%s\"", inlay_status_string(got));          \
    } while (0)
    EXPECT_ROWS(INLAY_ERROR_NULL, NULL, COUNT, DIM, INLAY_ROTARY_HALVES, NULL);
    EXPECT_ROWS(INLAY_ERROR_NULL, rows[0], COUNT, DIM, INLAY_ROTARY_HALVES, &half);
    EXPECT_ROWS(INLAY_ERROR_OVERFLOW, rows[0], SIZE_MAX / 4, DIM, INLAY_ROTARY_HALVES, NULL);
    EXPECT_ROWS(INLAY_ERROR_SHAPE, rows[0], COUNT, 0, INLAY_ROTARY_HALVES, NULL);
    EXPECT_ROWS(INLAY_ERROR_SHAPE, rows[0], COUNT, DIM - 1, INLAY_ROTARY_HALVES, NULL);
    EXPECT_ROWS(INLAY_ERROR_SHAPE, rows[0], COUNT, INLAY_ROTARY_MAX_DIM + 2, INLAY_ROTARY_HALVES, NULL);
    EXPECT_ROWS(INLAY_ERROR_OPTION, rows[0], COUNT, DIM, INLAY_ROTARY_PAIRS, NULL);
    EXPECT_ROWS(INLAY_ERROR_NO_MEMORY, rows[0], COUNT, DIM, INLAY_ROTARY_HALVES, &allocator);
    EXPECT(inlay_rotary_from_rows(rows[0], COUNT, DIM, INLAY_ROTARY_HALVES, NULL, NULL) == INLAY_ERROR_NULL, "rotary");

    EXPECT_ROWS(INLAY_OK, NULL, 0, DIM, INLAY_ROTARY_HALVES, NULL);
    call.rotary = rotary;
    reset_call();
    inlay_fault fault = expect_error(INLAY_ERROR_POSITION, "start");
    EXPECT(fault.token == 0 && fault.value == 0, "no rows: where");
    EXPECT_ERROR(INLAY_OK, "", batch.length, 0);
    inlay_rotary_destroy(rotary);

    EXPECT_ROWS(INLAY_OK, rows[0], COUNT, DIM, INLAY_ROTARY_HALVES, NULL);
    call.rotary = rotary;
    EXPECT_ERROR(INLAY_ERROR_OVERLAP, "out", tensors[0].out, rotary);
    EXPECT_ERROR(INLAY_ERROR_OVERLAP, "out", tensors[1].out, &rows[COUNT - 1][DIM - 1]);
    EXPECT_ERROR(INLAY_OK, "", tensors[1].out, rows[COUNT]);
    EXPECT_ERROR(INLAY_ERROR_POSITION, "start", batch.start, -1);
    EXPECT_ERROR(INLAY_OK, "", batch.start, COUNT - 2);
    call.batch.start = COUNT - 1;
    fault = expect_error(INLAY_ERROR_POSITION, "start");
    EXPECT(fault.sequence == 0 && fault.token == 1 && fault.value == COUNT, "start: where");
    const int64_t starts[] = {COUNT - 2, COUNT - 1};
    call.batch.starts = starts;
    fault = expect_error(INLAY_ERROR_POSITION, "starts");
    EXPECT(fault.sequence == 1 && fault.token == 1 && fault.value == COUNT, "starts: where");
    const int32_t ids[] = {0, COUNT - 1, COUNT, 2};
    call.batch.position_ids = ids;
    call.batch.position_id_type = INLAY_ID_I32;
    fault = expect_error(INLAY_ERROR_POSITION, "position_ids");
    EXPECT(fault.sequence == 1 && fault.token == 0 && fault.value == COUNT, "position_ids: where");
    inlay_rotary_destroy(rotary);
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(
        argc, argv, "rotate", NULL, NULL, kernels_match_scalar_between_guard_pages, results_match_long_double,
        every_way_to_give_positions, caches_and_given_frequencies_change_no_bits, given_rows_rotate_like_computed_ones,
        nans_of_given_rows_stay_nan, tensors_of_several_types_rotate_as_alone, packed_queries_and_keys_in_place,
        inverse_undoes_a_rotation, parts_change_no_bits, arrays_that_change_during_a_call_lead_nowhere_else,
        errors_of_calls, errors_of_axes, errors_of_specs, fields_of_the_spec_are_read_once, errors_of_given_rows);
}
