/* SPDX-License-Identifier: MIT */
/*
 * `inlay table --compare`: how much two tables of the same shape differ, by the magnitude of the position.
 */
#pragma once

#include <stddef.h>

#include <inlay/inlay.h>

#include "table/positions.h"

/**
 * Prints to stdout a line for each decade of positions that occurs, and one for all: the share of entries that differ,
 * then mean and maximum of the distance |a - b|, then both in ULP: |a - b| over the distance between the neighbouring
 * float32 of the binade of a, the entry of the first table, which is 2^-149 for 0 and subnormals. Beside each maximum
 * stands the first position and column that has it.
 */
int compare_print(const struct positions *positions, size_t dim, const inlay_sinusoid *first,
                  const inlay_sinusoid *second);
