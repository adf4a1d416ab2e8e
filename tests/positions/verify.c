/* SPDX-License-Identifier: MIT */
/*
 * Checks that every entry is correctly rounded: draws specifications, calls and positions, and compares the library's
 * results with truth.c, bit by bit. It ends at the first entry that differs, and prints how to repeat it.
 *
 *     verify [ISA] [--entries N] [--seconds N] [--seed N] [--processes N] [--progress] [--case N]
 *
 * Work is divided into cases with separate random numbers, so a case can be repeated alone, for any number of
 * processes. `--seconds` ends the run early, but not before every recipe was tested: for emulated machines.
 */
#define _GNU_SOURCE
#include "support/support.h"
#include "support/system.h"
#include "support/truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CASE_ENTRIES = 2048, /* checked per case, approximately */
    MAX_DIM = 4096,
    MAX_ROWS = 2400, /* per call: more than the rows between two anchors from exact phases, plus a block */
    MAX_PAIRS = 16,  /* checked per case */
    MAX_JUDGED = 32, /* rows checked per call */
    RECIPES = 17,    /* 16 named ones, and the caller's frequencies with float angles */
    MIN_CASES = 72,
};

/* ---- Counters, shared by all processes --------------------------------------------------------------------------- */

enum kind { BLOCKS, INTEGERS, REALS, NEAREST, GIVEN, RECIPE, ROTARY, KINDS };
static const char *const kind_names[KINDS] = {"blocks",    "integers", "reals", "next to pi/2",
                                              "own freq.", "recipes",  "rotary"};

static struct tally {
    uint64_t next_case;
    uint64_t judged, far, misrounded;
    uint64_t by_kind[KINDS];
    uint64_t by_type[INLAY_BF16 + 1];
} * tally;

static void add(uint64_t *to, uint64_t n)
{
    __atomic_fetch_add(to, n, __ATOMIC_RELAXED);
}

static uint64_t get(const uint64_t *from)
{
    return __atomic_load_n(from, __ATOMIC_RELAXED);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

struct options {
    uint64_t entries, seed, only; /* only: SIZE_MAX for all cases */
    double seconds;
    int processes;
    bool progress;
};

/* ---- Random numbers ---------------------------------------------------------------------------------------------- */

/* Returns true with a probability of `percent`. */
static bool chance(struct random *random, unsigned percent)
{
    return random_below(random, 100) < percent;
}

/* Returns 2^low to 2^high, uniform in the exponent. */
static double log_uniform(struct random *random, int low, int high)
{
    int exponent = low + (int)random_below(random, (uint64_t)(high - low));
    return ldexp(1 + random_unit(random), exponent);
}

/* Returns an odd multiple of half a unit in the last place of some type: the midpoint of two numbers. */
static double middle(struct random *random, int low, int high)
{
    static const int digits[] = {24, 11, 8};
    int bits = digits[random_below(random, 3)];
    double significand = 1 + (double)(2 * random_below(random, UINT64_C(1) << (bits - 1)) + 1) * ldexp(1, -bits);
    return ldexp(significand, low + (int)random_below(random, (uint64_t)(high - low)));
}

/* ---- Specifications ---------------------------------------------------------------------------------------------- */

/* The subject of a case: a spec, its handle, and some of its pairs with known truth. */
struct subject {
    inlay_sinusoid_spec spec;
    inlay_sinusoid *handle;
    double *inv_freq;
    size_t pairs;
    struct truth truth[MAX_PAIRS];
    size_t truths;
};

static size_t draw_dim(struct random *random)
{
    static const size_t usual[] = {64, 128, 256, 320, 512, 768, 1024, 2048, 4096};
    static const size_t most[] = {32, 600, MAX_DIM};
    uint64_t kind = random_below(random, 4);
    return kind == 3 ? usual[random_below(random, sizeof usual / sizeof *usual)] : 1 + random_below(random, most[kind]);
}

static double draw_base(struct random *random)
{
    static const double usual[] = {1, 2, 1e3, 1e4, 1e4, 5e5, 1e6, 1e30};
    if (chance(random, 60))
        return usual[random_below(random, sizeof usual / sizeof *usual)];
    if (chance(random, 25)) /* frequencies of powers of two don't end in zeros */
        return ldexp(1, (int)random_below(random, 100));
    return fmin(1e30, pow(10, 30 * random_unit(random)));
}

static double draw_amplitude(struct random *random, size_t dim)
{
    uint64_t kind = random_below(random, 20);
    if (kind == 0)
        return fmax(0x1p-20, fmin(0x1p10, sqrt(2 / (double)dim)));
    if (kind == 1)
        return log_uniform(random, -20, 10);
    if (kind == 2)
        return ldexp(1, (int)random_below(random, 31) - 20);
    return kind < 5 ? middle(random, -20, 10) : 1;
}

static double draw_frequency(struct random *random)
{
    static const double special[] = {0, 1e-40, 0x1p31, 1, 0x1p-149, 5e-324, 1e-300, 0x1.fffffffffffffp30, 0.5};
    uint64_t kind = random_below(random, 6);
    if (kind == 0)
        return special[random_below(random, sizeof special / sizeof *special)];
    if (kind == 1)
        return log_uniform(random, -60, 31);
    if (kind == 2)
        return ldexp((double)random_below(random, 1 << 20), -(int)random_below(random, 60));
    return kind == 3 ? middle(random, -160, 31) : pow(10000, -random_unit(random));
}

/* Draws the layout and similar options; for a recipe, often its defaults. */
static void draw_columns(inlay_sinusoid_spec *spec, struct random *random)
{
    spec->layout = (inlay_sinusoid_layout)(INLAY_SINUSOID_LAYOUT_INTERLEAVED + random_below(random, 3));
    spec->spacing = chance(random, 70) ? INLAY_SINUSOID_SPACING_DIM : INLAY_SINUSOID_SPACING_HALF;
    spec->shift = (uint32_t)random_below(random, 2);
    spec->odd = (inlay_sinusoid_odd)(INLAY_SINUSOID_ODD_FORMULA + random_below(random, 3));
    spec->amplitude = draw_amplitude(random, spec->dim);
}

/*
 * Recipes take turns; 0 means the caller's frequencies with float angles. First each with its usual options, at a dim
 * that is not a power of two; then at dims that are edge cases of formulas with dim - 1 and the like; then at random.
 */
static inlay_sinusoid_spec draw_recipe(struct random *random, unsigned turn)
{
    unsigned recipe = turn % RECIPES, round = turn / RECIPES;
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_recipe((inlay_recipe)recipe, round == 0 ? 576 : draw_dim(random));
    if (spec.amplitude != truth_amplitude(spec.recipe, spec.dim)) {
        printf("the amplitude of recipe %u, dim %zu, is %a\n", recipe, spec.dim, spec.amplitude);
        exit(EXIT_FAILURE);
    }
    if (round > 0 && chance(random, 50))
        draw_columns(&spec, random);
    if (round > 0 && chance(random, 70))
        spec.base = draw_base(random);
    if (round >= 1 && round <= 3) {
        spec.dim = round;
        spec.odd = INLAY_SINUSOID_ODD_FORMULA;
    }
    if (spec.odd == INLAY_SINUSOID_ODD_ERROR)
        spec.dim += spec.dim % 2;
    spec.float_angles = recipe == 0;
    return spec;
}

/* Of eight cases, five are exact by base, one uses the caller's frequencies, and two are recipes, which take turns. */
static void draw_subject(struct subject *subject, struct random *random, uint64_t number)
{
    unsigned turn = number % 8;
    bool recipe = turn == 5 || turn == 7;
    if (recipe) {
        subject->spec = draw_recipe(random, (unsigned)(number / 8 * 2 + (turn == 7)));
    } else {
        subject->spec = inlay_sinusoid_spec_default(draw_dim(random));
        draw_columns(&subject->spec, random);
        subject->spec.base = draw_base(random);
    }
    subject->pairs = (subject->spec.dim + (subject->spec.odd == INLAY_SINUSOID_ODD_FORMULA)) / 2;
    subject->inv_freq = NULL;
    if (turn == 3 || subject->spec.float_angles) {
        subject->spec.inv_freq = subject->inv_freq = malloc((subject->pairs + 1) * sizeof *subject->inv_freq);
        for (size_t i = 0; i < subject->pairs; i++)
            subject->inv_freq[i] = draw_frequency(random);
    }
    inlay_status status = inlay_sinusoid_create(&subject->spec, NULL, &subject->handle);
    if (status != INLAY_OK) {
        printf("case %ju: %s\n", (uintmax_t)number, inlay_status_string(status));
        exit(EXIT_FAILURE);
    }
}

/* Draws the first pair, the last, and some in between. */
static void draw_truths(struct subject *subject, struct random *random)
{
    size_t pairs = subject->pairs, n = pairs < MAX_PAIRS ? pairs : MAX_PAIRS;
    for (size_t i = 0; i < n; i++) {
        size_t pair = i;
        if (n < pairs && i > 0) {
            size_t begin = i * pairs / n, end = (i + 1) * pairs / n;
            pair = i == n - 1 ? pairs - 1 : begin + random_below(random, end - begin);
        }
        truth_init(&subject->truth[i], &subject->spec, pair);
    }
    subject->truths = n;
}

static void free_subject(struct subject *subject)
{
    for (size_t i = 0; i < subject->truths; i++)
        truth_clear(&subject->truth[i]);
    inlay_sinusoid_destroy(subject->handle);
    free(subject->inv_freq);
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

/* A call: rows of consecutive positions, of a list, or of two rotary tables; and the rows to check. */
struct call {
    enum kind kind;
    inlay_element_type type;
    size_t n;
    int64_t first;
    inlay_position_type list_type; /* 0: none */
    union {
        int64_t i64[MAX_ROWS];
        float f32[MAX_ROWS];
        double f64[MAX_ROWS];
    } list;
    inlay_rotary_layout rotary; /* 0: not rotary */
    size_t row_elements, stride_bytes, offset;
    size_t judged, row[MAX_JUDGED];
};

/* Returns how many rows take no longer to compute than to check; scalar takes half a microsecond per pair. Some calls
   are larger, to be streamed. */
static size_t max_rows(const struct subject *subject, struct random *random)
{
    size_t work = tested == &inlay_kernels_scalar ? 4096 : chance(random, 12) ? 1 << 21 : 1 << 18;
    size_t rows = work / (subject->pairs + 1);
    return rows < 6 ? 6 : rows < MAX_ROWS ? rows : MAX_ROWS;
}

/* 0 <= position <= last; nearly half of them above 2^24. */
static int64_t draw_position(struct random *random, int64_t last)
{
    const uint64_t near = UINT64_C(1) << 24;
    uint64_t kind = random_below(random, 20);
    if (kind < 9)
        return (int64_t)(near + random_below(random, (uint64_t)last - near + 1));
    if (kind < 13)
        return (int64_t)random_below(random, 1 << 17);
    if (kind < 17)
        return (int64_t)(random_bits(random) >> (33 + random_below(random, 31))) % (last + 1);
    return kind < 18 ? 0 : kind < 19 ? last : (int64_t)((UINT64_C(1) << random_below(random, 31)) - 1);
}

static double draw_real(struct random *random, const struct subject *subject, int smallest)
{
    static const double special[] = {0, -0.0, 0x1p-149, 0x1p-1074, 1e-40, 0x1.fffffep30, 1, 0.5};
    double sign = chance(random, 50) ? -1 : 1;
    uint64_t kind = random_below(random, 100);
    if (kind < 40)
        return sign * (0x1p24 + random_unit(random) * (0x1.fffffep30 - 0x1p24));
    if (kind < 60)
        return sign * 1000 * random_unit(random);
    if (kind < 75 && subject->truths > 0) {
        const struct truth *truth = &subject->truth[random_below(random, subject->truths)];
        return truth_position_of(truth, sign * (double)random_below(random, 1 << 20));
    }
    if (kind < 80)
        return sign * middle(random, -160, 30);
    if (kind < 83)
        return special[random_below(random, sizeof special / sizeof *special)];
    if (kind < 90)
        return sign * log_uniform(random, smallest, 31) / 2;
    return sign * log_uniform(random, -30, 30);
}

static void draw_list(struct call *call, const struct subject *subject, struct random *random)
{
    bool whole = chance(random, 50);
    call->kind = whole ? INTEGERS : REALS;
    call->list_type = whole ? INLAY_POSITION_I64 : chance(random, 50) ? INLAY_POSITION_F32 : INLAY_POSITION_F64;
    size_t most = max_rows(subject, random);
    call->n = 1 + random_below(random, most < 2 * MAX_JUDGED ? most : 2 * MAX_JUDGED);
    for (size_t i = 0; i < call->n; i++)
        if (call->list_type == INLAY_POSITION_I64)
            call->list.i64[i] = draw_position(random, INLAY_POSITION_LIMIT - 1) * (chance(random, 50) ? 1 : -1);
        else if (call->list_type == INLAY_POSITION_F32)
            call->list.f32[i] = (float)draw_real(random, subject, -148);
        else
            call->list.f64[i] = draw_real(random, subject, -1073);
}

static void draw_block(struct call *call, const struct subject *subject, struct random *random)
{
    call->kind = BLOCKS;
    call->n = 1 + random_below(random, max_rows(subject, random));
    call->first = draw_position(random, INLAY_POSITION_LIMIT - (int64_t)call->n);
    if (subject->spec.dim % 2 == 0 && chance(random, 20)) {
        call->kind = ROTARY;
        call->rotary = (inlay_rotary_layout)(INLAY_ROTARY_PAIRS + random_below(random, 3));
    }
}

/* Chooses rows to check, spread over the call. */
static void choose_rows(struct call *call, struct random *random)
{
    size_t n = call->n, judged = n < MAX_JUDGED ? n : MAX_JUDGED;
    for (size_t i = 0; i < judged; i++) {
        size_t begin = i * n / judged, end = (i + 1) * n / judged;
        call->row[i] = begin + random_below(random, end - begin);
    }
    call->judged = judged;
}

/*
 * Draws the five positions around one where a pair's angle is closest to a multiple of pi/2, at any depth of a block or
 * in a list. Returns false if the pair has none.
 */
static bool draw_nearest(struct call *call, const struct subject *subject, struct random *random)
{
    uint32_t nearest[3];
    size_t found = truth_nearest(&subject->truth[random_below(random, subject->truths)], nearest, 3);
    if (found == 0)
        return false;
    int64_t position = nearest[chance(random, 60) ? found - 1 : random_below(random, found)];
    int64_t first = position - 2 > 0 ? position - 2 : 0;
    int64_t last = position + 2 < INLAY_POSITION_LIMIT ? position + 2 : INLAY_POSITION_LIMIT - 1;
    size_t around = (size_t)(last - first + 1);
    call->kind = NEAREST;
    call->n = around;
    if (chance(random, 20)) {
        call->list_type = INLAY_POSITION_I64;
        for (size_t i = 0; i < around; i++)
            call->list.i64[i] = first + (int64_t)i;
    } else {
        uint64_t depth = random_below(random, max_rows(subject, random) - around + 1);
        depth = depth < (uint64_t)first ? depth : (uint64_t)first;
        call->first = first - (int64_t)depth;
        call->n += depth;
    }
    choose_rows(call, random);
    for (size_t i = 0; i < around; i++) /* always check these */
        call->row[i < call->judged ? call->judged - 1 - i : i] = call->n - 1 - i;
    return true;
}

static void draw_call(struct call *call, const struct subject *subject, struct random *random)
{
    call->list_type = (inlay_position_type)0;
    call->rotary = (inlay_rotary_layout)0;
    call->first = 0;
    bool exact = subject->truths > 0 && !subject->truth[0].floats;
    if (!exact || !chance(random, 25) || !draw_nearest(call, subject, random)) {
        if (chance(random, 50))
            draw_list(call, subject, random);
        else
            draw_block(call, subject, random);
        choose_rows(call, random);
    }
    if (subject->spec.recipe != INLAY_RECIPE_EXACT)
        call->kind = RECIPE;
    else if (subject->spec.inv_freq != NULL)
        call->kind = GIVEN;
    call->type = chance(random, 60) ? INLAY_F32 : chance(random, 50) ? INLAY_F16 : INLAY_BF16;
    size_t element = call->type == INLAY_F32 ? 4 : 2;
    call->row_elements = call->rotary == INLAY_ROTARY_PAIRS ? subject->pairs : subject->spec.dim;
    call->stride_bytes = call->row_elements * element;
    call->offset = 0;
    if (chance(random, 50)) /* aligned to cache lines, so rows may be streamed */
        call->stride_bytes = (call->stride_bytes + 63) / 64 * 64;
    else if (chance(random, 50))
        call->offset = random_below(random, 64), call->stride_bytes += random_below(random, 64);
}

static double position_of(const struct call *call, size_t row)
{
    switch (call->list_type) {
    case INLAY_POSITION_I64:
        return (double)call->list.i64[row];
    case INLAY_POSITION_F32:
        return call->list.f32[row];
    case INLAY_POSITION_F64:
        return call->list.f64[row];
    }
    return (double)(call->first + (int64_t)row);
}

/* ---- Judging ----------------------------------------------------------------------------------------------------- */

/* Output memory: enough for the largest call, twice for rotary tables. */
static unsigned char *out[2];

static void make_room(void)
{
    for (int i = 0; i < 2; i++) {
        unsigned char *memory = malloc(64 + MAX_ROWS * (MAX_DIM * sizeof(float) + 64) + 128);
        if (memory == NULL)
            exit(EXIT_FAILURE);
        out[i] = memory + -(uintptr_t)memory % 64;
    }
}

static inlay_status run(const struct subject *subject, const struct call *call)
{
    unsigned char *to = out[0] + call->offset;
    if (call->rotary != 0)
        return inlay_rotary_rows(subject->handle, call->first, call->n, call->type, call->rotary, to,
                                 out[1] + call->offset, call->stride_bytes, NULL);
    if (call->list_type != 0)
        return inlay_sinusoid_at(subject->handle, &call->list, call->list_type, call->n, call->type, to,
                                 call->stride_bytes, NULL, NULL);
    return inlay_sinusoid_rows(subject->handle, call->first, call->n, call->type, to, call->stride_bytes, NULL);
}

static void report(const struct subject *subject, const struct call *call, size_t row, const char *what, size_t pair,
                   size_t column, uint32_t found, uint32_t expected, uint64_t number, uint64_t seed)
{
    static const char *const lists[] = {"rows", "at, i64", "at, f32", "at, f64"};
    const inlay_sinusoid_spec *spec = &subject->spec;
    add(&tally->misrounded, 1);
    printf("\nMISROUNDED on %s: %s of pair %zu at position %.17g (%a), column %zu: found 0x%0*x, expected 0x%0*x\n",
           tested->name, what, pair, position_of(call, row), position_of(call, row), column,
           call->type == INLAY_F32 ? 8 : 4, found, call->type == INLAY_F32 ? 8 : 4, expected);
    printf("  spec: recipe %s, dim %zu, base %.17g (%a), layout %d, spacing %d, shift %u, odd %d, float_angles %u,\n"
           "        amplitude %.17g (%a)",
           inlay_recipe_name(spec->recipe), spec->dim, spec->base, spec->base, (int)spec->layout, (int)spec->spacing,
           spec->shift, (int)spec->odd, spec->float_angles, spec->amplitude, spec->amplitude);
    if (spec->inv_freq != NULL && pair < subject->pairs)
        printf(", inv_freq[%zu] %.17g (%a)", pair, spec->inv_freq[pair], spec->inv_freq[pair]);
    printf("\n  call: %s%s, type %s, row %zu of %zu, first %jd, rotary layout %d, stride_bytes %zu, offset %zu\n",
           lists[call->list_type], call->rotary != 0 ? ", rotary" : "", inlay_element_type_name(call->type, 0), row,
           call->n, (intmax_t)call->first, (int)call->rotary, call->stride_bytes, call->offset);
    printf("  again: verify %s --seed %ju --case %ju\n", tested->name, (uintmax_t)seed, (uintmax_t)number);
    fflush(stdout);
}

/* State of the check, and its result. */
struct judge {
    const struct subject *subject;
    const struct call *call;
    uint64_t number, seed;
    uint64_t judged, far;
    bool fails;
};

static void judge_entry(struct judge *judge, int table, size_t row, size_t column, size_t pair, const char *what,
                        uint32_t expected)
{
    const struct call *call = judge->call;
    const unsigned char *at = out[table] + call->offset + row * call->stride_bytes;
    uint32_t found = 0;
    uint16_t narrow;
    if (call->type == INLAY_F32) {
        memcpy(&found, at + column * sizeof found, sizeof found);
    } else {
        memcpy(&narrow, at + column * sizeof narrow, sizeof narrow);
        found = narrow;
    }
    judge->judged++;
    judge->far += fabs(position_of(call, row)) > 0x1p24;
    if (found != expected && !judge->fails) {
        judge->fails = true;
        report(judge->subject, call, row, what, pair, column, found, expected, judge->number, judge->seed);
    }
}

/* Finds the column of a pair's sine or cosine; returns false if an odd dim has none. */
static bool column_of(const inlay_sinusoid_spec *spec, size_t pairs, size_t pair, bool cosine, size_t *column)
{
    bool second = cosine != (spec->layout == INLAY_SINUSOID_LAYOUT_SPLIT_COS_FIRST);
    *column = spec->layout == INLAY_SINUSOID_LAYOUT_INTERLEAVED ? 2 * pair + second : pair + second * pairs;
    return *column < spec->dim;
}

static void judge_rotary(struct judge *judge, size_t row, size_t pair, struct truth_entries expected)
{
    size_t column[2] = {pair, pair + judge->subject->pairs};
    if (judge->call->rotary == INLAY_ROTARY_INTERLEAVED)
        column[0] = 2 * pair, column[1] = 2 * pair + 1;
    for (int i = 0; i < (judge->call->rotary == INLAY_ROTARY_PAIRS ? 1 : 2); i++) {
        judge_entry(judge, 0, row, column[i], pair, "cosine", expected.cos);
        judge_entry(judge, 1, row, column[i], pair, "sine", expected.sin);
    }
}

/* Checks the extra column of an odd dim. */
static void judge_last(struct judge *judge, size_t row)
{
    const struct subject *subject = judge->subject;
    uint32_t expected = 0;
    if (subject->spec.dim % 2 == 0 || subject->spec.odd == INLAY_SINUSOID_ODD_FORMULA)
        return;
    if (subject->spec.odd == INLAY_SINUSOID_ODD_WRAP && subject->pairs > 0)
        expected = truth_at(&subject->truth[0], position_of(judge->call, row), judge->call->type).cos;
    judge_entry(judge, 0, row, subject->spec.dim - 1, 0, "last column", expected);
}

static void judge_row(struct judge *judge, size_t row)
{
    const struct subject *subject = judge->subject;
    for (size_t i = 0; i < subject->truths; i++) {
        const struct truth *truth = &subject->truth[i];
        struct truth_entries expected = truth_at(truth, position_of(judge->call, row), judge->call->type);
        size_t column;
        if (judge->call->rotary != 0) {
            judge_rotary(judge, row, truth->pair, expected);
            continue;
        }
        if (column_of(&subject->spec, subject->pairs, truth->pair, false, &column))
            judge_entry(judge, 0, row, column, truth->pair, "sine", expected.sin);
        if (column_of(&subject->spec, subject->pairs, truth->pair, true, &column))
            judge_entry(judge, 0, row, column, truth->pair, "cosine", expected.cos);
    }
    judge_last(judge, row);
}

static bool run_case(uint64_t number, uint64_t seed)
{
    static struct call call;
    struct random random = {seed ^ (number + 1) * UINT64_C(0xd1342543de82ef95)};
    struct subject subject;
    draw_subject(&subject, &random, number);
    draw_truths(&subject, &random);
    struct judge judge = {.subject = &subject, .call = &call, .number = number, .seed = seed};
    for (uint64_t total = 0; total < CASE_ENTRIES && !judge.fails; total += judge.judged) {
        draw_call(&call, &subject, &random);
        inlay_status status = run(&subject, &call);
        if (status != INLAY_OK) {
            printf("case %ju: %s\n", (uintmax_t)number, inlay_status_string(status));
            exit(EXIT_FAILURE);
        }
        judge.judged = judge.far = 0;
        for (size_t i = 0; i < call.judged; i++)
            judge_row(&judge, call.row[i]);
        add(&tally->judged, judge.judged);
        add(&tally->far, judge.far);
        add(&tally->by_kind[call.kind], judge.judged);
        add(&tally->by_type[call.type], judge.judged);
    }
    free_subject(&subject);
    return !judge.fails;
}

/* ---- The run ----------------------------------------------------------------------------------------------------- */

struct run {
    const struct options *options;
    double begin, said;
};

static bool work(void *arg)
{
    const struct run *run = arg;
    const struct options *options = run->options;
    make_room();
    uint64_t wanted = options->entries / CASE_ENTRIES, cases = wanted > MIN_CASES ? wanted : MIN_CASES;
    while (get(&tally->misrounded) == 0) {
        uint64_t number = __atomic_fetch_add(&tally->next_case, 1, __ATOMIC_RELAXED);
        if (number >= cases || (number >= MIN_CASES && now() - run->begin > options->seconds))
            break;
        if (!run_case(number, options->seed))
            return false;
    }
    return true;
}

static void print_progress(const struct options *options, double begin)
{
    double judged = (double)get(&tally->judged), rate = judged / (now() - begin);
    double left = ((double)options->entries - judged) / rate;
    fprintf(stderr, "\r%.4g entries, %ju misrounded, %.3g/s, %.0f s left;", judged, (uintmax_t)get(&tally->misrounded),
            rate, left > 0 && judged > 0 ? left : 0);
    for (int kind = 0; kind < KINDS; kind++)
        fprintf(stderr, " %s %.0f%%", kind_names[kind], 100 * (double)get(&tally->by_kind[kind]) / judged);
    fprintf(stderr, "   ");
}

static void print_result(double begin)
{
    double judged = (double)tally->judged, seconds = now() - begin;
    printf("of these");
    for (int kind = 0; kind < KINDS; kind++)
        printf("%s %s %.1f %%", kind > 0 ? "," : "", kind_names[kind], 100 * (double)tally->by_kind[kind] / judged);
    printf("; f32 %.1f %%, f16 %.1f %%, bf16 %.1f %%; above 2^24 %.1f %%\n",
           100 * (double)tally->by_type[INLAY_F32] / judged, 100 * (double)tally->by_type[INLAY_F16] / judged,
           100 * (double)tally->by_type[INLAY_BF16] / judged, 100 * (double)tally->far / judged);
    printf("%ju entries judged in %.1f s, %.3g/s, %ju misrounded\n", (uintmax_t)tally->judged, seconds,
           judged / seconds, (uintmax_t)tally->misrounded);
}

static void watch(void *arg, bool died)
{
    struct run *run = arg;
    if (died)
        add(&tally->misrounded, 1); /* the others stop too */
    if (run->options->progress && now() - run->said > 1) {
        print_progress(run->options, run->begin);
        run->said = now();
    }
}

static bool run_all(const struct options *options)
{
    struct run run = {options, now(), now()};
    bool well = run_processes(options->processes, work, watch, &run) && tally->misrounded == 0;
    if (options->progress)
        fprintf(stderr, "\n");
    print_result(run.begin);
    printf("checks on %s: %ju comparisons in 1 tests, %d failed\n", tested->name, (uintmax_t)tally->judged, !well);
    return well;
}

static bool take_option(struct options *options, const char *name, const char *value)
{
    if (value == NULL)
        return false;
    double number = strtod(value, NULL);
    if (strcmp(name, "--entries") == 0)
        options->entries = (uint64_t)number;
    else if (strcmp(name, "--seconds") == 0)
        options->seconds = number;
    else if (strcmp(name, "--seed") == 0)
        options->seed = strtoull(value, NULL, 0);
    else if (strcmp(name, "--processes") == 0)
        options->processes = (int)number;
    else if (strcmp(name, "--case") == 0)
        options->only = strtoull(value, NULL, 0);
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    struct options options = {1000000, 1, UINT64_MAX, 1e9, 1, errors_are_watched()};
    const char *isa = NULL;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-')
            isa = argv[i];
        else if (strcmp(argv[i], "--progress") == 0)
            options.progress = true;
        else if (take_option(&options, argv[i], argv[i + 1]))
            i++;
        else {
            fprintf(stderr, "verify: no option '%s', or no value for it\n", argv[i]);
            return 2;
        }
    }
    if (!test_isa(isa))
        return EXIT_SKIP;
    tally = memory_shared(sizeof *tally);
    if (options.only != UINT64_MAX) {
        make_room();
        return run_case(options.only, options.seed) ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    return run_all(&options) ? EXIT_SUCCESS : EXIT_FAILURE;
}
