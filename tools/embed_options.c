/* SPDX-License-Identifier: MIT */
/*
 * The command line of `inlay embed`. An option that would have no effect beside the others is refused rather than
 * ignored: whoever gives it expects one.
 */
#include "embed_options.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "names.h"
#include "number.h"
#include "options.h"
#include "threads.h"

enum {
    OPTION_TEXT = OPTION_FIRST,
    OPTION_TEXT_FILE,
    OPTION_IDS,
    OPTION_MAX_TOKENS,
    OPTION_LENGTH,
    OPTION_PRINT_VOCAB,
    OPTION_TABLE,
    OPTION_VOCAB,
    OPTION_DIM,
    OPTION_SEED,
    OPTION_SCALE,
    OPTION_POSITIONS,
    OPTION_START,
    OPTION_BASE,
    OPTION_LAYOUT,
    OPTION_OUT,
    OPTION_PLOT,
    OPTION_TIME,
    OPTION_THREADS,
    OPTION_LAST
};

static const struct option long_options[] = {
    {"text", required_argument, NULL, OPTION_TEXT},
    {"text-file", required_argument, NULL, OPTION_TEXT_FILE},
    {"ids", required_argument, NULL, OPTION_IDS},
    {"max-tokens", required_argument, NULL, OPTION_MAX_TOKENS},
    {"length", required_argument, NULL, OPTION_LENGTH},
    {"print-vocab", no_argument, NULL, OPTION_PRINT_VOCAB},
    {"table", required_argument, NULL, OPTION_TABLE},
    {"vocab", required_argument, NULL, OPTION_VOCAB},
    {"dim", required_argument, NULL, OPTION_DIM},
    {"seed", required_argument, NULL, OPTION_SEED},
    {"scale", required_argument, NULL, OPTION_SCALE},
    {"positions", required_argument, NULL, OPTION_POSITIONS},
    {"start", required_argument, NULL, OPTION_START},
    {"base", required_argument, NULL, OPTION_BASE},
    {"layout", required_argument, NULL, OPTION_LAYOUT},
    {"out", required_argument, NULL, OPTION_OUT},
    {"plot", required_argument, NULL, OPTION_PLOT},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"time", no_argument, NULL, OPTION_TIME},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static int add_input(struct embed_options *options, enum source source, const char *text)
{
    if (options->source != SOURCE_NONE && options->source != source)
        return misused("only one of --text, --text-file and --ids can be given, each as often as there are sequences");
    options->source = source;
    options->input[options->inputs++] = text;
    return DONE;
}

static int parse_table(struct embed_options *options, const char *text)
{
    options->table = strcmp(text, "fixed") == 0 ? TABLE_FIXED : strcmp(text, "random") == 0 ? TABLE_RANDOM : TABLE_FILE;
    options->table_file = text;
    size_t size = strlen(text);
    if (options->table == TABLE_FILE && (size < 4 || strcmp(text + size - 4, ".npy") != 0))
        return misused("--table %s is neither fixed, random nor a file that ends in .npy", shown(text));
    return DONE;
}

static int parse_positions(struct embed_options *options, const char *text)
{
    static const char learned[] = "learned:";
    options->positions_file = text + sizeof learned - 1;
    if (strcmp(text, "sinusoid") == 0)
        options->positions = POSITIONS_SINUSOID;
    else if (strcmp(text, "none") == 0)
        options->positions = POSITIONS_NONE;
    else if (strncmp(text, learned, sizeof learned - 1) == 0 && *options->positions_file != '\0')
        options->positions = POSITIONS_LEARNED;
    else
        return misused("--positions %s is neither sinusoid, none nor learned:FILE.npy", shown(text));
    return DONE;
}

static int parse_scale(struct embed_options *options, const char *text)
{
    options->scale_is_sqrt = strcmp(text, "sqrt") == 0;
    options->scale = 1;
    if (options->scale_is_sqrt || strcmp(text, "none") == 0)
        return DONE;
    return option_float("--scale", text, &options->scale);
}

static int parse_option(struct embed_options *options, int option, const char *text)
{
    switch (option) {
    case OPTION_TEXT:
        return add_input(options, SOURCE_TEXT, text);
    case OPTION_TEXT_FILE:
        return add_input(options, SOURCE_FILE, text);
    case OPTION_IDS:
        return add_input(options, SOURCE_IDS, text);
    case OPTION_MAX_TOKENS:
        return option_int64("--max-tokens", text, 2, INT32_MAX, &options->max_tokens);
    case OPTION_LENGTH:
        return option_int64("--length", text, 1, INT32_MAX, &options->length);
    case OPTION_PRINT_VOCAB:
        options->print_vocab = true;
        return DONE;
    case OPTION_TABLE:
        return parse_table(options, text);
    case OPTION_VOCAB:
        return option_int64("--vocab", text, 1, INLAY_POSITION_LIMIT, &options->vocab);
    case OPTION_DIM:
        return option_int64("--dim", text, 1, INT32_MAX, &options->dim);
    case OPTION_SEED:
        return option_int64("--seed", text, 0, INT64_MAX, &options->seed);
    case OPTION_SCALE:
        return parse_scale(options, text);
    case OPTION_POSITIONS:
        return parse_positions(options, text);
    case OPTION_START:
        return option_int64("--start", text, 0, INLAY_POSITION_LIMIT - 1, &options->start);
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
    case OPTION_TIME:
        options->time = true;
        return DONE;
    case OPTION_THREADS:
        return option_int64("--threads", text, 1, THREADS_MOST, &options->threads);
    default:
        options->help = true;
        return DONE;
    }
}

/* Checks the options against each other; given[] tells which there were. */
static int check_together(const struct embed_options *options, const bool *given)
{
    bool text = options->source == SOURCE_TEXT || options->source == SOURCE_FILE;
    bool sinusoid = options->table == TABLE_FIXED || options->positions == POSITIONS_SINUSOID;
    if (options->source == SOURCE_NONE)
        return misused("there is nothing to embed: give --text, --text-file or --ids");
    if (given[OPTION_MAX_TOKENS - OPTION_FIRST] && !text)
        return misused("--max-tokens caps the vocabulary of a text, and --ids has none");
    if (options->print_vocab && !text)
        return misused("--print-vocab prints the vocabulary of a text, and --ids has none");
    if (options->print_vocab && (options->out != NULL || options->plot != NULL || options->time))
        return misused("--print-vocab prints the vocabulary and ends: drop --out, --plot and --time");
    if (options->print_vocab && given[OPTION_THREADS - OPTION_FIRST])
        return misused("--print-vocab prints the vocabulary and ends: drop --threads");
    if (given[OPTION_SEED - OPTION_FIRST] && options->table != TABLE_RANDOM)
        return misused("--seed is the seed of --table random");
    if (given[OPTION_START - OPTION_FIRST] && options->positions == POSITIONS_NONE)
        return misused("--start is the first position, and --positions none has none");
    if (given[OPTION_BASE - OPTION_FIRST] && !sinusoid)
        return misused("--base belongs to a sinusoid, and neither --table nor --positions is one");
    if (given[OPTION_LAYOUT - OPTION_FIRST] && !sinusoid)
        return misused("--layout belongs to a sinusoid, and neither --table nor --positions is one");
    return DONE;
}

int embed_options_parse(int argc, char **argv, struct embed_options *options)
{
    *options =
        (struct embed_options){.scale = 1, .base = 10000, .layout = INLAY_SINUSOID_LAYOUT_INTERLEAVED, .threads = 1};
    options->input = calloc((size_t)argc, sizeof *options->input);
    if (options->input == NULL)
        return failed("there is not enough memory for the options");

    bool given[OPTION_LAST - OPTION_FIRST] = {false};
    options_start();
    for (;;) {
        int option = options_next(argc, argv, long_options);
        if (option == OPTION_BAD)
            return MISUSED;
        if (option == OPTION_END)
            return check_together(options, given);
        int outcome = parse_option(options, option, optarg);
        if (outcome != DONE || options->help)
            return outcome;
        if (option >= OPTION_FIRST)
            given[option - OPTION_FIRST] = true;
    }
}
