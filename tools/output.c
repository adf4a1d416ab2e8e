/* SPDX-License-Identifier: MIT */
/*
 * The outputs of output.h. Signals that end the process by default remove what is unfinished first: the handler
 * touches nothing but a table of names that is complete before a name enters it.
 */
#define _XOPEN_SOURCE 700
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"

/* The temporary files that exist now. */
static char *volatile unfinished[2];

static void remove_unfinished(int number)
{
    for (size_t i = 0; i < 2; i++) {
        if (unfinished[i] != NULL)
            unlink(unfinished[i]);
    }
    /* SA_RESETHAND has put the default action back: now it ends the process as the sender meant it. */
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

/* Lets those signals wait; returns what waited before. */
static sigset_t hold_signals(void)
{
    sigset_t set, before;
    sigemptyset(&set);
    for (size_t i = 0; i < CAUGHT; i++)
        sigaddset(&set, caught[i]);
    sigprocmask(SIG_BLOCK, &set, &before);
    return before;
}

/* Replaces one entry of the table. */
static void note_unfinished(char *from, char *to)
{
    for (size_t i = 0; i < 2; i++) {
        if (unfinished[i] == from) {
            unfinished[i] = to;
            return;
        }
    }
}

static void forget(struct output *output)
{
    free(output->temporary);
    free(output->target);
    *output = (struct output){NULL, NULL, NULL, NULL};
}

static const char *name_of(const struct output *output)
{
    return output->stream == stdout ? "standard output" : shown(output->path);
}

static int cannot_write(const struct output *output)
{
    return failed("cannot write %s: %s", name_of(output), strerror(errno));
}

/* Creates a file and enters it into the table, with no signal between the two. */
static int create_unfinished(char *name)
{
    const sigset_t before = hold_signals();
    int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), error = errno;
    if (file >= 0) {
        catch_signals();
        note_unfinished(NULL, name);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return file;
}

/* Creates target.<process>.<turn>, which must be new: a name that is there belongs to someone else. */
static int open_beside(struct output *output, const struct stat *old)
{
    output->temporary = malloc(strlen(output->target) + 40);
    if (output->temporary == NULL)
        return cannot_write(output);
    for (int turn = 0; turn < 100; turn++) {
        sprintf(output->temporary, "%s.%ld.%d", output->target, (long)getpid(), turn);
        int file = create_unfinished(output->temporary);
        if (file >= 0) {
            /* What was private stays private. */
            if (old != NULL)
                fchmod(file, old->st_mode & 0777);
            output->stream = fdopen(file, "wb");
            if (output->stream == NULL)
                close(file);
        }
        if (file >= 0)
            return output->stream != NULL ? DONE : cannot_write(output);
        if (errno != EEXIST)
            break;
    }
    int outcome = cannot_write(output);
    free(output->temporary);
    output->temporary = NULL;
    return outcome;
}

int output_open(struct output *output, const char *option, const char *path)
{
    *output = (struct output){NULL, path, NULL, NULL};
    struct stat status;
    bool exists = stat(path, &status) == 0;
    int outcome = DONE;
    if (strcmp(path, "-") == 0) {
        output->stream = stdout;
    } else if (exists && S_ISDIR(status.st_mode)) {
        outcome = failed("cannot write %s: it is a directory", shown(path));
    } else if (exists && !S_ISREG(status.st_mode)) {
        int file = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
        output->stream = file >= 0 ? fdopen(file, "wb") : NULL;
        if (output->stream == NULL)
            outcome = cannot_write(output);
    } else {
        /* Through symbolic links: the file they lead to is replaced, not the link. */
        output->target = exists ? realpath(path, NULL) : strdup(path);
        outcome = output->target != NULL ? open_beside(output, exists ? &status : NULL) : cannot_write(output);
    }
    if (outcome == DONE && isatty(fileno(output->stream)))
        outcome =
            failed("%s: %s is a terminal, and the output is binary: name a file or a pipe", option, name_of(output));
    if (outcome != DONE)
        output_discard(output);
    return outcome;
}

/* The temporary file by its one real name, without the turn that keeps two of one target apart. */
static char *real_target(const struct output *output)
{
    char *name = output->temporary != NULL ? realpath(output->temporary, NULL) : NULL;
    if (name != NULL)
        *strrchr(name, '.') = '\0';
    return name;
}

int output_distinct(const struct output *out, const struct output *plot)
{
    if (out->stream == NULL || plot->stream == NULL)
        return DONE;
    char *first = real_target(out), *second = real_target(plot);
    bool same = out->stream == plot->stream || (first != NULL && second != NULL && strcmp(first, second) == 0);
    free(first);
    free(second);
    return same ? misused("--out and --plot both name %s: give them two files", name_of(out)) : DONE;
}

int output_check(struct output *output)
{
    return ferror(output->stream) ? cannot_write(output) : DONE;
}

int output_commit(struct output *output)
{
    if (output->stream == NULL)
        return DONE;
    bool arrived = fflush(output->stream) == 0 && !ferror(output->stream);
    /* Some file systems report a full disk or quota only here, and the old file must outlive that. */
    if (arrived && output->temporary != NULL)
        arrived = fsync(fileno(output->stream)) == 0;
    if (arrived && output->stream != stdout) {
        arrived = fclose(output->stream) == 0;
        output->stream = NULL;
    }
    if (arrived && output->temporary != NULL)
        arrived = rename(output->temporary, output->target) == 0;
    if (!arrived) {
        int outcome = cannot_write(output);
        output_discard(output);
        return outcome;
    }
    note_unfinished(output->temporary, NULL);
    forget(output);
    return DONE;
}

void output_discard(struct output *output)
{
    if (output->stream != NULL && output->stream != stdout)
        fclose(output->stream);
    if (output->temporary != NULL) {
        unlink(output->temporary);
        note_unfinished(output->temporary, NULL);
    }
    forget(output);
}
