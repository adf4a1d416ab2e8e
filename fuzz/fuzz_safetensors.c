/* SPDX-License-Identifier: MIT */
/*
 * Parses bytes as a model file (tests/file/files.h): safetensors, unless they start like another format. An accepted
 * file must have its tensors within the bytes, and tables whose first and last rows can be gathered. The bytes after
 * the header's length are also parsed as a config.json. For libFuzzer, and for replay.c without it.
 */
#include "file/files.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    inlay_file_status status;
    const char *wrong = check_model(data, size, &status);
    if (wrong == NULL && size > 8)
        wrong = check_config(data + 8, size - 8);
    if (wrong != NULL) {
        fprintf(stderr, "%s\n", wrong);
        abort();
    }
    return 0;
}
