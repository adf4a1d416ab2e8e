/* SPDX-License-Identifier: MIT */
/*
 * The header of NumPy's .npy files: read from memory, written to memory. Included by load.c and save.c; it stands
 * alone, so that tests and fuzzers can link it without the rest. It must not open files, allocate or print.
 */
#ifndef INLAY_TOOL_NPY_H
#define INLAY_TOOL_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** As many bytes from the beginning of a file always suffice for npy_parse. */
enum { NPY_HEAD_BYTES = 12 + 65535 };

/** As many bytes suffice for npy_format. */
enum { NPY_FORMAT_BYTES = 192 };

/** What a header says, or why it is refused. */
struct npy {
    size_t rows;
    size_t dim;
    size_t data_offset; /**< where the float32 [rows, dim] begin */
    char why[160];      /**< one sentence in ASCII, where npy_parse returned false */
};

/**
 * Reads the header of a file of float32 [rows, dim] in C order, dim >= 1, whose data reach exactly to the end.
 *
 * @param head        the beginning of the file
 * @param head_bytes  min(file_bytes, NPY_HEAD_BYTES)
 * @param file_bytes  the size of the whole file
 */
bool npy_parse(const void *head, size_t head_bytes, uint64_t file_bytes, struct npy *npy);

/** Writes the header (version 1.0, padded to 64 bytes) of float32 [shape...], rank 1 to 3; returns its bytes. */
size_t npy_format(const size_t *shape, size_t rank, char out[NPY_FORMAT_BYTES]);

#endif
