/* SPDX-License-Identifier: MIT */
/*
 * The pictures of plot.h. First every measure is taken, then everything is drawn: text decides the gutters, so the
 * size of the picture is known only then.
 */
#include "plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "axes.h"
#include "colour.h"

enum {
    MARGIN = 16,
    PANEL_GAP = 24,
    HEAD_LINE = TEXT_HEIGHT + 5,
    BAR_GAP = 24,
    BAR_LEAST = 120, /* height below which a colour bar's ticks say nothing */
    CELL_WIDTH_MOST = 72,
    CELL_HEIGHT_MOST = 40,
    NUMBER_WIDTH = 56, /* cells at least that large have their value written in them */
    NUMBER_HEIGHT = 18
};

/* Pixels for all panels together: beyond SHRINK values are averaged, up to GROW cells are enlarged. */
enum { SHRINK_WIDTH = 1400, SHRINK_HEIGHT = 1000, GROW_WIDTH = 1100, GROW_HEIGHT = 700 };

/* Where things are, in pixels. */
struct frame {
    int head;   /* height of titles */
    int gutter; /* width to the left of a heat map */
    int width;  /* of a heat map */
    int height;
    int panel_width; /* with gutter, title and axis */
    int panel_height;
    int bar_height;
};

static int cell_pixels(size_t room, size_t cells, int most)
{
    size_t pixels = room / cells;
    return pixels < 1 ? 1 : pixels > (size_t)most ? most : (int)pixels;
}

static size_t cells_of(size_t size, size_t step)
{
    return size / step + (size % step != 0);
}

struct plot_layout plot_layout_for(size_t panels, size_t rows, size_t columns, bool labelled)
{
    struct plot_layout best = {0};
    double best_area = 0;
    for (size_t across = 1; across <= panels && across <= 4; across++) {
        size_t down = cells_of(panels, across);
        struct plot_layout layout = {.panels = panels, .across = across};
        layout.row_step = labelled ? 1 : heat_row_step(rows, SHRINK_HEIGHT / down);
        layout.column_step = heat_column_step(columns, SHRINK_WIDTH / across);
        size_t cell_rows = cells_of(rows, layout.row_step);
        size_t cell_columns = cells_of(columns, layout.column_step);
        layout.cell_width = cell_pixels(GROW_WIDTH / across, cell_columns, CELL_WIDTH_MOST);
        layout.cell_height = cell_pixels(GROW_HEIGHT / down, cell_rows, CELL_HEIGHT_MOST);
        if (labelled && layout.cell_height < TEXT_HEIGHT + 1)
            layout.cell_height = TEXT_HEIGHT + 1;
        /* The arrangement that shows the values largest; of equals the one with fewer panels side by side. */
        double area = (double)layout.cell_width * (double)cell_columns * layout.cell_height * (double)cell_rows;
        if (area > best_area) {
            best = layout;
            best_area = area;
        }
    }
    return best;
}

static struct axis row_axis(const struct plot *plot)
{
    const struct heat *heat = &plot->heats[0];
    double unit = (double)plot->layout.cell_height / (double)heat->row_step;
    return (struct axis){plot->row_name, plot->first_row, (int64_t)heat->rows, unit};
}

static struct axis column_axis(const struct plot *plot)
{
    const struct heat *heat = &plot->heats[0];
    double unit = (double)plot->layout.cell_width / (double)heat->column_step;
    return (struct axis){"dimension", 0, (int64_t)heat->columns, unit};
}

static int label_width(const struct plot *plot)
{
    int width = 0;
    for (size_t i = 0; i < plot->layout.panels * plot->heats[0].rows; i++) {
        int own = raster_text_width(plot->labels[i]);
        width = own > width ? own : width;
    }
    return width + AXIS_TICK + 4;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static struct frame measure(const struct plot *plot)
{
    const struct plot_layout *layout = &plot->layout;
    const struct heat *heat = &plot->heats[0];
    struct axis rows = row_axis(plot);
    size_t down = cells_of(layout->panels, layout->across);
    struct frame frame;
    frame.head = MARGIN + 2 * HEAD_LINE + MARGIN / 2;
    frame.gutter = AXIS_NAME + (plot->labels != NULL ? label_width(plot) : axis_left_width(&rows));
    frame.width = layout->cell_width * (int)heat->cell_columns;
    frame.height = layout->cell_height * (int)heat->cell_rows;
    frame.panel_width = frame.gutter + frame.width;
    /* Panels have a title only where there are several. */
    frame.panel_height = (layout->panels > 1 ? HEAD_LINE : 0) + frame.height + AXIS_BELOW;
    int last = (int)(down - 1) * (frame.panel_height + MARGIN);
    frame.bar_height = larger(last + frame.height, BAR_LEAST);
    return frame;
}

static void draw_labels(struct raster *raster, const struct plot *plot, size_t panel, int x, int y)
{
    size_t rows = plot->heats[panel].rows;
    for (size_t row = 0; row < rows; row++) {
        const char *label = plot->labels[panel * rows + row];
        int centre = y + (int)row * plot->layout.cell_height + plot->layout.cell_height / 2;
        raster_fill(raster, x - 1 - AXIS_TICK, centre, AXIS_TICK, 1, INK);
        raster_text(raster, x - AXIS_TICK - 4 - raster_text_width(label), centre - TEXT_HEIGHT / 2, label, INK);
    }
}

static void draw_number(struct raster *raster, double value, int x, int y, const struct plot_layout *layout,
                        const struct colour_scale *scale)
{
    char text[32];
    uint32_t colour = colour_of(scale, value);
    bool plain = fabs(value) < 1000 && fmax(-scale->low, scale->high) >= 0.01;
    snprintf(text, sizeof text, plain ? "%.3f" : "%.2g", value);
    int width = raster_text_width(text);
    if (isfinite(value))
        raster_text(raster, x + (layout->cell_width - width) / 2, y + (layout->cell_height - TEXT_HEIGHT) / 2, text,
                    colour_ink_on(colour));
}

static void draw_cells(struct raster *raster, const struct plot *plot, size_t panel, int x, int y,
                       const struct colour_scale *scale)
{
    const struct plot_layout *layout = &plot->layout;
    const struct heat *heat = &plot->heats[panel];
    bool numbers = layout->cell_width >= NUMBER_WIDTH && layout->cell_height >= NUMBER_HEIGHT &&
                   layout->row_step == 1 && layout->column_step == 1;
    for (size_t row = 0; row < heat->cell_rows; row++) {
        for (size_t column = 0; column < heat->cell_columns; column++) {
            double mean = heat_mean(heat, row, column);
            int left = x + (int)column * layout->cell_width;
            int top = y + (int)row * layout->cell_height;
            raster_fill(raster, left, top, layout->cell_width, layout->cell_height, colour_of(scale, mean));
            if (numbers)
                draw_number(raster, mean, left, top, layout, scale);
        }
    }
}

static void draw_panel(struct raster *raster, const struct plot *plot, const struct frame *frame, size_t panel,
                       const struct colour_scale *scale)
{
    struct axis rows = row_axis(plot);
    struct axis columns = column_axis(plot);
    int across = (int)(panel % plot->layout.across);
    int down = (int)(panel / plot->layout.across);
    int x = MARGIN + frame->gutter + across * (frame->panel_width + PANEL_GAP);
    int y = frame->head + down * (frame->panel_height + MARGIN);
    if (plot->layout.panels > 1) {
        char title[32];
        snprintf(title, sizeof title, "sequence %zu", panel);
        raster_text(raster, x, y, plot->panel_names != NULL ? plot->panel_names[panel] : title, INK);
        y += HEAD_LINE;
    }
    draw_cells(raster, plot, panel, x, y, scale);
    raster_frame(raster, x, y, frame->width, frame->height, INK);
    if (plot->labels != NULL)
        draw_labels(raster, plot, panel, x, y);
    else
        axis_left(raster, &rows, x, y);
    int name_top = y + (frame->height - raster_text_width(rows.name)) / 2;
    raster_text_up(raster, x - frame->gutter, larger(name_top, frame->head), rows.name, INK_SOFT);
    axis_below(raster, &columns, x, y + frame->height);
}

/* The scale for the means that are shown; *gaps tells whether there are some that are not finite. */
static struct colour_scale scale_of(const struct plot *plot, bool *gaps)
{
    double low = INFINITY;
    double high = -INFINITY;
    *gaps = false;
    for (size_t panel = 0; panel < plot->layout.panels; panel++) {
        const struct heat *heat = &plot->heats[panel];
        for (size_t cell = 0; cell < heat->cell_rows * heat->cell_columns; cell++) {
            double mean = heat_mean(heat, cell / heat->cell_columns, cell % heat->cell_columns);
            if (isfinite(mean)) {
                low = fmin(low, mean);
                high = fmax(high, mean);
            } else {
                *gaps = true;
            }
        }
    }
    return low <= high ? colour_scale_for(low, high) : colour_scale_for(0, 0);
}

static const char not_finite[] = "not finite";

bool plot_draw(const struct plot *plot, struct raster *raster)
{
    const struct plot_layout *layout = &plot->layout;
    struct frame frame = measure(plot);
    int across = (int)layout->across;
    int down = (int)cells_of(layout->panels, layout->across);
    int bar_x = MARGIN + across * frame.panel_width + (across - 1) * PANEL_GAP + BAR_GAP;
    int bar_y = frame.head + (layout->panels > 1 ? HEAD_LINE : 0);
    int panels_end = frame.head + down * frame.panel_height + (down - 1) * MARGIN;
    int text_end = MARGIN + larger(raster_text_width(plot->title), raster_text_width(plot->subtitle)) + MARGIN;

    bool gaps;
    struct colour_scale scale = scale_of(plot, &gaps);
    int bar_width = colour_bar_width(&scale, frame.bar_height);
    if (gaps)
        bar_width = larger(bar_width, BAR_WIDTH + 8 + raster_text_width(not_finite));
    int width = larger(bar_x + bar_width + MARGIN, text_end);
    int height = larger(panels_end, bar_y + frame.bar_height + (gaps ? 2 * HEAD_LINE : HEAD_LINE)) + MARGIN;
    if (!raster_init(raster, width, height))
        return false;

    raster_text(raster, MARGIN, MARGIN, plot->title, INK);
    raster_text(raster, MARGIN, MARGIN + HEAD_LINE, plot->subtitle, INK_SOFT);
    for (size_t panel = 0; panel < layout->panels; panel++)
        draw_panel(raster, plot, &frame, panel, &scale);
    draw_colour_bar(raster, &scale, bar_x, bar_y, frame.bar_height);
    if (gaps) {
        int y = bar_y + frame.bar_height + 10;
        raster_fill(raster, bar_x, y, BAR_WIDTH, TEXT_HEIGHT, COLOUR_NOT_FINITE);
        raster_text(raster, bar_x + BAR_WIDTH + 8, y, not_finite, INK);
    }
    return true;
}
