/* SPDX-License-Identifier: MIT */
/*
 * Shell completion. The scripts in completion/ run `inlay --complete WORD...` with the words up to the cursor. The last
 * word may be empty. Each line of the answer is a word, a tab and the word's meaning; or PREFIX*END, to complete paths
 * after PREFIX: directories, and files with names that end in END.
 */
#pragma once

#include <stddef.h>

#include "options/rules.h"

/** The word at the cursor. */
struct cursor {
    const char *word;
    size_t kept; /**< number of leading bytes of the word to keep, e.g. --NAME= */
};

/** Prints a line for a word of `size` bytes if the word starts with the typed text. */
void completion_offer(const struct cursor *cursor, const char *word, size_t size, const char *meaning);

/** Prints all completions for the last word of a subcommand's command line. argv[2] is its first word. */
void completion_print(const struct command_line *line, int argc, char **argv);
