// SPDX-License-Identifier: MIT
//
// The token ids of a call. Benchmarks use uniform ids, but real text doesn't have them: a few tokens make up most of a
// text, and their rows stay in caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

enum class Ids : std::uint8_t {
    uniform, // over the whole vocabulary
    zipf,    // id i with probability proportional to 1 / (i + 1): tokenizers number frequent tokens first
    text,    // words and punctuation of the GPL in order, each hashed to an id
};

// Returns the suffix of shape names: "", "_zipf" or "_text".
std::string name_of(Ids kind);

// True if this system has the text that Ids::text reads (Debian does).
bool has_text();

// Returns [n] ids in [0, vocab), the same in every run.
std::vector<std::int32_t> make_ids(Ids kind, std::size_t vocab, std::size_t n);

// Returns an id for each word of a text and each other character except whitespace: FNV-1a modulo vocab.
std::vector<std::int32_t> hash_words(const std::string &text, std::size_t vocab);
