/* SPDX-License-Identifier: MIT */
/*
 * Completes words from the option tables. The values of an option come from the argument in its help.
 */
#include "options/completion.h"

#include <stdio.h>
#include <string.h>

#include "text/names.h"

void completion_offer(const struct cursor *cursor, const char *word, size_t size, const char *meaning)
{
    const char *typed = cursor->word + cursor->kept;
    if (strlen(typed) <= size && strncmp(word, typed, strlen(typed)) == 0)
        printf("%.*s%.*s\t%s\n", (int)cursor->kept, cursor->word, (int)size, word, meaning);
}

/* Offers the values of an argument like "fixed|random|learned:FILE.npy". Lowercase letters and digits are literal. FILE
   and LIST are completed as files. Other capitals are not completed. */
static void offer_argument(const struct cursor *cursor, const char *argument)
{
    const char *typed = cursor->word + cursor->kept;
    for (size_t size; *argument != '\0'; argument += size + (argument[size] == '|')) {
        size = strcspn(argument, "|");
        const size_t fixed = strspn(argument, "abcdefghijklmnopqrstuvwxyz0123456789:");
        const char *rest = argument + fixed;
        const bool files = strncmp(rest, "FILE", 4) == 0 || strncmp(rest, "LIST", 4) == 0;
        if (files && strncmp(typed, argument, fixed) == 0)
            printf("%.*s*%.*s\n", (int)(cursor->kept + fixed), cursor->word, (int)(size - fixed - 4), rest + 4);
        else if (files || fixed == size)
            completion_offer(cursor, argument, fixed, "");
    }
}

static void offer_values(const struct cursor *cursor, const struct option_rule *rule)
{
    if (rule->kind != OPTION_NAME)
        offer_argument(cursor, rule->argument);
    else
        for (int value = (int)rule->min; enum_name(rule->names, value) != NULL; value++)
            completion_offer(cursor, enum_name(rule->names, value), strlen(enum_name(rule->names, value)), "");
}

static void offer_options(const struct cursor *cursor, const struct option_rule *rule)
{
    char name[64];
    for (; rule->name != NULL; rule++)
        completion_offer(cursor, name, (size_t)snprintf(name, sizeof name, "--%s", rule->name), rule->help);
    completion_offer(cursor, "--help", strlen("--help"), "print help");
}

/* Returns the option that is named by the first `size` bytes of a word and takes a value, or null. */
static const struct option_rule *find_valued(const struct option_rule *rule, const char *word, size_t size)
{
    for (; rule->name != NULL; rule++) {
        if (rule->kind != OPTION_FLAG && strlen(rule->name) + 2 == size && strncmp(word, "--", 2) == 0 &&
            strncmp(word + 2, rule->name, size - 2) == 0)
            return rule;
    }
    return NULL;
}

void completion_print(const struct command_line *line, int argc, char **argv)
{
    const struct option_rule *valued = NULL; /* the option that takes the next word as its value */
    bool wants_operand = line->operand != NULL;
    for (int i = 2; i < argc - 1; i++) {
        wants_operand = wants_operand && (valued != NULL || argv[i][0] == '-');
        valued = valued == NULL ? find_valued(line->rules, argv[i], strlen(argv[i])) : NULL;
    }
    struct cursor cursor = {argv[argc - 1], 0};
    const size_t name = strcspn(cursor.word, "=");
    if (valued == NULL && cursor.word[name] == '=') {
        valued = find_valued(line->rules, cursor.word, name);
        cursor.kept = valued != NULL ? name + 1 : 0;
    }
    if (valued != NULL)
        offer_values(&cursor, valued);
    else if (wants_operand && cursor.word[0] != '-')
        offer_argument(&cursor, "FILE");
    else
        offer_options(&cursor, line->rules);
}
