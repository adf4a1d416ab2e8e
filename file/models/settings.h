/* SPDX-License-Identifier: MIT */
/*
 * Settings of a model: from config.json, else from GGUF metadata, where keys start with the architecture. If
 * an object has a text_config, only that is read, as in transformers. A value of the wrong type, or null, is an
 * error. A missing key has the default of the model's type, or of its architecture in llama.cpp.
 */
#pragma once

#include "error.h"

/** The sources of settings, and the error to write. */
struct inlay_settings {
    inlay_file *file;
    const char *config;       /**< key of the object of config.json: "config", "config.text_config" */
    const char *architecture; /**< general.architecture; null: not a GGUF file */
    const char *type;         /**< the model_type of config.json if the family includes it, else null */
    inlay_file_error *error;
};

/** The default of a setting for one model_type of a family, or for one architecture of GGUF. */
struct inlay_type_default {
    const char *type;
    double otherwise;
};

/** The keys of a setting in config.json and, after the architecture, in GGUF files, with the defaults of transformers'
   configuration classes. Null: no such key. */
struct inlay_key {
    const char *config, *gguf;
    double otherwise;                        /**< NAN: it depends on other keys, so the key is required */
    const struct inlay_type_default *others; /**< types with another default, ended by null; null: none */
    bool may_be_null;                        /**< null means the default */
};

/** The kinds of settings. */
enum inlay_setting_kind {
    INLAY_SETTING_NUMBER,  /**< a finite number */
    INLAY_SETTING_INTEGER, /**< an integer, or the first of an array */
    INLAY_SETTING_FLAG,    /**< a boolean, 0 or 1 */
};

/** A number and its key; a null key: the default. */
struct inlay_setting {
    double number;
    long long integer; /**< unless it is a NUMBER */
    const char *key;
};

/** Returns the settings of a file, with all of config.json. */
struct inlay_settings inlay_settings_of(inlay_file *file, inlay_file_error *error);

/** Restricts settings to an object, ".vlm_config" or null, and then to its text_config. Objects that are missing are
    skipped. */
void inlay_settings_enter(struct inlay_settings *settings, const char *object);

/** Reports INLAY_FILE_ERROR_MODEL if an object inside config.json may describe a part of the model: all but a list of
    technical ones, and those that were skipped. */
bool inlay_settings_check_parts(const struct inlay_settings *settings);

/** Returns the value of a key of config.json, else of a key of GGUF; null if neither exists. Keys may be null. */
const inlay_file_value *inlay_settings_value(const struct inlay_settings *settings, const char *config,
                                             const char *gguf);

/** Reports INLAY_FILE_ERROR_MODEL if config.json has an unsupported value instead of one that is `wanted`: an object,
   an array of mixed kinds, or null unless the key allows it. */
bool inlay_settings_check_odd(const struct inlay_settings *settings, const struct inlay_key *key, const char *wanted);

/** Finds a setting, or takes its default. Reports INLAY_FILE_ERROR_MODEL if it is of another kind. */
bool inlay_settings_find(const struct inlay_settings *settings, enum inlay_setting_kind kind,
                         const struct inlay_key *key, struct inlay_setting *setting);

/** Returns the key of a setting for a report, or "default". */
const char *inlay_setting_origin(const struct inlay_setting *setting);
