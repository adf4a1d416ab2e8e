/* SPDX-License-Identifier: MIT */
/*
 * The parsers of the formats, which turn a file's bytes into tensors and values of a catalog. They check everything
 * in the header against the actual bytes, read no tensor data and open no files. Each returns false with the
 * catalog's error.
 */
#pragma once

#include "formats/catalog.h"

/** Messages about unsupported formats. */
#define INLAY_PICKLE                                                                                                   \
    "it looks like a PyTorch pickle, which can run code and is not supported: convert it with "                        \
    "safetensors.torch.save_file(torch.load(file, weights_only=True), new_file)"
#define INLAY_OLD_GGML "it is GGML, the format before GGUF, which is not supported: convert the model to GGUF again"
#define INLAY_WEB_PAGE "it is a web page, not a model: download the file itself"

/** Returns true if a file of this name is usually a pickle. */
bool inlay_is_pickle(const char *name);

/** Detects the format of a file by its first bytes, and parses it. Reports INLAY_FILE_ERROR_KIND for other formats. */
bool inlay_parse_model(struct inlay_catalog *catalog, const struct inlay_source *source);

/** Parses a safetensors file: u64 N, N bytes of JSON, data. */
bool inlay_parse_safetensors(struct inlay_catalog *catalog, const struct inlay_source *source);

/** Parses a GGUF file of version 2 or 3. */
bool inlay_parse_gguf(struct inlay_catalog *catalog, const struct inlay_source *source);

/** Parses a NumPy file, which becomes one tensor named "data". */
bool inlay_parse_npy(struct inlay_catalog *catalog, const struct inlay_source *source);

/** Maximum bytes of a value's key in config.json, with its prefixes. Longer ones are skipped. */
enum { INLAY_CONFIG_KEY = 1024 };

/** Parses a config.json: its numbers, strings, booleans and plain arrays become values with the prefix "config.". */
bool inlay_parse_config(struct inlay_catalog *catalog, const struct inlay_source *source);
