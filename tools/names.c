/* SPDX-License-Identifier: MIT */
/*
 * The names of names.h. All these enums but recipes count up from 1, as their lists do here.
 */
#include "names.h"

#include <stddef.h>

#include <inlay/inlay.h>

/* Returns entry value - 1 of a list that null ends. */
static const char *entry(const char *const *names, int value)
{
    if (value < 1)
        return NULL;
    for (; *names != NULL && value > 1; value--)
        names++;
    return *names;
}

const char *layout_name(int layout)
{
    static const char *const names[] = {"interleaved", "split", "split-cos-first", NULL};
    return entry(names, layout);
}

const char *spacing_name(int spacing)
{
    static const char *const names[] = {"dim", "half", NULL};
    return entry(names, spacing);
}

const char *odd_name(int odd)
{
    static const char *const names[] = {"formula", "zero", "wrap", "error", NULL};
    return entry(names, odd);
}

const char *type_name(int type)
{
    static const char *const names[] = {"float32", "float16", "bfloat16", NULL};
    return entry(names, type);
}

const char *recipe_name(int recipe)
{
    return inlay_recipe_name((inlay_recipe)recipe);
}

const char *rotary_scaling_name(int scaling)
{
    static const char *const names[] = {"default", "linear", "ntk", "dynamic-ntk", "llama3", "yarn", "longrope", NULL};
    return entry(names, scaling);
}

const char *rotary_layout_name(int layout)
{
    static const char *const names[] = {"pairs", "halves", "interleaved", NULL};
    return entry(names, layout);
}
