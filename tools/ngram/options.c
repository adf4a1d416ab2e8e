/* SPDX-License-Identifier: MIT */
/*
 * The command line of `inlay ngram`. As with `inlay embed`, an option that would have no effect beside the others is
 * refused.
 */
#include "ngram/options.h"

#include <stdlib.h>
#include <string.h>

#include "options/options.h"
#include "options/threads.h"
#include "outputs/output.h"
#include "text.h"
#include "text/message.h"
#include "text/names.h"

static const char usage[] = "Usage: inlay ngram --spec FILE.json | --model FILE|DIR --ids IDS [option ...]\n"
                            "\n"
                            "Hashes the n-grams that end in each token, as the spec says, to one row of a\n"
                            "table for each of its columns. Prints row ids, a line for each token, or with\n"
                            "--table the rows, unless --out says where they go.\n"
                            "\n";

static int parse_spec(const struct option_rule *rule, void *target, const char *text)
{
    struct ngram_options *options = target;
    bool is_model = rule->least != 0;
    if (options->spec != NULL && options->is_model != is_model)
        return misused("--spec and --model both say how n-grams are hashed: give one of them");
    options->spec = text;
    options->is_model = is_model;
    return DONE;
}

static int parse_input(const struct option_rule *rule, void *target, const char *text)
{
    struct ngram_options *options = target;
    struct ngram_input *input = &options->input[options->inputs++];
    input->text = text;
    input->is_file = rule->least != 0;
    return DONE;
}

static int parse_history(const struct option_rule *rule, void *target, const char *text)
{
    (void)rule;
    struct ngram_options *options = target;
    options->input[options->histories++].history = text;
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
    bool random = strcmp(text, "random") == 0, model = strcmp(text, "model") == 0;
    if (!random && !model && !inlay_ends_in(text, ".npy"))
        return misused("--%s %s is neither random, model nor a file that ends in .npy", rule->name, shown(text));
    options->model_rows |= model;
    options->table[options->tables++] = random || model ? NULL : text;
    return DONE;
}

#define FIELD(name) offsetof(struct ngram_options, name)

static const struct option_rule rules[] = {
    {"spec", "FILE.json", OPTION_PARSED, .least = 0, .parse = parse_spec,
     .help = "the fields of inlay_ngram_spec by their names, as the files in examples/ngram have them; - is standard "
             "input",
     .heading = "Spec:\n"},
    {"model", "FILE|DIR", OPTION_PARSED, .least = 1, .parse = parse_spec,
     .help = "a model with n-grams, as inlay model finds them: Qwen4Exp or Engram"},
    {"layer", "N", OPTION_INTEGER, FIELD(layer), 0, INT32_MAX,
     .help = "the layer of the model whose n-grams they are (default: the only one that has some)"},
    {"token-map", "FILE.npy", OPTION_TEXT, FIELD(token_map),
     .help = "a number for each id, int32, uint32 or int64 [vocab], where the spec does not have them"},
    {"column", "FIRST:END", OPTION_PARSED, .parse = parse_column,
     .help = "columns FIRST to END - 1, such as those of one layer (default: all)"},

    {"ids", "\"5 6 7\"", OPTION_PARSED, .least = 0, .parse = parse_input,
     .help = "token ids, separated by spaces or commas",
     .heading = "\nInput; given again, each is one more sequence:\n"},
    {"ids-file", "FILE", OPTION_PARSED, .least = 1, .parse = parse_input,
     .help = "a file of ids: text, or integers in a .npy file; - is standard input"},
    {"history", "\"3 4\"", OPTION_PARSED, .parse = parse_history,
     .help =
         "ids before a sequence, the oldest first: one fewer than the longest n-gram has, or fewer, which means that "
         "the sequence begins with them. Once for each sequence, or not at all"},

    {"table", "random|model|FILE.npy", OPTION_PARSED, .parse = parse_table,
     .help =
         "rows [rows, dim]; once for each table that these columns name, in their order. random and model stand for "
         "all of them: uniform in [-1, 1), the same floats on every machine; or those of the model",
     .heading = "\nRows; without --table row ids are the result:\n"},
    {"table-type", "TYPE", OPTION_NAME, FIELD(table_type), 1, .names = ELEMENT_TYPES,
     .help = "element type of the files, where their elements do not say it; see inlay embed --help for scales:"},
    {"dim", "N", OPTION_INTEGER, FIELD(dim), 1, INT32_MAX, .help = "columns of a random table (default: 64)"},
    {"seed", "N", OPTION_INTEGER, FIELD(seed), 0, (double)INT32_MAX,
     .help = "seed of the first random table; the next one has the next seed (default: 0)"},
    {"scale", "none|sqrt|X", OPTION_SCALE, FIELD(scale), .help = "factor of rows: 1 (default), sqrt(dim) or X"},
    {"combine", NULL, OPTION_NAME, FIELD(combine), 1, .names = COMBINES,
     .help = "the rows of a token one by one (default), or their sum"},

    {"out", "FILE.npy", OPTION_TEXT, FIELD(out),
     .help = "write int64 [tokens, columns] of row ids, or rows [tokens, columns, dim] or [tokens, dim]; - is stdout",
     .heading = "\nOutput:\n"},
    {"force", NULL, OPTION_FLAG, FIELD(force), .help = output_force_help},
    {"dtype", NULL, OPTION_NAME, FIELD(type), 1, .names = TYPES,
     .help = "type of the rows that are written (default: float32); bfloat16 as '<u2'"},
    {"threads", "N", OPTION_INTEGER, FIELD(threads), 1, THREADS_MOST, .help = "threads of the pass (default: 1)"},
    {.name = NULL},
};

/* The options of rows, which row ids do not have. */
static const char *const of_rows[] = {"table-type", "dim", "seed", "scale", "combine", "dtype"};

static int check_together(const struct ngram_options *options, const struct command_line *line)
{
    if (options->spec == NULL)
        return misused("--spec is missing, or --model: the file that says how n-grams are hashed");
    if (!options->is_model && (options->model_rows || option_given(line, "layer")))
        return misused("--%s: there is no --model", options->model_rows ? "table model" : "layer");
    if (options->is_model && option_given(line, "token-map"))
        return misused("--token-map belongs to a spec, and --model brings its own");
    if (options->inputs == 0)
        return misused("there is nothing to hash: give --ids or --ids-file");
    for (size_t i = 0; i < options->inputs; i++) {
        if (options->input[i].is_file && strcmp(options->input[i].text, "-") == 0 && !options->is_model &&
            strcmp(options->spec, "-") == 0)
            return misused("--spec - and --ids-file - both read standard input: name a file");
    }
    if (options->histories != 0 && options->histories != options->inputs)
        return misused("%zu --history for %zu sequences: give one for each, '' where there is none", options->histories,
                       options->inputs);
    for (size_t i = 0; i < sizeof of_rows / sizeof *of_rows; i++) {
        if (options->tables == 0 && option_given(line, of_rows[i]))
            return misused("--%s has no effect on row ids: give --table", of_rows[i]);
    }
    bool one = options->tables > 0 && options->table[0] == NULL, random = one && !options->model_rows;
    for (size_t i = 1; i < options->tables; i++) {
        if (one || options->table[i] == NULL)
            return misused("--table %s stands for all tables: give it once, or files only",
                           options->model_rows ? "model" : "random");
    }
    if (one && option_given(line, "table-type"))
        return misused("--table-type is the element type of --table FILE.npy");
    if (!random && option_given(line, "seed"))
        return misused("--seed is the seed of --table random");
    if (options->model_rows && option_given(line, "dim"))
        return misused("--dim has no effect on rows of a model");
    return DONE;
}

int ngram_options_parse(int argc, char **argv, struct ngram_options *options)
{
    size_t most = (size_t)argc;
    *options = (struct ngram_options){
        .scale = {.value = 1}, .combine = INLAY_NGRAM_CONCAT, .type = INLAY_F32, .threads = 1, .layer = -1};
    options->input = calloc(most, sizeof *options->input);
    options->table = calloc(most, sizeof *options->table);
    if (options->input == NULL || options->table == NULL)
        return failed("there is not enough memory for the options");
    struct command_line line = {.usage = usage, .rules = rules};
    TRY(options_parse(&line, argc, argv, options));
    return check_together(options, &line);
}

void ngram_options_free(struct ngram_options *options)
{
    free(options->input);
    free(options->table);
}
