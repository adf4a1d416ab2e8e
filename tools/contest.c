/* SPDX-License-Identifier: MIT */
/*
 * The contests of contest.h. Contenders take turns, so that a change of the clock frequency or a noisy neighbour
 * affects all of them, and the shortest time counts, since noise only adds to it.
 */
#include "contest.h"

#include <stdlib.h>
#include <time.h>

#include "message.h"
#include "progress.h"

enum { ROUNDS_LEAST = 2, ROUNDS_MOST = 2000 };

static const double seconds_a_turn = 3e-4; /* far above the clock's grain */

/* ---- Memory ----------------------------------------------------------------------------------------------------- */

/* Returns floats that are all written, so that the system has provided their pages; null without memory. */
static float *make_floats(size_t bytes)
{
    float *floats = malloc(bytes);
    for (size_t i = 0; floats != NULL && i < bytes / sizeof *floats; i++)
        floats[i] = (float)(i % 1024) / 1024;
    return floats;
}

int arena_make(struct arena *arena, size_t largest)
{
    /* No larger: of larger tables short rows are prefetched whole, whatever l2_bytes says. */
    const size_t table_most = (size_t)128 << 20, least_dim = 256;
    arena->table_bytes = 2 * largest < table_most ? 2 * largest : table_most;
    arena->positions_bytes = largest / 4;
    arena->out_bytes = largest;
    arena->table = make_floats(arena->table_bytes);
    arena->positions = make_floats(arena->positions_bytes);
    arena->out = make_floats(arena->out_bytes);
    arena->ids = calloc(largest / sizeof(float) / least_dim, sizeof *arena->ids);
    const bool made = arena->table != NULL && arena->positions != NULL && arena->out != NULL && arena->ids != NULL;
    return made ? DONE : out_of_memory("measuring", (double)arena->table_bytes + 1.25 * (double)largest);
}

void arena_free(struct arena *arena)
{
    free(arena->table);
    free(arena->positions);
    free(arena->out);
    free(arena->ids);
}

/* Fills in ids at random over the whole vocabulary: sorted ones would flatter the prefetcher. */
static void draw_ids(int32_t *ids, size_t n, size_t vocab)
{
    uint64_t state = 1;
    for (size_t i = 0; i < n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        ids[i] = (int32_t)((state >> 33) % vocab);
    }
}

/* ---- Measuring -------------------------------------------------------------------------------------------------- */

struct contest {
    const struct arena *arena;
    const struct shape *shape;
    inlay_batch batch;
    inlay_sinusoid *sinusoid;
    inlay_layer *layers[CONTENDERS_MOST];
};

static int make_layers(struct contest *contest, const inlay_tuning *tunings, size_t n)
{
    const size_t dim = contest->shape->dim, row_bytes = dim * sizeof(float);
    const struct arena *arena = contest->arena;
    const inlay_table tokens = inlay_table_f32(arena->table, arena->table_bytes / row_bytes, dim);
    const inlay_table positions = inlay_table_f32(arena->positions, arena->positions_bytes / row_bytes, dim);
    const inlay_sinusoid_spec formula = inlay_sinusoid_spec_default(dim);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    if (contest->shape->sinusoid)
        TRY(check_status(inlay_sinusoid_create(&formula, NULL, &contest->sinusoid)));
    spec.scale = inlay_sqrt_dim(dim);
    spec.sinusoid = contest->sinusoid;
    spec.positions = contest->shape->sinusoid ? NULL : &positions;
    spec.cached_positions = contest->shape->length;
    for (size_t i = 0; i < n; i++) {
        spec.tuning = &tunings[i];
        TRY(check_status(inlay_layer_create(&spec, NULL, &contest->layers[i])));
    }
    draw_ids(arena->ids, contest->shape->sequences * contest->shape->length, tokens.rows);
    contest->batch = inlay_batch_i32(arena->ids, contest->shape->sequences, contest->shape->length, 0);
    return DONE;
}

/* Returns the time of this thread, whose clock stands still while the core runs something else. */
static double thread_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns the mean time of some calls, after one that is not measured. */
static double take_turn(const struct contest *contest, const inlay_layer *layer, int calls)
{
    const size_t row_bytes = contest->shape->dim * sizeof(float);
    inlay_forward(layer, &contest->batch, contest->arena->out, row_bytes, NULL, NULL);
    const double start = thread_seconds();
    for (int i = 0; i < calls; i++)
        inlay_forward(layer, &contest->batch, contest->arena->out, row_bytes, NULL, NULL);
    return (thread_seconds() - start) / calls;
}

static void run_rounds(const struct contest *contest, size_t n, double seconds, double *seconds_of)
{
    const double start = seconds_now();
    int calls = 1;
    while (calls < 1 << 20 && calls * take_turn(contest, contest->layers[0], calls) < seconds_a_turn)
        calls *= 2;
    for (size_t round = 0; round < ROUNDS_MOST; round++) {
        if (round >= ROUNDS_LEAST && seconds_now() - start >= seconds)
            break;
        for (size_t turn = 0; turn < n; turn++) {
            const size_t i = (round + turn) % n; /* a different one first each time */
            const double time = take_turn(contest, contest->layers[i], calls);
            if (round == 0 || time < seconds_of[i])
                seconds_of[i] = time;
        }
    }
}

int contest_run(const struct arena *arena, const struct shape *shape, const inlay_tuning *tunings, size_t n,
                double seconds, double *seconds_of)
{
    struct contest contest = {.arena = arena, .shape = shape};
    const int outcome = make_layers(&contest, tunings, n);
    if (outcome == DONE)
        run_rounds(&contest, n, seconds, seconds_of);
    for (size_t i = 0; i < n; i++)
        inlay_layer_destroy(contest.layers[i]);
    inlay_sinusoid_destroy(contest.sinusoid);
    return outcome;
}
