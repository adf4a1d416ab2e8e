/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes the header of NumPy's .npy files in memory. Self-contained, so tests and fuzzers can link it without
 * the rest: it must not open files, allocate or print.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <inlay/file.h>

#include "formats/types.h"

/** Maximum number of leading bytes of a file that inlay_npy_parse() needs. */
enum { NPY_HEAD_BYTES = 12 + 65535 };

/** Maximum number of bytes that inlay_npy_format() writes. */
enum { NPY_FORMAT_BYTES = 192 };

/** Maximum rank. */
enum { NPY_RANK = 8 };

/** The use of a file. */
enum npy_kind {
    NPY_TABLE,    /**< rows [rows, dim], dim >= 1, of f4, f2, u2 (bfloat16), i1 or u1 */
    NPY_LIST,     /**< numbers [rows] of f4, f8, i4 or i8 */
    NPY_INTEGERS, /**< integers [rows] of i4, u4 or i8 */
    NPY_SCALES,   /**< scales or zero points: [rows] or [rows, dim], dim >= 1, of f4 or u1 */
    NPY_TENSOR    /**< anything of up to NPY_RANK dimensions */
};

/** The types of elements. */
enum npy_element { NPY_F4, NPY_F8, NPY_I4, NPY_I8, NPY_F2, NPY_U2, NPY_U4, NPY_I1, NPY_U1, NPY_B1, NPY_I2, NPY_U8 };

/** The contents of a header, or why it is rejected. */
struct npy {
    size_t rank;
    size_t shape[NPY_RANK]; /**< [rank] */
    size_t rows;            /**< shape[0] */
    size_t dim;             /**< shape[1], or 1 if there is one dimension */
    enum npy_element element;
    size_t element_bytes;
    size_t data_offset;       /**< where the elements start */
    size_t data_bytes;        /**< of all elements */
    inlay_file_status status; /**< why the file was rejected, if inlay_npy_parse() returned false */
    char why[256];            /**< same, as one ASCII sentence */
};

/**
 * Parses the header of a file. Bytes after the data are ignored, as in NumPy. Fortran order is accepted if it is the
 * same as C order, i.e. if at most one dimension is larger than 1.
 *
 * @param head        the first bytes of the file
 * @param head_bytes  at least min(file_bytes, NPY_HEAD_BYTES)
 * @param file_bytes  the size of the whole file
 */
bool inlay_npy_parse(const void *head, size_t head_bytes, uint64_t file_bytes, enum npy_kind kind, struct npy *npy);

/** Returns an element type by NumPy's name for it, e.g. "<f4". */
const struct inlay_type *inlay_npy_type(enum npy_element element);

/**
 * Writes the header (version 1.0, padded to 64 bytes) of elements [shape...], rank 1 to 3, of NumPy's type `descr`,
 * e.g.
 * "<f4". Returns its size in bytes.
 */
size_t inlay_npy_format(const char *descr, const size_t *shape, size_t rank, char out[NPY_FORMAT_BYTES]);
