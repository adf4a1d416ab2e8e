/* SPDX-License-Identifier: MIT */
/*
 * The look-ups of settings.h.
 */
#include "models/settings.h"

#include "handle.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The longest key that is looked for, with the zero behind it. An architecture that makes a longer one has no value. */
enum { KEY_ROOM = 160 };

static const inlay_file_value *value_of(const inlay_file *file, const char *first, const char *last)
{
    char key[KEY_ROOM];
    int size = snprintf(key, sizeof key, "%s.%s", first, last);
    return size > 0 && size < KEY_ROOM ? inlay_file_value_named(file, key) : NULL;
}

struct inlay_settings inlay_settings_of(const inlay_file *file)
{
    const inlay_file_value *value = inlay_file_value_named(file, "general.architecture");
    bool is_text = value != NULL && value->kind == INLAY_FILE_VALUE_STRING;
    return (struct inlay_settings){file, is_text ? value->text : NULL};
}

const inlay_file_value *inlay_settings_value(const struct inlay_settings *settings, const char *config,
                                             const char *gguf)
{
    const inlay_file_value *value = NULL;
    if (config != NULL)
        value = value_of(settings->file, "config.text_config", config);
    if (value == NULL && config != NULL)
        value = value_of(settings->file, "config", config);
    if (value == NULL && gguf != NULL && settings->architecture != NULL)
        value = value_of(settings->file, settings->architecture, gguf);
    return value;
}

static inlay_file_status refuse(const char *key, const char *wanted, inlay_file_error *error)
{
    return inlay_file_fail(error, INLAY_FILE_ERROR_MODEL, NULL, inlay_text_of(key), "it is not %s", wanted);
}

inlay_file_status inlay_settings_refuse_odd(const struct inlay_settings *settings, const char *config,
                                            const char *wanted, inlay_file_error *error)
{
    static const char *const places[] = {"config.text_config.", "config."};
    for (const struct inlay_odd_key *odd = settings->file->catalogue.odd_keys; odd != NULL; odd = odd->next)
        for (size_t i = 0; i < 2 && config != NULL; i++) {
            const size_t size = strlen(places[i]);
            if (strncmp(odd->key, places[i], size) == 0 && strcmp(odd->key + size, config) == 0)
                return refuse(odd->key, wanted, error);
        }
    return INLAY_FILE_OK;
}

inlay_file_status inlay_settings_number(const struct inlay_settings *settings, const char *config, const char *gguf,
                                        double otherwise, struct inlay_setting *setting, inlay_file_error *error)
{
    const inlay_file_value *value = inlay_settings_value(settings, config, gguf);
    *setting = (struct inlay_setting){otherwise, 0, NULL};
    if (value == NULL)
        return inlay_settings_refuse_odd(settings, config, "a finite number", error);
    bool is_number = value->kind == INLAY_FILE_VALUE_NUMBER || value->kind == INLAY_FILE_VALUE_INTEGER;
    if (!is_number || !isfinite(value->number))
        return refuse(value->key, "a finite number", error);
    *setting = (struct inlay_setting){value->number, 0, value->key};
    return INLAY_FILE_OK;
}

inlay_file_status inlay_settings_integer(const struct inlay_settings *settings, const char *config, const char *gguf,
                                         int64_t otherwise, struct inlay_setting *setting, inlay_file_error *error)
{
    const inlay_file_value *value = inlay_settings_value(settings, config, gguf);
    *setting = (struct inlay_setting){(double)otherwise, otherwise, NULL};
    if (value == NULL)
        return inlay_settings_refuse_odd(settings, config, "an integer", error);
    int64_t integer = value->integer;
    if (value->kind != INLAY_FILE_VALUE_INTEGER && inlay_file_value_integers(value, 0, 1, &integer) != INLAY_FILE_OK)
        return refuse(value->key, "an integer", error);
    *setting = (struct inlay_setting){(double)integer, integer, value->key};
    return INLAY_FILE_OK;
}

inlay_file_status inlay_settings_flag(const struct inlay_settings *settings, const char *config, const char *gguf,
                                      bool otherwise, struct inlay_setting *setting, inlay_file_error *error)
{
    const inlay_file_value *value = inlay_settings_value(settings, config, gguf);
    *setting = (struct inlay_setting){otherwise, otherwise, NULL};
    if (value == NULL)
        return inlay_settings_refuse_odd(settings, config, "true or false", error);
    if (value->kind != INLAY_FILE_VALUE_BOOLEAN)
        return refuse(value->key, "true or false", error);
    *setting = (struct inlay_setting){(double)value->integer, value->integer, value->key};
    return INLAY_FILE_OK;
}

const char *inlay_setting_origin(const struct inlay_setting *setting)
{
    return setting->key != NULL ? setting->key : "default";
}
