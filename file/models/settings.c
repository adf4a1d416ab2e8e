/* SPDX-License-Identifier: MIT */
/*
 * Finds settings and converts them.
 */
#include "models/settings.h"

#include "handle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Maximum length of a key, including the null. Keys of architectures that exceed it have no value. */
enum { KEY_ROOM = 160 };

/* Joins a key of two parts, with a dot between them. Returns false if a part is null or the key is too long. */
static bool join(const char *first, const char *last, char key[KEY_ROOM])
{
    return first != NULL && last != NULL && snprintf(key, KEY_ROOM, "%s.%s", first, last) < KEY_ROOM;
}

/* Finds a value by a key in two parts. Returns null if there is none or a part is null. */
static const inlay_file_value *value_of(const inlay_file *file, const char *first, const char *last)
{
    char key[KEY_ROOM];
    return join(first, last, key) ? inlay_file_find_value(file, key) : NULL;
}

/* Same, for an unsupported value of config.json. */
static const inlay_file_value *odd_value_of(const inlay_file *file, const char *first, const char *last)
{
    char key[KEY_ROOM];
    const struct inlay_catalog *catalog = &file->catalog;
    const size_t count = join(first, last, key) ? catalog->odd_count : 0;
    for (size_t i = 0; i < count; i++)
        if (strcmp(catalog->values[catalog->value_count + i].key, key) == 0)
            return &catalog->values[catalog->value_count + i];
    return NULL;
}

struct inlay_settings inlay_settings_of(inlay_file *file, inlay_file_error *error)
{
    const inlay_file_value *value = inlay_file_find_value(file, "general.architecture");
    bool is_text = value != NULL && value->kind == INLAY_FILE_VALUE_STRING;
    return (struct inlay_settings){
        .file = file, .config = "config", .architecture = is_text ? value->text : NULL, .error = error};
}

/* Returns the key of the object of config.json whose key is `key` [size] and `last`; null if there is none. */
static const char *object_of(const inlay_file *file, const char *key, size_t size, const char *last)
{
    const struct inlay_catalog *catalog = &file->catalog;
    for (size_t i = 0; i < catalog->odd_count; i++) {
        const inlay_file_value *odd = &catalog->values[catalog->value_count + i];
        if (odd->integer == 0 && strncmp(odd->key, key, size) == 0 && strcmp(odd->key + size, last) == 0)
            return odd->key;
    }
    return NULL;
}

void inlay_settings_enter(struct inlay_settings *settings, const char *object)
{
    const char *const objects[] = {object != NULL ? object : "", ".text_config"};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        const char *inner = object_of(settings->file, settings->config, strlen(settings->config), objects[i]);
        settings->config = inner != NULL ? inner : settings->config;
    }
}

bool inlay_settings_check_parts(const struct inlay_settings *settings)
{
    static const char *const no_models[] = {
        "rope_scaling", "rope_parameters", "quantization", "quantization_config",  "id2label",
        "label2id",     "auto_map",        "pruned_heads", "task_specific_params", NULL};
    const struct inlay_catalog *catalog = &settings->file->catalog;
    const char *problem = catalog->skipped_object;
    for (size_t i = 0; i < catalog->value_count + catalog->odd_count && problem == NULL; i++) {
        const char *key = catalog->values[i].key;
        const char *end = strncmp(key, "config.", 7) == 0 ? strchr(key + 7, '.') : NULL;
        const char *const *name = no_models;
        while (end != NULL && *name != NULL &&
               (strlen(*name) != (size_t)(end - key - 7) || strncmp(*name, key + 7, strlen(*name)) != 0))
            name++;
        if (end != NULL && *name == NULL)
            problem = object_of(settings->file, key, (size_t)(end - key), "");
    }
    return problem == NULL ||
           inlay_file_fail(settings->error, INLAY_FILE_ERROR_MODEL, NULL, problem,
                           "config.json may describe several models: with a prefix, it must be the configuration of "
                           "that model alone, without this object");
}

const inlay_file_value *inlay_settings_value(const struct inlay_settings *settings, const char *config,
                                             const char *gguf)
{
    const inlay_file_value *value = value_of(settings->file, settings->config, config);
    return value != NULL ? value : value_of(settings->file, settings->architecture, gguf);
}

static bool refuse(const struct inlay_settings *settings, const char *key, const char *wanted)
{
    return inlay_file_fail(settings->error, INLAY_FILE_ERROR_MODEL, NULL, key, "it is not %s", wanted);
}

bool inlay_settings_check_odd(const struct inlay_settings *settings, const struct inlay_key *key, const char *wanted)
{
    const inlay_file_value *odd = odd_value_of(settings->file, settings->config, key->config);
    return odd == NULL || (odd->integer != 0 && key->may_be_null) || refuse(settings, odd->key, wanted);
}

/* Returns the default of a setting. */
static double default_of(const struct inlay_settings *settings, const struct inlay_key *key)
{
    const char *type = settings->type != NULL ? settings->type : settings->architecture;
    for (const struct inlay_type_default *other = key->others; other != NULL && other->type != NULL; other++)
        if (type != NULL && strcmp(other->type, type) == 0)
            return other->otherwise;
    return key->otherwise;
}

bool inlay_settings_find(const struct inlay_settings *settings, enum inlay_setting_kind kind,
                         const struct inlay_key *key, struct inlay_setting *setting)
{
    static const char *const wanted[] = {"a finite number", "an integer", "true or false"};
    const inlay_file_value *value = inlay_settings_value(settings, key->config, key->gguf);
    const double otherwise = default_of(settings, key);
    if (value == NULL && isnan(otherwise))
        return inlay_file_fail(settings->error, INLAY_FILE_ERROR_MISSING, NULL, key->config, "this key has no default");
    *setting = (struct inlay_setting){otherwise, isnan(otherwise) ? 0 : (long long)otherwise, NULL};
    if (value == NULL)
        return inlay_settings_check_odd(settings, key, wanted[kind]);
    const bool is_integer = value->kind == INLAY_FILE_VALUE_INTEGER;
    int64_t integer = value->integer;
    bool suits = value->kind == INLAY_FILE_VALUE_BOOLEAN;
    if (kind == INLAY_SETTING_NUMBER)
        suits = (is_integer || value->kind == INLAY_FILE_VALUE_NUMBER) && isfinite(value->number);
    else if (kind == INLAY_SETTING_INTEGER)
        suits = is_integer || inlay_file_value_integers(value, 0, 1, &integer) == INLAY_FILE_OK;
    *setting = (struct inlay_setting){value->number, integer, value->key};
    if (!suits)
        return refuse(settings, value->key, wanted[kind]);
    return true;
}

const char *inlay_setting_origin(const struct inlay_setting *setting)
{
    return setting->key != NULL ? setting->key : "default";
}
