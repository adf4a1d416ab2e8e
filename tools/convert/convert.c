/* SPDX-License-Identifier: MIT */
/*
 * `inlay convert`: a table of a model file or a .npy file to another element type, in a new file of any format.
 * conversion.c does the work.
 */
#include <string.h>

#include <inlay/inlay.h>

#include "convert/conversion.h"
#include "inputs/model_file.h"
#include "inputs/numbers.h"
#include "options/command.h"
#include "options/options.h"
#include "text/message.h"
#include "text/names.h"

struct convert_options {
    const char *from;
    const char *table;
    const char *name;
    inlay_element_type table_type; /* 0: what the file says */
    int64_t dim;
    inlay_element_type type; /* 0: not given */
    int64_t group;
    bool zeros;
    const char *out;
    bool force;
};

static const char usage[] = "Usage: inlay convert FROM --type TYPE --out FILE [option ...]\n"
                            "\n"
                            "Converts a table [rows, dim] of a model file to another element type, writes it\n"
                            "to a new file, and prints how many bytes that takes and how far the numbers are\n"
                            "from those before. FROM is a .safetensors, .gguf or .npy file, or a directory;\n"
                            "inlay model FROM lists its tensors.\n"
                            "\n";

#define FIELD(name) offsetof(struct convert_options, name)

static const struct option_rule rules[] = {
    {"table", "NAME", OPTION_TEXT, FIELD(table),
     .help = "the tensor to convert, whose scales are found by the conventions of checkpoints; a * stands for the "
             "numbers from 0 on of tensors that hold its rows in turn (default: the only tensor that can be a table)"},
    {"type", "TYPE", OPTION_NAME, FIELD(type), 1, .names = ELEMENT_TYPES,
     .help = "the new element type, in capitals or not, or a synonym of it such as f16, half, int8 or fp8; a table "
             "that has it already is copied byte by byte:"},
    {"out", "FILE", OPTION_TEXT, FIELD(out),
     .help = "where to write the table; the end says how. FILE.safetensors: float32, float16, bfloat16, i8, e4m3 and "
             "e4m3_e8m0, with scales in the tensor NAME.scale. FILE.gguf: float32, float16, bfloat16 and ggml's types. "
             "FILE.npy: all types, as inlay quantize writes them"},
    {"force", NULL, OPTION_FLAG, FIELD(force), .help = output_force_help},
    {"name", "NAME", OPTION_TEXT, FIELD(name), .help = "name of the new tensor (default: that of --table)"},
    {"group", "32|64|128", OPTION_INTEGER, FIELD(group), 32, 128,
     .help = "columns for each scale of the grouped types (default: 32)"},
    {"zeros", NULL, OPTION_FLAG, FIELD(zeros), .help = "give the grouped types zero points"},
    {"table-type", "TYPE", OPTION_NAME, FIELD(table_type), 1, .names = ELEMENT_TYPES,
     .help = "element type of FROM, one of those of --type, where its elements do not say it",
     .heading = "\nIf FROM is a .npy file, which is read as inlay quantize reads it:\n"},
    {"dim", "N", OPTION_INTEGER, FIELD(dim), 1, INT32_MAX,
     .help = "its columns, where the bytes of a row do not say them: odd ones of u4_rowwise"},
    {.name = NULL},
};

/* Checks what depends on the kinds of the two files. */
static int check_files(const struct convert_options *options, const struct command_line *line,
                       const struct container *container)
{
    bool npy = ends_in_npy(options->from);
    for (size_t i = 0; i < 2 && !npy; i++) {
        const char *of_npy = (const char *const[]){"table-type", "dim"}[i];
        if (option_given(line, of_npy))
            return misused("--%s is for .npy files, and %s is none", of_npy, shown(options->from));
    }
    if (npy && options->table != NULL)
        return misused("--table names a tensor, and %s has one without a name", shown(options->from));
    if (!container->names && options->name != NULL)
        return misused("--name names a tensor, and that of %s has no name", shown(options->out));
    const char *name = options->name != NULL ? options->name : options->table;
    if (container->names && name == NULL && npy)
        return misused("--name is missing: the name of the new tensor");
    if (container->names && options->name == NULL && name != NULL && strchr(name, '*') != NULL)
        return misused("--table %s names several tensors: give the new one a name by --name", shown(name));
    if (container->names && name != NULL && (*name == '\0' || !is_utf8(name)))
        return misused("%s is no name for a tensor: it is empty or no UTF-8", shown(name));
    return DONE;
}

static int parse(int argc, char **argv, struct convert_options *options, const struct container **container)
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
    TRY(container_of_path(options->out, options->type, container));
    TRY(conversion_check_group(options->type, option_given(&line, "group"), options->group, options->zeros));
    return check_files(options, &line, *container);
}

static int run(const struct convert_options *options, struct conversion *c)
{
    const char *name = options->table;
    if (ends_in_npy(options->from))
        TRY(weights_load(options->from, options->table_type, (size_t)options->dim, &c->from));
    else
        TRY(weights_map(options->from, &name, &c->from));
    c->from_name = options->from;
    c->to = (struct new_table){.path = options->out, .type = options->type, .group = (uint32_t)options->group};
    c->to.name = options->name != NULL ? options->name : name;
    c->zeros = options->zeros;
    c->outputs.force = options->force;
    return conversion_run(c);
}

int command_convert(int argc, char **argv)
{
    struct convert_options options;
    struct conversion conversion = {.container = NULL};
    int outcome = parse(argc, argv, &options, &conversion.container);
    if (outcome == DONE)
        outcome = run(&options, &conversion);
    conversion_free(&conversion);
    return outcome;
}
