/* SPDX-License-Identifier: MIT */
/*
 * The tuner under a fake clock that defines the time of each strategy, so the right answer is known. Covers finding
 * it within the exploration budget, finding it again after a change, and not charging one strategy for the cache state
 * left by the previous one.
 */
#include "support/support.h"

#include "base/ticks.h"
#include "tune/tuner.h"

#include <stdlib.h>

enum { KIB = 1024, MIB = 1024 * KIB, BLOCK = 64 * KIB };

/* ---- A simulated machine ---------------------------------------------------------------------------------------- */

/* Ticks per byte, in thousandths. */
struct costs {
    uint64_t of[2][INLAY_STRATEGIES];
};

static uint64_t fake_time, fake_step; /* time between two reads of the clock */

static uint64_t fake_clock(void)
{
    return fake_time += fake_step;
}

/* The time of a call, and the time spent on strategies other than `expected`. */
struct spent {
    uint64_t ticks;
    size_t bytes, others;
};

/* After a change of strategy, the first LEFT_BEHIND_BYTES cost left_behind more per byte, in thousandths of a tick, for
   any new strategy. If that were counted, no other strategy would ever look faster. */
enum { LEFT_BEHIND_BYTES = 96 * KIB };
static uint64_t left_behind = 20000;

static struct inlay_choices choose(struct inlay_tuner *tuner, size_t bytes, bool lone,
                                   const struct inlay_options *options)
{
    struct inlay_tuned tuned;
    struct inlay_choices choices;
    inlay_tuner_ask(tuner, bytes, false, true, &tuned);
    inlay_choose(&choices, &tuned.classes[lone], *options);
    return choices;
}

/* Runs a call of `bytes` like routes do: block by block, with the last quarter, or all but the first, from the other
   source of positions if the choices say so. */
static struct spent run_call(struct inlay_tuner *tuner, const struct costs *costs, size_t bytes, bool lone,
                             struct inlay_options options, inlay_prefetch expected)
{
    static int in_use = -1;
    static size_t since = 0;
    struct inlay_part_timer timer;
    struct spent spent = {.bytes = bytes};
    const uint64_t begin = fake_time;
    options.part_bytes = bytes;
    const struct inlay_choices choices = choose(tuner, bytes, lone, &options);
    inlay_tuner_start(&choices);
    inlay_part_timer_begin(&timer, &choices);
    const size_t first = !choices.tries_source || choices.whole ? bytes : choices.computes ? bytes / 4 : bytes / 4 * 3;
    for (size_t at = 0; at < bytes; at += BLOCK) {
        if (first < bytes && at == 0)
            inlay_part_timer_source(&timer, false);
        if (first < bytes && at == first / BLOCK * BLOCK)
            inlay_part_timer_source(&timer, true);
        const int using = (int)timer.prefetch + (timer.computes ? INLAY_STRATEGIES : 0);
        if (using != in_use) {
            in_use = using;
            since = 0;
        }
        const uint64_t extra = since < LEFT_BEHIND_BYTES ? left_behind : 0;
        since += BLOCK;
        fake_time += BLOCK * (costs->of[timer.computes][timer.prefetch] + extra) / 1000;
        if (timer.prefetch != expected)
            spent.others += BLOCK;
        inlay_part_timer_wrote(&timer, BLOCK);
    }
    inlay_part_timer_end(&timer);
    spent.ticks = fake_time - begin;
    return spent;
}

static struct inlay_options options_of(inlay_prefetch prefetch, bool computes, bool either)
{
    return (struct inlay_options){.prefetchers = {INLAY_PREFETCHER_ROWS, INLAY_PREFETCHER_SINUSOIDS},
                                  .prefetch = prefetch,
                                  .computes = computes,
                                  .either = either};
}

/* Every strategy takes 1.4 times as long as `best`. */
static struct costs costs_with(inlay_prefetch best, bool computes)
{
    struct costs costs;
    for (int c = 0; c < 2; c++)
        for (int i = 0; i < INLAY_STRATEGIES; i++)
            costs.of[c][i] = 1400 + 10 * (uint64_t)i;
    costs.of[computes][best] = 1000;
    return costs;
}

static inlay_tuning_state state_of(const struct inlay_tuner *tuner)
{
    inlay_tuning_state state = {.size = sizeof state};
    inlay_tuner_read(tuner, &state);
    return state;
}

static struct inlay_tuner *new_tuner(void)
{
    inlay_ticks_use(fake_clock);
    struct inlay_tuner *tuner = calloc(1, sizeof *tuner);
    ck_assert_ptr_nonnull(tuner);
    return tuner;
}

static void free_tuner(struct inlay_tuner *tuner)
{
    inlay_ticks_use(NULL);
    free(tuner);
}

/* ---- Strategies ------------------------------------------------------------------------------------------------- */

/* Sizes of calls of the three classes. */
static const size_t sizes[] = {1 * MIB, 8 * MIB, 32 * MIB};

START_TEST(the_fastest_is_found)
{
    for (size_t s = 0; s < 3; s++)
        for (int best = INLAY_PREFETCH_NONE; best < INLAY_STRATEGIES; best++) {
            struct inlay_tuner *tuner = new_tuner();
            const struct costs costs = costs_with((inlay_prefetch)best, false);
            const struct inlay_options options = options_of(INLAY_PREFETCH_L2_LINE_AHEAD_8, false, false);
            for (size_t bytes = 0; bytes < 512 * MIB; bytes += sizes[s])
                run_call(tuner, &costs, sizes[s], false, options, INLAY_PREFETCH_L2_LINE_AHEAD_8);
            const inlay_tuning_state state = state_of(tuner);
            EXPECT(state.prefetch[s] == best, "class %zu: %d was chosen, %d is best", s, state.prefetch[s], best);
            struct spent last = {0};
            for (int call = 0; call < 512; call++) {
                const struct spent spent = run_call(tuner, &costs, sizes[s], false, options, (inlay_prefetch)best);
                last.bytes += spent.bytes;
                last.others += spent.others;
            }
            EXPECT(last.others * 40 <= last.bytes, "class %zu, %d: a settled layer spent %zu of %zu on others", s, best,
                   last.others, last.bytes);
            free_tuner(tuner);
        }
}
END_TEST

/* The share of the bytes used for exploring, and the time of the first ten calls. */
START_TEST(trying_has_a_bound)
{
    left_behind = 300;
    for (size_t s = 0; s < 3; s++) {
        struct inlay_tuner *tuner = new_tuner();
        const struct costs costs = costs_with(INLAY_PREFETCH_L2_LINE_AHEAD_8, false);
        const struct inlay_options options = options_of(INLAY_PREFETCH_L2_LINE_AHEAD_8, false, false);
        size_t others = 0, bytes = 0;
        while (bytes < 64 * MIB) {
            others += run_call(tuner, &costs, sizes[s], false, options, INLAY_PREFETCH_L2_LINE_AHEAD_8).others;
            bytes += sizes[s];
        }
        EXPECT(others * 4 <= bytes, "class %zu: %zu of %zu bytes tried other strategies", s, others, bytes);
        EXPECT(others > 0, "class %zu: nothing was tried", s);
        free_tuner(tuner);
        tuner = new_tuner();
        uint64_t first_ten = 0;
        for (int call = 0; call < 10; call++)
            first_ten += run_call(tuner, &costs, sizes[s], false, options, INLAY_PREFETCH_L2_LINE_AHEAD_8).ticks;
        EXPECT(first_ten <= 10 * sizes[s] * 115 / 100, "class %zu: the first ten calls took %.3f of settled ones", s,
               (double)first_ten / (10 * (double)sizes[s]));
        free_tuner(tuner);
    }
}
END_TEST

/* Repeated ids are in a cache, where prefetching only costs; then they are random again. */
START_TEST(a_change_is_followed)
{
    for (size_t s = 0; s < 3; s++) {
        struct inlay_tuner *tuner = new_tuner();
        const struct costs uniform = costs_with(INLAY_PREFETCH_L2_BLOCKS, false);
        struct costs text = costs_with(INLAY_PREFETCH_NONE, false);
        for (int i = 0; i < INLAY_STRATEGIES; i++)
            text.of[0][i] /= 3;
        const struct inlay_options options = options_of(INLAY_PREFETCH_L2_LINE_AHEAD_8, false, false);
        const struct {
            const struct costs *costs;
            inlay_prefetch best;
        } phases[] = {
            {&uniform, INLAY_PREFETCH_L2_BLOCKS}, {&text, INLAY_PREFETCH_NONE}, {&uniform, INLAY_PREFETCH_L2_BLOCKS}};
        for (size_t phase = 0; phase < 3; phase++) {
            for (size_t bytes = 0; bytes < 512 * MIB; bytes += sizes[s])
                run_call(tuner, phases[phase].costs, sizes[s], false, options, phases[phase].best);
            const inlay_tuning_state state = state_of(tuner);
            EXPECT(state.prefetch[s] == phases[phase].best, "class %zu, phase %zu: %d is not the best", s, phase,
                   state.prefetch[s]);
        }
        /* The same cost level, but another strategy is best, then the previous one: found by occasional exploring. */
        for (int i = 0; i < 2; i++) {
            const inlay_prefetch best = i == 0 ? INLAY_PREFETCH_L1_LINE_AHEAD_2 : INLAY_PREFETCH_L2_BLOCKS;
            const struct costs other = costs_with(best, false);
            for (size_t bytes = 0; bytes < (size_t)8192 * MIB; bytes += sizes[s])
                run_call(tuner, &other, sizes[s], false, options, best);
            const inlay_tuning_state state = state_of(tuner);
            EXPECT(state.prefetch[s] == best, "class %zu: %d was kept", s, state.prefetch[s]);
        }
        /* The difference is too small to discard samples. A strategy used for long has the most, and is still tried
           again. */
        for (int i = 0; i < 3; i++) {
            const inlay_prefetch best = i == 1 ? INLAY_PREFETCH_L1_LINE_AHEAD_2 : INLAY_PREFETCH_L2_BLOCKS;
            struct costs near = uniform;
            for (int other = 0; other < INLAY_STRATEGIES; other++)
                near.of[0][other] = other == (int)best ? 1000 : 1150;
            for (size_t bytes = 0; bytes < (size_t)8192 * MIB; bytes += sizes[s])
                run_call(tuner, &near, sizes[s], false, options, best);
            const inlay_tuning_state state = state_of(tuner);
            EXPECT(state.prefetch[s] == best, "class %zu, nearly as fast: %d was kept", s, state.prefetch[s]);
        }
        free_tuner(tuner);
    }
}
END_TEST

/* For sequences that share no positions, the faster source is found, from either one. */
START_TEST(the_faster_source_is_found)
{
    for (size_t s = 0; s < 3; s++)
        for (int cases = 0; cases < 4; cases++) {
            struct inlay_tuner *tuner = new_tuner();
            const bool faster = cases & 1, prior = cases >> 1;
            const inlay_prefetch best = faster ? INLAY_PREFETCH_L1_LINE_AHEAD_2 : INLAY_PREFETCH_L2_ROW_AHEAD_16;
            const struct costs costs = costs_with(best, faster);
            const struct inlay_options options = options_of(INLAY_PREFETCH_L2_LINE_AHEAD_2, prior, true);
            for (size_t bytes = 0; bytes < 1024 * MIB; bytes += sizes[s])
                run_call(tuner, &costs, sizes[s], true, options, best);
            const inlay_tuning_state state = state_of(tuner);
            EXPECT(state.computes[3 + s] == faster, "class %zu from %d: computes %d", s, prior, state.computes[3 + s]);
            EXPECT(state.prefetch[3 + s] == best, "class %zu from %d: %d", s, prior, state.prefetch[3 + s]);
            free_tuner(tuner);
        }
}
END_TEST

/* Differences within noise change nothing. */
START_TEST(small_differences_do_not_count)
{
    struct inlay_tuner *tuner = new_tuner();
    struct costs costs;
    struct random random = {3};
    const struct inlay_options options = options_of(INLAY_PREFETCH_L2_LINE_AHEAD_8, false, false);
    for (int call = 0; call < 200; call++) {
        for (int i = 0; i < INLAY_STRATEGIES; i++)
            costs.of[0][i] = costs.of[1][i] = 1000 + random_below(&random, 20);
        run_call(tuner, &costs, 32 * MIB, false, options, INLAY_PREFETCH_L2_LINE_AHEAD_8);
    }
    const inlay_tuning_state state = state_of(tuner);
    EXPECT(state.prefetch[2] == INLAY_PREFETCH_L2_LINE_AHEAD_8, "%d took the place of the first", state.prefetch[2]);
    free_tuner(tuner);
}
END_TEST

/* Varying machine load makes no strategy look faster that was tried at a quiet time. */
START_TEST(load_does_not_count)
{
    for (size_t s = 0; s < 3; s++) {
        struct inlay_tuner *tuner = new_tuner();
        const struct inlay_options options = options_of(INLAY_PREFETCH_L2_LINE_AHEAD_8, false, false);
        struct random random = {5};
        struct spent all = {0};
        for (int phase = 0; phase < 400; phase++) {
            const uint64_t load = 1000 + random_below(&random, 400);
            struct costs costs;
            for (int i = 0; i < INLAY_STRATEGIES; i++)
                costs.of[0][i] = costs.of[1][i] = load * (i == INLAY_PREFETCH_LINES ? 100 : 108) / 100;
            for (size_t bytes = 0; bytes < 64 * MIB; bytes += sizes[s]) {
                const struct spent spent = run_call(tuner, &costs, sizes[s], false, options, INLAY_PREFETCH_LINES);
                all.bytes += phase < 16 ? 0 : spent.bytes;
                all.others += phase < 16 ? 0 : spent.others;
            }
        }
        EXPECT(all.others * 50 <= all.bytes, "class %zu: a settled layer spent %zu of %zu on others", s, all.others,
               all.bytes);
        free_tuner(tuner);
    }
}
END_TEST

/* Loops never get a strategy that they don't support. */
START_TEST(only_what_a_loop_can_do)
{
    for (int prefetcher = INLAY_PREFETCHER_NONE; prefetcher <= INLAY_PREFETCHER_SINUSOIDS; prefetcher++) {
        struct inlay_tuner *tuner = new_tuner();
        const struct costs costs = costs_with(INLAY_PREFETCH_L2_ROW_AHEAD_16, false);
        struct inlay_options options = options_of(INLAY_PREFETCH_L2_ROW_AHEAD_16, false, false);
        options.prefetchers[0] = (enum inlay_prefetcher)prefetcher;
        const uint32_t can = inlay_prefetchers[prefetcher].mask;
        for (int call = 0; call < 30; call++)
            run_call(tuner, &costs, 32 * MIB, false, options, INLAY_PREFETCH_NONE);
        for (int i = 0; i < INLAY_STRATEGIES; i++) {
            const uint32_t count = tuner->classes[2].candidates[0][i].count;
            EXPECT((count > 0) == (can >> i & 1), "prefetcher %d, strategy %d: %u samples", prefetcher, i, count);
        }
        free_tuner(tuner);
    }
}
END_TEST

START_TEST(small_calls_are_not_timed)
{
    struct inlay_tuner *tuner = new_tuner();
    const struct costs costs = costs_with(INLAY_PREFETCH_NONE, false);
    for (int call = 0; call < 1000; call++) {
        const struct inlay_options options = options_of(INLAY_PREFETCH_LINES, false, false);
        const struct spent spent = run_call(tuner, &costs, 192 * KIB, false, options, INLAY_PREFETCH_LINES);
        EXPECT(spent.others == 0, "a small call tried another strategy");
    }
    const inlay_tuning_state state = state_of(tuner);
    for (int i = 0; i < INLAY_TUNING_CALL_CLASSES; i++)
        EXPECT(state.samples[i] == 0, "class %d has %u samples", i, state.samples[i]);
    free_tuner(tuner);
}
END_TEST

/* If a call is split into parts shorter than a sample, the parts are timed as a whole, or not at all. */
START_TEST(parts_count_and_not_the_call)
{
    static const struct {
        size_t part_bytes;
        bool tuned, whole;
    } cases[] = {{128 * KIB, false, false}, {256 * KIB, true, true}, {1 * MIB, true, true}, {2 * MIB, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inlay_tuner *tuner = new_tuner();
        struct inlay_options options = options_of(INLAY_PREFETCH_NONE, false, false);
        options.part_bytes = cases[i].part_bytes;
        const struct inlay_choices choices = choose(tuner, 8 * MIB, false, &options);
        EXPECT((choices.tuned != NULL) == cases[i].tuned && choices.whole == cases[i].whole, "parts of %zu bytes",
               cases[i].part_bytes);
        free_tuner(tuner);
    }
}
END_TEST

/* If positions must be computed, the state for computed positions is exported. */
START_TEST(computed_positions_are_given_on)
{
    struct inlay_tuner *tuner = new_tuner();
    const struct costs costs = costs_with(INLAY_PREFETCH_L1_LINE_AHEAD_2, true);
    for (int c = 0; c < 20; c++)
        run_call(tuner, &costs, 8 * MIB, true, options_of(INLAY_PREFETCH_L2_LINE_AHEAD_8, true, false),
                 INLAY_PREFETCH_NONE);
    const inlay_tuning_state state = state_of(tuner);
    EXPECT(state.prefetch[4] == INLAY_PREFETCH_L1_LINE_AHEAD_2 && state.computes[4] == 1, "%d, %d", state.prefetch[4],
           state.computes[4]);
    free_tuner(tuner);
}
END_TEST

/* A strategy tuned on another route, which this one doesn't support, is no obstacle. */
START_TEST(choices_a_loop_cannot_use_are_timed_again)
{
    inlay_tuning_state state = {.size = sizeof state, .samples = {1, 1, 1}};
    struct inlay_tuner *tuner = new_tuner();
    for (int i = 0; i < 3; i++)
        state.prefetch[i] = INLAY_PREFETCH_L2_LINE_AHEAD_8;
    inlay_tuner_begin(tuner, &state);
    const struct costs costs = costs_with(INLAY_PREFETCH_NONE, false);
    const struct inlay_options options = {.prefetchers = {INLAY_PREFETCHER_NONE, INLAY_PREFETCHER_SINUSOIDS},
                                          .prefetch = INLAY_PREFETCH_LINES};
    for (int c = 0; c < 20; c++)
        run_call(tuner, &costs, 8 * MIB, false, options, INLAY_PREFETCH_NONE);
    EXPECT(state_of(tuner).prefetch[1] == INLAY_PREFETCH_NONE, "strategy %d", state_of(tuner).prefetch[1]);
    free_tuner(tuner);
}
END_TEST

/* ---- Stores ----------------------------------------------------------------------------------------------------- */

/* The output of a 40 MiB call, where all rows are the same memory. */
static const unsigned char row_of_zeros[4096];
static const struct inlay_written written = {row_of_zeros, 40 * MIB / sizeof row_of_zeros, sizeof row_of_zeros, 0};

/* A call of `bytes` that uses non-temporal stores by default if it `streams`. */
struct trial {
    struct inlay_tuner *tuner;
    struct inlay_store_trial_call call;
    bool streams;
};

static struct trial begin_trial(struct inlay_tuner *tuner, size_t bytes, bool streams)
{
    struct inlay_tuned tuned;
    inlay_tuner_ask(tuner, bytes, true, true, &tuned);
    if (tuned.stores.stores != INLAY_STORES_AUTOMATIC)
        streams = tuned.stores.stores == INLAY_STORES_STREAMED;
    return (struct trial){tuner, tuned.stores, streams != tuned.stores.others};
}

/* Ends a call that took `ticks`, with `reading` ticks to read the pieces of the output. */
static void end_trial(const struct trial *trial, uint64_t ticks, uint64_t reading)
{
    fake_time += ticks - reading;
    fake_step = reading;
    inlay_store_trial_end(trial->tuner, &trial->call, trial->streams, &written);
    fake_step = 0;
}

/* The faster stores are those with the smaller sum of call and reading time. */
START_TEST(stores_are_tuned_by_whole_calls)
{
    /* Reading is timed for 256 KiB, calls for 40 MiB, 160 times as much. */
    static const struct {
        uint64_t cached, cached_reading, streamed, streamed_reading;
        bool streams;
    } cases[] = {
        {100000, 0, 100000, 0, false},     /* equally fast */
        {120000, 0, 100000, 0, true},      /* same reading time */
        {120000, 100, 100000, 180, true},  /* slower reading, by less than the call gains */
        {120000, 100, 100000, 300, false}, /* by more */
        {160000, 100, 100000, 600, false}, {100000, 300, 120000, 100, true}, /* dirty lines delay the reader */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bool first = i % 2 == 0; /* the initial stores make no difference */
        struct inlay_tuner *tuner = new_tuner();
        size_t streamed = 0;
        for (int c = 0; c < 100; c++) {
            const struct trial trial = begin_trial(tuner, 40 * MIB, first);
            static bool before;
            /* Dirty lines from the other kind of stores slow down the first calls of the next. */
            const uint64_t ticks =
                (trial.streams ? cases[i].streamed : cases[i].cached) * (trial.streams != before ? 3 : 1);
            before = trial.streams;
            if (trial.call.timed)
                end_trial(&trial, ticks, trial.streams ? cases[i].streamed_reading : cases[i].cached_reading);
            EXPECT(c >= 16 || trial.streams == ((c < 8) == first), "the other stores come last");
            streamed += c >= 16 && trial.streams;
        }
        EXPECT(streamed == (cases[i].streams ? 84U : 0U), "%zu of 84 calls were streamed in case %zu", streamed, i);
        EXPECT(state_of(tuner).stores[3] == (cases[i].streams ? INLAY_STORES_STREAMED : INLAY_STORES_CACHED),
               "stores %d", state_of(tuner).stores[3]);
        free_tuner(tuner);
    }
}
END_TEST

/* For few rows, wide rows, and outputs smaller than those timed, no byte after the last is read. */
START_TEST(outputs_are_read_within_their_bounds)
{
    static const struct {
        size_t rows, row_bytes, stride_bytes;
    } cases[] = {{1, 4 * MIB, 4 * MIB}, {3, 2 * MIB, 2 * MIB}, {9, MIB - 4, MIB},
                 {20, 2048, 2048},      {8193, 508, 1024},     {MIB, 4, 8}};
    struct arena arena = arena_make(9 * MIB);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct inlay_tuner *tuner = new_tuner();
        const size_t bytes = cases[i].stride_bytes * (cases[i].rows - 1) + cases[i].row_bytes;
        const struct inlay_written output = {arena_place(&arena, bytes, AT_END, 0), cases[i].rows, cases[i].row_bytes,
                                             cases[i].stride_bytes};
        for (int c = 0; c < 2 * INLAY_STORE_TRIAL_CALLS; c++) {
            const struct trial trial = begin_trial(tuner, 4 * MIB, false);
            inlay_store_trial_end(tuner, &trial.call, trial.streams, &output);
        }
        EXPECT(state_of(tuner).stores[0] == INLAY_STORES_CACHED, "stores %d", state_of(tuner).stores[0]);
        free_tuner(tuner);
    }
    arena_free(&arena);
}
END_TEST

/* An unfinished call of another thread leaves too few samples: nothing is decided, and both are timed again. */
START_TEST(stores_need_enough_calls)
{
    struct inlay_tuner *tuner = new_tuner();
    struct trial trials[16];
    for (int c = 0; c < 16; c++)
        trials[c] = begin_trial(tuner, 40 * MIB, true);
    for (int c = 0; c < 16; c++) {
        fake_time += trials[c].streams ? 1000 : 2000;
        if (c != 12)
            inlay_store_trial_end(tuner, &trials[c].call, trials[c].streams, &written);
    }
    EXPECT(state_of(tuner).stores[3] == INLAY_STORES_AUTOMATIC, "decided too early");
    const struct trial again = begin_trial(tuner, 40 * MIB, true);
    EXPECT(again.call.timed && again.streams, "not timed again");
    free_tuner(tuner);
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "tuner", NULL, NULL, the_fastest_is_found, trying_has_a_bound, a_change_is_followed,
                     the_faster_source_is_found, small_differences_do_not_count, load_does_not_count,
                     only_what_a_loop_can_do, small_calls_are_not_timed, parts_count_and_not_the_call,
                     computed_positions_are_given_on, choices_a_loop_cannot_use_are_timed_again,
                     stores_are_tuned_by_whole_calls, stores_need_enough_calls, outputs_are_read_within_their_bounds);
}
