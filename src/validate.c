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

bool inlay_extents_overlap(struct inlay_extent a, struct inlay_extent b)
{
    return a.begin < b.end && b.begin < a.end;
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
    }
    return 0;
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

bool inlay_double_less(double a, double b)
{
    return bits_of(a) < bits_of(b);
}

bool inlay_double_is_zero(double x)
{
    return bits_of(x) == 0;
}

inlay_status inlay_check_extent(const void *data, size_t rows, size_t dim, inlay_type type, size_t stride_bytes,
                                struct inlay_extent *extent)
{
    size_t row_bytes, bytes;
    *extent = (struct inlay_extent){0, 0};
    if (inlay_type_bytes(type) == 0)
        return INLAY_OPTION;
    if (dim == 0)
        return INLAY_SHAPE;
    if (__builtin_mul_overflow(dim, inlay_type_bytes(type), &row_bytes))
        return INLAY_OVERFLOW;
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

inlay_status inlay_check_rows(const inlay_rows *rows, struct inlay_extent *extent)
{
    if (!inlay_struct_known(rows, sizeof *rows) || rows->type != INLAY_F32 || rows->reserved != 0)
        return INLAY_OPTION;
    return inlay_check_extent(rows->data, rows->rows, rows->dim, rows->type, rows->stride_bytes, extent);
}

size_t inlay_id_bytes(inlay_id_type type)
{
    switch (type) {
    case INLAY_ID_I32:
        return sizeof(int32_t);
    case INLAY_ID_I64:
        return sizeof(int64_t);
    }
    return 0;
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

static int64_t id_i32(const void *ids, size_t i)
{
    int32_t id;
    memcpy(&id, (const unsigned char *)ids + i * sizeof id, sizeof id);
    return id;
}

static int64_t id_i64(const void *ids, size_t i)
{
    int64_t id;
    memcpy(&id, (const unsigned char *)ids + i * sizeof id, sizeof id);
    return id;
}

int64_t inlay_id_at(const void *ids, inlay_id_type type, size_t i)
{
    return type == INLAY_ID_I32 ? id_i32(ids, i) : id_i64(ids, i);
}

/*
 * One unsigned comparison per id finds the negative ones too. The loops have no exit, so that compilers make vectors of
 * them; only a block with a bad id is read again.
 */
static bool any_bad_i32(const void *ids, size_t n, uint64_t rows)
{
    uint32_t limit = rows <= INT32_MAX ? (uint32_t)rows : (uint32_t)INT32_MAX + 1;
    uint32_t bad = 0;
    for (size_t i = 0; i < n; i++)
        bad |= (uint32_t)id_i32(ids, i) >= limit;
    return bad != 0;
}

static bool any_bad_i64(const void *ids, size_t n, uint64_t rows)
{
    uint64_t bad = 0;
    for (size_t i = 0; i < n; i++)
        bad |= (uint64_t)id_i64(ids, i) >= rows;
    return bad != 0;
}

size_t inlay_first_bad_id(const void *ids, inlay_id_type type, size_t n, size_t rows)
{
    /* No id is larger, and beyond it a negative one would pass the unsigned comparison. */
    const uint64_t most = (uint64_t)INT64_MAX + 1;
    uint64_t limit = rows < most ? rows : most;
    const size_t block = 4096;
    for (size_t first = 0; first < n; first += block) {
        size_t count = n - first < block ? n - first : block;
        const void *at = (const unsigned char *)ids + first * inlay_id_bytes(type);
        if (!(type == INLAY_ID_I32 ? any_bad_i32(at, count, limit) : any_bad_i64(at, count, limit)))
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
