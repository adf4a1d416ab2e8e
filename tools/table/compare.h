/* SPDX-License-Identifier: MIT */
/*
 * `inlay table --compare`: the difference of two tables of the same shape, by magnitude of the position.
 */
#pragma once

#include "table/generator.h"

/**
 * Prints which tables are compared, then a line per decade of positions, and one for all. Each has the share of entries
 * that differ, then the mean and maximum of the distance |a - b|, then both in ULPs. An ULP is the spacing of float32
 * values in the binade of a, the entry of the first table; for 0 and subnormals it is 2^-149. Each maximum is followed
 * by the first position and column where it occurs.
 */
int compare_print(struct generator *g);
