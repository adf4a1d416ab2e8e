/* SPDX-License-Identifier: MIT */
/*
 * Tables of files with numbers in groups of columns: compressed-tensors, ModelOpt's NVFP4 and MLX. Gathered rows are
 * compared with the values of the bytes.
 */
#include "file/model_files.h"

#include <stdio.h>
#include <string.h>

/* ---- Numbers in groups ------------------------------------------------------------------------------------------ */

/* A table of compressed-tensors: `bits` in int32 words, or int8 as they are if 0. Scales and zero points are those of
   `groups` of each row, or one number for the table. */
struct compressed {
    size_t bits, columns, groups;
    bool single;
    const char *scale_type;
    enum { NO_ZEROS, WORDS, BYTES } zeros;
    uint32_t group; /* of the table */
};

enum { COMPRESSED_ROWS = 11 }; /* zero points don't fill the last word */

static float scale_of(size_t row, size_t group)
{
    return (float)(8 + (row + group) % 8) / (float)(8 << group % 3);
}

/* Packed numbers and zero points. */
static unsigned number_of(const struct compressed *table, size_t row, size_t column)
{
    return (unsigned)(row * 7 + column * 3 + column / 5) & (table->bits == 4 ? 15 : 255);
}

static unsigned zero_of(const struct compressed *table, size_t row, size_t group)
{
    return (unsigned)(row * 37 + group * 5 + 3) & (table->bits == 4 ? 15 : 255);
}

/* Adds a word of packed numbers of a row, or of zero points of a group. */
static void add_word(struct blob *blob, const struct compressed *table, size_t row, size_t column, bool of_zeros)
{
    const size_t per_word = 32 / table->bits;
    uint32_t word = 0;
    for (size_t i = 0; i < per_word; i++) {
        const size_t r = of_zeros ? row + i : row, c = of_zeros ? column : column + i;
        if (r < COMPRESSED_ROWS && (of_zeros || c < table->columns))
            word |= (of_zeros ? zero_of(table, r, c) : number_of(table, r, c)) << i * table->bits;
    }
    blob_number(blob, word, 4);
}

static void add_scales(struct safetensors *model, const struct compressed *table)
{
    struct blob blob = {NULL, 0, 0};
    const size_t bytes = strcmp(table->scale_type, "F32") == 0 ? 4 : 2;
    for (size_t row = 0; row < (table->single ? 1 : COMPRESSED_ROWS); row++)
        for (size_t group = 0; group < table->groups; group++) {
            const float scale = scale_of(row, group);
            uint32_t bits;
            memcpy(&bits, &scale, sizeof bits);
            /* Normal numbers of float16; its exponent bias is smaller by 112. */
            const uint32_t half = (bits - (112u << 23)) >> 13;
            blob_number(&blob, bytes == 4 ? bits : strcmp(table->scale_type, "BF16") == 0 ? bits >> 16 : half, bytes);
        }
    safetensors_add_rows(model, "t.weight_scale", table->scale_type, table->single ? 1 : COMPRESSED_ROWS,
                         table->single ? 0 : table->groups, blob.bytes);
    blob_free(&blob);
}

static void add_zeros(struct safetensors *model, const struct compressed *table)
{
    struct blob blob = {NULL, 0, 0};
    const size_t step = table->zeros == WORDS ? 32 / table->bits : 1, rows = table->single ? 1 : COMPRESSED_ROWS;
    for (size_t row = 0; row < rows; row += step)
        for (size_t group = 0; group < table->groups; group++)
            if (table->zeros == WORDS)
                add_word(&blob, table, row, group, true);
            else /* int8; packed numbers have half of their range added */
                blob_number(&blob, zero_of(table, row, group) - (table->bits > 0 ? 1u << (table->bits - 1) : 128), 1);
    if (table->single)
        safetensors_add_rows(model, "t.weight_zero_point", "I8", 1, 0, blob.bytes);
    else
        safetensors_add_rows(model, "t.weight_zero_point", table->zeros == WORDS ? "I32" : "I8",
                             (rows + step - 1) / step, table->groups, blob.bytes);
    blob_free(&blob);
}

static inlay_file *compressed_file(const struct compressed *table)
{
    struct safetensors model = {{0}, {0}};
    struct blob blob = {NULL, 0, 0}, shape = {NULL, 0, 0};
    const size_t step = table->bits > 0 ? 32 / table->bits : 1, words = (table->columns + step - 1) / step;
    for (size_t row = 0; row < COMPRESSED_ROWS; row++)
        for (size_t column = 0; column < table->columns; column += step)
            if (table->bits > 0)
                add_word(&blob, table, row, column, false);
            else
                blob_number(&blob, number_of(table, row, column) - 128, 1);
    safetensors_add_rows(&model, table->bits > 0 ? "t.weight_packed" : "t.weight", table->bits > 0 ? "I32" : "I8",
                         COMPRESSED_ROWS, words, blob.bytes);
    blob_free(&blob);
    blob_number(&shape, COMPRESSED_ROWS, 8);
    blob_number(&shape, table->columns, 8);
    if (table->bits > 0)
        safetensors_add_rows(&model, "t.weight_shape", "I64", 2, 0, shape.bytes);
    blob_free(&shape);
    add_scales(&model, table);
    if (table->zeros != NO_ZEROS)
        add_zeros(&model, table);
    return safetensors_open(&model);
}

START_TEST(compressed_tensors)
{
    static const struct compressed tables[] = {
        {4, 128, 4, false, "F32", NO_ZEROS, 32},  {4, 128, 1, false, "BF16", NO_ZEROS, 128},
        {4, 192, 3, false, "F16", WORDS, 64},     {4, 96, 3, false, "BF16", WORDS, 32},
        {4, 96, 1, false, "F32", WORDS, 128},     {4, 256, 1, true, "F32", NO_ZEROS, 128},
        {4, 64, 1, true, "F32", BYTES, 128},      {8, 128, 2, false, "F32", NO_ZEROS, 64},
        {8, 256, 1, false, "BF16", WORDS, 128},   {8, 160, 5, false, "F16", WORDS, 32},
        {8, 96, 1, true, "BF16", BYTES, 128},     {0, 128, 2, false, "BF16", NO_ZEROS, 64},
        {0, 128, 4, false, "F32", BYTES, 32},     {0, 96, 1, false, "F32", BYTES, 128},
        {0, 64, 1, true, "BF16", BYTES, 128},     {4, 80, 5, false, "F32", NO_ZEROS, 16},
        {4, 128, 8, false, "BF16", WORDS, 16},    {8, 48, 3, false, "F16", WORDS, 16},
        {0, 144, 3, false, "F32", BYTES, 16},     {4, 232, 1, false, "BF16", WORDS, 128},
        {8, 20, 1, false, "F32", WORDS, 128},     {0, 131, 1, true, "F32", BYTES, 128},
        {4, 36, 1, false, "BF16", NO_ZEROS, 128}, {4, 100, 1, false, "F32", WORDS, 128},
        {4, 101, 1, true, "F32", BYTES, 128},     {4, 5, 1, false, "F16", WORDS, 128},
        {8, 102, 1, false, "F16", WORDS, 128},    {8, 5, 1, true, "F32", NO_ZEROS, 128},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const struct compressed *wanted = &tables[i];
        inlay_file *file = compressed_file(wanted);
        const inlay_file_table table = table_of(file, wanted->bits > 0 ? "t.weight_packed" : "t.weight");
        const inlay_element_type type = wanted->bits == 4   ? INLAY_U4_GROUPED
                                        : wanted->bits == 8 ? INLAY_U8_GROUPED
                                                            : INLAY_I8_GROUPED;
        EXPECT(table.view.type == type && table.view.group == wanted->group && table.scale == 1 &&
                   table.view.rows == COMPRESSED_ROWS && table.view.dim == wanted->columns,
               "table %zu has type %d and group %u", i, table.view.type, table.view.group);
        for (size_t row = 0; row < COMPRESSED_ROWS; row++) {
            float out[256];
            read_row(&table, row, out);
            for (size_t column = 0; column < wanted->columns; column++) {
                const size_t group = column / (wanted->columns / wanted->groups), scaled = wanted->single ? 0 : row;
                const int zero =
                    wanted->zeros == NO_ZEROS ? (wanted->bits == 4 ? 8 : 128) : (int)zero_of(wanted, scaled, group);
                const float value = (float)((int)number_of(wanted, row, column) - zero) * scale_of(scaled, group);
                EXPECT(out[column] == value, "table %zu, row %zu, column %zu: %a, not %a", i, row, column,
                       (double)out[column], (double)value);
            }
        }
        inlay_file_close(file);
    }
}
END_TEST

/* Zero points of 0 are ignored: older files have them for symmetric tables. */
START_TEST(zero_points_of_nothing)
{
    static const float scale = 2, zero = 0;
    for (int i = 0; i < 2; i++) {
        struct safetensors model = {{0}, {0}};
        safetensors_add_bytes(&model, "t.weight", i == 0 ? "I8" : "F8_E4M3", 2, 3, 0x30);
        safetensors_add_rows(&model, "t.weight_scale", "F32", 1, 0, &scale);
        safetensors_add_rows(&model, "t.weight_zero_point", "I8", 1, 0, &zero);
        inlay_file *file = safetensors_open(&model);
        const inlay_file_table table = table_of(file, "t.weight");
        EXPECT(table.view.type == (i == 0 ? INLAY_I8 : INLAY_E4M3) && table.scale == 2, "type %d", table.view.type);
        inlay_file_close(file);
    }
}
END_TEST

/* Every 4-bit float times the rounded product of two factors. */
START_TEST(nvfp4_of_modelopt)
{
    static const float numbers[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, 0, -0.5f, -1, -1.5f, -2, -3, -4, -6};
    static const unsigned char scales[2][3] = {{0x38, 0x7e, 0x01}, {0x40, 0x39, 0xb8}};
    static const float values[2][3] = {{1, 448, 0x1p-9f}, {2, 1.125f, -1}};
    const float factor = 0.0123456789f;
    unsigned char data[2][24];
    for (int row = 0; row < 2; row++)
        for (int i = 0; i < 24; i++)
            data[row][i] = (unsigned char)(row == 0 ? (i * 2 % 16) | (i * 2 + 1) % 16 << 4 : 255 - i * 10);
    struct safetensors model = {{0}, {0}};
    safetensors_add_rows(&model, "t.weight", "U8", 2, 24, data);
    safetensors_add_rows(&model, "t.weight_scale", "F8_E4M3", 2, 3, scales);
    safetensors_add_rows(&model, "t.weight_scale_2", "F32", 0, 0, &factor);
    inlay_file *file = safetensors_open(&model);
    const inlay_file_table table = table_of(file, "t.weight");
    EXPECT(table.view.type == INLAY_E2M1_F32 && table.view.dim == 48 && table.scale == 1, "type %d", table.view.type);
    for (size_t row = 0; row < 2; row++)
        for (size_t column = 0; column < 48; column++) {
            const float scale = values[row][column / 16] * factor;
            expect_element(&table, row, column, numbers[data[row][column / 2] >> column % 2 * 4 & 15] * scale);
        }
    inlay_file_close(file);
}
END_TEST

/* A tensor whose bytes are 1, or those of a shape if it is I64. */
struct part {
    const char *name, *type;
    size_t rows, columns;
};

static void add_part(struct safetensors *model, const struct part *part, const int64_t shape[2])
{
    unsigned char bytes[1024];
    memset(bytes, 1, sizeof bytes);
    if (strcmp(part->type, "I64") == 0)
        memcpy(bytes, shape, 2 * sizeof *shape);
    safetensors_add_rows(model, part->name, part->type, part->rows, part->columns, bytes);
}

static void refuse_parts(const struct part parts[4], const int64_t shape[2], inlay_file_status status,
                         const char *message)
{
    struct safetensors model = {{0}, {0}};
    for (size_t k = 0; k < 4 && parts[k].name != NULL; k++)
        add_part(&model, &parts[k], shape);
    inlay_file *file = safetensors_open(&model);
    expect_no_table(file, parts[0].name, status, message);
    inlay_file_close(file);
}

START_TEST(quantized_tables_that_are_refused)
{
    enum { MISSING = INLAY_FILE_ERROR_MISSING, TYPE = INLAY_FILE_ERROR_TYPE, SHAPE = INLAY_FILE_ERROR_SHAPE };
    const struct part packed = {"t.weight_packed", "I32", 2, 8}, shape = {"t.weight_shape", "I64", 2, 0},
                      scales = {"t.weight_scale", "F32", 2, 2}, nvfp4 = {"t.weight", "U8", 2, 16},
                      i8 = {"t.weight", "I8", 2, 64}, factor = {"t.weight_scale_2", "F32", 1, 0};
    const struct {
        struct part parts[4];
        int status;
        const char *message;
    } bad[] = {
        {{packed, shape}, MISSING, "t.weight_packed: a packed table is I32"},
        {{packed, scales}, MISSING, "t.weight_packed: a packed table is I32"},
        {{{"t.weight_packed", "U8", 2, 32}, shape, scales}, TYPE, "is I32"},
        {{{"t.weight_packed", "I32", 16, 0}, shape, scales}, SHAPE, "2 dimensions"},
        {{packed, {"t.weight_shape", "I64", 1, 0}, scales}, SHAPE, "it does not match the shape"},
        {{packed, {"t.weight_shape", "I32", 2, 0}, scales}, SHAPE, "it does not match the shape"},
        {{packed, shape, {"t.weight_scale", "F32", 3, 2}}, SHAPE, "scales of groups"},
        {{packed, shape, {"t.weight_scale", "F8_E4M3", 2, 2}}, SHAPE, "scales of groups"},
        {{packed, shape, {"t.weight_scale", "F32", 2, 3}}, SHAPE, "its 3 groups do not divide"},
        {{packed, shape, {"t.weight_scale", "F32", 2, 8}}, SHAPE, "groups of 8 columns"},
        {{packed, shape, scales, {"t.weight_zero_point", "I32", 2, 2}}, SHAPE, "zero points"},
        {{packed, shape, scales, {"t.weight_zero_point", "I32", 1, 1}}, SHAPE, "zero points"},
        {{packed, shape, scales, {"t.weight_zero_point", "I8", 1, 0}}, SHAPE, "zero points"},
        {{packed, shape, scales, {"t.weight_zero_point", "F32", 2, 2}}, SHAPE, "zero points"},
        {{packed, shape, scales, {"t.weight_g_idx", "I32", 64, 0}}, TYPE, "the order of .weight_g_idx"},
        {{nvfp4, factor}, SHAPE, "t.weight: NVFP4 needs a .weight_scale of F8_E4M3"},
        {{nvfp4, factor, {"t.weight_scale", "F8_E4M3", 2, 1}}, SHAPE, "t.weight: NVFP4 needs"},
        {{nvfp4, factor, {"t.weight_scale", "F8_E4M3", 4, 0}}, SHAPE, "t.weight: NVFP4 needs"},
        {{nvfp4, factor, {"t.weight_scale", "F32", 2, 2}}, SHAPE, "t.weight: NVFP4 needs"},
        {{nvfp4, {"t.weight_scale_2", "F32", 2, 0}, {"t.weight_scale", "F8_E4M3", 2, 2}}, SHAPE, "of one F32"},
        {{nvfp4, {"t.weight_scale_2", "BF16", 1, 0}, {"t.weight_scale", "F8_E4M3", 2, 2}}, SHAPE, "of one F32"},
        {{{"t.weight", "U8", 2, 12}, factor, {"t.weight_scale", "F8_E4M3", 2, 1}}, SHAPE, "t.weight: NVFP4 needs"},
        {{i8, {"t.weight_scale", "F32", 2, 3}}, SHAPE, "its 3 groups do not divide the 64 columns"},
        {{i8, {"t.weight_scale", "F32", 3, 2}}, SHAPE, "scales of groups"},
        {{i8, {"t.weight_scale", "F32", 2, 1}, {"t.weight_zero_point", "I8", 2, 2}}, SHAPE, "zero points"},
        {{i8, scales, {"t.weight_zero_point", "I32", 1, 2}}, SHAPE, "zero points"},
        {{{"t.weight", "I8", 2, 80}, {"t.weight_scale", "F32", 2, 2}, {"t.weight_zero_point", "I8", 2, 2}},
         SHAPE,
         "groups of 40 columns"},
        {{{"t.weight", "F8_E4M3", 2, 4}, {"t.weight_scale", "F32", 1, 0}, {"t.weight_zero_point", "F8_E4M3", 1, 0}},
         TYPE,
         "F8_E4M3 tables have no zero points"},
    };
    static const int64_t good_shape[2] = {2, 64},
                         shapes[][2] = {{3, 64}, {2, 65}, {2, 0},  {2, -64}, {2, INT64_MAX},
                                        {2, 80}, {2, 56}, {2, 33}, {2, 28}}; /* 80: 3 bits; 56 and 28 fill 7 words */
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse_parts(bad[i].parts, good_shape, (inlay_file_status)bad[i].status, bad[i].message);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        refuse_parts((const struct part[4]){packed, shape, scales}, shapes[i], INLAY_FILE_ERROR_SHAPE,
                     "t.weight_shape: it does not match the shape of the packed rows, counted in 4- or 8-bit numbers");
    refuse_parts((const struct part[4]){{"t.weight_packed", "I32", 2, 1}, shape, {"t.weight_scale", "F32", 2, 1}},
                 (const int64_t[]){2, 4}, INLAY_FILE_ERROR_SHAPE,
                 "t.weight_shape: up to 4 columns fill one word in 4 bits and in 8");
}
END_TEST

/* A layer finds its packed table by the table's name; the error for an unsupported format names it. */
START_TEST(layers_of_packed_tables)
{
    static const struct {
        const char *format, *bits;
        inlay_file_status status;
        const char *says;
    } formats[] = {
        {"pack-quantized", "4", INLAY_FILE_OK, NULL},
        {"mixed-precision", "4}}, \"group_1\": {\"weights\": {\"num_bits\": 8", INLAY_FILE_OK, NULL},
        {"marlin-24", "4", INLAY_FILE_ERROR_TYPE, "config.quantization_config.format: packed tables of format"},
        {"pack-quantized", "3", INLAY_FILE_ERROR_TYPE,
         "config.quantization_config.config_groups.group_0.weights.num_bits: packed tables have 4 or 8 bits"}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct safetensors model = {{0}, {0}};
        add_part(&model, &(struct part){"model.embed_tokens.weight_packed", "I32", 2, 8}, NULL);
        add_part(&model, &(struct part){"model.embed_tokens.weight_scale", "F32", 2, 2}, NULL);
        add_part(&model, &(struct part){"model.embed_tokens.weight_shape", "I64", 2, 0}, (const int64_t[]){2, 64});
        char config[512];
        snprintf(config, sizeof config,
                 "{\"model_type\": \"llama\", \"hidden_size\": 64, \"quantization_config\": {\"quant_method\": "
                 "\"compressed-tensors\", \"format\": \"%s\", \"config_groups\": {\"group_0\": {\"weights\": "
                 "{\"num_bits\": %s}}}}}",
                 formats[i].format, formats[i].bits);
        write_text("config.json", config);
        inlay_file_close(safetensors_open(&model));
        inlay_file *file = open_good(path_of(""));
        inlay_file_layer *layer;
        inlay_file_error error = {0};
        const inlay_file_status status = inlay_file_layer_create(file, NULL, &layer, &error);
        EXPECT(status == formats[i].status, "%s: %s", formats[i].format, error.message);
        if (status == INLAY_FILE_OK)
            EXPECT(
                strstr(inlay_file_layer_report(layer),
                       "tokens: model.embed_tokens.weight_packed [2, 8] I32\ntokens: a table of u4_grouped [2, 64], 32 "
                       "columns to a scale\n") != NULL,
                "the report: %s", inlay_file_layer_report(layer));
        else
            EXPECT(strstr(error.message, formats[i].says) != NULL, "the message: %s", error.message);
        inlay_file_layer_destroy(layer);
        inlay_file_close(file);
    }
}
END_TEST

/* Extents have their own scales and zero points. */
START_TEST(packed_tables_join)
{
    static const int64_t shape[2] = {2, 64};
    struct safetensors model = {{0}, {0}};
    for (int i = 0; i < 2; i++) {
        static char names[2][4][32];
        static const char *const ends[4] = {"packed", "shape", "scale", "zero_point"};
        for (int k = 0; k < 4; k++)
            snprintf(names[i][k], sizeof names[i][k], "t.%d.weight_%s", i, ends[k]);
        const float scales[4] = {1, 2, 3, (float)(4 + i)};
        add_part(&model, &(struct part){names[i][0], "I32", 2, 8}, shape);
        add_part(&model, &(struct part){names[i][1], "I64", 2, 0}, shape);
        safetensors_add_rows(&model, names[i][2], "F32", 2, 2, scales);
        safetensors_add_rows(&model, names[i][3], "I32", 1, 2, (uint32_t[]){0x30, i == 0 ? 0x20 : 0x50});
    }
    inlay_file *file = safetensors_open(&model);
    const inlay_file_table table = table_of(file, "t.*.weight_packed");
    EXPECT(table.view.extent_count == 2 && table.view.rows == 4 && table.view.group == 32, "the table");
    expect_element(&table, 1, 62, (1 - 2) * 4);
    expect_element(&table, 3, 62, (1 - 5) * 5);
    expect_element(&table, 3, 0, (1 - 3) * 3);
    inlay_file_close(file);
}
END_TEST

/* ---- MLX -------------------------------------------------------------------------------------------------------- */

enum { MLX_ROWS = 5 };

/* Writes config.json and a model of MLX's rows of 3 groups, and opens both. Its rows are all bytes 0, 37, 74, ... */
static inlay_file *open_mlx(size_t bits, size_t group, const char *type, const char *config)
{
    const size_t words = 3 * group * bits / 32, count = (size_t)MLX_ROWS * 3, bytes = model_type_bytes(type);
    struct safetensors model = {{0}, {0}};
    struct blob rows = {NULL, 0, 0}, numbers[2] = {{NULL, 0, 0}, {NULL, 0, 0}};
    for (size_t i = 0; i < MLX_ROWS * words * 4; i++)
        blob_number(&rows, i * 37, 1);
    for (size_t i = 0; i < count; i++)
        for (int bias = 0; bias < 2; bias++) {
            const float number = bias ? -scale_of(i, 1) : scale_of(i, 0);
            uint32_t word;
            memcpy(&word, &number, sizeof word);
            const uint32_t half = (word >> 16 & 0x8000) | ((word & INT32_MAX) - (112u << 23)) >> 13;
            blob_number(&numbers[bias], bytes == 4 ? word : type[0] == 'B' ? word >> 16 : half, bytes);
        }
    safetensors_add_rows(&model, "t.weight", "U32", MLX_ROWS, words, rows.bytes);
    safetensors_add_rows(&model, "t.scales", type, MLX_ROWS, 3, numbers[0].bytes);
    safetensors_add_rows(&model, "t.biases", type, MLX_ROWS, 3, numbers[1].bytes);
    for (int i = 0; i < 2; i++)
        blob_free(&numbers[i]);
    blob_free(&rows);
    write_text("config.json", config);
    inlay_file_close(safetensors_open(&model));
    return open_good(path_of(""));
}

START_TEST(mlx)
{
    static const size_t widths[] = {2, 3, 4, 5, 6, 8};
    static const char *const types[] = {"F32", "F16", "BF16"};
    /* The settings of the model, also under the other name, and those of the module, which come first. */
    static const char *const configs[] = {
        "{\"quantization\": {\"group_size\": %zu, \"bits\": %zu}}",
        "{\"quantization_config\": {\"group_size\": %zu, \"bits\": %zu, \"mode\": \"affine\"}}",
        "{\"quantization\": {\"group_size\": 16, \"bits\": 7, \"t\": {\"group_size\": %zu, \"bits\": %zu}}}",
    };
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (size_t group = 32; group <= 128; group *= 2) {
            const size_t bits = widths[w], kind = (w + group / 32) % 3;
            char config[256], name[16];
            snprintf(config, sizeof config, configs[kind], group, bits);
            snprintf(name, sizeof name, "u%zu_affine", bits);
            inlay_file *file = open_mlx(bits, group, types[kind], config);
            const inlay_file_table table = table_of(file, "t.weight");
            const inlay_table *view = &table.view;
            EXPECT(view->type == inlay_element_type_from_name(name) && view->group == group && table.scale == 1 &&
                       view->rows == MLX_ROWS && view->dim == 3 * group,
                   "%s has type %d and group %u", name, view->type, view->group);
            for (size_t row = 0; row < MLX_ROWS; row++) {
                float out[3 * 128];
                read_row(&table, row, out);
                for (size_t column = 0; column < view->dim; column++) {
                    unsigned q = 0;
                    for (size_t k = 0; k < bits; k++) {
                        const size_t bit = column * bits + k, byte = row * view->dim * bits / 8 + bit / 8;
                        q |= (byte * 37 >> bit % 8 & 1) << k;
                    }
                    const size_t i = row * 3 + column / group;
                    const float value = (float)q * scale_of(i, 0) - scale_of(i, 1);
                    EXPECT(out[column] == value, "%s, row %zu, column %zu: %a, not %a", name, row, column,
                           (double)out[column], (double)value);
                }
            }
            inlay_file_close(file);
        }
}
END_TEST

START_TEST(mlx_settings_that_are_refused)
{
    enum { MISSING = INLAY_FILE_ERROR_MISSING, TYPE = INLAY_FILE_ERROR_TYPE, MODEL = INLAY_FILE_ERROR_MODEL };
    static const struct {
        const char *config;
        int status;
        const char *message;
    } bad[] = {
        {"{}", MISSING, "config.quantization.bits: config.json needs this key for the U32 rows of t.weight"},
        {"{'quantization': {'group_size': 32}}", MISSING, "config.quantization.bits"},
        {"{'quantization': {'bits': 4}}", MISSING, "config.quantization.group_size"},
        {"{'quantization': {'bits': 4, 'group_size': null}}", MISSING, "config.quantization.group_size"},
        {"{'quantization': {'bits': 4.5, 'group_size': 32}}", MODEL, "config.quantization.bits: it is not an integer"},
        {"{'quantization': {'bits': 4, 'group_size': '32'}}", MODEL, "group_size: it is not an integer"},
        {"{'quantization': {'bits': 7, 'group_size': 32}}", TYPE, "bits: rows of 7 bits"},
        {"{'quantization': {'bits': -4, 'group_size': 32}}", TYPE, "bits: rows of -4 bits"},
        {"{'quantization': {'bits': 4, 'group_size': 16}}", TYPE, "group_size: groups of 16 columns"},
        {"{'quantization': {'bits': 4, 'group_size': 4294967328}}", TYPE, "groups of 4294967328 columns"},
        {"{'quantization': {'bits': 4, 'group_size': 64}}", INLAY_FILE_ERROR_SHAPE,
         "t.weight: its rows of 12 words are not 3 groups of 64 columns of 4 bits"},
        {"{'quantization': {'bits': 8, 'group_size': 32}}", INLAY_FILE_ERROR_SHAPE, "its rows of 12 words"},
        {"{'quantization': {'bits': 4, 'group_size': 32, 'mode': 'mxfp4'}}", TYPE,
         "config.quantization.mode: MLX's mode \"mxfp4\" is not supported"},
        {"{'quantization': {'bits': 4, 'group_size': 32, 'mode': 1}}", TYPE, "mode: MLX's mode"},
        {"{'quantization': {'bits': 4, 'group_size': 32, 't': false}}", MODEL,
         "config.quantization.t: it is neither true nor an object with bits and group_size, but t.weight is quantized"},
        {"{'quantization': {'bits': 4, 'group_size': 32, 't': '8 bits'}}", MODEL,
         "config.quantization.t: it is neither"},
        {"{'quantization_config': {'bits': 4, 'group_size': 32, 't': false}}", MODEL,
         "config.quantization_config.t: it is neither"},
        {"{'quantization': {'bits': 4, 'group_size': 32, 't': {'bits': 4}}}", MISSING,
         "config.quantization.t.group_size"},
        {"{'quantization': {'bits': 4, 'group_size': 32}, 'quantization_config': {'bits': 8, 'group_size': 32}}", MODEL,
         "config.quantization_config.bits: it contradicts config.quantization.bits"},
        {"{'quantization': {'bits': 4, 'group_size': 32}, 'quantization_config': {'bits': 4}}", MODEL,
         "config.quantization_config.group_size: it contradicts config.quantization.group_size"},
        {"{'quantization': {'bits': 4, 'group_size': 32}, 'quantization_config': {'bits': 4, 'group_size': 32, "
         "'mode': 'mxfp8'}}",
         TYPE, "config.quantization_config.mode: MLX's mode \"mxfp8\""},
        {"{'quantization_config': {'bits': 4, 'group_size': 32, 'quant_method': 'gptq'}}", MISSING,
         "config.quantization.bits"},
    };
    static const char good[] = "{\"quantization\": {\"bits\": 4, \"group_size\": 32, \"t\": true},"
                               "\"quantization_config\": {\"bits\": 8, \"quant_method\": \"awq\"}}";
    inlay_file *file = open_mlx(4, 32, "BF16", good);
    table_of(file, "t.weight");
    inlay_file_close(file);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char config[256];
        snprintf(config, sizeof config, "%s", bad[i].config);
        for (char *quote = config; (quote = strchr(quote, '\'')) != NULL;)
            *quote = '"';
        file = open_mlx(4, 32, "BF16", config);
        expect_no_table(file, "t.weight", (inlay_file_status)bad[i].status, bad[i].message);
        inlay_file_close(file);
    }
}
END_TEST

/* The names of settings of such a module would be longer than those that are read. */
START_TEST(mlx_modules_with_long_names)
{
    enum { LONGEST = 986 };
    char name[1024], text[4096];
    memset(name, 'x', sizeof name);
    for (int size = LONGEST; size <= LONGEST + 1; size++) {
        snprintf(text, sizeof text,
                 "{\"%.*s.weight\": {\"dtype\": \"U32\", \"shape\": [2, 12], \"data_offsets\": [0, 96]}, "
                 "\"%.*s.scales\": {\"dtype\": \"F16\", \"shape\": [2, 3], \"data_offsets\": [96, 108]}, "
                 "\"%.*s.biases\": {\"dtype\": \"F16\", \"shape\": [2, 3], \"data_offsets\": [108, 120]}}",
                 size, name, size, name, size, name);
        write_blob("m.safetensors", blob_safetensors(text, 120));
        snprintf(text, sizeof text,
                 "{\"quantization_config\": {\"bits\": 4, \"group_size\": 32, \"%.*s\": {\"bits\": 4, "
                 "\"group_size\": 16}}}",
                 size, name);
        write_text("config.json", text);
        inlay_file *file = open_good(path_of(""));
        snprintf(text, sizeof text, "%.*s.weight", size, name);
        if (size == LONGEST)
            expect_no_table(file, text, INLAY_FILE_ERROR_TYPE, "groups of 16 columns");
        else
            expect_no_table(file, text, INLAY_FILE_ERROR_LIMIT, "its name is too long to find its settings");
        inlay_file_close(file);
    }
}
END_TEST

START_TEST(mlx_tensors_that_are_refused)
{
    const struct part rows = {"t.weight", "U32", 2, 12}, scales = {"t.scales", "F16", 2, 3},
                      biases = {"t.biases", "F16", 2, 3};
    const struct {
        struct part parts[4];
        int status;
        const char *message;
    } bad[] = {
        {{rows}, INLAY_FILE_ERROR_TYPE, "t.weight: tables do not support its type, U32; next to it: nothing"},
        {{rows, biases}, INLAY_FILE_ERROR_TYPE, "t.weight: tables do not support its type, U32"},
        {{{"t", "U32", 2, 12}, scales, biases}, INLAY_FILE_ERROR_TYPE, "tables do not support its type, U32"},
        {{{"t.weight", "I32", 2, 12}, scales, biases}, INLAY_FILE_ERROR_TYPE, "do not support its type, I32"},
        {{rows, scales}, INLAY_FILE_ERROR_MISSING, "t.weight: MLX's affine rows need .biases"},
        {{rows, {"t.scales", "U8", 2, 3}, biases}, INLAY_FILE_ERROR_SHAPE, "t.scales: MLX's scales and biases"},
        {{rows, {"t.scales", "F16", 3, 3}, biases}, INLAY_FILE_ERROR_SHAPE, "t.scales: MLX's scales and biases"},
        {{rows, {"t.scales", "F16", 2, 0}, biases}, INLAY_FILE_ERROR_SHAPE, "t.scales: MLX's scales and biases"},
        {{rows, scales, {"t.biases", "F16", 2, 2}}, INLAY_FILE_ERROR_SHAPE, "t.biases: MLX's scales and biases"},
        {{{"t.weight", "U32", 2, 13}, scales, biases}, INLAY_FILE_ERROR_SHAPE, "rows of 13 words are not 3 groups"},
        {{rows, scales, biases, {"t.g_idx", "I32", 2, 0}}, INLAY_FILE_ERROR_TYPE, "t.g_idx: it may change the rows"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct safetensors model = {{0}, {0}};
        for (size_t k = 0; k < 4 && bad[i].parts[k].name != NULL; k++)
            add_part(&model, &bad[i].parts[k], NULL);
        write_text("config.json", "{\"quantization\": {\"bits\": 4, \"group_size\": 32}}");
        inlay_file_close(safetensors_open(&model));
        inlay_file *file = open_good(path_of(""));
        expect_no_table(file, bad[i].parts[0].name, (inlay_file_status)bad[i].status, bad[i].message);
        inlay_file_close(file);
    }
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "tables with numbers in groups", make_folder, remove_folder, compressed_tensors,
                     zero_points_of_nothing, nvfp4_of_modelopt, quantized_tables_that_are_refused, packed_tables_join,
                     mlx, mlx_settings_that_are_refused, mlx_modules_with_long_names, mlx_tensors_that_are_refused,
                     layers_of_packed_tables);
}
