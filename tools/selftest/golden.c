/* SPDX-License-Identifier: MIT */
/*
 * Golden values: results that do not come from this library. Each says where it is from; those of files of the tests
 * are compared with the files by tests/tool/test_selftest.py.
 */
#include "selftest/check.h"

#include <fenv.h>
#include <stdlib.h>
#include <string.h>

/* Reads bytes from hexadecimal digits. */
static void read_bytes(const char *digits, unsigned char *bytes)
{
    for (size_t i = 0; digits[2 * i] != '\0'; i++)
        bytes[i] = (unsigned char)strtoul((char[]){digits[2 * i], digits[2 * i + 1], '\0'}, NULL, 16);
}

static void expect_bits(struct trial *trial, const char *what, const float *values, const uint32_t *bits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t found;
        memcpy(&found, &values[i], sizeof found);
        if (found != bits[i])
            trial_fault(trial, "%s: element %zu is %08x, not %08x", what, i, (unsigned)found, (unsigned)bits[i]);
    }
    trial_bytes(trial, values, n * sizeof *values);
}

/* ---- Types of ggml ---------------------------------------------------------------------------------------------- */

/* Rows of tests/data/ngram/ggml.txt, and the SHA-256 of the float32 values that ggml reads from them. */
static const struct ggml_row {
    const char *name;
    inlay_element_type type;
    size_t dim;
    const char *row, *sha256;
} ggml_rows[] = {
    {"q4_1 of ggml", INLAY_Q4_1, 32, "38cfd99c1c083640a89615f99e665ef272c07d10",
     "4d7a62c9666831ed56ef6874ba431362012e09265dffb88e4faf262ef1dfb6d4"},
    {"q5_0 of ggml", INLAY_Q5_0, 32, "fc4c773093821133b80ae62dc044f8945d5792597067",
     "ad2cdc5ee41570b6f7a865dc1deec12db5a27c16d91f161d3cea01d1d60fa79a"},
    {"q5_1 of ggml", INLAY_Q5_1, 32, "4ac0043b9b0f98f30a55a2ab711702aaa6d7751d109feb28",
     "473a0afa98991be04c1d872e69052b02599e2d9efb21239c2e050489832ecb04"},
    {"iq4_nl of ggml", INLAY_IQ4_NL, 32, "f78774e5481add509270aedb302f49c9ba45",
     "36aac30c7d795e421af0a75d802cc757b4568f9b977deffdedaea78a15a1e828"},
    {"mxfp4 of ggml", INLAY_MXFP4, 32, "764bdf59ecb2b96af418554ca82f20744d",
     "b25a5c1d46c2dc6506cbaf8333b0ee27649f326b16269dada0800fed9bcf7324"},
    {"nvfp4 of ggml", INLAY_NVFP4, 64, "d68c8ebd08bc71ed20e7ea3776d23e425114e28ea6921930a65885b00d93a6ab0e55bdad",
     "6434ee127853bbdd15ea598b790f7ef962a3bac90978ef3788a2287233261588"},
    {"q3_K of ggml", INLAY_Q3_K, 256,
     "749a55f25d058e6c62553decf1b5aef9611058e14b8da14d699d79104fa74ddc3651cbef752bfa54e89d34a619e5342bad48"
     "1edff69020d925247968c9dbeec851f02938e0da24f8421600cbcb81e3d06ee060a9def1650c741062c7d2b90ab67c538b33"
     "b53b7ddb1de06422d72f",
     "806051c239f6723c6977c7ece9124651fc65c0a8f8f78f07f389706b2fe1ce19"},
    {"q4_K of ggml", INLAY_Q4_K, 256,
     "1d826cf2d66cb6f8311870f1beba17cc9ef2da79ee4a951d7ec9ffcc530a99d260a145beabf4e891c11a03f3fedec25abb81"
     "ea1434827ff74da1ede5c8e4fdaed11d088036e461f5a043ef72aaa30df4c582cfaf9389a7f9cc6cd19da4f55f512ad8c06f"
     "45f28a9d82ff854a655c22201f8f2debf3dbd4cb92919dd1d9698877a30d3b1a638d4ee927888b679ff9b521",
     "42b629fb7afd705936c70741362adb3d07f667a183aa86a6c2002467bbb3374a"},
    {"q5_K of ggml", INLAY_Q5_K, 256,
     "ff526ec37d0b145e88080ae12f783a9af8aa54f661f68e275be29f3d9beecef7bfdd48e4409683fe8909e3b1beb782fe83c3"
     "75119abdd1cd96c5eb3507c21d09361e4e303d4e16332addcf1374e88f68a319faaf533ae9ad2661654f76c6e8777a0d18b1"
     "545615be5cd9ea14a68dbfaf4f9c07df5d6ff42ce01411b2a1a4f54022dd3bc815b08446bf2b409bd8e72b4582812d75cdd8"
     "6abb179369311ffb322d84b03ef16fdf8bcb2ac83b258a5c3f91",
     "9fd7f6d5d8196a88a9ffab84c94cdfe91016e5223e60c837611dc282680a2ca5"},
    {"q6_K of ggml", INLAY_Q6_K, 256,
     "fb765f4c05f701098a2aa32103fd08ef4e530079c7092d17eaafb5c8a7d0583234d0829ace58530ec71d53bdd9b49e02ed7e"
     "9395ebd1be1f8ca54a6f9569ddeb3fcf36a9693b0eb2d11166f13cf4af67c85366415b5faf01ee2373cf100d0fd435c75e82"
     "7712227cbb6e703710cc92da00ef33c069331381302dc2ad58b10f14cd4b2dfb1826e112a814742baa4331ca22feda911f2d"
     "f23859926b5cd61772266f7d3fb8e87fc368fd48197fabd9f142a3c6b5827332d846b9d9aa596b341acb206cd43ba83a2778"
     "d0aff15f47c0ecfe8fdb",
     "3d5e92519ae9de315e6db43be5ed29e90f68c6792fe893460db16ec3e657dc6a"},
    {"q2_K of ggml", INLAY_Q2_K, 256,
     "c99c933703b7f1f5c2ab62245b2b8bf6f23d2d89f1d2332048df5ba3149e1658e7acb7a988402b9334475727067391bef460"
     "3d2448b763cb4a3d0e3e61ec416bad26d8b277f77dbd0cb5462d034ceaa97425c0a8",
     "9bee4fcb758ebd010bf4a89c161d26c3964e349faf3c0838c23e41ec34669c8c"},
    {"iq4_xs of ggml", INLAY_IQ4_XS, 256,
     "7c1f9fe9784dab3d66bc3d766208fadba17726059ff17e4fae5751d95b5586ebfe791b5f39270a0d686cb2d39fad8f6be292"
     "38d64a41e302d1bba618a9c94218c8976a6b22e76a9f8fbc411c80d60943e69b0976e82b492df462ed233a6237e99745b9df"
     "9e1e5643d49e6447e11b04b6e1c3baa22be021157aa6a03b1e4aae635bbd79a743c1da68",
     "ee4cac9dc1370bf2957a8162f5214244cedadc5c9064d09db982e5661f187528"},
    {"iq3_s of ggml", INLAY_IQ3_S, 256,
     "7c1fab11f6ae5e41440637bf987c9f95464b812ee206b2f38ca1aa4894988146d6c4c089ec76bea4087bcb89aaece08b2a74"
     "338ee64f2706f61f15be546a4a1f0c7a115dae43de93a655477739c29fdbf0797f02093e43c65d5216396bfa90802184c464"
     "00f841f0cb149cd662d4",
     "bf4f99974b31d6774216674b04b1fc1e92687006c9fbb893f87c47e47159d61c"},
};

enum { GGML_ROWS = sizeof ggml_rows / sizeof *ggml_rows };

static void read_ggml_row(struct trial *trial, const struct ggml_row *wanted)
{
    const int32_t id = 0;
    unsigned char *row = trial_array(trial, strlen(wanted->row) / 2);
    float *out = trial_array(trial, wanted->dim * sizeof *out);
    read_bytes(wanted->row, row);
    const inlay_table table = inlay_table_of(wanted->type, row, 1, wanted->dim, strlen(wanted->row) / 2);
    if (trial_ok(trial, "inlay_gather",
                 inlay_gather(&table, &id, INLAY_ID_I32, 1, 1, out, wanted->dim * sizeof *out, NULL, NULL))) {
        trial_bytes(trial, out, wanted->dim * sizeof *out);
        trial_expect_sha256(trial, wanted->sha256);
    }
}

/* ---- FP8 -------------------------------------------------------------------------------------------------------- */

/* All E4M3 numbers times all E8M0 scales, by rows of a number, have the hashes of tests/data/ngram/fp8.txt, which are
   PyTorch's. */
static void multiply_pairs(struct trial *trial, inlay_element_type type, const char *sha256)
{
    enum { N = 256, SCALES = N / 32 };
    const size_t bytes = type == INLAY_F32 ? 4 : 2;
    unsigned char *codes = trial_array(trial, N * N), *scales = trial_array(trial, N * SCALES);
    unsigned char *out = trial_array(trial, N * N * bytes), *pairs = trial_array(trial, N * N * bytes);
    int32_t *ids = trial_array(trial, N * sizeof *ids);
    for (size_t i = 0; i < N; i++) {
        for (size_t code = 0; code < N; code++)
            codes[i * N + code] = (unsigned char)code;
        memset(scales + i * SCALES, (int)i, SCALES);
        put_id(ids, INLAY_ID_I32, i, (int64_t)i);
    }
    const inlay_table table = inlay_table_e4m3_e8m0(codes, scales, N, N);
    inlay_layer_spec spec = inlay_layer_spec_default(&table);
    spec.out_type = type;
    inlay_layer *layer = NULL;
    const inlay_batch batch = inlay_batch_i32(ids, 1, N, 0);
    inlay_status status = inlay_layer_create(&spec, NULL, &layer);
    if (status == INLAY_OK)
        status = inlay_forward(layer, &batch, out, N * bytes, trial->executor, NULL);
    inlay_layer_destroy(layer);
    if (!trial_ok(trial, "inlay_forward", status))
        return;
    const uint32_t quiet = type == INLAY_F32 ? 0x7fc00000 : 0x7fff; /* the NaN of the file */
    const uint32_t infinity = type == INLAY_F32 ? 0x7f800000 : type == INLAY_F16 ? 0x7c00 : 0x7f80;
    for (size_t code = 0; code < N; code++)
        for (size_t scale = 0; scale < N; scale++) {
            uint32_t bits = 0;
            memcpy(&bits, out + (scale * N + code) * bytes, bytes);
            if ((bits & (type == INLAY_F32 ? 0x7fffffff : 0x7fff)) > infinity)
                bits = quiet;
            memcpy(pairs + (code * N + scale) * bytes, &bits, bytes);
        }
    trial_bytes(trial, pairs, N * N * bytes);
    trial_expect_sha256(trial, sha256);
}

static void pairs_of_float32(struct trial *trial)
{
    multiply_pairs(trial, INLAY_F32, "b2bdd6bb596877a9e6552749885ce9f413b7ef6a231626120438e02aff1655ed");
}

static void pairs_of_bfloat16(struct trial *trial)
{
    multiply_pairs(trial, INLAY_BF16, "7e96498834dd311ab1aceb104c6cb34647d7ca97a29056a8006477f6099fb0da");
}

static void pairs_of_float16(struct trial *trial)
{
    multiply_pairs(trial, INLAY_F16, "617216cc149e18842fa685ec9859e73cca458440dfa52e5d170c9795896d78ca");
}

/* ---- Positions, random numbers, n-grams ------------------------------------------------------------------------- */

/* sin p, cos p, sin(p / 100), cos(p / 100), from mpmath at 300 bits. */
static void far_sinusoids(struct trial *trial)
{
    static const struct {
        int64_t position;
        uint32_t bits[4];
    } rows[] = {
        {1, {0x3f576aa4, 0x3f0a5140, 0x3c23d657, 0x3f7ffcb9}},
        {2000000000, {0x3f6a2a77, 0x3ecee77d, 0xbf435a98, 0x3f25728c}},
        {2147483647, {0xbf399422, 0xbf30579a, 0x3f338ba5, 0xbf367b35}},
    };
    const inlay_sinusoid_spec spec = inlay_sinusoid_spec_default(4);
    inlay_sinusoid *sinusoid = NULL;
    trial_ok(trial, "inlay_sinusoid_create", inlay_sinusoid_create(&spec, NULL, &sinusoid));
    for (size_t i = 0; sinusoid != NULL && i < sizeof rows / sizeof *rows; i++) {
        float out[4] = {0};
        trial_ok(trial, "inlay_sinusoid_rows",
                 inlay_sinusoid_rows(sinusoid, rows[i].position, 1, INLAY_F32, out, sizeof out, trial->executor));
        expect_bits(trial, "a row", out, rows[i].bits, 4);
    }
    inlay_sinusoid_destroy(sinusoid);
}

/* The first known answer of Philox4x32-10 in Random123's kat_vectors: counter 0, key 0. */
static const uint32_t philox_words[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};

/* Uniform numbers are (w + 1/2) / 2^32, rounded; truncated to the 24 bits and the bit that they are rounded at here. */
static void philox_numbers(struct trial *trial)
{
    float out[4] = {0};
    uint32_t bits[4];
    const inlay_random_spec spec = inlay_random_spec_default(INLAY_RANDOM_UNIFORM, 0);
    trial_ok(trial, "inlay_table_random", inlay_table_random(&spec, out, 1, 4, sizeof out));
    for (size_t i = 0; i < 4; i++) {
        unsigned shift = 0;
        while ((philox_words[i] << shift) >> 31 == 0)
            shift++;
        const uint32_t word = philox_words[i] << shift;
        bits[i] = ((126 - shift) << 23) + ((word >> 8) & 0x7fffff) + (word >> 7 & 1);
    }
    expect_bits(trial, "random numbers", out, bits, 4);
}

/* Half of the elements are dropped: those whose words are below 2^31; the others are doubled. */
static void philox_dropout(struct trial *trial)
{
    static const float ones[4] = {1, 1, 1, 1};
    const int32_t id = 0;
    float out[4] = {0};
    uint32_t bits[4];
    const inlay_table table = inlay_table_f32(ones, 1, 4);
    const inlay_layer_spec spec = inlay_layer_spec_default(&table);
    inlay_batch batch = inlay_batch_i32(&id, 1, 1, 0);
    batch.dropout = 0.5f;
    inlay_layer *layer = NULL;
    inlay_status status = inlay_layer_create(&spec, NULL, &layer);
    if (status == INLAY_OK)
        status = inlay_forward(layer, &batch, out, sizeof out, trial->executor, NULL);
    inlay_layer_destroy(layer);
    trial_ok(trial, "inlay_forward", status);
    for (size_t i = 0; i < 4; i++)
        bits[i] = philox_words[i] >= 0x80000000 ? 0x40000000 : 0;
    expect_bits(trial, "a row", out, bits, 4);
}

/* The call `prefill` of tests/data/ngram/demo-n2.txt, which the demonstration of Engram's authors computed. */
static void engram_rows(struct trial *trial)
{
    static const int64_t multipliers[] = {91738049023710391, 104713328209570553}, offsets[] = {0, 0, 1, 3, 9};
    static const int32_t ids[] = {51, 1, 48, 59, 40, 17, 59, 1, 56};
    static const inlay_ngram_column columns[] = {{2, 0, 1009, 0, 0}, {2, 0, 1013, 0, 1009}, {2, 0, 1019, 0, 2022}};
    static const int32_t wanted[9][3] = {
        {859, 1245, 2098}, {713, 1169, 2768}, {244, 1311, 2719}, {0, 1044, 2221},   {489, 1772, 2484},
        {298, 1342, 2618}, {565, 1299, 2863}, {130, 1365, 2129}, {265, 1168, 2455},
    };
    inlay_ngram_spec spec = inlay_ngram_spec_default(60, 2, INLAY_NGRAM_MIX_XOR);
    spec.pad = 1;
    spec.multipliers = multipliers;
    spec.vectors = 1;
    spec.columns = columns;
    spec.column_count = 3;
    inlay_ngram *ngram = NULL;
    int32_t out[9][3] = {{0}};
    inlay_status status = inlay_ngram_create(&spec, NULL, &ngram);
    const inlay_ngram_batch batch = inlay_ngram_batch_ragged(ids, INLAY_ID_I32, offsets, 4);
    if (status == INLAY_OK)
        status = inlay_ngram_ids(ngram, &batch, 0, 3, INLAY_ID_I32, out, sizeof *out, trial->executor, NULL);
    inlay_ngram_destroy(ngram);
    trial_ok(trial, "inlay_ngram_ids", status);
    for (size_t i = 0; i < 27; i++)
        if (out[i / 3][i % 3] != wanted[i / 3][i % 3])
            trial_fault(trial, "token %zu, column %zu: row %d, not %d", i / 3, i % 3, (int)out[i / 3][i % 3],
                        (int)wanted[i / 3][i % 3]);
    trial_bytes(trial, out, sizeof out);
}

/* ---- The README's program --------------------------------------------------------------------------------------- */

static void readme_program(struct trial *trial)
{
    static const float rows[4][4] = {
        {.1f, .2f, .3f, .4f}, {.5f, .6f, .7f, .8f}, {.9f, 1, 1.1f, 1.2f}, {1.3f, 1.4f, 1.5f, 1.6f}};
    static const char *const wanted[] = {"2: 1.8000 3.0000 2.2000 3.4000", "3: 3.4415 3.3403 3.0100 4.2000"};
    const int32_t ids[2] = {2, 3};
    float out[2][4] = {{0}};
    inlay_sinusoid *sinusoid = NULL;
    inlay_layer *layer = NULL;
    const inlay_sinusoid_spec formula = inlay_sinusoid_spec_default(4);
    const inlay_table tokens = inlay_table_f32(rows, 4, 4);
    inlay_layer_spec spec = inlay_layer_spec_default(&tokens);
    inlay_status status = inlay_sinusoid_create(&formula, NULL, &sinusoid);
    spec.scale = inlay_sqrt_dim(4);
    spec.sinusoid = sinusoid;
    if (status == INLAY_OK)
        status = inlay_layer_create(&spec, NULL, &layer);
    const inlay_batch batch = inlay_batch_i32(ids, 1, 2, 0);
    if (status == INLAY_OK)
        status = inlay_forward(layer, &batch, out, sizeof *out, trial->executor, NULL);
    inlay_layer_destroy(layer);
    inlay_sinusoid_destroy(sinusoid);
    trial_ok(trial, "inlay_forward", status);
    trial_bytes(trial, out, sizeof out);
    const int rounding = fegetround(); /* which printf follows */
    fesetround(FE_TONEAREST);
    for (size_t i = 0; i < 2; i++) {
        char line[80];
        snprintf(line, sizeof line, "%d: %.4f %.4f %.4f %.4f", (int)ids[i], (double)out[i][0], (double)out[i][1],
                 (double)out[i][2], (double)out[i][3]);
        if (strcmp(line, wanted[i]) != 0)
            trial_fault(trial, "the line is \"%s\", not \"%s\"", line, wanted[i]);
    }
    fesetround(rounding);
}

static const struct golden_check {
    const char *name;
    void (*run)(struct trial *trial);
} checks[] = {
    {"the README's program", readme_program},           {"sinusoids up to 2147483647 of mpmath", far_sinusoids},
    {"numbers of Philox of Random123", philox_numbers}, {"dropout by Philox of Random123", philox_dropout},
    {"rows of n-grams of Engram", engram_rows},         {"FP8 of PyTorch in float32", pairs_of_float32},
    {"FP8 of PyTorch in bfloat16", pairs_of_bfloat16},  {"FP8 of PyTorch in float16", pairs_of_float16},
};

enum { CHECKS = sizeof checks / sizeof *checks };

const char *golden_item(size_t item)
{
    return item < CHECKS ? checks[item].name : item < CHECKS + GGML_ROWS ? ggml_rows[item - CHECKS].name : NULL;
}

void golden_run(struct trial *trial, size_t item)
{
    if (item < CHECKS)
        checks[item].run(trial);
    else
        read_ggml_row(trial, &ggml_rows[item - CHECKS]);
}
