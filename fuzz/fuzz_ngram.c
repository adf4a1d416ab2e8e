/* SPDX-License-Identifier: MIT */
/*
 * Turns bytes into n-grams (tests/ngrams/ngrams.h): a spec, tables and a batch with histories. Every ISA that runs here
 * must match the definition: same status, fault, row ids, rows and histories. For libFuzzer, and for replay.c without
 * it.
 */
#include "ngrams/ngrams.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool prepared;
    if (!prepared)
        ngrams_prepare();
    prepared = true;
    struct source source = {{size}, data, data + size};
    struct ngram_call call;
    if (size == 0)
        return 0;
    source.random.state += choose(&source, 256) << 32;
    ngram_draw(&call, &source);
    const struct inlay_kernels *kernels;
    bool runs;
    for (size_t i = 0; (kernels = inlay_dispatch_at(i, &runs)) != NULL; i++) {
        inlay_dispatch_use(runs ? kernels : &inlay_kernels_scalar);
        const char *wrong = ngram_check(&call, &source);
        if (wrong != NULL) {
            fprintf(stderr, "%s on %s\n", wrong, kernels->name);
            abort();
        }
    }
    inlay_dispatch_use(NULL);
    ngram_end(&call);
    return 0;
}
