/* SPDX-License-Identifier: MIT */
/*
 * The look-ups of settings.h.
 */
#include "models/settings.h"

#include "handle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Maximum length of a key, including the null. Keys of architectures that exceed it have no value. */
enum { KEY_ROOM = 160 };

/* Finds a value by a key in two parts. Returns null if there is none or a part is null. */
static const inlay_file_value *value_of(const inlay_file *file, const char *first, const char *last)
{
    char key[KEY_ROOM];
    if (first == NULL || last == NULL)
        return NULL;
    int size = snprintf(key, sizeof key, "%s.%s", first, last);
    return size > 0 && size < KEY_ROOM ? inlay_file_find_value(file, key) : NULL;
}

struct inlay_settings inlay_settings_of(inlay_file *file, inlay_file_error *error)
{
    const inlay_file_value *value = inlay_file_find_value(file, "general.architecture");
    bool is_text = value != NULL && value->kind == INLAY_FILE_VALUE_STRING;
    static const char text_config[] = "config.text_config";
    const struct inlay_odd_key *odd = file->catalog.odd_keys;
    while (odd != NULL && (odd->is_null || strcmp(odd->key, text_config) != 0))
        odd = odd->next;
    return (struct inlay_settings){.file = file,
                                   .config = odd != NULL ? text_config : "config",
                                   .architecture = is_text ? value->text : NULL,
                                   .error = error};
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
    const size_t size = strlen(settings->config);
    for (const struct inlay_odd_key *odd = settings->file->catalog.odd_keys; odd != NULL; odd = odd->next)
        if (key->config != NULL && !(odd->is_null && key->may_be_null) &&
            strncmp(odd->key, settings->config, size) == 0 && odd->key[size] == '.' &&
            strcmp(odd->key + size + 1, key->config) == 0)
            return refuse(settings, odd->key, wanted);
    return true;
}

/* Returns the default of a setting. */
static double default_of(const struct inlay_settings *settings, const struct inlay_key *key)
{
    for (const struct inlay_type_default *other = key->others; other != NULL && other->type != NULL; other++)
        if (settings->type != NULL && strcmp(other->type, settings->type) == 0)
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
