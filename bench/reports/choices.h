// SPDX-License-Identifier: MIT
//
// Whether a layer chooses well among what it could do, printed below the table of results: a table for each operation
// that leaves a choice to the layer, beside layers that are told what to choose. It neither measures nor chooses.
#pragma once

#include "reports/grid.h"
#include "timing/rounds.h"

class Choices
{
  public:
    // Adds a layer on a shape. Its limits are the alternatives, of which `best` was the fastest.
    void add(const Shape &shape, const Contender &layer, const Contender &best,
             const std::vector<const Contender *> &alternatives);
    void print() const;

  private:
    struct Table {
        Grid grid;
        std::map<std::string, std::vector<double>> ratios{}; // by column
        std::vector<RatioAt> first_over_second{};            // of two alternatives, by bytes of the output
    };

    std::vector<std::pair<std::string, Table>> tables_;
};
