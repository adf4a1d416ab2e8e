/* SPDX-License-Identifier: MIT */
/*
 * Makes the rows of tables. A list of positions is always doubles, which can represent every position. If a recipe
 * rounds positions, the library does it.
 */
#include "table/generator.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "text/message.h"
#include "text/progress.h"

/* Approximate size of a chunk per thread: large enough to make stdio and the generator efficient, and small enough for
   L2. */
enum { CHUNK_BYTES = 1 << 18 };

/* The limit of positions with --drift: float32 holds all integers up to here, and measuring in double adds less than
   2e-9. */
#define EXACT_IN_FLOAT (INT64_C(1) << 24)

/* ---- Inputs ----------------------------------------------------------------------------------------------------- */

static int read_range(const char *text, const char *colon, int64_t limit, struct generator *g)
{
    int64_t end;
    if (!number_int64(text, (size_t)(colon - text), &g->first) || !number_int64(colon + 1, strlen(colon + 1), &end))
        return misused("--positions %s must be A:B, two integers", shown(text));
    if (g->first < 0 || g->first >= end || end > limit)
        return misused("--positions %s is not a range of positions: 0 <= A < B <= %" PRId64, shown(text), limit);
    g->is_range = true;
    g->n = (size_t)(end - g->first);
    return DONE;
}

static int read_positions(const struct table_options *options, struct generator *g)
{
    const char *text = options->positions, *colon = strchr(text, ':');
    const int64_t limit = options->drift ? EXACT_IN_FLOAT : INLAY_POSITION_LIMIT;
    const double max = nextafter((double)limit, 0);
    if (colon != NULL && text[0] != '@')
        return read_range(text, colon, limit, g);
    if (text[0] == '\0')
        return misused("--positions '' must be A:B, numbers X,Y,... or a file, @FILE");
    TRY(numbers_read("--positions", text, -max, max, &g->list));
    g->n = g->list.n;
    return options->rope && !options->drift
               ? misused("--rope makes tables of consecutive positions: give --positions as A:B")
               : DONE;
}

/* Reads a list with one number per frequency of the table, if the option was given. */
static int read_list(const char *option, const char *text, double min, double max, const inlay_sinusoid_spec *spec,
                     struct numbers *list)
{
    const size_t frequencies = (spec->dim + (spec->odd == INLAY_SINUSOID_ODD_FORMULA)) / 2;
    if (text == NULL)
        return DONE;
    TRY(numbers_read(option, text, min, max, list));
    return list->n == frequencies ? DONE
                                  : failed("%s %s has %zu numbers, but --dim %zu needs %zu", option, shown(text),
                                           list->n, spec->dim, frequencies);
}

/* Computes the frequencies of --rope. */
static int compute_frequencies(struct generator *g)
{
    inlay_rotary_spec spec = g->options->rotary;
    struct numbers *list = &g->frequencies;
    spec.short_factors = g->short_factors.values;
    spec.long_factors = g->long_factors.values;
    list->n = spec.dim / 2;
    list->values = xcalloc(list->n, sizeof *list->values, "the frequencies");
    return check_status(inlay_rotary_frequencies(&spec, list->values, &g->attention_factor));
}

int generator_read(const struct table_options *options, struct generator *g)
{
    const inlay_sinusoid_spec *spec = &options->spec;
    g->options = options;
    if (options->positions != NULL)
        TRY(read_positions(options, g));
    TRY(read_list("--inv-freq", options->inv_freq, 0, 0x1p31, spec, &g->frequencies));
    TRY(read_list("--short-factors", options->short_factors, 0x1p-20, 0x1p20, spec, &g->short_factors));
    TRY(read_list("--long-factors", options->long_factors, 0x1p-20, 0x1p20, spec, &g->long_factors));
    return options->rope ? compute_frequencies(g) : DONE;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

int generator_start(struct generator *g)
{
    const struct table_options *options = g->options;
    inlay_sinusoid_spec spec = options->spec;
    spec.inv_freq = g->frequencies.values;
    if (options->rope)
        spec.amplitude = g->attention_factor;
    TRY(check_status(inlay_sinusoid_create(&spec, NULL, &g->sinusoid)));
    if (options->compare)
        TRY(check_status(inlay_sinusoid_create(&options->other, NULL, &g->other)));

    const bool pairs = options->rope && options->rotary_layout == INLAY_ROTARY_PAIRS;
    const size_t columns = g->columns = pairs ? spec.dim / 2 : spec.dim;
    const size_t shape[] = {2, g->n, columns};
    g->rank = options->rope ? 3 : 2;
    memcpy(g->shape, shape + 3 - g->rank, g->rank * sizeof *g->shape);
    g->row_bytes = inlay_table_row_bytes(options->type, columns);
    g->chunk_rows = CHUNK_BYTES / sizeof(float) * (size_t)options->threads / columns + 1;
    /* This product overflows only if there are too many columns. */
    for (int i = 0; i < (options->rope || options->compare ? 2 : 1); i++)
        g->chunk[i] = xcalloc(columns, g->chunk_rows * sizeof(float), "some rows");
    return threads_start(options->threads, &g->executor);
}

double generator_position(const struct generator *g, size_t row)
{
    return g->is_range ? (double)g->first + (double)row : g->list.values[row];
}

/* Makes rows of a sinusoid. */
static inlay_status make_sines(const struct generator *g, const inlay_sinusoid *sinusoid, size_t row, size_t n,
                               void *out)
{
    const inlay_element_type type = g->options->type;
    if (g->is_range)
        return inlay_sinusoid_rows(sinusoid, g->first + (int64_t)row, n, type, out, g->row_bytes, g->executor);
    return inlay_sinusoid_at(sinusoid, g->list.values + row, INLAY_POSITION_F64, n, type, out, g->row_bytes,
                             g->executor, NULL);
}

int generator_make(struct generator *g, size_t row, size_t n)
{
    const struct table_options *options = g->options;
    if (options->rope)
        return check_status(inlay_rotary_rows(g->sinusoid, g->first + (int64_t)row, n, options->type,
                                              options->rotary_layout, g->chunk[0], g->chunk[1], g->row_bytes,
                                              g->executor));
    TRY(check_status(make_sines(g, g->sinusoid, row, n, g->chunk[0])));
    return g->other == NULL ? DONE : check_status(make_sines(g, g->other, row, n, g->chunk[1]));
}

int generator_run(struct generator *g, size_t tables, const char *what,
                  int (*take)(void *context, size_t table, size_t row, size_t n), void *context)
{
    struct progress progress = progress_start(what);
    const size_t all = tables * g->n;
    int outcome = DONE;
    for (size_t n, done = 0; outcome == DONE && done < all; done += n) {
        const size_t table = done / g->n, row = done % g->n, left = g->n - row;
        n = left < g->chunk_rows ? left : g->chunk_rows;
        outcome = generator_make(g, row, n);
        if (outcome == DONE)
            outcome = take(context, table, row, n);
        progress_show(&progress, (double)(done + n) / (double)all);
    }
    progress_end(&progress);
    return outcome;
}
