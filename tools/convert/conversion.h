/* SPDX-License-Identifier: MIT */
/*
 * The conversion of a table to another element type, for `inlay quantize` and `inlay convert`: some rows at a time, in
 * memory that does not grow with the table, with a report of how far what is read back lies from it.
 */
#ifndef INLAY_TOOL_CONVERT_CONVERSION_H
#define INLAY_TOOL_CONVERT_CONVERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "convert/container.h"
#include "inputs/weights.h"

/** What is converted to what. Set the first six fields; all else is zero before conversion_run(). */
struct conversion {
    struct weights from;
    const char *from_name; /**< of its file, for messages */
    const struct container *container;
    struct new_table to; /**< path, name and type; for grouped types also group */
    bool zeros;          /**< give a grouped type zero points */

    bool copies;                 /* rows keep their bytes */
    struct outputs outputs;      /* the files of the new table */
    struct place places[ARRAYS]; /* in them */
    size_t piece_rows;           /* an even number, so that pieces have whole bytes of zero points */
    int64_t *ids;                /* [piece_rows] */
    float *values;               /* [piece_rows, dim]: what is converted */
    float *back;                 /* [piece_rows, dim]: what is read back */
    char *piece[ARRAYS];         /* [piece_rows] of each new array */
    double largest, squares;     /* of the errors */
};

/** The default of --group. */
enum { DEFAULT_GROUP = 32 };

/** MISUSED, with a message, where --group or --zeros do not suit the type to convert to. */
int conversion_check_group(inlay_element_type type, bool group_given, int64_t group, bool zeros);

/** Converts, puts the files in their places and prints the report, to stderr where the table goes to stdout. */
int conversion_run(struct conversion *conversion);

/** Frees everything, also `from`, and removes what is not complete. */
void conversion_free(struct conversion *conversion);

#endif
