/* SPDX-License-Identifier: MIT */
/*
 * The choice of kernels: the order of the list, INLAY_ISA and its misuse, the first call from many threads. If
 * INLAY_TEST_BEST names an ISA, that one must be chosen, as on emulated CPUs.
 */
#define _XOPEN_SOURCE 600 /* pthread_barrier_wait */
#include "support/support.h"

#include "support/system.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *choose_with(const char *wanted)
{
    variable_set("INLAY_ISA", wanted);
    inlay_dispatch_use(NULL);
    return inlay_isa();
}

static const char *best(void)
{
    const char *name;
    int runs;
    for (size_t i = 0; (name = inlay_isa_at(i, &runs)) != NULL; i++)
        if (runs)
            return name;
    ck_abort_msg("no ISA runs");
    return NULL; /* check on Windows lacks the noreturn attribute */
}

START_TEST(list_ends_with_scalar)
{
    const char *last = NULL, *name;
    int runs = 0;
    size_t n = 0;
    for (; (name = inlay_isa_at(n, &runs)) != NULL; n++)
        last = name;
    EXPECT(n >= 1 && strcmp(last, "scalar") == 0, "the last ISA is not scalar");
    inlay_isa_at(n - 1, &runs);
    EXPECT(runs == 1, "scalar does not run");
    EXPECT(inlay_isa_at(SIZE_MAX, &runs) == NULL && runs == 0, "there is an ISA past the end");
    EXPECT(inlay_isa_at(0, NULL) != NULL, "a null out-parameter is not ignored");
}
END_TEST

/* Every feature that an ISA's kernels need must be required: CPUs, hypervisors and emulators can lack any of them. */
START_TEST(no_isa_runs_without_its_features)
{
    static const struct {
        const char *name;
        unsigned needs;
    } isas[] = {
        {"avx512", INLAY_FEATURE_FMA | INLAY_FEATURE_AVX512F | INLAY_FEATURE_AVX512VL | INLAY_FEATURE_AVX512DQ |
                       INLAY_FEATURE_AVX512BW},
        {"avx2", INLAY_FEATURE_FMA | INLAY_FEATURE_F16C | INLAY_FEATURE_AVX2},
        {"neon", 0},
        {"portable", 0},
        {"scalar", 0},
    };
    const struct inlay_kernels *kernels;
    const unsigned all = 2 * INLAY_FEATURE_AVX512BW - 1;
    bool runs;
    for (size_t i = 0; (kernels = inlay_dispatch_with(i, all, &runs)) != NULL; i++) {
        size_t isa = 0;
        while (strcmp(isas[isa].name, kernels->name) != 0)
            ck_assert_uint_lt(++isa, sizeof isas / sizeof *isas);
        EXPECT(runs, "%s does not run with all features", kernels->name);
        inlay_dispatch_with(i, isas[isa].needs, &runs);
        EXPECT(runs, "%s does not run with what it needs", kernels->name);
        for (unsigned feature = 1; feature < all; feature *= 2) {
            inlay_dispatch_with(i, all & ~feature, &runs);
            EXPECT(runs == !(isas[isa].needs & feature), "%s without feature %#x: %d", kernels->name, feature, runs);
        }
    }
}
END_TEST

/* Scalar kernels are the default only if no other kernels without required features are compiled in. */
START_TEST(scalar_is_the_last_resort)
{
#ifdef INLAY_HAVE_PORTABLE
    const struct inlay_kernels *kernels = NULL;
    bool runs = false;
    for (size_t i = 0; !runs; i++)
        kernels = inlay_dispatch_with(i, 0, &runs);
    EXPECT(kernels != &inlay_kernels_scalar, "a CPU without features runs scalar kernels");
#endif
}
END_TEST

/* Features are those of CPUID, fewer if the operating system doesn't save their registers. */
START_TEST(features_are_those_of_cpuid)
{
#ifdef __x86_64__
    static const struct {
        unsigned feature, leaf, bit;
        bool in_ebx; /* otherwise in ecx */
    } bits[] = {
        {INLAY_FEATURE_FMA, 1, 12, false},     {INLAY_FEATURE_F16C, 1, 29, false},
        {INLAY_FEATURE_AVX2, 7, 5, true},      {INLAY_FEATURE_AVX512F, 7, 16, true},
        {INLAY_FEATURE_AVX512DQ, 7, 17, true}, {INLAY_FEATURE_AVX512BW, 7, 30, true},
        {INLAY_FEATURE_AVX512VL, 7, 31, true},
    };
    const unsigned features = inlay_dispatch_features();
    unsigned reported = 0, eax, ebx, ecx, edx;
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        if (__get_cpuid_count(bits[i].leaf, 0, &eax, &ebx, &ecx, &edx) &&
            (bits[i].in_ebx ? ebx : ecx) >> bits[i].bit & 1)
            reported |= bits[i].feature;
    EXPECT((features & ~reported) == 0, "features %#x, of which CPUID reports %#x", features, reported);
    EXPECT(features == reported || !(features & INLAY_FEATURE_AVX512F) || !(features & INLAY_FEATURE_AVX2),
           "features %#x, but CPUID reports %#x", features, reported);
#endif
}
END_TEST

START_TEST(the_best_runs_by_default)
{
    const char *chosen = choose_with(NULL);
    EXPECT(strcmp(chosen, best()) == 0, "%s runs, but %s is the best", chosen, best());
    const char *expected = getenv("INLAY_TEST_BEST");
    if (expected != NULL)
        EXPECT(strcmp(chosen, expected) == 0, "%s runs, but this CPU should run %s", chosen, expected);
    printf("dispatch chose %s%s\n", chosen, expected != NULL ? ", as this CPU must" : "");
}
END_TEST

/* Wider registers compute positions that narrower ones read. */
START_TEST(thresholds_are_those_of_the_isa)
{
    const char *name;
    int runs;
    size_t wider = 0;
    for (size_t i = 0; (name = inlay_isa_at(i, &runs)) != NULL; i++) {
        if (!runs)
            continue;
        choose_with(name);
        inlay_tuning tuning = inlay_tuning_default();
        EXPECT(tuning.compute_bytes >= wider, "%s computes positions of %zu bytes, a wider ISA of %zu", name,
               tuning.compute_bytes, wider);
        EXPECT(tuning.stream_bytes >= inlay_cpu_info_detect().l2_bytes, "%s streams what L2 holds", name);
        wider = tuning.compute_bytes;
    }
}
END_TEST

START_TEST(every_name_chooses_what_runs)
{
    const char *name;
    int runs;
    for (size_t i = 0; (name = inlay_isa_at(i, &runs)) != NULL; i++) {
        const char *wanted = runs ? name : best();
        EXPECT(strcmp(choose_with(name), wanted) == 0, "INLAY_ISA=%s runs %s", name, inlay_isa());
    }
}
END_TEST

START_TEST(other_names_are_ignored)
{
    static const char *const names[] = {"", " ", "AVX2", "avx", "avx22", "sse2", "scalar ", "none", "../scalar"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        EXPECT(strcmp(choose_with(names[i]), best()) == 0, "INLAY_ISA='%s' runs %s", names[i], inlay_isa());
}
END_TEST

START_TEST(the_environment_is_read_once)
{
    const char *before = choose_with(NULL);
    variable_set("INLAY_ISA", "scalar");
    EXPECT(strcmp(inlay_isa(), before) == 0, "INLAY_ISA was read again");
    inlay_init();
    EXPECT(strcmp(inlay_isa(), before) == 0, "inlay_init chose again");
}
END_TEST

static void *first_call(void *barrier)
{
    pthread_barrier_wait(barrier);
    return (void *)inlay_dispatch();
}

START_TEST(many_threads_may_call_first)
{
    enum { THREADS = 64 };
    variable_set("INLAY_ISA", NULL);
    for (int round = 0; round < 20; round++) {
        pthread_t threads[THREADS];
        pthread_barrier_t barrier;
        pthread_barrier_init(&barrier, NULL, THREADS);
        inlay_dispatch_use(NULL);
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, first_call, &barrier), 0);
        for (int i = 0; i < THREADS; i++) {
            void *chosen;
            pthread_join(threads[i], &chosen);
            EXPECT(chosen == (const void *)inlay_dispatch(), "thread %d runs other kernels", i);
        }
        pthread_barrier_destroy(&barrier);
    }
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "dispatch", NULL, NULL, list_ends_with_scalar, no_isa_runs_without_its_features,
                     scalar_is_the_last_resort, features_are_those_of_cpuid, the_best_runs_by_default,
                     thresholds_are_those_of_the_isa, every_name_chooses_what_runs, other_names_are_ignored,
                     the_environment_is_read_once, many_threads_may_call_first);
}
