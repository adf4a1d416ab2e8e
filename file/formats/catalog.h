/* SPDX-License-Identifier: MIT */
/*
 * The tensors and values found by the parsers of the formats, with the memory of their strings. Parsers add them file
 * by file. After each file and after all files, the catalog checks the rules that hold for every format.
 */
#pragma once

#include "error.h"
#include "formats/json.h"

/** The bytes of a file, and its path for tensors and messages. */
struct inlay_source {
    const char *path; /**< lives as long as the catalog */
    const unsigned char *bytes;
    size_t size;
};

/** Limits of a model. Without them, a header of many empty entries could take many times its size in memory. */
enum { INLAY_MAX_TENSORS = 1 << 20, INLAY_MAX_VALUES = 1 << 18 };

/** Tensors and values. All zero: empty. Functions that return null or false write an error. */
struct inlay_catalog {
    inlay_file_tensor *tensors; /**< [tensor_count], in the order of files and data */
    size_t tensor_count, tensor_room;
    const inlay_file_tensor **by_name; /**< [name_count], sorted by name, after inlay_catalog_finish() */
    size_t name_count;
    inlay_file_value *values; /**< [value_count], sorted by key, after inlay_catalog_finish(). [odd_count] with
                                   unsupported values of config.json follow, in no order: objects, null, and arrays of
                                   arrays or of mixed kinds. Their kind is 0, and `integer` is 1 for null */
    size_t value_count, value_room, odd_count;
    const char *skipped_object; /* the first key of config.json that may hold objects and was skipped; or null */
    inlay_file_opened *opened;  /**< [opened_count], the files that were read */
    size_t opened_count, opened_room;
    const char *choice;    /**< the model that was chosen among several in a directory, or null */
    size_t placed_tensors; /**< tensors whose positions are checked: those of all files except the one being parsed */
    struct inlay_chunk *chunks; /**< memory of strings and arrays */
    inlay_file_error *error;    /**< where errors are written; null: nowhere */
    const char *path;           /**< of the last opened file, for errors */
};

/** Releases everything. */
void inlay_catalog_release(struct inlay_catalog *catalog);

/** Returns memory that lives as long as the catalog, aligned for int64_t and pointers; null if allocation fails. */
void *inlay_catalog_memory(struct inlay_catalog *catalog, size_t bytes);

/** Returns a null-terminated copy of a text, or null. */
char *inlay_catalog_text(struct inlay_catalog *catalog, struct inlay_text text);

/** Returns a prefix and a decoded JSON string, null-terminated; its bytes are null if allocation fails. */
struct inlay_text inlay_catalog_string(struct inlay_catalog *catalog, const char *prefix, struct inlay_text string);

/** Adds a tensor of the file being parsed; inlay_catalog_place_tensors() sets its path. Returns false if allocation
    fails or there are too many tensors. */
bool inlay_catalog_add_tensor(struct inlay_catalog *catalog, const inlay_file_tensor *tensor);

/** Adds a value of the last opened file, which must exist. Returns false as above. */
bool inlay_catalog_add_value(struct inlay_catalog *catalog, const inlay_file_value *value);

/** Reports the JSON problem of the last opened file, at a byte `of` something: "" or " of the header". `name` is null
   or the tensor. Returns false. */
bool inlay_catalog_fail_json(const struct inlay_catalog *catalog, const struct inlay_json *json, const char *name,
                             const char *of);

/** Records an opened file. Returns false if allocation fails. */
bool inlay_catalog_add_opened(struct inlay_catalog *catalog, const inlay_file_opened *file);

/**
 * Sorts the tensors of a file by their data and moves the data to its final place. Until then, offsets are relative to
 * the first byte of the file, as if the header took no bytes.
 *
 * @param data       offset of the tensor data in the file
 * @param alignment  each tensor starts at the next multiple of it after the previous one, counted from `data`
 * @param to_end     true if the tensors must reach the end of the file
 * @return false with INLAY_FILE_ERROR_RANGE for overlaps or gaps, and with INLAY_FILE_ERROR_TRUNCATED for data past the
 *         end of the file
 */
bool inlay_catalog_place_tensors(struct inlay_catalog *catalog, const struct inlay_source *source, uint64_t data,
                                 uint64_t alignment, bool to_end);

/** Finishes all files: sorts names and keys. Reports INLAY_FILE_ERROR_DUPLICATE if two tensors have the same name, or a
    key occurs twice in a file. If several files have a key, the first one's value is kept. */
bool inlay_catalog_finish(struct inlay_catalog *catalog);

/** Adds tensors that are in an index but missing from their files, after inlay_catalog_finish(). Their data is null,
    and type ends the sentence "the index places it in this file, which ". They replace tensors of the same
    name in `by_name`; their `bytes` is 1 + the index of the replaced one. */
bool inlay_catalog_add_absent(struct inlay_catalog *catalog, inlay_file_tensor *absent, size_t count);

/** Returns true if a tensor is present; otherwise reports INLAY_FILE_ERROR_MISSING. */
bool inlay_catalog_check(const inlay_file_tensor *tensor, inlay_file_error *error);

/** Finds a tensor by name, after inlay_catalog_finish(). Returns null if there is none or name is null. The tensor may
    be missing from its file. */
const inlay_file_tensor *inlay_catalog_tensor(const struct inlay_catalog *catalog, const char *name);

/** Returns the index in by_name of the first name that doesn't sort before a prefix [size]. */
size_t inlay_catalog_first(const struct inlay_catalog *catalog, const char *prefix, size_t size);

/** Finds a value by key, after inlay_catalog_finish(). Returns null if there is none. */
const inlay_file_value *inlay_catalog_value(const struct inlay_catalog *catalog, const char *key);

/** Finds a value by key in the last opened file, before inlay_catalog_finish(). Returns null if there is none. */
const inlay_file_value *inlay_catalog_last_value(const struct inlay_catalog *catalog, const char *key);
