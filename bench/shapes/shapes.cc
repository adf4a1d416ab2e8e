// SPDX-License-Identifier: MIT
//
// Generated shapes, and the names of all shapes.
#include "shapes/shapes.h"

#include <algorithm>
#include <cmath>
#include <random>

std::vector<Shape> small_shapes()
{
    static constexpr std::size_t row_bytes[] = {64, 128, 160, 264, 512, 1024, 2048};
    static constexpr std::size_t rows_per_call[] = {24, 64, 8192};
    std::vector<Shape> made;
    for (const PageSize pages : {small_pages, huge_pages}) // in turn: shapes of one size share the table's memory
        for (const std::size_t bytes : row_bytes)
            for (const std::size_t rows : rows_per_call)
                made.push_back({small, 1, rows, bytes / sizeof(float), 0, 0, one_thread, pages});
    return made;
}

// N-gram tables. Rows of 128, 160, 264 and 512 bytes are copied. FP8 rows are as in Qwen (160 columns, one scale per
// table) and DeepSeek (256 columns, scales in a separate array).
struct HashedRows {
    std::size_t columns, dim;
    inlay_element_type type, out_type;
};

static constexpr HashedRows hashed_rows[] = {
    {24, 64, INLAY_BF16, INLAY_BF16},      {16, 80, INLAY_BF16, INLAY_BF16},       {24, 132, INLAY_BF16, INLAY_BF16},
    {24, 128, INLAY_F32, INLAY_F32},       {16, 160, INLAY_E4M3, INLAY_F32},       {16, 160, INLAY_E4M3, INLAY_BF16},
    {24, 256, INLAY_E4M3_E8M0, INLAY_F32}, {24, 256, INLAY_E4M3_E8M0, INLAY_BF16},
};

std::vector<Shape> hashed_shapes()
{
    static constexpr std::size_t tokens[] = {1, 16, 256, 4096, 65536};
    std::vector<Shape> made;
    for (const PageSize pages : {small_pages, huge_pages})
        for (const HashedRows &rows : hashed_rows)
            for (const std::size_t n : tokens)
                made.push_back(
                    {hashed, 1, n, rows.dim, 0, 0, one_thread, pages, rows.columns, rows.type, rows.out_type});
    return made;
}

std::vector<Shape> strategic_shapes()
{
    static constexpr struct {
        std::size_t batch, seq, dim, vocab;
    } calls[] = {
        {256, 64, 128, 4000000}, {96, 128, 384, 30000},  {24, 300, 640, 60000},  {1, 6000, 1024, 60000},
        {32, 512, 1024, 50000},  {12, 700, 1280, 40000}, {1, 2048, 2048, 32000}, {256, 16, 2048, 128000},
        {64, 16, 2560, 50000},   {6, 3000, 2560, 20000}, {1, 1500, 3072, 30000}, {8, 512, 3072, 50000},
        {1, 2048, 4096, 32000},  {8, 1024, 4096, 32000}, {1, 2048, 4080, 32000}, {8, 1024, 4080, 32000},
    };
    std::vector<Shape> made;
    for (const auto &[batch, seq, dim, vocab] : calls)
        for (const Ids ids : {Ids::uniform, Ids::zipf, Ids::text})
            for (const PageSize pages : {small_pages, huge_pages})
                if (ids != Ids::text || has_text())
                    made.push_back(
                        {strategic, batch, seq, dim, vocab, 0, one_thread, pages, 0, INLAY_F32, INLAY_F32, ids});
    return made;
}

std::vector<Shape> cold_shapes()
{
    std::vector<Shape> made;
    for (const Series series : {cold, warm})
        for (const std::size_t width : cold_widths)
            for (const std::size_t rows : {24, 384, 4096})
                made.push_back({series, 1, rows, width / sizeof(float), 0});
    return made;
}

std::vector<Shape> rotating_shapes()
{
    static constexpr struct {
        std::size_t tokens, columns;
    } calls[] = {{1, 128}, {16, 128}, {64, 128}, {512, 128}, {4096, 128}, {512, 64}, {512, 80}, {512, 96}, {512, 256}};
    std::vector<Shape> made;
    for (const inlay_element_type type : {INLAY_F32, INLAY_BF16, INLAY_F16})
        for (const auto &[tokens, columns] : calls)
            made.push_back({rotating, 1, tokens, (query_heads + key_heads) * columns, 0, 0, one_thread, huge_pages,
                            columns, type, type});
    return made;
}

// The range of random shapes in a class. Outputs stay below 256 MiB, so a call takes tens of milliseconds.
struct Bounds {
    double min_batch, max_batch;
    double min_bytes, max_bytes; // of the output
};

static constexpr double mib = 1 << 20;
static constexpr Bounds bounds[] = {
    {4, 128, 33 * mib, 256 * mib}, // RandomClass::batch
    {1, 1, 17 * mib, 128 * mib},   // RandomClass::one_sequence
    {1, 32, 0.125 * mib, 4 * mib}, // RandomClass::in_cache, with as many bytes again of rows and of positions
};
static constexpr double max_table_bytes = 1024 * mib;

// A generator whose numbers don't depend on the standard library.
class Draw
{
  public:
    explicit Draw(std::uint64_t seed) : random_(seed)
    {
    }
    // Returns a number in [0, 1).
    double fraction()
    {
        return static_cast<double>(random_() >> 11) * 0x1p-53;
    }
    // Returns a number between the two, with a uniform logarithm.
    double between(double least, double most)
    {
        return least * std::pow(most / least, fraction());
    }

  private:
    std::mt19937_64 random_;
};

static Shape random_shape(Draw &draw, RandomClass which)
{
    const Bounds &bound = bounds[static_cast<std::size_t>(which)];
    Shape shape = {drawn, 0, 0, 0, 0};
    shape.dim = static_cast<std::size_t>(draw.between(64, 4096));
    // A quarter are odd; the rest are multiples of 8, as in models.
    shape.dim = draw.fraction() < 0.25 ? shape.dim | 1 : (shape.dim + 7) / 8 * 8;
    shape.batch = static_cast<std::size_t>(draw.between(bound.min_batch, bound.max_batch + 0.99));
    const double row_bytes = static_cast<double>(shape.dim * sizeof(float));
    const double bytes = draw.between(bound.min_bytes, bound.max_bytes);
    shape.seq = static_cast<std::size_t>(std::ceil(bytes / row_bytes / static_cast<double>(shape.batch)));
    shape.vocab = static_cast<std::size_t>(std::min(draw.between(8000, 128000), max_table_bytes / row_bytes));
    return shape;
}

RandomClass random_class(const Shape &shape)
{
    const double bytes = static_cast<double>(shape.batch * shape.seq * shape.dim * sizeof(float));
    if (bytes < 16 * mib)
        return RandomClass::in_cache;
    return shape.batch == 1 ? RandomClass::one_sequence : RandomClass::batch;
}

std::vector<Shape> random_shapes(std::uint64_t seed, std::size_t count)
{
    Draw draw(seed);
    std::vector<Shape> made;
    for (std::size_t i = 0; i < count; i++)
        made.push_back(random_shape(draw, random_classes[i % std::size(random_classes)]));
    return made;
}

static std::string page_name(const Shape &shape)
{
    return shape.pages == small_pages ? "_4k" : "_2m";
}

// Returns the types of table and output, e.g. "_fp8_bf16", or their common type.
static std::string row_types(const Shape &shape)
{
    std::string out = shape.out_type == INLAY_F32 ? "_f32" : shape.out_type == INLAY_F16 ? "_f16" : "_bf16";
    if (shape.type == shape.out_type)
        return out;
    return (shape.type == INLAY_E4M3 ? "_fp8" : "_fp8_scaled") + out;
}

std::string shape_name(const Shape &shape)
{
    const std::string dim = "_d" + std::to_string(shape.dim);
    if (shape.series == tables)
        return "r" + std::to_string(shape.seq) + dim;
    if (shape.series & (small | cold | warm))
        return "n" + std::to_string(shape.seq) + "_w" + std::to_string(shape.dim * sizeof(float)) +
               (shape.series == small ? page_name(shape) : "");
    if (shape.series == rotating)
        return "n" + std::to_string(shape.seq) + "_h" + std::to_string(shape.columns) + row_types(shape);
    if (shape.series == hashed)
        return "n" + std::to_string(shape.seq) + "_k" + std::to_string(shape.columns) + dim + row_types(shape) +
               page_name(shape);
    return "b" + std::to_string(shape.batch) + "_s" + std::to_string(shape.seq) + dim + "_v" +
           std::to_string(shape.vocab) + (shape.series == compact ? "_stored" : "") +
           (shape.offset ? "_at" + std::to_string(shape.offset) : "") + name_of(shape.ids) +
           (shape.series == strategic ? page_name(shape) : "");
}
