/* SPDX-License-Identifier: MIT */
/*
 * The features of the library on one ISA, bit by bit against scalar. Prints a line per case; features.py turns them
 * into the table of docs/features.md. A case is a check of `inlay selftest`, with unsplit calls on scalar, and split
 * ones on the ISA. No two cases use the same check.
 */
#include "selftest/check.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

static const struct feature_case {
    const char *feature, *name;
    const struct family *family;
    const char *check;
} cases[] = {
    {"ids", "u8", &layer_checks, "ids u8"},
    {"ids", "u16", &layer_checks, "ids u16"},
    {"ids", "i16", &layer_checks, "ids i16"},
    {"ids", "i32", &layer_checks, "gather"},
    {"ids", "u32", &layer_checks, "ids u32"},
    {"ids", "i64", &layer_checks, "ids i64"},
    {"bad ids", "clamped", &layer_checks, "bad ids clamped"},
    {"bad ids", "zeros", &layer_checks, "bad ids zeros"},
    {"bad ids", "substituted", &layer_checks, "bad ids substituted"},
    {"bad ids", "skipped", &layer_checks, "bad ids skipped"},
    {"token mapping", "of a layer", &layer_checks, "token mapping"},
    {"token mapping", "of a shard", &layer_checks, "token mapping of a shard"},
    {"token mapping", "pooled", &layer_checks, "token mapping and pooling"},
    {"padding", "zeros", &layer_checks, "padding"},
    {"padding", "zeros with positions", &layer_checks, "padding with positions"},
    {"positions", "cached sinusoids", &layer_checks, "cached sinusoids"},
    {"positions", "sinusoids computed at 2,000,000,000", &layer_checks, "sinusoids at 2000000000"},
    {"positions", "learned", &layer_checks, "learned positions"},
    {"positions", "a start for each sequence", &layer_checks, "starts of sequences"},
    {"positions", "explicit position ids", &layer_checks, "explicit position ids, some cached"},
    {"positions", "padding-aware", &layer_checks, "padding-aware positions"},
    {"positions", "clamped to the last", &layer_checks, "clamped positions"},
    {"ragged batches", "packed", &layer_checks, "packed sequences, some cached"},
    {"ragged batches", "padded", &layer_checks, "padded sequences, some cached"},
    {"table types", "float16", &type_checks, "float16"},
    {"table types", "bfloat16", &type_checks, "bfloat16"},
    {"table types", "int8", &type_checks, "i8"},
    {"table types", "int8 of CTranslate2", &type_checks, "i8_inverse"},
    {"table types", "8-bit rowwise", &type_checks, "u8_rowwise"},
    {"table types", "4-bit rowwise", &type_checks, "u4_rowwise"},
    {"table types", "2-bit rowwise", &type_checks, "u2_rowwise"},
    {"table types", "8-bit rowwise of TorchRec", &type_checks, "u8_rowwise_first"},
    {"table types", "4-bit rowwise of TorchRec", &type_checks, "u4_rowwise_first"},
    {"table types", "2-bit rowwise of TorchRec", &type_checks, "u2_rowwise_first"},
    {"table types", "4-bit in groups", &type_checks, "u4_grouped"},
    {"table types", "2-bit affine of MLX", &type_checks, "u2_affine"},
    {"table types", "3-bit affine of MLX", &type_checks, "u3_affine"},
    {"table types", "4-bit affine of MLX", &type_checks, "u4_affine"},
    {"table types", "5-bit affine of MLX", &type_checks, "u5_affine"},
    {"table types", "6-bit affine of MLX", &type_checks, "u6_affine"},
    {"table types", "8-bit affine of MLX", &type_checks, "u8_affine"},
    {"types of ggml", "Q8_0", &type_checks, "q8_0"},
    {"types of ggml", "Q4_0", &type_checks, "q4_0"},
    {"types of ggml", "Q4_1", &type_checks, "q4_1"},
    {"types of ggml", "Q5_0", &type_checks, "q5_0"},
    {"types of ggml", "Q5_1", &type_checks, "q5_1"},
    {"types of ggml", "IQ4_NL", &type_checks, "iq4_nl"},
    {"types of ggml", "MXFP4", &type_checks, "mxfp4"},
    {"types of ggml", "NVFP4", &type_checks, "nvfp4"},
    {"types of ggml", "Q3_K", &type_checks, "q3_k"},
    {"types of ggml", "Q4_K", &type_checks, "q4_k"},
    {"types of ggml", "Q5_K", &type_checks, "q5_k"},
    {"types of ggml", "Q6_K", &type_checks, "q6_k"},
    {"types of ggml", "Q2_K", &type_checks, "q2_k"},
    {"types of ggml", "IQ4_XS", &type_checks, "iq4_xs"},
    {"types of ggml", "IQ3_S", &type_checks, "iq3_s"},
    {"FP8", "a scale per row", &type_checks, "e4m3"},
    {"FP8", "a power of two per 32 columns", &type_checks, "e4m3_e8m0"},
    {"FP8", "bfloat16 outputs", &layer_checks, "e4m3_e8m0 table to bfloat16"},
    {"tables in extents", "float32", &layer_checks, "extents"},
    {"tables in extents", "4-bit in groups", &layer_checks, "extents in groups"},
    {"output types", "float16", &layer_checks, "float16 outputs"},
    {"output types", "bfloat16", &layer_checks, "bfloat16 outputs"},
    {"segments and norms", "segments", &layer_checks, "segments"},
    {"segments and norms", "segments before positions", &layer_checks, "segments before positions"},
    {"segments and norms", "LayerNorm", &layer_checks, "LayerNorm"},
    {"segments and norms", "RMSNorm", &layer_checks, "RMSNorm"},
    {"segments and norms", "L2 norm", &layer_checks, "L2 norm"},
    {"pooling", "sum", &layer_checks, "sum pooling"},
    {"pooling", "mean", &layer_checks, "mean pooling"},
    {"pooling", "mean of length 1", &layer_checks, "pooling and L2 norm"},
    {"pooling", "weighted", &layer_checks, "sum pooling with weights"},
    {"pooling", "token weights", &layer_checks, "weighted pooling"},
    {"training", "dropout", &layer_checks, "dropout"},
    {"shards", "a part of the vocabulary", &layer_checks, "shard"},
    {"hashed n-grams", "XOR", &ngram_checks, "xor, 24 columns"},
    {"hashed n-grams", "sums", &ngram_checks, "add, 24 columns"},
    {"hashed n-grams", "small moduli", &ngram_checks, "xor, rows one by one"},
    {"hashed n-grams", "resets and masks", &ngram_checks, "resets and masks"},
    {"hashed n-grams", "no row for 0", &ngram_checks, "add, no row for 0"},
    {"hashed n-grams", "histories", &ngram_checks, "resets and histories"},
    {"hashed n-grams", "decoding", &ngram_checks, "decoding"},
    {"hashed n-grams", "[columns, tokens, dim]", &ngram_checks, "columns first"},
    {"hashed n-grams", "summed rows", &ngram_checks, "add, sums"},
    {"hashed n-grams", "bfloat16 from bfloat16", &ngram_checks, "xor, copied bfloat16"},
    {"hashed n-grams", "float16 from float32", &ngram_checks, "decoding, columns first in float16"},
};

enum { CASES = sizeof cases / sizeof *cases };

/* Returns the item of the only check of a family with a name, or SIZE_MAX if there is not exactly one. */
static size_t item_named(const struct family *family, const char *name)
{
    size_t found = SIZE_MAX, count = 0;
    const char *other;
    for (size_t item = 0; (other = item_name(family, item)) != NULL; item++)
        if (strcmp(other, name) == 0) {
            found = item;
            count++;
        }
    return count == 1 ? found : SIZE_MAX;
}

/* Returns true if each case names one check, and no two the same. */
static bool names_are_right(void)
{
    bool right = true;
    for (size_t i = 0; i < CASES; i++) {
        bool single = item_named(cases[i].family, cases[i].check) != SIZE_MAX;
        for (size_t j = 0; j < i; j++)
            single = single && (cases[i].family != cases[j].family || strcmp(cases[i].check, cases[j].check) != 0);
        if (!single)
            fprintf(stderr, "features: %s: %s: no check, or not the only one of this name or of this case\n",
                    cases[i].feature, cases[i].name);
        right = right && single;
    }
    return right;
}

/* Hashes the results of a case on some kernels. Returns true if all calls succeed. */
static bool run(const struct feature_case *wanted, const struct inlay_kernels *kernels, const inlay_executor *executor,
                uint64_t *hash)
{
    const size_t item = item_named(wanted->family, wanted->check);
    struct trial trial = trial_begin();
    trial.executor = executor;
    inlay_dispatch_use(kernels);
    wanted->family->run(&trial, item);
    *hash = trial.hash;
    return trial.fault[0] == '\0';
}

int main(int argc, char **argv)
{
    bool good = names_are_right();
    if (!test_isa(argc > 1 ? argv[1] : NULL))
        return EXIT_SKIP;
    if (!good)
        return 1;
    for (size_t i = 0; i < CASES; i++) {
        uint64_t found, scalar;
        const bool exact = run(&cases[i], &inlay_kernels_scalar, NULL, &scalar) &&
                           run(&cases[i], tested, &out_of_order, &found) && found == scalar;
        printf("%s\t%s\t%s\n", cases[i].feature, cases[i].name, exact ? "exact" : "DIFFERS");
        good = good && exact;
    }
    return good ? 0 : 1;
}
