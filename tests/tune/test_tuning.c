/* SPDX-License-Identifier: MIT */
/*
 * CPU detection for tuning, and the first call from many threads.
 */
#define _XOPEN_SOURCE 600 /* pthread_barrier_wait */
#include "support/support.h"

#include "dispatch/cpu.h"
#include "dispatch/tuning.h"
#include "support/system.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The first call --------------------------------------------------------------------------------------------- */

/* Makes the next call the first one of the process. */
static void start_over(void)
{
    atomic_store(&inlay_cpu_found, NULL);
    atomic_store(&inlay_l2_found, 0);
}

START_TEST(init_asks_the_cpu)
{
    start_over();
    inlay_init();
    EXPECT(inlay_cpu_found != NULL && inlay_l2_found != 0, "it is left to the first call");
}
END_TEST

static void *first_tuning(void *barrier)
{
    pthread_barrier_wait(barrier);
    return (void *)(uintptr_t)inlay_tuning_default().stream_bytes;
}

START_TEST(many_threads_may_ask_first)
{
    enum { THREADS = 32 };
    const size_t wanted = inlay_tuning_default().stream_bytes;
    for (int round = 0; round < 20; round++) {
        pthread_t threads[THREADS];
        pthread_barrier_t barrier;
        pthread_barrier_init(&barrier, NULL, THREADS);
        start_over();
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, first_tuning, &barrier), 0);
        for (int i = 0; i < THREADS; i++) {
            void *got;
            pthread_join(threads[i], &got);
            EXPECT((uintptr_t)got == wanted, "thread %d streams outputs of %zu bytes", i, (size_t)(uintptr_t)got);
        }
        pthread_barrier_destroy(&barrier);
    }
}
END_TEST

/* ---- Caches and CPUs -------------------------------------------------------------------------------------------- */

START_TEST(registers_describe_caches)
{
    static const struct {
        uint32_t eax, ebx, ecx;
        size_t level, bytes;
    } cases[] = {
        {0x121, 0x1c0003f, 0x3f, 1, 32 << 10},   /* Zen 4 */
        {0x122, 0x1c0003f, 0x3f, 1, 0},          /* its instructions */
        {0x143, 0x1c0003f, 0x7ff, 2, 1 << 20},   /* */
        {0x163, 0x3c0003f, 0x7fff, 3, 32 << 20}, /* */
        {0x143, 0x3c0103f, 0x3ff, 2, 2 << 20},   /* two partitions */
        {0x183, 0x1c0003f, 0x7ff, 0, 0},         /* a fourth level */
        {0x103, 0x1c0003f, 0x7ff, 0, 0},         /* no level */
        {0x143, 0xffffffff, 0xffffffff, 2, 0},   /* 2^64 bytes */
        {0x143, 0xffc0003f, 0xffff, 2, 0},       /* 4 GiB */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes[INLAY_CACHE_LEVELS] = {0};
        EXPECT(inlay_note_cache(bytes, cases[i].eax, cases[i].ebx, cases[i].ecx), "case %zu ends", i);
        for (size_t level = 1; level <= INLAY_CACHE_LEVELS; level++) {
            const size_t expected = level == cases[i].level ? cases[i].bytes : 0;
            EXPECT(bytes[level - 1] == expected, "case %zu: L%zu has %zu bytes", i, level, bytes[level - 1]);
        }
    }
    size_t none[INLAY_CACHE_LEVELS] = {0};
    EXPECT(!inlay_note_cache(none, 0x20, 0x1c0003f, 0x3f), "the end is a cache");
}
END_TEST

START_TEST(thresholds_follow_the_reported_l2)
{
    enum { KIB = 1024, MIB = 1024 * KIB };
    static const struct {
        size_t reported, l2;
    } cases[] = {{0, MIB}, {512 * KIB, 512 * KIB}, {2 * MIB, 2 * MIB}, {1, 256 * KIB}, {512 * MIB, 4 * MIB}};
    const struct inlay_cpu cpu = {
        .kind = "a CPU", .short_rows = INLAY_PREFETCH_L2_ROW_AHEAD_16, .long_rows = INLAY_PREFETCH_L1_LINE_AHEAD_2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t l2_bytes = inlay_l2_bytes_of(cases[i].reported);
        EXPECT(l2_bytes == cases[i].l2, "case %zu: L2 of %zu bytes", i, l2_bytes);
        atomic_store(&inlay_cpu_found, &cpu);
        atomic_store(&inlay_l2_found, l2_bytes);
        const struct {
            size_t dim, rows, call;
            inlay_element_type type;
            inlay_prefetch first;
        } calls[] = {
            {512, 1000, l2_bytes, INLAY_F32, INLAY_PREFETCH_LINES},
            {512, 1000, l2_bytes + 1, INLAY_F32, cpu.short_rows},
            {2047, 1000, l2_bytes + 1, INLAY_F32, cpu.short_rows},
            {2048, 1000, l2_bytes + 1, INLAY_F32, cpu.long_rows},
            {512, 1000, 1, INLAY_BF16, cpu.short_rows},
            {8192, 1000, 1, INLAY_Q4_K, cpu.short_rows},
            {16384, 1000, 1, INLAY_Q4_K, cpu.long_rows},
            {1024, 32 * KIB, 1, INLAY_F32, INLAY_PREFETCH_LINES},
            {1024, 32 * KIB + 1, 1, INLAY_F32, cpu.short_rows}, /* short rows of a table larger than any cache */
            {1025, 32 * KIB + 1, 1, INLAY_F32, INLAY_PREFETCH_LINES},
        };
        for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
            const size_t row_bytes = inlay_table_row_bytes(calls[c].type, calls[c].dim);
            const inlay_table table = inlay_table_view(calls[c].type, NULL, calls[c].rows, calls[c].dim, row_bytes);
            const inlay_prefetch first = inlay_first_strategy(&table, row_bytes, calls[c].call);
            EXPECT(first == calls[c].first, "case %zu, call %zu begins with %d", i, c, first);
        }
    }
    start_over();
}
END_TEST

/* For measured CPUs, and for others. */
START_TEST(tunings_are_those_of_the_cpu)
{
    const struct inlay_cpu measured = {.compute_bytes = 5};
    const inlay_tuning fused = inlay_tuning_of(&measured, true), unfused = inlay_tuning_of(&measured, false);
    EXPECT(fused.compute_bytes == 5 && unfused.compute_bytes == SIZE_MAX, "compute_bytes");
    EXPECT(fused.stream_bytes == (size_t)16 << 20, "stream_bytes");
    EXPECT(fused.prefetch == INLAY_PREFETCH_AUTOMATIC && fused.block_bytes == 8192 && fused.size == sizeof fused,
           "the rest");
}
END_TEST

#define INTEL "Intel Xeon (Ice Lake to Emerald Rapids)"

/* Signatures as reported by these CPUs. */
START_TEST(kinds_of_cpus_are_known_by_their_facts)
{
    static const struct {
        struct inlay_cpu_facts facts;
        const char *kind; /* null: not measured */
    } cases[] = {
        {{.amd = true, .signature = 0xa10f11, .avx512f = true}, "AMD Zen 4"},
        {{.amd = true, .signature = 0xa10f11}, NULL}, /* its AVX-512 is hidden */
        {{.amd = true, .signature = 0xa00f11}, "AMD Zen 3"},
        {{.amd = true, .signature = 0xa20f12}, "AMD Zen 3"},
        {{.amd = true, .signature = 0xa60f12}, NULL}, /* Zen 4, AVX-512 hidden */
        {{.amd = true, .signature = 0x830f10}, NULL}, /* Zen 2 */
        {{.amd = true, .signature = 0xb00f21, .avx512f = true, .avx512vp2intersect = true}, "AMD Zen 5"},
        {{.amd = true, .signature = 0xb00f21, .avx512f = true}, NULL},
        {{.intel = true, .signature = 0x606a6, .avx512f = true}, INTEL}, /* Ice Lake */
        {{.intel = true, .signature = 0x606c1, .avx512f = true}, INTEL},
        {{.intel = true, .signature = 0x806f8, .avx512f = true, .avx512fp16 = true}, INTEL}, /* Sapphire Rapids */
        {{.intel = true, .signature = 0xc06f2, .avx512f = true, .avx512fp16 = true}, INTEL}, /* Emerald Rapids */
        {{.intel = true, .signature = 0x600, .avx512f = true, .avx512fp16 = true}, INTEL},   /* its model is hidden */
        {{.intel = true, .signature = 0x50657, .avx512f = true}, NULL},                      /* Cascade Lake */
        {{.intel = true, .signature = 0x806c1, .avx512f = true, .avx512vp2intersect = true}, NULL}, /* Tiger Lake */
        {{.signature = 0x806f8, .avx512f = true, .avx512fp16 = true}, NULL},
        {{.signature = 0}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *kind = inlay_cpu_of(&cases[i].facts)->kind;
        EXPECT(kind == cases[i].kind || (kind != NULL && cases[i].kind != NULL && strcmp(kind, cases[i].kind) == 0),
               "%#x is %s", (unsigned)cases[i].facts.signature, kind != NULL ? kind : "unknown");
    }
}
END_TEST

/* This CPU, detected in another way. */
START_TEST(the_facts_are_those_of_this_cpu)
{
#ifdef __x86_64__
    unsigned eax = 0, ebx, ecx, edx, vendor[3];
    ck_assert_int_ne(__get_cpuid(0, &eax, &vendor[0], &vendor[2], &vendor[1]), 0);
    ck_assert_int_ne(__get_cpuid(1, &eax, &ebx, &ecx, &edx), 0);
    const bool avx512 = inlay_dispatch_features() & INLAY_FEATURE_AVX512F;
    const struct inlay_cpu_facts facts = {
        .intel = memcmp(vendor, "GenuineIntel", 12) == 0,
        .amd = memcmp(vendor, "AuthenticAMD", 12) == 0,
        .signature = eax,
        .avx512f = avx512,
        .avx512vp2intersect = avx512 && __builtin_cpu_supports("avx512vp2intersect"),
        .avx512fp16 = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx >> 23 & 1),
    };
    start_over();
    EXPECT(inlay_cpu() == inlay_cpu_of(&facts), "%.12s is taken for another", (const char *)vendor);
    start_over();
    variable_set("INLAY_CPU", "unknown");
    EXPECT(inlay_cpu()->kind == NULL, "the CPU is not hidden");
    variable_set("INLAY_CPU", NULL);
    start_over();
#endif
}
END_TEST

START_TEST(the_source_is_told)
{
    const inlay_cpu_info source = inlay_cpu_info_detect();
    size_t caches[INLAY_CACHE_LEVELS];
    inlay_cpu_caches(caches);
    EXPECT(source.size == sizeof source, "its size");
    EXPECT(source.measured == inlay_cpu()->kind, "measured on %s", source.measured);
    EXPECT(source.l1_bytes == caches[0] && source.l2_bytes == caches[1] && source.l3_bytes == caches[2], "the caches");
    ck_assert_ptr_nonnull(memchr(source.cpu, '\0', sizeof source.cpu));
    for (const char *c = source.cpu; *c != '\0'; c++)
        EXPECT(*c >= ' ' && *c <= '~', "the CPU is '%s'", source.cpu);
    const size_t length = strlen(source.cpu);
    EXPECT(length == 0 || (source.cpu[0] != ' ' && source.cpu[length - 1] != ' '), "the CPU is '%s'", source.cpu);
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "tuning", NULL, NULL, init_asks_the_cpu, many_threads_may_ask_first,
                     registers_describe_caches, thresholds_follow_the_reported_l2, tunings_are_those_of_the_cpu,
                     kinds_of_cpus_are_known_by_their_facts, the_facts_are_those_of_this_cpu, the_source_is_told);
}
