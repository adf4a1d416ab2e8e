/* SPDX-License-Identifier: MIT */
/*
 * Reports of caches. What is malformed, or too large to be a cache, counts as no report.
 */
#include "dispatch/caches.h"

#include "base/file.h"
#include "dispatch/cpuid.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* No core has more caches, so a longer list is not believed. */
enum { MOST_CACHES = 16 };

/* No cache is larger than a GiB. */
static void note_cache(struct inlay_caches *caches, uint64_t level, uint64_t bytes)
{
    if (level >= 1 && level <= INLAY_CACHE_LEVELS && bytes <= (uint64_t)1 << 30)
        caches->bytes[level - 1] = (size_t)bytes;
}

int inlay_caches_add_cpuid(struct inlay_caches *caches, uint32_t eax, uint32_t ebx, uint32_t ecx)
{
    enum { NO_CACHE = 0, INSTRUCTIONS = 2 };
    const uint32_t type = eax & 31, level = eax >> 5 & 7;
    if (type == NO_CACHE)
        return 0;
    const uint64_t line = (ebx & 0xfff) + 1, partitions = (ebx >> 12 & 0x3ff) + 1, ways = (ebx >> 22) + 1;
    uint64_t bytes;
    if (__builtin_mul_overflow(line * partitions * ways, (uint64_t)ecx + 1, &bytes))
        bytes = UINT64_MAX;
    if (type != INSTRUCTIONS)
        note_cache(caches, level, bytes);
    return 1;
}

/* AMD's CPUs leave leaf 4 empty and have the same registers in leaf 0x8000001D. */
static struct inlay_caches caches_of_cpuid(void)
{
    struct inlay_caches caches = {{0}};
#ifdef INLAY_HAVE_AVX2
    static const uint32_t leaves[] = {4, 0x8000001d};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        struct inlay_cpuid found;
        uint32_t n = 0;
        while (n < MOST_CACHES && inlay_cpuid(leaves[i], n, &found) &&
               inlay_caches_add_cpuid(&caches, found.eax, found.ebx, found.ecx))
            n++;
        if (n > 0)
            break;
    }
#endif
    return caches;
}

/* Reads folder/index<i>/<name>, which must be one short line. */
static bool read_property(const char *folder, int i, const char *name, char *text, size_t size)
{
    char path[256];
    const int length = snprintf(path, sizeof path, "%s/index%d/%s", folder, i, name);
    size_t bytes;
    return length > 0 && (size_t)length < sizeof path && inlay_read_file(path, text, size, &bytes);
}

/* Reads up to 9 digits, then an optional K or M, then the end of the line. */
static bool parse_size(const char *text, uint64_t *bytes)
{
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 9)
        return false;
    *bytes = 0;
    for (size_t i = 0; i < digits; i++)
        *bytes = *bytes * 10 + (uint64_t)(text[i] - '0');
    text += digits;
    const unsigned shift = *text == 'K' ? 10 : *text == 'M' ? 20 : 0;
    *bytes <<= shift;
    text += shift > 0;
    return strcmp(text, "\n") == 0 || *text == '\0';
}

struct inlay_caches inlay_caches_of_folder(const char *folder)
{
    struct inlay_caches caches = {{0}};
    char level[16], type[16], size[16];
    uint64_t levels, bytes;
    for (int i = 0; i < MOST_CACHES && read_property(folder, i, "level", level, sizeof level); i++)
        if (read_property(folder, i, "type", type, sizeof type) && strncmp(type, "Instruction", 11) != 0 &&
            read_property(folder, i, "size", size, sizeof size) && parse_size(level, &levels) &&
            parse_size(size, &bytes))
            note_cache(&caches, levels, bytes);
    return caches;
}

struct inlay_caches inlay_caches(void)
{
    const struct inlay_caches reported = caches_of_cpuid();
    return reported.bytes[1] > 0 ? reported : inlay_caches_of_folder("/sys/devices/system/cpu/cpu0/cache");
}
