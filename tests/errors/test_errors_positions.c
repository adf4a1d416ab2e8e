/* SPDX-License-Identifier: MIT */
/*
 * Every error of sinusoids and rotary tables, for every argument that can cause it.
 */
#include "errors/errors.h"

#include <math.h>
#include <string.h>

/* Creates a sinusoid and destroys it again; fails the test if a failed creation leaves a handle. */
static inlay_status create(const inlay_sinusoid_spec *spec)
{
    inlay_sinusoid *made = (inlay_sinusoid *)1;
    inlay_status status = inlay_sinusoid_create(spec, NULL, &made);
    EXPECT((made != NULL) == (status == INLAY_OK), "\"%s\" left the handle %p", inlay_status_string(status),
           (void *)made);
    inlay_sinusoid_destroy(made);
    return status;
}

#define EXPECT_SPEC(wanted, field, value) EXPECT_WITH(wanted, spec, field, value, create(&spec))

START_TEST(sinusoid_specs)
{
    static const double bases[] = {0,     -0.0,   -1,       -10000,    0x1.fffffffffffffp-1, 1.0000000000000002e30,
                                   1e300, 5e-324, INFINITY, -INFINITY, (double)NAN,          -(double)NAN};
    static const double amplitudes[] = {0, -1, 0x1.fffffffffffffp-21, 0x1.0000000000001p10, INFINITY, (double)NAN};
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(DIM);
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        EXPECT_SPEC(INLAY_ERROR_BASE, base, bases[i]);
    for (size_t i = 0; i < sizeof amplitudes / sizeof *amplitudes; i++)
        EXPECT_SPEC(INLAY_ERROR_OPTION, amplitude, amplitudes[i]);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, dim, 0);
    EXPECT_SPEC(INLAY_ERROR_SHAPE, dim, (size_t)INT32_MAX + 1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, layout, (inlay_sinusoid_layout)0);
    EXPECT_SPEC(INLAY_ERROR_OPTION, layout, (inlay_sinusoid_layout)4);
    EXPECT_SPEC(INLAY_ERROR_OPTION, spacing, (inlay_sinusoid_spacing)0);
    EXPECT_SPEC(INLAY_ERROR_OPTION, spacing, (inlay_sinusoid_spacing)3);
    EXPECT_SPEC(INLAY_ERROR_OPTION, odd, (inlay_sinusoid_odd)0);
    EXPECT_SPEC(INLAY_ERROR_OPTION, odd, (inlay_sinusoid_odd)5);
    EXPECT_SPEC(INLAY_ERROR_OPTION, shift, 2);
    EXPECT_SPEC(INLAY_ERROR_OPTION, recipe, (inlay_recipe)-1);
    EXPECT_SPEC(INLAY_ERROR_OPTION, size, 0);
    EXPECT_STATUS(create(NULL), INLAY_ERROR_NULL);
    EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, NULL), INLAY_ERROR_NULL);
    spec = inlay_sinusoid_spec_recipe((inlay_recipe)(INLAY_RECIPE_MAE + 1), DIM);
    EXPECT_STATUS(create(&spec), INLAY_ERROR_OPTION);
    spec = inlay_sinusoid_spec_recipe(INLAY_RECIPE_TORCH_EXP, DIM + 1);
    EXPECT_STATUS(create(&spec), INLAY_ERROR_SHAPE);
    inlay_sinusoid_destroy(NULL);
}
END_TEST

START_TEST(frequencies_of_the_callers)
{
    static const double bad[] = {-1, -5e-324, 0x1.0000000000001p31, (double)INFINITY, (double)NAN, -(double)NAN};
    double frequencies[DIM / 2] = {1, 0.01};
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(DIM);
    EXPECT_SPEC(INLAY_ERROR_OPTION, float_angles, 1);
    spec.inv_freq = frequencies;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t k = 0; k < DIM / 2; k++) {
            const double kept = frequencies[k];
            frequencies[k] = bad[i];
            EXPECT_STATUS(create(&spec), INLAY_ERROR_OPTION);
            frequencies[k] = kept;
        }
    EXPECT_SPEC(INLAY_ERROR_OPTION, recipe, INLAY_RECIPE_FAIRSEQ);
    EXPECT_SPEC(INLAY_ERROR_OPTION, float_angles, 2);
    /* The edges are valid, and the base is ignored. */
    static const double edges[] = {0, -0.0, 5e-324, 0x1p31};
    spec.base = (double)NAN;
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        inlay_sinusoid *made;
        frequencies[0] = edges[i];
        EXPECT_STATUS(inlay_sinusoid_create(&spec, NULL, &made), INLAY_OK);
        EXPECT_STATUS(inlay_sinusoid_rows(made, 1, 1, INLAY_F32, out.begin, ROW_BYTES, NULL), INLAY_OK);
        inlay_sinusoid_destroy(made);
    }
}
END_TEST

START_TEST(recipes_have_names)
{
    int count = 0;
    while (inlay_recipe_name((inlay_recipe)count) != NULL) {
        for (int i = 0; i < count; i++)
            EXPECT(strcmp(inlay_recipe_name((inlay_recipe)i), inlay_recipe_name((inlay_recipe)count)) != 0,
                   "recipes %d and %d have one name", i, count);
        size_t frameworks = 0;
        while (inlay_recipe_framework((inlay_recipe)count, frameworks) != NULL)
            frameworks++;
        EXPECT(frameworks >= 1 && inlay_recipe_framework((inlay_recipe)count, SIZE_MAX) == NULL,
               "recipe %d has %zu frameworks", count, frameworks);
        count++;
    }
    EXPECT(count == INLAY_RECIPE_MAE + 1, "%d recipes have names", count);
    EXPECT(inlay_recipe_name((inlay_recipe)-1) == NULL, "recipe -1 has a name");
    EXPECT(inlay_recipe_framework((inlay_recipe)count, 0) == NULL, "recipe %d has a framework", count);
    EXPECT(strcmp(inlay_recipe_framework(INLAY_RECIPE_OPENNMT_TF, 0), "OpenNMT-tf from position 1") == 0,
           "the frameworks are those of another recipe");
}
END_TEST

/* The arguments of inlay_sinusoid_rows() and inlay_sinusoid_at(), which takes a list instead of a start. */
struct call {
    const inlay_sinusoid *sinusoid;
    int64_t start;
    const void *list;
    inlay_position_type list_type;
    size_t n;
    inlay_element_type type;
    void *out;
    size_t stride_bytes;
};

static inlay_status rows_of(const struct call *call)
{
    return inlay_sinusoid_rows(call->sinusoid, call->start, call->n, call->type, call->out, call->stride_bytes, NULL);
}

static inlay_status at(const struct call *call, inlay_fault *fault)
{
    return inlay_sinusoid_at(call->sinusoid, call->list, call->list_type, call->n, call->type, call->out,
                             call->stride_bytes, NULL, fault);
}

START_TEST(rows_of_positions)
{
    struct call call = {sinusoid, 0, NULL, (inlay_position_type)0, 1, INLAY_F32, out.begin, ROW_BYTES};
#define EXPECT_ROWS(wanted, field, value) EXPECT_WITH(wanted, call, field, value, rows_of(&call))
    EXPECT_ROWS(INLAY_ERROR_NULL, sinusoid, NULL);
    EXPECT_ROWS(INLAY_ERROR_NULL, out, NULL);
    EXPECT_ROWS(INLAY_ERROR_OPTION, type, (inlay_element_type)0);
    EXPECT_ROWS(INLAY_ERROR_STRIDE, stride_bytes, ROW_BYTES - 1);
    EXPECT_ROWS(INLAY_ERROR_OVERFLOW, n, SIZE_MAX / 4);
    call.out = NULL;
    EXPECT_ROWS(INLAY_OK, n, 0);
}
END_TEST

START_TEST(lists_of_positions)
{
    static const int64_t integers[SEQ] = {5, 0, INLAY_POSITION_LIMIT - 1};
    static const double reals[SEQ] = {-0.5, 0x1.fffffffffffffp30, -0x1.fffffffffffffp30};
    static const float floats[SEQ] = {-0.5f, 0x1.fffffep30f, 1e-45f};
    struct call call = {sinusoid, 0, integers, INLAY_POSITION_I64, SEQ, INLAY_F32, out.begin, ROW_BYTES};
#define EXPECT_AT(wanted, field, value) EXPECT_WITH(wanted, call, field, value, at(&call, NULL))
    EXPECT_STATUS(at(&call, NULL), INLAY_OK);
    EXPECT_AT(INLAY_ERROR_NULL, sinusoid, NULL);
    EXPECT_AT(INLAY_ERROR_NULL, list, NULL);
    EXPECT_AT(INLAY_ERROR_NULL, out, NULL);
    EXPECT_AT(INLAY_ERROR_OPTION, list_type, (inlay_position_type)0);
    EXPECT_AT(INLAY_ERROR_OPTION, list_type, (inlay_position_type)4);
    EXPECT_AT(INLAY_ERROR_OPTION, type, INLAY_I8);
    EXPECT_AT(INLAY_ERROR_STRIDE, stride_bytes, ROW_BYTES - 1);
    EXPECT_AT(INLAY_ERROR_OVERFLOW, n, SIZE_MAX / 16);
    EXPECT_AT(INLAY_ERROR_OVERLAP, list, out.begin);
    struct call narrow = {sinusoid, 0, reals, INLAY_POSITION_F64, SEQ, INLAY_F16, out.begin, ROW_BYTES / 2};
    EXPECT_STATUS(at(&narrow, NULL), INLAY_OK);
    EXPECT_WITH(INLAY_ERROR_STRIDE, narrow, stride_bytes, ROW_BYTES / 2 - 1, at(&narrow, NULL));
    narrow = (struct call){sinusoid, 0, floats, INLAY_POSITION_F32, SEQ, INLAY_BF16, out.begin, ROW_BYTES / 2};
    EXPECT_STATUS(at(&narrow, NULL), INLAY_OK);
    const struct call none = {sinusoid, 0, NULL, INLAY_POSITION_I64, 0, INLAY_F32, NULL, ROW_BYTES};
    EXPECT_STATUS(at(&none, NULL), INLAY_OK);
    /* An output that starts within the last position. */
    call = (struct call){sinusoid, 0, out.begin, INLAY_POSITION_I64, 1, INLAY_F32, out.begin + 7, ROW_BYTES};
    EXPECT_STATUS(at(&call, NULL), INLAY_ERROR_OVERLAP);
}
END_TEST

START_TEST(bad_positions_of_lists)
{
    static const int64_t integers[] = {-INLAY_POSITION_LIMIT, INLAY_POSITION_LIMIT, INT64_MIN, INT64_MAX};
    static const double reals[] = {0x1p31, -0x1p31, (double)INFINITY, -(double)INFINITY, (double)NAN, -(double)NAN};
    struct call call = {sinusoid, 0, NULL, INLAY_POSITION_I64, SEQ, INLAY_F32, out.begin, ROW_BYTES};
    inlay_fault fault;
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        for (size_t token = 0; token < SEQ; token++) {
            int64_t list[SEQ] = {1, 2, 3};
            list[token] = integers[i];
            EXPECT_WITH(INLAY_ERROR_POSITION, call, list, list, at(&call, &fault));
            EXPECT(fault.sequence == 0 && fault.token == token && fault.value == integers[i],
                   "fault at token %zu, value %ld", fault.token, (long)fault.value);
        }
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
        double list[SEQ] = {1, 2, reals[i]};
        float narrow[SEQ] = {1, (float)reals[i], 3};
        call.list_type = INLAY_POSITION_F64;
        EXPECT_WITH(INLAY_ERROR_POSITION, call, list, list, at(&call, &fault));
        EXPECT(fault.token == 2 && fault.value == 0, "fault at token %zu, value %ld", fault.token, (long)fault.value);
        call.list_type = INLAY_POSITION_F32;
        EXPECT_WITH(INLAY_ERROR_POSITION, call, list, narrow, at(&call, &fault));
        EXPECT(fault.token == 1 && fault.value == 0, "fault at token %zu, value %ld", fault.token, (long)fault.value);
    }
}
END_TEST

/* The arguments of inlay_rotary_rows(). */
struct rotary_call {
    const inlay_sinusoid *sinusoid;
    int64_t start;
    size_t n;
    inlay_element_type type;
    inlay_rotary_layout layout;
    unsigned char *cos, *sin;
    size_t stride_bytes;
};

static inlay_status rotary(const struct rotary_call *call)
{
    return inlay_rotary_rows(call->sinusoid, call->start, call->n, call->type, call->layout, call->cos, call->sin,
                             call->stride_bytes, NULL);
}

START_TEST(rotary_tables)
{
    struct rotary_call call = {sinusoid, 0, 3, INLAY_F32, INLAY_ROTARY_HALVES, out.begin, out.begin + 3 * ROW_BYTES,
                               ROW_BYTES};
#define EXPECT_ROTARY(wanted, field, value) EXPECT_WITH(wanted, call, field, value, rotary(&call))
    EXPECT_STATUS(rotary(&call), INLAY_OK);
    EXPECT_ROTARY(INLAY_ERROR_NULL, sinusoid, NULL);
    EXPECT_ROTARY(INLAY_ERROR_NULL, cos, NULL);
    EXPECT_ROTARY(INLAY_ERROR_NULL, sin, NULL);
    EXPECT_ROTARY(INLAY_ERROR_OPTION, layout, (inlay_rotary_layout)0);
    EXPECT_ROTARY(INLAY_ERROR_OPTION, layout, (inlay_rotary_layout)4);
    EXPECT_ROTARY(INLAY_ERROR_OPTION, type, (inlay_element_type)0);
    EXPECT_ROTARY(INLAY_ERROR_STRIDE, stride_bytes, ROW_BYTES - 1);
    EXPECT_ROTARY(INLAY_ERROR_OVERLAP, sin, call.cos + 8);
    EXPECT_ROTARY(INLAY_ERROR_POSITION, start, -1);
    EXPECT_ROTARY(INLAY_ERROR_POSITION, start, INLAY_POSITION_LIMIT - 2);
    inlay_sinusoid *odd = make_sinusoid(3, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
    EXPECT_ROTARY(INLAY_ERROR_SHAPE, sinusoid, odd);
    inlay_sinusoid_destroy(odd);
    const struct rotary_call none = {sinusoid, 0, 0, INLAY_F32, INLAY_ROTARY_HALVES, NULL, NULL, ROW_BYTES};
    EXPECT_STATUS(rotary(&none), INLAY_OK);

    call.layout = INLAY_ROTARY_PAIRS;
    EXPECT_ROTARY(INLAY_ERROR_STRIDE, stride_bytes, ROW_BYTES / 2 - 1);
    /* Cosines and sines side by side, as in caches, and one byte closer. */
    call.sin = out.begin + ROW_BYTES / 2;
    EXPECT_STATUS(rotary(&call), INLAY_OK);
    EXPECT_ROTARY(INLAY_ERROR_OVERLAP, sin, call.sin - 1);
    EXPECT_ROTARY(INLAY_ERROR_OVERLAP, sin, call.sin + 1);
    call.cos = call.sin;
    EXPECT_ROTARY(INLAY_OK, sin, out.begin);
}
END_TEST

/* Memory for one handle, between two output rows. */
static struct {
    unsigned char before[ROW_BYTES];
    _Alignas(64) unsigned char handle[8192];
    size_t bytes;
} room;

static void *allocate(void *ctx, size_t bytes)
{
    (void)ctx;
    ck_assert_uint_le(bytes + ROW_BYTES, sizeof room.handle);
    room.bytes = bytes;
    return room.handle;
}

static void release(void *ctx, void *memory)
{
    (void)ctx;
    (void)memory;
}

/* Expects a status from each function that writes a row. */
static void expect_row(const inlay_layer *layer, const inlay_sinusoid *handle, unsigned char *row, inlay_status wanted)
{
    static const int64_t list[1] = {7};
    static const int32_t ids[1] = {1};
    const inlay_batch batch = inlay_batch_i32(ids, 1, 1, 100);
    struct call call = {handle, 5, list, INLAY_POSITION_I64, 1, INLAY_F32, row, ROW_BYTES};
    const struct rotary_call cosines = {handle, 0, 1, INLAY_F32, INLAY_ROTARY_HALVES, row, out.begin, ROW_BYTES};
    const struct rotary_call sines = {handle, 0, 1, INLAY_F32, INLAY_ROTARY_HALVES, out.begin, row, ROW_BYTES};
    EXPECT_STATUS(rows_of(&call), wanted);
    EXPECT_STATUS(at(&call, NULL), wanted);
    EXPECT_STATUS(rotary(&cosines), wanted);
    EXPECT_STATUS(rotary(&sines), wanted);
    EXPECT_STATUS(inlay_forward(layer, &batch, row, ROW_BYTES, NULL, NULL), wanted);
}

/* Outputs across each end of a sinusoid's handle, including its arrays, and next to it. */
START_TEST(outputs_over_handles)
{
    static const inlay_recipe recipes[] = {INLAY_RECIPE_EXACT, INLAY_RECIPE_TORCH_EXP};
    const inlay_allocator allocator = {NULL, allocate, release};
    const inlay_table tokens = good_table();
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++) {
        const inlay_sinusoid_spec spec = inlay_sinusoid_spec_recipe(recipes[i], DIM);
        inlay_sinusoid *handle;
        ck_assert_int_eq(inlay_sinusoid_create(&spec, &allocator, &handle), INLAY_OK);
        inlay_layer *layer = make_layer(&tokens, handle, NULL);
        unsigned char *begin = room.handle, *end = begin + room.bytes;
        unsigned char *const over[] = {begin, begin + 64, begin + room.bytes / 2, begin - ROW_BYTES + 1, end - 1};
        for (size_t k = 0; k < sizeof over / sizeof *over; k++)
            expect_row(layer, handle, over[k], INLAY_ERROR_OVERLAP);
        expect_row(layer, handle, begin - ROW_BYTES, INLAY_OK);
        expect_row(layer, handle, end, INLAY_OK);
        inlay_layer_destroy(layer);
        inlay_sinusoid_destroy(handle);
    }
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "errors of positions", make_fixture, free_fixture, sinusoid_specs,
                     frequencies_of_the_callers, recipes_have_names, rows_of_positions, lists_of_positions,
                     bad_positions_of_lists, rotary_tables, outputs_over_handles);
}
