/* SPDX-License-Identifier: MIT */
/*
 * An open model with a count of its users. The last array, Table or Layer that uses its memory closes it, on any
 * thread. Calls that gather its rows read them into memory first. Nothing here needs the GIL.
 */
#pragma once

#include "arrays/owner.h"

#include <inlay/file.h>

#include <stdatomic.h>
#include <stdbool.h>

struct open_file {
    struct owner owner;
    inlay_file *file;
    bool mapped;      /* reading rows may wait for the disk */
    atomic_int waits; /* above 0: a recent call waited for the disk */
};

/* Returns an open file with one user, or null if allocation fails. */
struct open_file *open_file_new(inlay_file *file, bool mapped);

/* Returns true if a call that reads rows is likely to wait for the disk, and so should release the GIL. */
bool open_file_waits(struct open_file *file);

/* Begin and end a read of the rows of ids [count], by inlay_file_read_begin() and inlay_file_read_end(). */
void open_file_begin(struct open_file *file, const inlay_table *table, const void *ids, inlay_id_type type,
                     size_t count, inlay_file_read *read);
void open_file_end(struct open_file *file, const inlay_file_read *read);
