/* SPDX-License-Identifier: MIT */
/* The calls of ngrams.h. */
#include "ngrams.h"

#include "reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IDS, OFFSETS, HISTORY, LENGTHS, ACCEPTED, MAP, FLOATS, NOISE, SCALES, OUT, OUT_LENGTHS, ARENAS };
enum { VOCAB_MOST = 3000, SEQUENCES_MOST = 300, TABLE_BYTES = 1 << 19, LONGEST = INLAY_NGRAM_LENGTH_MOST };

static struct arena arenas[ARENAS];
static int64_t multipliers[8 * LONGEST], resets[4], masks[4], rows[NGRAM_CELLS];
static inlay_ngram_column columns[INLAY_NGRAM_COLUMNS_MOST];
static unsigned char expected[NGRAM_OUT_BYTES];

void ngrams_prepare(void)
{
    static const size_t bytes[ARENAS] = {
        [IDS] = NGRAM_TOKENS * 8,
        [OFFSETS] = (SEQUENCES_MOST + 1) * 8,
        [HISTORY] = SEQUENCES_MOST * LONGEST * 8,
        [LENGTHS] = SEQUENCES_MOST * 4,
        [ACCEPTED] = SEQUENCES_MOST * 8,
        [MAP] = VOCAB_MOST * 4,
        [FLOATS] = TABLE_BYTES,
        [NOISE] = TABLE_BYTES,
        [SCALES] = TABLE_BYTES,
        [OUT] = NGRAM_OUT_BYTES + 16,
        [OUT_LENGTHS] = SEQUENCES_MOST * 4,
    };
    struct random random = {11};
    for (int i = 0; i < ARENAS; i++)
        arenas[i] = arena_make(bytes[i]);
    random_rows(&random, arenas[FLOATS].begin, 1, TABLE_BYTES / 4, 0);
    random_rows(&random, arenas[SCALES].begin, 1, TABLE_BYTES / 4, 0);
    for (size_t i = 0; i < TABLE_BYTES; i++)
        arenas[NOISE].begin[i] = (unsigned char)random_bits(&random);
}

static bool half(struct source *source)
{
    return one_in(source, 2);
}

/* Returns room for an array against the page before or behind it, whose contents are what they were. */
static void *place(struct source *source, int which, size_t bytes)
{
    return half(source) ? arenas[which].begin : arenas[which].end - bytes;
}

/* ---- The definition --------------------------------------------------------------------------------------------- */

static size_t first_of(const struct ngram_call *call, size_t b)
{
    if (call->batch.offsets == NULL)
        return b * call->batch.length;
    return (size_t)reference_id(call->batch.offsets, INLAY_ID_I64, b);
}

/* Returns id `at` of sequence b, counted from its first token of the call, which is negative in the history; -1 before
   the sequence begins. */
static int64_t id_at(const struct ngram_call *call, size_t b, int64_t at)
{
    const inlay_ngram_batch *batch = &call->batch;
    const int64_t places = (int64_t)call->spec.length - 1;
    if (at >= 0)
        return reference_id(batch->ids, batch->id_type, first_of(call, b) + (size_t)at);
    int64_t known = batch->history != NULL ? places : 0;
    if (batch->history_lengths != NULL)
        known = reference_id(batch->history_lengths, INLAY_ID_U32, b);
    if (at < -known)
        return -1;
    return reference_id(batch->history, batch->id_type, (size_t)((int64_t)(b + 1) * places + at));
}

static bool among(int64_t id, const int64_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Returns w_s of token `at` of sequence b. */
static uint64_t word_of(const struct ngram_call *call, size_t b, int64_t at, int64_t s)
{
    const inlay_ngram_spec *spec = &call->spec;
    for (int64_t place = 0; place <= s; place++) {
        const int64_t id = id_at(call, b, at - place);
        if (id < 0 || among(id, spec->masks, spec->mask_count) ||
            (place >= 1 && among(id, spec->resets, spec->reset_count)))
            return spec->pad;
    }
    const int64_t id = id_at(call, b, at - s);
    return spec->token_map != NULL ? spec->token_map[id] : (uint64_t)id;
}

static int64_t row_of(const struct ngram_call *call, size_t b, int64_t at, const inlay_ngram_column *column)
{
    const inlay_ngram_spec *spec = &call->spec;
    uint64_t mixed = 0;
    for (uint32_t s = 0; s < column->length; s++) {
        const uint64_t factor = (uint64_t)spec->multipliers[column->vector * spec->length + s];
        const uint64_t product = word_of(call, b, at, s) * factor;
        mixed = spec->mix == INLAY_NGRAM_MIX_ADD ? mixed + product : mixed ^ product;
    }
    const int64_t m = column->modulus, remainder = ((int64_t)mixed % m + m) % m;
    return spec->zero_is_none && remainder == 0 ? -1 : (int64_t)(column->offset + (uint64_t)remainder);
}

int64_t ngram_expected_row(const struct ngram_call *call, size_t token, size_t column)
{
    return rows[token * call->spec.column_count + column];
}

static void expect_fault(struct ngram_call *call, inlay_status status, size_t b, size_t at, int64_t value)
{
    if (call->status == INLAY_OK) {
        call->status = status;
        call->fault = (inlay_fault){b, at, value};
    }
}

static void expect_offsets(struct ngram_call *call)
{
    const int64_t *offsets = call->batch.offsets;
    const int64_t n = (int64_t)call->tokens;
    int64_t before = 0;
    for (size_t b = 0; offsets != NULL && b <= call->batch.sequences; b++) {
        const int64_t offset = reference_id(offsets, INLAY_ID_I64, b);
        if (offset < before || offset > n || (b == 0 && offset != 0) || (b == call->batch.sequences && offset != n))
            expect_fault(call, INLAY_ERROR_OFFSETS, b, 0, offset);
        before = offset;
    }
}

static void expect_history(struct ngram_call *call)
{
    const inlay_ngram_batch *batch = &call->batch;
    const size_t places = call->spec.length - 1;
    for (size_t b = 0; batch->history != NULL && b < batch->sequences; b++) {
        size_t known = places;
        if (batch->history_lengths != NULL)
            known = (size_t)reference_id(batch->history_lengths, INLAY_ID_U32, b);
        if (known > places)
            expect_fault(call, INLAY_ERROR_HISTORY, b, 0, (int64_t)known);
        for (size_t i = places - (known < places ? known : places); i < places; i++) {
            const int64_t id = reference_id(batch->history, batch->id_type, b * places + i);
            if (id < 0 || id >= (int64_t)call->spec.vocab)
                expect_fault(call, INLAY_ERROR_HISTORY, b, i, id);
        }
    }
}

static void expect_ids(struct ngram_call *call)
{
    for (size_t b = 0; call->status == INLAY_OK && b < call->batch.sequences; b++)
        for (size_t i = first_of(call, b); i < first_of(call, b + 1); i++) {
            const int64_t id = reference_id(call->batch.ids, call->batch.id_type, i);
            if (id < 0 || id >= (int64_t)call->spec.vocab)
                expect_fault(call, INLAY_ERROR_ID, b, i - first_of(call, b), id);
        }
}

/* Finds what the call must come to, and its rows if it succeeds. (A call without tokens reads nothing; as_expected()
   knows that.) */
static void expect_call(struct ngram_call *call)
{
    call->status = INLAY_OK;
    call->fault = (inlay_fault){0};
    expect_offsets(call);
    expect_history(call);
    expect_ids(call);
    for (size_t b = 0; call->status == INLAY_OK && b < call->batch.sequences; b++)
        for (size_t i = first_of(call, b); i < first_of(call, b + 1); i++)
            for (size_t c = 0; c < call->spec.column_count; c++)
                rows[i * call->spec.column_count + c] =
                    row_of(call, b, (int64_t)(i - first_of(call, b)), &call->spec.columns[c]);
}

/* ---- Specs ------------------------------------------------------------------------------------------------------ */

static int64_t draw_multiplier(struct source *source)
{
    static const int64_t edges[] = {0, 1, -1, INT64_MAX, INT64_MIN, 2, 4294967296};
    const uint64_t bits = random_bits(&source->random);
    switch (choose(source, 4)) {
    case 0:
        return (int64_t)bits;
    case 1:
        return (int64_t)(bits >> 24 | 1);
    case 2:
        return (int64_t)(bits % 70000);
    }
    return edges[bits % (sizeof edges / sizeof *edges)];
}

static uint32_t draw_modulus(struct source *source)
{
    static const uint32_t edges[] = {1,       2,          8191,       8192,       16777213,
                                     9999991, 2147483647, 2147483648, 4294967295, 4294967291};
    const uint64_t bits = random_bits(&source->random);
    if (half(source))
        return edges[bits % (sizeof edges / sizeof *edges)];
    return (uint32_t)(1 + bits % (UINT64_C(1) << (1 + choose(source, 31))));
}

/* Draws columns whose n-grams are often those of the column before, or longer ones of the same multipliers. */
static void draw_columns(struct ngram_call *call, struct source *source)
{
    inlay_ngram_spec *spec = &call->spec;
    spec->column_count = 1 + choose(source, one_in(source, 4) ? 70 : 12);
    if (one_in(source, 50))
        spec->column_count = 1 + choose(source, INLAY_NGRAM_COLUMNS_MOST);
    const uint64_t pattern = choose(source, 4);
    const uint32_t modulus = draw_modulus(source);
    for (size_t c = 0; c < spec->column_count; c++) {
        const inlay_ngram_column before = c > 0 ? columns[c - 1] : (inlay_ngram_column){.length = 1};
        columns[c] = before;
        if (pattern == 0 || one_in(source, 6)) {
            columns[c].length = 1 + (uint32_t)choose(source, spec->length);
            columns[c].vector = (uint32_t)choose(source, spec->vectors);
        } else if (pattern == 1) {
            columns[c].length = 1 + before.length % spec->length;
        } else if (pattern == 2) {
            columns[c].vector = (before.vector + 1) % (uint32_t)spec->vectors;
        }
        columns[c].table = (uint32_t)choose(source, NGRAM_TABLES);
        columns[c].modulus = one_in(source, 3) ? draw_modulus(source) : modulus;
        columns[c].offset =
            half(source) ? choose(source, 100000) : (UINT64_C(1) << 63) - columns[c].modulus - choose(source, 100);
        if (call->gathers) {
            const uint64_t table_rows = call->tables[columns[c].table].rows;
            columns[c].modulus = (uint32_t)(1 + (half(source) ? table_rows - 1 : choose(source, table_rows)));
            columns[c].offset = choose(source, table_rows - columns[c].modulus + 1);
        }
    }
    spec->columns = columns;
}

static void draw_spec(struct ngram_call *call, struct source *source)
{
    const size_t vocab = 1 + choose(source, one_in(source, 4) ? VOCAB_MOST : 50);
    const uint32_t length = 1 + (uint32_t)choose(source, one_in(source, 6) ? LONGEST : 5);
    inlay_ngram_spec *spec = &call->spec;
    *spec = inlay_ngram_spec_default(vocab, length, half(source) ? INLAY_NGRAM_MIX_XOR : INLAY_NGRAM_MIX_ADD);
    spec->pad = (uint32_t)(random_bits(&source->random) >> (half(source) ? 32 : 60));
    spec->zero_is_none = one_in(source, 3);
    if (half(source)) {
        uint32_t *map = place(source, MAP, vocab * 4);
        for (size_t i = 0; i < vocab; i++)
            map[i] = (uint32_t)(random_bits(&source->random) >> (i % 2 == 0 ? 32 : 54));
        spec->token_map = map;
    }
    spec->reset_count = half(source) ? 0 : choose(source, 4);
    spec->mask_count = half(source) ? 0 : choose(source, 4);
    for (size_t i = 0; i < 4; i++) {
        resets[i] = (int64_t)choose(source, vocab);
        masks[i] = (int64_t)choose(source, vocab);
    }
    spec->resets = resets;
    spec->masks = masks;
    spec->vectors = 1 + choose(source, 8);
    for (size_t i = 0; i < spec->vectors * length; i++)
        multipliers[i] = draw_multiplier(source);
    spec->multipliers = multipliers;
    draw_columns(call, source);
}

/* ---- Tables ----------------------------------------------------------------------------------------------------- */

/* Cuts a table into some extents of its own memory, which begin at whole bytes of zero points. */
static void cut_table(struct source *source, inlay_table *table, inlay_table_extent *parts)
{
    const bool flat = table->type == INLAY_U4_GROUPED_FLAT && table->zeros != NULL, equal = half(source);
    const size_t groups = table->group > 0 ? table->dim / table->group : 1, step = flat ? 2 : 1;
    const size_t row_scales = row_scale_bytes(table->type, table->dim, table->group);
    const size_t rows_each = step * (1 + choose(source, table->rows));
    size_t n = 0;
    for (size_t row = 0; row < table->rows && n < NGRAM_EXTENTS; n++) {
        parts[n] = (inlay_table_extent){.data = (const unsigned char *)table->data + row * table->stride_bytes,
                                        .first_row = row};
        if (table->scales != NULL)
            parts[n].scales = (const unsigned char *)table->scales + row * row_scales;
        if (table->zeros != NULL)
            parts[n].zeros = (const unsigned char *)table->zeros + (flat ? row * groups / 2 : row * ((groups + 1) / 2));
        row += equal ? rows_each : step * (1 + choose(source, table->rows));
    }
    const bool all_equal = equal && (n - 1) * rows_each < table->rows && table->rows <= n * rows_each;
    *table = inlay_table_in_extents(*table, parts, n, all_equal ? rows_each : 0);
}

/* Draws a table over the random bytes of its arena. */
static inlay_table draw_ngram_table(struct source *source, size_t dim, inlay_element_type type)
{
    const uint32_t group = is_grouped(type) ? 32u << choose(source, 3) : 0;
    if (inlay_table_row_bytes(type, dim) == 0 || (group > 0 && dim % group != 0))
        return draw_ngram_table(source, dim, INLAY_F16);
    const size_t row_bytes = inlay_table_row_bytes(type, dim), row_scales = row_scale_bytes(type, dim, group);
    const size_t stride = row_bytes + (one_in(source, 3) ? choose(source, 9) : 0), groups = group > 0 ? dim / group : 1;
    size_t most = TABLE_BYTES / (stride > row_scales ? stride : row_scales);
    if (!half(source) && most > 40)
        most = 40;
    const size_t n = 1 + choose(source, most), bytes = (n - 1) * stride + row_bytes;
    inlay_table table = inlay_table_of(type, place(source, type == INLAY_F32 ? FLOATS : NOISE, bytes), n, dim, stride);
    table.group = group;
    if (row_scales > 0 && !(scales_are_optional(type) && half(source)))
        table.scales = place(source, type == INLAY_E4M3_E8M0 ? NOISE : SCALES, n * row_scales);
    if (group > 0 && half(source))
        table.zeros = place(source, NOISE, type == INLAY_U4_GROUPED ? n * ((groups + 1) / 2) : (n * groups + 1) / 2);
    return table;
}

static void draw_tables(struct ngram_call *call, struct source *source)
{
    static const size_t dims[] = {1, 2, 3, 8, 16, 17, 32, 33, 64, 65, 96, 128, 160, 256, 4096, 4352};
    const size_t dim = dims[choose(source, one_in(source, 20) ? 16 : 12)];
    const bool one_type = half(source);
    const inlay_element_type type = (inlay_element_type)(1 + choose(source, INLAY_ELEMENT_TYPES - 1));
    for (size_t i = 0; i < NGRAM_TABLES; i++) {
        const uint64_t other = 1 + choose(source, INLAY_ELEMENT_TYPES - 1);
        call->tables[i] = draw_ngram_table(source, dim, one_type ? type : (inlay_element_type)other);
        if (one_in(source, 4))
            cut_table(source, &call->tables[i], call->extents[i]);
        call->pointers[i] = &call->tables[i];
    }
}

static void draw_lookup(struct ngram_call *call, struct source *source)
{
    inlay_ngram_lookup *lookup = &call->lookup;
    *lookup = inlay_ngram_lookup_default(call->pointers, NGRAM_TABLES);
    lookup->scale = one_in(source, 3) ? random_float(&source->random) : 1;
    lookup->combine = one_in(source, 3) ? INLAY_NGRAM_SUM : INLAY_NGRAM_CONCAT;
    lookup->out_type = (inlay_element_type)(1 + choose(source, 3));
    if (half(source) && inlay_table_row_bytes(call->tables[0].type, 1) == 2)
        lookup->out_type = call->tables[0].type;
    lookup->stores = (inlay_stores)choose(source, 3);
    lookup->first_column = half(source) ? 0 : choose(source, call->spec.column_count);
    call->columns = call->spec.column_count - lookup->first_column;
    if (half(source))
        lookup->columns = call->columns = 1 + choose(source, call->columns);
    if (one_in(source, 3)) {
        call->tuning = inlay_tuning_default();
        call->tuning.prefetch_bytes = choose(source, 3) * 1000;
        lookup->tuning = &call->tuning;
    }
    const size_t element = lookup->out_type == INLAY_F32 ? 4 : 2, row = call->tables[0].dim * element;
    const size_t gap = one_in(source, 3) ? choose(source, 9) : 0, other_gap = one_in(source, 3) ? choose(source, 9) : 0;
    if (lookup->combine == INLAY_NGRAM_SUM) {
        call->token_stride = row + gap;
        call->out_bytes = call->tokens * call->token_stride;
    } else if (half(source)) { /* [tokens, columns, dim] */
        lookup->column_stride_bytes = one_in(source, 3) ? row + gap : 0;
        const size_t stride = lookup->column_stride_bytes > 0 ? lookup->column_stride_bytes : row;
        call->token_stride = (call->columns - 1) * stride + row + other_gap;
        call->out_bytes = call->tokens * call->token_stride;
    } else { /* [columns, tokens, dim] */
        call->token_stride = row + gap;
        lookup->column_stride_bytes = call->tokens * call->token_stride + other_gap + (call->tokens == 0 ? row : 0);
        call->out_bytes = call->columns * lookup->column_stride_bytes;
    }
    call->gathers = call->gathers && call->out_bytes <= NGRAM_OUT_BYTES;
}

/* ---- Batches ---------------------------------------------------------------------------------------------------- */

static int64_t draw_id(const struct ngram_call *call, struct source *source)
{
    static const int64_t most[] = {
        [INLAY_ID_U8] = UINT8_MAX + 1, [INLAY_ID_I16] = INT16_MAX + 1, [INLAY_ID_I32] = INT32_MAX,
        [INLAY_ID_I64] = INT32_MAX,    [INLAY_ID_U16] = UINT16_MAX,    [INLAY_ID_U32] = INT32_MAX};
    const int64_t limit = most[call->batch.id_type], vocab = (int64_t)call->spec.vocab;
    const int64_t special = half(source) ? resets[choose(source, 4)] : masks[choose(source, 4)];
    if (one_in(source, 5) && special < limit)
        return special;
    return (int64_t)choose(source, (uint64_t)(vocab < limit ? vocab : limit));
}

static void draw_sequences(struct ngram_call *call, struct source *source)
{
    inlay_ngram_batch *batch = &call->batch;
    batch->sequences = choose(source, one_in(source, 5) ? SEQUENCES_MOST : 6);
    size_t most = NGRAM_CELLS / call->spec.column_count; /* of all tokens */
    most = most < NGRAM_TOKENS ? most : NGRAM_TOKENS;
    const size_t longest = one_in(source, 8) ? 300 : batch->sequences > 20 ? 3 : 30;
    call->tokens = 0;
    if (half(source)) {
        batch->length = choose(source, longest);
        if (batch->sequences > 0 && batch->length > most / batch->sequences)
            batch->length = most / batch->sequences;
        call->tokens = batch->sequences * batch->length;
        return;
    }
    int64_t *offsets = place(source, OFFSETS, (batch->sequences + 1) * 8);
    offsets[0] = 0;
    for (size_t b = 0; b < batch->sequences; b++) {
        size_t n = one_in(source, 4) ? 0 : choose(source, longest);
        n = n < most - call->tokens ? n : most - call->tokens;
        call->tokens += n;
        offsets[b + 1] = (int64_t)call->tokens;
    }
    batch->offsets = offsets;
    batch->length = half(source) ? call->tokens : INLAY_LENGTH_FROM_OFFSETS;
    if (batch->length != INLAY_LENGTH_FROM_OFFSETS && one_in(source, 16))
        offsets[choose(source, batch->sequences + 1)] = draw_hostile_id(source, (int64_t)call->tokens);
}

static void draw_past(struct ngram_call *call, struct source *source)
{
    inlay_ngram_batch *batch = &call->batch;
    const size_t places = call->spec.length - 1, bytes = reference_id_bytes(batch->id_type);
    unsigned char *history = place(source, HISTORY, batch->sequences * places * bytes);
    const bool lengths = half(source);
    batch->history = history;
    if (lengths) {
        uint32_t *known = place(source, LENGTHS, batch->sequences * 4);
        for (size_t b = 0; b < batch->sequences; b++)
            known[b] = (uint32_t)choose(source, places + 1);
        if (batch->sequences > 0 && one_in(source, 16))
            known[choose(source, batch->sequences)] = (uint32_t)places + 1 + (uint32_t)choose(source, 1000);
        batch->history_lengths = known;
    }
    for (size_t i = 0; i < batch->sequences * places; i++)
        reference_put_id(history, batch->id_type, i, draw_id(call, source));
    if (batch->sequences * places > 0 && one_in(source, 16))
        reference_put_id(history, batch->id_type, choose(source, batch->sequences * places),
                         draw_hostile_id(source, (int64_t)call->spec.vocab));
    /* What lies before a shorter history is not read. */
    for (size_t b = 0; lengths && b < batch->sequences; b++)
        for (size_t i = 0; i + reference_id(batch->history_lengths, INLAY_ID_U32, b) < places; i++)
            reference_put_id(history, batch->id_type, b * places + i, -1);
}

static void draw_batch(struct ngram_call *call, struct source *source)
{
    inlay_ngram_batch *batch = &call->batch;
    *batch = inlay_ngram_batch_i32(NULL, 0, 0);
    batch->id_type = (inlay_id_type)(1 + choose(source, 6));
    draw_sequences(call, source);
    unsigned char *ids = place(source, IDS, call->tokens * reference_id_bytes(batch->id_type));
    for (size_t i = 0; i < call->tokens; i++)
        reference_put_id(ids, batch->id_type, i, draw_id(call, source));
    if (call->tokens > 0 && one_in(source, 16))
        reference_put_id(ids, batch->id_type, choose(source, call->tokens),
                         draw_hostile_id(source, (int64_t)call->spec.vocab));
    batch->ids = ids;
    if (!one_in(source, 3))
        draw_past(call, source);
}

static void draw_accepted(struct ngram_call *call, struct source *source)
{
    call->accepted = NULL;
    if (call->status != INLAY_OK || half(source))
        return;
    int64_t *accepted = place(source, ACCEPTED, call->batch.sequences * 8);
    for (size_t b = 0; b < call->batch.sequences; b++)
        accepted[b] = (int64_t)choose(source, first_of(call, b + 1) - first_of(call, b) + 1);
    if (call->batch.sequences > 0 && one_in(source, 16)) {
        const size_t b = choose(source, call->batch.sequences);
        accepted[b] = half(source) ? -1 : (int64_t)(first_of(call, b + 1) - first_of(call, b) + 1);
    }
    call->accepted = accepted;
}

void ngram_draw(struct ngram_call *call, struct source *source)
{
    memset(call, 0, sizeof *call);
    call->gathers = !one_in(source, 3);
    draw_tables(call, source);
    draw_spec(call, source);
    draw_batch(call, source);
    draw_lookup(call, source);
    call->threads = half(source);
    call->executor = (inlay_executor){&source->random, run_shuffled, 1 + choose(source, 5)};
    if (inlay_ngram_create(&call->spec, NULL, &call->ngram) != INLAY_OK)
        abort();
    expect_call(call);
    draw_accepted(call, source);
}

void ngram_end(struct ngram_call *call)
{
    inlay_ngram_destroy(call->ngram);
}

/* ---- Checks ----------------------------------------------------------------------------------------------------- */

static bool as_expected(const struct ngram_call *call, inlay_status status, inlay_fault fault)
{
    const inlay_fault *wanted = &call->fault;
    if (call->tokens == 0)
        return status == INLAY_OK;
    return status == call->status &&
           (status == INLAY_OK ||
            (fault.sequence == wanted->sequence && fault.token == wanted->token && fault.value == wanted->value));
}

static const inlay_executor *executor_of(const struct ngram_call *call)
{
    return call->threads ? &call->executor : NULL;
}

static const char *check_ids(struct ngram_call *call, struct source *source)
{
    const size_t first = call->lookup.first_column, n = call->columns;
    uint64_t end = 0;
    for (size_t c = first; c < first + n; c++)
        end = call->spec.columns[c].offset + call->spec.columns[c].modulus > end
                  ? call->spec.columns[c].offset + call->spec.columns[c].modulus
                  : end;
    const bool narrow = end <= (uint64_t)INT32_MAX + 1 && half(source);
    const inlay_id_type type = narrow ? INLAY_ID_I32 : INLAY_ID_I64;
    const size_t row_bytes = n * (narrow ? 4 : 8), stride = row_bytes + choose(source, 9);
    if (call->tokens * stride > NGRAM_OUT_BYTES)
        return NULL;
    inlay_fault fault = {0};
    unsigned char *out = arena_place(&arenas[OUT], call->tokens * stride, (enum placement)choose(source, 2), 0);
    const inlay_status status = inlay_ngram_ids(call->ngram, &call->batch, first, call->lookup.columns, type, out,
                                                stride, executor_of(call), &fault);
    if (!as_expected(call, status, fault))
        return "row ids come to another status or fault";
    if (status != INLAY_OK || call->tokens == 0)
        return arena_untouched(&arenas[OUT]) ? NULL : "row ids were written all the same";
    for (size_t t = 0; t < call->tokens; t++)
        for (size_t c = 0; c < n; c++)
            if (reference_id(out + t * stride, type, c) != ngram_expected_row(call, t, first + c))
                return "another row id";
    return arena_untouched_outside(&arenas[OUT], out, call->tokens, stride, row_bytes) ? NULL
                                                                                       : "row ids wrote elsewhere";
}

/* Writes the expected output of a token's row c, or of the sum of all. */
static void expect_row(const struct ngram_call *call, size_t token, size_t c, unsigned char *out)
{
    static float row[4352];
    const inlay_ngram_lookup *lookup = &call->lookup;
    const bool sums = lookup->combine == INLAY_NGRAM_SUM;
    const size_t dim = call->tables[0].dim;
    bool any = false;
    memset(row, 0, sizeof row);
    for (size_t i = sums ? 0 : c; i < (sums ? call->columns : c + 1); i++) {
        const int64_t at = ngram_expected_row(call, token, lookup->first_column + i);
        const inlay_table *table = &call->tables[call->spec.columns[lookup->first_column + i].table];
        if (at < 0)
            continue;
        for (size_t column = 0; column < dim; column++) {
            const float value = reference_element(table, (size_t)at, column) * lookup->scale;
            row[column] = any ? row[column] + value : value;
        }
        any = true;
        if (!sums && table->type == lookup->out_type && lookup->scale == 1) {
            size_t row_in_array = (size_t)at;
            const inlay_table array = reference_array(table, &row_in_array);
            memcpy(out, (const unsigned char *)array.data + row_in_array * array.stride_bytes,
                   inlay_table_row_bytes(table->type, dim));
            return;
        }
    }
    reference_put_row(out, lookup->out_type, row, dim);
}

/* Whether outputs have the same bits, or are both NaN where they were computed. */
static bool same_row(const unsigned char *a, const unsigned char *b, inlay_element_type type, size_t dim)
{
    for (size_t i = 0; i < dim; i++) {
        uint16_t x, y;
        if (type == INLAY_F32) {
            if (!same_float(float_at(a, i), float_at(b, i)))
                return false;
            continue;
        }
        memcpy(&x, a + 2 * i, 2);
        memcpy(&y, b + 2 * i, 2);
        const unsigned infinity = type == INLAY_F16 ? 0x7c00 : 0x7f80;
        if (x != y && ((x & 0x7fff) <= infinity || (y & 0x7fff) <= infinity))
            return false;
    }
    return true;
}

static const char *check_forward(struct ngram_call *call, struct source *source)
{
    const inlay_ngram_lookup *lookup = &call->lookup;
    const bool sums = lookup->combine == INLAY_NGRAM_SUM;
    const size_t dim = call->tables[0].dim, element = lookup->out_type == INLAY_F32 ? 4 : 2,
                 n = sums ? 1 : call->columns;
    const size_t stride = lookup->column_stride_bytes > 0 ? lookup->column_stride_bytes : dim * element;
    const size_t used =
        call->tokens > 0 ? (call->tokens - 1) * call->token_stride + (n - 1) * stride + dim * element : 0;
    if (!call->gathers)
        return NULL;
    inlay_fault fault = {0};
    unsigned char *out = arena_place(&arenas[OUT], used, (enum placement)choose(source, 2), 0);
    const inlay_status status =
        inlay_ngram_forward(call->ngram, &call->batch, lookup, out, call->token_stride, executor_of(call), &fault);
    if (!as_expected(call, status, fault))
        return "forward comes to another status or fault";
    if (status != INLAY_OK || call->tokens == 0)
        return arena_untouched(&arenas[OUT]) ? NULL : "forward wrote all the same";
    for (size_t t = 0; t < call->tokens; t++)
        for (size_t c = 0; c < n; c++) {
            unsigned char *at = out + t * call->token_stride + c * stride;
            const bool copied =
                !sums && lookup->scale == 1 &&
                call->tables[call->spec.columns[lookup->first_column + c].table].type == lookup->out_type;
            expect_row(call, t, c, expected);
            if (copied ? memcmp(at, expected, dim * element) != 0 : !same_row(at, expected, lookup->out_type, dim))
                return "another row";
            memset(at, 0xa5, dim * element); /* the pattern of arenas */
        }
    return arena_untouched(&arenas[OUT]) ? NULL : "forward wrote elsewhere";
}

/* Whether the first sequence that accepts too many tokens is that of the fault; SIZE_MAX: none does. */
static size_t bad_accepted(const struct ngram_call *call)
{
    for (size_t b = 0; call->accepted != NULL && b < call->batch.sequences; b++)
        if (call->accepted[b] < 0 || (size_t)call->accepted[b] > first_of(call, b + 1) - first_of(call, b))
            return b;
    return SIZE_MAX;
}

static const char *check_history(struct ngram_call *call, struct source *source)
{
    const inlay_ngram_batch *batch = &call->batch;
    const size_t places = call->spec.length - 1, bytes = reference_id_bytes(batch->id_type);
    const size_t n = batch->sequences * places, bad = bad_accepted(call);
    inlay_fault fault = {0};
    unsigned char *out = arena_place(&arenas[OUT], n * bytes, (enum placement)choose(source, 2), 0);
    uint32_t *lengths = (uint32_t *)(void *)arena_place(&arenas[OUT_LENGTHS], batch->sequences * 4, AT_END, 0);
    const inlay_status status = inlay_ngram_history(call->ngram, batch, call->accepted, out, lengths, &fault);
    if (batch->sequences > 0 && bad < SIZE_MAX
            ? status != INLAY_ERROR_HISTORY || fault.sequence != bad || fault.value != call->accepted[bad]
            : status != (batch->sequences > 0 ? call->status : INLAY_OK))
        return "history comes to another status or fault";
    if (status != INLAY_OK || batch->sequences == 0)
        return arena_untouched(&arenas[OUT]) && arena_untouched(&arenas[OUT_LENGTHS]) ? NULL
                                                                                      : "history wrote all the same";
    for (size_t b = 0; b < batch->sequences; b++) {
        int64_t taken = (int64_t)(first_of(call, b + 1) - first_of(call, b));
        if (call->accepted != NULL)
            taken = call->accepted[b];
        size_t length = 0;
        for (size_t s = 1; s <= places; s++) {
            const int64_t id = id_at(call, b, taken - (int64_t)s);
            length += id >= 0;
            if (reference_id(out, batch->id_type, (b + 1) * places - s) != (id >= 0 ? id : 0))
                return "another id in a history";
        }
        if (lengths[b] != length)
            return "another length of a history";
    }
    return arena_untouched_outside(&arenas[OUT], out, 1, 0, n * bytes) ? NULL : "history wrote elsewhere";
}

const char *ngram_check(struct ngram_call *call, struct source *source)
{
    const char *wrong = check_ids(call, source);
    if (wrong == NULL)
        wrong = check_forward(call, source);
    return wrong != NULL ? wrong : check_history(call, source);
}

size_t ngram_array(const struct ngram_call *call, size_t i, void **array, inlay_id_type *type)
{
    const inlay_ngram_batch *batch = &call->batch;
    const struct {
        const void *array;
        inlay_id_type type;
        size_t n;
    } arrays[NGRAM_ARRAYS] = {
        {batch->ids, batch->id_type, call->tokens},
        {batch->offsets, INLAY_ID_I64, batch->sequences + 1},
        {batch->history, batch->id_type, batch->sequences * (call->spec.length - 1)},
        {batch->history_lengths, INLAY_ID_U32, batch->sequences},
        {call->spec.token_map, INLAY_ID_U32, call->spec.vocab},
    };
    *array = (void *)(uintptr_t)arrays[i].array;
    *type = arrays[i].type;
    return *array != NULL ? arrays[i].n : 0;
}

bool ngram_stays_in_rows(struct ngram_call *call, const inlay_executor *executor, inlay_status *status)
{
    const size_t row_bytes = call->columns * 8, first = call->lookup.first_column;
    unsigned char *out = arena_place(&arenas[OUT], call->tokens * row_bytes, AT_END, 0);
    *status = inlay_ngram_ids(call->ngram, &call->batch, first, call->lookup.columns, INLAY_ID_I64, out, row_bytes,
                              executor, NULL);
    for (size_t i = 0; *status == INLAY_OK && i < call->tokens * call->columns; i++) {
        const inlay_ngram_column *column = &call->spec.columns[first + i % call->columns];
        const uint64_t row = (uint64_t)reference_id(out, INLAY_ID_I64, i);
        if (row != UINT64_MAX && (row < column->offset || row - column->offset >= column->modulus))
            return false;
    }
    if (!arena_untouched_outside(&arenas[OUT], out, 1, 0, call->tokens * row_bytes))
        return false;
    if (!call->gathers)
        return true;
    out = arena_place(&arenas[OUT], call->out_bytes, AT_BEGIN, 0);
    *status = inlay_ngram_forward(call->ngram, &call->batch, &call->lookup, out, call->token_stride, executor, NULL);
    return arena_untouched_outside(&arenas[OUT], out, 1, 0, call->out_bytes);
}
