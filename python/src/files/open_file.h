/* SPDX-License-Identifier: MIT */
/*
 * An open model and who uses it: it is closed when the last array, Table or Layer over its memory is gone, on whatever
 * thread. Calls that read its rows bring them into memory first. Nothing here needs the GIL.
 */
#pragma once

#include "arrays/owner.h"

#include <inlay/file.h>

#include <stdatomic.h>
#include <stdbool.h>

struct open_file {
    struct owner owner;
    inlay_file *file;
    bool mapped;      /* rows may have to come from the disk */
    atomic_int waits; /* above 0: the last calls waited for the disk */
};

/* Returns an open file with one user, or null if there is no memory. */
struct open_file *open_file_new(inlay_file *file, bool mapped);

/* Returns whether a call that reads rows is likely to wait for the disk, so that it should release the GIL. */
bool open_file_waits(struct open_file *file);

/* Begins and ends a read of the rows of ids [count], as inlay_file_read_begin() and inlay_file_read_end() do. */
void open_file_begin(struct open_file *file, const inlay_table *table, const void *ids, inlay_id_type type,
                     size_t count, inlay_file_read *read);
void open_file_end(struct open_file *file, const inlay_file_read *read);
