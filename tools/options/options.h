/* SPDX-License-Identifier: MIT */
/*
 * Command lines described by the tables of rules.h: parsing, error messages and help.
 */
#pragma once

#include <stdbool.h>

#include "options/rules.h"

/** Parses argv, where argv[0] is the subcommand's name, into the struct `options`. Returns DONE, or MISUSED with a
    message. Returns HELPED for -h and --help, which every table accepts, and for requests of shells (completion.h). */
int options_parse(struct command_line *line, int argc, char **argv, void *options);

/** Returns true if the option `name` was given. */
bool option_given(const struct command_line *line, const char *name);

/** A reason to reject options. A list ends with an entry without options. */
struct refusal {
    const char *options[9]; /**< null-terminated */
    const char *with;       /**< the option that they conflict with, or the result of when() */
    const char *why;        /**< the message; a %s, if any, is the option's name */
};

/** Returns a value for `with` that rejects the options if the condition holds. */
static inline const char *when(bool holds)
{
    return holds ? "" : NULL;
}

/** Returns MISUSED, with the reason as its message, for the first refusal that applies. */
int options_refuse(const struct command_line *line, const struct refusal *refusals);
