// SPDX-License-Identifier: MIT
//
// A line for each output size, a column for each delivery.
#include "stores_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

static constexpr double target = 1.10; // of automatic stores over the better ones, at worst

static std::size_t output_bytes(const Shape &shape)
{
    return shape.batch * shape.seq * shape.dim * sizeof(float);
}

void StoresReport::add(const Shape &shape, const std::string &operation, std::size_t threads, double automatic,
                       double cached, double non_temporal)
{
    const std::string name = operation + (threads > 1 ? ", t" + std::to_string(threads) : "");
    auto column = std::find_if(columns_.begin(), columns_.end(), [&](const Column &of) { return of.name == name; });
    if (column == columns_.end())
        column = columns_.insert(column, {name});
    column->cells.push_back({output_bytes(shape), automatic / std::min(cached, non_temporal), cached / non_temporal});
    const auto same = [&](const Shape &other) { return output_bytes(other) == output_bytes(shape); };
    if (std::none_of(shapes_.begin(), shapes_.end(), same))
        shapes_.push_back(shape);
}

// Returns the size from which on non-temporal stores are the faster ones at every size: between two that were measured,
// where the line between the logarithms of their ratios crosses 0.
std::string StoresReport::equal_at(const Column &column)
{
    std::vector<Cell> cells = column.cells;
    std::sort(cells.begin(), cells.end(), [](const Cell &a, const Cell &b) { return a.bytes < b.bytes; });
    const auto last_cached =
        std::find_if(cells.rbegin(), cells.rend(), [](const Cell &cell) { return cell.cached_over_non_temporal <= 1; });
    if (last_cached == cells.rend())
        return "< " + std::to_string(cells.front().bytes / 1000000) + " MB";
    if (last_cached == cells.rbegin())
        return "> " + std::to_string(cells.back().bytes / 1000000) + " MB";
    const Cell &below = *last_cached, &above = *(last_cached - 1);
    const double low = std::log(below.cached_over_non_temporal), high = std::log(above.cached_over_non_temporal);
    const double bytes = static_cast<double>(below.bytes), ratio = static_cast<double>(above.bytes) / bytes;
    return std::to_string(std::lround(1e-6 * bytes * std::pow(ratio, low / (low - high)))) + " MB";
}

void StoresReport::print() const
{
    if (columns_.empty())
        return;
    std::puts("\nautomatic stores over the better of cached and non-temporal ones; then cached over non-temporal ones");
    std::printf("%-24s %8s", "shape", "MB");
    for (const Column &column : columns_)
        std::printf(" %20s", column.name.c_str());
    for (const Shape &shape : shapes_) {
        std::printf("\n%-24s %8.1f", shape_name(shape).c_str(), 1e-6 * static_cast<double>(output_bytes(shape)));
        for (const Column &column : columns_) {
            const auto cell = std::find_if(column.cells.begin(), column.cells.end(),
                                           [&](const Cell &of) { return of.bytes == output_bytes(shape); });
            if (cell == column.cells.end())
                std::printf(" %20s", "");
            else
                std::printf(" %13.2f %6.2f", cell->over_better, cell->cached_over_non_temporal);
        }
    }
    std::printf("\n%-33s", "worst; cached as fast as the other");
    for (const Column &column : columns_) {
        const auto less = [](const Cell &a, const Cell &b) { return a.over_better < b.over_better; };
        const auto worst = std::max_element(column.cells.begin(), column.cells.end(), less);
        std::printf(" %10.2f %9s", worst->over_better, equal_at(column).c_str());
    }
    std::printf("\ntarget of the worst: %.2f, except of the call alone\n", target);
}
