/* SPDX-License-Identifier: MIT */
/*
 * Elements of any type as float32, for the parts of the tool that show values rather than save them.
 */
#ifndef INLAY_TOOL_WIDEN_H
#define INLAY_TOOL_WIDEN_H

#include <stddef.h>

#include <inlay/inlay.h>

/** Bytes of one element. */
size_t type_bytes(inlay_element_type type);

/** values[i] = the element [i] of the type. Exact: every one of them is a float32. In place only for INLAY_F32. */
void widen(inlay_element_type type, const void *elements, size_t n, float *values);

#endif
