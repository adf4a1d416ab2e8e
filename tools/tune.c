/* SPDX-License-Identifier: MIT */
/*
 * `inlay tune`: measures on this machine what each threshold of a layer should be, says what it found, and writes a
 * profile for INLAY_TUNING. It uses one thread and the public API alone, and prefers the defaults: another value must
 * be faster by more than the noise, twice.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inlay/inlay.h>

#include "command.h"
#include "contest.h"
#include "message.h"
#include "options.h"
#include "output.h"
#include "progress.h"

enum { KIB = 1024, MIB = 1024 * KIB };

static const char usage[] = "Usage: inlay tune [--out FILE] [--seconds N] [--largest N]\n"
                            "\n"
                            "Measures on one thread what the thresholds of a layer should be on this\n"
                            "machine, prints what it found, and writes a profile that the environment\n"
                            "variable INLAY_TUNING gives to every layer without a tuning of its own.\n"
                            "\n";

struct tune_options {
    const char *out;
    double seconds;
    int64_t largest;
};

#define TARGET(field) offsetof(struct tune_options, field)

static const struct option_rule rules[] = {
    {"out", "FILE", OPTION_TEXT, TARGET(out), .help = "write the profile; - is standard output"},
    {"seconds", "N", OPTION_REAL, TARGET(seconds), 0.01, 600,
     .help = "time to measure for (default: 12); unless all defaults stay, up to twice as long"},
    {"largest", "N", OPTION_INTEGER, TARGET(largest), 1, 1024,
     .help = "largest output that is measured, in MiB (default: 64); needs six times as much memory"},
    {.name = NULL,
     .heading = "\n"
                "Differences below 3 % do not count, and a value other than the default has to\n"
                "be faster twice. Measure on an idle machine.\n"},
};

/* A threshold, and how it is measured. */
struct subject {
    const char *key;
    size_t target; /* offset in inlay_tuning */
    const char *what;
    const char *below, *above; /* what calls do up to the threshold and beyond it; null: it is a size, not a limit */
    struct shape shape;        /* of a limit: the length is that of the case */
    size_t least;              /* of a limit: bytes of the smallest output */
    size_t most;               /* bytes of the largest output; 0: the default of the threshold */
    size_t values[CONTENDERS_MOST - 1]; /* of a size: candidates beside the default; 0 ends them */
};

/*
 * In the order in which they are measured: each one with those before it as they were chosen. Beyond the default of
 * l2_bytes, which is at most the size of L2, nothing is measured: the calls of a contest repeat, so that their rows lie
 * in L3, while the rows of other calls come from memory, where only whole rows are prefetched fast enough.
 */
static const struct subject subjects[] = {
    {.key = "stream_bytes",
     .target = offsetof(inlay_tuning, stream_bytes),
     .what = "larger outputs are written by non-temporal stores",
     .below = "cached",
     .above = "non-temporal",
     .shape = {.sequences = 32, .dim = 512},
     .least = 512 * KIB,
     .most = SIZE_MAX},
    {.key = "compute_bytes",
     .target = offsetof(inlay_tuning, compute_bytes),
     .what = "a single sequence computes more position rows than that, even if they are cached",
     .below = "read",
     .above = "computed",
     .shape = {.sequences = 1, .dim = 1024, .sinusoid = true},
     .least = 512 * KIB,
     .most = SIZE_MAX},
    {.key = "l2_bytes",
     .target = offsetof(inlay_tuning, l2_bytes),
     .what = "larger calls prefetch whole rows, smaller ones their first lines",
     .below = "first lines",
     .above = "whole rows",
     .shape = {.sequences = 4, .dim = 512},
     .least = 128 * KIB},
    {.key = "block_bytes",
     .target = offsetof(inlay_tuning, block_bytes),
     .what = "position rows that the sequences of a batch share at a time",
     .shape = {.sequences = 32, .dim = 512},
     .most = 32 * MIB,
     .values = {4 * KIB, 8 * KIB, 16 * KIB, 24 * KIB}},
    {.key = "prefetch_bytes",
     .target = offsetof(inlay_tuning, prefetch_bytes),
     .what = "table rows that are prefetched together",
     .shape = {.sequences = 32, .dim = 512},
     .most = 32 * MIB,
     .values = {4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 128 * KIB}},
};

enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* What the measurement of one threshold has: the cases of a limit are outputs of several sizes, which are also its
   candidates; a size has one case, and a contender for each candidate. The first candidate is the default. */
struct trial {
    const struct subject *subject;
    size_t values[CANDIDATES_MOST];
    struct shape shapes[CASES_MOST];
    size_t out_bytes[CASES_MOST];
    struct choice choice;
};

struct tuner {
    struct tune_options options;
    struct arena arena;
    struct outputs outputs;
    struct progress progress;
    double steps_done;
    FILE *report;
    inlay_tuning tuning; /* as chosen so far */
};

static size_t *field_of(inlay_tuning *tuning, const struct subject *subject)
{
    return (size_t *)(void *)((char *)tuning + subject->target);
}

/* ---- Trials ----------------------------------------------------------------------------------------------------- */

static void add_case(struct trial *trial, size_t bytes)
{
    struct shape shape = trial->subject->shape;
    shape.length = bytes / sizeof(float) / shape.dim / shape.sequences;
    trial->shapes[trial->choice.cases] = shape;
    trial->out_bytes[trial->choice.cases] = bytes;
    trial->choice.cases++;
}

/* Adds a candidate, whose distance from the default is the larger of the two over the smaller one. */
static void add_candidate(struct trial *trial, size_t value)
{
    const double ratio = (double)value / (double)trial->values[0];
    if (trial->choice.candidates > 0 && value == trial->values[0])
        return;
    trial->values[trial->choice.candidates] = value;
    trial->choice.distance[trial->choice.candidates] = ratio < 1 ? 1 / ratio : ratio;
    trial->choice.candidates++;
}

static void choose_contenders(struct trial *trial)
{
    struct choice *choice = &trial->choice;
    const bool limit = trial->subject->below != NULL;
    choice->contenders = limit ? 2 : choice->candidates;
    for (size_t i = 0; i < choice->candidates; i++)
        for (size_t k = 0; k < choice->cases; k++)
            choice->runs[i][k] = limit ? trial->out_bytes[k] > trial->values[i] : i;
}

static struct trial make_trial(const struct tuner *tuner, const struct subject *subject)
{
    inlay_tuning tuning = tuner->tuning;
    const size_t by_default = *field_of(&tuning, subject);
    struct trial trial = {.subject = subject, .values = {by_default}};
    const size_t largest = (size_t)tuner->options.largest * MIB;
    const size_t most_of_all = subject->most > 0 ? subject->most : by_default;
    const size_t most = most_of_all < largest ? most_of_all : largest;
    add_candidate(&trial, by_default);
    if (subject->below != NULL) {
        for (size_t bytes = subject->least; bytes <= most && trial.choice.cases < CASES_MOST; bytes *= 2) {
            add_case(&trial, bytes);
            add_candidate(&trial, bytes);
        }
    } else {
        add_case(&trial, most);
        for (size_t i = 0; i < CONTENDERS_MOST - 1 && subject->values[i] > 0; i++)
            add_candidate(&trial, subject->values[i]);
    }
    choose_contenders(&trial);
    return trial;
}

/* Returns the value that makes a contender do what it stands for in every call. */
static size_t value_of(const struct trial *trial, size_t contender)
{
    if (trial->subject->below == NULL)
        return trial->values[contender];
    return contender == 0 ? SIZE_MAX : 0;
}

static int measure(struct tuner *tuner, struct trial *trial)
{
    inlay_tuning tunings[CONTENDERS_MOST];
    double seconds_of[CONTENDERS_MOST];
    for (size_t i = 0; i < trial->choice.contenders; i++) {
        tunings[i] = tuner->tuning;
        *field_of(&tunings[i], trial->subject) = value_of(trial, i);
    }
    const double seconds = tuner->options.seconds / SUBJECTS / (double)trial->choice.cases;
    for (size_t k = 0; k < trial->choice.cases; k++) {
        TRY(contest_run(&tuner->arena, &trial->shapes[k], tunings, trial->choice.contenders, seconds, seconds_of));
        for (size_t i = 0; i < trial->choice.contenders; i++)
            trial->choice.seconds[i][k] = seconds_of[i];
        tuner->steps_done += 1 / (double)trial->choice.cases;
        progress_show(&tuner->progress, tuner->steps_done / SUBJECTS);
    }
    return DONE;
}

/* ---- What it prints --------------------------------------------------------------------------------------------- */

static void print_bytes(FILE *file, size_t bytes)
{
    if (bytes % MIB == 0)
        fprintf(file, "%8zu MiB", bytes / MIB);
    else
        fprintf(file, "%8zu KiB", bytes / KIB);
}

static void print_times(FILE *file, const struct trial *trial)
{
    const struct subject *subject = trial->subject;
    fprintf(file, "\n%s: %s\n", subject->key, subject->what);
    if (subject->below != NULL)
        fprintf(file, "      output %12s us %12s us\n", subject->below, subject->above);
    for (size_t k = 0; k < trial->choice.cases && subject->below != NULL; k++) {
        print_bytes(file, trial->out_bytes[k]);
        fprintf(file, " %15.1f %15.1f\n", trial->choice.seconds[0][k] * 1e6, trial->choice.seconds[1][k] * 1e6);
    }
    for (size_t i = 0; i < trial->choice.contenders && subject->below == NULL; i++) {
        print_bytes(file, trial->values[i]);
        fprintf(file, " %15.1f us\n", trial->choice.seconds[i][0] * 1e6);
    }
}

static void print_choice(FILE *file, const struct trial *trial, size_t best, bool again)
{
    if (best == 0)
        fprintf(file, "choice: %zu, the default: no other is more than 3 %% faster\n", trial->values[0]);
    else if (!again)
        fprintf(file, "choice: %zu, the default: %zu was faster only once\n", trial->values[0], trial->values[best]);
    else
        fprintf(file, "choice: %zu: the default, %zu, takes longer\n", trial->values[best], trial->values[0]);
}

static void print_machine(FILE *file, const char *prefix)
{
    const inlay_tuning_source source = inlay_tuning_default_source();
    fprintf(file, "%sinlay %s, %s\n", prefix, inlay_version(), inlay_isa());
    fprintf(file, "%sCPU: %s; L2: %zu bytes\n", prefix, source.cpu[0] != '\0' ? source.cpu : "unknown",
            source.l2_bytes);
}

/* ---- The command ------------------------------------------------------------------------------------------------ */

static int tune_subject(struct tuner *tuner, const struct subject *subject)
{
    struct trial trial = make_trial(tuner, subject);
    const double steps = tuner->steps_done;
    TRY(measure(tuner, &trial));
    const size_t best = choice_best(&trial.choice);
    progress_end(&tuner->progress);
    print_times(tuner->report, &trial);
    if (best != 0) {
        tuner->steps_done = steps;
        TRY(measure(tuner, &trial));
        progress_end(&tuner->progress);
    }
    const bool again = best != 0 && choice_beats_default(&trial.choice, best);
    print_choice(tuner->report, &trial, best, again);
    if (again)
        *field_of(&tuner->tuning, subject) = trial.values[best];
    return DONE;
}

static int write_profile(struct tuner *tuner)
{
    struct output *out = &tuner->outputs.out;
    if (out->stream == NULL) {
        fprintf(tuner->report, "\nNothing is kept: --out FILE writes a profile.\n");
        return DONE;
    }
    fprintf(out->stream, "# Thresholds measured by `inlay tune`. INLAY_TUNING=FILE gives them to every layer.\n");
    print_machine(out->stream, "# ");
    for (size_t i = 0; i < SUBJECTS; i++)
        fprintf(out->stream, "%s %zu\n", subjects[i].key, *field_of(&tuner->tuning, &subjects[i]));
    TRY(output_check(out));
    TRY(outputs_commit(&tuner->outputs));
    if (tuner->report == stdout)
        printf("\nTo use the profile, set INLAY_TUNING=%s\n", shown(tuner->options.out));
    return DONE;
}

static int run(struct tuner *tuner)
{
    const bool to_stdout = tuner->options.out != NULL && strcmp(tuner->options.out, "-") == 0;
    tuner->outputs.text = true;
    TRY(outputs_open(&tuner->outputs, tuner->options.out, NULL));
    tuner->report = to_stdout ? stderr : stdout;
    TRY(arena_make(&tuner->arena, (size_t)tuner->options.largest * MIB));
    tuner->tuning = inlay_tuning_default();
    tuner->progress = progress_start("measuring");
    print_machine(tuner->report, "");
    for (size_t i = 0; i < SUBJECTS; i++) {
        if (subjects[i].shape.sinusoid && strcmp(inlay_isa(), "scalar") == 0)
            fprintf(tuner->report, "\n%s: the scalar kernels read all positions that are cached\n", subjects[i].key);
        else
            TRY(tune_subject(tuner, &subjects[i]));
    }
    return write_profile(tuner);
}

int command_tune(int argc, char **argv)
{
    struct tuner tuner = {.options = {.seconds = 12, .largest = 64}};
    struct command_line line = {.usage = usage, .rules = rules};
    TRY(options_parse(&line, argc, argv, &tuner.options));
    /* Before the library reads it: the defaults are those of this CPU. */
    unsetenv("INLAY_TUNING");
    const int outcome = run(&tuner);
    outputs_discard(&tuner.outputs);
    arena_free(&tuner.arena);
    return outcome;
}
