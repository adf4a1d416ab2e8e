/* SPDX-License-Identifier: MIT */
/*
 * What shells offer at the cursor. The scripts in completion/ ask by `inlay --complete WORD...`, with the words up to
 * the cursor, the last of which may be empty. A line of the answer is a word and, behind a tab, its meaning; or
 * PREFIX*END, which stands for paths, behind PREFIX, of directories and of files whose names have that end.
 */
#pragma once

#include <stddef.h>

#include "options/rules.h"

/** The word at the cursor. */
struct cursor {
    const char *word;
    size_t kept; /**< bytes of the word before the part that is completed: those of --NAME= */
};

/** Prints the line of a word of `size` bytes, if what was typed is a beginning of it. */
void completion_offer(const struct cursor *cursor, const char *word, size_t size, const char *meaning);

/** Prints all lines for the last word of a subcommand's line, whose first one is argv[2]. */
void completion_print(const struct command_line *line, int argc, char **argv);
