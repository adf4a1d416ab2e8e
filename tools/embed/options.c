/* SPDX-License-Identifier: MIT */
/*
 * The command line of `inlay embed`. Options that would have no effect are rejected, not ignored: the user expects one.
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
                            "prints it, unless --out or --plot says where it goes.\n"
                            "\n"
                            "Input, one kind of it; given again, each is one more sequence:\n";

static int parse_input(const struct option_rule *rule, void *target, const char *text)
{
    struct embed_options *options = target;
    enum source source = (enum source)rule->least;
    if (options->source != SOURCE_NONE && options->source != source)
        return misused("only one of --text, --text-file and --ids can be given, each as often as there are sequences");
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
        return misused("--%s %s is neither sinusoid, none nor learned:FILE.npy", rule->name, shown(text));
    return DONE;
}

#define FIELD(name) offsetof(struct embed_options, name)

static const struct option_rule rules[] = {
    {"text", "STRING", OPTION_PARSED, .least = SOURCE_TEXT, .parse = parse_input, .help = "a text"},
    {"text-file", "FILE", OPTION_PARSED, .least = SOURCE_FILE, .parse = parse_input,
     .help = "a whole file as one text; - is standard input"},
    {"ids", "\"5 6 7\"", OPTION_PARSED, .least = SOURCE_IDS, .parse = parse_input,
     .help = "token ids, separated by spaces or commas"},
    {"length", "N", OPTION_INTEGER, FIELD(length), 1, INT32_MAX,
     .help = "tokens of every sequence: pads with id 0 or cuts (default: the longest sequence)"},
    {"max-tokens", "N", OPTION_INTEGER, FIELD(max_tokens), 2, INT32_MAX,
     .help = "size limit of the vocabulary, the first two words included; words beyond it become [UNK]",
     .heading = "Texts are vectorized as Keras does it: ASCII lower-case, ASCII punctuation\n"
                "deleted, split on white space. The vocabulary is that of the texts: '' is 0\n"
                "(padding), [UNK] is 1, then words by falling frequency, ties by falling word.\n"},
    {"print-vocab", NULL, OPTION_FLAG, FIELD(print_vocab),
     .help = "print the vocabulary instead, one id and word per line"},

    {"table", "fixed|random|FILE.npy", OPTION_TEXT, FIELD(table_name),
     .help = "the sinusoid itself, where row id is position id (default); uniform in [-1, 1), the same floats on every "
             "machine; or [vocab, dim] from a file",
     .heading = "\nTable of token rows, [vocab, dim]:\n"},
    {"model", "FILE|DIR", OPTION_TEXT, FIELD(model),
     .help = "the input layer of a model, as inlay model finds it: table, scale, positions and norm; needs --ids. With "
             "--table NAME only that tensor is taken from it, and all else is as without --model"},
    {"table-type", "TYPE", OPTION_NAME, FIELD(table_type), 1, .names = ELEMENT_TYPES,
     .help = "element type of the file (default: what its elements say, which are float32, float16, bfloat16 as '<u2', "
             "or i8); scales and zero points lie beside it in FILE.scales.npy and FILE.zeros.npy, as inlay convert "
             "writes them:"},
    {"vocab", "N", OPTION_INTEGER, FIELD(vocab), 1, INLAY_POSITION_LIMIT,
     .help = "rows (default: as many as the text or the ids need)"},
    {"dim", "N", OPTION_INTEGER, FIELD(dim), 1, INT32_MAX, .help = "columns (default: those of the file, or 512)"},
    {"seed", "N", OPTION_INTEGER, FIELD(seed), 0, (double)INT64_MAX, .help = "seed of the random table (default: 0)"},
    {"scale", "none|sqrt|X", OPTION_SCALE, FIELD(scale), .help = "factor of token rows: 1 (default), sqrt(dim) or X"},

    {"positions", "sinusoid|none|learned:FILE.npy", OPTION_PARSED, .parse = parse_positions,
     .help = "what is added to token rows (default: sinusoid)", .heading = "\nPositions:\n"},
    {"start", "N", OPTION_INTEGER, FIELD(start), 0, INLAY_POSITION_LIMIT - 1,
     .help = "position of the first token (default: 0)"},
    {"base", "X", OPTION_REAL, FIELD(base), 1, 1e30, .help = "base of the sinusoids, 1 to 1e30 (default: 10000)"},
    {"layout", NULL, OPTION_NAME, FIELD(layout), 1, .names = LAYOUTS,
     .help = "columns sin, cos, sin, cos, ... (default), all sines, then all cosines, or all cosines, then all sines"},

    {"out", "FILE.npy", OPTION_TEXT, FIELD(out), .help = "write float32 [batch, seq, dim]; - is stdout",
     .heading = "\nOutput:\n"},
    {"plot", "FILE.png", OPTION_TEXT, FIELD(plot), .help = "draw heat maps, a panel per sequence; - is stdout"},
    {"force", NULL, OPTION_FLAG, FIELD(force), .help = output_force_help},
    {"threads", "N", OPTION_INTEGER, FIELD(threads), 1, THREADS_MOST,
     .help = "threads of the forward pass (default: 1)"},
    {"explain", NULL, OPTION_FLAG, FIELD(explain),
     .help = "print the plan of the forward pass instead: its route and where positions come from, with reasons"},
    {"time", NULL, OPTION_FLAG, FIELD(time),
     .help = "print to stderr how long the forward pass takes, beside a memcpy of the same rows"},
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
        return misused("--table %s is neither fixed, random nor a file that ends in .npy", shown(name));
    const bool layer = options->table == TABLE_LAYER;
    const bool sinusoid = options->table == TABLE_FIXED || options->positions == POSITIONS_SINUSOID;
    const struct refusal refusals[] = {
        {{"vocab", "dim", "seed", "scale", "positions", "base", "layout"},
         when(layer),
         "--%s is what the layer of --model brings: drop it, or name a tensor by --table"},
        {{"text", "text-file"},
         when(layer),
         "the layer of --model takes tokens of its own tokenizer: give --ids, or name a tensor by --table whose rows "
         "are the words of the text"},
        {{"table-type"}, when(options->table != TABLE_FILE), "--table-type is the element type of --table FILE.npy"},
        {{"seed"}, when(options->table != TABLE_RANDOM), "--seed is the seed of --table random"},
        {{"start"},
         when(options->positions == POSITIONS_NONE),
         "--start is the first position, and --positions none has none"},
        {{"base", "layout"}, when(!sinusoid), "--%s belongs to a sinusoid, and neither --table nor --positions is one"},
        {{"max-tokens"}, "ids", "--max-tokens limits the vocabulary of a text, and --ids has none"},
        {{"print-vocab"}, "ids", "--print-vocab prints the vocabulary of a text, and --ids has none"},
        {{"out", "plot", "force", "threads", "explain", "time"},
         "print-vocab",
         "--print-vocab prints the vocabulary and ends: drop --%s"},
        {{"out", "plot", "time"}, "explain", "--explain prints the plan and ends: drop --%s"},
        {{"time"}, "model", "--time compares with a copy of rows in memory, and those of --model lie in a file"},
        {.why = NULL},
    };
    TRY(options_refuse(line, refusals));
    options->has_start = option_given(line, "start");
    return options->source != SOURCE_NONE ? DONE
                                          : misused("there is nothing to embed: give --text, --text-file or --ids");
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
