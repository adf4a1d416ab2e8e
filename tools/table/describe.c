/* SPDX-License-Identifier: MIT */
/*
 * Describes tables. Omits parameters without effect, and an amplitude of 1.
 */
#include "table/describe.h"

#include <inttypes.h>

#include "text/message.h"
#include "text/names.h"

void describe_spacing(const inlay_sinusoid_spec *spec, char text[DESCRIPTION_BYTES])
{
    append(text, DESCRIPTION_BYTES, "spacing %s", enum_name(SPACINGS, spec->spacing));
    if (spec->spacing == INLAY_SINUSOID_SPACING_HALF)
        append(text, DESCRIPTION_BYTES, ", shift %" PRIu32, spec->shift);
}

void describe_sinusoid(const inlay_sinusoid_spec *spec, const char *inv_freq, char text[DESCRIPTION_BYTES])
{
    static const char *const odds[] = {[INLAY_SINUSOID_ODD_FORMULA] = "by the formula",
                                       [INLAY_SINUSOID_ODD_ZERO] = "zero",
                                       [INLAY_SINUSOID_ODD_WRAP] = "wrapped"};
    append(text, DESCRIPTION_BYTES, "%s, ", inlay_recipe_name(spec->recipe));
    if (inv_freq != NULL)
        append(text, DESCRIPTION_BYTES, "frequencies of %s%s, ", shown(inv_freq),
               spec->float_angles ? ", float angles" : "");
    else
        append(text, DESCRIPTION_BYTES, "base %g, ", spec->base);
    if (spec->recipe == INLAY_RECIPE_EXACT && inv_freq == NULL) {
        describe_spacing(spec, text);
        append(text, DESCRIPTION_BYTES, ", ");
    }
    if (spec->recipe == INLAY_RECIPE_DIFFUSERS)
        append(text, DESCRIPTION_BYTES, "shift %" PRIu32 ", ", spec->shift);
    append(text, DESCRIPTION_BYTES, "%s", enum_name(LAYOUTS, spec->layout));
    if (spec->dim % 2 == 1)
        append(text, DESCRIPTION_BYTES, ", last column %s", odds[spec->odd]);
    if (spec->amplitude != 1)
        append(text, DESCRIPTION_BYTES, ", amplitude %.6g", spec->amplitude);
}

void describe_rope(const struct table_options *options, char text[DESCRIPTION_BYTES])
{
    const inlay_rotary_spec *spec = &options->rotary;
    append(text, DESCRIPTION_BYTES, "rope %s, base %g", enum_name(SCALINGS, spec->scaling), spec->base);
    if (option_given(&options->line, "factor"))
        append(text, DESCRIPTION_BYTES, ", factor %g", spec->factor);
    if (option_given(&options->line, "length"))
        append(text, DESCRIPTION_BYTES, ", length %.10g", spec->length);
    append(text, DESCRIPTION_BYTES, ", %s", enum_name(ROTARY_LAYOUTS, options->rotary_layout));
}

void describe_positions(const struct generator *g, char text[DESCRIPTION_BYTES])
{
    const double first = generator_position(g, 0), last = generator_position(g, g->n - 1);
    if (g->is_range)
        append(text, DESCRIPTION_BYTES, "positions %" PRId64 ":%" PRId64, g->first, g->first + (int64_t)g->n);
    else if (g->n == 1)
        append(text, DESCRIPTION_BYTES, "position %.10g", first);
    else
        append(text, DESCRIPTION_BYTES, "%zu positions, %.10g to %.10g", g->n, first, last);
}
