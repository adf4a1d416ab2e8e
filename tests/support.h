/* SPDX-License-Identifier: MIT */
/*
 * What all suites share: the choice of the ISA under test, buffers between guard pages, random numbers that are the
 * same everywhere, a count of comparisons that survives check's forks. Included by tests/test_*.c.
 */
#pragma once

#include "dispatch/dispatch.h"
#include "dispatch/kernels.h"
#include "flush.h"

#include <inlay/inlay.h>

#include <check.h>
#include <stdbool.h>
#include <stdint.h>

/* Sanitizers replace malloc and use stack of their own: some promises cannot be observed under them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

/* Exit status that Meson shows as a skip. */
enum { EXIT_SKIP = 77 };

/* Runs `suite` for the ISA that argv[1] names (the one in use, without an argument) and prints how many comparisons
   were made; EXIT_SKIP, and why, where that ISA does not run here. */
int run_suite(int argc, char **argv, Suite *suite);

/* Runs tests of that ISA likewise, each between `setup` and `teardown`, which may be null; `tests` ends with null. */
int run_tests(int argc, char **argv, const char *name, SFun setup, SFun teardown, const TTest *const *tests);
#define RUN_TESTS(argc, argv, name, setup, teardown, ...)                                                              \
    run_tests(argc, argv, name, setup, teardown, (const TTest *const[]){__VA_ARGS__, NULL})

/* The kernels under test. */
extern const struct inlay_kernels *tested;

/* Tests those of that ISA from now on, those in use for null; false, and why on standard output, where it does not run
   here. What run_suite begins with. */
bool test_isa(const char *name);

/* Adds to the count that run_suite prints. */
void count_checks(unsigned long n);

/* Counts one comparison and fails the test, with a message like printf's, where it does not hold. */
#define EXPECT(holds, ...)                                                                                             \
    do {                                                                                                               \
        count_checks(1);                                                                                               \
        if (!(holds))                                                                                                  \
            ck_abort_msg(__VA_ARGS__);                                                                                 \
    } while (0)

/* Bytes between two pages that nothing may read or write. */
struct arena {
    unsigned char *begin, *end;
};

/* capacity is rounded up to whole pages. */
struct arena arena_make(size_t capacity);
void arena_free(struct arena *arena);

/* Where in an arena a buffer lies: against the page before it, against the page behind it, or at some offset. */
enum placement { AT_BEGIN, AT_END, INSIDE };

/* Fills the arena with a pattern and returns the place of a buffer of `bytes`. */
unsigned char *arena_place(struct arena *arena, size_t bytes, enum placement placement, size_t offset);

/* Whether every byte that no row covers still has the pattern. */
bool arena_untouched_outside(const struct arena *arena, const unsigned char *rows, size_t n, size_t stride_bytes,
                             size_t row_bytes);
bool arena_untouched(const struct arena *arena);

/* A generator whose numbers are the same on every machine (splitmix64). */
struct random {
    uint64_t state;
};
uint64_t random_bits(struct random *random);
/* 0 <= result < n */
uint64_t random_below(struct random *random, uint64_t n);
/* 0 <= result < 1 */
double random_unit(struct random *random);
/* Floats of ordinary size, and every sixteenth time a special one: signed zeros, subnormals, infinities, NaN, the
 * largest. */
float random_float(struct random *random);
/* Fills any bytes with such floats. */
void random_rows(struct random *random, unsigned char *rows, size_t n, size_t dim, size_t stride_bytes);

/* The same bits, or both NaN. */
bool same_float(float a, float b);
float float_at(const unsigned char *row, size_t column);

/* SHA-256 of bytes as 64 hexadecimal digits. */
struct digest {
    char text[65];
};
struct digest sha256(const void *bytes, size_t n);

/* Whether `inlay selftest` keeps the digest of these bytes: FNV-1a of 64 bits, in tools/selftest/digests.inc. */
bool in_selftest(const void *bytes, size_t n);

/* The floating-point environments of hosts: four rounding modes, each without and with flush-to-zero. The first is the
   default. */
enum { ENVIRONMENTS = 8 };
void set_environment(int environment);

/* Writes the rows of a table as the kernels under test dequantise them: float32 [rows, dim]. */
void dequantise(const inlay_table *table, float *out);

/* Whether zero points of a type are those of groups of columns. */
bool is_grouped(inlay_element_type type);

/* Every type of ggml, whether or not tables can have it. */
struct type_of_ggml {
    const char *name;
    uint32_t number, block, bytes;
    inlay_element_type element;         /* 0: none */
    enum { MAGNITUDE, WITH_ZERO } span; /* of a block's values: the largest |x|, or max - min with 0 as one of them */
    double share, least;                /* the error is at most share * span + least * 2^-24; 0: said elsewhere */
};
enum { TYPES_OF_GGML = 34 };
extern const struct type_of_ggml types_of_ggml[TYPES_OF_GGML];

/* Returns the type of ggml that a type of tables is; null if it is none. */
const struct type_of_ggml *type_of_ggml(inlay_element_type type);

/* The columns of which a dim must be a multiple, apart from groups: 1, or those of a block. */
size_t whole_columns(inlay_element_type type);

/* The bytes that a row of `dim` columns has in an array of scales; 0 for types without one. */
size_t row_scale_bytes(inlay_element_type type, size_t dim, size_t group);

/* The bytes of the zero points of `rows` rows of a grouped type. */
size_t zero_bytes(inlay_element_type type, size_t rows, size_t groups);

/* Whether that array may be missing. */
bool scales_are_optional(inlay_element_type type);

/* Handles of specs that must be valid. */
inlay_layer *make_layer_of(const inlay_layer_spec *spec);
inlay_sinusoid *make_sinusoid_of(const inlay_sinusoid_spec *spec);
inlay_sinusoid *make_sinusoid(size_t dim, double base, inlay_sinusoid_layout layout);

/* Writes rows of consecutive positions, which must be valid. */
void write_rows(const inlay_sinusoid *sinusoid, int64_t first, size_t n, inlay_element_type type, void *out,
                size_t stride_bytes);
