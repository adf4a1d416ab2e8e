/* SPDX-License-Identifier: MIT */
/*
 * The writers of model_files.h. A file is made in memory and written at once.
 */
#include "file/model_files.h"

#include <stdio.h>
#include <string.h>

/* The types of elements, with their numbers in GGUF files. */
static const struct {
    const char *name;
    uint32_t number;
    size_t bytes;
} types[] = {
    {"F32", 0, 4},  {"F16", 1, 2},  {"BF16", 30, 2},   {"F64", 28, 8},    {"I8", 24, 1}, {"I32", 26, 4},
    {"I64", 27, 8}, {"Q8_0", 8, 0}, {"F8_E4M3", 0, 1}, {"F8_E8M0", 0, 1}, {"U8", 0, 1},  {"U32", 0, 4},
};

static size_t type_index(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return i;
    ck_abort_msg("no type %s", name);
    return 0;
}

size_t model_type_bytes(const char *type)
{
    return types[type_index(type)].bytes;
}

/* ---- safetensors ------------------------------------------------------------------------------------------------ */

void safetensors_add(struct safetensors *file, const struct model_tensor *tensor)
{
    char text[512], shape[96] = "";
    for (uint32_t d = 0; d < tensor->rank; d++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%llu", d > 0 ? "," : "",
                 (unsigned long long)tensor->shape[d]);
    const int size =
        snprintf(text, sizeof text, "%c\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                 file->header.size > 0 ? ',' : '{', tensor->name, tensor->type, shape, file->data.size,
                 file->data.size + tensor->bytes);
    blob_add(&file->header, text, (size_t)size);
    blob_add(&file->data, tensor->data, tensor->bytes);
}

const char *safetensors_write(struct safetensors *file, const char *name)
{
    const char *const end = file->header.size > 0 ? "}" : "{}";
    blob_add(&file->header, end, strlen(end) + 1);
    struct blob blob = blob_safetensors((const char *)file->header.bytes, 0);
    blob_add(&blob, file->data.bytes, file->data.size);
    blob_free(&file->header);
    blob_free(&file->data);
    return write_blob(name, blob);
}

void safetensors_add_rows(struct safetensors *model, const char *name, const char *type, size_t rows, size_t columns,
                          const void *bytes)
{
    const size_t count = columns > 0 ? rows * columns : rows > 0 ? rows : 1;
    safetensors_add(
        model, &(struct model_tensor){
                   name, type, columns > 0 ? 2 : rows > 0, {rows, columns}, bytes, count * model_type_bytes(type)});
}

void safetensors_add_bytes(struct safetensors *model, const char *name, const char *type, size_t rows, size_t columns,
                           unsigned first)
{
    struct blob blob = {NULL, 0, 0};
    for (size_t i = 0; i < rows * columns; i++)
        blob_number(&blob, first + i, 1);
    safetensors_add_rows(model, name, type, rows, columns, blob.bytes);
    blob_free(&blob);
}

inlay_file *safetensors_open(struct safetensors *model)
{
    return open_good(safetensors_write(model, "m.safetensors"));
}

/* ---- GGUF ------------------------------------------------------------------------------------------------------- */

static void add_value(struct blob *blob, const struct model_value *value)
{
    enum { U32 = 4, F32 = 6, STRING = 8, ARRAY = 9, I64 = 11 };
    const bool fits = value->number == (uint32_t)value->number;
    const float number = (float)value->number;
    blob_value(blob, value->key, value->text != NULL ? STRING : value->integers != NULL ? ARRAY : fits ? U32 : F32);
    if (value->text != NULL)
        blob_string(blob, value->text);
    else if (value->integers != NULL) {
        blob_number(blob, I64, 4);
        blob_number(blob, value->count, 8);
        blob_add(blob, value->integers, value->count * sizeof *value->integers);
    } else if (fits)
        blob_number(blob, (uint32_t)value->number, 4);
    else
        blob_add(blob, &number, sizeof number);
}

static void write_gguf(const struct model *model)
{
    struct blob data = {NULL, 0, 0};
    size_t tensors = 0, values = 0;
    while (model->tensors[tensors].name != NULL)
        tensors++;
    while (model->values[values].key != NULL)
        values++;
    struct blob blob = blob_gguf(tensors, values);
    for (size_t i = 0; i < values; i++)
        add_value(&blob, &model->values[i]);
    for (const struct model_tensor *tensor = model->tensors; tensor->name != NULL; tensor++) {
        uint64_t sizes[MODEL_RANK];
        for (uint32_t d = 0; d < tensor->rank; d++)
            sizes[d] = tensor->shape[tensor->rank - 1 - d];
        blob_tensor(&blob, tensor->name, tensor->rank, sizes, types[type_index(tensor->type)].number, data.size);
        blob_add(&data, tensor->data, tensor->bytes);
        blob_data(&data, 32, 0);
    }
    blob_data(&blob, 32, 0);
    blob_add(&blob, data.bytes, data.size);
    blob_free(&data);
    write_blob("model.gguf", blob);
}

/* ---- Models ----------------------------------------------------------------------------------------------------- */

const char *model_write(const struct model *model)
{
    struct safetensors file = {{0}, {0}};
    if (model->values != NULL)
        write_gguf(model);
    else {
        if (model->metadata != NULL) {
            blob_add(&file.header, "{\"__metadata__\":", 16);
            blob_add(&file.header, model->metadata, strlen(model->metadata));
        }
        for (const struct model_tensor *tensor = model->tensors; tensor->name != NULL; tensor++)
            safetensors_add(&file, tensor);
        safetensors_write(&file, "model.safetensors");
    }
    if (model->config != NULL)
        write_text("config.json", model->config);
    return path_of("");
}

inlay_file *model_open(const struct model *model, const char *label)
{
    inlay_file *file = NULL;
    inlay_file_error error;
    const inlay_file_status status = inlay_file_open(model_write(model), NULL, &file, &error);
    EXPECT(status == INLAY_FILE_OK, "%s: %s", label, error.message);
    return file;
}
