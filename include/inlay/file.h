/* SPDX-License-Identifier: MIT */
/**
 * @file file.h
 * Opens model files (safetensors, GGUF, npy), validates them as hostile input and maps them; makes tables and input
 * layers of them; reads tables larger than memory. This is the header of a second library, libinlay-file (pkg-config
 * inlay-file), which calls the operating system; the core does not. It is not part of inlay.h.
 *
 *     inlay_file *file;
 *     inlay_file_error error;
 *     if (inlay_file_open("model.safetensors", NULL, &file, &error) != INLAY_FILE_OK)
 *         puts(error.message);
 *     inlay_file_table table;
 *     inlay_file_table_of(file, "wte.weight", &table, &error);  // table.view is an inlay_table into the mapping
 *
 * A file does not change once it is open, and any number of threads may use it. Strings and views that its functions
 * return point into it and live until inlay_file_close().
 */
#ifndef INLAY_FILE_H
#define INLAY_FILE_H

#include <inlay/inlay.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ----------------------------------------------------------------------------------------------------- */

/** The result of a call of this library. Zero is success. */
typedef enum inlay_file_status {
    INLAY_FILE_OK = 0,          /**< the call did what it says */
    INLAY_FILE_ERROR_ARGUMENT,  /**< a required pointer is null, or an option that this version does not know */
    INLAY_FILE_ERROR_NO_MEMORY, /**< malloc returned null */
    INLAY_FILE_ERROR_SYSTEM,    /**< a file cannot be opened, read or mapped; system_error says why */
    INLAY_FILE_ERROR_KIND,      /**< neither a regular file nor a directory, or of a format that is not read */
    INLAY_FILE_ERROR_TRUNCATED, /**< the file ends before what it announces */
    INLAY_FILE_ERROR_LIMIT,     /**< a length, count, depth or size beyond what the format or this library allows */
    INLAY_FILE_ERROR_SYNTAX,    /**< the header breaks the grammar of its format */
    INLAY_FILE_ERROR_DUPLICATE, /**< a name or key stands there twice */
    INLAY_FILE_ERROR_RANGE,     /**< tensors outside the data, that overlap or leave a hole, or whose bytes do not match
                                     their shape and type */
    INLAY_FILE_ERROR_TYPE,      /**< a type of elements that the format does not have, or that no table can have */
    INLAY_FILE_ERROR_SHAPE,     /**< a tensor whose shape does not suit what it is used as */
    INLAY_FILE_ERROR_MISSING,   /**< a tensor, a key of the metadata or a file of several that is not there */
    INLAY_FILE_ERROR_MODEL,     /**< a model whose input layer cannot be told from its files */
} inlay_file_status;

/** Returns an English sentence for a status. It is never null, also for values outside the enum. */
INLAY_API const char *inlay_file_status_string(inlay_file_status status);

/** What went wrong. Functions write it only when they do not return INLAY_FILE_OK. */
typedef struct inlay_file_error {
    inlay_file_status status; /**< what the function returned */
    int system_error;         /**< errno, with INLAY_FILE_ERROR_SYSTEM; else 0 */
    char name[128];    /**< the tensor or key, shortened and with ? for bytes that are not printable ASCII; or empty */
    char message[384]; /**< one sentence in ASCII that names file, tensor and values */
} inlay_file_error;

/* ---- Opening ---------------------------------------------------------------------------------------------------- */

/** Where the bytes of tensors are. */
typedef enum inlay_file_memory {
    INLAY_FILE_MEMORY_MAPPED = 0, /**< in a read-only mapping: pages come from the disk when they are first read, each
                                     by itself, which suits rows at random and is slow in order. If somebody truncates
                                     the file meanwhile, reading it raises SIGBUS */
    INLAY_FILE_MEMORY_COPIED = 1, /**< in a private copy, on huge pages if it fills one, which no change of the file can
                                     reach */
    INLAY_FILE_MEMORY_LOADED = 2, /**< in a mapping that is read at once, onto huge pages where the file system has
                                     them: for tables that fit in memory. Truncation as with MAPPED */
} inlay_file_memory;

/** How a file is opened. Start from inlay_file_options_default(). */
typedef struct inlay_file_options {
    size_t size;              /**< sizeof(inlay_file_options) */
    inlay_file_memory memory; /**< where the bytes of tensors are */
    uint32_t reserved;        /**< 0 */
    size_t resident_bytes;    /**< with MAPPED: about how many bytes of the mapping may stay resident in this process;
                                   inlay_file_read_end() drops others. 0: any number */
} inlay_file_options;

/** Returns options for a mapping without a cap. Calls no function of the library. */
static inline inlay_file_options inlay_file_options_default(void)
{
    inlay_file_options options;
    options.size = sizeof options;
    options.memory = INLAY_FILE_MEMORY_MAPPED;
    options.reserved = 0;
    options.resident_bytes = 0;
    return options;
}

/** An open model: one file, or several that belong together. */
typedef struct inlay_file inlay_file;

/**
 * Opens a model and validates all headers; reads no data of tensors unless they are copied or loaded.
 *
 * @param path     a .safetensors, .gguf or .npy file, recognised by its contents; the .index.json of a sharded
 *                 safetensors model, of whose files only those with the tensors that are used must be there; any file
 *                 of a split GGUF model, next to all others; or a directory that holds one of these, and perhaps a
 *                 config.json
 * @param options  null: inlay_file_options_default()
 * @param file     where to write the new handle; null is written if the call fails
 * @param error    null, or where to write what went wrong
 */
INLAY_API inlay_file_status inlay_file_open(const char *path, const inlay_file_options *options, inlay_file **file,
                                            inlay_file_error *error);

/** Closes a file and unmaps its tensors. Null is ignored. No call, layer or view may be using it. */
INLAY_API void inlay_file_close(inlay_file *file);

/** A file that was read to open a model: one with tensors, an index or a config.json. */
typedef struct inlay_file_opened {
    const char *path; /**< its name */
    uint64_t device;  /**< st_dev of the file that was opened, whichever file its name means by now */
    uint64_t inode;   /**< st_ino of it */
} inlay_file_opened;

/** Returns how many files were read to open a model: for programs that must not write to any of them. */
INLAY_API size_t inlay_file_opened_count(const inlay_file *file);

/** Returns one of them by its index, in the order in which they were opened. index < inlay_file_opened_count(). */
INLAY_API const inlay_file_opened *inlay_file_opened_at(const inlay_file *file, size_t index);

/* ---- Tensors and metadata --------------------------------------------------------------------------------------- */

/** The most dimensions of a tensor that is listed. */
#define INLAY_FILE_RANK 8

/** A tensor of a file. */
typedef struct inlay_file_tensor {
    const char *name;                /**< UTF-8; of an npy file "data" */
    const char *type;                /**< the name that its format gives its type: "BF16", "Q4_K", "<f4" */
    inlay_element_type element;      /**< the type of tables of it, 0: no table can have it */
    uint32_t rank;                   /**< number of dimensions, 0 to INLAY_FILE_RANK */
    uint64_t shape[INLAY_FILE_RANK]; /**< the slowest first, as in PyTorch: [vocab, dim] also of GGUF */
    uint64_t bytes;                  /**< of its data */
    const void *data;                /**< its first byte, at any address */
    const char *path;                /**< of the file that holds it */
} inlay_file_tensor;

/** Returns the number of tensors. */
INLAY_API size_t inlay_file_tensor_count(const inlay_file *file);

/** Returns a tensor by its index, in the order of the files and of their data. index < inlay_file_tensor_count(). */
INLAY_API const inlay_file_tensor *inlay_file_tensor_at(const inlay_file *file, size_t index);

/** Returns the tensor of that name, or null. Takes O(log n). */
INLAY_API const inlay_file_tensor *inlay_file_tensor_named(const inlay_file *file, const char *name);

/** The kind of a value of the metadata. */
typedef enum inlay_file_value_kind {
    INLAY_FILE_VALUE_STRING = 1,   /**< text [count bytes] with a zero behind it; UTF-8, but of GGUF any bytes */
    INLAY_FILE_VALUE_INTEGER = 2,  /**< integer */
    INLAY_FILE_VALUE_NUMBER = 3,   /**< number */
    INLAY_FILE_VALUE_BOOLEAN = 4,  /**< integer, 0 or 1 */
    INLAY_FILE_VALUE_INTEGERS = 5, /**< integers [count] */
    INLAY_FILE_VALUE_NUMBERS = 6,  /**< numbers [count] */
    INLAY_FILE_VALUE_STRINGS = 7,  /**< strings [count], each with a zero behind it, likewise */
    /* Arrays [count] of GGUF, little-endian from `text` on, where the file is mapped or copied, at any address:
       inlay_file_value_integers() and inlay_file_value_numbers() read them. */
    INLAY_FILE_VALUE_ARRAY_U8 = 8,    /**< of 8 bits */
    INLAY_FILE_VALUE_ARRAY_I8 = 9,    /**< of 8 bits with a sign */
    INLAY_FILE_VALUE_ARRAY_U16 = 10,  /**< of 16 bits */
    INLAY_FILE_VALUE_ARRAY_I16 = 11,  /**< of 16 bits with a sign */
    INLAY_FILE_VALUE_ARRAY_U32 = 12,  /**< of 32 bits */
    INLAY_FILE_VALUE_ARRAY_I32 = 13,  /**< of 32 bits with a sign */
    INLAY_FILE_VALUE_ARRAY_F32 = 14,  /**< of floats */
    INLAY_FILE_VALUE_ARRAY_BOOL = 15, /**< of truth values: bytes, of which 0 is false */
    INLAY_FILE_VALUE_ARRAY_U64 = 16,  /**< of 64 bits */
    INLAY_FILE_VALUE_ARRAY_I64 = 17,  /**< of 64 bits with a sign */
    INLAY_FILE_VALUE_ARRAY_F64 = 18,  /**< of doubles */
} inlay_file_value_kind;

/** A value of the metadata: of GGUF, of safetensors' __metadata__, or of config.json, whose keys have the prefix
    "config." and whose nested objects have dots ("config.text_config.hidden_size"). */
typedef struct inlay_file_value {
    const char *key;            /**< its name, UTF-8 */
    inlay_file_value_kind kind; /**< which of the fields below holds it */
    uint32_t reserved;          /**< 0 */
    const char *text;           /**< of STRING; of the arrays of GGUF their first byte; else null */
    int64_t integer;            /**< of INTEGER and BOOLEAN; a uint64 of 2^63 and more is a NUMBER */
    double number;              /**< of NUMBER and INTEGER */
    size_t count;               /**< bytes of STRING, elements of arrays, else 0 */
    const int64_t *integers;    /**< of INTEGERS, else null */
    const double *numbers;      /**< of NUMBERS, else null */
    const char *const *strings; /**< of STRINGS, else null */
} inlay_file_value;

/** Returns the number of values in the metadata. */
INLAY_API size_t inlay_file_value_count(const inlay_file *file);

/** Returns a value by its index, in the order of keys. index < inlay_file_value_count(). */
INLAY_API const inlay_file_value *inlay_file_value_at(const inlay_file *file, size_t index);

/** Returns the value of that key, or null. Takes O(log n). */
INLAY_API const inlay_file_value *inlay_file_value_named(const inlay_file *file, const char *key);

/**
 * Reads elements [first, first + n) of an array of integers: INTEGERS, or one of GGUF. Truth values are 0 and 1.
 *
 * @param value  of inlay_file_value_at() or inlay_file_value_named()
 * @param first  index of the first element
 * @param n      how many elements
 * @param out    [n], written only with INLAY_FILE_OK
 * @return INLAY_FILE_OK; INLAY_FILE_ERROR_ARGUMENT if a pointer is null or there are fewer elements;
 *         INLAY_FILE_ERROR_TYPE if the value is no array of integers, or one of the elements is 2^63 or more
 */
INLAY_API inlay_file_status inlay_file_value_integers(const inlay_file_value *value, size_t first, size_t n,
                                                      int64_t *out);

/** Reads elements of an array of numbers likewise: NUMBERS, INTEGERS, or one of GGUF. Integers of 64 bits are
    rounded. INLAY_FILE_ERROR_TYPE if the value is no such array. */
INLAY_API inlay_file_status inlay_file_value_numbers(const inlay_file_value *value, size_t first, size_t n,
                                                     double *out);

/* ---- Tables ----------------------------------------------------------------------------------------------------- */

/** A table of a file. */
typedef struct inlay_file_table {
    inlay_table view;  /**< into the file's memory, over extents where several tensors hold the rows */
    float scale;       /**< the factor of the whole table that the checkpoint has beside it (a .weight_scale of one
                            number); else 1. Multiply the scale of the layer by it */
    uint32_t reserved; /**< 0 */
} inlay_file_table;

/**
 * Makes a view of a tensor [rows, dim], or of several tensors that hold the rows of one table in turn. Scales are found
 * by the conventions of checkpoints. For a tensor NAME or NAME.weight they are NAME.scale, NAME.weight_scale or
 * NAME.weight_scale_inv: [rows], [rows, 1], [rows, dim / 32] of F8_E8M0 or U8, or one number for the table. Scales of
 * another shape are INLAY_FILE_ERROR_SHAPE. int8 and FP8 rows without a scale are INLAY_FILE_ERROR_TYPE, and so is a
 * tensor next to the rows that looks like a scale or zero point and is not read. NAME.weight_packed is a tensor of
 * compressed-tensors, with NAME.weight_scale, .weight_shape and .weight_zero_point. NAME.weight of U8 with
 * .weight_scale_2 is ModelOpt's NVFP4. int8 may have scales of groups and .weight_zero_point (docs/files.md). Extents,
 * and converted scales and zero points, take memory at every call until the file is closed: keep the table.
 *
 * @param file   from inlay_file_open()
 * @param name   a name; or a pattern with one * for the decimal numbers from 0 on, such as "ngram.shard_*.weight"
 * @param table  written only with INLAY_FILE_OK. Its bounds are those of the data, whatever the metadata say
 * @param error  null, or where to write what went wrong
 */
INLAY_API inlay_file_status inlay_file_table_of(inlay_file *file, const char *name, inlay_file_table *table,
                                                inlay_file_error *error);

/* ---- Input layers of checkpoints -------------------------------------------------------------------------------- */

/** What inlay_file_layer_create() is told besides the file. Start from inlay_file_layer_options_default(). */
typedef struct inlay_file_layer_options {
    size_t size;                 /**< sizeof(inlay_file_layer_options) */
    const char *model;           /**< the family, a name of inlay_file_model_at(); null: found in the files */
    const char *part;            /**< null: the input layer of tokens; "decoder": that of the decoder of BART, T5 and
                                      others; "per_layer": Gemma 3n's per-layer embedding */
    inlay_element_type out_type; /**< INLAY_F32, INLAY_F16 or INLAY_BF16 */
    uint32_t reserved;           /**< 0 */
    const inlay_tuning *tuning;  /**< null: inlay_tuning_default() */
} inlay_file_layer_options;

/** Returns options that find the family, with float32 outputs. Calls no function of the library. */
static inline inlay_file_layer_options inlay_file_layer_options_default(void)
{
    inlay_file_layer_options options;
    options.size = sizeof options;
    options.model = NULL;
    options.part = NULL;
    options.out_type = INLAY_F32;
    options.reserved = 0;
    options.tuning = NULL;
    return options;
}

/** Returns the name of a family of models whose input layers are known: "bert", "gpt2", "gemma" and so on. Past the end
    the result is null. */
INLAY_API const char *inlay_file_model_at(size_t index);

/** The input layer of a checkpoint, with the sinusoid that it uses. */
typedef struct inlay_file_layer inlay_file_layer;

/**
 * Makes the input layer of the model in a file, from config.json, the metadata and the names of tensors, in that order.
 * What they do not tell is INLAY_FILE_ERROR_MODEL or _MISSING, with the missing piece in the message.
 *
 * @param file     from inlay_file_open()
 * @param options  null: inlay_file_layer_options_default()
 * @param layer    where to write the new handle; null is written if the call fails. It must be destroyed before the
 *                 file is closed
 * @param error    null, or where to write what went wrong
 */
INLAY_API inlay_file_status inlay_file_layer_create(inlay_file *file, const inlay_file_layer_options *options,
                                                    inlay_file_layer **layer, inlay_file_error *error);

/** Destroys a layer. Null is ignored. */
INLAY_API void inlay_file_layer_destroy(inlay_file_layer *layer);

/** Returns the layer for inlay_forward(). */
INLAY_API const inlay_layer *inlay_file_layer_get(const inlay_file_layer *layer);

/** Returns the spec that the layer was made from, whose tables and sinusoid belong to `layer`. */
INLAY_API const inlay_layer_spec *inlay_file_layer_spec(const inlay_file_layer *layer);

/** Returns the start of batches: position of the first token of each sequence, 2 for OPT and RoBERTa for example. */
INLAY_API int64_t inlay_file_layer_start(const inlay_file_layer *layer);

/**
 * Returns a step of the model between this layer and its first block: "projection", "norm", "positions", "segments",
 * "streams" and others. "unknown" means that the layer is assumed: the model is of no known family, or its file has
 * a setting or a tensor that may change the rows and that the family does not use. The report says which. Past the last
 * step the result is null, so a layer is complete if its step 0 is null.
 *
 * @param layer   from inlay_file_layer_create()
 * @param index   of the step, from 0 on
 * @param tensor  null, or where to write the name of the step's tensor, or null if it has none
 */
INLAY_API const char *inlay_file_layer_follows(const inlay_file_layer *layer, size_t index, const char **tensor);

/** Returns what was found and done: lines of English text, each ended by a newline. */
INLAY_API const char *inlay_file_layer_report(const inlay_file_layer *layer);

/* ---- N-grams of checkpoints ------------------------------------------------------------------------------------- */

/** The hashed n-gram embedding of a checkpoint and its tables. */
typedef struct inlay_file_ngram inlay_file_ngram;

/**
 * Makes the hashed n-gram embedding of a checkpoint: Qwen4Exp's, or that of a layer of DeepSeek's Engram.
 *
 * @param file         from inlay_file_open()
 * @param model_layer  the number of the layer in the names of its tensors, from 0; -1: the only one that has n-grams
 * @param ngram        where to write the new handle; null is written if the call fails. It must be destroyed before the
 *                     file is closed
 * @param error        null, or where to write what went wrong
 */
INLAY_API inlay_file_status inlay_file_ngram_create(inlay_file *file, int64_t model_layer, inlay_file_ngram **ngram,
                                                    inlay_file_error *error);

/** Destroys an embedding. Null is ignored. */
INLAY_API void inlay_file_ngram_destroy(inlay_file_ngram *ngram);

/** Returns the handle for inlay_ngram_ids() and inlay_ngram_forward(). */
INLAY_API const inlay_ngram *inlay_file_ngram_get(const inlay_file_ngram *ngram);

/** Returns the spec that the handle was made from, whose arrays belong to `ngram`. */
INLAY_API const inlay_ngram_spec *inlay_file_ngram_spec(const inlay_file_ngram *ngram);

/** Returns its tables, as inlay_ngram_forward() takes them, and their number. */
INLAY_API const inlay_table *inlay_file_ngram_tables(const inlay_file_ngram *ngram, size_t *count);

/** Returns the factor of all rows: that of the checkpoint, else 1. */
INLAY_API float inlay_file_ngram_scale(const inlay_file_ngram *ngram);

/** Returns what was found and done, as inlay_file_layer_report(). */
INLAY_API const char *inlay_file_ngram_report(const inlay_file_ngram *ngram);

/* ---- Tables larger than memory ---------------------------------------------------------------------------------- */

/**
 * Starts to read the rows of `ids` from the disk and does not wait for them: for a server that knows the ids before it
 * needs the vectors. At most 256 pages are requested; inlay_file_read_begin() requests the rest. Takes
 * about 0.6 us a row, also where rows are in memory. Does nothing for files that are copied or loaded.
 *
 * @param file     from inlay_file_open()
 * @param table    a view that inlay_file_table_of() made of this file
 * @param ids      [count] of id_type; ids that are not in the table are ignored
 * @param id_type  of ids
 * @param count    number of ids
 * @return INLAY_FILE_OK; INLAY_FILE_ERROR_ARGUMENT if a pointer is null or id_type is no type of ids
 */
INLAY_API inlay_file_status inlay_file_prefetch(inlay_file *file, const inlay_table *table, const void *ids,
                                                inlay_id_type id_type, size_t count);

/** A call that reads rows of a mapped table: what inlay_file_read_end() needs to know. */
typedef struct inlay_file_read {
    uint64_t begin;   /**< when it began, in ticks of a clock that this library chooses */
    size_t pages;     /**< about how many pages its rows take; 0: nothing to do at its end */
    size_t requested; /**< how many of them were requested from the disk; 0 while calls are warm */
} inlay_file_read;

/**
 * Brings the rows of `ids` into memory if the last calls were slow because rows came from the disk. If they were fast,
 * it does nearly nothing. Call it before inlay_forward(), inlay_gather() or inlay_ngram_forward() on a mapped table
 * that may be larger than memory, and inlay_file_read_end() after it:
 *
 *     inlay_file_read read;
 *     inlay_file_read_begin(file, &table.view, ids, INLAY_ID_I32, n, &read);
 *     inlay_gather(&table.view, ids, INLAY_ID_I32, n, table.scale, out, stride, NULL, &fault);
 *     inlay_file_read_end(file, &read);
 *
 * Results are the same without these calls. Between them the caller may do anything; all of that time counts as
 * reading. Parameters and errors as of inlay_file_prefetch().
 */
INLAY_API inlay_file_status inlay_file_read_begin(inlay_file *file, const inlay_table *table, const void *ids,
                                                  inlay_id_type id_type, size_t count, inlay_file_read *read);

/** Learns from the time that the call took, and drops pages if the file has a cap of resident bytes and they exceed
    it. */
INLAY_API void inlay_file_read_end(inlay_file *file, const inlay_file_read *read);

/* ---- Mappings of the caller ------------------------------------------------------------------------------------- */

/**
 * What was learnt from reading rows of a mapping that the caller made: whether they come from the disk. One reader
 * serves a mapping, or several whose rows are read alike, for any number of threads. Start from
 * inlay_file_reader_init(). It owns nothing and needs no release, but must not be moved while a thread uses it.
 */
typedef struct inlay_file_reader {
    uint32_t state;       /**< the library's own, as are all others: 0 while pages are requested */
    uint32_t calls;       /**< since pages are requested */
    uint32_t page_bytes;  /**< of a page of the system; 0: rows are in memory, and calls do nothing */
    uint32_t timed_pages; /**< calls of fewer pages are not timed while none are requested */
    size_t slow_ticks;    /**< of the clock, which are long for a page; 0 until enough time has passed to tell */
    uint64_t start_ns;    /**< when slow_ticks was last measured */
    uint64_t start_ticks; /**< the same instant by the clock of inlay_file_read.begin */
} inlay_file_reader;

/** Begins with nothing learnt: pages are requested until calls are warm. Null is ignored. */
INLAY_API void inlay_file_reader_init(inlay_file_reader *reader);

/**
 * Brings the rows of `ids` into memory, as inlay_file_read_begin() does in files of this library, if the last calls
 * were slow. It changes nothing about the mapping and requests only pages of these rows.
 *
 *     inlay_table table = inlay_table_of(INLAY_Q6_K, base, rows, dim, row_bytes); // row i at base + i * row_bytes
 *     inlay_file_reader_begin(&reader, &table, ids, INLAY_ID_I32, n, &read);
 *     inlay_gather(&table, ids, INLAY_ID_I32, n, 1, out, stride, NULL, &fault);
 *     inlay_file_reader_end(&reader, &read);
 *
 * Calls make no system call while rows are in memory. Those of 1 to 3 pages read no clock either, so only larger calls
 * notice that rows have left memory. Memory that is no mapping of a file counts as being in memory.
 *
 * @param reader   from inlay_file_reader_init()
 * @param table    the view whose rows will be read
 * @param ids      [count] of id_type; ids that are not in the table are ignored
 * @param id_type  of ids
 * @param count    number of ids
 * @param read     for inlay_file_reader_end()
 * @return INLAY_FILE_OK; INLAY_FILE_ERROR_ARGUMENT if a pointer is null or id_type is no type of ids
 */
INLAY_API inlay_file_status inlay_file_reader_begin(inlay_file_reader *reader, const inlay_table *table,
                                                    const void *ids, inlay_id_type id_type, size_t count,
                                                    inlay_file_read *read);

/** Learns from the time that the call took. */
INLAY_API void inlay_file_reader_end(inlay_file_reader *reader, const inlay_file_read *read);

#ifdef __cplusplus
}
#endif

#endif
