/* SPDX-License-Identifier: MIT */
/*
 * Tables of files: ordinary Tables over FileTensors.
 */
#pragma once

#include "abi.h"
#include "files/open_file.h"

/* Makes the Table of the tensor with this name, or of several tensors if the name is a pattern. Returns null with an
   exception set on failure: KeyError if no tensor matches. */
PyObject *table_of_file(struct open_file *file, const char *name);

/* Makes the Table of a table found by the library. Returns null with an exception set on failure. */
PyObject *table_of_view(struct open_file *file, const inlay_file_table *table);

/* Makes the Table of the tensor that a view points to. Returns null with an exception set on failure. */
PyObject *table_of_rows(struct open_file *file, const inlay_table *view);
