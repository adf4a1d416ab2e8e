/* SPDX-License-Identifier: MIT */
/*
 * Which value of a threshold measured times speak for. It knows neither what was measured nor what the threshold means.
 */
#ifndef INLAY_TOOL_CHOICE_H
#define INLAY_TOOL_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

enum { CONTENDERS_MOST = 8, CASES_MOST = 12, CANDIDATES_MOST = CASES_MOST + 1 };

/** Differences below this do not count. */
#define CHOICE_NOISE 0.03

/** The times of contenders in several cases, and the candidates for the threshold, each of which runs every case by one
    of the contenders. Candidate 0 is the default. */
struct choice {
    size_t contenders, cases, candidates;
    double seconds[CONTENDERS_MOST][CASES_MOST];
    size_t runs[CANDIDATES_MOST][CASES_MOST]; /**< which contender runs a case */
    double distance[CANDIDATES_MOST];         /**< from the default */
};

/** Returns how much longer than the fastest contenders a candidate takes: the sum over the cases of the relative
    differences that are above the noise. */
double choice_loss(const struct choice *choice, size_t candidate);

/** Returns whether a candidate loses less than the default by more than the noise. */
bool choice_beats_default(const struct choice *choice, size_t candidate);

/** Returns the candidate that loses least, and of several the nearest to the default; the default unless it is beaten.
 */
size_t choice_best(const struct choice *choice);

#endif
