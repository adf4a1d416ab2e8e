/* SPDX-License-Identifier: MIT */
/*
 * The command line of `inlay ngram`. Like `inlay embed`, it rejects options that would have no effect.
 */
#include "ngram/options.h"

#include <string.h>

#include "options/options.h"
#include "options/threads.h"
#include "outputs/output.h"
#include "text.h"
#include "text/message.h"
#include "text/names.h"

static const char usage[] = "Usage: inlay ngram --spec FILE.json | --model FILE|DIR --ids IDS [option ...]\n"
                            "\n"
                            "Hashes the n-grams that end at each token to table rows, one per column of the\n"
                            "spec. Prints row ids, one line per token, or with --table the rows. With --out,\n"
                            "the result is written to a file instead.\n"
                            "\n";

static int parse_input(const struct option_rule *rule, void *target, const char *text)
{
    struct ngram_options *options = target;
    struct ngram_arguments *given = &options->given[options->sequences++];
    given->ids = text;
    given->is_file = rule->min != 0;
    options->reads_stdin |= given->is_file && strcmp(text, "-") == 0;
    return DONE;
}

static int parse_history(const struct option_rule *rule, void *target, const char *text)
{
    (void)rule;
    struct ngram_options *options = target;
    options->given[options->histories++].history = text;
    return DONE;
}

static int parse_column(const struct option_rule *rule, void *target, const char *text)
{
    struct ngram_options *options = target;
    const char *colon = strchr(text, ':');
    if (colon == NULL || !number_int64(text, (size_t)(colon - text), &options->first_column) ||
        !number_int64(colon + 1, strlen(colon + 1), &options->end_column) || options->first_column < 0 ||
        options->end_column <= options->first_column)
        return misused("--%s %s is not FIRST:END, two integers with 0 <= FIRST < END", rule->name, shown(text));
    return DONE;
}

static int parse_table(const struct option_rule *rule, void *target, const char *text)
{
    struct ngram_options *options = target;
    enum ngram_rows rows = strcmp(text, "random") == 0  ? ROWS_RANDOM
                           : strcmp(text, "model") == 0 ? ROWS_OF_MODEL
                                                        : ROWS_OF_FILES;
    if (rows == ROWS_OF_FILES && !inlay_ends_in(text, ".npy"))
        return misused("--%s %s must be random, model or a .npy file", rule->name, shown(text));
    if (options->tables > 0 && (rows != ROWS_OF_FILES || options->rows != ROWS_OF_FILES))
        return misused("--table %s is for all tables: give it once, or give only files",
                       rows != ROWS_OF_FILES ? text : options->given[0].table);
    options->rows = rows;
    options->given[options->tables++].table = text;
    return DONE;
}

#define FIELD(name) offsetof(struct ngram_options, name)

static const struct option_rule rules[] = {
    {"spec", "FILE.json", OPTION_TEXT, FIELD(spec),
     .help = "JSON with the fields of inlay_ngram_spec, as in examples/ngram; - for stdin", .heading = "Spec:\n"},
    {"model", "FILE|DIR", OPTION_TEXT, FIELD(spec),
     .help = "a model with n-grams, see inlay model: Qwen4Exp or Engram"},
    {"layer", "N", OPTION_INTEGER, FIELD(layer), 0, INT32_MAX,
     .help = "the layer with the n-grams (default: the only one)"},
    {"token-map", "FILE.npy", OPTION_TEXT, FIELD(token_map),
     .help = "token map to use instead of the spec's: a number per id, int32, uint32 or int64 [vocab]"},
    {"columns", "FIRST:END", OPTION_PARSED, .parse = parse_column,
     .help = "columns FIRST to END - 1, e.g. of one layer (default: all)"},

    {"ids", "\"5 6 7\"", OPTION_PARSED, .min = 0, .parse = parse_input,
     .help = "token ids, separated by spaces or commas", .heading = "\nInput; repeat the option for more sequences:\n"},
    {"ids-file", "FILE", OPTION_PARSED, .min = 1, .parse = parse_input,
     .help = "a file of ids: text, or integers in a .npy file; - for stdin"},
    {"history", "\"3 4\"", OPTION_PARSED, .parse = parse_history,
     .help =
         "ids before a sequence, oldest first: one fewer than the longest n-gram has, or even fewer at the start of "
         "a text. Give it once per sequence, or not at all"},

    {"table", "random|model|FILE.npy", OPTION_PARSED, .parse = parse_table,
     .help = "FILE.npy: a table [rows, dim]; give one per table that the columns use, in order. random: all tables are "
             "uniform in [-1, 1), the same on every machine. model: the tables of --model",
     .heading = "\nRows; without --table, the result is row ids:\n"},
    {"table-type", "TYPE", OPTION_NAME, FIELD(table_type), 1, .names = ELEMENT_TYPES,
     .help = "element type of the files, if their elements don't determine it; see inlay embed --help for scales:"},
    {"dim", "N", OPTION_INTEGER, FIELD(dim), 1, INT32_MAX, .help = "columns of a random table (default: 64)"},
    {"seed", "N", OPTION_INTEGER, FIELD(seed), 0, (double)INT32_MAX,
     .help = "seed of the first random table, incremented for each further one (default: 0)"},
    {"scale", "none|sqrt|X", OPTION_SCALE, FIELD(scale), .help = "scale of rows: 1 (default), sqrt(dim) or X"},
    {"combine", NULL, OPTION_NAME, FIELD(combine), 1, .names = COMBINES,
     .help = "keep the rows of a token separate (default), or add them"},

    {"out", "FILE.npy", OPTION_TEXT, FIELD(out),
     .help = "write int64 row ids [tokens, columns], rows [tokens, columns, dim] or sums [tokens, dim]; - is stdout",
     .heading = "\nOutput:\n"},
    {"force", NULL, OPTION_FLAG, FIELD(force), .help = output_force_help},
    {"dtype", NULL, OPTION_NAME, FIELD(type), 1, .names = TYPES,
     .help = "type of the written rows (default: float32); bfloat16 is written as '<u2'"},
    {"threads", "N", OPTION_INTEGER, FIELD(threads), 1, MAX_THREADS, .help = "threads (default: 1)"},
    {.name = NULL},
};

static int check_together(struct ngram_options *options, const struct command_line *line)
{
    if (options->spec == NULL)
        return misused("--spec or --model is missing: the file that defines the n-grams");
    const enum ngram_rows rows = options->rows;
    options->is_model = option_given(line, "model");
    const struct refusal refusals[] = {
        {{"spec"}, "model", "--spec and --model both define the n-grams: give one of them"},
        {{"token-map"}, "model", "--token-map is for --spec: a --model has its own"},
        {{"layer"}, when(!options->is_model), "--layer needs --model"},
        {{"table"}, when(!options->is_model && rows == ROWS_OF_MODEL), "--table model needs --model"},
        {{"ids-file"},
         when(options->reads_stdin && !options->is_model && strcmp(options->spec, "-") == 0),
         "--spec - and --ids-file - both read standard input: give a file for one of them"},
        {{"table-type", "dim", "seed", "scale", "combine", "dtype"},
         when(rows == ROWS_NONE),
         "--%s has no effect on row ids: give --table"},
        {{"table-type"}, when(rows != ROWS_OF_FILES), "--table-type is the element type of --table FILE.npy"},
        {{"seed"}, when(rows != ROWS_RANDOM), "--seed is the seed of --table random"},
        {{"dim"}, when(rows == ROWS_OF_MODEL), "--dim has no effect on rows of a model"},
        {.why = NULL},
    };
    TRY(options_refuse(line, refusals));
    if (options->sequences == 0)
        return misused("nothing to hash: give --ids or --ids-file");
    if (options->histories != 0 && options->histories != options->sequences)
        return misused("%zu --history for %zu sequences: give one for each, '' if it is empty", options->histories,
                       options->sequences);
    return DONE;
}

int ngram_options_parse(int argc, char **argv, struct ngram_options *options)
{
    *options = (struct ngram_options){
        .scale = {.value = 1}, .combine = INLAY_NGRAM_CONCAT, .type = INLAY_F32, .threads = 1, .layer = -1};
    options->given = xcalloc((size_t)argc, sizeof *options->given, "the list of options");
    struct command_line line = {.usage = usage, .rules = rules};
    TRY(options_parse(&line, argc, argv, options));
    return check_together(options, &line);
}
