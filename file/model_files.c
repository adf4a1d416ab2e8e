/* SPDX-License-Identifier: MIT */
/*
 * The files that are opened, and the list of them.
 */
#include "model_files.h"

inlay_file_status inlay_open_noted(struct inlay_catalogue *catalogue, const char *path, inlay_file_memory memory,
                                   size_t most, struct inlay_mapping *mapping, inlay_file_error *error)
{
    inlay_file_status status = inlay_mapping_open(path, memory, most, mapping, error);
    if (status != INLAY_FILE_OK || inlay_catalogue_add_opened(catalogue, &mapping->file))
        return status;
    inlay_mapping_close(mapping);
    return inlay_file_fail_memory(error, path);
}
