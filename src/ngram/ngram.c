/* SPDX-License-Identifier: MIT */
/*
 * Creates and destroys n-gram handles: validates the spec and prepares its columns for the kernels.
 */
#include "base/fixed.h"
#include "base/line.h"
#include "base/memory.h"
#include "base/rounding.h"
#include "ngram/handle.h"
#include "table/ids.h"

#include <string.h>

/* ---- Validation ------------------------------------------------------------------------------------------------- */

static inlay_status check_optional(const int64_t *ids, size_t count)
{
    struct inlay_extent read;
    return count == 0 ? INLAY_OK : inlay_check_array(ids, count, sizeof *ids, &read);
}

/* Checks everything except array contents, which the caller's allocator or another thread may still change before they
   are copied. */
static inlay_status check_ngram_spec(const inlay_ngram_spec *spec)
{
    const uint64_t max_vocab = UINT64_C(1) << 31;
    struct inlay_extent read;
    if (spec == NULL)
        return INLAY_ERROR_NULL;
    if (!inlay_struct_known(spec, sizeof *spec) || spec->vocab < 1 || spec->vocab > max_vocab || spec->length < 1 ||
        spec->length > INLAY_NGRAM_MAX_LENGTH ||
        (spec->mix != INLAY_NGRAM_MIX_XOR && spec->mix != INLAY_NGRAM_MIX_ADD) || spec->zero_is_none > 1 ||
        spec->vectors < 1 || spec->vectors > INLAY_NGRAM_MAX_COLUMNS || spec->column_count < 1 ||
        spec->column_count > INLAY_NGRAM_MAX_COLUMNS)
        return INLAY_ERROR_OPTION;
    inlay_status status = check_optional(spec->resets, spec->reset_count);
    if (status == INLAY_OK)
        status = check_optional(spec->masks, spec->mask_count);
    if (status == INLAY_OK)
        status = inlay_check_array(spec->multipliers, spec->vectors * spec->length, sizeof *spec->multipliers, &read);
    if (status == INLAY_OK)
        status = inlay_check_array(spec->columns, spec->column_count, sizeof *spec->columns, &read);
    if (status == INLAY_OK && spec->token_map != NULL)
        status = inlay_check_array(spec->token_map, spec->vocab, sizeof *spec->token_map, &read);
    return status;
}

/* ---- Memory ----------------------------------------------------------------------------------------------------- */

/* Reserves an array at the next cache line from *at on, and moves *at past it. */
static void *take(uintptr_t *at, size_t n, size_t element_bytes)
{
    const uintptr_t begin = (*at + INLAY_CACHE_LINE - 1) / INLAY_CACHE_LINE * INLAY_CACHE_LINE;
    *at = begin + n * element_bytes;
    return (void *)begin;
}

/* Sets the array pointers of a handle, for memory that starts at `begin`. Returns the bytes needed. Nothing overflows:
   the largest arrays, the bitmaps, take less than 2^29 bytes. */
static size_t place_arrays(inlay_ngram *ngram, const inlay_ngram_spec *spec, uintptr_t begin)
{
    const size_t words = (spec->vocab + 63) / 64, n = spec->column_count;
    uintptr_t at = begin;
    ngram->multipliers = take(&at, spec->vectors * spec->length, sizeof *ngram->multipliers);
    ngram->columns = take(&at, n, sizeof *ngram->columns);
    ngram->same_table = take(&at, n, sizeof *ngram->same_table);
    ngram->inverses = take(&at, n, sizeof *ngram->inverses);
    ngram->resets = spec->reset_count > 0 ? take(&at, words, sizeof *ngram->resets) : NULL;
    ngram->masks = spec->mask_count > 0 ? take(&at, words, sizeof *ngram->masks) : NULL;
    return at - begin;
}

/* ---- Contents of arrays ----------------------------------------------------------------------------------------- */

/* Fills a bitmap with ids. Returns false if one is outside the vocabulary. */
static bool fill_bitmap(uint64_t *bitmap, const int64_t *ids, size_t count, size_t vocab)
{
    if (count > 0)
        memset(bitmap, 0, (vocab + 63) / 64 * sizeof *bitmap);
    for (size_t i = 0; i < count; i++) {
        const uint64_t id = inlay_load_once((uint64_t)inlay_id_at(ids, INLAY_ID_I64, i));
        if (id >= vocab)
            return false;
        bitmap[id / 64] |= UINT64_C(1) << id % 64;
    }
    return true;
}

static bool column_known(const inlay_ngram_spec *spec, const inlay_ngram_column *column)
{
    const uint64_t offset_limit = UINT64_C(1) << 63;
    return column->length >= 1 && column->length <= spec->length && column->vector < spec->vectors &&
           column->modulus >= 1 && column->offset <= offset_limit - column->modulus;
}

/* Copies the contents of the spec's arrays. Returns false if a value is out of range. */
static bool copy_arrays(inlay_ngram *ngram, const inlay_ngram_spec *spec)
{
    bool known = fill_bitmap(ngram->resets, spec->resets, spec->reset_count, spec->vocab) &&
                 fill_bitmap(ngram->masks, spec->masks, spec->mask_count, spec->vocab);
    memcpy(ngram->multipliers, spec->multipliers, spec->vectors * spec->length * sizeof *ngram->multipliers);
    memcpy(ngram->columns, spec->columns, spec->column_count * sizeof *ngram->columns);
    for (size_t c = 0; c < spec->column_count; c++)
        known = known && column_known(spec, &ngram->columns[c]);
    return known;
}

/* Computes inverses in integers, since the caller's floating-point environment may be anything. */
static void prepare_columns(inlay_ngram *ngram)
{
    const inlay_ngram_column *columns = ngram->columns;
    for (size_t c = 0; c < ngram->column_count; c++) {
        size_t before = c;
        while (before > 0 && columns[before - 1].table != columns[c].table)
            before--;
        ngram->same_table[c] = (uint32_t)before;
        ngram->inverses[c] = inlay_round_f64(inlay_fixed_div(inlay_fixed_one, columns[c].modulus), 0, false);
    }
}

inlay_status inlay_ngram_create(const inlay_ngram_spec *spec, const inlay_allocator *allocator, inlay_ngram **ngram)
{
    if (ngram == NULL)
        return INLAY_ERROR_NULL;
    *ngram = NULL;
    inlay_allocator memory;
    inlay_status status = check_ngram_spec(spec);
    if (status == INLAY_OK)
        status = inlay_allocator_of(allocator, &memory);
    if (status != INLAY_OK)
        return status;

    inlay_ngram handle = {
        .allocator = memory,
        .vocab = spec->vocab,
        .column_count = spec->column_count,
        .length = spec->length,
        .pad = spec->pad,
        .adds = spec->mix == INLAY_NGRAM_MIX_ADD,
        .zero_is_none = spec->zero_is_none != 0,
        .token_map = spec->token_map,
    };
    handle.bytes = sizeof handle + INLAY_CACHE_LINE + place_arrays(&handle, spec, 0);
    inlay_ngram *made = memory.allocate(memory.ctx, handle.bytes);
    if (made == NULL)
        return INLAY_ERROR_NO_MEMORY;
    *made = handle;
    place_arrays(made, spec, (uintptr_t)(made + 1));
    if (!copy_arrays(made, spec)) {
        inlay_ngram_destroy(made);
        return INLAY_ERROR_OPTION;
    }
    prepare_columns(made);
    *ngram = made;
    return INLAY_OK;
}

void inlay_ngram_destroy(inlay_ngram *ngram)
{
    if (ngram != NULL)
        ngram->allocator.release(ngram->allocator.ctx, ngram);
}
