/* SPDX-License-Identifier: MIT */
/*
 * What a spec of n-grams needs besides JSON: token maps from .npy files, and the end of its arrays.
 */
#include "ngram/spec.h"

#include <inttypes.h>
#include <stdlib.h>

#include "inputs/load.h"
#include "text/message.h"

/* Narrows a list of 64-bit integers to the numbers that a token map holds. */
static int take_map(const char *path, const int64_t *list, size_t n, struct ngram_spec *spec)
{
    size_t vocab = spec->spec.vocab;
    if (n != vocab)
        return failed("--token-map %s has %zu numbers, and the spec has a vocab of %zu", shown(path), n, vocab);
    uint32_t *map = calloc(vocab, sizeof *map);
    if (map == NULL)
        return out_of_memory("the token map", (double)vocab * sizeof *map);
    free(spec->token_map);
    spec->spec.token_map = spec->token_map = map;
    for (size_t i = 0; i < vocab; i++) {
        if (list[i] < 0 || list[i] > UINT32_MAX)
            return failed("--token-map %s: the number of id %zu is %" PRId64 ", not from 0 to %" PRIu32, shown(path), i,
                          list[i], UINT32_MAX);
        map[i] = (uint32_t)list[i];
    }
    return DONE;
}

int ngram_spec_map(const char *path, struct ngram_spec *spec)
{
    int64_t *list = NULL;
    size_t n;
    TRY(load_integers(path, &list, &n));
    int outcome = take_map(path, list, n, spec);
    free(list);
    return outcome;
}

void ngram_spec_free(struct ngram_spec *spec)
{
    free(spec->token_map);
    free(spec->resets);
    free(spec->masks);
    free(spec->multipliers);
    free(spec->columns);
}
