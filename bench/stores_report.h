// SPDX-License-Identifier: MIT
//
// Whether the layer chooses its stores well, printed below the table: for each output and delivery the time of
// automatic stores over the better of cached and non-temporal ones, and the output size at which both take the same
// time. It neither measures nor chooses.
#ifndef INLAY_BENCH_STORES_REPORT_H
#define INLAY_BENCH_STORES_REPORT_H

#include "shapes.h"

#include <string>
#include <vector>

class StoresReport
{
  public:
    // Adds the seconds of a shape for one way to deliver outputs, on so many threads.
    void add(const Shape &shape, const std::string &operation, std::size_t threads, double automatic, double cached,
             double non_temporal);
    void print() const;

  private:
    struct Cell {
        std::size_t bytes; // of the output
        double over_better, cached_over_non_temporal;
    };
    struct Column {
        std::string name;
        std::vector<Cell> cells{}; // with the bytes of different shapes
    };

    static std::string equal_at(const Column &column);

    std::vector<Column> columns_;
    std::vector<Shape> shapes_;
};

#endif
