/* SPDX-License-Identifier: MIT */
/*
 * The list of opened.h, which lives as long as the process.
 */
#include "inputs/opened.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text/message.h"

struct input {
    struct input *next;
    dev_t device;
    ino_t inode;
    char name[]; /* as messages show it */
};

static struct input *inputs;

/* Returns the input that is this file, or null. */
static const struct input *find(dev_t device, ino_t inode)
{
    const struct input *input = inputs;
    while (input != NULL && (input->device != device || input->inode != inode))
        input = input->next;
    return input;
}

const char *input_named(const struct stat *status)
{
    const struct input *input = find(status->st_dev, status->st_ino);
    return input != NULL ? input->name : NULL;
}

int input_note_opened(dev_t device, ino_t inode, const char *path)
{
    if (find(device, inode) != NULL)
        return DONE;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : shown(path);
    struct input *input = malloc(sizeof *input + strlen(name) + 1);
    if (input == NULL)
        return out_of_memory("a name", (double)strlen(name));
    input->next = inputs;
    input->device = device;
    input->inode = inode;
    strcpy(input->name, name);
    inputs = input;
    struct stat out;
    if (fstat(STDOUT_FILENO, &out) == 0 && out.st_dev == device && out.st_ino == inode)
        return failed("standard output goes to %s, which this command reads", name);
    return DONE;
}

int input_note(int file, const char *path)
{
    struct stat status;
    if (fstat(file, &status) != 0)
        return failed("cannot read %s: %s", shown(path), strerror(errno));
    return S_ISREG(status.st_mode) ? input_note_opened(status.st_dev, status.st_ino, path) : DONE;
}
