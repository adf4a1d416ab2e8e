/* SPDX-License-Identifier: MIT */
/*
 * The names of names.h. All these enums but recipes count up from 1, as their lists do here.
 */
#include "names.h"

#include <stddef.h>

#include <inlay/inlay.h>

enum { VALUES_MOST = 8 };

/* A null follows each list. */
static const char *const names[][VALUES_MOST] = {
    [LAYOUTS] = {"interleaved", "split", "split-cos-first"},
    [SPACINGS] = {"dim", "half"},
    [ODDS] = {"formula", "zero", "wrap", "error"},
    [TYPES] = {"float32", "float16", "bfloat16"},
    [SCALINGS] = {"default", "linear", "ntk", "dynamic-ntk", "llama3", "yarn", "longrope"},
    [ROTARY_LAYOUTS] = {"pairs", "halves", "interleaved"},
};

const char *enum_name(enum named named, int value)
{
    if (named == RECIPES)
        return inlay_recipe_name((inlay_recipe)value);
    return value >= 1 && value <= VALUES_MOST ? names[named][value - 1] : NULL;
}
