/* SPDX-License-Identifier: MIT */
/*
 * The parsers of the formats: bytes of a file become tensors and values of a catalogue. They check everything that a
 * header says against the bytes that are there, read none of the data of tensors, and open no files.
 */
#ifndef INLAY_FILE_FORMATS_H
#define INLAY_FILE_FORMATS_H

#include "formats/catalogue.h"

/** Recognises the format of a file by its first bytes, and parses it. INLAY_FILE_ERROR_KIND if it is none. */
inlay_file_status inlay_parse_model(struct inlay_catalogue *catalogue, const struct inlay_source *source,
                                    inlay_file_error *error);

/** Parses a safetensors file: u64 N, N bytes of JSON, data. */
inlay_file_status inlay_parse_safetensors(struct inlay_catalogue *catalogue, const struct inlay_source *source,
                                          inlay_file_error *error);

/** Parses a GGUF file of version 2 or 3. */
inlay_file_status inlay_parse_gguf(struct inlay_catalogue *catalogue, const struct inlay_source *source,
                                   inlay_file_error *error);

/** Parses a file of NumPy's, which becomes one tensor with the name "data". */
inlay_file_status inlay_parse_npy(struct inlay_catalogue *catalogue, const struct inlay_source *source,
                                  inlay_file_error *error);

/** Parses a config.json: its numbers, strings, truth values and plain arrays become values with the prefix "config.".
 */
inlay_file_status inlay_parse_config(struct inlay_catalogue *catalogue, const struct inlay_source *source,
                                     inlay_file_error *error);

#endif
