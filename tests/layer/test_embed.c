/* SPDX-License-Identifier: MIT */
/*
 * Compares every float32 operation of the ISA under test with scalar: all dims that end a vector differently, all
 * alignments, buffers adjacent to guard pages at both ends, and every byte outside the rows.
 */
#include "support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIM = 4097, ROWS = 7, MAX_TOKENS = 12, MAX_PADDING = 67 };

/* The shape of an operation, and the places of its buffers. */
struct shape {
    size_t batch, seq, dim;
    size_t padding; /* bytes between rows, in every buffer */
    enum placement placement;
    size_t offset; /* for INSIDE */
    int64_t start;
    inlay_stores stores;
};

enum { TABLE, POSITIONS, IDS, INPUT, OUT, EXPECTED, ARENAS };
static struct arena arenas[ARENAS];

static void make_arenas(void)
{
    for (int i = 0; i < ARENAS; i++)
        arenas[i] = arena_make(MAX_TOKENS * (MAX_DIM * sizeof(float) + MAX_PADDING) + 64);
}

static void free_arenas(void)
{
    for (int i = 0; i < ARENAS; i++)
        arena_free(&arenas[i]);
}

struct inputs {
    inlay_table table, positions;
    const void *ids;
    inlay_id_type id_type;
    const unsigned char *x;
    float scale;
    size_t tokens, row_bytes, stride, x_stride;
};

static inlay_table place_rows(struct arena *arena, const struct shape *shape, size_t rows, size_t stride,
                              struct random *random)
{
    size_t row_bytes = shape->dim * sizeof(float);
    unsigned char *at = arena_place(arena, (rows - 1) * stride + row_bytes, shape->placement, shape->offset);
    random_rows(random, at, rows, shape->dim, stride);
    inlay_table view = inlay_table_f32(at, rows, shape->dim);
    view.stride_bytes = stride;
    return view;
}

static struct inputs place_inputs(const struct shape *shape, struct random *random)
{
    static const float scales[] = {1, 0.5f, 22.627417f, -3, 0, -0.0f, 0x1p-140f, 0x1p127f, NAN, INFINITY, -INFINITY};
    struct inputs in;
    in.tokens = shape->batch * shape->seq;
    in.row_bytes = shape->dim * sizeof(float);
    in.stride = in.row_bytes + shape->padding;
    in.table = place_rows(&arenas[TABLE], shape, ROWS, in.stride, random);
    /* Contiguous rows may be combined with strided ones. */
    const size_t positions_stride = in.row_bytes + random_below(random, 2) * shape->padding;
    in.x_stride = in.row_bytes + random_below(random, 2) * shape->padding;
    in.positions = place_rows(&arenas[POSITIONS], shape, (size_t)shape->start + shape->seq, positions_stride, random);
    in.x = place_rows(&arenas[INPUT], shape, in.tokens, in.x_stride, random).data;
    in.scale = scales[random_below(random, sizeof scales / sizeof *scales)];
    in.id_type = random_below(random, 2) ? INLAY_ID_I32 : INLAY_ID_I64;
    size_t bytes = in.id_type == INLAY_ID_I32 ? 4 : 8;
    unsigned char *ids = arena_place(&arenas[IDS], in.tokens * bytes, shape->placement, shape->offset);
    for (size_t i = 0; i < in.tokens; i++) {
        int64_t id = (int64_t)random_below(random, ROWS);
        memcpy(ids + i * bytes, &id, bytes); /* little-endian: the low half is the int32 */
    }
    in.ids = ids;
    return in;
}

/* An operation writes `out`, which is a copy of x for in-place operations. */
typedef inlay_status apply(const struct shape *shape, const struct inputs *in, unsigned char *out);

static inlay_status gather(const struct shape *shape, const struct inputs *in, unsigned char *out)
{
    (void)shape;
    return inlay_gather(&in->table, in->ids, in->id_type, in->tokens, in->scale, out, in->stride, NULL, NULL);
}

static inlay_status scale_across(const struct shape *shape, const struct inputs *in, unsigned char *out)
{
    return inlay_scale(in->x, in->x_stride, in->tokens, shape->dim, in->scale, out, in->stride, NULL);
}

static inlay_status scale_in_place(const struct shape *shape, const struct inputs *in, unsigned char *out)
{
    return inlay_scale(out, in->stride, in->tokens, shape->dim, in->scale, out, in->stride, NULL);
}

static inlay_status add_positions(const struct shape *shape, const struct inputs *in, unsigned char *out)
{
    return inlay_add_positions(out, in->stride, shape->batch, shape->seq, &in->positions, shape->start, NULL, NULL);
}

static inlay_status forward(const struct shape *shape, const struct inputs *in, const inlay_table *positions,
                            const inlay_table *segments, const inlay_sinusoid *sinusoid, size_t cached,
                            unsigned char *out)
{
    inlay_layer_spec spec = inlay_layer_spec_default(&in->table);
    spec.positions = positions;
    spec.segments = segments;
    spec.sinusoid = sinusoid;
    spec.cached_positions = cached;
    spec.scale = in->scale;
    spec.stores = shape->stores;
    inlay_layer *layer = make_layer_of(&spec);
    inlay_batch batch = inlay_batch_i32(NULL, shape->batch, shape->seq, shape->start);
    batch.ids = in->ids;
    batch.id_type = in->id_type;
    inlay_status status = inlay_forward(layer, &batch, out, in->stride, NULL, NULL);
    inlay_layer_destroy(layer);
    return status;
}

static inlay_status forward_plain(const struct shape *shape, const struct inputs *in, unsigned char *out)
{
    return forward(shape, in, NULL, NULL, NULL, 0, out);
}

static inlay_status forward_learned(const struct shape *shape, const struct inputs *in, unsigned char *out)
{
    return forward(shape, in, &in->positions, NULL, NULL, 0, out);
}

/* The last position row is the segment of all tokens. */
static inlay_status forward_segmented(const struct shape *shape, const struct inputs *in, unsigned char *out)
{
    const inlay_table *positions = &in->positions;
    const size_t last = (positions->rows - 1) * positions->stride_bytes;
    inlay_table segments = inlay_table_f32((const unsigned char *)positions->data + last, 1, positions->dim);
    return forward(shape, in, positions, &segments, NULL, 0, out);
}

static const struct operation {
    const char *name;
    apply *run;
    bool adds; /* the others copy all bits with scale 1 */
} operations[] = {
    {"gather", gather, false},
    {"scale", scale_across, false},
    {"scale in place", scale_in_place, false},
    {"add_positions", add_positions, true},
    {"forward without positions", forward_plain, false},
    {"forward with learned positions", forward_learned, true},
    {"forward with positions and segments", forward_segmented, true},
};

static unsigned char *place_out(struct arena *arena, const struct shape *shape, const struct inputs *in)
{
    size_t bytes = (in->tokens - 1) * in->stride + in->row_bytes;
    unsigned char *out = arena_place(arena, bytes, shape->placement, shape->offset);
    for (size_t i = 0; i < in->tokens; i++)
        memcpy(out + i * in->stride, in->x + i * in->x_stride, in->row_bytes);
    return out;
}

static void compare(const struct operation *operation, const struct shape *shape, const struct inputs *in,
                    const unsigned char *out, const unsigned char *expected)
{
    const char *name = operation->name;
    bool copies = in->scale == 1 && !operation->adds;
    for (size_t i = 0; i < in->tokens; i++) {
        const unsigned char *row = out + i * in->stride, *expected_row = expected + i * in->stride;
        count_checks(shape->dim);
        if (memcmp(row, expected_row, in->row_bytes) == 0)
            continue;
        for (size_t column = 0; column < shape->dim; column++) {
            float got = float_at(row, column), wanted = float_at(expected_row, column);
            if (copies || !same_float(got, wanted))
                ck_abort_msg(
                    "%s: batch %zu, seq %zu, dim %zu, padding %zu, placement %d, offset %zu, start %d, stores %d: "
                    "token %zu, column %zu is %a, scalar has %a",
                    name, shape->batch, shape->seq, shape->dim, shape->padding, (int)shape->placement, shape->offset,
                    (int)shape->start, (int)shape->stores, i, column, (double)got, (double)wanted);
        }
    }
    EXPECT(arena_untouched_outside(&arenas[OUT], out, in->tokens, in->stride, in->row_bytes),
           "%s: dim %zu, padding %zu, placement %d, offset %zu: wrote outside its rows", name, shape->dim,
           shape->padding, (int)shape->placement, shape->offset);
}

static void check_shape(const struct shape *shape, uint64_t seed)
{
    struct random random = {seed};
    struct inputs in = place_inputs(shape, &random);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        inlay_dispatch_use(&inlay_kernels_scalar);
        unsigned char *expected = place_out(&arenas[EXPECTED], shape, &in);
        ck_assert_int_eq(operations[i].run(shape, &in, expected), INLAY_OK);
        inlay_dispatch_use(tested);
        unsigned char *out = place_out(&arenas[OUT], shape, &in);
        ck_assert_int_eq(operations[i].run(shape, &in, out), INLAY_OK);
        compare(&operations[i], shape, &in, out, expected);
    }
}

static size_t nth_dim(size_t i)
{
    return i < 130 ? i + 1 : 4095 + (i - 130);
}

enum { DIMS = 133 };

START_TEST(every_dim_against_both_guard_pages)
{
    for (size_t i = 0; i < DIMS; i++)
        for (int at = AT_BEGIN; at <= AT_END; at++)
            for (int stores = INLAY_STORES_CACHED; stores <= INLAY_STORES_STREAMED; stores++)
                for (size_t padding = 0; padding < 3; padding++) {
                    static const size_t paddings[] = {0, 4, 67};
                    struct shape shape = {2, 3, nth_dim(i),          paddings[padding], (enum placement)at,
                                          0, 1, (inlay_stores)stores};
                    check_shape(&shape, i);
                }
}
END_TEST

START_TEST(every_dim_at_every_alignment)
{
    for (size_t i = 0; i < DIMS; i++)
        for (size_t offset = 0; offset < 64; offset++) {
            struct shape shape = {1, 2, nth_dim(i), offset % 5, INSIDE, offset, 0, INLAY_STORES_STREAMED};
            check_shape(&shape, i * 64 + offset);
        }
}
END_TEST

START_TEST(every_batch_and_length)
{
    for (size_t batch = 1; batch <= 4; batch++)
        for (size_t seq = 1; seq <= 3; seq++)
            for (int64_t start = 0; start <= 3; start++)
                for (size_t dim = 1; dim <= 40; dim += 13) {
                    struct shape shape = {batch, seq, dim, 0, AT_END, 0, start, INLAY_STORES_AUTOMATIC};
                    check_shape(&shape, batch * 100 + seq);
                }
}
END_TEST

/* Contiguous rows are combined with strided ones: strides of 3 and 4 floats. */
START_TEST(each_view_has_its_stride)
{
    static const float x[12] = {1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0};
    for (size_t to = 3; to <= 4; to++)
        for (size_t from = 3; from <= 4; from++) {
            float out[12] = {0}, positions[12];
            ck_assert_int_eq(inlay_scale(x, from * 4, 3, 3, 2, out, to * 4, NULL), INLAY_OK);
            for (size_t i = 0; i < 9; i++)
                EXPECT(out[i / 3 * to + i % 3] == 2 * x[i / 3 * from + i % 3],
                       "scale from stride %zu to %zu: entry %zu is %g", from, to, i, out[i / 3 * to + i % 3]);
            memcpy(positions, x, sizeof positions);
            inlay_table rows = inlay_table_f32(positions, 3, 3);
            rows.stride_bytes = from * 4;
            ck_assert_int_eq(inlay_add_positions(out, to * 4, 1, 3, &rows, 0, NULL, NULL), INLAY_OK);
            for (size_t i = 0; i < 9; i++)
                EXPECT(out[i / 3 * to + i % 3] == 3 * x[i / 3 * from + i % 3],
                       "add_positions from stride %zu to %zu: entry %zu is %g", from, to, i, out[i / 3 * to + i % 3]);
        }
}
END_TEST

/* Compares with results computed by hand from the formula, which validates scalar. */
START_TEST(the_formula)
{
    const float table[3][2] = {{1, 2}, {3, 4}, {5, 6}};
    const float positions[4][2] = {{0.5f, -0.5f}, {10, 20}, {30, 40}, {50, 60}};
    const int32_t ids[2][3] = {{2, 0, 1}, {1, 1, 2}};
    const float expected[2][3][2] = {{{20, 32}, {32, 44}, {56, 68}}, {{16, 28}, {36, 48}, {60, 72}}};
    inlay_table tokens = inlay_table_f32(table, 3, 2), learned = inlay_table_f32(positions, 4, 2);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.positions = &learned;
    spec.scale = 2;
    inlay_layer *layer = make_layer_of(&spec);
    inlay_batch batch = inlay_batch_i32(*ids, 2, 3, 1);
    float out[2][3][2];
    ck_assert_int_eq(inlay_forward(layer, &batch, out, sizeof **out, NULL, NULL), INLAY_OK);
    EXPECT(memcmp(out, expected, sizeof out) == 0, "forward is not row * scale + position(start + s)");
    inlay_layer_destroy(layer);

    float gathered[2][3][2];
    ck_assert_int_eq(inlay_gather(&tokens, ids, INLAY_ID_I32, 6, 2, gathered, sizeof **gathered, NULL, NULL), INLAY_OK);
    EXPECT(gathered[0][0][1] == 12 && gathered[0][1][0] == 2 && gathered[1][2][0] == 10, "gather is not row * scale");
    ck_assert_int_eq(inlay_add_positions(gathered, sizeof **gathered, 2, 3, &learned, 1, NULL, NULL), INLAY_OK);
    EXPECT(memcmp(gathered, expected, sizeof expected) == 0, "add_positions is not x + positions[start + s]");
}
END_TEST

/* Runs parts one by one, the last one first. */

static void run_backwards(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    (void)ctx;
    for (size_t i = count; i > 0; i--)
        task(arg, i - 1);
}

static const inlay_executor *executor_of(size_t threads)
{
    static inlay_executor backwards = {NULL, run_backwards, 0};
    backwards.threads = threads;
    return threads > 0 ? &backwards : NULL;
}

/* Operations other than layers with an executor in parts; test_calls.c covers layers. */
START_TEST(cuts_of_plain_operations_change_nothing)
{
    enum { DIM = 260, N = 700, BYTES = N * DIM * sizeof(float) };
    float *table = malloc(BYTES), *whole = malloc(BYTES), *cut = malloc(BYTES);
    int32_t *ids = malloc(N * sizeof *ids);
    struct random random = {23};
    random_rows(&random, (unsigned char *)table, N, DIM, DIM * sizeof(float));
    for (size_t i = 0; i < N; i++)
        ids[i] = (int32_t)random_below(&random, N);
    inlay_table rows = inlay_table_f32(table, N, DIM);
    for (int cuts = 0; cuts < 2; cuts++) {
        float *out = cuts ? cut : whole;
        const inlay_executor *executor = executor_of(cuts ? 3 : 0);
        size_t row = DIM * sizeof(float);
        ck_assert_int_eq(inlay_gather(&rows, ids, INLAY_ID_I32, N, 0.5f, out, row, executor, NULL), INLAY_OK);
        ck_assert_int_eq(inlay_scale(out, row, N, DIM, 3, out, row, executor), INLAY_OK);
        ck_assert_int_eq(inlay_add_positions(out, row, 7, N / 7, &rows, 1, executor, NULL), INLAY_OK);
    }
    for (size_t i = 0; i < N * DIM; i++)
        EXPECT(same_float(whole[i], cut[i]), "float %zu is %a, cut it is %a", i, (double)whole[i], (double)cut[i]);
    inlay_sinusoid *sinusoid = make_sinusoid(DIM, 10000, INLAY_SINUSOID_LAYOUT_INTERLEAVED);
    static double positions[N];
    for (int i = 0; i < N; i++)
        positions[i] = 0.25 * i - 9;
    for (int type = INLAY_F32; type <= INLAY_BF16; type++) {
        size_t row = DIM * (type == INLAY_F32 ? 4 : 2), n = tested == &inlay_kernels_scalar ? 520 : N;
        memset(whole, 0, BYTES);
        memset(cut, 0, BYTES);
        for (int call = 0; call < 3; call++) {
            for (int cuts = 0; cuts < 2; cuts++) {
                float *out = cuts ? cut : whole;
                const inlay_executor *executor = executor_of(cuts ? 3 : 0);
                unsigned char *sin = (unsigned char *)out + row / 2;
                inlay_status status =
                    call == 0   ? inlay_sinusoid_rows(sinusoid, 3, n, (inlay_element_type)type, out, row, executor)
                    : call == 1 ? inlay_sinusoid_at(sinusoid, positions, INLAY_POSITION_F64, n,
                                                    (inlay_element_type)type, out, row, executor, NULL)
                                : inlay_rotary_rows(sinusoid, 3, n, (inlay_element_type)type, INLAY_ROTARY_PAIRS, out,
                                                    sin, row, executor);
                ck_assert_int_eq(status, INLAY_OK);
            }
            EXPECT(memcmp(whole, cut, BYTES) == 0, "type %d, call %d: cut rows differ", type, call);
        }
    }
    inlay_sinusoid_destroy(sinusoid);
    free(ids);
    free(cut);
    free(whole);
    free(table);
}
END_TEST

static size_t generated;

static bool count_rows(const struct inlay_sinusoid_tile *tile)
{
    generated += tile->rows;
    return tested->sinusoid_rows(tile);
}

/* A single sequence computes cached positions above compute_bytes, for any number of parts. */
START_TEST(one_long_sequence_computes_cached_positions)
{
    enum { SEQ = 512, DIM = 256, BYTES = SEQ * DIM * 4 };
    static float table[2][DIM], out[SEQ][DIM];
    static const int32_t ids[SEQ];
    struct inlay_kernels counting = *tested;
    counting.sinusoid_rows = count_rows;
    inlay_table tokens = inlay_table_f32(table, 2, DIM);
    inlay_sinusoid *sinusoid = make_sinusoid(DIM, 10000, INLAY_SINUSOID_LAYOUT_INTERLEAVED);
    for (int computes = 0; computes < 2; computes++) {
        inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
        spec.sinusoid = sinusoid;
        inlay_tuning tuning = inlay_tuning_default();
        tuning.compute_bytes = BYTES - (size_t)computes;
        spec.tuning = &tuning;
        inlay_layer *layer = make_layer_of(&spec);
        inlay_batch batch = inlay_batch_i32(ids, 1, SEQ, 1);
        for (size_t threads = 1; threads <= 8; threads *= 2) {
            generated = 0;
            inlay_dispatch_use(&counting);
            ck_assert_int_eq(inlay_forward(layer, &batch, out, sizeof *out, executor_of(threads), NULL), INLAY_OK);
            inlay_dispatch_use(tested);
            EXPECT((generated > 0) == (computes && tested->lanes > 0), "%zu threads, %zu bytes: %zu rows", threads,
                   tuning.compute_bytes, generated);
        }
        inlay_layer_destroy(layer);
    }
    inlay_sinusoid_destroy(sinusoid);
}
END_TEST

/* Calls with enough tokens for many tiles, with outputs that fit in L2, don't fit, or are streamed, with every prefetch
 * strategy. */
START_TEST(large_batches)
{
    static const struct {
        size_t batch, seq, dim;
    } shapes[] = {{3, 1000, 8}, {300, 5, 3}, {1, 257, 17}, {300, 1, 50}, {12, 99, 450}, {40, 129, 450}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        size_t batch = shapes[s].batch, seq = shapes[s].seq, dim = shapes[s].dim, vocab = 50;
        struct arena table = arena_make(vocab * dim * 4), positions = arena_make((seq + 2) * dim * 4);
        struct arena id_arena = arena_make(batch * seq * 4), out = arena_make(batch * seq * dim * 4);
        struct random random = {s};
        int32_t *ids = (void *)id_arena.begin;
        random_rows(&random, table.begin, vocab, dim, dim * 4);
        random_rows(&random, positions.begin, seq + 2, dim, dim * 4);
        for (size_t i = 0; i < batch * seq; i++)
            ids[i] = (int32_t)random_below(&random, vocab);
        inlay_table tokens = inlay_table_f32(table.begin, vocab, dim);
        inlay_table learned = inlay_table_f32(positions.begin, seq + 2, dim);
        inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
        spec.positions = &learned;
        spec.scale = 3;
        for (int prefetch = 0; prefetch <= INLAY_PREFETCH_L2_BLOCKS; prefetch++) {
            inlay_tuning tuning = inlay_tuning_default();
            tuning.stream_bytes = 4 << 20;
            tuning.prefetch = (inlay_prefetch)prefetch;
            spec.tuning = &tuning;
            inlay_layer *layer = make_layer_of(&spec);
            inlay_batch call = inlay_batch_i32(ids, batch, seq, 2);
            unsigned char *to = arena_place(&out, batch * seq * dim * 4, AT_END, 0);
            ck_assert_int_eq(inlay_forward(layer, &call, to, dim * 4, NULL, NULL), INLAY_OK);
            for (size_t token = 0; token < batch * seq; token++)
                for (size_t column = 0; column < dim; column++) {
                    float product = float_at(table.begin + (size_t)ids[token] * dim * 4, column) * 3;
                    float wanted = product + float_at(positions.begin + (token % seq + 2) * dim * 4, column);
                    EXPECT(same_float(float_at(to + token * dim * 4, column), wanted),
                           "shape %zu, strategy %d, token %zu, column %zu", s, prefetch, token, column);
                }
            inlay_layer_destroy(layer);
        }
        arena_free(&table);
        arena_free(&positions);
        arena_free(&id_arena);
        arena_free(&out);
    }
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "embed", make_arenas, free_arenas, the_formula, each_view_has_its_stride,
                     every_dim_against_both_guard_pages, every_dim_at_every_alignment, every_batch_and_length,
                     cuts_of_plain_operations_change_nothing, one_long_sequence_computes_cached_positions,
                     large_batches);
}
