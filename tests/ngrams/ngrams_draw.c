/* SPDX-License-Identifier: MIT */
/* Implements ngrams_draw.h. */
#include "ngrams/ngrams_draw.h"

#include <string.h>

enum { IDS, OFFSETS, HISTORY, LENGTHS, ACCEPTED, MAP, FLOATS, NOISE, SCALES, ARENAS };
enum { MAX_VOCAB = 3000, TABLE_BYTES = 1 << 19, LONGEST = INLAY_NGRAM_MAX_LENGTH };

static struct arena arenas[ARENAS];
static int64_t multipliers[8 * LONGEST], resets[4], masks[4];
static inlay_ngram_column columns[INLAY_NGRAM_MAX_COLUMNS];

void ngram_draw_prepare(void)
{
    static const size_t bytes[ARENAS] = {
        [IDS] = NGRAM_TOKENS * 8,
        [OFFSETS] = (NGRAM_SEQUENCES + 1) * 8,
        [HISTORY] = NGRAM_SEQUENCES * LONGEST * 8,
        [LENGTHS] = NGRAM_SEQUENCES * 4,
        [ACCEPTED] = NGRAM_SEQUENCES * 8,
        [MAP] = MAX_VOCAB * 4,
        [FLOATS] = TABLE_BYTES,
        [NOISE] = TABLE_BYTES,
        [SCALES] = TABLE_BYTES,
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

/* Returns space for an array, adjacent to the guard page before or after it, without changing its contents. */
static void *place(struct source *source, int which, size_t bytes)
{
    return half(source) ? arenas[which].begin : arenas[which].end - bytes;
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
    default:
        break;
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

/* Draws columns. Often they use the n-grams of the previous column, or longer ones with the same multipliers. */
static void draw_columns(struct ngram_call *call, struct source *source)
{
    inlay_ngram_spec *spec = &call->spec;
    spec->column_count = 1 + choose(source, one_in(source, 4) ? 70 : 12);
    if (one_in(source, 50))
        spec->column_count = 1 + choose(source, INLAY_NGRAM_MAX_COLUMNS);
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
    const size_t vocab = 1 + choose(source, one_in(source, 4) ? MAX_VOCAB : 50);
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

/* Splits a table into extents of its own memory, which start at whole bytes of zero points. */
static void cut_table(struct source *source, inlay_table *table, inlay_table_extent *parts)
{
    const bool flat = table->type == INLAY_U4_GROUPED_FLAT && table->zeros != NULL, equal = half(source);
    const size_t groups = table->group > 0 ? groups_of(table->dim, table->group) : 1, step = flat ? 2 : 1;
    const size_t row_scales = row_scale_bytes(table->type, table->dim, table->group);
    const size_t rows_each = step * (1 + choose(source, table->rows));
    size_t n = 0;
    for (size_t row = 0; row < table->rows && n < NGRAM_EXTENTS; n++) {
        parts[n] = (inlay_table_extent){.data = (const unsigned char *)table->data + row * table->stride_bytes,
                                        .first_row = row};
        if (table->scales != NULL)
            parts[n].scales = (const unsigned char *)table->scales + row * row_scales;
        if (table->zeros != NULL)
            parts[n].zeros = (const unsigned char *)table->zeros + zero_bytes(table->type, row, groups);
        row += equal ? rows_each : step * (1 + choose(source, table->rows));
    }
    const bool all_equal = equal && (n - 1) * rows_each < table->rows && table->rows <= n * rows_each;
    *table = inlay_table_from_extents(*table, parts, n, all_equal ? rows_each : 0);
}

/* Draws a table over the random bytes of its arena. */
static inlay_table draw_ngram_table(struct source *source, size_t dim, inlay_element_type type)
{
    const uint32_t group = is_grouped(type) ? chosen_group(type, choose(source, 12)) : 0;
    if (inlay_table_row_bytes(type, dim) == 0)
        return draw_ngram_table(source, dim, INLAY_F16);
    const size_t row_bytes = inlay_table_row_bytes(type, dim), row_scales = row_scale_bytes(type, dim, group);
    const size_t stride = row_bytes + (one_in(source, 3) ? choose(source, 9) : 0),
                 groups = group > 0 ? groups_of(dim, group) : 1;
    size_t most = TABLE_BYTES / (stride > row_scales ? stride : row_scales);
    if (!half(source) && most > 40)
        most = 40;
    const size_t n = 1 + choose(source, most), bytes = (n - 1) * stride + row_bytes;
    inlay_table table =
        inlay_table_view(type, place(source, type == INLAY_F32 ? FLOATS : NOISE, bytes), n, dim, stride);
    table.group = group;
    if (row_scales > 0 && !(scales_are_optional(type) && half(source)))
        table.scales = place(source, type == INLAY_E4M3_E8M0 ? NOISE : SCALES, n * row_scales);
    if (has_zeros(type) && half(source))
        table.zeros = place(source, NOISE, zero_bytes(type, n, groups));
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
        call->tuning.prefetch = (inlay_prefetch)choose(source, INLAY_PREFETCH_L2_BLOCKS + 1);
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
    batch->sequences = choose(source, one_in(source, 5) ? NGRAM_SEQUENCES : 6);
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
    /* Entries before a shorter history are not read. */
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

void ngram_draw_inputs(struct ngram_call *call, struct source *source)
{
    memset(call, 0, sizeof *call);
    call->gathers = !one_in(source, 3);
    draw_tables(call, source);
    draw_spec(call, source);
    draw_batch(call, source);
    draw_lookup(call, source);
    call->threads = half(source);
    call->executor = (inlay_executor){&source->random, run_shuffled, 1 + choose(source, 5)};
}

void ngram_draw_accepted(struct ngram_call *call, struct source *source)
{
    call->accepted = NULL;
    if (call->status != INLAY_OK || half(source))
        return;
    int64_t *accepted = place(source, ACCEPTED, call->batch.sequences * 8);
    for (size_t b = 0; b < call->batch.sequences; b++)
        accepted[b] = (int64_t)choose(source, ngram_first_token(call, b + 1) - ngram_first_token(call, b) + 1);
    if (call->batch.sequences > 0 && one_in(source, 16)) {
        const size_t b = choose(source, call->batch.sequences);
        accepted[b] = half(source) ? -1 : (int64_t)(ngram_first_token(call, b + 1) - ngram_first_token(call, b) + 1);
    }
    call->accepted = accepted;
}
