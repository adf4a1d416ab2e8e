/* SPDX-License-Identifier: MIT */
/*
 * Tables whose rows lie in several arrays, each of which is a Table of its own.
 */
#ifndef INLAY_PYTHON_EXTENTS_H
#define INLAY_PYTHON_EXTENTS_H

#include "abi.h"

#include <inlay/inlay.h>

/* Returns a tuple of Tables of a sequence of arrays and Tables, without those that have no row, or null with an
   exception. */
PyObject *extents_tables(PyObject *sequence);

/* Makes the view of the rows of a tuple of Tables, one behind the other, and its extents, which PyMem_Free() releases.
   Returns -1 with an exception. */
int extents_view(PyObject *tables, inlay_table *view, inlay_table_extent **extents);

#endif
