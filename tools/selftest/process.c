/* SPDX-License-Identifier: MIT */
/*
 * The list of checks, the conditions that they run under, and the processes of process.h. A process sends the
 * result of each check through a pipe, so that the one that it dies in is known.
 */
#include "selftest/process.h"

#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "text/message.h"

/* ---- The checks ------------------------------------------------------------------------------------------------- */

/* Checks of one kind. `item` returns the name of each; null past the last one. */
static const struct family {
    const char *name;
    void (*run)(struct trial *trial, size_t item);
    const char *(*item)(size_t item);
    bool once; /* whether one condition must do, because each takes long */
} families[] = {
    {"golden", golden_run, golden_item, false},       {"gather", gather_run, element_item, false},
    {"quantize", quantize_run, element_item, false},  {"layer", layer_run, layer_item, false},
    {"backward", backward_run, backward_item, false}, {"plain", plain_run, plain_item, false},
    {"recipe", positions_run, positions_item, false}, {"sinusoids", sinusoid_run, sinusoid_item, true},
    {"rotary", rotary_run, rotary_item, false},       {"random", random_run, random_item, false},
    {"n-grams", ngram_run, ngram_item, false},        {"error", error_run, error_item, false},
};

/* Returns the family of a check and its number there; null past the last check. */
static const struct family *family_of(size_t check, size_t *item)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        for (*item = 0; families[i].item(*item) != NULL; ++*item)
            if (check-- == 0)
                return &families[i];
    return NULL;
}

const char *check_name(size_t check)
{
    static char name[CHECK_NAME_BYTES];
    size_t item;
    const struct family *family = family_of(check, &item);
    snprintf(name, sizeof name, "%s: %s", family->name, family->item(item));
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

#ifndef FE_UPWARD /* machines without rounding modes */
#define FE_UPWARD FE_TONEAREST
#define FE_DOWNWARD FE_TONEAREST
#define FE_TOWARDZERO FE_TONEAREST
#endif

/* What must change no result. */
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

/* Sets flush-to-zero of results and operands, where it is known how. */
static void set_flush(bool flush)
{
#if defined(__x86_64__)
    const unsigned mxcsr = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(flush ? mxcsr | 0x8040 : mxcsr & ~0x8040u);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    fpcr = flush ? fpcr | UINT64_C(1) << 24 : fpcr & ~(UINT64_C(1) << 24);
    __asm__ volatile("msr fpcr, %0" ::"r"(fpcr));
#else
    (void)flush;
#endif
}

/* The executor of calls in parts: every second part from the last one on, then the others. */
static void run_out_of_order(void *ctx, size_t count, void (*task)(void *arg, size_t index), void *arg)
{
    (void)ctx;
    for (size_t parity = 0; parity < 2; parity++)
        for (size_t i = count; i-- > 0;)
            if (i % 2 == parity)
                task(arg, i);
}

static const inlay_executor out_of_order = {NULL, run_out_of_order, 3};

/* Runs a check under a condition; `copy` gets the bytes that it hashes. */
static void run_check(size_t check, const struct condition *condition, FILE *copy, struct trial *trial,
                      unsigned char digest[SHA256_BYTES])
{
    size_t item;
    const struct family *family = family_of(check, &item);
    *trial = (struct trial){.copy = copy,
                            .executor = condition->parts ? &out_of_order : NULL,
                            .stores = condition->stores,
                            .shift = condition->shift};
    sha256_begin(&trial->hash);
    fesetround(condition->rounding);
    set_flush(condition->flush);
    family->run(trial, item);
    set_flush(false);
    fesetround(FE_TONEAREST);
    sha256_end(&trial->hash, digest);
    for (size_t i = 0; i < trial->array_count; i++)
        free(trial->arrays[i]);
}

/* ---- The child processes ---------------------------------------------------------------------------------------- */

/* For one check, emulated and beside other work. */
enum { SECONDS_MOST = 300 };

/* Runs a check under all conditions; those after the first must change nothing. */
static void judge(size_t check, struct result *result)
{
    static struct trial trial;
    size_t item;
    const size_t last = family_of(check, &item)->once ? 1 : CONDITIONS;
    memset(result, 0, sizeof *result);
    for (size_t i = 0; i < last && result->fault[0] == '\0'; i++) {
        unsigned char digest[SHA256_BYTES];
        run_check(check, &conditions[i], NULL, &trial, digest);
        if (i == 0)
            memcpy(result->digest, digest, sizeof digest);
        const bool same = memcmp(result->digest, digest, sizeof digest) == 0;
        if (trial.fault[0] != '\0' && i == 0)
            snprintf(result->fault, sizeof result->fault, "%s", trial.fault);
        else if (trial.fault[0] != '\0')
            snprintf(result->fault, sizeof result->fault, "%s (%s)", trial.fault, conditions[i].name);
        else if (!same)
            snprintf(result->fault, sizeof result->fault, "%s change the result", conditions[i].name);
    }
}

/* Makes an ISA that of this process, which has not used the library before; null: the best one. */
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

static bool write_all(int file, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        const ssize_t n = write(file, at, size);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool read_all(int file, void *data, size_t size)
{
    char *at = data;
    while (size > 0) {
        const ssize_t n = read(file, at, size);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* The child of an ISA: sends the result of each check. The caller has flushed what it wrote. */
static void send_results(const char *isa, int file)
{
    if (!use_isa(isa))
        exit(MISUSED);
    const size_t n = count_checks();
    for (size_t check = 0; check < n; check++) {
        struct result result;
        alarm(SECONDS_MOST);
        judge(check, &result);
        if (!write_all(file, &result, sizeof result))
            exit(FAILED);
    }
    exit(DONE);
}

/* Waits for a child and says how it ended: an empty text if it did all it had to. */
static void await(pid_t child, char *text, size_t size)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    text[0] = '\0';
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        append(text, size, "takes longer than %d s", SECONDS_MOST);
    else if (WIFSIGNALED(status))
        append(text, size, "dies of signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == MISUSED)
        append(text, size, "the library does not choose this ISA");
    else if (WEXITSTATUS(status) != DONE)
        append(text, size, "ends with exit status %d", WEXITSTATUS(status));
}

size_t collect(const char *isa, struct result *results, size_t checks, char *end, size_t size)
{
    int files[2];
    end[0] = '\0';
    fflush(stdout);
    const pid_t child = pipe(files) == 0 ? fork() : -1;
    if (child == 0) {
        close(files[0]);
        send_results(isa, files[1]);
    }
    if (child < 0) {
        append(end, size, "no child process: %s", strerror(errno));
        return 0;
    }
    close(files[1]);
    size_t n = 0;
    while (n < checks && read_all(files[0], &results[n], sizeof *results))
        n++;
    close(files[0]);
    await(child, end, size);
    return n;
}

/* Returns a file with the bytes that a plain run of a check gives on an ISA; null if there is none. */
static FILE *copy_of(const char *isa, size_t check)
{
    FILE *copy = tmpfile();
    fflush(stdout);
    const pid_t child = copy != NULL ? fork() : -1;
    if (child == 0) {
        static struct trial trial;
        unsigned char digest[SHA256_BYTES];
        if (!use_isa(isa))
            exit(FAILED);
        alarm(SECONDS_MOST);
        run_check(check, &conditions[0], copy, &trial, digest);
        exit(fflush(copy) == 0 ? DONE : FAILED);
    }
    char end[80];
    if (child > 0)
        await(child, end, sizeof end);
    if (copy != NULL && fseek(copy, 0, SEEK_SET) != 0) {
        fclose(copy);
        return NULL;
    }
    return copy;
}

const char *first_difference(const char *isa, size_t check)
{
    static char text[120];
    FILE *found = copy_of(isa, check), *wanted = copy_of("scalar", check);
    uint32_t a = 0, b = 0;
    size_t word = 0;
    while (found != NULL && wanted != NULL && fread(&a, 4, 1, found) == 1 && fread(&b, 4, 1, wanted) == 1 && a == b)
        word++;
    if (a != b)
        snprintf(text, sizeof text, "word %zu is %08x, not scalar's %08x", word, (unsigned)a, (unsigned)b);
    else
        snprintf(text, sizeof text, "the result differs from scalar's after %zu words", word);
    if (found != NULL)
        fclose(found);
    if (wanted != NULL)
        fclose(wanted);
    return text;
}

bool chooses_best(void)
{
    char end[120];
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0)
        exit(use_isa(NULL) ? DONE : FAILED);
    if (child < 0)
        return false;
    await(child, end, sizeof end);
    return end[0] == '\0';
}
