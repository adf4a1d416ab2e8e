/* SPDX-License-Identifier: MIT */
/*
 * The command line of `inlay convert`. Like `inlay embed`, it rejects options that would have no effect.
 */
#include "convert/options.h"

#include <string.h>

#include "inputs/numbers.h"
#include "inputs/stored.h"
#include "options/options.h"
#include "outputs/output.h"
#include "text.h"
#include "text/message.h"
#include "text/names.h"

enum { DEFAULT_GROUP = 32 };

static const char usage[] = "Usage: inlay convert FROM --type TYPE --out FILE [option ...]\n"
                            "\n"
                            "Converts a table [rows, dim] of a file to another element type, writes it to a\n"
                            "new file, and prints how many bytes that takes and how far the numbers are from\n"
                            "those before. FROM is a .safetensors, .gguf or .npy file, or a directory;\n"
                            "inlay model FROM lists its tensors.\n"
                            "\n";

#define FIELD(name) offsetof(struct convert_options, name)

static const struct option_rule rules[] = {
    {"table", "NAME", OPTION_TEXT, FIELD(table),
     .help = "the tensor to convert, whose scales are found by the conventions of checkpoints; a * stands for the "
             "numbers from 0 on of tensors that hold its rows in turn (default: the only tensor that can be a table)"},
    {"type", "TYPE", OPTION_NAME, FIELD(type), 1, .names = ELEMENT_TYPES,
     .help =
         "the new element type, in capitals or not, or a synonym of it such as f16, half, int8 or fp8; a table that "
         "has it already is copied byte by byte:"},
    {"out", "FILE", OPTION_TEXT, FIELD(out),
     .help =
         "where to write the table; the end says how. FILE.safetensors: float32, float16, bfloat16, i8, e4m3 and "
         "e4m3_e8m0, with scales in the tensor NAME.scale. FILE.gguf: float32, float16, bfloat16 and ggml's types. "
         "FILE.npy: numbers [rows, dim], or bytes [rows, bytes of a row] of types that NumPy lacks; scales and zero "
         "points in arrays of their own go to FILE.scales.npy and FILE.zeros.npy, where inlay embed --table "
         "FILE.npy --table-type TYPE finds them. - is a .npy file on stdout, for tables without such arrays"},
    {"force", NULL, OPTION_FLAG, FIELD(force), .help = output_force_help},
    {"name", "NAME", OPTION_TEXT, FIELD(name), .help = "name of the new tensor (default: that of --table)"},
    {"group", "32|64|128", OPTION_INTEGER, FIELD(group), 32, 128,
     .help = "columns for each scale of the grouped types (default: 32)"},
    {"zeros", NULL, OPTION_FLAG, FIELD(zeros), .help = "give the grouped types zero points"},
    {"table-type", "TYPE", OPTION_NAME, FIELD(table_type), 1, .names = ELEMENT_TYPES,
     .help = "its element type, one of those of --type, where its elements do not say it",
     .heading = "\nIf FROM is a .npy file; scales and zero points are read from files beside it:\n"},
    {"dim", "N", OPTION_INTEGER, FIELD(dim), 1, INT32_MAX,
     .help = "number of columns; needed only for u4_rowwise with an odd number"},
    {.name = NULL},
};

static int check_group(const struct convert_options *options, const struct command_line *line)
{
    if (!stored_in_groups(options->type) && (option_given(line, "group") || options->zeros))
        return misused("--%s belongs to grouped types, and %s is none", options->zeros ? "zeros" : "group",
                       enum_name(ELEMENT_TYPES, (int)options->type));
    if (options->group != 32 && options->group != 64 && options->group != 128)
        return misused("--group %d is none of 32, 64 and 128", (int)options->group);
    return DONE;
}

/* Checks options that depend on the kinds of the two files. */
static int check_files(const struct convert_options *options, const struct command_line *line)
{
    const char *name = options->name != NULL ? options->name : options->table;
    bool npy = inlay_ends_in(options->from, ".npy"), names = options->format->names;
    if (!npy && (option_given(line, "table-type") || option_given(line, "dim")))
        return misused("--%s is for .npy files, and %s is none", options->table_type != 0 ? "table-type" : "dim",
                       shown(options->from));
    if (npy && options->table != NULL)
        return misused("--table names a tensor, and %s has one without a name", shown(options->from));
    if (!names && options->name != NULL)
        return misused("--name names a tensor, and that of %s has no name", shown(options->out));
    if (names && name == NULL && npy)
        return misused("--name is missing: the name of the new tensor");
    if (names && options->name == NULL && name != NULL && strchr(name, '*') != NULL)
        return misused("--table %s names several tensors: give the new one a name by --name", shown(name));
    if (names && name != NULL && (*name == '\0' || !inlay_text_is_utf8(inlay_text_of(name))))
        return misused("%s is no name for a tensor: it is empty or no UTF-8", shown(name));
    return DONE;
}

int convert_options_parse(int argc, char **argv, struct convert_options *options)
{
    struct command_line line = {.usage = usage, .rules = rules, .operand = &options->from};
    *options = (struct convert_options){.group = DEFAULT_GROUP};
    TRY(options_parse(&line, argc, argv, options));
    if (options->from == NULL)
        return misused("FROM is missing: the file with the table");
    if (options->type == 0)
        return misused("--type is missing: the element type to convert to");
    if (options->out == NULL)
        return misused("--out is missing: where to write the table");
    TRY(format_of_path(options->out, options->type, &options->format));
    TRY(check_files(options, &line));
    return check_group(options, &line);
}
