/* SPDX-License-Identifier: MIT */
/*
 * plot.h without a drawing library. plot_check() reports this before an output is opened.
 */
#include "pictures/plot.h"

const char *plot_library(void)
{
    return NULL;
}

int plot_write(struct output *output, const struct plot *plot)
{
    (void)plot;
    return plot_check(output->path);
}
