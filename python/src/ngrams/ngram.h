/* SPDX-License-Identifier: MIT */
/*
 * The _core.NGram type, the base of inlay.NGram. An NGram is immutable, keeps its token map alive, and may be called
 * from any number of threads.
 */
#pragma once

#include "abi.h"

/* Adds the type to the module. Returns -1 with an exception set on failure. */
int ngram_init(PyObject *module);
