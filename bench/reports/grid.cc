// SPDX-License-Identifier: MIT
//
// Columns are as wide as their contents; the first is left-aligned.
#include "reports/grid.h"

#include <algorithm>
#include <cstdio>

static void add_once(std::vector<std::string> &names, const std::string &name)
{
    if (std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
}

void Grid::set(const std::string &line, const std::string &column, const std::string &text)
{
    add_once(lines_, line);
    add_once(columns_, column);
    cells_[{line, column}] = text;
}

void Grid::set(const std::string &line, const std::string &column, double number, int decimals)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.*f", decimals, number);
    set(line, column, text);
}

void Grid::print(const std::string &title) const
{
    if (lines_.empty())
        return;
    std::size_t first = 0;
    for (const std::string &line : lines_)
        first = std::max(first, line.size());
    std::printf("\n%s\n%-*s", title.c_str(), static_cast<int>(first), "");
    const auto width = [&](const std::string &column) {
        std::size_t most = column.size();
        for (const auto &[at, text] : cells_)
            most = std::max(most, at.second == column ? text.size() : 0);
        return static_cast<int>(most + 2);
    };
    for (const std::string &column : columns_)
        std::printf("%*s", width(column), column.c_str());
    for (const std::string &line : lines_) {
        std::printf("\n%-*s", static_cast<int>(first), line.c_str());
        for (const std::string &column : columns_) {
            const auto cell = cells_.find({line, column});
            std::printf("%*s", width(column), cell == cells_.end() ? "" : cell->second.c_str());
        }
    }
    std::puts("");
}
