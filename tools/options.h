/* SPDX-License-Identifier: MIT */
/*
 * Command lines by table: one entry for each option says how it is spelled, what it takes, where the value goes and
 * what --help prints. Parsing, error messages and help all follow from it.
 */
#ifndef INLAY_TOOL_OPTIONS_H
#define INLAY_TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "names.h"

enum option_kind {
    OPTION_FLAG,    /**< takes no value; a bool becomes true */
    OPTION_TEXT,    /**< a const char *, as it was given */
    OPTION_INTEGER, /**< an int64_t in [least, most] */
    OPTION_REAL,    /**< a double in [least, most] */
    OPTION_NAME,    /**< an enum, by the name of its value; the values count up from least */
    OPTION_PARSED   /**< what parse() makes of it */
};

struct option_rule {
    const char *name;     /**< without the dashes; null ends a table */
    const char *argument; /**< as help shows it; null: none, or the names of an OPTION_NAME */
    enum option_kind kind;
    size_t target; /**< offset of the value in the struct that options_parse fills in */
    double least;
    double most;
    enum named names; /**< of an OPTION_NAME */
    /** Of an OPTION_PARSED: returns an enum outcome. */
    int (*parse)(const struct option_rule *rule, void *options, const char *value);
    const char *help;    /**< without line breaks; where it ends in a colon, the names of an OPTION_NAME follow */
    const char *heading; /**< lines of help before the option, in the last entry those at the end; or null */
    unsigned modes;      /**< the subcommand's own: sets of modes that take the option */
    unsigned needed;     /**< and that cannot do without it */
};

/** Tables have at most this many options. */
enum { OPTIONS_MOST = 40 };

struct command_line {
    const char *usage; /**< the first lines of help */
    const struct option_rule *rules;
    const char **operand;     /**< where the one argument that is no option goes, null before; null: there is none */
    bool given[OPTIONS_MOST]; /**< whether the option of a rule was given */
};

/** Parses argv, whose first entry is the subcommand's name, into the struct `options`. Returns DONE, or MISUSED with a
    message. -h and --help are understood in every table, and what shells ask (completion.h): HELPED. */
int options_parse(struct command_line *line, int argc, char **argv, void *options);

/** Returns whether the option `name` was given. */
bool option_given(const struct command_line *line, const char *name);

/** A reason to refuse options where `beside` is given. A null `beside` ends a list. */
struct refusal {
    const char *options[7]; /**< with a null behind the last */
    const char *beside;
    const char *why; /**< the message, with a %s where the option's name is to stand, if anywhere */
};

/** Returns MISUSED, with the reason as message, for the first refusal that applies. */
int options_refuse(const struct command_line *line, const struct refusal *refusals);

#endif
