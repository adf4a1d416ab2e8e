/* SPDX-License-Identifier: MIT */
/*
 * The tables that command lines are described by: one entry for each option says how it is spelled, what it takes,
 * where the value goes and what --help prints.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "text/names.h"

enum option_kind {
    OPTION_FLAG,    /**< takes no value; a bool becomes true */
    OPTION_TEXT,    /**< a const char *, as it was given */
    OPTION_INTEGER, /**< an int64_t in [least, most] */
    OPTION_REAL,    /**< a double in [least, most] */
    OPTION_SCALE,   /**< a struct scale: none, sqrt or a float32 */
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
    bool needed;         /**< these cannot do without it */
};

/** Tables have at most this many options. */
enum { OPTIONS_MOST = 40 };

struct command_line {
    const char *usage; /**< the first lines of help */
    const struct option_rule *rules;
    const char **operand;     /**< where the one argument that is no option goes, null before; null: there is none */
    bool given[OPTIONS_MOST]; /**< whether the option of a rule was given */
};
