/* SPDX-License-Identifier: MIT */
/*
 * `inlay model`: its command line; model_print.c does the work.
 */
#include <stddef.h>

#include "inputs/model_file.h"
#include "options/command.h"
#include "options/options.h"
#include "text/message.h"

static const char usage[] = "Usage: inlay model FILE|DIR\n"
                            "\n"
                            "Checks a model file and prints its tensors, its metadata, and the input layer\n"
                            "that inlay makes of it, or why it cannot. FILE is a .safetensors, .gguf or .npy\n"
                            "file, the .index.json of a model in several files, or one file of a split GGUF\n"
                            "model; DIR holds one of these and perhaps a config.json. Long values are\n"
                            "shortened.\n"
                            "\n";

static const struct option_rule rules[] = {{.name = NULL}};

int command_model(int argc, char **argv)
{
    const char *path = NULL;
    struct command_line line = {.usage = usage, .rules = rules, .operand = &path};
    TRY(options_parse(&line, argc, argv, NULL));
    return path != NULL ? model_print(path) : misused("FILE is missing: the model to look into");
}
