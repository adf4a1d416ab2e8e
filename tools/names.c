/* SPDX-License-Identifier: MIT */
/*
 * The names of names.h. All these enums but recipes count up from 1, as their lists do here.
 */
#include "names.h"

#include <stddef.h>

#include <inlay/inlay.h>

enum { VALUES_MOST = 32 };

/* A null follows each list. */
static const char *const names[][VALUES_MOST] = {
    [LAYOUTS] = {"interleaved", "split", "split-cos-first"},
    [SPACINGS] = {"dim", "half"},
    [ODDS] = {"formula", "zero", "wrap", "error"},
    [TYPES] = {"float32", "float16", "bfloat16"},
    [ELEMENT_TYPES] =
        {"float32", "float16", "bfloat16",        "i8",   "i8_inverse", "u8_rowwise", "u4_rowwise", "u4_grouped",
         "q8_0",    "q4_0",    "u4_grouped_flat", "e4m3", "e4m3_e8m0",  "q4_1",       "q5_0",       "q5_1",
         "iq4_nl",  "mxfp4",   "nvfp4",           "q3_k", "q4_k",       "q5_k",       "q6_k"},
    [SCALINGS] = {"default", "linear", "ntk", "dynamic-ntk", "llama3", "yarn", "longrope"},
    [ROTARY_LAYOUTS] = {"pairs", "halves", "interleaved"},
    [MIXES] = {"xor", "add"},
    [COMBINES] = {"concat", "sum"},
};

const char *enum_name(enum named named, int value)
{
    if (named == RECIPES)
        return inlay_recipe_name((inlay_recipe)value);
    return value >= 1 && value <= VALUES_MOST ? names[named][value - 1] : NULL;
}
