/* SPDX-License-Identifier: MIT */
/*
 * The decisions of choice.h.
 */
#include "choice.h"

double choice_loss(const struct choice *choice, size_t candidate)
{
    double loss = 0;
    for (size_t k = 0; k < choice->cases; k++) {
        double best = choice->seconds[0][k];
        for (size_t i = 1; i < choice->contenders; i++)
            best = choice->seconds[i][k] < best ? choice->seconds[i][k] : best;
        const double longer = choice->seconds[choice->runs[candidate][k]][k] / best - 1;
        loss += longer >= CHOICE_NOISE ? longer : 0;
    }
    return loss;
}

bool choice_beats_default(const struct choice *choice, size_t candidate)
{
    return choice_loss(choice, 0) - choice_loss(choice, candidate) >= CHOICE_NOISE;
}

size_t choice_best(const struct choice *choice)
{
    size_t best = 0;
    for (size_t i = 1; i < choice->candidates; i++) {
        const double less = choice_loss(choice, best) - choice_loss(choice, i);
        if (less > 0 || (less == 0 && choice->distance[i] < choice->distance[best]))
            best = i;
    }
    return choice_beats_default(choice, best) ? best : 0;
}
