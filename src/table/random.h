/* SPDX-License-Identifier: MIT */
/*
 * Random numbers by counter, Philox4x32-10 (Salmon et al. 2011): each follows from its index, so that no cut of the
 * work changes one. Included by what drops out, and by tests. Baseline code, the same on every machine.
 */
#ifndef INLAY_RANDOM_H
#define INLAY_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* The block of four words of a counter and a key. */
void inlay_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t words[4]);

/*
 * Inverted dropout of a float32 row at any address, in place; 0 <= p < 1. Element e = first_element + column takes word
 * e % 4 of the block of counter {e / 4, offset}, lower halves first. It is kept where that word is at least p * 2^32,
 * rounded to nearest even, and multiplied by 1 / (1 - p), a float; else it becomes +0. p = 0 leaves all bits as they
 * are. For the guarded environment.
 */
void inlay_dropout(unsigned char *row, size_t columns, uint64_t first_element, uint64_t key, uint64_t offset, float p);

/*
 * The quantile of the standard normal distribution at `below`, 1 - below being `above`: the smaller one of the two
 * counts, 2^-200 <= smaller <= 1/2. Within 2^-49 of its size. For the guarded environment.
 */
double inlay_normal_quantile(double below, double above);

/* The share of the standard normal distribution below x <= 0, within 2^-48 of its size; 0 for x < -20. Likewise. */
double inlay_normal_below(double x);

#endif
