/* SPDX-License-Identifier: MIT */
/*
 * Shared by the suites of model files and their fuzz targets: files written byte by byte in a temporary folder, and
 * checks of rejected and accepted files.
 */
#pragma once

#include "support/support.h"

#include <inlay/file.h>

/* ---- Bytes ------------------------------------------------------------------------------------------------------ */

/* The bytes of a file in the making. All zero: empty. */
struct blob {
    unsigned char *bytes;
    size_t size, room;
};

void blob_add(struct blob *blob, const void *bytes, size_t size);
void blob_zeros(struct blob *blob, size_t size);
/* A little-endian number of 1 to 8 bytes. */
void blob_number(struct blob *blob, uint64_t value, size_t bytes);
void blob_free(struct blob *blob);

/* A safetensors file with that header and `data` bytes of data. */
struct blob blob_safetensors(const char *header, size_t data);

/* The start of a GGUF file of version 3, and its parts: a string, the key and type of a value, a tensor with sizes
   [rank], fastest dimension first. */
struct blob blob_gguf(uint64_t tensors, uint64_t values);
void blob_string(struct blob *blob, const char *text);
void blob_value(struct blob *blob, const char *key, uint32_t type);
void blob_u32_value(struct blob *blob, const char *key, uint32_t value);
void blob_tensor(struct blob *blob, const char *name, uint32_t rank, const uint64_t *sizes, uint32_t type,
                 uint64_t offset);
/* Pads to a multiple, and adds zeros. */
void blob_data(struct blob *blob, size_t alignment, size_t data);

/* ---- Files ------------------------------------------------------------------------------------------------------ */

/* Makes and removes the folder of a test. */
void make_folder(void);
void remove_folder(void);

/* Returns the path of a name in the folder, valid for eight calls. */
const char *path_of(const char *name);

/* Writes a file in the folder, and returns its path. */
const char *write_bytes(const char *name, const void *bytes, size_t size);
const char *write_text(const char *name, const char *text);
/* Same, and frees the blob. */
const char *write_blob(const char *name, struct blob blob);

/* Opens a path, which must succeed. */
inlay_file *open_good(const char *path);

/* Same, with at most that many bytes of address space in addition to those of the file. */
inlay_file *open_within(const char *path, size_t more);

/*
 * Expects an error for a path: with that status, with these texts in the name and the message (null: any), within 10 ms
 * of CPU time and 1 MiB of address space, and without leaking descriptors or mappings.
 */
void expect_refused(const char *path, inlay_file_status status, const char *name, const char *message);

/* Returns the table of a tensor or pattern, which must be good. */
inlay_file_table table_of(inlay_file *file, const char *name);

/* Expects an error for the table of a tensor or pattern. */
void expect_no_table(inlay_file *file, const char *name, inlay_file_status status, const char *message);

/* Gathers a row of a table, times the table's scale, into out [dim]. */
void read_row(const inlay_file_table *table, size_t row, float *out);

/* Expects an element of a table of at most 256 columns. */
void expect_element(const inlay_file_table *table, size_t row, size_t column, float expected);

/* ---- Bytes of unknown origin ------------------------------------------------------------------------------------ */

/*
 * Parses bytes as a model. If that succeeds, every tensor must be within them, every name and key must be found, and
 * the first and last row of every table must be readable. Returns null, or the failed check. *status is the parser's.
 */
const char *check_model(const unsigned char *bytes, size_t size, inlay_file_status *status);

/* Parses bytes as a config.json and checks its values. Returns null, or the failed check. */
const char *check_config(const unsigned char *bytes, size_t size);

/* Runs check_model() on every prefix of a file, and with every byte changed in several ways. `least` bytes at the end
   can be missing without an error. */
void expect_survived(struct blob blob, size_t least);
