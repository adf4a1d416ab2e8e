/* SPDX-License-Identifier: MIT */
/*
 * Tables as .gguf files of version 3: one tensor without metadata. Integers are little-endian, as this host is.
 */
#include <string.h>

#include "convert/format.h"
#include "formats/types.h"
#include "text/message.h"

/* What ggml reads: names of tensors have an end in 64 bytes. */
enum { VERSION = 3, ALIGNMENT = 32, NAME_MOST = 63 };

static bool holds(inlay_element_type type)
{
    return inlay_ggml_type_of(type) != NULL;
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
    const uint32_t version = VERSION, dimensions = 2, type = inlay_ggml_type_of(table->type)->number;
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

const struct format format_gguf = {".gguf", "GGUF", holds, begin, true, ALIGNMENT};
