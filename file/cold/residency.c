/* SPDX-License-Identifier: MIT */
/*
 * The start of residency.h. The calls that use what it prepares are in reads.c.
 */
#include "cold/residency.h"

#include "mapping.h"

void inlay_residency_start(struct inlay_residency *residency, const struct inlay_mapping *mappings, size_t count,
                           size_t resident_bytes)
{
    if (count == 0 || mappings[0].memory != INLAY_FILE_MEMORY_MAPPED)
        return;
    residency->mappings = mappings;
    residency->count = count;
    inlay_file_reader_init(&residency->reader);
    if (resident_bytes > 0)
        residency->reader.timed_pages = 1; /* the cap counts what all calls can have made resident */
    inlay_cap_start(&residency->cap, mappings, count, resident_bytes, residency->reader.page_bytes);
}
