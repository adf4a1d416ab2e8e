// SPDX-License-Identifier: MIT
//
// Prints the lines after the results.
#include "reports/summary.h"

#include <algorithm>
#include <cstdio>
#include <tuple>
#include <vector>

// The targets for the worst random shape. Batches are compared with the limit. Single sequences and outputs in cache
// are compared with the loop over the same streams. No other sequence shares a single sequence's positions, and in
// cache the positions take a share of the bandwidth.
struct Target {
    RandomClass which;
    const char *operation, *name;
    bool over_streams;
    double ratio;
};

static constexpr Target targets[] = {
    {RandomClass::batch, "embed_read", "call and read, batch >= 4, output beyond 32 MiB, over limit", false, 1.20},
    {RandomClass::batch, "embed", "batch >= 4, output beyond 32 MiB, over limit", false, 1.20},
    {RandomClass::one_sequence, "embed", "batch 1, output beyond 16 MiB, over streams", true, 1.05},
    {RandomClass::in_cache, "embed", "in cache, over streams", true, 1.10},
};

// Returns operation/shape, given operation/ISA/shape: rows of all ISAs have the same limit.
static std::string without_isa(const std::string &name)
{
    return name.substr(0, name.find('/')) + name.substr(name.rfind('/'));
}

void Summary::add(const Shape &shape, const std::string &name, const std::optional<Ratio> &over_limit,
                  const std::optional<Ratio> &over_streams)
{
    for (const std::optional<Ratio> &ratio : {over_limit, over_streams})
        if (ratio)
            won_[ratio->limit].insert(without_isa(name));
    for (std::size_t i = 0; shape.series == drawn && i < std::size(targets); i++) {
        const Target &target = targets[i];
        const std::optional<Ratio> &counts = target.over_streams ? over_streams : over_limit;
        if (target.which == random_class(shape) && name.substr(0, name.find('/')) == target.operation && counts &&
            counts->value > worst_[i].ratio)
            worst_[i] = {name, counts->value};
    }
}

void Summary::print(const std::string &cpu) const
{
    using Won = std::pair<std::string, std::size_t>;
    std::vector<Won> order;
    for (const auto &[limit, rows] : won_)
        order.push_back({limit, rows.size()});
    std::sort(order.begin(), order.end(),
              [](const Won &a, const Won &b) { return std::tie(b.second, a.first) < std::tie(a.second, b.first); });
    if (!order.empty())
        std::printf("\nthe fastest limits on %s, and of how many operations and shapes:\n", cpu.c_str());
    for (const Won &won : order)
        std::printf("%6zu  %s\n", won.second, won.first.c_str());

    if (!worst_.empty())
        std::printf("\n%-60s %7s %7s  row\n", "worst of the random shapes", "ratio", "target");
    for (const auto &[i, worst] : worst_)
        std::printf("%-60s %7.2f %7.2f  %s%s\n", targets[i].name, worst.ratio, targets[i].ratio, worst.row.c_str(),
                    worst.ratio > targets[i].ratio ? "  (missed)" : "");
}
