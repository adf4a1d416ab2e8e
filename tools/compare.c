/* SPDX-License-Identifier: MIT */
/*
 * The comparison of compare.h. Both tables are made a chunk of rows at a time and forgotten at once.
 */
#include "compare.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "progress.h"

enum {
    CHUNK_BYTES = 1 << 18, /* of each table, roughly */
    DECADES = 10,          /* positions have at most ten digits */
    ALL = DECADES,         /* the line of all decades */
    LINES,
    LABEL_BYTES = 32
};

/* The largest of some distances, and where it was first. */
struct worst {
    double distance;
    double position;
    size_t column;
};

struct line {
    size_t entries;
    size_t differing;
    double sum;
    double ulp_sum;
    struct worst absolute;
    struct worst ulp;
};

/* Returns how many ULP of x a distance of 1 is. Subnormals have the ULP of the smallest normal numbers. */
static double ulps_in_one(float x)
{
    int exponent = fabsf(x) >= FLT_MIN ? ilogbf(x) : FLT_MIN_EXP - 1;
    return ldexp(1, FLT_MANT_DIG - 1 - exponent);
}

static void note(struct worst *worst, double distance, double position, size_t column)
{
    if (distance > worst->distance)
        *worst = (struct worst){distance, position, column};
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
        line->sum += distance;
        line->ulp_sum += ulps;
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

/* Fills lines [LINES]. */
static int measure(const struct comparison *c, float *first, float *second, size_t chunk_rows, struct line *lines)
{
    struct progress progress = progress_start("comparing");
    int outcome = DONE;
    for (size_t row = 0; outcome == DONE && row < c->positions->n; row += chunk_rows) {
        size_t n = c->positions->n - row < chunk_rows ? c->positions->n - row : chunk_rows;
        outcome = positions_make(c->positions, c->first, row, n, INLAY_F32, c->dim, first, NULL);
        if (outcome == DONE)
            outcome = positions_make(c->positions, c->second, row, n, INLAY_F32, c->dim, second, NULL);
        for (size_t i = 0; outcome == DONE && i < n; i++) {
            double position = position_at(c->positions, row + i);
            add_row(&lines[decade_of(position)], position, c->dim, first + i * c->dim, second + i * c->dim);
            add_row(&lines[ALL], position, c->dim, first + i * c->dim, second + i * c->dim);
        }
        progress_show(&progress, (double)(row + n) / (double)c->positions->n);
    }
    progress_end(&progress);
    return outcome;
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

static void place_of(const struct worst *worst, char place[LABEL_BYTES])
{
    snprintf(place, LABEL_BYTES, worst->distance > 0 ? "(%.10g, %zu)" : "-", worst->position, worst->column);
}

static void print_line(FILE *stream, int width, const char *label, const struct line *line)
{
    double entries = (double)line->entries;
    char place[LABEL_BYTES], ulp_place[LABEL_BYTES];
    place_of(&line->absolute, place);
    place_of(&line->ulp, ulp_place);
    fprintf(stream, "%-*s  %6.3g%%  %8.3g  %8.3g  %-18s  %8.3g  %8.3g  %s\n", width, label,
            100 * (double)line->differing / entries, line->sum / entries, line->absolute.distance, place,
            line->ulp_sum / entries, line->ulp.distance, ulp_place);
}

static void print_lines(FILE *stream, const struct comparison *c, const struct line *lines)
{
    const char *heading = c->positions->is_range ? "position" : "|position|";
    size_t width = strlen(heading);
    char labels[DECADES][LABEL_BYTES];
    for (size_t i = 0; i < DECADES; i++) {
        label_of(c->positions, i, labels[i]);
        if (lines[i].entries > 0 && strlen(labels[i]) > width)
            width = strlen(labels[i]);
    }
    fprintf(stream, "%-*s  %7s  %8s  %8s  %-18s  %8s  %8s  %s\n", (int)width, heading, "differ", "mean", "max",
            "(position, column)", "mean ULP", "max ULP", "(position, column)");
    for (size_t i = 0; i < DECADES; i++) {
        if (lines[i].entries > 0)
            print_line(stream, (int)width, labels[i], &lines[i]);
    }
    print_line(stream, (int)width, "all", &lines[ALL]);
}

int compare_print(FILE *stream, const struct comparison *comparison)
{
    size_t row_bytes;
    float *first = NULL, *second = NULL;
    size_t chunk_rows = 1;
    if (!__builtin_mul_overflow(comparison->dim, sizeof *first, &row_bytes)) {
        chunk_rows = row_bytes < CHUNK_BYTES ? CHUNK_BYTES / row_bytes : 1;
        first = calloc(chunk_rows, row_bytes);
        second = calloc(chunk_rows, row_bytes);
    }
    struct line lines[LINES] = {{0}};
    int outcome = first == NULL || second == NULL ? out_of_memory("a row of each table", 8 * (double)comparison->dim)
                                                  : measure(comparison, first, second, chunk_rows, lines);
    if (outcome == DONE)
        print_lines(stream, comparison, lines);
    free(first);
    free(second);
    return outcome;
}
