/* SPDX-License-Identifier: MIT */
/*
 * The operators inlay::forward and inlay::backward of PyTorch, without its headers: they reach tensors by PyTorch's
 * stable shims, whose addresses Python looks up. The schemas are in inlay/torch/operators.py.
 */
#pragma once

#include "abi.h"

/* use_torch(addresses): takes the addresses of the functions that torch_names() lists, in that order, and registers the
   operators for the CPU. */
PyObject *torch_use(PyObject *module, PyObject *addresses);

/* torch_names(): the names of the functions that the operators need. */
PyObject *torch_names(PyObject *module, PyObject *args);
