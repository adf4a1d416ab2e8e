/* SPDX-License-Identifier: MIT */
/*
 * Rows of FP8 and of ggml's types against values of PyTorch and ggml (data/ngram), through the public API: bit by bit,
 * except the payload of NaNs. Includes all pairs of an E4M3 number and an E8M0 scale.
 */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 32768, DIM = 256 };

/* A file, line by line. */
struct golden {
    FILE *file;
    char line[LINE];
    char *words[8]; /* of the line */
};

static struct golden open_golden(const char *name, const char *first)
{
    struct golden golden = {.file = fopen(name, "r")};
    ck_assert_msg(golden.file != NULL, "cannot open %s", name);
    ck_assert_ptr_nonnull(fgets(golden.line, LINE, golden.file));
    ck_assert_int_eq(strncmp(golden.line, first, strlen(first)), 0);
    return golden;
}

/* Reads the next line and splits it into words. Returns false at the last line, "end". */
static bool next_line(struct golden *golden)
{
    ck_assert_ptr_nonnull(fgets(golden->line, LINE, golden->file));
    golden->line[strcspn(golden->line, "\n")] = 0;
    memset(golden->words, 0, sizeof golden->words);
    char *word = strtok(golden->line, " ");
    for (size_t i = 0; i < sizeof golden->words / sizeof *golden->words && word != NULL; i++, word = strtok(NULL, " "))
        golden->words[i] = word;
    return strcmp(golden->words[0], "end") != 0;
}

static bool line_is(const struct golden *golden, const char *first)
{
    return strcmp(golden->words[0], first) == 0;
}

/* Reads `digits` hexadecimal digits of element i; UINT32_MAX is a NaN, written as dashes. */
static uint32_t hex_at(const char *text, size_t i, size_t digits)
{
    char number[9] = {0};
    memcpy(number, text + i * digits, digits);
    return number[0] == '-' ? UINT32_MAX : (uint32_t)strtoul(number, NULL, 16);
}

/* Reads bytes from hexadecimal digits; returns their number. */
static size_t bytes_of(const char *text, unsigned char *bytes)
{
    const size_t n = strlen(text) / 2;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)hex_at(text, i, 2);
    return n;
}

static bool is_nan(uint32_t bits, inlay_element_type type)
{
    const uint32_t magnitude = type == INLAY_F32 ? bits & 0x7fffffff : bits & 0x7fff;
    return magnitude > (type == INLAY_F32 ? 0x7f800000u : type == INLAY_F16 ? 0x7c00u : 0x7f80u);
}

/* Returns element i of an output, UINT32_MAX for a NaN. */
static uint32_t bits_at(const unsigned char *out, size_t i, inlay_element_type type)
{
    uint32_t bits = 0;
    const size_t bytes = type == INLAY_F32 ? 4 : 2;
    memcpy(&bits, out + i * bytes, bytes); /* little-endian */
    return is_nan(bits, type) ? UINT32_MAX : bits;
}

/* Writes all rows of a table: float32 by inlay_gather(), others by a layer with that output type. */
static void write_table(const inlay_table *table, float scale, inlay_element_type type, unsigned char *out)
{
    static int32_t ids[DIM];
    const size_t row_bytes = table->dim * (type == INLAY_F32 ? 4 : 2);
    ck_assert_uint_le(table->rows, DIM);
    for (size_t i = 0; i < table->rows; i++)
        ids[i] = (int32_t)i;
    if (type == INLAY_F32) {
        ck_assert_int_eq(inlay_gather(table, ids, INLAY_ID_I32, table->rows, scale, out, row_bytes, NULL, NULL),
                         INLAY_OK);
        return;
    }
    inlay_layer_spec spec = inlay_layer_spec_default(table);
    spec.scale = scale;
    spec.out_type = type;
    inlay_layer *layer = make_layer_of(&spec);
    const inlay_batch batch = inlay_batch_i32(ids, 1, table->rows, 0);
    ck_assert_int_eq(inlay_forward(layer, &batch, out, row_bytes, NULL, NULL), INLAY_OK);
    inlay_layer_destroy(layer);
}

/* Expects the rows of a table to have the values of a line of hexadecimal digits. */
static void expect_line(const char *what, const inlay_table *table, float scale, inlay_element_type type,
                        const char *wanted)
{
    static unsigned char out[DIM * 32 * 4];
    const size_t digits = type == INLAY_F32 ? 8 : 4, n = table->rows * table->dim;
    ck_assert_uint_le(n * digits / 2, sizeof out);
    ck_assert_uint_eq(strlen(wanted), n * digits);
    write_table(table, scale, type, out);
    for (size_t i = 0; i < n; i++)
        EXPECT(bits_at(out, i, type) == hex_at(wanted, i, digits), "%s, type %d: element %zu is %x, not %x", what,
               (int)type, i, bits_at(out, i, type), hex_at(wanted, i, digits));
}

/* Expects this SHA-256 for the products of all E4M3 numbers and all E8M0 scales in a type. */
static void expect_pairs(inlay_element_type type, const char *wanted)
{
    static unsigned char codes[DIM * DIM], scales[DIM * DIM / 32], out[DIM * DIM * 4], pairs[sizeof out];
    const size_t bytes = type == INLAY_F32 ? 4 : 2;
    for (size_t i = 0; i < sizeof codes; i++)
        codes[i] = (unsigned char)(i % DIM);
    for (size_t i = 0; i < sizeof scales; i++)
        scales[i] = (unsigned char)(i / (DIM / 32));
    const inlay_table table = inlay_table_e4m3_e8m0(codes, scales, DIM, DIM);
    write_table(&table, 1, type, out);
    for (size_t code = 0; code < DIM; code++)
        for (size_t scale = 0; scale < DIM; scale++) {
            uint32_t bits = bits_at(out, scale * DIM + code, type);
            bits = bits == UINT32_MAX ? (type == INLAY_F32 ? 0x7fc00000 : 0x7fff) : bits;
            memcpy(pairs + (code * DIM + scale) * bytes, &bits, bytes);
        }
    struct digest digest = sha256(pairs, DIM * DIM * bytes);
    EXPECT(strcmp(digest.text, wanted) == 0, "type %d: %s, not %s", (int)type, digest.text, wanted);
}

START_TEST(fp8_is_that_of_pytorch)
{
    struct golden golden = open_golden(TESTS_DATA "/ngram/fp8.txt", "inlay-fp8-golden 1");
    static unsigned char codes[DIM * 32], scales[DIM];
    enum { BLOCK, ROW_SCALE, TENSOR_SCALE } kind = BLOCK;
    size_t dim = 0, lines = 0;
    float scale = 0;
    while (next_line(&golden)) {
        lines++;
        if (line_is(&golden, "e4m3")) {
            for (size_t i = 0; i < DIM; i++)
                codes[i] = (unsigned char)i;
            const inlay_table table = inlay_table_e4m3(codes, NULL, 1, DIM);
            expect_line("E4M3", &table, 1, INLAY_F32, golden.words[1]);
        } else if (line_is(&golden, "e8m0")) {
            static char wanted[DIM * 32 * 8 + 1];
            for (size_t i = 0; i < DIM * 32; i++) {
                codes[i] = 0x38; /* 1 */
                scales[i / 32] = (unsigned char)(i / 32);
                memcpy(wanted + i * 8, golden.words[1] + i / 32 * 8, 8);
            }
            const inlay_table table = inlay_table_e4m3_e8m0(codes, scales, DIM, 32);
            expect_line("E8M0", &table, 1, INLAY_F32, wanted);
        } else if (line_is(&golden, "pairs-sha256")) {
            expect_pairs(inlay_element_type_from_name(golden.words[1]), golden.words[2]);
        } else if (line_is(&golden, "block") || line_is(&golden, "row-scale") || line_is(&golden, "tensor-scale")) {
            kind = line_is(&golden, "block") ? BLOCK : line_is(&golden, "row-scale") ? ROW_SCALE : TENSOR_SCALE;
            dim = (size_t)atoi(golden.words[kind == BLOCK ? 5 : 4]);
        } else if (line_is(&golden, "w")) {
            ck_assert_uint_eq(bytes_of(golden.words[1], codes), dim);
        } else if (line_is(&golden, "s")) {
            ck_assert_uint_eq(bytes_of(golden.words[1], scales), dim / 32);
        } else if (line_is(&golden, "scale")) {
            const uint32_t bits = hex_at(golden.words[1], 0, 8);
            memcpy(&scale, &bits, sizeof scale);
        } else if (line_is(&golden, "f32") || line_is(&golden, "bf16")) {
            const inlay_table table = kind == BLOCK
                                          ? inlay_table_e4m3_e8m0(codes, scales, 1, dim)
                                          : inlay_table_e4m3(codes, kind == ROW_SCALE ? &scale : NULL, 1, dim);
            expect_line("FP8", &table, kind == TENSOR_SCALE ? scale : 1,
                        line_is(&golden, "f32") ? INLAY_F32 : INLAY_BF16, golden.words[1]);
        } else {
            ck_assert_int_eq(strcmp(golden.words[0], "source"), 0);
        }
    }
    fclose(golden.file);
    ck_assert_uint_eq(lines, 34);
}
END_TEST

static const struct ggml_row {
    const char *name;
    inlay_element_type type;
    size_t dim;
    const char *row;
    const uint32_t *values;
} ggml_rows[] = {
#include "tables/ggml_golden.inc"
};

START_TEST(blocks_are_those_of_ggml)
{
    static unsigned char row[4 * DIM], out[DIM * 32 * 4];
    for (size_t r = 0; r < sizeof ggml_rows / sizeof *ggml_rows; r++) {
        const struct ggml_row *wanted = &ggml_rows[r];
        const size_t bytes = bytes_of(wanted->row, row);
        const inlay_table table = inlay_table_view(wanted->type, row, 1, wanted->dim, bytes);
        ck_assert_uint_eq(inlay_table_row_bytes(wanted->type, wanted->dim), bytes);
        write_table(&table, 1, INLAY_F32, out);
        for (size_t i = 0; i < wanted->dim; i++)
            EXPECT(bits_at(out, i, INLAY_F32) == wanted->values[i], "%s: element %zu is %x, not %x", wanted->name, i,
                   bits_at(out, i, INLAY_F32), wanted->values[i]);
    }
}
END_TEST

int main(int argc, char **argv)
{
    return RUN_TESTS(argc, argv, "golden", NULL, NULL, fp8_is_that_of_pytorch, blocks_are_those_of_ggml);
}
