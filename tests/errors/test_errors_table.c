/* SPDX-License-Identifier: MIT */
/*
 * Every error of table views, of the plain operations, and of random tables, for every argument; and the constructors
 * of views.
 */
#include "errors/errors.h"

#include "table/ids.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The arguments of the plain operations. For inlay_add_positions(), `table` is `positions` and `n` is `seq`. */
struct call {
    const inlay_table *table;
    const void *ids;
    inlay_id_type id_type;
    const void *x;
    size_t n, batch, dim;
    int64_t start;
    void *out;
    size_t x_stride_bytes, stride_bytes;
};

static inlay_status gather(const struct call *call)
{
    return inlay_gather(call->table, call->ids, call->id_type, call->n, 1, call->out, call->stride_bytes, NULL, NULL);
}

static inlay_status scale(const struct call *call)
{
    return inlay_scale(call->x, call->x_stride_bytes, call->n, call->dim, 2, call->out, call->stride_bytes, NULL);
}

static inlay_status add(const struct call *call)
{
    return inlay_add_positions(call->out, call->stride_bytes, call->batch, call->n, call->table, call->start, NULL,
                               NULL);
}

static const int32_t zeros[TOKENS];

static struct call good_call(const inlay_table *view)
{
    return (struct call){view, zeros, INLAY_ID_I32, table, 1, 1, DIM, 0, out.begin, ROW_BYTES, ROW_BYTES};
}

#define EXPECT_GATHER(wanted, field, value) EXPECT_WITH(wanted, call, field, value, gather(&call))
#define EXPECT_SCALE(wanted, field, value) EXPECT_WITH(wanted, call, field, value, scale(&call))
#define EXPECT_ADD(wanted, field, value) EXPECT_WITH(wanted, call, field, value, add(&call))

START_TEST(plain_operations)
{
    const inlay_table view = good_table(), shard = inlay_table_shard(view, 0, ROWS + 1),
                      whole = inlay_table_shard(view, 0, ROWS);
    struct call call = good_call(&view);
    EXPECT_STATUS(gather(&call), INLAY_OK);
    EXPECT_GATHER(INLAY_ERROR_NULL, table, NULL);
    EXPECT_GATHER(INLAY_ERROR_NULL, ids, NULL);
    EXPECT_GATHER(INLAY_ERROR_NULL, out, NULL);
    EXPECT_GATHER(INLAY_ERROR_OPTION, id_type, (inlay_id_type)0);
    EXPECT_GATHER(INLAY_ERROR_STRIDE, stride_bytes, ROW_BYTES - 1);
    EXPECT_GATHER(INLAY_ERROR_OVERFLOW, n, SIZE_MAX);
    EXPECT_GATHER(INLAY_ERROR_OVERFLOW, n, PTRDIFF_MAX / ROW_BYTES + 1);
    EXPECT_STATUS(scale(&call), INLAY_OK);
    EXPECT_SCALE(INLAY_ERROR_NULL, x, NULL);
    EXPECT_SCALE(INLAY_ERROR_NULL, out, NULL);
    EXPECT_SCALE(INLAY_ERROR_SHAPE, dim, 0);
    EXPECT_SCALE(INLAY_ERROR_STRIDE, x_stride_bytes, ROW_BYTES - 1);
    EXPECT_SCALE(INLAY_ERROR_STRIDE, stride_bytes, ROW_BYTES - 1);
    EXPECT_SCALE(INLAY_ERROR_OVERFLOW, n, SIZE_MAX / 8);
    EXPECT_STATUS(add(&call), INLAY_OK);
    EXPECT_ADD(INLAY_ERROR_NULL, out, NULL);
    EXPECT_ADD(INLAY_ERROR_NULL, table, NULL);
    EXPECT_ADD(INLAY_ERROR_STRIDE, stride_bytes, ROW_BYTES - 1);
    EXPECT_ADD(INLAY_ERROR_OVERFLOW, batch, SIZE_MAX);
    EXPECT_ADD(INLAY_ERROR_OPTION, table, &shard);
    EXPECT_ADD(INLAY_ERROR_OPTION, table, &whole);
    call.n = 2;
    EXPECT_ADD(INLAY_ERROR_OVERFLOW, batch, SIZE_MAX);
    /* Without work, nothing is checked. */
    call = good_call(&view);
    call.n = call.batch = 0;
    call.ids = call.x = call.out = NULL;
    EXPECT_STATUS(gather(&call), INLAY_OK);
    EXPECT_STATUS(scale(&call), INLAY_OK);
    EXPECT_STATUS(add(&call), INLAY_OK);
}
END_TEST

/* Expects a status from every function that takes a view, for one that is not a shard. */
static void expect_view(const inlay_table *view, inlay_status wanted)
{
    const struct call call = good_call(view);
    inlay_table tokens = good_table();
    inlay_layer_spec of_tokens = inlay_layer_spec_default(view), of_positions = inlay_layer_spec_default(&tokens);
    of_positions.positions = view;
    EXPECT_STATUS(gather(&call), wanted);
    EXPECT_STATUS(add(&call), wanted);
    EXPECT_STATUS(create_layer(&of_tokens), wanted);
    EXPECT_STATUS(create_layer(&of_positions), wanted);
}

#define EXPECT_VIEW(wanted, field, value)                                                                              \
    do {                                                                                                               \
        inlay_table changed = good_table();                                                                            \
        changed.field = (value);                                                                                       \
        expect_view(&changed, wanted);                                                                                 \
    } while (0)

START_TEST(fields_of_views)
{
    EXPECT_VIEW(INLAY_OK, first_row, 0);
    EXPECT_VIEW(INLAY_ERROR_OPTION, type, (inlay_element_type)0);
    EXPECT_VIEW(INLAY_ERROR_OPTION, type, (inlay_element_type)INLAY_ELEMENT_TYPES);
    EXPECT_VIEW(INLAY_ERROR_OPTION, type, (inlay_element_type)77);
    EXPECT_VIEW(INLAY_ERROR_OPTION, group, 1);
    EXPECT_VIEW(INLAY_ERROR_SHAPE, dim, 0);
    EXPECT_VIEW(INLAY_ERROR_STRIDE, stride_bytes, ROW_BYTES - 1);
    EXPECT_VIEW(INLAY_ERROR_STRIDE, stride_bytes, 0);
    EXPECT_VIEW(INLAY_ERROR_NULL, data, NULL);
    EXPECT_VIEW(INLAY_ERROR_OVERFLOW, dim, SIZE_MAX / 2);
    EXPECT_VIEW(INLAY_ERROR_OVERFLOW, rows, SIZE_MAX / 8);
    EXPECT_VIEW(INLAY_ERROR_OVERFLOW, stride_bytes, SIZE_MAX / 4);
}
END_TEST

START_TEST(sizes_of_structs)
{
    /* A larger struct is a later version if the rest is zero. More than 1024 bytes is an error. */
    struct {
        inlay_table view;
        unsigned char behind[4096];
    } larger = {good_table(), {0}};
    static const struct {
        size_t size;
        inlay_status wanted;
        size_t nonzero; /* a nonzero byte after the view, or 0 if there is none */
    } sizes[] = {
        {0, INLAY_ERROR_OPTION, 0},
        {1, INLAY_ERROR_OPTION, 0},
        {sizeof(inlay_table), INLAY_OK, 0},
        {sizeof(inlay_table) - 1, INLAY_ERROR_OPTION, 0},
        {1024, INLAY_OK, 0},
        {sizeof(inlay_table) + 1, INLAY_OK, 0},
        {1025, INLAY_ERROR_OPTION, 0},
        {sizeof(inlay_table) + 1, INLAY_ERROR_OPTION, sizeof(inlay_table)},
        {1023, INLAY_OK, 1023},
        {1024, INLAY_ERROR_OPTION, 1023},
        {sizeof larger, INLAY_ERROR_OPTION, 0},
        {UINT32_MAX, INLAY_ERROR_OPTION, 0},
        {SIZE_MAX, INLAY_ERROR_OPTION, 0},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        larger.view.size = sizes[i].size;
        if (sizes[i].nonzero > 0)
            larger.behind[sizes[i].nonzero - sizeof larger.view] = 1;
        expect_view(&larger.view, sizes[i].wanted);
        memset(larger.behind, 0, sizeof larger.behind);
    }
    /* A layer copies both views and their extents. */
    static float own_table[ROWS][DIM];
    larger.view.size = 1024;
    larger.view.data = own_table;
    inlay_table other = good_table();
    for (int i = 0; i < 2; i++) {
        inlay_layer *layer = i == 0 ? make_layer(&larger.view, NULL, &other) : make_layer(&other, NULL, &larger.view);
        inlay_batch batch = inlay_batch_i32(zeros, 1, 1, 0);
        EXPECT_STATUS(inlay_forward(layer, &batch, own_table, ROW_BYTES, NULL, NULL), INLAY_ERROR_OVERLAP);
        EXPECT_STATUS(forward(layer, &batch, NULL), INLAY_OK);
        inlay_layer_destroy(layer);
    }
}
END_TEST

static void expect_tokens(inlay_table view, inlay_status wanted)
{
    inlay_layer_spec spec = inlay_layer_spec_default(&view);
    EXPECT_STATUS(create_layer(&spec), wanted);
}

#define EXPECT_TOKENS(wanted, field, value)                                                                            \
    do {                                                                                                               \
        inlay_table changed = view;                                                                                    \
        changed.field = (value);                                                                                       \
        expect_tokens(changed, wanted);                                                                                \
    } while (0)

START_TEST(quantized_views)
{
    static unsigned char bytes[4096];
    for (inlay_element_type type = INLAY_F16; type < INLAY_ELEMENT_TYPES; type++) {
        bool grouped = is_grouped(type), scaled = row_scale_bytes(type, 256, 32) > 0;
        size_t row_bytes = inlay_table_row_bytes(type, 256);
        inlay_table view = inlay_table_view(type, bytes, 2, 256, row_bytes);
        view.group = grouped ? 32 : 0;
        view.scales = scaled ? bytes : NULL;
        expect_tokens(view, INLAY_OK);
        EXPECT_TOKENS(INLAY_ERROR_STRIDE, stride_bytes, row_bytes - 1);
        EXPECT_TOKENS(scales_are_optional(type) ? INLAY_OK
                      : scaled                  ? INLAY_ERROR_NULL
                                                : INLAY_ERROR_OPTION,
                      scales, scaled ? NULL : bytes);
        EXPECT_TOKENS(has_zeros(type) ? INLAY_OK : INLAY_ERROR_OPTION, zeros, bytes);
        EXPECT_TOKENS(INLAY_ERROR_OVERFLOW, rows, SIZE_MAX / 2);
        EXPECT(inlay_table_min_group(type) == (grouped ? narrowest_group(type) : 0), "the smallest group");
        static const uint32_t groups[] = {0, 1, 8, 15, 16, 17, 24, 32, 33, 64, 96, 128, 256, UINT32_MAX};
        for (size_t j = 0; j < sizeof groups / sizeof *groups; j++) {
            const uint32_t group = groups[j];
            bool known =
                grouped ? group == narrowest_group(type) || group == 32 || group == 64 || group == 128 : group == 0;
            EXPECT_TOKENS(known ? INLAY_OK : INLAY_ERROR_OPTION, group, groups[j]);
        }
        view.stride_bytes = 2000;
        EXPECT_TOKENS(whole_columns(type) > 1 ? INLAY_ERROR_SHAPE : INLAY_OK, dim, 257);
        EXPECT_TOKENS(whole_columns(type) > 64 ? INLAY_ERROR_SHAPE : INLAY_OK, dim, 192);
        view.group = grouped ? 128 : 0;
        EXPECT_TOKENS(whole_columns(type) > 64 ? INLAY_ERROR_SHAPE : INLAY_OK, dim, 192);
    }
}
END_TEST

START_TEST(sizes_that_overflow)
{
    const size_t half = SIZE_MAX / 2 + 1;
    EXPECT(inlay_table_scale_bytes(INLAY_U4_GROUPED, SIZE_MAX / 4, 1) == SIZE_MAX - 3, "the largest scales");
    EXPECT(inlay_table_scale_bytes(INLAY_U4_GROUPED, SIZE_MAX / 4 + 2, 1) == 0, "larger scales");
    EXPECT(inlay_table_scale_bytes(INLAY_U4_AFFINE, SIZE_MAX / 8 + 2, 1) == 0, "larger scales and biases");
    EXPECT(inlay_table_zero_bytes(INLAY_U4_GROUPED, 1, SIZE_MAX, 1) == half, "a row of 4 bits");
    EXPECT(inlay_table_zero_bytes(INLAY_U4_GROUPED, 2, SIZE_MAX, 1) == 0, "2 rows of 4 bits");
    EXPECT(inlay_table_zero_bytes(INLAY_U4_GROUPED_FLAT, 2, SIZE_MAX, 1) == SIZE_MAX, "2 flat rows");
    EXPECT(inlay_table_zero_bytes(INLAY_U4_GROUPED_FLAT, SIZE_MAX, 1, 1) == half, "flat rows of one zero point");
    EXPECT(inlay_table_zero_bytes(INLAY_U4_GROUPED_FLAT, 3, SIZE_MAX, 1) == 0, "3 flat rows");
    EXPECT(inlay_table_zero_bytes(INLAY_U8_GROUPED, 1, SIZE_MAX, 1) == SIZE_MAX, "a row of 8 bits");
    EXPECT(inlay_table_zero_bytes(INLAY_U8_GROUPED, 2, SIZE_MAX, 1) == 0, "2 rows of 8 bits");
}
END_TEST

START_TEST(shards)
{
    const inlay_table view = inlay_table_f32(table, 4, 3);
    EXPECT_TOKENS(INLAY_ERROR_SHAPE, first_row, 1);
    expect_tokens(inlay_table_shard(view, 1, 4), INLAY_ERROR_SHAPE);
    expect_tokens(inlay_table_shard(view, 1, 5), INLAY_OK);
    expect_tokens(inlay_table_shard(view, SIZE_MAX - 2, 5), INLAY_ERROR_OVERFLOW);
    /* A negative id, read as unsigned, would be below this vocabulary. */
    expect_tokens(inlay_table_shard(view, 0, SIZE_MAX), SIZE_MAX > INT64_MAX ? INLAY_ERROR_OVERFLOW : INLAY_OK);
}
END_TEST

/* Expects a status from the fixture's table in three extents of 3, 3 and 2 rows, with changed fields in one of them. */
#define EXPECT_EXTENT(wanted, index, field, value)                                                                     \
    do {                                                                                                               \
        EXPECT_WITH(wanted, extents[index], field, value, gather(&call));                                              \
        EXPECT_WITH(wanted, extents[index], field, value, create_layer(&spec));                                        \
        EXPECT_WITH(wanted, extents[index], field, value, add(&call));                                                 \
    } while (0)

START_TEST(extents_of_tables)
{
    inlay_table_extent extents[] = {{table[0], NULL, NULL, 0}, {table[3], NULL, NULL, 3}, {table[6], NULL, NULL, 6}};
    inlay_table view = inlay_table_from_extents(good_table(), extents, 3, 3);
    struct call call = good_call(&view);
    inlay_layer_spec spec = inlay_layer_spec_default(&view);
    for (size_t extent_rows = 0; extent_rows <= 3; extent_rows += 3) {
        view.extent_rows = extent_rows;
        expect_view(&view, INLAY_OK);
        EXPECT_EXTENT(INLAY_ERROR_SHAPE, 0, first_row, 1);
        EXPECT_EXTENT(INLAY_ERROR_SHAPE, 1, first_row, 0);
        EXPECT_EXTENT(INLAY_ERROR_SHAPE, 1, first_row, SIZE_MAX);
        EXPECT_EXTENT(INLAY_ERROR_SHAPE, 2, first_row, 3);
        EXPECT_EXTENT(INLAY_ERROR_SHAPE, 2, first_row, ROWS);
        EXPECT_EXTENT(extent_rows > 0 ? INLAY_ERROR_SHAPE : INLAY_OK, 1, first_row, 2);
        EXPECT_EXTENT(extent_rows > 0 ? INLAY_ERROR_SHAPE : INLAY_OK, 2, first_row, 7);
        for (int i = 0; i < 3; i++) {
            EXPECT_EXTENT(INLAY_ERROR_NULL, i, data, NULL);
            EXPECT_EXTENT(INLAY_ERROR_OVERFLOW, i, data, (void *)UINTPTR_MAX);
            EXPECT_EXTENT(INLAY_ERROR_OPTION, i, scales, table);
            EXPECT_EXTENT(INLAY_ERROR_OPTION, i, zeros, table);
        }
    }
    EXPECT_TOKENS(INLAY_ERROR_OPTION, data, table);
    EXPECT_TOKENS(INLAY_ERROR_OPTION, scales, table);
    EXPECT_TOKENS(INLAY_ERROR_OPTION, zeros, table);
    EXPECT_TOKENS(INLAY_ERROR_NULL, extents, NULL);
    EXPECT_TOKENS(INLAY_ERROR_OPTION, extent_count, 0);
    EXPECT_TOKENS(INLAY_ERROR_SHAPE, extent_count, 2);
    EXPECT_TOKENS(INLAY_ERROR_OVERFLOW, extent_count, SIZE_MAX);
    EXPECT_TOKENS(INLAY_ERROR_SHAPE, extent_rows, 2);
    EXPECT_TOKENS(INLAY_ERROR_SHAPE, extent_rows, 4);
    EXPECT_TOKENS(INLAY_ERROR_SHAPE, rows, 0);
    EXPECT_TOKENS(INLAY_ERROR_SHAPE, rows, 6);
    EXPECT_TOKENS(INLAY_OK, rows, 9);
    EXPECT_TOKENS(INLAY_ERROR_SHAPE, rows, 10);
    EXPECT_TOKENS(INLAY_ERROR_STRIDE, stride_bytes, ROW_BYTES - 1);
    EXPECT_TOKENS(INLAY_ERROR_OVERFLOW, dim, SIZE_MAX / 2);
    EXPECT_TOKENS(INLAY_ERROR_OVERFLOW, stride_bytes, SIZE_MAX / 2);
    const inlay_table none = inlay_table_from_extents(good_table(), NULL, 0, 0);
    expect_tokens(none, INLAY_ERROR_NULL); /* like a view without data */
    view = good_table();
    EXPECT_TOKENS(INLAY_ERROR_OPTION, extent_rows, 3);
    EXPECT_TOKENS(INLAY_ERROR_OPTION, extent_count, 1);
    EXPECT_TOKENS(INLAY_ERROR_OPTION, extents, extents);
}
END_TEST

/* Zero points must be in all extents or in none, scales in each. */
START_TEST(extents_of_quantized_tables)
{
    static unsigned char bytes[4096];
    inlay_table_extent extents[] = {{bytes, bytes, bytes, 0}, {bytes, bytes, bytes, 1}};
    inlay_table view = inlay_table_u4_grouped(NULL, NULL, NULL, 2, 64, 32);
    view = inlay_table_from_extents(view, extents, 2, 1);
    const inlay_layer_spec spec = inlay_layer_spec_default(&view);
    expect_tokens(view, INLAY_OK);
    for (int i = 0; i < 2; i++) {
        EXPECT_WITH(INLAY_ERROR_OPTION, extents[i], zeros, NULL, create_layer(&spec));
        EXPECT_WITH(INLAY_ERROR_NULL, extents[i], scales, NULL, create_layer(&spec));
    }
    extents[0].zeros = extents[1].zeros = NULL;
    expect_tokens(view, INLAY_OK);
}
END_TEST

/* Outputs may be between extents, but must not overlap any of them or their list. */
START_TEST(extents_next_to_outputs)
{
    static struct {
        inlay_table_extent extents[2];
        float first[2][DIM], between[4][DIM], last[2][DIM];
    } memory;
    memory.extents[0] = (inlay_table_extent){memory.last, NULL, NULL, 0};
    memory.extents[1] = (inlay_table_extent){memory.first, NULL, NULL, 2};
    const inlay_table view = inlay_table_from_extents(inlay_table_f32(NULL, 4, DIM), memory.extents, 2, 2);
    const struct {
        void *out;
        inlay_status wanted;
    } places[] = {
        {memory.between, INLAY_OK},
        {memory.between[3], INLAY_OK},
        {memory.first[1], INLAY_ERROR_OVERLAP},
        {memory.last, INLAY_ERROR_OVERLAP},
        {(unsigned char *)memory.between[3] + 1, INLAY_ERROR_OVERLAP},
        {(unsigned char *)memory.between - 1, INLAY_ERROR_OVERLAP},
        {memory.extents, INLAY_ERROR_OVERLAP},
        {(unsigned char *)memory.first - 1, INLAY_ERROR_OVERLAP},
    };
    const inlay_table plain = good_table();
    inlay_table_storage to = inlay_table_storage_of(INLAY_F32, NULL, DIM);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (int which = 0; which < 3; which++) {
            const inlay_batch batch = inlay_batch_i32(zeros, 1, 1, 0);
            inlay_layer_spec spec = inlay_layer_spec_default(which == 0 ? &view : &plain);
            spec.positions = which == 1 ? &view : NULL;
            spec.segments = which == 2 ? &view : NULL;
            inlay_layer *layer = make_layer_of(&spec);
            struct call call = good_call(&view);
            call.out = places[i].out;
            EXPECT_STATUS(inlay_forward(layer, &batch, call.out, ROW_BYTES, NULL, NULL), places[i].wanted);
            EXPECT_STATUS(gather(&call), places[i].wanted);
            EXPECT_STATUS(add(&call), places[i].wanted);
            inlay_layer_destroy(layer);
        }
    /* A conversion writes four rows. */
    to.data = memory.between;
    EXPECT_STATUS(inlay_table_quantize(&view, &to, NULL, NULL), INLAY_OK);
    to.data = memory.first;
    EXPECT_STATUS(inlay_table_quantize(&view, &to, NULL, NULL), INLAY_ERROR_OVERLAP);
    to.data = memory.between[1];
    EXPECT_STATUS(inlay_table_quantize(&view, &to, NULL, NULL), INLAY_ERROR_OVERLAP);
}
END_TEST

START_TEST(constructors_fill_in_every_field)
{
    static unsigned char data[3 * 420], scales[3 * 8], points[3];
    const struct {
        inlay_table made;
        inlay_element_type type;
        size_t dim, stride_bytes;
        uint32_t group;
        const void *scales, *zeros;
    } views[] = {
        {inlay_table_f32(data, 3, 64), INLAY_F32, 64, 256, 0, NULL, NULL},
        {inlay_table_f16(data, 3, 64), INLAY_F16, 64, 128, 0, NULL, NULL},
        {inlay_table_bf16(data, 3, 64), INLAY_BF16, 64, 128, 0, NULL, NULL},
        {inlay_table_i8(data, scales, 3, 5), INLAY_I8, 5, 5, 0, scales, NULL},
        {inlay_table_i8_inverse(data, scales, 3, 5), INLAY_I8_INVERSE, 5, 5, 0, scales, NULL},
        {inlay_table_u8_rowwise(data, 3, 5), INLAY_U8_ROWWISE, 5, 13, 0, NULL, NULL},
        {inlay_table_u4_rowwise(data, 3, 5), INLAY_U4_ROWWISE, 5, 7, 0, NULL, NULL},
        {inlay_table_u4_grouped(data, scales, points, 3, 64, 32), INLAY_U4_GROUPED, 64, 32, 32, scales, points},
        {inlay_table_u4_grouped(data, scales, NULL, 3, 64, 64), INLAY_U4_GROUPED, 64, 32, 64, scales, NULL},
        {inlay_table_u4_grouped_flat(data, scales, points, 3, 64, 32), INLAY_U4_GROUPED_FLAT, 64, 32, 32, scales,
         points},
        {inlay_table_q8_0(data, 3, 64), INLAY_Q8_0, 64, 68, 0, NULL, NULL},
        {inlay_table_q4_0(data, 3, 64), INLAY_Q4_0, 64, 36, 0, NULL, NULL},
        {inlay_table_i8(data, NULL, 3, 5), INLAY_I8, 5, 5, 0, NULL, NULL},
        {inlay_table_e4m3(data, scales, 3, 5), INLAY_E4M3, 5, 5, 0, scales, NULL},
        {inlay_table_e4m3(data, NULL, 3, 5), INLAY_E4M3, 5, 5, 0, NULL, NULL},
        {inlay_table_e4m3_e8m0(data, scales, 3, 64), INLAY_E4M3_E8M0, 64, 64, 0, scales, NULL},
        {inlay_table_q4_1(data, 3, 64), INLAY_Q4_1, 64, 40, 0, NULL, NULL},
        {inlay_table_q5_0(data, 3, 64), INLAY_Q5_0, 64, 44, 0, NULL, NULL},
        {inlay_table_q5_1(data, 3, 64), INLAY_Q5_1, 64, 48, 0, NULL, NULL},
        {inlay_table_iq4_nl(data, 3, 64), INLAY_IQ4_NL, 64, 36, 0, NULL, NULL},
        {inlay_table_mxfp4(data, 3, 64), INLAY_MXFP4, 64, 34, 0, NULL, NULL},
        {inlay_table_nvfp4(data, 3, 128), INLAY_NVFP4, 128, 72, 0, NULL, NULL},
        {inlay_table_q3_k(data, 3, 512), INLAY_Q3_K, 512, 220, 0, NULL, NULL},
        {inlay_table_q4_k(data, 3, 512), INLAY_Q4_K, 512, 288, 0, NULL, NULL},
        {inlay_table_q5_k(data, 3, 512), INLAY_Q5_K, 512, 352, 0, NULL, NULL},
        {inlay_table_q6_k(data, 3, 512), INLAY_Q6_K, 512, 420, 0, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        inlay_table view = inlay_table_view(views[i].type, data, 3, views[i].dim, views[i].stride_bytes);
        view.group = views[i].group;
        view.scales = views[i].scales;
        view.zeros = views[i].zeros;
        EXPECT(memcmp(&view, &views[i].made, sizeof view) == 0, "the constructor of view %zu", i);
        EXPECT(view.stride_bytes == inlay_table_row_bytes(view.type, view.dim), "the stride of view %zu", i);
        expect_tokens(view, INLAY_OK);
        inlay_table_storage storage = inlay_table_storage_of(view.type, data, view.dim);
        const inlay_table_storage fields = {sizeof storage, data, view.stride_bytes, view.type, 0, NULL, NULL};
        EXPECT(memcmp(&storage, &fields, sizeof storage) == 0, "the storage of view %zu", i);
        inlay_table shard = inlay_table_shard(view, 5, 9);
        EXPECT(shard.first_row == 5 && shard.vocab == 9, "the shard of view %zu", i);
        shard.first_row = shard.vocab = 0;
        EXPECT(memcmp(&view, &shard, sizeof view) == 0, "the shard of view %zu has other fields", i);
    }
    for (size_t i = 0; i < TYPES_OF_GGML; i++)
        EXPECT(types_of_ggml[i].element == 0 ||
                   inlay_table_row_bytes(types_of_ggml[i].element, 2 * (size_t)types_of_ggml[i].block) ==
                       2 * (size_t)types_of_ggml[i].bytes,
               "the bytes of %s", types_of_ggml[i].name);
    const inlay_table fields = {sizeof fields, data, 3, 64, 70, INLAY_F16, 0, NULL, NULL, 0, 0, NULL, 0, 0};
    const inlay_table view = inlay_table_view(INLAY_F16, data, 3, 64, 70);
    EXPECT(memcmp(&view, &fields, sizeof view) == 0, "inlay_table_view");
}
END_TEST

/* Tables of more rows than an int32 can name. */
START_TEST(ids_at_the_edge_of_int32)
{
    static const int32_t narrow[] = {INT32_MAX, -1, INT32_MIN};
    static const int64_t wide[] = {INT64_MAX, -1};
    static const struct {
        const void *ids;
        inlay_id_type type;
        size_t n, rows, first_bad;
    } cases[] = {
        {narrow, INLAY_ID_I32, 1, INT32_MAX, 0},
        {narrow, INLAY_ID_I32, 1, (size_t)INT32_MAX + 1, 1},
        {narrow, INLAY_ID_I32, 2, (size_t)INT32_MAX + 1, 1},
        {narrow, INLAY_ID_I32, 2, SIZE_MAX, 1},
        {narrow + 2, INLAY_ID_I32, 1, SIZE_MAX, 0},
        {wide, INLAY_ID_I64, 1, INT32_MAX, 0},
        {wide + 1, INLAY_ID_I64, 1, SIZE_MAX, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bad = inlay_first_bad_id(cases[i].ids, cases[i].type, cases[i].n, cases[i].rows);
        EXPECT(bad == cases[i].first_bad, "case %zu: %zu", i, bad);
    }
}
END_TEST

START_TEST(bad_ids_of_many)
{
    enum { MANY = 100000 };
    int32_t *many = calloc(MANY, sizeof *many);
    float *large = malloc(MANY * sizeof *large);
    const inlay_table column = inlay_table_f32(table, ROWS, 1), empty = inlay_table_f32(NULL, 0, DIM);
    inlay_fault fault;
    many[MANY - 1] = ROWS;
    EXPECT_STATUS(inlay_gather(&column, many, INLAY_ID_I32, MANY, 1, large, 4, NULL, &fault), INLAY_ERROR_ID);
    EXPECT(fault.token == MANY - 1 && fault.value == ROWS, "the last of many");
    many[5000] = -7;
    EXPECT_STATUS(inlay_gather(&column, many, INLAY_ID_I32, MANY, 1, large, 4, NULL, &fault), INLAY_ERROR_ID);
    EXPECT(fault.token == 5000 && fault.value == -7, "the first of several");
    free(large);
    free(many);
    /* A table without rows has no valid id. */
    struct call call = good_call(&empty);
    EXPECT_STATUS(gather(&call), INLAY_ERROR_ID);
    EXPECT_GATHER(INLAY_OK, n, 0);
}
END_TEST

/* A view inside its output: it must not be overwritten while rows are computed. */
START_TEST(views_in_their_outputs)
{
    static union {
        inlay_table view;
        unsigned char bytes[512];
    } memory[2];
    const size_t first = sizeof memory[0] - ROW_BYTES + 1, behind = sizeof memory[0] + sizeof(inlay_table);
    const size_t places[] = {first, sizeof memory[0], behind - 1, behind, sizeof memory[0] - ROW_BYTES};
    unsigned char *at = (unsigned char *)memory;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        memory[1].view = good_table();
        struct call call = good_call(&memory[1].view);
        inlay_status wanted = i < 3 ? INLAY_ERROR_OVERLAP : INLAY_OK;
        EXPECT_GATHER(wanted, out, at + places[i]);
        EXPECT_ADD(wanted, out, at + places[i]);
    }
}
END_TEST

START_TEST(scaling_in_place)
{
    static float x[TOKENS * 2][DIM];
    struct call call = good_call(NULL);
    call.x = call.out = x;
    call.n = 3;
    EXPECT_STATUS(scale(&call), INLAY_OK);
    EXPECT_SCALE(INLAY_OK, out, x[3]);
    EXPECT_SCALE(INLAY_ERROR_OVERLAP, out, &x[0][1]);
    EXPECT_SCALE(INLAY_ERROR_OVERLAP, out, x[1]);
    EXPECT_SCALE(INLAY_ERROR_OVERLAP, stride_bytes, ROW_BYTES + 4);
}
END_TEST

/* The arguments of inlay_table_random(). */
struct random_call {
    const inlay_random_spec *spec;
    void *out;
    size_t rows, dim, stride_bytes;
};

static inlay_status draw(const struct random_call *call)
{
    return inlay_table_random(call->spec, call->out, call->rows, call->dim, call->stride_bytes);
}

#define EXPECT_RANDOM(wanted, field, value) EXPECT_WITH(wanted, spec, field, value, draw(&call))
#define EXPECT_DRAW(wanted, field, value) EXPECT_WITH(wanted, call, field, value, draw(&call))

START_TEST(random_tables)
{
    static const double bad[] = {(double)NAN, -(double)NAN, 1e39, -1e39, (double)INFINITY, -(double)INFINITY};
    inlay_random_spec spec;
    struct random_call call = {&spec, out.begin, 2, 4, 16};
    for (inlay_random_kind kind = INLAY_RANDOM_NORMAL; kind <= INLAY_RANDOM_UNIFORM; kind++) {
        const bool truncated = kind == INLAY_RANDOM_TRUNCATED_NORMAL;
        spec = inlay_random_spec_default(kind, 1);
        EXPECT_STATUS(draw(&call), INLAY_OK);
        double *const numbers[] = {&spec.mean, &spec.deviation, &spec.low, &spec.high};
        for (size_t i = 0; i < 4; i++)
            for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
                const bool open_end = truncated && ((i == 2 && k == 5) || (i == 3 && k == 4));
                const double kept = *numbers[i];
                *numbers[i] = bad[k];
                EXPECT_STATUS(draw(&call), open_end ? INLAY_OK : INLAY_ERROR_OPTION);
                *numbers[i] = kept;
            }
        EXPECT_RANDOM(INLAY_ERROR_OPTION, deviation, -0x1p-1074);
        EXPECT_RANDOM(INLAY_OK, deviation, -0.0);
        EXPECT_RANDOM(INLAY_OK, deviation, 0);
        EXPECT_RANDOM(INLAY_OK, low, spec.high);
        EXPECT_RANDOM(INLAY_ERROR_OPTION, low, nextafter(spec.high, 10));
        spec.high = 100;
        EXPECT_RANDOM(INLAY_OK, low, 8);
        EXPECT_RANDOM(truncated ? INLAY_ERROR_OPTION : INLAY_OK, low, nextafter(8, 9));
        spec.low = -100;
        EXPECT_RANDOM(INLAY_OK, high, -8);
        EXPECT_RANDOM(truncated ? INLAY_ERROR_OPTION : INLAY_OK, high, -8.0001);
    }
    EXPECT_RANDOM(INLAY_ERROR_OPTION, kind, (inlay_random_kind)0);
    EXPECT_RANDOM(INLAY_ERROR_OPTION, kind, (inlay_random_kind)4);
    EXPECT_RANDOM(INLAY_ERROR_OPTION, reserved, 1);
    EXPECT_RANDOM(INLAY_ERROR_OPTION, size, sizeof spec - 1);
    EXPECT_RANDOM(INLAY_ERROR_OPTION, zero_row, -2);
    if (sizeof(size_t) == 8) /* more elements than 2^64 */
        EXPECT_RANDOM(INLAY_ERROR_OVERFLOW, first_row, SIZE_MAX);
    EXPECT_DRAW(INLAY_ERROR_NULL, spec, NULL);
    EXPECT_DRAW(INLAY_ERROR_NULL, out, NULL);
    EXPECT_DRAW(INLAY_ERROR_SHAPE, dim, 0);
    EXPECT_DRAW(INLAY_ERROR_STRIDE, stride_bytes, 15);
    EXPECT_DRAW(INLAY_ERROR_OVERFLOW, rows, SIZE_MAX / 8);
    EXPECT_DRAW(INLAY_ERROR_OVERLAP, out, &spec);
    call.out = NULL;
    EXPECT_DRAW(INLAY_OK, rows, 0);
}
END_TEST

/* Writes text in capitals, and with a '-' before each character. */
static void disguise(const char *text, char capitals[64], char dashed[64])
{
    size_t i = 0;
    for (; text[i] != '\0'; i++) {
        capitals[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 'a' + 'A' : text[i]);
        dashed[2 * i] = '-';
        dashed[2 * i + 1] = text[i];
    }
    capitals[i] = dashed[2 * i] = '\0';
}

START_TEST(names_of_types)
{
    for (inlay_element_type type = INLAY_F32; type < INLAY_ELEMENT_TYPES; type++) {
        const char *name;
        size_t n = 0;
        for (; (name = inlay_element_type_name(type, n)) != NULL; n++) {
            char capitals[64], dashed[64];
            disguise(name, capitals, dashed);
            EXPECT(inlay_element_type_from_name(name) == type, "%s is another type", name);
            EXPECT(inlay_element_type_from_name(capitals) == type, "%s is another type", capitals);
            EXPECT(inlay_element_type_from_name(dashed) == type, "%s is another type", dashed);
        }
        EXPECT(n >= 1 && inlay_element_type_name(type, SIZE_MAX) == NULL, "type %d has %zu names", (int)type, n);
    }
    static const struct {
        const char *text;
        inlay_element_type type;
    } typed[] = {
        {"f32", INLAY_F32},
        {"fp32", INLAY_F32},
        {"float", INLAY_F32},
        {"single", INLAY_F32},
        {"f16", INLAY_F16},
        {"fp16", INLAY_F16},
        {"half", INLAY_F16},
        {"bf16", INLAY_BF16},
        {"i8", INLAY_I8},
        {"int8", INLAY_I8},
        {"fp8", INLAY_E4M3},
        {"E4M3FN", INLAY_E4M3},
        {"F8_E4M3", INLAY_E4M3},
        {"Q4-K", INLAY_Q4_K},
        {"float8_e4m3fn", INLAY_E4M3},
        {"Q8_0", INLAY_Q8_0},
        {"mxfp8", INLAY_E4M3_E8M0},
        {"U4-Grouped", INLAY_U4_GROUPED},
        /* Names of several types, or of another one. */
        {"q4_k_m", 0},
        {"q4_k_s", 0},
        {"float8_e4m3", 0},
        {"fp8_e5m2", 0},
        {"int4", 0},
        {"nf4", 0},
        {"fp4", 0},
        {"q8_1", 0},
        {"double", 0},
        {"float1", 0},
        {"float166", 0},
        {"float 16", 0},
        {"", 0},
        {"-_", 0},
        {NULL, 0},
    };
    for (size_t i = 0; i < sizeof typed / sizeof *typed; i++)
        EXPECT(inlay_element_type_from_name(typed[i].text) == typed[i].type, "\"%s\" is type %d", typed[i].text,
               (int)inlay_element_type_from_name(typed[i].text));
    EXPECT(inlay_element_type_name(0, 0) == NULL, "no type has a name");
    EXPECT(inlay_element_type_name(INLAY_ELEMENT_TYPES, 0) == NULL, "a type past the last has a name");
    EXPECT(inlay_element_type_name((inlay_element_type)-1, 0) == NULL, "type -1 has a name");
    EXPECT(strcmp(inlay_element_type_name(INLAY_Q4_K, 0), "q4_k") == 0, "the library's name");
    EXPECT(strcmp(inlay_element_type_name(INLAY_Q4_K, 1), "Q4_K") == 0, "the spelling of model files");
    EXPECT(inlay_name_equal("A-b_z", "_aBZ-") && !inlay_name_equal("ab", "abc") && !inlay_name_equal("abc", "ab"),
           "names are compared");
    EXPECT(!inlay_name_equal("@", "`") && !inlay_name_equal("[", "{") && !inlay_name_equal(NULL, NULL) &&
               !inlay_name_equal("", NULL),
           "only letters have a case, and null is no name");
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "errors of tables", make_fixture, free_fixture, plain_operations, fields_of_views,
                     sizes_of_structs, quantized_views, sizes_that_overflow, shards, extents_of_tables,
                     extents_of_quantized_tables, extents_next_to_outputs, constructors_fill_in_every_field,
                     ids_at_the_edge_of_int32, bad_ids_of_many, views_in_their_outputs, scaling_in_place, random_tables,
                     names_of_types);
}
