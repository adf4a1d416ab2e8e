/* SPDX-License-Identifier: MIT */
/*
 * Descriptions of the tables of `inlay table`, for titles and headings. All functions append to a text.
 */
#pragma once

#include <inlay/inlay.h>

#include "table/generator.h"
#include "table/options.h"

enum { DESCRIPTION_BYTES = 2048 };

/** Appends e.g. "exact, base 10000, spacing dim, interleaved". inv_freq is the argument of --inv-freq, or null. */
void describe_sinusoid(const inlay_sinusoid_spec *spec, const char *inv_freq, char text[DESCRIPTION_BYTES]);

/** Appends e.g. "spacing half, shift 1". */
void describe_spacing(const inlay_sinusoid_spec *spec, char text[DESCRIPTION_BYTES]);

/** Appends e.g. "rope linear, base 10000, factor 4, halves". */
void describe_rope(const struct table_options *options, char text[DESCRIPTION_BYTES]);

/** Appends "positions A:B". For a list, appends its length, its first position and its last position. */
void describe_positions(const struct generator *g, char text[DESCRIPTION_BYTES]);
