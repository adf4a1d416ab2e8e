/* SPDX-License-Identifier: MIT */
/*
 * Heads that are the token table. Some files have a tied table only as lm_head.weight. It is used only if
 * config.json says that both are one table, transformers loads such a file of this type, and nothing in the file is
 * another table or changes this one. Everything else is an error.
 */
#include "handle.h"
#include "models/models.h"
#include "text.h"

#include <string.h>

#define TYPES(...)                                                                                                     \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* Causal language models that transformers 5.24 loads from lm_head.weight alone if config.tie_word_embeddings is true.
 */
static const char *const tied[] =
    TYPES("afmoe", "apertus", "arcee", "aria_text", "axk1", "axk2", "beam", "bitnet", "cohere", "cohere2",
          "cohere2_moe", "cwm", "deepseek_v2", "deepseek_v3", "deepseek_v32", "diffllama", "doge", "dots3_note_text",
          "ernie4_5", "ernie4_5_moe", "exaone4", "exaone_moe", "falcon_h1", "falcon_mamba", "flex_olmo", "flint",
          "gemma", "gemma2", "gemma3_text", "glm", "glm4", "glm4_moe", "glm4_moe_lite", "glm_moe_dsa", "gpt_oss",
          "granite", "granite_swa", "granitemoe", "granitemoe_swa", "granitemoehybrid", "granitemoeshared", "helium",
          "hunyuan_v1_dense", "hunyuan_v1_moe", "hy_v3", "hyperclovax", "internlm3", "iquestcoder", "jais2", "jamba",
          "jetmoe", "kolibri1", "laguna", "llama", "llama4_text", "longcat_flash", "mamba", "mamba2", "mellum",
          "mimo_v2_flash", "minicpm3", "minimax", "minimax_m2", "minimax_m3_vl_text", "ministral", "ministral3",
          "mistral", "mixtral", "mpt", "nemotron", "olmo", "olmo2", "olmo3", "olmoe", "persimmon", "phi3", "phimoe",
          "qwen2", "qwen2_moe", "qwen3", "qwen3_5_moe_text", "qwen3_5_text", "qwen3_moe", "qwen3_next", "seed_oss",
          "smollm3", "solar_open", "stablelm", "starcoder2", "vaultgemma", "youtu", "zamba", "zamba2");

static bool is_listed(const char *type)
{
    size_t i = 0;
    while (i < sizeof tied / sizeof *tied && strcmp(type, tied[i]) != 0)
        i++;
    return i < sizeof tied / sizeof *tied;
}

/* Returns true if a name may belong to a token table or a head. */
static bool may_be_table(const char *name)
{
    return strstr(name, "emb") != NULL || strstr(name, "wte") != NULL || strstr(name, "lm_head") != NULL;
}

/* Returns true for the metadata that safetensors' save_model() writes for a tensor that shares the head's memory. */
static bool is_alias_of(const inlay_file_value *value, const inlay_file_tensor *head)
{
    return value->kind == INLAY_FILE_VALUE_STRING && strcmp(value->text, head->name) == 0;
}

/* Returns true if config.json describes a causal language model that ties its head to its token table [vocab_size,
   dim], and nothing says otherwise. */
static bool is_tied(const struct inlay_found_model *found, const inlay_file_tensor *head)
{
    const struct inlay_settings *settings = &found->settings;
    const struct inlay_catalog *catalog = &settings->file->catalog;
    const char *const dim = found->model->dim != NULL ? found->model->dim : "hidden_size";
    const inlay_file_value *tie = inlay_settings_value(settings, "tie_word_embeddings", NULL);
    const inlay_file_value *sizes[] = {inlay_settings_value(settings, "vocab_size", NULL),
                                       inlay_settings_value(settings, dim, NULL)};
    const inlay_file_value *classes = inlay_settings_value(settings, "architectures", NULL);
    if (settings->type == NULL || !is_listed(settings->type) || settings->architecture != NULL ||
        strcmp(settings->config, "config") != 0 || tie == NULL || classes == NULL ||
        classes->kind != INLAY_FILE_VALUE_STRINGS || classes->count != 1 ||
        !inlay_ends_in(classes->strings[0], "ForCausalLM"))
        return false;
    for (size_t i = 0; i < 2; i++)
        if (sizes[i] == NULL || sizes[i]->kind != INLAY_FILE_VALUE_INTEGER ||
            (uint64_t)sizes[i]->integer != head->shape[i])
            return false;
    for (size_t i = 0; i < catalog->value_count + catalog->odd_count; i++) {
        const inlay_file_value *value = &catalog->values[i];
        const bool is_true = value->kind == INLAY_FILE_VALUE_BOOLEAN && value->integer != 0;
        if ((strstr(value->key, "tie_") != NULL && strstr(value->key, "emb") != NULL && !is_true) ||
            strstr(value->key, "quantiz") != NULL || strstr(value->key, "auto_map") != NULL ||
            (strncmp(value->key, "config.", 7) != 0 && may_be_table(value->key) && !is_alias_of(value, head)))
            return false;
    }
    return true;
}

bool inlay_model_find_head(struct inlay_found_model *found)
{
    const struct inlay_catalog *catalog = &found->settings.file->catalog;
    char full[INLAY_MODEL_NAME_ROOM];
    found->whole = found->prefix = "";
    const inlay_file_tensor *head = inlay_model_tensor(found, "lm_head.weight", full);
    if (head == NULL || !is_tied(found, head) ||
        (head->element != INLAY_F32 && head->element != INLAY_F16 && head->element != INLAY_BF16))
        return false;
    for (size_t i = 0; i < catalog->name_count; i++) {
        const inlay_file_tensor *other = catalog->by_name[i];
        const bool is_alike = memcmp(other->shape, head->shape, sizeof head->shape) == 0;
        if (other != head && (is_alike || may_be_table(other->name)))
            return false;
    }
    found->head = head;
    found->names = found->model->names;
    return true;
}
