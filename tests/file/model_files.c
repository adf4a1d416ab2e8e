/* SPDX-License-Identifier: MIT */
/*
 * The writers of model_files.h. A file is made in memory and written at once.
 */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */

#include "file/model_files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The types of elements, with their numbers in GGUF files. */
static const struct {
    const char *name;
    uint32_t number;
    size_t bytes;
} types[] = {
    {"F32", 0, 4},  {"F16", 1, 2},  {"BF16", 30, 2}, {"F64", 28, 8},    {"I8", 24, 1},
    {"I32", 26, 4}, {"I64", 27, 8}, {"Q8_0", 8, 0},  {"F8_E4M3", 0, 1}, {"F8_E8M0", 0, 1},
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

static char folder[64];
static const char *const names[] = {"model.safetensors", "model.gguf", "config.json"};

static void path_of(const char *name, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
}

static void delete_files(void)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        path_of(names[i], path);
        unlink(path);
    }
}

void model_folder_make(void)
{
    strcpy(folder, "/tmp/inlay-model-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

void model_folder_delete(void)
{
    delete_files();
    rmdir(folder);
}

/* ---- Bytes ------------------------------------------------------------------------------------------------------ */

/* Bytes that grow. */
struct bytes {
    unsigned char *data;
    size_t size;
};

static void add(struct bytes *bytes, const void *data, size_t size)
{
    bytes->data = realloc(bytes->data, bytes->size + size + 1);
    ck_assert_ptr_nonnull(bytes->data);
    if (size > 0)
        memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static void add_u32(struct bytes *bytes, uint32_t value)
{
    add(bytes, &value, sizeof value);
}

static void add_u64(struct bytes *bytes, uint64_t value)
{
    add(bytes, &value, sizeof value);
}

static void add_text(struct bytes *bytes, const char *text)
{
    add_u64(bytes, strlen(text));
    add(bytes, text, strlen(text));
}

static void pad(struct bytes *bytes, size_t multiple, char with)
{
    while (bytes->size % multiple != 0)
        add(bytes, &with, 1);
}

static void write_file(const char *name, const void *data, size_t size)
{
    char path[PATH_MAX];
    path_of(name, path);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(data, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

/* ---- Formats ---------------------------------------------------------------------------------------------------- */

static void write_safetensors(const struct model *model)
{
    struct bytes header = {NULL, 0}, file = {NULL, 0};
    uint64_t begin = 0;
    for (size_t i = 0; i < model->count; i++) {
        const struct model_tensor *tensor = &model->tensors[i];
        char text[512], shape[96] = "";
        for (uint32_t d = 0; d < tensor->rank; d++)
            snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%llu", d > 0 ? "," : "",
                     (unsigned long long)tensor->shape[d]);
        snprintf(text, sizeof text, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%s],\"data_offsets\":[%llu,%llu]}",
                 i > 0 ? "," : "{", tensor->name, tensor->type, shape, (unsigned long long)begin,
                 (unsigned long long)begin + tensor->bytes);
        add(&header, text, strlen(text));
        begin += tensor->bytes;
    }
    add(&header, "}", 1);
    add_u64(&file, header.size);
    add(&file, header.data, header.size);
    for (size_t i = 0; i < model->count; i++)
        add(&file, model->tensors[i].data, model->tensors[i].bytes);
    write_file("model.safetensors", file.data, file.size);
    free(header.data);
    free(file.data);
}

static void add_value(struct bytes *file, const struct model_value *value)
{
    enum { U32 = 4, F32 = 6, STRING = 8, ARRAY = 9, I64 = 11 };
    add_text(file, value->key);
    if (value->text != NULL) {
        add_u32(file, STRING);
        add_text(file, value->text);
    } else if (value->integers != NULL) {
        add_u32(file, ARRAY);
        add_u32(file, I64);
        add_u64(file, value->count);
        add(file, value->integers, value->count * sizeof *value->integers);
    } else if (value->number == (uint32_t)value->number) {
        add_u32(file, U32);
        add_u32(file, (uint32_t)value->number);
    } else {
        float number = (float)value->number;
        add_u32(file, F32);
        add(file, &number, sizeof number);
    }
}

static void write_gguf(const struct model *model)
{
    struct bytes file = {NULL, 0}, data = {NULL, 0};
    size_t values = 0;
    while (model->values[values].key != NULL)
        values++;
    add(&file, "GGUF", 4);
    add_u32(&file, 3);
    add_u64(&file, model->count);
    add_u64(&file, values);
    for (size_t i = 0; i < values; i++)
        add_value(&file, &model->values[i]);
    for (size_t i = 0; i < model->count; i++) {
        const struct model_tensor *tensor = &model->tensors[i];
        add_text(&file, tensor->name);
        add_u32(&file, tensor->rank);
        for (uint32_t d = tensor->rank; d-- > 0;)
            add_u64(&file, tensor->shape[d]);
        add_u32(&file, types[type_index(tensor->type)].number);
        add_u64(&file, data.size);
        add(&data, tensor->data, tensor->bytes);
        pad(&data, 32, 0);
    }
    pad(&file, 32, 0);
    add(&file, data.data, data.size);
    write_file("model.gguf", file.data, file.size);
    free(data.data);
    free(file.data);
}

const char *model_write(const struct model *model)
{
    delete_files();
    if (model->values != NULL)
        write_gguf(model);
    else
        write_safetensors(model);
    if (model->config != NULL)
        write_file("config.json", model->config, strlen(model->config));
    return folder;
}
