/* SPDX-License-Identifier: MIT */
/* The fixture of errors.h. */
#include "errors/errors.h"

float table[ROWS][DIM];
struct arena out;
inlay_sinusoid *sinusoid;
inlay_fault blamed;

void make_fixture(void)
{
    out = arena_make(TOKENS * ROW_BYTES);
    sinusoid = make_sinusoid(DIM, 10000, INLAY_SINUSOID_LAYOUT_INTERLEAVED);
}

void free_fixture(void)
{
    inlay_sinusoid_destroy(sinusoid);
    arena_free(&out);
}

inlay_table good_table(void)
{
    return inlay_table_f32(table, ROWS, DIM);
}

inlay_layer *make_layer(const inlay_table *tokens, const inlay_sinusoid *formula, const inlay_table *learned)
{
    inlay_layer_spec spec = inlay_layer_spec_default(tokens);
    spec.sinusoid = formula;
    spec.positions = learned;
    spec.cached_positions = 2;
    return make_layer_of(&spec);
}

inlay_status create_layer(const inlay_layer_spec *spec)
{
    inlay_layer *layer = (inlay_layer *)1;
    inlay_status status = inlay_layer_create(spec, NULL, &layer);
    EXPECT((layer != NULL) == (status == INLAY_OK), "\"%s\" left the handle %p", inlay_status_string(status),
           (void *)layer);
    inlay_layer_destroy(layer);
    blamed = (inlay_fault){.field = "no field", .reason = ""};
    const inlay_status checked = inlay_layer_spec_check(spec, &blamed);
    EXPECT(checked == status && inlay_layer_spec_check(spec, NULL) == status, "checking is \"%s\", creating is \"%s\"",
           inlay_status_string(checked), inlay_status_string(status));
    return status;
}

inlay_status forward(const inlay_layer *layer, const inlay_batch *batch, inlay_fault *fault)
{
    const inlay_status status = inlay_forward(layer, batch, out.begin, ROW_BYTES, NULL, NULL);
    blamed = (inlay_fault){.field = "no field", .reason = ""};
    const inlay_status again = inlay_forward(layer, batch, out.begin, ROW_BYTES, NULL, &blamed);
    EXPECT(again == status, "with a fault \"%s\", without \"%s\"", inlay_status_string(again),
           inlay_status_string(status));
    if (fault != NULL)
        *fault = blamed;
    return status;
}
