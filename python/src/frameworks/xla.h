/* SPDX-License-Identifier: MIT */
/*
 * The handler that XLA calls for inlay.jax: the operation behind XLA's foreign function interface.
 */
#pragma once

#include "abi.h"

/* xla_handler(): a capsule of the handler, as jax.ffi.register_ffi_target() takes it. */
PyObject *xla_handler(PyObject *module, PyObject *args);
