/* SPDX-License-Identifier: MIT */
/*
 * Measures rows of cosines, then sines, against the correctly rounded frequencies in double. The library makes all rows
 * except ggml's, which are computed here as in its CPU backend.
 */
#include "table/drift.h"

#include <math.h>
#include <stdio.h>

#include "text/message.h"

struct way {
    const char *name;
    inlay_recipe recipe;
    bool float_angles;
};

/* The frequencies of transformers are those of the recipe inv-pow. */
static const struct way ways[] = {
    {"inlay", INLAY_RECIPE_EXACT, false},
    {"inlay --float-angles", INLAY_RECIPE_EXACT, true},
    {"transformers", INLAY_RECIPE_INV_POW, false},
};

enum { WAYS = sizeof ways / sizeof *ways };

static int make_sinusoid(const struct generator *g, const struct way *way, inlay_sinusoid **made)
{
    inlay_sinusoid_spec spec = g->options->spec;
    spec.recipe = way->recipe;
    spec.layout = INLAY_SINUSOID_LAYOUT_SPLIT_COS_FIRST;
    spec.float_angles = way->float_angles;
    spec.inv_freq = way->float_angles ? g->frequencies.values : NULL;
    return check_status(inlay_sinusoid_create(&spec, NULL, made));
}

/* As in ggml_rope_cache_init() of ggml-cpu/ops.cpp, without scaling. */
static void make_ggml_row(const inlay_sinusoid_spec *spec, double position, float *row)
{
    const size_t pairs = spec->dim / 2;
    const float theta_scale = powf((float)spec->base, -2.0f / (float)spec->dim);
    float theta = (float)position;
    for (size_t i = 0; i < pairs; i++, theta *= theta_scale) {
        row[i] = cosf(theta);
        row[pairs + i] = sinf(theta);
    }
}

static void print_line(const struct generator *g, double position, const char *name, const float *row)
{
    double entry = 0, angle = 0;
    for (size_t i = 0; i < g->frequencies.n; i++) {
        const double exact = position * g->frequencies.values[i], c = cos(exact), s = sin(exact);
        const double x = row[i], y = row[g->frequencies.n + i];
        entry = fmax(entry, fmax(fabs(x - c), fabs(y - s)));
        angle = fmax(angle, fabs(atan2(y * c - x * s, x * c + y * s)));
    }
    printf("%-8.10g  %-20s  %8.1e  %8.1e\n", position, name, entry, angle);
}

int drift_print(struct generator *g)
{
    const inlay_sinusoid_spec *spec = &g->options->spec;
    static inlay_sinusoid *sinusoids[WAYS]; /* these live as long as the process */
    static float *row;
    row = xcalloc(spec->dim, sizeof *row, "a row");
    for (int i = 0; i < WAYS; i++)
        TRY(make_sinusoid(g, &ways[i], &sinusoids[i]));
    printf("%-8s  %-20s  %8s  %8s\n", "position", "angles", "cos, sin", "angle");
    for (size_t at = 0; at < g->n; at++) {
        const double position = generator_position(g, at);
        for (int i = 0; i < WAYS; i++) {
            TRY(check_status(inlay_sinusoid_at(sinusoids[i], &position, INLAY_POSITION_F64, 1, INLAY_F32, row,
                                               spec->dim * sizeof *row, NULL, NULL)));
            print_line(g, position, ways[i].name, row);
        }
        make_ggml_row(spec, position, row);
        print_line(g, position, "ggml", row);
    }
    return DONE;
}
