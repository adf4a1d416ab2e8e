/* SPDX-License-Identifier: MIT */
/*
 * Counter-based random numbers, Philox4x32-10 (Salmon et al. 2011). Each word depends only on its index, so results
 * don't depend on how work is split. Baseline code without floating point, the same on every machine.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A stream of words. Element e is word e % 4 of the block of counter {e / 4, offset}, two 64-bit numbers, each with its
   lower half first. */
enum { INLAY_PHILOX_WORDS = 64 };
struct inlay_philox_stream {
    uint64_t key, offset;
    uint64_t next; /* the element whose word is returned next */
    uint32_t words[INLAY_PHILOX_WORDS];
};

/* Starts a stream at an element. */
void inlay_philox_begin(struct inlay_philox_stream *stream, uint64_t key, uint64_t offset, uint64_t first_element);

/* Returns the words of the next elements, at least one and at most n, and sets *taken to their number. They stay valid
   until the next call. */
const uint32_t *inlay_philox_take(struct inlay_philox_stream *stream, size_t n, size_t *taken);
