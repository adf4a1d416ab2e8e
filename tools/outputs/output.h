/* SPDX-License-Identifier: MIT */
/*
 * Output files. Each is written to a temporary file next to its target. The complete temporary file is renamed to the
 * target. So a failed or interrupted run keeps the old file. An existing file is replaced only with --force. An input
 * (inputs/opened.h) is never replaced. "-", pipes and devices are written directly; a terminal is refused.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "formats/npy.h"

/** Sizes of buffers for the longest path of a system call, and for the name of its temporary file. */
enum { PATH_BYTES = 4096, TEMPORARY_BYTES = PATH_BYTES + 40 };

/** An output in progress; all zero if there is none. */
struct output {
    FILE *stream;
    const char *option;              /**< the option that names the output, for messages */
    char path[PATH_BYTES];           /**< as the user wrote it */
    char target[PATH_BYTES];         /**< its real path; empty if it is written directly */
    char temporary[TEMPORARY_BYTES]; /**< path of the temporary file */
    bool unfinished;                 /**< the temporary file exists and must be removed on failure */
};

enum { OUTPUTS = 4 };

/** The outputs of a run, all zero at first. They must exist until the process ends: at exit() and on signals, temporary
    files that were not committed are removed. */
struct outputs {
    union {
        struct {
            struct output scales; /**< scales and zeros are files next to `out`, moved before it */
            struct output zeros;
            struct output out;
            struct output plot;
        };
        struct output all[OUTPUTS]; /**< in the order of the moves */
    };
    bool force; /**< replace existing files */
};

/** The help text of --force. */
extern const char output_force_help[];

/** Opens the files of --out and --plot; null paths are skipped. All inputs must be noted before (inputs/opened.h).
    Rejects existing files unless --force is given, and rejects two paths to the same file. */
int outputs_open(struct outputs *outputs, const char *out, const char *plot);

/** Opens one more file, such as `scales`. Messages name it by `option`. */
int outputs_add(struct outputs *outputs, struct output *output, const char *option, const char *path);

/** Moves all files to their targets, after checking that all are complete and may replace their targets. If a move
    fails, the later ones are skipped. */
int outputs_commit(struct outputs *outputs);

/** Returns FAILED, with a message, if an earlier write failed. */
int output_check(struct output *output);

/** Appends bytes. */
int output_write(struct output *output, const void *bytes, size_t n);

/** Sets the file position of the next write. Fails on a pipe. */
int output_seek(struct output *output, uint64_t offset);

/** Writes the header of a .npy file with elements [shape...]; the elements follow. */
int output_npy_header(struct output *output, enum npy_element element, const size_t *shape, size_t rank);
