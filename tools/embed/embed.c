/* SPDX-License-Identifier: MIT */
/*
 * `inlay embed`: tokens, table, positions, the forward pass, and what becomes of the result. All parts live in one
 * struct that is freed in one place, whatever happened.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inlay/inlay.h>

#include "embed/options.h"
#include "embed/picture.h"
#include "embed/timing.h"
#include "embed/tokens.h"
#include "inputs/model_file.h"
#include "inputs/weights.h"
#include "options/command.h"
#include "options/threads.h"
#include "outputs/output.h"
#include "pictures/plot.h"
#include "text/message.h"
#include "text/print.h"
#include "text/progress.h"

enum {
    DEFAULT_DIM = 512,
    CACHED_BYTES = 256 << 20, /* of position rows that a layer which is timed may keep */
    PIECE_FLOATS = 1 << 20    /* of the result, written between two looks at the clock */
};

/* All that one run owns. */
struct embedding {
    struct embed_options options;
    struct tokens tokens;
    inlay_batch batch;        /* of all the tokens */
    inlay_sinusoid *sinusoid; /* of the fixed table, of the positions or of both */
    struct weights table;
    struct weights learned;
    inlay_layer *own_layer;
    struct model model;
    const inlay_layer *layer; /* one of these two */
    size_t dim;
    size_t vocab;         /* ids that the layer takes */
    int64_t position_end; /* of its positions */
    struct threads threads;
    float *result; /* [sequences, length, dim], or [sequences, dim] with pooling */
    size_t shape[3];
    size_t rank;
    struct outputs outputs;
};

static void embedding_free(struct embedding *e)
{
    outputs_discard(&e->outputs);
    free(e->result);
    threads_stop(&e->threads);
    inlay_layer_destroy(e->own_layer);
    model_close(&e->model);
    weights_free(&e->learned);
    weights_free(&e->table);
    inlay_sinusoid_destroy(e->sinusoid);
    tokens_free(&e->tokens);
    free(e->options.input);
}

static int print_vocab(const struct tokens *tokens)
{
    for (size_t i = 0; i < tokens->vocab; i++)
        printf("%zu\t%s\n", i, escaped(tokens->words[i].bytes, tokens->words[i].size));
    return DONE;
}

/* ---- The layer -------------------------------------------------------------------------------------------------- */

static int make_sinusoid(struct embedding *e, size_t dim)
{
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(dim);
    spec.base = e->options.base;
    spec.layout = e->options.layout;
    return check_status(inlay_sinusoid_create(&spec, NULL, &e->sinusoid));
}

static int load_token_table(struct embedding *e)
{
    const struct embed_options *options = &e->options;
    const char *name = options->table_name;
    TRY(options->table == TABLE_TENSOR ? weights_map(options->model, &name, &e->table)
                                       : weights_load(name, options->table_type, (size_t)options->dim, &e->table));
    if (options->dim != 0 && (size_t)options->dim != e->table.view.dim)
        return failed("--dim %" PRId64 " contradicts %s, which has dim %zu: drop --dim", options->dim,
                      shown(options->table_name), e->table.view.dim);
    if (options->vocab != 0 && (size_t)options->vocab != e->table.view.rows)
        return failed("--vocab %" PRId64 " contradicts %s, which has %zu rows: drop --vocab", options->vocab,
                      shown(options->table_name), e->table.view.rows);
    return DONE;
}

/* Makes or loads the token table, and makes the sinusoid on the way. */
static int make_table(struct embedding *e)
{
    const struct embed_options *options = &e->options;
    size_t dim = options->dim ? (size_t)options->dim : DEFAULT_DIM;
    bool loaded = options->table == TABLE_FILE || options->table == TABLE_TENSOR;
    if (loaded) {
        TRY(load_token_table(e));
        dim = e->table.view.dim;
    }
    if (options->table == TABLE_FIXED || options->positions == POSITIONS_SINUSOID)
        TRY(make_sinusoid(e, dim));
    if (loaded)
        return DONE;
    size_t vocab = options->vocab ? (size_t)options->vocab : tokens_vocab(&e->tokens);
    return weights_make(options->table == TABLE_FIXED ? e->sinusoid : NULL, options->seed, vocab, dim, e->tokens.ids,
                        e->tokens.count, &e->table);
}

static int load_positions(struct embedding *e, size_t dim)
{
    const char *file = e->options.positions_file;
    TRY(weights_load(file, (inlay_element_type)0, 0, &e->learned));
    if (e->learned.view.dim != dim)
        return failed("the positions in %s have dim %zu and the tokens %zu: both must have the same", shown(file),
                      e->learned.view.dim, dim);
    return DONE;
}

/* Makes a layer of the table and what the options say. */
static int make_own_layer(struct embedding *e)
{
    const struct embed_options *options = &e->options;
    TRY(make_table(e));
    size_t dim = e->table.view.dim;
    inlay_layer_spec spec = inlay_layer_spec_default(&e->table.view);
    spec.scale = scale_of(&options->scale, dim) * e->table.factor;
    if (options->positions == POSITIONS_SINUSOID)
        spec.sinusoid = e->sinusoid;
    if (options->positions == POSITIONS_LEARNED) {
        TRY(load_positions(e, dim));
        spec.positions = &e->learned.view;
    }
    /* A single pass would not read cached positions again. A layer that is timed caches the positions that it uses, if
       they take a bearable amount of memory. */
    int64_t end = options->start + (int64_t)e->tokens.length;
    if (!options->time)
        spec.cached_positions = 0;
    else if (end > 0 && end <= (int64_t)(CACHED_BYTES / sizeof(float) / dim))
        spec.cached_positions = (size_t)end;
    TRY(check_status(inlay_layer_create(&spec, NULL, &e->own_layer)));
    e->layer = e->own_layer;
    e->dim = dim;
    e->vocab = e->table.view.rows;
    e->position_end = spec.positions != NULL ? (int64_t)spec.positions->rows : INLAY_POSITION_LIMIT;
    e->batch = inlay_batch_i64(e->tokens.ids, e->tokens.sequences, e->tokens.length, options->start);
    return DONE;
}

/* Takes the layer of a model. */
static int take_model_layer(struct embedding *e)
{
    const struct embed_options *options = &e->options;
    const struct tokens *tokens = &e->tokens;
    TRY(model_layer_open(options->model, &e->model));
    const inlay_layer_spec *spec = e->model.spec;
    e->layer = e->model.layer;
    e->dim = spec->tokens->dim;
    e->vocab = spec->token_mapping != NULL ? spec->token_mapping_length : spec->tokens->rows;
    e->position_end = spec->positions != NULL ? (int64_t)spec->positions->rows : INLAY_POSITION_LIMIT;
    if (!options->has_start)
        e->options.start = e->model.start;
    e->batch = inlay_batch_ragged(tokens->ids, INLAY_ID_I64, tokens->offsets, tokens->sequences, options->start);
    e->batch.padded_length = spec->pooling == INLAY_POOLING_NONE ? tokens->length : 0;
    if (spec->pooling == INLAY_POOLING_NONE)
        return DONE;
    e->rank = 2;
    return options->plot == NULL
               ? DONE
               : failed("--plot: the layer of %s makes one row of each sequence, not a picture", shown(options->model));
}

/* ---- The forward pass ------------------------------------------------------------------------------------------- */

static int allocate_result(struct embedding *e)
{
    const struct tokens *tokens = &e->tokens;
    const size_t shape[] = {tokens->sequences, tokens->length, e->dim};
    memcpy(e->shape, shape, sizeof shape);
    if (e->rank == 2)
        e->shape[1] = e->dim;
    size_t rows = e->rank == 2 ? 1 : tokens->length, row_bytes = e->dim * sizeof(float);
    /* calloc checks the second product; one more, because calloc(0) may be null. */
    if (!__builtin_mul_overflow(tokens->sequences, rows, &rows))
        e->result = calloc(rows + 1, row_bytes);
    return e->result != NULL
               ? DONE
               : out_of_memory("the result", (double)tokens->sequences * (double)tokens->length * (double)row_bytes);
}

/* Says what the library refused. */
static int refused(const struct embedding *e, inlay_status status, const inlay_fault *fault)
{
    if (status == INLAY_ERROR_ID && e->vocab == 0)
        return failed("ids[%zu][%zu] = %" PRId64 " is not a row of the table, which has none", fault->sequence,
                      fault->token, fault->value);
    if (status == INLAY_ERROR_ID)
        return failed("ids[%zu][%zu] = %" PRId64 " is not a row of the table, which has %zu: ids run from 0 to %zu",
                      fault->sequence, fault->token, fault->value, e->vocab, e->vocab - 1);
    if (status == INLAY_ERROR_POSITION)
        return failed("position %" PRId64 " of token %zu is past the last one, %" PRId64
                      ": give a smaller --start or --length",
                      fault->value, fault->token, e->position_end - 1);
    return check_status(status);
}

/* The table whose rows the ids name, if it lies in a file. */
static inlay_file *file_of(const struct embedding *e, const inlay_table **table)
{
    *table = e->model.file != NULL ? e->model.spec->tokens : &e->table.view;
    bool mapped_ids = e->model.file != NULL && e->model.spec->token_mapping != NULL;
    return mapped_ids ? NULL : e->model.file != NULL ? e->model.file : e->table.model.file;
}

static int forward(struct embedding *e)
{
    const inlay_executor *executor = e->threads.executor;
    struct progress progress = progress_start("computing");
    inlay_fault fault = {0, 0, 0};
    const inlay_table *table;
    inlay_file_read read = {0};
    inlay_file *file = file_of(e, &table);
    model_read_begin(file, table, e->tokens.ids, e->tokens.count, &read);
    inlay_status status = inlay_forward(e->layer, &e->batch, e->result, e->dim * sizeof(float),
                                        progress_executor(&progress, executor), &fault);
    model_read_end(file, &read);
    progress_end(&progress);
    if (status != INLAY_OK)
        return refused(e, status, &fault);
    return e->options.time ? timing_print(e->layer, &e->table.view, &e->batch, e->result, executor) : DONE;
}

static int explain(struct embedding *e)
{
    inlay_fault fault = {0, 0, 0};
    char plan[INLAY_PLAN_TEXT_BYTES];
    inlay_status status = inlay_forward_explain(e->layer, &e->batch, e->result, e->dim * sizeof(float),
                                                e->threads.executor, &fault, plan, sizeof plan);
    if (status != INLAY_OK)
        return refused(e, status, &fault);
    fputs(plan, stdout);
    return DONE;
}

/* ---- The result ------------------------------------------------------------------------------------------------- */

static int write_npy(struct embedding *e)
{
    struct progress progress = progress_start("writing");
    int outcome = output_npy_header(&e->outputs.out, NPY_F4, e->shape, e->rank);
    size_t n, all = e->shape[0] * e->shape[1] * (e->rank == 3 ? e->shape[2] : 1);
    for (size_t done = 0; outcome == DONE && done < all; done += n) {
        n = all - done < PIECE_FLOATS ? all - done : PIECE_FLOATS;
        outcome = output_write(&e->outputs.out, e->result + done, n * sizeof *e->result);
        progress_show(&progress, (double)done / (double)all);
    }
    progress_end(&progress);
    return outcome;
}

static int deliver(struct embedding *e)
{
    bool out = e->outputs.out.stream != NULL, plot = e->outputs.plot.stream != NULL;
    if (!out && !plot) {
        const struct tensor tensor = {INLAY_F32, e->rank, e->shape, .elements = e->result};
        print_tensor(&tensor);
        return DONE;
    }
    if (out)
        TRY(write_npy(e));
    if (plot)
        TRY(embed_picture(&e->outputs.plot, &e->options, &e->tokens, e->dim, e->result));
    return outputs_commit(&e->outputs);
}

static int run(struct embedding *e)
{
    const struct embed_options *options = &e->options;
    TRY(tokens_read(options, &e->tokens));
    if (options->print_vocab)
        return print_vocab(&e->tokens);
    if (options->plot != NULL)
        TRY(embed_picture_check(&e->tokens));
    TRY(options->table == TABLE_LAYER ? take_model_layer(e) : make_own_layer(e));
    /* Behind all inputs and before the work, so that what cannot be written is reported at once. */
    e->outputs.force = options->force;
    TRY(plot_check(options->plot));
    TRY(outputs_open(&e->outputs, options->out, options->plot));
    TRY(threads_start(&e->threads, options->threads));
    TRY(allocate_result(e));
    if (options->explain)
        return explain(e);
    TRY(forward(e));
    return deliver(e);
}

int command_embed(int argc, char **argv)
{
    struct embedding embedding = {.rank = 3};
    int outcome = embed_options_parse(argc, argv, &embedding.options);
    if (outcome == DONE)
        outcome = run(&embedding);
    embedding_free(&embedding);
    return outcome;
}
