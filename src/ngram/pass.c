/* SPDX-License-Identifier: MIT */
/*
 * The cut of pass.h. A part reads the ids before its first token itself, so that no cut changes a result.
 */
#include "ngram/pass.h"

#include "base/executor.h"
#include "base/fpenv.h"

inlay_status inlay_ngram_check_columns(const inlay_ngram *ngram, size_t first_column, size_t *columns)
{
    if (first_column >= ngram->column_count)
        return INLAY_ERROR_OPTION;
    const size_t rest = ngram->column_count - first_column;
    if (*columns == INLAY_NGRAM_COLUMNS_REST)
        *columns = rest;
    return *columns >= 1 && *columns <= rest ? INLAY_OK : INLAY_ERROR_OPTION;
}

static void run_tokens(const struct inlay_ngram_pass *pass, size_t token, size_t end)
{
    struct inlay_fpenv host = inlay_fpenv_enter();
    pass->run(pass, token, end);
    if (pass->moves.stream)
        inlay_store_fence();
    inlay_fpenv_leave(host);
}

struct cut {
    const struct inlay_ngram_pass *pass;
    size_t parts;
};

static void run_tokens_of_cut(void *arg, size_t index)
{
    const struct cut *cut = arg;
    const size_t tokens = cut->pass->input->tokens;
    run_tokens(cut->pass, inlay_share_begin(tokens, cut->parts, index),
               inlay_share_begin(tokens, cut->parts, index + 1));
}

void inlay_ngram_run(const struct inlay_ngram_pass *pass, size_t row_bytes, const inlay_executor *executor)
{
    const size_t tokens = pass->input->tokens;
    size_t bytes;
    if (__builtin_mul_overflow(tokens, row_bytes, &bytes))
        bytes = SIZE_MAX;
    struct cut cut = {pass, inlay_least(inlay_parts(executor, bytes), tokens)};
    if (cut.parts == 1)
        run_tokens(pass, 0, tokens);
    else
        inlay_run_parts(executor, cut.parts, run_tokens_of_cut, &cut);
}
