/* SPDX-License-Identifier: MIT */
/* The umbrella header, as C99 and, included by alone.cc, as C++17: it needs no other include, and its inline functions
   compile without warnings. */
#include <inlay/inlay.h>

inlay_status header_alone(const void *table, const int32_t *ids, float *out);

inlay_status header_alone(const void *table, const int32_t *ids, float *out)
{
    inlay_table rows = inlay_table_f32(table, 2, 3);
    inlay_sinusoid_spec sinusoid = inlay_sinusoid_spec_default(3);
    inlay_layer_spec layer = inlay_layer_spec_default(&rows);
    inlay_batch batch = inlay_batch_i32(ids, 1, 2, 0);
    inlay_random_spec random = inlay_random_spec_default(INLAY_RANDOM_NORMAL, 1);
    inlay_ngram_spec spec = inlay_ngram_spec_default(2, 1, INLAY_NGRAM_MIX_XOR);
    inlay_ngram_batch ngrams = inlay_ngram_batch_i32(ids, 1, 2);
    inlay_ngram_lookup lookup = inlay_ngram_lookup_default(NULL, 0);
    (void)random;
    (void)spec;
    (void)ngrams;
    (void)lookup;
    (void)sinusoid;
    (void)layer;
    return inlay_gather(&rows, batch.ids, batch.id_type, 2, inlay_sqrt_dim(3), out, 3 * sizeof(float), NULL, NULL);
}
