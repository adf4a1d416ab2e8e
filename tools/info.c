/* SPDX-License-Identifier: MIT */
/*
 * `inlay info`: what this build has and what this machine runs of it. INLAY_SLEEF_VERSION comes from the build and is
 * not defined where no ISA was built that needs SLEEF.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inlay/inlay.h>

#include "command.h"
#include "message.h"
#include "options.h"
#include "picture.h"

#ifndef INLAY_SLEEF_VERSION
#define INLAY_SLEEF_VERSION "none"
#endif

static const char help[] = "Usage: inlay info\n"
                           "\n"
                           "Prints the version, the ISAs compiled in (best first) with what runs here and\n"
                           "what is in use, the version of SLEEF, and what draws pictures.\n"
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

int command_info(int argc, char **argv)
{
    static const struct option long_options[] = {{"help", no_argument, NULL, OPTION_HELP}, {NULL, 0, NULL, 0}};
    options_start();
    int option = options_next(argc, argv, long_options);
    if (option == OPTION_BAD)
        return MISUSED;
    if (option == OPTION_HELP) {
        fputs(help, stdout);
        return DONE;
    }
    printf("version   %s\n", inlay_version());
    print_isas();
    printf("sleef     %s\n", INLAY_SLEEF_VERSION);
    printf("pictures  %s\n", picture_writer() != NULL ? picture_writer() : "none");
    return DONE;
}
