/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints without a usable input layer: the status, and the tensor or key that the error names.
 */
#include "file/model_files.h"

#include <inlay/file.h>

#include <string.h>

enum { VOCAB = 20, DIM = 8, MAX = 8 };

/* A checkpoint of zeros. */
struct bad_model {
    const char *label, *config, *metadata;
    const struct model_value *values;  /* of a GGUF file */
    const char *model, *part, *prefix; /* options */
    struct {
        const char *name, *type;
        size_t rows, dim; /* one dimension if dim is 0 */
    } tensors[MAX];
    enum {
        ARGUMENT = INLAY_FILE_ERROR_ARGUMENT,
        RANGE = INLAY_FILE_ERROR_RANGE,
        TYPE = INLAY_FILE_ERROR_TYPE,
        SHAPE = INLAY_FILE_ERROR_SHAPE,
        MISSING = INLAY_FILE_ERROR_MISSING,
        MODEL = INLAY_FILE_ERROR_MODEL
    } status;
    const char *name, *says, *lacks; /* of the error */
};

#define WORDS "embeddings.word_embeddings.weight", "F32", VOCAB, DIM
#define PLACES "embeddings.position_embeddings.weight", "F32", 16, DIM
#define KINDS "embeddings.token_type_embeddings.weight", "F32", 2, DIM
#define GAMMA "embeddings.LayerNorm.weight", "F32", DIM, 0
#define BETA "embeddings.LayerNorm.bias", "F32", DIM, 0
#define BERT_TENSORS                                                                                                   \
    {WORDS}, {PLACES}, {KINDS}, {GAMMA},                                                                               \
    {                                                                                                                  \
        BETA                                                                                                           \
    }
#define BERT "{\"model_type\": \"bert\"}"
#define OPT(key) "{\"model_type\": \"opt\", " key "}"
#define OPT_ROWS "decoder.embed_tokens.weight", "F32", VOCAB, DIM
#define OPT_PLACES "decoder.embed_positions.weight", "F32", 9, DIM
#define LLAMA_ROWS "model.embed_tokens.weight", "F32", VOCAB, DIM

#define HEAD "lm_head.weight", "F32", VOCAB, DIM
/* A model whose head is not taken as its token table: by its configuration, or by another tensor. */
#define UNTIED(label, config_text)                                                                                     \
    {                                                                                                                  \
        label, config_text, .tensors = {{HEAD}}, .status = MISSING, .name = "model.embed_tokens.weight"                \
    }
#define UNTIED_BY(label, ...)                                                                                          \
    {                                                                                                                  \
        label, TIED, .tensors = {{HEAD}, {__VA_ARGS__}}, .status = MISSING, .name = "model.embed_tokens.weight"        \
    }
/* The configuration of a model with a tied head, in parts. */
#define CAUSAL "\"architectures\": [\"LlamaForCausalLM\"]"
#define SIZES "\"vocab_size\": 20, \"hidden_size\": 8"
#define TIE "\"tie_word_embeddings\": true"
#define LLAMA(keys) "{\"model_type\": \"llama\", " keys "}"
#define TIED LLAMA(CAUSAL ", " SIZES ", " TIE)

static const struct bad_model bad_models[] = {
    /* Families */
    {"an unknown model", "{\"model_type\": \"owl\"}", .tensors = {{LLAMA_ROWS}}, .status = MODEL,
     .name = "config.model_type", .says = "\"owl\""},
#define OWL(keys) "{\"model_type\": \"owl\", \"rope_parameters\": {\"rope_theta\": 1e4}" keys "}"
    {"an unknown model without rotary positions", "{\"model_type\": \"owl\", \"alibi\": false}",
     .tensors = {{LLAMA_ROWS}}, .status = MODEL, .name = "config.model_type", .says = "rotary"},
    {"an unknown model whose table has no usual name", OWL(""), .tensors = {{"model.words.weight", "F32", VOCAB, DIM}},
     .status = MODEL, .name = "config.model_type", .says = "usual names; if a known family has the same layer, pass"},
    {"an unknown model with a scale", OWL(", \"embedding_multiplier\": 12"), .tensors = {{LLAMA_ROWS}}, .status = MODEL,
     .name = "config.model_type", .says = "config.embedding_multiplier may"},
    {"an unknown Gemma", "{\"model_type\": \"owl_gemma\", \"rope_theta\": 1e4}", .tensors = {{LLAMA_ROWS}},
     .status = MODEL, .name = "config.model_type", .says = "scale"},
    {"an unknown model with a norm", OWL(""), .tensors = {{LLAMA_ROWS}, {"model.embed_norm.weight", "F32", DIM, 0}},
     .status = MODEL, .name = "config.model_type", .says = "model.embed_norm.weight may"},
    {"an unknown model with a norm and without rotary positions", "{\"model_type\": \"owl\"}",
     .tensors = {{LLAMA_ROWS}, {"model.embed_norm.weight", "F32", DIM, 0}}, .status = MODEL,
     .name = "config.model_type", .says = "rotary or relative"},
    {"a decoder that an unknown model has not", OWL(""), .part = "decoder", .tensors = {{LLAMA_ROWS}}, .status = MODEL,
     .name = "config.model_type", .says = "known; if a known family has the same input layer, pass"},
    {"a model that takes no ids", "{\"model_type\": \"decision_transformer\", \"n_embd\": 8}",
     .tensors = {{"wte.weight", "F32", VOCAB, DIM}, {"wpe.weight", "F32", 16, DIM}}, .status = MODEL,
     .name = "config.model_type"},
    {"an unknown architecture",
     .values = (const struct model_value[]){{.key = "general.architecture", .text = "owl"}, {.key = NULL}},
     .tensors = {{"token_embd.weight", "F32", VOCAB, DIM}}, .status = MODEL, .name = "general.architecture",
     .says = "\"owl\""},
    {"an architecture without a graph in llama.cpp",
     .values = (const struct model_value[]){{.key = "general.architecture", .text = "gptj"}, {.key = NULL}},
     .tensors = {{"token_embd.weight", "F32", VOCAB, DIM}}, .status = MODEL, .name = "general.architecture",
     .says = "\"gptj\" is unknown, and the metadata of GGUF does not describe it"},
    {"a Jina BERT v2 without segments in GGUF",
     .values = (const struct model_value[]){{.key = "general.architecture", .text = "jina-bert-v2"},
                                            {.key = "jina-bert-v2.attention.layer_norm_epsilon", .number = 1e-5},
                                            {.key = NULL}},
     .tensors = {{"token_embd.weight", "F32", VOCAB, DIM},
                 {"token_embd_norm.weight", "F32", DIM, 0},
                 {"token_embd_norm.bias", "F32", DIM, 0}},
     .status = MISSING, .name = "token_types.weight"},
    {"a model type that is no text", "{\"model_type\": 3}", .tensors = {{"x.weight", "F32", VOCAB, DIM}},
     .status = MODEL, .name = "config.model_type", .says = "string"},
    {"a model type that is a list of lists", "{\"model_type\": [[]]}", .tensors = {{"wte.weight", "F32", VOCAB, DIM}},
     .status = MODEL, .name = "config.model_type", .says = "string"},
    {"tensors of several families", .tensors = {BERT_TENSORS}, .status = MODEL, .name = "",
     .says = "bert, electra, roberta, mpnet, distilbert"},
    {"rows that may have a scale", .tensors = {{LLAMA_ROWS}}, .status = MODEL, .name = "",
     .says = "llama, granite, gemma"},
    {"rows that may have streams", .tensors = {{"embed.weight", "F32", VOCAB, DIM}}, .status = MODEL, .name = "",
     .says = "llama, deepseek_v4"},
    {"a family that is none", BERT, .model = "owl", .tensors = {{WORDS}}, .status = ARGUMENT, .name = "owl"},
    {"a part that a family has not", BERT, .model = "bert", .part = "per_layer", .tensors = {{WORDS}},
     .status = ARGUMENT, .name = "bert", .says = "part"},
    {"a part that the model has not", BERT, .part = "per_layer", .tensors = {{WORDS}}, .status = MODEL,
     .name = "config.model_type", .says = "part"},
    /* Missing tensors */
    {"no token table", BERT, .tensors = {{PLACES}, {KINDS}, {GAMMA}, {BETA}}, .status = MISSING,
     .name = "bert.embeddings.word_embeddings.weight"},
    {"no positions", BERT, .tensors = {{WORDS}, {KINDS}, {GAMMA}, {BETA}}, .status = MISSING,
     .name = "embeddings.position_embeddings.weight"},
    {"no segments", BERT, .tensors = {{WORDS}, {PLACES}, {GAMMA}, {BETA}}, .status = MISSING,
     .name = "embeddings.token_type_embeddings.weight"},
    {"no weight of the norm", BERT, .tensors = {{WORDS}, {PLACES}, {KINDS}, {BETA}}, .status = MISSING,
     .name = "embeddings.LayerNorm.weight"},
    {"no bias of the norm", BERT, .tensors = {{WORDS}, {PLACES}, {KINDS}, {GAMMA}}, .status = MISSING,
     .name = "embeddings.LayerNorm.bias"},
    {"neither positions nor sinusoids", "{\"model_type\": \"distilbert\"}", .tensors = {{WORDS}, {GAMMA}, {BETA}},
     .status = MISSING, .name = "embeddings.position_embeddings.weight"},
    /* Wrappers */
    {"a wrapper of some tensors", BERT,
     .tensors = {{"module.bert." WORDS},
                 {"module.bert." PLACES},
                 {"module.bert." KINDS},
                 {"module.bert." GAMMA},
                 {"module.bert." BETA},
                 {"mona", "F32", 1, 0}},
     .status = MISSING, .name = "bert.embeddings.word_embeddings.weight"},
    {"a wrapper of all tensors but the first", BERT,
     .tensors = {{"module.bert." WORDS},
                 {"module.bert." PLACES},
                 {"module.bert." KINDS},
                 {"module.bert." GAMMA},
                 {"module.bert." BETA},
                 {"classifier.bias", "F32", 1, 0}},
     .status = MISSING, .name = "bert.embeddings.word_embeddings.weight"},
    {"an adapter's wrapper", LLAMA(SIZES), .tensors = {{"base_model.model." LLAMA_ROWS}}, .status = MISSING,
     .name = "model.embed_tokens.weight"},
    {"a wrapper inside a model", LLAMA(SIZES), .tensors = {{"model._orig_mod.embed_tokens.weight", "F32", VOCAB, DIM}},
     .status = MISSING, .name = "model.embed_tokens.weight"},
#define FOUR "module.module.module.module."
    {"wrappers that leave room for half a name", LLAMA(SIZES),
     .tensors = {{FOUR FOUR FOUR FOUR "module.model.em", "F32", VOCAB, DIM}}, .status = MISSING,
     .name = FOUR FOUR FOUR FOUR "module.model.em"},
    {"a multimodal prefix of another type", LLAMA(SIZES),
     .tensors = {{"model.text_model.embed_tokens.weight", "F32", VOCAB, DIM}}, .status = MISSING,
     .name = "model.embed_tokens.weight"},
    {"a table of another part", "{\"model_type\": \"align\", \"text_config\": {\"model_type\": \"bert\"}}",
     .tensors = {{"vision_model." WORDS}}, .status = MISSING, .name = "text_model.embeddings.word_embeddings.weight"},
    {"MLX's rows in a wrapper", LLAMA(SIZES ", \"quantization\": {\"bits\": 4, \"group_size\": 32}"),
     .tensors = {{"module.model.embed_tokens.weight", "U32", VOCAB, 4},
                 {"module.model.embed_tokens.scales", "F32", VOCAB, 1},
                 {"module.model.embed_tokens.biases", "F32", VOCAB, 1}},
     .status = MODEL, .name = "module.model.embed_tokens.weight"},
    {"names with two other prefixes", LLAMA(SIZES), .tensors = {{"tts." LLAMA_ROWS}, {"llm." LLAMA_ROWS}, {HEAD}},
     .status = MISSING, .name = "model.embed_tokens.weight",
     .says = "missing under all its names; if it has one of these prefixes, pass that as `prefix`: \"llm.model.\" "
             "(embed_tokens.weight), \"tts.model.\" (embed_tokens.weight)"},
    {"an unknown model with another prefix", OWL(""), .tensors = {{"llm." LLAMA_ROWS}}, .status = MODEL,
     .name = "config.model_type",
     .says = "names; if it has one of these prefixes, pass that as `prefix`: \"llm.model.\" (embed_tokens.weight)"},
    /* Given prefixes */
    {"a prefix of nothing", LLAMA(SIZES), .prefix = "llm", .tensors = {{"llm." LLAMA_ROWS}}, .status = MISSING,
     .name = "llmembed_tokens.weight",
     .says = "missing under this prefix; if it has one of these prefixes, pass that "
             "as `prefix`: \"llm.model.\" (embed_tokens.weight)"},
    {"a prefix instead of the usual one", LLAMA(SIZES), .prefix = "llm.", .tensors = {{LLAMA_ROWS}}, .status = MISSING,
     .name = "llm.embed_tokens.weight", .says = "\"model.\" (embed_tokens.weight)"},
    {"a prefix of a packed table", LLAMA(SIZES), .prefix = "a.",
     .tensors = {{"b.embed_tokens.weight_packed", "I32", VOCAB, 1}}, .status = MISSING, .name = "a.embed_tokens.weight",
     .says = "\"b.\" (embed_tokens.weight_packed)"},
    {"a prefix that is no text", LLAMA(SIZES), .prefix = "\xff\xc0\x80\n", .tensors = {{LLAMA_ROWS}}, .status = MISSING,
     .name = "\?\?\?\?embed_tokens.weight"},
#define LONG "module.module.module.module.module.module.module.module.module."
#define LONG_ROWS(last) LONG "module.module.module.module.module." last "embed_tokens.weight", "F32", VOCAB, DIM
    {"candidates without room", LLAMA(SIZES), .prefix = "a.", .tensors = {{LONG_ROWS("1.")}, {LONG_ROWS("2.")}},
     .status = MISSING, .name = "a.embed_tokens.weight", .says = "(embed_tokens.weight), ..."},
    {"a candidate with a name that is too long", LLAMA(SIZES),
     .tensors = {{LONG LONG "embed_tokens.weight", "F32", VOCAB, DIM}, {"a", "F32", 1, 0}}, .status = MISSING,
     .name = "model.embed_tokens.weight", .says = "missing under all its names", .lacks = "prefix"},
    {"a prefix of nothing in an unknown model", OWL(""), .prefix = "a.", .tensors = {{"a.norm.weight", "F32", DIM, 0}},
     .status = MODEL, .name = "config.model_type",
     .says = "the prefix \"a.\" has no token table (tried embed_tokens.weight, embed.weight, embed_in.weight, "
             "wte.weight, "},
    {"a prefix of nothing next to others in an unknown model", OWL(""), .prefix = "a.",
     .tensors = {{"b." LLAMA_ROWS}, {"c." LLAMA_ROWS}}, .status = MODEL, .name = "config.model_type",
     .says = "embed_in.weight, ...); if it has one of these prefixes, pass that as `prefix`: \"b.model.\" "},
    {"an empty prefix", LLAMA(SIZES), .prefix = "", .tensors = {{LLAMA_ROWS}}, .status = ARGUMENT, .name = "prefix",
     .says = "empty"},
    {"a prefix that is too long", LLAMA(SIZES), .prefix = LONG LONG "aa", .tensors = {{LONG LONG "aa" LLAMA_ROWS}},
     .status = ARGUMENT, .name = "prefix", .says = "127 bytes"},
    {"a prefix that leaves room for half a name", LLAMA(SIZES), .prefix = LONG LONG "a",
     .tensors = {{LONG LONG "a", "F32", VOCAB, DIM}}, .status = MISSING, .name = LONG LONG "a"},
    {"a prefix in GGUF", .prefix = "a.",
     .values = (const struct model_value[]){{.key = "general.architecture", .text = "llama"}, {.key = NULL}},
     .tensors = {{"a.token_embd.weight", "F32", VOCAB, DIM}}, .status = ARGUMENT, .name = "prefix", .says = "GGUF"},
    {"a prefix in GGUF without an architecture", .prefix = "a.", .model = "llama",
     .values = (const struct model_value[]){{.key = "x", .number = 1}, {.key = NULL}},
     .tensors = {{"a.token_embd.weight", "F32", VOCAB, DIM}}, .status = ARGUMENT, .name = "prefix", .says = "GGUF"},
    {"a prefix that two of the family follow", LLAMA(SIZES), .prefix = "a.",
     .tensors = {{"a." LLAMA_ROWS}, {"a.transformer.embed_tokens.weight", "F32", VOCAB, DIM}}, .status = MODEL,
     .name = "a.model.embed_tokens.weight",
     .says = "a.transformer.embed_tokens.weight has this prefix, too: pass a longer `prefix`"},
    {"a prefix that two of a multimodal type follow", "{\"model_type\": \"blip\", \"rope_theta\": 1e4}", .prefix = "a.",
     .tensors = {{"a.text_encoder." LLAMA_ROWS}, {"a.text_decoder." LLAMA_ROWS}}, .status = MODEL,
     .name = "a.text_encoder.model.embed_tokens.weight",
     .says = "a.text_decoder.model.embed_tokens.weight has this prefix, too: pass a longer `prefix`"},
    {"a prefix that one of a type and one of the family follow", "{\"model_type\": \"florence2\", \"rope_theta\": 1e4}",
     .prefix = "a.", .tensors = {{"a.language_model." LLAMA_ROWS}, {"a." LLAMA_ROWS}}, .status = MODEL,
     .name = "a.language_model.model.embed_tokens.weight", .says = "a.model.embed_tokens.weight has this prefix, too"},
    {"a prefix of two tables with other names", "{\"model_type\": \"falcon\"}", .prefix = "a.",
     .tensors = {{"a." LLAMA_ROWS}, {"a.transformer.wte.weight", "F32", VOCAB, DIM}}, .status = MODEL,
     .name = "a.model.embed_tokens.weight", .says = "a.transformer.wte.weight has this prefix, too"},
    {"a prefix of a head", TIED, .prefix = "a.", .tensors = {{"a." HEAD}}, .status = MISSING,
     .name = "a.embed_tokens.weight",
     .says = "missing under this prefix; a tied head such as a.lm_head.weight is only read from files without a "
             "prefix"},
    {"a prefix without a norm", BERT, .prefix = "a.", .tensors = {{"a." WORDS}, {"a." PLACES}, {"a." KINDS}},
     .status = MISSING, .name = "a.embeddings.LayerNorm.weight", .says = "needs this tensor"},
    {"a prefix whose norm is elsewhere", BERT, .prefix = "a.",
     .tensors = {{"a." WORDS}, {"a." PLACES}, {"a." KINDS}, {GAMMA}, {BETA}}, .status = MISSING,
     .name = "a.embeddings.LayerNorm.weight", .says = "embeddings.LayerNorm.weight has another prefix, so it is not"},
    {"a prefix whose optional positions are elsewhere", "{\"model_type\": \"deberta\"}", .prefix = "a.",
     .tensors = {{"a." WORDS}, {"b." PLACES}, {"a." GAMMA}, {"a." BETA}}, .status = MISSING,
     .name = "a.embeddings.position_embeddings.weight", .says = "b.embeddings.position_embeddings.weight has another"},
    {"a prefix whose projection is elsewhere", "{\"model_type\": \"electra\"}", .prefix = "a.",
     .tensors = {{"a." WORDS},
                 {"a." PLACES},
                 {"a." KINDS},
                 {"a." GAMMA},
                 {"a." BETA},
                 {"embeddings_project.weight", "F32", 4, DIM}},
     .status = MISSING, .name = "a.embeddings_project.weight"},
    {"a prefix of a table with fewer rows", LLAMA("\"vocab_size\": 21"), .prefix = "a.", .tensors = {{"a." LLAMA_ROWS}},
     .status = SHAPE, .name = "a.model.embed_tokens.weight", .says = "it has 20 rows, but config.vocab_size is 21"},
    {"MLX's rows with a prefix", LLAMA(SIZES ", \"quantization\": {\"bits\": 4, \"group_size\": 32}"), .prefix = "a.",
     .tensors = {{"a.model.embed_tokens.weight", "U32", VOCAB, 4},
                 {"a.model.embed_tokens.scales", "F32", VOCAB, 1},
                 {"a.model.embed_tokens.biases", "F32", VOCAB, 1}},
     .status = MODEL, .name = "a.model.embed_tokens.weight"},
/* Settings of a given prefix */
#define GRANITE "\"model_type\": \"granite\", "
#define PARTS(label_text, config_text, part)                                                                           \
    {                                                                                                                  \
        label_text, config_text, .prefix = "a.", .tensors = {{"a." LLAMA_ROWS}}, .status = MODEL, .name = part,        \
                                 .says = "with a prefix, it must be the configuration of that model alone"             \
    }
    PARTS("a part with a type", LLAMA(SIZES ", \"a\": {\"model_type\": \"owl\"}"), "config.a"),
    PARTS("a part with a scale", LLAMA(SIZES ", \"a\": {\"b\": {\"embedding_multiplier\": 8}}"), "config.a"),
    PARTS("a part with null", LLAMA(SIZES ", \"a\": {\"hidden_size\": null}"), "config.a"),
    PARTS("a part with a dot in its name", LLAMA(SIZES ", \"a.b\": {\"model_type\": \"owl\"}"), "config.a.b"),
    PARTS("parts in an array", LLAMA(SIZES ", \"a\": [{\"model_type\": \"owl\"}]"), "config.a"),
    PARTS("a text model", "{\"model_type\": \"llava\", \"text_config\": {" GRANITE SIZES "}}", "config.text_config"),
    PARTS("a text model in a part",
          "{\"model_type\": \"colpali\", \"vlm_config\": {\"text_config\": {" GRANITE SIZES "}}}", "config.vlm_config"),
    {"a prefix and no model", "{\"vocab_size\": 20}", .prefix = "a.", .tensors = {{"a." LLAMA_ROWS}}, .status = MODEL,
     .name = "", .says = "with a prefix, pass its family as `model`"},
    {"a prefix with and without the family's", LLAMA(SIZES), .prefix = "a.",
     .tensors = {{"a.embed_tokens.weight", "F32", VOCAB, DIM}, {"a.model.embed_tokens.weight", "F32", VOCAB, DIM}},
     .status = MODEL, .name = "a.embed_tokens.weight", .says = "a.model.embed_tokens.weight has this prefix, too"},
    {"a part and a given family", "{\"model_type\": \"owl\", \"llm_config\": {" GRANITE SIZES "}}", .model = "granite",
     .prefix = "a.", .tensors = {{"a." LLAMA_ROWS}}, .status = MODEL, .name = "config.llm_config"},
    /* Heads that may not be tied */
    UNTIED("a head without a flag", LLAMA(CAUSAL ", " SIZES)),
    UNTIED("an untied head", LLAMA(CAUSAL ", " SIZES ", \"tie_word_embeddings\": false")),
    UNTIED("a flag that is null", LLAMA(CAUSAL ", " SIZES ", \"tie_word_embeddings\": null")),
    UNTIED("a flag that is a text", LLAMA(CAUSAL ", " SIZES ", \"tie_word_embeddings\": \"true\"")),
    UNTIED("a flag that is a number", LLAMA(CAUSAL ", " SIZES ", \"tie_word_embeddings\": 1")),
    UNTIED("a second flag that is null", LLAMA(CAUSAL ", " SIZES ", " TIE ", \"tie_embedding\": null")),
    UNTIED("a second flag that is false", LLAMA(CAUSAL ", " SIZES ", " TIE ", \"tie_embedding\": false")),
    UNTIED("a part whose flag is false", LLAMA(CAUSAL ", " SIZES ", " TIE ", \"a\": {\"tie_word_embeddings\": false}")),
    UNTIED("a part with a flag", LLAMA(CAUSAL ", " SIZES ", \"a\": {" TIE "}")),
    UNTIED("a text model in a model", LLAMA(CAUSAL ", " TIE ", \"text_config\": {" CAUSAL ", " SIZES ", " TIE "}")),
    UNTIED("a type that doesn't read its flag", "{\"model_type\": \"kimi_linear\", " CAUSAL ", " SIZES ", " TIE "}"),
    UNTIED("a model without a class", LLAMA(SIZES ", " TIE)),
    UNTIED("a model of two classes",
           LLAMA(SIZES ", " TIE ", \"architectures\": [\"LlamaForCausalLM\", \"LlamaForCausalLM\"]")),
    UNTIED("a class that is a number", LLAMA(SIZES ", " TIE ", \"architectures\": [1]")),
    UNTIED("a draft model", LLAMA(SIZES ", " TIE ", \"architectures\": [\"LlamaForCausalLMEagle3\"]")),
    UNTIED("no size of the vocabulary", LLAMA(CAUSAL ", \"hidden_size\": 8, " TIE)),
    UNTIED("a larger vocabulary", LLAMA(CAUSAL ", \"vocab_size\": 21, \"hidden_size\": 8, " TIE)),
    {"a vocabulary that is a truth value", LLAMA(CAUSAL ", \"vocab_size\": true, \"hidden_size\": 8, " TIE),
     .tensors = {{"lm_head.weight", "F32", 1, DIM}}, .status = MISSING, .name = "model.embed_tokens.weight"},
    UNTIED("no size of the vectors", LLAMA(CAUSAL ", \"vocab_size\": 20, " TIE)),
    UNTIED("larger vectors", LLAMA(CAUSAL ", \"vocab_size\": 20, \"hidden_size\": 9, " TIE)),
    UNTIED("a quantized model", LLAMA(CAUSAL ", " SIZES ", " TIE ", \"quantization_config\": {\"bits\": 4}")),
    UNTIED("a model of its own code", LLAMA(CAUSAL ", " SIZES ", " TIE ", \"auto_map\": {\"AutoModel\": \"m.M\"}")),
    UNTIED("a quantization without settings", LLAMA(CAUSAL ", " SIZES ", " TIE ", \"quantization_config\": {}")),
    UNTIED_BY("an adapter of the table", "model.embed_tokens.lora_embedding_A", "F32", 4, VOCAB),
    UNTIED_BY("a packed table", "model.embed_tokens.qweight", "I32", VOCAB, 1),
    UNTIED_BY("a table named wte", "model.wte.packed", "U8", VOCAB, 4),
    UNTIED_BY("a table of another name", "model.words", "F32", VOCAB, DIM),
    UNTIED_BY("a head with a bias", "lm_head.bias", "F32", VOCAB, 0),
    UNTIED_BY("a head with an adapter", "model.lm_head.lora_A.weight", "F32", 4, DIM),
    {"metadata of the table", TIED, .metadata = "{\"model.embed_tokens.weight\": \"{packed}\"}", .tensors = {{HEAD}},
     .status = MISSING, .name = "model.embed_tokens.weight"},
    {"metadata of the table in another tensor", TIED,
     .metadata = "{\"model.embed_tokens.weight\": \"model.norm.weight\"}", .tensors = {{HEAD}}, .status = MISSING,
     .name = "model.embed_tokens.weight"},
    {"a head of int8", TIED, .tensors = {{"lm_head.weight", "I8", VOCAB, DIM}}, .status = MISSING,
     .name = "model.embed_tokens.weight"},
    {"a head of another family by option", TIED, .model = "granite", .tensors = {{HEAD}}, .status = MISSING,
     .name = "model.embed_tokens.weight"},
    {"a head inside a model", TIED, .tensors = {{"model." HEAD}}, .status = MISSING,
     .name = "model.embed_tokens.weight"},
    {"a head in GGUF", TIED,
     .values = (const struct model_value[]){{.key = "general.architecture", .text = "llama"}, {.key = NULL}},
     .tensors = {{HEAD}}, .status = MISSING, .name = "model.embed_tokens.weight"},
    /* Shapes and types */
    {"positions of another dim", BERT,
     .tensors = {{WORDS}, {"embeddings.position_embeddings.weight", "F32", 16, DIM + 1}, {KINDS}, {GAMMA}, {BETA}},
     .status = SHAPE, .name = "embeddings.position_embeddings.weight",
     .says = "it has 9 columns, but embeddings.word_embeddings.weight has 8"},
    {"segments of another dim", BERT,
     .tensors = {{WORDS}, {PLACES}, {"embeddings.token_type_embeddings.weight", "F32", 2, 4}, {GAMMA}, {BETA}},
     .status = SHAPE, .name = "embeddings.token_type_embeddings.weight"},
    {"a norm of another dim", BERT,
     .tensors = {{WORDS}, {PLACES}, {KINDS}, {"embeddings.LayerNorm.weight", "F32", DIM - 1, 0}, {BETA}},
     .status = SHAPE, .name = "embeddings.LayerNorm.weight", .says = "it has 7 elements"},
    {"a norm that is a table", BERT,
     .tensors = {{WORDS}, {PLACES}, {KINDS}, {GAMMA}, {"embeddings.LayerNorm.bias", "F32", DIM, 1}}, .status = SHAPE,
     .name = "embeddings.LayerNorm.bias", .says = "2 dimensions"},
    {"a norm of integers", BERT,
     .tensors = {{WORDS}, {PLACES}, {KINDS}, {"embeddings.LayerNorm.weight", "I32", DIM, 0}, {BETA}}, .status = TYPE,
     .name = "embeddings.LayerNorm.weight", .says = "I32"},
    {"a token table of one dimension", BERT,
     .tensors = {{"embeddings.word_embeddings.weight", "F32", VOCAB, 0}, {PLACES}, {KINDS}, {GAMMA}, {BETA}},
     .status = SHAPE, .name = "embeddings.word_embeddings.weight"},
    {"a token table of integers", BERT,
     .tensors = {{"embeddings.word_embeddings.weight", "I64", VOCAB, DIM}, {PLACES}, {KINDS}, {GAMMA}, {BETA}},
     .status = TYPE, .name = "embeddings.word_embeddings.weight"},
    {"a dim that is not the config's", "{\"model_type\": \"bert\", \"hidden_size\": 9}", .tensors = {BERT_TENSORS},
     .status = SHAPE, .name = "embeddings.word_embeddings.weight", .says = "config.hidden_size is 9"},
    {"a dim that is not GGUF's",
     .values = (const struct model_value[]){{.key = "general.architecture", .text = "llama"},
                                            {.key = "llama.embedding_length", .number = 9},
                                            {.key = NULL}},
     .tensors = {{"token_embd.weight", "F32", VOCAB, DIM}}, .status = SHAPE, .name = "token_embd.weight",
     .says = "llama.embedding_length is 9"},
    {"a dim that is not GGUF's, of a family whose config.json has none",
     .values = (const struct model_value[]){{.key = "general.architecture", .text = "nomic-bert"},
                                            {.key = "nomic-bert.embedding_length", .number = 9},
                                            {.key = NULL}},
     .tensors = {{"token_embd.weight", "F32", VOCAB, DIM},
                 {"token_embd_norm.weight", "F32", DIM, 0},
                 {"token_embd_norm.bias", "F32", DIM, 0}},
     .status = SHAPE, .name = "token_embd.weight", .says = "nomic-bert.embedding_length is 9"},
    {"columns that are no layers", "{\"model_type\": \"gemma3n\", \"hidden_size_per_layer_input\": 3}",
     .part = "per_layer", .tensors = {{"model.embed_tokens_per_layer.weight", "F32", VOCAB, DIM}}, .status = SHAPE,
     .name = "model.embed_tokens_per_layer.weight", .says = "must be a multiple of 3"},
    {"layers of no columns", "{\"model_type\": \"gemma3n\", \"hidden_size_per_layer_input\": 0}", .part = "per_layer",
     .tensors = {{"model.embed_tokens_per_layer.weight", "F32", VOCAB, DIM}}, .status = SHAPE,
     .name = "model.embed_tokens_per_layer.weight"},
    /* The configuration */
    {"a padding outside the table", OPT("\"pad_token_id\": 20"), .tensors = {{OPT_ROWS}, {OPT_PLACES}}, .status = MODEL,
     .name = "config.pad_token_id", .says = "20"},
    {"a negative padding", OPT("\"pad_token_id\": -1"), .tensors = {{OPT_ROWS}, {OPT_PLACES}}, .status = MODEL,
     .name = "config.pad_token_id"},
    {"a padding that is a text", OPT("\"pad_token_id\": \"1\""), .tensors = {{OPT_ROWS}, {OPT_PLACES}}, .status = MODEL,
     .name = "config.pad_token_id", .says = "integer"},
    {"a padding with a fraction", OPT("\"pad_token_id\": 1.5"), .tensors = {{OPT_ROWS}, {OPT_PLACES}}, .status = MODEL,
     .name = "config.pad_token_id", .says = "integer"},
    {"a negative epsilon", "{\"model_type\": \"bert\", \"layer_norm_eps\": -1e-12}", .tensors = {BERT_TENSORS},
     .status = MODEL, .name = "config.layer_norm_eps"},
    {"an epsilon that is a list", "{\"model_type\": \"bert\", \"layer_norm_eps\": [1]}", .tensors = {BERT_TENSORS},
     .status = MODEL, .name = "config.layer_norm_eps"},
    {"an epsilon that is an object", "{\"model_type\": \"bert\", \"layer_norm_eps\": {\"value\": 1e-12}}",
     .tensors = {BERT_TENSORS}, .status = MODEL, .name = "config.layer_norm_eps", .says = "number"},
    {"a padding that is a list of several kinds", OPT("\"pad_token_id\": [1, \"2\"]"),
     .tensors = {{OPT_ROWS}, {OPT_PLACES}}, .status = MODEL, .name = "config.pad_token_id", .says = "integer"},
    {"a truth value that is an object of a text model",
     "{\"model_type\": \"marian\", \"text_config\": {\"scale_embedding\": {}}}",
     .tensors = {{"model.shared.weight", "F32", VOCAB, DIM}}, .status = MODEL,
     .name = "config.text_config.scale_embedding", .says = "true or false"},
    {"an epsilon that is null", "{\"model_type\": \"bert\", \"layer_norm_eps\": null}", .tensors = {BERT_TENSORS},
     .status = MODEL, .name = "config.layer_norm_eps", .says = "number"},
    {"a truth value that is null", "{\"model_type\": \"marian\", \"scale_embedding\": null}",
     .tensors = {{"model.shared.weight", "F32", VOCAB, DIM}}, .status = MODEL, .name = "config.scale_embedding",
     .says = "true or false"},
    {"a scale whose default follows from another key", "{\"model_type\": \"hrm_text\"}", .tensors = {{LLAMA_ROWS}},
     .status = MISSING, .name = "embedding_scale"},
    {"an epsilon that GGUF leaves out",
     .values = (const struct model_value[]){{.key = "general.architecture", .text = "bert"}, {.key = NULL}},
     .tensors = {{"token_embd.weight", "F32", VOCAB, DIM},
                 {"position_embd.weight", "F32", 16, DIM},
                 {"token_embd_norm.weight", "F32", DIM, 0},
                 {"token_embd_norm.bias", "F32", DIM, 0}},
     .status = MISSING, .name = "bert.attention.layer_norm_epsilon"},
    {"a truth value that is a number", "{\"model_type\": \"marian\", \"scale_embedding\": 1}",
     .tensors = {{"model.shared.weight", "F32", VOCAB, DIM}}, .status = MODEL, .name = "config.scale_embedding",
     .says = "true or false"},
    {"shapes that are added", "{\"model_type\": \"roc_bert\", \"concat_input\": false}", .tensors = {BERT_TENSORS},
     .status = MODEL, .name = "config.concat_input", .says = "only if this is true"},
    {"a scale that is a text", "{\"model_type\": \"granite\", \"embedding_multiplier\": \"12\"}",
     .tensors = {{LLAMA_ROWS}}, .status = MODEL, .name = "config.embedding_multiplier", .says = "number"},
    {"a scale that is no float32", "{\"model_type\": \"granite\", \"embedding_multiplier\": 1e300}",
     .tensors = {{LLAMA_ROWS}}, .status = MODEL, .name = "config.embedding_multiplier", .says = "finite"},
    /* Static embeddings */
    {"a mapping of floats", .tensors = {{"embeddings", "F32", VOCAB, DIM}, {"mapping", "F32", 30, 0}}, .status = TYPE,
     .name = "mapping", .says = "F32"},
    {"a mapping that is a table", .tensors = {{"embeddings", "F32", VOCAB, DIM}, {"mapping", "I32", 30, 2}},
     .status = SHAPE, .name = "mapping"},
    {"a mapping to no row", .tensors = {{"embeddings", "F32", 0, DIM}, {"mapping", "I32", 30, 0}}, .status = RANGE,
     .name = "mapping"},
    {"weights for fewer ids", .tensors = {{"embeddings", "F32", VOCAB, DIM}, {"weights", "F32", VOCAB - 1, 0}},
     .status = SHAPE, .name = "weights", .says = "it has 19 elements, but embeddings has 20"},
    {"weights for fewer ids than are mapped",
     .tensors = {{"embeddings", "F32", VOCAB, DIM}, {"mapping", "I32", 30, 0}, {"weights", "F64", VOCAB, 0}},
     .status = SHAPE, .name = "weights", .says = "mapping has 30"},
    {"weights of integers", .tensors = {{"embeddings", "F32", VOCAB, DIM}, {"weights", "I32", VOCAB, 0}},
     .status = TYPE, .name = "weights"},
};

static inlay_file *open_model(const struct bad_model *bad)
{
    static const unsigned char zeros[4096];
    struct model_tensor tensors[MAX + 1] = {{0}};
    const struct model model = {tensors, bad->config, bad->values, bad->metadata};
    for (size_t i = 0; i < MAX && bad->tensors[i].name != NULL; i++) {
        const size_t rows = bad->tensors[i].rows, dim = bad->tensors[i].dim;
        const char *type = bad->tensors[i].type;
        const size_t bytes = rows * (dim > 0 ? dim : 1) * model_type_bytes(type);
        tensors[i] = (struct model_tensor){bad->tensors[i].name, type, dim > 0 ? 2 : 1, {rows, dim}, zeros, bytes};
    }
    return model_open(&model, bad->label);
}

START_TEST(errors_of_checkpoints)
{
    const struct bad_model *bad = &bad_models[_i];
    inlay_file *file = open_model(bad);
    inlay_file_layer_options options = inlay_file_layer_options_default();
    options.model = bad->model;
    options.part = bad->part;
    options.prefix = bad->prefix;
    inlay_file_layer *layer = (inlay_file_layer *)&options;
    inlay_file_error error = {0};
    inlay_file_status status = inlay_file_layer_create(file, &options, &layer, &error);
    EXPECT((int)status == (int)bad->status && error.status == status, "%s: status %d, %s", bad->label, (int)status,
           error.message);
    EXPECT(layer == NULL, "%s: a handle is left", bad->label);
    EXPECT(strcmp(error.name, bad->name) == 0, "%s: named %s: %s", bad->label, error.name, error.message);
    EXPECT(bad->lacks == NULL || strstr(error.message, bad->lacks) == NULL, "%s: %s", bad->label, error.message);
    EXPECT(bad->says == NULL || strstr(error.message, bad->says) != NULL, "%s: %s", bad->label, error.message);
    EXPECT(inlay_file_layer_create(file, &options, &layer, NULL) == status, "%s: without an error", bad->label);
    inlay_file_close(file);
}
END_TEST

/* model2vec would take the last row for -1; a layer would take none. */
START_TEST(negative_values_of_a_mapping)
{
    static const float rows[VOCAB * DIM];
    static const int32_t narrow[] = {0, 5, -1};
    static const int64_t wide[] = {0, 5, -1};
    const struct model_tensor tensors[][3] = {
        {{"embeddings", "F32", 2, {VOCAB, DIM}, rows, sizeof rows}, {"mapping", "I32", 1, {3}, narrow, sizeof narrow}},
        {{"embeddings", "F32", 2, {VOCAB, DIM}, rows, sizeof rows}, {"mapping", "I64", 1, {3}, wide, sizeof wide}},
    };
    for (int i = 0; i < 2; i++) {
        const struct model model = {.tensors = tensors[i]};
        inlay_file *file = model_open(&model, "a mapping");
        inlay_file_layer *layer;
        inlay_file_error error = {0};
        const inlay_file_layer_options options = inlay_file_layer_options_default();
        EXPECT(inlay_file_layer_create(file, &options, &layer, &error) == INLAY_FILE_ERROR_RANGE, "mapping %d opened",
               i);
        EXPECT(strcmp(error.name, "mapping") == 0 && strstr(error.message, "entry 2 is negative") != NULL,
               "mapping %d: %s", i, error.message);
        inlay_file_close(file);
    }
}
END_TEST

START_TEST(errors_of_arguments)
{
    static const struct bad_model good = {"Llama", "{\"model_type\": \"llama\"}", .tensors = {{LLAMA_ROWS}}};
    inlay_file *file = open_model(&good);
    inlay_file_layer *layer;
    inlay_tuning tuning = inlay_tuning_default();
    struct inlay_file_layer_options options = inlay_file_layer_options_default();
    options.tuning = &tuning;
#define EXPECT_ARGUMENT(given_file, given_options, given_layer)                                                        \
    EXPECT(inlay_file_layer_create(given_file, given_options, given_layer, NULL) == INLAY_FILE_ERROR_ARGUMENT,         \
           "%s was accepted", #given_options)
    EXPECT(inlay_file_layer_create(file, NULL, &layer, NULL) == INLAY_FILE_OK, "no options");
    inlay_file_layer_destroy(layer);
    EXPECT(inlay_file_layer_create(file, &options, &layer, NULL) == INLAY_FILE_OK, "options");
    inlay_file_layer_destroy(layer);
    EXPECT_ARGUMENT(NULL, &options, &layer);
    EXPECT_ARGUMENT(file, &options, NULL);
    options.size--;
    EXPECT_ARGUMENT(file, &options, &layer);
    options.size = offsetof(inlay_file_layer_options, prefix);
    options.prefix = "not read";
    EXPECT(inlay_file_layer_create(file, &options, &layer, NULL) == INLAY_FILE_OK, "options without a prefix");
    inlay_file_layer_destroy(layer);
    options.prefix = NULL;
    options.size = sizeof options;
    options.reserved = 1;
    EXPECT_ARGUMENT(file, &options, &layer);
    options.reserved = 0;
    options.out_type = INLAY_I8;
    EXPECT_ARGUMENT(file, &options, &layer);
    options.out_type = INLAY_F16;
    tuning.size = 0;
    EXPECT_ARGUMENT(file, &options, &layer);
    inlay_file_layer_destroy(NULL);
    inlay_file_close(file);
}
END_TEST

START_TEST(names_of_families)
{
    size_t count = 0;
    for (const char *name; (name = inlay_file_model_at(count)) != NULL; count++)
        for (size_t i = 0; i < count; i++)
            EXPECT(strcmp(name, inlay_file_model_at(i)) != 0, "%s occurs twice", name);
    EXPECT(count >= 16 && inlay_file_model_at(count + 1) == NULL, "%zu families", count);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("errors of layers of files");
    TCase *tests = tcase_create("errors");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_loop_test(tests, errors_of_checkpoints, 0, sizeof bad_models / sizeof *bad_models);
    tcase_add_test(tests, negative_values_of_a_mapping);
    tcase_add_test(tests, errors_of_arguments);
    tcase_add_test(tests, names_of_families);
    suite_add_tcase(suite, tests);
    return run_suite(argc, argv, suite);
}
