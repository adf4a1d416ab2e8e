/* SPDX-License-Identifier: MIT */
/*
 * Run-time dispatch: an ordered list of candidates and one atomic pointer. There is no constructor, no ifunc and no
 * lock: threads that race to the first call compute the same pointer.
 */
#include "dispatch/dispatch.h"

#include "base/environment.h"
#include "dispatch/cpu.h"
#include "dispatch/cpuid.h"
#include "dispatch/kernels.h"

#include <inlay/inlay.h>

#include <stdatomic.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "inlay reads and writes little-endian rows"
#endif

/*
 * The compiler's builtin executes CPUID and checks by XGETBV that the operating system saves the wide registers.
 * clang's doesn't support F16C. F16C uses the registers of AVX2, so CPUID alone suffices for it.
 */
unsigned inlay_dispatch_features(void)
{
    unsigned features = 0;
#ifdef __x86_64__
    struct inlay_cpuid found;
    features |= inlay_cpuid(1, 0, &found) && (found.ecx & bit_F16C) ? INLAY_FEATURE_F16C : 0;
    features |= __builtin_cpu_supports("avx2") ? INLAY_FEATURE_AVX2 : 0;
    features |= __builtin_cpu_supports("fma") ? INLAY_FEATURE_FMA : 0;
    features |= __builtin_cpu_supports("avx512f") ? INLAY_FEATURE_AVX512F : 0;
    features |= __builtin_cpu_supports("avx512vl") ? INLAY_FEATURE_AVX512VL : 0;
    features |= __builtin_cpu_supports("avx512dq") ? INLAY_FEATURE_AVX512DQ : 0;
    features |= __builtin_cpu_supports("avx512bw") ? INLAY_FEATURE_AVX512BW : 0;
#endif
    return features;
}

/*
 * The first one that runs here is used. An ISA needs every feature in its flags in src/meson.build and every feature
 * used by SLEEF's functions of its suffix: a CPU or hypervisor can have AVX2 without F16C. Compilers imply more
 * features with those flags (popcnt, xsave); every known CPU with AVX2 has them.
 */
static const struct {
    const struct inlay_kernels *kernels;
    unsigned needs;
} candidates[] = {
#ifdef INLAY_HAVE_AVX512
    {&inlay_kernels_avx512, INLAY_FEATURE_FMA | INLAY_FEATURE_AVX512F | INLAY_FEATURE_AVX512VL |
                                INLAY_FEATURE_AVX512DQ | INLAY_FEATURE_AVX512BW},
#endif
#ifdef INLAY_HAVE_AVX2
    {&inlay_kernels_avx2, INLAY_FEATURE_FMA | INLAY_FEATURE_F16C | INLAY_FEATURE_AVX2},
#endif
#ifdef INLAY_HAVE_NEON
    {&inlay_kernels_neon, 0},
#endif
#ifdef INLAY_HAVE_PORTABLE
    {&inlay_kernels_portable, 0},
#endif
    {&inlay_kernels_scalar, 0},
};

/* Relaxed order suffices: it points to constant data. */
static _Atomic(const struct inlay_kernels *) in_use;

const struct inlay_kernels *inlay_dispatch_with(size_t index, unsigned features, bool *runs)
{
    if (index >= sizeof candidates / sizeof *candidates)
        return NULL;
    *runs = (candidates[index].needs & ~features) == 0;
    return candidates[index].kernels;
}

const struct inlay_kernels *inlay_dispatch_at(size_t index, bool *runs)
{
    return inlay_dispatch_with(index, inlay_dispatch_features(), runs);
}

/* Returns the table selected by INLAY_ISA if it runs here, else the best one that does. Not inlined, so calls that find
   the pointer save no registers. */
static __attribute__((noinline)) const struct inlay_kernels *choose(void)
{
    const struct inlay_kernels *best = NULL;
    const struct inlay_kernels *kernels;
    bool runs;
    for (size_t i = 0; (kernels = inlay_dispatch_at(i, &runs)) != NULL; i++) {
        if (!runs)
            continue;
        if (inlay_environment_is("INLAY_ISA", kernels->name))
            return kernels;
        if (best == NULL)
            best = kernels;
    }
    return best;
}

const struct inlay_kernels *inlay_dispatch(void)
{
    const struct inlay_kernels *kernels = atomic_load_explicit(&in_use, memory_order_relaxed);
    if (kernels == NULL) {
        kernels = choose();
        atomic_store_explicit(&in_use, kernels, memory_order_relaxed);
    }
    return kernels;
}

void inlay_dispatch_use(const struct inlay_kernels *kernels)
{
    atomic_store_explicit(&in_use, kernels, memory_order_relaxed);
}

void inlay_init(void)
{
    inlay_dispatch();
    inlay_cpu();
    inlay_l2_bytes();
}

const char *inlay_isa(void)
{
    return inlay_dispatch()->name;
}

const char *inlay_isa_at(size_t index, int *runs)
{
    bool here = false;
    const struct inlay_kernels *kernels = inlay_dispatch_at(index, &here);
    if (runs != NULL)
        *runs = here;
    return kernels == NULL ? NULL : kernels->name;
}
