/* SPDX-License-Identifier: MIT */
/*
 * The checks of validate.h: everything that can be wrong with an argument is found here, before the first write.
 */
#include "validate.h"

#include <string.h>

bool inlay_struct_known(const void *structure, size_t known)
{
    /* A size beyond this is garbage rather than a later version, and reading so far might fault. */
    const size_t plausible = 1024;
    size_t size;
    memcpy(&size, structure, sizeof size);
    if (size < known || size > plausible)
        return false;
    unsigned char appended = 0;
    for (size_t i = known; i < size; i++)
        appended |= ((const unsigned char *)structure)[i];
    return appended == 0;
}

inlay_status inlay_extent_of(const void *data, size_t bytes, struct inlay_extent *extent)
{
    extent->begin = (uintptr_t)data;
    if (__builtin_add_overflow(extent->begin, bytes, &extent->end) || bytes > PTRDIFF_MAX)
        return INLAY_OVERFLOW;
    return INLAY_OK;
}

size_t inlay_type_bytes(inlay_type type)
{
    switch (type) {
    case INLAY_F32:
        return 4;
    case INLAY_F16:
    case INLAY_BF16:
        return 2;
    default:
        return 0;
    }
}

size_t inlay_row_bytes(inlay_type type, size_t dim)
{
    enum { BLOCK = 32, HALF_BYTES = 2 };
    size_t bytes;
    switch (type) {
    case INLAY_F32:
        return __builtin_mul_overflow(dim, 4, &bytes) ? 0 : bytes;
    case INLAY_F16:
    case INLAY_BF16:
        return __builtin_mul_overflow(dim, 2, &bytes) ? 0 : bytes;
    case INLAY_I8:
    case INLAY_I8_INVERSE:
        return dim;
    case INLAY_U8_ROWWISE:
        return dim == 0 || __builtin_add_overflow(dim, 2 * sizeof(float), &bytes) ? 0 : bytes;
    case INLAY_U4_ROWWISE:
        return dim == 0 ? 0 : dim / 2 + dim % 2 + 2 * HALF_BYTES;
    case INLAY_U4_GROUPED:
        return dim / 2 + dim % 2;
    case INLAY_Q8_0:
        return dim % BLOCK || __builtin_mul_overflow(dim / BLOCK, BLOCK + HALF_BYTES, &bytes) ? 0 : bytes;
    case INLAY_Q4_0:
        return dim % BLOCK ? 0 : dim / BLOCK * (BLOCK / 2 + HALF_BYTES);
    }
    return 0;
}

size_t inlay_bytes_before(inlay_type type, size_t column)
{
    switch (type) {
    case INLAY_U8_ROWWISE:
        return column;
    case INLAY_U4_ROWWISE:
        return column / 2;
    default:
        return inlay_row_bytes(type, column);
    }
}

/* Compared as bits, which orders positive doubles and puts negative ones and NaN above them: no floating-point
   exception can be raised in the host's environment. */
static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits == UINT64_C(1) << 63 ? 0 : bits; /* -0 is 0 */
}

bool inlay_double_in(double x, double low, double high)
{
    return bits_of(low) <= bits_of(x) && bits_of(x) <= bits_of(high);
}

static uint32_t float_bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits == UINT32_C(1) << 31 ? 0 : bits; /* -0 is 0 */
}

bool inlay_float_in(float x, float low, float high)
{
    return float_bits_of(low) <= float_bits_of(x) && float_bits_of(x) <= float_bits_of(high);
}

bool inlay_double_less(double a, double b)
{
    return bits_of(a) < bits_of(b);
}

bool inlay_double_is_zero(double x)
{
    return bits_of(x) == 0;
}

static inlay_status extent_of_rows(const void *data, size_t rows, size_t row_bytes, size_t stride_bytes,
                                   struct inlay_extent *extent)
{
    size_t bytes;
    if (stride_bytes < row_bytes)
        return INLAY_STRIDE;
    if (rows == 0)
        return INLAY_OK;
    if (__builtin_mul_overflow(rows - 1, stride_bytes, &bytes) || __builtin_add_overflow(bytes, row_bytes, &bytes))
        return INLAY_OVERFLOW;
    if (data == NULL)
        return INLAY_NULL;
    return inlay_extent_of(data, bytes, extent);
}

inlay_status inlay_check_extent(const void *data, size_t rows, size_t dim, inlay_type type, size_t stride_bytes,
                                struct inlay_extent *extent)
{
    *extent = (struct inlay_extent){0, 0};
    if (inlay_type_bytes(type) == 0)
        return INLAY_OPTION;
    if (dim == 0)
        return INLAY_SHAPE;
    size_t row_bytes = inlay_row_bytes(type, dim);
    return row_bytes == 0 ? INLAY_OVERFLOW : extent_of_rows(data, rows, row_bytes, stride_bytes, extent);
}

/* The arrays beside the elements: which there must be, which there must not, and what they touch. */
static inlay_status check_scales(const inlay_rows *rows, struct inlay_extent *scales, struct inlay_extent *zeros)
{
    bool grouped = rows->type == INLAY_U4_GROUPED;
    bool scaled = grouped || rows->type == INLAY_I8 || rows->type == INLAY_I8_INVERSE;
    *scales = *zeros = (struct inlay_extent){0, 0};
    if (grouped ? rows->group != 32 && rows->group != 64 && rows->group != 128 : rows->group != 0)
        return INLAY_OPTION;
    if ((!scaled && rows->scales != NULL) || (!grouped && rows->zeros != NULL))
        return INLAY_OPTION;
    if (grouped && rows->dim % rows->group != 0)
        return INLAY_SHAPE;
    if (!scaled || rows->rows == 0)
        return INLAY_OK;
    size_t row_scales = grouped ? rows->dim / rows->group : 1, row_zeros = row_scales / 2 + row_scales % 2;
    inlay_status status =
        extent_of_rows(rows->scales, rows->rows, row_scales * sizeof(float), row_scales * sizeof(float), scales);
    if (status == INLAY_OK && rows->zeros != NULL)
        status = extent_of_rows(rows->zeros, rows->rows, row_zeros, row_zeros, zeros);
    return status;
}

inlay_status inlay_check_rows(const inlay_rows *rows, struct inlay_table_extents *extents)
{
    memset(extents, 0, sizeof *extents);
    if (!inlay_struct_known(rows, sizeof *rows) || rows->type < INLAY_F32 || rows->type >= INLAY_TYPES)
        return INLAY_OPTION;
    if (rows->dim == 0)
        return INLAY_SHAPE;
    size_t row_bytes = inlay_row_bytes(rows->type, rows->dim);
    if (row_bytes == 0)
        return (rows->type == INLAY_Q8_0 || rows->type == INLAY_Q4_0) && rows->dim % 32 != 0 ? INLAY_SHAPE
                                                                                             : INLAY_OVERFLOW;
    inlay_status status = extent_of_rows(rows->data, rows->rows, row_bytes, rows->stride_bytes, &extents->data);
    if (status == INLAY_OK)
        status = check_scales(rows, &extents->scales, &extents->zeros);
    if (status != INLAY_OK)
        return status;
    size_t end;
    /* Beyond, negative ids would pass for large ones. */
    if (__builtin_add_overflow(rows->first_row, rows->rows, &end) || rows->vocab > INT64_MAX)
        return INLAY_OVERFLOW;
    if (rows->vocab == 0 ? rows->first_row != 0 : end > rows->vocab)
        return INLAY_SHAPE;
    return INLAY_OK;
}

bool inlay_table_overlaps(struct inlay_extent a, const struct inlay_table_extents *table)
{
    return inlay_extents_overlap(a, table->data) || inlay_extents_overlap(a, table->scales) ||
           inlay_extents_overlap(a, table->zeros);
}

inlay_status inlay_check_array(const void *data, size_t n, size_t element_bytes, struct inlay_extent *extent)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, element_bytes, &bytes))
        return INLAY_OVERFLOW;
    if (data == NULL)
        return INLAY_NULL;
    return inlay_extent_of(data, bytes, extent);
}

/*
 * One unsigned comparison per id finds the negative ones too. The loop has no exit, and its type is known where it is
 * called, so that compilers make vectors of it; only a block with a bad id is read again.
 */
static inline __attribute__((always_inline)) bool any_bad(const void *ids, inlay_id_type type, size_t n, uint64_t limit)
{
    bool narrow = inlay_id_bytes(type) < 8;
    uint32_t limit_32 = limit <= UINT32_MAX ? (uint32_t)limit : UINT32_MAX, bad_32 = 0;
    uint64_t bad_64 = 0;
    for (size_t i = 0; i < n; i++) {
        if (narrow)
            bad_32 |= (uint32_t)inlay_id_at(ids, type, i) >= limit_32;
        else
            bad_64 |= (uint64_t)inlay_id_at(ids, type, i) >= limit;
    }
    return (bad_32 | bad_64) != 0;
}

static bool any_bad_of(const void *ids, inlay_id_type type, size_t n, uint64_t limit)
{
    switch (type) {
    case INLAY_ID_U8:
        return any_bad(ids, INLAY_ID_U8, n, limit);
    case INLAY_ID_I16:
        return any_bad(ids, INLAY_ID_I16, n, limit);
    case INLAY_ID_U16:
        return any_bad(ids, INLAY_ID_U16, n, limit);
    case INLAY_ID_I32:
        return any_bad(ids, INLAY_ID_I32, n, limit);
    case INLAY_ID_U32:
        return any_bad(ids, INLAY_ID_U32, n, limit);
    case INLAY_ID_I64:
        break;
    }
    return any_bad(ids, INLAY_ID_I64, n, limit);
}

size_t inlay_first_bad_id(const void *ids, inlay_id_type type, size_t n, size_t rows)
{
    /* No id is larger, and beyond it a negative one would pass the unsigned comparison. */
    uint64_t most = type == INLAY_ID_I64   ? (uint64_t)INT64_MAX + 1
                    : type == INLAY_ID_U32 ? UINT64_C(1) << 32
                                           : 1u << 31;
    uint64_t limit = rows < most ? rows : most;
    const size_t block = 4096;
    for (size_t first = 0; first < n; first += block) {
        size_t count = n - first < block ? n - first : block;
        const void *at = (const unsigned char *)ids + first * inlay_id_bytes(type);
        if (!any_bad_of(at, type, count, limit))
            continue;
        for (size_t i = first; i < first + count; i++)
            if ((uint64_t)inlay_id_at(ids, type, i) >= limit)
                return i;
    }
    return n;
}

size_t inlay_position_bytes(inlay_position_type type)
{
    switch (type) {
    case INLAY_POSITION_I64:
    case INLAY_POSITION_F64:
        return 8;
    case INLAY_POSITION_F32:
        return 4;
    }
    return 0;
}

/* Position i as the bits it has, which tell whether it is one: numbers are compared as such, without their signs. Read
   once, in a register from then on: another thread may change it. */
static uint64_t position_bits(const void *positions, inlay_position_type type, size_t i, bool *valid)
{
    const unsigned char *at = (const unsigned char *)positions + i * inlay_position_bytes(type);
    const uint32_t limit_f32 = 0x4f000000;                   /* 2^31 */
    const uint64_t limit_f64 = UINT64_C(0x41e0000000000000); /* 2^31 */
    uint64_t bits;
    if (type == INLAY_POSITION_F32) {
        uint32_t narrow;
        memcpy(&narrow, at, sizeof narrow);
        __asm__ volatile("" : "+r"(narrow));
        *valid = (narrow & INT32_MAX) < limit_f32;
        return narrow;
    }
    memcpy(&bits, at, sizeof bits);
    __asm__ volatile("" : "+r"(bits));
    *valid = type == INLAY_POSITION_I64 ? bits < (uint64_t)INLAY_POSITION_LIMIT : (bits & INT64_MAX) < limit_f64;
    return bits;
}

size_t inlay_first_bad_position(const void *positions, inlay_position_type type, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool valid;
        position_bits(positions, type, i, &valid);
        if (!valid)
            return i;
    }
    return n;
}

double inlay_position_at(const void *positions, inlay_position_type type, size_t i)
{
    bool valid;
    uint64_t bits = position_bits(positions, type, i, &valid);
    if (!valid)
        return 0;
    if (type == INLAY_POSITION_I64)
        return (double)bits;
    if (type == INLAY_POSITION_F32) {
        uint32_t narrow = (uint32_t)bits;
        float single;
        memcpy(&single, &narrow, sizeof single);
        return single;
    }
    double position;
    memcpy(&position, &bits, sizeof position);
    return position;
}

bool inlay_positions_in(int64_t start, size_t n, uint64_t limit, inlay_fault *fault)
{
    uint64_t first = (uint64_t)start; /* a negative one lies past every limit */
    if (first <= limit && n <= limit - first)
        return true;
    /* A start before the limit reaches it after limit - first tokens; any other is itself the first bad one. */
    size_t token = first < limit ? (size_t)(limit - first) : 0;
    *fault = (inlay_fault){0, token, (int64_t)(first + token)};
    return false;
}
