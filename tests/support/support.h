/* SPDX-License-Identifier: MIT */
/*
 * Shared by all suites: the choice of the ISA under test, buffers between guard pages, portable random numbers, and a
 * count of comparisons that survives check's forks. Included by tests/test_*.c.
 */
#pragma once

#include "dispatch/dispatch.h"
#include "dispatch/kernels.h"
#include "flush.h"

#include <inlay/inlay.h>

#include <check.h>
#include <stdbool.h>
#include <stdint.h>

/* Sanitizers replace malloc and use extra stack, so some promises can't be tested with them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

/* Exit status that Meson reports as a skip. */
enum { EXIT_SKIP = 77 };

/* Runs `suite` for the ISA in argv[1] (default: the one in use) and prints the number of comparisons. Returns
   EXIT_SKIP, and prints the reason, if that ISA doesn't run here. */
int run_suite(int argc, char **argv, Suite *suite);

/* Runs tests for that ISA in the same way, each between `setup` and `teardown`, which may be null. `tests` is
   null-terminated. */
int run_tests(int argc, char **argv, const char *name, SFun setup, SFun teardown, const TTest *const *tests);
#define RUN_TESTS(argc, argv, name, setup, teardown, ...)                                                              \
    run_tests(argc, argv, name, setup, teardown, (const TTest *const[]){__VA_ARGS__, NULL})

/* The kernels under test. */
extern const struct inlay_kernels *tested;

/* Selects the ISA to test, or the one in use for null. Returns false, with the reason on standard output, if it doesn't
   run here. run_suite calls this first. */
bool test_isa(const char *name);

/* Adds to the count that run_suite prints. */
void count_checks(unsigned long n);

/* Counts one comparison. Fails the test, with a printf-style message, if it is false. */
#define EXPECT(holds, ...)                                                                                             \
    do {                                                                                                               \
        count_checks(1);                                                                                               \
        if (!(holds))                                                                                                  \
            ck_abort_msg(__VA_ARGS__);                                                                                 \
    } while (0)

/* Bytes between two inaccessible pages. */
struct arena {
    unsigned char *begin, *end;
};

/* capacity is rounded up to whole pages. */
struct arena arena_make(size_t capacity);
void arena_free(struct arena *arena);

/* The place of a buffer in an arena: adjacent to the page before it, adjacent to the page after it, or at some
   offset. */
enum placement { AT_BEGIN, AT_END, INSIDE };

/* Fills the arena with a pattern and returns the place of a buffer of `bytes`. */
unsigned char *arena_place(struct arena *arena, size_t bytes, enum placement placement, size_t offset);

/* True if every byte outside the rows still has the pattern. */
bool arena_untouched_outside(const struct arena *arena, const unsigned char *rows, size_t n, size_t stride_bytes,
                             size_t row_bytes);
bool arena_untouched(const struct arena *arena);

/* A generator with the same numbers on every machine (splitmix64). */
struct random {
    uint64_t state;
};
uint64_t random_bits(struct random *random);
/* 0 <= result < n */
uint64_t random_below(struct random *random, uint64_t n);
/* 0 <= result < 1 */
double random_unit(struct random *random);
/* Floats of ordinary magnitude. One in sixteen is special: signed zeros, subnormals, infinities, NaN, the largest. */
float random_float(struct random *random);
/* Fills any bytes with such floats. */
void random_rows(struct random *random, unsigned char *rows, size_t n, size_t dim, size_t stride_bytes);

/* True if the bits are equal, or both are NaN. */
bool same_float(float a, float b);
float float_at(const unsigned char *row, size_t column);

/* SHA-256 of bytes as 64 hexadecimal digits. */
struct digest {
    char text[65];
};
struct digest sha256(const void *bytes, size_t n);

/* True if `inlay selftest` has the digest of these bytes: 64-bit FNV-1a, in tools/selftest/digests.inc. */
bool in_selftest(const void *bytes, size_t n);

/* Floating-point environments: four rounding modes, with and without flush-to-zero. The first is the default. */
enum { ENVIRONMENTS = 8 };
void set_environment(int environment);

/* Writes the rows of a table as dequantized by the kernels under test: float32 [rows, dim]. */
void dequantize(const inlay_table *table, float *out);

/* True if a type has scales per group of columns; if it also has zero points, or biases. */
bool is_grouped(inlay_element_type type);
bool has_zeros(inlay_element_type type);
bool is_affine(inlay_element_type type);

/* Every type of ggml, including those that tables don't support. */
struct type_of_ggml {
    const char *name;
    uint32_t number, block, bytes;
    inlay_element_type element;         /* 0: none */
    enum { MAGNITUDE, WITH_ZERO } span; /* of a block's values: the largest |x|, or max - min including 0 */
    double share, least;                /* the error is at most share * span + least * 2^-24; 0: defined elsewhere */
};
enum { TYPES_OF_GGML = 34 };
extern const struct type_of_ggml types_of_ggml[TYPES_OF_GGML];

/* Returns the ggml type of a table type, or null. */
const struct type_of_ggml *type_of_ggml(inlay_element_type type);

/* Returns the bytes of a scale and a bias within each row; 0 if the type has none. */
size_t scale_bytes_in_row(inlay_element_type type);

/* Returns the fewest columns of a group. */
size_t narrowest_group(inlay_element_type type);

/* Returns one of the 3 or 4 groups of a type with groups. A choice from 0 to 11 is as likely to give each of them. */
uint32_t chosen_group(inlay_element_type type, uint64_t choice);

/* Returns the number of groups of columns, which may end in a shorter one. */
size_t groups_of(size_t columns, size_t group);

/* Returns the number that dim must be a multiple of, apart from groups: 1, or the columns of a block. */
size_t whole_columns(inlay_element_type type);

/* Returns the bytes of a row of `dim` columns in an array of scales; 0 for types without one. */
size_t row_scale_bytes(inlay_element_type type, size_t dim, size_t group);

/* Returns the bytes of the zero points of `rows` rows of a grouped type. */
size_t zero_bytes(inlay_element_type type, size_t rows, size_t groups);

/* True if that array is optional. */
bool scales_are_optional(inlay_element_type type);

/* Handles of specs that must be valid. */
inlay_layer *make_layer_of(const inlay_layer_spec *spec);
inlay_sinusoid *make_sinusoid_of(const inlay_sinusoid_spec *spec);
inlay_sinusoid *make_sinusoid(size_t dim, double base, inlay_sinusoid_layout layout);

/* Writes rows of consecutive positions, which must be valid. */
void write_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n, inlay_element_type type, void *out,
                size_t stride_bytes);
