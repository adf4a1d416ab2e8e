/* SPDX-License-Identifier: MIT */
/*
 * The families of models. Names of tensors and keys, and defaults, follow transformers 5.24
 * (models/NAME/modeling_NAME.py and configuration_NAME.py) and gguf 0.19; input layers of GGUF files follow the graphs
 * of llama.cpp (src/models/NAME.cpp). An architecture in no list has no graph there, reads other rows, or was not
 * examined. A family is an entry here and nothing else.
 */
#include "models/models.h"

#include "handle.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define STEPS(...) ((const struct inlay_model_step[]){__VA_ARGS__, {0}})
#define NAMES(...) ((const struct inlay_model_names[]){__VA_ARGS__, {0}})

/* ---- Shared by several families --------------------------------------------------------------------------------- */

/* For GGUF files. */
#define GGUF_TOKENS .tokens = "token_embd.weight"
#define GGUF_POSITIONS .positions = "position_embd.weight"
#define GGUF_SEGMENTS_IF_ANY .segments = "?token_types.weight"
#define GGUF_NORM .gamma = "token_embd_norm.weight", .beta = "token_embd_norm.bias"

/* For BERT's embeddings class, which many models use. */
#define BERT_WORDS .tokens = "embeddings.word_embeddings.weight"
#define BERT_TOKENS BERT_WORDS, .positions = "embeddings.position_embeddings.weight"
#define BERT_SEGMENTS .segments = "embeddings.token_type_embeddings.weight"
#define BERT_NORM .gamma = "embeddings.LayerNorm.weight", .beta = "embeddings.LayerNorm.bias"
#define BERT_ALL BERT_TOKENS, BERT_SEGMENTS, BERT_NORM
/* TensorFlow's names of the norm: transformers still reads such files. */
#define BERT_OLD_NORM .gamma = "embeddings.LayerNorm.gamma", .beta = "embeddings.LayerNorm.beta"

/* For encoder-decoder models. The token table is shared or belongs to a side; the other terms belong to a side. */
#define ENCODER_DECODER .prefixes = LIST("model.", ""), .dim = "d_model", .has_decoder = true
#define SHARED .tokens = "shared.weight"
#define ENCODER_TOKENS .tokens = "encoder.embed_tokens.weight"
#define DECODER_TOKENS .tokens = "decoder.embed_tokens.weight"
/* terms: a macro of names that takes a side, such as BART_TERMS. */
#define OF_ENCODER(terms) NAMES({SHARED, terms("encoder")}, {ENCODER_TOKENS, terms("encoder")})
#define OF_A_SIDE(terms)                                                                                               \
    NAMES({SHARED, terms("encoder")}, {ENCODER_TOKENS, terms("encoder")}, {DECODER_TOKENS, terms("decoder")})
#define POSITIONS(side) .positions = side ".embed_positions.weight"
#define POSITIONS_IF_ANY(side) .positions = "?" side ".embed_positions.weight"
#define BART_NORM(side) .gamma = side ".layernorm_embedding.weight", .beta = side ".layernorm_embedding.bias"
#define BART_TERMS(side) POSITIONS(side), BART_NORM(side)
#define PROPHET_POSITIONS(side) .positions = side ".position_embeddings.weight"
#define PROPHET_NORM .gamma = "encoder.embeddings_layer_norm.weight", .beta = "encoder.embeddings_layer_norm.bias"

/* Prefixes of the language model, alone or in a multimodal model. */
#define LANGUAGE_PREFIXES                                                                                              \
    .prefixes =                                                                                                        \
        LIST("model.", "", "model.language_model.", "language_model.model.", "language_model.", "gpt_neox.",           \
             "transformer.", "backbone.", "model.decoder.", "gpt_neox_japanese.", "rwkv.", "ultrabert.", "esmc.")
#define LANGUAGE_MODEL LANGUAGE_PREFIXES, .names = NAMES({.tokens = "embed_tokens.weight"})
#define LANGUAGE_MODEL_OR_GGUF LANGUAGE_PREFIXES, .names = NAMES({.tokens = "embed_tokens.weight"}, {GGUF_TOKENS})
/* The names of the token table in models that apply positions in attention. */
#define TABLE_NAMES                                                                                                    \
    NAMES({.tokens = "embed_tokens.weight"}, {.tokens = "embed.weight"}, {.tokens = "embed_in.weight"},                \
          {.tokens = "wte.weight"}, {.tokens = "word_embeddings.weight"}, {.tokens = "tok_embeddings.weight"},         \
          {.tokens = "embeddings.weight"}, {.tokens = "embedding.weight"}, {.tokens = "word_embedding.weight"},        \
          {BERT_WORDS}, {GGUF_TOKENS})

/* Rules with their keys of config.json, or null, and their defaults. */
#define OTHERS(...) ((const struct inlay_type_default[]){__VA_ARGS__, {0}})
/* The third argument, if any, is OTHERS: the types with another default. */
#define LAYER_NORM(key, ...)                                                                                           \
    .norm = INLAY_NORM_LAYER, .epsilon = {key, "attention.layer_norm_epsilon", .otherwise = __VA_ARGS__}
#define RMS_NORM(...)                                                                                                  \
    .norm = INLAY_NORM_RMS, .epsilon = {"rms_norm_eps", "attention.layer_norm_rms_epsilon", .otherwise = __VA_ARGS__}
#define BERT_CLASS .names = NAMES({BERT_ALL}), LAYER_NORM("layer_norm_eps", 1e-12)
#define SCALE_IF(key, value) .scale = INLAY_MODEL_SCALE_FLAG, .scale_key = {key, NULL, .otherwise = value}
#define SCALE_BY(key, gguf, ...) .scale = INLAY_MODEL_SCALE_NUMBER, .scale_key = {key, gguf, .otherwise = __VA_ARGS__}
/* As in RoBERTa, padding keeps its row and gets the position before the first one. */
#define AFTER_PADDING(key, ...)                                                                                        \
    .after_padding = true, .padding_aware = true, .padding = {key, NULL, .otherwise = __VA_ARGS__}
#define ROBERTA_POSITIONS(...) AFTER_PADDING(__VA_ARGS__), .zero_rows = INLAY_ZERO_ROWS_TABLE

/* Each row is a family: its name, how it is detected, the names of its tensors, and its rules. */
static const struct inlay_model models[] = {
    {"bert", .detected_by_tensors = true,
     .types = LIST("bert", "splinter", "squeezebert", "visual_bert", "align_text_model", "chinese_clip_text_model",
                   "bros", "ernie", "dpr", "flava_text_model"),
     .architectures = LIST("bert"),
     .prefixes = LIST("bert.", "", "splinter.", "transformer.", "visual_bert.", "bros.", "ernie.",
                      "question_encoder.bert_model.", "ctx_encoder.bert_model.", "span_predictor.encoder.bert_model."),
     .names = NAMES({BERT_ALL}, {BERT_TOKENS, BERT_SEGMENTS, BERT_OLD_NORM},
                    {GGUF_TOKENS, GGUF_POSITIONS, GGUF_SEGMENTS_IF_ANY, GGUF_NORM}),
     LAYER_NORM("layer_norm_eps", 1e-12),
     .remaining_ops = STEPS({"task types", "embeddings.task_type_embeddings.weight", INLAY_MODEL_NORM})},
    {"layoutlm", BERT_CLASS, .positions_first = true,
     .remaining_ops = STEPS({"layout", "embeddings.x_position_embeddings.weight", INLAY_MODEL_SEGMENTS})},
    {"layoutlmv3", .names = NAMES({BERT_ALL}), ROBERTA_POSITIONS("pad_token_id", 1), LAYER_NORM("layer_norm_eps", 1e-5),
     .remaining_ops = STEPS({"layout", "embeddings.x_position_embeddings.weight", INLAY_MODEL_NORM})},
    {"markuplm", BERT_CLASS, ROBERTA_POSITIONS("pad_token_id", 0), .positions_first = true,
     .remaining_ops = STEPS({"xpaths", "embeddings.xpath_embeddings.xpath_unitseq2_inner.weight", INLAY_MODEL_NORM})},
    {"big_bird", .prefixes = LIST("bert.", ""), BERT_CLASS, SCALE_IF("rescale_embeddings", 0)},
    {"bert-generation", .types = LIST("bert-generation", "blip_text_model"), .prefixes = LIST("bert.", ""),
     .names = NAMES({BERT_TOKENS, BERT_NORM}), LAYER_NORM("layer_norm_eps", 1e-12)},
    {"roc_bert", BERT_CLASS, .demanded = {"concat_input", NULL, .otherwise = 1},
     .remaining_ops = STEPS({"shapes", "embeddings.shape_embed.weight", INLAY_MODEL_SEGMENTS},
                            {"pronunciations", "embeddings.pronunciation_embed.weight", INLAY_MODEL_SEGMENTS},
                            {"projection", "embeddings.map_inputs_layer.weight", INLAY_MODEL_SEGMENTS})},
    {"whisper", ENCODER_DECODER, .names = NAMES({DECODER_TOKENS, POSITIONS("decoder")})},
    {"inkling2", .types = LIST("inkling2_text"), .prefixes = LIST("model.llm.", ""),
     .names = NAMES({.tokens = "embed.weight", .gamma = "embed_norm.weight"}), RMS_NORM(1e-6)},
    {"megatron-bert", .prefixes = LIST("bert.", ""), .names = NAMES({BERT_TOKENS, BERT_SEGMENTS})},
    {"fnet", BERT_CLASS, .remaining_ops = STEPS({"projection", "embeddings.projection.weight", INLAY_MODEL_END})},
    {"lxmert", .names = NAMES({BERT_ALL}), LAYER_NORM(NULL, 1e-12), .positions_first = true},
    {"nystromformer", .types = LIST("nystromformer", "yoso", "mra"),
     .prefixes = LIST("nystromformer.", "yoso.", "mra.", ""), .names = NAMES({BERT_ALL}),
     LAYER_NORM("layer_norm_eps", 1e-5, OTHERS({"yoso", 1e-12})), .start = 2},
    {"mobilebert", .names = NAMES({BERT_WORDS}), .dim = "embedding_size",
     .remaining_ops = STEPS({"trigrams", NULL, INLAY_MODEL_END},
                            {"projection", "?embeddings.embedding_transformation.weight", INLAY_MODEL_END},
                            {"positions", "embeddings.position_embeddings.weight", INLAY_MODEL_END},
                            {"segments", "embeddings.token_type_embeddings.weight", INLAY_MODEL_END},
                            {"norm", "embeddings.LayerNorm.weight", INLAY_MODEL_END})},
    {"roformer", .types = LIST("roformer", "nomic_bert", "gte", "jina_embeddings_v3"),
     .architectures = LIST("nomic-bert", "nomic-bert-moe", "jina-bert-v3"),
     .prefixes = LIST("roformer.", "nomic_bert.", "model.", "", "roberta.", "gte.", "jina_embeddings_v3.", "new."),
     .names = NAMES({BERT_WORDS, .segments = "?embeddings.token_type_embeddings.weight", BERT_NORM},
                    {BERT_WORDS, .segments = "?embeddings.token_type_embeddings.weight", .gamma = "emb_ln.weight",
                     .beta = "emb_ln.bias"},
                    {GGUF_TOKENS, GGUF_SEGMENTS_IF_ANY, GGUF_NORM}),
     .any_dim = true, LAYER_NORM("layer_norm_eps", 1e-12, OTHERS({"jina_embeddings_v3", 1e-5})),
     .remaining_ops = STEPS({"projection", "embeddings_project.weight", INLAY_MODEL_END})},
    {"jina-bert-v2", .types = LIST(NULL), .architectures = LIST("jina-bert-v2"),
     .names = NAMES({GGUF_TOKENS, .segments = "token_types.weight", GGUF_NORM}), LAYER_NORM(NULL, 1e-12)},
    {"funnel",
     .names = NAMES({BERT_WORDS, .gamma = "embeddings.layer_norm.weight", .beta = "embeddings.layer_norm.bias"}),
     .dim = "d_model", LAYER_NORM("layer_norm_eps", 1e-9)},
    {"deberta", .types = LIST("deberta", "deberta-v2"),
     .names = NAMES({BERT_WORDS, .positions = "?embeddings.position_embeddings.weight",
                     .segments = "?embeddings.token_type_embeddings.weight", BERT_NORM}),
     .types_key = {"type_vocab_size", NULL, .otherwise = 0}, .any_dim = true, LAYER_NORM("layer_norm_eps", 1e-7),
     .positions_first = true, .remaining_ops = STEPS({"projection", "embeddings.embed_proj.weight", INLAY_MODEL_NORM})},
    {"xlm", .types = LIST("xlm", "flaubert"), .prefixes = LIST("transformer.", ""),
     .names = NAMES({.tokens = "embeddings.weight",
                     .positions = "position_embeddings.weight",
                     .gamma = "layer_norm_emb.weight",
                     .beta = "layer_norm_emb.bias"}),
     .dim = "emb_dim", LAYER_NORM("layer_norm_eps", 1e-12)},
    {"electra", .detected_by_tensors = true, .types = LIST("electra", "convbert", "albert"),
     .prefixes = LIST("electra.", "convbert.", "albert.", ""), BERT_CLASS, .dim = "embedding_size",
     .remaining_ops = STEPS({"projection", "embeddings_project.weight", INLAY_MODEL_END},
                            {"projection", "encoder.embedding_hidden_mapping_in.weight", INLAY_MODEL_END})},
    {"rembert", BERT_CLASS, .dim = "input_embedding_size",
     .remaining_ops = STEPS({"projection", "encoder.embedding_hidden_mapping_in.weight", INLAY_MODEL_END})},
    {"roberta", .detected_by_tensors = true,
     .types = LIST("roberta", "xlm-roberta", "camembert", "data2vec-text", "xmod", "ibert", "roberta-prelayernorm",
                   "lilt", "altclip_text_model", "bridgetower_text_model", "clap_text_model"),
     .prefixes = LIST("roberta.", "data2vec_text.", "", "roberta_prelayernorm.", "ibert.", "lilt."),
     .names = NAMES({BERT_ALL}, {BERT_TOKENS, BERT_SEGMENTS, BERT_OLD_NORM}),
     ROBERTA_POSITIONS("pad_token_id", 1, OTHERS({"lilt", 0})),
     LAYER_NORM("layer_norm_eps", 1e-12, OTHERS({"altclip_text_model", 1e-5}, {"bridgetower_text_model", 1e-5}))},
    {"longformer", .types = LIST("longformer", "luke"), .prefixes = LIST("longformer.", "luke.", ""), BERT_CLASS,
     ROBERTA_POSITIONS("pad_token_id", 1), .positions_first = true},
    {"xlm-roberta-xl", .prefixes = LIST("roberta.", ""), .names = NAMES({BERT_TOKENS, BERT_SEGMENTS}),
     ROBERTA_POSITIONS("pad_token_id", 1)},
    {"mpnet", .detected_by_tensors = true, .names = NAMES({BERT_TOKENS, BERT_NORM}), ROBERTA_POSITIONS(NULL, 1),
     LAYER_NORM("layer_norm_eps", 1e-12)},
    {"distilbert", .detected_by_tensors = true,
     .names = NAMES({BERT_WORDS, .positions = "?embeddings.position_embeddings.weight", BERT_NORM}), .dim = "dim",
     .recipe = INLAY_RECIPE_NUMPY_FP64, .sinusoid = {"sinusoidal_pos_embds", NULL, .otherwise = 0},
     LAYER_NORM(NULL, 1e-12)},
    {"modernbert", .detected_by_tensors = true, .types = LIST("modernbert", "modernbert-decoder"),
     .architectures = LIST("modern-bert"), .prefixes = LIST("model.", ""),
     .names = NAMES({.tokens = "embeddings.tok_embeddings.weight",
                     .gamma = "embeddings.norm.weight",
                     .beta = "?embeddings.norm.bias"},
                    {GGUF_TOKENS, .gamma = "token_embd_norm.weight"}),
     LAYER_NORM("norm_eps", 1e-5)},
    {"gpt2", .detected_by_tensors = true, .types = LIST("gpt2", "gpt_bigcode", "gpt_neo", "imagegpt", "gpt-sw3"),
     .architectures = LIST("gpt2", "starcoder"), .prefixes = LIST("", "transformer."),
     .names = NAMES({.tokens = "wte.weight", .positions = "wpe.weight"}, {GGUF_TOKENS, GGUF_POSITIONS}),
     .dim = "n_embd"},
    {"mpt", .architectures = LIST("mpt"), .prefixes = LIST("transformer.", ""),
     .names = NAMES({.tokens = "wte.weight"}, {GGUF_TOKENS, .positions = "?position_embd.weight"}), .dim = "d_model"},
    {"openai-gpt", .prefixes = LIST("transformer.", ""),
     .names = NAMES({.tokens = "tokens_embed.weight", .positions = "positions_embed.weight"}), .dim = "n_embd"},
    {"clip",
     .types =
         LIST("clip_text_model", "siglip_text_model", "siglip2_text_model", "metaclip_2_text_model", "aimv2_text_model",
              "clipseg_text_model", "groupvit_text_model", "owlv2_text_model", "owlvit_text_model", "xclip_text_model"),
     .prefixes = LIST("text_model.", ""),
     .names =
         NAMES({.tokens = "embeddings.token_embedding.weight", .positions = "embeddings.position_embedding.weight"})},
    {"ctrl", .prefixes = LIST("transformer.", ""), .names = NAMES({.tokens = "w.weight"}), .dim = "n_embd",
     SCALE_IF(NULL, 1), .remaining_ops = STEPS({"positions", NULL, INLAY_MODEL_END})},
    {"reformer", .names = NAMES({BERT_WORDS}), .remaining_ops = STEPS({"positions", NULL, INLAY_MODEL_END})},
    {"biogpt", .names = NAMES({.tokens = "embed_tokens.weight", .positions = "embed_positions.weight"}), .start = 2,
     SCALE_IF("scale_embedding", 1)},
    {"xglm", .prefixes = LIST("model.", ""), .names = NAMES({.tokens = "embed_tokens.weight"}), .dim = "d_model",
     .start = 2, .recipe = INLAY_RECIPE_FAIRSEQ, SCALE_IF("scale_embedding", 1)},
    {"opt", .detected_by_tensors = true, .prefixes = LIST("model.decoder.", "decoder."),
     .names = NAMES({.tokens = "embed_tokens.weight", .positions = "embed_positions.weight"}),
     .dim = "word_embed_proj_dim", .start = 2, .padding_aware = true, .padding = {"pad_token_id", NULL, .otherwise = 1},
     .zero_rows = INLAY_ZERO_ROWS_TABLE,
     .remaining_ops = STEPS({"projection", "project_in.weight", INLAY_MODEL_POSITIONS})},
    {"bloom", .detected_by_tensors = true, .architectures = LIST("bloom", "rwkv6", "rwkv7"),
     .prefixes = LIST("", "transformer."),
     .names = NAMES({.tokens = "word_embeddings.weight",
                     .gamma = "word_embeddings_layernorm.weight",
                     .beta = "word_embeddings_layernorm.bias"},
                    {GGUF_TOKENS, GGUF_NORM}),
     LAYER_NORM("layer_norm_epsilon", 1e-5)},
    {"bart", .detected_by_tensors = true, .types = LIST("bart", "mbart", "mvp", "trocr"), ENCODER_DECODER,
     .names = OF_A_SIDE(BART_TERMS), .start = 2, LAYER_NORM(NULL, 1e-5), SCALE_IF("scale_embedding", 0)},
    {"plbart", ENCODER_DECODER, .names = OF_A_SIDE(BART_TERMS), .start = 2, LAYER_NORM(NULL, 1e-5),
     SCALE_IF("scale_embedding", 1)},
    {"led", .names = OF_ENCODER(BART_TERMS), .has_decoder = true, .dim = "d_model", LAYER_NORM(NULL, 1e-5)},
    {"blenderbot-small", .prefixes = LIST("model.", ""), .names = OF_ENCODER(BART_TERMS), .dim = "d_model",
     LAYER_NORM(NULL, 1e-5), SCALE_IF("scale_embedding", 0)},
    {"blenderbot-small", .part = "decoder", .detected_by_tensors = true, .prefixes = LIST("model.", ""),
     .names = NAMES({SHARED, BART_NORM("decoder")}, {DECODER_TOKENS, BART_NORM("decoder")}), .dim = "d_model",
     LAYER_NORM(NULL, 1e-5), .remaining_ops = STEPS({"positions", "decoder.embed_positions.weight", INLAY_MODEL_END})},
    {"blenderbot", ENCODER_DECODER, .names = OF_A_SIDE(POSITIONS), SCALE_IF("scale_embedding", 0)},
    {"bigbird_pegasus", ENCODER_DECODER, .names = OF_A_SIDE(POSITIONS), SCALE_IF("scale_embedding", 1)},
    {"prophetnet",
     .names = NAMES({.tokens = "word_embeddings.weight", PROPHET_POSITIONS("encoder"), PROPHET_NORM},
                    {.tokens = "encoder.word_embeddings.weight", PROPHET_POSITIONS("encoder"), PROPHET_NORM}),
     .after_padding = true, .padding = {"pad_token_id", NULL, .otherwise = 0}, LAYER_NORM(NULL, 1e-5)},
    {"prophetnet", .part = "decoder", .detected_by_tensors = true,
     .names = NAMES({.tokens = "word_embeddings.weight", PROPHET_POSITIONS("decoder")},
                    {.tokens = "decoder.word_embeddings.weight", PROPHET_POSITIONS("decoder")}),
     .after_padding = true, .padding = {"pad_token_id", NULL, .otherwise = 0},
     .remaining_ops = STEPS({"streams", "decoder.ngram_embeddings.weight", INLAY_MODEL_END},
                            {"norm", "decoder.embeddings_layer_norm.weight", INLAY_MODEL_END})},
    {"pegasus_x", ENCODER_DECODER, .names = NAMES({SHARED}, {ENCODER_TOKENS}), .recipe = INLAY_RECIPE_FAIRSEQ,
     SCALE_IF("scale_embedding", 1)},
    {"marian", .detected_by_tensors = true, .types = LIST("marian", "pegasus"), ENCODER_DECODER,
     .names = OF_A_SIDE(POSITIONS_IF_ANY), .recipe = INLAY_RECIPE_HF_MARIAN, SCALE_IF("scale_embedding", 0)},
    {"m2m_100", .detected_by_tensors = true, .types = LIST("m2m_100", "nllb-moe", "fsmt"), ENCODER_DECODER,
     .names = OF_ENCODER(POSITIONS_IF_ANY), AFTER_PADDING("pad_token_id", 1), .recipe = INLAY_RECIPE_FAIRSEQ,
     SCALE_IF("scale_embedding", 1)},
    {"t5", .detected_by_tensors = true, .types = LIST("t5", "mt5", "umt5", "longt5", "switch_transformers"),
     .architectures = LIST("t5", "t5encoder"), .has_decoder = true, .prefixes = LIST("", "transformer."),
     .names = NAMES({SHARED}, {ENCODER_TOKENS}, {GGUF_TOKENS}), .dim = "d_model"},
    {"llama", .detected_by_tensors = true,
     .types =
         LIST("llama", "llama4", "llama4_text", "mistral", "mistral3", "ministral", "ministral3", "mixtral", "qwen2",
              "qwen2_moe", "qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text", "qwen3", "qwen3_moe",
              "qwen3_next", "qwen3_vl", "qwen3_vl_text", "qwen3_vl_moe", "qwen3_vl_moe_text", "qwen3_5", "qwen3_5_text",
              "qwen3_5_moe", "qwen3_5_moe_text", "deepseek_v2", "deepseek_v3", "deepseek_v32", "phi", "phi3", "phimoe",
              "olmo", "olmo2", "olmo3", "olmoe", "gpt_oss", "smollm3", "glm", "glm4", "glm4_moe", "cohere", "cohere2",
              "exaone4", "ernie4_5", "nemotron", "seed_oss", "stablelm", "starcoder2", "gpt_neox"),
     .architectures = LIST(
         "llama", "llama4", "mistral3", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen3moe", "qwen3next", "qwen3vl",
         "qwen3vlmoe", "qwen35", "qwen35moe", "deepseek2", "phi2", "phi3", "phimoe", "olmo", "olmo2", "olmoe",
         "gpt-oss", "smollm3", "glm4", "glm4moe", "command-r", "cohere2", "exaone4", "nemotron", "stablelm",
         "starcoder2", "gptneox", "deci", "falcon", "baichuan", "refact", "neo-bert", "eurobert", "qwen", "plamo",
         "plamo2", "plamo3", "codeshell", "orion", "internlm2", "rwkv6qwen2", "arwkv7", "mamba", "mamba2", "jamba",
         "xverse", "dbrx", "openelm", "arctic", "deepseek", "deepseek2-ocr", "chatglm", "glm-dsa", "bitnet", "jais",
         "jais2", "nemotron_h", "nemotron_h_moe", "exaone", "exaone-moe", "chameleon", "plm", "bailingmoe",
         "bailingmoe2", "dots1", "arcee", "ernie4_5", "ernie4_5-moe", "falcon-h1", "hunyuan-moe", "hunyuan-dense",
         "hunyuan_vl", "dream", "smallthinker", "llada", "llada-moe", "seed_oss", "grovemoe", "apertus", "minimax-m2",
         "cogvlm", "rnd1", "pangu-embedded", "mistral4", "paddleocr", "mimo2", "step35", "llama-embed", "maincoder",
         "kimi-linear", "bailingmoe3", "cohere2moe", "deepseek32", "dots3note", "hy_v3", "kimi-k3", "laguna", "maple",
         "mellum", "minimax-01", "minimax-m3", "nanbeige", "spark2_5"),
     LANGUAGE_PREFIXES,
     .names = NAMES({.tokens = "embed_tokens.weight"}, {.tokens = "embed.weight"}, {.tokens = "embed_in.weight"},
                    {GGUF_TOKENS})},
    {"granite", .detected_by_tensors = true,
     .types = LIST("granite", "granitemoe", "granitemoehybrid", "granitemoeshared", "falcon_h1", "granite_docling_text",
                   "granite_swa", "granitemoe_swa", "hyperclovax"),
     .architectures = LIST("granite", "granitemoe", "granitehybrid", "granite_swa", "minicpm", "grok"),
     LANGUAGE_MODEL_OR_GGUF,
     SCALE_BY("embedding_multiplier", "embedding_scale", 1,
              OTHERS({"granite_docling_text", 12}, {"minicpm", 12}, {"grok", 78.38367176906169}))},
    {"gemma", .detected_by_tensors = true,
     .types = LIST("gemma", "gemma2", "gemma3", "gemma3_text", "gemma3n", "gemma3n_text", "gemma4", "gemma4_text",
                   "vaultgemma", "embedding_gemma2_text", "gemma4_unified_text"),
     .architectures = LIST("gemma", "gemma2", "gemma3", "gemma3n", "gemma4", "gemma-embedding", "afmoe"),
     LANGUAGE_MODEL_OR_GGUF, .scale = INLAY_MODEL_SCALE_SQRT,
     /* Gemma 3n has several streams after its table. */
     .remaining_ops = STEPS({"streams", "altup_projections.0.weight", INLAY_MODEL_END},
                            {"streams", "altup_proj.weight", INLAY_MODEL_END})},
    {"t5gemma", .prefixes = LIST("model.", ""), .names = NAMES({ENCODER_TOKENS}, {SHARED}), .has_decoder = true,
     .any_dim = true, .scale = INLAY_MODEL_SCALE_SQRT},
    {"seamless_m4t", .types = LIST("seamless_m4t", "seamless_m4t_v2"), .prefixes = LIST(""), .names = NAMES({SHARED}),
     .has_decoder = true, AFTER_PADDING("pad_token_id", 0), .recipe = INLAY_RECIPE_FAIRSEQ,
     SCALE_IF("scale_embedding", 1)},
    {"hrm_text", .architectures = LIST("hrm_text"), LANGUAGE_MODEL_OR_GGUF,
     SCALE_BY("embedding_scale", "embedding_scale", NAN), .remaining_ops = STEPS({"cycles", NULL, INLAY_MODEL_END})},
    {"afmoe", LANGUAGE_MODEL, SCALE_IF("mup_enabled", 0)},
    /* llama.cpp has no key for it. */
    {"minicpm3", .architectures = LIST("minicpm3"), LANGUAGE_MODEL_OR_GGUF, SCALE_BY("scale_emb", NULL, 12)},
    {"inkling", .types = LIST("inkling_text"), LANGUAGE_PREFIXES,
     .names = NAMES({.tokens = "embed_tokens.weight", .gamma = "embed_tokens.embed_norm.weight"},
                    {.tokens = "embed.weight", .gamma = "embed_norm.weight"}),
     RMS_NORM(1e-6)},
    {"deepseek_v4", .detected_by_tensors = true,
     .types = LIST("deepseek_v4", "hy_v4", "hy_v4_vl_text", "glm5_next_text", "qwen4_exp", "qwen4_exp_text"),
     .architectures = LIST("deepseek4", "deepseek41", "qwen4exp", "hy_v4", "glm5-next"), LANGUAGE_PREFIXES,
     .names = NAMES({.tokens = "embed_tokens.weight"}, {.tokens = "embed.weight"}, {GGUF_TOKENS}),
     .remaining_ops = STEPS({"streams", NULL, INLAY_MODEL_END})},
    {"lfm2", .types = LIST("lfm2", "lfm2_moe", "lfm3"), .architectures = LIST("lfm2", "lfm2moe"),
     LANGUAGE_MODEL_OR_GGUF, .unrelated = "token_embd_norm.weight"},
    {"wavtokenizer", .types = LIST(NULL), .architectures = LIST("wavtokenizer-dec"), .names = NAMES({GGUF_TOKENS}),
     .remaining_ops = STEPS({"convolution", NULL, INLAY_MODEL_END})},
    {"tipsv2", .types = LIST("tipsv2_text_model"), .prefixes = LIST("text_encoder.", ""),
     .names = NAMES({.tokens = "token_embedding.weight"}), .recipe = INLAY_RECIPE_FAIRSEQ,
     SCALE_IF("scale_sqrt_depth", 1)},
    {"videoprism", .types = LIST("videoprism_text_model"), .prefixes = LIST("text_model.", ""),
     .names = NAMES({.tokens = "embeddings.token_embedding.weight", .positions = "embeddings.position_embedding"}),
     SCALE_IF(NULL, 1), .remaining_ops = STEPS({"last token", "embeddings.cls_emb", INLAY_MODEL_END})},
    {"kosmos-2.5", .types = LIST("kosmos_2_5_text_model"), .prefixes = LIST("text_model.model.", "model.", ""),
     .names = NAMES({.tokens = "embed_tokens.weight"}), .dim = "embed_dim", SCALE_IF("scale_embedding", 1),
     .remaining_ops = STEPS({"positions", NULL, INLAY_MODEL_END}, {"segments", "segment_emb.weight", INLAY_MODEL_END})},
    {"recurrent_gemma", LANGUAGE_MODEL, .remaining_ops = STEPS({"scale", NULL, INLAY_MODEL_END})},
    {"cpmant", .names = NAMES({.tokens = "input_embedding.weight"}),
     .remaining_ops =
         STEPS({"prompt", NULL, INLAY_MODEL_END}, {"segments", "segment_embedding.weight", INLAY_MODEL_END})},
    {"tapas", .names = NAMES({BERT_WORDS}),
     .remaining_ops = STEPS({"positions", "embeddings.position_embeddings.weight", INLAY_MODEL_END},
                            {"segments", "embeddings.token_type_embeddings_0.weight", INLAY_MODEL_END},
                            {"norm", "embeddings.LayerNorm.weight", INLAY_MODEL_END})},
    {"nanochat", .types = LIST("nanochat", "muse_glimmer_text", "muse_spark_text"),
     .architectures = LIST("muse-glimmer", "talkie"), LANGUAGE_MODEL_OR_GGUF,
     RMS_NORM(1e-6, OTHERS({"muse_glimmer_text", 1e-5}, {"muse_spark_text", 1e-5}))},
    /* Like "llama", under names that without a configuration could belong to other families. */
    {"table",
     .types = LIST("apertus", "arcee", "aria_text", "axk1", "axk2", "bailing_hybrid", "beam", "bitnet", "codegen",
                   "cohere2_moe", "cosmos3_edge_text", "cwm", "dbrx", "diffllama", "doge", "ernie4_5_moe", "esmc",
                   "eurobert", "exaone_moe", "dots3_note_text", "falcon", "falcon_mamba", "flex_olmo", "flint",
                   "glm4_moe_lite", "glm_moe_dsa", "glm_ocr_text", "gpt_neox_japanese", "gptj", "helium",
                   "higgs_audio_v2", "hunyuan_v1_dense", "hunyuan_v1_moe", "hy_v3", "internlm3", "iquestcoder", "jais2",
                   "jamba", "jetmoe", "kimi_linear", "kolibri1", "laguna", "longcat_flash", "mamba", "mamba2", "mellum",
                   "mimo_v2_flash", "minimax", "minimax_m2", "minimax_m3_vl_text", "mistral4", "mistral_large4_text",
                   "nemotron_h", "olmo_hybrid", "openai_privacy_filter", "persimmon", "rwkv", "solar_open", "ultrabert",
                   "xlnet", "xlstm", "youtu", "zamba", "zamba2"),
     LANGUAGE_PREFIXES, .names = TABLE_NAMES, .any_dim = true},
    {"gemma", .part = "per_layer", .detected_by_tensors = true,
     .types = LIST("gemma3n", "gemma3n_text", "gemma4", "gemma4_text"), .architectures = LIST("gemma3n", "gemma4"),
     LANGUAGE_PREFIXES,
     .names = NAMES({.tokens = "embed_tokens_per_layer.weight"}, {.tokens = "per_layer_token_embd.weight"}),
     .any_dim = true, .scale = INLAY_MODEL_SCALE_SQRT_KEY,
     .scale_key = {"hidden_size_per_layer_input", "embedding_length_per_layer_input", .otherwise = 256},
     .first_for_bad_ids = true},
    {"static", .detected_by_tensors = true, .types = LIST("model2vec"), .prefixes = LIST(""),
     .names = NAMES({.tokens = "embeddings", .mapping = "mapping", .weights = "weights"},
                    {.tokens = "embedding.weight", .mapping = "mapping", .weights = "weights"}),
     .any_dim = true, .epsilon = {NULL, NULL, .otherwise = 1e-32}, .pooling = INLAY_POOLING_MEAN,
     .normalize = {"normalize", NULL, .otherwise = 0}},
};

enum { MODELS = sizeof models / sizeof *models };

/* Types of multimodal models that embed ids as their text model does alone. */
static const char *const *const wholes = LIST(
    "aimv2", "align", "altclip", "aria", "audioflamingo3", "aya_vision", "blip", "blip-2", "bridgetower",
    "chinese_clip", "clap", "clip", "clipseg", "cohere2_vision", "colmodernvbert", "colpali", "colqwen2",
    "cosmos3_edge", "cosmos3_omni", "deepseek_vl", "deepseek_vl_hybrid", "embedding_gemma2", "exaone4_5", "flava",
    "florence2", "fuyu", "gemma4_unified", "glm5_next", "glm_ocr", "glmasr", "got_ocr2", "granite_docling",
    "granite_speech", "granite_speech_plus", "groupvit", "hy_v4_vl", "hyperclovax_vision_v2", "idefics2", "idefics3",
    "inkling_mm_model", "instructblip", "instructblipvideo", "internvl", "kimi_k25", "kosmos-2.5", "lfm2_vl", "lfm3_vl",
    "lighton_ocr", "llava", "llava_next", "llava_next_video", "llava_onevision", "metaclip_2", "minicpm_ocr",
    "minicpmv4_6", "minicpmv4_7", "minimax_m3_vl", "mistral_large4", "modernvbert", "moss_transcribe_diarize",
    "muse_glimmer", "musicflamingo", "omniasr", "ovis2", "owlv2", "owlvit", "paligemma", "pe_audio", "qianfan_ocr",
    "qwen2_audio", "qwen3_asr", "shieldgemma2", "siglip", "siglip2", "smolvlm", "tipsv2", "ultravbert", "video_llama_3",
    "video_llava", "videoprism", "vipllava", "vision-text-dual-encoder", "voxtral", "xclip");

/* Types of multimodal models that put a prefix before those of their text model: the prefixes to try in order, and the
   object of config.json that has the text model's settings or their text_config. Some give it rows instead of ids, so
   the layers of some text models change: positions that depend on ids, and scales. */
static const struct {
    const char *const *types, *const *prefixes;
    const char *object;            /* null: config.json itself */
    const char *const *given_rows; /* the types of text models whose layers are then the same; null: all */
} renamed[] = {
    {.types = LIST("granite_docling", "idefics2", "idefics3", "modernvbert", "smolvlm", "ultravbert"),
     .prefixes = LIST("model.text_model.", "text_model.")},
    /* The encoder embeds questions, and models of captions have only a decoder. */
    {.types = LIST("blip"), .prefixes = LIST("text_model.", "text_encoder.", "text_decoder.")},
    {.types = LIST("colmodernvbert"), .prefixes = LIST("vlm.text_model."), .object = ".vlm_config"},
    {.types = LIST("colpali", "colqwen2"), .prefixes = LIST("vlm."), .object = ".vlm_config"},
    {.types = LIST("florence2"),
     .prefixes = LIST("language_model.", "model.language_model."),
     .given_rows = LIST("bart", "bigbird_pegasus", "blenderbot", "led", "mbart", "plbart", "t5", "umt5")},
    {.types = LIST("grounding-dino", "mm-grounding-dino"), .prefixes = LIST("text_backbone.", "model.text_backbone.")},
    {.types = LIST("pi0"), .prefixes = LIST("vlm.", "paligemma_with_expert.paligemma.model."), .object = ".vlm_config"},
    {.types = LIST("shieldgemma2"), .prefixes = LIST("model.model.")},
    {.types = LIST("align", "altclip", "bridgetower", "chinese_clip", "clap", "pe_audio", "vision-text-dual-encoder"),
     .prefixes = LIST("text_model.")},
    {.types = LIST("flava"), .prefixes = LIST("text_model.", "flava.text_model.")},
    {.types = LIST("owlvit"), .prefixes = LIST("", "owlvit.")},
    {.types = LIST("owlv2"), .prefixes = LIST("", "owlv2.")},
    {.types = LIST("blip-2", "instructblip", "instructblipvideo"),
     .prefixes = LIST("language_model."),
     .given_rows = LIST("bart", "bigbird_pegasus", "biogpt", "blenderbot", "bloom", "gemma", "gpt2", "gpt_neox",
                        "granite", "led", "llama", "longt5", "marian", "mbart", "mistral", "mt5", "opt", "pegasus_x",
                        "phi", "plbart", "qwen2", "switch_transformers", "t5", "umt5", "xglm")},
    {.types = LIST("inkling_mm_model"), .prefixes = LIST("", "model.llm.")},
};

const char *inlay_file_model_at(size_t index)
{
    for (size_t i = 0; i < MODELS; i++)
        if (models[i].part == NULL && index-- == 0)
            return models[i].name;
    return NULL;
}

static bool same(const char *one, const char *other)
{
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

static bool is_in(const char *const *list, const char *text)
{
    while (*list != NULL && strcmp(text, *list) != 0)
        list++;
    return *list != NULL;
}

/* Returns true if a family has that name in config.json or in GGUF files. */
static bool is_called(const struct inlay_model *model, const char *text, bool is_gguf)
{
    const char *const *names = is_gguf ? model->architectures : model->types;
    return names != NULL ? is_in(names, text) : !is_gguf && strcmp(text, model->name) == 0;
}

/* Returns true if a family has the given part. */
static bool has_part(const struct inlay_model *model, const char *part)
{
    return same(model->part, part) || (model->has_decoder && same(part, INLAY_MODEL_DECODER));
}

const struct inlay_model *inlay_model_from_name(const char *name, const char *part)
{
    for (size_t i = 0; i < MODELS; i++)
        if (has_part(&models[i], part) && strcmp(models[i].name, name) == 0)
            return &models[i];
    return NULL;
}

/* Returns the first family with a part that has that name in config.json or in GGUF files, or null. */
static const struct inlay_model *family_of_type(const char *type, const char *part, bool is_gguf)
{
    for (size_t i = 0; i < MODELS; i++)
        if (has_part(&models[i], part) && is_called(&models[i], type, is_gguf))
            return &models[i];
    return NULL;
}

/* Returns true if an object of config.json is a model that embeds ids as its text model does alone, or a text model. */
static bool is_known_object(const struct inlay_found_model *found, const char *object)
{
    char key[64];
    snprintf(key, sizeof key, "config%s.model_type", object);
    const inlay_file_value *type = inlay_file_find_value(found->settings.file, key);
    return type != NULL && type->kind == INLAY_FILE_VALUE_STRING &&
           (is_in(wholes, type->text) || family_of_type(type->text, found->part, false) != NULL);
}

/* Finds the place of settings, and unless the caller chose the family, the prefixes before those of the family. With a
   given prefix, settings are those of config.json itself. */
static void find_renamed(struct inlay_found_model *found)
{
    const inlay_file_value *type = inlay_file_find_value(found->settings.file, "config.model_type");
    const bool is_text = type != NULL && type->kind == INLAY_FILE_VALUE_STRING;
    const char *object = NULL;
    for (size_t i = 0; is_text && i < sizeof renamed / sizeof *renamed; i++)
        if (is_in(renamed[i].types, type->text)) {
            found->first = found->model == NULL ? renamed[i].prefixes : NULL;
            found->given_rows = renamed[i].given_rows;
            object = renamed[i].object;
        }
    if (found->is_prefix_given)
        return;
    found->is_other_object = object != NULL && !is_known_object(found, object);
    inlay_settings_enter(&found->settings, object);
}

/* Records the family named by the files. A family of the options takes precedence; a different one is noted. */
static void note_family(struct inlay_found_model *found, const struct inlay_model *model,
                        const inlay_file_value *stated, bool is_gguf)
{
    if (found->model == NULL)
        found->model = model;
    if (strcmp(found->model->name, model->name) != 0) {
        found->other = model;
        found->other_key = stated->key;
    } else if (!is_gguf)
        found->settings.type = stated->text;
}

/* Finds the family that config.json or the metadata of GGUF name, in that order. *stated is the value that names one,
   or stays null; then, and if the family is unknown, found->model is not changed. */
static bool find_detected(struct inlay_found_model *found, const inlay_file_value **stated)
{
    static const struct inlay_key type_key = {"model_type", .may_be_null = true};
    const inlay_file *file = found->settings.file;
    const bool is_nested = strcmp(found->settings.config, "config") != 0;
    enum { WHOLE, NESTED, GGUF, PLACES };
    const inlay_file_value *const values[PLACES] = {
        [WHOLE] = inlay_file_find_value(file, "config.model_type"),
        [NESTED] = is_nested ? inlay_settings_value(&found->settings, type_key.config, NULL) : NULL,
        [GGUF] = inlay_file_find_value(file, "general.architecture"),
    };
    for (int k = 0; k < PLACES; k++) {
        const inlay_file_value *value = values[k];
        if (value == NULL)
            continue;
        if (value->kind != INLAY_FILE_VALUE_STRING)
            return inlay_file_fail(found->settings.error, INLAY_FILE_ERROR_MODEL, NULL, value->key,
                                   "it is not a string");
        const inlay_file_value *whole = *stated;
        *stated = value;
        if (found->model == NULL)
            found->detected_by = k == GGUF ? "GGUF metadata" : "config.json";
        const struct inlay_model *model = family_of_type(value->text, found->part, k == GGUF);
        if (model != NULL) {
            found->is_part = found->model == NULL && k == NESTED &&
                             (found->is_other_object || whole == NULL || !is_in(wholes, whole->text) ||
                              (found->given_rows != NULL && !is_in(found->given_rows, value->text)));
            note_family(found, model, value, k == GGUF);
            return true;
        }
    }
    return *stated != NULL || inlay_settings_check_odd(&found->settings, &type_key, "a string");
}

/* Finds the only family whose tensors are in a file. */
static bool find_by_tensors(struct inlay_found_model *found)
{
    const struct inlay_found_model nothing = *found;
    size_t fitting = 0;
    char list[128] = "";
    for (size_t i = 0; i < MODELS; i++) {
        struct inlay_found_model candidate = nothing;
        candidate.model = &models[i];
        if (!has_part(&models[i], found->part) || !models[i].detected_by_tensors || !inlay_model_find_names(&candidate))
            continue;
        *found = candidate;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", fitting++ > 0 ? ", " : "", models[i].name);
    }
    if (fitting == 0)
        return inlay_file_fail(found->settings.error, INLAY_FILE_ERROR_MODEL, NULL, NULL,
                               "neither config.json nor metadata names a model, and its tensors match none");
    if (fitting > 1)
        return inlay_file_fail(found->settings.error, INLAY_FILE_ERROR_MODEL, NULL, NULL,
                               "neither config.json nor metadata names a model, and its tensors match several: %s",
                               list);
    return true;
}

/* Finds the names of the family. *stated names the model, or is null. */
static bool find_names(struct inlay_found_model *found, const inlay_file_value *stated)
{
    char full[INLAY_MODEL_NAME_ROOM];
    if (found->model == NULL && stated == NULL && found->is_prefix_given)
        return inlay_file_fail(found->settings.error, INLAY_FILE_ERROR_MODEL, NULL, NULL,
                               "config.json does not name a model: with a prefix, pass its family as `model`");
    if (found->model == NULL && stated == NULL)
        return find_by_tensors(found);
    if (found->model == NULL && found->part != NULL)
        return inlay_file_fail(found->settings.error, INLAY_FILE_ERROR_MODEL, NULL, stated->key,
                               "this part of model \"%.60s\" is unknown; if a known family has the same input layer, "
                               "pass its name as `model`",
                               stated->text);
    const bool is_known = found->model != NULL;
    found->model = is_known ? found->model : inlay_model_from_name("table", NULL);
    inlay_model_find_names(found);
    if (!is_known)
        return inlay_model_assume(stated, found);
    if (found->names != NULL || (!found->is_prefix_given && inlay_model_find_head(found)))
        return true;
    inlay_model_usual_name(found, full);
    return inlay_model_fail_names(found, full);
}

bool inlay_model_find(inlay_file *file, const inlay_file_layer_options *options, struct inlay_found_model *found,
                      inlay_file_error *error)
{
    const char *name = options->model;
    const inlay_file_value *stated = NULL;
    *found = (struct inlay_found_model){.model = name != NULL ? inlay_model_from_name(name, options->part) : NULL,
                                        .detected_by = name != NULL ? "options" : "names of tensors",
                                        .part = options->part,
                                        .whole = "",
                                        .settings = inlay_settings_of(file, error)};
    if (name != NULL && found->model == NULL)
        return inlay_file_fail(error, INLAY_FILE_ERROR_ARGUMENT, NULL, name, "no model family has this name%s",
                               options->part != NULL ? " and this part" : "");
    if (!inlay_model_set_prefix(found, options->prefix))
        return false;
    find_renamed(found);
    return (!found->is_prefix_given || inlay_settings_check_parts(&found->settings)) && find_detected(found, &stated) &&
           find_names(found, stated) && (!found->is_prefix_given || inlay_model_check_prefix(found));
}
