/* SPDX-License-Identifier: MIT */
/*
 * Parses bytes as a NumPy file, as each kind the tool reads and as a model. An accepted header must be reproduced when
 * written, and its data must be within the bytes.
 */
#include "file/files.h"

#include "formats/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (enum npy_kind kind = NPY_TABLE; kind <= NPY_TENSOR; kind++) {
        struct npy npy, again;
        char header[NPY_FORMAT_BYTES];
        if (!inlay_npy_parse(data, size, size, kind, &npy)) {
            demand(npy.status != INLAY_FILE_OK && memchr(npy.why, '\0', sizeof npy.why) != NULL && npy.why[0] != '\0',
                   "no reason");
            continue;
        }
        size_t bytes = npy.element_bytes;
        for (size_t i = 0; i < npy.rank; i++)
            bytes *= npy.shape[i];
        demand(npy.data_offset <= size && bytes == npy.data_bytes && bytes <= size - npy.data_offset,
               "not within the bytes");
        if (npy.rank < 1 || npy.rank > 3)
            continue;
        size_t written = inlay_npy_format(inlay_npy_type(npy.element)->name, npy.shape, npy.rank, header);
        demand(written <= sizeof header && inlay_npy_parse(header, written, written + bytes, kind, &again),
               "its header cannot be written");
        demand(again.rank == npy.rank && memcmp(again.shape, npy.shape, npy.rank * sizeof *npy.shape) == 0 &&
                   again.element == npy.element && again.data_offset == written,
               "another header was written");
    }
    inlay_file_status status;
    const char *wrong = check_model(data, size, &status);
    demand(wrong == NULL, wrong);
    return 0;
}
