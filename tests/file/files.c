/* SPDX-License-Identifier: MIT */
/*
 * Writes and opens files. A system limit bounds memory, including mappings and malloc. Time is the process's CPU time,
 * so other processes don't affect it.
 */
#define _GNU_SOURCE
#include "file/files.h"

#include "formats/formats.h"
#include "handle.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- Bytes ------------------------------------------------------------------------------------------------------ */

void blob_zeros(struct blob *blob, size_t size)
{
    if (blob->size + size > blob->room) {
        blob->room = 2 * (blob->size + size);
        blob->bytes = realloc(blob->bytes, blob->room);
        ck_assert_ptr_nonnull(blob->bytes);
    }
    if (size > 0)
        memset(blob->bytes + blob->size, 0, size);
    blob->size += size;
}

void blob_add(struct blob *blob, const void *bytes, size_t size)
{
    blob_zeros(blob, size);
    if (size > 0)
        memcpy(blob->bytes + blob->size - size, bytes, size);
}

void blob_number(struct blob *blob, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++, value >>= 8)
        blob_add(blob, &(unsigned char){(unsigned char)value}, 1);
}

void blob_free(struct blob *blob)
{
    free(blob->bytes);
    *blob = (struct blob){NULL, 0, 0};
}

struct blob blob_safetensors(const char *header, size_t data)
{
    struct blob blob = {NULL, 0, 0};
    blob_number(&blob, strlen(header), 8);
    blob_add(&blob, header, strlen(header));
    blob_zeros(&blob, data);
    return blob;
}

struct blob blob_gguf(uint64_t tensors, uint64_t values)
{
    struct blob blob = {NULL, 0, 0};
    blob_add(&blob, "GGUF", 4);
    blob_number(&blob, 3, 4);
    blob_number(&blob, tensors, 8);
    blob_number(&blob, values, 8);
    return blob;
}

void blob_string(struct blob *blob, const char *text)
{
    blob_number(blob, strlen(text), 8);
    blob_add(blob, text, strlen(text));
}

void blob_value(struct blob *blob, const char *key, uint32_t type)
{
    blob_string(blob, key);
    blob_number(blob, type, 4);
}

void blob_u32_value(struct blob *blob, const char *key, uint32_t value)
{
    blob_value(blob, key, 4);
    blob_number(blob, value, 4);
}

void blob_tensor(struct blob *blob, const char *name, uint32_t rank, const uint64_t *sizes, uint32_t type,
                 uint64_t offset)
{
    blob_string(blob, name);
    blob_number(blob, rank, 4);
    for (uint32_t i = 0; i < rank; i++)
        blob_number(blob, sizes[i], 8);
    blob_number(blob, type, 4);
    blob_number(blob, offset, 8);
}

void blob_data(struct blob *blob, size_t alignment, size_t data)
{
    blob_zeros(blob, (alignment - blob->size % alignment) % alignment + data);
}

/* ---- Files ------------------------------------------------------------------------------------------------------ */

static char folder[64];

void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/inlay-files-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    alarm(120); /* a reader that waits for a FIFO or counts to 2^64 fails */
}

void remove_folder(void)
{
    alarm(0);
    DIR *stream = opendir(folder);
    for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;)
        if (entry->d_name[0] != '.')
            remove(path_of(entry->d_name));
    if (stream != NULL)
        closedir(stream);
    rmdir(folder);
}

const char *path_of(const char *name)
{
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

const char *write_bytes(const char *name, const void *bytes, size_t size)
{
    const char *path = path_of(name);
    remove(path); /* ext4 writes a truncated file to the disk at once */
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(size > 0 ? fwrite(bytes, 1, size, file) : 0, size);
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

const char *write_text(const char *name, const char *text)
{
    return write_bytes(name, text, strlen(text));
}

const char *write_blob(const char *name, struct blob blob)
{
    const char *path = write_bytes(name, blob.bytes, blob.size);
    blob_free(&blob);
    return path;
}

inlay_file *open_good(const char *path)
{
    inlay_file *file = NULL;
    inlay_file_error error;
    inlay_file_status status = inlay_file_open(path, NULL, &file, &error);
    EXPECT(status == INLAY_FILE_OK, "status %d: %s", status, error.message);
    return file;
}

/* Returns the lines of /proc/self/maps or entries of /proc/self/fd that name the folder. */
static size_t left_open(void)
{
    char line[1024];
    size_t count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        count += strstr(line, folder) != NULL;
    if (maps != NULL)
        fclose(maps);
    for (int file = 3; file < 64; file++) {
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t size = readlink(link, line, sizeof line - 1);
        line[size > 0 ? size : 0] = '\0';
        count += strstr(line, folder) != NULL;
    }
    return count;
}

/* Limits the address space to that number of bytes more than now, or to none for 0. */
static void limit_memory(size_t more)
{
#ifndef SANITIZED /* sanitizers reserve terabytes */
    struct rlimit limit;
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm == NULL || fscanf(statm, "%lu", &pages) != 1)
        pages = 0;
    if (statm != NULL)
        fclose(statm);
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = more > 0 && pages > 0 ? pages * (rlim_t)sysconf(_SC_PAGESIZE) + more : limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
#else
    (void)more;
#endif
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Maximum seconds of a rejection. Sanitizers, unoptimized builds and emulated machines take longer. */
#if defined(SANITIZED) || !defined(__OPTIMIZE__) || !defined(__x86_64__)
static const double max_seconds = 1;
#else
static const double max_seconds = 0.01;
#endif

/* Opens a path with that much more memory, and measures the time. */
static inlay_file_status open_bounded(const char *path, size_t more, inlay_file **file, inlay_file_error *error,
                                      double *seconds)
{
    limit_memory(more);
    double begin = cpu_seconds();
    inlay_file_status status = inlay_file_open(path, NULL, file, error);
    *seconds = cpu_seconds() - begin;
    limit_memory(0);
    return status;
}

/* Returns the bytes of address space of a mapped regular file. */
static size_t mapped_bytes(const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return 0;
    return (size_t)about.st_size + (size_t)sysconf(_SC_PAGESIZE);
}

inlay_file *open_within(const char *path, size_t more)
{
    inlay_file *file = NULL;
    inlay_file_error error;
    double seconds;
    inlay_file_status status = open_bounded(path, more + mapped_bytes(path), &file, &error, &seconds);
    EXPECT(status == INLAY_FILE_OK, "status %d: %s", status, error.message);
    return file;
}

void expect_refused(const char *path, inlay_file_status status, const char *name, const char *message)
{
    inlay_file *file = (inlay_file *)(void *)&file;
    inlay_file_error error;
    memset(&error, 0xaa, sizeof error);
    double seconds;
    inlay_file_status found = open_bounded(path, ((size_t)1 << 20) + mapped_bytes(path), &file, &error, &seconds);
    if (found == INLAY_FILE_OK)
        ck_abort_msg("%s was accepted", path);
    EXPECT(found == status && error.status == status, "status %d and %d, not %d: %s", found, error.status, status,
           error.message);
    EXPECT(file == NULL, "the handle was not set to null");
    EXPECT(memchr(error.message, '\0', sizeof error.message) != NULL && error.message[0] != '\0', "no message");
    EXPECT(message == NULL || strstr(error.message, message) != NULL, "\"%s\" is not in: %s", message, error.message);
    EXPECT(name == NULL || strcmp(error.name, name) == 0, "the name is \"%s\", not \"%s\"", error.name, name);
    EXPECT(name == NULL || strstr(error.message, name) != NULL, "\"%s\" is not in: %s", name, error.message);
    EXPECT((error.system_error != 0) == (status == INLAY_FILE_ERROR_SYSTEM), "system error %d", error.system_error);
    /* Again, if the machine was busy. */
    for (int again = 0; again < 4 && seconds >= max_seconds; again++)
        open_bounded(path, 0, &file, &error, &seconds);
    EXPECT(seconds < max_seconds, "it took %g ms: %s", seconds * 1e3, error.message);
    EXPECT(left_open() == 0, "a descriptor or a mapping is still there: %s", error.message);
    EXPECT(inlay_file_open(path, NULL, &file, NULL) == status, "another status without an error");
}

inlay_file_table table_of(inlay_file *file, const char *name)
{
    inlay_file_table table;
    inlay_file_error error;
    inlay_file_status status = inlay_file_get_table(file, name, &table, &error);
    EXPECT(status == INLAY_FILE_OK, "%s: %s", name, error.message);
    EXPECT(table.reserved == 0 && table.view.size == sizeof table.view, "fields of %s", name);
    return table;
}

void expect_no_table(inlay_file *file, const char *name, inlay_file_status status, const char *message)
{
    inlay_file_table table;
    inlay_file_error error;
    memset(&table, 0x55, sizeof table);
    inlay_file_table before = table;
    inlay_file_status found = inlay_file_get_table(file, name, &table, &error);
    EXPECT(found == status, "%s: status %d, not %d: %s", name, found, status,
           found != INLAY_FILE_OK ? error.message : "a table");
    EXPECT(strstr(error.message, message) != NULL, "\"%s\" is not in: %s", message, error.message);
    EXPECT(memcmp(&before, &table, sizeof table) == 0, "the table was written");
}

void read_row(const inlay_file_table *table, size_t row, float *out)
{
    int64_t id = (int64_t)row;
    inlay_status status = inlay_gather(&table->view, &id, INLAY_ID_I64, 1, table->scale, out,
                                       table->view.dim * sizeof(float), NULL, NULL);
    EXPECT(status == INLAY_OK, "row %zu: %s", row, inlay_status_string(status));
}

void expect_element(const inlay_file_table *table, size_t row, size_t column, float expected)
{
    float out[256];
    read_row(table, row, out);
    EXPECT(memcmp(&out[column], &expected, sizeof expected) == 0, "row %zu, column %zu: %g, not %g", row, column,
           (double)out[column], (double)expected);
}

/* ---- Bytes of unknown origin ------------------------------------------------------------------------------------ */

/* Checks the table of a tensor: its first and last row can be gathered. */
static const char *check_table(inlay_file *file, const inlay_file_tensor *tensor)
{
    static float row[1 << 16];
    inlay_file_table table;
    if (inlay_file_get_table(file, tensor->name, &table, NULL) != INLAY_FILE_OK)
        return NULL;
    if (table.view.rows != tensor->shape[0] || table.view.dim != tensor->shape[1])
        return "a table has another shape than its tensor";
    if (table.view.rows == 0 || table.view.dim > sizeof row / sizeof *row)
        return NULL;
    const int64_t ids[] = {0, (int64_t)table.view.rows - 1};
    for (int i = 0; i < 2; i++)
        if (inlay_gather(&table.view, &ids[i], INLAY_ID_I64, 1, table.scale, row, table.view.dim * sizeof(float), NULL,
                         NULL) != INLAY_OK)
            return "the rows of a table cannot be gathered";
    return NULL;
}

static const char *check_tensor(inlay_file *file, const struct inlay_source *source, size_t index)
{
    const inlay_file_tensor *tensor = inlay_file_tensor_at(file, index);
    const unsigned char *data = tensor->data;
    if (data < source->bytes || data > source->bytes + source->size ||
        tensor->bytes > (size_t)(source->bytes + source->size - data))
        return "a tensor is not within the file";
    if (inlay_file_find_tensor(file, tensor->name) != tensor)
        return "a tensor is not found by its name";
    if (tensor->path != source->path || tensor->type == NULL || tensor->rank > INLAY_FILE_RANK)
        return "a tensor is incomplete";
    return check_table(file, tensor);
}

/* Returns true if a value has the fields of its kind, with null-terminated strings. Reads the ends of its arrays. */
static bool is_complete(const inlay_file_value *value)
{
    size_t last = value->count > 0 ? value->count - 1 : 0;
    double number;
    switch (value->kind) {
    case INLAY_FILE_VALUE_STRING:
        return value->text != NULL && value->text[value->count] == '\0';
    case INLAY_FILE_VALUE_INTEGERS:
        if (value->count > 0)
            (void)*(const volatile int64_t *)&value->integers[last];
        return value->integers != NULL;
    case INLAY_FILE_VALUE_NUMBERS:
        if (value->count > 0)
            (void)*(const volatile double *)&value->numbers[last];
        return value->numbers != NULL;
    case INLAY_FILE_VALUE_STRINGS:
        return value->strings != NULL && (value->count == 0 || strlen(value->strings[last]) < SIZE_MAX);
    default:
        if (value->kind >= INLAY_FILE_VALUE_INTEGER && value->kind <= INLAY_FILE_VALUE_BOOLEAN)
            return true;
        return inlay_file_value_numbers(value, last, value->count > 0, &number) == INLAY_FILE_OK;
    }
}

/* Checks the tensors and values of a parsed file. */
static const char *check_parsed(inlay_file *file, const struct inlay_source *source)
{
    const char *wrong = NULL;
    for (size_t i = 0; wrong == NULL && i < inlay_file_tensor_count(file); i++)
        wrong = check_tensor(file, source, i);
    for (size_t i = 0; wrong == NULL && i < inlay_file_value_count(file); i++) {
        const inlay_file_value *value = inlay_file_value_at(file, i);
        if (!is_complete(value) || inlay_file_find_value(file, value->key) != value)
            wrong = "a value is incomplete, or not found by its key";
    }
    return wrong;
}

/* Parses bytes with a parser and checks the result. */
static const char *check(bool (*parse)(struct inlay_catalog *catalog, const struct inlay_source *source),
                         const unsigned char *bytes, size_t size, inlay_file_status *status)
{
    const struct inlay_source source = {"bytes", bytes, size};
    inlay_file_error error = {INLAY_FILE_OK, 0, "", ""};
    inlay_file *file = calloc(1, sizeof *file);
    if (file == NULL)
        return "no memory";
    file->catalog.error = &error;
    const bool is_parsed = inlay_catalog_add_opened(&file->catalog, &(inlay_file_opened){.path = source.path}) &&
                           parse(&file->catalog, &source) && inlay_catalog_finish(&file->catalog);
    const char *wrong = is_parsed ? check_parsed(file, &source) : NULL;
    if (is_parsed != (error.status == INLAY_FILE_OK) || is_parsed != (error.message[0] == '\0'))
        wrong = "an error is incomplete, or written though there is none";
    *status = error.status;
    inlay_file_close(file);
    return wrong;
}

const char *check_model(const unsigned char *bytes, size_t size, inlay_file_status *status)
{
    return check(inlay_parse_model, bytes, size, status);
}

const char *check_config(const unsigned char *bytes, size_t size)
{
    inlay_file_status status;
    return check(inlay_parse_config, bytes, size, &status);
}

/* Checks bytes that end at an inaccessible page. */
static inlay_file_status check_at_end(struct arena *arena, const unsigned char *bytes, size_t size, size_t changed)
{
    inlay_file_status status;
    unsigned char *exact = arena_place(arena, size, AT_END, 0);
    memcpy(exact, bytes, size);
    const char *wrong = check_model(exact, size, &status);
    EXPECT(wrong == NULL, "byte %zu of %zu: %s", changed, size, wrong);
    return status;
}

void expect_survived(struct blob blob, size_t least)
{
    struct arena arena = arena_make(blob.size);
    ck_assert_int_eq(check_at_end(&arena, blob.bytes, blob.size, 0), INLAY_FILE_OK);
    for (size_t size = 0; size < blob.size; size++) {
        inlay_file_status status = check_at_end(&arena, blob.bytes, size, size);
        EXPECT((status == INLAY_FILE_OK) == (size + least >= blob.size), "%zu of %zu bytes: status %d", size, blob.size,
               status);
    }
    static const unsigned char changes[] = {0x01, 0x80, 0xff, 0x10, 0x02};
    for (size_t i = 0; i < blob.size; i++)
        for (size_t k = 0; k < sizeof changes; k++) {
            blob.bytes[i] ^= changes[k];
            check_at_end(&arena, blob.bytes, blob.size, i);
            blob.bytes[i] ^= changes[k];
        }
    arena_free(&arena);
    blob_free(&blob);
}
