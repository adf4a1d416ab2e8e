/* SPDX-License-Identifier: MIT */
/* Implements support.h. */
#include "support.h"

#include "system.h"

#include <fenv.h>
#include <inttypes.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATTERN = 0xa5 };

const struct inlay_kernels *tested;
static uint64_t *checks;

void count_checks(unsigned long n)
{
    __atomic_fetch_add(checks, n, __ATOMIC_RELAXED);
}

static const struct inlay_kernels *find(const char *name, const char **why_not)
{
    const struct inlay_kernels *kernels;
    bool runs;
    for (size_t i = 0; (kernels = inlay_dispatch_at(i, &runs)) != NULL; i++)
        if (strcmp(kernels->name, name) == 0) {
            *why_not = "this CPU or operating system does not run it";
            return runs ? kernels : NULL;
        }
    *why_not = "it is not compiled in";
    return NULL;
}

bool test_isa(const char *name)
{
    const char *why_not;
    tested = name != NULL ? find(name, &why_not) : inlay_dispatch();
    if (name != NULL && tested == NULL) {
        printf("skipped on %s: %s\n", name, why_not);
        return false;
    }
    inlay_dispatch_use(tested);
    return true;
}

int run_suite(int argc, char **argv, Suite *suite)
{
    checks = memory_shared(sizeof *checks);
    if (!test_isa(argc > 1 ? argv[1] : NULL))
        return EXIT_SKIP;
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int tests = srunner_ntests_run(runner), failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    printf("checks on %s: %" PRIu64 " comparisons in %d tests, %d failed\n", tested->name, *checks, tests, failed);
    return failed == 0 && tests > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int run_tests(int argc, char **argv, const char *name, SFun setup, SFun teardown, const TTest *const *tests)
{
    Suite *suite = suite_create(name);
    TCase *all = tcase_create(name);
    tcase_set_timeout(all, 600);
    tcase_add_checked_fixture(all, setup, teardown);
    for (size_t i = 0; tests[i] != NULL; i++)
        tcase_add_test(all, tests[i]);
    suite_add_tcase(suite, all);
    return run_suite(argc, argv, suite);
}

/* Aborts if a helper fails. Not one of check's assertions, which need a running suite. */
static void demand(bool holds)
{
    if (!holds)
        abort();
}

struct arena arena_make(size_t capacity)
{
    size_t page = page_bytes();
    size_t inner = (capacity + page - 1) / page * page;
    unsigned char *reserved = pages_reserve(inner + 2 * page);
    pages_open(reserved + page, inner);
    return (struct arena){reserved + page, reserved + page + inner};
}

void arena_free(struct arena *arena)
{
    size_t page = page_bytes();
    pages_release(arena->begin - page, (size_t)(arena->end - arena->begin) + 2 * page);
}

unsigned char *arena_place(struct arena *arena, size_t bytes, enum placement placement, size_t offset)
{
    size_t capacity = (size_t)(arena->end - arena->begin);
    demand(capacity >= bytes + (placement == INSIDE ? offset : 0));
    memset(arena->begin, PATTERN, capacity);
    if (placement == AT_END)
        return arena->end - bytes;
    return arena->begin + (placement == INSIDE ? offset : 0);
}

static bool all_pattern(const unsigned char *begin, const unsigned char *end)
{
    for (; begin < end; begin++)
        if (*begin != PATTERN)
            return false;
    return true;
}

bool arena_untouched_outside(const struct arena *arena, const unsigned char *rows, size_t n, size_t stride_bytes,
                             size_t row_bytes)
{
    const unsigned char *covered = arena->begin;
    for (size_t i = 0; i < n; i++) {
        if (!all_pattern(covered, rows + i * stride_bytes))
            return false;
        covered = rows + i * stride_bytes + row_bytes;
    }
    return all_pattern(covered, arena->end);
}

bool arena_untouched(const struct arena *arena)
{
    return all_pattern(arena->begin, arena->end);
}

uint64_t random_bits(struct random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t random_below(struct random *random, uint64_t n)
{
    return random_bits(random) % n;
}

double random_unit(struct random *random)
{
    return (double)(random_bits(random) >> 11) * 0x1p-53;
}

float random_float(struct random *random)
{
    static const uint32_t special[] = {0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x7f800000,
                                       0xff800000, 0x7fc00000, 0x7f800001, 0x7f7fffff, 0x00800000};
    uint64_t bits = random_bits(random);
    uint32_t pattern = 0x3f000000 + (uint32_t)(bits >> 40) - 0x00400000;
    pattern |= (uint32_t)(bits & 1) << 31;
    if (bits >> 1 & 1 && bits >> 2 & 1 && bits >> 3 & 1 && bits >> 4 & 1)
        pattern = special[(bits >> 8) % (sizeof special / sizeof *special)];
    float value;
    memcpy(&value, &pattern, sizeof value);
    return value;
}

void random_rows(struct random *random, unsigned char *rows, size_t n, size_t dim, size_t stride_bytes)
{
    for (size_t i = 0; i < n; i++)
        for (size_t column = 0; column < dim; column++) {
            float value = random_float(random);
            memcpy(rows + i * stride_bytes + column * sizeof value, &value, sizeof value);
        }
}

bool same_float(float a, float b)
{
    uint32_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y || ((x & 0x7fffffff) > 0x7f800000 && (y & 0x7fffffff) > 0x7f800000);
}

float float_at(const unsigned char *row, size_t column)
{
    float value;
    memcpy(&value, row + column * sizeof value, sizeof value);
    return value;
}

struct digest sha256(const void *bytes, size_t n)
{
    struct digest digest;
    SHA256Data(bytes, n, digest.text);
    return digest;
}

bool in_selftest(const void *bytes, size_t n)
{
    static const uint64_t digests[] = {
#include "../tools/selftest/digests.inc"
    };
    const unsigned char *data = bytes;
    uint64_t hash = 0xcbf29ce484222325;
    size_t i = 0;
    for (size_t k = 0; k < n; k++)
        hash = (hash ^ data[k]) * 0x100000001b3;
    while (i < sizeof digests / sizeof *digests && digests[i] != hash)
        i++;
    return i < sizeof digests / sizeof *digests;
}

void set_environment(int environment)
{
    static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    set_flush(environment >= 4);
    fesetround(modes[environment % 4]);
}

bool has_zeros(inlay_element_type type)
{
    return type == INLAY_U4_GROUPED || type == INLAY_U4_GROUPED_FLAT || type == INLAY_I8_GROUPED ||
           type == INLAY_U8_GROUPED;
}

bool is_affine(inlay_element_type type)
{
    return type >= INLAY_U2_AFFINE && type <= INLAY_U8_AFFINE;
}

bool is_grouped(inlay_element_type type)
{
    return has_zeros(type) || is_affine(type);
}

const struct type_of_ggml types_of_ggml[TYPES_OF_GGML] = {
#include "tables/types_of_ggml.inc"
};

const struct type_of_ggml *type_of_ggml(inlay_element_type type)
{
    for (size_t i = 0; i < TYPES_OF_GGML; i++)
        if (type != 0 && types_of_ggml[i].element == type)
            return &types_of_ggml[i];
    return NULL;
}

size_t whole_columns(inlay_element_type type)
{
    const struct type_of_ggml *const ggml = type_of_ggml(type);
    if (ggml != NULL)
        return ggml->block;
    const bool two_bits = type == INLAY_U2_ROWWISE || type == INLAY_U2_ROWWISE_FIRST;
    return type == INLAY_E4M3_E8M0 || is_affine(type) || two_bits ? 32 : type == INLAY_E2M1_F32 ? 16 : 1;
}

size_t scale_bytes_in_row(inlay_element_type type)
{
    switch (type) {
    case INLAY_U8_ROWWISE:
        return 8;
    case INLAY_U4_ROWWISE:
    case INLAY_U8_ROWWISE_FIRST:
    case INLAY_U4_ROWWISE_FIRST:
    case INLAY_U2_ROWWISE_FIRST:
    case INLAY_U2_ROWWISE:
        return 4;
    default:
        return 0;
    }
}

size_t narrowest_group(inlay_element_type type)
{
    return is_affine(type) ? 32 : 16;
}

uint32_t chosen_group(inlay_element_type type, uint64_t choice)
{
    return (uint32_t)narrowest_group(type) << choice % (is_affine(type) ? 3 : 4);
}

size_t groups_of(size_t columns, size_t group)
{
    return (columns + group - 1) / group;
}

size_t row_scale_bytes(inlay_element_type type, size_t dim, size_t group)
{
    if (is_grouped(type))
        return groups_of(dim, group) * sizeof(float) * (is_affine(type) ? 2 : 1);
    if (type == INLAY_E4M3_E8M0)
        return dim / 32;
    if (type == INLAY_E2M1_F32)
        return dim / 16 * sizeof(float);
    return type == INLAY_I8 || type == INLAY_I8_INVERSE || type == INLAY_E4M3 ? sizeof(float) : 0;
}

size_t zero_bytes(inlay_element_type type, size_t rows, size_t groups)
{
    if (type == INLAY_U4_GROUPED_FLAT)
        return (rows * groups + 1) / 2;
    return rows * (type == INLAY_U4_GROUPED ? (groups + 1) / 2 : groups);
}

bool scales_are_optional(inlay_element_type type)
{
    return type == INLAY_I8 || type == INLAY_E4M3;
}

inlay_layer *make_layer_of(const inlay_layer_spec *spec)
{
    inlay_layer *layer;
    demand(inlay_layer_create(spec, NULL, &layer) == INLAY_OK);
    return layer;
}

inlay_sinusoid *make_sinusoid_of(const inlay_sinusoid_spec *spec)
{
    inlay_sinusoid *sinusoid;
    demand(inlay_sinusoid_create(spec, NULL, &sinusoid) == INLAY_OK);
    return sinusoid;
}

inlay_sinusoid *make_sinusoid(size_t dim, double base, inlay_sinusoid_layout layout)
{
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(dim);
    spec.base = base;
    spec.layout = layout;
    return make_sinusoid_of(&spec);
}

void write_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n, inlay_element_type type, void *out,
                size_t stride_bytes)
{
    ck_assert_int_eq(inlay_sinusoid_rows(sinusoid, first, n, type, out, stride_bytes, NULL), INLAY_OK);
}

void dequantize(const inlay_table *table, float *out)
{
    for (int32_t row = 0; (size_t)row < table->rows; row++)
        ck_assert_int_eq(inlay_gather(table, &row, INLAY_ID_I32, 1, 1, out + (size_t)row * table->dim,
                                      table->dim * sizeof *out, NULL, NULL),
                         INLAY_OK);
}
