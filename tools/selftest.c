/* SPDX-License-Identifier: MIT */
/*
 * `inlay selftest`: the promises of the library on the user's machine. A child process for each ISA, since a process
 * has one ISA for its life, runs all checks under every condition and sends their hashes through a pipe. They must be
 * those of scalar, and those that the sources keep. One line of the result is for reports.
 */
#include "selftest.h"

#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "command.h"
#include "message.h"
#include "options.h"

static const char usage[] = "Usage: inlay selftest [--quiet]\n"
                            "\n"
                            "Checks the promises of the library on this machine: the results of every ISA\n"
                            "that runs here have the bits that scalar and all other machines compute, for\n"
                            "calls cut into parts, at odd addresses and in other rounding modes too; golden\n"
                            "values of other programs; and errors that write nothing. Prints what passed on\n"
                            "each ISA, then one line to paste into a report.\n"
                            "\n";

struct selftest_options {
    bool quiet, digests;
};

static const struct option_rule rules[] = {
    {"quiet", NULL, OPTION_FLAG, offsetof(struct selftest_options, quiet), .help = "print that line only"},
    {"digests", NULL, OPTION_FLAG, offsetof(struct selftest_options, digests),
     .help = "print the digests of scalar, as the sources of the command keep them, and compare nothing"},
    {.name = NULL,
     .heading = "\n"
                "INLAY_ISA in the environment changes no check and is named in the line. Exit\n"
                "codes: 0 all checks passed, 1 some failed, 2 wrong usage.\n"},
};

/* ---- The checks ------------------------------------------------------------------------------------------------- */

/* Checks of one kind. `item` returns the name of each; null past the last one. */
static const struct family {
    const char *name;
    void (*run)(struct trial *trial, size_t item);
    const char *(*item)(size_t item);
    bool once; /* whether one condition must do, because each takes long */
} families[] = {
    {"golden", golden_run, golden_item, false},       {"gather", gather_run, element_item, false},
    {"quantize", quantize_run, element_item, false},  {"layer", layer_run, layer_item, false},
    {"backward", backward_run, backward_item, false}, {"plain", plain_run, plain_item, false},
    {"recipe", positions_run, positions_item, false}, {"sinusoids", sinusoid_run, sinusoid_item, true},
    {"rotary", rotary_run, rotary_item, false},       {"random", random_run, random_item, false},
    {"n-grams", ngram_run, ngram_item, false},        {"error", error_run, error_item, false},
};

enum { DIGEST_DIGITS = 16, SECONDS_MOST = 300 };

/* The first digits of the SHA-256 of each check, from `inlay selftest --digests`. */
static const struct kept_digest {
    const char *name, *digest;
} kept[] = {
#include "selftest_digests.inc"
    {NULL, NULL}, /* it is generated, and empty at first */
};

/* Returns the family of a check and its number there; null past the last check. */
static const struct family *family_of(size_t check, size_t *item)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        for (*item = 0; families[i].item(*item) != NULL; ++*item)
            if (check-- == 0)
                return &families[i];
    return NULL;
}

static const char *check_name(size_t check)
{
    static char name[CHECK_NAME_BYTES];
    size_t item;
    const struct family *family = family_of(check, &item);
    snprintf(name, sizeof name, "%s: %s", family->name, family->item(item));
    return name;
}

static size_t count_checks(void)
{
    size_t n = 0, item;
    while (family_of(n, &item) != NULL)
        n++;
    return n;
}

/* ---- Conditions ------------------------------------------------------------------------------------------------- */

#ifndef FE_UPWARD /* machines without rounding modes */
#define FE_UPWARD FE_TONEAREST
#define FE_DOWNWARD FE_TONEAREST
#define FE_TOWARDZERO FE_TONEAREST
#endif

/* What must change no result. */
static const struct condition {
    const char *name;
    int rounding;
    bool flush, parts;
    inlay_stores stores;
    size_t shift;
} conditions[] = {
    {"plain calls", FE_TONEAREST, false, false, INLAY_STORES_AUTOMATIC, 0},
    {"parts, odd addresses and rounding upward", FE_UPWARD, false, true, INLAY_STORES_STREAMED, 1},
    {"parts, odd addresses, rounding downward and flush-to-zero", FE_DOWNWARD, true, true, INLAY_STORES_CACHED, 3},
    {"streamed stores, rounding toward zero and flush-to-zero", FE_TOWARDZERO, true, false, INLAY_STORES_STREAMED, 4},
};

enum { CONDITIONS = sizeof conditions / sizeof *conditions };

/* Sets flush-to-zero of results and operands, where it is known how. */
static void set_flush(bool flush)
{
#if defined(__x86_64__)
    const unsigned mxcsr = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(flush ? mxcsr | 0x8040 : mxcsr & ~0x8040u);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr = flush ? fpcr | UINT64_C(1) << 24 : fpcr & ~(UINT64_C(1) << 24);
    __asm__ volatile("msr fpcr, %0" ::"r"(fpcr));
#else
    (void)flush;
#endif
}

/* The executor of calls in parts: every second part from the last one on, then the others. */
static void run_out_of_order(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    (void)ctx;
    for (size_t parity = 0; parity < 2; parity++)
        for (size_t i = count; i-- > 0;)
            if (i % 2 == parity)
                task(arg, i);
}

static const inlay_executor out_of_order = {NULL, run_out_of_order, 3};

/* Runs a check under a condition; `copy` gets the bytes that it hashes. */
static void run_check(size_t check, const struct condition *condition, FILE *copy, struct trial *trial,
                      unsigned char digest[SHA256_BYTES])
{
    size_t item;
    const struct family *family = family_of(check, &item);
    *trial = (struct trial){.copy = copy,
                            .executor = condition->parts ? &out_of_order : NULL,
                            .stores = condition->stores,
                            .shift = condition->shift};
    sha256_begin(&trial->hash);
    fesetround(condition->rounding);
    set_flush(condition->flush);
    family->run(trial, item);
    set_flush(false);
    fesetround(FE_TONEAREST);
    sha256_end(&trial->hash, digest);
    for (size_t i = 0; i < trial->array_count; i++)
        free(trial->arrays[i]);
}

/* ---- The child processes ---------------------------------------------------------------------------------------- */

/* What a check came to on an ISA. */
struct result {
    unsigned char digest[SHA256_BYTES];
    char fault[TRIAL_FAULT_BYTES + 80];
};

/* Runs a check under all conditions; those after the first must change nothing. */
static void judge(size_t check, struct result *result)
{
    static struct trial trial;
    size_t item;
    const size_t last = family_of(check, &item)->once ? 1 : CONDITIONS;
    memset(result, 0, sizeof *result);
    for (size_t i = 0; i < last && result->fault[0] == '\0'; i++) {
        unsigned char digest[SHA256_BYTES];
        run_check(check, &conditions[i], NULL, &trial, digest);
        if (i == 0)
            memcpy(result->digest, digest, sizeof digest);
        const bool same = memcmp(result->digest, digest, sizeof digest) == 0;
        if (trial.fault[0] != '\0' && i == 0)
            snprintf(result->fault, sizeof result->fault, "%s", trial.fault);
        else if (trial.fault[0] != '\0')
            snprintf(result->fault, sizeof result->fault, "%s (%s)", trial.fault, conditions[i].name);
        else if (!same)
            snprintf(result->fault, sizeof result->fault, "%s change the result", conditions[i].name);
    }
}

/* Makes an ISA that of this process, which has not used the library before; null: the best one. */
static bool use_isa(const char *isa)
{
    if (isa != NULL)
        setenv("INLAY_ISA", isa, 1);
    else
        unsetenv("INLAY_ISA");
    unsetenv("INLAY_TUNING");
    for (size_t i = 0; isa == NULL; i++) {
        int runs;
        const char *name = inlay_isa_at(i, &runs);
        isa = runs ? name : NULL;
    }
    return strcmp(inlay_isa(), isa) == 0;
}

static bool write_all(int file, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        const ssize_t n = write(file, at, size);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool read_all(int file, void *data, size_t size)
{
    char *at = data;
    while (size > 0) {
        const ssize_t n = read(file, at, size);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* The child of an ISA: sends the result of each check. It ends by _exit, so that nothing is flushed twice. */
static void send_results(const char *isa, int file)
{
    if (!use_isa(isa))
        _exit(MISUSED);
    const size_t n = count_checks();
    for (size_t check = 0; check < n; check++) {
        struct result result;
        alarm(SECONDS_MOST);
        judge(check, &result);
        if (!write_all(file, &result, sizeof result))
            _exit(FAILED);
    }
    _exit(DONE);
}

/* Waits for a child and says how it ended: an empty text if it did all it had to. */
static void await(pid_t child, char *text, size_t size)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    text[0] = '\0';
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        append(text, size, "takes longer than %d s", SECONDS_MOST);
    else if (WIFSIGNALED(status))
        append(text, size, "dies of signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == MISUSED)
        append(text, size, "the library does not choose this ISA");
    else if (WEXITSTATUS(status) != DONE)
        append(text, size, "ends with exit status %d", WEXITSTATUS(status));
}

/* Runs all checks on an ISA in a child. Returns how many results came before it ended; `end` says why. */
static size_t collect(const char *isa, struct result *results, size_t checks, char *end, size_t size)
{
    int files[2];
    end[0] = '\0';
    fflush(stdout);
    const pid_t child = pipe(files) == 0 ? fork() : -1;
    if (child == 0) {
        close(files[0]);
        send_results(isa, files[1]);
    }
    if (child < 0) {
        append(end, size, "no child process: %s", strerror(errno));
        return 0;
    }
    close(files[1]);
    size_t n = 0;
    while (n < checks && read_all(files[0], &results[n], sizeof *results))
        n++;
    close(files[0]);
    await(child, end, size);
    return n;
}

/* Returns a file with the bytes that a plain run of a check gives on an ISA; null if there is none. */
static FILE *copy_of(const char *isa, size_t check)
{
    FILE *copy = tmpfile();
    const pid_t child = copy != NULL ? fork() : -1;
    if (child == 0) {
        static struct trial trial;
        unsigned char digest[SHA256_BYTES];
        if (!use_isa(isa))
            _exit(FAILED);
        alarm(SECONDS_MOST);
        run_check(check, &conditions[0], copy, &trial, digest);
        _exit(fflush(copy) == 0 ? DONE : FAILED);
    }
    char end[80];
    if (child > 0)
        await(child, end, sizeof end);
    if (copy != NULL)
        rewind(copy);
    return copy;
}

/* Returns how an ISA first differs from scalar in a check: by words of 4 bytes of what is hashed. */
static const char *first_difference(const char *isa, size_t check)
{
    static char text[120];
    FILE *found = copy_of(isa, check), *wanted = copy_of("scalar", check);
    uint32_t a = 0, b = 0;
    size_t word = 0;
    while (found != NULL && wanted != NULL && fread(&a, 4, 1, found) == 1 && fread(&b, 4, 1, wanted) == 1 && a == b)
        word++;
    if (a != b)
        snprintf(text, sizeof text, "word %zu is %08x, not scalar's %08x", word, (unsigned)a, (unsigned)b);
    else
        snprintf(text, sizeof text, "the result differs from scalar's after %zu words", word);
    if (found != NULL)
        fclose(found);
    if (wanted != NULL)
        fclose(wanted);
    return text;
}

/* Whether a process chooses the best ISA that runs here, as it does without INLAY_ISA. */
static bool chooses_best(void)
{
    char end[120];
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0)
        _exit(use_isa(NULL) ? DONE : FAILED);
    if (child < 0)
        return false;
    await(child, end, sizeof end);
    return end[0] == '\0';
}

/* ---- The report ------------------------------------------------------------------------------------------------- */

struct tally {
    bool quiet;
    size_t checks, failed, failed_here; /* failed_here: of this ISA */
    char first[TRIAL_FAULT_BYTES + 200];
};

/* Failures of an ISA that are printed. */
enum { SHOWN_MOST = 20 };

/* Counts and prints a failure. */
static void fail(struct tally *tally, const char *isa, const char *check, const char *why)
{
    if (tally->failed++ == 0)
        snprintf(tally->first, sizeof tally->first, "%s: %s: %s", isa, check, why);
    if (tally->failed_here++ < SHOWN_MOST && !tally->quiet)
        printf("%-9s FAILED %s: %s\n", isa, check, why);
    if (tally->failed_here == SHOWN_MOST + 1 && !tally->quiet)
        printf("%-9s ...\n", isa);
}

static void hex_of(const unsigned char digest[SHA256_BYTES], char digits[DIGEST_DIGITS + 1])
{
    digits[0] = '\0';
    for (size_t i = 0; i < DIGEST_DIGITS / 2; i++)
        append(digits, DIGEST_DIGITS + 1, "%02x", digest[i]);
}

/* Compares a result with scalar's and with what is kept. */
static void compare(struct tally *tally, const char *isa, size_t check, const struct result *found,
                    const struct result *scalar)
{
    const char *name = check_name(check);
    char digits[DIGEST_DIGITS + 1];
    hex_of(found->digest, digits);
    if (found->fault[0] != '\0')
        fail(tally, isa, name, found->fault);
    else if (scalar != NULL && memcmp(found->digest, scalar->digest, sizeof found->digest) != 0)
        fail(tally, isa, name, first_difference(isa, check));
    else if (check + 1 >= sizeof kept / sizeof *kept || strcmp(kept[check].name, name) != 0)
        fail(tally, isa, name, "the command keeps no digest of it");
    else if (strcmp(digits, kept[check].digest) != 0)
        fail(tally, isa, name, "the result is not that of other machines");
}

/* Runs and compares all checks on an ISA. scalar's results come first and are the others' measure. */
static void test_isa(struct tally *tally, const char *isa, struct result *results, const struct result *scalar,
                     size_t checks)
{
    char end[120];
    tally->failed_here = 0;
    const size_t n = collect(isa, results, checks, end, sizeof end);
    for (size_t i = 0; i < n; i++)
        compare(tally, isa, i, &results[i], scalar != NULL ? &scalar[i] : NULL);
    if (end[0] != '\0' || n < checks)
        fail(tally, isa, n < checks ? check_name(n) : "the end", end[0] != '\0' ? end : "the child ends early");
    memset(results + n, 0, (checks - n) * sizeof *results);
    tally->checks += checks;
    if (!tally->quiet)
        printf("%-9s %zu of %zu checks passed\n", isa, n - (tally->failed_here < n ? tally->failed_here : n), checks);
}

/* Appends the names of the ISAs that run here, or of those that do not. */
static void append_isas(char *line, size_t size, int wanted)
{
    int runs;
    const char *name;
    const char *before = "";
    for (size_t i = 0; (name = inlay_isa_at(i, &runs)) != NULL; i++)
        if (runs == wanted) {
            append(line, size, "%s%s", before, name);
            before = " ";
        }
}

/* Appends the name of the CPU, or of the board that it is part of. */
static void append_cpu(char *line, size_t size)
{
    const inlay_tuning_source source = inlay_tuning_default_source();
    char model[64] = "";
    FILE *file = source.cpu[0] == '\0' ? fopen("/proc/device-tree/model", "r") : NULL;
    if (file != NULL) {
        model[fread(model, 1, sizeof model - 1, file)] = '\0';
        fclose(file);
    }
    const char *name = source.cpu[0] != '\0' ? source.cpu : model[0] != '\0' ? model : "CPU without a name";
    append(line, size, ", %s", escaped(name, strlen(name)));
}

static void append_system(char *line, size_t size)
{
    struct utsname system;
    if (uname(&system) == 0)
        append(line, size, ", %s %s %s", system.sysname, system.release, system.machine);
#ifdef __GLIBC__
    append(line, size, ", glibc %s", gnu_get_libc_version());
#else
    append(line, size, ", libc without a version");
#endif
#ifdef INLAY_SLEEF_VERSION
    append(line, size, ", SLEEF " INLAY_SLEEF_VERSION);
#endif
#if defined(__clang__)
    append(line, size, ", clang %d.%d", __clang_major__, __clang_minor__);
#else
    append(line, size, ", gcc %d.%d", __GNUC__, __GNUC_MINOR__);
#endif
}

static void print_line(const struct tally *tally, double seconds)
{
    char line[2048] = "", version[32] = "", absent[200] = "";
    const char *isa = getenv("INLAY_ISA");
    append(version, sizeof version, "%d.%d.%d", INLAY_VERSION_MAJOR, INLAY_VERSION_MINOR, INLAY_VERSION_PATCH);
    append(line, sizeof line, "inlay %s selftest: ", version);
    if (tally->failed > 0)
        append(line, sizeof line, "FAILED, %zu of %zu checks (%s), ", tally->failed, tally->checks, tally->first);
    else
        append(line, sizeof line, "passed, %zu checks, ", tally->checks);
    append_isas(line, sizeof line, 1);
    append_isas(absent, sizeof absent, 0);
    if (absent[0] != '\0')
        append(line, sizeof line, " (not run: %s)", absent);
    if (isa != NULL)
        append(line, sizeof line, ", INLAY_ISA=%s", shown(isa));
    if (strcmp(inlay_version(), version) != 0)
        append(line, sizeof line, ", library %s", inlay_version());
    append_cpu(line, sizeof line);
    append_system(line, sizeof line);
    printf("%s, %.1f s\n", line, seconds);
}

static int print_digests(struct result *results, size_t checks)
{
    char end[120], digits[DIGEST_DIGITS + 1];
    const size_t n = collect("scalar", results, checks, end, sizeof end);
    if (n < checks)
        return failed("%s: %s", check_name(n), end);
    for (size_t i = 0; i < checks; i++) {
        hex_of(results[i].digest, digits);
        printf("{\"%s\", \"%s\"},\n", check_name(i), digits);
        if (results[i].fault[0] != '\0')
            return failed("%s: %s", check_name(i), results[i].fault);
    }
    return DONE;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int run(const struct selftest_options *options, struct result *scalar, struct result *others, size_t checks)
{
    if (options->digests)
        return print_digests(scalar, checks);
    struct tally tally = {.quiet = options->quiet};
    const double begin = now();
    int runs;
    const char *name;
    test_isa(&tally, "scalar", scalar, NULL, checks);
    for (size_t i = 0; (name = inlay_isa_at(i, &runs)) != NULL; i++) {
        if (runs && strcmp(name, "scalar") != 0)
            test_isa(&tally, name, others, scalar, checks);
        else if (!runs && !tally.quiet)
            printf("%-9s does not run here\n", name);
    }
    tally.checks++;
    if (!chooses_best())
        fail(&tally, "dispatch", "the ISA in use", "the best one that runs here is not chosen");
    print_line(&tally, now() - begin);
    return tally.failed == 0 ? DONE : FAILED;
}

int command_selftest(int argc, char **argv)
{
    struct selftest_options options = {.quiet = false};
    struct command_line line = {.usage = usage, .rules = rules};
    TRY(options_parse(&line, argc, argv, &options));
    const size_t checks = count_checks();
    struct result *scalar = calloc(checks, sizeof *scalar), *others = calloc(checks, sizeof *others);
    int outcome;
    if (scalar == NULL || others == NULL)
        outcome = out_of_memory("the results", (double)(2 * checks * sizeof *scalar));
    else
        outcome = run(&options, scalar, others, checks);
    free(scalar);
    free(others);
    return outcome;
}
