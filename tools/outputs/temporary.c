/* SPDX-License-Identifier: MIT */
/*
 * The files of temporary.h. The signal handler reads nothing but a table of names, and each name is complete before it
 * enters the table.
 */
#include "outputs/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

/* The temporary files that exist now. */
static const char *volatile unfinished[TEMPORARIES_MOST];

static void remove_unfinished(int number)
{
    for (size_t i = 0; i < TEMPORARIES_MOST; i++) {
        if (unfinished[i] != NULL)
            unlink(unfinished[i]);
    }
    /* SA_RESETHAND has restored the default action, which ends the process as the sender intended. */
    raise(number);
}

static const int caught[] = {SIGHUP, SIGINT, SIGTERM};

enum { CAUGHT = sizeof caught / sizeof *caught };

static void catch_signals(void)
{
    for (size_t i = 0; i < CAUGHT; i++) {
        struct sigaction action;
        /* What the parent has chosen to ignore, as nohup does, stays ignored. */
        if (sigaction(caught[i], NULL, &action) != 0 || action.sa_handler != SIG_DFL)
            continue;
        action.sa_handler = remove_unfinished;
        action.sa_flags = (int)SA_RESETHAND;
        sigaction(caught[i], &action, NULL);
    }
}

sigset_t temporary_block_signals(void)
{
    sigset_t set, before;
    sigemptyset(&set);
    for (size_t i = 0; i < CAUGHT; i++)
        sigaddset(&set, caught[i]);
    sigprocmask(SIG_BLOCK, &set, &before);
    return before;
}

/* Replaces one entry of the table. */
static void note_unfinished(const char *from, const char *to)
{
    for (size_t i = 0; i < TEMPORARIES_MOST; i++) {
        if (unfinished[i] == from) {
            unfinished[i] = to;
            return;
        }
    }
}

int temporary_create(const char *target, char name[TEMPORARY_BYTES])
{
    /* No signal comes between creating the file and noting it. */
    const sigset_t before = temporary_block_signals();
    int file, error, attempt = 0;
    do {
        snprintf(name, TEMPORARY_BYTES, "%s.%ld.%d", target, (long)getpid(), attempt);
        file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        error = errno;
    } while (file < 0 && error == EEXIST && ++attempt < 100);
    if (file >= 0) {
        catch_signals();
        note_unfinished(NULL, name);
    } else {
        *name = '\0';
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return file;
}

void temporary_forget(const char *name)
{
    note_unfinished(name, NULL);
}
