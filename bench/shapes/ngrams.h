// SPDX-License-Identifier: MIT
//
// The inputs of a shape of the series `hashed`: hashed n-grams like those of DeepSeek's Engram, one large table for all
// columns, and token ids that differ in each call. It measures nothing.
#pragma once

#include "shapes/pages.h"
#include "shapes/shapes.h"

#include <cstdint>

class NGrams
{
  public:
    explicit NGrams(const Shape &shape);
    ~NGrams();
    NGrams(const NGrams &) = delete;
    NGrams &operator=(const NGrams &) = delete;

    // One call: the tokens after those of the last call, preceded by as much history as n-grams need.
    struct Call {
        inlay_ngram_batch batch;
        const std::int32_t *rows; // [tokens, columns] rows of the table
    };
    Call next() const;

    inlay_ngram *handle{};
    inlay_table table{}; // shared by all columns
    inlay_ngram_lookup lookup{};
    std::size_t row_bytes{}; // of one row of the output

  private:
    void make_handle();

    const std::size_t tokens_, columns_;
    std::size_t ids_; // number of token ids
    mutable std::size_t next_{};
    Pages<std::int32_t> id_pages_, row_pages_;
    const inlay_table *tables_[1]{};
};

// Returns the approximate bytes of a shape of this series.
std::size_t ngram_memory(const Shape &shape);
