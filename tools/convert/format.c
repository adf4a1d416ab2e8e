/* SPDX-License-Identifier: MIT */
/*
 * Writes the headers and arrays of each format. Integers are little-endian, like the host; other hosts are rejected at
 * build time.
 */
#include "convert/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/types.h"
#include "text.h"
#include "text/message.h"
#include "text/names.h"

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

int place_write(struct place *place, const void *bytes, size_t n)
{
    if (place->offset >= 0) {
        TRY(output_seek(place->output, (uint64_t)place->offset));
        place->offset += (int64_t)n;
    }
    return output_write(place->output, bytes, n);
}

int place_pad(struct place *place, size_t bytes, size_t alignment)
{
    static const char zeros[64];
    size_t beyond = bytes % alignment;
    return beyond == 0 ? DONE : place_write(place, zeros, alignment - beyond);
}

/* ---- .npy: one file per array; scales and zero points have theirs next to the elements ------------------------- */

/* Opens the file of an array next to the table. If the table has no such array, fails if the file exists, e.g. from an
   earlier run: it would be read as part of the table. */
static int open_companion(const struct new_table *table, int which, struct outputs *outputs, struct output *output)
{
    char name[COMPANION_BYTES];
    companion_path(table->path, which, name);
    if (table->array[which].rank != 0)
        return outputs_add(outputs, output, "the scales or zero points of --out", name);
    if (access(name, F_OK) == 0)
        return failed("%s would be read as the %s of the new table, which has none: remove it", shown(name),
                      stored_names[which]);
    return DONE;
}

static int begin_npy(struct new_table *table, struct outputs *outputs)
{
    bool is_stdout = strcmp(table->path, "-") == 0;
    if (is_stdout && (table->array[ARRAY_SCALES].rank != 0 || table->array[ARRAY_ZEROS].rank != 0))
        return misused("--out -: %s has scales, which need a second file: name a file",
                       enum_name(ELEMENT_TYPES, (int)table->type));
    TRY(outputs_open(outputs, table->path, NULL));
    table->place[ARRAY_SCALES].output = &outputs->scales;
    table->place[ARRAY_ZEROS].output = &outputs->zeros;
    for (int i = ARRAY_DATA + 1; i < ARRAYS && !is_stdout; i++)
        TRY(open_companion(table, i, outputs, table->place[i].output));
    for (int i = 0; i < ARRAYS; i++) {
        const struct array *array = &table->array[i];
        if (array->rank != 0)
            TRY(output_npy_header(table->place[i].output, array->element, array->shape, array->rank));
    }
    return DONE;
}

/* ---- GGUF, version 3: one tensor without metadata --------------------------------------------------------------- */

/* ggml limits tensor names to 63 bytes. */
enum { GGUF_VERSION = 3, GGUF_ALIGNMENT = 32, MAX_GGUF_NAME = 63 };

/* The header before and after the tensor's name. */
struct __attribute__((packed)) gguf_head {
    char magic[4];
    uint32_t version;
    uint64_t tensors, metadata, name_bytes;
};
struct __attribute__((packed)) gguf_tensor {
    uint32_t dimensions;
    uint64_t sizes[2]; /* fastest-varying first */
    uint32_t type;
    uint64_t offset;
};

static bool gguf_holds(inlay_element_type type)
{
    return inlay_ggml_type_of(type) != NULL;
}

static int begin_gguf(struct new_table *table, struct outputs *outputs)
{
    const size_t size = strlen(table->name);
    const struct gguf_head head = {{'G', 'G', 'U', 'F'}, GGUF_VERSION, .tensors = 1, .name_bytes = size};
    const struct gguf_tensor tensor = {
        .dimensions = 2, .sizes = {table->dim, table->rows}, .type = inlay_ggml_type_of(table->type)->number};
    if (size > MAX_GGUF_NAME)
        return misused("%s has more than %d bytes, the limit for tensor names in GGUF: give a shorter --name",
                       shown(table->name), MAX_GGUF_NAME);
    TRY(outputs_open(outputs, table->path, NULL));
    TRY(output_write(&outputs->out, &head, sizeof head));
    TRY(output_write(&outputs->out, table->name, size));
    TRY(output_write(&outputs->out, &tensor, sizeof tensor));
    return place_pad(&table->place[ARRAY_DATA], sizeof head + size + sizeof tensor, GGUF_ALIGNMENT);
}

/* ---- safetensors: a length, a JSON object that describes the tensors, and the elements without gaps ------------- */

/* Scales are a separate tensor before the table. This aligns both, because the table's elements require less
   alignment. */
enum { OBJECT_ALIGNMENT = 64, LENGTH_BYTES = 8 };

static bool safetensors_holds(inlay_element_type type)
{
    return inlay_safetensors_type_of(type) != NULL;
}

/* Returns the length of a name without a final ".weight". Names of scale tensors omit it. */
static size_t stem_of(const char *name)
{
    static const char weight[] = ".weight";
    size_t size = strlen(name), end = sizeof weight - 1;
    return size > end && strcmp(name + size - end, weight) == 0 ? size - end : size;
}

/* Writes a tensor of the header. Its name is the first `size` bytes of the table's name, followed by `end`. */
static void write_tensor(FILE *header, const struct new_table *table, size_t size, const char *end, const char *dtype,
                         const struct array *array, uint64_t begin)
{
    putc('"', header);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)table->name[i];
        if (c < ' ')
            fprintf(header, "\\u%04x", c);
        else
            fprintf(header, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    fprintf(header, "%s\":{\"dtype\":\"%s\",\"shape\":[%zu", end, dtype, array->shape[0]);
    if (array->rank == 2)
        fprintf(header, ",%zu", array->shape[1]);
    fprintf(header, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, begin + array_bytes(array));
}

/* Leaves space for the length, then writes the object, padded to the alignment of tensors. */
static void write_header(FILE *header, const struct new_table *table)
{
    const struct array *data = &table->array[ARRAY_DATA], *scales = &table->array[ARRAY_SCALES];
    fprintf(header, "%*s{", LENGTH_BYTES, "");
    if (scales->rank != 0) {
        /* Scales are float32 numbers, or exponents in bytes. */
        write_tensor(header, table, stem_of(table->name), ".scale", scales->element == NPY_F4 ? "F32" : "F8_E8M0",
                     scales, 0);
        putc(',', header);
    }
    write_tensor(header, table, strlen(table->name), "", inlay_safetensors_type_of(table->type)->name, data,
                 array_bytes(scales));
    putc('}', header);
    fprintf(header, "%*s", (int)(-ftell(header) & (OBJECT_ALIGNMENT - 1)), "");
}

static int begin_safetensors(struct new_table *table, struct outputs *outputs)
{
    const struct array *scales = &table->array[ARRAY_SCALES];
    char *bytes = NULL;
    size_t size = 0;
    if (strcmp(table->name, "__metadata__") == 0)
        return misused("--name __metadata__ is reserved in safetensors: give another name");
    TRY(outputs_open(outputs, table->path, NULL));
    FILE *header = open_memstream(&bytes, &size);
    if (header != NULL)
        write_header(header, table);
    if (header == NULL || fclose(header) != 0)
        out_of_memory("the header", 0);
    const uint64_t length = size - LENGTH_BYTES;
    memcpy(bytes, &length, LENGTH_BYTES);
    int outcome = output_write(&outputs->out, bytes, size);
    free(bytes);
    if (scales->rank != 0) {
        table->place[ARRAY_SCALES].offset = (int64_t)size;
        table->place[ARRAY_DATA].offset = (int64_t)(size + array_bytes(scales));
    }
    return outcome;
}

/* ---- The list of formats ---------------------------------------------------------------------------------------- */

static const struct format formats[] = {
    {".safetensors", "safetensors", safetensors_holds, begin_safetensors, true, 1},
    {".gguf", "GGUF", gguf_holds, begin_gguf, true, GGUF_ALIGNMENT},
    {".npy", "npy", NULL, begin_npy, false, 1},
};

enum { FORMATS = sizeof formats / sizeof *formats };

int format_of_path(const char *path, inlay_element_type type, const struct format **found)
{
    const char *named = strcmp(path, "-") == 0 ? ".npy" : path;
    size_t i = 0;
    while (i < FORMATS && !inlay_ends_in(named, formats[i].suffix))
        i++;
    if (i == FORMATS)
        return misused("--out %s must end in .safetensors, .gguf or .npy", shown(path));
    const struct format *format = *found = &formats[i];
    if (format->holds == NULL || format->holds(type))
        return DONE;
    char names[512] = "";
    for (int other = 1; other < INLAY_ELEMENT_TYPES; other++) {
        if (format->holds((inlay_element_type)other))
            append(names, sizeof names, "%s%s", *names == '\0' ? "" : ", ", enum_name(ELEMENT_TYPES, other));
    }
    return misused("--type %s: %s files cannot store it; they store %s", enum_name(ELEMENT_TYPES, (int)type),
                   format->name, names);
}
