/* SPDX-License-Identifier: MIT */
/*
 * The frequencies that --rope asks for. Included by table.c.
 */
#ifndef INLAY_TOOL_ROPE_H
#define INLAY_TOOL_ROPE_H

#include <stddef.h>

#include "numbers.h"
#include "rope_options.h"

/** Computes the frequencies [dim / 2], to be freed in any case, and the factor of cosines and sines. */
int rope_frequencies(const struct rope_options *options, size_t dim, double base, struct numbers *frequencies,
                     double *attention_factor);

#endif
