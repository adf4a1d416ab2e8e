/* SPDX-License-Identifier: MIT */
/*
 * The features of n-grams, as lines of features.c.
 */
#pragma once

#include <stdbool.h>

/* Compares every case on the kernels under test with scalar and prints its line; returns whether all are exact. */
bool ngram_features(void);
