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

/* Writes a name as the inside of a JSON string; returns its end. */
static char *write_json(const char *name, size_t size, char *end)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)name[i];
        if (c < ' ')
            end += sprintf(end, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            end += sprintf(end, "\\%c", c);
        else
            *end++ = (char)c;
    }
    return end;
}

/* Returns the bytes of a name without a .weight at its end, where its scales are looked for. */
static size_t stem_of(const char *name)
{
    static const char weight[] = ".weight";
    size_t size = strlen(name), end = sizeof weight - 1;
    return size > end && strcmp(name + size - end, weight) == 0 ? size - end : size;
}

/* Writes a tensor of the header; returns its end. */
static char *write_tensor(const char *dtype, const struct array *array, uint64_t begin, char *end)
{
    end += sprintf(end, "\":{\"dtype\":\"%s\",\"shape\":[%zu", dtype, array->shape[0]);
    if (array->rank == 2)
        end += sprintf(end, ",%zu", array->shape[1]);
    return end + sprintf(end, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, begin + array_bytes(array));
}

/* Writes the whole header into text; returns its bytes. */
static size_t write_header(const struct new_table *table, char *text)
{
    const struct array *scales = &table->array[ARRAY_SCALES];
    uint64_t scale_bytes = array_bytes(scales);
    char *end = text + LENGTH_BYTES;
    end += sprintf(end, "{\"");
    if (scales->rank != 0) {
        end = write_json(table->name, stem_of(table->name), end);
        end += sprintf(end, ".scale");
        end = write_tensor(scales_type(scales), scales, 0, end);
        end += sprintf(end, ",\"");
    }
    end = write_json(table->name, strlen(table->name), end);
    end = write_tensor(inlay_safetensors_type_of(table->type)->name, &table->array[ARRAY_DATA], scale_bytes, end);
    end += sprintf(end, "}");
    while ((end - text) % ALIGNMENT != 0)
        *end++ = ' ';
    uint64_t length = (uint64_t)(end - text) - LENGTH_BYTES;
    /* The build refuses big-endian hosts. */
    memcpy(text, &length, sizeof length);
    return (size_t)(end - text);
}

static int begin(const struct new_table *table, struct outputs *outputs, struct place places[ARRAYS])
{
    const size_t most = 2 * 6 * strlen(table->name) + 512;
    if (strcmp(table->name, "__metadata__") == 0)
        return misused("--name __metadata__ is no name of a tensor in safetensors");
    TRY(outputs_open(outputs, table->path, NULL));
    char *header = malloc(most);
    if (header == NULL)
        return out_of_memory("the header", (double)most);
    size_t size = write_header(table, header);
    int outcome = output_write(&outputs->out, header, size);
    free(header);
    const struct array *scales = &table->array[ARRAY_SCALES];
    places[ARRAY_DATA] = places[ARRAY_SCALES] = (struct place){&outputs->out, -1};
    if (scales->rank != 0) {
        places[ARRAY_SCALES].offset = (int64_t)size;
        places[ARRAY_DATA].offset = (int64_t)(size + array_bytes(scales));
    }
    return outcome;
}

const struct format format_safetensors = {".safetensors", "safetensors", holds, begin, true, 1};
