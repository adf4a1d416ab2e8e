/* SPDX-License-Identifier: MIT */
/*
 * Tables as .npy files, one for each array: scales and zero points lie beside the elements.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert/format.h"
#include "text/message.h"
#include "text/names.h"

static bool holds(inlay_element_type type)
{
    (void)type;
    return true; /* as bytes, if need be */
}

/* Opens the file of an array beside the table. One of an earlier run that this table has not would be read as its. */
static int open_beside(const struct new_table *table, int which, struct outputs *outputs, struct output *output)
{
    int outcome = DONE;
    char *name = stored_beside(table->path, which);
    if (name == NULL)
        return out_of_memory("a name", 0);
    if (table->array[which].rank != 0)
        outcome = outputs_add(outputs, output, "what lies beside it", name);
    else if (access(name, F_OK) == 0)
        outcome = failed("%s would be taken for %s of the new table, which has none: remove it", shown(name),
                         stored_names[which]);
    free(name);
    return outcome;
}

static int begin(const struct new_table *table, struct outputs *outputs, struct place places[ARRAYS])
{
    struct output *const of_array[ARRAYS] = {&outputs->out, &outputs->scales, &outputs->zeros};
    bool is_stdout = strcmp(table->path, "-") == 0;
    if (is_stdout && (table->array[ARRAY_SCALES].rank != 0 || table->array[ARRAY_ZEROS].rank != 0))
        return misused("--out -: the scales of %s lie in a file beside the table: name a file",
                       enum_name(ELEMENT_TYPES, (int)table->type));
    TRY(outputs_open(outputs, table->path, NULL));
    for (int i = ARRAY_DATA + 1; i < ARRAYS && !is_stdout; i++)
        TRY(open_beside(table, i, outputs, of_array[i]));
    for (int i = 0; i < ARRAYS; i++) {
        const struct array *array = &table->array[i];
        places[i] = (struct place){of_array[i], -1};
        if (array->rank != 0)
            TRY(output_npy_header(of_array[i], array->element, array->shape, array->rank));
    }
    return DONE;
}

const struct format format_npy = {".npy", "npy", holds, begin, false, 1};
