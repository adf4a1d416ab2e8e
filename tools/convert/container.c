/* SPDX-License-Identifier: MIT */
/*
 * The list of formats of container.h, and the simplest of them: .npy files, one for each array.
 */
#include "convert/container.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/message.h"
#include "text/names.h"

static const struct container *const containers[] = {&container_safetensors, &container_gguf, &container_npy};

enum { CONTAINERS = sizeof containers / sizeof *containers };

static bool ends_in(const char *path, const char *suffix)
{
    size_t size = strlen(path), end = strlen(suffix);
    return size >= end && strcmp(path + size - end, suffix) == 0;
}

int container_of_path(const char *path, inlay_element_type type, const struct container **found)
{
    const struct container *container = NULL;
    for (size_t i = 0; i < CONTAINERS; i++) {
        if (ends_in(path, containers[i]->suffix))
            container = containers[i];
    }
    if (container == NULL)
        return misused("--out %s ends in none of .safetensors, .gguf and .npy", shown(path));
    *found = container;
    if (container->holds(type))
        return DONE;
    char names[512] = "";
    for (int other = 1; other < INLAY_ELEMENT_TYPES; other++) {
        if (container->holds((inlay_element_type)other))
            append(names, sizeof names, "%s%s", *names == '\0' ? "" : ", ", enum_name(ELEMENT_TYPES, other));
    }
    return misused("--type %s: %s files have no such elements, but %s", enum_name(ELEMENT_TYPES, (int)type),
                   container->name, names);
}

int place_write(struct place *place, const void *bytes, size_t n)
{
    if (place->offset >= 0) {
        TRY(output_seek(place->output, (uint64_t)place->offset));
        place->offset += (int64_t)n;
    }
    return output_write(place->output, bytes, n);
}

/* ---- .npy ------------------------------------------------------------------------------------------------------- */

static bool npy_holds(inlay_element_type type)
{
    (void)type;
    return true; /* as bytes, if need be */
}

/* Opens the file of an array beside the table. One of an earlier run that this table has not would be read as its. */
static int open_beside(const struct new_table *table, struct outputs *outputs, struct output *output, const char *what,
                       const struct array *array)
{
    int outcome = DONE;
    char *name = stored_beside(table->path, what);
    if (name == NULL)
        return out_of_memory("a name", 0);
    if (array->rank != 0)
        outcome = outputs_add(outputs, output, "what lies beside it", name);
    else if (access(name, F_OK) == 0)
        outcome = failed("%s would be taken for %s of the new table, which has none: remove it", shown(name), what);
    free(name);
    return outcome;
}

static int npy_begin(const struct new_table *table, struct outputs *outputs, struct place places[ARRAYS])
{
    struct output *const of_array[ARRAYS] = {&outputs->out, &outputs->scales, &outputs->zeros};
    static const char *const whats[ARRAYS] = {NULL, "scales", "zeros"};
    bool is_stdout = strcmp(table->path, "-") == 0;
    if (is_stdout && (table->array[ARRAY_SCALES].rank != 0 || table->array[ARRAY_ZEROS].rank != 0))
        return misused("--out -: the scales of %s lie in a file beside the table: name a file",
                       enum_name(ELEMENT_TYPES, (int)table->type));
    TRY(outputs_open(outputs, table->path, NULL));
    for (int i = ARRAY_DATA + 1; i < ARRAYS && !is_stdout; i++)
        TRY(open_beside(table, outputs, of_array[i], whats[i], &table->array[i]));
    for (int i = 0; i < ARRAYS; i++) {
        const struct array *array = &table->array[i];
        places[i] = (struct place){of_array[i], -1};
        if (array->rank != 0)
            TRY(output_npy_header(of_array[i], array->element, array->shape, array->rank));
    }
    return DONE;
}

const struct container container_npy = {".npy", "npy", npy_holds, npy_begin, false, 1};
