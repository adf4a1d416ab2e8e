/* SPDX-License-Identifier: MIT */
/* What the example layers share: tables of random numbers, and a comparison with the plain definition. */
#ifndef INLAY_EXAMPLE_LAYERS_CHECK_H
#define INLAY_EXAMPLE_LAYERS_CHECK_H

#include <inlay/inlay.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static inline void require(inlay_status status)
{
    if (status == INLAY_OK)
        return;
    fprintf(stderr, "%s\n", inlay_status_string(status));
    exit(1);
}

/* Fills a table in place of a checkpoint: numbers in (-1, 1), the same in every run and different for every key. */
static inline void fill(float *table, size_t rows, size_t dim, uint64_t key)
{
    inlay_random_spec spec = inlay_random_spec_default(INLAY_RANDOM_UNIFORM, key);
    spec.low = -1;
    require(inlay_table_random(&spec, table, rows, dim, dim * sizeof *table));
}

/* Returns the exit status of a program: 0 if every element is within `tolerance` of its definition. */
static inline int compare(const char *name, const float *out, const double *expected, size_t n, double tolerance)
{
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += !(fabs(out[i] - expected[i]) <= tolerance); /* written so that NaN is wrong */
    printf("%s: %s\n", name, wrong == 0 ? "as its definition" : "NOT as its definition");
    return wrong > 0;
}

#endif
