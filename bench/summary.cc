// SPDX-License-Identifier: MIT
//
// The lines below the table of results.
#include "summary.h"

#include <algorithm>
#include <cstdio>
#include <vector>

// The targets for the worst random shape. Batches and single sequences count over the limit; outputs in cache count
// over the loop with the same streams, since positions take their share of the bandwidth of a cache.
struct Target {
    RandomClass which;
    const char *name;
    bool over_streams;
    double ratio;
};

static constexpr Target targets[] = {
    {RandomClass::batch, "batch >= 4, output beyond 32 MiB, over limit", false, 1.15},
    {RandomClass::one_sequence, "batch 1, output beyond 16 MiB, over limit", false, 1.35},
    {RandomClass::in_cache, "in cache, over streams", true, 1.15},
};

static const Target &target_of(RandomClass which)
{
    return *std::find_if(std::begin(targets), std::end(targets), [&](const Target &of) { return of.which == which; });
}

// Returns operation/shape of operation/ISA/shape: the rows of all ISAs have the same limit.
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
    if (shape.series != drawn)
        return;
    const RandomClass which = random_class(shape);
    const std::optional<Ratio> &counts = target_of(which).over_streams ? over_streams : over_limit;
    if (counts && counts->value > worst_[which].ratio)
        worst_[which] = {name, counts->value};
}

void Summary::print(const std::string &cpu) const
{
    using Won = std::pair<std::string, std::size_t>;
    std::vector<Won> order;
    for (const auto &[limit, rows] : won_)
        order.push_back({limit, rows.size()});
    std::stable_sort(order.begin(), order.end(), [](const Won &a, const Won &b) { return a.second > b.second; });
    if (!order.empty())
        std::printf("\nthe fastest limits on %s, and of how many operations and shapes:\n", cpu.c_str());
    for (const Won &won : order)
        std::printf("%6zu  %s\n", won.second, won.first.c_str());

    if (!worst_.empty())
        std::printf("\n%-46s %7s %7s  row\n", "worst of the random shapes", "ratio", "target");
    for (const auto &[which, worst] : worst_) {
        const Target &target = target_of(which);
        std::printf("%-46s %7.2f %7.2f  %s%s\n", target.name, worst.ratio, target.ratio, worst.row.c_str(),
                    worst.ratio > target.ratio ? "  (missed)" : "");
    }
}
