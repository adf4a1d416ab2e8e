/* SPDX-License-Identifier: MIT */
/*
 * Splits a batch among threads. Each part reads the ids before its first token itself, so results don't depend on the
 * split.
 */
#include "ngram/pass.h"

#include "base/executor.h"
#include "base/fpenv.h"

inlay_status inlay_ngram_check_columns(const inlay_ngram *ngram, size_t first_column, size_t *columns)
{
    if (first_column >= ngram->column_count)
        return INLAY_ERROR_OPTION;
    const size_t rest = ngram->column_count - first_column;
    if (*columns == INLAY_NGRAM_ALL_COLUMNS)
        *columns = rest;
    return *columns >= 1 && *columns <= rest ? INLAY_OK : INLAY_ERROR_OPTION;
}

static void run_tokens(void *arg, size_t index)
{
    const struct inlay_ngram_pass *pass = arg;
    const size_t tokens = pass->input->tokens;
    struct inlay_fpenv host = inlay_fpenv_enter();
    pass->run(pass, inlay_share_begin(tokens, pass->parts, index), inlay_share_begin(tokens, pass->parts, index + 1));
    if (pass->transfers.stream)
        inlay_store_fence();
    inlay_fpenv_leave(host);
}

void inlay_ngram_run(struct inlay_ngram_pass *pass, size_t row_bytes, const inlay_executor *executor)
{
    const size_t tokens = pass->input->tokens;
    pass->parts = inlay_min(inlay_parts(executor, inlay_product(tokens, row_bytes)), tokens);
    inlay_run_parts(executor, pass->parts, run_tokens, pass);
}
