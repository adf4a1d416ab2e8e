// SPDX-License-Identifier: MIT
//
// A model file of random blocks on disk, and the system's cache of it. The file has no name while in use, so it
// disappears however the program ends.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>

#include <inlay/file.h>

#include "shapes/shapes.h"

// A table of the file in both mappings, and its offset in the file.
struct ColdTable {
    inlay_table view;          // in libinlay-file's mapping
    const unsigned char *bare; // in the bare readers' mapping, also without readahead
    std::size_t offset, bytes;
};

class ColdFile
{
  public:
    // Writes the file to TMPDIR, or to this program's folder: 4 GiB, or a quarter of the free disk space if less. On
    // failure, exits with a message. Prints the folder and the disk's sequential read speed.
    ColdFile();
    ~ColdFile();
    ColdFile(const ColdFile &) = delete;
    ColdFile &operator=(const ColdFile &) = delete;

    const ColdTable &table(std::size_t width) const; // one of cold_widths

    // Removes the file's pages from this process and from the system's cache. Returns the share of pages that remained.
    double drop() const;

    // Reads a table sequentially, then one byte of each page through both mappings.
    void warm(const ColdTable &table) const;

    int descriptor() const
    {
        return descriptor_;
    }

    inlay_file *file{};

  private:
    void write_all() const;

    int descriptor_{-1};
    std::size_t bytes_{};
    std::string folder_;
    unsigned char *bare_{}; // the whole file
    ColdTable tables_[std::size(cold_widths)]{};
};
