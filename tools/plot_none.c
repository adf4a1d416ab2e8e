/* SPDX-License-Identifier: MIT */
/*
 * plot.h without a library that draws. The subcommands call plot_library() before they open an output.
 */
#include "plot.h"

#include "message.h"

const char *plot_library(void)
{
    return NULL;
}

int plot_write(struct output *output, const struct plot *plot)
{
    (void)plot;
    return failed("--plot %s: this inlay was built without cairo and draws no pictures", shown(output->path));
}
