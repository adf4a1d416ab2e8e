/* SPDX-License-Identifier: MIT */
/*
 * The families of models. Names of tensors and keys, and values of models that state none, are those of transformers
 * 5.23 (models/NAME/modeling_NAME.py and configuration_NAME.py) and of gguf 0.19; the input layers of GGUF files are
 * those of llama.cpp. A family is an entry here and nothing else.
 */
#include "models/models.h"

#include <stdio.h>
#include <string.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NAMES(...) ((const struct inlay_model_names[]){__VA_ARGS__, {0}})

/* Of GGUF files. */
#define GGUF_TOKENS .tokens = "token_embd.weight"
#define GGUF_POSITIONS .positions = "position_embd.weight"
#define GGUF_NORM .gamma = "token_embd_norm.weight", .beta = "token_embd_norm.bias"

/* Of BERT's class of embeddings, which many models have. */
#define BERT_TOKENS .tokens = "embeddings.word_embeddings.weight", .positions = "embeddings.position_embeddings.weight"
#define BERT_SEGMENTS .segments = "embeddings.token_type_embeddings.weight"
#define BERT_NORM .gamma = "embeddings.LayerNorm.weight", .beta = "embeddings.LayerNorm.bias"
/* As TensorFlow named them: transformers still reads such files. */
#define BERT_OLD_NORM .gamma = "embeddings.LayerNorm.gamma", .beta = "embeddings.LayerNorm.beta"

/* Where the language model is in files of language models, and of models that see and hear too. */
#define LANGUAGE_PREFIXES                                                                                              \
    LIST("model.", "", "model.language_model.", "language_model.model.", "language_model.", "gpt_neox.")

static const struct inlay_model models[] = {
    {
        .name = "bert",
        .types = LIST("bert"),
        .architectures = LIST("bert"),
        .prefixes = LIST("bert.", ""),
        .names = NAMES({BERT_TOKENS, BERT_SEGMENTS, BERT_NORM}, {BERT_TOKENS, BERT_SEGMENTS, BERT_OLD_NORM},
                       {GGUF_TOKENS, GGUF_POSITIONS, .segments = "?token_types.weight", GGUF_NORM}),
        .dim = {"hidden_size", "embedding_length", 0},
        .norm = INLAY_NORM_LAYER,
        .epsilon = {"layer_norm_eps", "attention.layer_norm_epsilon", 1e-12},
    },
    {
        .name = "electra",
        .types = LIST("electra"),
        .prefixes = LIST("electra.", ""),
        .names = NAMES({BERT_TOKENS, BERT_SEGMENTS, BERT_NORM}),
        .dim = {"embedding_size", NULL, 0},
        .norm = INLAY_NORM_LAYER,
        .epsilon = {"layer_norm_eps", NULL, 1e-12},
    },
    {
        .name = "roberta",
        .types = LIST("roberta", "xlm-roberta", "camembert", "data2vec-text"),
        .prefixes = LIST("roberta.", "data2vec_text.", ""),
        .names = NAMES({BERT_TOKENS, BERT_SEGMENTS, BERT_NORM}, {BERT_TOKENS, BERT_SEGMENTS, BERT_OLD_NORM}),
        .dim = {"hidden_size", NULL, 0},
        .numbering = INLAY_MODEL_AFTER_PAD,
        .padding = {"pad_token_id", NULL, 1},
        .zero_rows = INLAY_ZERO_ROWS_POSITIONED,
        .norm = INLAY_NORM_LAYER,
        .epsilon = {"layer_norm_eps", NULL, 1e-12},
    },
    {
        .name = "mpnet",
        .types = LIST("mpnet"),
        .prefixes = LIST("mpnet.", ""),
        .names = NAMES({BERT_TOKENS, BERT_NORM}),
        .dim = {"hidden_size", NULL, 0},
        .numbering = INLAY_MODEL_AFTER_PAD,
        .padding = {NULL, NULL, 1},
        .zero_rows = INLAY_ZERO_ROWS_POSITIONED,
        .norm = INLAY_NORM_LAYER,
        .epsilon = {"layer_norm_eps", NULL, 1e-12},
    },
    {
        .name = "distilbert",
        .types = LIST("distilbert"),
        .prefixes = LIST("distilbert.", ""),
        .names = NAMES({.tokens = "embeddings.word_embeddings.weight",
                        .positions = "?embeddings.position_embeddings.weight",
                        BERT_NORM}),
        .dim = {"dim", NULL, 0},
        .recipe = INLAY_RECIPE_NUMPY_FP64,
        .sinusoid = {"sinusoidal_pos_embds", NULL, 0},
        .norm = INLAY_NORM_LAYER,
        .epsilon = {NULL, NULL, 1e-12},
    },
    {
        .name = "modernbert",
        .types = LIST("modernbert"),
        .prefixes = LIST("model.", ""),
        .names = NAMES({.tokens = "embeddings.tok_embeddings.weight",
                        .gamma = "embeddings.norm.weight",
                        .beta = "?embeddings.norm.bias"}),
        .dim = {"hidden_size", NULL, 0},
        .norm = INLAY_NORM_LAYER,
        .epsilon = {"norm_eps", NULL, 1e-5},
    },
    {
        .name = "gpt2",
        .types = LIST("gpt2", "gpt_bigcode"),
        .architectures = LIST("gpt2", "starcoder"),
        .prefixes = LIST("", "transformer."),
        .names = NAMES({.tokens = "wte.weight", .positions = "wpe.weight"}, {GGUF_TOKENS, GGUF_POSITIONS}),
        .dim = {"n_embd", "embedding_length", 0},
    },
    {
        .name = "opt",
        .types = LIST("opt"),
        .prefixes = LIST("model.decoder.", "decoder."),
        .names = NAMES({.tokens = "embed_tokens.weight", .positions = "embed_positions.weight"}),
        .dim = {"word_embed_proj_dim", NULL, 0},
        .numbering = INLAY_MODEL_AWARE_FROM_2,
        .padding = {"pad_token_id", NULL, 1},
        .zero_rows = INLAY_ZERO_ROWS_POSITIONED,
        .projection = "project_in.weight",
    },
    {
        .name = "bloom",
        .types = LIST("bloom"),
        .architectures = LIST("bloom"),
        .prefixes = LIST("", "transformer."),
        .names = NAMES({.tokens = "word_embeddings.weight",
                        .gamma = "word_embeddings_layernorm.weight",
                        .beta = "word_embeddings_layernorm.bias"},
                       {GGUF_TOKENS, GGUF_NORM}),
        .dim = {"hidden_size", "embedding_length", 0},
        .norm = INLAY_NORM_LAYER,
        .epsilon = {"layer_norm_epsilon", "attention.layer_norm_epsilon", 1e-5},
    },
    {
        .name = "bart",
        .types = LIST("bart", "mbart"),
        .prefixes = LIST("model.", ""),
        .names = NAMES({.tokens = "shared.weight",
                        .positions = "encoder.embed_positions.weight",
                        .gamma = "encoder.layernorm_embedding.weight",
                        .beta = "encoder.layernorm_embedding.bias"}),
        .dim = {"d_model", NULL, 0},
        .numbering = INLAY_MODEL_FROM_TWO,
        .norm = INLAY_NORM_LAYER,
        .epsilon = {NULL, NULL, 1e-5},
        .scale = INLAY_MODEL_SCALE_FLAG,
        .scale_key = {"scale_embedding", NULL, 0},
    },
    {
        .name = "marian",
        .types = LIST("marian"),
        .prefixes = LIST("model.", ""),
        .names = NAMES({.tokens = "shared.weight", .positions = "?encoder.embed_positions.weight"},
                       {.tokens = "encoder.embed_tokens.weight", .positions = "?encoder.embed_positions.weight"}),
        .dim = {"d_model", NULL, 0},
        .recipe = INLAY_RECIPE_HF_MARIAN,
        .scale = INLAY_MODEL_SCALE_FLAG,
        .scale_key = {"scale_embedding", NULL, 0},
    },
    {
        .name = "m2m_100",
        .types = LIST("m2m_100", "nllb-moe"),
        .prefixes = LIST("model.", ""),
        .names = NAMES({.tokens = "shared.weight"}, {.tokens = "encoder.embed_tokens.weight"}),
        .dim = {"d_model", NULL, 0},
        .numbering = INLAY_MODEL_AFTER_PAD,
        .padding = {"pad_token_id", NULL, 1},
        .zero_rows = INLAY_ZERO_ROWS_BARE,
        .recipe = INLAY_RECIPE_FAIRSEQ,
        .scale = INLAY_MODEL_SCALE_FLAG,
        .scale_key = {"scale_embedding", NULL, 1},
    },
    {
        .name = "t5",
        .types = LIST("t5", "mt5", "umt5"),
        .architectures = LIST("t5", "t5encoder"),
        .prefixes = LIST("", "transformer."),
        .names = NAMES({.tokens = "shared.weight"}, {.tokens = "encoder.embed_tokens.weight"}, {GGUF_TOKENS}),
        .dim = {"d_model", "embedding_length", 0},
    },
    {
        .name = "llama",
        .types = LIST("llama", "llama4", "llama4_text", "mistral", "mistral3", "ministral", "ministral3", "mixtral",
                      "qwen2", "qwen2_moe", "qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text", "qwen3",
                      "qwen3_moe", "qwen3_next", "qwen3_vl", "qwen3_vl_text", "qwen3_vl_moe", "qwen3_vl_moe_text",
                      "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text", "qwen4_exp", "qwen4_exp_text",
                      "deepseek_v2", "deepseek_v3", "deepseek_v32", "deepseek_v4", "phi", "phi3", "phimoe", "olmo",
                      "olmo2", "olmo3", "olmoe", "gpt_oss", "smollm3", "glm", "glm4", "glm4_moe", "cohere", "cohere2",
                      "exaone4", "ernie4_5", "nemotron", "seed_oss", "stablelm", "starcoder2", "gpt_neox"),
        .architectures =
            LIST("llama", "llama4", "mistral3", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe", "qwen3next",
                 "qwen3vl", "qwen3vlmoe", "qwen35", "qwen35moe", "qwen4exp", "deepseek2", "deepseek4", "deepseek41",
                 "phi2", "phi3", "phimoe", "olmo", "olmo2", "olmoe", "gpt-oss", "smollm3", "glm4", "glm4moe",
                 "command-r", "cohere2", "exaone4", "nemotron", "stablelm", "starcoder2", "gptneox"),
        .prefixes = LANGUAGE_PREFIXES,
        .names = NAMES({.tokens = "embed_tokens.weight"}, {.tokens = "embed.weight"}, {.tokens = "embed_in.weight"},
                       {GGUF_TOKENS}),
        .dim = {"hidden_size", "embedding_length", 0},
    },
    {
        .name = "granite",
        .types = LIST("granite", "granitemoe", "granitemoehybrid", "granitemoeshared"),
        .architectures = LIST("granite", "granitemoe", "granitehybrid"),
        .prefixes = LANGUAGE_PREFIXES,
        .names = NAMES({.tokens = "embed_tokens.weight"}, {GGUF_TOKENS}),
        .dim = {"hidden_size", "embedding_length", 0},
        .scale = INLAY_MODEL_SCALE_NUMBER,
        .scale_key = {"embedding_multiplier", "embedding_scale", 1},
    },
    {
        .name = "gemma",
        .types = LIST("gemma", "gemma2", "gemma3", "gemma3_text", "gemma3n", "gemma3n_text", "gemma4", "gemma4_text"),
        .architectures = LIST("gemma", "gemma2", "gemma3", "gemma3n", "gemma4", "gemma-embedding"),
        .prefixes = LANGUAGE_PREFIXES,
        .names = NAMES({.tokens = "embed_tokens.weight"}, {GGUF_TOKENS}),
        .dim = {"hidden_size", "embedding_length", 0},
        .scale = INLAY_MODEL_SCALE_SQRT,
    },
    {
        .name = "gemma",
        .part = "per_layer",
        .types = LIST("gemma3n", "gemma3n_text", "gemma4", "gemma4_text"),
        .architectures = LIST("gemma3n", "gemma4"),
        .prefixes = LANGUAGE_PREFIXES,
        .names = NAMES({.tokens = "embed_tokens_per_layer.weight"}, {.tokens = "per_layer_token_embd.weight"}),
        .scale = INLAY_MODEL_SCALE_SQRT_KEY,
        .scale_key = {"hidden_size_per_layer_input", "embedding_length_per_layer_input", 256},
        .first_for_bad_ids = true,
    },
    {
        .name = "static",
        .types = LIST("model2vec"),
        .prefixes = LIST(""),
        .names = NAMES({.tokens = "embeddings", .mapping = "?mapping", .weights = "?weights"},
                       {.tokens = "embedding.weight", .mapping = "?mapping", .weights = "?weights"}),
        .epsilon = {NULL, NULL, 1e-32},
        .pooling = INLAY_POOLING_MEAN,
        .normalize = "normalize",
    },
};

enum { MODELS = sizeof models / sizeof *models };

const char *inlay_file_model_at(size_t index)
{
    for (size_t i = 0; i < MODELS; i++)
        if (models[i].part == NULL && index-- == 0)
            return models[i].name;
    return NULL;
}

bool inlay_model_may_lack(const char *name)
{
    return name == NULL || *name == '?';
}

static const inlay_file_tensor *tensor_of(const inlay_file *file, const char *prefix, const char *name,
                                          char full[INLAY_MODEL_NAME_ROOM])
{
    snprintf(full, INLAY_MODEL_NAME_ROOM, "%s%s", prefix, *name == '?' ? name + 1 : name);
    return inlay_file_tensor_named(file, full);
}

const inlay_file_tensor *inlay_model_tensor(const struct inlay_found_model *found, const char *name,
                                            char full[INLAY_MODEL_NAME_ROOM])
{
    return tensor_of(found->settings.file, found->prefix, name, full);
}

/* Returns whether a file has all tensors of a set that no layer can do without. */
static bool has_all(const inlay_file *file, const char *prefix, const struct inlay_model_names *names)
{
    const char *const wanted[] = {names->positions, names->segments, names->gamma, names->beta};
    char full[INLAY_MODEL_NAME_ROOM];
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!inlay_model_may_lack(wanted[i]) && tensor_of(file, prefix, wanted[i], full) == NULL)
            return false;
    return true;
}

/* Finds the first set of names that a file has with a prefix, or else the first whose token table it has. Returns
   whether it has a whole set. */
static bool find_names(const struct inlay_model *model, struct inlay_found_model *found)
{
    const inlay_file *file = found->settings.file;
    char full[INLAY_MODEL_NAME_ROOM];
    found->names = NULL;
    for (const struct inlay_model_names *names = model->names; names->tokens != NULL; names++)
        for (const char *const *prefix = model->prefixes; *prefix != NULL; prefix++) {
            if (tensor_of(file, *prefix, names->tokens, full) == NULL)
                continue;
            bool whole = has_all(file, *prefix, names);
            if (whole || found->names == NULL) {
                found->model = model;
                found->names = names;
                found->prefix = *prefix;
            }
            if (whole)
                return true;
        }
    return false;
}

static bool is_one_of(const char *text, const char *const *list)
{
    for (; list != NULL && *list != NULL; list++)
        if (strcmp(text, *list) == 0)
            return true;
    return false;
}

static bool same(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

static const struct inlay_model *model_named(const char *name, const char *part)
{
    for (size_t i = 0; i < MODELS; i++)
        if (same(models[i].part, part) && strcmp(models[i].name, name) == 0)
            return &models[i];
    return NULL;
}

/* Returns the family that config.json or the metadata of GGUF name, in that order. *told is the value that names one,
   and stays null if there is none. */
static const struct inlay_model *model_told(const struct inlay_settings *settings, const char *part,
                                            struct inlay_found_model *found, const inlay_file_value **told)
{
    static const char *const keys[] = {"config.model_type", "config.text_config.model_type", "general.architecture"};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const inlay_file_value *value = inlay_file_value_named(settings->file, keys[k]);
        if (value == NULL || value->kind != INLAY_FILE_VALUE_STRING)
            continue;
        bool is_gguf = k == 2;
        *told = value;
        found->told_by = is_gguf ? "GGUF metadata" : "config.json";
        for (size_t i = 0; i < MODELS; i++)
            if (same(models[i].part, part) &&
                is_one_of(value->text, is_gguf ? models[i].architectures : models[i].types))
                return &models[i];
    }
    return NULL;
}

/* Finds the only family whose tensors a file has. */
static inlay_file_status find_by_tensors(const char *part, struct inlay_found_model *found, inlay_file_error *error)
{
    const struct inlay_found_model nothing = *found;
    size_t fitting = 0;
    char list[128] = "";
    for (size_t i = 0; i < MODELS; i++) {
        struct inlay_found_model candidate = nothing;
        if (!same(models[i].part, part) || !find_names(&models[i], &candidate))
            continue;
        *found = candidate;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", fitting++ > 0 ? ", " : "", models[i].name);
    }
    if (fitting == 0)
        return inlay_file_fail(error, INLAY_FILE_ERROR_MODEL, NULL, inlay_text_of(NULL),
                               "no config.json or metadata name a model, and no tensors have the names of one");
    if (fitting > 1)
        return inlay_file_fail(error, INLAY_FILE_ERROR_MODEL, NULL, inlay_text_of(NULL),
                               "no config.json or metadata name a model, and its tensors suit several: %s", list);
    return INLAY_FILE_OK;
}

inlay_file_status inlay_model_find(const inlay_file *file, const char *name, const char *part,
                                   struct inlay_found_model *found, inlay_file_error *error)
{
    *found = (struct inlay_found_model){.told_by = "names of tensors", .settings = inlay_settings_of(file)};
    const inlay_file_value *told = NULL;
    const struct inlay_model *model = NULL;
    if (name != NULL) {
        model = model_named(name, part);
        found->told_by = "options";
        if (model == NULL)
            return inlay_file_fail(error, INLAY_FILE_ERROR_ARGUMENT, NULL, inlay_text_of(name),
                                   "no family of models has this name%s", part != NULL ? " and such a part" : "");
    } else {
        model = model_told(&found->settings, part, found, &told);
    }
    if (model == NULL && told == NULL)
        return find_by_tensors(part, found, error);
    if (model == NULL)
        return inlay_file_fail(error, INLAY_FILE_ERROR_MODEL, NULL, inlay_text_of(told->key),
                               "no %s of a model \"%.60s\" is known; if it is as that of a family, name the family",
                               part == NULL ? "input layer" : "such part", told->text);
    found->prefix = "";
    find_names(model, found);
    if (found->names != NULL)
        return INLAY_FILE_OK;
    char full[INLAY_MODEL_NAME_ROOM];
    tensor_of(file, model->prefixes[0], model->names[0].tokens, full);
    return inlay_file_fail(error, INLAY_FILE_ERROR_MISSING, NULL, inlay_text_of(full),
                           "the token table of a %s model is not there, nor under another name that such models have",
                           model->name);
}
