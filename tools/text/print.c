/* SPDX-License-Identifier: MIT */
/*
 * Prints tensors. The values to show, at most THRESHOLD, are collected first, because all of them determine the width
 * of a number.
 */
#include "text/print.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/names.h"

enum {
    LINE_WIDTH = 80,
    THRESHOLD = 1000, /* largest number of values printed in full */
    EDGE = 3,         /* values shown at each end of a dimension of a larger tensor */
    DIGITS = 9,       /* significant digits that identify every float32 */
    NUMBER_BYTES = 64
};

struct printer {
    const struct tensor *tensor;
    bool elided; /* only the edges are shown */
    float values[THRESHOLD];
    size_t count; /* of the values */
    size_t next;  /* the value to print next */
    bool scientific;
    int decimals;  /* the most digits after the point */
    size_t before; /* characters up to the point */
    size_t after;  /* characters from the point on */
    size_t column; /* characters of the line so far */
};

void widen(inlay_element_type type, const void *elements, size_t n, float *values)
{
    const int32_t only_row = 0;
    inlay_table table = inlay_table_view(type, elements, 1, n, inlay_table_row_bytes(type, n));
    /* Gathered with scale 1. Can't fail: n is the size of a buffer in memory, and the buffers do not overlap. */
    inlay_gather(&table, &only_row, INLAY_ID_I32, 1, 1, values, n * sizeof *values, NULL, NULL);
}

static size_t next_shown(const struct printer *printer, size_t size, size_t i)
{
    return printer->elided && size > 2 * EDGE && i + 1 == EDGE ? size - EDGE : i + 1;
}

/* Collects the shown values of the block at `level` that starts at row `row`. */
static void collect(struct printer *printer, size_t level, size_t row)
{
    const struct tensor *tensor = printer->tensor;
    const size_t size = tensor->shape[level], element = inlay_table_row_bytes(tensor->type, 1);
    const bool is_row = level + 1 == tensor->rank;
    const char *elements = tensor->elements;
    if (is_row)
        elements = elements != NULL ? elements + row * size * element : tensor->row(tensor->context, row);
    for (size_t i = 0; i < size; i = next_shown(printer, size, i)) {
        if (is_row)
            widen(tensor->type, elements + i * element, 1, &printer->values[printer->count++]);
        else
            collect(printer, level + 1, row * size + i);
    }
}

/* Formats a value with the fewest digits from which strtof restores it, up to the printer's limit. Returns true if the
   limit suffices. */
static bool format_value(const struct printer *printer, float value, char text[NUMBER_BYTES])
{
    if (!isfinite(value)) {
        strcpy(text, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return true;
    }
    if (printer->scientific) {
        snprintf(text, NUMBER_BYTES, "%.*e", printer->decimals, (double)value);
        return strtof(text, NULL) == value;
    }
    for (int decimals = 0; decimals <= printer->decimals; decimals++) {
        snprintf(text, NUMBER_BYTES, decimals == 0 ? "%.*f." : "%.*f", decimals, (double)value);
        if (strtof(text, NULL) == value)
            return true;
    }
    /* A value much smaller than others is rounded to the maximum number of decimals. This can leave trailing zeros. */
    for (char *last = text + strlen(text) - 1; *last == '0'; last--)
        *last = '\0';
    return false;
}

/* Chooses plain or scientific notation and the maximum number of decimals. */
static void choose_decimals(struct printer *printer)
{
    char text[NUMBER_BYTES];
    double largest = 0;
    for (size_t i = 0; i < printer->count; i++) {
        if (isfinite(printer->values[i]))
            largest = fmax(largest, fabs((double)printer->values[i]));
    }
    printer->scientific = largest != 0 && (largest >= 1e8 || largest < 1e-3);
    printer->decimals = largest < 10 ? DIGITS - 1 : DIGITS - 1 - (int)log10(largest);
    if (!printer->scientific)
        return;
    /* In scientific notation, all values have as many digits as the longest one. */
    printer->decimals = 1;
    for (size_t i = 0; i < printer->count; i++) {
        while (printer->decimals < DIGITS - 1 && !format_value(printer, printer->values[i], text))
            printer->decimals++;
    }
}

/* Finds the widths that align all decimal points. */
static void choose_widths(struct printer *printer)
{
    char text[NUMBER_BYTES];
    size_t min = 0; /* of both together */
    for (size_t i = 0; i < printer->count; i++) {
        if (!isfinite(printer->values[i])) {
            min = strlen("-inf");
            continue;
        }
        format_value(printer, printer->values[i], text);
        size_t before = strcspn(text, "."), after = strlen(text) - before;
        printer->before = before > printer->before ? before : printer->before;
        printer->after = after > printer->after ? after : printer->after;
    }
    if (printer->before + printer->after < min)
        printer->before = min - printer->after;
}

static void print_value(struct printer *printer)
{
    const float value = printer->values[printer->next++];
    const size_t width = printer->before + printer->after;
    char text[NUMBER_BYTES];
    format_value(printer, value, text);
    const size_t blanks = isfinite(value) ? printer->before - strcspn(text, ".") : width - strlen(text);
    printer->column += width;
    printf("%*s%-*s", (int)blanks, "", (int)(width - blanks), text);
}

/* Prints the separator before the next item of the block at `level`, which takes `characters`. Before a value, this is
   a space if the value and all possible closing brackets fit on the line. Before a block, it is as many newlines as the
   block has levels. */
static void separate(struct printer *printer, size_t level, size_t characters)
{
    const size_t rank = printer->tensor->rank, inner = rank - 1 - level;
    if (inner == 0 && printer->column + 1 + characters + rank <= LINE_WIDTH) {
        putchar(' ');
        printer->column++;
        return;
    }
    for (size_t i = 0; i < inner || i == 0; i++)
        putchar('\n');
    printf("%*s", (int)(level + 1), "");
    printer->column = level + 1;
}

static void print_block(struct printer *printer, size_t level)
{
    const size_t size = printer->tensor->shape[level];
    const bool is_row = level + 1 == printer->tensor->rank;
    putchar('[');
    printer->column++;
    for (size_t i = 0, next; i < size; i = next) {
        if (i > 0)
            separate(printer, level, printer->before + printer->after);
        if (is_row)
            print_value(printer);
        else
            print_block(printer, level + 1);
        next = next_shown(printer, size, i);
        if (next > i + 1) {
            separate(printer, level, 0);
            printer->column += (size_t)printf("...");
        }
    }
    putchar(']');
}

void print_tensor(const struct tensor *tensor)
{
    struct printer printer = {.tensor = tensor};
    printf("%s [", enum_name(TYPES, tensor->type));
    double values = 1;
    for (size_t i = 0; i < tensor->rank; i++) {
        printf(i == 0 ? "%zu" : ", %zu", tensor->shape[i]);
        values *= (double)tensor->shape[i];
    }
    printf("]\n");
    if (values == 0) {
        printf("[]\n");
        return;
    }
    printer.elided = values > THRESHOLD;
    collect(&printer, 0, 0);
    choose_decimals(&printer);
    choose_widths(&printer);
    print_block(&printer, 0);
    putchar('\n');
}
