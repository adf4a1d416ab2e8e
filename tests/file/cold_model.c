/* SPDX-License-Identifier: MIT */
/*
 * The model for tests of tables larger than memory. Elements are a hash of their index, so tests can check rows without
 * a copy of the table.
 */
#define _GNU_SOURCE /* MADV_DONTNEED, mincore */
#include "file/cold_model.h"

#include "handle.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEADER = 256 }; /* bytes of the headers, padded with spaces */

static char folder[32];
static const char *const names[FILES] = {"first.safetensors", "second.safetensors"};
static const char index_name[] = "model.safetensors.index.json";

inlay_file *file;
inlay_file_table cold_table;

float element(size_t at)
{
    return (float)(int32_t)((uint32_t)at * 2654435761u) * 0x1p-31f;
}

/* Ends the program before any test if a file cannot be written. */
static void demand(bool holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

static void path_of(const char *name, char *path, size_t room)
{
    demand((size_t)snprintf(path, room, "%s/%s", folder, name) < room, name);
}

static void write_tensor(FILE *out, size_t number)
{
    char header[HEADER + 1];
    const size_t bytes = (size_t)FILE_ROWS * ROW;
    const int length = snprintf(
        header, sizeof header, "{\"shard_%zu.weight\":{\"dtype\":\"F32\",\"shape\":[%zu,%d],\"data_offsets\":[0,%zu]}}",
        number, (size_t)FILE_ROWS, WIDTH, bytes);
    const uint64_t header_bytes = HEADER;
    float *data = malloc(bytes);
    demand(data != NULL, "malloc");
    for (size_t i = 0; i < (size_t)FILE_ROWS * WIDTH; i++)
        data[i] = element(number * (size_t)FILE_ROWS * WIDTH + i);
    memset(header + length, ' ', HEADER - (size_t)length);
    fwrite(&header_bytes, sizeof header_bytes, 1, out);
    fwrite(header, HEADER, 1, out);
    fwrite(data, bytes, 1, out);
    free(data);
}

static void write_index(FILE *out)
{
    fprintf(out, "{\"metadata\":{\"total_size\":%zu},", FILES * (size_t)FILE_ROWS * ROW);
    fprintf(out, "\"weight_map\":{\"shard_0.weight\":\"%s\",\"shard_1.weight\":\"%s\"}}", names[0], names[1]);
}

void make_model(void)
{
    strcpy(folder, "file_cold.XXXXXX");
    demand(mkdtemp(folder) != NULL, folder);
    for (size_t i = 0; i <= FILES; i++) {
        char path[128];
        path_of(i < FILES ? names[i] : index_name, path, sizeof path);
        FILE *out = fopen(path, "wb");
        demand(out != NULL, path);
        if (i < FILES)
            write_tensor(out, i);
        else
            write_index(out);
        demand(fflush(out) == 0 && fsync(fileno(out)) == 0 && !ferror(out) && fclose(out) == 0, path);
    }
}

void remove_model(void)
{
    for (size_t i = 0; i <= FILES; i++) {
        char path[128];
        path_of(i < FILES ? names[i] : index_name, path, sizeof path);
        unlink(path);
    }
    rmdir(folder);
}

void open_with(inlay_file_memory memory, size_t resident_bytes)
{
    inlay_file_options options = inlay_file_options_default();
    inlay_file_error error = {.message = ""};
    options.memory = memory;
    options.resident_bytes = resident_bytes;
    ck_assert_msg(inlay_file_open(folder, &options, &file, &error) == INLAY_FILE_OK, "%s", error.message);
    ck_assert_msg(inlay_file_get_table(file, "shard_*.weight", &cold_table, &error) == INLAY_FILE_OK, "%s",
                  error.message);
    ck_assert(cold_table.view.rows == FILES * (size_t)FILE_ROWS && cold_table.view.extent_count == FILES);
}

void open_mapped(void)
{
    open_with(INLAY_FILE_MEMORY_MAPPED, 0);
}

void close_file(void)
{
    inlay_file_close(file);
    file = NULL;
}

/* ---- Pages ------------------------------------------------------------------------------------------------------ */

size_t cached_pages(void)
{
    size_t count = 0;
    static unsigned char flags[32 * MIB / 4096]; /* no system has smaller pages */
    for (size_t i = 0; i < file->mapping_count; i++) {
        const struct inlay_mapping *mapping = &file->mappings[i];
        const size_t pages = (mapping->size + page_bytes() - 1) / page_bytes();
        ck_assert(pages <= sizeof flags && mincore((void *)(uintptr_t)mapping->bytes, mapping->size, flags) == 0);
        for (size_t p = 0; p < pages; p++)
            count += flags[p] & 1;
    }
    return count;
}

size_t wait_for_pages(size_t count)
{
    size_t cached = cached_pages();
    for (int wait = 0; cached < count && wait < 1000; wait++, usleep(1000))
        cached = cached_pages();
    return cached;
}

void drop_from_process(void)
{
    for (size_t i = 0; i < file->mapping_count; i++)
        madvise((void *)(uintptr_t)file->mappings[i].bytes, file->mappings[i].size, MADV_DONTNEED);
}

void read_model(void)
{
    static char block[MIB];
    char path[128];
    for (size_t i = 0; i < FILES; i++) {
        path_of(names[i], path, sizeof path);
        const int descriptor = open(path, O_RDONLY);
        while (read(descriptor, block, sizeof block) > 0)
            continue;
        close(descriptor);
    }
}

bool drop_cache(void)
{
    char path[128];
    drop_from_process();
    for (int attempt = 0; attempt < 10; attempt++) { /* pages in use stay */
        read_model();                                /* waits for pages that were already requested */
        for (size_t i = 0; i < FILES; i++) {
            path_of(names[i], path, sizeof path);
            const int descriptor = open(path, O_RDONLY);
            posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
            close(descriptor);
        }
        if (cached_pages() == 0)
            return true;
    }
    printf("skipped a test of cold tables: the system keeps the pages of files here\n");
    return false;
}

bool drop_cache_before_requests(void)
{
    if (!drop_cache())
        return false;
    madvise((void *)(uintptr_t)file->mappings[0].bytes, page_bytes(), MADV_WILLNEED);
    if (wait_for_pages(1) > 0)
        return drop_cache();
    printf("skipped a test of cold tables: the system, or what emulates it, ignores requests for pages\n");
    return false;
}

size_t resident_bytes(void)
{
    char line[512];
    size_t sum = 0, kib;
    bool ours = false;
    uintptr_t first, end;
    FILE *smaps = fopen("/proc/self/smaps", "r");
    ck_assert_ptr_nonnull(smaps);
    while (fgets(line, sizeof line, smaps) != NULL) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &first, &end) == 2)
            ours = strstr(line, folder) != NULL;
        else if (ours && sscanf(line, "Rss: %zu kB", &kib) == 1)
            sum += kib * 1024;
    }
    fclose(smaps);
    return sum;
}
