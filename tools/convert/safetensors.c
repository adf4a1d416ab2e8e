/* SPDX-License-Identifier: MIT */
/*
 * Tables as .safetensors files: a length, a JSON object that describes the tensors, and their elements without holes.
 * Scales have a tensor of their own, which comes first, as it has the larger elements: then both are aligned to them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "convert/format.h"
#include "formats/types.h"
#include "text/message.h"

enum { ALIGNMENT = 64, LENGTH_BYTES = 8 };

static bool holds(inlay_element_type type)
{
    return inlay_safetensors_type_of(type) != NULL;
}

/* Returns the name of the type of scales: float32, or exponents as bytes. */
static const char *scales_type(const struct array *scales)
{
    return scales->element == NPY_F4 ? "F32" : "F8_E8M0";
}

/* Returns the bytes of a name without a .weight at its end, where its scales are looked for. */
static size_t stem_of(const char *name)
{
    static const char weight[] = ".weight";
    size_t size = strlen(name), end = sizeof weight - 1;
    return size > end && strcmp(name + size - end, weight) == 0 ? size - end : size;
}

/* Writes a tensor of the header; `end` stands behind the first `size` bytes of the table's name in its name. */
static void write_tensor(FILE *json, const struct new_table *table, size_t size, const char *end, const char *dtype,
                         const struct array *array, uint64_t begin)
{
    putc('"', json);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)table->name[i];
        if (c < ' ')
            fprintf(json, "\\u%04x", c);
        else
            fprintf(json, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    fprintf(json, "%s\":{\"dtype\":\"%s\",\"shape\":[%zu", end, dtype, array->shape[0]);
    if (array->rank == 2)
        fprintf(json, ",%zu", array->shape[1]);
    fprintf(json, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, begin + array_bytes(array));
}

/* Writes the object, which ends where the length before it and it are aligned. */
static void write_object(FILE *json, const struct new_table *table)
{
    const struct array *data = &table->array[ARRAY_DATA], *scales = &table->array[ARRAY_SCALES];
    putc('{', json);
    if (scales->rank != 0) {
        write_tensor(json, table, stem_of(table->name), ".scale", scales_type(scales), scales, 0);
        putc(',', json);
    }
    write_tensor(json, table, strlen(table->name), "", inlay_safetensors_type_of(table->type)->name, data,
                 array_bytes(scales));
    putc('}', json);
    fprintf(json, "%*s", (int)(-(LENGTH_BYTES + ftell(json)) & (ALIGNMENT - 1)), "");
}

/* Writes the object behind its length. The build refuses big-endian hosts. */
static int write_header(struct output *output, const char *object, uint64_t size)
{
    TRY(output_write(output, &size, LENGTH_BYTES));
    return output_write(output, object, size);
}

static int begin(const struct new_table *table, struct outputs *outputs, struct place places[ARRAYS])
{
    if (strcmp(table->name, "__metadata__") == 0)
        return misused("--name __metadata__ is no name of a tensor in safetensors");
    TRY(outputs_open(outputs, table->path, NULL));
    char *object = NULL;
    size_t size = 0;
    FILE *json = open_memstream(&object, &size);
    if (json == NULL)
        return out_of_memory("the header", 0);
    write_object(json, table);
    int outcome = fclose(json) == 0 ? write_header(&outputs->out, object, size) : out_of_memory("the header", 0);
    free(object);
    const struct array *scales = &table->array[ARRAY_SCALES];
    places[ARRAY_DATA] = places[ARRAY_SCALES] = (struct place){&outputs->out, -1};
    if (scales->rank != 0) {
        places[ARRAY_SCALES].offset = (int64_t)(LENGTH_BYTES + size);
        places[ARRAY_DATA].offset = places[ARRAY_SCALES].offset + (int64_t)array_bytes(scales);
    }
    return outcome;
}

const struct format format_safetensors = {".safetensors", "safetensors", holds, begin, true, 1};
