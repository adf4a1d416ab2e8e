// SPDX-License-Identifier: MIT
//
// Summary of a run, printed after the results: the fastest limits, and the worst ratio of each class of random shapes
// with its target. It neither measures nor chooses.
#pragma once

#include "shapes/shapes.h"

#include <map>
#include <optional>
#include <set>
#include <string>

// A ratio of a row, and the name of its limit.
struct Ratio {
    std::string limit;
    double value;
};

class Summary
{
  public:
    // Adds a row of a kernel. `name` is operation/ISA/shape.
    void add(const Shape &shape, const std::string &name, const std::optional<Ratio> &over_limit,
             const std::optional<Ratio> &over_streams);
    void print(const std::string &cpu) const;

  private:
    struct Worst {
        std::string row;
        double ratio = 0;
    };

    std::map<std::string, std::set<std::string>> won_; // by limit: operations and shapes, without the ISA
    std::map<std::size_t, Worst> worst_;               // by target
};
