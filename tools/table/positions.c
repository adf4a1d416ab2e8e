/* SPDX-License-Identifier: MIT */
/*
 * The positions of positions.h. A list is one of doubles whatever it came from: they hold every position there is, and
 * the library rounds where a recipe does.
 */
#include "table/positions.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "inputs/numbers.h"
#include "text/message.h"

static int read_range(const char *text, const char *colon, struct positions *positions)
{
    int64_t end;
    if (!number_int64(text, (size_t)(colon - text), &positions->first) ||
        !number_int64(colon + 1, strlen(colon + 1), &end))
        return misused("--positions %s is not A:B, two integers", shown(text));
    if (positions->first < 0 || positions->first >= end || end > INLAY_POSITION_LIMIT)
        return misused("--positions %s is no range of positions: 0 <= A < B <= %" PRId64, shown(text),
                       INLAY_POSITION_LIMIT);
    positions->is_range = true;
    positions->n = (size_t)(end - positions->first);
    return DONE;
}

int positions_read(const char *text, struct positions *positions)
{
    const char *colon = strchr(text, ':');
    if (colon != NULL && text[0] != '@')
        return read_range(text, colon, positions);
    if (text[0] == '\0')
        return misused("--positions '' is neither A:B, numbers X,Y,... nor a file, @FILE");
    double most = nextafter((double)INLAY_POSITION_LIMIT, 0);
    int outcome = numbers_read("--positions", text, -most, most, &positions->list);
    positions->n = positions->list.n;
    return outcome;
}

double position_at(const struct positions *positions, size_t row)
{
    return positions->is_range ? (double)positions->first + (double)row : positions->list.values[row];
}

int positions_make(const struct positions *positions, const inlay_sinusoid *sinusoid, size_t row, size_t n,
                   inlay_element_type type, size_t dim, void *out, const inlay_executor *executor)
{
    size_t stride = inlay_table_row_bytes(type, dim);
    if (positions->is_range)
        return check_status(
            inlay_sinusoid_rows(sinusoid, positions->first + (int64_t)row, n, type, out, stride, executor));
    return check_status(inlay_sinusoid_at(sinusoid, positions->list.values + row, INLAY_POSITION_F64, n, type, out,
                                          stride, executor, NULL));
}

void positions_describe(const struct positions *positions, char *text, size_t size)
{
    if (positions->is_range)
        snprintf(text, size, "positions %" PRId64 ":%" PRId64, positions->first,
                 positions->first + (int64_t)positions->n);
    else if (positions->n == 1)
        snprintf(text, size, "position %.10g", positions->list.values[0]);
    else
        snprintf(text, size, "%zu positions, %.10g to %.10g", positions->n, positions->list.values[0],
                 positions->list.values[positions->n - 1]);
}
