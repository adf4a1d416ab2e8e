/* SPDX-License-Identifier: MIT */
/*
 * The step of rope.h from options to frequencies: the library computes them, this reads the lists of LongRoPE.
 */
#include "rope.h"

#include <stdlib.h>

#include "message.h"

static int read_factors(const char *option, const char *text, size_t pairs, struct numbers *factors)
{
    int outcome = numbers_read(option, text, 0x1p-20, 0x1p20, factors);
    if (outcome == DONE && factors->n != pairs)
        outcome = failed("%s has %zu numbers, and there are %zu frequencies, half of --dim", option, factors->n, pairs);
    return outcome;
}

static int compute(const inlay_rotary_spec *spec, struct numbers *frequencies, double *attention_factor)
{
    frequencies->n = spec->dim / 2;
    frequencies->values = calloc(frequencies->n, sizeof *frequencies->values);
    if (frequencies->values == NULL)
        return out_of_memory("the frequencies", (double)frequencies->n * sizeof *frequencies->values);
    inlay_status status = inlay_rotary_frequencies(spec, frequencies->values, attention_factor);
    return status == INLAY_OK ? DONE : failed("--rope: %s", inlay_status_string(status));
}

int rope_frequencies(const struct rope_options *options, size_t dim, double base, struct numbers *frequencies,
                     double *attention_factor)
{
    struct numbers short_factors = {NULL, 0}, long_factors = {NULL, 0};
    int outcome = DONE;
    inlay_rotary_spec spec = options->spec;
    spec.dim = dim;
    spec.base = base;
    if (options->short_factors != NULL)
        outcome = read_factors("--short-factors", options->short_factors, dim / 2, &short_factors);
    if (outcome == DONE && options->long_factors != NULL)
        outcome = read_factors("--long-factors", options->long_factors, dim / 2, &long_factors);
    spec.short_factors = short_factors.values;
    spec.long_factors = long_factors.values;
    if (outcome == DONE)
        outcome = compute(&spec, frequencies, attention_factor);
    numbers_free(&short_factors);
    numbers_free(&long_factors);
    return outcome;
}
