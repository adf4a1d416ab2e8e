/* SPDX-License-Identifier: MIT */
/*
 * Self-tuning layers with real calls: the same bits in every state, no tuning if the caller decided, and state passed
 * to other layers.
 */
#include "support/support.h"

#include "support/system.h"

#include "base/ticks.h"
#include "dispatch/cpu.h"
#include "layer/handle.h"
#include "layer/plan.h"
#include "layer/validate.h"
#include "tune/tuner.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1024 * 1024 };

enum { DIM = 1024, ROWS = 3000, TOKENS = 4096 };

static struct {
    float *table, *out[2];
    int32_t ids[TOKENS];
    inlay_sinusoid *sinusoid;
    inlay_layer_spec spec;
    inlay_table tokens;
} fixture;

static void make_fixture(void)
{
    struct random random = {7};
    fixture.table = malloc(sizeof(float) * ROWS * DIM);
    for (int i = 0; i < 2; i++)
        fixture.out[i] = malloc(sizeof(float) * TOKENS * DIM);
    for (size_t i = 0; i < (size_t)ROWS * DIM; i++)
        fixture.table[i] = (float)random_unit(&random);
    for (size_t i = 0; i < TOKENS; i++)
        fixture.ids[i] = (int32_t)random_below(&random, ROWS);
    fixture.sinusoid = make_sinusoid(DIM, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
    fixture.tokens = inlay_table_f32(fixture.table, ROWS, DIM);
    fixture.spec = inlay_layer_spec_default(&fixture.tokens);
    fixture.spec.sinusoid = fixture.sinusoid;
    fixture.spec.cached_positions = TOKENS + 1;
    fixture.spec.scale = 3;
}

static void free_fixture(void)
{
    inlay_sinusoid_destroy(fixture.sinusoid);
    free(fixture.table);
    free(fixture.out[0]);
    free(fixture.out[1]);
}

static void forward(const inlay_layer *layer, size_t sequences, size_t length, float *out, const inlay_executor *with)
{
    const inlay_batch batch = inlay_batch_i32(fixture.ids, sequences, length, 1);
    ck_assert_int_eq(inlay_forward(layer, &batch, out, DIM * sizeof(float), with, NULL), INLAY_OK);
}

static inlay_tuning_state state_of(const inlay_layer *layer)
{
    inlay_tuning_state state = {.size = sizeof state};
    ck_assert_int_eq(inlay_layer_tuning_state(layer, &state), INLAY_OK);
    return state;
}

static uint32_t samples_of(const inlay_layer *layer)
{
    const inlay_tuning_state state = state_of(layer);
    uint32_t samples = 0;
    for (int i = 0; i < INLAY_TUNING_CALL_CLASSES; i++)
        samples += state.samples[i];
    return samples;
}

/* Many calls of every class: while strategies, sources and stores are tried, and after. */
START_TEST(bits_stay_while_tuning)
{
    static const size_t shapes[][2] = {{1, 128}, {4, 64}, {1, 1024}, {8, 128}, {1, 4096}, {16, 256}};
    fixture.spec.self_tuning = INLAY_SELF_TUNING_OFF;
    inlay_layer *off = make_layer_of(&fixture.spec);
    fixture.spec.self_tuning = INLAY_SELF_TUNING_ON;
    inlay_layer *on = make_layer_of(&fixture.spec);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const size_t bytes = shapes[s][0] * shapes[s][1] * DIM * sizeof(float);
        forward(off, shapes[s][0], shapes[s][1], fixture.out[0], NULL);
        const size_t volume = tested->lanes > 0 ? 200 * (size_t)MIB : 40 * (size_t)MIB;
        for (size_t done = 0; done < volume; done += bytes) {
            memset(fixture.out[1], 0xff, bytes);
            forward(on, shapes[s][0], shapes[s][1], fixture.out[1], NULL);
            EXPECT(memcmp(fixture.out[0], fixture.out[1], bytes) == 0, "shape %zu: other bits after %zu bytes", s,
                   done);
        }
    }
    const inlay_tuning_state state = state_of(on);
    for (int i = 0; i < INLAY_TUNING_CALL_CLASSES; i++)
        EXPECT(state.samples[i] > 0, "class %d has no samples", i);
    EXPECT((state.stores[2] != INLAY_STORES_AUTOMATIC) == tested->streams, "stores %d of 16 MiB", state.stores[2]);
    EXPECT(samples_of(off) == 0, "a layer without self-tuning has %u samples", samples_of(off));
    inlay_layer_destroy(on);
    inlay_layer_destroy(off);
}
END_TEST

/* Every strategy and source, fixed by a tuning: nothing is tuned. */
START_TEST(tunings_are_obeyed)
{
    fixture.spec.self_tuning = INLAY_SELF_TUNING_OFF;
    inlay_layer *off = make_layer_of(&fixture.spec);
    fixture.spec.self_tuning = INLAY_SELF_TUNING_ON;
    for (int prefetch = 0; prefetch < INLAY_STRATEGIES; prefetch++)
        for (int computes = 0; computes < 2; computes++) {
            inlay_tuning tuning = inlay_tuning_default();
            tuning.prefetch = (inlay_prefetch)prefetch;
            tuning.compute_bytes = computes ? 0 : SIZE_MAX;
            fixture.spec.tuning = &tuning;
            inlay_layer *layer = make_layer_of(&fixture.spec);
            char text[2000];
            for (size_t sequences = 1; sequences <= 8; sequences *= 8)
                for (int call = 0; call < 3; call++) {
                    forward(off, sequences, TOKENS / sequences, fixture.out[0], NULL);
                    forward(layer, sequences, TOKENS / sequences, fixture.out[1], NULL);
                    EXPECT(memcmp(fixture.out[0], fixture.out[1], sizeof(float) * TOKENS * DIM) == 0, "%d, %d: bits",
                           prefetch, computes);
                }
            const inlay_batch batch = inlay_batch_i32(fixture.ids, 1, TOKENS, 1);
            ck_assert_int_eq(inlay_forward_explain(layer, &batch, fixture.out[0], DIM * sizeof(float), NULL, NULL, text,
                                                   sizeof text),
                             INLAY_OK);
            EXPECT((strstr(text, "positions: computed") != NULL) == (computes && tested->lanes > 0), "%s", text);
            EXPECT(samples_of(layer) == 0, "a layer with a tuning took samples");
            inlay_layer_destroy(layer);
        }
    fixture.spec.tuning = NULL;
    inlay_layer_destroy(off);
}
END_TEST

/* True if the best strategy of a source has all its samples. */
static bool has_samples(const struct inlay_class *class, int source)
{
    const uint32_t best = class->best[source];
    return class->candidates[source][best].count >= INLAY_TUNE_SAMPLES;
}

/* Each look takes as long as the one before, as on a machine without other work. */
static uint64_t steady_clock(void)
{
    static _Atomic uint64_t now;
    return atomic_fetch_add(&now, 1000);
}

/* Rows of many pairs are computed in pieces: even a few hundred tokens give samples of both sources. */
START_TEST(wide_rows_give_samples_of_both_sources)
{
    enum { WIDE = 4096, WORDS = 300, MAX_CALLS = 1000 };
    inlay_ticks_use(steady_clock);
    static const struct inlay_cpu reads_first = {.compute_bytes = 1 << 30, .short_rows = INLAY_PREFETCH_NONE};
    const struct inlay_cpu *const before = inlay_cpu();
    inlay_sinusoid *sinusoid = make_sinusoid(WIDE, 10000, INLAY_SINUSOID_LAYOUT_SPLIT);
    const inlay_table tokens = inlay_table_f32(fixture.table, ROWS * DIM / WIDE, WIDE);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    spec.sinusoid = sinusoid;
    spec.cached_positions = WORDS + 1;
    spec.stores = INLAY_STORES_CACHED;
    int32_t ids[WORDS];
    for (int i = 0; i < WORDS; i++)
        ids[i] = i;
    const inlay_batch batch = inlay_batch_i32(ids, 1, WORDS, 1);
    for (int computes = 0; computes < 2; computes++) {
        atomic_store(&inlay_cpu_found, computes ? before : &reads_first);
        inlay_layer *layer = make_layer_of(&spec);
        bool both = false;
        for (int call = 0; call < (tested->fma ? MAX_CALLS : 1) && !both; call++) {
            ck_assert_int_eq(inlay_forward(layer, &batch, fixture.out[0], WIDE * sizeof(float), NULL, NULL), INLAY_OK);
            both = has_samples(&layer->own_tuner.classes[4], 0) && has_samples(&layer->own_tuner.classes[4], 1);
        }
        EXPECT(both || !tested->fma, "begins with %d: no samples of one source", computes);
        inlay_layer_destroy(layer);
    }
    inlay_ticks_use(NULL);
    atomic_store(&inlay_cpu_found, before);
    inlay_sinusoid_destroy(sinusoid);
}
END_TEST

/* A layer with self-tuning off uses the given state, and does not change it. */
START_TEST(tuning_states_can_be_saved)
{
    inlay_tuning_state state = {.size = sizeof state};
    for (int i = 0; i < INLAY_TUNING_CALL_CLASSES; i++) {
        state.samples[i] = 1;
        state.prefetch[i] = INLAY_PREFETCH_NONE;
    }
    for (int i = 0; i < INLAY_TUNING_OUTPUT_CLASSES; i++)
        state.stores[i] = INLAY_STORES_STREAMED;
    fixture.spec.tuning_state = &state;
    fixture.spec.self_tuning = INLAY_SELF_TUNING_OFF;
    inlay_layer *layer = make_layer_of(&fixture.spec);
    const inlay_batch batch = inlay_batch_i32(fixture.ids, 2, 1024, 1);
    char text[2000];
    for (int call = 0; call < 40; call++)
        forward(layer, 2, 1024, fixture.out[0], NULL);
    ck_assert_int_eq(
        inlay_forward_explain(layer, &batch, fixture.out[0], DIM * sizeof(float), NULL, NULL, text, sizeof text),
        INLAY_OK);
    EXPECT(strstr(text, "prefetch:  none: picked by self-tuning") != NULL &&
               (tested->streams == (strstr(text, "stores:    non-temporal") != NULL)),
           "%s", text);
    const inlay_tuning_state after = state_of(layer);
    EXPECT(memcmp(&after, &state, sizeof state) == 0, "it took samples");
    inlay_layer_destroy(layer);
    fixture.spec.tuning_state = NULL;
    fixture.spec.self_tuning = INLAY_SELF_TUNING_ON;
}
END_TEST

/* Tuning state initializes another layer, and invalid state is rejected. */
START_TEST(tuning_states_can_be_passed_on)
{
    inlay_tuning_state state = {.size = sizeof state};
    for (int i = 0; i < INLAY_TUNING_CALL_CLASSES; i++) {
        state.samples[i] = 1;
        state.prefetch[i] = (uint8_t)(i < 3 ? INLAY_PREFETCH_L2_ROW_AHEAD_16 : INLAY_PREFETCH_L1_LINE_AHEAD_2);
        state.computes[i] = i >= 3;
    }
    state.stores[2] = INLAY_STORES_CACHED;
    fixture.spec.tuning_state = &state;
    inlay_layer *layer = make_layer_of(&fixture.spec);
    const inlay_tuning_state again = state_of(layer);
    EXPECT(memcmp(again.samples, state.samples, sizeof state.samples) == 0, "a third layer would begin with nothing");
    EXPECT(memcmp(again.prefetch, state.prefetch, sizeof state.prefetch) == 0 &&
               memcmp(again.computes, state.computes, sizeof state.computes) == 0 &&
               memcmp(again.stores, state.stores, sizeof state.stores) == 0,
           "another layer begins elsewhere");
    inlay_layer_destroy(layer);
    inlay_layer *none;
    const inlay_tuning_state good = state;
#define REFUSED(field, value)                                                                                          \
    state = good;                                                                                                      \
    state.field = value;                                                                                               \
    EXPECT(inlay_layer_create(&fixture.spec, NULL, &none) == INLAY_ERROR_OPTION, #field " is accepted")
    REFUSED(size, sizeof state - 1);
    REFUSED(prefetch[5], INLAY_STRATEGIES);
    REFUSED(computes[0], 2);
    REFUSED(stores[7], INLAY_STORES_STREAMED + 1);
    REFUSED(reserved[3], 1);
    fixture.spec.tuning_state = NULL;
    EXPECT(inlay_layer_tuning_state(NULL, &state) == INLAY_ERROR_NULL, "no layer");
    layer = make_layer_of(&fixture.spec);
    EXPECT(inlay_layer_tuning_state(layer, NULL) == INLAY_ERROR_NULL, "no struct");
    state.size = 3;
    EXPECT(inlay_layer_tuning_state(layer, &state) == INLAY_ERROR_OPTION, "an unknown size");
    inlay_layer_destroy(layer);
}
END_TEST

START_TEST(the_environment_switches_it_off)
{
    for (int off = 0; off < 2; off++) {
        variable_set("INLAY_SELF_TUNING", off ? "off" : "on");
        inlay_layer *layer = make_layer_of(&fixture.spec);
        forward(layer, 8, 512, fixture.out[0], NULL);
        forward(layer, 8, 512, fixture.out[0], NULL);
        EXPECT((samples_of(layer) == 0) == off, "off %d: %u samples", off, samples_of(layer));
        inlay_layer_destroy(layer);
    }
    variable_set("INLAY_SELF_TUNING", NULL);
}
END_TEST

/* An explanation includes the tuning state, and changes nothing. */
START_TEST(explanations_show_what_was_tuned)
{
    inlay_layer *layer = make_layer_of(&fixture.spec);
    const inlay_batch batch = inlay_batch_i32(fixture.ids, 8, 512, 1);
    char text[2000], parts[40];
    for (int calls = 0; calls <= 40; calls += 40) {
        for (int call = 0; call < calls; call++)
            forward(layer, 8, 512, fixture.out[0], NULL);
        unsigned char before[sizeof layer->own_tuner];
        memcpy(before, &layer->own_tuner, sizeof before);
        for (int i = 0; i < 20; i++)
            ck_assert_int_eq(inlay_forward_explain(layer, &batch, fixture.out[0], DIM * sizeof(float), NULL, NULL, text,
                                                   sizeof text),
                             INLAY_OK);
        EXPECT(memcmp(before, &layer->own_tuner, sizeof before) == 0, "after %d calls explaining changed the tuner",
               calls);
    }
    const inlay_tuning_state before = state_of(layer);
    snprintf(parts, sizeof parts, "the fastest of %u parts", (unsigned)before.samples[2]);
    EXPECT(strstr(text, "prefetch:") != NULL && strstr(text, parts) != NULL &&
               strstr(text, inlay_strategies[before.prefetch[2]].text) != NULL,
           "%s", text);
    inlay_layer_destroy(layer);
}
END_TEST

/* Explains a call of one sequence, and returns whether all of its positions would be read. */
static bool explain(const inlay_layer *layer, size_t length, char text[INLAY_PLAN_TEXT_BYTES])
{
    struct inlay_work work;
    struct inlay_plan plan;
    struct inlay_tuned tuned;
    const inlay_batch batch = inlay_batch_i32(fixture.ids, 1, length, 1);
    ck_assert_int_eq(inlay_forward_explain(layer, &batch, fixture.out[0], DIM * sizeof(float), NULL, NULL, text,
                                           INLAY_PLAN_TEXT_BYTES),
                     INLAY_OK);
    ck_assert_int_eq(inlay_validate(&work, layer, &batch, "out", fixture.out[0], DIM * sizeof(float), NULL, NULL),
                     INLAY_OK);
    inlay_tuner_ask(layer->tuner, length * DIM * sizeof(float), false, false, &tuned);
    inlay_make_plan(&plan, &work, NULL, &tuned);
    return plan.positions.source == INLAY_POSITIONS_READ || length <= plan.positions.compute_tokens;
}

/* Without self-tuning a layer keeps its initial state, whatever calls came before. */
START_TEST(a_layer_that_learns_nothing_keeps_to_what_it_was_given)
{
    static const size_t lengths[] = {TOKENS, 1024, 256};
    char text[INLAY_PLAN_TEXT_BYTES];
    fixture.spec.self_tuning = INLAY_SELF_TUNING_OFF;
    for (int computes = 0; computes < 3; computes++) { /* 2: only of calls of another class */
        inlay_tuning_state state = {.size = sizeof state};
        for (int i = computes < 2 ? 3 : 0; i < (computes < 2 ? 6 : 1); i++) {
            state.samples[i] = 9;
            state.prefetch[i] = INLAY_PREFETCH_NONE;
            state.computes[i] = computes == 1;
        }
        fixture.spec.tuning_state = &state;
        inlay_layer *layer = make_layer_of(&fixture.spec);
        unsigned char before[sizeof layer->own_tuner];
        memcpy(before, &layer->own_tuner, sizeof before);
        for (size_t i = 0; i < 40 * 3; i++)
            forward(layer, 1, lengths[i / 40], fixture.out[0], NULL);
        EXPECT(memcmp(before, &layer->own_tuner, sizeof before) == 0, "case %d: calls have changed it", computes);
        for (size_t i = 0; i < 3; i++) {
            const bool reads = explain(layer, lengths[i], text);
            EXPECT(strstr(text, "timed") == NULL && strstr(text, "self-tuning picks") == NULL, "nothing is timed:\n%s",
                   text);
            const char *stores = strstr(text, "stores:"), *prefetch = strstr(text, "prefetch:");
            ck_assert(stores != NULL && prefetch != NULL);
            EXPECT(strstr(stores, "picked by self-tuning") == NULL ||
                       strstr(stores, "picked by self-tuning") > prefetch,
                   "no stores are known:\n%s", text);
            EXPECT((strstr(prefetch, "picked by self-tuning") != NULL) == (computes < 2), "case %d:\n%s", computes,
                   text);
            const bool says = strstr(text, "positions: read") != NULL;
            EXPECT(reads == says, "case %d, %zu tokens: %s", computes, lengths[i], text);
            EXPECT(computes == 2 || !tested->fma || reads == (computes == 0), "case %d: %s", computes, text);
        }
        inlay_layer_destroy(layer);
    }
    fixture.spec.tuning_state = NULL;
    fixture.spec.self_tuning = INLAY_SELF_TUNING_ON;
}
END_TEST

/* ---- Threads ---------------------------------------------------------------------------------------------------- */

enum { THREADS = 8 };

static inlay_layer *shared;

static void *call_many(void *out)
{
    for (int call = 0; call < 20; call++)
        forward(shared, 4, 256, out, NULL);
    return NULL;
}

static void in_order_backwards(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    (void)ctx;
    for (size_t i = count; i-- > 0;)
        task(arg, i);
}

/* Threads of one layer, each with its own output, and split calls. */
START_TEST(threads_learn_together)
{
    const size_t bytes = sizeof(float) * 1024 * DIM;
    const inlay_executor executor = {.run = in_order_backwards, .threads = THREADS};
    pthread_t threads[THREADS];
    float *outs[THREADS];
    shared = make_layer_of(&fixture.spec);
    fixture.spec.self_tuning = INLAY_SELF_TUNING_OFF;
    inlay_layer *off = make_layer_of(&fixture.spec);
    fixture.spec.self_tuning = INLAY_SELF_TUNING_ON;
    forward(off, 4, 256, fixture.out[0], NULL);
    for (int i = 0; i < THREADS; i++) {
        outs[i] = malloc(bytes);
        ck_assert_int_eq(pthread_create(&threads[i], NULL, call_many, outs[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        EXPECT(memcmp(outs[i], fixture.out[0], bytes) == 0, "thread %d has other bits", i);
        free(outs[i]);
    }
    for (int call = 0; call < 20; call++) {
        forward(shared, 4, 256, fixture.out[1], &executor);
        EXPECT(memcmp(fixture.out[1], fixture.out[0], bytes) == 0, "parts have other bits");
    }
    EXPECT(samples_of(shared) > 0, "nothing was learned");
    inlay_layer_destroy(shared);
    inlay_layer_destroy(off);
}
END_TEST

int main(int argc, char **argv)
{
    variable_set("INLAY_CPU", "unknown"); /* also tunes stores */
    return RUN_TESTS(argc, argv, "self_tuning", make_fixture, free_fixture, bits_stay_while_tuning, tunings_are_obeyed,
                     wide_rows_give_samples_of_both_sources, tuning_states_can_be_saved, tuning_states_can_be_passed_on,
                     the_environment_switches_it_off, explanations_show_what_was_tuned,
                     a_layer_that_learns_nothing_keeps_to_what_it_was_given, threads_learn_together);
}
