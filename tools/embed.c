/* SPDX-License-Identifier: MIT */
/*
 * `inlay embed`: tokens, table, positions, one forward pass, and what becomes of the result. All parts live in one
 * struct that is freed in one place, whatever happened.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <inlay/inlay.h>

#include "command.h"
#include "embed_options.h"
#include "embed_picture.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "print.h"
#include "save.h"
#include "threads.h"
#include "timing.h"
#include "tokens.h"
#include "weights.h"

enum { DEFAULT_DIM = 512, HELD_BYTES = 256 << 20 };

static const char help[] = "Usage: inlay embed --text STRING | --text-file FILE | --ids IDS [option ...]\n"
                           "\n"
                           "Computes out[b, s, :] = table[ids[b, s], :] * scale + position(start + s) and\n"
                           "prints it, unless --out or --plot says where it goes.\n"
                           "\n"
                           "Input, one kind of it; given again, each is one more sequence:\n"
                           "  --text STRING        a text\n"
                           "  --text-file FILE     a whole file as one text; - is standard input\n"
                           "  --ids \"5 6 7\"        token ids, separated by spaces or commas\n"
                           "  --length N           tokens of every sequence: pads with id 0 or cuts\n"
                           "                       (default: the longest sequence)\n"
                           "Texts are vectorized as Keras does it: ASCII lower-case, ASCII punctuation\n"
                           "deleted, split on white space. The vocabulary is that of the texts: '' is 0\n"
                           "(padding), [UNK] is 1, then words by falling frequency, ties by falling word.\n"
                           "  --max-tokens N       cap of the vocabulary, the first two included; words\n"
                           "                       past it become [UNK]\n"
                           "  --print-vocab        print the vocabulary, one id and word a line, and end\n"
                           "\n"
                           "Table of token rows, [vocab, dim]:\n"
                           "  --table fixed        the sinusoid itself, row id = position id (default)\n"
                           "  --table random       uniform in [-1, 1), the same floats on every machine\n"
                           "  --table FILE.npy     float32 [vocab, dim]\n"
                           "  --vocab N            rows (default: as many as the text or the ids need)\n"
                           "  --dim N              columns (default: those of the file, or 512)\n"
                           "  --seed N             seed of the random table (default: 0)\n"
                           "  --scale none|sqrt|X  factor of token rows: 1 (default), sqrt(dim) or a number\n"
                           "\n"
                           "Positions:\n"
                           "  --positions sinusoid|none|learned:FILE.npy   (default: sinusoid)\n"
                           "  --start N            position of the first token (default: 0)\n"
                           "  --base X             base of the sinusoids, 1 to 1e30 (default: 10000)\n"
                           "  --layout interleaved|split|split-cos-first\n"
                           "                       columns sin, cos, sin, cos, ... (default), all sines,\n"
                           "                       then all cosines, or all cosines, then all sines\n"
                           "\n"
                           "Output:\n"
                           "  --out FILE.npy       write float32 [batch, seq, dim]; - is standard output\n"
                           "  --plot FILE.png      draw heat maps, one panel per sequence\n"
                           "  --threads N          threads of the forward pass (default: 1)\n"
                           "  --time               print to stderr how long the forward pass takes, beside\n"
                           "                       a memcpy of the same rows\n"
                           "  --help               print this\n";

/* All that one run owns. */
struct embedding {
    struct embed_options options;
    struct tokens tokens;
    inlay_sinusoid *sinusoid; /* of the fixed table, of the positions or of both */
    struct weights table;
    struct weights learned;
    inlay_layer *layer;
    struct threads threads;
    float *result; /* [sequences, length, dim] */
    struct output out;
    struct output plot;
};

static void embedding_free(struct embedding *e)
{
    output_discard(&e->out);
    output_discard(&e->plot);
    free(e->result);
    threads_stop(&e->threads);
    inlay_layer_destroy(e->layer);
    weights_free(&e->learned);
    weights_free(&e->table);
    inlay_sinusoid_destroy(e->sinusoid);
    tokens_free(&e->tokens);
    free(e->options.input);
}

static int print_vocab(const struct vectorized *text)
{
    for (size_t i = 0; i < text->vocab; i++)
        printf("%zu\t%s\n", i, escaped(text->words[i].bytes, text->words[i].size));
    return DONE;
}

static int make_sinusoid(struct embedding *e, size_t dim)
{
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(dim);
    spec.base = e->options.base;
    spec.layout = e->options.layout;
    inlay_status status = inlay_sinusoid_create(&spec, NULL, &e->sinusoid);
    return status == INLAY_OK ? DONE : failed("%s", inlay_status_string(status));
}

static int load_token_table(struct embedding *e)
{
    const struct embed_options *options = &e->options;
    int outcome = weights_load(options->table_file, &e->table);
    if (outcome != DONE)
        return outcome;
    if (options->dim != 0 && (size_t)options->dim != e->table.view.dim)
        return failed("--dim %" PRId64 " contradicts %s, which has dim %zu: drop --dim", options->dim,
                      shown(options->table_file), e->table.view.dim);
    if (options->vocab != 0 && (size_t)options->vocab != e->table.view.rows)
        return failed("--vocab %" PRId64 " contradicts %s, which has %zu rows: drop --vocab", options->vocab,
                      shown(options->table_file), e->table.view.rows);
    return DONE;
}

/* The token table, and the sinusoid on the way. */
static int make_table(struct embedding *e)
{
    const struct embed_options *options = &e->options;
    int outcome = options->table == TABLE_FILE ? load_token_table(e) : DONE;
    size_t dim = options->table == TABLE_FILE ? e->table.view.dim : options->dim ? (size_t)options->dim : DEFAULT_DIM;
    if (outcome == DONE && (options->table == TABLE_FIXED || options->positions == POSITIONS_SINUSOID))
        outcome = make_sinusoid(e, dim);
    if (outcome != DONE || options->table == TABLE_FILE)
        return outcome;
    int64_t vocab = options->vocab                 ? options->vocab
                    : e->tokens.text.words != NULL ? (int64_t)e->tokens.text.vocab
                                                   : tokens_vocab(&e->tokens);
    return options->table == TABLE_FIXED ? weights_fixed(e->sinusoid, (size_t)vocab, dim, &e->tokens, &e->table)
                                         : weights_random(options->seed, (size_t)vocab, dim, &e->tokens, &e->table);
}

static int make_layer(struct embedding *e)
{
    const struct embed_options *options = &e->options;
    size_t dim = e->table.view.dim;
    inlay_layer_spec spec = inlay_layer_spec_default(&e->table.view);
    spec.scale = options->scale_is_sqrt ? inlay_sqrt_dim(dim) : options->scale;
    if (options->positions == POSITIONS_SINUSOID)
        spec.sinusoid = e->sinusoid;
    if (options->positions == POSITIONS_LEARNED) {
        int outcome = weights_load(options->positions_file, &e->learned);
        if (outcome != DONE)
            return outcome;
        if (e->learned.view.dim != dim)
            return failed("the positions in %s have dim %zu and the tokens %zu: both must have the same",
                          shown(options->positions_file), e->learned.view.dim, dim);
        spec.positions = &e->learned.view;
    }
    /* A single pass would not read the rows that a layer holds for later ones; what is timed is a layer that holds the
       positions it uses, as far as memory for them is no burden. */
    int64_t end = options->start + (int64_t)e->tokens.length;
    if (!options->time)
        spec.cached_positions = 0;
    else if (end > 0 && end <= (int64_t)(HELD_BYTES / sizeof(float) / dim))
        spec.cached_positions = (size_t)end;
    inlay_status status = inlay_layer_create(&spec, NULL, &e->layer);
    return status == INLAY_OK ? DONE : failed("%s", inlay_status_string(status));
}

/* Says what the library refused. */
static int explain(const struct embedding *e, inlay_status status, const inlay_fault *fault)
{
    const inlay_table *table = &e->table.view;
    if (status == INLAY_ERROR_ID && table->rows == 0)
        return failed("ids[%zu][%zu] = %" PRId64 " is not a row of the table, which has none", fault->sequence,
                      fault->token, fault->value);
    if (status == INLAY_ERROR_ID)
        return failed("ids[%zu][%zu] = %" PRId64 " is not a row of the table, which has %zu: ids run from 0 to %zu",
                      fault->sequence, fault->token, fault->value, table->rows, table->rows - 1);
    if (status == INLAY_ERROR_POSITION) {
        int64_t end = e->learned.values != NULL ? (int64_t)e->learned.view.rows : INLAY_POSITION_LIMIT;
        return failed("position %" PRId64 " of token %zu is past the last one, %" PRId64
                      ": give a smaller --start or --length",
                      fault->value, fault->token, end - 1);
    }
    return failed("%s", inlay_status_string(status));
}

static int forward(struct embedding *e)
{
    const struct tokens *tokens = &e->tokens;
    size_t dim = e->table.view.dim;
    size_t row_bytes = dim * sizeof(float);
    size_t rows;
    /* calloc checks the second product; one more, because calloc(0) may be null. */
    if (!__builtin_mul_overflow(tokens->sequences, tokens->length, &rows))
        e->result = calloc(rows + 1, row_bytes);
    if (e->result == NULL)
        return out_of_memory("the result", (double)tokens->sequences * (double)tokens->length * (double)row_bytes);

    inlay_batch batch = inlay_batch_i64(tokens->ids, tokens->sequences, tokens->length, e->options.start);
    inlay_fault fault = {0, 0, 0};
    inlay_status status = inlay_forward(e->layer, &batch, e->result, row_bytes, e->threads.executor, &fault);
    if (status != INLAY_OK)
        return explain(e, status, &fault);
    return e->options.time ? timing_print(e->layer, &e->table.view, &batch, e->result, e->threads.executor) : DONE;
}

static const float *result_row(void *context, size_t index)
{
    const struct embedding *e = context;
    return e->result + index * e->table.view.dim;
}

static int deliver(struct embedding *e)
{
    size_t shape[3] = {e->tokens.sequences, e->tokens.length, e->table.view.dim};
    if (e->out.stream == NULL && e->plot.stream == NULL) {
        struct tensor tensor = {"float32", 3, {shape[0], shape[1], shape[2]}, result_row, e};
        print_tensor(stdout, &tensor);
        return DONE;
    }
    int outcome = DONE;
    if (e->out.stream != NULL) {
        outcome = save_header(&e->out, INLAY_F32, shape, 3);
        if (outcome == DONE)
            outcome = save_values(&e->out, INLAY_F32, e->result, shape[0] * shape[1] * shape[2]);
    }
    if (outcome == DONE && e->plot.stream != NULL)
        outcome = embed_picture(&e->plot, &e->options, &e->tokens, shape[2], e->result);
    if (outcome == DONE)
        outcome = output_commit(&e->out);
    return outcome == DONE ? output_commit(&e->plot) : outcome;
}

/* Opens the outputs first: whoever mistypes a directory should not learn it after the work. */
static int open_outputs(struct embedding *e)
{
    const struct embed_options *options = &e->options;
    int outcome = save_plot_check(options->plot);
    if (outcome == DONE && options->plot != NULL)
        outcome = embed_picture_check(&e->tokens);
    if (outcome == DONE && options->out != NULL)
        outcome = output_open(&e->out, "--out", options->out);
    if (outcome == DONE && options->plot != NULL)
        outcome = output_open(&e->plot, "--plot", options->plot);
    return outcome == DONE ? output_distinct(&e->out, &e->plot) : outcome;
}

static int start_threads(struct embedding *e)
{
    return threads_start(&e->threads, e->options.threads);
}

static int run(struct embedding *e)
{
    int (*const steps[])(struct embedding *) = {open_outputs, start_threads, make_table, make_layer, forward, deliver};
    int outcome = tokens_read(&e->options, &e->tokens);
    if (outcome == DONE && e->options.print_vocab)
        return print_vocab(&e->tokens.text);
    for (size_t i = 0; outcome == DONE && i < sizeof steps / sizeof *steps; i++)
        outcome = steps[i](e);
    return outcome;
}

int command_embed(int argc, char **argv)
{
    struct embedding embedding = {0};
    int outcome = embed_options_parse(argc, argv, &embedding.options);
    if (outcome == DONE && embedding.options.help)
        fputs(help, stdout);
    else if (outcome == DONE)
        outcome = run(&embedding);
    embedding_free(&embedding);
    return outcome;
}
