/* SPDX-License-Identifier: MIT */
/*
 * Models of no known family. If the configuration names rotary or relative positions, which attention applies, the
 * input layer is assumed to be the token table alone. Any setting or tensor that may be part of an input layer forbids
 * the assumption: an error is better than vectors that are wrong.
 */
#include "handle.h"
#include "models/models.h"

#include <string.h>

/* Settings that exist only where attention knows of positions, behind config. or config.text_config. */
static const char *const position_keys[] = {
    "rope_theta",
    "rope_scaling.rope_theta",
    "rope_parameters.rope_theta",
    "rotary_dim",
    "rotary_pct",
    "rotary_emb_base",
    "partial_rotary_factor",
    "rope_parameters.full_attention.rope_theta",
    "alibi",
    "attn_config.alibi",
    "attn_config.rope",
    "relative_attention_num_buckets",
    "rope_parameters.rope_type",
};

/* Parts of keys, and of names of tensors, of what is done to rows or added to them. */
static const char *const setting_words[] = {"scal", "mult", "norm", "proj", "factor", NULL};
static const char *const tensor_words[] = {"norm", "ln",   "pos",     "wpe",       "type",
                                           "seg",  "proj", "mapping", "transform", NULL};

static bool has_word_of(const char *text, const char *const *words)
{
    while (*words != NULL && strstr(text, *words) == NULL)
        words++;
    return *words != NULL;
}

/* Returns whether a setting changes nothing: a factor of 1, or a step that is switched off. */
static bool is_neutral(const inlay_file_value *value)
{
    return value->kind == INLAY_FILE_VALUE_BOOLEAN ? value->integer == 0 : value->number == 1;
}

/* Returns the key of a setting of text that names rotary or relative positions, or null. */
static const char *find_positions(const struct inlay_settings *settings)
{
    for (size_t i = 0; i < sizeof position_keys / sizeof *position_keys; i++) {
        const inlay_file_value *value = inlay_settings_value(settings, position_keys[i], NULL);
        if (value != NULL && (value->kind != INLAY_FILE_VALUE_BOOLEAN || value->integer))
            return value->key;
    }
    return NULL;
}

/* Returns the first setting that may belong to an input layer, or null. */
static const char *find_setting(const inlay_file *file)
{
    for (size_t i = 0; i < inlay_file_value_count(file); i++) {
        const inlay_file_value *value = inlay_file_value_at(file, i);
        if (strncmp(value->key, "config.", 7) == 0 && strstr(value->key, "emb") != NULL && !is_neutral(value) &&
            has_word_of(value->key, setting_words))
            return value->key;
    }
    return NULL;
}

/* Returns whether a name has the number of a block in it. */
static bool is_of_block(const char *name)
{
    for (; (name = strchr(name, '.')) != NULL; name++)
        if (name[1] >= '0' && name[1] <= '9')
            return true;
    return false;
}

/* Returns the first tensor beside the table, outside of blocks, that may belong to an input layer, or null. */
static const char *find_tensor(const inlay_file *file, const char *prefix)
{
    for (size_t i = 0; i < file->catalogue.name_count; i++) {
        const char *name = file->catalogue.by_name[i]->name;
        const size_t size = strlen(prefix);
        if (strncmp(name, prefix, size) != 0)
            continue;
        const char *rest = name + size;
        if (!is_of_block(name) && strstr(rest, "rotary") == NULL &&
            (strstr(rest, "emb") != NULL || strstr(rest, "wpe") != NULL) && has_word_of(rest, tensor_words))
            return name;
    }
    return NULL;
}

bool inlay_model_assume(const inlay_file_value *told, struct inlay_found_model *found)
{
    /* Gemma and its kin multiply rows by sqrt(dim) without a setting that says so. */
    const char *positions = find_positions(&found->settings), *forbids = NULL;
    if (found->names != NULL && positions != NULL) {
        forbids =
            strstr(told->text, "gemma") != NULL ? "a scale that no setting names" : find_setting(found->settings.file);
        if (forbids == NULL)
            forbids = find_tensor(found->settings.file, found->prefix);
        found->assumed_by = forbids == NULL ? positions : NULL;
    }
    if (found->assumed_by != NULL)
        return true;
    return inlay_file_fail(
        found->settings.error, INLAY_FILE_ERROR_MODEL, NULL, told->key,
        "no input layer of a model \"%.60s\" is known, and %s%.80s%s; if its input layer is that of a "
        "known family, pass the family's name as `model`",
        told->text,
        forbids != NULL        ? ""
        : found->names == NULL ? "no token table has one of the usual names"
                               : "nothing says that positions are rotary or relative",
        forbids != NULL ? forbids : "", forbids != NULL ? " may be part of it" : "");
}
