/* SPDX-License-Identifier: MIT */
/*
 * The subcommands, for main.c. Each gets its own name as argv[0] and returns an enum outcome, which is the exit code;
 * what it prints to stdout, main.c flushes and checks.
 */
#pragma once

/** `inlay embed`: text or ids to vectors. */
int command_embed(int argc, char **argv);

/** `inlay table`: a table of sinusoids. */
int command_table(int argc, char **argv);

/** `inlay ngram`: row ids or rows of hashed n-grams. */
int command_ngram(int argc, char **argv);

/** `inlay convert`: a table of a file as another element type, in a new file. */
int command_convert(int argc, char **argv);

/** `inlay model`: what a model file holds. */
int command_model(int argc, char **argv);

/** `inlay info`: what this build and this machine can do. */
int command_info(int argc, char **argv);

/** `inlay selftest`: the promises of the library on this machine. */
int command_selftest(int argc, char **argv);
