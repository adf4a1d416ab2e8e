/* SPDX-License-Identifier: MIT */
/*
 * A model of two files for tests of tables larger than memory, and queries of its cached and resident pages. The files
 * are in the working directory. If that isn't on a disk, the system keeps their pages.
 */
#pragma once

#include "support/support.h"
#include "support/system.h"

#include <inlay/file.h>

enum { MIB = 1 << 20, WIDTH = 66, ROW = WIDTH * sizeof(float), FILES = 2, FILE_ROWS = 20 * MIB / ROW };

/* The open model, and its table: the rows of the first file, then those of the second. */
extern inlay_file *file;
extern inlay_file_table cold_table;

/* Writes and removes the model, outside of tests: each test forks. */
void make_model(void);
void remove_model(void);

/* Opens the model; resident_bytes 0: no cap. */
void open_with(inlay_file_memory memory, size_t resident_bytes);
void open_mapped(void);
void close_file(void);

/* Returns element `at` of the table. */
float element(size_t at);

/* Returns the number of pages of the open files in the system's cache. */
size_t cached_pages(void);

/* Waits until the cache has that many, at most a second, and returns their number. */
size_t wait_for_pages(size_t count);

/* Returns the bytes of the mappings that are resident in this process. */
size_t resident_bytes(void);

/* Reads both files in order. */
void read_model(void);

/* Drops all pages of the files from this process. */
void drop_from_process(void);

/* Drops them from the system's cache too. Returns false, with a message, if that fails. */
bool drop_cache(void);

/* Same, for tests that count requested pages. Also returns false if requests are ignored, as in emulators. */
bool drop_cache_before_requests(void);
