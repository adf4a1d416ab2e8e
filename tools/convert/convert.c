/* SPDX-License-Identifier: MIT */
/*
 * `inlay convert`: writes a table from a model file or a .npy file to a new file, in another element type or format. If
 * the type stays the same, rows are copied byte for byte where possible. Otherwise a few rows at a time are dequantized
 * by inlay_gather() and quantized by inlay_table_quantize(), and the quantization error is reported. For a table in a
 * model file, memory use doesn't grow with the table. A .npy file is loaded whole.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <inlay/inlay.h>

#include "convert/format.h"
#include "convert/options.h"
#include "inputs/numbers.h"
#include "inputs/weights.h"
#include "options/command.h"
#include "outputs/output.h"
#include "text.h"
#include "text/message.h"
#include "text/names.h"
#include "text/progress.h"

enum { PIECE_FLOATS = 1 << 20, DEFAULT_GROUP = 32 };

/* The state of a run. Lives as long as the process. */
struct conversion {
    struct convert_options options;
    struct weights from;
    struct new_table to;
    bool copies;                 /* rows are copied byte for byte */
    struct array before[ARRAYS]; /* the arrays of the old table */
    struct outputs outputs;      /* files of the new table */
    size_t piece_rows;           /* an even number, so a piece ends with a whole byte of zero points */
    int64_t *ids;                /* [piece_rows] */
    float *values;               /* [piece_rows, dim]: the values to convert */
    float *back;                 /* [piece_rows, dim], after `values` in memory: the quantized values, dequantized
                                    again */
    char *piece[ARRAYS];         /* [piece_rows] of each new array; null if absent */
    double largest, squares;     /* largest error, sum of squared errors */
};

/* ---- Preparation ------------------------------------------------------------------------------------------------ */

/* Returns the bytes of `rows` rows in an array of the new table, or 0 if the table has no such array. */
static size_t bytes_of_rows(const struct new_table *to, int which, size_t rows)
{
    const struct array part = stored_array(which, to->type, rows, to->dim, to->group);
    return to->array[which].rank != 0 ? array_bytes(&part) : 0;
}

/* Returns true if rows can be copied byte for byte: the type and group stay the same, no zero points are stored, and
   the table has no factor, or can get the factor as the scale of each row. */
static bool keeps_bytes(const struct conversion *c)
{
    const inlay_table *from = &c->from.view;
    if (c->to.type != from->type || c->to.group != from->group || c->before[ARRAY_ZEROS].rank != 0 ||
        c->to.array[ARRAY_ZEROS].rank != 0)
        return false;
    return c->from.factor == 1 || (c->to.array[ARRAY_SCALES].optional && c->before[ARRAY_SCALES].rank == 0);
}

/* Loads the table, and sets up the arrays of the new table and their destinations. */
static int prepare(struct conversion *c)
{
    const struct convert_options *options = &c->options;
    const inlay_table *from = &c->from.view;
    struct new_table *to = &c->to;
    const char *tensor = options->table, *type = enum_name(ELEMENT_TYPES, (int)options->type);
    TRY(inlay_ends_in(options->from, ".npy")
            ? weights_load(options->from, options->table_type, (size_t)options->dim, &c->from)
            : weights_map(options->from, &tensor, (size_t)options->dim, &c->from));
    *to = (struct new_table){.path = options->out, .type = options->type, .rows = from->rows, .dim = from->dim};
    to->name = options->name != NULL ? options->name : tensor;
    const uint32_t least = inlay_table_min_group(to->type);
    if (least > 0)
        to->group = options->group != 0 ? (uint32_t)options->group : from->group != 0 ? from->group : DEFAULT_GROUP;
    if (to->group < least)
        return failed("%s cannot have groups of %u columns, those of %s: give --group 32, 64 or 128", type, to->group,
                      shown(options->from));
    if (inlay_table_row_bytes(to->type, to->dim) == 0)
        return failed("%s rows cannot have %zu columns, the dim of %s", type, to->dim, shown(options->from));
    for (int i = 0; i < ARRAYS; i++) {
        c->before[i] = stored_array(i, from->type, from->rows, from->dim, from->group);
        to->array[i] = stored_array(i, to->type, to->rows, to->dim, to->group);
        to->place[i] = (struct place){&c->outputs.out, -1};
    }
    if ((from->extents != NULL ? from->extents->scales : from->scales) == NULL)
        c->before[ARRAY_SCALES].rank = 0;
    if ((from->extents != NULL ? from->extents->zeros : from->zeros) == NULL)
        c->before[ARRAY_ZEROS].rank = 0;
    if (!options->zeros)
        to->array[ARRAY_ZEROS].rank = 0;
    c->copies = keeps_bytes(c);
    if (c->copies && c->before[ARRAY_SCALES].rank == 0 && c->from.factor == 1)
        to->array[ARRAY_SCALES].rank = 0;
    return DONE;
}

static void allocate(struct conversion *c)
{
    static const char what[] = "some rows of the table";
    size_t dim = c->to.dim;
    c->piece_rows = 2 * (PIECE_FLOATS / 2 / dim + 1);
    c->ids = xcalloc(c->piece_rows, sizeof *c->ids, what);
    /* calloc() checks this product. It can overflow only for huge dims. */
    c->values = xcalloc(dim, 2 * c->piece_rows * sizeof *c->values, what);
    for (int i = 0; i < ARRAYS; i++) {
        if (c->to.array[i].rank != 0)
            c->piece[i] = xcalloc(bytes_of_rows(&c->to, i, c->piece_rows), 1, what);
    }
    c->back = c->values + c->piece_rows * dim;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

/* Copies rows [first, first + n) and their scales into the piece. */
static void copy_rows(struct conversion *c, size_t first, size_t n)
{
    const inlay_table *from = &c->from.view;
    const inlay_table_extent whole = {from->data, from->scales, from->zeros, 0};
    const inlay_table_extent *extent = from->extents != NULL ? from->extents : &whole;
    const inlay_table_extent *last = extent + (from->extents != NULL ? from->extent_count - 1 : 0);
    const size_t row_bytes = inlay_table_row_bytes(from->type, from->dim);
    const size_t scale_bytes = bytes_of_rows(&c->to, ARRAY_SCALES, 1);
    for (size_t i = 0; i < n; i++) {
        while (extent < last && extent[1].first_row <= first + i)
            extent++;
        const size_t row = first + i - extent->first_row;
        const char *data = extent->data, *scales = extent->scales;
        memcpy(c->piece[ARRAY_DATA] + i * row_bytes, data + row * from->stride_bytes, row_bytes);
        if (scale_bytes > 0)
            memcpy(c->piece[ARRAY_SCALES] + i * scale_bytes,
                   scales != NULL ? scales + row * scale_bytes : (const char *)&c->from.factor, scale_bytes);
    }
}

/* Writes the ids of rows [first, first + n). */
static void number_rows(struct conversion *c, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c->ids[i] = (int64_t)(first + i);
}

/* Reads rows c->ids [n] of a table, as floats. */
static int read_rows(struct conversion *c, const inlay_table *table, float factor, size_t n, float *values)
{
    return check_status(
        inlay_gather(table, c->ids, INLAY_ID_I64, n, factor, values, table->dim * sizeof *values, NULL, NULL));
}

/* Quantizes `n` rows of values into the piece. */
static inlay_status quantize_rows(struct conversion *c, const float *values, size_t n, inlay_table *view,
                                  double *largest)
{
    inlay_table from = inlay_table_f32(values, n, c->to.dim);
    inlay_table_storage to = inlay_table_storage_of(c->to.type, c->piece[ARRAY_DATA], from.dim);
    to.group = c->to.group;
    to.scales = c->piece[ARRAY_SCALES];
    to.zeros = c->piece[ARRAY_ZEROS];
    return inlay_table_quantize(&from, &to, view, largest);
}

/* Reports the row that the type can't represent. The library's status doesn't identify the row, so each is tried
   alone. */
static int refused(struct conversion *c, size_t first, size_t n)
{
    size_t dim = c->to.dim, row = 0;
    inlay_table view;
    while (row + 1 < n && quantize_rows(c, c->values + row * dim, 1, &view, NULL) == INLAY_OK)
        row++;
    float min = c->values[row * dim], max = min;
    for (size_t i = 0; i < dim; i++) {
        float value = c->values[row * dim + i];
        if (!isfinite(value))
            return failed("row %zu, column %zu is %s, which %s cannot represent", first + row, i,
                          isnan(value) ? "nan" : "infinite", enum_name(ELEMENT_TYPES, (int)c->to.type));
        min = fminf(min, value);
        max = fmaxf(max, value);
    }
    return failed("row %zu, with values from %.9g to %.9g, does not fit in %s%s", first + row, (double)min, (double)max,
                  enum_name(ELEMENT_TYPES, (int)c->to.type),
                  c->to.group != 0 && !c->options.zeros ? " without --zeros" : "");
}

/* Quantizes n rows of values, starting with row `first` of the table, and accumulates the errors. */
static int requantize_rows(struct conversion *c, size_t first, size_t n)
{
    inlay_table view;
    double largest = 0;
    inlay_status status = quantize_rows(c, c->values, n, &view, &largest);
    if (status == INLAY_ERROR_OPTION)
        return refused(c, first, n);
    TRY(check_status(status));
    c->largest = fmax(c->largest, largest);
    number_rows(c, 0, n);
    TRY(read_rows(c, &view, 1, n, c->back));
    for (size_t i = 0; i < n * c->to.dim; i++) {
        double error = (double)c->back[i] - (double)c->values[i];
        /* Infinities and NaNs that the type preserves have no error. */
        c->squares += isfinite(error) ? error * error : 0;
    }
    return DONE;
}

/* Reads rows [first, first + n) of the table: into the piece if rows are copied, otherwise into `values`. */
static int take_rows(struct conversion *c, size_t first, size_t n)
{
    const inlay_table *from = &c->from.view;
    inlay_file_read read = {0};
    int outcome = DONE;
    number_rows(c, first, n);
    model_read_begin(c->from.model.file, from, c->ids, n, &read);
    if (c->copies)
        copy_rows(c, first, n);
    else
        outcome = read_rows(c, from, c->from.factor, n, c->values);
    model_read_end(c->from.model.file, &read);
    return outcome;
}

static int convert_rows(struct conversion *c, size_t first, size_t n)
{
    TRY(take_rows(c, first, n));
    if (!c->copies)
        TRY(requantize_rows(c, first, n));
    for (int i = 0; i < ARRAYS; i++) {
        if (c->piece[i] != NULL)
            TRY(place_write(&c->to.place[i], c->piece[i], bytes_of_rows(&c->to, i, n)));
    }
    return DONE;
}

static int convert(struct conversion *c)
{
    struct progress progress = progress_start("converting");
    int outcome = DONE;
    size_t n, rows = c->to.rows;
    for (size_t first = 0; outcome == DONE && first < rows; first += n) {
        n = rows - first < c->piece_rows ? rows - first : c->piece_rows;
        outcome = convert_rows(c, first, n);
        progress_show(&progress, (double)(first + n) / (double)rows);
    }
    progress_end(&progress);
    TRY(outcome);
    return place_pad(&c->to.place[ARRAY_DATA], array_bytes(&c->to.array[ARRAY_DATA]), c->options.format->alignment);
}

/* ---- The conversion --------------------------------------------------------------------------------------------- */

static double bytes_of(const struct array arrays[ARRAYS])
{
    double bytes = 0;
    for (int i = 0; i < ARRAYS; i++)
        bytes += (double)array_bytes(&arrays[i]);
    return bytes;
}

static void report(const struct conversion *c, FILE *stream)
{
    const inlay_table *from = &c->from.view;
    double elements = (double)from->rows * (double)from->dim;
    fprintf(stream, "table   %s [%zu, %zu], %.0f bytes\n", enum_name(ELEMENT_TYPES, (int)from->type), from->rows,
            from->dim, bytes_of(c->before));
    fprintf(stream, "to      %s, %.0f bytes\n", enum_name(ELEMENT_TYPES, (int)c->to.type), bytes_of(c->to.array));
    fprintf(stream, "error   largest %.6g, root mean square %.6g\n", c->largest,
            elements > 0 ? sqrt(c->squares / elements) : 0);
}

static int run(struct conversion *c)
{
    c->outputs.force = c->options.force;
    TRY(prepare(c));
    TRY(c->options.format->begin(&c->to, &c->outputs));
    allocate(c);
    TRY(convert(c));
    /* The report goes to stderr if the table goes to stdout. */
    FILE *stream = c->outputs.out.stream == stdout ? stderr : stdout;
    TRY(outputs_commit(&c->outputs));
    report(c, stream);
    return DONE;
}

int command_convert(int argc, char **argv)
{
    static struct conversion conversion;
    TRY(convert_options_parse(argc, argv, &conversion.options));
    return run(&conversion);
}
