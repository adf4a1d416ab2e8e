/* SPDX-License-Identifier: MIT */
/*
 * Views of tensors. The rows of a view are those whose bytes are there, whatever the metadata say. Scales lie beside
 * quantised tensors of safetensors under names that checkpoints agree on; ggml's types have theirs within.
 */
#include <stdlib.h>
#include <string.h>

#include "handle.h"

/* A tensor that holds rows of a table, and its scales. */
struct piece {
    const inlay_file_tensor *tensor;
    inlay_element_type type; /* of the table: that of the tensor, or INLAY_E4M3_E8M0 */
    const void *scales;      /* as inlay_table.scales */
    float scale;             /* of the whole table */
};

/* What the functions below need of a call. */
struct request {
    inlay_file *file;
    inlay_file_error *error;
    char *name; /* [room], of a tensor that is looked for */
    size_t room;
};

static inlay_file_status fail(const struct request *request, inlay_file_status status, const inlay_file_tensor *tensor,
                              const char *why)
{
    return inlay_file_fail(request->error, status, tensor->path, inlay_text_of(tensor->name), "%s", why);
}

static inlay_file_status no_memory(const struct request *request)
{
    return inlay_file_fail_memory(request->error, NULL);
}

/* Returns the tensor whose name is `stem` [size] and `end`, or null. */
static const inlay_file_tensor *find(const struct request *request, const char *stem, size_t size, const char *end)
{
    size_t end_bytes = strlen(end) + 1;
    if (size > request->room - end_bytes)
        return NULL;
    memcpy(request->name, stem, size);
    memcpy(request->name + size, end, end_bytes);
    return inlay_file_tensor_named(request->file, request->name);
}

/* ---- Scales ----------------------------------------------------------------------------------------------------- */

/* Returns the tensor of scales beside the tensors whose names begin with `stem` [size], or null. */
static const inlay_file_tensor *find_scales(const struct request *request, const char *stem, size_t size)
{
    static const char *const ends[] = {".scale", ".weight_scale", ".weight_scale_inv"};
    const inlay_file_tensor *scales = NULL;
    for (size_t i = 0; scales == NULL && i < sizeof ends / sizeof *ends; i++)
        scales = find(request, stem, size, ends[i]);
    return scales;
}

/* Converts scales [count] of float32 or a 16-bit type to out [count]: they are a table with one column. */
static void convert(const inlay_file_tensor *scales, size_t count, float *out)
{
    int64_t ids[256];
    inlay_table table =
        inlay_table_of(scales->element, scales->data, count, 1, inlay_table_row_bytes(scales->element, 1));
    for (size_t done = 0, n; done < count; done += n) {
        for (n = 0; n < sizeof ids / sizeof *ids && done + n < count; n++)
            ids[n] = (int64_t)(done + n);
        inlay_gather(&table, ids, INLAY_ID_I64, n, 1, out + done, sizeof(float), NULL, NULL);
    }
}

static bool is_float(const inlay_file_tensor *tensor)
{
    return tensor->element == INLAY_F32 || tensor->element == INLAY_F16 || tensor->element == INLAY_BF16;
}

/* Returns whether a tensor is [rows, columns], or [rows] for one column. */
static bool has_shape(const inlay_file_tensor *tensor, uint64_t rows, uint64_t columns)
{
    return tensor->rank >= 1 && tensor->shape[0] == rows &&
           ((tensor->rank == 1 && columns == 1) || (tensor->rank == 2 && tensor->shape[1] == columns));
}

/* Returns whether a tensor has a single element. */
static bool is_single(const inlay_file_tensor *tensor)
{
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (tensor->shape[i] != 1)
            return false;
    return true;
}

/* Takes the scales of a piece, or of the whole table. */
static inlay_file_status take_scales(const struct request *request, const inlay_file_tensor *scales,
                                     struct piece *piece)
{
    uint64_t rows = piece->tensor->shape[0], dim = piece->tensor->shape[1];
    /* Before PyTorch had a type for them, exponents were saved as U8. */
    bool exponents = strcmp(scales->type, "F8_E8M0") == 0 || strcmp(scales->type, "U8") == 0;
    if (is_float(scales) && is_single(scales)) {
        convert(scales, 1, &piece->scale);
    } else if (exponents && piece->type == INLAY_E4M3 && dim % 32 == 0 && has_shape(scales, rows, dim / 32)) {
        piece->type = INLAY_E4M3_E8M0;
        piece->scales = scales->data;
    } else if (scales->element == INLAY_F32 && has_shape(scales, rows, 1)) {
        piece->scales = scales->data;
    } else if (is_float(scales) && has_shape(scales, rows, 1)) {
        float *converted = inlay_file_keep(request->file, (size_t)rows * sizeof(float));
        if (converted == NULL)
            return no_memory(request);
        convert(scales, (size_t)rows, converted);
        piece->scales = converted;
    } else
        return fail(request, INLAY_FILE_ERROR_SHAPE, scales,
                    "its shape and type are not those of scales of the rows beside it");
    return INLAY_FILE_OK;
}

/* ---- Tensors ---------------------------------------------------------------------------------------------------- */

/* Returns a view of a piece alone. */
static inlay_table view_of(const struct piece *piece)
{
    const inlay_file_tensor *tensor = piece->tensor;
    size_t dim = (size_t)tensor->shape[1];
    inlay_table view = inlay_table_of(piece->type, tensor->data, (size_t)tensor->shape[0], dim,
                                      inlay_table_row_bytes(piece->type, dim));
    view.scales = piece->scales;
    return view;
}

/* Checks that a tensor can be a table, and finds its scales. */
static inlay_file_status make_piece(const struct request *request, const inlay_file_tensor *tensor, struct piece *piece)
{
    *piece = (struct piece){tensor, tensor->element, NULL, 1};
    if (tensor->rank != 2)
        return fail(request, INLAY_FILE_ERROR_SHAPE, tensor, "it has not 2 dimensions, as a table [rows, dim] has");
    if (tensor->element == 0)
        return inlay_file_fail(request->error, INLAY_FILE_ERROR_TYPE, tensor->path, inlay_text_of(tensor->name),
                               "no table can have its type, %s", tensor->type);
    /* The bytes of the data are the bound of the rows; the parsers have compared them with the shape. */
    size_t row_bytes = tensor->shape[1] <= SIZE_MAX ? inlay_table_row_bytes(piece->type, (size_t)tensor->shape[1]) : 0;
    if (row_bytes == 0 || tensor->shape[0] > tensor->bytes / row_bytes)
        return fail(request, INLAY_FILE_ERROR_SHAPE, tensor, "no table has rows of its second dimension");
    /* Other types are complete, or have their scales in the rows. */
    if (piece->type != INLAY_I8 && piece->type != INLAY_E4M3)
        return INLAY_FILE_OK;
    size_t stem = strlen(tensor->name) - (inlay_ends_in(tensor->name, ".weight") ? strlen(".weight") : 0);
    const inlay_file_tensor *scales = find_scales(request, tensor->name, stem);
    return scales != NULL ? take_scales(request, scales, piece) : INLAY_FILE_OK;
}

/* ---- Several tensors -------------------------------------------------------------------------------------------- */

/* Returns the tensor of a number in a pattern, whose star is at `star`, or null. */
static const inlay_file_tensor *find_numbered(const struct request *request, const char *pattern, const char *star,
                                              size_t number)
{
    char digits[24];
    size_t size = (size_t)(star - pattern), count = 0;
    do
        digits[sizeof digits - ++count] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    memcpy(request->name, pattern, size);
    memcpy(request->name + size, digits + sizeof digits - count, count);
    strcpy(request->name + size + count, star + 1);
    return inlay_file_tensor_named(request->file, request->name);
}

/* Checks that a piece goes on the table that the first one begins. */
static inlay_file_status check_piece(const struct request *request, const struct piece *first,
                                     const struct piece *piece)
{
    if (piece->type != first->type || piece->tensor->shape[1] != first->tensor->shape[1])
        return fail(request, INLAY_FILE_ERROR_SHAPE, piece->tensor, "its type or dim is not that of the first tensor");
    if (piece->tensor->shape[0] == 0)
        return fail(request, INLAY_FILE_ERROR_SHAPE, piece->tensor, "it has no rows, and is one of several tensors");
    if ((piece->scales != NULL) != (first->scales != NULL) || memcmp(&piece->scale, &first->scale, sizeof(float)) != 0)
        return fail(request, INLAY_FILE_ERROR_SHAPE, piece->tensor,
                    "its scales are not like those of the first tensor");
    return INLAY_FILE_OK;
}

/* Fills extents [count] and the view over them. */
static inlay_file_status join(const struct request *request, const char *pattern, const char *star,
                              inlay_table_extent *extents, size_t count, inlay_file_table *table)
{
    struct piece first, piece;
    size_t rows = 0, equal = 0;
    for (size_t i = 0; i < count; i++) {
        inlay_file_status status = make_piece(request, find_numbered(request, pattern, star, i), &piece);
        if (i == 0)
            first = piece;
        if (status == INLAY_FILE_OK)
            status = check_piece(request, &first, &piece);
        if (status != INLAY_FILE_OK)
            return status;
        extents[i] = (inlay_table_extent){piece.tensor->data, piece.scales, NULL, rows};
        equal += i == 0 || extents[i].first_row == i * (size_t)first.tensor->shape[0];
        rows += (size_t)piece.tensor->shape[0];
    }
    bool regular = equal == count && piece.tensor->shape[0] <= first.tensor->shape[0];
    *table = (inlay_file_table){.view = view_of(&first), .scale = first.scale};
    table->view.rows = rows;
    if (count > 1)
        table->view = inlay_table_in_extents(table->view, extents, count, regular ? (size_t)first.tensor->shape[0] : 0);
    return INLAY_FILE_OK;
}

/* Makes a table of the tensors of a pattern. Where they have no scales of their own, one number can lie beside the part
   of their names before the star. */
static inlay_file_status join_pattern(const struct request *request, const char *pattern, const char *star,
                                      inlay_file_table *table)
{
    size_t count = 0;
    if (strchr(star + 1, '*') != NULL)
        return inlay_file_fail(request->error, INLAY_FILE_ERROR_ARGUMENT, NULL, inlay_text_of(pattern),
                               "a pattern has one *, which stands for 0, 1, 2, ...");
    while (find_numbered(request, pattern, star, count) != NULL)
        count++;
    if (count == 0)
        return inlay_file_fail(request->error, INLAY_FILE_ERROR_MISSING, NULL, inlay_text_of(pattern),
                               "there is no tensor of number 0: the * of a pattern stands for 0, 1, 2, ...");
    inlay_table_extent *extents = inlay_file_keep(request->file, count * sizeof *extents);
    if (extents == NULL)
        return no_memory(request);
    inlay_file_status status = join(request, pattern, star, extents, count, table);
    if (status != INLAY_FILE_OK || (table->view.type != INLAY_I8 && table->view.type != INLAY_E4M3) ||
        extents[0].scales != NULL || memcmp(&table->scale, &(float){1}, sizeof(float)) != 0)
        return status;
    while (star > pattern && *star != '.')
        star--;
    const inlay_file_tensor *scales = find_scales(request, pattern, (size_t)(star - pattern));
    if (scales == NULL)
        return INLAY_FILE_OK;
    if (!is_float(scales) || !is_single(scales))
        return fail(request, INLAY_FILE_ERROR_SHAPE, scales, "it is not one number for the table beside it");
    convert(scales, 1, &table->scale);
    return INLAY_FILE_OK;
}

inlay_file_status inlay_file_table_of(inlay_file *file, const char *name, inlay_file_table *table,
                                      inlay_file_error *error)
{
    struct request request = {.file = file, .error = error};
    inlay_file_table made;
    struct piece piece;
    if (file == NULL || name == NULL || table == NULL)
        return inlay_file_fail(error, INLAY_FILE_ERROR_ARGUMENT, NULL, inlay_text_of(NULL),
                               "an argument is null: file, name and table must all be given");
    request.room = strlen(name) + 32; /* for the number of a pattern, or the name of scales */
    request.name = malloc(request.room);
    if (request.name == NULL)
        return no_memory(&request);
    const char *star = strchr(name, '*');
    const inlay_file_tensor *tensor = inlay_file_tensor_named(file, name);
    inlay_file_status status;
    if (tensor != NULL) {
        status = make_piece(&request, tensor, &piece);
        made = (inlay_file_table){.scale = piece.scale};
        if (status == INLAY_FILE_OK)
            made.view = view_of(&piece);
    } else if (star != NULL)
        status = join_pattern(&request, name, star, &made);
    else
        status = inlay_file_fail(error, INLAY_FILE_ERROR_MISSING, NULL, inlay_text_of(name),
                                 "there is no such tensor: inlay model FILE lists those that there are");
    if (status == INLAY_FILE_OK)
        *table = made;
    free(request.name);
    return status;
}
