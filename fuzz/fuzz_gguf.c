/* SPDX-License-Identifier: MIT */
/*
 * Like fuzz_safetensors.c, for GGUF. Magic and version are filled in, since nothing else is parsed without them.
 */
#include "file/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    inlay_file_status status;
    if (size < 8)
        return 0;
    unsigned char *file = malloc(size);
    if (file == NULL)
        return 0;
    memcpy(file, data, size);
    memcpy(file, "GGUF\3\0\0", 8);
    file[4] = (unsigned char)(2 + data[4] % 2);
    const char *wrong = check_model(file, size, &status);
    free(file);
    if (wrong != NULL) {
        fprintf(stderr, "%s\n", wrong);
        abort();
    }
    return 0;
}
