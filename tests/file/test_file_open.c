/* SPDX-License-Identifier: MIT */
/*
 * Paths, valid and invalid: files of every kind, directories, indexes, parts of split models and config.json; memory
 * modes; and arguments. The formats have separate suites.
 */
#define _GNU_SOURCE
#include "file/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A safetensors file of one tensor [rows, 2] of float32 ones. */
static struct blob one_tensor(const char *name, size_t rows)
{
    char header[256];
    snprintf(header, sizeof header, "{\"%s\":{\"dtype\":\"F32\",\"shape\":[%zu,2],\"data_offsets\":[0,%zu]}}", name,
             rows, rows * 8);
    struct blob blob = blob_safetensors(header, rows * 8);
    for (size_t i = 0; i < rows * 2; i++)
        memcpy(blob.bytes + blob.size - rows * 8 + i * 4, &(float){1}, 4);
    return blob;
}

#define LFS_POINTER "version https://git-lfs.github.com/spec/v1\noid sha256:0123456789abcdef\nsize 12345678\n"

/* ---- Kinds of files --------------------------------------------------------------------------------------------- */

START_TEST(only_regular_files_are_opened)
{
    expect_refused(path_of("nothing"), INLAY_FILE_ERROR_SYSTEM, "", "No such file");
    expect_refused(path_of("nothing.index.json"), INLAY_FILE_ERROR_SYSTEM, "", "No such file");
    expect_refused("", INLAY_FILE_ERROR_SYSTEM, "", "No such file");
    expect_refused(path_of("a\nb\x1b"), INLAY_FILE_ERROR_SYSTEM, "", "/a?b?: cannot open it");
    expect_refused(write_bytes("empty", "", 0), INLAY_FILE_ERROR_TRUNCATED, "", "it is empty");
    expect_refused(write_bytes("byte", "x", 1), INLAY_FILE_ERROR_TRUNCATED, "", NULL);
    expect_refused("/dev/zero", INLAY_FILE_ERROR_KIND, "", "not a regular file");
    expect_refused("/dev/null", INLAY_FILE_ERROR_KIND, "", "not a regular file");
    ck_assert_int_eq(mkfifo(path_of("fifo.gguf"), 0600), 0);
    expect_refused(path_of("fifo.gguf"), INLAY_FILE_ERROR_KIND, "", "not a regular file");
    expect_refused("/proc/self/status", INLAY_FILE_ERROR_TRUNCATED, "", "it is empty");
    ck_assert_int_eq(symlink("loop", path_of("loop")), 0);
    expect_refused(path_of("loop"), INLAY_FILE_ERROR_SYSTEM, "", NULL);
    /* 4 GiB of zeros, if the file system has holes. */
    int file = open(path_of("sparse"), O_CREAT | O_WRONLY, 0600);
    bool has_holes = ftruncate(file, (off_t)1 << 32) == 0;
    close(file);
    if (has_holes)
        expect_refused(path_of("sparse"), sizeof(size_t) > 4 ? INLAY_FILE_ERROR_SYNTAX : INLAY_FILE_ERROR_LIMIT, "",
                       NULL);
    /* Links are followed, as in model caches. */
    write_blob("w.safetensors", one_tensor("w", 3));
    ck_assert_int_eq(symlink("w.safetensors", path_of("link")), 0);
    inlay_file_close(open_good(path_of("link")));
}
END_TEST

START_TEST(other_formats_are_named)
{
    expect_refused(write_bytes("pytorch_model.bin", "PK\x03\x04\0\0\0\0\0\0\0\0", 12), INLAY_FILE_ERROR_KIND, "",
                   "safetensors.torch.save_file");
    static const struct {
        const char *name, *bytes;
        size_t size;
        const char *message;
    } others[] = {
#define OTHER(name, bytes, message) {name, bytes, sizeof(bytes) - 1, message}
#define ZIP(length) "PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" length "\0\0\0"
        OTHER("x.npz", ZIP("\x05") "a.npy\0\0\0", "an .npz archive of NumPy"),
        OTHER("x.npz", ZIP("\x00") "a.npy\0\0\0", "a zip archive: unpack it"),
        OTHER("x.npz", ZIP("\xff") "a.npy\0\0\0", "a zip archive: unpack it"),
        OTHER("x.npz", ZIP("\x40") "a.npy\0xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
              "a zip archive: unpack it"),
        OTHER("x", ZIP("\x0d") "metadata.json", "a Keras model"),
        OTHER("x.keras", ZIP("\x0b") "config.json{}", "a Keras model"),
        OTHER("x", ZIP("\x10") "archive/data.pklX", "a PyTorch pickle"),
        OTHER("x.pt", ZIP("\x10") "archive/version_", "a PyTorch pickle"),
        OTHER("x.docx", ZIP("\x0b") "_rels/.rels", "a zip archive: unpack it"),
        OTHER("x.pkl", "\x80\x05\x95\0\0\0\0\0\0\0\0", "a PyTorch pickle"),
        OTHER("x.h5", "\x89HDF\r\n\x1a\n\0\0\0\0", "HDF5"),
        OTHER("x.gz", "\x1f\x8b\x08\0\0\0\0\0\0\x03", "compressed by gzip"),
        OTHER("x.zst", "\x28\xb5\x2f\xfd\x04\0\0\0\0\0", "compressed by zstd"),
        OTHER("x.bin", "tjgg\x03\0\0\0\0\0\0\0", "GGML, the format before GGUF"),
        OTHER("x.bin", "lmgg\x03\0\0\0\0\0\0\0", "GGML, the format before GGUF"),
        OTHER("x.gguf", "FUGG\x03\0\0\0\0\0\0\0", "it does not begin with the bytes GGUF"),
        OTHER("x.gguf", "\0\0\0\0\x03\0\0\0\0\0\0\0", "it does not begin with the bytes GGUF"),
        OTHER("x.safetensors", "<!DOCTYPE html>", "a web page, not a model"),
        OTHER("x.safetensors", "<html><head>", "a web page, not a model"),
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect_refused(write_bytes(others[i].name, others[i].bytes, others[i].size), INLAY_FILE_ERROR_KIND, "",
                       others[i].message);
    expect_refused(write_text("x.safetensors", LFS_POINTER), INLAY_FILE_ERROR_MISSING, "", "run git lfs pull");
    expect_refused(write_bytes("old.pt", "\x80\x02\x8a\nl\xfc\x9c\x46\xf9 j\xa8P", 13), INLAY_FILE_ERROR_KIND, "",
                   "pickle");
    expect_refused(write_text("config.json", "{\"hidden_size\": 8}\n"), INLAY_FILE_ERROR_KIND, "", "neither");
    expect_refused(write_text("README.md", "# A model\n"), INLAY_FILE_ERROR_KIND, "", "neither");
    /* A header of 640 bytes begins as a pickle of protocol 2, and white space may come before its object. */
    char header[641];
    snprintf(header, sizeof header, "%640s", "{}");
    inlay_file_close(open_good(write_blob("space.safetensors", blob_safetensors(header, 0))));
    /* The name doesn't matter. */
    inlay_file *file = open_good(write_blob("w.gguf", one_tensor("w", 3)));
    EXPECT(inlay_file_tensor_count(file) == 1, "safetensors by its contents");
    inlay_file_close(file);
}
END_TEST

START_TEST(arguments)
{
    const char *path = write_blob("w.safetensors", one_tensor("w", 3));
    inlay_file *file = (inlay_file *)(void *)&file;
    inlay_file_error error;
    inlay_file_options options = inlay_file_options_default();
    EXPECT(inlay_file_open(path, NULL, NULL, &error) == INLAY_FILE_ERROR_ARGUMENT, "no place for the handle");
    EXPECT(inlay_file_open(NULL, NULL, &file, &error) == INLAY_FILE_ERROR_ARGUMENT && file == NULL, "no path");
    for (int field = 0; field < 3; field++) {
        options = inlay_file_options_default();
        options.size -= field == 0;
        options.memory = field == 1 ? (inlay_file_memory)3 : options.memory;
        options.reserved = field == 2;
        EXPECT(inlay_file_open(path, &options, &file, &error) == INLAY_FILE_ERROR_ARGUMENT && file == NULL &&
                   error.status == INLAY_FILE_ERROR_ARGUMENT,
               "field %d", field);
    }
    /* Options of a later version must be zero. */
    struct {
        inlay_file_options known;
        uint64_t appended;
    } later = {inlay_file_options_default(), 0};
    later.known.size = sizeof later;
    EXPECT(inlay_file_open(path, &later.known, &file, &error) == INLAY_FILE_OK, "zeros of a later version");
    inlay_file_close(file);
    later.appended = (uint64_t)1 << 63;
    EXPECT(inlay_file_open(path, &later.known, &file, &error) == INLAY_FILE_ERROR_ARGUMENT, "a later option");
    /* A caller's struct may be shorter. */
    volatile size_t bytes = sizeof options.size; /* or gcc warns of what must not be read */
    inlay_file_options *fewer = malloc(bytes);
    fewer->size = sizeof fewer->size;
    EXPECT(inlay_file_open(path, fewer, &file, &error) == INLAY_FILE_ERROR_ARGUMENT, "fewer options");
    free(fewer);
    inlay_file_close(NULL);
    for (int status = -1; status <= INLAY_FILE_ERROR_MODEL + 1; status++)
        EXPECT(inlay_file_status_string((inlay_file_status)status)[0] != '\0', "status %d", status);
    EXPECT(strcmp(inlay_file_status_string((inlay_file_status)1000), "unknown status") == 0, "status 1000");
}
END_TEST

/* ---- Where bytes are -------------------------------------------------------------------------------------------- */

START_TEST(bytes_are_mapped_copied_or_loaded)
{
    enum { ROWS = 400000 }; /* 3.2 MB: more than a huge page */
    for (int memory = INLAY_FILE_MEMORY_MAPPED; memory <= INLAY_FILE_MEMORY_LOADED; memory++)
        for (size_t rows = 3; rows <= ROWS; rows += ROWS - 3) {
            const char *path = write_blob("w.safetensors", one_tensor("w", rows));
            inlay_file_options options = inlay_file_options_default();
            options.memory = (inlay_file_memory)memory;
            inlay_file *file;
            inlay_file_table table;
            float row[2] = {0, 0};
            EXPECT(inlay_file_open(path, &options, &file, NULL) == INLAY_FILE_OK, "memory %d", memory);
            EXPECT(inlay_file_get_table(file, "w", &table, NULL) == INLAY_FILE_OK, "memory %d", memory);
            for (size_t i = 0; i < rows; i += rows / 3) {
                read_row(&table, i, row);
                EXPECT(row[0] == 1 && row[1] == 1, "memory %d, row %zu", memory, i);
            }
            /* Later changes of the file don't affect copies. */
            if (memory == INLAY_FILE_MEMORY_COPIED) {
                ck_assert_int_eq(truncate(path, 0), 0);
                read_row(&table, rows - 1, row);
                EXPECT(row[0] == 1 && row[1] == 1, "the copy has changed");
            }
            inlay_file_close(file);
        }
}
END_TEST

/* ---- npy -------------------------------------------------------------------------------------------------------- */

static const char *write_npy(const char *dictionary, size_t data)
{
    struct blob blob = {NULL, 0, 0};
    blob_add(&blob, "\x93NUMPY\x01", 8);
    blob_number(&blob, strlen(dictionary), 2);
    blob_add(&blob, dictionary, strlen(dictionary));
    blob_zeros(&blob, data);
    return write_blob("a.npy", blob);
}

START_TEST(npy_files_that_numpy_also_reads)
{
    static const struct {
        const char *dictionary;
        size_t data, bytes; /* in the file, and of the tensor */
    } files[] = {
        {"{'descr': 'f4', 'fortran_order': False, 'shape': (2, 2), }", 16, 16},
        {"{'descr': '=f4', 'fortran_order': False, 'shape': (2, 2), }", 16, 16},
        {"{'descr': '|f4', 'fortran_order': False, 'shape': (2, 2), }", 16, 16},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 3), }", 12, 12},
        {"{'fortran_order': True, 'descr': '<f4', 'shape': (3, 1), }", 12, 12},
        {"{'shape': (0, 3), 'fortran_order': True, 'descr': '<f4'}", 0, 0},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", 21, 16},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 18446744073709551615, 18446744073709551615), }", 4, 0},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        inlay_file *file = open_good(write_npy(files[i].dictionary, files[i].data));
        const inlay_file_tensor *tensor = inlay_file_find_tensor(file, "data");
        EXPECT(tensor->bytes == files[i].bytes && tensor->element == INLAY_F32, "%s", files[i].dictionary);
        inlay_file_close(file);
    }
}
END_TEST

START_TEST(npy_files)
{
    static const struct {
        const char *dictionary;
        size_t data;
        inlay_file_status status;
        const char *message;
    } files[] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (1, 1), }", 4, INLAY_FILE_ERROR_TYPE, "'>f4'"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1, 1), }", 8, INLAY_FILE_ERROR_TYPE, "'|O'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", 4, INLAY_FILE_ERROR_TYPE, "structures"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", 16, INLAY_FILE_ERROR_SHAPE, "Fortran"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1<<2, 1), }", 16, INLAY_FILE_ERROR_SYNTAX, "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1L, 1), }", 4, INLAY_FILE_ERROR_SYNTAX, "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': ((1,), 1), }", 4, INLAY_FILE_ERROR_SYNTAX, "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 1), }", 4, INLAY_FILE_ERROR_SYNTAX, "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), } x", 4, INLAY_FILE_ERROR_SYNTAX, "continues"},
        {"{'descr': '<f4', 'fortran_order': False, }", 4, INLAY_FILE_ERROR_SYNTAX, "lacks"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }", 4, INLAY_FILE_ERROR_DUPLICATE,
         "twice"},
        {"{'descr': '<f4', 'x': 1, 'fortran_order': False, 'shape': (1, 1), }", 4, INLAY_FILE_ERROR_SYNTAX,
         "other than"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)", 4, INLAY_FILE_ERROR_SYNTAX, "dictionary"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", 4, INLAY_FILE_ERROR_SHAPE,
         "9 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 4, INLAY_FILE_ERROR_RANGE,
         "overflows"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,), }", 4, INLAY_FILE_ERROR_SYNTAX,
         "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551620,), }", 16, INLAY_FILE_ERROR_SYNTAX,
         "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1), }", 4, INLAY_FILE_ERROR_SYNTAX, "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551615, 0, 1, 18446744073709551615), }", 4,
         INLAY_FILE_ERROR_RANGE, "overflows"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", 12, INLAY_FILE_ERROR_TRUNCATED, "[2, 2]"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        expect_refused(write_npy(files[i].dictionary, files[i].data), files[i].status, "", files[i].message);
    expect_refused(write_bytes("v4.npy", "\x93NUMPY\x04\0\0\0\0\0", 12), INLAY_FILE_ERROR_KIND, "", "version");
    expect_refused(write_bytes("long.npy", "\x93NUMPY\x02\0\xf0\xff\xff\xff", 12), INLAY_FILE_ERROR_LIMIT, "", "65535");
    /* Data after the header doesn't complete its last number. */
    expect_refused(
        write_bytes("cut.npy", "\x93NUMPY\x01\0\x34\0{'descr': '<f4', 'fortran_order': False, 'shape': (11,), }", 68),
        INLAY_FILE_ERROR_SYNTAX, "", "tuple");
    expect_refused(write_bytes("short.npy", "\x93NUMPY\x01\0\xff\xff", 10), INLAY_FILE_ERROR_TRUNCATED, "", "ends");

    inlay_file *file = open_good(write_npy("{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }\n", 12));
    const inlay_file_tensor *tensor = inlay_file_find_tensor(file, "data");
    EXPECT(tensor != NULL && strcmp(tensor->type, "<f2") == 0 && tensor->rank == 2 && tensor->shape[0] == 2 &&
               tensor->shape[1] == 3 && tensor->bytes == 12 && tensor->element == INLAY_F16,
           "a table of float16");
    inlay_file_close(file);
    file = open_good(write_npy("{'descr': '<i8', 'fortran_order': False, 'shape': (), }\n", 8));
    EXPECT(inlay_file_tensor_at(file, 0)->rank == 0, "a scalar");
    expect_no_table(file, "data", INLAY_FILE_ERROR_SHAPE, "2 dimensions");
    inlay_file_close(file);
    file = open_good(write_npy("\t{'descr'\r:\t'<i8',\n'fortran_order'\r\n: False,\t\t'shape':\r(\r2,\r)\r,\r}\r", 16));
    EXPECT(inlay_file_tensor_at(file, 0)->shape[0] == 2, "blanks of every kind");
    inlay_file_close(file);
    struct blob blob = {NULL, 0, 0};
    const char dictionary[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }\n";
    blob_add(&blob, "\x93NUMPY\x01", 8);
    blob_number(&blob, strlen(dictionary), 2);
    blob_add(&blob, dictionary, strlen(dictionary));
    blob_zeros(&blob, 8);
    expect_survived(blob, 0);
}
END_TEST

/* ---- Directories ------------------------------------------------------------------------------------------------ */

/* The folder itself. */
static const char *folder(void)
{
    return path_of(".");
}

START_TEST(directories)
{
    expect_refused(folder(), INLAY_FILE_ERROR_MISSING, "", "no .safetensors, .gguf or .npy file");
    write_text("config.json", "{\"a\": 1}");
    write_text(".hidden.safetensors", "");
    write_text("flax_model.msgpack", "");
    expect_refused(
        folder(), INLAY_FILE_ERROR_MISSING, "",
        "no .safetensors, .gguf or .npy file; flax_model.msgpack is not supported: convert it to safetensors");
    write_text("training_args.bin", "");
    write_text("pytorch_model.bin", "");
    write_text("rng_state.bin", "");
    expect_refused(folder(), INLAY_FILE_ERROR_MISSING, "", "; pytorch_model.bin: it looks like a PyTorch pickle");
    remove(path_of(".hidden.safetensors"));
    write_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }", 4);
    inlay_file *file = open_good(folder());
    EXPECT(inlay_file_find_tensor(file, "data") != NULL, "the npy file");
    EXPECT(inlay_file_find_value(file, "config.a")->integer == 1, "config.json");
    inlay_file_close(file);
    write_blob("b.safetensors", one_tensor("w", 3));
    file = open_good(folder());
    EXPECT(inlay_file_find_tensor(file, "w") != NULL, "safetensors go first");
    inlay_file_close(file);
    write_blob("c.safetensors", one_tensor("c", 3));
    expect_refused(folder(), INLAY_FILE_ERROR_KIND, "", "several models");
    write_blob("model.safetensors", one_tensor("usual", 3));
    file = open_good(folder());
    EXPECT(inlay_file_find_tensor(file, "usual") != NULL, "the usual name");
    inlay_file_close(file);
    /* Its config.json counts for a directory only, and must be good. */
    write_text("config.json", "{\"a\": 1,}");
    inlay_file_close(open_good(path_of("model.safetensors")));
    expect_refused(folder(), INLAY_FILE_ERROR_SYNTAX, "", "config.json: a string is expected at byte 8");
    write_text("config.json", "");
    expect_refused(folder(), INLAY_FILE_ERROR_TRUNCATED, "", "config.json: it is empty");
    write_text("config.json", LFS_POINTER);
    expect_refused(folder(), INLAY_FILE_ERROR_MISSING, "", "config.json: it is a Git LFS pointer");
    /* As in transformers: the file named by config.json, model.safetensors, its index, then others. */
    write_text("model.safetensors.index.json", "{\"weight_map\":{\"c\":\"c.safetensors\"}}");
    write_text("config.json", "{}");
    file = open_good(folder());
    EXPECT(inlay_file_find_tensor(file, "usual") != NULL && inlay_file_tensor_count(file) == 1, "the single file");
    inlay_file_close(file);
    write_text("config.json", "{\"transformers_weights\": \"b.safetensors\"}");
    file = open_good(folder());
    EXPECT(inlay_file_find_tensor(file, "w") != NULL && inlay_file_tensor_count(file) == 1, "the file of config.json");
    inlay_file_close(file);
    write_text("config.json", "{\"transformers_weights\": \"model.safetensors.index.json\"}");
    file = open_good(folder());
    EXPECT(inlay_file_find_tensor(file, "c") != NULL && inlay_file_tensor_count(file) == 1, "the index of config.json");
    inlay_file_close(file);
    static const char *const ways_out[] = {"../b.safetensors", "/etc/passwd", "..", ""};
    for (size_t i = 0; i < sizeof ways_out / sizeof *ways_out; i++) {
        char text[64];
        snprintf(text, sizeof text, "{\"transformers_weights\": \"%s\"}", ways_out[i]);
        write_text("config.json", text);
        expect_refused(folder(), INLAY_FILE_ERROR_SYNTAX, "config.transformers_weights", "not the name of a file");
    }
    write_text("config.json", "{\"transformers_weights\": null}");
    remove(path_of("model.safetensors"));
    file = open_good(folder());
    EXPECT(inlay_file_find_tensor(file, "c") != NULL && inlay_file_tensor_count(file) == 1, "the index");
    inlay_file_close(file);
}
END_TEST

/* A model with missing files. */
START_TEST(parts_of_a_model)
{
    write_blob("model-00001-of-00003.safetensors", one_tensor("a", 3));
    expect_refused(folder(), INLAY_FILE_ERROR_MISSING, "",
                   "model-00001-of-00003.safetensors is part 1 of 3 of a model, "
                   "and its index, model.safetensors.index.json, is missing");
    inlay_file_close(open_good(path_of("model-00001-of-00003.safetensors")));
    write_text("model.safetensors.index.json",
               "{\"weight_map\":{\"a\":\"model-00001-of-00003.safetensors\",\"b\":\"model-00001-of-00003.safetensors\","
               "\"c\":\"model-00002-of-00003.safetensors\",\"d\":\"model-00003-of-00003.safetensors\","
               "\"e\":\"model-00001-of-00003.safetensors\"}}");
    write_text("model-00002-of-00003.safetensors", LFS_POINTER);
    write_blob("e-00002-of-00002.safetensors", one_tensor("e", 3));
    inlay_file_error error;
    memset(&error, 1, sizeof error);
    inlay_file *file = NULL;
    EXPECT(inlay_file_open(folder(), NULL, &file, &error) == INLAY_FILE_OK, "%s", error.message);
    EXPECT(error.message[0] == 1, "an error is written of what was opened");
    EXPECT(inlay_file_tensor_count(file) == 1 && inlay_file_opened_count(file) == 2, "one tensor");
    EXPECT(inlay_file_find_tensor(file, "a") != NULL && inlay_file_find_tensor(file, "c") == NULL, "tensors");
    inlay_file_table table;
    EXPECT(inlay_file_get_table(file, "a", &table, NULL) == INLAY_FILE_OK, "the table that is there");
    expect_no_table(file, "b", INLAY_FILE_ERROR_MISSING,
                    "model-00001-of-00003.safetensors: b: the index places it in this file, which lacks it");
    expect_no_table(file, "c", INLAY_FILE_ERROR_MISSING, "which is a Git LFS pointer: run git lfs pull");
    expect_no_table(file, "d", INLAY_FILE_ERROR_MISSING,
                    "model-00003-of-00003.safetensors: d: the index places it in this file, which is missing");
    inlay_file_close(file);
    /* A tensor in another file than the index says is listed, but makes no table. */
    write_blob("model-00002-of-00003.safetensors", one_tensor("e", 3));
    file = open_good(folder());
    EXPECT(inlay_file_tensor_count(file) == 2 && inlay_file_find_tensor(file, "e") != NULL, "two tensors");
    expect_no_table(file, "e", INLAY_FILE_ERROR_MISSING, "e: the index places it in this file");
    inlay_file_close(file);
    /* A single file that has all tensors is named, and none that has not. */
    struct blob blob = blob_safetensors(
        "{\"a\":{\"dtype\":\"F32\",\"shape\":[0,2],\"data_offsets\":[0,0]},\"b\":{\"dtype\":\"F32\",\"shape\":[0,2],"
        "\"data_offsets\":[0,0]},\"c\":{\"dtype\":\"F32\",\"shape\":[0,2],\"data_offsets\":[0,0]},\"d\":{\"dtype\":"
        "\"F32\",\"shape\":[0,2],\"data_offsets\":[0,0]},\"e\":{\"dtype\":\"F32\",\"shape\":[0,2],\"data_offsets\":[0,"
        "0]}"
        "}",
        0);
    write_blob("whole.safetensors", blob);
    write_blob("less.safetensors", one_tensor("a", 3));
    file = open_good(folder());
    expect_no_table(file, "d", INLAY_FILE_ERROR_MISSING,
                    "is missing; open whole.safetensors, which has all tensors of the index");
    inlay_file_close(file);
    remove(path_of("model-00001-of-00003.safetensors"));
    remove(path_of("model-00002-of-00003.safetensors"));
    expect_refused(folder(), INLAY_FILE_ERROR_MISSING, "a", "is missing; open whole.safetensors");
    remove(path_of("whole.safetensors"));
    expect_refused(folder(), INLAY_FILE_ERROR_MISSING, "a",
                   "model-00001-of-00003.safetensors: a: the index places it in this file, which is missing");
}
END_TEST

/* Missing parts of a table or a layer are errors. */
START_TEST(tensors_of_missing_files)
{
    static const struct {
        const char *tensor, *missing, *message; /* message null: the layer is made */
    } models[] = {
        {"t.0.weight", "t.1.weight", "t.1.weight: the index places it"},
        {"t.0.weight", "t.weight_scale", "t.weight_scale: the index places it"},
        {"t.0.weight", "t.0.weight_zero_point", "t.0.weight_zero_point: the index places it"},
        {"t.0.weight", "t.0.SCB", "t.0.SCB: it may change the rows of t.0.weight"},
        {"t.0.weight", "u.0.weight", NULL},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"weight_map\":{\"%s\":\"1.safetensors\",\"%s\":\"2.safetensors\"}}",
                 models[i].tensor, models[i].missing);
        write_blob("1.safetensors", one_tensor(models[i].tensor, 3));
        inlay_file *file = open_good(write_text("m.index.json", text));
        inlay_file_table table;
        if (models[i].message != NULL)
            expect_no_table(file, "t.*.weight", i == 3 ? INLAY_FILE_ERROR_TYPE : INLAY_FILE_ERROR_MISSING,
                            models[i].message);
        else
            EXPECT(inlay_file_get_table(file, "t.*.weight", &table, NULL) == INLAY_FILE_OK, "model %zu", i);
        inlay_file_close(file);
    }
}
END_TEST

/* Returns true if that opened file is the one at the path. */
static bool was_opened(const inlay_file *file, size_t index, const char *path)
{
    struct stat status;
    const inlay_file_opened *opened = inlay_file_path_at(file, index);
    return opened != NULL && stat(path, &status) == 0 && opened->device == status.st_dev &&
           opened->inode == status.st_ino;
}

START_TEST(files_that_were_opened)
{
    write_blob("1.safetensors", one_tensor("a", 3));
    write_blob("2.safetensors", one_tensor("b", 4));
    write_text("model.safetensors.index.json", "{\"weight_map\":{\"b\":\"2.safetensors\",\"a\":\"1.safetensors\"}}");
    write_text("config.json", "{}");
    inlay_file *file = open_good(folder());
    /* Names change later. */
    ck_assert_int_eq(rename(path_of("2.safetensors"), path_of("moved")), 0);
    write_blob("2.safetensors", one_tensor("b", 4));
    EXPECT(inlay_file_opened_count(file) == 4 && inlay_file_path_at(file, 4) == NULL, "four files");
    EXPECT(was_opened(file, 0, path_of("config.json")), "config.json");
    EXPECT(was_opened(file, 1, path_of("model.safetensors.index.json")), "the index");
    EXPECT(was_opened(file, 2, path_of("1.safetensors")), "a part");
    EXPECT(was_opened(file, 3, path_of("moved")) && !was_opened(file, 3, path_of("2.safetensors")),
           "a part that moved");
    EXPECT(strcmp(inlay_file_path_at(file, 3)->path, inlay_file_find_tensor(file, "b")->path) == 0, "its path");
    inlay_file_close(file);
}
END_TEST

/* ---- Indexes ---------------------------------------------------------------------------------------------------- */

static void refuse_index(const char *text, inlay_file_status status, const char *name, const char *message)
{
    expect_refused(write_text("m.index.json", text), status, name, message);
}

START_TEST(indexes)
{
    write_blob("1.safetensors", one_tensor("a", 3));
    write_blob("2.safetensors", one_tensor("b", 4));
    write_blob("3.safetensors", one_tensor("a", 4));
    inlay_file *file = open_good(
        write_text("m.index.json", "{\"metadata\":{\"total_size\":56},\"weight_map\":{\"b\":\"2.safetensors\",\"a\":"
                                   "\"1.safetensors\"}}\n"));
    EXPECT(inlay_file_tensor_count(file) == 2 && strcmp(inlay_file_tensor_at(file, 0)->name, "a") == 0, "two tensors");
    EXPECT(strcmp(inlay_file_find_tensor(file, "b")->path, path_of("2.safetensors")) == 0, "its path");
    inlay_file_close(file);
    /* Names without a folder are those of the working directory. */
    int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_eq(chdir(folder()), 0);
    file = open_good("m.index.json");
    EXPECT(strcmp(inlay_file_find_tensor(file, "b")->path, "2.safetensors") == 0, "its path");
    inlay_file_close(file);
    ck_assert_int_eq(fchdir(before), 0);
    close(before);
    ck_assert_int_eq(truncate(write_text("long.index.json", "{}"), 100000001), 0);
    expect_refused(path_of("long.index.json"), INLAY_FILE_ERROR_LIMIT, "", "bytes");

    refuse_index("{}", INLAY_FILE_ERROR_MISSING, "weight_map", "names no tensors");
    refuse_index("{\"weight_map\":{}}", INLAY_FILE_ERROR_MISSING, "weight_map", "names no tensors");
    refuse_index("[]", INLAY_FILE_ERROR_SYNTAX, "", "an object is expected");
    refuse_index("{\"weight_map\":[]}", INLAY_FILE_ERROR_SYNTAX, "", "an object is expected");
    refuse_index("{\"weight_map\":{\"a\":1}}", INLAY_FILE_ERROR_SYNTAX, "", "a string is expected");
    refuse_index("{\"x\":[[[[]]]]}", INLAY_FILE_ERROR_LIMIT, "", "nested too deeply");
    refuse_index("{\"weight_map\":{\"a\":\"1.safetensors\"},\"weight_map\":{}}", INLAY_FILE_ERROR_DUPLICATE, "",
                 "a second weight_map at byte");
    refuse_index("{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"2.safetensors\",\"\\u0061\":\"1.safetensors\"}}",
                 INLAY_FILE_ERROR_DUPLICATE, "a", "twice");
    refuse_index("{\"weight_map\":{\"a\":\"1.safetensors\",\"a\":\"2.safetensors\"}}", INLAY_FILE_ERROR_DUPLICATE, "a",
                 "twice");
    refuse_index("{\"weight_map\":{\"a\":\"1.safetensors\",\"x\":\"3.safetensors\"}}", INLAY_FILE_ERROR_DUPLICATE, "a",
                 "two tensors");
    refuse_index("{\"weight_map\":{\"a\":\"4.safetensors\"}}", INLAY_FILE_ERROR_MISSING, "a",
                 "4.safetensors: a: the index places it in this file, which is missing");
    struct blob many = {NULL, 0, 0};
    blob_add(&many, "{\"weight_map\":{\"\":\"\"", 20);
    for (int i = 0; i < 1 << 20; i++)
        blob_add(&many, ",\"\":\"\"", 6);
    blob_add(&many, "}}", 2);
    inlay_file_error error;
    EXPECT(inlay_file_open(write_blob("many.index.json", many), NULL, &file, &error) == INLAY_FILE_ERROR_LIMIT, "%s",
           error.message);
    refuse_index(LFS_POINTER, INLAY_FILE_ERROR_MISSING, "", "m.index.json: it is a Git LFS pointer");
    static const char *const ways_out[] = {
        "../1.safetensors", "/etc/passwd", "..", ".", "", "x/1.safetensors", "\\u002e\\u002e/1.safetensors"};
    for (size_t i = 0; i < sizeof ways_out / sizeof *ways_out; i++) {
        char text[128];
        snprintf(text, sizeof text, "{\"weight_map\":{\"a\":\"%s\"}}", ways_out[i]);
        refuse_index(text, INLAY_FILE_ERROR_SYNTAX, "a", "must be a plain name in the directory");
    }
}
END_TEST

/* ---- Split GGUF models ------------------------------------------------------------------------------------------ */

/* Writes part `part` of `parts` under that name, with one tensor. */
static void write_part(const char *name, uint64_t part, uint64_t parts, const char *tensor, uint32_t tensors)
{
    struct blob blob = blob_gguf(1, 4);
    blob_value(&blob, "split.no", 2);
    blob_number(&blob, part, 2);
    blob_value(&blob, "split.count", 2);
    blob_number(&blob, parts, 2);
    blob_value(&blob, "split.tensors.count", 5);
    blob_number(&blob, tensors, 4);
    blob_u32_value(&blob, part == 0 ? "first" : "other", (uint32_t)part);
    blob_tensor(&blob, tensor, 2, (uint64_t[]){2, 3}, 0, 0);
    blob_data(&blob, 32, 24);
    write_blob(name, blob);
}

START_TEST(split_models)
{
    const char *const names[] = {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"};
    const char *const tensors[] = {"c", "a", "b"};
    for (uint64_t i = 0; i < 3; i++)
        write_part(names[i], i, 3, tensors[i], 3);
    for (int i = 0; i < 4; i++) {
        inlay_file *file = open_good(i < 3 ? path_of(names[i]) : folder());
        EXPECT(inlay_file_tensor_count(file) == 3, "%zu tensors", inlay_file_tensor_count(file));
        for (size_t k = 0; k < 3; k++) {
            const inlay_file_tensor *tensor = inlay_file_tensor_at(file, k);
            EXPECT(strcmp(tensor->name, tensors[k]) == 0 && strstr(tensor->path, names[k]) != NULL, "%s", tensor->name);
        }
        EXPECT(inlay_file_value_count(file) == 5, "%zu values", inlay_file_value_count(file));
        EXPECT(inlay_file_find_value(file, "split.no")->integer == 0, "the value of the first part");
        EXPECT(inlay_file_find_value(file, "first") != NULL && inlay_file_find_value(file, "other")->integer == 1,
               "values of all parts");
        inlay_file_close(file);
    }
    const char *first = path_of(names[0]);
    write_part(names[1], 0, 3, "a", 3);
    expect_refused(first, INLAY_FILE_ERROR_MISSING, "split.no", "part 2 of 3");
    write_part(names[1], 1, 2, "a", 3);
    expect_refused(first, INLAY_FILE_ERROR_MISSING, "split.no", "split.count is 2");
    write_blob(names[1], one_tensor("a", 3));
    expect_refused(first, INLAY_FILE_ERROR_MISSING, "split.no", "split.no is -1");
    write_part(names[1], 1, 3, "c", 3);
    expect_refused(first, INLAY_FILE_ERROR_DUPLICATE, "c", "two tensors");
    write_part(names[1], 1, 3, "a", 3);
    write_part(names[0], 0, 3, "c", 4);
    expect_refused(first, INLAY_FILE_ERROR_MISSING, "split.tensors.count", "it is 4, but the parts have 3");
    write_part(names[0], 0, 3, "c", 3);
    remove(path_of(names[2]));
    expect_refused(first, INLAY_FILE_ERROR_SYSTEM, "", "m-00003-of-00003.gguf: cannot open it");
    write_part("renamed.gguf", 0, 3, "c", 3);
    expect_refused(path_of("renamed.gguf"), INLAY_FILE_ERROR_MISSING, "split.count", "one of 3 parts");
    write_part("m-00001-of-99999.gguf", 0, 99999 % 65536, "c", 3);
    expect_refused(path_of("m-00001-of-99999.gguf"), INLAY_FILE_ERROR_LIMIT, "", "more than 1024 parts");
    /* Not names of parts. */
    static const char *const plain[] = {"m-00000-of-00003.gguf", "m-00004-of-00003.gguf", "m-0001-of-00003.gguf",
                                        "m-00001-of-00003.GGUF", "m_00001-of-00003.gguf"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        write_part(plain[i], 0, 1, "c", 1);
        inlay_file_close(open_good(path_of(plain[i])));
    }
    write_part("m-00001-of-00001.gguf", 0, 1, "c", 1);
    inlay_file_close(open_good(path_of("m-00001-of-00001.gguf")));
}
END_TEST

/* ---- config.json ------------------------------------------------------------------------------------------------ */

static const inlay_file_value *setting(const inlay_file *file, const char *key, inlay_file_value_kind kind)
{
    const inlay_file_value *value = inlay_file_find_value(file, key);
    EXPECT(value != NULL && value->kind == kind, "%s is of kind %d", key, value != NULL ? (int)value->kind : -1);
    return value;
}

START_TEST(settings)
{
    write_blob("model.safetensors", one_tensor("w", 3));
    write_text(
        "config.json",
        "{\"i\": -5, \"zero\": -0, \"big\": 9223372036854775808, \"n\": 1.5e-3, \"t\": true,\n"
        "\"f\": false, \"null\": null, \"s\": \"\\u00e9\", \"o\": {\"p\": {\"q\": 7}, \"r\": {}},\n"
        "\"ints\": [1, 2, -3], \"nums\": [0, 0.5E+1, Infinity, -Infinity], \"nan\": NaN,\n"
        "\"strs\": [\"a\", \"\"], \"none\": [], \"mixed\": [1, \"a\"], \"deep\": [[1]],\n"
        "\"objects\": [{\"x\": 1}], \"o.x\": 1, \"o\\u002ey\": {\"z\": 1}, \"quantization\": {\"a.b\": {\"c\": 1}}, "
        "\"after\": 1}");
    inlay_file *file = open_good(folder());
    EXPECT(setting(file, "config.i", INLAY_FILE_VALUE_INTEGER)->integer == -5, "i");
    EXPECT(setting(file, "config.i", INLAY_FILE_VALUE_INTEGER)->number == -5, "i");
    EXPECT(setting(file, "config.zero", INLAY_FILE_VALUE_INTEGER)->integer == 0, "zero");
    EXPECT(setting(file, "config.big", INLAY_FILE_VALUE_NUMBER)->number == 9223372036854775808.0, "big");
    EXPECT(setting(file, "config.n", INLAY_FILE_VALUE_NUMBER)->number == 1.5e-3, "n");
    EXPECT(setting(file, "config.t", INLAY_FILE_VALUE_BOOLEAN)->integer == 1, "t");
    EXPECT(setting(file, "config.f", INLAY_FILE_VALUE_BOOLEAN)->integer == 0, "f");
    EXPECT(strcmp(setting(file, "config.s", INLAY_FILE_VALUE_STRING)->text, "\xc3\xa9") == 0, "s");
    EXPECT(setting(file, "config.s", INLAY_FILE_VALUE_STRING)->count == 2, "s");
    EXPECT(setting(file, "config.o.p.q", INLAY_FILE_VALUE_INTEGER)->integer == 7, "o.p.q");
    const inlay_file_value *value = setting(file, "config.ints", INLAY_FILE_VALUE_INTEGERS);
    EXPECT(value->count == 3 && value->integers[2] == -3, "ints");
    value = setting(file, "config.nums", INLAY_FILE_VALUE_NUMBERS);
    EXPECT(value->count == 4 && value->numbers[1] == 5 && value->numbers[2] > 1e308 && value->numbers[3] < -1e308,
           "nums");
    value = setting(file, "config.nan", INLAY_FILE_VALUE_NUMBER);
    EXPECT(value->number != value->number, "nan");
    value = setting(file, "config.strs", INLAY_FILE_VALUE_STRINGS);
    EXPECT(value->count == 2 && strcmp(value->strings[0], "a") == 0 && value->strings[1][0] == '\0', "strs");
    EXPECT(setting(file, "config.none", INLAY_FILE_VALUE_INTEGERS)->count == 0, "none");
    EXPECT(setting(file, "config.after", INLAY_FILE_VALUE_INTEGER)->integer == 1, "after");
    EXPECT(setting(file, "config.quantization.a.b.c", INLAY_FILE_VALUE_INTEGER)->integer == 1, "a.b.c");
    static const char *const left_out[] = {"config.null",    "config.o", "config.o.r", "config.mixed", "config.deep",
                                           "config.objects", "config.",  "config.o.x", "config.o.y.z"};
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        EXPECT(inlay_file_find_value(file, left_out[i]) == NULL, "%s", left_out[i]);
    inlay_file_close(file);
    /* A name has at most 1024 bytes, with its prefix or without. */
    static const int sizes[] = {1017, 1018, 1024, 1025};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[1100], key[1100];
        snprintf(text, sizeof text, "{\"%0*d\":1,\"after\":1}", sizes[i], 0);
        snprintf(key, sizeof key, "config.%0*d", sizes[i], 0);
        write_text("config.json", text);
        file = open_good(folder());
        EXPECT((inlay_file_find_value(file, key) != NULL) == (sizes[i] == 1017), "a name of %d bytes", sizes[i]);
        EXPECT(setting(file, "config.after", INLAY_FILE_VALUE_INTEGER)->integer == 1, "after a name");
        inlay_file_close(file);
    }
}
END_TEST

START_TEST(broken_settings)
{
    static const struct {
        const char *text;
        inlay_file_status status;
        const char *message;
    } broken[] = {
        {"[1]", INLAY_FILE_ERROR_SYNTAX, "an object is expected"},
        {"{\"a\": 1, \"a\": 2}", INLAY_FILE_ERROR_DUPLICATE, "twice"},
        {"{\"quantization\": {\"a\": {\"b\": 2}, \"a.b\": 1}}", INLAY_FILE_ERROR_DUPLICATE, "twice"},
        {"{\"a\": 1, \"a\": null}", INLAY_FILE_ERROR_DUPLICATE, "twice"},
        {"{\"a\": {\"b\": 1}, \"a\": {\"c\": 1}}", INLAY_FILE_ERROR_DUPLICATE, "twice"},
        {"{\"a\": null, \"a\": null}", INLAY_FILE_ERROR_DUPLICATE, "twice"},
        {"{\"a\": [[]], \"a\": [1]}", INLAY_FILE_ERROR_DUPLICATE, "twice"},
        {"{\"a\": 1.}", INLAY_FILE_ERROR_SYNTAX, "a number"},
        {"{\"a\": .5}", INLAY_FILE_ERROR_SYNTAX, "a value"},
        {"{\"a\": 1e}", INLAY_FILE_ERROR_SYNTAX, "a number"},
        {"{\"a\": 01}", INLAY_FILE_ERROR_SYNTAX, "a number"},
        {"{\"a\": -}", INLAY_FILE_ERROR_SYNTAX, "a number"},
        {"{\"a\": - 1}", INLAY_FILE_ERROR_SYNTAX, "a number"},
        {"{\"a\": -NaN}", INLAY_FILE_ERROR_SYNTAX, "a number"},
        {"{\"a\": [1, 2.]}", INLAY_FILE_ERROR_SYNTAX, "a number"},
        {"{\"a\": \"\\x\"}", INLAY_FILE_ERROR_SYNTAX, "escape"},
        {"{\"a\": nul}", INLAY_FILE_ERROR_SYNTAX, "a value"},
        {"{\"a\": truex}", INLAY_FILE_ERROR_SYNTAX, "a comma"},
        {"{\"a\": [1 2]}", INLAY_FILE_ERROR_SYNTAX, "a comma"},
        {"{\"a\": [1}", INLAY_FILE_ERROR_SYNTAX, "a comma"},
        {"{\"a\": {\"b\": 1]}", INLAY_FILE_ERROR_SYNTAX, "a comma"},
        {"{\"a\": 1", INLAY_FILE_ERROR_SYNTAX, "a comma"},
    };
    write_blob("model.safetensors", one_tensor("w", 3));
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        write_text("config.json", broken[i].text);
        expect_refused(folder(), broken[i].status, NULL, broken[i].message);
    }
    char *deep = malloc(1 << 16);
    memset(deep, '[', (1 << 16) - 1);
    deep[(1 << 16) - 1] = '\0';
    memcpy(deep, "{\"a\":", 5);
    write_text("config.json", deep);
    expect_refused(folder(), INLAY_FILE_ERROR_LIMIT, "", "nested too deeply");
    for (size_t i = 0; i + 5 < 1 << 16; i += 5)
        memcpy(deep + i, "{\"a\":", 5);
    write_text("config.json", deep);
    expect_refused(folder(), INLAY_FILE_ERROR_LIMIT, "", "nested too deeply");
    memset(deep, '1', (1 << 16) - 1);
    memcpy(deep, "{\"a\":", 5);
    write_text("config.json", deep);
    expect_refused(folder(), INLAY_FILE_ERROR_LIMIT, "", "too many digits");
    /* Short keys in an object with a long key, which prefixes them all. */
    memset(deep, 'k', 1000);
    memcpy(deep, "{\"", 2);
    memcpy(deep + 1000, "\":{", 3);
    size_t used = 1003;
    for (int i = 0; used < 1 << 14; i++)
        used += (size_t)sprintf(deep + used, "\"%d\":1,", i);
    write_text("config.json", deep);
    expect_refused(folder(), INLAY_FILE_ERROR_LIMIT, "", "together are too long");
    free(deep);
    int file = open(path_of("config.json"), O_WRONLY);
    ck_assert_int_eq(ftruncate(file, (16 << 20) + 1), 0);
    close(file);
    expect_refused(folder(), INLAY_FILE_ERROR_LIMIT, "", "too many");
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "opening of models", make_folder, remove_folder, only_regular_files_are_opened,
                     other_formats_are_named, arguments, bytes_are_mapped_copied_or_loaded, npy_files,
                     npy_files_that_numpy_also_reads, directories, parts_of_a_model, tensors_of_missing_files,
                     files_that_were_opened, indexes, split_models, settings, broken_settings);
}
