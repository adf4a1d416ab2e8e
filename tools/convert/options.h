/* SPDX-License-Identifier: MIT */
/*
 * The options of `inlay convert`, checked without opening a file. This part must not open, read or convert anything.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <inlay/inlay.h>

#include "convert/format.h"

struct convert_options {
    const char *from;
    const char *table;             /**< name of the tensor to convert; null: the only tensor, or a .npy file */
    const char *name;              /**< of the new tensor; null: unchanged */
    inlay_element_type table_type; /**< 0: from the file */
    int64_t dim;                   /**< 0: from the file */
    inlay_element_type type;
    int64_t group; /**< 0: that of the table, or 32 */
    bool zeros;
    const char *out;
    const struct format *format; /**< of `out` */
    bool force;
};

/** Parses argv into *options, or prints help: HELPED. */
int convert_options_parse(int argc, char **argv, struct convert_options *options);
