/* SPDX-License-Identifier: MIT */
/*
 * `inlay ngram`: reads a spec, sequences and their histories, and writes the row ids or rows of their n-grams. The
 * state is one struct that lives as long as the process.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inlay/inlay.h>

#include "inputs/ids.h"
#include "inputs/model_file.h"
#include "inputs/stored.h"
#include "inputs/weights.h"
#include "ngram/options.h"
#include "ngram/spec.h"
#include "options/command.h"
#include "options/threads.h"
#include "outputs/output.h"
#include "outputs/result.h"
#include "text/message.h"

enum { DEFAULT_DIM = 64 };

/* The state of a run. */
struct hashing {
    struct ngram_options options;
    struct ngram_spec file; /* for a model, only spec and tables are set; the result includes the columns */
    struct model model;
    struct id_lists sequences;
    struct id_lists histories; /* as given by the options */
    int64_t *history;          /* [sequences, N - 1] */
    uint32_t *history_lengths;
    inlay_ngram_batch batch;
    size_t tokens;
    inlay_ngram *ngram;
    struct weights *weights; /* [tables] */
    const inlay_table **tables;
    size_t dim;
    const inlay_executor *executor; /* null: one thread */
    struct result row_ids;          /* [tokens, columns] */
    struct result rows;             /* [tokens, columns, dim], or summed: [tokens, dim] */
    struct outputs outputs;
};

/* ---- Spec and input --------------------------------------------------------------------------------------------- */

static int read_spec(struct hashing *h)
{
    const struct ngram_options *options = &h->options;
    inlay_ngram_spec *spec = &h->file.spec;
    if (options->is_model) {
        TRY(model_ngram_open(options->spec, options->layer, &h->model));
        *spec = *h->model.ngram;
        h->file.tables = h->model.count;
    } else {
        TRY(ngram_spec_read(options->spec, &h->file));
    }
    if (options->token_map != NULL)
        TRY(ngram_spec_map(options->token_map, &h->file));
    else if (h->file.map_required)
        return failed("%s has no token map, but its rows depend on one: give --token-map", shown(options->spec));
    if (options->end_column > (int64_t)spec->column_count)
        return failed("--columns %" PRId64 ":%" PRId64 " is past the last column: %s has %zu", options->first_column,
                      options->end_column, shown(options->spec), spec->column_count);
    if (options->end_column != 0) {
        spec->columns += options->first_column;
        spec->column_count = (size_t)(options->end_column - options->first_column);
    }
    return check_status(inlay_ngram_create(spec, NULL, &h->ngram));
}

static int read_sequences(struct hashing *h)
{
    const struct ngram_options *options = &h->options;
    for (size_t i = 0; i < options->sequences; i++) {
        const char *ids = options->given[i].ids;
        TRY(options->given[i].is_file ? id_lists_add_file(&h->sequences, "--ids-file", ids)
                                      : id_lists_add(&h->sequences, "--ids", NULL, ids, strlen(ids)));
    }
    h->tokens = (size_t)h->sequences.offsets[options->sequences];
    h->batch = inlay_ngram_batch_ragged(h->sequences.ids, INLAY_ID_I64, h->sequences.offsets, options->sequences);
    return DONE;
}

/* Lays out histories as the library takes them: one row per sequence, right-aligned. */
static int read_histories(struct hashing *h)
{
    const struct ngram_options *options = &h->options;
    const size_t n = options->histories, max = h->file.spec.length - 1;
    if (n == 0)
        return DONE;
    h->batch.history = h->history = xcalloc(n, max * sizeof *h->history, "the histories");
    h->batch.history_lengths = h->history_lengths = xcalloc(n, sizeof *h->history_lengths, "the histories");
    for (size_t i = 0; i < n; i++) {
        const char *ids = options->given[i].history;
        TRY(id_lists_add(&h->histories, "--history", NULL, ids, strlen(ids)));
        size_t length = id_list_length(&h->histories, i);
        if (length > max)
            return failed("--history %s has %zu ids, but the n-grams of %s use at most %zu before a token", shown(ids),
                          length, shown(options->spec), max);
        h->history_lengths[i] = (uint32_t)length;
        memcpy(h->history + (i + 1) * max - length, h->histories.ids + h->histories.offsets[i],
               length * sizeof *h->history);
    }
    return DONE;
}

/* Reports why the library rejected the call. */
static int refused(const struct hashing *h, inlay_status status, const inlay_fault *fault)
{
    size_t vocab = h->file.spec.vocab;
    if (status == INLAY_ERROR_ID)
        return failed("ids[%zu][%zu] = %" PRId64 " is not in the vocabulary of %s: ids run from 0 to %zu",
                      fault->sequence, fault->token, fault->value, shown(h->options.spec), vocab - 1);
    if (status == INLAY_ERROR_HISTORY)
        return failed("the history of sequence %zu has %" PRId64 ", which is not in the vocabulary of %s: ids run from "
                      "0 to %zu",
                      fault->sequence, fault->value, shown(h->options.spec), vocab - 1);
    return check_fault(status, fault);
}

/* ---- Row ids ---------------------------------------------------------------------------------------------------- */

static int make_row_ids(struct hashing *h)
{
    const size_t columns = h->file.spec.column_count;
    inlay_fault fault = {0};
    h->row_ids = (struct result){NPY_I8, 2, {h->tokens, columns}, 0, NULL};
    result_allocate(&h->row_ids, "the row ids");
    inlay_status status = inlay_ngram_ids(h->ngram, &h->batch, 0, columns, INLAY_ID_I64, h->row_ids.elements,
                                          columns * sizeof(int64_t), h->executor, &fault);
    return status == INLAY_OK ? DONE : refused(h, status, &fault);
}

/* Prints one line per token. */
static void print_row_ids(const struct hashing *h)
{
    const int64_t *row_id = h->row_ids.elements;
    for (size_t t = 0; t < h->tokens; t++) {
        for (size_t c = 0; c < h->file.spec.column_count; c++)
            printf(c == 0 ? "%" PRId64 : " %" PRId64, *row_id++);
        putchar('\n');
    }
}

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

/* Returns the number of rows that the columns require of a table. */
static size_t rows_needed(const inlay_ngram_spec *spec, size_t table)
{
    uint64_t rows = 0;
    for (size_t c = 0; c < spec->column_count; c++) {
        uint64_t end = spec->columns[c].offset + spec->columns[c].modulus;
        if (spec->columns[c].table == table && end > rows)
            rows = end;
    }
    return rows < SIZE_MAX ? (size_t)rows : SIZE_MAX;
}

/* Makes a random table. Fills only the rows that the tokens use. */
static int make_table(struct hashing *h, size_t table, size_t rows)
{
    const inlay_ngram_spec *spec = &h->file.spec;
    const int64_t *row_ids = h->row_ids.elements;
    size_t n = h->tokens * spec->column_count;
    size_t dim = h->options.dim != 0 ? (size_t)h->options.dim : DEFAULT_DIM;
    int64_t *ids = xcalloc(n, sizeof *ids, "the row ids");
    for (size_t i = 0; i < n; i++)
        ids[i] = spec->columns[i % spec->column_count].table == table ? row_ids[i] : -1;
    int outcome = weights_make(NULL, h->options.seed + (int64_t)table, rows, dim, ids, n, &h->weights[table]);
    free(ids);
    return outcome;
}

/* Loads a table with at least `rows` rows. */
static int load_table(struct hashing *h, size_t i, size_t rows, const char *path)
{
    const struct ngram_options *options = &h->options;
    const inlay_table *table = &h->weights[i].view;
    TRY(weights_load(path, options->table_type, (size_t)options->dim, &h->weights[i]));
    if (h->dim != 0 && h->dim != table->dim)
        return failed("%s has dim %zu and %s %zu: all tables need the same dim", shown(path), table->dim,
                      shown(options->given[0].table), h->dim);
    if (table->rows < rows)
        return failed("%s has %zu rows, but the columns of %s need %zu", shown(path), table->rows, shown(options->spec),
                      rows);
    return DONE;
}

/* Makes or loads the tables that the columns use. Files are assigned to these tables in order. */
static int prepare_tables(struct hashing *h)
{
    const struct ngram_options *options = &h->options;
    const bool files = options->rows == ROWS_OF_FILES, random = options->rows == ROWS_RANDOM;
    size_t n = h->file.tables, needed = 0, loaded = 0;
    h->weights = xcalloc(n, sizeof *h->weights, "the list of tables");
    h->tables = xcalloc(n, sizeof *h->tables, "the list of tables");
    for (size_t i = 0; i < n; i++)
        needed += rows_needed(&h->file.spec, i) > 0;
    if (files && options->tables != needed)
        return failed("the columns use %zu of the tables of %s, but --table is given %zu times: give one for each",
                      needed, shown(options->spec), options->tables);
    if (random)
        TRY(make_row_ids(h));
    for (size_t i = 0; i < n; i++) {
        size_t rows = rows_needed(&h->file.spec, i);
        if (rows == 0)
            continue;
        if (files)
            TRY(load_table(h, i, rows, options->given[loaded++].table));
        else if (random)
            TRY(make_table(h, i, rows));
        h->tables[i] = options->rows == ROWS_OF_MODEL ? &h->model.tables[i] : &h->weights[i].view;
        h->dim = h->tables[i]->dim;
    }
    return DONE;
}

static int forward(struct hashing *h)
{
    const struct ngram_options *options = &h->options;
    const bool of_model = options->rows == ROWS_OF_MODEL, sum = options->combine == INLAY_NGRAM_SUM;
    const size_t columns = h->file.spec.column_count, row_bytes = inlay_table_row_bytes(options->type, h->dim);
    struct result *rows = &h->rows;
    *rows = (struct result){stored_element(options->type), sum ? 2 : 3, {h->tokens, columns}, 0, NULL};
    rows->shape[rows->rank - 1] = h->dim;
    result_allocate(rows, "the result");
    inlay_ngram_lookup lookup = inlay_ngram_lookup_default(h->tables, h->file.tables);
    lookup.scale = scale_of(&options->scale, h->dim) * (of_model ? h->model.factor : 1);
    lookup.combine = options->combine;
    lookup.out_type = options->type;
    inlay_fault fault = {0};
    inlay_file_read read = {0};
    if (of_model && h->model.count == 1) {
        /* Rows on disk are requested all at once, which takes their ids. */
        TRY(make_row_ids(h));
        model_read_begin(h->model.file, h->model.tables, h->row_ids.elements, h->tokens * columns, &read);
    }
    inlay_status status = inlay_ngram_forward(h->ngram, &h->batch, &lookup, rows->elements,
                                              sum ? row_bytes : columns * row_bytes, h->executor, &fault);
    model_read_end(h->model.file, &read);
    return status == INLAY_OK ? DONE : refused(h, status, &fault);
}

static int run(struct hashing *h)
{
    const struct ngram_options *options = &h->options;
    TRY(read_sequences(h));
    TRY(read_spec(h));
    TRY(read_histories(h));
    TRY(threads_start(options->threads, &h->executor));
    if (options->rows != ROWS_NONE)
        TRY(prepare_tables(h));
    /* Open outputs after all inputs are read, but before the work, to report unwritable outputs early. */
    h->outputs.force = options->force;
    TRY(outputs_open(&h->outputs, options->out, NULL));
    TRY(options->rows == ROWS_NONE ? make_row_ids(h) : forward(h));
    if (options->rows == ROWS_NONE && options->out == NULL)
        print_row_ids(h);
    else
        TRY(result_deliver(options->rows == ROWS_NONE ? &h->row_ids : &h->rows, &h->outputs.out));
    return outputs_commit(&h->outputs);
}

int command_ngram(int argc, char **argv)
{
    static struct hashing hashing;
    TRY(ngram_options_parse(argc, argv, &hashing.options));
    return run(&hashing);
}
