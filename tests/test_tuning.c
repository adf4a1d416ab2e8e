/* SPDX-License-Identifier: MIT */
/*
 * Thresholds: those of reported caches, profiles and their hostile files, INLAY_TUNING, and the first call from many
 * threads.
 */
#define _XOPEN_SOURCE 600 /* pthread_barrier_wait */
#include "support.h"

#include "base/file.h"
#include "dispatch/caches.h"
#include "dispatch/cpu.h"
#include "dispatch/profile.h"
#include "dispatch/tuning.h"
#include "system.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[INLAY_PROFILE_KEYS] = {"l2_bytes", "stream_bytes", "compute_bytes", "block_bytes",
                                                     "prefetch_bytes"};

static size_t *field(inlay_tuning *tuning, size_t key)
{
    size_t *const fields[INLAY_PROFILE_KEYS] = {&tuning->l2_bytes, &tuning->stream_bytes, &tuning->compute_bytes,
                                                &tuning->block_bytes, &tuning->prefetch_bytes};
    return fields[key];
}

/* ---- Files ------------------------------------------------------------------------------------------------------ */

static char folder[256];
static char path[sizeof folder + 64];

static void make_folder(void)
{
    folder_make_temporary(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/profile", folder);
}

static void remove_folder(void)
{
    folder_remove(folder);
}

static void write_file(const char *name, const char *text, size_t bytes)
{
    FILE *file = fopen(name, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, bytes, file), bytes);
    ck_assert_int_eq(fclose(file), 0);
}

static inlay_status load(const char *text, inlay_tuning *tuning)
{
    write_file(path, text, strlen(text));
    return inlay_tuning_load(path, tuning);
}

static inlay_tuning distinct(void)
{
    return (inlay_tuning){sizeof(inlay_tuning), 1001, 1002, 1003, 1004, 1005};
}

/* Expects a status, and that a tuning is left as it is. */
static void expect_refusal(inlay_status status, inlay_status expected, const inlay_tuning *tuning, const char *what)
{
    const inlay_tuning before = distinct();
    EXPECT(status == expected, "%s: %s", what, inlay_status_string(status));
    EXPECT(memcmp(tuning, &before, sizeof before) == 0, "%s: half of it was applied", what);
}

/* ---- Profiles --------------------------------------------------------------------------------------------------- */

START_TEST(each_key_sets_its_field)
{
    for (size_t key = 0; key < INLAY_PROFILE_KEYS; key++) {
        char text[64];
        inlay_tuning tuning = distinct(), expected = distinct();
        snprintf(text, sizeof text, "%s 77\n", keys[key]);
        *field(&expected, key) = 77;
        EXPECT(load(text, &tuning) == INLAY_OK, "%s is refused", keys[key]);
        EXPECT(memcmp(&tuning, &expected, sizeof tuning) == 0, "%s sets another field", keys[key]);
    }
}
END_TEST

START_TEST(what_a_profile_may_look_like)
{
    static const struct {
        const char *text;
        size_t stream_bytes, l2_bytes;
    } cases[] = {
        {"stream_bytes 5", 5, 1001},
        {"stream_bytes 0\n", 0, 1001},
        {"stream_bytes 0005\r\nl2_bytes 6\r\n", 5, 6},
        {"# a comment\n\n  \t\n\tstream_bytes\t 5 \t# another\nl2_bytes 6#", 5, 6},
        {"l2_bytes 6\n#stream_bytes 5", 1002, 6},
        {"l2_bytes 6\n\n\n", 1002, 6},
        {"# \x1b[31m \xff\nl2_bytes 6", 1002, 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        inlay_tuning tuning = distinct(), expected = distinct();
        expected.stream_bytes = cases[i].stream_bytes;
        expected.l2_bytes = cases[i].l2_bytes;
        EXPECT(load(cases[i].text, &tuning) == INLAY_OK, "\"%s\" is refused", cases[i].text);
        EXPECT(memcmp(&tuning, &expected, sizeof tuning) == 0, "\"%s\" says something else", cases[i].text);
    }
}
END_TEST

START_TEST(what_is_no_profile)
{
    static const char *const texts[] = {
        "",
        "\n",
        "# stream_bytes 5\n",
        "stream_bytes",
        "stream_bytes\n5",
        "stream_bytes #5",
        "stream_bytes 5 6",
        "stream_bytes 5 l2_bytes 6",
        "stream_bytes 5x",
        "stream_bytes -5",
        "stream_bytes +5",
        "stream_bytes 0x5",
        "stream_bytes 5.0",
        "stream_bytes 5K",
        "stream_bytes = 5",
        "stream_bytes: 5",
        "stream_bytes=5",
        "stream_byte 5",
        "stream_bytess 5",
        "Stream_bytes 5",
        "size 48",
        "l1_bytes 5",
        "5 stream_bytes",
        "l2_bytes 6\nstream_bytes 5\nl2_bytes 6\n",
        "l2_bytes 6\nunknown 5\n",
        "l2_bytes 6\nstream_bytes 99999999999999999999999999\n",
        "\xef\xbb\xbfl2_bytes 6",
        "l2_bytes 6\vstream_bytes 5",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        inlay_tuning tuning = distinct();
        expect_refusal(load(texts[i], &tuning), INLAY_ERROR_OPTION, &tuning, texts[i]);
    }
}
END_TEST

START_TEST(values_end_at_the_largest_size)
{
    char text[64];
    inlay_tuning tuning = distinct();
    snprintf(text, sizeof text, "compute_bytes %zu", SIZE_MAX);
    EXPECT(load(text, &tuning) == INLAY_OK && tuning.compute_bytes == SIZE_MAX, "SIZE_MAX is refused");
    text[strlen(text) - 1]++; /* it ends in 5 */
    tuning = distinct();
    expect_refusal(load(text, &tuning), INLAY_ERROR_OPTION, &tuning, "SIZE_MAX + 1");
    strcat(text, "0");
    expect_refusal(load(text, &tuning), INLAY_ERROR_OPTION, &tuning, "ten times SIZE_MAX");
}
END_TEST

START_TEST(files_that_are_too_large)
{
    char text[INLAY_PROFILE_BYTES + 2];
    memset(text, '#', sizeof text);
    memcpy(text, "l2_bytes 6\n", 11);
    for (size_t bytes = INLAY_PROFILE_BYTES - 1; bytes < sizeof text; bytes++) {
        inlay_tuning tuning = distinct();
        write_file(path, text, bytes);
        const inlay_status status = inlay_tuning_load(path, &tuning);
        if (bytes < INLAY_PROFILE_BYTES)
            EXPECT(status == INLAY_OK && tuning.l2_bytes == 6, "a file of %zu bytes is refused", bytes);
        else
            expect_refusal(status, INLAY_ERROR_FILE, &tuning, "a file of 4096 bytes or more");
    }
}
END_TEST

START_TEST(null_characters)
{
    static const char *const texts[] = {"l2_bytes 6@", "l2_bytes@ 6", "l2_bytes 6 # @", "@l2_bytes 6",
                                        "l2_bytes 6\n@\nx"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[32];
        strcpy(text, texts[i]);
        *strchr(text, '@') = '\0';
        inlay_tuning tuning = distinct();
        write_file(path, text, strlen(texts[i]));
        expect_refusal(inlay_tuning_load(path, &tuning), INLAY_ERROR_OPTION, &tuning, texts[i]);
    }
}
END_TEST

START_TEST(what_is_no_file)
{
    inlay_tuning tuning = distinct();
    const char *const *others = paths_of_no_files(folder);
    /* Where there is /proc, the memory of this process is a regular file with nothing at its beginning. */
    const char *const names[] = {path, "", folder, others[0], others[1], others[2], "/proc/self/mem"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        errno = 1234;
        expect_refusal(inlay_tuning_load(names[i], &tuning), INLAY_ERROR_FILE, &tuning, names[i]);
        EXPECT(errno == 1234, "%s: errno became %d", names[i], errno);
    }
    EXPECT(inlay_tuning_load(NULL, &tuning) == INLAY_ERROR_NULL, "a null path");
    EXPECT(inlay_tuning_load(path, NULL) == INLAY_ERROR_NULL, "a null tuning");
    EXPECT(load("l2_bytes 6", &tuning) == INLAY_OK, "a good file is refused");
    tuning.size--;
    EXPECT(load("l2_bytes 7", &tuning) == INLAY_ERROR_OPTION && tuning.l2_bytes == 6, "a small struct is written");
}
END_TEST

/* ---- INLAY_TUNING ----------------------------------------------------------------------------------------------- */

/* Makes the next call the first one of the process. */
static void start_over(const char *wanted)
{
    variable_set("INLAY_TUNING", wanted);
    atomic_store(&inlay_thresholds_state, INLAY_THRESHOLDS_UNKNOWN);
}

START_TEST(the_profile_replaces_the_default)
{
    const char *name;
    int runs;
    start_over(NULL);
    inlay_tuning before = inlay_tuning_default();
    EXPECT(inlay_tuning_default_source().profile == 0, "there is a profile without INLAY_TUNING");
    write_file(path, "stream_bytes 4567\ncompute_bytes 7654\n", 37);
    start_over(path);
    for (size_t i = 0; (name = inlay_isa_at(i, &runs)) != NULL; i++) {
        if (!runs)
            continue;
        test_isa(name);
        const inlay_tuning tuning = inlay_tuning_default();
        EXPECT(tuning.stream_bytes == 4567, "%s streams outputs of %zu bytes", name, tuning.stream_bytes);
        EXPECT(tuning.compute_bytes == 7654, "%s computes positions of %zu bytes", name, tuning.compute_bytes);
        EXPECT(tuning.l2_bytes == before.l2_bytes && tuning.size == sizeof tuning, "%s lost other thresholds", name);
    }
    const inlay_tuning_source source = inlay_tuning_default_source();
    EXPECT(source.profile == 1 && source.profile_status == INLAY_OK, "the profile is not told");
}
END_TEST

/* A layer without a tuning has the profile's; one with a tuning keeps its own. */
START_TEST(layers_follow_the_profile)
{
    static float values[4 * 8], out[3 * 8];
    const int32_t ids[3] = {0, 1, 2};
    write_file(path, "stream_bytes 4567\n", 18);
    start_over(path);
    inlay_tuning own = inlay_tuning_default();
    own.stream_bytes = 89;
    for (int has_own = 0; has_own < 2; has_own++) {
        inlay_table table = inlay_table_f32(values, 4, 8);
        inlay_layer_spec spec = inlay_layer_spec_default(&table);
        inlay_layer *layer;
        char text[INLAY_PLAN_TEXT_BYTES];
        spec.tuning = has_own ? &own : NULL;
        ck_assert_int_eq(inlay_layer_create(&spec, NULL, &layer), INLAY_OK);
        inlay_batch batch = inlay_batch_i32(ids, 1, 3, 0);
        ck_assert_int_eq(inlay_forward_explain(layer, &batch, out, 32, NULL, NULL, text, sizeof text), INLAY_OK);
        EXPECT(strstr(text, has_own ? "stream_bytes (89)" : "stream_bytes (4567)") != NULL, "the plan is\n%s", text);
        inlay_layer_destroy(layer);
    }
}
END_TEST

START_TEST(bad_profiles_are_ignored)
{
    start_over(NULL);
    const inlay_tuning before = inlay_tuning_default();
    write_file(path, "stream_bytes 4567\nl2_bytes", 26);
    const struct {
        const char *name;
        inlay_status status;
    } cases[] = {{path, INLAY_ERROR_OPTION},
                 {"", INLAY_ERROR_FILE},
                 {folder, INLAY_ERROR_FILE},
                 {paths_of_no_files(folder)[0], INLAY_ERROR_FILE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start_over(cases[i].name);
        if (getenv("INLAY_TUNING") == NULL)
            continue; /* Windows has no variables without a value */
        const inlay_tuning tuning = inlay_tuning_default();
        const inlay_tuning_source source = inlay_tuning_default_source();
        EXPECT(memcmp(&tuning, &before, sizeof before) == 0, "INLAY_TUNING='%s' changes thresholds", cases[i].name);
        EXPECT(source.profile == 1 && source.profile_status == cases[i].status, "INLAY_TUNING='%s': %s", cases[i].name,
               inlay_status_string(source.profile_status));
    }
}
END_TEST

START_TEST(the_profile_is_read_once)
{
    write_file(path, "stream_bytes 4567\n", 18);
    start_over(path);
    inlay_init();
    write_file(path, "stream_bytes 1234\n", 18);
    variable_set("INLAY_TUNING", "/none");
    EXPECT(inlay_tuning_default().stream_bytes == 4567, "the profile was read again, or not by inlay_init");
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
    write_file(path, "stream_bytes 4567\n", 18);
    for (int round = 0; round < 20; round++) {
        pthread_t threads[THREADS];
        pthread_barrier_t barrier;
        pthread_barrier_init(&barrier, NULL, THREADS);
        start_over(path);
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, first_tuning, &barrier), 0);
        for (int i = 0; i < THREADS; i++) {
            void *got;
            pthread_join(threads[i], &got);
            EXPECT((uintptr_t)got == 4567, "thread %d streams outputs of %zu bytes", i, (size_t)(uintptr_t)got);
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
        struct inlay_caches caches = {{0}};
        EXPECT(inlay_caches_add_cpuid(&caches, cases[i].eax, cases[i].ebx, cases[i].ecx) == 1, "case %zu ends", i);
        for (size_t level = 1; level <= INLAY_CACHE_LEVELS; level++) {
            const size_t expected = level == cases[i].level ? cases[i].bytes : 0;
            EXPECT(caches.bytes[level - 1] == expected, "case %zu: L%zu has %zu bytes", i, level,
                   caches.bytes[level - 1]);
        }
    }
    struct inlay_caches none = {{0}};
    EXPECT(inlay_caches_add_cpuid(&none, 0x20, 0x1c0003f, 0x3f) == 0, "the end is a cache");
}
END_TEST

static void write_cache(int i, const char *level, const char *type, const char *size)
{
    const char *const texts[] = {level, type, size}, *const names[] = {"level", "type", "size"};
    char name[sizeof folder + 64];
    snprintf(name, sizeof name, "%s/index%d", folder, i);
    folder_make(name);
    for (size_t n = 0; n < 3; n++) {
        snprintf(name, sizeof name, "%s/index%d/%s", folder, i, names[n]);
        if (texts[n] != NULL)
            write_file(name, texts[n], strlen(texts[n]));
    }
}

START_TEST(files_describe_caches)
{
    write_cache(0, "1\n", "Data\n", "64K\n");
    write_cache(1, "1\n", "Instruction\n", "48K\n");
    write_cache(2, "2\n", "Unified\n", "1024K\n");
    write_cache(3, "3\n", "Unified\n", "8M\n");
    struct inlay_caches caches = inlay_caches_of_folder(folder);
    EXPECT(caches.bytes[0] == 64 << 10 && caches.bytes[1] == 1 << 20 && caches.bytes[2] == 8 << 20, "%zu, %zu, %zu",
           caches.bytes[0], caches.bytes[1], caches.bytes[2]);
    static const char *const sizes[] = {"",     "K\n",          "1024KB\n", "-1K\n",        "0x400\n",
                                        "1G\n", "999999999K\n", "1 K\n",    "1234567890\n", "1024K\nx"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        write_cache(2, "2\n", "Unified\n", sizes[i]);
        caches = inlay_caches_of_folder(folder);
        EXPECT(caches.bytes[1] == 0 && caches.bytes[2] == 8 << 20, "'%s' is %zu bytes", sizes[i], caches.bytes[1]);
    }
    static const char *const levels[] = {"", "0\n", "4\n", "two\n", "2000000000000000\n"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        write_cache(2, levels[i], "Unified\n", "512K\n");
        caches = inlay_caches_of_folder(folder);
        EXPECT(caches.bytes[1] == 0, "level '%s' has %zu bytes", levels[i], caches.bytes[1]);
    }
    caches = inlay_caches_of_folder("/none");
    EXPECT(caches.bytes[0] + caches.bytes[1] + caches.bytes[2] == 0, "there are caches without files");
}
END_TEST

START_TEST(thresholds_follow_the_reported_l2)
{
    enum { KIB = 1024, MIB = 1024 * KIB };
    static const struct {
        size_t stream_bytes; /* measured; 0: not */
        size_t reported, l2, stream, prefetch;
    } cases[] = {
        {0, 0, MIB, MIB, 16 * KIB},
        {0, 512 * KIB, 512 * KIB, MIB, 8 * KIB},
        {0, 2 * MIB, 2 * MIB, 2 * MIB, 32 * KIB},
        {0, 1, 256 * KIB, MIB, 4 * KIB},
        {0, 512 * MIB, 4 * MIB, 4 * MIB, 64 * KIB},
        {7 * MIB, MIB, MIB, 7 * MIB, 16 * KIB},
        {7 * MIB, 2 * MIB, 2 * MIB, 7 * MIB, 32 * KIB},
        {MIB, 2 * MIB, MIB, MIB, 32 * KIB},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool measured = cases[i].stream_bytes > 0;
        const struct inlay_cpu cpu = {measured ? "a CPU" : NULL, true, measured ? cases[i].stream_bytes : MIB, 5, 6};
        const struct inlay_caches caches = {{32 * KIB, cases[i].reported, 480 * MIB}};
        const struct inlay_thresholds found = inlay_thresholds_of(&cpu, caches);
        EXPECT(found.tuning.l2_bytes == cases[i].l2, "case %zu: l2_bytes %zu", i, found.tuning.l2_bytes);
        EXPECT(found.tuning.stream_bytes == cases[i].stream, "case %zu: streams %zu", i, found.tuning.stream_bytes);
        EXPECT(found.tuning.prefetch_bytes == cases[i].prefetch, "case %zu: prefetches %zu", i,
               found.tuning.prefetch_bytes);
        EXPECT(found.plain_block_bytes == 32 * cases[i].prefetch, "case %zu: plain blocks of %zu", i,
               found.plain_block_bytes);
        EXPECT(found.tuning.compute_bytes == 5 && found.compute_bytes_wide == 6 && found.narrow_moves &&
                   found.tuning.block_bytes == 8 * KIB && found.compute_bytes_unfused == SIZE_MAX,
               "case %zu: other thresholds", i);
    }
}
END_TEST

/* Signatures as these CPUs report them. */
START_TEST(kinds_of_cpus_are_known_by_their_facts)
{
    static const struct {
        struct inlay_cpu_facts facts;
        const char *kind; /* null: none that was measured */
    } cases[] = {
        {{.amd = true, .signature = 0xa10f11, .avx512f = true}, "AMD Zen 4"},
        {{.amd = true, .signature = 0xa10f11}, NULL}, /* its AVX-512 is hidden */
        {{.amd = true, .signature = 0xa00f11}, NULL}, /* Zen 3 */
        {{.amd = true, .signature = 0x830f10}, NULL}, /* Zen 2 */
        {{.amd = true, .signature = 0xb00f21, .avx512f = true, .avx512vp2intersect = true}, "AMD Zen 5"},
        {{.amd = true, .signature = 0xb00f21, .avx512f = true}, NULL},
        {{.intel = true, .signature = 0x606a6, .avx512f = true}, "Intel (Ice Lake, Sapphire Rapids)"},
        {{.intel = true, .signature = 0x606c1, .avx512f = true}, "Intel (Ice Lake, Sapphire Rapids)"},
        {{.intel = true, .signature = 0x806f8, .avx512f = true}, "Intel (Ice Lake, Sapphire Rapids)"},
        {{.intel = true, .signature = 0x50657, .avx512f = true}, NULL},                             /* Cascade Lake */
        {{.intel = true, .signature = 0xc06f2, .avx512f = true}, NULL},                             /* Emerald Rapids */
        {{.intel = true, .signature = 0x806c1, .avx512f = true, .avx512vp2intersect = true}, NULL}, /* Tiger Lake */
        {{.signature = 0x806f8, .avx512f = true}, NULL},
        {{.signature = 0}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *kind = inlay_cpu_of(&cases[i].facts)->kind;
        EXPECT(kind == cases[i].kind || (kind != NULL && cases[i].kind != NULL && strcmp(kind, cases[i].kind) == 0),
               "%#x is %s", (unsigned)cases[i].facts.signature, kind != NULL ? kind : "unknown");
    }
}
END_TEST

/* This CPU, asked in another way. */
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
    };
    EXPECT(inlay_cpu() == inlay_cpu_of(&facts), "%.12s %#x is taken for another", (const char *)vendor, eax);
#endif
}
END_TEST

START_TEST(the_source_is_told)
{
    start_over(NULL);
    const inlay_tuning_source source = inlay_tuning_default_source();
    const struct inlay_caches caches = inlay_caches();
    EXPECT(source.size == sizeof source && source.profile == 0 && source.profile_status == INLAY_OK, "the profile");
    EXPECT(source.measured == inlay_cpu()->kind, "measured on %s", source.measured);
    EXPECT(source.l1_bytes == caches.bytes[0] && source.l2_bytes == caches.bytes[1] &&
               source.l3_bytes == caches.bytes[2],
           "the caches");
    ck_assert_ptr_nonnull(memchr(source.cpu, '\0', sizeof source.cpu));
    for (const char *c = source.cpu; *c != '\0'; c++)
        EXPECT(*c >= ' ' && *c <= '~', "the CPU is '%s'", source.cpu);
    EXPECT(source.cpu[0] != ' ', "the CPU is '%s'", source.cpu);
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(
        argc, argv, "tuning", make_folder, remove_folder, each_key_sets_its_field, what_a_profile_may_look_like,
        what_is_no_profile, values_end_at_the_largest_size, files_that_are_too_large, null_characters, what_is_no_file,
        the_profile_replaces_the_default, layers_follow_the_profile, bad_profiles_are_ignored, the_profile_is_read_once,
        many_threads_may_ask_first, registers_describe_caches, files_describe_caches, thresholds_follow_the_reported_l2,
        kinds_of_cpus_are_known_by_their_facts, the_facts_are_those_of_this_cpu, the_source_is_told);
}
