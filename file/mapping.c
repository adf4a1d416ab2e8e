/* SPDX-License-Identifier: MIT */
/*
 * Mappings. A file is opened once and without blocking, since a FIFO has no size and would wait for a writer.
 * Everything is queried from its descriptor, since its name can refer to another file a moment later.
 */
#include "mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Maximum size of a mapping, with room for the end of the last page. */
#define ADDRESS_SPACE ((size_t)PTRDIFF_MAX - 0xffff)

/* Gets the size and identity of an open file, which must be a regular file of 1 to `most` bytes. */
static bool look_at(int file, const char *path, size_t most, struct inlay_mapping *mapping, inlay_file_error *error)
{
    struct stat about;
    if (fstat(file, &about) != 0)
        return inlay_file_fail_system(error, path, "cannot get its size");
    if (!S_ISREG(about.st_mode))
        return inlay_file_fail(error, INLAY_FILE_ERROR_KIND, path, NULL, "it is not a regular file");
    if (about.st_size == 0)
        return inlay_file_fail(error, INLAY_FILE_ERROR_TRUNCATED, path, NULL, "it is empty");
    if ((uintmax_t)about.st_size > (uintmax_t)(most < ADDRESS_SPACE ? most : ADDRESS_SPACE))
        return inlay_file_fail(error, INLAY_FILE_ERROR_LIMIT, path, NULL, "its %jd bytes are too many",
                               (intmax_t)about.st_size);
    mapping->size = (size_t)about.st_size;
    mapping->file = (inlay_file_opened){path, about.st_dev, about.st_ino};
    return true;
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Reserves `size` bytes of inaccessible memory, aligned to a huge page if they fill one. Returns MAP_FAILED with errno
   on failure. */
static unsigned char *reserve(size_t size)
{
    const size_t page = page_bytes(), huge = inlay_huge_pages_bytes(), more = size < huge ? 0 : huge;
    size = (size + page - 1) / page * page;
    unsigned char *range = mmap(NULL, size + more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED || more == 0)
        return range;
    size_t before = (huge - (uintptr_t)range % huge) % huge;
    if (before > 0)
        munmap(range, before);
    if (before < more)
        munmap(range + before + size, more - before);
    return range + before;
}

/* Fills a private range with the contents of the file. */
static bool copy(int file, const char *path, unsigned char *range, size_t size, inlay_file_error *error)
{
    if (mprotect(range, size, PROT_READ | PROT_WRITE) != 0)
        return inlay_file_fail_memory(error, path);
    inlay_huge_pages_advise(range, size, NULL);
    for (size_t done = 0; done < size;) {
        const size_t step = size - done < (size_t)1 << 30 ? size - done : (size_t)1 << 30;
        const ssize_t got = pread(file, range + done, step, (off_t)done);
        if (got == 0)
            return inlay_file_fail(error, INLAY_FILE_ERROR_TRUNCATED, path, NULL, "it was truncated while being read");
        if (got < 0 && errno != EINTR)
            return inlay_file_fail_system(error, path, "cannot read it");
        done += got > 0 ? (size_t)got : 0;
    }
    mprotect(range, size, PROT_READ);
    return true;
}

/* Maps the file at the range, onto huge pages if the file system supports them, and reads it in order. */
static bool load(int file, const char *path, unsigned char *range, size_t size, inlay_file_error *error)
{
    if (mmap(range, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0) == MAP_FAILED)
        return inlay_file_fail_system(error, path, "cannot map it");
    inlay_huge_pages_advise(range, size, NULL);
    const size_t page = page_bytes();
    for (size_t at = 0; at < size; at += page)
        (void)*(const volatile unsigned char *)(range + at);
    return true;
}

/* Reads or maps an open file. */
static bool map(int file, const char *path, struct inlay_mapping *mapping, inlay_file_error *error)
{
    bool mapped = mapping->memory == INLAY_FILE_MEMORY_MAPPED;
    unsigned char *range = mapped ? mmap(NULL, mapping->size, PROT_READ, MAP_PRIVATE, file, 0) : reserve(mapping->size);
    if (range == MAP_FAILED)
        return inlay_file_fail_system(error, path, "cannot map it");
    mapping->bytes = range;
    if (mapped)
        return true;
    bool copied = mapping->memory == INLAY_FILE_MEMORY_COPIED;
    if ((copied ? copy : load)(file, path, range, mapping->size, error))
        return true;
    inlay_mapping_close(mapping);
    return false;
}

bool inlay_mapping_open(const char *path, inlay_file_memory memory, size_t most, struct inlay_mapping *mapping,
                        inlay_file_error *error)
{
    *mapping = (struct inlay_mapping){.memory = memory};
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0)
        return inlay_file_fail_system(error, path, "cannot open it");
    const bool is_open = look_at(file, path, most, mapping, error) && map(file, path, mapping, error);
    close(file);
    return is_open;
}

void inlay_mapping_advise_random(const struct inlay_mapping *mapping)
{
    if (mapping->memory == INLAY_FILE_MEMORY_MAPPED)
        posix_madvise((void *)(uintptr_t)mapping->bytes, mapping->size, POSIX_MADV_RANDOM);
}

void inlay_mapping_close(struct inlay_mapping *mapping)
{
    if (mapping->bytes != NULL)
        munmap((void *)(uintptr_t)mapping->bytes, mapping->size);
    *mapping = (struct inlay_mapping){.memory = mapping->memory};
}
