/* SPDX-License-Identifier: MIT */
/*
 * Which value `inlay tune` chooses, given times that were not measured.
 */
#include "support.h"

#include "../tools/choice.h"

/* A size with one case: candidate i is contender i. */
static struct choice sizes(size_t n, const double *seconds)
{
    struct choice choice = {.contenders = n, .cases = 1, .candidates = n};
    for (size_t i = 0; i < n; i++) {
        choice.seconds[i][0] = seconds[i];
        choice.runs[i][0] = i;
        choice.distance[i] = (double)(i + 1);
    }
    return choice;
}

START_TEST(the_fastest_value_is_chosen)
{
    static const struct {
        double seconds[4];
        size_t best;
    } cases[] = {
        {{1, 1, 1, 1}, 0},          {{1, 0.98, 0.99, 1}, 0},   {{1, 0.9, 0.8, 1.5}, 2}, {{1, 0.8, 0.5, 0.3}, 3},
        {{1, 0.9, 0.905, 0.91}, 1}, {{1, 1.5, 0.905, 0.9}, 2}, {{0.5, 1, 1, 1}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct choice choice = sizes(4, cases[i].seconds);
        EXPECT(choice_best(&choice) == cases[i].best, "case %zu: candidate %zu", i, choice_best(&choice));
    }
}
END_TEST

/* Both are slower than a third, nearly alike. */
START_TEST(a_difference_within_the_noise_leaves_the_default)
{
    const struct choice choice = sizes(3, (const double[]){1.050, 1.049, 1});
    EXPECT(!choice_beats_default(&choice, 1), "0.1 %% is enough");
    EXPECT(choice_beats_default(&choice, 2), "5 %% are not enough");
    EXPECT(!choice_beats_default(&choice, 0), "the default beats itself");
}
END_TEST

/* Up to a limit contender 0 runs a case, and beyond it contender 1: candidate i has its limit before case i. */
START_TEST(a_limit_is_where_contenders_change_places)
{
    struct choice choice = {.contenders = 2, .cases = 4, .candidates = 5};
    static const double seconds[2][4] = {{1, 1, 1, 1}, {2, 1.2, 0.8, 0.5}};
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < 2; i++)
            choice.seconds[i][k] = seconds[i][k];
    for (size_t i = 0; i < 5; i++) {
        choice.distance[i] = (double)(i + 1);
        for (size_t k = 0; k < 4; k++)
            choice.runs[i][k] = k >= i;
    }
    EXPECT(choice_best(&choice) == 2, "the limit is before case %zu", choice_best(&choice));
    EXPECT(choice_loss(&choice, 2) == 0, "the best loses %g", choice_loss(&choice, 2));
    const double lost = choice_loss(&choice, 4);
    EXPECT(lost > 1.249 && lost < 1.251, "never changing places loses %g", lost);
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "choice", NULL, NULL, the_fastest_value_is_chosen,
                     a_difference_within_the_noise_leaves_the_default, a_limit_is_where_contenders_change_places);
}
