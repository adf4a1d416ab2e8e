// SPDX-License-Identifier: MIT
//
// A model file of random blocks on a disk, and the system's cache of it. The file has no name while it is used, so that
// nothing of it remains however the program ends.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>

#include <inlay/file.h>

#include "shapes/shapes.h"

// A table of the file in both mappings of it, and where its data lie in the file.
struct ColdTable {
    inlay_table view;          // into the mapping of libinlay-file
    const unsigned char *bare; // into a mapping for bare readers, which reads no page ahead either
    std::size_t offset, bytes;
};

class ColdFile
{
  public:
    // Writes the file in TMPDIR, or beside this program: 4 GiB, or a quarter of the free disk if that is less. Ends the
    // program with a message if that fails. Prints where it lies, and how fast the disk delivers it in order.
    ColdFile();
    ~ColdFile();
    ColdFile(const ColdFile &) = delete;
    ColdFile &operator=(const ColdFile &) = delete;

    const ColdTable &table(std::size_t width) const; // one of cold_widths

    // Removes its pages from this process and from the system's cache. Returns the share of pages that remained there.
    double drop() const;

    // Reads a table in order and then a byte of each page through both mappings.
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
