/* SPDX-License-Identifier: MIT */
/*
 * Names of tensors. A full name is a prefix of the file, a prefix of the model's type, a prefix of the family, and a
 * name of the family. The prefix of the file is given by the caller, or it is a wrapper's that all names share. No
 * other tensor is ever used: errors list the prefixes of tensors that may be the token table.
 */
#include "handle.h"
#include "models/models.h"
#include "text.h"

#include <stdio.h>
#include <string.h>

/* For types without a prefix before those of the family, and for names without one of these. */
static const char *const no_prefixes[] = {"", NULL};

/* Returns the prefixes of a family. A star is replaced by its name. */
static const char *const *prefixes_of(const struct inlay_model *model)
{
    static const char *const own[] = {"*.", "", NULL};
    return model->prefixes != NULL ? model->prefixes : own;
}

bool inlay_model_may_lack(const char *name)
{
    return name == NULL || *name == '?';
}

/* Returns a name without the mark of optional ones, and sets *side to the part that replaces its start, or to "". */
static const char *name_of(const struct inlay_found_model *found, const char *name, const char **side)
{
    static const char encoder[] = "encoder.";
    name += *name == '?';
    const bool is_moved = found->part != NULL && strcmp(found->part, INLAY_MODEL_DECODER) == 0 &&
                          strncmp(name, encoder, sizeof encoder - 1) == 0;
    *side = is_moved ? "decoder." : "";
    return name + (is_moved ? sizeof encoder - 1 : 0);
}

const inlay_file_tensor *inlay_model_tensor(const struct inlay_found_model *found, const char *name,
                                            char full[INLAY_MODEL_NAME_ROOM])
{
    const char *side;
    if (name == NULL)
        return NULL;
    if (found->head != NULL && name == found->names->tokens) {
        snprintf(full, INLAY_MODEL_NAME_ROOM, "%s", found->head->name);
        return found->head;
    }
    name = name_of(found, name, &side);
    const bool own = *found->prefix == '*';
    const int length = snprintf(full, INLAY_MODEL_NAME_ROOM, "%.*s%s%s%s%s%s", found->outer_size, found->outer,
                                found->whole, own ? found->model->name : "", found->prefix + own, side, name);
    if (length >= INLAY_MODEL_NAME_ROOM)
        return NULL;
    const inlay_file_tensor *tensor = inlay_catalog_tensor(&found->settings.file->catalog, full);
    if (tensor != NULL || !inlay_ends_in(full, ".weight") || (size_t)length + sizeof "_packed" > INLAY_MODEL_NAME_ROOM)
        return tensor;
    memcpy(full + length, "_packed", sizeof "_packed"); /* as compressed-tensors names packed tables */
    tensor = inlay_catalog_tensor(&found->settings.file->catalog, full);
    if (tensor == NULL)
        full[length] = '\0';
    return tensor;
}

/* ---- The prefix of the file ------------------------------------------------------------------------------------- */

/* Finds the prefix that wrappers add to all names of a model: torch.compile(), DataParallel and the first module of
   sentence-transformers. Names are sorted, so a prefix of the first and the last one is a prefix of all. GGUF files
   have no wrappers. */
static void find_wrapper(struct inlay_found_model *found)
{
    static const char *const wrappers[] = {"_orig_mod.", "module.", "0.auto_model."};
    const struct inlay_catalog *catalog = &found->settings.file->catalog;
    const char *first = catalog->name_count > 0 ? catalog->by_name[0]->name : "";
    const char *last = catalog->name_count > 0 ? catalog->by_name[catalog->name_count - 1]->name : "";
    found->outer = first;
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers && found->settings.architecture == NULL;) {
        const size_t size = strlen(wrappers[i]);
        const bool is_next = strncmp(first, wrappers[i], size) == 0 && strncmp(last, wrappers[i], size) == 0 &&
                             (size_t)(first - found->outer) + size < INLAY_MODEL_NAME_ROOM;
        first += is_next ? size : 0;
        last += is_next ? size : 0;
        i = is_next ? 0 : i + 1; /* wrappers are nested in any order */
    }
    found->outer_size = (int)(first - found->outer);
}

/* Returns true for a GGUF file. */
static bool is_gguf(const struct inlay_found_model *found)
{
    const inlay_file *file = found->settings.file;
    return found->settings.architecture != NULL ||
           (file->mapping_count > 0 && file->mappings[0].size >= 4 && memcmp(file->mappings[0].bytes, "GGUF", 4) == 0);
}

bool inlay_model_set_prefix(struct inlay_found_model *found, const char *prefix)
{
    const size_t size = prefix != NULL ? strnlen(prefix, INLAY_MODEL_NAME_ROOM) : 0;
    const char *problem = size == 0                       ? "it is empty: omit it to use the usual names"
                          : size == INLAY_MODEL_NAME_ROOM ? "it has more than 127 bytes"
                          : is_gguf(found) ? "names of tensors in GGUF files have no prefix: leave it out"
                                           : NULL;
    found->is_prefix_given = prefix != NULL;
    if (prefix == NULL)
        find_wrapper(found);
    else if (problem != NULL)
        return inlay_file_fail(found->settings.error, INLAY_FILE_ERROR_ARGUMENT, NULL, "prefix", "%s", problem);
    else {
        found->outer = prefix;
        found->outer_size = (int)size;
    }
    return true;
}

/* ---- The names of a family -------------------------------------------------------------------------------------- */

/* Returns true if a file has all required tensors of a set. */
static bool has_all(const struct inlay_found_model *found, const struct inlay_model_names *names)
{
    const char *const wanted[] = {names->positions, names->segments, names->gamma, names->beta};
    char full[INLAY_MODEL_NAME_ROOM];
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!inlay_model_may_lack(wanted[i]) && inlay_model_tensor(found, wanted[i], full) == NULL)
            return false;
    return true;
}

/* Finds the first set of names of the family that the file has with one of the prefixes `first` and one of `prefixes`,
   or else the first whose token table it has. Returns true for a whole set; found->names is null without a token
   table. */
static bool find_names_after(struct inlay_found_model *found, const char *const *first, const char *const *prefixes)
{
    char full[INLAY_MODEL_NAME_ROOM];
    struct inlay_found_model candidate = *found;
    found->names = NULL;
    for (const struct inlay_model_names *names = found->model->names; names->tokens != NULL; names++)
        for (size_t i = 0; first[i] != NULL; i++)
            for (const char *const *prefix = prefixes; *prefix != NULL; prefix++) {
                candidate.whole = first[i];
                candidate.prefix = *prefix;
                if (inlay_model_tensor(&candidate, names->tokens, full) == NULL)
                    continue;
                bool is_all = has_all(&candidate, names);
                if (is_all || found->names == NULL) {
                    found->names = names;
                    found->whole = first[i];
                    found->prefix = *prefix;
                }
                if (is_all)
                    return true;
            }
    return false;
}

bool inlay_model_find_names(struct inlay_found_model *found)
{
    const char *const *first = found->first != NULL ? found->first : no_prefixes;
    /* Other prefixes follow a given one only if no table has that alone. */
    bool is_all = found->is_prefix_given && find_names_after(found, no_prefixes, no_prefixes);
    if (!found->is_prefix_given || found->names == NULL)
        is_all = find_names_after(found, first, prefixes_of(found->model));
    if (found->names != NULL || first == no_prefixes)
        return is_all;
    /* A file without the names of its type, e.g. one from another program, may have the family's usual names. The other
       steps of the whole model are then unknown. */
    is_all = find_names_after(found, no_prefixes, prefixes_of(found->model));
    found->is_part = found->is_part || found->names != NULL;
    return is_all;
}

/* ---- Checks of a given prefix, and errors ----------------------------------------------------------------------- */

/* Returns the length of what precedes a name of the family at the end of a tensor's name, if a module ends there; else
   -1. */
static int prefix_before(const struct inlay_found_model *found, const inlay_file_tensor *tensor, const char *name)
{
    static const char packed[] = "_packed";
    const char *side;
    name = name_of(found, name, &side);
    size_t size = strlen(tensor->name), side_size = strlen(side), name_size = strlen(name);
    if (inlay_ends_in(tensor->name, packed) && inlay_ends_in(name, ".weight"))
        size -= sizeof packed - 1;
    if (size < side_size + name_size)
        return -1;
    size -= side_size + name_size;
    const bool is_end = strncmp(tensor->name + size, side, side_size) == 0 &&
                        strncmp(tensor->name + size + side_size, name, name_size) == 0;
    return is_end && (size == 0 || tensor->name[size - 1] == '.') ? (int)size : -1;
}

void inlay_model_usual_name(struct inlay_found_model *found, char full[INLAY_MODEL_NAME_ROOM])
{
    const bool is_whole = !found->is_prefix_given && found->first != NULL;
    found->whole = is_whole ? found->first[0] : "";
    found->prefix = found->is_prefix_given || *found->whole != '\0' ? "" : prefixes_of(found->model)[0];
    inlay_model_tensor(found, found->model->names[0].tokens, full);
}

void inlay_model_list_prefixes(const struct inlay_found_model *found, char list[INLAY_MODEL_LIST_ROOM])
{
    const struct inlay_catalog *catalog = &found->settings.file->catalog;
    size_t used = 0;
    bool has_room = !is_gguf(found);
    *list = '\0';
    for (size_t i = 0; i < catalog->name_count && has_room; i++) {
        const char *name = catalog->by_name[i]->name;
        const struct inlay_model_names *names = found->model->names;
        int size = -1;
        for (; names->tokens != NULL && size <= 0; names++)
            size = prefix_before(found, catalog->by_name[i], names->tokens);
        if (size <= 0 || strlen(name) >= INLAY_MODEL_NAME_ROOM)
            continue;
        const size_t more = (size_t)snprintf(
            list + used, INLAY_MODEL_LIST_ROOM - used, "%s\"%.*s\" (%s)",
            used > 0 ? ", " : "; if it has one of these prefixes, pass that as `prefix`: ", size, name, name + size);
        has_room = used + more + sizeof ", ..." <= INLAY_MODEL_LIST_ROOM;
        if (!has_room)
            strcpy(list + used, used > 0 ? ", ..." : "");
        used += more;
    }
}

void inlay_model_list_names(const struct inlay_found_model *found, size_t room, char *list)
{
    static const char more[] = "...";
    size_t used = 0;
    for (const struct inlay_model_names *names = found->model->names; names->tokens != NULL; names++) {
        const char *comma = names[1].tokens != NULL ? ", " : "";
        const bool has_room = used + strlen(names->tokens) + strlen(comma) + sizeof more <= room;
        used +=
            (size_t)snprintf(list + used, room - used, "%s%s", has_room ? names->tokens : more, has_room ? comma : "");
        if (!has_room)
            break;
    }
}

/* Returns the first head with the caller's prefix, or null. */
static const inlay_file_tensor *find_head_name(const struct inlay_found_model *found)
{
    const struct inlay_catalog *catalog = &found->settings.file->catalog;
    for (size_t i = 0; i < catalog->name_count && found->is_prefix_given; i++)
        if (strncmp(catalog->by_name[i]->name, found->outer, (size_t)found->outer_size) == 0 &&
            inlay_ends_in(catalog->by_name[i]->name, "lm_head.weight"))
            return catalog->by_name[i];
    return NULL;
}

bool inlay_model_fail_names(const struct inlay_found_model *found, const char *name)
{
    char list[INLAY_MODEL_LIST_ROOM];
    const inlay_file_tensor *head = find_head_name(found);
    inlay_model_list_prefixes(found, list);
    return inlay_file_fail(found->settings.error, INLAY_FILE_ERROR_MISSING, NULL, name,
                           "the token table of a %s model is missing under %s%s%.100s%s%s", found->model->name,
                           found->is_prefix_given ? "this prefix" : "all its names",
                           head != NULL ? "; a tied head such as " : "", head != NULL ? head->name : "",
                           head != NULL ? " is only read from files without a prefix" : "", list);
}

/* Reports the tensor of a family that the prefix lacks if another prefix of the file may have it. */
static bool check_companion(const struct inlay_found_model *found, const char *name)
{
    const struct inlay_catalog *catalog = &found->settings.file->catalog;
    char full[INLAY_MODEL_NAME_ROOM];
    if (name == NULL || inlay_model_tensor(found, name, full) != NULL)
        return true;
    for (size_t i = 0; i < catalog->name_count; i++)
        if (prefix_before(found, catalog->by_name[i], name) >= 0)
            return inlay_file_fail(found->settings.error, INLAY_FILE_ERROR_MISSING, NULL, full,
                                   "the prefix has a token table, but not this tensor; %.100s has another prefix, so "
                                   "it is not used",
                                   catalog->by_name[i]->name);
    return true;
}

/* Reports another table of the family after the given prefix, one of the prefixes `first` and one of the family's. */
static bool check_others(const struct inlay_found_model *found, const char *const *first)
{
    struct inlay_found_model candidate = *found;
    char full[INLAY_MODEL_NAME_ROOM], start[INLAY_MODEL_NAME_ROOM], other[INLAY_MODEL_NAME_ROOM];
    inlay_model_tensor(found, "", start);
    const inlay_file_tensor *table = inlay_model_tensor(found, found->names->tokens, full);
    for (; *first != NULL; first++)
        for (const char *const *prefix = prefixes_of(found->model); *prefix != NULL; prefix++)
            for (const struct inlay_model_names *names = found->model->names; names->tokens != NULL; names++) {
                candidate.whole = *first;
                candidate.prefix = *prefix;
                inlay_model_tensor(&candidate, "", other);
                const bool is_same = strcmp(start, other) == 0; /* e.g. shared.weight and encoder.embed_tokens.weight */
                const inlay_file_tensor *found_too = inlay_model_tensor(&candidate, names->tokens, other);
                if (!is_same && found_too != NULL && found_too != table)
                    return inlay_file_fail(found->settings.error, INLAY_FILE_ERROR_MODEL, table->path, full,
                                           "%s has this prefix, too: pass a longer `prefix`", other);
            }
    return true;
}

bool inlay_model_check_prefix(const struct inlay_found_model *found)
{
    const struct inlay_model_names *names = found->names;
    const char *const companions[] = {names->positions, names->segments, names->gamma,
                                      names->beta,      names->mapping,  names->weights};
    bool is_good = (found->first == NULL || check_others(found, found->first)) && check_others(found, no_prefixes);
    for (size_t i = 0; is_good && i < sizeof companions / sizeof *companions; i++)
        is_good = check_companion(found, companions[i]);
    for (const struct inlay_model_step *step = found->model->remaining_ops;
         is_good && step != NULL && step->what != NULL; step++)
        is_good = check_companion(found, step->tensor);
    return is_good;
}
