/* SPDX-License-Identifier: MIT */
/*
 * `inlay model`: prints the tensors and metadata of a model, and the input layer that inlay finds in it. Names and
 * texts are untrusted: they are only printed through escaped().
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "inputs/model_file.h"
#include "options/command.h"
#include "options/options.h"
#include "text/message.h"

enum {
    NAME_WIDTH = 48, /* the column is this wide at most; longer names stick out */
    TEXT_SHOWN = 60, /* characters of a text */
    LIST_SHOWN = 4   /* elements of a list */
};

static const char *plain(const char *text)
{
    return escaped(text, strlen(text));
}

/* ---- Tensors ---------------------------------------------------------------------------------------------------- */

/* Returns the larger of `longest` and the printed length of the name, at most NAME_WIDTH. */
static int name_width(size_t longest, const char *name)
{
    size_t own = strlen(plain(name)), width = own > longest ? own : longest;
    return (int)(width < NAME_WIDTH ? width : NAME_WIDTH);
}

static void print_tensor_line(const inlay_file_tensor *tensor, int width)
{
    char shape[INLAY_FILE_RANK * 24] = "[";
    for (uint32_t i = 0; i < tensor->rank; i++)
        append(shape, sizeof shape, i == 0 ? "%" PRIu64 : ", %" PRIu64, tensor->shape[i]);
    append(shape, sizeof shape, "]");
    printf("  %-*s  %-7s  %-16s  %" PRIu64 " bytes\n", width, plain(tensor->name), plain(tensor->type), shape,
           tensor->bytes);
}

static void print_tensors(const inlay_file *file)
{
    size_t count = inlay_file_tensor_count(file);
    uint64_t bytes = 0;
    int width = 0;
    for (size_t i = 0; i < count; i++) {
        const inlay_file_tensor *tensor = inlay_file_tensor_at(file, i);
        bytes += tensor->bytes;
        width = name_width((size_t)width, tensor->name);
    }
    printf("tensors   %zu, %" PRIu64 " bytes\n", count, bytes);
    const char *path = count > 0 ? inlay_file_tensor_at(file, count - 1)->path : "";
    for (size_t i = 0; i < count; i++) {
        const inlay_file_tensor *tensor = inlay_file_tensor_at(file, i);
        /* Tensors are in file order. `path` starts as the path of the last one, so the name of a single file is never
           printed. */
        if (strcmp(path, tensor->path) != 0)
            printf(" %s\n", plain(tensor->path));
        path = tensor->path;
        print_tensor_line(tensor, width);
    }
}

/* ---- Metadata --------------------------------------------------------------------------------------------------- */

static void print_text(const char *text, size_t size)
{
    size_t part = leading_bytes(text, size, TEXT_SHOWN);
    printf("\"%s\"%s", escaped(text, part), part < size ? "..." : "");
}

static void print_element(const inlay_file_value *value, size_t i)
{
    int64_t integer;
    double number;
    if (inlay_file_value_integers(value, i, 1, &integer) == INLAY_FILE_OK)
        printf("%" PRId64, integer);
    else if (inlay_file_value_numbers(value, i, 1, &number) == INLAY_FILE_OK)
        printf("%.9g", number);
    else
        print_text(value->strings[i], strlen(value->strings[i]));
}

static void print_list(const inlay_file_value *value)
{
    size_t shown_count = value->count < LIST_SHOWN ? value->count : LIST_SHOWN;
    putchar('[');
    for (size_t i = 0; i < shown_count; i++) {
        fputs(i == 0 ? "" : ", ", stdout);
        print_element(value, i);
    }
    if (shown_count < value->count)
        printf(", ...], %zu elements", value->count);
    else
        putchar(']');
}

static void print_value(const inlay_file_value *value, int width)
{
    printf("  %-*s  ", width, plain(value->key));
    if (value->kind == INLAY_FILE_VALUE_STRING)
        print_text(value->text, value->count);
    else if (value->kind == INLAY_FILE_VALUE_INTEGER)
        printf("%" PRId64, value->integer);
    else if (value->kind == INLAY_FILE_VALUE_NUMBER)
        printf("%.9g", value->number);
    else if (value->kind == INLAY_FILE_VALUE_BOOLEAN)
        fputs(value->integer != 0 ? "true" : "false", stdout);
    else
        print_list(value);
    putchar('\n');
}

static void print_values(const inlay_file *file)
{
    size_t count = inlay_file_value_count(file);
    int width = 0;
    for (size_t i = 0; i < count; i++)
        width = name_width((size_t)width, inlay_file_value_at(file, i)->key);
    printf("metadata  %zu\n", count);
    for (size_t i = 0; i < count; i++)
        print_value(inlay_file_value_at(file, i), width);
}

/* ---- The layer -------------------------------------------------------------------------------------------------- */

static void print_report(const char *heading, const char *report)
{
    printf("%s\n", heading);
    for (size_t size; *report != '\0'; report += size + (report[size] == '\n')) {
        size = strcspn(report, "\n");
        printf("  %s\n", escaped(report, size));
    }
}

static void print_layer(inlay_file *file, const inlay_file_layer_options *options)
{
    inlay_file_error error;
    inlay_file_layer *layer;
    if (inlay_file_layer_create(file, options, &layer, &error) == INLAY_FILE_OK)
        print_report("layer", inlay_file_layer_report(layer));
    else
        printf("layer     none: %s\n", error.message);
    inlay_file_layer_destroy(layer);

    inlay_file_ngram *ngram;
    if (inlay_file_ngram_create(file, -1, &ngram, &error) == INLAY_FILE_OK)
        print_report("n-grams", inlay_file_ngram_report(ngram));
    inlay_file_ngram_destroy(ngram);
}

/* ---- The command ------------------------------------------------------------------------------------------------- */

static const char usage[] = "Usage: inlay model [--prefix TEXT] FILE|DIR\n"
                            "\n"
                            "Checks a model file and prints its tensors, its metadata, and the input layer\n"
                            "that inlay finds, or why there is none. FILE is a .safetensors, .gguf or .npy\n"
                            "file, the .index.json of a model in several files, or one file of a split GGUF\n"
                            "model; DIR contains one of these and optionally a config.json. Long values are\n"
                            "truncated.\n"
                            "\n";

static const struct option_rule rules[] = {
    {"prefix", "TEXT", OPTION_TEXT, offsetof(inlay_file_layer_options, prefix),
     .help = "prefix of the layer's tensor names, such as llm. (default: the usual names)"},
    {.name = NULL},
};

int command_model(int argc, char **argv)
{
    static struct model model;
    const char *path = NULL;
    inlay_file_layer_options options = inlay_file_layer_options_default();
    struct command_line line = {.usage = usage, .rules = rules, .operand = &path};
    TRY(options_parse(&line, argc, argv, &options));
    if (path == NULL)
        return misused("FILE is missing: the model to print");
    TRY(model_open(path, &model));
    print_tensors(model.file);
    print_values(model.file);
    print_layer(model.file, &options);
    return DONE;
}
