/* SPDX-License-Identifier: MIT */
/*
 * Views of tensors, and of several tensors that hold the rows of one table. The number of rows follows from the actual
 * bytes, regardless of the metadata.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "piece.h"

/* ---- Several tensors -------------------------------------------------------------------------------------------- */

/* Returns the tensor of a pattern with a number in place of its star at `star`, or null. */
static const inlay_file_tensor *find_numbered(const struct inlay_piece *piece, const char *pattern, const char *star,
                                              size_t number)
{
    snprintf(piece->name, piece->room, "%.*s%zu%s", (int)(star - pattern), pattern, number, star + 1);
    return inlay_catalog_tensor(&piece->file->catalog, piece->name);
}

/* Checks that a piece continues the table that the first one starts. */
static bool check_piece(const struct inlay_piece *piece, const inlay_file_table *first)
{
    const inlay_table *view = &piece->table.view, *wanted = &first->view;
    const char *why = NULL;
    if (view->type != wanted->type || view->dim != wanted->dim || view->group != wanted->group)
        why = "its type or dim differs from that of the first tensor";
    else if (view->rows == 0)
        why = "it has no rows, but is one of several tensors";
    else if ((view->scales != NULL) != (wanted->scales != NULL) || (view->zeros != NULL) != (wanted->zeros != NULL) ||
             memcmp(&piece->table.scale, &first->scale, sizeof(float)) != 0)
        why = "its scales do not match those of the first tensor";
    return why == NULL ||
           inlay_file_fail(piece->error, INLAY_FILE_ERROR_SHAPE, piece->tensor->path, piece->tensor->name, "%s", why);
}

/* Fills extents [count] and the view over them. */
static bool join(struct inlay_piece *piece, const char *pattern, const char *star, inlay_table_extent *extents,
                 size_t count, inlay_file_table *table)
{
    const inlay_table *view = &piece->table.view;
    size_t rows = 0;
    bool regular = true;
    for (size_t i = 0; i < count; i++) {
        if (!inlay_piece_make(piece, find_numbered(piece, pattern, star, i)))
            return false;
        if (i == 0)
            *table = piece->table;
        if (!check_piece(piece, table))
            return false;
        extents[i] = (inlay_table_extent){view->data, view->scales, view->zeros, rows};
        regular = regular && rows == i * table->view.rows;
        rows += view->rows;
    }
    const size_t step = regular && view->rows <= table->view.rows ? table->view.rows : 0;
    table->view.rows = rows;
    if (count > 1)
        table->view = inlay_table_from_extents(table->view, extents, count, step);
    return true;
}

/* Makes a table of the tensors of a pattern. Tensors without individual scales may share one number, named after the
   part of their names before the star. */
static bool join_pattern(struct inlay_piece *piece, const char *pattern, const char *star, inlay_file_table *table)
{
    size_t count = 0;
    if (strchr(star + 1, '*') != NULL)
        return inlay_file_fail(piece->error, INLAY_FILE_ERROR_ARGUMENT, NULL, pattern,
                               "a pattern must have exactly one *, which stands for 0, 1, 2, ...");
    while (find_numbered(piece, pattern, star, count) != NULL)
        count++;
    if (count == 0)
        return inlay_file_fail(piece->error, INLAY_FILE_ERROR_MISSING, NULL, pattern,
                               "there is no tensor with number 0: the * of a pattern is replaced by 0, 1, 2, ...");
    inlay_table_extent *extents = inlay_file_keep(piece->file, count * sizeof *extents);
    if (extents == NULL)
        return inlay_file_fail_memory(piece->error, NULL);
    const char *stem = star;
    while (stem > pattern && *stem != '.')
        stem--;
    return inlay_piece_find_shared(piece, pattern, (size_t)(stem - pattern)) &&
           join(piece, pattern, star, extents, count, table);
}

/* Makes a table of a tensor, or of the tensors of a pattern. */
static bool make_table(struct inlay_piece *piece, const char *name, inlay_file_table *table)
{
    const inlay_file_tensor *tensor = inlay_catalog_tensor(&piece->file->catalog, name);
    const char *star = strchr(name, '*');
    if (tensor == NULL && star != NULL)
        return join_pattern(piece, name, star, table);
    if (tensor == NULL)
        return inlay_file_fail(piece->error, INLAY_FILE_ERROR_MISSING, NULL, name,
                               "there is no such tensor: inlay model FILE lists all tensors");
    if (!inlay_piece_make(piece, tensor))
        return false;
    *table = piece->table;
    return true;
}

inlay_file_status inlay_file_get_table(inlay_file *file, const char *name, inlay_file_table *table,
                                       inlay_file_error *error)
{
    inlay_file_error unwanted;
    inlay_file_table made;
    struct inlay_piece piece = {.file = file, .error = error != NULL ? error : &unwanted};
    if (file == NULL || name == NULL || table == NULL) {
        inlay_file_fail(error, INLAY_FILE_ERROR_ARGUMENT, NULL, NULL,
                        "an argument is null: file, name and table must all be given");
        return INLAY_FILE_ERROR_ARGUMENT;
    }
    piece.room = strlen(name) + 32; /* for the number of a pattern, or the name of scales */
    piece.name = malloc(piece.room);
    const bool is_made =
        piece.name != NULL ? make_table(&piece, name, &made) : inlay_file_fail_memory(piece.error, NULL);
    if (is_made)
        *table = made;
    free(piece.name);
    return is_made ? INLAY_FILE_OK : piece.error->status;
}
