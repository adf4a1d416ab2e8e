/* SPDX-License-Identifier: MIT */
/*
 * The outputs of output.h. Signals that end the process by default remove unfinished files first: the handler reads
 * nothing but a table of names, and each name is complete before it enters the table.
 */
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
#include "plot.h"

/* ---- Unfinished files and signals ------------------------------------------------------------------------------- */

enum { OUTPUTS = 4 };

/* Points to all outputs, in the order in which they take their places: what lies beside `out` is there before it. */
static void list_outputs(struct outputs *outputs, struct output *all[OUTPUTS])
{
    all[0] = &outputs->scales;
    all[1] = &outputs->zeros;
    all[2] = &outputs->out;
    all[3] = &outputs->plot;
}

/* The temporary files that exist now. */
static char *volatile unfinished[OUTPUTS];

static void remove_unfinished(int number)
{
    for (size_t i = 0; i < OUTPUTS; i++) {
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

/* Blocks those signals; returns the mask from before. */
static sigset_t block_signals(void)
{
    sigset_t set, before;
    sigemptyset(&set);
    for (size_t i = 0; i < CAUGHT; i++)
        sigaddset(&set, caught[i]);
    sigprocmask(SIG_BLOCK, &set, &before);
    return before;
}

/* Replaces one entry of the table. */
static void note_unfinished(const char *from, char *to)
{
    for (size_t i = 0; i < OUTPUTS; i++) {
        if (unfinished[i] == from) {
            unfinished[i] = to;
            return;
        }
    }
}

/* Creates a file, which must be new, and enters it into the table, with no signal in between. */
static int create_unfinished(char *name)
{
    const sigset_t before = block_signals();
    int file = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), error = errno;
    if (file >= 0) {
        catch_signals();
        note_unfinished(NULL, name);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return file;
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

/* Returns the path that symbolic links from `path` on lead to, whether or not there is a file; null with errno. */
static char *follow_links(const char *path)
{
    enum { LINKS_MOST = 40, LINK_BYTES = 4096 };
    char *name = strdup(path), link[LINK_BYTES];
    for (int links = 0; name != NULL && links < LINKS_MOST; links++) {
        ssize_t size = readlink(name, link, sizeof link);
        if (size < 0)
            return name;
        /* A relative link begins in the folder of the link. */
        const char *slash = link[0] != '/' ? strrchr(name, '/') : NULL;
        size_t folder = slash != NULL ? (size_t)(slash + 1 - name) : 0;
        char *next = malloc(folder + (size_t)size + 1);
        if (next != NULL)
            sprintf(next, "%.*s%.*s", (int)folder, name, (int)size, link);
        free(name);
        name = next;
    }
    if (name != NULL)
        errno = ELOOP;
    free(name);
    return NULL;
}

/* Creates target.<process>.<attempt>, which must be new: a name that is there belongs to someone else. Returns the
   file, or -1 with errno. */
static int create_beside(struct output *output)
{
    char *name = malloc(strlen(output->target) + 40);
    int file, error, attempt = 0;
    if (name == NULL)
        return -1;
    do {
        sprintf(name, "%s.%ld.%d", output->target, (long)getpid(), attempt);
        file = create_unfinished(name);
        error = errno;
    } while (file < 0 && error == EEXIST && ++attempt < 100);
    if (file >= 0)
        output->temporary = name;
    else
        free(name);
    errno = error;
    return file;
}

static int open_output(struct output *output, const char *option, const char *path, bool text)
{
    output->option = option;
    output->path = strdup(path);
    if (output->path == NULL)
        return out_of_memory("a name", (double)strlen(path));
    struct stat status;
    bool exists = stat(path, &status) == 0;
    int file = -1;
    if (strcmp(path, "-") == 0) {
        output->stream = stdout;
    } else if (exists && S_ISDIR(status.st_mode)) {
        return failed("cannot write %s: it is a directory", shown(path));
    } else if (exists && !S_ISREG(status.st_mode)) {
        file = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    } else {
        /* Through symbolic links: the file they lead to is written, not the link. */
        output->target = exists ? realpath(path, NULL) : follow_links(path);
        file = output->target != NULL ? create_beside(output) : -1;
        /* What was private stays private. */
        if (file >= 0 && exists)
            fchmod(file, status.st_mode & 0777);
    }
    if (file >= 0)
        output->stream = fdopen(file, "wb");
    if (output->stream == NULL)
        return cannot_write(output);
    if (!text && isatty(fileno(output->stream)))
        return failed("%s: %s is a terminal, and the output is binary: name a file or a pipe", option, name_of(output));
    return DONE;
}

/* Returns whether the file that an output will be exists already, and which it is. */
static bool existing(const struct output *output, struct stat *status)
{
    return (output->target != NULL ? stat(output->target, status) : fstat(fileno(output->stream), status)) == 0;
}

/* Returns the temporary file by its one real name, without the number that keeps two of one target apart. */
static char *real_target(const struct output *output)
{
    char *name = output->temporary != NULL ? realpath(output->temporary, NULL) : NULL;
    if (name != NULL)
        *strrchr(name, '.') = '\0';
    return name;
}

/* Returns whether two outputs would end in one file or pipe. A device such as /dev/null may have both. */
static bool same_file(const struct output *first, const struct output *second)
{
    struct stat a, b;
    if (existing(first, &a) && existing(second, &b))
        return a.st_dev == b.st_dev && a.st_ino == b.st_ino && !S_ISCHR(a.st_mode);
    char *one = real_target(first), *other = real_target(second);
    bool same = one != NULL && other != NULL && strcmp(one, other) == 0;
    free(one);
    free(other);
    return same;
}

int outputs_add(struct outputs *outputs, struct output *output, const char *option, const char *path)
{
    struct output *all[OUTPUTS];
    list_outputs(outputs, all);
    TRY(open_output(output, option, path, output == &outputs->out && outputs->text));
    for (size_t i = 0; i < OUTPUTS; i++) {
        if (all[i] != output && all[i]->stream != NULL && same_file(all[i], output))
            return misused("%s and %s both name %s: give them two files", all[i]->option, option, name_of(all[i]));
    }
    return DONE;
}

int outputs_open(struct outputs *outputs, const char *out, const char *plot)
{
    if (plot != NULL && plot_library() == NULL)
        return failed("--plot %s: this inlay was built without cairo and draws no pictures", shown(plot));
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
    return output_write(output, header, inlay_npy_format(inlay_npy_descr(element), shape, rank, header));
}

int output_npy_elements(struct output *output, enum npy_element element, const void *elements, size_t n)
{
    return output_write(output, elements, n * inlay_npy_element_bytes(element));
}

static void discard(struct output *output)
{
    if (output->stream != NULL && output->stream != stdout)
        fclose(output->stream);
    if (output->temporary != NULL) {
        unlink(output->temporary);
        note_unfinished(output->temporary, NULL);
    }
    free(output->temporary);
    free(output->target);
    free(output->path);
    *output = (struct output){.stream = NULL};
}

/* Makes sure that all bytes of a file have arrived. */
static int complete(struct output *output)
{
    if (output->stream == NULL)
        return DONE;
    bool arrived = fflush(output->stream) == 0 && !ferror(output->stream);
    /* Some file systems report a full disk or quota only here, and the old file must survive that. */
    if (arrived && output->temporary != NULL)
        arrived = fsync(fileno(output->stream)) == 0;
    if (arrived && output->stream != stdout) {
        arrived = fclose(output->stream) == 0;
        output->stream = NULL;
    }
    return arrived ? DONE : cannot_write(output);
}

/* Puts a complete file in its place. */
static int place(struct output *output)
{
    if (output->temporary != NULL && rename(output->temporary, output->target) != 0)
        return cannot_write(output);
    /* The temporary name is no longer ours to remove. */
    note_unfinished(output->temporary, NULL);
    free(output->temporary);
    output->temporary = NULL;
    discard(output);
    return DONE;
}

int outputs_commit(struct outputs *outputs)
{
    struct output *all[OUTPUTS];
    list_outputs(outputs, all);
    for (size_t i = 0; i < OUTPUTS; i++)
        TRY(complete(all[i]));
    for (size_t i = 0; i < OUTPUTS; i++)
        TRY(place(all[i]));
    return DONE;
}

void outputs_discard(struct outputs *outputs)
{
    struct output *all[OUTPUTS];
    list_outputs(outputs, all);
    for (size_t i = 0; i < OUTPUTS; i++)
        discard(all[i]);
}
