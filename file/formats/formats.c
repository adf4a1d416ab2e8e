/* SPDX-License-Identifier: MIT */
/*
 * Which format a file has. Only GGUF and npy begin with bytes of their own; safetensors begins with a length, whose
 * upper bytes are zero, and JSON. What PyTorch pickles is recognised to say what to do with it.
 */
#include "formats/formats.h"

#include <string.h>

#include "formats/npy.h"

static bool begins(const struct inlay_source *source, size_t at, const char *bytes, size_t size)
{
    return source->size >= at + size && memcmp(source->bytes + at, bytes, size) == 0;
}

bool inlay_parse_model(struct inlay_catalogue *catalogue, const struct inlay_source *source)
{
    if (begins(source, 0, "GGUF", 4))
        return inlay_parse_gguf(catalogue, source);
    if (begins(source, 0, "\x93NUMPY", 6))
        return inlay_parse_npy(catalogue, source);
    if (begins(source, 0, "PK\x03\x04", 4) || begins(source, 0, "\x80\x02", 2) || begins(source, 0, "\x80\x04", 2))
        if (source->size <= 8 || memchr(" \t\r\n{", source->bytes[8], 5) == NULL) /* as a safetensors header does not */
            return inlay_file_fail(
                catalogue->error, INLAY_FILE_ERROR_KIND, source->path, NULL,
                "it looks like a pickle of PyTorch, which can run programs and is not read: convert "
                "it with safetensors.torch.save_file(torch.load(file, weights_only=True), new_file)");
    return inlay_parse_safetensors(catalogue, source);
}

bool inlay_parse_npy(struct inlay_catalogue *catalogue, const struct inlay_source *source)
{
    struct npy npy;
    if (!inlay_npy_parse(source->bytes, source->size, source->size, NPY_TENSOR, &npy))
        return inlay_file_fail(catalogue->error, npy.status, source->path, NULL, "%s", npy.why);
    inlay_file_tensor tensor = {.name = "data",
                                .type = inlay_npy_type(npy.element)->name,
                                .element = inlay_npy_type(npy.element)->element,
                                .rank = (uint32_t)npy.rank,
                                .bytes = source->size - npy.data_offset,
                                .data = source->bytes};
    for (size_t i = 0; i < npy.rank; i++)
        tensor.shape[i] = npy.shape[i];
    if (!inlay_catalogue_add_tensor(catalogue, &tensor))
        return false;
    return inlay_catalogue_place_tensors(catalogue, source, npy.data_offset, 1, true);
}
