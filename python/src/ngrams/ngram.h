/* SPDX-License-Identifier: MIT */
/*
 * The type _core.NGram, the base of inlay.NGram. It is immutable, keeps its token map alive, and may be called from any
 * number of threads.
 */
#pragma once

#include "abi.h"

/* Adds the type to the module. Returns -1 with an exception. */
int ngram_init(PyObject *module);
