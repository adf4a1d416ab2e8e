/* SPDX-License-Identifier: MIT */
/*
 * The wrapper of options.h around getopt_long. The leading '+' stops at the first argument that is no option, the ':'
 * tells a missing value from an unknown option.
 */
#include "options.h"

#include <stddef.h>

#include "message.h"

void options_start(void)
{
    /* 0 rather than 1: glibc and musl then forget the state of an earlier scan. */
    optind = 0;
    opterr = 0;
}

int options_next(int argc, char **argv, const struct option *options)
{
    int option = getopt_long(argc, argv, "+:h", options, NULL);
    switch (option) {
    case -1:
        if (optind < argc) {
            misused("stray argument %s: values follow the option they belong to", shown(argv[optind]));
            return OPTION_BAD;
        }
        return OPTION_END;
    case ':':
        misused("%s needs a value", shown(argv[optind - 1]));
        return OPTION_BAD;
    case '?':
        if (optopt >= OPTION_FIRST)
            misused("%s has a value, and the option takes none", shown(argv[optind - 1]));
        else if (optopt != 0)
            misused("unknown option %s: see inlay %s --help", shown((char[]){'-', (char)optopt, '\0'}), argv[0]);
        else
            misused("unknown or ambiguous option %s: see inlay %s --help", shown(argv[optind - 1]), argv[0]);
        return OPTION_BAD;
    default:
        return option;
    }
}
