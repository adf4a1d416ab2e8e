/* SPDX-License-Identifier: MIT */
/*
 * The header of NumPy's .npy files: read from memory, written to memory. It stands alone, so that
 * tests and fuzzers can link it without the rest. It must not open files, allocate or print.
 */
#ifndef INLAY_TOOL_NPY_H
#define INLAY_TOOL_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The first bytes of a file that npy_parse needs at most. */
enum { NPY_HEAD_BYTES = 12 + 65535 };

/** The most bytes that npy_format writes. */
enum { NPY_FORMAT_BYTES = 192 };

/** What a file is read as. */
enum npy_kind {
    NPY_TABLE,    /**< rows [rows, dim], dim >= 1, of f4, f2, u2 (bfloat16), i1 or u1 */
    NPY_LIST,     /**< numbers [rows] of f4, f8, i4 or i8 */
    NPY_INTEGERS, /**< integers [rows] of i4, u4 or i8 */
    NPY_BESIDE    /**< what lies beside a table: [rows] or [rows, dim], dim >= 1, of f4 or u1 */
};

/** The types of elements. */
enum npy_element { NPY_F4, NPY_F8, NPY_I4, NPY_I8, NPY_F2, NPY_U2, NPY_U4, NPY_I1, NPY_U1 };

/** What a header says, or why it is refused. */
struct npy {
    size_t rows;
    size_t dim; /**< 1 where there is one dimension */
    size_t rank;
    enum npy_element element;
    size_t element_bytes;
    size_t data_offset; /**< where the elements begin */
    char why[200];      /**< one sentence in ASCII, where npy_parse returned false */
};

/**
 * Reads the header of a file in C order whose data reach exactly to the end.
 *
 * @param head        the beginning of the file
 * @param head_bytes  min(file_bytes, NPY_HEAD_BYTES)
 * @param file_bytes  the size of the whole file
 */
bool npy_parse(const void *head, size_t head_bytes, uint64_t file_bytes, enum npy_kind kind, struct npy *npy);

/** Returns what NumPy calls a type of elements, such as "<f4". */
const char *npy_descr(enum npy_element element);

/** Returns the bytes of an element. */
size_t npy_element_bytes(enum npy_element element);

/**
 * Writes the header (version 1.0, padded to 64 bytes) of elements [shape...], rank 1 to 3, of the type that NumPy
 * calls `descr`, such as "<f4"; returns its bytes.
 */
size_t npy_format(const char *descr, const size_t *shape, size_t rank, char out[NPY_FORMAT_BYTES]);

#endif
