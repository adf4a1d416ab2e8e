/* SPDX-License-Identifier: MIT */
/*
 * The handler that XLA calls for inlay.jax through its foreign function interface.
 */
#pragma once

#include "abi.h"

/* xla_handler(): returns a capsule of the handler for jax.ffi.register_ffi_target(). */
PyObject *xla_handler(PyObject *module, PyObject *args);
