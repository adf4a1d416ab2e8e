/* SPDX-License-Identifier: MIT */
/*
 * The parsers of the formats: bytes of a file become tensors and values of a catalogue. They check everything that a
 * header says against the bytes that are there, read none of the data of tensors, and open no files. Each returns false
 * with the error of the catalogue.
 */
#pragma once

#include "formats/catalogue.h"

/** What messages say about formats that are not read. */
#define INLAY_PICKLE                                                                                                   \
    "it looks like a pickle of PyTorch, which can run programs and is not read: convert it with "                      \
    "safetensors.torch.save_file(torch.load(file, weights_only=True), new_file)"
#define INLAY_OLD_GGML "it is GGML, the format before GGUF, which is not read: convert the model to GGUF again"
#define INLAY_WEB_PAGE "it is a web page and no model: download the file itself"

/** Returns true if a file of this name is usually a pickle. */
bool inlay_is_pickle(const char *name);

/** Recognises the format of a file by its first bytes, and parses it. INLAY_FILE_ERROR_KIND if it is none. */
bool inlay_parse_model(struct inlay_catalogue *catalogue, const struct inlay_source *source);

/** Parses a safetensors file: u64 N, N bytes of JSON, data. */
bool inlay_parse_safetensors(struct inlay_catalogue *catalogue, const struct inlay_source *source);

/** Parses a GGUF file of version 2 or 3. */
bool inlay_parse_gguf(struct inlay_catalogue *catalogue, const struct inlay_source *source);

/** Parses a file of NumPy's, which becomes one tensor with the name "data". */
bool inlay_parse_npy(struct inlay_catalogue *catalogue, const struct inlay_source *source);

/** Parses a config.json: its numbers, strings, truth values and plain arrays become values with the prefix "config.".
 */
bool inlay_parse_config(struct inlay_catalogue *catalogue, const struct inlay_source *source);
