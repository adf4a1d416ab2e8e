/* SPDX-License-Identifier: MIT */
/*
 * Bytes are parsed as a model file (tests/file/files.h): safetensors, unless they begin as another format does. A file
 * that is accepted must have its tensors within the bytes, and tables whose first and last rows can be gathered. What
 * follows the length of a header is also parsed as a config.json. For libFuzzer, and for replay.c, which runs a corpus
 * without it.
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
