/* SPDX-License-Identifier: MIT */
/*
 * The rules of rope_options.h, one line for each option. An original length has no default: a wrong one makes a table
 * that looks right.
 */
#include "rope_options.h"

#include <inttypes.h>
#include <stddef.h>

#include "message.h"
#include "names.h"
#include "number.h"

/* Sets of scalings. */
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

/* Numbers end where the library says so. */
#define LEAST 0x1p-20
#define LENGTH_MOST (INLAY_POSITION_LIMIT - 1)

struct rule {
    const char *name;
    int scalings; /* that take it */
    int needed;   /* by those */
    double least; /* of a number */
    double most;
    size_t field; /* where a number goes in the spec */
};

static const struct rule rules[ROPE_OPTIONS] = {
    [ROPE_SCALING] = {"--rope", ALL, 0, 0, 0, 0},
    [ROPE_LAYOUT] = {"--rope-layout", ALL, 0, 0, 0, 0},
    [ROPE_FACTOR] = {"--factor", STRETCHED, STRETCHED, 1, 1e6, offsetof(inlay_rotary_spec, factor)},
    [ROPE_ORIGINAL_LENGTH] = {"--original-length", TRAINED, TRAINED, 2, LENGTH_MOST,
                              offsetof(inlay_rotary_spec, original_length)},
    [ROPE_LENGTH] = {"--length", DYNAMIC_NTK | LONGROPE, DYNAMIC_NTK | LONGROPE, 0, LENGTH_MOST,
                     offsetof(inlay_rotary_spec, length)},
    [ROPE_LOW_FREQ_FACTOR] = {"--low-freq-factor", LLAMA3, 0, LEAST, 1e6, offsetof(inlay_rotary_spec, low_freq_factor)},
    [ROPE_HIGH_FREQ_FACTOR] = {"--high-freq-factor", LLAMA3, 0, LEAST, 1e6,
                               offsetof(inlay_rotary_spec, high_freq_factor)},
    [ROPE_BETA_FAST] = {"--beta-fast", YARN, 0, LEAST, 1e6, offsetof(inlay_rotary_spec, beta_fast)},
    [ROPE_BETA_SLOW] = {"--beta-slow", YARN, 0, LEAST, 1e6, offsetof(inlay_rotary_spec, beta_slow)},
    [ROPE_NO_TRUNCATE] = {"--no-truncate", YARN, 0, 0, 0, 0},
    [ROPE_MSCALE] = {"--mscale", YARN, 0, LEAST, 100, offsetof(inlay_rotary_spec, mscale)},
    [ROPE_MSCALE_ALL_DIM] = {"--mscale-all-dim", YARN, 0, LEAST, 100, offsetof(inlay_rotary_spec, mscale_all_dim)},
    [ROPE_ATTENTION_FACTOR] = {"--attention-factor", YARN | LONGROPE, 0, LEAST, 0x1p10,
                               offsetof(inlay_rotary_spec, attention_factor)},
    [ROPE_SHORT_FACTORS] = {"--short-factors", LONGROPE, LONGROPE, 0, 0, 0},
    [ROPE_LONG_FACTORS] = {"--long-factors", LONGROPE, LONGROPE, 0, 0, 0},
};

void rope_options_start(struct rope_options *options)
{
    *options = (struct rope_options){.spec = inlay_rotary_spec_default(0), .layout = INLAY_ROTARY_HALVES};
}

int rope_options_parse(struct rope_options *options, enum rope_option option, const char *text)
{
    const struct rule *rule = &rules[option];
    options->given[option] = true;
    switch (option) {
    case ROPE_SCALING:
        return option_rotary_scaling(text, &options->spec.scaling);
    case ROPE_LAYOUT:
        return option_rotary_layout(text, &options->layout);
    case ROPE_NO_TRUNCATE:
        options->spec.truncate = 0;
        return DONE;
    case ROPE_SHORT_FACTORS:
        options->short_factors = text;
        return DONE;
    case ROPE_LONG_FACTORS:
        options->long_factors = text;
        return DONE;
    default:
        return option_double(rule->name, text, rule->least, rule->most,
                             (double *)((char *)&options->spec + rule->field));
    }
}

/* LongRoPE takes its factor for nothing but the attention factor. */
static bool is_needed(const struct rope_options *options, enum rope_option option)
{
    if (option == ROPE_FACTOR && options->spec.scaling == INLAY_ROTARY_LONGROPE)
        return !options->given[ROPE_ATTENTION_FACTOR];
    return rules[option].needed & 1 << options->spec.scaling;
}

/* What is given has an effect, and what is needed is given. */
static int check_given(const struct rope_options *options)
{
    bool rope = options->given[ROPE_SCALING];
    int scaling = 1 << options->spec.scaling;
    const char *name = rotary_scaling_name(options->spec.scaling);
    for (int i = 0; i < ROPE_OPTIONS; i++) {
        const struct rule *rule = &rules[i];
        if (options->given[i] && !rope)
            return misused("%s belongs to --rope, which is not given", rule->name);
        if (options->given[i] && !(rule->scalings & scaling))
            return misused("%s has no effect on --rope %s: drop it", rule->name, name);
        if (rope && !options->given[i] && is_needed(options, (enum rope_option)i))
            return misused("--rope %s needs %s", name, rule->name);
    }
    return DONE;
}

int rope_options_check(const struct rope_options *options, int64_t dim, double base)
{
    const inlay_rotary_spec *spec = &options->spec;
    const bool *given = options->given;
    int outcome = check_given(options);
    if (outcome != DONE || !given[ROPE_SCALING])
        return outcome;
    if (dim % 2 != 0)
        return misused("--rope turns pairs of columns, and --dim %" PRId64 " is odd", dim);
    if (spec->scaling == INLAY_ROTARY_YARN && base <= 1)
        return misused("--rope yarn needs a --base above 1");
    if (spec->low_freq_factor >= spec->high_freq_factor)
        return misused("--low-freq-factor %.10g is not below --high-freq-factor %.10g", spec->low_freq_factor,
                       spec->high_freq_factor);
    if (spec->beta_slow > spec->beta_fast)
        return misused("--beta-slow %.10g is above --beta-fast %.10g", spec->beta_slow, spec->beta_fast);
    if (spec->scaling == INLAY_ROTARY_LONGROPE && given[ROPE_ATTENTION_FACTOR] && given[ROPE_FACTOR])
        return misused("--attention-factor replaces what --rope longrope computes from --factor: drop one of them");
    if (given[ROPE_MSCALE] != given[ROPE_MSCALE_ALL_DIM])
        return misused("--mscale and --mscale-all-dim have an effect together: give both or none");
    if (given[ROPE_MSCALE] && given[ROPE_ATTENTION_FACTOR])
        return misused("--attention-factor replaces what --mscale and --mscale-all-dim compute: drop it or them");
    return DONE;
}
