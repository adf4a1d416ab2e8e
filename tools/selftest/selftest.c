/* SPDX-License-Identifier: MIT */
/*
 * `inlay selftest`: checks the library on the user's machine. The hash of each check must equal the one stored in
 * digests.inc, on every ISA of every machine. The last line of the report is meant for bug reports.
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

static const char usage[] = "Usage: inlay selftest\n"
                            "\n"
                            "Checks that every ISA that runs here computes the same bits as other machines,\n"
                            "also in split calls, at odd addresses and in other rounding modes. Prints the\n"
                            "checks passed per ISA, then one line for bug reports.\n"
                            "\n";

static const struct option_rule rules[] = {
    /* The only option is stored at offset 0. */
    {"digests", NULL, OPTION_FLAG, .help = "only print the digests of scalar, as stored in the sources"},
    {.name = NULL,
     .heading = "\n"
                "Exit codes: 0 all checks passed, 1 some failed, 2 wrong usage.\n"},
};

/* ---- The report ------------------------------------------------------------------------------------------------- */

enum { DIGESTS_IN_LINE = 6 };

/* The hash of each check, in order: from `inlay selftest --digests`. */
static const uint64_t kept[] = {
#include "selftest/digests.inc"
    0, /* digests.inc is generated, and empty at first */
};

struct tally {
    size_t checks, failed, failed_here; /* failed_here: on the current ISA */
    char first[TRIAL_FAULT_BYTES + 200];
};

/* Failures printed per ISA. */
enum { MAX_SHOWN = 20 };

/* Counts and prints a failure. */
static void fail(struct tally *tally, const char *isa, const char *check, const char *why)
{
    if (tally->failed++ == 0)
        snprintf(tally->first, sizeof tally->first, "%s: %s: %s", isa, check, why);
    if (tally->failed_here++ < MAX_SHOWN)
        printf("%-9s FAILED %s: %s\n", isa, check, why);
    if (tally->failed_here == MAX_SHOWN + 1)
        printf("%-9s ...\n", isa);
}

/* Compares a result with the stored hash. */
static void compare(struct tally *tally, const char *isa, size_t check, const struct result *found)
{
    if (found->fault[0] != '\0')
        fail(tally, isa, check_name(check), found->fault);
    else if (check + 1 >= sizeof kept / sizeof *kept)
        fail(tally, isa, check_name(check), "no digest is stored for it");
    else if (found->hash != kept[check])
        fail(tally, isa, check_name(check), "the result is not that of other machines");
}

/* Runs all checks on an ISA. */
static void test_isa(struct tally *tally, const char *isa, size_t checks)
{
    char end[END_BYTES];
    struct result result;
    size_t n = 0;
    tally->failed_here = 0;
    const struct child child = child_start(isa, checks);
    for (; fread(&result, sizeof result, 1, child.pipe) == 1; n++)
        compare(tally, isa, n, &result);
    child_end(child, end);
    const size_t passed = n - tally->failed_here;
    if (end[0] != '\0' || n < checks)
        fail(tally, isa, n < checks ? check_name(n) : "the end",
             end[0] != '\0' ? end : "the child process ended early");
    tally->checks += checks;
    printf("%-9s %zu of %zu checks passed\n", isa, passed, checks);
}

/* Appends the names of the ISAs that run here if `wanted` is 1, or of all others if it is 0. */
static void append_isas(char *line, size_t size, int wanted)
{
    int runs;
    const char *name, *before = "";
    for (size_t i = 0; (name = inlay_isa_at(i, &runs)) != NULL; i++)
        if (runs == wanted) {
            append(line, size, "%s%s", before, name);
            before = " ";
        }
}

/* Appends the name of the CPU, or of the board. */
static void append_cpu(char *line, size_t size)
{
    const inlay_cpu_info source = inlay_cpu_info_detect();
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

/* Prints the digests. Each family starts on a new line. */
static int print_digests(size_t checks)
{
    char end[END_BYTES], family[CHECK_NAME_BYTES] = "";
    struct result result = {.fault = ""};
    size_t n = 0, in_line = 0;
    const struct child child = child_start("scalar", checks);
    for (; fread(&result, sizeof result, 1, child.pipe) == 1 && result.fault[0] == '\0'; n++) {
        const char *name = check_name(n);
        const size_t size = strcspn(name, ":");
        if (strncmp(family, name, size) != 0) {
            snprintf(family, sizeof family, "%.*s", (int)size, name);
            printf("%s/* %s */", n > 0 ? "\n" : "", family);
            in_line = 0;
        }
        printf("%s0x%016llx,", in_line++ % DIGESTS_IN_LINE == 0 ? "\n" : " ", (unsigned long long)result.hash);
    }
    child_end(child, end);
    putchar('\n');
    return n == checks ? DONE : failed("%s: %s", check_name(n), result.fault[0] != '\0' ? result.fault : end);
}

int command_selftest(int argc, char **argv)
{
    bool digests = false;
    struct command_line line = {.usage = usage, .rules = rules};
    TRY(options_parse(&line, argc, argv, &digests));
    const size_t checks = count_checks();
    if (digests)
        return print_digests(checks);
    struct tally tally = {.checks = 0};
    const double begin = seconds_now();
    int runs;
    const char *name;
    test_isa(&tally, "scalar", checks);
    for (size_t i = 0; (name = inlay_isa_at(i, &runs)) != NULL; i++) {
        if (runs && strcmp(name, "scalar") != 0)
            test_isa(&tally, name, checks);
        else if (!runs)
            printf("%-9s does not run here\n", name);
    }
    tally.checks++;
    if (!chooses_best())
        fail(&tally, "dispatch", "the ISA in use", "not the best one that runs here");
    print_line(&tally, seconds_now() - begin);
    return tally.failed == 0 ? DONE : FAILED;
}
