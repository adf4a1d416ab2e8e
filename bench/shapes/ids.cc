// SPDX-License-Identifier: MIT
//
// All ids come from fixed seeds, so runs can be compared.
#include "shapes/ids.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <random>

static constexpr const char *text_file = "/usr/share/common-licenses/GPL-3";

std::string name_of(Ids kind)
{
    return kind == Ids::uniform ? "" : kind == Ids::zipf ? "_zipf" : "_text";
}

bool has_text()
{
    return std::ifstream(text_file).good();
}

static std::vector<std::int32_t> zipf_ids(std::size_t vocab, std::size_t n)
{
    std::vector<double> sums(vocab);
    double sum = 0;
    for (std::size_t i = 0; i < vocab; i++)
        sums[i] = sum += 1 / static_cast<double>(i + 1);
    std::mt19937_64 engine;
    std::vector<std::int32_t> ids(n);
    std::generate(ids.begin(), ids.end(), [&] {
        const double at = static_cast<double>(engine() >> 11) * 0x1p-53 * sum;
        return static_cast<std::int32_t>(std::upper_bound(sums.begin(), sums.end() - 1, at) - sums.begin());
    });
    return ids;
}

std::vector<std::int32_t> hash_words(const std::string &text, std::size_t vocab)
{
    const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t first = i++;
        if (std::isspace(static_cast<unsigned char>(text[first])))
            continue;
        while (in_word(text[first]) && i < text.size() && in_word(text[i]))
            i++;
        std::uint32_t hash = 2166136261;
        for (std::size_t at = first; at < i; at++)
            hash = (hash ^ static_cast<unsigned char>(text[at])) * 16777619;
        ids.push_back(static_cast<std::int32_t>(hash % vocab));
    }
    return ids;
}

std::vector<std::int32_t> make_ids(Ids kind, std::size_t vocab, std::size_t n)
{
    if (kind == Ids::zipf)
        return zipf_ids(vocab, n);
    std::vector<std::int32_t> ids(n);
    if (kind == Ids::uniform) {
        std::mt19937 engine;
        std::uniform_int_distribution<std::int32_t> any_id(0, static_cast<std::int32_t>(vocab - 1));
        std::generate(ids.begin(), ids.end(), [&] { return any_id(engine); });
        return ids;
    }
    std::ifstream file(text_file);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::vector<std::int32_t> words = hash_words(text, vocab);
    for (std::size_t i = 0; i < n; i++) // repeats the text if it is too short
        ids[i] = words[i % words.size()];
    return ids;
}
