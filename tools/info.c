/* SPDX-License-Identifier: MIT */
/*
 * `inlay info`: features of this build, the ISAs that run on this machine, and the defaults of a layer. The build
 * defines INLAY_SLEEF_VERSION if it uses SLEEF.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inlay/inlay.h>

#include "options/command.h"
#include "options/options.h"
#include "options/threads.h"
#include "pictures/plot.h"
#include "text/message.h"

#ifndef INLAY_SLEEF_VERSION
#define INLAY_SLEEF_VERSION "none"
#endif

static const char usage[] = "Usage: inlay info\n"
                            "\n"
                            "Prints the version, the ISAs compiled in (best first), which of them run here\n"
                            "and which is in use, the libraries of this build, the CPU and its caches, and\n"
                            "the defaults of a layer.\n"
                            "\n";

static const struct option_rule rules[] = {
    {.name = NULL,
     .heading = "\n"
                "The environment variable INLAY_ISA selects the ISA; it is ignored if that ISA\n"
                "does not run here.\n"},
};

static void print_isas(void)
{
    int runs;
    const char *name;
    for (size_t i = 0; (name = inlay_isa_at(i, &runs)) != NULL; i++) {
        bool in_use = strcmp(name, inlay_isa()) == 0;
        printf("isa       %s: %s\n", name, in_use ? "in use" : runs ? "runs" : "does not run here");
    }
    const char *wanted = getenv("INLAY_ISA");
    if (wanted != NULL && strcmp(wanted, inlay_isa()) != 0)
        printf("INLAY_ISA %s is ignored: it names no ISA that runs here\n", shown(wanted));
}

static void print_cache(const char *level, size_t bytes, const char *end)
{
    if (bytes > 0)
        printf("%s %zu KiB%s", level, bytes / 1024, end);
    else
        printf("%s not reported%s", level, end);
}

/* Prints the CPU and its caches, and the CPU family on which the defaults were measured. */
static void print_source(void)
{
    const inlay_cpu_info source = inlay_cpu_info_detect();
    printf("cpu       %s\n", source.cpu[0] != '\0' ? source.cpu : "unknown");
    printf("caches    ");
    print_cache("L1", source.l1_bytes, ", ");
    print_cache("L2", source.l2_bytes, ", ");
    print_cache("L3", source.l3_bytes, "\n");
    printf("measured  %s\n", source.measured != NULL ? source.measured : "no CPU of this kind");
}

static void print_defaults(void)
{
    const inlay_tuning tuning = inlay_tuning_default();
    puts("layer     defaults:");
    puts("  cached_positions  4096 rows of sinusoids, at most 64 MiB"); /* INLAY_CACHED_POSITIONS_DEFAULT */
    printf("  stream_bytes      %zu: larger outputs use non-temporal stores, until a layer has timed both kinds\n",
           tuning.stream_bytes);
    if (tuning.compute_bytes == SIZE_MAX)
        puts("  compute_bytes     none: cached positions are always read");
    else
        printf("  compute_bytes     %zu: larger position rows of a lone sequence are computed until a layer has "
               "timed both ways\n",
               tuning.compute_bytes);
    printf("  block_bytes       %zu of position rows per block, shared by the sequences of a batch\n",
           tuning.block_bytes);
    puts("  prefetch          the CPU's default, then the fastest in a layer's own calls (inlay embed --explain)");
}

int command_info(int argc, char **argv)
{
    struct command_line line = {.usage = usage, .rules = rules};
    TRY(options_parse(&line, argc, argv, NULL));
    printf("version   %s\n", inlay_version());
    print_isas();
    printf("sleef     %s\n", INLAY_SLEEF_VERSION);
    printf("threads   %s\n", threads_library);
    printf("pictures  %s\n", plot_library() != NULL ? plot_library() : "none");
    print_source();
    print_defaults();
    return DONE;
}
