// SPDX-License-Identifier: MIT
//
// Statistics of samples, independent of how they were measured.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

inline double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

inline double minimum(const std::vector<double> &values)
{
    return *std::min_element(values.begin(), values.end());
}

inline double maximum(const std::vector<double> &values)
{
    return *std::max_element(values.begin(), values.end());
}

inline double mean(const std::vector<double> &values)
{
    double sum = 0;
    for (const double value : values)
        sum += value;
    return sum / static_cast<double>(values.size());
}

// Returns the smallest value that at least a share of the values does not exceed.
inline double percentile(std::vector<double> values, double share)
{
    std::sort(values.begin(), values.end());
    const double rank = std::ceil(share * static_cast<double>(values.size()));
    return values[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
}

// Returns the ratios of two contenders, round by round.
inline std::vector<double> ratios_of(const std::vector<double> &values, const std::vector<double> &others)
{
    std::vector<double> ratios;
    ratios.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); i++)
        ratios.push_back(values[i] / others[i]);
    return ratios;
}

// A ratio of two alternatives at some size.
struct RatioAt {
    double size, ratio;
};

// Returns the size above which all ratios exceed 1. Interpolates the logarithms of size and ratio between the two
// nearest sizes. Returns 0 if all ratios exceed 1, and infinity if the largest size's does not.
inline double equal_at(std::vector<RatioAt> sizes)
{
    std::sort(sizes.begin(), sizes.end(), [](const RatioAt &a, const RatioAt &b) { return a.size < b.size; });
    const auto last = std::find_if(sizes.rbegin(), sizes.rend(), [](const RatioAt &at) { return at.ratio <= 1; });
    if (last == sizes.rend())
        return 0;
    if (last == sizes.rbegin())
        return INFINITY;
    const RatioAt &below = *last, &above = *(last - 1);
    const double low = std::log(below.ratio), high = std::log(above.ratio);
    return below.size * std::pow(above.size / below.size, low / (low - high));
}
