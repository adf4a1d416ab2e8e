/* SPDX-License-Identifier: MIT */
/*
 * Binary output files: written beside their target and renamed onto it, so that a failed or interrupted run leaves
 * the old file. "-" and what is no regular file (a pipe, a device) are written directly; a terminal is refused.
 */
#ifndef INLAY_TOOL_OUTPUT_H
#define INLAY_TOOL_OUTPUT_H

#include <stdio.h>

/** An output under way; all null where there is none. */
struct output {
    FILE *stream;
    const char *path; /**< as the user wrote it */
    char *target;     /**< where it goes at last; null where it is written directly */
    char *temporary;  /**< where it is until then */
};

/** Opens the file that `option` names. At most two outputs are open at once. */
int output_open(struct output *output, const char *option, const char *path);

/** MISUSED, with a message, where two open outputs would end in one place; either may be none. */
int output_distinct(const struct output *out, const struct output *plot);

/** FAILED, with a message, where something written before did not arrive. */
int output_check(struct output *output);

/** Puts the complete file in its place; where that fails, there is a message and the old file is still there. */
int output_commit(struct output *output);

/** Gives an uncommitted output up. Nothing happens where there is none. */
void output_discard(struct output *output);

#endif
