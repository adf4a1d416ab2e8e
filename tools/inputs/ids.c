/* SPDX-License-Identifier: MIT */
/*
 * Reads lists of token ids.
 */
#include "inputs/ids.h"

#include <stdbool.h>
#include <stdlib.h>

#include "inputs/load.h"
#include "inputs/numbers.h"
#include "text.h"
#include "text/message.h"

/* Returns the address after the last id, with space for `more` ids. */
static int64_t *make_room(struct id_lists *lists, size_t more)
{
    size_t used = lists->n > 0 ? (size_t)lists->offsets[lists->n] : 0;
    lists->offsets = xrealloc(lists->offsets, (lists->n + 2) * sizeof *lists->offsets, "the ids");
    lists->ids = xrealloc(lists->ids, (used + more + 1) * sizeof *lists->ids, "the ids");
    lists->offsets[lists->n] = (int64_t)used;
    return lists->ids + used;
}

/* Ends a list: `count` ids were written to the address from make_room(). */
static void end_list(struct id_lists *lists, size_t count)
{
    lists->offsets[lists->n + 1] = lists->offsets[lists->n] + (int64_t)count;
    lists->n++;
}

static bool is_separator(char c)
{
    return c == ' ' || c == ',' || c == '\t' || c == '\n' || c == '\r';
}

int id_lists_add(struct id_lists *lists, const char *option, const char *path, const char *text, size_t size)
{
    /* Consecutive ids have a separator between them. */
    int64_t *ids = make_room(lists, size / 2 + 1);
    size_t count = 0, end;
    for (size_t at = 0; at < size; at = end) {
        end = at + 1;
        if (is_separator(text[at]))
            continue;
        while (end < size && !is_separator(text[end]))
            end++;
        if (!number_int64(text + at, end - at, &ids[count]))
            return message(path != NULL ? FAILED : MISUSED,
                           "%s%s%s: '%s' is not an id: ids are 64-bit integers, separated by spaces or commas", option,
                           path != NULL ? " " : "", path != NULL ? shown(path) : "", escaped(text + at, end - at));
        count++;
    }
    end_list(lists, count);
    return DONE;
}

static int add_npy(struct id_lists *lists, const char *path)
{
    struct npy npy;
    void *data = NULL;
    TRY(load_npy(path, NPY_INTEGERS, &npy, &data));
    int64_t *ids = make_room(lists, npy.rows);
    for (size_t i = 0; i < npy.rows; i++)
        ids[i] = npy_integer(&npy, data, i);
    end_list(lists, npy.rows);
    free(data);
    return DONE;
}

int id_lists_add_file(struct id_lists *lists, const char *option, const char *path)
{
    if (inlay_ends_in(path, ".npy"))
        return add_npy(lists, path);
    char *text = NULL;
    size_t size;
    int outcome = load_text(path, &text, &size);
    if (outcome == DONE)
        outcome = id_lists_add(lists, option, path, text, size);
    free(text);
    return outcome;
}

size_t id_list_length(const struct id_lists *lists, size_t i)
{
    return (size_t)(lists->offsets[i + 1] - lists->offsets[i]);
}
