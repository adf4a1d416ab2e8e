/* SPDX-License-Identifier: MIT */
/*
 * `inlay table`: rows of sinusoids, made a chunk at a time and handed on at once, so that memory does not grow with
 * the table. What is printed is made row by row on demand.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inlay/inlay.h>

#include "command.h"
#include "message.h"
#include "names.h"
#include "number.h"
#include "options.h"
#include "output.h"
#include "plot.h"
#include "print.h"
#include "progress.h"
#include "save.h"

static const char help[] = "Usage: inlay table --dim D --positions A:B [option ...]\n"
                           "\n"
                           "Computes the sinusoids of positions A to B - 1, 0 <= A < B <= 2147483648, as a\n"
                           "table [B - A, D] and prints it, unless --out or --plot says where it goes.\n"
                           "\n"
                           "  --dim D              columns\n"
                           "  --positions A:B      rows [A, B)\n"
                           "  --base X             base of the sinusoids, 1 to 1e30 (default: 10000)\n"
                           "  --layout interleaved|split|split-cos-first\n"
                           "                       columns sin, cos, sin, cos, ... (default), all sines,\n"
                           "                       then all cosines, or all cosines, then all sines\n"
                           "  --out FILE.npy       write float32 [B - A, D]; - is standard output\n"
                           "  --plot FILE.png      draw a heat map\n"
                           "  --help               print this\n";

enum {
    OPTION_DIM = OPTION_FIRST,
    OPTION_POSITIONS,
    OPTION_BASE,
    OPTION_LAYOUT,
    OPTION_OUT,
    OPTION_PLOT,
};

static const struct option long_options[] = {
    {"dim", required_argument, NULL, OPTION_DIM},   {"positions", required_argument, NULL, OPTION_POSITIONS},
    {"base", required_argument, NULL, OPTION_BASE}, {"layout", required_argument, NULL, OPTION_LAYOUT},
    {"out", required_argument, NULL, OPTION_OUT},   {"plot", required_argument, NULL, OPTION_PLOT},
    {"help", no_argument, NULL, OPTION_HELP},       {NULL, 0, NULL, 0},
};

/* Bytes of a chunk, roughly: large enough for stdio and the generator, small enough for the L2 cache. */
enum { CHUNK_BYTES = 1 << 18 };

struct table_options {
    bool help;
    int64_t dim;
    int64_t first;
    int64_t end; /* 0: not given */
    double base;
    inlay_layout layout;
    const char *out;
    const char *plot;
};

/* All that one run owns. */
struct production {
    struct table_options options;
    size_t rows;
    size_t dim;
    size_t chunk_rows;
    inlay_sinusoid *sinusoid;
    float *chunk; /* [chunk_rows, dim] */
    struct heat heat;
    struct output out;
    struct output plot;
};

static int parse_range(const char *text, struct table_options *options)
{
    const char *colon = strchr(text, ':');
    if (colon == NULL || !number_int64(text, (size_t)(colon - text), &options->first) ||
        !number_int64(colon + 1, strlen(colon + 1), &options->end))
        return misused("--positions %s is not A:B, two integers", shown(text));
    if (options->first < 0 || options->first >= options->end || options->end > INLAY_POSITION_LIMIT)
        return misused("--positions %s is no range of positions: 0 <= A < B <= %" PRId64, shown(text),
                       INLAY_POSITION_LIMIT);
    return DONE;
}

static int parse_option(struct table_options *options, int option, const char *text)
{
    switch (option) {
    case OPTION_DIM:
        return option_int64("--dim", text, 1, INT32_MAX, &options->dim);
    case OPTION_POSITIONS:
        return parse_range(text, options);
    case OPTION_BASE:
        return option_double("--base", text, 1, 1e30, &options->base);
    case OPTION_LAYOUT:
        return option_layout(text, &options->layout);
    case OPTION_OUT:
        options->out = text;
        return DONE;
    case OPTION_PLOT:
        options->plot = text;
        return DONE;
    default:
        options->help = true;
        return DONE;
    }
}

static int parse(int argc, char **argv, struct table_options *options)
{
    *options = (struct table_options){.base = 10000, .layout = INLAY_LAYOUT_INTERLEAVED};
    options_start();
    int option;
    while (!options->help && (option = options_next(argc, argv, long_options)) != OPTION_END) {
        int outcome = option == OPTION_BAD ? MISUSED : parse_option(options, option, optarg);
        if (outcome != DONE)
            return outcome;
    }
    if (options->help)
        return DONE;
    if (options->dim == 0)
        return misused("--dim is missing: give the number of columns");
    if (options->end == 0)
        return misused("--positions is missing: give the rows as A:B");
    return DONE;
}

/* Makes rows [row, row + n) of the table into the chunk. */
static int make_rows(struct production *p, size_t row, size_t n)
{
    inlay_status status = inlay_sinusoid_rows(p->sinusoid, p->options.first + (int64_t)row, n, INLAY_F32, p->chunk,
                                              p->dim * sizeof *p->chunk);
    return status == INLAY_OK ? DONE : failed("%s", inlay_status_string(status));
}

static const float *printed_row(void *context, size_t index)
{
    struct production *p = context;
    /* Cannot fail: the range and the spec have been checked. */
    make_rows(p, index, 1);
    return p->chunk;
}

static int draw(struct production *p, const struct plot_layout *layout)
{
    const struct table_options *options = &p->options;
    char title[128];
    char subtitle[256];
    snprintf(title, sizeof title, "inlay table: float32 [%zu, %zu]", p->rows, p->dim);
    int size = snprintf(subtitle, sizeof subtitle, "sinusoids of positions %" PRId64 ":%" PRId64 ", base %g, %s",
                        options->first, options->end, options->base, layout_name(options->layout));
    if (layout->row_step * layout->column_step > 1)
        snprintf(subtitle + size, sizeof subtitle - (size_t)size, "; each cell is the mean of %zu x %zu values",
                 layout->row_step, layout->column_step);
    struct plot plot = {*layout, title, subtitle, "position", options->first, &p->heat, NULL};
    return save_plot(&p->plot, &plot);
}

static int stream(struct production *p)
{
    struct plot_layout layout = {0};
    int outcome = DONE;
    if (p->plot.stream != NULL) {
        layout = plot_layout_for(1, p->rows, p->dim, false);
        if (!heat_init(&p->heat, p->rows, p->dim, layout.row_step, layout.column_step))
            return failed("there is not enough memory for a picture");
    }
    if (p->out.stream != NULL)
        outcome = save_header(&p->out, INLAY_F32, (size_t[]){p->rows, p->dim}, 2);

    struct progress progress;
    progress_start(&progress);
    for (size_t row = 0; outcome == DONE && row < p->rows; row += p->chunk_rows) {
        size_t n = p->rows - row < p->chunk_rows ? p->rows - row : p->chunk_rows;
        outcome = make_rows(p, row, n);
        if (outcome == DONE && p->plot.stream != NULL)
            heat_add(&p->heat, row, n, p->chunk);
        if (outcome == DONE && p->out.stream != NULL)
            outcome = save_values(&p->out, INLAY_F32, p->chunk, n * p->dim);
        progress_show(&progress, (double)(row + n) / (double)p->rows);
    }
    progress_end(&progress);
    if (outcome == DONE && p->plot.stream != NULL)
        outcome = draw(p, &layout);
    if (outcome == DONE)
        outcome = output_commit(&p->out);
    return outcome == DONE ? output_commit(&p->plot) : outcome;
}

static int prepare(struct production *p)
{
    const struct table_options *options = &p->options;
    p->rows = (size_t)(options->end - options->first);
    p->dim = (size_t)options->dim;
    size_t row_bytes;
    if (!__builtin_mul_overflow(p->dim, sizeof *p->chunk, &row_bytes)) {
        p->chunk_rows = row_bytes < CHUNK_BYTES ? CHUNK_BYTES / row_bytes : 1;
        p->chunk = calloc(p->chunk_rows, row_bytes);
    }
    if (p->chunk == NULL)
        return out_of_memory("a row", (double)p->dim * sizeof *p->chunk);

    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(p->dim);
    spec.base = options->base;
    spec.layout = options->layout;
    inlay_status status = inlay_sinusoid_create(&spec, NULL, &p->sinusoid);
    return status == INLAY_OK ? DONE : failed("%s", inlay_status_string(status));
}

static int run(struct production *p)
{
    const struct table_options *options = &p->options;
    int outcome = save_plot_check(options->plot);
    if (outcome == DONE && options->out != NULL)
        outcome = output_open(&p->out, "--out", options->out);
    if (outcome == DONE && options->plot != NULL)
        outcome = output_open(&p->plot, "--plot", options->plot);
    if (outcome == DONE)
        outcome = output_distinct(&p->out, &p->plot);
    if (outcome == DONE)
        outcome = prepare(p);
    if (outcome != DONE)
        return outcome;
    if (options->out != NULL || options->plot != NULL)
        return stream(p);
    struct tensor tensor = {"float32", 2, {p->rows, p->dim, 0}, printed_row, p};
    print_tensor(stdout, &tensor);
    return DONE;
}

int command_table(int argc, char **argv)
{
    struct production production = {0};
    int outcome = parse(argc, argv, &production.options);
    if (outcome == DONE && production.options.help)
        fputs(help, stdout);
    else if (outcome == DONE)
        outcome = run(&production);
    output_discard(&production.out);
    output_discard(&production.plot);
    heat_free(&production.heat);
    free(production.chunk);
    inlay_sinusoid_destroy(production.sinusoid);
    return outcome;
}
