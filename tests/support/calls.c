/* SPDX-License-Identifier: MIT */
/* Implements calls.h. */
#include "calls.h"

#include "reference.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef SANITIZED
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

/* ---- Choices ---- */

uint64_t choose(struct source *source, uint64_t n)
{
    if (source->at == NULL)
        return random_below(&source->random, n);
    uint64_t value = 0;
    for (uint64_t most = n - 1; most > 0; most >>= 8)
        value = value << 8 | (source->at < source->end ? *source->at++ : 0);
    return value % n;
}

bool one_in(struct source *source, uint64_t n)
{
    return choose(source, n) == n - 1;
}

static bool half(struct source *source)
{
    return one_in(source, 2);
}

/* ---- Memory ---- */

enum { MAX_EXTENTS = 8 };
enum {
    SCALES = SEGMENTS + 1,
    ZERO_POINTS,
    IDS,
    POSITION_IDS,
    SEGMENT_IDS,
    STARTS,
    OFFSETS,
    WEIGHTS,
    MAPPING,
    TOKEN_WEIGHTS,
    GAMMA,
    BETA,
    EXTENT_DATA,
    EXTENT_SCALES = EXTENT_DATA + MAX_EXTENTS,
    EXTENT_ZEROS = EXTENT_SCALES + MAX_EXTENTS,
    ARENAS = EXTENT_ZEROS + MAX_EXTENTS
};
enum { SMALL_BYTES = 24576 };

static struct arena inputs[ARENAS], outputs, expectations;

/* The extents of all tables of a call, each in its own arenas. */
static inlay_table_extent extents[MAX_EXTENTS];
static size_t extents_drawn;

void calls_prepare(const struct call_sizes *sizes)
{
    for (int i = 0; i < ARENAS; i++)
        inputs[i] = arena_make(i <= SCALES || i >= EXTENT_DATA ? MAX_TABLE_ROWS * (sizes->max_dim * sizeof(float) + 8)
                                                               : SMALL_BYTES);
    outputs = arena_make(sizes->out_bytes + 100);
    expectations = arena_make(sizes->out_bytes + 100);
}

/* Returns space for an array, adjacent to the guard page before or after it. The rest of the arena is poisoned. */
static unsigned char *place(struct source *source, int which, size_t bytes)
{
    const struct arena *arena = &inputs[which];
    unsigned char *at = half(source) ? arena->begin : arena->end - bytes;
    ASAN_POISON_MEMORY_REGION(arena->begin, arena->end - arena->begin);
    ASAN_UNPOISON_MEMORY_REGION(at, bytes);
    return at;
}

static unsigned char *draw_floats(struct source *source, int which, size_t n)
{
    unsigned char *floats = place(source, which, n * sizeof(float));
    random_rows(&source->random, floats, 1, n, 0);
    return floats;
}

static unsigned char *draw_noise(struct source *source, int which, size_t bytes)
{
    unsigned char *noise = place(source, which, bytes);
    for (size_t i = 0; i < bytes; i++)
        noise[i] = (unsigned char)random_bits(&source->random);
    return noise;
}

/* ---- The layer ---- */

/* Draws the arrays of a view's rows in these arenas. */
static void draw_arrays(struct source *source, inlay_table *table, bool scaled, bool zeros, const int which[3])
{
    const size_t groups = table->group > 0 ? groups_of(table->dim, table->group) : 1;
    const size_t scale_bytes = table->rows * row_scale_bytes(table->type, table->dim, table->group);
    const size_t bytes = (table->rows - 1) * table->stride_bytes + inlay_table_row_bytes(table->type, table->dim);
    if (table->type != INLAY_F32) {
        table->data = draw_noise(source, which[0], bytes);
    } else {
        unsigned char *data = place(source, which[0], bytes);
        random_rows(&source->random, data, table->rows, table->dim, table->stride_bytes);
        table->data = data;
    }
    if (scaled)
        table->scales = table->type == INLAY_E4M3_E8M0 ? draw_noise(source, which[1], scale_bytes)
                                                       : draw_floats(source, which[1], scale_bytes / sizeof(float));
    if (zeros)
        table->zeros = draw_noise(source, which[2], zero_bytes(table->type, table->rows, groups));
}

/* Splits the rows of a table into as many extents as allowed, of equal or different lengths. */
static inlay_table draw_extents(struct source *source, const inlay_table *table, bool scaled, bool zeros)
{
    const size_t most = MAX_EXTENTS - extents_drawn, min_rows = (table->rows + most - 1) / most;
    const bool equal = half(source);
    inlay_table_extent *const first = &extents[extents_drawn];
    const size_t rows_each = min_rows + choose(source, table->rows - min_rows + 1);
    size_t count = 0;
    for (size_t row = 0; row < table->rows; count++) {
        const size_t left = table->rows - row;
        inlay_table part = *table;
        part.rows = equal ? rows_each : 1 + choose(source, left);
        if (part.rows > left || count + 1 == most)
            part.rows = left;
        const int at = (int)extents_drawn++;
        draw_arrays(source, &part, scaled, zeros,
                    (const int[]){EXTENT_DATA + at, EXTENT_SCALES + at, EXTENT_ZEROS + at});
        first[count] = (inlay_table_extent){part.data, part.scales, part.zeros, row};
        row += part.rows;
    }
    return inlay_table_from_extents(*table, first, count, equal ? rows_each : 0);
}

inlay_table draw_table(struct source *source, enum table_place which, size_t rows, size_t dim, bool any_type,
                       bool arrays)
{
    inlay_element_type type = INLAY_F32;
    if (any_type)
        type = (inlay_element_type)(1 + choose(source, INLAY_ELEMENT_TYPES - 1));
    bool grouped = is_grouped(type), scaled = row_scale_bytes(type, 32, 32) > 0, zeros;
    uint32_t group = grouped ? chosen_group(type, choose(source, 12)) : 0;
    if (inlay_table_row_bytes(type, dim) == 0 || (scaled && !arrays)) {
        type = INLAY_F16;
        grouped = scaled = false;
    }
    size_t row_bytes = inlay_table_row_bytes(type, dim);
    size_t stride = row_bytes + (one_in(source, 3) ? choose(source, 9) : 0);
    inlay_table table = inlay_table_view(type, NULL, rows, dim, stride);
    table.group = grouped ? group : 0;
    if (rows == 0)
        return table;
    zeros = has_zeros(type) && half(source);
    scaled = scaled && !(scales_are_optional(type) && half(source));
    if (extents_drawn < MAX_EXTENTS && one_in(source, 4))
        return draw_extents(source, &table, scaled, zeros);
    draw_arrays(source, &table, scaled, zeros, (const int[]){(int)which, SCALES, ZERO_POINTS});
    return table;
}

static void draw_position_rows(struct call *call, struct source *source, size_t dim)
{
    inlay_layer_spec *spec = &call->spec;
    uint64_t kind = choose(source, 5);
    if (kind >= 3) {
        size_t rows = one_in(source, 16) ? 0 : 1 + choose(source, MAX_TABLE_ROWS);
        call->positions = draw_table(source, POSITIONS, rows, dim, one_in(source, 3), false);
        spec->positions = &call->positions;
        spec->clamp_positions = one_in(source, 3);
    } else if (kind >= 1 && (spec->out_type == INLAY_F32 || dim <= 4096)) {
        const uint64_t variant = choose(source, 12); /* MLX's recipe has an amplitude */
        inlay_sinusoid_spec formula =
            inlay_sinusoid_spec_recipe(variant < 3 ? INLAY_RECIPE_MLX : INLAY_RECIPE_EXACT, dim);
        formula.layout = (inlay_sinusoid_layout)(1 + variant % 3);
        formula.odd = (inlay_sinusoid_odd)(INLAY_SINUSOID_ODD_FORMULA + variant / 3 % 3);
        call->sinusoid = make_sinusoid_of(&formula);
        spec->sinusoid = call->sinusoid;
        spec->cached_positions = one_in(source, 3) ? 0 : choose(source, 40);
        if (one_in(source, 50))
            spec->cached_positions = dim < 20 ? INLAY_CACHED_POSITIONS_DEFAULT : 100;
    }
}

static void draw_norm(struct call *call, struct source *source, size_t dim)
{
    inlay_layer_spec *spec = &call->spec;
    spec->norm = (inlay_norm)(1 + choose(source, 3));
    spec->epsilon = half(source) ? 1e-5f : 0;
    if (half(source))
        spec->gamma = draw_floats(source, GAMMA, dim);
    if (spec->norm == INLAY_NORM_LAYER && half(source))
        spec->beta = draw_floats(source, BETA, dim);
}

static void draw_tuning(struct call *call, struct source *source)
{
    inlay_tuning *tuning = &call->tuning;
    *tuning = inlay_tuning_default();
    call->spec.tuning = half(source) ? tuning : NULL;
    if (one_in(source, 3))
        tuning->compute_bytes = 0;
    if (one_in(source, 3))
        tuning->block_bytes = choose(source, 40000);
    tuning->prefetch = (inlay_prefetch)choose(source, INLAY_PREFETCH_L2_BLOCKS + 1);
}

/* Draws a mapping of ids to rows of the vocabulary, and returns the number of ids. */
static size_t draw_mapping(inlay_layer_spec *spec, struct source *source, size_t vocab)
{
    const size_t length = 1 + choose(source, 2 * MAX_TABLE_ROWS);
    spec->token_mapping_type = (inlay_id_type)(1 + choose(source, 6));
    unsigned char *mapping = place(source, MAPPING, length * reference_id_bytes(spec->token_mapping_type));
    for (size_t i = 0; i < length; i++)
        reference_put_id(mapping, spec->token_mapping_type, i, (int64_t)random_below(&source->random, vocab));
    spec->token_mapping = mapping;
    spec->token_mapping_length = length;
    return length;
}

/* Takes the rows of some ids: of one id if that makes calls fail. */
static void prune_mapping(const inlay_layer_spec *spec, struct source *source)
{
    unsigned char *mapping = (unsigned char *)(uintptr_t)spec->token_mapping;
    const size_t length = spec->token_mapping_length;
    const bool fails = spec->bad_id == INLAY_BAD_ID_ERROR;
    const bool substitutes = spec->bad_id == INLAY_BAD_ID_SUBSTITUTE;
    for (size_t i = fails ? random_below(&source->random, length) : 0, end = fails ? i + 1 : length; i < end; i++)
        if ((fails || random_below(&source->random, 3) == 0) && !(substitutes && i == (size_t)spec->substitute_id))
            reference_put_id(mapping, spec->token_mapping_type, i, INLAY_NO_ROW);
}

static void draw_layer(struct call *call, struct source *source, size_t dim)
{
    static const float factors[] = {1, 1, 1, 22.627417f, 0.5f, -3, 0, -0.0f, 0x1p-140f, NAN, INFINITY};
    inlay_layer_spec *spec = &call->spec;
    size_t vocab = one_in(source, 10) ? choose(source, 3) : 1 + choose(source, MAX_TABLE_ROWS);
    bool shard = vocab > 0 && one_in(source, 5);
    size_t first = shard ? choose(source, vocab) : 0;
    size_t rows = shard ? choose(source, vocab - first + 1) : vocab;
    bool whole = rows == vocab, has_positions;
    call->tokens = draw_table(source, TOKENS, rows, dim, half(source), true);
    call->tokens = inlay_table_shard(call->tokens, first, shard ? vocab : 0);
    *spec = inlay_layer_spec_default(&call->tokens);
    if (vocab > 0 && one_in(source, 5))
        vocab = draw_mapping(spec, source, vocab);
    spec->scale = factors[choose(source, sizeof factors / sizeof *factors)];
    if (whole && one_in(source, 6) && dim <= 4096)
        spec->pooling = (inlay_pooling)choose(source, 3);
    if (spec->pooling != INLAY_POOLING_NONE && vocab > 0 && half(source)) {
        spec->token_weights = draw_floats(source, TOKEN_WEIGHTS, vocab);
        spec->token_weights_length = vocab;
    }
    if (one_in(source, 3))
        spec->out_type = (inlay_element_type)(1 + choose(source, 3));
    if (spec->pooling == INLAY_POOLING_NONE) {
        draw_position_rows(call, source, dim);
        if (whole && one_in(source, 4)) {
            const size_t types = 1 + choose(source, 3); /* first: arguments are evaluated in any order */
            call->segments = draw_table(source, SEGMENTS, types, dim, one_in(source, 3), false);
            spec->segments = &call->segments;
            spec->segments_first = half(source);
        }
    }
    has_positions = spec->positions != NULL || spec->sinusoid != NULL;
    if (one_in(source, 3))
        spec->padding_id = (int64_t)choose(source, vocab + 2);
    if (spec->padding_id >= 0 && has_positions && half(source))
        spec->position_mode = INLAY_POSITION_MODE_PADDING_AWARE;
    spec->zero_rows = (inlay_zero_rows)choose(source, 3);
    if (half(source))
        spec->bad_id = (inlay_bad_id)choose(source, 5);
    if (spec->bad_id == INLAY_BAD_ID_SUBSTITUTE && vocab == 0)
        spec->bad_id = INLAY_BAD_ID_ERROR;
    if (spec->bad_id == INLAY_BAD_ID_SUBSTITUTE)
        spec->substitute_id = (int64_t)choose(source, vocab);
    if (whole && one_in(source, 4) && (spec->out_type == INLAY_F32 || dim <= 4096))
        draw_norm(call, source, dim);
    spec->stores = (inlay_stores)choose(source, 3);
    draw_tuning(call, source);
    const bool has_sign = spec->token_mapping_type == INLAY_ID_I16 || spec->token_mapping_type == INLAY_ID_I32 ||
                          spec->token_mapping_type == INLAY_ID_I64;
    if (has_sign && spec->bad_id != INLAY_BAD_ID_CLAMP && half(source))
        prune_mapping(spec, source);
}

/* ---- The batch ---- */

int64_t draw_hostile_id(struct source *source, int64_t limit)
{
    const int64_t values[] = {-1,        INT32_MIN,        INT64_MIN, limit,        limit + 1, UINT32_MAX, INT64_MAX,
                              INT32_MAX, INT16_MIN,        INT16_MAX, UINT16_MAX,   UINT8_MAX, limit - 1,  -limit,
                              1 << 16,   INT64_C(1) << 32, -2,        INT64_MIN + 1};
    return values[choose(source, sizeof values / sizeof *values)];
}

/* Draws n ids below `limit`. One in `hostile_in` is hostile (0: none), and one in four is `often`, unless negative. */
static const void *draw_ids(struct source *source, int which, size_t n, inlay_id_type *type, int64_t limit,
                            uint64_t hostile_in, int64_t often)
{
    inlay_id_type drawn = (inlay_id_type)(1 + choose(source, 6));
    if (which == IDS || n > 0)
        *type = drawn;
    if (n == 0)
        return NULL;
    unsigned char *ids = place(source, which, n * reference_id_bytes(drawn));
    for (size_t i = 0; i < n; i++) {
        int64_t id = limit > 0 ? (int64_t)random_below(&source->random, (uint64_t)limit) : 0;
        if (often >= 0 && random_below(&source->random, 4) == 0)
            id = often;
        if (hostile_in > 0 && one_in(source, hostile_in))
            id = draw_hostile_id(source, limit);
        reference_put_id(ids, drawn, i, id);
    }
    return ids;
}

/* Draws the number of tokens of each sequence, and returns the largest. */
static size_t draw_lengths(struct call *call, struct source *source, size_t max_tokens, bool hostile)
{
    inlay_batch *batch = &call->batch;
    size_t most, longest = 0;
    batch->sequences = one_in(source, 12) ? 0 : 1 + choose(source, 5);
    if (one_in(source, 8))
        batch->sequences = choose(source, 40);
    if (batch->sequences > max_tokens)
        batch->sequences = max_tokens;
    most = batch->sequences > 0 ? max_tokens / batch->sequences : 0;
    if (half(source)) {
        batch->length = choose(source, most + 1);
        if (batch->length % 5 == 4) { /* as in decoding */
            batch->length = 1;
            batch->sequences = choose(source, max_tokens + 1);
        }
        call->n_tokens = batch->sequences * batch->length;
        return batch->length;
    }
    unsigned char *offsets = place(source, OFFSETS, (batch->sequences + 1) * 8);
    reference_put_id(offsets, INLAY_ID_I64, 0, 0);
    call->n_tokens = 0;
    for (size_t b = 0; b < batch->sequences; b++) {
        size_t count = choose(source, one_in(source, 4) ? 2 : most + 1);
        longest = count > longest ? count : longest;
        call->n_tokens += count;
        reference_put_id(offsets, INLAY_ID_I64, b + 1, (int64_t)call->n_tokens);
    }
    batch->offsets = (const int64_t *)(const void *)offsets;
    batch->length = call->n_tokens;
    if (call->spec.pooling == INLAY_POOLING_NONE && half(source))
        batch->padded_length = longest + choose(source, 3);
    while (batch->padded_length * batch->sequences > max_tokens)
        batch->padded_length--;
    if (hostile && one_in(source, 3)) {
        size_t b = choose(source, batch->sequences + 1);
        reference_put_id(offsets, INLAY_ID_I64, b, draw_hostile_id(source, (int64_t)call->n_tokens));
    }
    /* Array sizes depend on the last offset, so it must be right. */
    if (half(source) && reference_id(offsets, INLAY_ID_I64, batch->sequences) == (int64_t)call->n_tokens)
        batch->length = INLAY_LENGTH_FROM_OFFSETS;
    return longest;
}

static void draw_batch_positions(struct call *call, struct source *source, size_t longest, bool hostile)
{
    const inlay_layer_spec *spec = &call->spec;
    inlay_batch *batch = &call->batch;
    int64_t limit = 0;
    if (spec->sinusoid != NULL)
        limit = INLAY_POSITION_LIMIT;
    else if (spec->positions != NULL)
        limit = (int64_t)spec->positions->rows;
    uint64_t room = limit > (int64_t)longest ? (uint64_t)limit - longest : 0;
    bool low = half(source);
    batch->start = (int64_t)choose(source, room + 1);
    if (low && batch->start > 50)
        batch->start = (int64_t)(half(source) ? room : choose(source, 50));
    if (one_in(source, 8))
        batch->start = (int64_t)choose(source, 60) - 3;
    if (hostile && one_in(source, 4))
        batch->start = draw_hostile_id(source, limit) / 2;
    if (one_in(source, 4) && batch->sequences > 0) {
        unsigned char *starts = place(source, STARTS, batch->sequences * 8);
        for (size_t b = 0; b < batch->sequences; b++) {
            int64_t start = (int64_t)choose(source, (low && room > 50 ? 50 : room) + 1);
            if (hostile && one_in(source, 4))
                start = draw_hostile_id(source, limit) / 2;
            reference_put_id(starts, INLAY_ID_I64, b, start);
        }
        batch->starts = (const int64_t *)(const void *)starts;
    }
    if (limit > 0 && one_in(source, 4))
        batch->position_ids = draw_ids(source, POSITION_IDS, call->n_tokens, &batch->position_id_type,
                                       low && limit > 100 ? 100 : limit, hostile ? 20 : 0, -1);
}

static void draw_batch(struct call *call, struct source *source, size_t max_tokens)
{
    const inlay_layer_spec *spec = &call->spec;
    inlay_batch *batch = &call->batch;
    bool hostile = one_in(source, 6);
    size_t vocab = spec->tokens->vocab > 0 ? spec->tokens->vocab : spec->tokens->rows;
    const bool whole = spec->tokens->rows == vocab;
    if (spec->token_mapping != NULL)
        vocab = spec->token_mapping_length;
    *batch = inlay_batch_i32(NULL, 0, 0, 0);
    size_t longest = draw_lengths(call, source, max_tokens, hostile), tokens = call->n_tokens;
    uint64_t bad_ids_in = spec->bad_id != INLAY_BAD_ID_ERROR ? 4 : hostile ? 20 : 0;
    batch->ids = draw_ids(source, IDS, tokens, &batch->id_type, (int64_t)vocab, bad_ids_in, spec->padding_id);
    draw_batch_positions(call, source, longest, hostile);
    if (spec->segments != NULL && half(source))
        batch->segment_ids = draw_ids(source, SEGMENT_IDS, tokens, &batch->segment_id_type,
                                      (int64_t)spec->segments->rows, hostile ? 20 : 0, -1);
    if (spec->pooling != INLAY_POOLING_NONE && tokens > 0 && half(source))
        batch->weights = draw_floats(source, WEIGHTS, tokens);
    if (whole && one_in(source, 5)) {
        batch->dropout = half(source) ? 0.5f : 0.1f;
        batch->dropout_key = random_bits(&source->random);
        batch->dropout_offset = random_bits(&source->random);
    }
}

void run_shuffled(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    struct random *random = ctx;
    size_t *order = malloc(count * sizeof *order);
    for (size_t i = 0; i < count; i++) {
        size_t j = random_below(random, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < count; i++)
        task(arg, order[i]);
    free(order);
}

void call_draw(struct call *call, struct source *source, const struct call_sizes *sizes)
{
    static const size_t threads[] = {1, 2, 3, 7, SIZE_MAX}, offsets[] = {0, 1, 4, 16, 32, 64};
    memset(call, 0, sizeof *call);
    extents_drawn = 0;
    size_t dim = sizes->dims[choose(source, sizes->n_dims)], fit = sizes->out_bytes / (dim * 4 + 67);
    draw_layer(call, source, dim);
    draw_batch(call, source, fit < sizes->tokens ? fit : sizes->tokens);
    call->executor =
        (inlay_executor){&source->random, run_shuffled, threads[choose(source, sizeof threads / sizeof *threads)]};
    call->threads = half(source);
    call->rows = reference_rows(&call->spec, &call->batch);
    call->row_bytes = dim * (call->spec.out_type == INLAY_F32 ? 4 : 2);
    call->stride = call->row_bytes + (one_in(source, 3) ? choose(source, 67) : 0);
    if (one_in(source, 4))
        call->stride = (call->row_bytes + 63) / 64 * 64;
    call->bytes = call->rows > 0 ? (call->rows - 1) * call->stride + call->row_bytes : 0;
    size_t room = (size_t)(outputs.end - outputs.begin) - call->bytes, offset = offsets[choose(source, 6)];
    offset = half(source) || offset > room ? room : offset; /* the first one is adjacent to the guard page after it */
    call->out = outputs.begin + offset;
    call->expected = expectations.begin + offset;
}

void call_end(struct call *call)
{
    inlay_sinusoid_destroy(call->sinusoid);
}

/* ---- Comparison ---- */

static const inlay_fault no_fault = {.sequence = 77, .token = 77, .value = 77};

static bool same_outcome(const struct outcome *a, const struct outcome *b)
{
    return a->created == b->created && a->status == b->status && a->fault.sequence == b->fault.sequence &&
           a->fault.token == b->fault.token && a->fault.value == b->fault.value;
}

/* Explains the call. Returns true if status and fault are the same as for running it, the text fits, and the output
   in `arena` is unchanged. */
static bool explain(const struct call *call, const inlay_layer *layer, struct arena *arena, const unsigned char *out,
                    const inlay_executor *executor, struct outcome *outcome)
{
    char text[INLAY_PLAN_TEXT_BYTES] = "no plan";
    outcome->status =
        inlay_forward_explain(layer, &call->batch, out, call->stride, executor, &outcome->fault, text, sizeof text);
    bool written = strcmp(text, "no plan") != 0;
    return arena_untouched(arena) && written == (outcome->status == INLAY_OK) && strlen(text) + 1 < sizeof text;
}

static struct outcome run(const struct call *call, struct arena *arena, unsigned char *out)
{
    const inlay_executor *executor = call->threads ? &call->executor : NULL;
    struct outcome outcome = {.fault = no_fault, .explained = true}, plan = outcome;
    inlay_layer *layer;
    arena_place(arena, 0, AT_BEGIN, 0); /* fills it with the pattern */
    outcome.created = plan.created = inlay_layer_create(&call->spec, call->allocator, &layer);
    if (outcome.created != INLAY_OK)
        return outcome;
    outcome.explained = explain(call, layer, arena, out, executor, &plan);
    outcome.status = inlay_forward(layer, &call->batch, out, call->stride, executor, &outcome.fault);
    outcome.explained = outcome.explained && same_outcome(&plan, &outcome);
    inlay_layer_destroy(layer);
    return outcome;
}

struct outcome call_expect(struct call *call)
{
    if (call->broken)
        return run(call, &expectations, call->expected);
    struct outcome outcome = {.fault = no_fault, .explained = true};
    arena_place(&expectations, 0, AT_BEGIN, 0);
    outcome.status = reference_forward(&call->spec, &call->batch, call->expected, call->stride, &outcome.fault);
    if (outcome.status == INLAY_OK)
        outcome.fault = no_fault;
    return outcome;
}

bool call_stays_in_rows(struct call *call, const inlay_executor *executor, inlay_status *status)
{
    call->threads = executor != NULL;
    if (executor != NULL)
        call->executor = *executor;
    *status = run(call, &outputs, call->out).status;
    return arena_untouched_outside(&outputs, call->out, call->rows, call->stride, call->row_bytes);
}

static bool is_nan(const unsigned char *at, inlay_element_type type)
{
    uint32_t bits = at[0] | (uint32_t)at[1] << 8;
    if (type == INLAY_F32)
        return ((bits | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24) & INT32_MAX) > 0x7f800000;
    return (bits & 0x7fff) > (type == INLAY_F16 ? 0x7c00 : 0x7f80);
}

/* Returns true if both arenas have the same bytes, except for the bits of NaNs in rows. */
static bool same_outputs(const struct call *call)
{
    size_t bytes = (size_t)(outputs.end - outputs.begin), element = call->spec.out_type == INLAY_F32 ? 4 : 2;
    if (memcmp(outputs.begin, expectations.begin, bytes) == 0)
        return true;
    for (size_t row = 0; row < call->rows; row++)
        for (size_t i = row * call->stride; i < row * call->stride + call->row_bytes; i += element)
            if (is_nan(call->out + i, call->spec.out_type) && is_nan(call->expected + i, call->spec.out_type))
                memcpy(call->out + i, call->expected + i, element);
    return memcmp(outputs.begin, expectations.begin, bytes) == 0;
}

/* Returns a static text that describes the error and a part of the call. */
static const char *describe(const struct call *call, const char *what, const struct outcome *is,
                            const struct outcome *must)
{
    static char text[1024];
    snprintf(text, sizeof text,
             "%s: created %d, \"%s\" at [%zu][%zu] = %ld, expected %d, \"%s\" at [%zu][%zu] = %ld; %sdim %zu, table "
             "type %d, out type %d, norm %d, pooling %d, %zu rows",
             what, (int)is->created, inlay_status_string(is->status), is->fault.sequence, is->fault.token,
             (long)is->fault.value, (int)must->created, inlay_status_string(must->status), must->fault.sequence,
             must->fault.token, (long)must->fault.value, call->broken ? "broken on purpose, " : "", call->tokens.dim,
             (int)call->tokens.type, (int)call->spec.out_type, (int)call->spec.norm, (int)call->spec.pooling,
             call->rows);
    return text;
}

const char *call_check(struct call *call, const struct outcome *expected)
{
    struct outcome is = run(call, &outputs, call->out);
    if (!same_outcome(&is, expected))
        return describe(call, "another outcome", &is, expected);
    if (!is.explained)
        return describe(call, "explaining comes to something else", &is, expected);
    if ((is.created != INLAY_OK || is.status != INLAY_OK) && !arena_untouched(&outputs))
        return describe(call, "a failed call wrote", &is, expected);
    if (!same_outputs(call))
        return describe(call, "other bytes", &is, expected);
    return NULL;
}
