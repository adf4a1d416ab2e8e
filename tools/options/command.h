/* SPDX-License-Identifier: MIT */
/*
 * The subcommands, for main.c. argv[0] is the subcommand's name. Each returns an enum outcome, the exit code. main.c
 * flushes and checks stdout.
 */
#pragma once

/** `inlay embed`: text or ids to vectors. */
int command_embed(int argc, char **argv);

/** `inlay table`: sinusoids or rotary tables. */
int command_table(int argc, char **argv);

/** `inlay ngram`: row ids or rows of hashed n-grams. */
int command_ngram(int argc, char **argv);

/** `inlay convert`: a table in another element type or format, in a new file. */
int command_convert(int argc, char **argv);

/** `inlay model`: the contents of a model file. */
int command_model(int argc, char **argv);

/** `inlay info`: features of this build and machine. */
int command_info(int argc, char **argv);

/** `inlay selftest`: checks of the library on this machine. */
int command_selftest(int argc, char **argv);
