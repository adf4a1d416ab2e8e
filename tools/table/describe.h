/* SPDX-License-Identifier: MIT */
/*
 * What a table of `inlay table` is, in words: for titles and headings.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <inlay/inlay.h>

#include "table/options.h"

/** Writes for example "exact, base 10000, spacing dim, interleaved". inv_freq names the list of frequencies, or is
    null. */
void describe_sinusoid(const inlay_sinusoid_spec *spec, const char *inv_freq, char *text, size_t size);

/** Returns whether two specs stand for different formulas, so that tables differ by more than rounding; tells how. */
bool describe_difference(const inlay_sinusoid_spec *first, const inlay_sinusoid_spec *second, char *text, size_t size);

/** Writes for example "rope linear, base 10000, factor 4, halves". */
void describe_rope(const struct table_options *options, char *text, size_t size);
