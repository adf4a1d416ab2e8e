/* SPDX-License-Identifier: MIT */
/*
 * Format detection. Only GGUF and npy have magic bytes; safetensors starts with a length, with zeros in its upper
 * bytes, and JSON. Other formats are detected to explain how to convert them.
 */
#include "formats/formats.h"

#include <string.h>

#include "formats/npy.h"
#include "text.h"

#define BYTES(text) text, sizeof(text) - 1

/* The first bytes of formats that aren't supported. */
static const struct {
    const char *bytes;
    size_t size;
    const char *why;
} others[] = {
    {BYTES("\x80\x02"), INLAY_PICKLE},
    {BYTES("\x80\x03"), INLAY_PICKLE},
    {BYTES("\x80\x04"), INLAY_PICKLE},
    {BYTES("\x80\x05"), INLAY_PICKLE},
    {BYTES("\x89HDF\r\n\x1a\n"), "it is HDF5, a format of Keras, which is not supported: convert it to safetensors"},
    {BYTES("\x1f\x8b"), "it is compressed by gzip: unpack it"},
    {BYTES("\x28\xb5\x2f\xfd"), "it is compressed by zstd: unpack it"},
    {BYTES("lmgg"), INLAY_OLD_GGML},
    {BYTES("fmgg"), INLAY_OLD_GGML},
    {BYTES("tjgg"), INLAY_OLD_GGML},
    {BYTES("<!"), INLAY_WEB_PAGE},
    {BYTES("<html"), INLAY_WEB_PAGE},
};

static bool begins(const struct inlay_source *source, size_t at, const char *bytes, size_t size)
{
    return source->size >= at + size && memcmp(source->bytes + at, bytes, size) == 0;
}

/* Explains what to do with a zip archive, identified by the name of its first file or else its own. */
static const char *advise_on_zip(const struct inlay_source *source)
{
    enum { SIZE_AT = 26, NAME_AT = 30 };
    char name[64] = "";
    const size_t left = source->size > NAME_AT ? source->size - NAME_AT : 0;
    const size_t size = left > 0 ? source->bytes[SIZE_AT] + 256u * source->bytes[SIZE_AT + 1] : 0;
    if (size <= left && size < sizeof name)
        memcpy(name, source->bytes + NAME_AT * (size > 0), size);
    if (inlay_ends_in(name, ".npy"))
        return "it is an .npz archive of NumPy: save the table's array alone with numpy.save()";
    if (inlay_ends_in(source->path, ".keras") || strcmp(name, "metadata.json") == 0)
        return "it is a Keras model, which is not supported: save the weights of its embedding with numpy.save()";
    if (strstr(name, ".pkl") != NULL || inlay_is_pickle(source->path))
        return INLAY_PICKLE;
    return "it is a zip archive: unpack it";
}

/* Returns why a file is in none of the formats, or null. */
static const char *find_other(const struct inlay_source *source)
{
    static const char zeros[4];
    /* A safetensors header is below 4 GiB and begins like this. The bytes of its length can match another format's
       magic. */
    if (source->size > 8 && begins(source, 4, zeros, 4) && memchr(" \t\r\n{", source->bytes[8], 5) != NULL)
        return NULL;
    if (begins(source, 0, BYTES("PK\x03\x04")))
        return advise_on_zip(source);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (begins(source, 0, others[i].bytes, others[i].size))
            return others[i].why;
    return inlay_ends_in(source->path, ".gguf") ? "it does not begin with the bytes GGUF, as a .gguf file does" : NULL;
}

bool inlay_is_pickle(const char *name)
{
    static const char *const ends[] = {".bin", ".pt", ".pth", ".ckpt", ".pkl"};
    size_t i = 0;
    while (i < sizeof ends / sizeof *ends && !inlay_ends_in(name, ends[i]))
        i++;
    return i < sizeof ends / sizeof *ends;
}

bool inlay_parse_model(struct inlay_catalog *catalog, const struct inlay_source *source)
{
    if (begins(source, 0, BYTES("GGUF")))
        return inlay_parse_gguf(catalog, source);
    if (begins(source, 0, BYTES("\x93NUMPY")))
        return inlay_parse_npy(catalog, source);
    const char *why = find_other(source);
    if (why != NULL)
        return inlay_file_fail(catalog->error, INLAY_FILE_ERROR_KIND, source->path, NULL, "%s", why);
    return inlay_parse_safetensors(catalog, source);
}

bool inlay_parse_npy(struct inlay_catalog *catalog, const struct inlay_source *source)
{
    struct npy npy;
    if (!inlay_npy_parse(source->bytes, source->size, source->size, NPY_TENSOR, &npy))
        return inlay_file_fail(catalog->error, npy.status, source->path, NULL, "%s", npy.why);
    inlay_file_tensor tensor = {.name = "data",
                                .type = inlay_npy_type(npy.element)->name,
                                .element = inlay_npy_type(npy.element)->element,
                                .rank = (uint32_t)npy.rank,
                                .bytes = npy.data_bytes,
                                .data = source->bytes};
    for (size_t i = 0; i < npy.rank; i++)
        tensor.shape[i] = npy.shape[i];
    if (!inlay_catalog_add_tensor(catalog, &tensor))
        return false;
    return inlay_catalog_place_tensors(catalog, source, npy.data_offset, 1, false);
}
