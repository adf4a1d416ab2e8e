/* SPDX-License-Identifier: MIT */
/*
 * Names of the library's enum values on the command line, in files and in descriptions.
 */
#pragma once

#include <stddef.h>

/** The enums with names. TYPES are output types, ELEMENT_TYPES all types of a table. */
enum named { LAYOUTS, SPACINGS, ODDS, TYPES, ELEMENT_TYPES, RECIPES, SCALINGS, ROTARY_LAYOUTS, MIXES, COMBINES };

/** Returns the name of a value, or null if it isn't a value of its enum. */
const char *enum_name(enum named named, int value);

/** Returns the name of a value at index 0, then its aliases: synonyms of types, frameworks of recipes. Returns null
    past the last. */
const char *enum_alias(enum named named, int value, size_t index);

/** Returns the value with a name, or -1. Case is ignored, and '_' and '-' are optional and equivalent. Synonyms of
    types are accepted. Names of frameworks are not, since a framework may have several recipes. */
int enum_value(enum named named, const char *text);
