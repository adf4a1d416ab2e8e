/* SPDX-License-Identifier: MIT */
/*
 * Output files. Each is written to a temporary file next to its target and renamed when it is complete, so a failed or
 * interrupted run leaves the old file. An existing file is replaced only with --force, and an input (inputs/opened.h)
 * is never replaced. "-", pipes and devices are written directly; a terminal is refused.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "formats/npy.h"

/** Sizes of the longest path for a system call, and of a temporary name made from it. */
enum { PATH_BYTES = 4096, TEMPORARY_BYTES = PATH_BYTES + 40 };

/** An output in progress; all zero if there is none. */
struct output {
    FILE *stream;
    const char *option;              /**< that names it */
    char path[PATH_BYTES];           /**< as the user wrote it */
    char target[PATH_BYTES];         /**< its real path; empty if it is written directly */
    char temporary[TEMPORARY_BYTES]; /**< until the file is complete */
    bool unfinished;                 /**< the temporary file exists */
};

enum { OUTPUTS = 4 };

/** The outputs of a run, all zero at first. They live until the process ends: exit() and signals remove the temporary
    files of those that are not committed. */
struct outputs {
    union {
        struct {
            struct output scales; /**< next to `out`, like zeros; both are moved first */
            struct output zeros;
            struct output out;
            struct output plot;
        };
        struct output all[OUTPUTS]; /**< in the order in which they are moved */
    };
    bool force; /**< replace existing files */
};

/** The help text of --force. */
extern const char output_force_help[];

/** Opens the files of --out and --plot; null paths are skipped. All inputs must be noted before. Rejects existing files
    without --force, and two names of the same file. */
int outputs_open(struct outputs *outputs, const char *out, const char *plot);

/** Opens one more file, such as `scales`. `option` is the option to name in messages. */
int outputs_add(struct outputs *outputs, struct output *output, const char *option, const char *path);

/** Moves all files to their targets, once all are complete and may be replaced. If a move fails, the remaining ones are
    skipped. */
int outputs_commit(struct outputs *outputs);

/** Returns FAILED, with a message, if an earlier write failed. */
int output_check(struct output *output);

/** Appends bytes. */
int output_write(struct output *output, const void *bytes, size_t n);

/** Sets the file position of the next write. Fails on a pipe. */
int output_seek(struct output *output, uint64_t offset);

/** Writes the header of a .npy file with elements [shape...]; the elements follow. */
int output_npy_header(struct output *output, enum npy_element element, const size_t *shape, size_t rank);
