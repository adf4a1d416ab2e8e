/* SPDX-License-Identifier: MIT */
/*
 * `inlay table`: makes rows of sinusoids or rotary tables, and outputs them. Printed rows are computed on demand.
 */
#include <stdio.h>

#include <inlay/inlay.h>

#include "inputs/stored.h"
#include "options/command.h"
#include "outputs/output.h"
#include "pictures/plot.h"
#include "table/compare.h"
#include "table/describe.h"
#include "table/drift.h"
#include "table/generator.h"
#include "table/options.h"
#include "text/message.h"
#include "text/names.h"
#include "text/print.h"

/* The state of a run. Lives as long as the process. */
struct production {
    struct table_options options;
    struct generator generator;
    struct heat heat;
    float *values; /* [chunk_rows, columns], of a chunk, for the heat */
    struct outputs outputs;
};

/* ---- Printed ---------------------------------------------------------------------------------------------------- */

static const void *printed_row(void *context, size_t index)
{
    struct generator *g = context;
    /* Can't fail: positions and spec are already checked. */
    generator_make(g, index % g->n, 1);
    return g->chunk[index / g->n];
}

/* Prints one frequency per line, in the format that --inv-freq reads. 17 digits identify a double. */
static int print_frequencies(const struct generator *g)
{
    char text[DESCRIPTION_BYTES] = "";
    describe_rope(g->options, text);
    printf("# %s\n# attention factor %.17g\n", text, g->attention_factor);
    for (size_t i = 0; i < g->frequencies.n; i++)
        printf("%.17g\n", g->frequencies.values[i]);
    return DONE;
}

/* ---- Written and drawn ------------------------------------------------------------------------------------------ */

/* Passes rows to the outputs. */
static int deliver(void *context, size_t table, size_t row, size_t n)
{
    struct production *p = context;
    const void *made = p->generator.chunk[table];
    if (p->outputs.plot.stream != NULL) {
        widen(p->options.type, made, n * p->generator.columns, p->values);
        heat_add(&p->heat, table, row, n, p->values);
    }
    return p->outputs.out.stream != NULL ? output_write(&p->outputs.out, made, n * p->generator.row_bytes) : DONE;
}

static const char *position_label(const void *context, size_t panel, size_t row)
{
    static char label[32];
    (void)panel;
    snprintf(label, sizeof label, "%.10g", generator_position(context, row));
    return label;
}

static int draw(struct production *p)
{
    static const char *const panels[] = {"cosines", "sines"};
    const struct table_options *options = &p->options;
    const struct generator *g = &p->generator;
    char title[DESCRIPTION_BYTES], subtitle[DESCRIPTION_BYTES] = "";
    snprintf(title, sizeof title, "inlay table: %s [%s%zu, %zu]", enum_name(TYPES, options->type),
             options->rope ? "2, " : "", g->n, g->columns);
    describe_positions(g, subtitle);
    append(subtitle, sizeof subtitle, "; ");
    if (options->rope)
        describe_rope(options, subtitle);
    else
        describe_sinusoid(&options->spec, options->inv_freq, subtitle);
    const struct plot plot = {
        .heat = &p->heat,
        .title = title,
        .subtitle = subtitle,
        .row_name = g->is_range || p->heat.labeled ? "position" : "place in the list of positions",
        .first_row = g->first,
        .panel_names = panels,
        .label = position_label,
        .context = g,
    };
    return plot_write(&p->outputs.plot, &plot);
}

static int stream(struct production *p)
{
    struct generator *g = &p->generator;
    const size_t tables = p->options.rope ? 2 : 1;
    if (p->outputs.plot.stream != NULL) {
        /* In a short list, each row is labeled with its position. */
        heat_init(&p->heat, tables, g->n, g->columns, !g->is_range && g->n <= HEAT_LABELED);
        p->values = xcalloc(g->columns, g->chunk_rows * sizeof *p->values, "some rows");
    }
    if (p->outputs.out.stream != NULL)
        TRY(output_npy_header(&p->outputs.out, stored_element(p->options.type), g->shape, g->rank));
    TRY(generator_run(g, tables, "computing", deliver, p));
    if (p->outputs.plot.stream != NULL)
        TRY(draw(p));
    return outputs_commit(&p->outputs);
}

static int run(struct production *p)
{
    const struct table_options *options = &p->options;
    struct generator *g = &p->generator;
    TRY(generator_read(options, g));
    if (options->print_frequencies)
        return print_frequencies(g);
    if (options->drift)
        return drift_print(g);
    /* Open outputs after all inputs are read, but before the work, to report unwritable outputs early. */
    p->outputs.force = options->force;
    TRY(plot_check(options->plot));
    TRY(outputs_open(&p->outputs, options->out, options->plot));
    TRY(generator_start(g));
    if (options->compare)
        return compare_print(g);
    if (options->out != NULL || options->plot != NULL)
        return stream(p);
    const struct tensor tensor = {options->type, g->rank, g->shape, .row = printed_row, .context = g};
    print_tensor(&tensor);
    return DONE;
}

int command_table(int argc, char **argv)
{
    static struct production production;
    TRY(table_options_parse(argc, argv, &production.options));
    return run(&production);
}
