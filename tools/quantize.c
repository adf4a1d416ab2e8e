/* SPDX-License-Identifier: MIT */
/*
 * `inlay quantize`: a table from a file, dequantised and quantised to another type some rows at a time, and how far
 * what is read back lies from it. Scales and zero points are kept until the end, and all files take their places
 * together.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <inlay/inlay.h>

#include "command.h"
#include "message.h"
#include "names.h"
#include "numbers.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "stored.h"
#include "weights.h"

enum { CHUNK_FLOATS = 1 << 20, DEFAULT_GROUP = 32 };

struct quantize_options {
    const char *table;
    inlay_element_type table_type; /* 0: what the file says */
    int64_t dim;
    inlay_element_type type; /* 0: not given */
    int64_t group;
    bool zeros;
    const char *out;
};

/* All that one run owns. */
struct conversion {
    struct quantize_options options;
    struct weights from;
    struct array data, scales, zeros; /* of the new table */
    uint32_t group;
    size_t chunk_rows; /* an even number, so that chunks have whole bytes of zero points */
    int64_t *ids;      /* [chunk_rows] */
    float *values;     /* [chunk_rows, dim]: what is converted */
    float *back;       /* [chunk_rows, dim]: what is read back */
    char *chunk;       /* [chunk_rows] of the new rows */
    char *all_scales, *all_zeros;
    char *scales_name, *zeros_name; /* of the files beside the table */
    double largest, squares;        /* of the errors */
    struct outputs outputs;
};

static void conversion_free(struct conversion *c)
{
    outputs_discard(&c->outputs);
    free(c->zeros_name);
    free(c->scales_name);
    free(c->all_zeros);
    free(c->all_scales);
    free(c->chunk);
    free(c->back);
    free(c->values);
    free(c->ids);
    weights_free(&c->from);
}

/* ---- Options ---------------------------------------------------------------------------------------------------- */

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
    {"type", "TYPE", OPTION_NAME, FIELD(type), 1, .names = ELEMENT_TYPES, .help = "the new element type:"},
    {"group", "32|64|128", OPTION_INTEGER, FIELD(group), 32, 128,
     .help = "columns for each scale of the grouped types (default: 32)"},
    {"zeros", NULL, OPTION_FLAG, FIELD(zeros), .help = "give the grouped types zero points"},
    {"out", "FILE.npy", OPTION_TEXT, FIELD(out),
     .help =
         "where to write the table: numbers [rows, dim], or bytes [rows, bytes of a row] of types that NumPy lacks. "
         "Scales and zero points in arrays of their own go beside it, to FILE.scales.npy and FILE.zeros.npy; inlay "
         "embed --table FILE.npy --table-type TYPE reads them there. - is stdout, for types without such arrays"},
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
    bool grouped = stored_in_groups(options->type);
    if (!grouped && (option_given(&line, "group") || options->zeros))
        return misused("--%s belongs to grouped types, and %s is none", options->zeros ? "zeros" : "group",
                       enum_name(ELEMENT_TYPES, (int)options->type));
    if (options->group != 32 && options->group != 64 && options->group != 128)
        return misused("--group %d is none of 32, 64 and 128", (int)options->group);
    return DONE;
}

/* ---- Preparation ------------------------------------------------------------------------------------------------ */

static int choose_arrays(struct conversion *c)
{
    const struct quantize_options *options = &c->options;
    const inlay_table *from = &c->from.view;
    inlay_element_type type = options->type;
    const char *name = enum_name(ELEMENT_TYPES, (int)type);
    c->group = stored_in_groups(type) ? (uint32_t)options->group : 0;
    if (inlay_table_row_bytes(type, from->dim) == 0)
        return failed("no row of %s has %zu columns, as those of %s have", name, from->dim, shown(options->table));
    if (c->group != 0 && from->dim % c->group != 0)
        return failed("%s has dim %zu, which is no multiple of --group %u", shown(options->table), from->dim, c->group);
    c->data = stored_data(type, from->rows, from->dim);
    c->scales = stored_scales(type, from->rows, from->dim, c->group);
    c->zeros = stored_zeros(type, from->rows, from->dim, c->group);
    if (!options->zeros)
        c->zeros.rank = 0;
    return DONE;
}

/* Opens the file of an array beside the table. One of an earlier run that this table has not would be read as its. */
static int open_beside(struct conversion *c, struct output *output, const char *what, const struct array *array,
                       char **name)
{
    *name = stored_beside(c->options.out, what);
    if (*name == NULL)
        return out_of_memory("a name", 0);
    if (array->rank != 0)
        return outputs_add(&c->outputs, output, "what lies beside it", *name);
    if (access(*name, F_OK) == 0)
        return failed("%s would be taken for %s of the new table, which has none: remove it", shown(*name), what);
    return DONE;
}

static int open_outputs(struct conversion *c)
{
    const char *out = c->options.out;
    bool is_stdout = out[0] == '-' && out[1] == '\0';
    if (is_stdout && (c->scales.rank != 0 || c->zeros.rank != 0))
        return misused("--out -: the scales of %s lie in a file beside the table: name a file",
                       enum_name(ELEMENT_TYPES, (int)c->options.type));
    if (!is_stdout && !ends_in_npy(out))
        return misused("--out %s does not end in .npy", shown(out));
    TRY(outputs_open(&c->outputs, out, NULL));
    if (is_stdout)
        return DONE;
    TRY(open_beside(c, &c->outputs.scales, "scales", &c->scales, &c->scales_name));
    return open_beside(c, &c->outputs.zeros, "zeros", &c->zeros, &c->zeros_name);
}

static int allocate(struct conversion *c)
{
    const inlay_table *from = &c->from.view;
    c->chunk_rows = 2 * (CHUNK_FLOATS / 2 / from->dim + 1);
    c->ids = calloc(c->chunk_rows, sizeof *c->ids);
    /* calloc checks the products, which overflow only through the columns. */
    c->values = calloc(from->dim, c->chunk_rows * sizeof *c->values);
    c->back = calloc(from->dim, c->chunk_rows * sizeof *c->back);
    c->chunk = calloc(c->chunk_rows, inlay_table_row_bytes(c->options.type, from->dim));
    c->all_scales = calloc(array_bytes(&c->scales) + 1, 1);
    c->all_zeros = calloc(array_bytes(&c->zeros) + 1, 1);
    bool enough = c->ids != NULL && c->values != NULL && c->back != NULL && c->chunk != NULL && c->all_scales != NULL &&
                  c->all_zeros != NULL;
    return enough ? DONE
                  : out_of_memory("some rows of the table",
                                  3.0 * (double)c->chunk_rows * (double)from->dim * sizeof(float));
}

/* ---- Conversion ------------------------------------------------------------------------------------------------- */

/* Reads rows [first, first + n) of a table as floats. */
static int read_rows(struct conversion *c, const inlay_table *table, size_t first, size_t n, float *values)
{
    for (size_t i = 0; i < n; i++)
        c->ids[i] = (int64_t)(first + i);
    return check_status(
        inlay_gather(table, c->ids, INLAY_ID_I64, n, 1, values, table->dim * sizeof *values, NULL, NULL));
}

/* Quantises `n` rows of `values`, which begin with row `first` of the table. */
static inlay_status quantize_rows(struct conversion *c, const float *values, size_t first, size_t n, inlay_table *view,
                                  double *largest)
{
    const struct array scales = stored_scales(c->options.type, first, c->from.view.dim, c->group);
    const struct array zeros = stored_zeros(c->options.type, first, c->from.view.dim, c->group);
    inlay_table from = inlay_table_f32(values, n, c->from.view.dim);
    inlay_table_storage to = inlay_table_storage_of(c->options.type, c->chunk, from.dim);
    to.group = c->group;
    if (c->scales.rank != 0)
        to.scales = c->all_scales + array_bytes(&scales);
    if (c->zeros.rank != 0)
        to.zeros = c->all_zeros + array_bytes(&zeros);
    return inlay_table_quantize(&from, &to, view, largest);
}

/* Says which row the type cannot hold. The library judges each alone; its status does not say which. */
static int refused(struct conversion *c, size_t first, size_t n)
{
    size_t dim = c->from.view.dim, row = 0;
    inlay_table view;
    while (row + 1 < n && quantize_rows(c, c->values + row * dim, 0, 1, &view, NULL) == INLAY_OK)
        row++;
    float least = c->values[row * dim], most = least;
    for (size_t i = 0; i < dim; i++) {
        float value = c->values[row * dim + i];
        if (!isfinite(value))
            return failed("row %zu, column %zu is %s, which %s cannot hold", first + row, i,
                          isnan(value) ? "nan" : "infinite", enum_name(ELEMENT_TYPES, (int)c->options.type));
        least = fminf(least, value);
        most = fmaxf(most, value);
    }
    return failed("row %zu, with values from %.9g to %.9g, does not fit in %s%s", first + row, (double)least,
                  (double)most, enum_name(ELEMENT_TYPES, (int)c->options.type),
                  c->group != 0 && c->zeros.rank == 0 ? " without --zeros" : "");
}

static int convert_rows(struct conversion *c, size_t first, size_t n)
{
    size_t dim = c->from.view.dim;
    inlay_table view;
    double largest = 0;
    TRY(read_rows(c, &c->from.view, first, n, c->values));
    inlay_status status = quantize_rows(c, c->values, first, n, &view, &largest);
    if (status == INLAY_ERROR_OPTION)
        return refused(c, first, n);
    TRY(check_status(status));
    c->largest = fmax(c->largest, largest);
    TRY(read_rows(c, &view, 0, n, c->back));
    for (size_t i = 0; i < n * dim; i++) {
        double error = (double)c->back[i] - (double)c->values[i];
        /* Infinities and NaN that stay have none. */
        c->squares += isfinite(error) ? error * error : 0;
    }
    size_t elements = n * (c->data.shape[1]);
    return output_npy_elements(&c->outputs.out, c->data.element, c->chunk, elements);
}

static int convert(struct conversion *c)
{
    TRY(output_npy_header(&c->outputs.out, c->data.element, c->data.shape, c->data.rank));
    struct progress progress = progress_start("converting");
    int outcome = DONE;
    size_t n, rows = c->from.view.rows;
    for (size_t first = 0; outcome == DONE && first < rows; first += n) {
        n = rows - first < c->chunk_rows ? rows - first : c->chunk_rows;
        outcome = convert_rows(c, first, n);
        progress_show(&progress, (double)(first + n) / (double)rows);
    }
    progress_end(&progress);
    return outcome;
}

static int write_beside(struct output *output, const struct array *array, const char *elements)
{
    if (array->rank == 0)
        return DONE;
    TRY(output_npy_header(output, array->element, array->shape, array->rank));
    return output_npy_elements(output, array->element, elements,
                               array_bytes(array) / inlay_npy_element_bytes(array->element));
}

/* ---- The report ------------------------------------------------------------------------------------------------- */

/* Returns the bytes of a table with its scales and zero points. */
static double bytes_of(const inlay_table *table)
{
    const struct array scales = stored_scales(table->type, table->rows, table->dim, table->group);
    const struct array zeros = stored_zeros(table->type, table->rows, table->dim, table->group);
    return (double)table->rows * (double)table->stride_bytes + (double)(table->scales ? array_bytes(&scales) : 0) +
           (double)(table->zeros ? array_bytes(&zeros) : 0);
}

static void report(const struct conversion *c, FILE *stream)
{
    const inlay_table *from = &c->from.view;
    double before = bytes_of(from), elements = (double)from->rows * (double)from->dim;
    double after = (double)array_bytes(&c->data) + (double)array_bytes(&c->scales) + (double)array_bytes(&c->zeros);
    fprintf(stream, "table   %s [%zu, %zu], %.0f bytes\n", enum_name(ELEMENT_TYPES, (int)from->type), from->rows,
            from->dim, before);
    fprintf(stream, "to      %s, %.0f bytes\n", enum_name(ELEMENT_TYPES, (int)c->options.type), after);
    fprintf(stream, "error   largest %.6g, root mean square %.6g\n", c->largest,
            elements > 0 ? sqrt(c->squares / elements) : 0);
}

static int run(struct conversion *c)
{
    TRY(weights_load(c->options.table, c->options.table_type, (size_t)c->options.dim, &c->from));
    TRY(choose_arrays(c));
    TRY(open_outputs(c));
    TRY(allocate(c));
    TRY(convert(c));
    TRY(write_beside(&c->outputs.scales, &c->scales, c->all_scales));
    TRY(write_beside(&c->outputs.zeros, &c->zeros, c->all_zeros));
    FILE *stream = c->outputs.out.stream == stdout ? stderr : stdout;
    TRY(outputs_commit(&c->outputs));
    report(c, stream);
    return DONE;
}

int command_quantize(int argc, char **argv)
{
    struct conversion conversion = {0};
    int outcome = parse(argc, argv, &conversion.options);
    if (outcome == DONE)
        outcome = run(&conversion);
    conversion_free(&conversion);
    return outcome;
}
