/* SPDX-License-Identifier: MIT */
/*
 * The list of the formats of format.h, and how their arrays are written.
 */
#include "convert/format.h"

#include <string.h>

#include "text/message.h"
#include "text/names.h"

static const struct format *const formats[] = {&format_safetensors, &format_gguf, &format_npy};

enum { FORMATS = sizeof formats / sizeof *formats };

int format_of_path(const char *path, inlay_element_type type, const struct format **found)
{
    const char *suffix = strrchr(path, '.');
    size_t i = 0;
    while (i < FORMATS && (suffix == NULL || strcmp(suffix, formats[i]->suffix) != 0))
        i++;
    if (i == FORMATS)
        return misused("--out %s ends in none of .safetensors, .gguf and .npy", shown(path));
    const struct format *format = *found = formats[i];
    if (format->holds(type))
        return DONE;
    char names[512] = "";
    for (int other = 1; other < INLAY_ELEMENT_TYPES; other++) {
        if (format->holds((inlay_element_type)other))
            append(names, sizeof names, "%s%s", *names == '\0' ? "" : ", ", enum_name(ELEMENT_TYPES, other));
    }
    return misused("--type %s: %s files have no such elements, but %s", enum_name(ELEMENT_TYPES, (int)type),
                   format->name, names);
}

int place_write(struct place *place, const void *bytes, size_t n)
{
    if (place->offset >= 0) {
        TRY(output_seek(place->output, (uint64_t)place->offset));
        place->offset += (int64_t)n;
    }
    return output_write(place->output, bytes, n);
}
