/* SPDX-License-Identifier: MIT */
/* Implements ngrams.h. */
#include "ngrams/ngrams.h"

#include "ngrams/ngrams_draw.h"
#include "support/reference.h"

#include <stdlib.h>
#include <string.h>

static struct arena out_arena, lengths_arena;
static int64_t rows[NGRAM_CELLS];
static unsigned char expected[NGRAM_OUT_BYTES];

void ngrams_prepare(void)
{
    ngram_draw_prepare();
    out_arena = arena_make(NGRAM_OUT_BYTES + 16);
    lengths_arena = arena_make(NGRAM_SEQUENCES * 4);
}

/* ---- The definition --------------------------------------------------------------------------------------------- */

/* Returns id `at` of sequence b, relative to its first token in the call; negative in the history. Returns -1 before
   the start of the sequence. */
static int64_t id_at(const struct ngram_call *call, size_t b, int64_t at)
{
    const inlay_ngram_batch *batch = &call->batch;
    const int64_t places = (int64_t)call->spec.length - 1;
    if (at >= 0)
        return reference_id(batch->ids, batch->id_type, ngram_first_token(call, b) + (size_t)at);
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
        call->fault = (inlay_fault){.sequence = b, .token = at, .value = value};
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
        for (size_t i = ngram_first_token(call, b); i < ngram_first_token(call, b + 1); i++) {
            const int64_t id = reference_id(call->batch.ids, call->batch.id_type, i);
            if (id < 0 || id >= (int64_t)call->spec.vocab)
                expect_fault(call, INLAY_ERROR_ID, b, i - ngram_first_token(call, b), id);
        }
}

/* Computes the expected result of the call, and its rows if it succeeds. (Calls without tokens read nothing, see
   as_expected().) */
static void expect_call(struct ngram_call *call)
{
    call->status = INLAY_OK;
    call->fault = (inlay_fault){0};
    expect_offsets(call);
    expect_history(call);
    expect_ids(call);
    for (size_t b = 0; call->status == INLAY_OK && b < call->batch.sequences; b++)
        for (size_t i = ngram_first_token(call, b); i < ngram_first_token(call, b + 1); i++)
            for (size_t c = 0; c < call->spec.column_count; c++)
                rows[i * call->spec.column_count + c] =
                    row_of(call, b, (int64_t)(i - ngram_first_token(call, b)), &call->spec.columns[c]);
}

void ngram_draw(struct ngram_call *call, struct source *source)
{
    ngram_draw_inputs(call, source);
    if (inlay_ngram_create(&call->spec, NULL, &call->ngram) != INLAY_OK)
        abort();
    expect_call(call);
    ngram_draw_accepted(call, source);
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
    const bool narrow = end <= (uint64_t)INT32_MAX + 1 && one_in(source, 2);
    const inlay_id_type type = narrow ? INLAY_ID_I32 : INLAY_ID_I64;
    const size_t row_bytes = n * (narrow ? 4 : 8), stride = row_bytes + choose(source, 9);
    if (call->tokens * stride > NGRAM_OUT_BYTES)
        return NULL;
    inlay_fault fault = {0};
    unsigned char *out = arena_place(&out_arena, call->tokens * stride, (enum placement)choose(source, 2), 0);
    const inlay_status status = inlay_ngram_ids(call->ngram, &call->batch, first, call->lookup.columns, type, out,
                                                stride, executor_of(call), &fault);
    if (!as_expected(call, status, fault))
        return "row ids come to another status or fault";
    if (status != INLAY_OK || call->tokens == 0)
        return arena_untouched(&out_arena) ? NULL : "row ids were written all the same";
    for (size_t t = 0; t < call->tokens; t++)
        for (size_t c = 0; c < n; c++)
            if (reference_id(out + t * stride, type, c) != ngram_expected_row(call, t, first + c))
                return "another row id";
    return arena_untouched_outside(&out_arena, out, call->tokens, stride, row_bytes) ? NULL : "row ids wrote elsewhere";
}

/* Writes the expected output of a token's row c, or of the sum of all rows. */
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

/* True if outputs have the same bits, or are both NaN if they were computed. */
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
    unsigned char *out = arena_place(&out_arena, used, (enum placement)choose(source, 2), 0);
    const inlay_status status =
        inlay_ngram_forward(call->ngram, &call->batch, lookup, out, call->token_stride, executor_of(call), &fault);
    if (!as_expected(call, status, fault))
        return "forward comes to another status or fault";
    if (status != INLAY_OK || call->tokens == 0)
        return arena_untouched(&out_arena) ? NULL : "forward wrote all the same";
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
    return arena_untouched(&out_arena) ? NULL : "forward wrote elsewhere";
}

/* True if the fault is the first sequence that accepts too many tokens; SIZE_MAX: none does. */
static size_t bad_accepted(const struct ngram_call *call)
{
    for (size_t b = 0; call->accepted != NULL && b < call->batch.sequences; b++)
        if (call->accepted[b] < 0 ||
            (size_t)call->accepted[b] > ngram_first_token(call, b + 1) - ngram_first_token(call, b))
            return b;
    return SIZE_MAX;
}

static const char *check_history(struct ngram_call *call, struct source *source)
{
    const inlay_ngram_batch *batch = &call->batch;
    const size_t places = call->spec.length - 1, bytes = reference_id_bytes(batch->id_type);
    const size_t n = batch->sequences * places, bad = bad_accepted(call);
    inlay_fault fault = {0};
    unsigned char *out = arena_place(&out_arena, n * bytes, (enum placement)choose(source, 2), 0);
    uint32_t *lengths = (uint32_t *)(void *)arena_place(&lengths_arena, batch->sequences * 4, AT_END, 0);
    const inlay_status status = inlay_ngram_history(call->ngram, batch, call->accepted, out, lengths, &fault);
    if (batch->sequences > 0 && bad < SIZE_MAX
            ? status != INLAY_ERROR_HISTORY || fault.sequence != bad || fault.value != call->accepted[bad]
            : status != (batch->sequences > 0 ? call->status : INLAY_OK))
        return "history comes to another status or fault";
    if (status != INLAY_OK || batch->sequences == 0)
        return arena_untouched(&out_arena) && arena_untouched(&lengths_arena) ? NULL : "history wrote all the same";
    for (size_t b = 0; b < batch->sequences; b++) {
        int64_t taken = (int64_t)(ngram_first_token(call, b + 1) - ngram_first_token(call, b));
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
    return arena_untouched_outside(&out_arena, out, 1, 0, n * bytes) ? NULL : "history wrote elsewhere";
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
    unsigned char *out = arena_place(&out_arena, call->tokens * row_bytes, AT_END, 0);
    *status = inlay_ngram_ids(call->ngram, &call->batch, first, call->lookup.columns, INLAY_ID_I64, out, row_bytes,
                              executor, NULL);
    for (size_t i = 0; *status == INLAY_OK && i < call->tokens * call->columns; i++) {
        const inlay_ngram_column *column = &call->spec.columns[first + i % call->columns];
        const uint64_t row = (uint64_t)reference_id(out, INLAY_ID_I64, i);
        if (row != UINT64_MAX && (row < column->offset || row - column->offset >= column->modulus))
            return false;
    }
    if (!arena_untouched_outside(&out_arena, out, 1, 0, call->tokens * row_bytes))
        return false;
    if (!call->gathers)
        return true;
    out = arena_place(&out_arena, call->out_bytes, AT_BEGIN, 0);
    *status = inlay_ngram_forward(call->ngram, &call->batch, &call->lookup, out, call->token_stride, executor, NULL);
    return arena_untouched_outside(&out_arena, out, 1, 0, call->out_bytes);
}
