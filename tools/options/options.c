/* SPDX-License-Identifier: MIT */
/*
 * Parses options and prints help. It uses getopt_long, which accepts `--name value`, `--name=value` and unambiguous
 * prefixes. It prints its own messages: one line, with the option's name and the fix.
 */
#include "options/options.h"

#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/numbers.h"
#include "options/completion.h"
#include "text/message.h"
#include "text/names.h"
#include "text/nearest.h"

/* For a long option, getopt_long returns FIRST plus the index of its rule. FIRST is above every short option. */
enum { FIRST = 256 };

enum { LINE_WIDTH = 79, INDENT = 23, TEXT_BYTES = 1024 };

/* Messages show lists of up to this many names in full. Of longer lists, they show the nearest names. */
enum { MAX_LISTED = 8 };

/* ---- Names ------------------------------------------------------------------------------------------------------ */

/* Writes all names of an OPTION_NAME, e.g. "a, b and c": `last` precedes the last name, `separator` the others. */
static void join_names(const struct option_rule *rule, const char *separator, const char *last, char text[TEXT_BYTES])
{
    for (int value = (int)rule->min; enum_name(rule->names, value) != NULL; value++) {
        const char *before = value == (int)rule->min                     ? ""
                             : enum_name(rule->names, value + 1) != NULL ? separator
                                                                         : last;
        append(text, TEXT_BYTES, "%s%s", before, enum_name(rule->names, value));
    }
}

static int take_name(const struct option_rule *rule, const char *text, unsigned *target)
{
    const int named = enum_value(rule->names, text);
    if (named >= 0) {
        *target = (unsigned)named;
        return DONE;
    }
    char names[TEXT_BYTES] = "";
    struct nearest nearest = {.typed = text};
    int value = (int)rule->min;
    for (const char *word, *name; (word = enum_name(rule->names, value)) != NULL; value++) {
        for (size_t i = 0; (name = enum_alias(rule->names, value, i)) != NULL; i++)
            nearest_consider(&nearest, word, name);
    }
    const bool few = value <= MAX_LISTED;
    if (few)
        join_names(rule, ", ", " or ", names);
    else
        nearest_append(&nearest, "", names, sizeof names);
    return misused(few ? "--%s %s must be %s" : "--%s %s is unknown: %s", rule->name, shown(text), names);
}

/* ---- Help ------------------------------------------------------------------------------------------------------- */

/* Prints text in the columns from INDENT to LINE_WIDTH. `used` characters of the first line are already printed. */
static void print_wrapped(const char *text, size_t used)
{
    if (used >= INDENT) {
        putchar('\n');
        used = 0;
    }
    printf("%*s", (int)(INDENT - used), "");
    for (size_t column = INDENT; *text != '\0';) {
        size_t size = strcspn(text, " ");
        if (column > INDENT && column + 1 + size > LINE_WIDTH) {
            printf("\n%*s", INDENT, "");
            column = INDENT;
        } else if (column > INDENT) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)size, text);
        column += size;
        text += size + strspn(text + size, " ");
    }
    putchar('\n');
}

static void print_rule(const struct option_rule *rule)
{
    char names[TEXT_BYTES] = "", text[TEXT_BYTES] = "";
    const char *argument = rule->argument != NULL ? rule->argument : names;
    if (rule->kind == OPTION_NAME && rule->argument == NULL)
        join_names(rule, "|", "|", names);
    int used = printf("  --%s%s%s", rule->name, *argument != '\0' ? " " : "", argument);
    append(text, sizeof text, "%s", rule->help);
    if (rule->kind == OPTION_NAME && text[strlen(text) - 1] == ':') {
        append(text, sizeof text, " ");
        join_names(rule, ", ", ", ", text);
    }
    print_wrapped(text, (size_t)used);
}

static void print_help(const struct command_line *line)
{
    fputs(line->usage, stdout);
    const struct option_rule *rule = line->rules;
    for (; rule->name != NULL; rule++) {
        if (rule->heading != NULL)
            fputs(rule->heading, stdout);
        print_rule(rule);
    }
    printf("  --help               print this\n%s", rule->heading != NULL ? rule->heading : "");
}

/* ---- Parsing ---------------------------------------------------------------------------------------------------- */

static int out_of_range(const struct option_rule *rule, const char *text, const char *what)
{
    return misused("--%s %s is not %s from %.10g to %.10g", rule->name, shown(text), what, rule->min, rule->max);
}

static int take_scale(const struct option_rule *rule, const char *text, struct scale *scale)
{
    *scale = (struct scale){inlay_name_equal(text, "sqrt"), 1};
    if (scale->is_sqrt || inlay_name_equal(text, "none") || number_float(text, &scale->value))
        return DONE;
    return misused("--%s %s must be none, sqrt or a number in the range of float32", rule->name, shown(text));
}

static int take_value(const struct option_rule *rule, const char *text, void *options)
{
    void *target = (char *)options + rule->target;
    int64_t integer;
    double real;
    switch (rule->kind) {
    case OPTION_FLAG:
        *(bool *)target = true;
        return DONE;
    case OPTION_TEXT:
        *(const char **)target = text;
        return DONE;
    case OPTION_INTEGER:
        if (!number_int64(text, strlen(text), &integer) || (double)integer < rule->min || (double)integer > rule->max)
            return out_of_range(rule, text, "an integer");
        *(int64_t *)target = integer;
        return DONE;
    case OPTION_REAL:
        if (!number_double(text, strlen(text), &real) || real < rule->min || real > rule->max)
            return out_of_range(rule, text, "a number");
        *(double *)target = real;
        return DONE;
    case OPTION_SCALE:
        return take_scale(rule, text, target);
    case OPTION_NAME:
        return take_name(rule, text, target);
    default:
        return rule->parse(rule, options, text);
    }
}

/* Reports the error if getopt_long returned ':' or '?'. */
static int bad_option(const struct option_rule *rules, int option, char **argv)
{
    const char *last = argv[optind - 1];
    if (option == ':')
        return misused("%s needs a value", shown(last));
    if (optopt >= FIRST)
        return misused("%s has a value, but the option takes none", shown(last));
    if (optopt != 0)
        return misused("unknown option %s: see inlay %s --help", shown((char[]){'-', (char)optopt, '\0'}), argv[0]);
    char names[TEXT_BYTES] = "";
    struct nearest nearest = {.typed = last};
    for (; rules->name != NULL; rules++)
        nearest_consider(&nearest, rules->name, rules->name);
    nearest_append(&nearest, "--", names, sizeof names);
    return misused("unknown or ambiguous option %s: %s; see inlay %s --help", shown(last), names, argv[0]);
}

/* Parses options up to the first argument that isn't one. Returns HELPED after --help. */
static int take_options(struct command_line *line, int argc, char **argv, const struct option *known, void *options)
{
    int option;
    /* '+': stop at the first argument that isn't an option. ':': return ':' for a missing value, not '?'. */
    while ((option = getopt_long(argc, argv, "+:h", known, NULL)) != -1) {
        if (option == 'h') {
            print_help(line);
            return HELPED;
        }
        if (option < FIRST)
            return bad_option(line->rules, option, argv);
        TRY(take_value(&line->rules[option - FIRST], optarg, options));
        line->given[option - FIRST] = true;
    }
    return DONE;
}

int options_parse(struct command_line *line, int argc, char **argv, void *options)
{
    if (argc > 2 && strcmp(argv[1], "--complete") == 0) {
        completion_print(line, argc, argv);
        return HELPED;
    }
    struct option known[MAX_OPTIONS + 2] = {{"help", no_argument, NULL, 'h'}};
    for (int i = 0; line->rules[i].name != NULL; i++) {
        if (i >= MAX_OPTIONS)
            abort();
        int argument = line->rules[i].kind == OPTION_FLAG ? no_argument : required_argument;
        known[i + 1] = (struct option){line->rules[i].name, argument, NULL, FIRST + i};
    }
    /* 0 instead of 1 makes glibc and musl reset the state of an earlier scan. */
    optind = 0;
    opterr = 0;
    TRY(take_options(line, argc, argv, known, options));
    if (optind < argc && line->operand != NULL) {
        *line->operand = argv[optind++];
        TRY(take_options(line, argc, argv, known, options));
    }
    if (optind < argc)
        return misused("stray argument %s: values follow the option they belong to", shown(argv[optind]));
    return DONE;
}

bool option_given(const struct command_line *line, const char *name)
{
    size_t i = 0;
    while (line->rules[i].name != NULL && strcmp(line->rules[i].name, name) != 0)
        i++;
    if (line->rules[i].name == NULL)
        abort();
    return line->given[i];
}

int options_refuse(const struct command_line *line, const struct refusal *refusals)
{
    for (; refusals->options[0] != NULL; refusals++) {
        const char *with = refusals->with;
        bool applies = with != NULL && (*with == '\0' || option_given(line, with));
        for (size_t i = 0; applies && refusals->options[i] != NULL; i++) {
            if (option_given(line, refusals->options[i]))
                return misused(refusals->why, refusals->options[i]);
        }
    }
    return DONE;
}
