/* SPDX-License-Identifier: MIT */
/*
 * `inlay table --compare`: the difference of two tables of the same shape, by magnitude of the position.
 */
#pragma once

#include "table/generator.h"

/**
 * Prints which tables are compared, then a line per decade of positions, and a line for all positions. A line has the
 * share of entries that differ, the mean and maximum of the distance |a - b|, and the mean and maximum of that distance
 * in ULPs. An ULP is the spacing of float32 values in the binade of a, the entry of the first table; for 0 and
 * subnormals it is 2^-149. After each maximum, the line has the first position and column where it occurs.
 */
int compare_print(struct generator *g);
