/* SPDX-License-Identifier: MIT */
/*
 * The input layer of BERT for bert.py, which loads this library, so Python needs no copies of structs that may grow.
 */
#include <inlay/inlay.h>

/* Returns null on failure. The tables are float32, except the words, which are of `type`. */
INLAY_API inlay_layer *bert_layer(const void *words, size_t vocab, inlay_element_type type, const void *positions,
                                  size_t longest, const void *segments, size_t types, int segments_first, size_t dim,
                                  const void *gamma, const void *beta, float epsilon)
{
    inlay_table word_table = inlay_table_view(type, words, vocab, dim, inlay_table_row_bytes(type, dim));
    inlay_table position_table = inlay_table_f32(positions, longest, dim);
    inlay_table segment_table = inlay_table_f32(segments, types, dim);
    inlay_layer_spec spec = inlay_layer_spec_default(&word_table);
    spec.positions = &position_table;
    spec.segments = &segment_table;
    spec.segments_first = segments_first != 0;
    spec.norm = INLAY_NORM_LAYER;
    spec.epsilon = epsilon;
    spec.gamma = gamma;
    spec.beta = beta;
    inlay_layer *layer;
    return inlay_layer_create(&spec, NULL, &layer) == INLAY_OK ? layer : NULL;
}

/* Embeds sequences of one length if `offsets` is null, otherwise packed sequences. */
INLAY_API inlay_status bert_forward(const inlay_layer *layer, const int64_t *ids, const int64_t *segments,
                                    const int64_t *offsets, size_t sequences, size_t length, float *out, size_t dim)
{
    inlay_batch batch = inlay_batch_i64(ids, sequences, length, 0);
    batch.offsets = offsets;
    batch.segment_ids = segments;
    batch.segment_id_type = INLAY_ID_I64;
    return inlay_forward(layer, &batch, out, dim * sizeof *out, NULL, NULL);
}
