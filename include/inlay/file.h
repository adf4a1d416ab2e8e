/* SPDX-License-Identifier: MIT */
/**
 * @file file.h
 * Model files (safetensors, GGUF, npy): functions that open, validate and map them, make tables and input layers from
 * them, and read tables larger than memory. Files are treated as untrusted input.
 *
 * This is the header of a separate library, libinlay-file (pkg-config inlay-file). Unlike the core, it makes system
 * calls. It is not included by inlay.h.
 *
 *     inlay_file *file;
 *     inlay_file_error error;
 *     if (inlay_file_open("model.safetensors", NULL, &file, &error) != INLAY_FILE_OK)
 *         puts(error.message);
 *     inlay_file_table table;
 *     inlay_file_get_table(file, "wte.weight", &table, &error);  // table.view is an inlay_table into the mapping
 *
 * An open inlay_file is immutable, and any number of threads may share it. Strings and views that its functions return
 * point into it and stay valid until inlay_file_close().
 */
#ifndef INLAY_FILE_H
#define INLAY_FILE_H

#include <inlay/inlay.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ----------------------------------------------------------------------------------------------------- */

/** The result of a function of this library. Zero is success. */
typedef enum inlay_file_status {
    INLAY_FILE_OK = 0,          /**< success */
    INLAY_FILE_ERROR_ARGUMENT,  /**< a required pointer is null, or an option is unknown */
    INLAY_FILE_ERROR_NO_MEMORY, /**< malloc returned null */
    INLAY_FILE_ERROR_SYSTEM,    /**< a file cannot be opened, read or mapped; see system_error */
    INLAY_FILE_ERROR_KIND,      /**< neither a regular file nor a directory, or an unsupported format */
    INLAY_FILE_ERROR_TRUNCATED, /**< the file is shorter than its header states */
    INLAY_FILE_ERROR_LIMIT,     /**< a length, count, depth or size exceeds a limit of the format or of this library */
    INLAY_FILE_ERROR_SYNTAX,    /**< the header is malformed */
    INLAY_FILE_ERROR_DUPLICATE, /**< a name or key occurs twice */
    INLAY_FILE_ERROR_RANGE,     /**< tensors are outside the data, overlap or leave gaps, or their size doesn't match
                                     their shape and type */
    INLAY_FILE_ERROR_TYPE,      /**< an element type is unknown in the format or unsupported in tables */
    INLAY_FILE_ERROR_SHAPE,     /**< a tensor has the wrong shape for its use */
    INLAY_FILE_ERROR_MISSING,   /**< a tensor, metadata key or file of a set is missing */
    INLAY_FILE_ERROR_MODEL,     /**< the model's input layer cannot be derived from its files */
} inlay_file_status;

/** Returns an English sentence for a status. Never null, even for values outside the enum. */
INLAY_API const char *inlay_file_status_string(inlay_file_status status);

/** Details of an error. Written only if a function doesn't return INLAY_FILE_OK. */
typedef struct inlay_file_error {
    inlay_file_status status; /**< the function's result */
    int system_error;         /**< errno, with INLAY_FILE_ERROR_SYSTEM; else 0 */
    char name[128];    /**< tensor or key, truncated, with ? in place of bytes that aren't printable ASCII; may be
                            empty */
    char message[384]; /**< one ASCII sentence that names the file, the tensor and the values */
} inlay_file_error;

/* ---- Opening ---------------------------------------------------------------------------------------------------- */

/** Where tensor data is kept. */
typedef enum inlay_file_memory {
    INLAY_FILE_MEMORY_MAPPED = 0, /**< a read-only mapping. Pages are read from the disk one by one on first access,
                                       which is good for random rows but slow for sequential reads. If the file is
                                       truncated while it is open, reads raise SIGBUS */
    INLAY_FILE_MEMORY_COPIED = 1, /**< a private copy, in huge pages if it fills at least one. Later changes to the
                                       file have no effect */
    INLAY_FILE_MEMORY_LOADED = 2, /**< a mapping that is read at once, into huge pages if the file system supports
                                       them: for tables that fit in memory. A truncated file raises SIGBUS, as with
                                       MAPPED */
} inlay_file_memory;

/** How to open a file. Start from inlay_file_options_default(). */
typedef struct inlay_file_options {
    size_t size;              /**< sizeof(inlay_file_options) */
    inlay_file_memory memory; /**< where tensor data is kept */
    uint32_t reserved;        /**< 0 */
    size_t resident_bytes;    /**< with MAPPED: approximate limit for the resident bytes of the mapping in this
                                   process. Above it, inlay_file_read_end() drops pages. 0: no limit */
} inlay_file_options;

/** Returns options for a mapping without a limit. */
static inline inlay_file_options inlay_file_options_default(void)
{
    inlay_file_options options;
    options.size = sizeof options;
    options.memory = INLAY_FILE_MEMORY_MAPPED;
    options.reserved = 0;
    options.resident_bytes = 0;
    return options;
}

/** An open model: one file, or several files of one model. */
typedef struct inlay_file inlay_file;

/**
 * Opens a model and validates all headers. Reads no tensor data unless it is copied or loaded.
 *
 * @param path     a .safetensors, .gguf or .npy file, recognized by its contents; the .index.json of a sharded
 *                 safetensors model (files whose tensors aren't used may be missing); any file of a split GGUF model,
 *                 with all other files in the same directory; or a directory with one of these and optionally a
 *                 config.json
 * @param options  null: inlay_file_options_default()
 * @param file     set to the new handle, or to null if the call fails
 * @param error    null, or set to the details of an error
 */
INLAY_API inlay_file_status inlay_file_open(const char *path, const inlay_file_options *options, inlay_file **file,
                                            inlay_file_error *error);

/** Closes a file and unmaps its tensors. Null is ignored. No call, layer or view may be using it. */
INLAY_API void inlay_file_close(inlay_file *file);

/** A file that was read to open a model: a file with tensors, an index or a config.json. */
typedef struct inlay_file_opened {
    const char *path; /**< its path */
    uint64_t device;  /**< st_dev of the opened file, even if the path now refers to another file */
    uint64_t inode;   /**< st_ino of the opened file */
} inlay_file_opened;

/** Returns the number of files that were read to open a model, for programs that must not overwrite any of them. */
INLAY_API size_t inlay_file_opened_count(const inlay_file *file);

/** Returns one of these files, in the order in which they were opened. index < inlay_file_opened_count(). */
INLAY_API const inlay_file_opened *inlay_file_path_at(const inlay_file *file, size_t index);

/* ---- Tensors and metadata --------------------------------------------------------------------------------------- */

/** Maximum rank of a listed tensor. */
#define INLAY_FILE_RANK 8

/** A tensor of a file. */
typedef struct inlay_file_tensor {
    const char *name;                /**< UTF-8; "data" for npy files */
    const char *type;                /**< type name in its format: "BF16", "Q4_K", "<f4" */
    inlay_element_type element;      /**< element type of a table with this data; 0 if there is none. F64 and
                                          packed rows have 0, but inlay_file_get_table() can open them */
    uint32_t rank;                   /**< number of dimensions, 0 to INLAY_FILE_RANK */
    uint64_t shape[INLAY_FILE_RANK]; /**< slowest dimension first, as in PyTorch: [vocab, dim], also for GGUF */
    uint64_t bytes;                  /**< size of its data */
    const void *data;                /**< its first byte, unaligned */
    const char *path;                /**< path of the file that holds it */
} inlay_file_tensor;

/** Returns the number of tensors. */
INLAY_API size_t inlay_file_tensor_count(const inlay_file *file);

/** Returns a tensor. Tensors are in the order of the files, and within a file in the order of their data. index <
    inlay_file_tensor_count(). */
INLAY_API const inlay_file_tensor *inlay_file_tensor_at(const inlay_file *file, size_t index);

/** Finds a tensor by name. Returns null if there is none. Takes O(log n). */
INLAY_API const inlay_file_tensor *inlay_file_find_tensor(const inlay_file *file, const char *name);

/** The kind of a metadata value. */
typedef enum inlay_file_value_kind {
    INLAY_FILE_VALUE_STRING = 1,   /**< text [count bytes], null-terminated; UTF-8, except in GGUF, where any bytes
                                        are allowed */
    INLAY_FILE_VALUE_INTEGER = 2,  /**< integer */
    INLAY_FILE_VALUE_NUMBER = 3,   /**< number */
    INLAY_FILE_VALUE_BOOLEAN = 4,  /**< integer, 0 or 1 */
    INLAY_FILE_VALUE_INTEGERS = 5, /**< integers [count] */
    INLAY_FILE_VALUE_NUMBERS = 6,  /**< numbers [count] */
    INLAY_FILE_VALUE_STRINGS = 7,  /**< strings [count], each like STRING */
    /* Arrays [count] of GGUF. `text` points to their first element: little-endian, unaligned, in the mapping or copy of
       the file. Read them with inlay_file_value_integers() and inlay_file_value_numbers(). */
    INLAY_FILE_VALUE_ARRAY_U8 = 8,    /**< of 8 bits */
    INLAY_FILE_VALUE_ARRAY_I8 = 9,    /**< of 8 bits, signed */
    INLAY_FILE_VALUE_ARRAY_U16 = 10,  /**< of 16 bits */
    INLAY_FILE_VALUE_ARRAY_I16 = 11,  /**< of 16 bits, signed */
    INLAY_FILE_VALUE_ARRAY_U32 = 12,  /**< of 32 bits */
    INLAY_FILE_VALUE_ARRAY_I32 = 13,  /**< of 32 bits, signed */
    INLAY_FILE_VALUE_ARRAY_F32 = 14,  /**< of floats */
    INLAY_FILE_VALUE_ARRAY_BOOL = 15, /**< of booleans, one byte each; 0 is false */
    INLAY_FILE_VALUE_ARRAY_U64 = 16,  /**< of 64 bits */
    INLAY_FILE_VALUE_ARRAY_I64 = 17,  /**< of 64 bits, signed */
    INLAY_FILE_VALUE_ARRAY_F64 = 18,  /**< of doubles */
} inlay_file_value_kind;

/** A metadata value of GGUF, safetensors' __metadata__ or config.json. Keys of config.json have the prefix "config.";
    keys of nested objects are joined with dots ("config.text_config.hidden_size"). Keys with a dot in their own name
    are skipped, except in "quantization" and "quantization_config". */
typedef struct inlay_file_value {
    const char *key;            /**< its key, UTF-8 */
    inlay_file_value_kind kind; /**< which of the fields below holds it */
    uint32_t reserved;          /**< 0 */
    const char *text;           /**< of STRING; first byte of GGUF's arrays; else null */
    int64_t integer;            /**< of INTEGER and BOOLEAN; a uint64 of 2^63 or more is a NUMBER */
    double number;              /**< of NUMBER and INTEGER */
    size_t count;               /**< bytes of STRING, elements of arrays, else 0 */
    const int64_t *integers;    /**< of INTEGERS, else null */
    const double *numbers;      /**< of NUMBERS, else null */
    const char *const *strings; /**< of STRINGS, else null */
} inlay_file_value;

/** Returns the number of metadata values. */
INLAY_API size_t inlay_file_value_count(const inlay_file *file);

/** Returns a metadata value, in the order of keys. index < inlay_file_value_count(). */
INLAY_API const inlay_file_value *inlay_file_value_at(const inlay_file *file, size_t index);

/** Finds a metadata value by key. Returns null if there is none. Takes O(log n). */
INLAY_API const inlay_file_value *inlay_file_find_value(const inlay_file *file, const char *key);

/**
 * Reads elements [first, first + n) of an array of integers: INTEGERS, or one of GGUF's arrays. Booleans become 0 and
 * 1.
 *
 * @param value  from inlay_file_value_at() or inlay_file_find_value()
 * @param first  index of the first element
 * @param n      number of elements
 * @param out    [n], written only with INLAY_FILE_OK
 * @return INLAY_FILE_OK; INLAY_FILE_ERROR_ARGUMENT if a pointer is null or the array is too short;
 *         INLAY_FILE_ERROR_TYPE if the value is not an array of integers, or if an element is 2^63 or more
 */
INLAY_API inlay_file_status inlay_file_value_integers(const inlay_file_value *value, size_t first, size_t n,
                                                      int64_t *out);

/** Reads elements [first, first + n) of an array of numbers: NUMBERS, INTEGERS, or one of GGUF's arrays. 64-bit
   integers are rounded. Returns INLAY_FILE_ERROR_TYPE for other values; other errors are the same as for
   inlay_file_value_integers(). */
INLAY_API inlay_file_status inlay_file_value_numbers(const inlay_file_value *value, size_t first, size_t n,
                                                     double *out);

/* ---- Tables ----------------------------------------------------------------------------------------------------- */

/** A table of a file. */
typedef struct inlay_file_table {
    inlay_table view; /**< into the file's memory; has extents if several tensors hold the rows */
    float scale; /**< scale of the whole table in the checkpoint (a .weight_scale with one number); else 1. Multiply
                      the layer's scale by it */
    uint32_t reserved; /**< 0 */
} inlay_file_table;

/**
 * Makes a view of a tensor [rows, dim], or of several tensors that hold consecutive rows of one table. docs/files.md
 * lists all supported formats.
 *
 * Scales of a tensor NAME or NAME.weight are found by the conventions of checkpoints: NAME.scale, NAME.weight_scale or
 * NAME.weight_scale_inv, with the shape [rows], [rows, 1], [rows, dim / 32] of F8_E8M0 or U8, or one number for the
 * table. The call returns INLAY_FILE_ERROR_SHAPE for scales of another shape. It returns INLAY_FILE_ERROR_TYPE for int8
 * and FP8 rows without a scale, and if another tensor is named like a scale or zero point of these rows but isn't
 * supported.
 *
 * NAME.weight_packed is a compressed-tensors tensor, with NAME.weight_scale, .weight_shape and .weight_zero_point. A U8
 * tensor NAME.weight with .weight_scale_2 is ModelOpt's NVFP4. int8 rows may have group scales and .weight_zero_point.
 *
 * The first call copies a tensor of F64 to float32; concurrent first calls can each make a copy. If the table has
 * extents, converted scales of groups, or converted zero points, every call allocates memory for them, so reuse the
 * table. All this memory is freed when the file is closed.
 *
 * @param file   from inlay_file_open()
 * @param name   a name, or a pattern in which one * matches the decimal numbers from 0 up, e.g. "ngram.shard_*.weight"
 * @param table  written only with INLAY_FILE_OK. It never exceeds the data in the file, regardless of the metadata
 * @param error  null, or set to the details of an error
 */
INLAY_API inlay_file_status inlay_file_get_table(inlay_file *file, const char *name, inlay_file_table *table,
                                                 inlay_file_error *error);

/* ---- Input layers of checkpoints -------------------------------------------------------------------------------- */

/** Options of inlay_file_layer_create(). Start from inlay_file_layer_options_default(). */
typedef struct inlay_file_layer_options {
    size_t size;                 /**< sizeof(inlay_file_layer_options) */
    const char *model;           /**< model family, a name from inlay_file_model_at(); null: detected */
    const char *part;            /**< null: the input layer for tokens; "decoder": the input layer of the decoder, in
                                      BART, T5 and others; "per_layer": Gemma 3n's per-layer embedding */
    inlay_element_type out_type; /**< INLAY_F32, INLAY_F16 or INLAY_BF16 */
    uint32_t reserved;           /**< 0 */
    const inlay_tuning *tuning;  /**< null: inlay_tuning_default() */
    const char *prefix;          /**< prefix of the layer's tensor names, e.g. "llm."; the family's usual names follow
                                      it. safetensors only. Settings then come from the top level of config.json, nested
                                      model configurations are rejected, and the layer is not complete. null: the usual names,
                                    after any          wrapper prefix (e.g. "module.") shared by all tensors */
} inlay_file_layer_options;

/** Returns options with family detection and float32 outputs. */
static inline inlay_file_layer_options inlay_file_layer_options_default(void)
{
    inlay_file_layer_options options;
    options.size = sizeof options;
    options.model = NULL;
    options.part = NULL;
    options.out_type = INLAY_F32;
    options.reserved = 0;
    options.tuning = NULL;
    options.prefix = NULL;
    return options;
}

/** Returns the name of a supported model family: "bert", "gpt2", "gemma" and so on; null past the end. */
INLAY_API const char *inlay_file_model_at(size_t index);

/** The input layer of a checkpoint, with its sinusoid. */
typedef struct inlay_file_layer inlay_file_layer;

/**
 * Makes the input layer of the model in a file. Its settings come from config.json, the metadata and the names of
 * tensors, in that order. If a setting is missing, the call returns INLAY_FILE_ERROR_MODEL or _MISSING, and the message
 * names it.
 *
 * @param file     from inlay_file_open()
 * @param options  null: inlay_file_layer_options_default()
 * @param layer    set to the new handle, or to null if the call fails. Destroy it before closing the file
 * @param error    null, or set to the details of an error
 */
INLAY_API inlay_file_status inlay_file_layer_create(inlay_file *file, const inlay_file_layer_options *options,
                                                    inlay_file_layer **layer, inlay_file_error *error);

/** Destroys a layer. Null is ignored. */
INLAY_API void inlay_file_layer_destroy(inlay_file_layer *layer);

/** Returns the layer for inlay_forward(). */
INLAY_API const inlay_layer *inlay_file_layer_get(const inlay_file_layer *layer);

/** Returns the spec that the layer was made from. Its tables and sinusoid belong to `layer`. */
INLAY_API const inlay_layer_spec *inlay_file_layer_spec(const inlay_file_layer *layer);

/** Returns the value of inlay_batch.start: the position of the first token of each sequence, e.g. 2 for OPT and
    RoBERTa. */
INLAY_API int64_t inlay_file_layer_start(const inlay_file_layer *layer);

/**
 * Returns an operation of the model between this layer and the first block: "projection", "norm", "positions",
 * "segments", "streams" and others; null past the last one. If there is no operation 0, the layer is complete.
 *
 * "unknown" means that the layer is a guess. Either the model belongs to no supported family, or its file has a setting
 * or tensor that the family doesn't use but that may change the rows. The report names it.
 *
 * @param layer   from inlay_file_layer_create()
 * @param index   of the operation, from 0
 * @param tensor  null, or set to the name of the operation's tensor, or to null if it has none
 */
INLAY_API const char *inlay_file_layer_remaining_op(const inlay_file_layer *layer, size_t index, const char **tensor);

/** Returns a report of what was detected: lines of English text, each ending with a newline. */
INLAY_API const char *inlay_file_layer_report(const inlay_file_layer *layer);

/* ---- N-grams of checkpoints ------------------------------------------------------------------------------------- */

/** The hashed n-gram embedding of a checkpoint, with its tables. */
typedef struct inlay_file_ngram inlay_file_ngram;

/**
 * Makes the hashed n-gram embedding of a checkpoint: Qwen4Exp's embedding, or the embedding of one layer of DeepSeek's
 * Engram.
 *
 * @param file         from inlay_file_open()
 * @param model_layer  number of the layer in its tensor names, from 0; -1: the only layer with n-grams
 * @param ngram        set to the new handle, or to null if the call fails. Destroy it before closing the file
 * @param error        null, or set to the details of an error
 */
INLAY_API inlay_file_status inlay_file_ngram_create(inlay_file *file, int64_t model_layer, inlay_file_ngram **ngram,
                                                    inlay_file_error *error);

/** Destroys an embedding. Null is ignored. */
INLAY_API void inlay_file_ngram_destroy(inlay_file_ngram *ngram);

/** Returns the handle for inlay_ngram_ids() and inlay_ngram_forward(). */
INLAY_API const inlay_ngram *inlay_file_ngram_get(const inlay_file_ngram *ngram);

/** Returns the spec that the handle was made from. Its arrays belong to `ngram`. */
INLAY_API const inlay_ngram_spec *inlay_file_ngram_spec(const inlay_file_ngram *ngram);

/** Returns the tables for inlay_ngram_lookup, and sets *count to the number of tables. */
INLAY_API const inlay_table *inlay_file_ngram_tables(const inlay_file_ngram *ngram, size_t *count);

/** Returns the scale of all rows in the checkpoint; 1 if it has none. */
INLAY_API float inlay_file_ngram_scale(const inlay_file_ngram *ngram);

/** Returns a report of what was detected, like inlay_file_layer_report(). */
INLAY_API const char *inlay_file_ngram_report(const inlay_file_ngram *ngram);

/* ---- Tables larger than memory ---------------------------------------------------------------------------------- */

/**
 * Starts reading the rows of `ids` from the disk, without waiting for them. It is for servers that have the ids before
 * they need the vectors. At most 256 pages are requested; inlay_file_read_begin() requests the rest. Takes about 0.6 us
 * per row, even if the rows are in memory. Does nothing for files that are copied or loaded.
 *
 * @param file     from inlay_file_open()
 * @param table    a view of this file, from inlay_file_get_table()
 * @param ids      [count] of id_type; ids outside the table are ignored
 * @param id_type  of ids
 * @param count    number of ids
 * @return INLAY_FILE_OK; INLAY_FILE_ERROR_ARGUMENT if a pointer is null or id_type is invalid
 */
INLAY_API inlay_file_status inlay_file_prefetch(inlay_file *file, const inlay_table *table, const void *ids,
                                                inlay_id_type id_type, size_t count);

/** State of a call that reads rows of a mapped table, for inlay_file_read_end(). */
typedef struct inlay_file_read {
    uint64_t begin;   /**< start time, in ticks of a clock that the library chooses */
    size_t pages;     /**< approximate number of pages with its rows; 0: nothing to do at the end */
    size_t requested; /**< pages requested from the disk; 0 while calls are warm */
} inlay_file_read;

/**
 * Reads the rows of `ids` into memory if recent calls were slow because rows came from the disk. If recent calls were
 * fast, it does almost nothing. Call it before inlay_forward(), inlay_gather() or inlay_ngram_forward() on a mapped
 * table that may be larger than memory, and call inlay_file_read_end() afterwards:
 *
 *     inlay_file_read read;
 *     inlay_file_read_begin(file, &table.view, ids, INLAY_ID_I32, n, &read);
 *     inlay_gather(&table.view, ids, INLAY_ID_I32, n, table.scale, out, stride, NULL, &fault);
 *     inlay_file_read_end(file, &read);
 *
 * Results are the same without these calls. All time between the two counts as reading. Parameters and errors are the
 * same as for inlay_file_prefetch().
 */
INLAY_API inlay_file_status inlay_file_read_begin(inlay_file *file, const inlay_table *table, const void *ids,
                                                  inlay_id_type id_type, size_t count, inlay_file_read *read);

/** Records how long the call took, and drops pages if the file has a limit for resident bytes and exceeds it. */
INLAY_API void inlay_file_read_end(inlay_file *file, const inlay_file_read *read);

/* ---- Your own mappings ------------------------------------------------------------------------------------------ */

/**
 * Detects if the rows of your own mapping come from the disk. Use one reader per mapping, or for several mappings with
 * the same access pattern. Any number of threads may share it. Start from inlay_file_reader_init(). A reader owns
 * nothing and needs no destroy function, but must not be moved while a thread uses it. The fields are private.
 */
typedef struct inlay_file_reader {
    uint32_t state;       /**< 0 while pages are requested */
    uint32_t calls;       /**< number of calls since the reader began to request pages */
    uint32_t page_bytes;  /**< page size of the system; 0: rows are in memory, and calls do nothing */
    uint32_t timed_pages; /**< calls with fewer pages are not timed while none are requested */
    size_t slow_ticks;    /**< ticks above which a page is slow; 0 until measured */
    uint64_t start_ns;    /**< when slow_ticks was last measured */
    uint64_t start_ticks; /**< the same instant by the clock of inlay_file_read.begin */
} inlay_file_reader;

/** Initializes a reader, which requests pages until calls are fast. Null is ignored. */
INLAY_API void inlay_file_reader_init(inlay_file_reader *reader);

/**
 * Reads the rows of `ids` into memory if recent calls were slow, as inlay_file_read_begin() does for files of this
 * library. It doesn't change the mapping, and requests only the pages of these rows.
 *
 *     inlay_table table = inlay_table_view(INLAY_Q6_K, base, rows, dim, row_bytes); // row i at base + i * row_bytes
 *     inlay_file_reader_begin(&reader, &table, ids, INLAY_ID_I32, n, &read);
 *     inlay_gather(&table, ids, INLAY_ID_I32, n, 1, out, stride, NULL, &fault);
 *     inlay_file_reader_end(&reader, &read);
 *
 * Calls make no system calls while rows are in memory. Calls with 1 to 3 pages don't read a clock either, so only
 * larger calls detect that rows were evicted. Rows in memory that isn't mapped from a file always count as being in
 * memory.
 *
 * @param reader   from inlay_file_reader_init()
 * @param table    the view whose rows will be read
 * @param ids      [count] of id_type; ids outside the table are ignored
 * @param id_type  of ids
 * @param count    number of ids
 * @param read     for inlay_file_reader_end()
 * @return INLAY_FILE_OK; INLAY_FILE_ERROR_ARGUMENT if a pointer is null or id_type is invalid
 */
INLAY_API inlay_file_status inlay_file_reader_begin(inlay_file_reader *reader, const inlay_table *table,
                                                    const void *ids, inlay_id_type id_type, size_t count,
                                                    inlay_file_read *read);

/** Records how long the call took. */
INLAY_API void inlay_file_reader_end(inlay_file_reader *reader, const inlay_file_read *read);

#ifdef __cplusplus
}
#endif

#endif
