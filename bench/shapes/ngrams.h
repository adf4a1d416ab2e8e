// SPDX-License-Identifier: MIT
//
// What a shape of the series `ngrams` reads: hashed n-grams like those of DeepSeek's Engram, one large table that all
// of their columns share, and ids of tokens, other ones in each call. It measures nothing.
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

    // One call: the tokens that follow those of the last call, behind as much history as n-grams have.
    struct Call {
        inlay_ngram_batch batch;
        const std::int32_t *rows; // [tokens, columns] of the table
    };
    Call next() const;

    inlay_ngram *handle{};
    inlay_table table{}; // all columns take their rows from it
    inlay_ngram_lookup lookup{};
    std::size_t row_bytes{}; // of one row of the output

  private:
    void make_handle();

    const std::size_t tokens_, columns_;
    std::size_t ids_; // of tokens
    mutable std::size_t next_{};
    Pages<std::int32_t> id_pages_, row_pages_;
    const inlay_table *tables_[1]{};
};

// Returns about how many bytes a shape of this series takes.
std::size_t ngram_memory(const Shape &shape);
