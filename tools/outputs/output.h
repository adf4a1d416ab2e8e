/* SPDX-License-Identifier: MIT */
/*
 * Output files: written beside their target and renamed onto it, so that a failed or interrupted run leaves the old
 * file. A file that exists is replaced only with --force, and one that inputs/opened.h knows never. "-" and what is no
 * regular file (a pipe, a device) are written directly; a terminal is refused.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "formats/npy.h"
#include "outputs/temporary.h"

/** An output in progress; all zero where there is none. */
struct output {
    FILE *stream;
    const char *option;                      /**< that names it */
    char path[PATH_BYTES];                   /**< as the user wrote it */
    char target[PATH_BYTES];                 /**< where it goes in the end; empty where it is written directly */
    char temporary[TEMPORARY_BYTES];         /**< where it is until then */
    struct stat made;                        /**< the file of this run, which has the temporary name first */
    enum { NOWHERE, NEW, EXCHANGED } placed; /**< whether it has taken its place, and how */
};

/** The outputs of a run, all zero before. All take their places together, or none does: at the end of the process, even
    by exit(), nothing is left of what is not committed. So they must live as long. */
struct outputs {
    union {
        struct {
            struct output scales; /**< beside `out`, as is the next: they are there before it */
            struct output zeros;
            struct output out;
            struct output plot;
        };
        struct output all[TEMPORARIES_MOST]; /**< in the order in which they take their places */
    };
    bool force; /**< files that exist are replaced */
};

/** What --help says of --force. */
extern const char output_force_help[];

/** Opens the files that --out and --plot name; null paths are no outputs. All inputs have been noted before. Refuses
    files that exist without --force, and two that are the same. */
int outputs_open(struct outputs *outputs, const char *out, const char *plot);

/** Opens one more file, such as `scales`, which `option` names or implies. */
int outputs_add(struct outputs *outputs, struct output *output, const char *option, const char *path);

/** Puts the complete files in their places. Where that fails, there is a message, and the old files are still there. */
int outputs_commit(struct outputs *outputs);

/** Returns FAILED, with a message, if something written before did not arrive. */
int output_check(struct output *output);

/** Writes bytes behind those before. */
int output_write(struct output *output, const void *bytes, size_t n);

/** Goes to a place in a file, for the next bytes that are written. A pipe has no places, which is an error. */
int output_seek(struct output *output, uint64_t offset);

/** Writes the header of a .npy file with elements [shape...]; the elements follow. */
int output_npy_header(struct output *output, enum npy_element element, const size_t *shape, size_t rank);
