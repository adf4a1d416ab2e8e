/* SPDX-License-Identifier: MIT */
/*
 * The words of describe.h. Only what has an effect is said, and what everybody expects is left out.
 */
#include "table/describe.h"

#include <inttypes.h>
#include <stdio.h>

#include "text/message.h"
#include "text/names.h"

static void append_formula(const inlay_sinusoid_spec *spec, char *text, size_t size)
{
    append(text, size, "spacing %s", enum_name(SPACINGS, spec->spacing));
    if (spec->spacing == INLAY_SINUSOID_SPACING_HALF)
        append(text, size, ", shift %" PRIu32, spec->shift);
}

void describe_sinusoid(const inlay_sinusoid_spec *spec, const char *inv_freq, char *text, size_t size)
{
    static const char *const odds[] = {[INLAY_SINUSOID_ODD_FORMULA] = "by the formula",
                                       [INLAY_SINUSOID_ODD_ZERO] = "zero",
                                       [INLAY_SINUSOID_ODD_WRAP] = "wrapped",
                                       [INLAY_SINUSOID_ODD_ERROR] = "an error"};
    bool exact = spec->recipe == INLAY_RECIPE_EXACT;
    snprintf(text, size, "%s", inlay_recipe_name(spec->recipe));
    if (inv_freq != NULL)
        append(text, size, ", frequencies of %s%s", shown(inv_freq), spec->float_angles ? ", float angles" : "");
    else
        append(text, size, ", base %g", spec->base);
    if (exact && inv_freq == NULL) {
        append(text, size, ", ");
        append_formula(spec, text, size);
    }
    if (spec->recipe == INLAY_RECIPE_DIFFUSERS)
        append(text, size, ", shift %" PRIu32, spec->shift);
    append(text, size, ", %s", enum_name(LAYOUTS, spec->layout));
    if (spec->dim % 2 == 1)
        append(text, size, ", last column %s", odds[spec->odd]);
    if (spec->amplitude != 1)
        append(text, size, ", amplitude %.6g", spec->amplitude);
}

bool describe_difference(const inlay_sinusoid_spec *first, const inlay_sinusoid_spec *second, char *text, size_t size)
{
    /* Spacing dim has shift 0. */
    if (first->spacing == second->spacing && first->shift == second->shift)
        return false;
    snprintf(text, size, "the formulas differ: ");
    append_formula(first, text, size);
    append(text, size, ", and ");
    append_formula(second, text, size);
    return true;
}

void describe_rope(const struct table_options *options, char *text, size_t size)
{
    const inlay_rotary_spec *spec = &options->rotary;
    snprintf(text, size, "rope %s, base %g", enum_name(SCALINGS, spec->scaling), spec->base);
    if (option_given(&options->line, "factor"))
        append(text, size, ", factor %g", spec->factor);
    if (option_given(&options->line, "length"))
        append(text, size, ", length %.10g", spec->length);
    append(text, size, ", %s", enum_name(ROTARY_LAYOUTS, options->rotary_layout));
}
