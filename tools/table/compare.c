/* SPDX-License-Identifier: MIT */
/*
 * Compares two tables. Both are made in chunks of rows, which are not kept.
 */
#include "table/compare.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "table/describe.h"
#include "text/message.h"

enum {
    DECADES = 10,  /* positions have at most ten digits */
    ALL = DECADES, /* the line for all decades */
    LINES,
    LABEL_BYTES = 32
};

/* The sum of the distances, the largest one, and where it first occurs. */
struct distances {
    double sum;
    double largest;
    double position;
    size_t column;
};

struct comparison {
    const struct generator *g;
    struct line {
        size_t entries;
        size_t differing;
        struct distances absolute;
        struct distances ulp;
    } lines[LINES];
};

/* Returns the number of ULPs of x in a distance of 1. Subnormals have the ULP of the smallest normal numbers. */
static double ulps_in_one(float x)
{
    int exponent = fabsf(x) >= FLT_MIN ? ilogbf(x) : FLT_MIN_EXP - 1;
    return ldexp(1, FLT_MANT_DIG - 1 - exponent);
}

static void note(struct distances *distances, double distance, double position, size_t column)
{
    distances->sum += distance;
    if (distance > distances->largest) {
        distances->largest = distance;
        distances->position = position;
        distances->column = column;
    }
}

static void add_row(struct line *line, double position, size_t dim, const float *first, const float *second)
{
    line->entries += dim;
    for (size_t column = 0; column < dim; column++) {
        if (first[column] == second[column])
            continue;
        double distance = fabs((double)first[column] - (double)second[column]);
        double ulps = distance * ulps_in_one(first[column]);
        line->differing++;
        note(&line->absolute, distance, position, column);
        note(&line->ulp, ulps, position, column);
    }
}

/* Returns the number of digits before the point, minus one. */
static size_t decade_of(double position)
{
    size_t decade = 0;
    for (double limit = 10; fabs(position) >= limit; limit *= 10)
        decade++;
    return decade;
}

/* Adds the distances of the rows that the generator has just made of both tables. */
static int add_rows(void *context, size_t table, size_t row, size_t n)
{
    struct comparison *comparison = context;
    const struct generator *g = comparison->g;
    const float *first = g->chunk[0], *second = g->chunk[1];
    (void)table;
    for (size_t i = 0; i < n; i++, first += g->columns, second += g->columns) {
        double position = generator_position(g, row + i);
        add_row(&comparison->lines[decade_of(position)], position, g->columns, first, second);
        add_row(&comparison->lines[ALL], position, g->columns, first, second);
    }
    return DONE;
}

/* Writes e.g. "10-99", clipped to the range of positions. */
static void label_of(const struct generator *g, size_t decade, char label[LABEL_BYTES])
{
    double low = 1;
    for (size_t i = 0; i < decade; i++)
        low *= 10;
    double high = 10 * low - 1;
    low = decade == 0 ? 0 : low;
    if (g->is_range) {
        low = fmax(low, generator_position(g, 0));
        high = fmin(high, generator_position(g, g->n - 1));
    }
    snprintf(label, LABEL_BYTES, low < high ? "%.0f-%.0f" : "%.0f", low, high);
}

/* Prints the mean, the maximum and its location. `width` is the location's field width for printf. */
static void print_distances(const struct distances *distances, size_t entries, int width)
{
    char place[LABEL_BYTES];
    snprintf(place, LABEL_BYTES, distances->largest > 0 ? "(%.10g, %zu)" : "-", distances->position, distances->column);
    printf("  %8.3g  %8.3g  %*s", distances->sum / (double)entries, distances->largest, width, place);
}

static void print_line(int width, const char *label, const struct line *line)
{
    printf("%-*s  %6.3g%%", width, label, 100 * (double)line->differing / (double)line->entries);
    print_distances(&line->absolute, line->entries, -18);
    print_distances(&line->ulp, line->entries, 0);
    putchar('\n');
}

static void print_lines(const struct comparison *comparison)
{
    const struct line *lines = comparison->lines;
    const char *heading = comparison->g->is_range ? "position" : "|position|";
    size_t width = strlen(heading);
    char labels[LINES][LABEL_BYTES];
    for (size_t i = 0; i < DECADES; i++) {
        label_of(comparison->g, i, labels[i]);
        if (lines[i].entries > 0 && strlen(labels[i]) > width)
            width = strlen(labels[i]);
    }
    strcpy(labels[ALL], "all");
    printf("%-*s  %7s  %8s  %8s  %-18s  %8s  %8s  %s\n", (int)width, heading, "differ", "mean", "max",
           "(position, column)", "mean ULP", "max ULP", "(position, column)");
    for (size_t i = 0; i < LINES; i++) {
        if (lines[i].entries > 0)
            print_line((int)width, labels[i], &lines[i]);
    }
}

/* Prints which tables are compared. */
static void print_heading(const struct generator *g)
{
    const struct table_options *options = g->options;
    const inlay_sinusoid_spec *first = &options->spec, *second = &options->other;
    char text[DESCRIPTION_BYTES] = "first     ";
    describe_sinusoid(first, options->inv_freq, text);
    append(text, sizeof text, "\nsecond    ");
    describe_sinusoid(second, NULL, text);
    append(text, sizeof text, "\nrows      ");
    describe_positions(g, text);
    printf("%s\ncolumns   %zu\ndistance  |first - second|, and in float32 ULP of first\n", text, g->columns);
    /* If the formulas differ, the tables differ by more than rounding. */
    if (options->inv_freq == NULL && (first->spacing != second->spacing || first->shift != second->shift)) {
        *text = '\0';
        describe_spacing(first, text);
        append(text, sizeof text, ", and ");
        describe_spacing(second, text);
        printf("note      the formulas differ: %s\n", text);
    }
    putchar('\n');
}

int compare_print(struct generator *g)
{
    struct comparison comparison = {.g = g};
    print_heading(g);
    TRY(generator_run(g, 1, "comparing", add_rows, &comparison));
    print_lines(&comparison);
    return DONE;
}
