/* SPDX-License-Identifier: MIT */
/*
 * The command `inlay`: runs the subcommand, and checks at the end that stdout was written. It never calls setlocale, so
 * numbers look the same everywhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <inlay/inlay.h>

#include "options/command.h"
#include "options/completion.h"
#include "text/message.h"
#include "text/nearest.h"

static const struct command {
    const char *name;
    const char *meaning;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"embed", "text or token ids to vectors", command_embed},
    {"table", "a table of sinusoidal positions", command_table},
    {"ngram", "token ids to the rows of hashed n-grams", command_ngram},
    {"model", "the contents of a model file", command_model},
    {"convert", "convert a table to another element type or format", command_convert},
    {"info", "features of this build and this machine", command_info},
    {"selftest", "check the library on this machine, for bug reports", command_selftest},
    /* Options of main() itself. */
    {"--help", "print this; see also inlay COMMAND --help", NULL},
    {"--version", "print the version", NULL},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(void)
{
    fputs("Usage: inlay COMMAND [option ...]\n"
          "\n"
          "The input layer of Transformers on CPUs: token ids in, vectors ready for the\n"
          "first block out.\n"
          "\n"
          "Commands:\n",
          stdout);
    for (size_t i = 0; i < COMMANDS; i++)
        printf("%s  %-9s  %s\n", strcmp(commands[i].name, "--help") == 0 ? "\n" : "", commands[i].name,
               commands[i].meaning);
    puts("\nExit codes: 0 done, 1 failed, 2 wrong usage.");
}

/* Completes the subcommand, which is argv[2] or absent. */
static int complete_command(int argc, char **argv)
{
    const struct cursor cursor = {argc > 2 ? argv[2] : "", 0};
    for (size_t i = 0; i < COMMANDS; i++)
        completion_offer(&cursor, commands[i].name, strlen(commands[i].name), commands[i].meaning);
    return DONE;
}

/*
 * A process can be started with closed standard streams. The next file that it opens would then become stdin, stdout or
 * stderr, and could receive messages. To prevent this, each closed stream gets a descriptor that fails when used.
 */
static void fill_standard_streams(void)
{
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
        if (fcntl(file, F_GETFD) == -1 && errno == EBADF)
            open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

static int unknown_command(const char *name)
{
    char names[128] = "";
    struct nearest nearest = {.typed = name};
    for (size_t i = 0; i < COMMANDS; i++)
        nearest_consider(&nearest, commands[i].name, commands[i].name);
    nearest_append(&nearest, "", names, sizeof names);
    return misused("unknown command %s: %s; see inlay --help", shown(name), names);
}

static int run(int argc, char **argv)
{
    if (argc < 2)
        return misused("the command is missing; see inlay --help");
    const char *name = argv[1];
    if (strcmp(name, "--complete") == 0) {
        if (argc <= 3)
            return complete_command(argc, argv);
        argv[1] = argv[2]; /* the subcommand completes the rest */
        argv[2] = "--complete";
        name = argv[1];
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i].name) == 0 && commands[i].run != NULL) {
            message_name(name);
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    bool version = strcmp(name, "--version") == 0;
    if (!version && strcmp(name, "--help") != 0 && strcmp(name, "-h") != 0)
        return unknown_command(name);
    if (argc > 2)
        return misused("stray argument %s after %s", shown(argv[2]), name);
    if (version)
        printf("inlay %s\n", inlay_version());
    else
        print_help();
    return DONE;
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    /* Report a closed pipe or a file size limit like any failed write: one line, exit code 1. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    int outcome = run(argc, argv);
    if (outcome == HELPED)
        outcome = DONE;
    if (outcome == DONE && (fflush(stdout) != 0 || ferror(stdout)))
        outcome = failed("cannot write standard output: %s", strerror(errno));
    return outcome;
}
