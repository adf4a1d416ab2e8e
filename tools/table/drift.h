/* SPDX-License-Identifier: MIT */
/*
 * `inlay table --drift`: the errors of rotary angles in float32, as inlay, transformers and ggml compute them.
 */
#pragma once

#include "table/generator.h"

/**
 * Prints a line for each position and each way to compute angles: the largest error of a cosine or sine, and the
 * largest error of an angle in radians.
 */
int drift_print(struct generator *g);
