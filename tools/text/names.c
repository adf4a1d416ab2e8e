/* SPDX-License-Identifier: MIT */
/*
 * Names of enum values. These enums count from 1, except recipes, which count from 0.
 */
#include "text/names.h"

#include <inlay/inlay.h>

enum { MAX_VALUES = 8 };

/* Lists are null-terminated. */
static const char *const names[][MAX_VALUES] = {
    [LAYOUTS] = {"interleaved", "split", "split-cos-first"},
    [SPACINGS] = {"dim", "half"},
    [ODDS] = {"formula", "zero", "wrap", "error"},
    [SCALINGS] = {"default", "linear", "ntk", "dynamic-ntk", "llama3", "yarn", "longrope"},
    [ROTARY_LAYOUTS] = {"pairs", "halves", "interleaved"},
    [MIXES] = {"xor", "add"},
    [COMBINES] = {"concat", "sum"},
};

const char *enum_alias(enum named named, int value, size_t index)
{
    switch (named) {
    case RECIPES:
        return index == 0 ? inlay_recipe_name((inlay_recipe)value)
                          : inlay_recipe_framework((inlay_recipe)value, index - 1);
    case TYPES:
        return value <= INLAY_BF16 ? enum_alias(ELEMENT_TYPES, value, index) : NULL;
    case ELEMENT_TYPES:
        return inlay_element_type_name((inlay_element_type)value, index);
    default:
        return index == 0 && value >= 1 && value <= MAX_VALUES ? names[named][value - 1] : NULL;
    }
}

const char *enum_name(enum named named, int value)
{
    return enum_alias(named, value, 0);
}

int enum_value(enum named named, const char *text)
{
    if (named == TYPES || named == ELEMENT_TYPES) {
        const int type = (int)inlay_element_type_from_name(text);
        return enum_name(named, type) != NULL ? type : -1;
    }
    for (int value = named == RECIPES ? 0 : 1; enum_name(named, value) != NULL; value++) {
        if (inlay_name_equal(text, enum_name(named, value)))
            return value;
    }
    return -1;
}
