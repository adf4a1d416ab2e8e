/* SPDX-License-Identifier: MIT */
/*
 * inlay_ngram_ids(): computes the row ids of every token.
 */
#include "base/executor.h"
#include "dispatch/dispatch.h"
#include "ngram/chunk.h"

#include <string.h>

/* Replaces the ids of remainder 0 by UINT64_MAX, the id for "no row". */
static void mark_none(struct inlay_ngram_chunk *chunk)
{
    for (size_t c = 0; c < chunk->call.count; c++) {
        uint64_t *rows = chunk->rows + c * chunk->call.rows_stride;
        for (size_t t = 0; t < chunk->call.tokens; t++)
            if (rows[t] == chunk->call.columns[c].offset)
                rows[t] = UINT64_MAX;
    }
}

/* Transposes rows [count, stride] to int64 row ids [n, count]. Two columns of two tokens at a time, which compilers
   vectorize. */
static void write_int64(const uint64_t *rows, size_t stride, size_t n, size_t count, unsigned char *out,
                        size_t stride_bytes)
{
    size_t t = 0;
    for (; t + 2 <= n; t += 2, out += 2 * stride_bytes) {
        size_t c = 0;
        for (; c + 2 <= count; c += 2) {
            const uint64_t *first = rows + c * stride + t, *second = first + stride;
            const uint64_t even[2] = {first[0], second[0]}, odd[2] = {first[1], second[1]};
            memcpy(out + c * sizeof *rows, even, sizeof even);
            memcpy(out + stride_bytes + c * sizeof *rows, odd, sizeof odd);
        }
        if (c < count) {
            memcpy(out + c * sizeof *rows, rows + c * stride + t, sizeof *rows);
            memcpy(out + stride_bytes + c * sizeof *rows, rows + c * stride + t + 1, sizeof *rows);
        }
    }
    for (size_t c = 0; t < n && c < count; c++)
        memcpy(out + c * sizeof *rows, rows + c * stride + t, sizeof *rows);
}

/* Transposes to int32. */
static void write_int32(const uint64_t *rows, size_t stride, size_t n, size_t count, unsigned char *out,
                        size_t stride_bytes)
{
    for (size_t t = 0; t < n; t++, out += stride_bytes)
        for (size_t c = 0; c < count; c++) {
            const uint32_t row = (uint32_t)rows[c * stride + t];
            memcpy(out + c * sizeof row, &row, sizeof row);
        }
}

/* Not inlined, to keep its arithmetic within the caller's guarded floating-point environment. */
static __attribute__((noinline)) void run_ids(const struct inlay_ngram_pass *pass, size_t token, size_t end)
{
    const inlay_id_type type = *(const inlay_id_type *)pass->terms;
    const size_t most = inlay_ngram_chunk_tokens(pass->columns), last = pass->first_column + pass->columns;
    struct inlay_ngram_walk walk;
    struct inlay_ngram_chunk chunk;
    void (*const write)(const uint64_t *, size_t, size_t, size_t, unsigned char *, size_t) =
        type == INLAY_ID_I32 ? write_int32 : write_int64;
    inlay_ngram_walk_begin(&walk, pass->input, token, end);
    for (size_t n; token < end; token += n) {
        unsigned char *out = pass->out + token * pass->token_stride_bytes;
        n = inlay_ngram_walk_next(&walk, most);
        for (size_t c = pass->first_column; c < last; c += chunk.call.count) {
            inlay_ngram_chunk_hash(&chunk, pass, c, walk.places, n);
            if (pass->input->ngram->zero_is_none)
                mark_none(&chunk);
            write(chunk.rows, chunk.call.rows_stride, n, chunk.call.count,
                  out + (c - pass->first_column) * inlay_id_bytes(type), pass->token_stride_bytes);
        }
    }
}

/* True if all row ids of these columns fit in `type`. */
static bool rows_fit(const inlay_ngram *ngram, size_t first_column, size_t columns, inlay_id_type type)
{
    if (type != INLAY_ID_I32)
        return type == INLAY_ID_I64;
    for (size_t c = first_column; c < first_column + columns; c++)
        if (ngram->columns[c].offset + ngram->columns[c].modulus - 1 > INT32_MAX)
            return false;
    return true;
}

inlay_status inlay_ngram_ids(const inlay_ngram *ngram, const inlay_ngram_batch *batch, size_t first_column,
                             size_t columns, inlay_id_type out_type, void *out, size_t out_stride_bytes,
                             const inlay_executor *executor, inlay_fault *fault)
{
    inlay_fault unused;
    fault = fault != NULL ? fault : &unused;
    struct inlay_ngram_input input;
    struct inlay_extent written = {0, 0};
    inlay_status status = inlay_ngram_validate(&input, ngram, batch, fault);
    if (status == INLAY_OK)
        status = inlay_blame(fault, inlay_ngram_check_columns(ngram, first_column, &columns), "columns", NULL);
    if (status == INLAY_OK && !rows_fit(ngram, first_column, columns, out_type))
        status = inlay_blame(fault, INLAY_ERROR_OPTION, "out_type",
                             "is not INLAY_ID_I64, or INLAY_ID_I32 if all row ids fit");
    if (status == INLAY_OK)
        status = inlay_blame(
            fault, inlay_check_rows(out, input.tokens, columns * inlay_id_bytes(out_type), out_stride_bytes, &written),
            "out", NULL);
    status = inlay_check_executor(status, executor, fault);
    if (status != INLAY_OK || input.tokens == 0)
        return status;
    status = inlay_ngram_check_reads(&input, written, NULL, fault);
    if (status == INLAY_OK)
        status = inlay_ngram_check_contents(&input, fault);
    if (status != INLAY_OK)
        return status;
    struct inlay_ngram_pass pass = {
        .input = &input,
        .transfers = {.kernels = inlay_dispatch()},
        .first_column = first_column,
        .columns = columns,
        .out = out,
        .token_stride_bytes = out_stride_bytes,
        .terms = &out_type,
        .run = run_ids,
    };
    inlay_ngram_run(&pass, columns * inlay_id_bytes(out_type), executor);
    return INLAY_OK;
}
