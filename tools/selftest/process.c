/* SPDX-License-Identifier: MIT */
/*
 * Lists the checks and conditions, and runs the processes. A process writes each result to a pipe at once. If the
 * process dies, the number of results identifies the check that was running.
 */
#include "selftest/process.h"

#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tests/support/flush.h"
#include "text/message.h"

/* ---- The checks ------------------------------------------------------------------------------------------------- */

static const struct family *const families[] = {
    &golden_checks,   &ggml_checks,   &quantize_checks, &layer_checks,  &type_checks,  &plain_checks, &recipe_checks,
    &sinusoid_checks, &rotary_checks, &rotation_checks, &random_checks, &ngram_checks, &error_checks,
};

/* Returns the family of a check and its item, or null past the last check. */
static const struct family *family_of(size_t check, size_t *item)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        for (*item = 0; item_name(families[i], *item) != NULL; ++*item)
            if (check-- == 0)
                return families[i];
    return NULL;
}

const char *check_name(size_t check)
{
    static char name[CHECK_NAME_BYTES];
    size_t item;
    const struct family *family = family_of(check, &item);
    snprintf(name, sizeof name, "%s: %s", family->name, item_name(family, item));
    return name;
}

size_t count_checks(void)
{
    size_t n = 0, item;
    while (family_of(n, &item) != NULL)
        n++;
    return n;
}

/* ---- Conditions ------------------------------------------------------------------------------------------------- */

#ifndef FE_UPWARD /* for machines without rounding modes */
#define FE_UPWARD FE_TONEAREST
#define FE_DOWNWARD FE_TONEAREST
#define FE_TOWARDZERO FE_TONEAREST
#endif

/* Conditions that must not change any result. */
static const struct condition {
    const char *name;
    int rounding;
    bool flush, parts;
    inlay_stores stores;
    size_t shift;
} conditions[] = {
    {"plain calls", FE_TONEAREST, false, false, INLAY_STORES_AUTOMATIC, 0},
    {"parts, odd addresses and rounding upward", FE_UPWARD, false, true, INLAY_STORES_STREAMED, 1},
    {"parts, odd addresses, rounding downward and flush-to-zero", FE_DOWNWARD, true, true, INLAY_STORES_CACHED, 3},
    {"streamed stores, rounding toward zero and flush-to-zero", FE_TOWARDZERO, true, false, INLAY_STORES_STREAMED, 4},
};

enum { CONDITIONS = sizeof conditions / sizeof *conditions };

static struct trial run_check(const struct family *family, size_t item, const struct condition *condition)
{
    struct trial trial = trial_begin();
    trial.executor = condition->parts ? &out_of_order : NULL;
    trial.stores = condition->stores;
    trial.shift = condition->shift;
    fesetround(condition->rounding);
    set_flush(condition->flush);
    family->run(&trial, item);
    set_flush(false);
    fesetround(FE_TONEAREST);
    return trial;
}

/* Runs a check under all conditions. The hash under the first condition counts; the others must not change it. */
static struct result judge(size_t check)
{
    size_t item;
    const struct family *family = family_of(check, &item);
    const struct trial plain = run_check(family, item, &conditions[0]);
    struct result result = {plain.hash, ""};
    append(result.fault, sizeof result.fault, "%s", plain.fault);
    const size_t last = family->once ? 1 : CONDITIONS;
    for (size_t i = 1; i < last && result.fault[0] == '\0'; i++) {
        const struct trial other = run_check(family, item, &conditions[i]);
        if (other.fault[0] != '\0')
            append(result.fault, sizeof result.fault, "%s (%s)", other.fault, conditions[i].name);
        else if (other.hash != plain.hash)
            append(result.fault, sizeof result.fault, "%s change the result", conditions[i].name);
    }
    return result;
}

/* ---- The child processes ---------------------------------------------------------------------------------------- */

/* Time limit of one check. It must be enough under emulation and on a loaded machine. */
enum { MAX_SECONDS = 300 };

/* Selects an ISA for this process, which must not have used the library; null: the best one. */
static bool use_isa(const char *isa)
{
    if (isa != NULL)
        setenv("INLAY_ISA", isa, 1);
    else
        unsetenv("INLAY_ISA");
    for (size_t i = 0; isa == NULL; i++) {
        int runs;
        const char *name = inlay_isa_at(i, &runs);
        isa = runs ? name : NULL;
    }
    return strcmp(inlay_isa(), isa) == 0;
}

struct child child_start(const char *isa, size_t count)
{
    int ends[2];
    fflush(stdout); /* otherwise the child would write buffered output again */
    const pid_t pid = pipe(ends) == 0 ? fork() : -1;
    FILE *pipe_end = pid < 0 ? NULL : pid == 0 ? fdopen(ends[1], "wb") : fdopen(ends[0], "rb");
    if (pipe_end == NULL)
        exit(failed("cannot start a child process: %s", strerror(errno)));
    close(pid == 0 ? ends[0] : ends[1]);
    if (pid != 0)
        return (struct child){pid, pipe_end};
    if (!use_isa(isa))
        exit(MISUSED);
    for (size_t check = 0; check < count; check++) {
        alarm(MAX_SECONDS);
        const struct result result = judge(check);
        alarm(0); /* don't limit the write: the parent may be slow to read */
        fwrite(&result, sizeof result, 1, pipe_end);
        fflush(pipe_end);
    }
    exit(DONE);
}

void child_end(struct child child, char *end)
{
    int status = 0;
    end[0] = '\0';
    fclose(child.pipe);
    while (waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        append(end, END_BYTES, "takes longer than %d s", MAX_SECONDS);
    else if (WIFSIGNALED(status))
        append(end, END_BYTES, "dies of signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == MISUSED)
        append(end, END_BYTES, "the library does not choose this ISA");
    else if (WEXITSTATUS(status) != DONE)
        append(end, END_BYTES, "ends with exit status %d", WEXITSTATUS(status));
}

bool chooses_best(void)
{
    char end[END_BYTES];
    child_end(child_start(NULL, 0), end);
    return end[0] == '\0';
}
