/* SPDX-License-Identifier: MIT */
/*
 * The command line of `inlay table`. Options that would have no effect are rejected, not ignored, because the user
 * expects an effect. --odd is a policy for any dim, so it is accepted with an even dim. --original-length has no
 * default: with a wrong length, the table would still look right.
 */
#include "table/options.h"

#include "options/threads.h"
#include "outputs/output.h"
#include "text/message.h"
#include "text/names.h"

static const char usage[] = "Usage: inlay table --dim D --positions LIST [option ...]\n"
                            "\n"
                            "Computes a table [positions, D] of sinusoids, or with --rope a rotary table,\n"
                            "and prints it, or writes it (--out), draws it (--plot) or compares it with\n"
                            "another recipe (--compare). A LIST is X,Y,... or FILE.npy (float32, float64,\n"
                            "int32 or int64 [n]) or @FILE, text with one number per line and # comments; @-\n"
                            "is stdin.\n"
                            "\n";

/* Sets of rotary scalings, for the field `modes` of the rules. */
enum {
    LINEAR = 1 << INLAY_ROTARY_LINEAR,
    NTK = 1 << INLAY_ROTARY_NTK,
    DYNAMIC_NTK = 1 << INLAY_ROTARY_DYNAMIC_NTK,
    LLAMA3 = 1 << INLAY_ROTARY_LLAMA3,
    YARN = 1 << INLAY_ROTARY_YARN,
    LONGROPE = 1 << INLAY_ROTARY_LONGROPE,
    STRETCHED = LINEAR | NTK | DYNAMIC_NTK | LLAMA3 | YARN | LONGROPE,
    TRAINED = DYNAMIC_NTK | LLAMA3 | YARN | LONGROPE,
    ALL = STRETCHED | 1 << INLAY_ROTARY_DEFAULT
};

#define FIELD(name) offsetof(struct table_options, name)

/* The library's limits. */
#define MIN 0x1p-20
#define MAX_LENGTH (INLAY_POSITION_LIMIT - 1)

static const struct option_rule rules[] = {
    {"dim", "D", OPTION_INTEGER, FIELD(dim), 1, INT32_MAX, .help = "columns"},
    {"positions", "A:B|LIST", OPTION_TEXT, FIELD(positions),
     .help = "one row per position: A to B - 1, 0 <= A < B <= 2147483648, or the real numbers of LIST, with magnitudes "
             "below 2^31"},

    {"recipe", "NAME", OPTION_NAME, FIELD(spec.recipe), 0, .names = RECIPES, .heading = "\nSinusoids:\n",
     .help = "arithmetic of the table (default: exact), and the defaults of layout, odd dims, shift and amplitude:"},
    {"base", "X", OPTION_REAL, FIELD(spec.base), 1, 1e30, .help = "base of the sinusoids, 1 to 1e30 (default: 10000)"},
    {"spacing", NULL, OPTION_NAME, FIELD(spec.spacing), 1, .names = SPACINGS,
     .help = "frequencies of recipe exact: base^-(2i / D) (default), or base^-(i / max(floor(D / 2) - shift, 1))"},
    {"shift", "0|1", OPTION_INTEGER, FIELD(shift), 0, 1,
     .help = "shift of --spacing half (default: 0) or of recipe diffusers"},
    {"layout", NULL, OPTION_NAME, FIELD(spec.layout), 1, .names = LAYOUTS,
     .help = "columns: sin, cos, sin, cos, ...; all sines, then all cosines; or all cosines, then all sines"},
    {"odd", NULL, OPTION_NAME, FIELD(spec.odd), 1, .names = ODDS,
     .help = "the last column if D is odd: one more frequency, zeros, the first cosine again, or an error"},
    {"amplitude", "X", OPTION_REAL, FIELD(spec.amplitude), MIN, 0x1p10, .help = "factor of every entry, 2^-20 to 2^10"},
    {"inv-freq", "LIST", OPTION_TEXT, FIELD(inv_freq),
     .help = "frequencies in radians per position, one per pair of columns, instead of a formula"},
    {"float-angles", NULL, OPTION_FLAG, FIELD(float_angles),
     .help =
         "round to float32, like float32 frameworks: the frequencies of --inv-freq or --rope, the positions, and the "
         "products of both"},
    {"compare", "NAME", OPTION_NAME, FIELD(other.recipe), 0, .names = RECIPES,
     .help = "print the difference from another recipe with the same dim, base, layout and odd dims; exact means the "
             "formula that the first recipe approximates. A line per decade of positions has the share of entries "
             "that differ, the mean and maximum distance, and these distances in ULP, the float32 spacing at the first "
             "table's entry"},

    {"rope", NULL, OPTION_NAME, FIELD(rotary.scaling), 1, .names = SCALINGS, .modes = ALL,
     .heading = "\nRotary tables, [2, positions, columns]: cosines, then sines:\n",
     .help = "frequencies of D rotary columns, with this scaling"},
    {"rope-layout", NULL, OPTION_NAME, FIELD(rotary_layout), 1, .names = ROTARY_LAYOUTS, .modes = ALL,
     .help = "D / 2 columns, one per frequency; D columns, all frequencies and then all again (default); or D columns, "
             "each frequency twice in a row"},
    {"factor", "X", OPTION_REAL, FIELD(rotary.factor), 1, 1e6, .modes = STRETCHED, .needed = true,
     .help = "every scaling except default: the scaling factor"},
    {"original-length", "N", OPTION_REAL, FIELD(rotary.original_length), 2, MAX_LENGTH, .modes = TRAINED,
     .needed = true, .help = "dynamic-ntk, llama3, yarn, longrope: training length"},
    {"length", "N", OPTION_REAL, FIELD(rotary.length), 1, MAX_LENGTH, .modes = DYNAMIC_NTK | LONGROPE, .needed = true,
     .help = "dynamic-ntk, longrope: current length of the sequence"},
    {"low-freq-factor", "X", OPTION_REAL, FIELD(rotary.low_freq_factor), MIN, 1e6, .modes = LLAMA3, .needed = true,
     .help = "llama3: frequencies with at most X rotations over the original length are divided by --factor"},
    {"high-freq-factor", "X", OPTION_REAL, FIELD(rotary.high_freq_factor), MIN, 1e6, .modes = LLAMA3, .needed = true,
     .help = "llama3: frequencies with at least X rotations are kept"},
    {"beta-fast", "X", OPTION_REAL, FIELD(rotary.beta_fast), MIN, 1e6, .modes = YARN,
     .help = "yarn: frequencies with at least X rotations are kept (default: 32)"},
    {"beta-slow", "X", OPTION_REAL, FIELD(rotary.beta_slow), MIN, 1e6, .modes = YARN,
     .help = "yarn: frequencies with at most X rotations are divided by --factor (default: 1)"},
    {"no-truncate", NULL, OPTION_FLAG, FIELD(no_truncate), .modes = YARN,
     .help = "yarn: do not round the frequency indices at these limits to integers"},
    {"mscale", "X", OPTION_REAL, FIELD(rotary.mscale), MIN, 100, .modes = YARN,
     .help = "yarn: a weight in DeepSeek's attention factor; needs --mscale-all-dim"},
    {"mscale-all-dim", "X", OPTION_REAL, FIELD(rotary.mscale_all_dim), MIN, 100, .modes = YARN,
     .help = "yarn: the other weight in that factor; needs --mscale"},
    {"attention-factor", "X", OPTION_REAL, FIELD(rotary.attention_factor), MIN, 0x1p10, .modes = YARN | LONGROPE,
     .help = "yarn, longrope: an attention factor that replaces the computed one"},
    {"short-factors", "LIST", OPTION_TEXT, FIELD(short_factors), .modes = LONGROPE, .needed = true,
     .help = "longrope: a factor per frequency, for sequences up to the original length"},
    {"long-factors", "LIST", OPTION_TEXT, FIELD(long_factors), .modes = LONGROPE, .needed = true,
     .help = "longrope: a factor per frequency, for longer sequences"},
    {"drift", NULL, OPTION_FLAG, FIELD(drift), .modes = 1 << INLAY_ROTARY_DEFAULT,
     .help = "default: only print how far angles drift in float32, for positions below 2^24: the "
             "largest error of a cosine or sine, and of an angle in radians"},
    {"print-frequencies", NULL, OPTION_FLAG, FIELD(print_frequencies), .modes = ALL,
     .help = "only print the frequencies, in the format that --inv-freq reads"},

    {"dtype", NULL, OPTION_NAME, FIELD(type), 1, .names = TYPES, .heading = "\nOutput:\n",
     .help = "type of the entries (default: float32)"},
    {"out", "FILE.npy", OPTION_TEXT, FIELD(out),
     .help = "write '<f4' or '<f2'; NumPy lacks bfloat16, so its bits are written as '<u2'; - is stdout"},
    {"plot", "FILE.png", OPTION_TEXT, FIELD(plot), .help = "draw a heat map; - is stdout"},
    {"force", NULL, OPTION_FLAG, FIELD(force), .help = output_force_help},
    {"threads", "N", OPTION_INTEGER, FIELD(threads), 1, MAX_THREADS,
     .help = "threads for --out and --plot (default: 1)"},
    {.name = NULL},
};

static const struct refusal refusals[] = {
    {{"recipe", "spacing", "shift"},
     "rope",
     "--%s has no effect on --rope, which defines its own frequencies: drop it"},
    {{"layout"}, "rope", "--layout has no effect on --rope: --rope-layout arranges its columns"},
    {{"odd"}, "rope", "--odd has no effect on --rope, which needs an even --dim: drop it"},
    {{"amplitude"}, "rope", "--amplitude has no effect on --rope: yarn and longrope have --attention-factor"},
    {{"inv-freq"}, "rope", "--inv-freq and --rope both give the frequencies: drop one of them"},
    {{"compare"}, "rope", "--compare only compares sinusoids, but --rope makes rotary tables: drop one of them"},
    {{"positions", "float-angles", "rope-layout", "dtype", "out", "plot", "force", "threads"},
     "print-frequencies",
     "--print-frequencies only prints the frequencies, as unrounded float64: drop --%s"},
    {{"float-angles", "rope-layout", "dtype", "out", "plot", "force", "threads", "print-frequencies"},
     "drift",
     "--drift only prints errors of float32 entries, computed on one thread: drop --%s"},
    {{"dtype", "out", "plot", "threads"},
     "compare",
     "--compare only prints distances of float32 tables, computed on one thread: drop --%s"},
    {{"attention-factor"},
     "mscale",
     "--attention-factor replaces what --mscale and --mscale-all-dim compute: drop it or both of them"},
    {.why = NULL},
};

/* ---- Defaults and derived values -------------------------------------------------------------------------------- */

/* Returns the recipe to compare with, in the layout of the first table. If it is the exact recipe, it gets the formula
   of the first table. */
static inlay_sinusoid_spec other_of(const struct table_options *options)
{
    const inlay_sinusoid_spec preset = inlay_sinusoid_spec_recipe(options->other.recipe, options->spec.dim);
    const bool exact = preset.recipe == INLAY_RECIPE_EXACT;
    inlay_sinusoid_spec spec = options->spec;
    spec.recipe = preset.recipe;
    spec.float_angles = 0;
    if (!exact)
        spec.spacing = preset.spacing;
    if (!exact && !option_given(&options->line, "shift"))
        spec.shift = preset.shift;
    if (!exact && !option_given(&options->line, "amplitude"))
        spec.amplitude = preset.amplitude;
    return spec;
}

/* ---- Conflicts -------------------------------------------------------------------------------------------------- */

static bool uses_spacing(const inlay_sinusoid_spec *formula)
{
    return formula != NULL && formula->recipe == INLAY_RECIPE_EXACT;
}

static bool uses_shift(const inlay_sinusoid_spec *formula)
{
    return (uses_spacing(formula) && formula->spacing == INLAY_SINUSOID_SPACING_HALF) ||
           (formula != NULL && formula->recipe == INLAY_RECIPE_DIFFUSERS);
}

/* Rejects options for frequencies that affect neither the table nor the table it is compared with. */
static int check_frequencies(const struct table_options *options)
{
    const struct command_line *line = &options->line;
    const bool inv_freq = options->inv_freq != NULL;
    const inlay_sinusoid_spec *first = inv_freq ? NULL : &options->spec;
    const inlay_sinusoid_spec *second = options->compare ? &options->other : NULL;
    if (inv_freq && options->spec.recipe != INLAY_RECIPE_EXACT)
        return misused("--recipe %s defines its own frequencies, but --inv-freq gives others: drop one of them",
                       enum_name(RECIPES, options->spec.recipe));
    if (options->spec.float_angles && !inv_freq)
        return misused("--float-angles rounds the frequencies of --inv-freq or --rope, but neither is given");
    if (option_given(line, "base") && first == NULL && second == NULL)
        return misused("--base has no effect with --inv-freq, which gives the frequencies: drop one of them");
    if (option_given(line, "spacing") && !uses_spacing(first) && !uses_spacing(second))
        return misused("--spacing only applies to --recipe exact, but %s other frequencies: drop it",
                       inv_freq ? "--inv-freq gives" : "the recipe defines");
    if (option_given(line, "shift") && !uses_shift(first) && !uses_shift(second))
        return misused("--shift only applies to --spacing half and --recipe diffusers: drop it");
    if (options->spec.odd == INLAY_SINUSOID_ODD_ERROR && options->spec.dim % 2 == 1)
        return misused("--dim %zu is odd, which %s does not allow: give --odd formula, zero or wrap", options->spec.dim,
                       option_given(line, "odd") ? "--odd error" : "the recipe's framework");
    return DONE;
}

/* Rejects options of --rope that have no effect, and reports missing ones. */
static int check_scaling(const struct table_options *options)
{
    const inlay_rotary_scaling scaling = options->rotary.scaling;
    for (const struct option_rule *rule = rules; rule->name != NULL; rule++) {
        const bool given = options->line.given[rule - rules], of_rope = rule->modes != 0;
        const bool has_effect = rule->modes >> scaling & 1;
        if (of_rope && given && !options->rope)
            return misused("--%s has no effect without --rope: drop it", rule->name);
        if (of_rope && given && !has_effect)
            return misused("--%s has no effect on --rope %s: drop it", rule->name, enum_name(SCALINGS, scaling));
        /* LongRoPE uses its factor only for the attention factor. */
        const bool replaced = scaling == INLAY_ROTARY_LONGROPE && rule->target == FIELD(rotary.factor) &&
                              option_given(&options->line, "attention-factor");
        if (options->rope && rule->needed && has_effect && !given && !replaced)
            return misused("--rope %s needs --%s", enum_name(SCALINGS, scaling), rule->name);
    }
    return DONE;
}

static int check_rope(const struct table_options *options)
{
    const struct command_line *line = &options->line;
    const inlay_rotary_spec *spec = &options->rotary;
    if (spec->dim % 2 != 0)
        return misused("--rope rotates pairs of columns, but --dim %zu is odd", spec->dim);
    if (spec->scaling == INLAY_ROTARY_YARN && spec->base <= 1)
        return misused("--rope yarn needs a --base above 1");
    if (spec->scaling == INLAY_ROTARY_LLAMA3 && spec->low_freq_factor >= spec->high_freq_factor)
        return misused("--low-freq-factor %.10g must be below --high-freq-factor %.10g", spec->low_freq_factor,
                       spec->high_freq_factor);
    if (spec->beta_slow > spec->beta_fast)
        return misused("--beta-slow %.10g must not be above --beta-fast %.10g", spec->beta_slow, spec->beta_fast);
    if (spec->scaling == INLAY_ROTARY_LONGROPE && option_given(line, "attention-factor") &&
        option_given(line, "factor"))
        return misused("--attention-factor replaces what --rope longrope computes from --factor: drop one of them");
    if (option_given(line, "mscale") != option_given(line, "mscale-all-dim"))
        return misused("--mscale and --mscale-all-dim only have an effect together: give both or neither");
    return DONE;
}

static int check_together(const struct table_options *options)
{
    const struct command_line *line = &options->line;
    if (options->spec.dim == 0)
        return misused("--dim is missing: give the number of columns");
    if (options->positions == NULL && !options->print_frequencies)
        return misused("--positions is missing: give the rows as A:B or as a list");
    TRY(check_scaling(options));
    TRY(options_refuse(line, refusals));
    if (option_given(line, "threads") && options->out == NULL && options->plot == NULL)
        return misused("--threads only applies to tables that are written or drawn: give --out or --plot");
    return options->rope ? check_rope(options) : check_frequencies(options);
}

static struct table_options default_options(inlay_recipe recipe, size_t dim)
{
    return (struct table_options){.line = {.usage = usage, .rules = rules},
                                  .spec = inlay_sinusoid_spec_recipe(recipe, dim),
                                  .rotary = inlay_rotary_spec_default(dim),
                                  .rotary_layout = INLAY_ROTARY_HALVES,
                                  .type = INLAY_F32,
                                  .threads = 1};
}

int table_options_parse(int argc, char **argv, struct table_options *options)
{
    *options = default_options(INLAY_RECIPE_EXACT, 0);
    TRY(options_parse(&options->line, argc, argv, options));
    /* Parse again, starting from the defaults of the recipe. */
    *options = default_options(options->spec.recipe, (size_t)options->dim);
    TRY(options_parse(&options->line, argc, argv, options));
    options->rope = option_given(&options->line, "rope");
    options->compare = option_given(&options->line, "compare");
    options->spec.float_angles = options->float_angles;
    if (option_given(&options->line, "shift"))
        options->spec.shift = (uint32_t)options->shift;
    options->rotary.base = options->spec.base;
    options->rotary.truncate = !options->no_truncate;
    options->other = other_of(options);
    return check_together(options);
}
