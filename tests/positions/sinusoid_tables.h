/* SPDX-License-Identifier: MIT */
/*
 * Sinusoid tables with the SHA-256 of their rows, from MPFR (verify.c). test_sinusoid.c expects these hashes on every
 * ISA. It also checks that the digests of `inlay selftest`, which computes the same tables, belong to the same rows.
 */
#pragma once

#include <inlay/inlay.h>

/*
 * At most 2^20 entries: the scalar kernel takes half a microsecond per pair, and much longer under emulation. Fields
 * that are 0 have their default.
 */
struct sinusoid_table {
    size_t dim;
    double base;
    inlay_sinusoid_layout layout;
    inlay_sinusoid_spacing spacing;
    uint32_t shift;
    inlay_sinusoid_odd odd;
    inlay_recipe recipe; /* sets the defaults of the fields above */
    double amplitude;
    inlay_element_type type;
    double step;   /* 0: consecutive positions; otherwise the distance of real positions, for inlay_sinusoid_at() */
    int64_t first; /* position */
    size_t n;
    const char *sha256;
};

static const struct sinusoid_table sinusoid_tables[] = {
#include "sinusoid_sha256.inc"
};

/* Returns the spec of a table. */
static inline inlay_sinusoid_spec sinusoid_table_spec(const struct sinusoid_table *table)
{
    inlay_sinusoid_spec spec = inlay_sinusoid_spec_recipe(table->recipe, table->dim);
    spec.base = table->base != 0 ? table->base : spec.base;
    spec.layout = table->layout != 0 ? table->layout : spec.layout;
    spec.spacing = table->spacing != 0 ? table->spacing : spec.spacing;
    spec.shift = table->shift != 0 ? table->shift : spec.shift;
    spec.odd = table->odd != 0 ? table->odd : spec.odd;
    spec.amplitude = table->amplitude != 0 ? table->amplitude : spec.amplitude;
    return spec;
}

/* Returns the type of the rows. */
static inline inlay_element_type sinusoid_table_type(const struct sinusoid_table *table)
{
    return table->type != 0 ? table->type : INLAY_F32;
}
