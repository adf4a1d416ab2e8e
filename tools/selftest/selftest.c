/* SPDX-License-Identifier: MIT */
/*
 * `inlay selftest`: the promises of the library on the user's machine. The hashes of all checks on each ISA must be
 * those of scalar, and those that the sources keep. One line of the result is for reports.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include <inlay/inlay.h>

#include "options/command.h"
#include "options/options.h"
#include "selftest/process.h"
#include "text/message.h"
#include "text/progress.h"

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

/* ---- The report ------------------------------------------------------------------------------------------------- */

enum { DIGEST_DIGITS = 16, DIGESTS_IN_LINE = 6 };

/* The first digits of the SHA-256 of each check, in their order: from `inlay selftest --digests`. */
static const char *const kept[] = {
#include "selftest/digests.inc"
    NULL, /* it is generated, and empty at first */
};

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

/* Compares a result with scalar's and with what is kept. */
static void compare(struct tally *tally, const char *isa, size_t check, const struct result *found,
                    const struct result *scalar)
{
    const char *name = check_name(check);
    char digits[DIGEST_DIGITS + 1];
    sha256_digits(found->digest, DIGEST_DIGITS, digits);
    if (found->fault[0] != '\0')
        fail(tally, isa, name, found->fault);
    else if (scalar != NULL && memcmp(found->digest, scalar->digest, sizeof found->digest) != 0)
        fail(tally, isa, name, first_difference(isa, check));
    else if (check + 1 >= sizeof kept / sizeof *kept)
        fail(tally, isa, name, "the command keeps no digest of it");
    else if (strcmp(digits, kept[check]) != 0)
        fail(tally, isa, name, "the result is not that of other machines");
}

/* Runs and compares all checks on an ISA and returns their results. scalar's are the others' measure; its own is null.
 */
static const struct result *test_isa(struct tally *tally, const char *isa, const struct result *scalar, size_t checks)
{
    char end[120];
    size_t n;
    tally->failed_here = 0;
    const struct result *results = collect(isa, checks, &n, end, sizeof end);
    for (size_t i = 0; i < n; i++)
        compare(tally, isa, i, &results[i], scalar != NULL ? &scalar[i] : NULL);
    if (end[0] != '\0' || n < checks)
        fail(tally, isa, n < checks ? check_name(n) : "the end", end[0] != '\0' ? end : "the child ends early");
    tally->checks += checks;
    if (!tally->quiet)
        printf("%-9s %zu of %zu checks passed\n", isa, n - (tally->failed_here < n ? tally->failed_here : n), checks);
    return results;
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

/* Prints the digests of each family from a new line on. */
static int print_digests(size_t checks)
{
    char end[120], digits[DIGEST_DIGITS + 1], family[CHECK_NAME_BYTES] = "";
    size_t n, in_line = 0;
    const struct result *results = collect("scalar", checks, &n, end, sizeof end);
    if (n < checks)
        return failed("%s: %s", check_name(n), end);
    for (size_t i = 0; i < checks; i++) {
        const char *name = check_name(i);
        const size_t size = strcspn(name, ":");
        if (strncmp(family, name, size) != 0) {
            snprintf(family, sizeof family, "%.*s", (int)size, name);
            printf("%s/* %s */", i > 0 ? "\n" : "", family);
            in_line = 0;
        }
        sha256_digits(results[i].digest, DIGEST_DIGITS, digits);
        printf("%s\"%s\",", in_line++ % DIGESTS_IN_LINE == 0 ? "\n" : " ", digits);
        if (results[i].fault[0] != '\0')
            return failed("%s: %s", name, results[i].fault);
    }
    putchar('\n');
    return DONE;
}

static int run(const struct selftest_options *options, size_t checks)
{
    if (options->digests)
        return print_digests(checks);
    struct tally tally = {.quiet = options->quiet};
    const double begin = seconds_now();
    int runs;
    const char *name;
    const struct result *scalar = test_isa(&tally, "scalar", NULL, checks);
    for (size_t i = 0; (name = inlay_isa_at(i, &runs)) != NULL; i++) {
        if (runs && strcmp(name, "scalar") != 0)
            test_isa(&tally, name, scalar, checks);
        else if (!runs && !tally.quiet)
            printf("%-9s does not run here\n", name);
    }
    tally.checks++;
    if (!chooses_best())
        fail(&tally, "dispatch", "the ISA in use", "the best one that runs here is not chosen");
    print_line(&tally, seconds_now() - begin);
    return tally.failed == 0 ? DONE : FAILED;
}

int command_selftest(int argc, char **argv)
{
    struct selftest_options options = {.quiet = false};
    struct command_line line = {.usage = usage, .rules = rules};
    TRY(options_parse(&line, argc, argv, &options));
    return run(&options, count_checks());
}
