/* SPDX-License-Identifier: MIT */
/*
 * The _core.Rotary type, the base of inlay.Rotary. A Rotary is immutable, and may be called from any number of threads.
 */
#pragma once

#include "abi.h"

/* Adds the type to the module. Returns -1 with an exception set on failure. */
int rotary_init(PyObject *module);
