// SPDX-License-Identifier: MIT
//
// The token ids of a call. Uniform ids are what benchmarks have and no user: in text, few tokens are most of it, and
// their rows lie in caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

enum class Ids : std::uint8_t {
    uniform, // over the whole vocabulary
    zipf,    // id i with a probability that is inverse to i + 1: tokenisers number frequent tokens first
    text,    // words of the GPL and what stands between them, each hashed to an id; in their order
};

// Returns "", "_zipf" or "_text", which the names of shapes append.
std::string name_of(Ids kind);

// Returns whether this system has the text that Ids::text reads: Debian's.
bool has_text();

// Returns [n] ids in [0, vocab), the same ones in every run.
std::vector<std::int32_t> make_ids(Ids kind, std::size_t vocab, std::size_t n);

// Returns an id for each word of a text and for each other character that is no space: FNV-1a modulo vocab.
std::vector<std::int32_t> hash_words(const std::string &text, std::size_t vocab);
