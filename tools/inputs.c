/* SPDX-License-Identifier: MIT */
/*
 * The list of inputs.h, which lives as long as the process.
 */
#include "inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "message.h"

struct input {
    struct input *next;
    dev_t device;
    ino_t inode;
    char name[]; /* as messages show it */
};

static struct input *inputs;

const char *input_named(const struct stat *status)
{
    const struct input *input = inputs;
    while (input != NULL && (input->device != status->st_dev || input->inode != status->st_ino))
        input = input->next;
    return input != NULL ? input->name : NULL;
}

static int cannot_read(const char *path)
{
    return failed("cannot read %s: %s", shown(path), strerror(errno));
}

static int note(const struct stat *status, const char *path)
{
    if (!S_ISREG(status->st_mode) || input_named(status) != NULL)
        return DONE;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : shown(path);
    struct input *input = malloc(sizeof *input + strlen(name) + 1);
    if (input == NULL)
        return out_of_memory("a name", (double)strlen(name));
    input->next = inputs;
    input->device = status->st_dev;
    input->inode = status->st_ino;
    strcpy(input->name, name);
    inputs = input;
    struct stat out;
    if (fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == status->st_dev && out.st_ino == status->st_ino)
        return failed("standard output goes to %s, which this command reads", name);
    return DONE;
}

int input_note(int file, const char *path)
{
    struct stat status;
    return fstat(file, &status) == 0 ? note(&status, path) : cannot_read(path);
}

int input_note_named(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? note(&status, path) : cannot_read(path);
}
