// SPDX-License-Identifier: MIT
//
// In C, as the structs of the kernels are C: runs a table of kernels whose sinusoid_rows counts undecided entries.
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "fallback_rate.h"

#include "dispatch/dispatch.h"
#include "dispatch/kernels.h"

#include <inlay/inlay.h>

#include <stdlib.h>
#include <time.h>

static const struct inlay_kernels *counted;
static unsigned long undecided;

static bool count_undecided(const struct inlay_sinusoid_tile *tile)
{
    bool any = counted->sinusoid_rows(tile);
    size_t words = tile->rows * inlay_padded(tile->pairs) / INLAY_PAIR_GROUP;
    for (size_t i = 0; i < words; i++)
        undecided += (unsigned)__builtin_popcount(tile->undecided[i]);
    return any;
}

double fallback_rate(double base, size_t dim)
{
    size_t rows = ((size_t)1 << 22) / dim;
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(dim);
    spec.base = base;
    inlay_sinusoid *sinusoid = NULL;
    float *out = malloc(rows * dim * sizeof *out);
    bool runs;
    counted = inlay_dispatch_at(0, &runs);
    for (size_t i = 1; !runs; i++)
        counted = inlay_dispatch_at(i, &runs);
    struct inlay_kernels counting = *counted;
    counting.sinusoid_rows = count_undecided;
    undecided = 0;
    inlay_dispatch_use(&counting);
    inlay_status status = inlay_sinusoid_create(&spec, NULL, &sinusoid);
    if (status == INLAY_OK && out != NULL)
        status = inlay_sinusoid_rows(sinusoid, 0, rows, INLAY_F32, out, dim * sizeof *out, NULL);
    inlay_dispatch_use(NULL);
    if (status != INLAY_OK || out == NULL)
        abort();
    inlay_sinusoid_destroy(sinusoid);
    free(out);
    return (double)undecided / (double)(rows * dim);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

double seconds_to_create(size_t dim)
{
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(dim);
    double shortest = 1e9;
    for (int i = 0; i < 5; i++) {
        inlay_sinusoid *sinusoid;
        double begin = now();
        if (inlay_sinusoid_create(&spec, NULL, &sinusoid) != INLAY_OK)
            abort();
        double seconds = now() - begin;
        shortest = seconds < shortest ? seconds : shortest;
        inlay_sinusoid_destroy(sinusoid);
    }
    return shortest;
}
