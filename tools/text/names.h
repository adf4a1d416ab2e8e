/* SPDX-License-Identifier: MIT */
/*
 * The names that the command line, files and descriptions have for the library's enums.
 */
#pragma once

#include <stddef.h>

/** The enums that have names. TYPES are those of outputs, and ELEMENT_TYPES all that a table can have. */
enum named { LAYOUTS, SPACINGS, ODDS, TYPES, ELEMENT_TYPES, RECIPES, SCALINGS, ROTARY_LAYOUTS, MIXES, COMBINES };

/** Returns the name of a value; null for what is no value of its enum. */
const char *enum_name(enum named named, int value);

/** Returns the name of a value at index 0, then what else it is called: synonyms of types, frameworks of recipes. Null
    past the last. */
const char *enum_alias(enum named named, int value, size_t index);

/** Returns the value that a text names, in capitals or not, with '_' for '-' or without; -1 for none. Synonyms of types
    are names too, and frameworks, which may have several recipes, are none. */
int enum_value(enum named named, const char *text);
