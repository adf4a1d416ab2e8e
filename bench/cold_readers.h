// SPDX-License-Identifier: MIT
//
// The ways to read rows of a table that may lie on a disk. A reader knows no clocks.
#ifndef INLAY_BENCH_COLD_READERS_H
#define INLAY_BENCH_COLD_READERS_H

#include "cold_file.h"

#include <cstdint>
#include <vector>

// What readers read: rows of one table, to one output.
struct Reading {
    const ColdFile &file;
    const ColdTable &table;
    const unsigned char *resident; // a copy of the table in memory of its own; null for cold tables
    std::size_t rows, width;       // of a call; bytes
    unsigned char *out;            // [rows, width]
};

enum class Temperature { cold, warm }; // rows are on the disk, or in memory

struct Reader {
    Temperature temperature;
    bool ours; // or a limit
    const char *name;
    void (*read)(const Reading &reading, const std::int32_t *ids);
};

// Returns all readers. Of either state the first is inlay_file_read_begin() and what belongs to it, and the second is
// what a program without it does.
const std::vector<Reader> &readers();

#endif
