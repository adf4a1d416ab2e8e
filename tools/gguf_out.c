/* SPDX-License-Identifier: MIT */
/*
 * Tables as .gguf files of version 3: one tensor without metadata. Integers are little-endian, as this host is.
 */
#include <string.h>

#include "container.h"
#include "message.h"

/* What ggml reads: names of tensors have an end in 64 bytes. */
enum { VERSION = 3, ALIGNMENT = 32, NAME_MOST = 63, NO_TYPE = -1 };

/* Returns ggml's number of a type of elements. */
static int type_number(inlay_element_type type)
{
    static const struct {
        inlay_element_type type;
        int number;
    } numbers[] = {
        {INLAY_F32, 0},   {INLAY_F16, 1},     {INLAY_Q4_0, 2},  {INLAY_Q4_1, 3},   {INLAY_Q5_0, 6},
        {INLAY_Q5_1, 7},  {INLAY_Q8_0, 8},    {INLAY_Q3_K, 11}, {INLAY_Q4_K, 12},  {INLAY_Q5_K, 13},
        {INLAY_Q6_K, 14}, {INLAY_IQ4_NL, 20}, {INLAY_BF16, 30}, {INLAY_MXFP4, 39}, {INLAY_NVFP4, 40},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i].type == type)
            return numbers[i].number;
    }
    return NO_TYPE;
}

static bool holds(inlay_element_type type)
{
    return type_number(type) != NO_TYPE;
}

/* Appends bytes and returns their end. */
static char *put(char *end, const void *bytes, size_t n)
{
    memcpy(end, bytes, n);
    return end + n;
}

/* Writes the header into zeros; returns its bytes, up to where the elements begin. */
static size_t write_header(const struct new_table *table, char *header)
{
    const uint32_t version = VERSION, dimensions = 2, type = (uint32_t)type_number(table->type);
    const uint64_t counts[] = {1, 0}; /* of tensors and of metadata */
    const uint64_t name_bytes = strlen(table->name), offset = 0;
    const uint64_t sizes[] = {table->dim, table->rows}; /* the fastest first */
    char *end = put(header, "GGUF", 4);
    end = put(end, &version, sizeof version);
    end = put(end, counts, sizeof counts);
    end = put(end, &name_bytes, sizeof name_bytes);
    end = put(end, table->name, name_bytes);
    end = put(end, &dimensions, sizeof dimensions);
    end = put(end, sizes, sizeof sizes);
    end = put(end, &type, sizeof type);
    end = put(end, &offset, sizeof offset);
    return (size_t)(end - header + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static int begin(const struct new_table *table, struct outputs *outputs, struct place places[ARRAYS])
{
    char header[256] = {0};
    if (strlen(table->name) > NAME_MOST)
        return misused("%s has more than %d bytes, and no name of a tensor in GGUF has: give another by --name",
                       shown(table->name), NAME_MOST);
    TRY(outputs_open(outputs, table->path, NULL));
    places[ARRAY_DATA] = (struct place){&outputs->out, -1};
    return output_write(&outputs->out, header, write_header(table, header));
}

const struct container container_gguf = {".gguf", "GGUF", holds, begin, true, ALIGNMENT};
