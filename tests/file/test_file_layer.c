/* SPDX-License-Identifier: MIT */
/*
 * Input layers of checkpoints: the layer of a small checkpoint of each family has the same bits as one made by hand
 * from the same arrays.
 */
#include "file/model_files.h"

#include <inlay/file.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The use of a tensor in a layer. */
enum role { TOKENS, POSITIONS, SEGMENTS, GAMMA, BETA, MAPPING, WEIGHTS, OTHER, ROLES };

/* A tensor of a family: [rows, dim], or [rows] if dim is 0. */
struct piece {
    const char *name, *type;
    size_t rows, dim;
};

/* A family, a checkpoint of it, and its layer according to the model's code. */
struct family {
    const char *label, *name;
    const char *config, *metadata;
    const struct model_value *values;  /* of a GGUF file */
    const char *model, *part, *prefix; /* options */
    struct piece pieces[ROLES];
    float scale;       /* 0: 1 */
    bool rounds;       /* the scale is rounded to a 16-bit type of outputs */
    float table_scale; /* of a scale tensor of the token table; 0: none */
    int64_t start;
    bool pads; /* padding-aware */
    int64_t padding;
    bool bare; /* rows of padding are zeros */
    inlay_recipe recipe;
    inlay_norm norm;
    float epsilon;
    bool pools, first_for_bad_ids;
    bool positions_first;
    bool rows_alone, segments_follow, ignores_segments; /* terms of the file that the layer lacks */
    const char *says;                                   /* a line of the report */
    const char *remaining_ops;                          /* the steps after the layer, with their tensors; null: none */
};

enum { VOCAB = 50, DIM = 40, SEQUENCES = 3, LENGTH = 7, MAX_ROWS = 64, MAX_DIM = 512 };

#define ROWS_OF(label, type)                                                                                           \
    {                                                                                                                  \
        label, type, VOCAB, DIM                                                                                        \
    }
#define BERT_TENSORS(prefix, type)                                                                                     \
    [TOKENS] = ROWS_OF(prefix "embeddings.word_embeddings.weight", type),                                              \
    [POSITIONS] = {prefix "embeddings.position_embeddings.weight", type, 16, DIM},                                     \
    [SEGMENTS] = {prefix "embeddings.token_type_embeddings.weight", type, 2, DIM},                                     \
    [GAMMA] = {prefix "embeddings.LayerNorm.weight", type, DIM, 0},                                                    \
    [BETA] = {prefix "embeddings.LayerNorm.bias", type, DIM, 0}
#define DISTIL_PIECES                                                                                                  \
    [TOKENS] = ROWS_OF("distilbert.embeddings.word_embeddings.weight", "F32"),                                         \
    [GAMMA] = {"distilbert.embeddings.LayerNorm.weight", "F32", DIM, 0},                                               \
    [BETA] = {"distilbert.embeddings.LayerNorm.bias", "F32", DIM, 0}
#define GGUF(name)                                                                                                     \
    (const struct model_value[])                                                                                       \
    {                                                                                                                  \
        {.key = "general.architecture", .text = name},                                                                 \
        {                                                                                                              \
            .key = NULL                                                                                                \
        }                                                                                                              \
    }

/* An architecture with a number. */
#define GGUF_WITH(name, key_name, value)                                                                               \
    (const struct model_value[])                                                                                       \
    {                                                                                                                  \
        {.key = "general.architecture", .text = name}, {.key = name key_name, .number = value},                        \
        {                                                                                                              \
            .key = NULL                                                                                                \
        }                                                                                                              \
    }
#define SCALED(name) GGUF_WITH(name, ".embedding_scale", 1.5)
#define GGUF_ROWS [TOKENS] = ROWS_OF("token_embd.weight", "F16")
#define GGUF_GAMMA [GAMMA] = {"token_embd_norm.weight", "F32", DIM, 0}
#define GGUF_NORM GGUF_GAMMA, [BETA] = {"token_embd_norm.bias", "F32", DIM, 0}
#define LAYER_NORM(name)                                                                                               \
    .values = GGUF_WITH(name, ".attention.layer_norm_epsilon", 1e-5), .norm = INLAY_NORM_LAYER, .epsilon = 1e-5f

/* The configuration of a model with a tied head. */
#define TIED(type, more)                                                                                               \
    "{\"model_type\": \"" type                                                                                         \
    "\", \"architectures\": [\"AnyForCausalLM\"], \"vocab_size\": 50, \"hidden_size\": 40, "                           \
    "\"tie_word_embeddings\": true" more "}"

static const struct family families[] = {
    {"BERT", "bert", .config = "{\"model_type\": \"bert\", \"hidden_size\": 40, \"layer_norm_eps\": 1e-7}",
     .pieces = {BERT_TENSORS("bert.", "F32")}, .norm = INLAY_NORM_LAYER, .epsilon = 1e-7f,
     .says = "norm: LayerNorm, epsilon 1e-07 (config.layer_norm_eps)\n"},
    {"BERT without prefix and epsilon, in bfloat16", "bert", .config = "{\"model_type\": \"bert\"}",
     .pieces = {BERT_TENSORS("", "BF16")}, .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f,
     .says = "norm: LayerNorm, epsilon 1e-12 (default)\n"},
    {"BERT of TensorFlow", "bert", .config = "{\"model_type\": \"bert\"}",
     .pieces = {[TOKENS] = ROWS_OF("bert.embeddings.word_embeddings.weight", "F16"),
                [POSITIONS] = {"bert.embeddings.position_embeddings.weight", "F16", 16, DIM},
                [SEGMENTS] = {"bert.embeddings.token_type_embeddings.weight", "F16", 2, DIM},
                [GAMMA] = {"bert.embeddings.LayerNorm.gamma", "F16", DIM, 0},
                [BETA] = {"bert.embeddings.LayerNorm.beta", "F16", DIM, 0}},
     .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f,
     .says = "tokens: bert.embeddings.word_embeddings.weight [50, 40] F16\n"},
    {"BERT by its prefix", "bert", .pieces = {BERT_TENSORS("bert.", "F32")}, .norm = INLAY_NORM_LAYER,
     .epsilon = 1e-12f, .says = "model: bert (names of tensors)\n"},
    {"BERT by option", "bert", .model = "bert", .pieces = {BERT_TENSORS("", "F32")}, .norm = INLAY_NORM_LAYER,
     .epsilon = 1e-12f, .says = "model: bert (options)\n"},
    {"BERT in GGUF", "bert", LAYER_NORM("bert"),
     .pieces = {GGUF_ROWS, [POSITIONS] = {"position_embd.weight", "F32", 16, DIM},
                [SEGMENTS] = {"token_types.weight", "F32", 2, DIM}, GGUF_NORM},
     .says = "model: bert (GGUF metadata)\n"},
    {"Nomic BERT in GGUF", "roformer", LAYER_NORM("nomic-bert"),
     .pieces = {GGUF_ROWS, [SEGMENTS] = {"token_types.weight", "F32", 2, DIM}, GGUF_NORM}},
    {"Nomic BERT without segments in GGUF", "roformer", LAYER_NORM("nomic-bert-moe"), .pieces = {GGUF_ROWS, GGUF_NORM}},
    {"Nomic BERT with positions in GGUF", "roformer", LAYER_NORM("nomic-bert"),
     .pieces = {GGUF_ROWS, GGUF_NORM, [OTHER] = {"position_embd.weight", "F32", 16, DIM}},
     .remaining_ops = "unknown position_embd.weight;"},
    {"Jina BERT v2 in GGUF", "jina-bert-v2", LAYER_NORM("jina-bert-v2"),
     .pieces = {GGUF_ROWS, [SEGMENTS] = {"token_types.weight", "F32", 2, DIM}, GGUF_NORM}},
    {"Jina BERT v3 in GGUF", "roformer", LAYER_NORM("jina-bert-v3"), .pieces = {GGUF_ROWS, GGUF_NORM}},
    {"ModernBERT in GGUF", "modernbert", LAYER_NORM("modern-bert"), .pieces = {GGUF_ROWS, GGUF_GAMMA}},
    {"RWKV 6 in GGUF", "bloom", LAYER_NORM("rwkv6"), .pieces = {GGUF_ROWS, GGUF_NORM}},
    {"Muse Glimmer in GGUF", "nanochat", .values = GGUF_WITH("muse-glimmer", ".attention.layer_norm_rms_epsilon", .25),
     .pieces = {GGUF_ROWS}, .norm = INLAY_NORM_RMS, .epsilon = .25f},
    {"ELECTRA", "electra", .config = "{\"model_type\": \"electra\", \"hidden_size\": 64, \"embedding_size\": 40}",
     .pieces = {BERT_TENSORS("electra.", "F32")}, .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f},
    {"RoBERTa", "roberta", .config = "{\"model_type\": \"roberta\", \"layer_norm_eps\": 1e-5, \"pad_token_id\": 3}",
     .pieces = {BERT_TENSORS("roberta.", "F32")}, .norm = INLAY_NORM_LAYER, .epsilon = 1e-5f, .pads = true,
     .padding = 3, .start = 4, .says = "padding: id 3 (config.pad_token_id) is not counted\n"},
    {"XLM-R", "roberta", .config = "{\"model_type\": \"xlm-roberta\"}", .pieces = {BERT_TENSORS("roberta.", "F16")},
     .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f, .pads = true, .padding = 1, .start = 2},
    {"MPNet", "mpnet", .config = "{\"model_type\": \"mpnet\", \"pad_token_id\": 7}",
     .pieces = {[TOKENS] = ROWS_OF("embeddings.word_embeddings.weight", "F32"),
                [POSITIONS] = {"embeddings.position_embeddings.weight", "F32", 16, DIM},
                [GAMMA] = {"embeddings.LayerNorm.weight", "F32", DIM, 0},
                [BETA] = {"embeddings.LayerNorm.bias", "F32", DIM, 0}},
     .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f, .pads = true, .padding = 1, .start = 2},
    {"DistilBERT, learned positions", "distilbert",
     .config = "{\"model_type\": \"distilbert\", \"dim\": 40, \"layer_norm_eps\": 0.5, \"sinusoidal_pos_embds\": true}",
     .pieces = {DISTIL_PIECES, [POSITIONS] = {"distilbert.embeddings.position_embeddings.weight", "F32", 16, DIM}},
     .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f},
    {"DistilBERT, sinusoids", "distilbert",
     .config = "{\"model_type\": \"distilbert\", \"sinusoidal_pos_embds\": true}", .pieces = {DISTIL_PIECES},
     .recipe = INLAY_RECIPE_NUMPY_FP64, .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f,
     .says = "positions: sinusoids, recipe numpy-fp64\n"},
    {"ModernBERT", "modernbert", .config = "{\"model_type\": \"modernbert\", \"norm_eps\": 1e-6}",
     .pieces = {[TOKENS] = ROWS_OF("model.embeddings.tok_embeddings.weight", "F32"),
                [GAMMA] = {"model.embeddings.norm.weight", "F32", DIM, 0}},
     .norm = INLAY_NORM_LAYER, .epsilon = 1e-6f},
    {"GPT-2", "gpt2", .config = "{\"model_type\": \"gpt2\", \"n_embd\": 40, \"vocab_size\": 50304}",
     .pieces =
         {[TOKENS] = ROWS_OF("transformer.wte.weight", "F32"), [POSITIONS] = {"transformer.wpe.weight", "F32", 9, DIM}},
     .says = "vocabulary: ids below 50, the rows of the table; config.vocab_size is 50304\n"},
    {"GPT-2 by its tensors", "gpt2",
     .pieces = {[TOKENS] = ROWS_OF("wte.weight", "BF16"), [POSITIONS] = {"wpe.weight", "BF16", 9, DIM}}},
    {"GPT-2 in GGUF", "gpt2", .values = GGUF("gpt2"),
     .pieces =
         {[TOKENS] = {"token_embd.weight", "Q8_0", VOCAB, 64}, [POSITIONS] = {"position_embd.weight", "F32", 9, 64}}},
    {"MPT in GGUF", "mpt", .values = GGUF("mpt"), .pieces = {GGUF_ROWS}},
    {"MPT with positions in GGUF", "mpt", .values = GGUF("mpt"),
     .pieces = {GGUF_ROWS, [POSITIONS] = {"position_embd.weight", "F32", 9, DIM}}},
    {"OPT", "opt", .config = "{\"model_type\": \"opt\", \"word_embed_proj_dim\": 40}",
     .pieces = {[TOKENS] = ROWS_OF("model.decoder.embed_tokens.weight", "F16"),
                [POSITIONS] = {"model.decoder.embed_positions.weight", "F16", 18, DIM}},
     .pads = true, .padding = 1, .start = 2, .says = "start: the first position is 2\n"},
    {"OPT with another padding", "opt", .config = "{\"model_type\": \"opt\", \"pad_token_id\": 4}",
     .pieces = {[TOKENS] = ROWS_OF("decoder.embed_tokens.weight", "F32"),
                [POSITIONS] = {"decoder.embed_positions.weight", "F32", 18, DIM}},
     .pads = true, .padding = 4, .start = 2},
    {"BLOOM", "bloom", .config = "{\"model_type\": \"bloom\"}",
     .pieces = {[TOKENS] = ROWS_OF("word_embeddings.weight", "F16"),
                [GAMMA] = {"word_embeddings_layernorm.weight", "F16", DIM, 0},
                [BETA] = {"word_embeddings_layernorm.bias", "F16", DIM, 0}},
     .norm = INLAY_NORM_LAYER, .epsilon = 1e-5f},
    {"BART", "bart", .config = "{\"model_type\": \"bart\", \"scale_embedding\": true}",
     .pieces = {[TOKENS] = ROWS_OF("model.shared.weight", "F32"),
                [POSITIONS] = {"model.encoder.embed_positions.weight", "F32", 18, DIM},
                [GAMMA] = {"model.encoder.layernorm_embedding.weight", "F32", DIM, 0},
                [BETA] = {"model.encoder.layernorm_embedding.bias", "F32", DIM, 0}},
     .scale = 6.3245554f, .start = 2, .norm = INLAY_NORM_LAYER, .epsilon = 1e-5f},
    {"BigBird's Pegasus", "bigbird_pegasus", .config = "{\"model_type\": \"bigbird_pegasus\"}",
     .pieces = {[TOKENS] = ROWS_OF("model.shared.weight", "F32"),
                [POSITIONS] = {"model.encoder.embed_positions.weight", "F32", 18, DIM}},
     .scale = 6.3245554f},
    {"BART's decoder", "bart", .config = "{\"model_type\": \"bart\"}", .part = "decoder",
     .pieces = {[TOKENS] = ROWS_OF("model.shared.weight", "F32"),
                [POSITIONS] = {"model.decoder.embed_positions.weight", "F32", 18, DIM},
                [GAMMA] = {"model.decoder.layernorm_embedding.weight", "F32", DIM, 0},
                [BETA] = {"model.decoder.layernorm_embedding.bias", "F32", DIM, 0},
                [OTHER] = {"model.encoder.embed_positions.weight", "F32", 18, DIM}},
     .start = 2, .norm = INLAY_NORM_LAYER, .epsilon = 1e-5f, .says = "model: bart, decoder (config.json)\n"},
    {"ALBERT", "electra", .config = "{\"model_type\": \"albert\", \"embedding_size\": 40, \"hidden_size\": 64}",
     .pieces = {BERT_TENSORS("albert.", "F32"), [OTHER] = {"albert.encoder.embedding_hidden_mapping_in.weight", "F32",
                                                           60, DIM}},
     .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f,
     .remaining_ops = "projection albert.encoder.embedding_hidden_mapping_in.weight;"},
    {"OPT with a projection", "opt", .config = "{\"model_type\": \"opt\", \"hidden_size\": 60}",
     .pieces = {[TOKENS] = ROWS_OF("decoder.embed_tokens.weight", "F32"),
                [POSITIONS] = {"decoder.embed_positions.weight", "F32", 18, 60},
                [OTHER] = {"decoder.project_in.weight", "F32", 60, DIM}},
     .rows_alone = true, .says = "remaining: projection, decoder.project_in.weight\n",
     .remaining_ops = "projection decoder.project_in.weight;positions decoder.embed_positions.weight;"},
    {"DeBERTa without positions", "deberta", .config = "{\"model_type\": \"deberta-v2\", \"layer_norm_eps\": 1e-7}",
     .pieces = {[TOKENS] = ROWS_OF("deberta.embeddings.word_embeddings.weight", "F32"),
                [GAMMA] = {"deberta.embeddings.LayerNorm.weight", "F32", DIM, 0},
                [BETA] = {"deberta.embeddings.LayerNorm.bias", "F32", DIM, 0}},
     .norm = INLAY_NORM_LAYER, .epsilon = 1e-7f},
    {"DeBERTa", "deberta", .config = "{\"model_type\": \"deberta\", \"type_vocab_size\": 2}",
     .pieces = {BERT_TENSORS("deberta.", "F32")}, .norm = INLAY_NORM_LAYER, .epsilon = 1e-7f, .positions_first = true},
    {"DeBERTa with a projection", "deberta",
     .config = "{\"model_type\": \"deberta-v2\", \"hidden_size\": 60, \"type_vocab_size\": 2}",
     .pieces = {BERT_TENSORS("", "F32"), [OTHER] = {"embeddings.embed_proj.weight", "F32", 60, DIM}},
     .positions_first = true,
     .remaining_ops = "projection embeddings.embed_proj.weight;norm embeddings.LayerNorm.weight;"},
    {"ERNIE with task types", "bert", .config = "{\"model_type\": \"ernie\"}",
     .pieces = {BERT_TENSORS("ernie.", "F32"), [OTHER] = {"ernie.embeddings.task_type_embeddings.weight", "F32", 3,
                                                          DIM}},
     .remaining_ops =
         "task types ernie.embeddings.task_type_embeddings.weight;norm ernie.embeddings.LayerNorm.weight;"},
    {"LayoutLM", "layoutlm", .config = "{\"model_type\": \"layoutlm\"}",
     .pieces = {BERT_TENSORS("", "F32"), [OTHER] = {"embeddings.x_position_embeddings.weight", "F32", 9, DIM}},
     .positions_first = true, .segments_follow = true,
     .remaining_ops = "layout embeddings.x_position_embeddings.weight;segments embeddings.token_type_embeddings.weight;"
                      "norm embeddings.LayerNorm.weight;"},
    {"LayoutLMv3", "layoutlmv3", .config = "{\"model_type\": \"layoutlmv3\"}",
     .pieces = {BERT_TENSORS("", "F32"), [OTHER] = {"embeddings.x_position_embeddings.weight", "F32", 9, DIM}},
     .pads = true, .padding = 1, .start = 2,
     .remaining_ops = "layout embeddings.x_position_embeddings.weight;norm embeddings.LayerNorm.weight;"},
    {"RoCBert", "roc_bert", .config = "{\"model_type\": \"roc_bert\", \"concat_input\": true}",
     .pieces = {BERT_TENSORS("", "F32"), [OTHER] = {"embeddings.map_inputs_layer.weight", "F32", DIM, 60}},
     .rows_alone = true,
     .remaining_ops = "projection embeddings.map_inputs_layer.weight;segments embeddings.token_type_embeddings.weight;"
                      "positions embeddings.position_embeddings.weight;norm embeddings.LayerNorm.weight;"},
    {"a norm without weights", "nanochat", .config = "{\"model_type\": \"nanochat\", \"rms_norm_eps\": 1e-5}",
     .pieces = {[TOKENS] = ROWS_OF("model.embed_tokens.weight", "F32")}, .norm = INLAY_NORM_RMS, .epsilon = 1e-5f},
    {"an unknown model with rotary positions", "table",
     .config = "{\"model_type\": \"owl\", \"rope_theta\": 1e4, \"max_position_embeddings\": 64, "
               "\"embedding_multiplier\": 1, \"scale_embedding\": false, \"tie_word_embeddings\": true}",
     .pieces = {[TOKENS] = ROWS_OF("transformer.wte.weight", "F32"),
                [OTHER] = {"transformer.h.0.embedding_norm.weight", "F32", DIM, 0}},
     .says = "assumed: the table alone, since config.rope_theta gives the positions and nothing else is known\n",
     .remaining_ops = "unknown ;"},
    {"Marian", "marian", .config = "{\"model_type\": \"marian\", \"d_model\": 40, \"scale_embedding\": true}",
     .pieces = {[TOKENS] = ROWS_OF("model.shared.weight", "F32")}, .recipe = INLAY_RECIPE_HF_MARIAN,
     .scale = 6.3245554f, .says = "scale: 6.3245554 (config.scale_embedding)\n"},
    {"Marian with stored positions", "marian", .config = "{\"model_type\": \"marian\"}",
     .pieces = {[TOKENS] = ROWS_OF("model.encoder.embed_tokens.weight", "F32"),
                [POSITIONS] = {"model.encoder.embed_positions.weight", "F32", 16, DIM}}},
    {"M2M100", "m2m_100", .config = "{\"model_type\": \"m2m_100\", \"d_model\": 40}",
     .pieces = {[TOKENS] = ROWS_OF("model.shared.weight", "F32")}, .recipe = INLAY_RECIPE_FAIRSEQ, .scale = 6.3245554f,
     .pads = true, .padding = 1, .start = 2, .bare = true, .says = "note: the row of padding in the file is not zeros"},
    {"NLLB without scale", "m2m_100",
     .config = "{\"model_type\": \"nllb-moe\", \"scale_embedding\": false, \"pad_token_id\": 2}",
     .pieces = {[TOKENS] = ROWS_OF("model.shared.weight", "F32")}, .recipe = INLAY_RECIPE_FAIRSEQ, .pads = true,
     .padding = 2, .start = 3, .bare = true},
    {"T5", "t5", .config = "{\"model_type\": \"t5\", \"d_model\": 40}",
     .pieces = {[TOKENS] = ROWS_OF("shared.weight", "F32")}},
    {"Llama", "llama", .config = "{\"model_type\": \"llama\", \"pad_token_id\": 0}",
     .pieces = {[TOKENS] = ROWS_OF("model.embed_tokens.weight", "BF16")}},
    {"Llama in FP8", "llama", .config = "{\"model_type\": \"llama\"}",
     .pieces = {[TOKENS] = ROWS_OF("model.embed_tokens.weight", "F8_E4M3")}, .table_scale = .375f, .scale = .375f,
     .says = "scale of the table: 0.375\n"},
    {"Gemma in FP8", "gemma", .config = "{\"model_type\": \"gemma\"}",
     .pieces = {[TOKENS] = ROWS_OF("model.embed_tokens.weight", "F8_E4M3")}, .table_scale = .5f, .scale = 3.1622777f,
     .rounds = true},
    {"Qwen2 in GGUF", "llama", .values = GGUF("qwen2"),
     .pieces = {[TOKENS] = {"token_embd.weight", "Q8_0", VOCAB, 64}}},
    {"InternLM2 in GGUF", "llama", .values = GGUF_WITH("internlm2", ".embedding_length", DIM), .pieces = {GGUF_ROWS}},
    {"ARWKV 7 in GGUF", "llama", .values = GGUF("arwkv7"),
     .pieces = {GGUF_ROWS, [OTHER] = {"token_embd_norm.weight", "F32", DIM, 0}},
     .remaining_ops = "unknown token_embd_norm.weight;"},
    {"LFM2 in GGUF", "lfm2", .values = GGUF("lfm2"),
     .pieces = {GGUF_ROWS, [OTHER] = {"token_embd_norm.weight", "F32", DIM, 0}}},
    {"WavTokenizer in GGUF", "wavtokenizer", .values = GGUF("wavtokenizer-dec"),
     .pieces = {GGUF_ROWS, [OTHER] = {"token_embd_norm.weight", "F32", DIM, 0}}, .remaining_ops = "convolution ;"},
    {"Qwen4Exp", "deepseek_v4",
     .config =
         "{\"model_type\": \"qwen4_exp\", \"text_config\": {\"model_type\": \"qwen4_exp_text\", \"hidden_size\": 40}}",
     .pieces = {[TOKENS] = ROWS_OF("model.language_model.embed_tokens.weight", "BF16")}, .remaining_ops = "streams ;"},
    {"a text model in an unknown one", "llama",
     .config = "{\"model_type\": \"owl\", \"hidden_size\": 3, \"text_config\": {\"model_type\": \"mistral\", "
               "\"hidden_size\": 40}}",
     .pieces = {[TOKENS] = ROWS_OF("language_model.model.embed_tokens.weight", "F16")}, .remaining_ops = "unknown ;",
     .says = "assumed: the layer of its text model; the whole model is not known\n"},
    {"a text model without the type of the whole", "llama",
     .config = "{\"text_config\": {\"model_type\": \"mistral\"}}",
     .pieces = {[TOKENS] = ROWS_OF("language_model.model.embed_tokens.weight", "F16")}, .remaining_ops = "unknown ;"},
    {"a text model in an unknown one by option", "llama", .model = "llama",
     .config = "{\"model_type\": \"owl\", \"text_config\": {\"model_type\": \"mistral\"}}",
     .pieces = {[TOKENS] = ROWS_OF("language_model.model.embed_tokens.weight", "F16")}},
    {"LLaVA", "llama", .config = "{\"model_type\": \"llava\", \"text_config\": {\"model_type\": \"mistral\"}}",
     .pieces = {[TOKENS] = ROWS_OF("language_model.model.embed_tokens.weight", "F16")}},
    {"Granite", "granite", .config = "{\"model_type\": \"granite\", \"embedding_multiplier\": 12}",
     .pieces = {[TOKENS] = ROWS_OF("model.embed_tokens.weight", "BF16")}, .scale = 12,
     .says = "scale: 12 (config.embedding_multiplier)\n"},
    {"AFMoE", "afmoe", .config = "{\"model_type\": \"afmoe\", \"mup_enabled\": true}",
     .pieces = {[TOKENS] = ROWS_OF("model.embed_tokens.weight", "F32")}, .scale = 6.3245554f,
     .says = "scale: 6.3245554 (config.mup_enabled)\n"},
    {"AFMoE in GGUF", "gemma", .values = GGUF("afmoe"), .pieces = {GGUF_ROWS}, .scale = 6.3245554f},
    {"MiniCPM in GGUF", "granite", .values = SCALED("minicpm"), .pieces = {GGUF_ROWS}, .scale = 1.5f,
     .says = "scale: 1.5 (minicpm.embedding_scale)\n"},
    {"MiniCPM without a scale in GGUF", "granite", .values = GGUF("minicpm"), .pieces = {GGUF_ROWS}, .scale = 12,
     .says = "scale: 12 (default)\n"},
    {"MiniCPM with a scale of 0 in GGUF", "granite", .values = GGUF_WITH("minicpm", ".embedding_scale", 0),
     .pieces = {GGUF_ROWS}, .scale = 1},
    {"MiniCPM3 in GGUF", "minicpm3", .values = GGUF("minicpm3"), .pieces = {GGUF_ROWS}, .scale = 12},
    {"MiniCPM3 with a scale that llama.cpp ignores", "minicpm3", .values = SCALED("minicpm3"), .pieces = {GGUF_ROWS},
     .scale = 12, .remaining_ops = "unknown ;", .says = "unused: minicpm3.embedding_scale "},
    {"Grok in GGUF", "granite", .values = GGUF("grok"), .pieces = {GGUF_ROWS}, .scale = 78.38367176906169f},
    {"HRM in GGUF", "hrm_text", .values = SCALED("hrm_text"), .pieces = {GGUF_ROWS}, .scale = 1.5f,
     .remaining_ops = "cycles ;"},
    {"DeBERTa without types", "deberta", .config = "{\"model_type\": \"deberta\"}", .ignores_segments = true,
     .pieces = {BERT_TENSORS("deberta.", "F32")}, .norm = INLAY_NORM_LAYER, .epsilon = 1e-7f,
     .says = "segments: none, type_vocab_size is 0 (default)\n"},
    {"YOSO without epsilon", "nystromformer", .config = "{\"model_type\": \"yoso\"}",
     .pieces = {BERT_TENSORS("yoso.", "F32")}, .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f, .start = 2},
    {"RoBERTa by option without padding", "roberta", .config = "{\"model_type\": \"owl\"}", .model = "roberta",
     .pieces = {BERT_TENSORS("roberta.", "F32")}, .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f, .pads = true,
     .padding = 1, .start = 2},
    {"LiLT by option without padding", "roberta", .config = "{\"model_type\": \"lilt\"}", .model = "roberta",
     .pieces = {BERT_TENSORS("lilt.", "F32")}, .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f, .pads = true, .padding = 0,
     .start = 1},
    {"Granite Docling without a multiplier", "granite",
     .config = "{\"model_type\": \"llava\", \"embedding_multiplier\": 7, \"text_config\": {\"model_type\": "
               "\"granite_docling_text\"}}",
     .pieces = {[TOKENS] = ROWS_OF("model.language_model.embed_tokens.weight", "F32")}, .scale = 12,
     .says = "scale: 12 (default)\n"},
    {"CPM-Ant", "cpmant", .config = "{\"model_type\": \"cpmant\"}",
     .pieces = {[TOKENS] = ROWS_OF("cpmant.input_embedding.weight", "F32"),
                [OTHER] = {"cpmant.segment_embedding.weight", "F32", 32, DIM}},
     .remaining_ops = "prompt ;segments cpmant.segment_embedding.weight;"},
    /* Unused parts */
    {"a scaled model in GGUF as Llama", "llama", .values = SCALED("owl"), .model = "llama", .pieces = {GGUF_ROWS},
     .remaining_ops = "unknown ;",
     .says = "unused: owl.embedding_scale may change the rows, but a llama model does not use it\n"},
    {"a scaled model in GGUF as Granite", "granite", .values = SCALED("owl"), .model = "granite", .pieces = {GGUF_ROWS},
     .scale = 1.5f},
    {"a scaled Llama in GGUF", "llama", .values = SCALED("llama"),
     .pieces = {[TOKENS] = ROWS_OF("token_embd.weight", "F16")}, .remaining_ops = "unknown ;",
     .says = "unused: llama.embedding_scale "},
    {"a model with a multiplier as Llama", "llama", .model = "llama",
     .config =
         "{\"model_type\": \"owl\", \"rope_scaling\": {\"original_max_position_embeddings\": 9}, \"scale_emb\": 12}",
     .pieces = {[TOKENS] = ROWS_OF("model.embed_tokens.weight", "F32")}, .remaining_ops = "unknown ;",
     .says = "unused: config.scale_emb "},
    {"a model without a multiplier as Llama", "llama", .model = "llama",
     .config =
         "{\"model_type\": \"owl\", \"rope_scaling\": {\"original_max_position_embeddings\": 9}, \"scale_emb\": 1}",
     .pieces =
         {[TOKENS] = ROWS_OF("model.embed_tokens.weight", "F32"), [OTHER] = {"model.norm.weight", "F32", DIM, 0}}},
    {"BLOOM in GGUF as Llama", "llama", .values = GGUF("owl"), .model = "llama",
     .pieces = {[TOKENS] = ROWS_OF("token_embd.weight", "F16"), [OTHER] = {"token_embd_norm.weight", "F32", DIM, 0}},
     .remaining_ops = "unknown token_embd_norm.weight;", .says = "unused: token_embd_norm.weight "},
    {"a norm inside a table's module", "llama", .model = "llama",
     .pieces = {[TOKENS] = ROWS_OF("model.embed_tokens.weight", "F32"),
                [OTHER] = {"model.embed_tokens.embed_norm.weight", "F32", DIM, 0}},
     .remaining_ops = "unknown model.embed_tokens.embed_norm.weight;"},
    {"LayoutLM by its tensors", "bert",
     .pieces = {BERT_TENSORS("bert.", "F32"), [OTHER] = {"bert.embeddings.x_position_embeddings.weight", "F32", 16,
                                                         DIM}},
     .remaining_ops = "unknown bert.embeddings.x_position_embeddings.weight;", .norm = INLAY_NORM_LAYER,
     .epsilon = 1e-12f},
    {"Gemma as Llama", "llama", .config = "{\"model_type\": \"gemma2\"}", .model = "llama",
     .pieces = {[TOKENS] = ROWS_OF("model.embed_tokens.weight", "F32")}, .remaining_ops = "unknown ;",
     .says = "unused: config.model_type names a gemma model\n"},
    {"Granite in GGUF", "granite", .values = SCALED("granite"), .pieces = {GGUF_ROWS}, .scale = 1.5f},
    {"Gemma in bfloat16", "gemma", .config = "{\"model_type\": \"gemma\"}",
     .pieces = {[TOKENS] = ROWS_OF("model.embed_tokens.weight", "BF16")}, .scale = 6.3245554f, .rounds = true},
    {"Gemma in float16", "gemma", .config = "{\"model_type\": \"gemma2\"}",
     .pieces = {[TOKENS] = ROWS_OF("model.embed_tokens.weight", "F16")}, .scale = 6.3245554f, .rounds = true},
    {"Gemma in float32", "gemma", .config = "{\"model_type\": \"gemma3_text\"}",
     .pieces = {[TOKENS] = ROWS_OF("model.embed_tokens.weight", "F32")}, .scale = 6.3245554f, .rounds = true},
    {"Gemma in GGUF", "gemma", .values = GGUF("gemma"), .pieces = {[TOKENS] = ROWS_OF("token_embd.weight", "F16")},
     .scale = 6.3245554f},
    {"Gemma 3n", "gemma",
     .config = "{\"model_type\": \"gemma3n\", \"text_config\": {\"model_type\": \"gemma3n_text\"}}",
     .pieces = {[TOKENS] = ROWS_OF("model.language_model.embed_tokens.weight", "BF16"),
                [OTHER] = {"model.language_model.altup_projections.0.weight", "BF16", DIM, DIM}},
     .scale = 6.3245554f, .rounds = true, .remaining_ops = "streams model.language_model.altup_projections.0.weight;"},
    {"Gemma 3n in GGUF", "gemma", .values = GGUF("gemma3n"),
     .pieces = {[TOKENS] = ROWS_OF("token_embd.weight", "F16"), [OTHER] = {"altup_proj.weight", "F16", DIM, DIM}},
     .scale = 6.3245554f, .remaining_ops = "streams altup_proj.weight;"},
    {"Gemma 3n, per layer", "gemma", .part = "per_layer",
     .config =
         "{\"model_type\": \"gemma3n\", \"text_config\": {\"hidden_size\": 40, \"hidden_size_per_layer_input\": 8}}",
     .pieces = {[TOKENS] = {"model.language_model.embed_tokens_per_layer.weight", "BF16", VOCAB, 48}},
     .scale = 2.8284271f, .rounds = true, .first_for_bad_ids = true, .says = "model: gemma, per_layer (config.json)\n"},
    {"Gemma 3n in GGUF, per layer", "gemma", .part = "per_layer", .values = GGUF("gemma3n"),
     .pieces = {[TOKENS] = {"per_layer_token_embd.weight", "Q8_0", VOCAB, 512}}, .scale = 16, .first_for_bad_ids = true,
     .says = "scale: 16 (default)\n"},
    /* Names of wrappers */
    {"BERT in two wrappers", "bert", .config = "{\"model_type\": \"bert\"}",
     .pieces = {BERT_TENSORS("module._orig_mod.bert.", "F32")}, .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f,
     .says = "prefix: module._orig_mod. (shared by all tensors)\n"},
    {"BERT in sentence-transformers", "bert", .config = "{\"model_type\": \"bert\"}",
     .pieces = {BERT_TENSORS("_orig_mod.0.auto_model.", "F32")}, .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f},
    {"ALBERT in a wrapper", "electra", .config = "{\"model_type\": \"albert\"}",
     .pieces = {BERT_TENSORS("module.", "F32"), [OTHER] = {"module.encoder.embedding_hidden_mapping_in.weight", "F32",
                                                           60, DIM}},
     .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f,
     .remaining_ops = "projection module.encoder.embedding_hidden_mapping_in.weight;"},
    {"a norm in a wrapper", "llama", .model = "llama",
     .pieces = {[TOKENS] = ROWS_OF("_orig_mod.0.auto_model.model.embed_tokens.weight", "F32"),
                [OTHER] = {"_orig_mod.0.auto_model.model.embed_norm.weight", "F32", DIM, 0}},
     .remaining_ops = "unknown _orig_mod.0.auto_model.model.embed_norm.weight;"},
    {"a scale in a wrapper", "llama", .config = "{\"model_type\": \"llama\"}",
     .pieces = {[TOKENS] = ROWS_OF("module.model.embed_tokens.weight", "I8")}, .table_scale = 0.25f, .scale = 0.25f},
    /* Given prefixes */
    {"an adapter", "llama", .config = "{\"model_type\": \"llama\", \"vocab_size\": 50}", .prefix = "base_model.model.",
     .pieces = {[TOKENS] = ROWS_OF("base_model.model.model.embed_tokens.weight", "F16")},
     .says = "prefix: base_model.model. (options)\n", .remaining_ops = "unknown ;"},
    {"an adapter by a longer prefix", "llama", .config = "{\"model_type\": \"llama\"}",
     .prefix = "base_model.model.model.",
     .pieces = {[TOKENS] = ROWS_OF("base_model.model.model.embed_tokens.weight", "F32")},
     .says = "assumed: no other tensor of the file changes the rows\n", .remaining_ops = "unknown ;"},
    {"a prefix without a dot", "granite",
     .config = "{\"model_type\": \"granite\", \"embedding_multiplier\": 3, \"vocab_size\": 42}", .prefix = "llm_",
     .says = "vocabulary: ids below 50, the rows of the table; config.vocab_size is 42\n",
     .pieces = {[TOKENS] = ROWS_OF("llm_model.embed_tokens.weight", "F32")}, .scale = 3, .remaining_ops = "unknown ;"},
    {"one of two encoders", "bert", .config = "{\"model_type\": \"bert\"}", .prefix = "b.",
     .pieces = {BERT_TENSORS("b.", "F32"), [OTHER] = {"a.embeddings.word_embeddings.weight", "F32", VOCAB, DIM}},
     .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f, .remaining_ops = "unknown ;"},
    {"a prefix that is needed inside a wrapper", "bert", .config = "{\"model_type\": \"bert\"}",
     .prefix = "module.text.", .pieces = {BERT_TENSORS("module.text.bert.", "F32")}, .norm = INLAY_NORM_LAYER,
     .epsilon = 1e-12f, .remaining_ops = "unknown ;"},
    {"a scale of rows with a prefix", "llama", .config = "{\"model_type\": \"llama\"}", .prefix = "llm.",
     .pieces = {[TOKENS] = ROWS_OF("llm.model.embed_tokens.weight", "I8")}, .table_scale = 0.25f, .scale = 0.25f,
     .remaining_ops = "unknown ;"},
    {"settings of no part", "granite", .prefix = "llm.",
     .config = "{\"model_type\": \"granite\", \"vocab_size\": 50, \"hidden_size\": 40, \"embedding_multiplier\": 12, "
               "\"id2label\": {\"0\": \"dim\"}, \"rope_scaling\": {\"type\": \"linear\"}, \"ssm_cfg\": {}}",
     .pieces = {[TOKENS] = ROWS_OF("llm.model.embed_tokens.weight", "F32")}, .scale = 12, .remaining_ops = "unknown ;"},
    {"a decoder with a prefix", "bart", .part = "decoder", .prefix = "text.",
     .config = "{\"model_type\": \"bart\", \"scale_embedding\": true, \"vocab_size\": 50}",
     .pieces = {[TOKENS] = ROWS_OF("text.model.decoder.embed_tokens.weight", "F32"),
                [POSITIONS] = {"text.model.decoder.embed_positions.weight", "F32", 18, DIM},
                [GAMMA] = {"text.model.decoder.layernorm_embedding.weight", "F32", DIM, 0},
                [BETA] = {"text.model.decoder.layernorm_embedding.bias", "F32", DIM, 0}},
     .scale = 6.3245554f, .start = 2, .norm = INLAY_NORM_LAYER, .epsilon = 1e-5f, .remaining_ops = "unknown ;"},
    {"a key with a dot in its own name", "granite",
     .config = "{\"model_type\": \"llava\", \"text_config.embedding_multiplier\": 7, \"text_config\": {\"model_type\": "
               "\"granite\"}}",
     .pieces = {[TOKENS] = ROWS_OF("language_model.model.embed_tokens.weight", "F32")}},
    /* Prefixes of multimodal models */
    {"Idefics 3", "llama", .config = "{\"model_type\": \"idefics3\", \"text_config\": {\"model_type\": \"llama\"}}",
     .pieces = {[TOKENS] = ROWS_OF("module.model.text_model.embed_tokens.weight", "BF16"),
                [OTHER] = {"module.model.vision_model.embeddings.position_embedding.weight", "BF16", 9, DIM}}},
    {"Idefics 3 with usual names", "llama",
     .config = "{\"model_type\": \"idefics3\", \"text_config\": {\"model_type\": \"llama\"}}",
     .pieces = {[TOKENS] = ROWS_OF("language_model.embed_tokens.weight", "F32")}, .remaining_ops = "unknown ;"},
    {"Idefics 3 by option", "llama", .model = "llama",
     .config = "{\"model_type\": \"idefics3\", \"text_config\": {\"model_type\": \"llama\"}}",
     .pieces = {[TOKENS] = ROWS_OF("model.embed_tokens.weight", "F32")}},
    {"BLIP that answers questions", "bert-generation",
     .config = "{\"model_type\": \"blip\", \"text_config\": {\"model_type\": \"blip_text_model\"}}",
     .pieces = {[TOKENS] = ROWS_OF("text_encoder.embeddings.word_embeddings.weight", "F32"),
                [POSITIONS] = {"text_encoder.embeddings.position_embeddings.weight", "F32", 16, DIM},
                [GAMMA] = {"text_encoder.embeddings.LayerNorm.weight", "F32", DIM, 0},
                [BETA] = {"text_encoder.embeddings.LayerNorm.bias", "F32", DIM, 0},
                [OTHER] = {"text_decoder.bert.embeddings.word_embeddings.weight", "F32", VOCAB, DIM}},
     .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f},
    {"ColPali", "gemma",
     .config = "{\"model_type\": \"colpali\", \"hidden_size\": 9, \"vlm_config\": {\"model_type\": \"paligemma\", "
               "\"hidden_size\": "
               "9, \"text_config\": {\"model_type\": \"gemma\", \"hidden_size\": 40}}}",
     .pieces = {[TOKENS] = ROWS_OF("vlm.language_model.model.embed_tokens.weight", "BF16")}, .scale = 6.3245554f,
     .rounds = true},
    {"ColPali of an unknown model", "gemma",
     .config =
         "{\"model_type\": \"colpali\", \"vlm_config\": {\"model_type\": \"owl\", \"text_config\": {\"model_type\": "
         "\"gemma\", \"hidden_size\": 40}}}",
     .pieces = {[TOKENS] = ROWS_OF("vlm.language_model.model.embed_tokens.weight", "F32")}, .scale = 6.3245554f,
     .rounds = true, .remaining_ops = "unknown ;"},
    {"ColQwen2 without a text_config", "llama",
     .config = "{\"model_type\": \"colqwen2\", \"hidden_size\": 9, \"vlm_config\": {\"model_type\": \"qwen2_vl\", "
               "\"hidden_size\": 40}}",
     .pieces = {[TOKENS] = ROWS_OF("vlm.model.embed_tokens.weight", "F32")}},
    {"PI0", "gemma",
     .config =
         "{\"model_type\": \"pi0\", \"dit_config\": {\"model_type\": \"gemma\", \"hidden_size\": 9}, \"vlm_config\": "
         "{\"model_type\": \"paligemma\", \"text_config\": {\"model_type\": \"gemma\", \"hidden_size\": 40}}}",
     .pieces = {[TOKENS] = ROWS_OF("vlm.language_model.model.embed_tokens.weight", "F32"),
                [OTHER] = {"dit.embed_tokens.weight", "F32", VOCAB, DIM}},
     .scale = 6.3245554f, .rounds = true, .remaining_ops = "unknown ;"},
    {"Grounding DINO", "bert",
     .config = "{\"model_type\": \"grounding-dino\", \"text_config\": {\"model_type\": \"bert\"}}",
     .pieces = {BERT_TENSORS("model.text_backbone.", "F32")}, .norm = INLAY_NORM_LAYER, .epsilon = 1e-12f,
     .remaining_ops = "unknown ;"},
    {"TIPSv2", "tipsv2",
     .config = "{\"model_type\": \"tipsv2\", \"text_config\": {\"model_type\": \"tipsv2_text_model\"}}",
     .pieces = {[TOKENS] = ROWS_OF("text_encoder.token_embedding.weight", "F32")}, .recipe = INLAY_RECIPE_FAIRSEQ,
     .scale = 6.3245554f, .says = "scale: 6.3245554 (default)\n"},
    {"VideoPrism", "videoprism",
     .config = "{\"model_type\": \"videoprism\", \"text_config\": {\"model_type\": \"videoprism_text_model\"}}",
     .pieces = {[TOKENS] = ROWS_OF("text_model.embeddings.token_embedding.weight", "F32"),
                [POSITIONS] = {"text_model.embeddings.position_embedding", "F32", 16, DIM},
                [OTHER] = {"text_model.embeddings.cls_emb", "F32", DIM, 0}},
     .scale = 6.3245554f, .remaining_ops = "last token text_model.embeddings.cls_emb;"},
    {"Kosmos 2.5", "kosmos-2.5",
     .config = "{\"model_type\": \"kosmos-2.5\", \"text_config\": {\"model_type\": \"kosmos_2_5_text_model\", "
               "\"embed_dim\": 40, "
               "\"scale_embedding\": false}}",
     .pieces = {[TOKENS] = ROWS_OF("text_model.model.embed_tokens.weight", "F32"),
                [OTHER] = {"text_model.model.segment_emb.weight", "F32", 2, DIM}},
     .remaining_ops = "positions ;segments text_model.model.segment_emb.weight;"},
    {"BLIP-2", "opt",
     .config = "{\"model_type\": \"blip-2\", \"text_config\": {\"model_type\": \"opt\", \"hidden_size\": 60}}",
     .pieces = {[TOKENS] = ROWS_OF("language_model.model.decoder.embed_tokens.weight", "F32"),
                [POSITIONS] = {"language_model.model.decoder.embed_positions.weight", "F32", 18, 60},
                [OTHER] = {"language_model.model.decoder.project_in.weight", "F32", 60, DIM}},
     .rows_alone = true,
     .remaining_ops = "projection language_model.model.decoder.project_in.weight;positions "
                      "language_model.model.decoder.embed_positions.weight;"},
#define EMBEDDED(whole, text, family, ...)                                                                             \
    {                                                                                                                  \
        text " in " whole, family,                                                                                     \
            .config = "{\"model_type\": \"" whole "\", \"text_config\": {\"model_type\": \"" text "\"}}",              \
            .pieces = {[TOKENS] = ROWS_OF("language_model.shared.weight", "F32")}, __VA_ARGS__                         \
    }
#define M2M_TERMS                                                                                                      \
    .recipe = INLAY_RECIPE_FAIRSEQ, .scale = 6.3245554f, .pads = true, .padding = 1, .start = 2, .bare = true,         \
    .remaining_ops = "unknown ;"
    EMBEDDED("florence2", "umt5", "t5", .scale = 1),
    EMBEDDED("florence2", "marian", "marian", .recipe = INLAY_RECIPE_HF_MARIAN, .remaining_ops = "unknown ;"),
    EMBEDDED("florence2", "m2m_100", "m2m_100", M2M_TERMS),
    EMBEDDED("blip-2", "marian", "marian", .recipe = INLAY_RECIPE_HF_MARIAN),
    EMBEDDED("instructblip", "nllb-moe", "m2m_100", M2M_TERMS),
    /* Tied heads */
    {"a tied Llama", "llama", .config = TIED("llama", ""),
     .pieces = {[TOKENS] = ROWS_OF("lm_head.weight", "BF16"), [OTHER] = {"model.norm.weight", "F32", DIM, 0}},
     .says = "tokens, tied by config.tie_word_embeddings: lm_head.weight [50, 40] BF16\n"},
    {"a tied Gemma in a wrapper", "gemma", .config = TIED("gemma2", ""),
     .pieces = {[TOKENS] = ROWS_OF("module.lm_head.weight", "F32")}, .scale = 6.3245554f, .rounds = true},
    {"a tied Qwen 2 of save_model()", "llama", .config = TIED("qwen2", ""),
     .metadata = "{\"format\": \"pt\", \"model.embed_tokens.weight\": \"lm_head.weight\"}",
     .pieces = {[TOKENS] = ROWS_OF("lm_head.weight", "F16")}},
    {"a tied MPT", "mpt",
     .config =
         "{\"model_type\": \"mpt\", \"architectures\": [\"MptForCausalLM\"], \"vocab_size\": 50, \"d_model\": 40, "
         "\"tie_word_embeddings\": true}",
     .pieces = {[TOKENS] = ROWS_OF("lm_head.weight", "F32")}},
    {"a tied Llama with its table", "llama", .config = TIED("llama", ""),
     .pieces =
         {[TOKENS] = ROWS_OF("model.embed_tokens.weight", "F32"), [OTHER] = {"lm_head.weight", "F32", VOCAB, DIM}},
     .says = "tokens: model.embed_tokens.weight "},
    {"model2vec", "static", .config = "{\"model_type\": \"model2vec\", \"normalize\": true}",
     .pieces = {[TOKENS] = ROWS_OF("embeddings", "F32")}, .norm = INLAY_NORM_L2, .epsilon = 1e-32f, .pools = true,
     .says = "norm: L2, epsilon 1e-32 (config.normalize)\n"},
    {"model2vec with mapping and weights", "static", .config = "{\"normalize\": true, \"vocabulary_quantization\": 50}",
     .pieces = {[TOKENS] = ROWS_OF("embeddings", "I8"),
                [MAPPING] = {"mapping", "I64", 60, 0},
                [WEIGHTS] = {"weights", "F64", 60, 0}},
     .norm = INLAY_NORM_L2, .epsilon = 1e-32f, .pools = true, .says = "weights, as float32: weights [60] F64\n"},
    {"model2vec with weights", "static", .config = "{\"normalize\": false}",
     .pieces = {[TOKENS] = ROWS_OF("embeddings", "F16"),
                [MAPPING] = {"mapping", "I32", 60, 0},
                [WEIGHTS] = {"weights", "F16", 60, 0}},
     .pools = true},
    {"WordLlama", "static", .pieces = {[TOKENS] = ROWS_OF("embedding.weight", "F16")}, .pools = true,
     .says = "model: static (names of tensors)\n"},
};

/* ---- Arrays ----------------------------------------------------------------------------------------------------- */

/* The arrays of a checkpoint, and as floats if the layer reads floats. */
static struct {
    unsigned char data[MAX_ROWS * MAX_DIM * 8]; /* of the largest elements, F64 and I64 */
    float floats[MAX_ROWS];
} arrays[ROLES];

static inlay_element_type element_of(const char *type)
{
    static const struct {
        const char *name;
        inlay_element_type type;
    } elements[] = {{"F32", INLAY_F32}, {"F16", INLAY_F16},      {"BF16", INLAY_BF16},
                    {"I8", INLAY_I8},   {"F8_E4M3", INLAY_E4M3}, {"Q8_0", INLAY_Q8_0}};
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (strcmp(type, elements[i].name) == 0)
            return elements[i].type;
    return (inlay_element_type)0;
}

static size_t bytes_of(const struct piece *piece)
{
    inlay_element_type element = element_of(piece->type);
    if (element != 0 && piece->dim > 0)
        return piece->rows * inlay_table_row_bytes(element, piece->dim);
    return piece->rows * (piece->dim > 0 ? piece->dim : 1) * model_type_bytes(piece->type);
}

/* Draws a table or a vector in its type, and the values of a vector as floats. */
static void draw(struct random *random, const struct piece *piece, enum role role)
{
    static float numbers[MAX_ROWS * MAX_DIM];
    const size_t dim = piece->dim > 0 ? piece->dim : 1;
    for (size_t i = 0; i < piece->rows * dim; i++)
        numbers[i] = (float)(random_unit(random) * 2 - 1);
    if (role == MAPPING) {
        for (size_t i = 0; i < piece->rows; i++) {
            int64_t row = (int64_t)random_below(random, VOCAB);
            memcpy(arrays[role].data + i * model_type_bytes(piece->type), &row, model_type_bytes(piece->type));
        }
    } else if (strcmp(piece->type, "F64") == 0) {
        for (size_t i = 0; i < piece->rows; i++) {
            double number = random_unit(random) / 3;
            memcpy(arrays[role].data + i * sizeof number, &number, sizeof number);
            arrays[role].floats[i] = (float)number;
        }
    } else if (strcmp(piece->type, "I8") == 0) {
        for (size_t i = 0; i < piece->rows * dim; i++)
            arrays[role].data[i] = (unsigned char)random_bits(random);
    } else if (strcmp(piece->type, "F32") == 0) {
        memcpy(arrays[role].data, numbers, piece->rows * dim * sizeof(float));
        memcpy(arrays[role].floats, numbers, (piece->dim > 0 ? 0 : piece->rows) * sizeof(float));
    } else {
        inlay_table from = inlay_table_f32(numbers, piece->rows, dim), view;
        inlay_table_storage to = inlay_table_storage_of(element_of(piece->type), arrays[role].data, dim);
        ck_assert_int_eq(inlay_table_quantize(&from, &to, &view, NULL), INLAY_OK);
        if (piece->dim == 0)
            dequantize(&view, arrays[role].floats);
    }
}

/* Writes the tensors of a family, and the scale of its table. */
static const char *write_family(const struct family *family)
{
    struct model_tensor tensors[ROLES + 2] = {{0}};
    const struct model model = {tensors, family->config, family->values, family->metadata};
    char scale[64];
    size_t count = 0;
    for (size_t role = 0; role < ROLES; role++) {
        const struct piece *piece = &family->pieces[role];
        if (piece->name != NULL)
            tensors[count++] = (struct model_tensor){
                piece->name,       piece->type,    piece->dim > 0 ? 2 : 1, {piece->rows, piece->dim},
                arrays[role].data, bytes_of(piece)};
    }
    snprintf(scale, sizeof scale, "%s_scale", family->pieces[TOKENS].name);
    if (family->table_scale != 0)
        tensors[count] = (struct model_tensor){scale, "F32", 0, {0}, &family->table_scale, sizeof(float)};
    return model_write(&model);
}

/* ---- The layer by hand ------------------------------------------------------------------------------------------ */

struct hand {
    inlay_table tables[SEGMENTS + 1];
    inlay_sinusoid *sinusoid;
    inlay_layer *layer;
};

static bool has_segments(const struct family *family)
{
    return family->pieces[SEGMENTS].name != NULL && !family->rows_alone && !family->segments_follow &&
           !family->ignores_segments;
}

/* Returns a number rounded to that many binary digits. */
static double rounded_to(int digits, double number)
{
    int exponent;
    frexp(number, &exponent);
    return ldexp(nearbyint(ldexp(number, digits - exponent)), exponent - digits);
}

static struct hand make_by_hand(const struct family *family, inlay_element_type out_type)
{
    static inlay_table tables[SEGMENTS + 1]; /* a layer copies its views */
    struct hand hand = {.sinusoid = NULL};
    const struct piece *pieces = family->pieces;
    for (int role = TOKENS; role <= SEGMENTS; role++)
        if (pieces[role].name != NULL) {
            inlay_element_type type = element_of(pieces[role].type);
            tables[role] = inlay_table_view(type, arrays[role].data, pieces[role].rows, pieces[role].dim,
                                            inlay_table_row_bytes(type, pieces[role].dim));
        }
    inlay_layer_spec spec = inlay_layer_spec_default(&tables[TOKENS]);
    spec.positions = pieces[POSITIONS].name != NULL && !family->rows_alone ? &tables[POSITIONS] : NULL;
    spec.segments = has_segments(family) ? &tables[SEGMENTS] : NULL;
    spec.segments_first = spec.segments != NULL && !family->positions_first;
    if (family->recipe != 0) {
        inlay_sinusoid_spec recipe = inlay_sinusoid_spec_recipe(family->recipe, pieces[TOKENS].dim);
        hand.sinusoid = make_sinusoid_of(&recipe);
        spec.sinusoid = hand.sinusoid;
    }
    spec.scale = family->scale != 0 ? family->scale : 1;
    if (family->rounds && out_type != INLAY_F32)
        spec.scale = (float)rounded_to(out_type == INLAY_F16 ? 11 : 8, (double)spec.scale);
    if (family->pads) {
        spec.padding_id = family->padding;
        spec.position_mode = INLAY_POSITION_MODE_PADDING_AWARE;
        spec.zero_rows = family->bare ? INLAY_ZERO_ROWS_BARE : INLAY_ZERO_ROWS_TABLE;
    }
    spec.norm = family->norm;
    spec.epsilon = family->epsilon;
    spec.gamma = pieces[GAMMA].name != NULL && family->norm != INLAY_NORM_NONE ? arrays[GAMMA].floats : NULL;
    spec.beta = pieces[BETA].name != NULL && family->norm != INLAY_NORM_NONE ? arrays[BETA].floats : NULL;
    spec.pooling = family->pools ? INLAY_POOLING_MEAN : INLAY_POOLING_NONE;
    if (pieces[MAPPING].name != NULL) {
        spec.token_mapping = arrays[MAPPING].data;
        spec.token_mapping_length = pieces[MAPPING].rows;
        spec.token_mapping_type = strcmp(pieces[MAPPING].type, "I64") == 0 ? INLAY_ID_I64 : INLAY_ID_I32;
    }
    if (pieces[WEIGHTS].name != NULL) {
        spec.token_weights = arrays[WEIGHTS].floats;
        spec.token_weights_length = pieces[WEIGHTS].rows;
    }
    spec.bad_id = family->first_for_bad_ids ? INLAY_BAD_ID_SUBSTITUTE : INLAY_BAD_ID_ERROR;
    spec.out_type = out_type;
    hand.layer = make_layer_of(&spec);
    return hand;
}

/* Draws ids, with padding and bad ids if the family has them, and segment ids. */
static inlay_batch draw_batch(const struct family *family, struct random *random, int64_t start)
{
    static int32_t ids[SEQUENCES * LENGTH], segments[SEQUENCES * LENGTH];
    const size_t count = family->pieces[MAPPING].name != NULL ? family->pieces[MAPPING].rows : VOCAB;
    for (int i = 0; i < SEQUENCES * LENGTH; i++) {
        ids[i] = (int32_t)random_below(random, count);
        segments[i] = (int32_t)random_below(random, 2);
        if (family->pads && i % 5 == 3)
            ids[i] = (int32_t)family->padding;
        if (family->first_for_bad_ids && i % 5 == 2)
            ids[i] = i % 2 == 0 ? -7 : VOCAB + i;
    }
    inlay_batch batch = inlay_batch_i32(ids, SEQUENCES, LENGTH, start);
    if (has_segments(family)) {
        batch.segment_ids = segments;
        batch.segment_id_type = INLAY_ID_I32;
    }
    return batch;
}

static void compare(const struct family *family, const inlay_file_layer *from_file, inlay_element_type out_type)
{
    static unsigned char found[SEQUENCES * LENGTH * MAX_DIM * 4], wanted[sizeof found];
    struct random random = {42};
    struct hand hand = make_by_hand(family, out_type);
    const size_t stride = family->pieces[TOKENS].dim * (out_type == INLAY_F32 ? 4 : 2);
    inlay_batch batch = draw_batch(family, &random, family->start);
    memset(found, 1, sizeof found);
    memset(wanted, 1, sizeof wanted);
    inlay_status status = inlay_forward(hand.layer, &batch, wanted, stride, NULL, NULL);
    EXPECT(status == INLAY_OK, "%s: by hand: %s", family->label, inlay_status_string(status));
    batch.start = inlay_file_layer_start(from_file);
    status = inlay_forward(inlay_file_layer_get(from_file), &batch, found, stride, NULL, NULL);
    EXPECT(status == INLAY_OK, "%s: from the file: %s", family->label, inlay_status_string(status));
    EXPECT(memcmp(found, wanted, sizeof found) == 0, "%s: other vectors", family->label);
    inlay_layer_destroy(hand.layer);
    inlay_sinusoid_destroy(hand.sinusoid);
}

START_TEST(layers_of_families)
{
    const struct family *family = &families[_i];
    inlay_file *file;
    inlay_file_error error;
    struct random random = {(uint64_t)_i + 1};
    for (int role = 0; role < ROLES; role++)
        if (family->pieces[role].name != NULL)
            draw(&random, &family->pieces[role], (enum role)role);
    const char *path = write_family(family);
    EXPECT(inlay_file_open(path, NULL, &file, &error) == INLAY_FILE_OK, "%s: %s", family->label, error.message);
    static const inlay_element_type out_types[] = {INLAY_F32, INLAY_BF16, INLAY_F16};
    for (size_t t = 0; t < sizeof out_types / sizeof *out_types; t++) {
        inlay_file_layer_options options = inlay_file_layer_options_default();
        options.model = family->model;
        options.part = family->part;
        options.prefix = family->prefix;
        options.out_type = out_types[t];
        inlay_file_layer *layer;
        EXPECT(inlay_file_layer_create(file, &options, &layer, &error) == INLAY_FILE_OK, "%s: %s", family->label,
               error.message);
        const char *report = inlay_file_layer_report(layer);
        char first[64];
        snprintf(first, sizeof first, "model: %s", family->name);
        EXPECT(strncmp(report, first, strlen(first)) == 0, "%s: reported as %s", family->label, report);
        EXPECT(family->says == NULL || strstr(report, family->says) != NULL, "%s: reported as %s", family->label,
               report);
        EXPECT(report[strlen(report) - 1] == '\n', "%s: the report does not end", family->label);
        EXPECT(inlay_file_layer_start(layer) == family->start, "%s: start %lld", family->label,
               (long long)inlay_file_layer_start(layer));
        char follows[256] = "";
        const char *what, *tensor;
        for (size_t i = 0; (what = inlay_file_layer_remaining_op(layer, i, &tensor)) != NULL; i++)
            snprintf(follows + strlen(follows), sizeof follows - strlen(follows), "%s %s;", what,
                     tensor != NULL ? tensor : "");
        EXPECT(strcmp(follows, family->remaining_ops != NULL ? family->remaining_ops : "") == 0, "%s: followed by %s",
               family->label, follows);
        compare(family, layer, out_types[t]);
        inlay_file_layer_destroy(layer);
    }
    inlay_file_close(file);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("layers of files");
    TCase *tests = tcase_create("families");
    tcase_set_timeout(tests, 0);
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_loop_test(tests, layers_of_families, 0, sizeof families / sizeof *families);
    suite_add_tcase(suite, tests);
    return run_suite(argc, argv, suite);
}
