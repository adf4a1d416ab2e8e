/* SPDX-License-Identifier: MIT */
/*
 * The command line of `inlay embed`. Options that would have no effect are rejected, not ignored, because the user
 * expects an effect.
 */
#include "embed/options.h"

#include <string.h>

#include "inputs/numbers.h"
#include "options/options.h"
#include "options/threads.h"
#include "outputs/output.h"
#include "text.h"
#include "text/message.h"
#include "text/names.h"

static const char usage[] = "Usage: inlay embed --text STRING | --text-file FILE | --ids IDS [option ...]\n"
                            "\n"
                            "Computes out[b, s, :] = table[ids[b, s], :] * scale + position(start + s) and\n"
                            "prints it, or writes it with --out or draws it with --plot.\n"
                            "\n"
                            "Input, of one kind; repeat the option for more sequences:\n";

static int parse_input(const struct option_rule *rule, void *target, const char *text)
{
    struct embed_options *options = target;
    enum source source = (enum source)rule->min;
    if (options->source != SOURCE_NONE && options->source != source)
        return misused("give only one of --text, --text-file and --ids; repeat it for more sequences");
    options->source = source;
    options->input[options->inputs++] = text;
    return DONE;
}

static int parse_positions(const struct option_rule *rule, void *target, const char *text)
{
    static const char learned[] = "learned:";
    struct embed_options *options = target;
    options->positions_file = text + sizeof learned - 1;
    if (inlay_name_equal(text, "sinusoid") || inlay_name_equal(text, "sinusoidal"))
        options->positions = POSITIONS_SINUSOID;
    else if (inlay_name_equal(text, "none"))
        options->positions = POSITIONS_NONE;
    else if (strncmp(text, learned, sizeof learned - 1) == 0 && *options->positions_file != '\0')
        options->positions = POSITIONS_LEARNED;
    else
        return misused("--%s %s must be sinusoid, none or learned:FILE.npy", rule->name, shown(text));
    return DONE;
}

#define FIELD(name) offsetof(struct embed_options, name)

static const struct option_rule rules[] = {
    {"text", "STRING", OPTION_PARSED, .min = SOURCE_TEXT, .parse = parse_input, .help = "a text"},
    {"text-file", "FILE", OPTION_PARSED, .min = SOURCE_FILE, .parse = parse_input,
     .help = "a whole file as one text; - for stdin"},
    {"ids", "\"5 6 7\"", OPTION_PARSED, .min = SOURCE_IDS, .parse = parse_input,
     .help = "token ids, separated by spaces or commas"},
    {"length", "N", OPTION_INTEGER, FIELD(length), 1, INT32_MAX,
     .help = "tokens per sequence (default: the longest sequence). Longer sequences are truncated. Shorter ones are "
             "padded with id 0, or with rows of zeros if --model gives the layer"},
    {"max-tokens", "N", OPTION_INTEGER, FIELD(max_tokens), 2, INT32_MAX,
     .help = "maximum size of the vocabulary, including '' and [UNK]; other words become [UNK]",
     .heading = "Texts are vectorized as in Keras: ASCII lowercase, ASCII punctuation\n"
                "removed, split on whitespace. The vocabulary comes from the texts: '' is 0\n"
                "(padding), [UNK] is 1, then words by frequency, most frequent first. Of\n"
                "equally frequent words, the one that sorts last comes first.\n"},
    {"print-vocab", NULL, OPTION_FLAG, FIELD(print_vocab),
     .help = "only print the vocabulary, one id and word per line"},

    {"table", "fixed|random|FILE.npy", OPTION_TEXT, FIELD(table_name),
     .help = "fixed: row i is the sinusoid of position i (default). random: uniform in [-1, 1), the same on every "
             "machine. FILE.npy: a table [vocab, dim]",
     .heading = "\nTable of token rows, [vocab, dim]:\n"},
    {"model", "FILE|DIR", OPTION_TEXT, FIELD(model),
     .help =
         "use the input layer that 'inlay model' finds: table, scale, positions and norm; needs --ids. With --table "
         "NAME, use only that tensor"},
    {"prefix", "TEXT", OPTION_TEXT, FIELD(prefix),
     .help = "prefix of the layer's tensor names, such as llm. (default: the usual names)"},
    {"table-type", "TYPE", OPTION_NAME, FIELD(table_type), 1, .names = ELEMENT_TYPES,
     .help = "element type of the file (default: from its dtype; '<u2' is bfloat16, '|i1' is i8). Scales and zero "
             "points are in FILE.scales.npy and FILE.zeros.npy, as 'inlay convert' writes them. Types:"},
    {"vocab", "N", OPTION_INTEGER, FIELD(vocab), 1, INLAY_POSITION_LIMIT,
     .help = "rows of a fixed or random table (default: as needed by the text or the ids)"},
    {"dim", "N", OPTION_INTEGER, FIELD(dim), 1, INT32_MAX, .help = "columns (default: from the file, or 512)"},
    {"seed", "N", OPTION_INTEGER, FIELD(seed), 0, (double)INT64_MAX, .help = "seed of the random table (default: 0)"},
    {"scale", "none|sqrt|X", OPTION_SCALE, FIELD(scale), .help = "scale of token rows: 1 (default), sqrt(dim) or X"},

    {"positions", "sinusoid|none|learned:FILE.npy", OPTION_PARSED, .parse = parse_positions,
     .help = "position vectors to add (default: sinusoid)", .heading = "\nPositions:\n"},
    {"start", "N", OPTION_INTEGER, FIELD(start), 0, INLAY_POSITION_LIMIT - 1,
     .help = "position of the first token (default: 0)"},
    {"base", "X", OPTION_REAL, FIELD(base), 1, 1e30, .help = "base of the sinusoids, 1 to 1e30 (default: 10000)"},
    {"layout", NULL, OPTION_NAME, FIELD(layout), 1, .names = LAYOUTS,
     .help = "columns: sin, cos, sin, cos, ... (default); all sines, then all cosines; or all cosines, then all sines"},

    {"out", "FILE.npy", OPTION_TEXT, FIELD(out),
     .help = "write float32 [batch, seq, dim], or [batch, dim] if a model pools; - is stdout",
     .heading = "\nOutput:\n"},
    {"plot", "FILE.png", OPTION_TEXT, FIELD(plot), .help = "draw heat maps, one panel per sequence; - is stdout"},
    {"force", NULL, OPTION_FLAG, FIELD(force), .help = output_force_help},
    {"threads", "N", OPTION_INTEGER, FIELD(threads), 1, MAX_THREADS,
     .help = "threads of the forward pass (default: 1)"},
    {"explain", NULL, OPTION_FLAG, FIELD(explain), .help = "only print the plan of the forward pass, with reasons"},
    {.name = NULL},
};

static int check_together(struct embed_options *options, const struct command_line *line)
{
    const char *name = options->table_name;
    if (options->model != NULL)
        options->table = name != NULL ? TABLE_TENSOR : TABLE_LAYER;
    else if (name != NULL && strcmp(name, "fixed") != 0)
        options->table = strcmp(name, "random") == 0 ? TABLE_RANDOM : TABLE_FILE;
    if (options->table == TABLE_FILE && !inlay_ends_in(name, ".npy"))
        return misused("--table %s must be fixed, random or a .npy file", shown(name));
    const bool layer = options->table == TABLE_LAYER;
    const bool sinusoid = options->table == TABLE_FIXED || options->positions == POSITIONS_SINUSOID;
    const struct refusal refusals[] = {
        {{"vocab", "dim", "seed", "scale", "positions", "base", "layout"},
         when(layer),
         "--%s is defined by the layer of --model: drop it, or name a tensor with --table"},
        {{"text", "text-file"},
         when(layer),
         "the layer of --model needs ids of its own tokenizer: give --ids, or use --table to name a tensor with one "
         "row per word"},
        {{"prefix"}, when(!layer), "--prefix requires --model without --table"},
        {{"table-type"}, when(options->table != TABLE_FILE), "--table-type is the element type of --table FILE.npy"},
        {{"seed"}, when(options->table != TABLE_RANDOM), "--seed is the seed of --table random"},
        {{"start"},
         when(options->positions == POSITIONS_NONE),
         "--start is the first position, but --positions none has no positions"},
        {{"base", "layout"},
         when(!sinusoid),
         "--%s only applies to sinusoids, but neither --table nor --positions is one"},
        {{"max-tokens"}, "ids", "--max-tokens limits the vocabulary of a text, but --ids has none"},
        {{"print-vocab"}, "ids", "--print-vocab prints the vocabulary of a text, but --ids has none"},
        {{"out", "plot", "force", "threads", "explain"},
         "print-vocab",
         "--print-vocab only prints the vocabulary: drop --%s"},
        {{"out", "plot"}, "explain", "--explain only prints the plan: drop --%s"},
        {.why = NULL},
    };
    TRY(options_refuse(line, refusals));
    options->has_start = option_given(line, "start");
    return options->source != SOURCE_NONE ? DONE : misused("nothing to embed: give --text, --text-file or --ids");
}

int embed_options_parse(int argc, char **argv, struct embed_options *options)
{
    *options = (struct embed_options){
        .scale = {.value = 1}, .base = 10000, .layout = INLAY_SINUSOID_LAYOUT_INTERLEAVED, .threads = 1};
    options->input = xcalloc((size_t)argc, sizeof *options->input, "the list of options");
    struct command_line line = {.usage = usage, .rules = rules};
    TRY(options_parse(&line, argc, argv, options));
    return check_together(options, &line);
}
