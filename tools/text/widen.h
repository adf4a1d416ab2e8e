/* SPDX-License-Identifier: MIT */
/*
 * Elements of any output type as float32, for the parts of the tool that show values rather than write them.
 */
#pragma once

#include <stddef.h>

#include <inlay/inlay.h>

/** Writes elements [n] to values [n], exactly: each of them is a float32. The two must not overlap. */
void widen(inlay_element_type type, const void *elements, size_t n, float *values);
