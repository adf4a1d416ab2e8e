// SPDX-License-Identifier: MIT
//
// Hashed n-grams for the benchmark. Moduli and multipliers are made up; only their sizes matter.
#include "shapes/ngrams.h"

#include "shapes/require.h"
#include "shapes/table_memory.h"

#include <algorithm>
#include <vector>

static constexpr std::size_t vocab = 129280;
static constexpr std::uint32_t max_order = 4; // n-grams have 2 to 4 tokens
static constexpr std::size_t history = max_order - 1;
static constexpr std::size_t min_rows = std::size_t{1} << 22; // rows of all calls before they repeat

// 8 GiB, or a third of memory if the machine has less than 24 GiB.
static std::size_t table_bytes()
{
    return std::min<std::size_t>(std::size_t{8} << 30, all_memory() / 3);
}

static std::size_t table_rows(const Shape &shape)
{
    return table_bytes() / inlay_table_row_bytes(shape.type, shape.dim);
}

static std::size_t token_count(const Shape &shape)
{
    return std::max(2 * shape.seq, min_rows / shape.columns);
}

std::size_t ngram_memory(const Shape &shape)
{
    const std::size_t out = shape.seq * shape.columns * shape.dim * out_bytes(shape);
    return table_bytes() + table_rows(shape) * scale_bytes(shape) + out +
           token_count(shape) * (1 + shape.columns) * sizeof(std::int32_t);
}

NGrams::NGrams(const Shape &shape)
    : row_bytes(shape.dim * out_bytes(shape)), tokens_(shape.seq), columns_(shape.columns), ids_(token_count(shape))
{
    const std::size_t rows = table_rows(shape);
    table = inlay_table_view(shape.type, table_memory(shape.pages, table_bytes()), rows, shape.dim,
                             inlay_table_row_bytes(shape.type, shape.dim));
    if (scale_bytes(shape) > 0)
        table.scales = scale_memory(shape.pages, rows * scale_bytes(shape));
    tables_[0] = &table;
    lookup = inlay_ngram_lookup_default(tables_, 1);
    lookup.out_type = shape.out_type;
    make_handle();

    id_pages_ = make_pages<std::int32_t>(history + ids_, shape.pages);
    const std::vector<std::int32_t> ids = make_ids(Ids::uniform, vocab, history + ids_);
    std::copy(ids.begin(), ids.end(), id_pages_.get());
    row_pages_ = make_pages<std::int32_t>(ids_ * columns_, shape.pages);
    inlay_ngram_batch all = inlay_ngram_batch_i32(id_pages_.get() + history, 1, ids_);
    all.history = id_pages_.get();
    require(inlay_ngram_ids(handle, &all, 0, INLAY_NGRAM_ALL_COLUMNS, INLAY_ID_I32, row_pages_.get(),
                            columns_ * sizeof(std::int32_t), nullptr, nullptr));
}

void NGrams::make_handle()
{
    // Products of an id and a multiplier stay below 2^63, as in Engram.
    const std::int64_t multipliers[max_order] = {0x1b873593cc9e, 0x2545f4914f6d, 0x1d872b41a9ab, 0x27d4eb2f1657};
    const std::size_t part = table.rows / columns_;
    std::vector<inlay_ngram_column> columns;
    for (std::size_t c = 0; c < columns_; c++) {
        const auto order = static_cast<std::uint32_t>(2 + c * (max_order - 1) / columns_);
        const auto modulus = static_cast<std::uint32_t>((part - 2 * (c + 1)) | 1); // odd, and different for each column
        columns.push_back({order, 0, modulus, 0, c * part});
    }
    inlay_ngram_spec spec = inlay_ngram_spec_default(vocab, max_order, INLAY_NGRAM_MIX_XOR);
    spec.multipliers = multipliers;
    spec.vectors = 1;
    spec.columns = columns.data();
    spec.column_count = columns.size();
    require(inlay_ngram_create(&spec, &pages_allocator, &handle));
}

NGrams::~NGrams()
{
    inlay_ngram_destroy(handle);
}

NGrams::Call NGrams::next() const
{
    const std::size_t first = next_ + tokens_ > ids_ ? 0 : next_;
    next_ = first + tokens_;
    Call call = {inlay_ngram_batch_i32(id_pages_.get() + history + first, 1, tokens_),
                 row_pages_.get() + first * columns_};
    call.batch.history = id_pages_.get() + first;
    return call;
}
