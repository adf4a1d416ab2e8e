// SPDX-License-Identifier: MIT
//
// A table of numbers printed after the results, for series whose lines are compared with each other. Lines and columns
// are identified by name and printed in order of first use.
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
    // Prints the title and the table; prints nothing if it is empty.
    void print(const std::string &title) const;

  private:
    std::vector<std::string> lines_, columns_;
    std::map<std::pair<std::string, std::string>, std::string> cells_;
};
