/* SPDX-License-Identifier: MIT */
/*
 * A model of two files for the tests of tables larger than memory, and what the system holds of them. They lie in the
 * working directory: where that is on no disk, the system keeps the pages of files.
 */
#pragma once

#include "support/support.h"
#include "support/system.h"

#include <inlay/file.h>

enum { MIB = 1 << 20, WIDTH = 66, ROW = WIDTH * sizeof(float), FILES = 2, FILE_ROWS = 20 * MIB / ROW };

/* What is open, and the table whose rows the tensors of both files hold in turn. */
extern inlay_file *file;
extern inlay_file_table cold_table;

/* Writes and removes the model, outside of tests: each test forks. */
void make_model(void);
void remove_model(void);

/* Opens the model, without a cap for 0 bytes. */
void open_with(inlay_file_memory memory, size_t resident_bytes);
void open_mapped(void);
void close_file(void);

/* Returns element `at` of the table. */
float element(size_t at);

/* Returns how many pages of the open files the system's cache holds. */
size_t cached_pages(void);

/* Waits until the cache holds that many, for a second at most, and returns how many it holds. */
size_t wait_for_pages(size_t count);

/* Returns how many bytes of all mappings of the files are resident in this process. */
size_t resident_bytes(void);

/* Reads both files in order. */
void read_model(void);

/* Makes none of them resident. */
void drop_from_process(void);

/* Empties the system's cache of the files too. Returns whether that worked, and says so if not. */
bool drop_cache(void);

/* Does the same for tests that count requested pages, which need a system that answers requests: emulators ignore
   them. */
bool drop_cache_before_requests(void);
