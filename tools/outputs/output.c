/* SPDX-License-Identifier: MIT */
/*
 * Permission to replace a file is checked when an output is opened, and again right before the complete file is moved
 * into place.
 */
#include "outputs/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inputs/opened.h"
#include "text/message.h"

const char output_force_help[] = "replace existing files; inputs are never replaced";

/* The outputs of the run, once one has been opened. */
static struct outputs *opened;

/* ---- Cleanup ---------------------------------------------------------------------------------------------------- */

static void remove_temporaries(void)
{
    for (size_t i = 0; i < OUTPUTS; i++) {
        if (opened->all[i].unfinished)
            unlink(opened->all[i].temporary);
    }
}

static void remove_and_raise(int number)
{
    remove_temporaries();
    raise(number); /* SA_RESETHAND has restored the default action */
}

static const int caught[] = {SIGHUP, SIGINT, SIGTERM};

enum { CAUGHT = sizeof caught / sizeof *caught };

static void clean_up_at_the_end(void)
{
    atexit(remove_temporaries);
    for (size_t i = 0; i < CAUGHT; i++) {
        struct sigaction action;
        /* Signals that the parent ignores, such as nohup's SIGHUP, stay ignored. */
        if (sigaction(caught[i], NULL, &action) != 0 || action.sa_handler != SIG_DFL)
            continue;
        action.sa_handler = remove_and_raise;
        action.sa_flags = (int)SA_RESETHAND;
        sigaction(caught[i], &action, NULL);
    }
}

/* ---- Opening ---------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct output *output)
{
    return output->stream == stdout ? "standard output" : shown(output->path);
}

static int cannot_write(const struct output *output)
{
    return failed("cannot write %s: %s", name_of(output), strerror(errno));
}

/* Resolves symbolic links, so that a file is replaced and not a link to it. For a new file, resolves only the
   directory. */
static int find_target(struct output *output, bool exists)
{
    const char *slash = strrchr(output->path, '/'), *name = slash != NULL ? slash + 1 : output->path;
    char folder[PATH_BYTES] = ".";
    if (slash != NULL)
        snprintf(folder, sizeof folder, "%.*s", (int)(name - output->path), output->path);
    char *real = realpath(exists ? output->path : folder, NULL);
    if (real == NULL)
        return cannot_write(output);
    const int size = snprintf(output->target, PATH_BYTES, "%s%s%s", real, exists ? "" : "/", exists ? "" : name);
    free(real);
    errno = ENAMETOOLONG;
    return size < PATH_BYTES ? DONE : cannot_write(output);
}

/* Rejects a target that isn't a regular file or is an input of this run, and without `force` any target that exists. */
static int check_target(const struct output *output, bool force)
{
    struct stat status;
    if (lstat(output->target, &status) != 0)
        return errno == ENOENT ? DONE : cannot_write(output);
    if (S_ISLNK(status.st_mode))
        return failed("cannot write %s: it is a symbolic link to a file that does not exist", name_of(output));
    if (!S_ISREG(status.st_mode))
        return failed("cannot write %s: it is not a regular file", name_of(output));
    const char *input = find_input(&status);
    if (input != NULL)
        return failed("cannot write %s: it is the same file as %s, which this command reads", name_of(output), input);
    return force ? DONE : failed("cannot write %s: it already exists; use --force to replace it", name_of(output));
}

/* Opens a file that isn't a regular one, e.g. a pipe or a device. */
static int open_directly(struct output *output)
{
    const int file = open(output->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    output->stream = file >= 0 ? fdopen(file, "wb") : NULL;
    return output->stream != NULL ? DONE : cannot_write(output);
}

/* Creates a file target.<process>.<attempt>. Skips names of existing files, which belong to others. */
static int create_temporary(struct output *output)
{
    sigset_t set, before;
    sigemptyset(&set);
    for (size_t i = 0; i < CAUGHT; i++)
        sigaddset(&set, caught[i]);
    sigprocmask(SIG_BLOCK, &set, &before); /* block signals until the new file is recorded */
    int file, attempt = 0;
    do {
        snprintf(output->temporary, TEMPORARY_BYTES, "%s.%ld.%d", output->target, (long)getpid(), attempt);
        file = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file < 0 && errno == EEXIST && ++attempt < 100);
    output->unfinished = file >= 0;
    output->stream = file >= 0 ? fdopen(file, "wb") : NULL;
    const int outcome = output->stream != NULL ? DONE : cannot_write(output);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return outcome;
}

static int open_output(const struct outputs *outputs, struct output *output, const char *option, const char *path)
{
    output->option = option;
    struct stat status;
    errno = ENAMETOOLONG;
    if (snprintf(output->path, PATH_BYTES, "%s", path) >= PATH_BYTES) /* a truncated path would name another file */
        return cannot_write(output);
    const bool exists = stat(path, &status) == 0, regular = exists && S_ISREG(status.st_mode);
    if (strcmp(path, "-") == 0 || (regular && is_stdout(&status))) {
        output->stream = stdout;
    } else if (exists && S_ISDIR(status.st_mode)) {
        return failed("cannot write %s: it is a directory", shown(path));
    } else if (exists && !regular) {
        TRY(open_directly(output));
    } else {
        TRY(find_target(output, exists));
        TRY(check_target(output, outputs->force));
        TRY(create_temporary(output));
        if (exists)
            fchmod(fileno(output->stream), status.st_mode & 0777); /* keep the old permissions */
    }
    if (isatty(fileno(output->stream)))
        return failed("%s: %s is a terminal, and the output is binary: name a file or a pipe", option, name_of(output));
    return DONE;
}

/* Returns true if two outputs would write to the same file or pipe. Two outputs may write to the same device, e.g.
   /dev/null. */
static bool same_output(const struct output *one, const struct output *other)
{
    if (*one->target != '\0' || *other->target != '\0')
        return strcmp(one->target, other->target) == 0;
    struct stat a, b;
    return fstat(fileno(one->stream), &a) == 0 && fstat(fileno(other->stream), &b) == 0 && is_same_file(&a, &b) &&
           !S_ISCHR(a.st_mode);
}

int outputs_add(struct outputs *outputs, struct output *output, const char *option, const char *path)
{
    if (opened == NULL) {
        opened = outputs;
        clean_up_at_the_end();
    }
    TRY(open_output(outputs, output, option, path));
    for (size_t i = 0; i < OUTPUTS; i++) {
        const struct output *other = &outputs->all[i];
        if (other != output && other->stream != NULL && same_output(other, output))
            return misused("%s and %s both write %s: give two files", other->option, option, name_of(other));
    }
    return DONE;
}

int outputs_open(struct outputs *outputs, const char *out, const char *plot)
{
    if (outputs->force && out == NULL && plot == NULL)
        return misused("--force replaces existing output files, but no option names a file");
    if (out != NULL)
        TRY(outputs_add(outputs, &outputs->out, "--out", out));
    return plot != NULL ? outputs_add(outputs, &outputs->plot, "--plot", plot) : DONE;
}

/* ---- Writing and closing ---------------------------------------------------------------------------------------- */

int output_check(struct output *output)
{
    return ferror(output->stream) ? cannot_write(output) : DONE;
}

int output_write(struct output *output, const void *bytes, size_t n)
{
    fwrite(bytes, 1, n, output->stream);
    return output_check(output);
}

int output_seek(struct output *output, uint64_t offset)
{
    return fseeko(output->stream, (off_t)offset, SEEK_SET) == 0 ? DONE : cannot_write(output);
}

int output_npy_header(struct output *output, enum npy_element element, const size_t *shape, size_t rank)
{
    /* '<' is little-endian, like the host: big-endian hosts are rejected at build time. */
    char header[NPY_FORMAT_BYTES];
    return output_write(output, header, inlay_npy_format(inlay_npy_type(element)->name, shape, rank, header));
}

/* Makes sure that all bytes of a file have been written. */
static int complete(struct output *output)
{
    if (output->stream == NULL)
        return DONE;
    bool arrived = fflush(output->stream) == 0 && !ferror(output->stream);
    /* Some file systems report a full disk or quota only here. The old file must not be replaced before. */
    if (arrived && output->unfinished)
        arrived = fsync(fileno(output->stream)) == 0;
    if (arrived && output->stream != stdout) {
        arrived = fclose(output->stream) == 0;
        output->stream = NULL;
    }
    return arrived ? DONE : cannot_write(output);
}

/* ---- Committing ------------------------------------------------------------------------------------------------- */

/* Moves a complete file to its target. Without `force`, a file that was created in the meantime is kept. */
static int place(struct output *output, bool force)
{
    bool placed = !force && link(output->temporary, output->target) == 0;
    if (!placed && !force && errno == EEXIST)
        return check_target(output, false);
    if (placed)
        unlink(output->temporary);
    else /* replace a file, or the file system has no hard links */
        placed = rename(output->temporary, output->target) == 0;
    output->unfinished = !placed;
    return placed ? DONE : cannot_write(output);
}

int outputs_commit(struct outputs *outputs)
{
    for (size_t i = 0; i < OUTPUTS; i++)
        TRY(complete(&outputs->all[i]));
    for (size_t i = 0; i < OUTPUTS; i++) {
        if (outputs->all[i].unfinished)
            TRY(check_target(&outputs->all[i], outputs->force));
    }
    for (size_t i = 0; i < OUTPUTS; i++) {
        if (outputs->all[i].unfinished)
            TRY(place(&outputs->all[i], outputs->force));
    }
    return DONE;
}
