/* SPDX-License-Identifier: MIT */
/*
 * Views of tensors, and of several tensors that hold the rows of one table. The rows of a view are those whose bytes
 * are there, whatever the metadata say.
 */
#include <stdlib.h>
#include <string.h>

#include "piece.h"

static inlay_file_status fail_shape(const struct inlay_piece_request *request, const inlay_file_tensor *tensor,
                                    const char *why)
{
    return inlay_file_fail(request->error, INLAY_FILE_ERROR_SHAPE, tensor->path, inlay_text_of(tensor->name), "%s",
                           why);
}

/* ---- Several tensors -------------------------------------------------------------------------------------------- */

/* Returns the tensor of a number in a pattern, whose star is at `star`, or null. */
static const inlay_file_tensor *find_numbered(const struct inlay_piece_request *request, const char *pattern,
                                              const char *star, size_t number)
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
static inlay_file_status check_piece(const struct inlay_piece_request *request, const struct inlay_piece *first,
                                     const struct inlay_piece *piece)
{
    const inlay_table *view = &piece->view, *wanted = &first->view;
    if (view->type != wanted->type || view->dim != wanted->dim || view->group != wanted->group)
        return fail_shape(request, piece->tensor, "its type or dim is not that of the first tensor");
    if (view->rows == 0)
        return fail_shape(request, piece->tensor, "it has no rows, and is one of several tensors");
    if ((view->scales != NULL) != (wanted->scales != NULL) || (view->zeros != NULL) != (wanted->zeros != NULL) ||
        memcmp(&piece->scale, &first->scale, sizeof(float)) != 0)
        return fail_shape(request, piece->tensor, "its scales are not like those of the first tensor");
    return INLAY_FILE_OK;
}

/* Fills extents [count] and the view over them. */
static inlay_file_status join(const struct inlay_piece_request *request, const char *pattern, const char *star,
                              inlay_table_extent *extents, size_t count, inlay_file_table *table)
{
    struct inlay_piece first = {0}, piece = {0};
    size_t rows = 0, equal = 0;
    for (size_t i = 0; i < count; i++) {
        inlay_file_status status = inlay_piece_make(request, find_numbered(request, pattern, star, i), &piece);
        if (i == 0)
            first = piece;
        if (status == INLAY_FILE_OK)
            status = check_piece(request, &first, &piece);
        if (status != INLAY_FILE_OK)
            return status;
        extents[i] = (inlay_table_extent){piece.view.data, piece.view.scales, piece.view.zeros, rows};
        equal += i == 0 || extents[i].first_row == i * first.view.rows;
        rows += piece.view.rows;
    }
    bool regular = equal == count && piece.view.rows <= first.view.rows;
    *table = (inlay_file_table){.view = first.view, .scale = first.scale};
    table->view.rows = rows;
    if (count > 1)
        table->view = inlay_table_in_extents(table->view, extents, count, regular ? first.view.rows : 0);
    return INLAY_FILE_OK;
}

/* Makes a table of the tensors of a pattern. Where they have no scales of their own, one number can lie beside the part
   of their names before the star. */
static inlay_file_status join_pattern(const struct inlay_piece_request *request, const char *pattern, const char *star,
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
        return inlay_file_fail_memory(request->error, NULL);
    inlay_file_status status = join(request, pattern, star, extents, count, table);
    if (status != INLAY_FILE_OK || (table->view.type != INLAY_I8 && table->view.type != INLAY_E4M3) ||
        extents[0].scales != NULL || memcmp(&table->scale, &(float){1}, sizeof(float)) != 0)
        return status;
    while (star > pattern && *star != '.')
        star--;
    return inlay_piece_shared_scale(request, pattern, (size_t)(star - pattern), &table->scale);
}

inlay_file_status inlay_file_table_of(inlay_file *file, const char *name, inlay_file_table *table,
                                      inlay_file_error *error)
{
    struct inlay_piece_request request = {.file = file, .error = error};
    inlay_file_table made;
    struct inlay_piece piece;
    if (file == NULL || name == NULL || table == NULL)
        return inlay_file_fail(error, INLAY_FILE_ERROR_ARGUMENT, NULL, inlay_text_of(NULL),
                               "an argument is null: file, name and table must all be given");
    request.room = strlen(name) + 32; /* for the number of a pattern, or the name of scales */
    request.name = malloc(request.room);
    if (request.name == NULL)
        return inlay_file_fail_memory(error, NULL);
    const char *star = strchr(name, '*');
    const inlay_file_tensor *tensor = inlay_file_tensor_named(file, name);
    inlay_file_status status;
    if (tensor != NULL) {
        status = inlay_piece_make(&request, tensor, &piece);
        made = (inlay_file_table){.view = piece.view, .scale = piece.scale};
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
