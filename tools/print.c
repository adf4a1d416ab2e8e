/* SPDX-License-Identifier: MIT */
/*
 * The printer of print.h. It goes over the shown values twice: once for the widths of the columns, once to print.
 */
#include "print.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_WIDTH = 80,
    THRESHOLD = 1000, /* values that are still printed in full */
    EDGE = 3,         /* values shown at each end of a dimension beyond that */
    DIGITS = 9        /* as many significant digits identify every float32 */
};

/* How all values of one tensor are printed. */
struct format {
    bool scientific;
    bool gaps;     /* some values are not finite */
    int decimals;  /* at most as many behind the point */
    size_t before; /* characters up to the point */
    size_t behind; /* characters from the point on */
};

struct printer {
    FILE *stream;
    const struct tensor *tensor;
    const size_t *shape; /* the tensor's */
    bool elided;
    struct format format;
    double largest; /* magnitude of the shown values that are finite */
    size_t column;  /* characters of the line so far */
};

enum { NUMBER_BYTES = 64 };

/* Formats a finite value with the fewest digits that strtof reads back, up to the format's. */
static void format_finite(const struct format *format, float value, char text[NUMBER_BYTES])
{
    if (format->scientific) {
        snprintf(text, NUMBER_BYTES, "%.*e", format->decimals, (double)value);
        return;
    }
    for (int decimals = 0; decimals <= format->decimals; decimals++) {
        snprintf(text, NUMBER_BYTES, decimals == 0 ? "%.*f." : "%.*f", decimals, (double)value);
        if (strtof(text, NULL) == value)
            return;
    }
    /* Small values beside larger ones are rounded to the last decimal, which may be a zero. */
    for (char *last = text + strlen(text) - 1; *last == '0'; last--)
        *last = '\0';
}

static size_t next_shown(const struct printer *printer, size_t size, size_t i)
{
    return printer->elided && size > 2 * EDGE && i + 1 == EDGE ? size - EDGE : i + 1;
}

/* Calls `visit` on every shown value of the block at `level` whose first row is `row`. */
static void for_each(struct printer *printer, size_t level, size_t row, void (*visit)(struct printer *, float))
{
    const struct tensor *tensor = printer->tensor;
    size_t size = printer->shape[level];
    if (level + 1 < tensor->rank) {
        for (size_t i = 0; i < size; i = next_shown(printer, size, i))
            for_each(printer, level + 1, row * size + i, visit);
        return;
    }
    const float *values = tensor->row(tensor->context, row);
    for (size_t i = 0; i < size; i = next_shown(printer, size, i))
        visit(printer, values[i]);
}

static void visit_magnitude(struct printer *printer, float value)
{
    if (isfinite(value) && fabs((double)value) > printer->largest)
        printer->largest = fabs((double)value);
}

/* In scientific notation all values have as many digits as the one that needs most. */
static void visit_digits(struct printer *printer, float value)
{
    struct format *format = &printer->format;
    char text[NUMBER_BYTES];
    if (!isfinite(value))
        return;
    for (; format->decimals < DIGITS - 1; format->decimals++) {
        format_finite(format, value, text);
        if (strtof(text, NULL) == value)
            return;
    }
}

static void visit_width(struct printer *printer, float value)
{
    struct format *format = &printer->format;
    char text[NUMBER_BYTES];
    if (!isfinite(value)) {
        format->gaps = true;
        return;
    }
    format_finite(format, value, text);
    size_t before = strcspn(text, ".");
    size_t behind = strlen(text) - before;
    format->before = before > format->before ? before : format->before;
    format->behind = behind > format->behind ? behind : format->behind;
}

static void choose_format(struct printer *printer)
{
    struct format *format = &printer->format;
    for_each(printer, 0, 0, visit_magnitude);
    double largest = printer->largest;
    format->scientific = largest != 0 && (largest >= 1e8 || largest < 1e-3);
    if (format->scientific) {
        format->decimals = 1;
        for_each(printer, 0, 0, visit_digits);
    } else {
        format->decimals = largest < 10 ? DIGITS - 1 : DIGITS - 1 - (int)log10(largest);
    }
    for_each(printer, 0, 0, visit_width);
    size_t least = strlen("-inf");
    if (format->gaps && format->before + format->behind < least)
        format->before = least - format->behind;
}

static void print_value(struct printer *printer, float value)
{
    const struct format *format = &printer->format;
    int width = (int)(format->before + format->behind);
    char text[NUMBER_BYTES];
    if (!isfinite(value)) {
        fprintf(printer->stream, "%*s", width, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    format_finite(format, value, text);
    int blanks = (int)(format->before - strcspn(text, "."));
    fprintf(printer->stream, "%*s%-*s", blanks, "", width - blanks, text);
}

/* Begins a new line inside the brackets of `level`, after `blank_lines` empty ones. */
static void new_line(struct printer *printer, size_t level, size_t blank_lines)
{
    for (size_t i = 0; i <= blank_lines; i++)
        putc('\n', printer->stream);
    fprintf(printer->stream, "%*s", (int)(level + 1), "");
    printer->column = level + 1;
}

static void print_row(struct printer *printer, size_t level, size_t row)
{
    const struct tensor *tensor = printer->tensor;
    const float *values = tensor->row(tensor->context, row);
    size_t size = printer->shape[level];
    size_t width = printer->format.before + printer->format.behind;
    for (size_t i = 0; i < size;) {
        /* One character is left for the blank in front, and as many for closing brackets as there may be. */
        if (i > 0 && printer->column + 1 + width + tensor->rank > LINE_WIDTH) {
            new_line(printer, level, 0);
        } else if (i > 0) {
            putc(' ', printer->stream);
            printer->column++;
        }
        print_value(printer, values[i]);
        printer->column += width;
        size_t next = next_shown(printer, size, i);
        if (next > i + 1) {
            fputs(" ...", printer->stream);
            printer->column += 4;
        }
        i = next;
    }
}

static void print_block(struct printer *printer, size_t level, size_t row)
{
    size_t size = printer->shape[level];
    size_t inner = printer->tensor->rank - 1 - level;
    putc('[', printer->stream);
    printer->column++;
    if (inner == 0)
        print_row(printer, level, row);
    for (size_t i = 0; inner > 0 && i < size;) {
        if (i > 0)
            new_line(printer, level, inner - 1);
        print_block(printer, level + 1, row * size + i);
        size_t next = next_shown(printer, size, i);
        if (next > i + 1) {
            new_line(printer, level, inner - 1);
            fputs("...", printer->stream);
        }
        i = next;
    }
    putc(']', printer->stream);
}

void print_tensor(FILE *stream, const struct tensor *tensor)
{
    struct printer printer = {.stream = stream, .tensor = tensor, .shape = tensor->shape};
    fprintf(stream, "%s [", tensor->type);
    double values = 1;
    for (size_t i = 0; i < tensor->rank; i++) {
        fprintf(stream, i == 0 ? "%zu" : ", %zu", tensor->shape[i]);
        values *= (double)tensor->shape[i];
    }
    fprintf(stream, "]\n");
    if (values == 0) {
        fprintf(stream, "[]\n");
        return;
    }
    printer.elided = values > THRESHOLD;
    choose_format(&printer);
    print_block(&printer, 0, 0);
    putc('\n', stream);
}
