/* SPDX-License-Identifier: MIT */
/*
 * Choosing by medians. A strategy must be 3 % faster than the current one to replace it, so noise changes nothing. Its
 * time is taken relative to that of the current one around it, so load changes nothing either.
 */
#include "tune/tuner.h"

#include "base/minmax.h"
#include "base/ticks.h"

/* Returns at most half of UINT32_MAX, so the sum of two results doesn't overflow. */
static uint32_t ticks_per_mib(uint64_t ticks, size_t bytes)
{
    const uint64_t most = UINT64_MAX >> 20, rate = ((ticks < most ? ticks : most) << 20) / bytes;
    return rate < UINT32_MAX / 2 ? (uint32_t)rate : UINT32_MAX / 2;
}

/* Returns ticks * by / per, if known. */
static uint32_t scaled(uint32_t ticks, uint32_t by, uint32_t per)
{
    const uint64_t product = (uint64_t)ticks * by / inlay_max(per, 1);
    return product < UINT32_MAX / 2 ? (uint32_t)product : UINT32_MAX / 2;
}

/* For a candidate without all samples: slower than any other. */
static const uint32_t unknown = UINT32_MAX;

/* Returns the median of a candidate. */
static uint32_t median(const struct inlay_candidate *candidate)
{
    uint32_t sorted[INLAY_TUNE_SAMPLES];
    if (candidate->count < INLAY_TUNE_SAMPLES)
        return unknown;
    for (int i = 0; i < INLAY_TUNE_SAMPLES; i++) {
        const uint32_t sample = candidate->samples[i];
        int at = i;
        for (; at > 0 && sorted[at - 1] > sample; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = sample;
    }
    return sorted[INLAY_TUNE_SAMPLES / 2];
}

/* Replaces the oldest sample. Returns true if all samples were replaced since it last returned true. */
static bool add_sample(struct inlay_candidate *candidate, uint32_t ticks)
{
    const uint32_t place = candidate->count++ % INLAY_TUNE_SAMPLES;
    candidate->samples[place] = ticks;
    return place == INLAY_TUNE_SAMPLES - 1;
}

/* ---- Choices ---------------------------------------------------------------------------------------------------- */

enum { COMPUTES_UNKNOWN, COMPUTES_NO, COMPUTES_YES };

/* Returns true if `other` is faster by more than noise. */
static bool is_faster(uint32_t other, uint32_t ticks)
{
    return other < ticks - ticks / 32;
}

/* Drops all samples of a source except those of its best strategy. */
static void forget_others(struct inlay_class *class, bool computes)
{
    for (unsigned i = 0; i < INLAY_STRATEGIES; i++)
        if (i != class->best[computes])
            class->candidates[computes][i].count = 0;
}

/* Makes the fastest known strategy the best one. Also notices if the best one becomes much slower or faster than when
   it was chosen, since others may be faster then. */
static void settle_strategy(struct inlay_class *class, bool computes)
{
    struct inlay_candidate *candidates = class->candidates[computes];
    const uint32_t best = class->best[computes], timer = median(&candidates[best]);
    if (timer == unknown)
        return;
    if (class->reference[computes] == 0)
        class->reference[computes] = timer;
    const uint32_t reference = class->reference[computes];
    uint32_t least = reference, fastest = best;
    for (uint32_t i = INLAY_PREFETCH_NONE; i < INLAY_STRATEGIES; i++) {
        const uint32_t ticks = median(&candidates[i]);
        if (i != best && ticks < least && is_faster(ticks, reference)) {
            least = ticks;
            fastest = i;
        }
    }
    if (fastest != best) {
        for (int i = 0; i < INLAY_TUNE_SAMPLES; i++) /* it is no longer the best one */
            candidates[best].samples[i] = scaled(candidates[best].samples[i], reference, timer);
        candidates[best].count = (uint32_t)candidates[fastest].count; /* and is retried as often as the others */
        class->best[computes] = fastest;
        class->reference[computes] = least;
    } else if (timer / 3 > reference / 2 || reference / 3 > timer / 2) {
        forget_others(class, computes);
        class->reference[computes] = timer;
    }
}

/* Switches to the other source of positions if it is faster. */
static void settle_source(struct inlay_class *class)
{
    /* gcc reads an atomic used as a subscript like an ordinary variable. */
    const uint32_t best[2] = {class->best[0], class->best[1]};
    const uint32_t ticks[2] = {median(&class->candidates[0][best[0]]), median(&class->candidates[1][best[1]])};
    const bool computes = class->computes == COMPUTES_YES;
    if (ticks[computes] != unknown && is_faster(ticks[!computes], ticks[computes]))
        class->computes = computes ? COMPUTES_NO : COMPUTES_YES;
}

/* Adds a sample. The time of another strategy is scaled by that of the best one around it, so samples taken under
   different load are comparable. */
static void record(struct inlay_class *class, bool computes, inlay_prefetch prefetch, uint32_t ticks)
{
    struct inlay_candidate *candidates = class->candidates[computes];
    const uint32_t best = class->best[computes], reference = class->reference[computes],
                   timer = median(&candidates[best]);
    if ((uint32_t)prefetch != best && reference != 0) {
        if (timer == unknown)
            return;
        ticks = scaled(ticks, reference, timer);
    }
    const bool all = add_sample(&candidates[prefetch], ticks);
    class->samples++;
    /* Samples of the best strategy are frequent: a few of them suffice. */
    if ((uint32_t)prefetch == best && !all)
        return;
    settle_strategy(class, computes);
    if (class->best[computes] == best) /* otherwise its samples are outdated */
        settle_source(class);
}

/* Returns the strategy of a source with the fewest samples. The best one has the most, so the others take turns. */
static inlay_prefetch other_strategy(const struct inlay_choices *choices, bool computes, bool *lacks_samples)
{
    const uint32_t can = inlay_prefetchers[choices->prefetchers[computes]].mask;
    inlay_prefetch fewest = INLAY_PREFETCH_NONE;
    uint32_t least = UINT32_MAX;
    for (uint32_t i = INLAY_PREFETCH_NONE; i < INLAY_STRATEGIES; i++) {
        const uint32_t count = choices->tuned->candidates[computes][i].count;
        if (can >> i & 1 && count < least) {
            least = count;
            fewest = (inlay_prefetch)i;
        }
    }
    *lacks_samples = least < INLAY_TUNE_SAMPLES;
    return fewest;
}

/* Returns the current best strategy of a source. */
static inlay_prefetch best_strategy(const struct inlay_choices *choices, bool computes)
{
    const uint32_t best = choices->tuned->best[computes];
    return inlay_strategy_within((inlay_prefetch)best, choices->prefetchers[computes]);
}

/* Returns true if another strategy is tried in a turn. Multiples of the golden ratio spread these turns evenly and
   never in step with the parts of a call, the last of which may be too short for a sample. A call that is timed as a
   whole is slowed by dirty lines the previous call left in cache, so two turns are paired and only the second is a
   sample. */
static bool is_others_turn(bool whole, uint32_t turn, bool lacks_samples)
{
    const uint32_t golden = 2654435769U, period = lacks_samples ? INLAY_TUNE_EXPLORE : INLAY_TUNE_RETRY;
    return (uint32_t)((whole ? turn / 2 : turn) * golden) > UINT32_MAX - UINT32_MAX / period;
}

/* Returns the strategy of the next part: the best one, or another one that is being tried. */
static inlay_prefetch next_strategy(const struct inlay_choices *choices, bool computes)
{
    const uint32_t turn = choices->tuned->turns[computes]++;
    bool lacks_samples;
    const inlay_prefetch other = other_strategy(choices, computes, &lacks_samples);
    /* A trial of the other source tries nothing else with it, but tries each of its strategies at once. */
    if (choices->tries_source)
        return lacks_samples && computes != choices->computes ? other : best_strategy(choices, computes);
    return is_others_turn(choices->whole, turn, lacks_samples) ? other : best_strategy(choices, computes);
}

/* Returns true if a call tries the other source of positions, for all of it or for a quarter. That is frequent until
   that source's strategies have their samples, once those of the current source do; later it is rare. */
static bool tries_source(const struct inlay_class_state *known, const struct inlay_choices *choices)
{
    bool lacks[2];
    for (int computes = 0; computes < 2; computes++)
        lacks[computes] = (known->lacking[computes] & inlay_prefetchers[choices->prefetchers[computes]].mask) != 0;
    if (!known->tries || lacks[choices->computes])
        return false;
    const bool others_lack = lacks[!choices->computes];
    return choices->whole ? is_others_turn(true, known->calls, others_lack)
                          : others_lack || known->calls % (INLAY_TUNE_RETRY / 4) == 0;
}

void inlay_choose(struct inlay_choices *choices, const struct inlay_class_state *known, struct inlay_options options)
{
    if (options.part_bytes < INLAY_TUNE_MIN_BYTES || (known->fixed && known->samples == 0)) {
        inlay_choose_fixed(choices, options);
        return;
    }
    choices->tuned = known->fixed ? NULL : known->class;
    for (int computes = 0; computes < 2; computes++) {
        const inlay_prefetch best = known->best[computes];
        choices->prefetchers[computes] = options.prefetchers[computes];
        choices->prefetch[computes] = inlay_strategy_within(best != INLAY_PREFETCH_AUTOMATIC ? best : options.prefetch,
                                                            options.prefetchers[computes]);
    }
    choices->chosen = choices->either = options.either;
    choices->computes =
        options.either && known->computes != COMPUTES_UNKNOWN ? known->computes == COMPUTES_YES : options.computes;
    choices->picked = known->samples > 0;
    /* A quarter of a call that is timed in pieces may try the other source, so it must hold a piece. */
    choices->whole = options.part_bytes < (options.either ? 8 : 4) * INLAY_TUNE_PART_BYTES;
    choices->tries_source = options.either && tries_source(known, choices);
}

void inlay_tuner_start(const struct inlay_choices *choices)
{
    struct inlay_class *class = choices->tuned;
    if (class == NULL)
        return;
    for (int computes = 0; computes < 2; computes++)
        class->best[computes] = choices->prefetch[computes];
    if (class->computes == COMPUTES_UNKNOWN)
        class->computes = choices->computes ? COMPUTES_YES : COMPUTES_NO;
    class->calls += choices->either;
}

static size_t class_of(size_t bytes, bool lone)
{
    const size_t mib = 1024 * 1024;
    return (bytes < 2 * mib ? 0 : bytes < 16 * mib ? 1 : 2) + (lone ? 3 : 0);
}

static struct inlay_class_state state_of(struct inlay_class *class, bool fixed, bool begins)
{
    struct inlay_class_state state = {.class = class, .fixed = fixed, .tries = begins && !fixed};
    state.samples = class->samples;
    state.computes = class->computes;
    state.calls = class->calls;
    for (int computes = 0; computes < 2; computes++) {
        state.best[computes] = (inlay_prefetch) class->best[computes];
        for (unsigned i = INLAY_PREFETCH_NONE; i < INLAY_STRATEGIES; i++)
            state.lacking[computes] |= (uint32_t)(class->candidates[computes][i].count < INLAY_TUNE_SAMPLES) << i;
    }
    return state;
}

/* ---- Parts of calls --------------------------------------------------------------------------------------------- */

static void restart(struct inlay_part_timer *timer, size_t bytes, bool timed)
{
    timer->timed = timed;
    timer->done = 0;
    timer->left = bytes;
    timer->begin = timed ? inlay_ticks() : 0;
}

void inlay_part_timer_tune(struct inlay_part_timer *timer)
{
    const struct inlay_choices *choices = timer->choices;
    timer->computes = choices->computes != (choices->whole && choices->tries_source);
    timer->prefetch = next_strategy(choices, timer->computes);
    const uint32_t used = (uint32_t)timer->prefetch | (uint32_t)timer->computes << 8;
    if (choices->whole) /* timed if the previous call used the same */
        restart(timer, SIZE_MAX, atomic_exchange(&choices->tuned->used, used) == used);
    else /* the first part is slowed by the caller's data in the caches */
        restart(timer, INLAY_TUNE_PART_BYTES, false);
}

static void record_part(const struct inlay_part_timer *timer)
{
    if (timer->timed && timer->done > 0)
        record(timer->choices->tuned, timer->computes, timer->prefetch,
               ticks_per_mib(inlay_ticks() - timer->begin, timer->done));
}

void inlay_part_timer_source(struct inlay_part_timer *timer, bool computes)
{
    const bool parts = timer->choices->tuned != NULL && !timer->choices->whole;
    if (computes != timer->computes)
        timer->prefetch = parts ? next_strategy(timer->choices, computes)
                                : inlay_strategy_within(timer->prefetch, timer->choices->prefetchers[computes]);
    timer->computes = computes;
    if (parts)
        restart(timer, INLAY_TUNE_SKIPPED_BYTES, false);
}

bool inlay_part_timer_look(struct inlay_part_timer *timer)
{
    const inlay_prefetch before = timer->prefetch;
    if (timer->timed) {
        record_part(timer);
        timer->prefetch = next_strategy(timer->choices, timer->computes);
    }
    const bool changes = timer->prefetch != before;
    restart(timer, changes ? INLAY_TUNE_SKIPPED_BYTES : INLAY_TUNE_PART_BYTES, !changes);
    return changes;
}

void inlay_part_timer_end(struct inlay_part_timer *timer)
{
    if (timer->choices->tuned != NULL && timer->choices->whole)
        record_part(timer);
}

/* ---- Stores ----------------------------------------------------------------------------------------------------- */

/* Returns INLAY_STORES_AUTOMATIC if there are too few samples, e.g. because calls of other threads are still running.
 */
static inlay_stores faster_stores(const struct inlay_store_trials *store_trials)
{
    const uint32_t cached = median(&store_trials->candidates[0]), streamed = median(&store_trials->candidates[1]);
    if (cached == unknown || streamed == unknown)
        return INLAY_STORES_AUTOMATIC;
    return is_faster(streamed, cached) ? INLAY_STORES_STREAMED : INLAY_STORES_CACHED;
}

static struct inlay_store_trial_call begin_store_trial(struct inlay_tuner *tuner, size_t bytes, bool begins)
{
    /* The current ones, then the others, then the faster ones for a long time, then again. */
    enum { TIMED_CALLS = 2 * INLAY_STORE_TRIAL_CALLS, SETTLED_CALLS = 1024 };
    const size_t log2 = 63 - (size_t)__builtin_clzll(bytes);
    struct inlay_store_trials *store_trials =
        &tuner->store_trials[inlay_min(log2 - INLAY_STORE_TRIAL_MIN_LOG2, INLAY_TUNING_OUTPUT_CLASSES - 1)];
    const inlay_stores stores = (inlay_stores)store_trials->stores;
    const bool settled = tuner->fixed || (!begins && stores != INLAY_STORES_AUTOMATIC);
    const uint32_t index = settled ? TIMED_CALLS : begins ? store_trials->calls++ % (TIMED_CALLS + SETTLED_CALLS) : 0;
    const bool timed = index < TIMED_CALLS;
    return (struct inlay_store_trial_call){
        .store_trials = store_trials,
        .bytes = bytes,
        .index = index,
        .stores = stores,
        .timed = timed,
        .others = timed && index >= INLAY_STORE_TRIAL_CALLS,
        .begin = timed && begins ? inlay_ticks() : 0,
    };
}

void inlay_tuner_ask(struct inlay_tuner *tuner, size_t bytes, bool tunes_stores, bool begins, struct inlay_tuned *tuned)
{
    *tuned = (struct inlay_tuned){0};
    for (int lone = 0; lone < 2; lone++)
        tuned->classes[lone] = state_of(&tuner->classes[class_of(bytes, lone == 1)], tuner->fixed, begins);
    if (tunes_stores && bytes >> INLAY_STORE_TRIAL_MIN_LOG2 != 0)
        tuned->stores = begin_store_trial(tuner, bytes, begins);
}

/* Reads pieces of an output, a byte of each cache line, as the consumer will read all of it. Returns the ticks per MiB.
 */
static uint32_t reading_ticks_per_mib(const struct inlay_written *output)
{
    const size_t line = 64, row_bytes = inlay_min(output->row_bytes, INLAY_STORE_TRIAL_PIECE_BYTES);
    const size_t apart = output->rows / INLAY_STORE_TRIAL_PIECES;
    const size_t rows = inlay_max(inlay_min(INLAY_STORE_TRIAL_PIECE_BYTES / row_bytes, apart), 1);
    const uint64_t begin = inlay_ticks();
    for (size_t piece = 0; piece < INLAY_STORE_TRIAL_PIECES; piece++)
        for (size_t row = piece * apart; row < piece * apart + rows; row++) {
            const volatile unsigned char *bytes = output->data + row * output->stride_bytes;
            for (size_t i = 0; i < row_bytes; i += line)
                (void)bytes[i];
        }
    return ticks_per_mib(inlay_ticks() - begin, INLAY_STORE_TRIAL_PIECES * rows * row_bytes);
}

void inlay_store_trial_end(struct inlay_tuner *tuner, const struct inlay_store_trial_call *call, bool streamed,
                           const struct inlay_written *output)
{
    const uint64_t ticks = inlay_ticks() - call->begin;
    if (call->index % INLAY_STORE_TRIAL_CALLS >= INLAY_STORE_TRIAL_SKIPPED)
        add_sample(&call->store_trials->candidates[streamed],
                   ticks_per_mib(ticks, call->bytes) + reading_ticks_per_mib(output));
    if (call->index < 2 * INLAY_STORE_TRIAL_CALLS - 1)
        return;
    const inlay_stores faster = faster_stores(call->store_trials);
    if (faster == INLAY_STORES_AUTOMATIC)
        call->store_trials->calls = 0; /* time them again */
    else
        call->store_trials->stores = faster;
    /* The fastest prefetch was found with the previous stores, which this call doesn't use. */
    const bool changed = faster == (streamed ? INLAY_STORES_STREAMED : INLAY_STORES_CACHED);
    for (int lone = 0; lone < 2 && changed; lone++)
        for (int computes = 0; computes < 2; computes++)
            forget_others(&tuner->classes[class_of(call->bytes, lone == 1)], computes == 1);
}

/* ---- Saved state ------------------------------------------------------------------------------------------------- */

void inlay_tuner_begin(struct inlay_tuner *tuner, const inlay_tuning_state *state)
{
    for (int i = 0; i < INLAY_TUNING_CALL_CLASSES; i++)
        if (state->samples[i] > 0) {
            tuner->classes[i].samples = state->samples[i];
            tuner->classes[i].best[state->computes[i]] = state->prefetch[i];
            tuner->classes[i].computes = state->computes[i] ? COMPUTES_YES : COMPUTES_NO;
        }
    for (int i = 0; i < INLAY_TUNING_OUTPUT_CLASSES; i++)
        if (state->stores[i] != INLAY_STORES_AUTOMATIC) {
            tuner->store_trials[i].stores = state->stores[i];
            tuner->store_trials[i].calls = 2 * INLAY_STORE_TRIAL_CALLS;
        }
}

void inlay_tuner_read(const struct inlay_tuner *tuner, inlay_tuning_state *state)
{
    *state = (inlay_tuning_state){.size = sizeof *state};
    for (int i = 0; i < INLAY_TUNING_CALL_CLASSES; i++) {
        const struct inlay_class *class = &tuner->classes[i];
        const bool computes = class->computes == COMPUTES_YES;
        state->prefetch[i] = (uint8_t)(class->best[computes]);
        state->computes[i] = computes;
        state->samples[i] = class->samples;
    }
    for (int i = 0; i < INLAY_TUNING_OUTPUT_CLASSES; i++)
        state->stores[i] = (uint8_t)tuner->store_trials[i].stores;
}
