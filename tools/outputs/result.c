/* SPDX-License-Identifier: MIT */
/*
 * Allocates, writes and prints tensors.
 */
#include "outputs/result.h"

#include "text/message.h"
#include "text/print.h"

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
    TRY(output_npy_header(output, result->element, result->shape, result->rank));
    return output_write(output, result->elements, result->bytes);
}
