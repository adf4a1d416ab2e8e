/* SPDX-License-Identifier: MIT */
/*
 * The outputs of output.h: which files may be written, and how a complete file takes its place. Every decision is made
 * when an output is opened, and again, of what is there then, when it takes its place.
 */
#include "outputs/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inputs/opened.h"
#include "outputs/rename.h"
#include "outputs/temporary.h"
#include "text/message.h"

enum { OUTPUTS = TEMPORARIES_MOST };

const char output_force_help[] = "replace files that exist; what the command reads is never replaced";

/* ---- Giving up -------------------------------------------------------------------------------------------------- */

/* Returns whether nothing is lost with what has the temporary name: the file of this run, or one that it replaced.
   Another process can give that name to a file of its own. */
static bool removable(const struct output *output)
{
    struct stat status;
    if (lstat(output->temporary, &status) != 0)
        return false;
    if (output->placed != EXCHANGED)
        return is_same_file(&status, &output->made);
    return S_ISREG(status.st_mode) && input_named(&status) == NULL;
}

static void discard(struct output *output)
{
    if (output->stream != NULL && output->stream != stdout)
        fclose(output->stream);
    if (removable(output))
        unlink(output->temporary);
    temporary_forget(output->temporary);
    *output = (struct output){.stream = NULL};
}

static void discard_all(struct outputs *outputs)
{
    for (size_t i = 0; i < OUTPUTS; i++)
        discard(&outputs->all[i]);
}

/* The outputs of the run, once one has been opened. */
static struct outputs *opened;

static void discard_at_exit(void)
{
    discard_all(opened);
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

/* Follows symbolic links from the target on, whether or not there is a file. Returns false, with errno, for a circle. A
   path that is cut is as long as none can be, and no file is made of it. */
static bool follow_links(struct output *output)
{
    enum { LINKS_MOST = 40 };
    char link[PATH_BYTES];
    for (int links = 0; links < LINKS_MOST; links++) {
        ssize_t size = readlink(output->target, link, sizeof link);
        if (size < 0)
            return true;
        /* A relative link begins in the folder of the link. */
        char *slash = link[0] != '/' ? strrchr(output->target, '/') : NULL;
        char *begin = slash != NULL ? slash + 1 : output->target;
        snprintf(begin, (size_t)(output->target + PATH_BYTES - begin), "%.*s", (int)size, link);
    }
    errno = ELOOP;
    return false;
}

/* Refuses to replace what has a name now: what is no file, an input of this run, and without `force` any file. */
static int check_replaced(const struct output *output, const char *name, bool force)
{
    struct stat status;
    if (lstat(name, &status) != 0)
        return cannot_write(output);
    if (!S_ISREG(status.st_mode))
        return failed("cannot write %s: it is no file any more", name_of(output));
    const char *input = input_named(&status);
    if (input != NULL)
        return failed("cannot write %s: it is the same file as %s, which this command reads", name_of(output), input);
    return force ? DONE : failed("cannot write %s: it exists already; --force replaces it", name_of(output));
}

/* Opens a pipe, a device or the like. */
static int open_directly(struct output *output)
{
    struct stat status;
    int file = open(output->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0 || (output->stream = fdopen(file, "wb")) == NULL)
        return cannot_write(output);
    /* Another process may have put a file there a moment ago. */
    return S_ISREG(status.st_mode) ? failed("cannot write %s: it became a file meanwhile", name_of(output)) : DONE;
}

/* Creates the temporary file of a target, of which a file may exist. */
static int open_beside(struct output *output, bool exists, bool force)
{
    /* Through symbolic links: the file they lead to is written, not the link. */
    strcpy(output->target, output->path);
    if (!follow_links(output))
        return cannot_write(output);
    struct stat old;
    const bool has_name = lstat(output->target, &old) == 0;
    if (exists && !has_name)
        return cannot_write(output);
    if (has_name)
        TRY(check_replaced(output, output->target, force));
    int file = temporary_create(output->target, output->temporary);
    if (file < 0 || fstat(file, &output->made) != 0 || (output->stream = fdopen(file, "wb")) == NULL)
        return cannot_write(output);
    /* What was private stays private. */
    if (has_name)
        fchmod(file, old.st_mode & 0777);
    return DONE;
}

static int open_output(const struct outputs *outputs, struct output *output, const char *option, const char *path)
{
    output->option = option;
    snprintf(output->path, PATH_BYTES, "%s", path);
    struct stat status;
    bool exists = stat(path, &status) == 0, regular = exists && S_ISREG(status.st_mode);
    if (strcmp(path, "-") == 0 || (regular && is_stdout(&status)))
        output->stream = stdout;
    else if (exists && S_ISDIR(status.st_mode))
        return failed("cannot write %s: it is a directory", shown(path));
    else
        TRY(exists && !regular ? open_directly(output) : open_beside(output, exists, outputs->force));
    if (isatty(fileno(output->stream)))
        return failed("%s: %s is a terminal, and the output is binary: name a file or a pipe", option, name_of(output));
    return DONE;
}

/* Returns whether the file that an output will be exists already, and which it is. */
static bool existing(const struct output *output, struct stat *status)
{
    return (*output->target != '\0' ? stat(output->target, status) : fstat(fileno(output->stream), status)) == 0;
}

/* Returns the temporary file by its one real name, without the number that keeps two of one target apart. */
static char *real_target(const struct output *output)
{
    char *name = realpath(output->temporary, NULL);
    if (name != NULL)
        *strrchr(name, '.') = '\0';
    return name;
}

/* Returns whether two outputs would end in one file or pipe. A device such as /dev/null may have both. */
static bool same_file(const struct output *first, const struct output *second)
{
    struct stat a, b;
    if (existing(first, &a) && existing(second, &b))
        return is_same_file(&a, &b) && !S_ISCHR(a.st_mode);
    char *one = real_target(first), *other = real_target(second);
    bool same = one != NULL && other != NULL && strcmp(one, other) == 0;
    free(one);
    free(other);
    return same;
}

int outputs_add(struct outputs *outputs, struct output *output, const char *option, const char *path)
{
    if (opened == NULL)
        atexit(discard_at_exit);
    opened = outputs;
    TRY(open_output(outputs, output, option, path));
    for (size_t i = 0; i < OUTPUTS; i++) {
        const struct output *other = &outputs->all[i];
        if (other != output && other->stream != NULL && same_file(other, output))
            return misused("%s and %s both name %s: give them two files", other->option, option, name_of(other));
    }
    return DONE;
}

int outputs_open(struct outputs *outputs, const char *out, const char *plot)
{
    if (outputs->force && out == NULL && plot == NULL)
        return misused("--force replaces files that exist, and no option names one");
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
    /* The build refuses big-endian hosts, so '<' is how values lie in memory. */
    char header[NPY_FORMAT_BYTES];
    return output_write(output, header, inlay_npy_format(inlay_npy_type(element)->name, shape, rank, header));
}

/* Makes sure that all bytes of a file have arrived. */
static int complete(struct output *output)
{
    if (output->stream == NULL)
        return DONE;
    bool arrived = fflush(output->stream) == 0 && !ferror(output->stream);
    /* Some file systems report a full disk or quota only here, and the old file must survive that. */
    if (arrived && *output->temporary != '\0')
        arrived = fsync(fileno(output->stream)) == 0;
    if (arrived && output->stream != stdout) {
        arrived = fclose(output->stream) == 0;
        output->stream = NULL;
    }
    return arrived ? DONE : cannot_write(output);
}

/* ---- Taking places ---------------------------------------------------------------------------------------------- */

/*
 * Between a look at the target and the renaming of the temporary file, another process can give the name of the target
 * to anything, even to an input that then has no other name. So a target that exists is exchanged with the temporary
 * file in one step, and only then looked at: what this run must not replace is exchanged back. Where the process is
 * killed in between, or another one renames once more, a file stays under the temporary name; none is lost.
 */

enum { ATTEMPTS = 100 }; /* to come before other processes that go on renaming */

/* Puts a file into its place, over another one only with `force`. */
static int place(struct output *output, bool force)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (rename_new(output->temporary, output->target) == 0) {
            output->placed = NEW;
            return DONE;
        }
        if (errno != EEXIST)
            break;
        if (!force)
            return check_replaced(output, output->target, false);
        if (rename_exchange(output->temporary, output->target) == 0) {
            output->placed = EXCHANGED;
            return check_replaced(output, output->temporary, true);
        }
        if (errno == ENOSYS) {
            /* Names cannot be exchanged: what another process does between these two calls is not seen. */
            TRY(check_replaced(output, output->target, true));
            return rename(output->temporary, output->target) == 0 ? DONE : cannot_write(output);
        }
        if (errno != ENOENT)
            break;
    }
    return cannot_write(output);
}

/* Puts things back as they were before an output took its place. */
static void take_back(struct output *output)
{
    if (output->placed == EXCHANGED)
        rename_exchange(output->temporary, output->target);
    else if (output->placed == NEW && rename_new(output->target, output->temporary) == 0 && !removable(output))
        rename_new(output->temporary, output->target);
    output->placed = NOWHERE; /* what has the temporary name now is removed only if this run made it */
}

int outputs_commit(struct outputs *outputs)
{
    for (size_t i = 0; i < OUTPUTS; i++)
        TRY(complete(&outputs->all[i]));
    /* Meanwhile a temporary name can have the old file. */
    const sigset_t before = temporary_block_signals();
    int outcome = DONE;
    size_t n = 0;
    for (; outcome == DONE && n < OUTPUTS; n++) {
        if (*outputs->all[n].temporary != '\0')
            outcome = place(&outputs->all[n], outputs->force);
    }
    while (outcome != DONE && n > 0)
        take_back(&outputs->all[--n]);
    discard_all(outputs);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return outcome;
}
