/* SPDX-License-Identifier: MIT */
/*
 * The drawing of raster.h. Every pixel goes through raster_fill, which is where the edges of the picture are guarded.
 */
#include "raster.h"

#include <stdlib.h>
#include <string.h>

#include "font.h"
#include "utf8.h"

bool raster_init(struct raster *raster, int width, int height)
{
    size_t bytes = (size_t)width * (size_t)height * 3;
    *raster = (struct raster){width, height, malloc(bytes)};
    if (raster->rgb != NULL)
        memset(raster->rgb, 0xff, bytes);
    return raster->rgb != NULL;
}

void raster_free(struct raster *raster)
{
    free(raster->rgb);
    raster->rgb = NULL;
}

void raster_fill(struct raster *raster, int x, int y, int width, int height, uint32_t colour)
{
    int right = x + width < raster->width ? x + width : raster->width;
    int bottom = y + height < raster->height ? y + height : raster->height;
    for (int row = y > 0 ? y : 0; row < bottom; row++) {
        for (int column = x > 0 ? x : 0; column < right; column++) {
            unsigned char *pixel = raster->rgb + ((size_t)row * (size_t)raster->width + (size_t)column) * 3;
            pixel[0] = (unsigned char)(colour >> 16);
            pixel[1] = (unsigned char)(colour >> 8);
            pixel[2] = (unsigned char)colour;
        }
    }
}

void raster_frame(struct raster *raster, int x, int y, int width, int height, uint32_t colour)
{
    raster_fill(raster, x - 1, y - 1, width + 2, 1, colour);
    raster_fill(raster, x - 1, y + height, width + 2, 1, colour);
    raster_fill(raster, x - 1, y, 1, height, colour);
    raster_fill(raster, x + width, y, 1, height, colour);
}

/* The next code point of *text, which moves on; invalid bytes count as one unknown character each. */
static uint32_t next_code(const char **text)
{
    uint32_t code = 0xfffd;
    size_t length = utf8_decode(*text, strlen(*text), &code);
    *text += length ? length : 1;
    return code;
}

void raster_text(struct raster *raster, int x, int y, const char *text, uint32_t colour)
{
    for (; *text != '\0'; x += FONT_WIDTH) {
        const unsigned char *glyph = font_glyph(next_code(&text));
        for (int row = 0; row < FONT_HEIGHT; row++) {
            for (int column = 0; column < FONT_WIDTH; column++) {
                if (glyph[row] >> (7 - column) & 1)
                    raster_fill(raster, x + column, y + row, 1, 1, colour);
            }
        }
    }
}

void raster_text_up(struct raster *raster, int x, int y, const char *text, uint32_t colour)
{
    for (int bottom = y + raster_text_width(text) - 1; *text != '\0'; bottom -= FONT_WIDTH) {
        const unsigned char *glyph = font_glyph(next_code(&text));
        for (int row = 0; row < FONT_HEIGHT; row++) {
            for (int column = 0; column < FONT_WIDTH; column++) {
                if (glyph[row] >> (7 - column) & 1)
                    raster_fill(raster, x + row, bottom - column, 1, 1, colour);
            }
        }
    }
}

int raster_text_width(const char *text)
{
    int width = 0;
    while (*text != '\0') {
        next_code(&text);
        width += FONT_WIDTH;
    }
    return width;
}
