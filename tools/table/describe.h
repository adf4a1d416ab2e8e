/* SPDX-License-Identifier: MIT */
/*
 * What a table of `inlay table` is, in words: for titles and headings. All functions append to a text.
 */
#pragma once

#include <inlay/inlay.h>

#include "table/generator.h"
#include "table/options.h"

enum { DESCRIPTION_BYTES = 2048 };

/** Appends for example "exact, base 10000, spacing dim, interleaved". inv_freq names the list of frequencies, or is
    null. */
void describe_sinusoid(const inlay_sinusoid_spec *spec, const char *inv_freq, char text[DESCRIPTION_BYTES]);

/** Appends for example "spacing half, shift 1". */
void describe_spacing(const inlay_sinusoid_spec *spec, char text[DESCRIPTION_BYTES]);

/** Appends for example "rope linear, base 10000, factor 4, halves". */
void describe_rope(const struct table_options *options, char text[DESCRIPTION_BYTES]);

/** Appends "positions A:B", or how many there are in a list and which is the first and the last. */
void describe_positions(const struct generator *g, char text[DESCRIPTION_BYTES]);
