/* SPDX-License-Identifier: MIT */
/*
 * The comparison of compare.h. Both tables are made a chunk of rows at a time and forgotten at once.
 */
#include "table/compare.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/message.h"
#include "text/progress.h"

enum {
    CHUNK_BYTES = 1 << 18, /* of each table, roughly */
    DECADES = 10,          /* positions have at most ten digits */
    ALL = DECADES,         /* the line of all decades */
    LINES,
    LABEL_BYTES = 32
};

/* Some distances: their sum, the largest, and where that was first. */
struct distances {
    double sum;
    double largest;
    double position;
    size_t column;
};

struct line {
    size_t entries;
    size_t differing;
    struct distances absolute;
    struct distances ulp;
};

/* Returns how many ULP of x a distance of 1 is. Subnormals have the ULP of the smallest normal numbers. */
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

/* The digits before the point, less one. */
static size_t decade_of(double position)
{
    size_t decade = 0;
    for (double limit = 10; fabs(position) >= limit; limit *= 10)
        decade++;
    return decade;
}

/* Adds n rows of both tables, from row `row` on, to the lines. */
static void add_rows(struct line *lines, const struct positions *positions, size_t row, size_t n, size_t dim,
                     const float *first, const float *second)
{
    for (size_t i = 0; i < n; i++, first += dim, second += dim) {
        double position = position_at(positions, row + i);
        add_row(&lines[decade_of(position)], position, dim, first, second);
        add_row(&lines[ALL], position, dim, first, second);
    }
}

/* "10-99", cut where a range begins or ends within. */
static void label_of(const struct positions *positions, size_t decade, char label[LABEL_BYTES])
{
    int64_t low = 1;
    for (size_t i = 0; i < decade; i++)
        low *= 10;
    int64_t high = 10 * low - 1;
    low = decade == 0 ? 0 : low;
    if (positions->is_range) {
        int64_t last = positions->first + (int64_t)positions->n - 1;
        low = low > positions->first ? low : positions->first;
        high = high < last ? high : last;
    }
    snprintf(label, LABEL_BYTES, low < high ? "%" PRId64 "-%" PRId64 : "%" PRId64, low, high);
}

/* Prints mean, maximum and its place, which has a width as printf takes it. */
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

static void print_lines(const struct positions *positions, const struct line *lines)
{
    const char *heading = positions->is_range ? "position" : "|position|";
    size_t width = strlen(heading);
    char labels[LINES][LABEL_BYTES];
    for (size_t i = 0; i < DECADES; i++) {
        label_of(positions, i, labels[i]);
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

int compare_print(const struct positions *positions, size_t dim, const inlay_sinusoid *first,
                  const inlay_sinusoid *second)
{
    struct progress progress = progress_start("comparing");
    struct line lines[LINES] = {{0}};
    size_t n, chunk_rows = CHUNK_BYTES / sizeof(float) / dim + 1;
    /* calloc checks the product, which overflows only through dim. */
    float *a = calloc(dim, 2 * chunk_rows * sizeof *a);
    int outcome = a != NULL ? DONE : out_of_memory("a row of each table", 8 * (double)dim);
    for (size_t row = 0; outcome == DONE && row < positions->n; row += n) {
        float *b = a + chunk_rows * dim;
        n = positions->n - row < chunk_rows ? positions->n - row : chunk_rows;
        outcome = positions_make(positions, first, row, n, INLAY_F32, dim, a, NULL);
        if (outcome == DONE)
            outcome = positions_make(positions, second, row, n, INLAY_F32, dim, b, NULL);
        if (outcome == DONE)
            add_rows(lines, positions, row, n, dim, a, b);
        progress_show(&progress, (double)(row + n) / (double)positions->n);
    }
    progress_end(&progress);
    if (outcome == DONE)
        print_lines(positions, lines);
    free(a);
    return outcome;
}
