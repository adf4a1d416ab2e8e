/* SPDX-License-Identifier: MIT */
/*
 * Functions of a wrong library, which test_selftest.py preloads. WRONG_ISA names the ISA that differs from scalar,
 * CRASHING_ISA the one with an instruction that the CPU lacks. Needs no headers of the library: its statuses and
 * structs are passed on unchanged.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fenv.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *original(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* True if this process uses the ISA in an environment variable. */
static int is_isa(const char *variable)
{
    const char *(*isa)(void) = (const char *(*)(void))original("inlay_isa");
    const char *name = getenv(variable);
    return name != NULL && strcmp(isa(), name) == 0;
}

const char *inlay_version(void)
{
    return "9.8.7";
}

/* Random tables are wrong on every ISA, which no comparison with scalar can detect. */
int inlay_table_random(const void *spec, void *out, size_t rows, size_t dim, size_t stride_bytes)
{
    int (*random)(const void *, void *, size_t, size_t, size_t) =
        (int (*)(const void *, void *, size_t, size_t, size_t))original("inlay_table_random");
    const int status = random(spec, out, rows, dim, stride_bytes);
    ((unsigned char *)out)[5] ^= 1;
    return status;
}

/* On the wrong ISA, calls with rows of 264 bytes, used by the checks of errors, change a byte whether they fail or not.
   The call with a row of 18 bytes, used for dropout by Philox, changes the last byte. */
int inlay_forward(const void *layer, const void *batch, void *out, size_t stride, const void *executor, void *fault)
{
    int (*forward)(const void *, const void *, void *, size_t, const void *, void *) =
        (int (*)(const void *, const void *, void *, size_t, const void *, void *))original("inlay_forward");
    const int status = forward(layer, batch, out, stride, executor, fault);
    if (stride == 264 && out != NULL && is_isa("WRONG_ISA"))
        ((unsigned char *)out)[6] ^= 1;
    if (stride == 18 && is_isa("WRONG_ISA"))
        ((unsigned char *)out)[17] ^= 1;
    return status;
}

/* On the wrong ISA, the fourth float of a sum is wrong. */
int inlay_add_positions(void *x, size_t stride, size_t batch, size_t seq, const void *positions, int64_t start,
                        const void *executor, void *fault)
{
    int (*add)(void *, size_t, size_t, size_t, const void *, int64_t, const void *, void *) = (int (*)(
        void *, size_t, size_t, size_t, const void *, int64_t, const void *, void *))original("inlay_add_positions");
    const int status = add(x, stride, batch, seq, positions, start, executor, fault);
    if (is_isa("WRONG_ISA"))
        ((unsigned char *)x)[12] ^= 1;
    return status;
}

/* On the wrong ISA, the root of 2 depends on the rounding mode; no layer of the selftest has this dim. */
float inlay_sqrt_dim(size_t dim)
{
    float (*root)(size_t) = (float (*)(size_t))original("inlay_sqrt_dim");
    return root(dim) + (dim == 2 && fegetround() == FE_UPWARD && is_isa("WRONG_ISA") ? 1.f : 0.f);
}

int inlay_scale(const void *x, size_t x_stride, size_t n, size_t dim, float factor, void *out, size_t stride,
                const void *executor)
{
    int (*scale)(const void *, size_t, size_t, size_t, float, void *, size_t, const void *) =
        (int (*)(const void *, size_t, size_t, size_t, float, void *, size_t, const void *))original("inlay_scale");
    if (is_isa("CRASHING_ISA"))
        raise(SIGILL);
    return scale(x, x_stride, n, dim, factor, out, stride, executor);
}
