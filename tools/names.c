/* SPDX-License-Identifier: MIT */
/*
 * The names of names.h. All these enums count up from 1, as their lists of names do here; recipes have their names
 * from the library.
 */
#include "names.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "message.h"

static const char *const layouts[] = {"interleaved", "split", "split-cos-first", NULL};
static const char *const spacings[] = {"dim", "half", NULL};
static const char *const odds[] = {"formula", "zero", "wrap", "error", NULL};
static const char *const types[] = {"float32", "float16", "bfloat16", NULL};
static const char *const scalings[] = {"default", "linear", "ntk", "dynamic-ntk", "llama3", "yarn", "longrope", NULL};
static const char *const rotary_layouts[] = {"pairs", "halves", "interleaved", NULL};

enum { LIST_BYTES = 512 };

/* "a, b and c" */
static void list_names(const char *const *names, char text[LIST_BYTES])
{
    size_t size = 0;
    for (size_t i = 0; names[i] != NULL && size < LIST_BYTES; i++) {
        const char *before = i == 0 ? "" : names[i + 1] != NULL ? ", " : " and ";
        size += (size_t)snprintf(text + size, LIST_BYTES - size, "%s%s", before, names[i]);
    }
}

/* Finds text among the names. */
static int find(const char *option, const char *text, const char *const *names, int *index)
{
    for (*index = 0; names[*index] != NULL; ++*index) {
        if (strcmp(text, names[*index]) == 0)
            return DONE;
    }
    char list[LIST_BYTES];
    list_names(names, list);
    return misused("%s %s is none of %s", option, shown(text), list);
}

int option_layout(const char *text, inlay_sinusoid_layout *layout)
{
    int index;
    int outcome = find("--layout", text, layouts, &index);
    if (outcome == DONE)
        *layout = (inlay_sinusoid_layout)(index + 1);
    return outcome;
}

int option_spacing(const char *text, inlay_sinusoid_spacing *spacing)
{
    int index;
    int outcome = find("--spacing", text, spacings, &index);
    if (outcome == DONE)
        *spacing = (inlay_sinusoid_spacing)(index + 1);
    return outcome;
}

int option_odd(const char *text, inlay_sinusoid_odd *odd)
{
    int index;
    int outcome = find("--odd", text, odds, &index);
    if (outcome == DONE)
        *odd = (inlay_sinusoid_odd)(index + 1);
    return outcome;
}

int option_type(const char *text, inlay_element_type *type)
{
    int index;
    int outcome = find("--dtype", text, types, &index);
    if (outcome == DONE)
        *type = (inlay_element_type)(index + 1);
    return outcome;
}

int option_rotary_scaling(const char *text, inlay_rotary_scaling *scaling)
{
    int index;
    int outcome = find("--rope", text, scalings, &index);
    if (outcome == DONE)
        *scaling = (inlay_rotary_scaling)(index + 1);
    return outcome;
}

int option_rotary_layout(const char *text, inlay_rotary_layout *layout)
{
    int index;
    int outcome = find("--rope-layout", text, rotary_layouts, &index);
    if (outcome == DONE)
        *layout = (inlay_rotary_layout)(index + 1);
    return outcome;
}

int option_recipe(const char *option, const char *text, inlay_recipe *recipe)
{
    enum { RECIPES_MOST = 64 };
    const char *names[RECIPES_MOST + 1] = {NULL};
    for (int i = 0; i < RECIPES_MOST && inlay_recipe_name((inlay_recipe)i) != NULL; i++)
        names[i] = inlay_recipe_name((inlay_recipe)i);
    int index;
    int outcome = find(option, text, names, &index);
    if (outcome == DONE)
        *recipe = (inlay_recipe)index;
    return outcome;
}

const char *layout_name(inlay_sinusoid_layout layout)
{
    return layouts[layout - 1];
}

const char *spacing_name(inlay_sinusoid_spacing spacing)
{
    return spacings[spacing - 1];
}

const char *type_name(inlay_element_type type)
{
    return types[type - 1];
}

const char *rotary_scaling_name(inlay_rotary_scaling scaling)
{
    return scalings[scaling - 1];
}

const char *rotary_layout_name(inlay_rotary_layout layout)
{
    return rotary_layouts[layout - 1];
}
