// SPDX-License-Identifier: MIT
//
// How well a layer chooses, printed after the results: one table per operation that leaves a choice to the layer,
// compared with layers whose choice is fixed. It neither measures nor chooses.
#pragma once

#include "reports/grid.h"
#include "timing/rounds.h"

class Choices
{
  public:
    // Adds a layer on a shape. Its limits are the alternatives; `best` was the fastest.
    void add(const Shape &shape, const Contender &layer, const Contender &best,
             const std::vector<const Contender *> &alternatives);
    void print() const;

  private:
    struct Table {
        Grid grid;
        std::map<std::string, std::vector<double>> ratios{}; // by column
        std::vector<RatioAt> first_over_second{};            // of two alternatives, by output bytes
    };

    std::vector<std::pair<std::string, Table>> tables_;
};
