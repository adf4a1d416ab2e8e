/* SPDX-License-Identifier: MIT */
/*
 * `inlay table --compare`: how much two tables of the same shape differ, by the magnitude of the position.
 */
#pragma once

#include "table/generator.h"

/**
 * Prints to stdout which tables are compared, then a line for each decade of positions that occurs, and one for all:
 * the share of entries that differ, then mean and maximum of the distance |a - b|, then both in ULP: |a - b| over the
 * distance between the neighbouring float32 of the binade of a, the entry of the first table, which is 2^-149 for 0 and
 * subnormals. Beside each maximum stands the first position and column that has it.
 */
int compare_print(struct generator *g);
