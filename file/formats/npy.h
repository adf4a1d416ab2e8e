/* SPDX-License-Identifier: MIT */
/*
 * The header of NumPy's .npy files: read from memory, written to memory. It stands alone, so that
 * tests and fuzzers can link it without the rest. It must not open files, allocate or print.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/file.h>

#include "formats/types.h"

/** The first bytes of a file that inlay_npy_parse needs at most. */
enum { NPY_HEAD_BYTES = 12 + 65535 };

/** The most bytes that inlay_npy_format writes. */
enum { NPY_FORMAT_BYTES = 192 };

/** The most dimensions. */
enum { NPY_RANK = 8 };

/** What a file is read as. */
enum npy_kind {
    NPY_TABLE,    /**< rows [rows, dim], dim >= 1, of f4, f2, u2 (bfloat16), i1 or u1 */
    NPY_LIST,     /**< numbers [rows] of f4, f8, i4 or i8 */
    NPY_INTEGERS, /**< integers [rows] of i4, u4 or i8 */
    NPY_BESIDE,   /**< what lies beside a table: [rows] or [rows, dim], dim >= 1, of f4 or u1 */
    NPY_TENSOR    /**< anything of up to NPY_RANK dimensions */
};

/** The types of elements. */
enum npy_element { NPY_F4, NPY_F8, NPY_I4, NPY_I8, NPY_F2, NPY_U2, NPY_U4, NPY_I1, NPY_U1, NPY_B1, NPY_I2, NPY_U8 };

/** What a header says, or why it is refused. */
struct npy {
    size_t rank;
    size_t shape[NPY_RANK]; /**< [rank] */
    size_t rows;            /**< shape[0] */
    size_t dim;             /**< shape[1], 1 where there is one dimension */
    enum npy_element element;
    size_t element_bytes;
    size_t data_offset;       /**< where the elements begin */
    inlay_file_status status; /**< why the file is refused, where inlay_npy_parse returned false */
    char why[256];            /**< and one sentence in ASCII */
};

/**
 * Reads the header of a file in C order whose data reach exactly to the end.
 *
 * @param head        the beginning of the file
 * @param head_bytes  at least min(file_bytes, NPY_HEAD_BYTES)
 * @param file_bytes  the size of the whole file
 */
bool inlay_npy_parse(const void *head, size_t head_bytes, uint64_t file_bytes, enum npy_kind kind, struct npy *npy);

/** Returns a type of elements, by the name that NumPy has for it, such as "<f4". */
const struct inlay_type *inlay_npy_type(enum npy_element element);

/**
 * Writes the header (version 1.0, padded to 64 bytes) of elements [shape...], rank 1 to 3, of the type that NumPy
 * calls `descr`, such as "<f4"; returns its bytes.
 */
size_t inlay_npy_format(const char *descr, const size_t *shape, size_t rank, char out[NPY_FORMAT_BYTES]);
