/* SPDX-License-Identifier: MIT */
/*
 * model_file.h without the library that reads model files.
 */
#include "model_file.h"

#include <stddef.h>

#include "command.h"
#include "message.h"

static int refuse(const char *what)
{
    return failed("%s: this inlay was built without libinlay-file, which needs jansson, and reads no model files",
                  what);
}

const char *model_formats(void)
{
    return NULL;
}

int weights_map(const char *path, const char **name, struct weights *weights)
{
    (void)name;
    (void)weights;
    return refuse(shown(path));
}

void model_file_close(struct inlay_file *file)
{
    (void)file;
}

int command_model(int argc, char **argv)
{
    return refuse(argc > 1 ? shown(argv[1]) : "model");
}
