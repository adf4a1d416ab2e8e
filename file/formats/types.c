/* SPDX-License-Identifier: MIT */
/*
 * The tables of types.h: the types of safetensors 0.8, and of ggml as in version 0.19 of the gguf package. Elements of
 * fewer than 8 bits are blocks of whole bytes.
 */
#include "formats/types.h"

static const struct inlay_type safetensors[] = {
    {"F32", 0, INLAY_F32, 1, 4},
    {"F16", 0, INLAY_F16, 1, 2},
    {"BF16", 0, INLAY_BF16, 1, 2},
    {"I8", 0, INLAY_I8, 1, 1},
    {"F8_E4M3", 0, INLAY_E4M3, 1, 1},
    {"F8_E8M0", 0, 0, 1, 1},
    {"F8_E5M2", 0, 0, 1, 1},
    {"F8_E4M3FNUZ", 0, 0, 1, 1},
    {"F8_E5M2FNUZ", 0, 0, 1, 1},
    {"F6_E2M3", 0, 0, 4, 3},
    {"F6_E3M2", 0, 0, 4, 3},
    {"F4", 0, 0, 2, 1},
    {"BOOL", 0, 0, 1, 1},
    {"U8", 0, 0, 1, 1},
    {"I16", 0, 0, 1, 2},
    {"U16", 0, 0, 1, 2},
    {"I32", 0, 0, 1, 4},
    {"U32", 0, 0, 1, 4},
    {"I64", 0, 0, 1, 8},
    {"U64", 0, 0, 1, 8},
    {"F64", 0, 0, 1, 8},
    {"C64", 0, 0, 1, 8},
};

static const struct inlay_type ggml[] = {
    {NULL, 0, INLAY_F32, 1, 4},
    {NULL, 1, INLAY_F16, 1, 2},
    {NULL, 2, INLAY_Q4_0, 32, 18},
    {NULL, 3, INLAY_Q4_1, 32, 20},
    {NULL, 6, INLAY_Q5_0, 32, 22},
    {NULL, 7, INLAY_Q5_1, 32, 24},
    {NULL, 8, INLAY_Q8_0, 32, 34},
    {"Q8_1", 9, 0, 32, 40},
    {NULL, 10, INLAY_Q2_K, 256, 84},
    {NULL, 11, INLAY_Q3_K, 256, 110},
    {NULL, 12, INLAY_Q4_K, 256, 144},
    {NULL, 13, INLAY_Q5_K, 256, 176},
    {NULL, 14, INLAY_Q6_K, 256, 210},
    {"Q8_K", 15, 0, 256, 292},
    {"IQ2_XXS", 16, 0, 256, 66},
    {"IQ2_XS", 17, 0, 256, 74},
    {"IQ3_XXS", 18, 0, 256, 98},
    {"IQ1_S", 19, 0, 256, 50},
    {NULL, 20, INLAY_IQ4_NL, 32, 18},
    {NULL, 21, INLAY_IQ3_S, 256, 110},
    {"IQ2_S", 22, 0, 256, 82},
    {NULL, 23, INLAY_IQ4_XS, 256, 136},
    {"I8", 24, 0, 1, 1},
    {"I16", 25, 0, 1, 2},
    {"I32", 26, 0, 1, 4},
    {"I64", 27, 0, 1, 8},
    {"F64", 28, 0, 1, 8},
    {"IQ1_M", 29, 0, 256, 56},
    {NULL, 30, INLAY_BF16, 1, 2},
    {"TQ1_0", 34, 0, 256, 54},
    {"TQ2_0", 35, 0, 256, 66},
    {NULL, 39, INLAY_MXFP4, 32, 17},
    {NULL, 40, INLAY_NVFP4, 64, 36},
    {"Q1_0", 41, 0, 128, 18},
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

const struct inlay_type *inlay_safetensors_type(struct inlay_text name)
{
    for (size_t i = 0; i < COUNT(safetensors); i++)
        if (inlay_text_is(name, safetensors[i].name))
            return &safetensors[i];
    return NULL;
}

const struct inlay_type *inlay_ggml_type(uint32_t number)
{
    for (size_t i = 0; i < COUNT(ggml); i++)
        if (ggml[i].number == number)
            return &ggml[i];
    return NULL;
}

static const struct inlay_type *type_of(inlay_element_type element, const struct inlay_type *types, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (types[i].element == element)
            return &types[i];
    return NULL;
}

const struct inlay_type *inlay_safetensors_type_of(inlay_element_type element)
{
    /* FP8 with one E8M0 scale per 32 columns has the same elements; only its scales differ. */
    return type_of(element == INLAY_E4M3_E8M0 ? INLAY_E4M3 : element, safetensors, COUNT(safetensors));
}

const struct inlay_type *inlay_ggml_type_of(inlay_element_type element)
{
    return type_of(element, ggml, COUNT(ggml));
}

bool inlay_tensor_set_type(inlay_file_tensor *tensor, const struct inlay_type *type)
{
    uint64_t elements = 1;
    tensor->type = type->name != NULL ? type->name : inlay_element_type_name(type->element, 1);
    tensor->element = type->element;
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (__builtin_mul_overflow(elements, tensor->shape[i], &elements))
            return false;
    return elements % type->block == 0 &&
           !__builtin_mul_overflow(elements / type->block, (uint64_t)type->block_bytes, &tensor->bytes);
}
