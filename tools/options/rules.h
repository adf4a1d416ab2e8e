/* SPDX-License-Identifier: MIT */
/*
 * The tables that describe command lines. Each entry is an option: its spelling, its value, the destination and its
 * help.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "text/names.h"

enum option_kind {
    OPTION_FLAG,    /**< takes no value; a bool becomes true */
    OPTION_TEXT,    /**< a const char *, as given */
    OPTION_INTEGER, /**< an int64_t in [min, max] */
    OPTION_REAL,    /**< a double in [min, max] */
    OPTION_SCALE,   /**< a struct scale: none, sqrt or a float32 */
    OPTION_NAME,    /**< an enum value, given by name; values count up from min */
    OPTION_PARSED   /**< parsed by parse() */
};

struct option_rule {
    const char *name;     /**< without the dashes; null: the table ends here */
    const char *argument; /**< as shown in help; null: the names of an OPTION_NAME, or no argument */
    enum option_kind kind;
    size_t target; /**< offset of the value in the struct filled by options_parse */
    double min;
    double max;
    enum named names; /**< of an OPTION_NAME */
    /** For an OPTION_PARSED: returns an enum outcome. */
    int (*parse)(const struct option_rule *rule, void *options, const char *value);
    const char *help;    /**< without line breaks; if it ends in a colon, the names of an OPTION_NAME follow */
    const char *heading; /**< text printed before the option, or after all options if it is in the last entry; or
                              null */
    unsigned modes;      /**< for the subcommand: bit set of the modes that take the option */
    bool needed;         /**< required in these modes */
};

/** Tables have at most this many options. */
enum { MAX_OPTIONS = 40 };

struct command_line {
    const char *usage; /**< the first lines of help */
    const struct option_rule *rules;
    const char **operand;    /**< where to store the only non-option argument, initially null; null: no such argument is
                                  accepted */
    bool given[MAX_OPTIONS]; /**< true if the option of a rule was given */
};
