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

static const char usage[] = "Usage: inlay convert FROM --type TYPE --out FILE [option ...]\n"
                            "\n"
                            "Converts a table [rows, dim] to another element type, writes it to a new file,\n"
                            "and prints its size and the quantization error. FROM is a .safetensors, .gguf\n"
                            "or .npy file, or a directory; inlay model FROM lists its tensors.\n"
                            "\n";

#define FIELD(name) offsetof(struct convert_options, name)

static const struct option_rule rules[] = {
    {"table", "NAME", OPTION_TEXT, FIELD(table),
     .help =
         "the tensor to convert (default: the only one that can be a table). Its scales are found by the naming "
         "conventions of checkpoints. If several tensors split the table by rows, * matches their numbers 0, 1, ..."},
    {"type", "TYPE", OPTION_NAME, FIELD(type), 1, .names = ELEMENT_TYPES,
     .help = "the new element type, or a synonym such as f16, half, int8 or fp8; case is ignored. If the table already "
             "has this type and group, and no zero points, rows are copied byte for byte:"},
    {"out", "FILE", OPTION_TEXT, FIELD(out),
     .help = "the new file; its suffix selects the format. FILE.safetensors: float32, float16, bfloat16, i8, e4m3 and "
             "e4m3_e8m0, with scales in the tensor NAME.scale. FILE.gguf: float32, float16, bfloat16 and ggml's types. "
             "FILE.npy: numbers [rows, dim], or bytes [rows, bytes per row] for types that NumPy lacks; separate "
             "scales and zero points go to FILE.scales.npy and FILE.zeros.npy, where inlay embed --table FILE.npy "
             "--table-type TYPE finds them. - writes .npy to stdout, for tables without these arrays"},
    {"force", NULL, OPTION_FLAG, FIELD(force), .help = output_force_help},
    {"name", "NAME", OPTION_TEXT, FIELD(name), .help = "name of the new tensor (default: the name of the old one)"},
    {"group", "16|32|64|128", OPTION_INTEGER, FIELD(group), 16, 128,
     .help =
         "columns per scale of grouped and affine types, 16 not of affine ones (default: those of the table, or 32)"},
    {"zeros", NULL, OPTION_FLAG, FIELD(zeros), .help = "store zero points; only for grouped types"},
    {"table-type", "TYPE", OPTION_NAME, FIELD(table_type), 1, .names = ELEMENT_TYPES,
     .help = "element type of the table, if the file's elements don't determine it; takes the names of --type",
     .heading = "\nIf FROM is a .npy file; scales and zero points are in the same directory:\n"},
    {"dim", "N", OPTION_INTEGER, FIELD(dim), 1, INT32_MAX,
     .help = "number of columns; only needed for u4_rowwise, u4_rowwise_first, u4_grouped and u4_grouped_flat, if it "
             "is odd"},
    {.name = NULL},
};

static int check_group(const struct convert_options *options, const struct command_line *line)
{
    const int group = (int)options->group, least = (int)inlay_table_min_group(options->type);
    if (least == 0 && (option_given(line, "group") || options->zeros))
        return misused("--%s is only for grouped types, and %s is not one", options->zeros ? "zeros" : "group",
                       enum_name(ELEMENT_TYPES, (int)options->type));
    if (options->zeros && stored_array(ARRAY_ZEROS, options->type, 1, 32, 32).rank == 0)
        return misused("--zeros is only for types with zero points, and %s has none",
                       enum_name(ELEMENT_TYPES, (int)options->type));
    if (group != 0 && (group < least || group > 128 || (group & (group - 1)) != 0))
        return misused("--group %d must be %s32, 64 or 128", group, least == 16 ? "16, " : "");
    return DONE;
}

/* Checks options that depend on the kinds of the two files. */
static int check_files(const struct convert_options *options, const struct command_line *line)
{
    const char *name = options->name != NULL ? options->name : options->table;
    bool npy = inlay_ends_in(options->from, ".npy"), names = options->format->names;
    if (!npy && (option_given(line, "table-type") || option_given(line, "dim")))
        return misused("--%s is only for .npy files, and %s is not one",
                       options->table_type != 0 ? "table-type" : "dim", shown(options->from));
    if (npy && options->table != NULL)
        return misused("--table names a tensor, but the only one in %s has no name: drop it", shown(options->from));
    if (!names && options->name != NULL)
        return misused("--name names a tensor, but the one in %s has no name: drop it", shown(options->out));
    if (names && name == NULL && npy)
        return misused("--name is missing: name the new tensor");
    if (names && options->name == NULL && name != NULL && strchr(name, '*') != NULL)
        return misused("--table %s names several tensors: name the new one with --name", shown(name));
    if (names && name != NULL && (*name == '\0' || !inlay_text_is_utf8(inlay_text_of(name))))
        return misused("%s is not a tensor name: it is empty or not UTF-8", shown(name));
    return DONE;
}

int convert_options_parse(int argc, char **argv, struct convert_options *options)
{
    struct command_line line = {.usage = usage, .rules = rules, .operand = &options->from};
    *options = (struct convert_options){.group = 0};
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
