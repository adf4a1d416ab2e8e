/* SPDX-License-Identifier: MIT */
/*
 * The list of opened files lives as long as the process.
 */
#include "inputs/opened.h"

#include <string.h>
#include <unistd.h>

#include "text/message.h"

struct input {
    struct input *next;
    struct stat file;
    char name[];
};

static struct input *inputs;

bool is_same_file(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

bool is_stdout(const struct stat *file)
{
    struct stat out;
    return fstat(STDOUT_FILENO, &out) == 0 && is_same_file(&out, file);
}

const char *find_input(const struct stat *file)
{
    const struct input *input = inputs;
    while (input != NULL && !is_same_file(&input->file, file))
        input = input->next;
    return input != NULL ? input->name : NULL;
}

int input_note(const struct stat *file, const char *name)
{
    if (!S_ISREG(file->st_mode) || find_input(file) != NULL)
        return DONE;
    struct input *input = xcalloc(1, sizeof *input + strlen(name) + 1, "a name");
    input->next = inputs;
    input->file = *file;
    strcpy(input->name, name);
    inputs = input;
    return is_stdout(file) ? failed("standard output goes to %s, which this command reads", name) : DONE;
}
