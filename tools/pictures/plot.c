/* SPDX-License-Identifier: MIT */
/*
 * Draws plots with cairo. The size of a picture depends on its text, so everything is first drawn on an unbounded
 * recording surface. cairo stores its first error in the context and ignores all later calls, so one check at the end
 * is enough.
 */
#include "pictures/plot.h"

#include <cairo.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "text/message.h"

enum { INK = 0x202020, INK_SOFT = 0x6a6a6a };

/* Sizes in pixels. LINE is the line height, MARGIN surrounds the picture, HEAD is the height of title and subtitle. */
enum { FONT_SIZE = 12, TITLE_SIZE = 14, LINE = 18, MARGIN = 16, PANEL_GAP = 24, HEAD = 2 * LINE + 10 };

/* Length of a tick, gap between tick and label, and minimum distances of row and column labels. The minimum doesn't
   apply if every row or column has a label. */
enum { TICK = 4, TICK_GAP = 4, ROW_GAP = 30, COLUMN_GAP = 20 };

/* The color bar. It is at least MIN_BAR high, to keep labels readable, and has a label about every BAR_TICK_GAP
   pixels. */
enum { BAR_WIDTH = 18, MIN_BAR = 120, BAR_TICK_GAP = 40, BAR_LABELS = 12 };

/* Cells of at least this size show their values. */
enum { NUMBER_WIDTH = 50, NUMBER_HEIGHT = 18 };

enum { LABEL_BYTES = 48 };

/* Positions of the parts of the picture. */
struct frame {
    cairo_t *cr;
    const struct plot *plot;
    const struct heat *heat;
    double gutter; /* width of the space left of a heat map */
    double width;  /* of a heat map */
    double height;
    double panel_height; /* height of a panel with title and axis */
};

/* ---- Text and rectangles ---------------------------------------------------------------------------------------- */

static void set_color(cairo_t *cr, uint32_t color)
{
    cairo_set_source_rgb(cr, (color >> 16) / 255.0, (color >> 8 & 255) / 255.0, (color & 255) / 255.0);
}

static void fill(cairo_t *cr, double x, double y, double width, double height, uint32_t color)
{
    set_color(cr, color);
    cairo_rectangle(cr, x, y, width, height);
    cairo_fill(cr);
}

static double text_width(cairo_t *cr, const char *text)
{
    cairo_text_extents_t extents;
    cairo_text_extents(cr, text, &extents);
    return extents.x_advance;
}

/* Draws text. Its digits are vertically centered on y. The fraction `part` of its width is left of x. */
static void draw_text(cairo_t *cr, double x, double y, double part, const char *text, uint32_t color)
{
    set_color(cr, color);
    cairo_move_to(cr, round(x - part * text_width(cr, text)), round(y + 0.36 * FONT_SIZE));
    cairo_show_text(cr, text);
}

/* ---- Axes ------------------------------------------------------------------------------------------------------- */

/* Returns the smallest number that is at least `min` and is 1, 2 or 5 times a power of ten. */
static double nice_step(double min)
{
    double power = pow(10, floor(log10(min)));
    /* The factor is a tolerance: with it, 0.1 + 0.2 counts as 0.3. */
    double part = min / power * (1 - 1e-9);
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

/* Returns the step between labels, in rows or columns of `unit` pixels. It is 1 if that leaves `min` pixels per label,
   otherwise at least `room` pixels. */
static int64_t tick_step(double unit, double min, double room)
{
    return unit >= min ? 1 : (int64_t)nice_step(fmax(room / unit, 1));
}

/* Returns the label of a row, valid until the next call. */
static const char *row_label(const struct plot *plot, size_t panel, int64_t row)
{
    static char text[LABEL_BYTES];
    if (plot->heat->labeled)
        return plot->label(plot->context, panel, (size_t)row);
    snprintf(text, sizeof text, "%" PRId64, plot->first_row + row);
    return text;
}

/* Draws the axis left of the heat map at (x, y). */
static void draw_row_axis(const struct frame *frame, size_t panel, double x, double y)
{
    const struct plot *plot = frame->plot;
    const struct heat *heat = frame->heat;
    double unit = (double)heat->cell_height / (double)heat->row_step;
    int64_t step = heat->labeled ? 1 : tick_step(unit, HEAT_LABEL_HEIGHT, ROW_GAP);
    int64_t first = (plot->first_row + step - 1) / step * step - plot->first_row;
    for (int64_t row = first; row < (int64_t)heat->rows; row += step) {
        double center = y + floor(((double)row + 0.5) * unit);
        fill(frame->cr, x - 1 - TICK, center, TICK, 1, INK);
        draw_text(frame->cr, x - 1 - TICK - TICK_GAP, center, 1, row_label(plot, panel, row), INK);
    }
    cairo_save(frame->cr);
    cairo_translate(frame->cr, x - frame->gutter, y + frame->height / 2);
    cairo_rotate(frame->cr, -acos(0));
    draw_text(frame->cr, 0, LINE / 2.0, 0.5, plot->row_name, INK_SOFT);
    cairo_restore(frame->cr);
}

/* Draws the axis below the heat map with lower left corner (x, y). */
static void draw_column_axis(const struct frame *frame, double x, double y)
{
    char text[LABEL_BYTES];
    const struct heat *heat = frame->heat;
    double unit = (double)heat->cell_width / (double)heat->column_step;
    snprintf(text, sizeof text, "%zu", heat->columns - 1);
    double widest = text_width(frame->cr, text);
    int64_t step = tick_step(unit, widest + 6, widest + COLUMN_GAP);
    for (int64_t column = 0; column < (int64_t)heat->columns; column += step) {
        double center = x + floor(((double)column + 0.5) * unit);
        fill(frame->cr, center, y + 1, 1, TICK, INK);
        snprintf(text, sizeof text, "%" PRId64, column);
        draw_text(frame->cr, center, y + TICK + LINE / 2.0, 0.5, text, INK);
    }
    draw_text(frame->cr, x + frame->width / 2, y + TICK + 1.5 * LINE, 0.5, "dimension", INK_SOFT);
}

/* ---- Panels ----------------------------------------------------------------------------------------------------- */

/* Draws one pixel per cell, enlarged without smoothing. */
static void draw_cells(const struct frame *frame, size_t panel, double x, double y)
{
    const struct heat *heat = frame->heat;
    cairo_t *cr = frame->cr;
    cairo_surface_t *cells =
        cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)heat->cell_columns, (int)heat->cell_rows);
    unsigned char *data = cairo_image_surface_get_data(cells);
    int stride = cairo_image_surface_get_stride(cells);
    for (size_t row = 0; data != NULL && row < heat->cell_rows; row++, data += stride) {
        for (size_t column = 0; column < heat->cell_columns; column++)
            ((uint32_t *)(void *)data)[column] = heat_color(heat, heat_mean(heat, panel, row, column));
    }
    cairo_surface_mark_dirty(cells);
    cairo_save(cr);
    cairo_translate(cr, x, y);
    cairo_scale(cr, heat->cell_width, heat->cell_height);
    cairo_set_source_surface(cr, cells, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_NEAREST);
    cairo_rectangle(cr, 0, 0, (double)heat->cell_columns, (double)heat->cell_rows);
    cairo_fill(cr);
    cairo_restore(cr);
    cairo_surface_destroy(cells);
}

/* Writes each cell's value into the cell, if cells are large enough. */
static void draw_numbers(const struct frame *frame, size_t panel, double x, double y)
{
    const struct heat *heat = frame->heat;
    if (heat->cell_width < NUMBER_WIDTH || heat->cell_height < NUMBER_HEIGHT || heat->row_step * heat->column_step > 1)
        return;
    bool small = fmax(-heat->low, heat->high) < 0.01;
    for (size_t cell = 0; cell < heat->rows * heat->columns; cell++) {
        size_t row = cell / heat->columns, column = cell % heat->columns;
        double value = heat_mean(heat, panel, row, column);
        char text[LABEL_BYTES];
        snprintf(text, sizeof text, fabs(value) < 1000 && !small ? "%.3f" : "%.2g", value);
        if (isfinite(value))
            draw_text(frame->cr, x + ((double)column + 0.5) * heat->cell_width,
                      y + ((double)row + 0.5) * heat->cell_height, 0.5, text, heat_ink_on(heat_color(heat, value)));
    }
}

/* Draws the outline of a rectangle just outside it. */
static void draw_outline(cairo_t *cr, double x, double y, double width, double height)
{
    set_color(cr, INK);
    cairo_rectangle(cr, x - 0.5, y - 0.5, width + 1, height + 1);
    cairo_stroke(cr);
}

static void draw_panel(const struct frame *frame, size_t panel)
{
    const struct plot *plot = frame->plot;
    const struct heat *heat = frame->heat;
    double x = frame->gutter + (double)(panel % heat->across) * (frame->gutter + frame->width + PANEL_GAP);
    double y = HEAD + (double)(panel / heat->across) * (frame->panel_height + MARGIN);
    /* Panels have titles if there are several. */
    if (heat->panels > 1) {
        char title[LABEL_BYTES];
        snprintf(title, sizeof title, "sequence %zu", panel);
        draw_text(frame->cr, x, y + LINE / 2.0 - 2, 0, plot->panel_names != NULL ? plot->panel_names[panel] : title,
                  INK);
        y += LINE;
    }
    draw_cells(frame, panel, x, y);
    draw_numbers(frame, panel, x, y);
    draw_outline(frame->cr, x, y, frame->width, frame->height);
    draw_row_axis(frame, panel, x, y);
    draw_column_axis(frame, x, y + frame->height);
}

/* ---- The color bar ---------------------------------------------------------------------------------------------- */

static void draw_bar_ticks(const struct frame *frame, double x, double y, double height)
{
    const struct heat *heat = frame->heat;
    double span = heat->high - heat->low;
    double step = nice_step(span / fmin(height / BAR_TICK_GAP, BAR_LABELS));
    /* All labels have as many decimals as the step. */
    bool plain = step >= 1e-5 && fmax(fabs(heat->low), fabs(heat->high)) < 1e6;
    int decimals = step < 1 ? (int)ceil(-log10(step)) : 0;
    /* Multiplying the step, instead of adding it up, gives an exact 0. */
    for (double i = ceil(heat->low / step); i * step <= heat->high + span * 1e-9; i++) {
        double at = y + round((heat->high - i * step) / span * (height - 1));
        char text[LABEL_BYTES];
        /* + 0 turns -0 into 0. */
        snprintf(text, sizeof text, plain ? "%.*f" : "%.*g", plain ? decimals : 4, i * step + 0.0);
        fill(frame->cr, x, at, TICK, 1, INK);
        draw_text(frame->cr, x + TICK + TICK_GAP, at, 0, text, INK);
    }
}

/* Draws the color bar right of all panels. */
static void draw_bar(const struct frame *frame)
{
    const struct heat *heat = frame->heat;
    size_t down = (heat->panels + heat->across - 1) / heat->across;
    double x = (double)heat->across * (frame->gutter + frame->width + PANEL_GAP);
    double y = HEAD + (heat->panels > 1 ? LINE : 0);
    double height = fmax((double)(down - 1) * (frame->panel_height + MARGIN) + frame->height, MIN_BAR);
    double span = heat->high - heat->low;
    for (double row = 0; row < height; row++)
        fill(frame->cr, x, y + row, BAR_WIDTH, 1, heat_color(heat, heat->high - span * (row + 0.5) / height));
    draw_outline(frame->cr, x, y, BAR_WIDTH, height);
    draw_bar_ticks(frame, x + BAR_WIDTH + 1, y, height);
    if (heat->gaps) {
        fill(frame->cr, x, y + height + 12, BAR_WIDTH, FONT_SIZE, HEAT_NOT_FINITE);
        draw_text(frame->cr, x + BAR_WIDTH + 1 + TICK + TICK_GAP, y + height + 12 + FONT_SIZE / 2.0, 0, "not finite",
                  INK);
    }
}

/* ---- The picture ------------------------------------------------------------------------------------------------ */

/* Returns the width of the longest row label. If labels are numbers, the last one is the longest. */
static double label_width(const struct frame *frame)
{
    size_t rows = frame->heat->rows, labels = frame->heat->labeled ? frame->heat->panels * rows : rows;
    double width = 0;
    for (size_t i = frame->heat->labeled ? 0 : rows - 1; i < labels; i++)
        width = fmax(width, text_width(frame->cr, row_label(frame->plot, i / rows, (int64_t)(i % rows))));
    return width;
}

static void set_font(cairo_t *cr)
{
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_SLIGHT);
    cairo_set_font_options(cr, options);
    cairo_font_options_destroy(options);
    cairo_select_font_face(cr, "DejaVu Sans", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cr, FONT_SIZE);
    cairo_set_line_width(cr, 1);
}

static void draw(cairo_t *cr, const struct plot *plot)
{
    struct heat *heat = plot->heat;
    struct frame frame = {.cr = cr, .plot = plot, .heat = heat};
    set_font(cr);
    heat_choose_colors(heat);
    frame.gutter = ceil(LINE + label_width(&frame) + TICK_GAP + TICK + 1);
    frame.width = heat->cell_width * (double)heat->cell_columns;
    frame.height = heat->cell_height * (double)heat->cell_rows;
    frame.panel_height = (heat->panels > 1 ? LINE : 0) + frame.height + TICK + 2 * LINE;
    cairo_set_font_size(cr, TITLE_SIZE);
    draw_text(cr, 0, LINE / 2.0, 0, plot->title, INK);
    cairo_set_font_size(cr, FONT_SIZE);
    draw_text(cr, 0, 1.5 * LINE, 0, plot->subtitle, INK_SOFT);
    char means[2 * LABEL_BYTES];
    snprintf(means, sizeof means, "; each cell is the mean of %zu x %zu values", heat->row_step, heat->column_step);
    if (heat->row_step * heat->column_step > 1)
        draw_text(cr, text_width(cr, plot->subtitle), 1.5 * LINE, 0, means, INK_SOFT);
    for (size_t panel = 0; panel < heat->panels; panel++)
        draw_panel(&frame, panel);
    draw_bar(&frame);
}

static cairo_status_t write_bytes(void *stream, const unsigned char *bytes, unsigned length)
{
    return fwrite(bytes, 1, length, stream) == length ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

/* Copies the recording onto white paper with a margin, and writes it. */
static cairo_status_t write_png(cairo_surface_t *recording, FILE *stream)
{
    double x, y, width, height;
    cairo_recording_surface_ink_extents(recording, &x, &y, &width, &height);
    cairo_surface_t *paper = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)ceil(width) + 1 + 2 * MARGIN,
                                                        (int)ceil(height) + 1 + 2 * MARGIN);
    cairo_t *cr = cairo_create(paper);
    set_color(cr, 0xffffff);
    cairo_paint(cr);
    /* Shift by whole pixels, to keep edges sharp. */
    cairo_set_source_surface(cr, recording, MARGIN - floor(x), MARGIN - floor(y));
    cairo_paint(cr);
    cairo_status_t status = cairo_status(cr);
    if (status == CAIRO_STATUS_SUCCESS)
        status = cairo_surface_write_to_png_stream(paper, write_bytes, stream);
    cairo_destroy(cr);
    cairo_surface_destroy(paper);
    return status;
}

const char *plot_library(void)
{
    static char name[LABEL_BYTES];
    snprintf(name, sizeof name, "cairo %s", cairo_version_string());
    return name;
}

int plot_write(struct output *output, const struct plot *plot)
{
    cairo_surface_t *recording = cairo_recording_surface_create(CAIRO_CONTENT_COLOR_ALPHA, NULL);
    cairo_t *cr = cairo_create(recording);
    draw(cr, plot);
    cairo_status_t status = cairo_status(cr);
    if (status == CAIRO_STATUS_SUCCESS)
        status = write_png(recording, output->stream);
    cairo_destroy(cr);
    cairo_surface_destroy(recording);
    if (status == CAIRO_STATUS_WRITE_ERROR)
        return output_check(output);
    return status == CAIRO_STATUS_SUCCESS
               ? DONE
               : failed("cannot draw %s: %s", shown(output->path), cairo_status_to_string(status));
}
