/* SPDX-License-Identifier: MIT */
/*
 * Random numbers by counter, Philox4x32-10 (Salmon et al. 2011): each word follows from its index alone, so that no cut
 * of the work changes one. Baseline code without floating point, the same on every machine.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The words of consecutive elements. Element e has word e % 4 of the block of counter {e / 4, offset}, two 64-bit
   numbers with the lower half of each first. */
enum { INLAY_PHILOX_WORDS = 64 };
struct inlay_philox_stream {
    uint64_t key, offset;
    uint64_t next; /* the element whose word is returned next */
    uint32_t words[INLAY_PHILOX_WORDS];
};

/* Begins a stream at an element. */
void inlay_philox_begin(struct inlay_philox_stream *stream, uint64_t key, uint64_t offset, uint64_t first_element);

/* Returns the words of at least one and at most n of the next elements, and how many there are. They stay valid until
   the next call. */
const uint32_t *inlay_philox_take(struct inlay_philox_stream *stream, size_t n, size_t *taken);
