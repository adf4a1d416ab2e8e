/* SPDX-License-Identifier: MIT */
/*
 * `inlay table`: rows of sinusoids or of rotary tables, made a chunk at a time and handed on at once, so that memory
 * does not grow with the table. What is printed is made row by row on demand.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <inlay/inlay.h>

#include "command.h"
#include "compare.h"
#include "describe.h"
#include "message.h"
#include "names.h"
#include "numbers.h"
#include "output.h"
#include "plot.h"
#include "positions.h"
#include "print.h"
#include "progress.h"
#include "rope.h"
#include "save.h"
#include "table_help.h"
#include "table_options.h"
#include "table_picture.h"
#include "threads.h"
#include "widen.h"

enum {
    CHUNK_BYTES = 1 << 18, /* of a thread, roughly: large enough for stdio and the generator, and fits its L2 cache */
    PARTS = 2,             /* a rotary table has cosines, then sines */
    TEXT_BYTES = 512
};

/* All that one run owns. */
struct production {
    struct table_options options;
    struct positions positions;
    struct numbers frequencies; /* of --inv-freq or --rope */
    double attention_factor;    /* of --rope */
    inlay_sinusoid *sinusoid;
    inlay_sinusoid *other; /* of --compare */
    size_t parts;
    size_t columns;
    size_t chunk_rows;
    char *chunk;   /* [parts, chunk_rows, columns] of the type */
    float *values; /* [chunk_rows, columns], the chunk's as float32 */
    struct threads threads;
    struct heat heat;
    struct output out;
    struct output plot;
};

static size_t rows_of(const struct production *p)
{
    return p->positions.n;
}

/* ---- Preparation ------------------------------------------------------------------------------------------------ */

static int read_positions(struct production *p)
{
    int outcome = positions_read(p->options.positions, &p->positions);
    if (outcome == DONE && p->options.rope && !p->positions.is_range)
        outcome = misused("--rope makes tables of consecutive positions: give --positions as A:B");
    return outcome;
}

/* Reads or computes the frequencies where the options give them. */
static int prepare_frequencies(struct production *p)
{
    const struct table_options *options = &p->options;
    const inlay_sinusoid_spec *spec = &options->spec;
    if (options->rope)
        return rope_frequencies(&options->rope_options, spec->dim, spec->base, &p->frequencies, &p->attention_factor);
    if (options->inv_freq == NULL)
        return DONE;
    int outcome = numbers_read("--inv-freq", options->inv_freq, 0, 0x1p31, &p->frequencies);
    size_t pairs = spec->dim / 2 + (spec->odd == INLAY_SINUSOID_ODD_FORMULA ? spec->dim % 2 : 0);
    if (outcome == DONE && p->frequencies.n != pairs)
        outcome = failed("--inv-freq %s has %zu frequencies, and the columns of --dim %zu need %zu",
                         shown(options->inv_freq), p->frequencies.n, spec->dim, pairs);
    return outcome;
}

static int make_sinusoid(const inlay_sinusoid_spec *spec, inlay_sinusoid **sinusoid)
{
    inlay_status status = inlay_sinusoid_create(spec, NULL, sinusoid);
    return status == INLAY_OK ? DONE : failed("%s", inlay_status_string(status));
}

static int prepare_sinusoid(struct production *p)
{
    inlay_sinusoid_spec spec = p->options.spec;
    spec.inv_freq = p->frequencies.values;
    if (p->options.rope)
        spec.amplitude = p->attention_factor;
    return make_sinusoid(&spec, &p->sinusoid);
}

static int prepare_chunk(struct production *p)
{
    const struct table_options *options = &p->options;
    bool pairs = options->rope && options->rope_options.layout == INLAY_ROTARY_PAIRS;
    p->parts = options->rope ? PARTS : 1;
    p->columns = pairs ? options->spec.dim / 2 : options->spec.dim;
    size_t row_bytes;
    if (!__builtin_mul_overflow(p->columns, sizeof *p->values, &row_bytes)) {
        size_t bytes = CHUNK_BYTES * (size_t)p->options.threads;
        p->chunk_rows = row_bytes < bytes ? bytes / row_bytes : 1;
        p->chunk = calloc(p->parts * p->chunk_rows, row_bytes);
        p->values = calloc(p->chunk_rows, row_bytes);
    }
    return p->chunk != NULL && p->values != NULL ? DONE : out_of_memory("a row", (double)p->columns * sizeof(float));
}

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

/* The rows of all parts are numbered through. As many as this lie in one part and fit in the chunk. */
static size_t rows_at(const struct production *p, size_t row)
{
    size_t left = rows_of(p) - row % rows_of(p);
    return left < p->chunk_rows ? left : p->chunk_rows;
}

/* Makes rows [row, row + n), n <= rows_at(row), and tells where they are. */
static int make_rows(struct production *p, size_t row, size_t n, const char **made)
{
    inlay_element_type type = p->options.type;
    *made = p->chunk;
    if (!p->options.rope)
        return positions_make(&p->positions, p->sinusoid, row, n, type, p->columns, p->chunk, p->threads.executor);
    size_t stride = p->columns * type_bytes(type);
    char *sines = p->chunk + p->chunk_rows * stride;
    if (row >= rows_of(p))
        *made = sines;
    inlay_status status =
        inlay_rotary_rows(p->sinusoid, p->positions.first + (int64_t)(row % rows_of(p)), n, type,
                          p->options.rope_options.layout, p->chunk, sines, stride, p->threads.executor);
    return status == INLAY_OK ? DONE : failed("%s", inlay_status_string(status));
}

static const float *printed_row(void *context, size_t index)
{
    struct production *p = context;
    const char *made;
    /* Cannot fail: positions and spec have been checked. */
    make_rows(p, index, 1, &made);
    widen(p->options.type, made, p->columns, p->values);
    return p->values;
}

/* ---- What becomes of them --------------------------------------------------------------------------------------- */

static int print_table(struct production *p)
{
    const char *type = type_name(p->options.type);
    struct tensor sinusoids = {type, 2, {rows_of(p), p->columns, 0}, printed_row, p};
    struct tensor rotary = {type, 3, {PARTS, rows_of(p), p->columns}, printed_row, p};
    print_tensor(stdout, p->options.rope ? &rotary : &sinusoids);
    return DONE;
}

/* One a line, so that --inv-freq can read it: 17 digits give a double back. */
static int print_frequencies(const struct production *p)
{
    char text[TEXT_BYTES];
    describe_rope(&p->options.rope_options, p->options.spec.base, text, sizeof text);
    printf("# %s\n# attention factor %.17g\n", text, p->attention_factor);
    for (size_t i = 0; i < p->frequencies.n; i++)
        printf("%.17g\n", p->frequencies.values[i]);
    return DONE;
}

static int compare(struct production *p)
{
    const struct table_options *options = &p->options;
    int outcome = make_sinusoid(&options->other, &p->other);
    if (outcome != DONE)
        return outcome;
    char text[TEXT_BYTES];
    describe_sinusoid(&options->spec, options->inv_freq, text, sizeof text);
    printf("first     %s\n", text);
    describe_sinusoid(&options->other, NULL, text, sizeof text);
    printf("second    %s\n", text);
    positions_describe(&p->positions, text, sizeof text);
    printf("rows      %s\ncolumns   %zu\n", text, p->columns);
    printf("distance  |first - second|, and in float32 ULP of first\n");
    if (options->inv_freq == NULL && describe_difference(&options->spec, &options->other, text, sizeof text))
        printf("note      %s\n", text);
    putchar('\n');
    struct comparison comparison = {&p->positions, p->columns, p->sinusoid, p->other};
    return compare_print(stdout, &comparison);
}

static int start_file(struct production *p)
{
    bool rope = p->options.rope;
    size_t shape[3] = {PARTS, rows_of(p), p->columns};
    return save_header(&p->out, p->options.type, rope ? shape : shape + 1, rope ? 3 : 2);
}

/* Hands rows [row, row + n) to whoever wants them. */
static int deliver(struct production *p, size_t row, size_t n, const char *made)
{
    if (p->plot.stream != NULL) {
        widen(p->options.type, made, n * p->columns, p->values);
        heat_add(&p->heat, row / rows_of(p), row % rows_of(p), n, p->values);
    }
    return p->out.stream != NULL ? save_values(&p->out, p->options.type, made, n * p->columns) : DONE;
}

static int stream(struct production *p)
{
    const struct table_options *options = &p->options;
    int outcome = p->plot.stream != NULL ? table_picture_start(&p->heat, p->parts, p->columns, &p->positions) : DONE;
    if (outcome == DONE && p->out.stream != NULL)
        outcome = start_file(p);

    struct progress progress;
    progress_start(&progress);
    size_t n, rows = p->parts * rows_of(p);
    for (size_t row = 0; outcome == DONE && row < rows; row += n) {
        const char *made;
        n = rows_at(p, row);
        outcome = make_rows(p, row, n, &made);
        if (outcome == DONE)
            outcome = deliver(p, row, n, made);
        progress_show(&progress, (double)(row + n) / (double)rows);
    }
    progress_end(&progress);
    if (outcome == DONE && p->plot.stream != NULL)
        outcome = table_picture(&p->plot, options, &p->positions, &p->heat);
    if (outcome == DONE)
        outcome = output_commit(&p->out);
    return outcome == DONE ? output_commit(&p->plot) : outcome;
}

/* Opens the outputs first: whoever mistypes a directory should not learn it after the work. */
static int open_outputs(struct production *p)
{
    const struct table_options *options = &p->options;
    int outcome = save_plot_check(options->plot);
    if (outcome == DONE && options->out != NULL)
        outcome = output_open(&p->out, "--out", options->out);
    if (outcome == DONE && options->plot != NULL)
        outcome = output_open(&p->plot, "--plot", options->plot);
    return outcome == DONE ? output_distinct(&p->out, &p->plot) : outcome;
}

static int run(struct production *p)
{
    const struct table_options *options = &p->options;
    int outcome = options->print_frequencies ? DONE : read_positions(p);
    if (outcome == DONE)
        outcome = open_outputs(p);
    if (outcome == DONE)
        outcome = prepare_frequencies(p);
    if (outcome == DONE && options->print_frequencies)
        return print_frequencies(p);
    if (outcome == DONE)
        outcome = prepare_sinusoid(p);
    if (outcome == DONE)
        outcome = prepare_chunk(p);
    if (outcome == DONE)
        outcome = threads_start(&p->threads, options->threads);
    if (outcome != DONE)
        return outcome;
    if (options->compare)
        return compare(p);
    return options->out != NULL || options->plot != NULL ? stream(p) : print_table(p);
}

int command_table(int argc, char **argv)
{
    struct production production = {0};
    int outcome = table_options_parse(argc, argv, &production.options);
    if (outcome == DONE && production.options.help)
        table_help();
    else if (outcome == DONE)
        outcome = run(&production);
    output_discard(&production.out);
    output_discard(&production.plot);
    heat_free(&production.heat);
    threads_stop(&production.threads);
    free(production.values);
    free(production.chunk);
    inlay_sinusoid_destroy(production.other);
    inlay_sinusoid_destroy(production.sinusoid);
    numbers_free(&production.frequencies);
    positions_free(&production.positions);
    return outcome;
}
