/* SPDX-License-Identifier: MIT */
/*
 * Validation of a lookup.
 */
#include "ngram/lookup.h"

#include "ngram/pass.h"

static bool lookup_known(const inlay_ngram_lookup *lookup)
{
    const bool sums = lookup->combine == INLAY_NGRAM_SUM;
    return inlay_struct_known(lookup, sizeof *lookup) &&
           (lookup->tuning == NULL || inlay_tuning_known(lookup->tuning)) &&
           (sums || lookup->combine == INLAY_NGRAM_CONCAT) && inlay_type_bytes(lookup->out_type) > 0 &&
           lookup->stores <= INLAY_STORES_STREAMED && (!sums || lookup->column_stride_bytes == 0);
}

/* True if column c is the first of the gathered columns that uses its table. */
static bool is_first_of_table(const inlay_ngram *ngram, size_t first_column, size_t c)
{
    return ngram->same_table[c] <= first_column;
}

static inlay_status check_table(const inlay_table *table, struct inlay_ngram_gather *gather)
{
    struct inlay_table_arrays arrays;
    inlay_status status = inlay_check_table(table, &arrays, NULL, NULL);
    if (status == INLAY_OK)
        inlay_reach_over_arrays(&gather->arrays, &arrays);
    if (status == INLAY_OK && table->vocab > 0)
        status = INLAY_ERROR_OPTION;
    if (status == INLAY_OK && gather->dim > 0 && table->dim != gather->dim)
        status = INLAY_ERROR_SHAPE;
    return status;
}

static inlay_status check_lookup_tables(const inlay_ngram *ngram, const inlay_ngram_lookup *lookup,
                                        struct inlay_ngram_gather *gather)
{
    const size_t first = gather->lookup.first_column, end = first + gather->lookup.columns;
    struct inlay_extent read;
    inlay_status status = INLAY_ERROR_OPTION;
    if (lookup->table_count > 0)
        status = inlay_check_array((const void *)lookup->tables, lookup->table_count, sizeof *lookup->tables, &read);
    gather->dim = 0;
    for (size_t c = first; c < end && status == INLAY_OK; c++) {
        const inlay_ngram_column *column = &ngram->columns[c];
        const inlay_table *table = column->table < lookup->table_count ? lookup->tables[column->table] : NULL;
        if (column->table >= lookup->table_count)
            return INLAY_ERROR_OPTION;
        if (table == NULL)
            return INLAY_ERROR_NULL;
        if (is_first_of_table(ngram, first, c))
            status = check_table(table, gather);
        gather->dim = table->dim;
        if (status == INLAY_OK && column->offset + column->modulus > table->rows)
            status = INLAY_ERROR_SHAPE;
    }
    return status;
}

inlay_status inlay_ngram_check_lookup(const inlay_ngram *ngram, const inlay_ngram_lookup *lookup,
                                      struct inlay_ngram_gather *gather)
{
    if (lookup == NULL)
        return INLAY_ERROR_NULL;
    if (!lookup_known(lookup))
        return INLAY_ERROR_OPTION;
    *gather = (struct inlay_ngram_gather){
        .lookup = *lookup,
        .tuning = lookup->tuning != NULL ? *lookup->tuning : inlay_tuning_default(),
        .sums = lookup->combine == INLAY_NGRAM_SUM,
    };
    inlay_status status = inlay_ngram_check_columns(ngram, gather->lookup.first_column, &gather->lookup.columns);
    if (status == INLAY_OK)
        status = check_lookup_tables(ngram, lookup, gather);
    if (status != INLAY_OK)
        return status;
    gather->row_bytes = inlay_table_row_bytes(gather->lookup.out_type, gather->dim);
    if (gather->row_bytes == 0)
        return INLAY_ERROR_OVERFLOW;
    if (gather->lookup.column_stride_bytes == 0)
        gather->lookup.column_stride_bytes = gather->row_bytes;
    return INLAY_OK;
}

/* Computes the bytes of n > 0 rows. Returns false on overflow or if rows would overlap. */
static bool bytes_of_rows(size_t n, size_t row_bytes, size_t stride_bytes, size_t *bytes)
{
    return stride_bytes >= row_bytes && !__builtin_mul_overflow(n - 1, stride_bytes, bytes) &&
           !__builtin_add_overflow(*bytes, row_bytes, bytes);
}

inlay_status inlay_ngram_check_output(const struct inlay_ngram_gather *gather, const void *out, size_t tokens,
                                      size_t token_stride_bytes, struct inlay_extent *written)
{
    const size_t row = gather->row_bytes, column_stride_bytes = gather->lookup.column_stride_bytes;
    size_t bytes;
    if (gather->sums)
        return inlay_check_rows(out, tokens, row, token_stride_bytes, written);
    /* Either the rows of a token are contiguous, or those of a column. */
    if (bytes_of_rows(gather->lookup.columns, row, column_stride_bytes, &bytes) && bytes <= token_stride_bytes)
        return inlay_check_rows(out, tokens, bytes, token_stride_bytes, written);
    if (bytes_of_rows(inlay_max(tokens, 1), row, token_stride_bytes, &bytes))
        return inlay_check_rows(out, tokens > 0 ? gather->lookup.columns : 0, bytes, column_stride_bytes, written);
    return INLAY_ERROR_STRIDE;
}

inlay_status inlay_ngram_check_tables_apart(const inlay_ngram *ngram, const struct inlay_ngram_gather *gather,
                                            struct inlay_extent written)
{
    /* A quick test first: testing hundreds of extents takes longer than embedding a token. */
    const bool near = inlay_arrays_overlap(written, &gather->arrays);
    const inlay_table *const *tables = gather->lookup.tables;
    const size_t first = gather->lookup.first_column, end = first + gather->lookup.columns;
    const struct inlay_extent list = inlay_bytes_at((const void *)tables, gather->lookup.table_count * sizeof *tables);
    bool overlaps = inlay_extents_overlap(written, list);
    for (size_t c = first; c < end && !overlaps; c++) {
        const inlay_table *table = tables[ngram->columns[c].table];
        if (is_first_of_table(ngram, first, c))
            overlaps = inlay_extents_overlap(written, inlay_bytes_at(table, sizeof *table)) ||
                       (near && inlay_table_overlaps(written, table));
    }
    return overlaps ? INLAY_ERROR_OVERLAP : INLAY_OK;
}
