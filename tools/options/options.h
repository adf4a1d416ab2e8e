/* SPDX-License-Identifier: MIT */
/*
 * Command lines by the tables of rules.h, from which parsing, error messages and help all follow.
 */
#pragma once

#include <stdbool.h>

#include "options/rules.h"

/** Parses argv, whose first entry is the subcommand's name, into the struct `options`. Returns DONE, or MISUSED with a
    message. -h and --help are understood in every table, and what shells ask (completion.h): HELPED. */
int options_parse(struct command_line *line, int argc, char **argv, void *options);

/** Returns whether the option `name` was given. */
bool option_given(const struct command_line *line, const char *name);

/** A reason to refuse options. One of no options ends a list. */
struct refusal {
    const char *options[9]; /**< with a null behind the last */
    const char *beside;     /**< the option beside which they are refused, or what when() returns */
    const char *why;        /**< the message, with a %s where the option's name is to stand, if anywhere */
};

/** Returns the `beside` of options that are refused when a condition holds. */
static inline const char *when(bool holds)
{
    return holds ? "" : NULL;
}

/** Returns MISUSED, with the reason as message, for the first refusal that applies. */
int options_refuse(const struct command_line *line, const struct refusal *refusals);
