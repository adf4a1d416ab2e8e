/* SPDX-License-Identifier: MIT */
/*
 * The tensors of result.h.
 */
#include "outputs/result.h"

#include "text/message.h"
#include "text/print.h"
#include "text/progress.h"

enum { PIECE_BYTES = 4 << 20 }; /* written between two updates of the progress */

void result_allocate(struct result *result, const char *what)
{
    result->bytes = inlay_npy_type(result->element)->block_bytes;
    double needed = (double)result->bytes;
    for (size_t i = 0; i < result->rank; i++) {
        needed *= (double)result->shape[i];
        result->bytes *= result->shape[i];
    }
    /* Far below any overflow. */
    if (needed >= (double)PTRDIFF_MAX)
        out_of_memory(what, needed);
    result->elements = xcalloc(result->bytes, 1, what);
}

int result_deliver(const struct result *result, struct output *output)
{
    if (output->stream == NULL) {
        const inlay_element_type type = inlay_npy_type(result->element)->element;
        const struct tensor tensor = {type, result->rank, result->shape, .elements = result->elements};
        print_tensor(&tensor);
        return DONE;
    }
    int outcome = output_npy_header(output, result->element, result->shape, result->rank);
    struct progress progress = progress_start("writing");
    for (size_t done = 0, n; outcome == DONE && done < result->bytes; done += n) {
        n = result->bytes - done < PIECE_BYTES ? result->bytes - done : PIECE_BYTES;
        outcome = output_write(output, (const char *)result->elements + done, n);
        progress_show(&progress, (double)done / (double)result->bytes);
    }
    progress_end(&progress);
    return outcome;
}
