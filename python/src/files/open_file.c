/* SPDX-License-Identifier: MIT */
/*
 * Counts the users of a file, and records if recent calls waited for the disk.
 */
#include "files/open_file.h"

#include <stdlib.h>

/* After a call that requested pages, this number of calls is expected to wait too. The library samples residency more
   often. */
enum { WAITS = 64 };

static void close_file(struct owner *owner)
{
    struct open_file *file = (struct open_file *)(void *)owner;
    inlay_file_close(file->file);
    free(file);
}

struct open_file *open_file_new(inlay_file *file, bool mapped)
{
    struct open_file *opened = malloc(sizeof *opened);
    if (opened == NULL)
        return NULL;
    opened->file = file;
    opened->mapped = mapped;
    owner_init(&opened->owner, close_file);
    atomic_init(&opened->waits, WAITS); /* a new file isn't in memory yet */
    return opened;
}

bool open_file_waits(struct open_file *file)
{
    return atomic_load_explicit(&file->waits, memory_order_relaxed) > 0;
}

void open_file_begin(struct open_file *file, const inlay_table *table, const void *ids, inlay_id_type type,
                     size_t count, inlay_file_read *read)
{
    if (inlay_file_read_begin(file->file, table, ids, type, count, read) != INLAY_FILE_OK)
        *read = (inlay_file_read){0, 0, 0};
}

void open_file_end(struct open_file *file, const inlay_file_read *read)
{
    inlay_file_read_end(file->file, read);
    const int waits = atomic_load_explicit(&file->waits, memory_order_relaxed);
    if (read->requested > 0)
        atomic_store_explicit(&file->waits, WAITS, memory_order_relaxed);
    else if (waits > 0)
        atomic_store_explicit(&file->waits, waits - 1, memory_order_relaxed);
}
