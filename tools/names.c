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
    return entry((const char *const[]){"interleaved", "split", "split-cos-first", NULL}, layout);
}

const char *spacing_name(int spacing)
{
    return entry((const char *const[]){"dim", "half", NULL}, spacing);
}

const char *odd_name(int odd)
{
    return entry((const char *const[]){"formula", "zero", "wrap", "error", NULL}, odd);
}

const char *type_name(int type)
{
    return entry((const char *const[]){"float32", "float16", "bfloat16", NULL}, type);
}

const char *recipe_name(int recipe)
{
    return inlay_recipe_name((inlay_recipe)recipe);
}

const char *rotary_scaling_name(int scaling)
{
    return entry((const char *const[]){"default", "linear", "ntk", "dynamic-ntk", "llama3", "yarn", "longrope", NULL},
                 scaling);
}

const char *rotary_layout_name(int layout)
{
    return entry((const char *const[]){"pairs", "halves", "interleaved", NULL}, layout);
}
