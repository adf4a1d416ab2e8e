/* SPDX-License-Identifier: MIT */
/*
 * Numbers of a model's configuration: config.json first, of which the part of the text model comes before the whole,
 * then the metadata of GGUF files, whose keys begin with the architecture. What is there but is no number is an error,
 * and what is not there has a value that the caller knows.
 */
#ifndef INLAY_FILE_SETTINGS_H
#define INLAY_FILE_SETTINGS_H

#include "error.h"
#include "text.h"

/** Where to look. */
struct inlay_settings {
    const inlay_file *file;
    const char *architecture; /**< general.architecture of a GGUF file; null: it is none */
};

/** A number, and the key that has it; null: the value of the caller. */
struct inlay_setting {
    double number;
    int64_t integer; /**< of inlay_settings_integer() and _flag() */
    const char *key;
};

/** Returns the settings of a file. */
struct inlay_settings inlay_settings_of(const inlay_file *file);

/** Returns the value of a key of config.json (null: none) or of GGUF (null: none), or null. */
const inlay_file_value *inlay_settings_value(const struct inlay_settings *settings, const char *config,
                                             const char *gguf);

/** Returns INLAY_FILE_ERROR_MODEL if config.json has a value under a key, but none that is `wanted`: an object or an
   array that no setting has. */
inlay_file_status inlay_settings_refuse_odd(const struct inlay_settings *settings, const char *config,
                                            const char *wanted, inlay_file_error *error);

/** Finds a finite number. */
inlay_file_status inlay_settings_number(const struct inlay_settings *settings, const char *config, const char *gguf,
                                        double otherwise, struct inlay_setting *setting, inlay_file_error *error);

/** Finds an integer; of an array its first. */
inlay_file_status inlay_settings_integer(const struct inlay_settings *settings, const char *config, const char *gguf,
                                         int64_t otherwise, struct inlay_setting *setting, inlay_file_error *error);

/** Finds a truth value, 0 or 1. */
inlay_file_status inlay_settings_flag(const struct inlay_settings *settings, const char *config, const char *gguf,
                                      bool otherwise, struct inlay_setting *setting, inlay_file_error *error);

/** Returns the key of a setting for a report, or "default". */
const char *inlay_setting_origin(const struct inlay_setting *setting);

#endif
