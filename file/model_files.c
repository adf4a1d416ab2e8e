/* SPDX-License-Identifier: MIT */
/*
 * The files that are opened, and the list of them.
 */
#include "model_files.h"

bool inlay_open_noted(struct inlay_catalogue *catalogue, const char *path, inlay_file_memory memory, size_t most,
                      struct inlay_mapping *mapping)
{
    catalogue->path = path;
    if (!inlay_mapping_open(path, memory, most, mapping, catalogue->error))
        return false;
    if (inlay_catalogue_add_opened(catalogue, &mapping->file))
        return true;
    inlay_mapping_close(mapping);
    return false;
}
