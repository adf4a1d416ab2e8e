/* SPDX-License-Identifier: MIT */
/*
 * The names that the command line, files and descriptions have for the library's enums.
 */
#ifndef INLAY_TOOL_NAMES_H
#define INLAY_TOOL_NAMES_H

/** The enums that have names. TYPES are those of outputs, and ELEMENT_TYPES all that a table can have, by the names
    that the Python package gives them. */
enum named { LAYOUTS, SPACINGS, ODDS, TYPES, ELEMENT_TYPES, RECIPES, SCALINGS, ROTARY_LAYOUTS, MIXES, COMBINES };

/** Returns the name of a value; null for what is no value of its enum. */
const char *enum_name(enum named named, int value);

#endif
