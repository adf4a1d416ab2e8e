/* SPDX-License-Identifier: MIT */
/*
 * `inlay table --help`. Included by table.c.
 */
#ifndef INLAY_TOOL_TABLE_HELP_H
#define INLAY_TOOL_TABLE_HELP_H

/** Prints it to stdout. */
void table_help(void);

#endif
