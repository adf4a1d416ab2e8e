/* SPDX-License-Identifier: MIT */
/*
 * `inlay embed`: reads tokens, makes or loads the table and the positions, runs the forward pass, and writes the
 * output. The state is one struct that lives as long as the process.
 */
#include <inttypes.h>
#include <stdio.h>

#include <inlay/inlay.h>

#include "embed/options.h"
#include "embed/tokens.h"
#include "inputs/model_file.h"
#include "inputs/weights.h"
#include "options/command.h"
#include "options/threads.h"
#include "outputs/output.h"
#include "outputs/result.h"
#include "pictures/plot.h"
#include "text/message.h"

enum {
    DEFAULT_DIM = 512,
    LABEL_CHARACTERS = 18, /* of a token's label in a picture */
    LABEL_BYTES = 256,
    TITLE_BYTES = 1024
};

/* The state of a run. */
struct embedding {
    struct embed_options options;
    struct tokens tokens;
    struct model model;       /* used if --model provides the layer; if it provides a single tensor, table.model is
                                 used */
    inlay_sinusoid *sinusoid; /* of the fixed table, the positions or both */
    struct weights table;
    struct weights learned;
    inlay_layer_spec own_spec;
    const inlay_layer_spec *spec; /* own_spec, or the spec of the model's layer */
    const inlay_layer *layer;
    inlay_batch batch;              /* all tokens */
    const inlay_executor *executor; /* null: one thread */
    struct result result;           /* [sequences, length, dim], or [sequences, dim] with pooling */
    struct heat heat;               /* of the result */
    struct outputs outputs;
};

static int print_vocab(const struct tokens *tokens)
{
    for (size_t i = 0; i < tokens->vocab; i++)
        printf("%zu\t%s\n", i, escaped(tokens->words[i].bytes, tokens->words[i].size));
    return DONE;
}

/* ---- The layer -------------------------------------------------------------------------------------------------- */

static int load_token_table(struct embedding *e)
{
    const struct embed_options *options = &e->options;
    const inlay_table *table = &e->table.view;
    const char *name = options->table_name;
    TRY(options->table == TABLE_TENSOR ? weights_map(options->model, &name, (size_t)options->dim, &e->table)
                                       : weights_load(name, options->table_type, (size_t)options->dim, &e->table));
    if (options->vocab != 0 && (size_t)options->vocab != table->rows)
        return failed("--vocab %" PRId64 " contradicts %s, which has %zu rows: drop --vocab", options->vocab,
                      shown(name), table->rows);
    return DONE;
}

/* Makes or loads the token table, and makes the sinusoid if the table or the positions need one. */
static int make_table(struct embedding *e)
{
    const struct embed_options *options = &e->options;
    const struct tokens *tokens = &e->tokens;
    size_t dim = options->dim ? (size_t)options->dim : DEFAULT_DIM;
    bool loaded = options->table == TABLE_FILE || options->table == TABLE_TENSOR;
    if (loaded) {
        TRY(load_token_table(e));
        dim = e->table.view.dim;
    }
    if (options->table == TABLE_FIXED || options->positions == POSITIONS_SINUSOID) {
        inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(dim);
        spec.base = options->base;
        spec.layout = options->layout;
        TRY(check_status(inlay_sinusoid_create(&spec, NULL, &e->sinusoid)));
    }
    if (loaded)
        return DONE;
    size_t vocab = options->vocab ? (size_t)options->vocab : tokens_vocab(tokens);
    return weights_make(options->table == TABLE_FIXED ? e->sinusoid : NULL, options->seed, vocab, dim, tokens->ids,
                        tokens->count, &e->table);
}

/* Makes a layer from the table and the options. */
static int make_own_layer(struct embedding *e)
{
    const struct embed_options *options = &e->options;
    const struct tokens *tokens = &e->tokens;
    inlay_layer_spec *spec = &e->own_spec;
    inlay_layer *layer;
    TRY(make_table(e));
    const size_t dim = e->table.view.dim;
    *spec = inlay_layer_spec_default(&e->table.view);
    spec->scale = scale_of(&options->scale, dim) * e->table.factor;
    if (options->positions == POSITIONS_SINUSOID)
        spec->sinusoid = e->sinusoid;
    if (options->positions == POSITIONS_LEARNED) {
        spec->positions = &e->learned.view;
        TRY(weights_load(options->positions_file, (inlay_element_type)0, 0, &e->learned));
        if (spec->positions->dim != dim)
            return failed("the positions in %s have dim %zu and the tokens %zu: they must be equal",
                          shown(options->positions_file), spec->positions->dim, dim);
    }
    spec->cached_positions = 0; /* a single pass doesn't read them again */
    inlay_fault fault;
    TRY(check_fault(inlay_layer_spec_check(spec, &fault), &fault));
    TRY(check_status(inlay_layer_create(spec, NULL, &layer)));
    e->layer = layer;
    e->spec = spec;
    e->batch = inlay_batch_i64(tokens->ids, tokens->sequences, tokens->length, options->start);
    return DONE;
}

/* Uses the layer of a model. */
static int take_model_layer(struct embedding *e)
{
    const struct tokens *tokens = &e->tokens;
    struct embed_options *options = &e->options;
    TRY(model_layer_open(options->model, options->prefix, &e->model));
    e->layer = e->model.layer;
    e->spec = e->model.spec;
    if (!options->has_start)
        options->start = e->model.start;
    e->batch = inlay_batch_ragged(tokens->ids, INLAY_ID_I64, tokens->offsets, tokens->sequences, options->start);
    if (e->spec->pooling == INLAY_POOLING_NONE)
        e->batch.padded_length = tokens->length;
    else if (options->plot != NULL)
        return failed("--plot: the layer of %s makes a single row per sequence: drop it", shown(options->model));
    return DONE;
}

/* ---- The forward pass ------------------------------------------------------------------------------------------- */

static void allocate_result(struct embedding *e)
{
    struct result *result = &e->result;
    *result = (struct result){.element = NPY_F4, .shape = {e->tokens.sequences, e->tokens.length}};
    result->rank = e->spec->pooling != INLAY_POOLING_NONE ? 2 : 3;
    result->shape[result->rank - 1] = e->spec->tokens->dim;
    result_allocate(result, "the result");
}

/* Reports why the library rejected the call. */
static int refused(const struct embedding *e, inlay_status status, const inlay_fault *fault)
{
    const inlay_layer_spec *spec = e->spec;
    size_t vocab = spec->token_mapping != NULL ? spec->token_mapping_length : spec->tokens->rows;
    if (status == INLAY_ERROR_ID && vocab == 0)
        return failed("ids[%zu][%zu] = %" PRId64 " is not a row of the table: the table has no rows", fault->sequence,
                      fault->token, fault->value);
    if (status == INLAY_ERROR_ID)
        return failed("ids[%zu][%zu] = %" PRId64 " is not a row of the table, which has %zu: ids run from 0 to %zu",
                      fault->sequence, fault->token, fault->value, vocab, vocab - 1);
    if (status == INLAY_ERROR_POSITION)
        return failed("position %" PRId64 " of token %zu is past the last one, %" PRId64
                      ": give a smaller --start or --length",
                      fault->value, fault->token,
                      (spec->positions != NULL ? (int64_t)spec->positions->rows : INLAY_POSITION_LIMIT) - 1);
    return check_fault(status, fault);
}

static int forward(struct embedding *e)
{
    /* model_read_begin() takes row numbers. If the layer has a token mapping, ids aren't row numbers, and nothing is
       read ahead. */
    inlay_file *file = e->spec->token_mapping != NULL ? NULL
                       : e->model.file != NULL        ? e->model.file
                                                      : e->table.model.file;
    inlay_fault fault = {0};
    inlay_file_read read = {0};
    model_read_begin(file, e->spec->tokens, e->tokens.ids, e->tokens.count, &read);
    inlay_status status = inlay_forward(e->layer, &e->batch, e->result.elements, e->spec->tokens->dim * sizeof(float),
                                        e->executor, &fault);
    model_read_end(file, &read);
    return status == INLAY_OK ? DONE : refused(e, status, &fault);
}

static int explain(struct embedding *e)
{
    inlay_fault fault = {0};
    char plan[INLAY_PLAN_TEXT_BYTES];
    inlay_status status =
        inlay_forward_explain(e->layer, &e->batch, e->result.elements, e->spec->tokens->dim * sizeof(float),
                              e->executor, &fault, plan, sizeof plan);
    if (status != INLAY_OK)
        return refused(e, status, &fault);
    fputs(plan, stdout);
    return DONE;
}

/* ---- The result ------------------------------------------------------------------------------------------------- */

static int check_picture(const struct tokens *tokens)
{
    if (tokens->length == 0)
        return failed("--plot: there are no tokens to draw");
    if (tokens->sequences > HEAT_PANELS)
        return failed("--plot: %zu sequences are more than the %d panels of a picture: draw fewer at a time",
                      tokens->sequences, HEAT_PANELS);
    return DONE;
}

/* Returns the word of a token, cut to LABEL_CHARACTERS. The context is a struct tokens. */
static const char *token_label(const void *context, size_t sequence, size_t token)
{
    static char label[LABEL_BYTES];
    const struct tokens *tokens = context;
    int64_t id = tokens->ids[sequence * tokens->length + token];
    if (id == 0)
        return "(padding)";
    struct inlay_text word = tokens->words[id];
    size_t size = leading_bytes(word.bytes, word.size, LABEL_CHARACTERS);
    snprintf(label, sizeof label, "%s%s", escaped(word.bytes, size), size < word.size ? ".." : "");
    return label;
}

static void describe(const struct embed_options *options, char text[TITLE_BYTES])
{
    static const char *const tables[] = {"fixed table", "random table", "table from a file", "table of a model"};
    static const char *const positions[] = {"sinusoidal positions", "learned positions", "no positions"};
    if (options->table == TABLE_LAYER) {
        snprintf(text, TITLE_BYTES, "layer of %s", shown(options->model));
        return;
    }
    snprintf(text, TITLE_BYTES, "%s, %s", tables[options->table], positions[options->positions]);
    if (options->positions != POSITIONS_NONE)
        append(text, TITLE_BYTES, " from %" PRId64, options->start);
    if (options->scale.is_sqrt)
        append(text, TITLE_BYTES, ", scale sqrt(dim)");
    else if (options->scale.value != 1)
        append(text, TITLE_BYTES, ", scale %g", (double)options->scale.value);
}

/* Draws one panel per sequence. */
static int draw(struct embedding *e)
{
    const struct embed_options *options = &e->options;
    const struct tokens *tokens = &e->tokens;
    const float *values = e->result.elements;
    size_t length = tokens->length, dim = e->spec->tokens->dim;
    bool labeled = tokens->words != NULL && length <= HEAT_LABELED;
    struct heat *heat = &e->heat;
    heat_init(heat, tokens->sequences, length, dim, labeled);
    for (size_t i = 0; i < tokens->sequences; i++)
        heat_add(heat, i, 0, length, values + i * length * dim);

    char title[TITLE_BYTES], subtitle[TITLE_BYTES];
    snprintf(title, sizeof title, "inlay embed: float32 [%zu, %zu, %zu]", tokens->sequences, length, dim);
    describe(options, subtitle);
    const struct plot plot = {
        .heat = heat,
        .title = title,
        .subtitle = subtitle,
        .row_name = labeled || options->positions == POSITIONS_NONE ? "token" : "position",
        .first_row = options->positions == POSITIONS_NONE ? 0 : options->start,
        .label = labeled ? token_label : NULL,
        .context = tokens,
    };
    return plot_write(&e->outputs.plot, &plot);
}

/* Prints the result unless it is written to a file or drawn. */
static int deliver(struct embedding *e)
{
    struct outputs *outputs = &e->outputs;
    if (outputs->out.stream != NULL || outputs->plot.stream == NULL)
        TRY(result_deliver(&e->result, &outputs->out));
    if (outputs->plot.stream != NULL)
        TRY(draw(e));
    return outputs_commit(outputs);
}

static int run(struct embedding *e)
{
    const struct embed_options *options = &e->options;
    TRY(tokens_read(options, &e->tokens));
    if (options->print_vocab)
        return print_vocab(&e->tokens);
    if (options->plot != NULL)
        TRY(check_picture(&e->tokens));
    TRY(options->table == TABLE_LAYER ? take_model_layer(e) : make_own_layer(e));
    /* Open outputs after all inputs are read, but before the work, to report unwritable outputs early. */
    e->outputs.force = options->force;
    TRY(plot_check(options->plot));
    TRY(outputs_open(&e->outputs, options->out, options->plot));
    TRY(threads_start(options->threads, &e->executor));
    allocate_result(e);
    if (options->explain)
        return explain(e);
    TRY(forward(e));
    return deliver(e);
}

int command_embed(int argc, char **argv)
{
    static struct embedding embedding;
    TRY(embed_options_parse(argc, argv, &embedding.options));
    return run(&embedding);
}
