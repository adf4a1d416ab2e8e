// SPDX-License-Identifier: MIT
//
// A server in an open loop: decode steps of many sequences and prefills of one, at fixed rates, with one read of each
// output. Compares, in turn, a new self-tuning layer, one that has settled, and one with self-tuning off.
#pragma once

#include <functional>
#include <string>

// True if the command line selects the row of that name.
using ChoosesRow = std::function<bool(const std::string &row)>;

// Registers the selected rows of the series. Returns false if there are none.
bool register_serve(const ChoosesRow &chosen);

// Prints the percentiles of the measurements.
void print_serve();
