/* SPDX-License-Identifier: MIT */
/*
 * `inlay table`: rows of sinusoids or of rotary tables, computed a chunk at a time and passed on at once, so that
 * memory does not grow with the table. What is printed is computed row by row on demand.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inlay/inlay.h>

#include "inputs/stored.h"
#include "options/command.h"
#include "options/threads.h"
#include "outputs/output.h"
#include "pictures/plot.h"
#include "table/compare.h"
#include "table/describe.h"
#include "table/frequencies.h"
#include "table/options.h"
#include "table/picture.h"
#include "table/positions.h"
#include "text/message.h"
#include "text/print.h"
#include "text/progress.h"

enum {
    CHUNK_BYTES = 1 << 18, /* for each thread, roughly: large enough for stdio and the generator, and fits its L2 */
    ROTARY_PARTS = 2,      /* a rotary table has cosines, then sines */
    TEXT_BYTES = 512
};

/* All that one run owns. */
struct production {
    struct table_options options;
    struct positions positions;
    struct frequencies frequencies;
    inlay_sinusoid *sinusoid;
    inlay_sinusoid *other; /* of --compare */
    size_t parts;
    size_t columns;
    size_t shape[3]; /* parts, rows, columns; of sinusoids the last two */
    size_t chunk_rows;
    char *chunk;   /* [parts, chunk_rows, columns] of the type */
    float *values; /* [chunk_rows, columns], the chunk's as float32 */
    struct threads threads;
    struct heat heat;
    struct outputs outputs;
};

static void production_free(struct production *p)
{
    outputs_discard(&p->outputs);
    heat_free(&p->heat);
    threads_stop(&p->threads);
    free(p->values);
    free(p->chunk);
    inlay_sinusoid_destroy(p->other);
    inlay_sinusoid_destroy(p->sinusoid);
    numbers_free(&p->frequencies.list);
    numbers_free(&p->positions.list);
}

/* ---- Preparation ------------------------------------------------------------------------------------------------ */

static int make_sinusoid(struct production *p)
{
    inlay_sinusoid_spec spec = p->options.spec;
    spec.inv_freq = p->frequencies.list.values;
    if (p->options.rope)
        spec.amplitude = p->frequencies.attention_factor;
    return check_status(inlay_sinusoid_create(&spec, NULL, &p->sinusoid));
}

static int allocate_chunk(struct production *p)
{
    const struct table_options *options = &p->options;
    bool pairs = options->rope && options->rotary_layout == INLAY_ROTARY_PAIRS;
    p->parts = options->rope ? ROTARY_PARTS : 1;
    p->columns = pairs ? options->spec.dim / 2 : options->spec.dim;
    memcpy(p->shape, (size_t[3]){p->parts, p->positions.n, p->columns}, sizeof p->shape);
    p->chunk_rows = CHUNK_BYTES / sizeof(float) * (size_t)options->threads / p->columns + 1;
    /* calloc checks the products, which overflow only through the columns. */
    p->chunk = calloc(p->columns, p->parts * p->chunk_rows * sizeof(float));
    p->values = calloc(p->columns, p->chunk_rows * sizeof(float));
    return p->chunk != NULL && p->values != NULL ? DONE : out_of_memory("a row", (double)p->columns * sizeof(float));
}

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

/* Rows of all parts are counted through. Returns how many from `row` on lie in one part and fit in the chunk. */
static size_t rows_at(const struct production *p, size_t row)
{
    size_t left = p->positions.n - row % p->positions.n;
    return left < p->chunk_rows ? left : p->chunk_rows;
}

/* Computes rows [row, row + n), n <= rows_at(row), and tells where they are. */
static int make_rows(struct production *p, size_t row, size_t n, const char **made)
{
    inlay_element_type type = p->options.type;
    *made = p->chunk;
    if (!p->options.rope)
        return positions_make(&p->positions, p->sinusoid, row, n, type, p->columns, p->chunk, p->threads.executor);
    size_t rows = p->positions.n, stride = inlay_table_row_bytes(type, p->columns);
    char *sines = p->chunk + p->chunk_rows * stride;
    if (row >= rows)
        *made = sines;
    return check_status(inlay_rotary_rows(p->sinusoid, p->positions.first + (int64_t)(row % rows), n, type,
                                          p->options.rotary_layout, p->chunk, sines, stride, p->threads.executor));
}

static const void *printed_row(void *context, size_t index)
{
    struct production *p = context;
    const char *made;
    /* Cannot fail: positions and spec have been checked. */
    make_rows(p, index, 1, &made);
    return made;
}

/* ---- What becomes of them --------------------------------------------------------------------------------------- */

static int print_table(struct production *p)
{
    size_t rank = p->options.rope ? 3 : 2;
    const struct tensor tensor = {p->options.type, rank, p->shape + 3 - rank, .row = printed_row, .context = p};
    print_tensor(&tensor);
    return DONE;
}

/* Prints one frequency per line, as --inv-freq reads them: 17 digits identify a double. */
static int print_frequencies(struct production *p)
{
    char text[TEXT_BYTES];
    TRY(frequencies_read(&p->options, &p->frequencies));
    describe_rope(&p->options, text, sizeof text);
    printf("# %s\n# attention factor %.17g\n", text, p->frequencies.attention_factor);
    for (size_t i = 0; i < p->frequencies.list.n; i++)
        printf("%.17g\n", p->frequencies.list.values[i]);
    return DONE;
}

static int compare(struct production *p)
{
    const struct table_options *options = &p->options;
    TRY(check_status(inlay_sinusoid_create(&options->other, NULL, &p->other)));
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
    return compare_print(&p->positions, p->columns, p->sinusoid, p->other);
}

/* Makes rows [row, row + n) and passes them on to the outputs. */
static int deliver(struct production *p, size_t row, size_t n)
{
    const char *made;
    TRY(make_rows(p, row, n, &made));
    if (p->outputs.plot.stream != NULL) {
        widen(p->options.type, made, n * p->columns, p->values);
        heat_add(&p->heat, row / p->positions.n, row % p->positions.n, n, p->values);
    }
    if (p->outputs.out.stream != NULL)
        TRY(output_write(&p->outputs.out, made, n * inlay_table_row_bytes(p->options.type, p->columns)));
    return DONE;
}

static int stream(struct production *p)
{
    size_t rank = p->options.rope ? 3 : 2;
    if (p->outputs.plot.stream != NULL)
        TRY(heat_init(&p->heat, p->parts, p->positions.n, p->columns, table_picture_labelled(&p->positions)));
    if (p->outputs.out.stream != NULL)
        TRY(output_npy_header(&p->outputs.out, stored_element(p->options.type), p->shape + 3 - rank, rank));
    struct progress progress = progress_start("computing");
    int outcome = DONE;
    size_t n, rows = p->parts * p->positions.n;
    for (size_t row = 0; outcome == DONE && row < rows; row += n) {
        n = rows_at(p, row);
        outcome = deliver(p, row, n);
        progress_show(&progress, (double)(row + n) / (double)rows);
    }
    progress_end(&progress);
    TRY(outcome);
    if (p->outputs.plot.stream != NULL)
        TRY(table_picture(&p->outputs.plot, &p->options, &p->positions, &p->heat));
    return outputs_commit(&p->outputs);
}

static int run(struct production *p)
{
    const struct table_options *options = &p->options;
    if (options->print_frequencies)
        return print_frequencies(p);
    TRY(positions_read(options->positions, &p->positions));
    if (options->rope && !p->positions.is_range)
        return misused("--rope makes tables of consecutive positions: give --positions as A:B");
    TRY(frequencies_read(options, &p->frequencies));
    /* Behind all inputs and before the work, so that what cannot be written is reported at once. */
    p->outputs.force = options->force;
    TRY(plot_check(options->plot));
    TRY(outputs_open(&p->outputs, options->out, options->plot));
    TRY(make_sinusoid(p));
    TRY(allocate_chunk(p));
    TRY(threads_start(&p->threads, options->threads));
    if (options->compare)
        return compare(p);
    return options->out != NULL || options->plot != NULL ? stream(p) : print_table(p);
}

int command_table(int argc, char **argv)
{
    struct production production = {0};
    int outcome = table_options_parse(argc, argv, &production.options);
    if (outcome == DONE)
        outcome = run(&production);
    production_free(&production);
    return outcome;
}
