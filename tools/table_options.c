/* SPDX-License-Identifier: MIT */
/*
 * The command line of `inlay table`. An option that would have no effect beside the others is refused rather than
 * ignored: whoever gives it expects one. --odd is a policy for whatever dim comes, so that an even one is no reason.
 */
#include "table_options.h"

#include <inttypes.h>

#include "message.h"
#include "names.h"
#include "number.h"
#include "options.h"
#include "threads.h"

enum {
    OPTION_DIM = OPTION_FIRST,
    OPTION_POSITIONS,
    OPTION_RECIPE,
    OPTION_BASE,
    OPTION_SPACING,
    OPTION_SHIFT,
    OPTION_LAYOUT,
    OPTION_ODD,
    OPTION_AMPLITUDE,
    OPTION_INV_FREQ,
    OPTION_FLOAT_ANGLES,
    OPTION_COMPARE,
    OPTION_PRINT_FREQUENCIES,
    OPTION_DTYPE,
    OPTION_OUT,
    OPTION_PLOT,
    OPTION_THREADS,
    OPTION_ROPE, /* the first of ROPE_OPTIONS */
    OPTION_LAST = OPTION_ROPE + ROPE_OPTIONS
};

static const struct option long_options[] = {
    {"dim", required_argument, NULL, OPTION_DIM},
    {"positions", required_argument, NULL, OPTION_POSITIONS},
    {"recipe", required_argument, NULL, OPTION_RECIPE},
    {"base", required_argument, NULL, OPTION_BASE},
    {"spacing", required_argument, NULL, OPTION_SPACING},
    {"shift", required_argument, NULL, OPTION_SHIFT},
    {"layout", required_argument, NULL, OPTION_LAYOUT},
    {"odd", required_argument, NULL, OPTION_ODD},
    {"amplitude", required_argument, NULL, OPTION_AMPLITUDE},
    {"inv-freq", required_argument, NULL, OPTION_INV_FREQ},
    {"float-angles", no_argument, NULL, OPTION_FLOAT_ANGLES},
    {"compare", required_argument, NULL, OPTION_COMPARE},
    {"print-frequencies", no_argument, NULL, OPTION_PRINT_FREQUENCIES},
    {"dtype", required_argument, NULL, OPTION_DTYPE},
    {"out", required_argument, NULL, OPTION_OUT},
    {"plot", required_argument, NULL, OPTION_PLOT},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"help", no_argument, NULL, OPTION_HELP},
    {"rope", required_argument, NULL, OPTION_ROPE + ROPE_SCALING},
    {"rope-layout", required_argument, NULL, OPTION_ROPE + ROPE_LAYOUT},
    {"factor", required_argument, NULL, OPTION_ROPE + ROPE_FACTOR},
    {"original-length", required_argument, NULL, OPTION_ROPE + ROPE_ORIGINAL_LENGTH},
    {"length", required_argument, NULL, OPTION_ROPE + ROPE_LENGTH},
    {"low-freq-factor", required_argument, NULL, OPTION_ROPE + ROPE_LOW_FREQ_FACTOR},
    {"high-freq-factor", required_argument, NULL, OPTION_ROPE + ROPE_HIGH_FREQ_FACTOR},
    {"beta-fast", required_argument, NULL, OPTION_ROPE + ROPE_BETA_FAST},
    {"beta-slow", required_argument, NULL, OPTION_ROPE + ROPE_BETA_SLOW},
    {"no-truncate", no_argument, NULL, OPTION_ROPE + ROPE_NO_TRUNCATE},
    {"mscale", required_argument, NULL, OPTION_ROPE + ROPE_MSCALE},
    {"mscale-all-dim", required_argument, NULL, OPTION_ROPE + ROPE_MSCALE_ALL_DIM},
    {"attention-factor", required_argument, NULL, OPTION_ROPE + ROPE_ATTENTION_FACTOR},
    {"short-factors", required_argument, NULL, OPTION_ROPE + ROPE_SHORT_FACTORS},
    {"long-factors", required_argument, NULL, OPTION_ROPE + ROPE_LONG_FACTORS},
    {NULL, 0, NULL, 0},
};

/* What was given, before it is known what it means together. */
struct command_line {
    struct table_options *options;
    bool given[OPTION_LAST - OPTION_FIRST];
    inlay_recipe recipe;
    inlay_recipe other;
    inlay_sinusoid_spec spec; /* its fields that were given */
};

static bool given(const struct command_line *line, int option)
{
    return line->given[option - OPTION_FIRST];
}

static int parse_option(struct command_line *line, int option, const char *text)
{
    struct table_options *options = line->options;
    inlay_sinusoid_spec *spec = &line->spec;
    int64_t integer = 0;
    int outcome = DONE;
    switch (option) {
    case OPTION_DIM:
        outcome = option_int64("--dim", text, 1, INT32_MAX, &integer);
        spec->dim = (size_t)integer;
        return outcome;
    case OPTION_POSITIONS:
        options->positions = text;
        return DONE;
    case OPTION_RECIPE:
        return option_recipe("--recipe", text, &line->recipe);
    case OPTION_BASE:
        return option_double("--base", text, 1, 1e30, &spec->base);
    case OPTION_SPACING:
        return option_spacing(text, &spec->spacing);
    case OPTION_SHIFT:
        outcome = option_int64("--shift", text, 0, 1, &integer);
        spec->shift = (uint32_t)integer;
        return outcome;
    case OPTION_LAYOUT:
        return option_layout(text, &spec->layout);
    case OPTION_ODD:
        return option_odd(text, &spec->odd);
    case OPTION_AMPLITUDE:
        return option_double("--amplitude", text, 0x1p-20, 0x1p10, &spec->amplitude);
    case OPTION_INV_FREQ:
        options->inv_freq = text;
        return DONE;
    case OPTION_FLOAT_ANGLES:
        spec->float_angles = 1;
        return DONE;
    case OPTION_COMPARE:
        options->compare = true;
        return option_recipe("--compare", text, &line->other);
    case OPTION_PRINT_FREQUENCIES:
        options->print_frequencies = true;
        return DONE;
    case OPTION_DTYPE:
        return option_type(text, &options->type);
    case OPTION_THREADS:
        return option_int64("--threads", text, 1, THREADS_MOST, &options->threads);
    case OPTION_OUT:
        options->out = text;
        return DONE;
    case OPTION_PLOT:
        options->plot = text;
        return DONE;
    case OPTION_HELP:
        options->help = true;
        return DONE;
    default:
        return rope_options_parse(&options->rope_options, (enum rope_option)(option - OPTION_ROPE), text);
    }
}

/* The recipe as its framework has it, but for what was given. */
static inlay_sinusoid_spec spec_of(const struct command_line *line)
{
    const inlay_sinusoid_spec *from = &line->spec;
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_recipe(line->recipe, from->dim);
    spec.base = from->base;
    spec.float_angles = from->float_angles;
    if (given(line, OPTION_LAYOUT))
        spec.layout = from->layout;
    if (given(line, OPTION_SPACING))
        spec.spacing = from->spacing;
    if (given(line, OPTION_SHIFT))
        spec.shift = from->shift;
    if (given(line, OPTION_ODD))
        spec.odd = from->odd;
    if (given(line, OPTION_AMPLITUDE))
        spec.amplitude = from->amplitude;
    return spec;
}

/* The recipe to compare with, arranged as the first table. The exact one is the formula that the first stands for. */
static inlay_sinusoid_spec other_of(const struct command_line *line, const inlay_sinusoid_spec *first)
{
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_recipe(line->other, first->dim);
    bool exact = line->other == INLAY_RECIPE_EXACT;
    spec.base = first->base;
    spec.layout = first->layout;
    spec.odd = first->odd;
    if (exact)
        spec.spacing = first->spacing;
    if (exact || given(line, OPTION_SHIFT))
        spec.shift = first->shift;
    if (exact || given(line, OPTION_AMPLITUDE))
        spec.amplitude = first->amplitude;
    return spec;
}

static bool uses_spacing(const inlay_sinusoid_spec *spec, bool inv_freq)
{
    return spec->recipe == INLAY_RECIPE_EXACT && !inv_freq;
}

static bool uses_shift(const inlay_sinusoid_spec *spec, bool inv_freq)
{
    return spec->recipe == INLAY_RECIPE_DIFFUSERS ||
           (uses_spacing(spec, inv_freq) && spec->spacing == INLAY_SINUSOID_SPACING_HALF);
}

/* A reason to refuse an option; null ends a list of them. */
struct refusal {
    int option;
    const char *why;
};

static int refuse(const struct command_line *line, const struct refusal *refusals)
{
    for (; refusals->why != NULL; refusals++) {
        if (given(line, refusals->option))
            return misused("%s", refusals->why);
    }
    return DONE;
}

static int check_rope(const struct command_line *line)
{
    static const struct refusal refusals[] = {
        {OPTION_RECIPE, "--recipe has no effect on --rope, whose frequencies are exact: drop it"},
        {OPTION_SPACING, "--spacing has no effect on --rope, which has frequencies of its own: drop it"},
        {OPTION_SHIFT, "--shift has no effect on --rope, which has frequencies of its own: drop it"},
        {OPTION_LAYOUT, "--layout has no effect on --rope: --rope-layout arranges its columns"},
        {OPTION_ODD, "--odd has no effect on --rope, which needs an even --dim: drop it"},
        {OPTION_AMPLITUDE, "--amplitude has no effect on --rope: --attention-factor is that of yarn and longrope"},
        {OPTION_INV_FREQ, "--inv-freq and --rope both give the frequencies: drop one of them"},
        {OPTION_COMPARE, "--compare compares sinusoids, and --rope makes cosines and sines apart: drop one of them"},
        {0, NULL},
    };
    return refuse(line, refusals);
}

static int check_print_frequencies(const struct command_line *line)
{
    static const struct refusal refusals[] = {
        {OPTION_POSITIONS, "--print-frequencies prints frequencies, which no position changes: drop --positions"},
        {OPTION_FLOAT_ANGLES, "--print-frequencies prints what is not rounded yet: drop --float-angles"},
        {OPTION_DTYPE, "--print-frequencies prints float64: drop --dtype"},
        {OPTION_OUT, "--print-frequencies prints and ends: drop --out"},
        {OPTION_PLOT, "--print-frequencies prints and ends: drop --plot"},
        {OPTION_THREADS, "--print-frequencies prints and ends: drop --threads"},
        {OPTION_ROPE + ROPE_LAYOUT, "--print-frequencies prints each frequency once: drop --rope-layout"},
        {0, NULL},
    };
    return refuse(line, refusals);
}

static int check_compare(const struct command_line *line)
{
    static const struct refusal refusals[] = {
        {OPTION_DTYPE, "--compare compares float32 tables: drop --dtype"},
        {OPTION_OUT, "--compare prints distances instead of the table: drop --out"},
        {OPTION_PLOT, "--compare prints distances instead of the table: drop --plot"},
        {OPTION_THREADS, "--compare works on one thread: drop --threads"},
        {0, NULL},
    };
    return refuse(line, refusals);
}

/* What options say about frequencies that neither the table nor the one it is compared with has. */
static int check_frequencies(const struct command_line *line)
{
    const struct table_options *options = line->options;
    bool inv_freq = options->inv_freq != NULL, compare = options->compare;
    const char *name = inlay_recipe_name(line->recipe);
    if (inv_freq && line->recipe != INLAY_RECIPE_EXACT)
        return misused("--recipe %s has frequencies of its own, and --inv-freq gives others: drop one of them", name);
    if (options->spec.float_angles && !inv_freq)
        return misused("--float-angles rounds the frequencies of --inv-freq or --rope, and neither is given");
    if (given(line, OPTION_BASE) && inv_freq && !compare)
        return misused("--base has no effect beside --inv-freq, which gives the frequencies: drop one of them");
    if (given(line, OPTION_SPACING) && !uses_spacing(&options->spec, inv_freq) &&
        !(compare && uses_spacing(&options->other, false)))
        return misused("--spacing chooses frequencies of --recipe exact, and %s others: drop it",
                       inv_freq ? "--inv-freq gives" : "the recipe has");
    if (given(line, OPTION_SHIFT) && !uses_shift(&options->spec, inv_freq) &&
        !(compare && uses_shift(&options->other, false)))
        return misused("--shift has an effect on --spacing half and --recipe diffusers only: drop it");
    return DONE;
}

static int check_together(const struct command_line *line)
{
    const struct table_options *options = line->options;
    const inlay_sinusoid_spec *spec = &options->spec;
    int outcome = DONE;
    if (spec->dim == 0)
        return misused("--dim is missing: give the number of columns");
    if (options->positions == NULL && !options->print_frequencies)
        return misused("--positions is missing: give the rows as A:B or as a list");
    if (options->print_frequencies && !options->rope)
        return misused("--print-frequencies prints those of --rope, which is not given");
    if (given(line, OPTION_THREADS) && options->out == NULL && options->plot == NULL && !options->compare &&
        !options->print_frequencies)
        return misused("--threads share a table that is written or drawn: give --out or --plot");
    outcome = rope_options_check(&options->rope_options, (int64_t)spec->dim, spec->base);
    if (outcome == DONE && options->rope)
        outcome = check_rope(line);
    if (outcome == DONE && options->print_frequencies)
        outcome = check_print_frequencies(line);
    if (outcome == DONE && options->compare)
        outcome = check_compare(line);
    if (outcome == DONE && !options->rope)
        outcome = check_frequencies(line);
    if (outcome == DONE && !options->rope && spec->odd == INLAY_SINUSOID_ODD_ERROR && spec->dim % 2 == 1)
        outcome = misused("--dim %zu is odd, which %s refuses: give --odd formula, zero or wrap", spec->dim,
                          given(line, OPTION_ODD) ? "--odd error" : "the recipe's framework");
    return outcome;
}

int table_options_parse(int argc, char **argv, struct table_options *options)
{
    *options = (struct table_options){.type = INLAY_F32, .threads = 1};
    rope_options_start(&options->rope_options);
    struct command_line line = {.options = options, .spec = inlay_sinusoid_spec_default(0)};
    options_start();
    int option;
    while ((option = options_next(argc, argv, long_options)) != OPTION_END) {
        int outcome = option == OPTION_BAD ? MISUSED : parse_option(&line, option, optarg);
        if (outcome != DONE || options->help)
            return outcome;
        line.given[option - OPTION_FIRST] = true;
    }
    options->rope = given(&line, OPTION_ROPE + ROPE_SCALING);
    options->spec = spec_of(&line);
    options->other = other_of(&line, &options->spec);
    return check_together(&line);
}
