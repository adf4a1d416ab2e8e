/* SPDX-License-Identifier: MIT */
/*
 * The writers of save.h. They put rows down as they lie in memory: the build refuses big-endian hosts, so that is
 * '<f4'.
 */
#include "save.h"

#include "message.h"
#include "npy.h"
#include "picture.h"

int save_header(struct output *output, const size_t *shape, size_t rank)
{
    char header[NPY_FORMAT_BYTES];
    fwrite(header, 1, npy_format(shape, rank, header), output->stream);
    return output_check(output);
}

int save_values(struct output *output, const float *values, size_t n)
{
    fwrite(values, sizeof *values, n, output->stream);
    return output_check(output);
}

int save_plot_check(const char *path)
{
    if (path != NULL && picture_writer() == NULL)
        return failed("--plot %s: this inlay was built without libpng and draws no pictures", shown(path));
    return DONE;
}

int save_plot(struct output *output, const struct plot *plot)
{
    struct raster raster;
    if (!plot_draw(plot, &raster))
        return failed("there is not enough memory to draw %s", shown(output->path));
    bool written = picture_write(output->stream, &raster);
    raster_free(&raster);
    if (output_check(output) != DONE)
        return FAILED;
    return written ? DONE : failed("there is not enough memory to write %s", shown(output->path));
}
