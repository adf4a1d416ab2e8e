/* SPDX-License-Identifier: MIT */
/*
 * picture.h with libpng. Errors of libpng leave by longjmp, so nothing in picture_write may change between the
 * setjmp and the end that is read afterwards.
 */
#include "picture.h"

#include <png.h>
#include <stddef.h>

const char *picture_writer(void)
{
    return "libpng " PNG_LIBPNG_VER_STRING;
}

/* libpng's own handlers print to stderr: the caller has a message of its own. */
static void leave(png_structp png, png_const_charp message)
{
    (void)message;
    png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void write_rows(png_structp png, png_infop info, FILE *stream, const struct raster *raster)
{
    png_init_io(png, stream);
    png_set_IHDR(png, info, (png_uint_32)raster->width, (png_uint_32)raster->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int row = 0; row < raster->height; row++)
        png_write_row(png, raster->rgb + (size_t)row * (size_t)raster->width * 3);
    png_write_end(png, info);
}

bool picture_write(FILE *stream, const struct raster *raster)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, leave, ignore);
    png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
    if (info == NULL) {
        png_destroy_write_struct(&png, NULL);
        return false;
    }
    if (setjmp(png_jmpbuf(png)) != 0) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    write_rows(png, info, stream, raster);
    png_destroy_write_struct(&png, &info);
    return true;
}
