// SPDX-License-Identifier: MIT
//
// A server in an open loop: decode steps of many sequences and prefills of one, at fixed rates, each with one read of
// its output. Layers that learn from these calls are beside one that has settled and one that learns nothing, in turn.
#pragma once

#include <functional>
#include <string>

// Whether the command line chooses the row of that name.
using ChoosesRow = std::function<bool(const std::string &row)>;

// Registers the chosen rows of the series. Returns whether there are any.
bool register_serve(const ChoosesRow &chosen);

// Prints the percentiles of what was measured.
void print_serve();
