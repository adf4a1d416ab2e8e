/* SPDX-License-Identifier: MIT */
/*
 * getopt_long with messages of our own: one line, with the name of the option and the mend. For the files that parse
 * the options of a subcommand; argv[0] is the subcommand's name.
 */
#ifndef INLAY_TOOL_OPTIONS_H
#define INLAY_TOOL_OPTIONS_H

#include <getopt.h>

/** Values of long options begin here, above every short one. */
enum { OPTION_FIRST = 256 };

enum {
    OPTION_END = -1, /**< no options left, and no stray argument either */
    OPTION_BAD = -2, /**< a message has been printed */
    OPTION_HELP = 'h'
};

/** Begins anew. */
void options_start(void);

/** The value of the next option, whose argument is in optarg, or one of the three above. */
int options_next(int argc, char **argv, const struct option *options);

#endif
