/* SPDX-License-Identifier: MIT */
/*
 * Shared by the suites of model files and their fuzz targets: files written byte by byte in a separate folder, and the
 * invariants of rejected and accepted files.
 */
#pragma once

#include "support/support.h"

#include <inlay/file.h>

/* ---- Bytes ------------------------------------------------------------------------------------------------------ */

/* The bytes of a file that is being made. All zero: none yet. */
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

/* The beginning of a GGUF file of version 3, and what follows it: a string, the key and type of a value, a tensor whose
   sizes are [rank], the fastest first. */
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

/* The path of a name in the folder, until the next call but seven. */
const char *path_of(const char *name);

/* Writes a file in the folder, and returns its path. */
const char *write_bytes(const char *name, const void *bytes, size_t size);
const char *write_text(const char *name, const char *text);
/* The same, and frees the blob. */
const char *write_blob(const char *name, struct blob blob);

/* Opens what must be good. */
inlay_file *open_good(const char *path);

/* The same, with at most that many bytes of address space besides those of the file. */
inlay_file *open_within(const char *path, size_t more);

/*
 * Demands that a path is refused: with that status, with these texts in the name and the message (null: any), within 10
 * ms of this process and 1 MiB of its address space, and with every descriptor and mapping given back.
 */
void expect_refused(const char *path, inlay_file_status status, const char *name, const char *message);

/* Demands that no table of a tensor or pattern can be had. */
void expect_no_table(inlay_file *file, const char *name, inlay_file_status status, const char *message);

/* Gathers a row of a table of a file, times the table's scale, to out [dim]. */
void read_row(const inlay_file_table *table, size_t row, float *out);

/* ---- Bytes of unknown origin ------------------------------------------------------------------------------------ */

/*
 * Parses bytes as a model. If they are one, every tensor must lie within them, every name and key must be found, and
 * the first and last row of every table must be readable. Returns null, or what does not hold. *status is that of the
 * parser.
 */
const char *check_model(const unsigned char *bytes, size_t size, inlay_file_status *status);

/* Parses bytes as a config.json, whose values must be complete likewise. Returns null, or what does not hold. */
const char *check_config(const unsigned char *bytes, size_t size);

/* Demands that for every beginning of a file, and for every byte changed in several ways. `least` bytes at the end can
   be missing without an error. */
void expect_survived(struct blob blob, size_t least);
