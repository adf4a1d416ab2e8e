// SPDX-License-Identifier: MIT
//
// A table of numbers below the table of results, for series whose lines are compared with each other: lines and columns
// are found by name and printed in the order in which they were first used.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

class Grid
{
  public:
    void set(const std::string &line, const std::string &column, const std::string &text);
    void set(const std::string &line, const std::string &column, double number, int decimals = 2);
    // Prints the title and the table, or nothing if it is empty.
    void print(const std::string &title) const;

  private:
    std::vector<std::string> lines_, columns_;
    std::map<std::pair<std::string, std::string>, std::string> cells_;
};
