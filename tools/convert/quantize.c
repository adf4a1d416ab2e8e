/* SPDX-License-Identifier: MIT */
/*
 * `inlay quantize`: a table from a .npy file to another element type, in .npy files again. conversion.c does the work.
 */
#include <string.h>

#include <inlay/inlay.h>

#include "convert/conversion.h"
#include "inputs/numbers.h"
#include "options/command.h"
#include "options/options.h"
#include "text/message.h"
#include "text/names.h"

struct quantize_options {
    const char *table;
    inlay_element_type table_type; /* 0: what the file says */
    int64_t dim;
    inlay_element_type type; /* 0: not given */
    int64_t group;
    bool zeros;
    const char *out;
    bool force;
};

static const char usage[] = "Usage: inlay quantize --table IN.npy --type TYPE --out OUT.npy\n"
                            "\n"
                            "Converts a table [rows, dim] to another element type and prints how many bytes\n"
                            "that takes and how far the numbers are from those before.\n"
                            "\n";

#define FIELD(name) offsetof(struct quantize_options, name)

static const struct option_rule rules[] = {
    {"table", "FILE.npy", OPTION_TEXT, FIELD(table), .help = "the table to convert"},
    {"table-type", "TYPE", OPTION_NAME, FIELD(table_type), 1, .names = ELEMENT_TYPES,
     .help = "its element type, one of those of --type, where its elements do not say it"},
    {"dim", "N", OPTION_INTEGER, FIELD(dim), 1, INT32_MAX,
     .help = "its columns, where the bytes of a row do not say them: odd ones of u4_rowwise"},
    {"type", "TYPE", OPTION_NAME, FIELD(type), 1, .names = ELEMENT_TYPES,
     .help = "the new element type, in capitals or not, or a synonym of it such as f16, half, int8 or fp8:"},
    {"group", "32|64|128", OPTION_INTEGER, FIELD(group), 32, 128,
     .help = "columns for each scale of the grouped types (default: 32)"},
    {"zeros", NULL, OPTION_FLAG, FIELD(zeros), .help = "give the grouped types zero points"},
    {"out", "FILE.npy", OPTION_TEXT, FIELD(out),
     .help =
         "where to write the table: numbers [rows, dim], or bytes [rows, bytes of a row] of types that NumPy lacks. "
         "Scales and zero points in arrays of their own go beside it, to FILE.scales.npy and FILE.zeros.npy; inlay "
         "embed --table FILE.npy --table-type TYPE reads them there. - is stdout, for types without such arrays"},
    {"force", NULL, OPTION_FLAG, FIELD(force), .help = output_force_help},
    {.name = NULL},
};

static int parse(int argc, char **argv, struct quantize_options *options)
{
    struct command_line line = {.usage = usage, .rules = rules};
    *options = (struct quantize_options){.group = DEFAULT_GROUP};
    TRY(options_parse(&line, argc, argv, options));
    if (options->table == NULL)
        return misused("--table is missing: the file to convert");
    if (options->type == 0)
        return misused("--type is missing: the element type to convert to");
    if (options->out == NULL)
        return misused("--out is missing: where to write the table");
    if (strcmp(options->out, "-") != 0 && !ends_in_npy(options->out))
        return misused("--out %s does not end in .npy", shown(options->out));
    return conversion_check_group(options->type, option_given(&line, "group"), options->group, options->zeros);
}

int command_quantize(int argc, char **argv)
{
    struct quantize_options options;
    struct conversion conversion = {.container = &container_npy};
    int outcome = parse(argc, argv, &options);
    conversion.from_name = options.table;
    conversion.to = (struct new_table){.path = options.out, .type = options.type, .group = (uint32_t)options.group};
    conversion.zeros = options.zeros;
    conversion.outputs.force = options.force;
    if (outcome == DONE)
        outcome = weights_load(options.table, options.table_type, (size_t)options.dim, &conversion.from);
    if (outcome == DONE)
        outcome = conversion_run(&conversion);
    conversion_free(&conversion);
    return outcome;
}
