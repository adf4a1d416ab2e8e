/* SPDX-License-Identifier: MIT */
/*
 * N-grams of checkpoints: row ids and rows of small checkpoints of each kind equal those of a spec made by hand from
 * the same numbers. Checkpoints with missing or contradictory parts are errors.
 */
#include "file/model_files.h"

#include <inlay/file.h>

#include <stdio.h>
#include <string.h>

enum { N = 3, COLUMNS = 4, ROWS = 64, DIM = 32, VOCAB = 40, EOS = 7, PAD = 2, MASK = 9, TOKENS = 200, MAX = 12 };

/* Two layers of constants. */
static const int64_t multipliers[2][N] = {{23703573157769, 20109073645365, 8052911324071}, {5, 7, 11}};
static const int64_t moduli[2][COLUMNS] = {{11, 13, 17, 19}, {7, 5, 3, 2}};
static const int64_t offsets[2][COLUMNS] = {{0, 11, 24, 41}, {0, 7, 12, 15}};
static const int64_t layers[2] = {1, 14};
static const int64_t layer_one[1] = {1};
static int64_t token_map[VOCAB];
static int32_t token_map_32[VOCAB];
static unsigned char table[2][ROWS * DIM * 2], exponents[2][ROWS]; /* enough for Q8_0 and 16-bit types */
static const uint16_t half = 0x3f00;                               /* bfloat16 */
static const float floats[N] = {1, 2, 3};

static void make_arrays(void)
{
    struct random random = {7};
    for (int i = 0; i < VOCAB; i++)
        token_map[i] = token_map_32[i] = (i * 7 + 3) % 30;
    for (int layer = 0; layer < 2; layer++) {
        for (size_t i = 0; i < sizeof table[layer]; i++)
            table[layer][i] = (unsigned char)random_below(&random, 0x7f); /* no NaN of E4M3 */
        for (int i = 0; i < ROWS; i++)
            exponents[layer][i] = (unsigned char)(120 + random_below(&random, 10));
    }
    make_folder();
}

/* A checkpoint and its expected embedding or error. */
struct checkpoint {
    const char *label, *config;
    const struct model_value *values;
    struct model_tensor tensors[MAX];
    int64_t ask; /* the layer */
    /* The embedding by hand */
    int layer; /* of the constants above */
    inlay_element_type type;
    const float *scale; /* of the table */
    bool is_engram, has_mask;
    const char *says;
    /* Or the error */
    inlay_file_status status;
    const char *name, *message;
};

#define PLE "model.language_model.layers.1.ple.ple_embedding."
#define PLE5 "model.language_model.layers.5.ple.ple_embedding."
#define INTEGERS(name, array) name, "I64", 1, {sizeof(array) / 8}, array, sizeof(array)
#define CONSTANTS(stem, layer)                                                                                         \
    {INTEGERS(stem "layer_multipliers", multipliers[layer])},                                                          \
        {INTEGERS(stem "ngram_heads_vocab_sizes", moduli[layer])},                                                     \
    {                                                                                                                  \
        INTEGERS(stem "ngram_heads_offsets", offsets[layer])                                                           \
    }
#define FP8(name, layer, first, rows) name, "F8_E4M3", 2, {rows, DIM}, table[layer] + (first)*DIM, (rows)*DIM
#define EXPONENTS(name, layer) name, "F8_E8M0", 2, {ROWS, 1}, exponents[layer], ROWS
#define SHARDS                                                                                                         \
    {FP8(PLE "ngram_embedding.shard_0.weight", 0, 0, 24)}, {FP8(PLE "ngram_embedding.shard_1.weight", 0, 24, 24)},     \
        {FP8(PLE "ngram_embedding.shard_2.weight", 0, 48, 16)},                                                        \
    {                                                                                                                  \
        PLE "ngram_embedding.weight_scale", "BF16", 0, {0}, &half, 2                                                   \
    }
#define QWEN_CONFIG                                                                                                    \
    "{\"model_type\": \"qwen4_exp\", \"eos_token_id\": 39, \"text_config\": {\"vocab_size\": 40, \"eos_token_id\": "   \
    "[7, 8]}}"
#define VALUE_INTEGERS(name, array) .key = name, .integers = array, .count = sizeof(array) / 8
#define QWEN_VALUES                                                                                                    \
    {.key = "general.architecture", .text = "qwen4exp"}, {VALUE_INTEGERS("qwen4exp.ple.layers", layer_one)},           \
        {VALUE_INTEGERS("qwen4exp.ple.layer_multipliers", multipliers[0])},                                            \
        {VALUE_INTEGERS("qwen4exp.ple.head_vocab_sizes", moduli[0])},                                                  \
        {VALUE_INTEGERS("qwen4exp.ple.head_offsets", offsets[0])},                                                     \
        {.key = "qwen4exp.ple.eos_token_id", .number = EOS},                                                           \
    {                                                                                                                  \
        .key = "qwen4exp.vocab_size", .number = VOCAB                                                                  \
    }
#define ENGRAM_CONFIG(more)                                                                                            \
    "{\"model_type\": \"deepseek_v41\", \"engram_layer_ids\": [1, 14], \"engram_pad_id\": 2, "                         \
    "\"engram_multipliers\": [23703573157769, 20109073645365, 8052911324071, 5, 7, 11], "                              \
    "\"engram_primes\": [11, 13, 17, 19, 7, 5, 3, 2]" more "}"
#define ENGRAM_TABLES                                                                                                  \
    {FP8("layers.1.engram.embed.weight", 0, 0, ROWS)}, {EXPONENTS("layers.1.engram.embed.scale", 0)},                  \
        {FP8("layers.14.engram.embed.weight", 1, 0, ROWS)},                                                            \
    {                                                                                                                  \
        EXPONENTS("layers.14.engram.embed.scale", 1)                                                                   \
    }
#define TOKEN_MAP "engram.token_map", "I32", 1, {VOCAB}, token_map_32, sizeof token_map_32
#define ENGRAM_VALUES                                                                                                  \
    {.key = "general.architecture", .text = "deepseek41"}, {VALUE_INTEGERS("deepseek41.engram.layer_ids", layers)},    \
        {.key = "deepseek41.engram.multipliers", .integers = multipliers[0], .count = 2 * N},                          \
        {.key = "deepseek41.engram.primes", .integers = moduli[0], .count = 2 * COLUMNS},                              \
        {.key = "deepseek41.engram.offsets", .integers = offsets[0], .count = 2 * COLUMNS},                            \
    {                                                                                                                  \
        .key = "deepseek41.engram.pad_id", .number = PAD                                                               \
    }
#define F16_TABLE(name, layer, rows) name, "F16", 2, {rows, DIM}, table[layer], (rows)*DIM * 2

static const struct checkpoint good[] = {
    {"Qwen4Exp in shards", QWEN_CONFIG, .tensors = {CONSTANTS(PLE, 0), SHARDS}, .ask = -1, .type = INLAY_E4M3,
     .scale = (const float[]){.5f}, .says = "ngram_embedding.shard_*.weight [64, 32] in 3 tensors\n"},
    {"the same layer by its number", QWEN_CONFIG, .tensors = {CONSTANTS(PLE, 0), SHARDS}, .ask = 1, .type = INLAY_E4M3,
     .scale = (const float[]){.5f}},
    {"one of two layers", QWEN_CONFIG,
     .tensors = {CONSTANTS(PLE, 0),
                 CONSTANTS(PLE5, 1),
                 {F16_TABLE(PLE "ngram_embedding.weight", 0, ROWS)},
                 {F16_TABLE(PLE5 "ngram_embedding.weight", 1, ROWS)}},
     .ask = 5, .layer = 1, .type = INLAY_F16,
     .says = "pad, and end of texts: id 7 (config.text_config.eos_token_id)\n"},
    {"Qwen4Exp in GGUF", .values = (const struct model_value[]){QWEN_VALUES, {.key = NULL}},
     .tensors = {{F16_TABLE("per_layer_token_embd.weight", 0, ROWS)}}, .ask = -1, .type = INLAY_F16,
     .says = "multipliers: qwen4exp.ple.layer_multipliers, 3 of them\n"},
    {"Qwen4Exp in GGUF, a tensor per head", .values = (const struct model_value[]){QWEN_VALUES, {.key = NULL}},
     .tensors = {{"ple_ngram_embd.0.weight", "F16", 2, {11, DIM}, table[0], 11 * DIM * 2},
                 {"ple_ngram_embd.1.weight", "F16", 2, {13, DIM}, table[0] + 11 * DIM * 2, 13 * DIM * 2},
                 {"ple_ngram_embd.2.weight", "F16", 2, {17, DIM}, table[0] + 24 * DIM * 2, 17 * DIM * 2},
                 {"ple_ngram_embd.3.weight", "F16", 2, {23, DIM}, table[0] + 41 * DIM * 2, 23 * DIM * 2}},
     .ask = 1, .type = INLAY_F16},
    {"Engram with constants in the config", ENGRAM_CONFIG(), .tensors = {ENGRAM_TABLES, {TOKEN_MAP}}, .ask = 14,
     .layer = 1, .type = INLAY_E4M3_E8M0, .is_engram = true,
     .says = "columns: 2 of each length from 2 to 3, one after the other\n"},
    {"the other layer", ENGRAM_CONFIG(), .tensors = {ENGRAM_TABLES, {TOKEN_MAP}}, .ask = 1, .type = INLAY_E4M3_E8M0,
     .is_engram = true},
    {"Engram with images", ENGRAM_CONFIG(", \"image_token_id\": 9"), .tensors = {ENGRAM_TABLES, {TOKEN_MAP}}, .ask = 1,
     .type = INLAY_E4M3_E8M0, .is_engram = true, .has_mask = true, .says = "mask: id 9 (config.image_token_id)\n"},
    {"Engram in GGUF",
     .values = (const struct model_value[]){ENGRAM_VALUES,
                                            {VALUE_INTEGERS("deepseek41.engram.token_map", token_map)},
                                            {.key = NULL}},
     .tensors = {{F16_TABLE("blk.1.engram_embd.weight", 0, ROWS)}, {F16_TABLE("blk.14.engram_embd.weight", 1, ROWS)}},
     .ask = 14, .layer = 1, .type = INLAY_F16, .is_engram = true},
    {"one Engram layer with constants in tensors",
     .values = (const struct model_value[]){{.key = "general.architecture", .text = "deepseek41"},
                                            {.key = "deepseek41.engram.pad_id", .number = PAD},
                                            {.key = NULL}},
     .tensors = {{F16_TABLE("blk.14.engram_embd.weight", 1, ROWS)},
                 {INTEGERS("engram_multipliers.weight", multipliers[1])},
                 {INTEGERS("engram_primes.weight", moduli[1])},
                 {INTEGERS("engram_offsets.weight", offsets[1])},
                 {"engram_token_map.weight", "I32", 1, {VOCAB}, token_map_32, sizeof token_map_32}},
     .ask = -1, .layer = 1, .type = INLAY_F16, .is_engram = true},
};

static const struct checkpoint bad[] = {
    {"no table", QWEN_CONFIG, .tensors = {CONSTANTS(PLE, 0)}, .ask = -1, .status = INLAY_FILE_ERROR_MODEL, .name = ""},
    {"a per-layer table of Gemma",
     .values = (const struct model_value[]){{.key = "general.architecture", .text = "gemma3n"}, {.key = NULL}},
     .tensors = {{F16_TABLE("per_layer_token_embd.weight", 0, ROWS)}}, .ask = -1, .status = INLAY_FILE_ERROR_MODEL,
     .name = ""},
    {"two layers, and none is named", ENGRAM_CONFIG(), .tensors = {ENGRAM_TABLES, {TOKEN_MAP}}, .ask = -1,
     .status = INLAY_FILE_ERROR_MODEL, .name = "layers.14.engram.embed.weight", .message = "2 layers"},
    {"another layer", ENGRAM_CONFIG(), .tensors = {ENGRAM_TABLES, {TOKEN_MAP}}, .ask = 2,
     .status = INLAY_FILE_ERROR_MISSING, .name = "", .message = "layer 2"},
    {"another layer of one without a number", .values = (const struct model_value[]){QWEN_VALUES, {.key = NULL}},
     .tensors = {{F16_TABLE("per_layer_token_embd.weight", 0, ROWS)}}, .ask = 3, .status = INLAY_FILE_ERROR_MODEL,
     .name = "per_layer_token_embd.weight"},
    {"no multipliers", QWEN_CONFIG,
     .tensors = {{INTEGERS(PLE "ngram_heads_vocab_sizes", moduli[0])},
                 {INTEGERS(PLE "ngram_heads_offsets", offsets[0])},
                 SHARDS},
     .ask = -1, .status = INLAY_FILE_ERROR_MISSING, .name = "layer_multipliers"},
    {"multipliers of floats", QWEN_CONFIG,
     .tensors = {{PLE "layer_multipliers", "F32", 1, {N}, floats, sizeof floats},
                 {INTEGERS(PLE "ngram_heads_vocab_sizes", moduli[0])},
                 SHARDS},
     .ask = -1, .status = INLAY_FILE_ERROR_TYPE, .name = PLE "layer_multipliers", .message = "F32"},
    {"no moduli", QWEN_CONFIG, .tensors = {{INTEGERS(PLE "layer_multipliers", multipliers[0])}, SHARDS}, .ask = -1,
     .status = INLAY_FILE_ERROR_MISSING, .name = "ngram_heads_vocab_sizes"},
    {"a modulus of 64 bits without a sign", QWEN_CONFIG,
     .tensors = {{INTEGERS(PLE "layer_multipliers", multipliers[0])},
                 {PLE "ngram_heads_vocab_sizes",
                  "U64",
                  1,
                  {COLUMNS},
                  (const uint64_t[COLUMNS]){11, 13, (uint64_t)INT64_MAX + 1, 23},
                  COLUMNS * 8},
                 SHARDS},
     .ask = -1, .status = INLAY_FILE_ERROR_TYPE, .name = PLE "ngram_heads_vocab_sizes", .message = "below 2^63"},
    {"moduli of 3 lengths", QWEN_CONFIG,
     .tensors = {{INTEGERS(PLE "layer_multipliers", moduli[0])},
                 {INTEGERS(PLE "ngram_heads_vocab_sizes", moduli[1])},
                 SHARDS},
     .ask = -1, .status = INLAY_FILE_ERROR_SHAPE, .name = "ngram_heads_vocab_sizes",
     .message = "4 columns do not match"},
    {"one multiplier", QWEN_CONFIG,
     .tensors = {{INTEGERS(PLE "layer_multipliers", layer_one)},
                 {INTEGERS(PLE "ngram_heads_vocab_sizes", moduli[1])},
                 SHARDS},
     .ask = -1, .status = INLAY_FILE_ERROR_SHAPE, .name = "ngram_heads_vocab_sizes"},
    {"three offsets", QWEN_CONFIG,
     .tensors = {{INTEGERS(PLE "layer_multipliers", multipliers[0])},
                 {INTEGERS(PLE "ngram_heads_vocab_sizes", moduli[0])},
                 {INTEGERS(PLE "ngram_heads_offsets", multipliers[1])},
                 SHARDS},
     .ask = -1, .status = INLAY_FILE_ERROR_SHAPE, .name = "ngram_heads_offsets", .message = "3 offsets for 4"},
    {"hashes past the table", QWEN_CONFIG,
     .tensors = {CONSTANTS(PLE, 0), {F16_TABLE(PLE "ngram_embedding.weight", 0, 59)}}, .ask = -1,
     .status = INLAY_FILE_ERROR_RANGE, .name = PLE "ngram_embedding.weight",
     .message = "column 3 has offset 41 and modulus 19, but the table has 59 rows"},
    {"offsets past any table", QWEN_CONFIG,
     .tensors = {{INTEGERS(PLE "layer_multipliers", multipliers[1])},
                 {INTEGERS(PLE "ngram_heads_vocab_sizes", moduli[0])},
                 {INTEGERS(PLE "ngram_heads_offsets", ((const int64_t[]){INT64_MAX, -1, 0, 0}))},
                 SHARDS},
     .ask = -1, .status = INLAY_FILE_ERROR_RANGE, .name = PLE "ngram_embedding.shard_*.weight"},
    {"a negative offset", QWEN_CONFIG,
     .tensors = {{INTEGERS(PLE "layer_multipliers", multipliers[1])},
                 {INTEGERS(PLE "ngram_heads_vocab_sizes", moduli[0])},
                 {INTEGERS(PLE "ngram_heads_offsets", ((const int64_t[]){0, -1, 0, 0}))},
                 SHARDS},
     .ask = -1, .status = INLAY_FILE_ERROR_RANGE, .name = PLE "ngram_embedding.shard_*.weight"},
    {"a modulus of 0", QWEN_CONFIG,
     .tensors = {{INTEGERS(PLE "layer_multipliers", multipliers[1])},
                 {INTEGERS(PLE "ngram_heads_vocab_sizes", ((const int64_t[]){1, 0, 1, 1}))},
                 SHARDS},
     .ask = -1, .status = INLAY_FILE_ERROR_RANGE, .name = PLE "ngram_embedding.shard_*.weight"},
    {"no end of texts", "{\"vocab_size\": 40}", .tensors = {CONSTANTS(PLE, 0), SHARDS}, .ask = -1,
     .status = INLAY_FILE_ERROR_MISSING, .name = "eos_token_id"},
    {"an end of texts past the vocabulary", "{\"vocab_size\": 40, \"eos_token_id\": 40}",
     .tensors = {CONSTANTS(PLE, 0), SHARDS}, .ask = -1, .status = INLAY_FILE_ERROR_MODEL,
     .name = "config.eos_token_id"},
    {"no vocabulary", "{\"eos_token_id\": 7}", .tensors = {CONSTANTS(PLE, 0), SHARDS}, .ask = -1,
     .status = INLAY_FILE_ERROR_MISSING, .name = "vocab_size"},
    {"a vocabulary of no ids", "{\"eos_token_id\": 7, \"vocab_size\": 0}", .tensors = {CONSTANTS(PLE, 0), SHARDS},
     .ask = -1, .status = INLAY_FILE_ERROR_MODEL, .name = "config.vocab_size"},
    {"a vocabulary that is too large", "{\"eos_token_id\": 7, \"vocab_size\": 2147483649}",
     .tensors = {CONSTANTS(PLE, 0), SHARDS}, .ask = -1, .status = INLAY_FILE_ERROR_MODEL, .name = "config.vocab_size"},
    {"Engram as it is published", "{\"engram_layer_ids\": [1, 14], \"engram_pad_id\": 2}", .tensors = {ENGRAM_TABLES},
     .ask = 1, .status = INLAY_FILE_ERROR_MISSING, .name = "engram.multipliers"},
    {"no token map", ENGRAM_CONFIG(), .tensors = {ENGRAM_TABLES}, .ask = 1, .status = INLAY_FILE_ERROR_MISSING,
     .name = "engram.token_map", .message = "token map"},
    {"a number below 0", ENGRAM_CONFIG(),
     .tensors = {ENGRAM_TABLES, {INTEGERS("engram.token_map", ((const int64_t[]){1, 2, -3, 4}))}}, .ask = 1,
     .status = INLAY_FILE_ERROR_RANGE, .name = "engram.token_map", .message = "id 2 maps to -3"},
    {"a number of 33 bits", ENGRAM_CONFIG(),
     .tensors = {ENGRAM_TABLES, {INTEGERS("engram.token_map", ((const int64_t[]){1, INT64_C(1) << 32}))}}, .ask = 1,
     .status = INLAY_FILE_ERROR_RANGE, .name = "engram.token_map"},
    {"a pad past the map", ENGRAM_CONFIG(),
     .tensors = {ENGRAM_TABLES, {INTEGERS("engram.token_map", ((const int64_t[]){1, 2}))}}, .ask = 1,
     .status = INLAY_FILE_ERROR_MODEL, .name = "config.engram_pad_id"},
    {"a layer that is not listed", ENGRAM_CONFIG(),
     .tensors = {{F16_TABLE("layers.3.engram.embed.weight", 0, ROWS)}, {TOKEN_MAP}}, .ask = -1,
     .status = INLAY_FILE_ERROR_MODEL, .name = "layers.3.engram.embed.weight"},
    {"an array that is no whole number of layers",
     "{\"engram_layer_ids\": [1, 14], \"engram_multipliers\": [1, 3, 5, 7, 9], \"engram_pad_id\": 2}",
     .tensors = {ENGRAM_TABLES, {TOKEN_MAP}}, .ask = 1, .status = INLAY_FILE_ERROR_SHAPE,
     .name = "config.engram_multipliers", .message = "5 integers for 2 layers"},
    {"an array that is a number", "{\"engram_layer_ids\": 1, \"engram_pad_id\": 2}",
     .tensors = {ENGRAM_TABLES, {TOKEN_MAP}}, .ask = 1, .status = INLAY_FILE_ERROR_MODEL,
     .name = "config.engram_layer_ids"},
};

static inlay_file *open_checkpoint(const struct checkpoint *checkpoint)
{
    const struct model model = {checkpoint->tensors, checkpoint->config, checkpoint->values, NULL};
    return model_open(&model, checkpoint->label);
}

/* Makes the handle by hand. */
static inlay_ngram *make_by_hand(const struct checkpoint *checkpoint)
{
    static uint32_t map[VOCAB];
    const int64_t eos = EOS, mask = MASK;
    inlay_ngram_column columns[COLUMNS];
    for (uint32_t c = 0; c < COLUMNS; c++)
        columns[c] = (inlay_ngram_column){.length = 2 + c / 2,
                                          .modulus = (uint32_t)moduli[checkpoint->layer][c],
                                          .offset = (uint64_t)offsets[checkpoint->layer][c]};
    for (int i = 0; i < VOCAB; i++)
        map[i] = (uint32_t)token_map[i];
    inlay_ngram_spec spec = inlay_ngram_spec_default(VOCAB, N, INLAY_NGRAM_MIX_XOR);
    if (checkpoint->is_engram) {
        spec.token_map = map;
        spec.pad = map[PAD];
        spec.masks = &mask;
        spec.mask_count = checkpoint->has_mask;
    } else {
        spec.pad = EOS;
        spec.resets = &eos;
        spec.reset_count = 1;
    }
    spec.multipliers = multipliers[checkpoint->layer];
    spec.vectors = 1;
    spec.columns = columns;
    spec.column_count = COLUMNS;
    inlay_ngram *ngram;
    EXPECT(inlay_ngram_create(&spec, NULL, &ngram) == INLAY_OK, "%s: by hand", checkpoint->label);
    return ngram;
}

/* Gathers the rows of all tokens of two sequences. */
static void look_up(const struct checkpoint *checkpoint, const inlay_ngram *ngram, const inlay_table *rows, float scale,
                    float *out)
{
    static int32_t ids[TOKENS];
    struct random random = {11};
    for (int i = 0; i < TOKENS; i++)
        ids[i] = i % 6 == 0 ? EOS : i % 11 == 0 ? MASK : (int32_t)random_below(&random, VOCAB);
    const inlay_table *tables[] = {rows};
    inlay_ngram_lookup lookup = inlay_ngram_lookup_default(tables, 1);
    lookup.scale = scale;
    inlay_ngram_batch batch = inlay_ngram_batch_i32(ids, 2, TOKENS / 2);
    inlay_status status = inlay_ngram_forward(ngram, &batch, &lookup, out, COLUMNS * DIM * sizeof(float), NULL, NULL);
    EXPECT(status == INLAY_OK, "%s: %s", checkpoint->label, inlay_status_string(status));
}

START_TEST(ngrams_of_checkpoints)
{
    static float found[TOKENS * COLUMNS * DIM], wanted[TOKENS * COLUMNS * DIM];
    const struct checkpoint *checkpoint = &good[_i];
    inlay_file *file = open_checkpoint(checkpoint);
    inlay_file_ngram *ngram;
    inlay_file_error error;
    EXPECT(inlay_file_ngram_create(file, checkpoint->ask, &ngram, &error) == INLAY_FILE_OK, "%s: %s", checkpoint->label,
           error.message);
    const float scale = checkpoint->scale != NULL ? *checkpoint->scale : 1;
    EXPECT(inlay_file_ngram_scale(ngram) == scale, "%s: scale %g", checkpoint->label,
           (double)inlay_file_ngram_scale(ngram));
    const char *report = inlay_file_ngram_report(ngram);
    const char *first = checkpoint->is_engram ? "model: engram\n" : "model: qwen4_exp\n";
    EXPECT(strncmp(report, first, strlen(first)) == 0, "%s: %s", checkpoint->label, report);
    EXPECT(checkpoint->says == NULL || strstr(report, checkpoint->says) != NULL, "%s: %s", checkpoint->label, report);
    size_t count;
    const inlay_table *tables = inlay_file_ngram_tables(ngram, &count);
    EXPECT(count == 1, "%s: %zu tables", checkpoint->label, count);
    look_up(checkpoint, inlay_file_ngram_get(ngram), tables, inlay_file_ngram_scale(ngram), found);

    inlay_ngram *by_hand = make_by_hand(checkpoint);
    inlay_table rows = inlay_table_view(checkpoint->type, table[checkpoint->layer], ROWS, DIM,
                                        inlay_table_row_bytes(checkpoint->type, DIM));
    if (checkpoint->type == INLAY_E4M3_E8M0)
        rows.scales = exponents[checkpoint->layer];
    look_up(checkpoint, by_hand, &rows, scale, wanted);
    EXPECT(memcmp(found, wanted, sizeof found) == 0, "%s: other rows", checkpoint->label);
    inlay_ngram_destroy(by_hand);

    inlay_ngram *again;
    EXPECT(inlay_ngram_create(inlay_file_ngram_spec(ngram), NULL, &again) == INLAY_OK, "%s: its spec",
           checkpoint->label);
    look_up(checkpoint, again, tables, scale, found);
    EXPECT(memcmp(found, wanted, sizeof found) == 0, "%s: other rows of its spec", checkpoint->label);
    inlay_ngram_destroy(again);
    inlay_file_ngram_destroy(ngram);
    inlay_file_close(file);
}
END_TEST

START_TEST(errors_of_checkpoints)
{
    const struct checkpoint *checkpoint = &bad[_i];
    inlay_file *file = open_checkpoint(checkpoint);
    inlay_file_error error = {0};
    inlay_file_ngram *ngram = (inlay_file_ngram *)&error;
    inlay_file_status status = inlay_file_ngram_create(file, checkpoint->ask, &ngram, &error);
    EXPECT(status == checkpoint->status && error.status == status, "%s: status %d, %s", checkpoint->label, (int)status,
           error.message);
    EXPECT(ngram == NULL, "%s: a handle is left", checkpoint->label);
    EXPECT(strcmp(error.name, checkpoint->name) == 0, "%s: named %s: %s", checkpoint->label, error.name, error.message);
    EXPECT(checkpoint->message == NULL || strstr(error.message, checkpoint->message) != NULL, "%s: %s",
           checkpoint->label, error.message);
    inlay_file_close(file);
}
END_TEST

START_TEST(errors_of_arguments)
{
    inlay_file *file = open_checkpoint(&good[0]);
    inlay_file_ngram *ngram;
    EXPECT(inlay_file_ngram_create(NULL, -1, &ngram, NULL) == INLAY_FILE_ERROR_ARGUMENT, "no file");
    EXPECT(inlay_file_ngram_create(file, -1, NULL, NULL) == INLAY_FILE_ERROR_ARGUMENT, "no handle");
    EXPECT(inlay_file_ngram_create(file, -2, &ngram, NULL) == INLAY_FILE_ERROR_ARGUMENT, "layer -2");
    inlay_file_ngram_destroy(NULL);
    inlay_file_close(file);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("n-grams of files");
    TCase *tests = tcase_create("checkpoints");
    tcase_add_checked_fixture(tests, make_arrays, remove_folder);
    tcase_add_loop_test(tests, ngrams_of_checkpoints, 0, sizeof good / sizeof *good);
    tcase_add_loop_test(tests, errors_of_checkpoints, 0, sizeof bad / sizeof *bad);
    tcase_add_test(tests, errors_of_arguments);
    suite_add_tcase(suite, tests);
    return run_suite(argc, argv, suite);
}
