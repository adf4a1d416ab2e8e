/* SPDX-License-Identifier: MIT */
/*
 * Settings for the model with the caller's prefix. The config.json of a multimodal model has an object for each part.
 * The wrong one may have another scale, so the object must describe the token table, and no other one may do so.
 */
#include "handle.h"
#include "models/models.h"

#include <stdio.h>
#include <string.h>

/* Objects of config.json that may describe a model with a token table. */
enum { MAX_OBJECTS = 8 };

struct objects {
    const char *keys[MAX_OBJECTS]; /* "config.text_config" */
    size_t count;
    size_t missing; /* keys with dots that look like those of objects */
};

/* Returns the size of the object's key if a setting says that the object describes a model with tokens; else 0. */
static size_t object_size(const struct inlay_found_model *found, const inlay_file_value *value)
{
    const char *last = strncmp(value->key, "config.", 7) == 0 ? strrchr(value->key, '.') : NULL;
    const bool has_type = last != NULL && strcmp(last, ".model_type") == 0 && value->kind == INLAY_FILE_VALUE_STRING;
    const bool is_described = last != NULL && (strcmp(last, ".vocab_size") == 0 ||
                                               (has_type && inlay_model_of_type(value->text, found->part) != NULL));
    return is_described ? (size_t)(last - value->key) : 0;
}

/* Adds an object, or its text_config if it has one, as transformers reads it. Returns false if there is no room. */
static bool add_object(const inlay_file *file, const char *key, size_t size, struct objects *objects)
{
    static const char top[] = "config";
    const char *object = inlay_settings_object(file, key, size, ".text_config");
    if (object == NULL)
        object = size == sizeof top - 1 ? top : inlay_settings_object(file, key, size, "");
    for (size_t i = 0; i < objects->count; i++)
        if (object == objects->keys[i])
            return true;
    if (object == NULL)
        return objects->missing++ < MAX_OBJECTS;
    if (objects->count == MAX_OBJECTS)
        return false;
    objects->keys[objects->count++] = object;
    return true;
}

/* How an object fits the token table under its family's names. */
enum fit {
    NO_TABLE,    /* the file has none */
    OTHER_TABLE, /* the object states other columns or rows */
    MAYBE_TABLE, /* it doesn't state both */
    SAME_TABLE,  /* it states this shape */
    FITS
};

/* Compares a size of a table with a setting. */
static enum fit compare_size(const struct inlay_settings *settings, const char *key, size_t size)
{
    const inlay_file_value *value = inlay_settings_value(settings, key, NULL);
    return value == NULL || value->kind != INLAY_FILE_VALUE_INTEGER ? MAYBE_TABLE
           : (uint64_t)value->integer == size                       ? SAME_TABLE
                                                                    : OTHER_TABLE;
}

static enum fit compare(const struct inlay_found_model *found, const char *object)
{
    struct inlay_found_model candidate = *found;
    inlay_file_table table;
    char full[INLAY_MODEL_NAME_ROOM];
    candidate.settings.config = object;
    const inlay_file_value *type = inlay_settings_value(&candidate.settings, "model_type", NULL);
    if (type != NULL && type->kind == INLAY_FILE_VALUE_STRING)
        candidate.model = inlay_model_of_type(type->text, found->part);
    if (candidate.model == NULL)
        candidate.model = found->model != NULL ? found->model : inlay_model_from_name("table", NULL);
    inlay_model_find_names(&candidate);
    if (candidate.names == NULL)
        return NO_TABLE;
    inlay_model_tensor(&candidate, candidate.names->tokens, full);
    if (inlay_file_get_table(found->settings.file, full, &table, NULL) != INLAY_FILE_OK)
        return MAYBE_TABLE;
    const char *dim = candidate.model->dim != NULL ? candidate.model->dim : "hidden_size";
    const enum fit columns = compare_size(&candidate.settings, dim, table.view.dim);
    const enum fit rows = compare_size(&candidate.settings, "vocab_size", table.view.rows);
    return columns < rows ? columns : rows;
}

/* Reports that settings may be in several objects. Returns false. */
static bool fail_objects(const struct inlay_found_model *found, const struct objects *objects)
{
    char list[192] = "";
    for (size_t i = 0; i < objects->count; i++) {
        const size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", objects->keys[i]);
    }
    return inlay_file_fail(found->settings.error, INLAY_FILE_ERROR_MODEL, NULL, "config.json",
                           "the settings of the table with this prefix may be in one of several parts: %s; make its "
                           "part the whole config.json",
                           list);
}

bool inlay_model_choose_settings(struct inlay_found_model *found)
{
    const struct inlay_catalog *catalog = &found->settings.file->catalog;
    struct objects objects = {.count = 0};
    size_t counts[FITS] = {0};
    const char *chosen = NULL;
    for (size_t i = 0; i < catalog->value_count; i++) {
        const size_t size = object_size(found, &catalog->values[i]);
        if (size > 0 && !add_object(found->settings.file, catalog->values[i].key, size, &objects))
            return fail_objects(found, &objects);
    }
    for (size_t i = 0; i < objects.count; i++) {
        const enum fit fit = objects.count > 1 ? compare(found, objects.keys[i]) : SAME_TABLE;
        counts[fit]++;
        if (fit == SAME_TABLE)
            chosen = objects.keys[i];
    }
    if (counts[NO_TABLE] == objects.count) /* the settings in their usual place; the missing table is reported later */
        return true;
    if (counts[SAME_TABLE] != 1 || counts[MAYBE_TABLE] > 0)
        return fail_objects(found, &objects);
    const bool is_usual = strcmp(found->settings.config, chosen) == 0;
    found->is_other_object = found->is_other_object || !is_usual;
    found->settings.config = chosen;
    if (found->model != NULL || is_usual || strcmp(chosen, "config") == 0 ||
        inlay_settings_value(&found->settings, "model_type", NULL) != NULL)
        return true;
    return inlay_file_fail(found->settings.error, INLAY_FILE_ERROR_MODEL, NULL, chosen,
                           "it has no model_type: pass the name of its family as `model`");
}
