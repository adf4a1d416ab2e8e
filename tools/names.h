/* SPDX-License-Identifier: MIT */
/*
 * The names that the command line and descriptions have for the library's enums.
 */
#ifndef INLAY_TOOL_NAMES_H
#define INLAY_TOOL_NAMES_H

/** The enums that have names. */
enum named { LAYOUTS, SPACINGS, ODDS, TYPES, RECIPES, SCALINGS, ROTARY_LAYOUTS };

/** Returns the name of a value; null for what is no value of its enum. */
const char *enum_name(enum named named, int value);

#endif
