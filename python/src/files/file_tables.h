/* SPDX-License-Identifier: MIT */
/*
 * Tables of files: Tables as any other, of FileTensors.
 */
#pragma once

#include "abi.h"
#include "files/open_file.h"

/* Makes the Table of a tensor with that name, or of several if the name is a pattern, or null with an exception:
   KeyError if there is none. */
PyObject *table_of_file(struct open_file *file, const char *name);

/* Makes the Table of a table that the library found, or null with an exception. */
PyObject *table_of_view(struct open_file *file, const inlay_file_table *table);

/* Makes the Table of the tensor that a view of the library shows, or null with an exception. */
PyObject *table_of_rows(struct open_file *file, const inlay_table *view);
