/* SPDX-License-Identifier: MIT */
/*
 * `inlay info`: what this build has, what this machine runs of it, and what a layer does where its caller leaves it the
 * choice. INLAY_SLEEF_VERSION comes from the build and is
 * not defined where no ISA was built that needs SLEEF.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inlay/inlay.h>

#include "command.h"
#include "message.h"
#include "number.h"
#include "options.h"
#include "plot.h"

#ifndef INLAY_SLEEF_VERSION
#define INLAY_SLEEF_VERSION "none"
#endif

static const char help[] = "Usage: inlay info [--dim D]\n"
                           "\n"
                           "Prints the version, the ISAs compiled in (best first) with what runs here and\n"
                           "what is in use, the version of SLEEF, what draws pictures, and what a layer\n"
                           "with sinusoids chooses by default: inlay_layer_spec_default().\n"
                           "\n"
                           "  --dim D              columns of that layer (default: 512)\n"
                           "  --help               print this\n"
                           "\n"
                           "The environment variable INLAY_ISA chooses the ISA; a name that does not run\n"
                           "here is ignored.\n";

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

/* An allocator that has no memory, and tells how much was asked for. */
static void *refuse(void *ctx, size_t bytes)
{
    *(size_t *)ctx = bytes;
    return NULL;
}

static void release_nothing(void *ctx, void *memory)
{
    (void)ctx;
    (void)memory;
}

static size_t bytes_asked_for(const inlay_layer_spec *spec)
{
    size_t bytes = 0;
    inlay_allocator allocator = {&bytes, refuse, release_nothing};
    inlay_layer *layer;
    inlay_layer_create(spec, &allocator, &layer);
    return bytes;
}

static int print_policy(size_t dim)
{
    inlay_sinusoid_spec formula = inlay_sinusoid_spec_default(dim);
    inlay_sinusoid *sinusoid;
    inlay_status status = inlay_sinusoid_create(&formula, NULL, &sinusoid);
    if (status != INLAY_OK)
        return failed("%s", inlay_status_string(status));
    inlay_table tokens = inlay_table_f32(NULL, 0, dim);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.sinusoid = sinusoid;
    size_t all = bytes_asked_for(&spec);
    spec.cached_positions = 0;
    size_t held = all - bytes_asked_for(&spec);
    printf("layer     of dim %zu, by default:\n", dim);
    printf("  cached_positions  %zu, %zu bytes\n", held / (dim * sizeof(float)), held);
    const inlay_tuning tuning = inlay_tuning_default();
    printf("  l2_bytes          %zu\n", tuning.l2_bytes);
    printf("  stream_bytes      %zu\n", tuning.stream_bytes);
    printf("  compute_bytes     %zu\n", tuning.compute_bytes);
    printf("  block_bytes       %zu\n", tuning.block_bytes);
    printf("  prefetch_bytes    %zu\n", tuning.prefetch_bytes);
    inlay_sinusoid_destroy(sinusoid);
    return DONE;
}

int command_info(int argc, char **argv)
{
    enum { OPTION_DIM = OPTION_FIRST, DIM_MOST = 1 << 20 };
    static const struct option long_options[] = {
        {"dim", required_argument, NULL, OPTION_DIM}, {"help", no_argument, NULL, OPTION_HELP}, {NULL, 0, NULL, 0}};
    int64_t dim = 512;
    options_start();
    int option;
    while ((option = options_next(argc, argv, long_options)) != OPTION_END) {
        if (option == OPTION_BAD)
            return MISUSED;
        if (option == OPTION_HELP) {
            fputs(help, stdout);
            return DONE;
        }
        int outcome = option_int64("--dim", optarg, 1, DIM_MOST, &dim);
        if (outcome != DONE)
            return outcome;
    }
    printf("version   %s\n", inlay_version());
    print_isas();
    printf("sleef     %s\n", INLAY_SLEEF_VERSION);
    printf("pictures  %s\n", plot_library() != NULL ? plot_library() : "none");
    return print_policy((size_t)dim);
}
