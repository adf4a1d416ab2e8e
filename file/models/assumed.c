/* SPDX-License-Identifier: MIT */
/*
 * Detects settings and tensors that a family doesn't use. If the family is unknown and the configuration has rotary or
 * relative positions, which attention applies, the input layer is assumed to be just the token table. Any setting or
 * tensor that may be part of an input layer rules this out: an error is better than wrong vectors.
 */
#include "handle.h"
#include "models/models.h"

#include <stdio.h>
#include <string.h>

/* Settings that exist only if attention handles positions, after config. or config.text_config. */
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

/* Parts of keys and tensor names that suggest a change of rows. */
static const char *const setting_words[] = {"scal", "mult", "norm", "proj", "factor", NULL};
static const char *const tensor_words[] = {"norm", "ln",   "pos",     "wpe",       "type",
                                           "seg",  "proj", "mapping", "transform", NULL};
/* Parts of names of tensors for attention, for inputs other than ids, or for indices. */
static const char *const foreign_words[] = {"rotary", "_ids", "vis", "audio", "image", "patch", NULL};

static bool has_word_of(const char *text, const char *const *words)
{
    while (*words != NULL && strstr(text, *words) == NULL)
        words++;
    return *words != NULL;
}

/* Returns true if a setting has no effect: a factor of 1, or a disabled step. */
static bool is_neutral(const inlay_file_value *value)
{
    return value->kind == INLAY_FILE_VALUE_BOOLEAN ? value->integer == 0 : value->number == 1;
}

/* Returns the key of a text setting for rotary or relative positions, or null. */
static const char *find_positions(const struct inlay_settings *settings)
{
    for (size_t i = 0; i < sizeof position_keys / sizeof *position_keys; i++) {
        const inlay_file_value *value = inlay_settings_value(settings, position_keys[i], NULL);
        if (value != NULL && (value->kind != INLAY_FILE_VALUE_BOOLEAN || value->integer))
            return value->key;
    }
    return NULL;
}

/* Returns true if the family reads a setting. */
static bool reads(const struct inlay_model *model, const char *key)
{
    const struct inlay_key *keys[] = {&model->padding,   &model->sinusoid, &model->epsilon,
                                      &model->scale_key, &model->demanded, &model->normalize};
    bool is_read = model->dim != NULL && strcmp(key, model->dim) == 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        is_read = is_read || (keys[i]->config != NULL && strcmp(key, keys[i]->config) == 0) ||
                  (keys[i]->gguf != NULL && strcmp(key, keys[i]->gguf) == 0);
    return is_read;
}

/* Returns the rest of a key after the prefix `place` and a dot; null if it has another prefix or place is null. */
static const char *key_in(const char *key, const char *place)
{
    const size_t size = place != NULL ? strlen(place) : 0;
    return size > 0 && strncmp(key, place, size) == 0 && key[size] == '.' ? key + size + 1 : NULL;
}

const char *inlay_model_unused_setting(const struct inlay_found_model *found)
{
    const struct inlay_settings *settings = &found->settings;
    const char *const places[] = {settings->config, settings->architecture};
    for (size_t i = 0; i < inlay_file_value_count(settings->file); i++) {
        const inlay_file_value *value = inlay_file_value_at(settings->file, i);
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            const char *key = key_in(value->key, places[p]);
            if (key != NULL && strchr(key, '.') == NULL && strstr(key, "emb") != NULL &&
                has_word_of(key, setting_words) && !is_neutral(value) && !reads(found->model, key))
                return value->key;
        }
    }
    return NULL;
}

/* Returns true if a name contains the number of a block. */
static bool is_of_block(const char *name)
{
    for (; (name = strchr(name, '.')) != NULL; name++)
        if (name[1] >= '0' && name[1] <= '9')
            return true;
    return false;
}

/* Returns true if the layer of a family has a tensor. */
static bool has_tensor(const struct inlay_found_model *found, const inlay_file_tensor *tensor)
{
    const struct inlay_model_names *names = found->names;
    const char *const all[] = {names->tokens, names->positions, names->segments, names->gamma,
                               names->beta,   names->mapping,   names->weights};
    char full[INLAY_MODEL_NAME_ROOM];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (inlay_model_tensor(found, all[i], full) == tensor)
            return true;
    return false;
}

const char *inlay_model_unused_tensor(const struct inlay_found_model *found)
{
    const bool is_decoder = found->part != NULL || strncmp(found->names->tokens, "decoder.", 8) == 0;
    const struct inlay_catalog *catalog = &found->settings.file->catalog;
    char prefix[INLAY_MODEL_NAME_ROOM];
    inlay_model_tensor(found, "", prefix);
    const size_t size = strlen(prefix);
    for (size_t i = 0; i < catalog->name_count; i++) {
        const inlay_file_tensor *tensor = catalog->by_name[i];
        const char *rest = strncmp(tensor->name, prefix, size) == 0 ? tensor->name + size : "";
        if (!is_of_block(rest) && (strstr(rest, "emb") != NULL || strstr(rest, "wpe") != NULL) &&
            has_word_of(rest, tensor_words) && !has_word_of(rest, foreign_words) &&
            strncmp(rest, is_decoder ? "encoder." : "decoder.", 8) != 0 && !has_tensor(found, tensor) &&
            (found->model->unrelated == NULL || strcmp(rest, found->model->unrelated) != 0))
            return tensor->name;
    }
    return NULL;
}

bool inlay_model_assume(const inlay_file_value *stated, struct inlay_found_model *found)
{
    /* Gemma and similar models multiply rows by sqrt(dim) without a setting for it. */
    const char *positions = find_positions(&found->settings), *forbids = NULL;
    const bool is_gguf = strncmp(stated->key, "general.", 8) == 0;
    if (found->names != NULL && positions != NULL) {
        forbids =
            strstr(stated->text, "gemma") != NULL ? "a scale that no setting names" : inlay_model_unused_setting(found);
        if (forbids == NULL)
            forbids = inlay_model_unused_tensor(found);
        found->assumed_by = forbids == NULL ? positions : NULL;
    }
    if (found->assumed_by != NULL)
        return true;
    char prefixes[INLAY_MODEL_LIST_ROOM] = "", names[INLAY_MODEL_LIST_ROOM], missing[INLAY_MODEL_LIST_ROOM + 80];
    if (found->names == NULL) {
        inlay_model_list_prefixes(found, prefixes);
        inlay_model_list_names(found, *prefixes != '\0' ? 64 : sizeof names, names);
        snprintf(missing, sizeof missing, "the prefix \"%.*s\" has no token table (tried %s)",
                 found->outer_size < 40 ? found->outer_size : 40, found->outer, names);
    }
    const char *problem = forbids != NULL ? forbids
                          : found->names == NULL
                              ? (found->is_prefix_given ? missing : "no token table was found under its usual names")
                          : is_gguf ? "the metadata of GGUF does not describe it"
                                    : "nothing indicates rotary or relative positions";
    return inlay_file_fail(
        found->settings.error, INLAY_FILE_ERROR_MODEL, NULL, stated->key,
        "the input layer of model \"%.60s\" is unknown, and %.*s%s%s", stated->text,
        forbids != NULL ? 80 : (int)sizeof missing, problem, forbids != NULL ? " may be part of it" : "",
        *prefixes != '\0' ? prefixes : "; if a known family has the same layer, pass its name as `model`");
}
