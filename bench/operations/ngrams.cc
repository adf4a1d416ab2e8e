// SPDX-License-Identifier: MIT
//
// Lookups of hashed n-grams: token ids in, rows of a large table out. Their limits are bare loops over the same rows,
// with row ids from an array.
#include "operations/operations.h"

#include <cstring>

static void forward(const Fixture &f, float *out, const inlay_executor *executor)
{
    const NGrams &ngrams = *f.ngrams;
    const NGrams::Call call = ngrams.next();
    require(inlay_ngram_forward(ngrams.handle, &call.batch, &ngrams.lookup, out, f.shape.columns * ngrams.row_bytes,
                                executor, nullptr));
}

// The hash without the lookup.
static void ids(const Fixture &f, float *out, const inlay_executor *executor)
{
    const NGrams::Call call = f.ngrams->next();
    require(inlay_ngram_ids(f.ngrams->handle, &call.batch, 0, INLAY_NGRAM_ALL_COLUMNS, INLAY_ID_I64, out,
                            f.shape.columns * sizeof(std::int64_t), executor, nullptr));
}

static BareRows next_rows(const Fixture &f)
{
    const NGrams &ngrams = *f.ngrams;
    BareRows rows = {f.out,
                     ngrams.row_bytes / sizeof(float),
                     f.rows * f.shape.columns,
                     ngrams.next().rows,
                     static_cast<const unsigned char *>(ngrams.table.data),
                     ngrams.table.stride_bytes};
    rows.scales = static_cast<const unsigned char *>(ngrams.table.scales);
    rows.scale_bytes = scale_bytes(f.shape);
    return rows;
}

// The plain alternative, for rows that are only copied.
static void copy_rows(const Fixture &f, float *out, const inlay_executor *)
{
    const BareRows rows = next_rows(f);
    for (std::size_t i = 0; i < rows.rows; i++)
        std::memcpy(reinterpret_cast<unsigned char *>(out) + i * rows.stride,
                    rows.table + static_cast<std::size_t>(rows.ids[i]) * rows.stride, rows.stride);
}

void add_ngram_operations(std::vector<Operation> &all)
{
    auto limits = in_modes("ngram_rows", all_modes());
    limits.push_back("ngram_memcpy");
    all.push_back({Role::kernel, "ngram", hashed, same_stores, 1, limits, {}, reuse(forward)});
    all.push_back({Role::kernel, "ngram_ids", hashed, 0, 0, {}, {}, reuse(ids)});
    add_limits(all, "ngram_rows", hashed, 0, 1, all_modes(), next_rows);
    all.push_back({Role::limit, "ngram_memcpy", hashed, copies, 1, {}, {}, reuse(copy_rows), {}, Stores::cached});
}
