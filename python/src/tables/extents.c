/* SPDX-License-Identifier: MIT */
/*
 * All parts of a table have the same type, dim and row stride. The stride of a single row doesn't matter.
 */
#include "tables/extents.h"

#include "module/errors.h"
#include "module/options.h"

#include <stdbool.h>

/* Returns the first part with a row stride, i.e. with more than one row, or else the first part. */
static const inlay_table *model_of(const struct extents_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (parts[i].view->rows > 1)
            return parts[i].view;
    return parts[0].view;
}

/* Checks that a part matches the others. Returns -1 with ValueError set on failure. */
static int check_part(const struct extents_part *parts, const inlay_table *model, size_t i)
{
    const inlay_table *part = parts[i].view;
    if (part->type != model->type || part->dim != model->dim || part->group != model->group)
        return raise_error(PyExc_ValueError, "tables[%zu] is %s with dim %zu, but another one is %s with dim %zu", i,
                           option_name((int)part->type, &option_elements), part->dim,
                           option_name((int)model->type, &option_elements), model->dim);
    const struct {
        bool wrong;
        const char *text;
    } reasons[] = {
        {part->rows > 1 && part->stride_bytes != model->stride_bytes, "and another one have different row strides"},
        {(part->scales != NULL) != (model->scales != NULL), "and another one do not both have scales"},
        {(part->zeros != NULL) != (model->zeros != NULL), "and another one do not both have zero points"},
        {parts[i].scale != parts[0].scale, "has a different scale from the first one"},
        {part->vocab > 0, "is a shard"},
        {part->extents != NULL, "consists of extents itself"},
    };
    for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++)
        if (reasons[k].wrong)
            return raise_error(PyExc_ValueError, "tables[%zu] %s", i, reasons[k].text);
    return 0;
}

/* Returns the number of rows of each extent except the last, or 0 if they differ. */
static size_t common_rows(const struct extents_part *parts, size_t count)
{
    const size_t rows = parts[0].view->rows;
    for (size_t i = 1; i < count; i++)
        if (i < count - 1 ? parts[i].view->rows != rows : parts[i].view->rows > rows)
            return 0;
    return rows;
}

int extents_view(const struct extents_part *parts, size_t count, inlay_table *view, inlay_table_extent **extents)
{
    const inlay_table *model = model_of(parts, count);
    size_t rows = 0;
    for (size_t i = 0; i < count; i++)
        if (check_part(parts, model, i) < 0)
            return -1;
    *extents = PyMem_Calloc(count, sizeof **extents);
    if (*extents == NULL)
        return raise_memory();
    for (size_t i = 0; i < count; i++) {
        const inlay_table *part = parts[i].view;
        (*extents)[i] = (inlay_table_extent){part->data, part->scales, part->zeros, rows};
        rows += part->rows;
    }
    *view = inlay_table_view(model->type, NULL, rows, model->dim, model->stride_bytes);
    view->group = model->group;
    *view = inlay_table_from_extents(*view, *extents, count, common_rows(parts, count));
    return 0;
}
