/* SPDX-License-Identifier: MIT */
/*
 * plot.h without a library that draws. The subcommands call plot_check() before they open an output.
 */
#include "pictures/plot.h"

#include "text/message.h"

const char *plot_library(void)
{
    return NULL;
}

int plot_check(const char *path)
{
    return path == NULL ? DONE
                        : failed("--plot %s: this inlay was built without cairo and draws no pictures", shown(path));
}

int plot_write(struct output *output, const struct plot *plot)
{
    (void)plot;
    return plot_check(output->path);
}
