/* SPDX-License-Identifier: MIT */
/*
 * The step of frequencies.h from options to frequencies: the library computes those of --rope, from lists that are read
 * here.
 */
#include "table/frequencies.h"

#include <stdlib.h>

#include "text/message.h"

static int read_inv_freq(const struct table_options *options, struct numbers *list)
{
    const inlay_sinusoid_spec *spec = &options->spec;
    size_t pairs = spec->dim / 2 + (spec->odd == INLAY_SINUSOID_ODD_FORMULA ? spec->dim % 2 : 0);
    TRY(numbers_read("--inv-freq", options->inv_freq, 0, 0x1p31, list));
    if (list->n != pairs)
        return failed("--inv-freq %s has %zu frequencies, and the columns of --dim %zu need %zu",
                      shown(options->inv_freq), list->n, spec->dim, pairs);
    return DONE;
}

/* Reads the factors of LongRoPE, where there are some. */
static int read_factors(const char *option, const char *text, size_t pairs, struct numbers *factors)
{
    if (text == NULL)
        return DONE;
    TRY(numbers_read(option, text, 0x1p-20, 0x1p20, factors));
    if (factors->n != pairs)
        return failed("%s has %zu numbers, and there are %zu frequencies, half of --dim", option, factors->n, pairs);
    return DONE;
}

static int compute_rotary(const inlay_rotary_spec *spec, struct frequencies *frequencies)
{
    struct numbers *list = &frequencies->list;
    list->n = spec->dim / 2;
    list->values = calloc(list->n, sizeof *list->values);
    if (list->values == NULL)
        return out_of_memory("the frequencies", (double)list->n * sizeof *list->values);
    return check_status(inlay_rotary_frequencies(spec, list->values, &frequencies->attention_factor));
}

int frequencies_read(const struct table_options *options, struct frequencies *frequencies)
{
    *frequencies = (struct frequencies){.attention_factor = 1};
    if (!options->rope)
        return options->inv_freq != NULL ? read_inv_freq(options, &frequencies->list) : DONE;
    inlay_rotary_spec spec = options->rotary;
    struct numbers short_factors = {NULL, 0}, long_factors = {NULL, 0};
    int outcome = read_factors("--short-factors", options->short_factors, spec.dim / 2, &short_factors);
    if (outcome == DONE)
        outcome = read_factors("--long-factors", options->long_factors, spec.dim / 2, &long_factors);
    spec.short_factors = short_factors.values;
    spec.long_factors = long_factors.values;
    if (outcome == DONE)
        outcome = compute_rotary(&spec, frequencies);
    numbers_free(&short_factors);
    numbers_free(&long_factors);
    return outcome;
}
