/* SPDX-License-Identifier: MIT */
/*
 * Which rows a call takes is only known by its hashes, so they are computed once more for tables in files. What cannot
 * be read ahead is left to the gather, which also reports the errors of the call.
 */
#include "ngrams/read.h"

#include <stdlib.h>

/* The read of the columns from `first` on that share a table. */
struct run {
    struct open_file *file;
    inlay_file_read read;
};

/* Returns the end of the columns from `first` on that share its table. */
static size_t end_of_run(const struct ngram_call *call, size_t first)
{
    const inlay_ngram_column *column = call->ngram->column;
    size_t end = first + 1;
    while (end < call->first_column + call->columns && column[end].table == column[first].table)
        end++;
    return end;
}

/* Begins the reads of all runs. `ids` has room for the row ids of the call. Returns how many there are. */
static size_t begin_reads(const struct ngram_call *call, const inlay_ngram_lookup *lookup,
                          struct open_file *const *files, int64_t *ids, struct run *runs)
{
    size_t count = 0, end;
    for (size_t first = call->first_column; first < call->first_column + call->columns; first = end) {
        const uint32_t table = call->ngram->column[first].table;
        end = end_of_run(call, first);
        const size_t columns = end - first;
        if (files[table] == NULL || inlay_ngram_ids(call->ngram->handle, &call->batch, first, columns, INLAY_ID_I64,
                                                    ids, columns * sizeof *ids, NULL, NULL) != INLAY_OK)
            continue;
        runs[count].file = files[table];
        open_file_begin(files[table], lookup->tables[table], ids, INLAY_ID_I64, call->tokens * columns,
                        &runs[count].read);
        count++;
    }
    return count;
}

inlay_status ngram_forward(const struct ngram_call *call, const inlay_ngram_lookup *lookup,
                           struct open_file *const *files, void *out, size_t stride_bytes,
                           const inlay_executor *threads, inlay_fault *fault)
{
    size_t bytes, count = 0;
    int64_t *ids = NULL;
    struct run *runs = malloc(call->columns * sizeof *runs);
    if (!__builtin_mul_overflow(call->tokens, call->columns * sizeof *ids, &bytes) && bytes > 0)
        ids = malloc(bytes);
    if (runs != NULL && ids != NULL)
        count = begin_reads(call, lookup, files, ids, runs);
    free(ids);
    const inlay_status status =
        inlay_ngram_forward(call->ngram->handle, &call->batch, lookup, out, stride_bytes, threads, fault);
    for (size_t i = 0; i < count; i++)
        open_file_end(runs[i].file, &runs[i].read);
    free(runs);
    return status;
}
