/* SPDX-License-Identifier: MIT */
/*
 * The tensors and values that the parsers of the formats found, with the memory of their strings. Parsers add them file
 * by file; at the end of each file and of all files the catalogue checks what holds for every format.
 */
#pragma once

#include "error.h"
#include "formats/json.h"

/** The bytes of a file, and its name for tensors and messages. */
struct inlay_source {
    const char *path; /**< lives as long as the catalogue */
    const unsigned char *bytes;
    size_t size;
};

/** The most that a model may have: without a limit, a header of many empty ones would take many times its bytes. */
enum { INLAY_MOST_TENSORS = 1 << 20, INLAY_MOST_VALUES = 1 << 18 };

/** A key whose value is none that settings have: an object, or an array of arrays or of different kinds. */
struct inlay_odd_key {
    const struct inlay_odd_key *next;
    const char *key;
    bool is_null;
};

/** Tensors and values. All zero: empty. Its functions write an error where they return null or false. */
struct inlay_catalogue {
    inlay_file_tensor *tensors; /**< [tensor_count], in the order of files and data */
    size_t tensor_count, tensor_room;
    const inlay_file_tensor **by_name; /**< [name_count] in the order of names, from inlay_catalogue_finish() on */
    size_t name_count;
    inlay_file_value *values; /**< [value_count], in the order of keys likewise */
    size_t value_count, value_room;
    const struct inlay_odd_key *odd_keys; /**< of config.json, in no order */
    inlay_file_opened *opened;            /**< [opened_count], the files that were read */
    size_t opened_count, opened_room;
    const char *choice;         /**< which model of a directory was chosen among several, or null */
    size_t placed_tensors;      /**< whose places were checked: those of all files but the one that is parsed */
    struct inlay_chunk *chunks; /**< memory of strings and arrays */
    inlay_file_error *error;    /**< where to write what is wrong; null: nowhere */
    const char *path;           /**< of the file that was opened last, for errors */
};

/** Releases everything. */
void inlay_catalogue_release(struct inlay_catalogue *catalogue);

/** Returns memory that lives as long as the catalogue, aligned for int64_t and pointers; null if there is none. */
void *inlay_catalogue_memory(struct inlay_catalogue *catalogue, size_t bytes);

/** Returns a copy of a text with a zero behind it, or null. */
char *inlay_catalogue_text(struct inlay_catalogue *catalogue, struct inlay_text text);

/** Returns a prefix and what a string of JSON means, with a zero behind them; null bytes if there is no memory. */
struct inlay_text inlay_catalogue_string(struct inlay_catalogue *catalogue, const char *prefix,
                                         struct inlay_text string);

/** Adds a tensor of the file that is parsed, whose path inlay_catalogue_place_tensors() sets. False if there is no
    memory, or there are as many as there may be. */
bool inlay_catalogue_add_tensor(struct inlay_catalogue *catalogue, const inlay_file_tensor *tensor);

/** Adds a value of the file that was opened last, which there must be; likewise. */
bool inlay_catalogue_add_value(struct inlay_catalogue *catalogue, const inlay_file_value *value);

/** Reports the problem of JSON of the file that was opened last, at a byte `of` something: "" or " of the header". The
    name is null, or what the JSON is of. Returns false. */
bool inlay_catalogue_fail_json(const struct inlay_catalogue *catalogue, const struct inlay_json *json, const char *name,
                               const char *of);

/** Notes a file that was opened. False if there is no memory. */
bool inlay_catalogue_add_opened(struct inlay_catalogue *catalogue, const inlay_file_opened *file);

/**
 * Sorts the tensors of a file by their data and moves these to their places. So far they are counted from the first
 * byte of the file, as if the header took no bytes.
 *
 * @param data       where the data of tensors begin in the file
 * @param alignment  tensors begin at the next multiple of it, counted from `data`, behind the one before
 * @param to_end     whether they must reach to the end of the file
 * @return false with INLAY_FILE_ERROR_RANGE for an overlap or a hole, and with INLAY_FILE_ERROR_TRUNCATED for data
 *         behind the end of the file
 */
bool inlay_catalogue_place_tensors(struct inlay_catalogue *catalogue, const struct inlay_source *source, uint64_t data,
                                   uint64_t alignment, bool to_end);

/** Ends all files: sorts names and keys. INLAY_FILE_ERROR_DUPLICATE if two tensors have the same name, or a file has a
    key twice. Of a key that several files have, the value of the first stays. */
bool inlay_catalogue_finish(struct inlay_catalogue *catalogue);

/** Adds tensors that an index names and its files lack, from inlay_catalogue_finish() on: their data are null, and type
    ends the sentence "the index says that this file holds it, and the file ". They replace tensors of the same name in
    `by_name`, of which `bytes` is then 1 + the index. */
bool inlay_catalogue_add_absent(struct inlay_catalogue *catalogue, inlay_file_tensor *absent, size_t count);

/** Returns true unless a tensor is absent; then writes INLAY_FILE_ERROR_MISSING. */
bool inlay_catalogue_check(const inlay_file_tensor *tensor, inlay_file_error *error);

/** Returns the tensor of that name, or null, from inlay_catalogue_finish() on. It may be absent. Null has none. */
const inlay_file_tensor *inlay_catalogue_tensor(const struct inlay_catalogue *catalogue, const char *name);

/** Returns the index in by_name of the first name that is not before a prefix [size]. */
size_t inlay_catalogue_first(const struct inlay_catalogue *catalogue, const char *prefix, size_t size);

/** Returns the value of that key, or null, from inlay_catalogue_finish() on. */
const inlay_file_value *inlay_catalogue_value(const struct inlay_catalogue *catalogue, const char *key);

/** Returns the value of that key in the file that was opened last, or null, until inlay_catalogue_finish(). */
const inlay_file_value *inlay_catalogue_last_value(const struct inlay_catalogue *catalogue, const char *key);
