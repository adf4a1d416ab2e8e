/* SPDX-License-Identifier: MIT */
/*
 * Numbers of a model's configuration: config.json first, then the metadata of GGUF files, whose keys begin with the
 * architecture. If config.json has a text_config, only that counts, as in transformers. A value of the wrong type, or
 * null, is an error. A key that is left out has the default of the model's type.
 */
#pragma once

#include "error.h"

/** Where to look, and where to write what is wrong. */
struct inlay_settings {
    inlay_file *file;
    const char *config;       /**< "config.text_config" if config.json has one, else "config" */
    const char *architecture; /**< general.architecture of a GGUF file; null: it is none */
    const char *type;         /**< the model_type of config.json, if it is of the family; else null */
    inlay_file_error *error;
};

/** The default of a setting for one model_type of a family. */
struct inlay_type_default {
    const char *type;
    double otherwise;
};

/** The keys of a setting in config.json and, after the architecture, in GGUF files, and the defaults of transformers'
   configuration classes. A null key is not looked for. */
struct inlay_key {
    const char *config, *gguf;
    double otherwise;                        /**< NAN: it follows from other keys, and the key must be there */
    const struct inlay_type_default *others; /**< types with another default, ended by null; null: none */
    bool may_be_null;                        /**< null is the default too */
};

/** What a setting can be. */
enum inlay_setting_kind {
    INLAY_SETTING_NUMBER,  /**< a finite number */
    INLAY_SETTING_INTEGER, /**< an integer; of an array its first */
    INLAY_SETTING_FLAG,    /**< a truth value, 0 or 1 */
};

/** A number, and the key that has it; null: the value of models that do not state it. */
struct inlay_setting {
    double number;
    long long integer; /**< unless it is a NUMBER */
    const char *key;
};

/** Returns the settings of a file. */
struct inlay_settings inlay_settings_of(inlay_file *file, inlay_file_error *error);

/** Returns the value of a key of config.json (null: none) or of GGUF (null: none), or null. */
const inlay_file_value *inlay_settings_value(const struct inlay_settings *settings, const char *config,
                                             const char *gguf);

/** Returns false with INLAY_FILE_ERROR_MODEL if config.json has a value under a key that is not `wanted`: an object, an
   array that no setting has, or null unless the key may have it. */
bool inlay_settings_check_odd(const struct inlay_settings *settings, const struct inlay_key *key, const char *wanted);

/** Finds a setting. Returns false with INLAY_FILE_ERROR_MODEL if it is there but of another kind. */
bool inlay_settings_find(const struct inlay_settings *settings, enum inlay_setting_kind kind,
                         const struct inlay_key *key, struct inlay_setting *setting);

/** Returns the key of a setting for a report, or "default". */
const char *inlay_setting_origin(const struct inlay_setting *setting);
