// SPDX-License-Identifier: MIT
//
// One line per shape, then the mean and the worst of each column.
#include "reports/choices.h"

// Returns the length of the common prefix of all alternatives' names, in whole words: 12 for "stores_read_cached" and
// "stores_read_nt".
static std::size_t common_words(const std::vector<const Contender *> &alternatives)
{
    const std::string &first = alternatives.front()->operation->name;
    std::size_t length = alternatives.size() > 1 ? first.size() : 0;
    for (const Contender *alternative : alternatives) {
        const std::string &name = alternative->operation->name;
        const auto end = std::mismatch(first.begin(), first.end(), name.begin(), name.end()).first;
        length = std::min(length, static_cast<std::size_t>(end - first.begin()));
    }
    return length > 0 ? first.rfind('_', length - 1) + 1 : 0;
}

void Choices::add(const Shape &shape, const Contender &layer, const Contender &best,
                  const std::vector<const Contender *> &alternatives)
{
    const std::string name = layer.operation->name + (layer.threads > 1 ? "_t" + std::to_string(layer.threads) : "");
    auto found = std::find_if(tables_.begin(), tables_.end(), [&](const auto &table) { return table.first == name; });
    if (found == tables_.end())
        found = tables_.insert(found, {name, {}});
    Table &table = found->second;
    const auto set = [&](const std::string &column, double ratio) {
        table.grid.set(shape_name(shape), column, ratio);
        table.ratios[column].push_back(ratio);
    };
    const double bytes = static_cast<double>(shape.batch * shape.seq * shape.dim * sizeof(float));
    const std::vector<double> ratios = ratios_of(layer.seconds, best.seconds);
    table.grid.set(shape_name(shape), "MB", 1e-6 * bytes, 1);
    set("median", typical(layer) / typical(best));
    set("mean", mean(ratios));
    set("worst", maximum(ratios));
    if (!layer.slowest.empty())
        set("slowest call", median(layer.slowest) / typical(best));
    for (const Contender *alternative : alternatives)
        set(alternative->operation->name.substr(common_words(alternatives)), typical(*alternative) / typical(best));
    if (alternatives.size() == 2)
        table.first_over_second.push_back({bytes, typical(*alternatives[0]) / typical(*alternatives[1])});
}

void Choices::print() const
{
    for (const auto &[name, table] : tables_) {
        Grid grid = table.grid;
        for (const auto &[column, ratios] : table.ratios) {
            grid.set("mean of all", column, mean(ratios));
            grid.set("worst of all", column, maximum(ratios));
        }
        if (!table.first_over_second.empty())
            grid.set("the second is faster from", "MB", 1e-6 * equal_at(table.first_over_second), 0);
        grid.print(name +
                   ": time over the fastest alternative (medians; mean and worst of the rounds), and that of each");
    }
}
