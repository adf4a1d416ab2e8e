/* SPDX-License-Identifier: MIT */
/*
 * The rotation of queries and keys by their tokens' angles (rotary positions), written once over the vector operations
 * of vec.h. Included by simd/kernels.h after simd/cast.h; no intrinsics, no includes.
 *
 * Each head is one pass over its units, so memory is read and written in order. Blocking over heads was up to 2x slower
 * at 4096 tokens (Zen 4; interleaved, or out of place).
 */

/* Register layouts of a unit, the columns that are rotated at once. */
enum rotate_form {
    ROTATE_HALVES,       /* VEC_LEN columns of each half, as floats */
    ROTATE_PAIRS,        /* VEC_LEN interleaved pairs in two registers of floats */
    ROTATE_WHOLE_HALVES, /* 2 VEC_LEN columns of each half, bfloat16 */
    ROTATE_WHOLE_PAIRS,  /* VEC_LEN interleaved pairs, bfloat16 */
};

/* Angles of 1 to 4 or 8 units are loaded once per token, for all heads. Compilers may spill some. */
enum { ROTATE_HELD = 8 };

/* One token's heads in one tensor. */
struct rotate_heads {
    const unsigned char *in;
    unsigned char *out;
    size_t count, in_bytes, out_bytes;
};

/* The angles of a unit, in `high` those of the second register (ROTATE_PAIRS) or of odd columns (ROTATE_WHOLE_HALVES).
 */
struct rotate_angle {
    struct vec_two cos, sin;
};

/* Returns true if a unit is two registers. */
VEC_INLINE bool rotate_has_two(enum rotate_form form)
{
    return form != ROTATE_WHOLE_PAIRS;
}

VEC_INLINE bool rotate_is_whole(enum rotate_form form)
{
    return form == ROTATE_WHOLE_HALVES || form == ROTATE_WHOLE_PAIRS;
}

/* Returns the number of pairs per unit. */
VEC_INLINE size_t rotate_pairs(enum rotate_form form)
{
    return form == ROTATE_WHOLE_HALVES ? 2 * VEC_LEN : VEC_LEN;
}

VEC_INLINE size_t rotate_bytes(inlay_element_type type)
{
    return type == INLAY_F32 ? 4 : 2;
}

/* Returns the bytes of a unit's cosines. */
VEC_INLINE size_t rotate_angle_bytes(enum rotate_form form)
{
    return form == ROTATE_PAIRS || form == ROTATE_WHOLE_HALVES ? 2 * VEC_BYTES : VEC_BYTES;
}

/* Returns the bytes between the first columns of neighboring pairs. */
VEC_INLINE size_t rotate_pair_bytes(enum rotate_form form, inlay_element_type type)
{
    const bool interleaved = form == ROTATE_PAIRS || form == ROTATE_WHOLE_PAIRS;
    return interleaved ? 2 * rotate_bytes(type) : rotate_bytes(type);
}

VEC_INLINE vec rotate_load_register(const unsigned char *from, enum rotate_form form, inlay_element_type type)
{
    if (rotate_is_whole(form) || type == INLAY_F32)
        return vec_load(from);
    return type == INLAY_F16 ? vec_load_f16(from) : vec_load_bf16(from);
}

VEC_INLINE void rotate_store_register(unsigned char *to, vec x, enum rotate_form form, inlay_element_type type)
{
    if (rotate_is_whole(form) || type == INLAY_F32)
        vec_store(to, x);
    else if (type == INLAY_F16)
        vec_store_f16(to, x);
    else
        vec_store_halves(to, vec_round_bf16(x));
}

VEC_INLINE struct vec_two rotate_load(const unsigned char *from, size_t apart, enum rotate_form form,
                                      inlay_element_type type)
{
    const vec low = rotate_load_register(from, form, type);
    return (struct vec_two){low, rotate_has_two(form) ? rotate_load_register(from + apart, form, type) : low};
}

VEC_INLINE void rotate_store(unsigned char *to, size_t apart, struct vec_two x, enum rotate_form form,
                             inlay_element_type type)
{
    rotate_store_register(to, x.low, form, type);
    if (rotate_has_two(form))
        rotate_store_register(to + apart, x.high, form, type);
}

/* Returns the bfloat16 numbers in even places, then those in odd places. */
VEC_INLINE struct vec_two rotate_split(vec x)
{
    return (struct vec_two){(vec)((vec_bits)x << 16), (vec)((vec_bits)x & 0xffff0000)};
}

/* Rounds even and odd numbers to the nearest bfloat16, ties to even, by adding the carry of lower half + 0x7fff + last
   bit of the upper half. The average is half of that sum, so its top bit is the carry. */
VEC_INLINE vec rotate_join(vec even, vec odd)
{
    const struct vec_half_bits_two halves = vec_zip_halves(even, odd);
    const vec_half_bits average = vec_half_bits_average(halves.low, (halves.high & 1) | 0x7ffe);
    return (vec)(halves.high + (average >> 15));
}

/* Rotates a unit. */
VEC_INLINE struct vec_two rotate_unit(struct vec_two x, struct rotate_angle angle, enum rotate_form form)
{
    const vec cos = angle.cos.low, sin = angle.sin.low, more_cos = angle.cos.high, more_sin = angle.sin.high;
    if (form == ROTATE_HALVES)
        return (struct vec_two){x.low * cos - x.high * sin, x.high * cos + x.low * sin};
    if (form == ROTATE_PAIRS) {
        const vec a = vec_keep(x.low), b = vec_keep(x.high);
        return (struct vec_two){a * cos + vec_swap_neighbors(a) * sin, b * more_cos + vec_swap_neighbors(b) * more_sin};
    }
    const struct vec_two a = rotate_split(x.low), b = rotate_split(x.high);
    if (form == ROTATE_WHOLE_PAIRS)
        return (struct vec_two){rotate_join(a.low * cos - a.high * sin, a.high * cos + a.low * sin), x.low};
    return (struct vec_two){rotate_join(a.low * cos - b.low * sin, a.high * more_cos - b.high * more_sin),
                            rotate_join(b.low * cos + a.low * sin, b.high * more_cos + a.high * more_sin)};
}

/* One token's angles, a vector or two per unit. If pairs don't fill whole units, those of the last unit follow. */
struct rotate_angles {
    const unsigned char *cos, *sin;
};

struct rotate_buffer {
    _Alignas(INLAY_CACHE_LINE) unsigned char cos[INLAY_ROTARY_MAX_DIM * sizeof(float)];
    unsigned char sin[INLAY_ROTARY_MAX_DIM * sizeof(float)];
};

_Static_assert(INLAY_ROTARY_MAX_DIM / 2 % (2 * VEC_LEN) == 0, "there is room for a last unit that overlaps");

/* Loads min(n, VEC_LEN) cosines or sines. If `clears`, NaNs become quiet and lose their lower half: rounding to
   bfloat16 could carry out of a NaN in the caller's rows and give -0. */
VEC_INLINE vec rotate_load_row(const unsigned char *from, size_t n, bool clears, bool negates)
{
    const vec x = n >= VEC_LEN ? vec_load(from) : vec_load_n(from, n);
    const vec_bits bits = (vec_bits)x, nan = (vec_bits)((bits & 0x7fffffff) > 0x7f800000);
    const vec y = clears ? (vec)((bits & ~(nan & 0xffff)) | (nan & 0x400000)) : x;
    return negates ? -y : y;
}

/* Writes a unit's cosines or sines, `pairs` of them, in the order that rotate_unit() needs. `swaps` negates those of
   even columns. */
VEC_INLINE void rotate_prepare_unit(const unsigned char *from, size_t pairs, enum rotate_form form, bool clears,
                                    bool negates, bool swaps, unsigned char *to)
{
    const vec x = rotate_load_row(from, pairs, clears, negates);
    struct vec_two columns = {x, x};
    if (form == ROTATE_WHOLE_HALVES)
        columns = vec_deinterleave(x, rotate_load_row(from + VEC_BYTES, VEC_LEN, clears, negates));
    else if (form == ROTATE_PAIRS)
        columns = vec_interleave(swaps ? -x : x, x);
    vec_store(to, columns.low);
    if (rotate_angle_bytes(form) > VEC_BYTES)
        vec_store(to + VEC_BYTES, columns.high);
}

/* Returns the angles of a token: its row in place, or a prepared copy in `buffer`. For the inverse, sines are negated.
 */
VEC_INLINE struct rotate_angles rotate_prepare(const struct inlay_rotary_tile *tile, const unsigned char *row,
                                               enum rotate_form form, inlay_element_type type,
                                               struct rotate_buffer *buffer)
{
    const size_t pairs = tile->pairs, most = rotate_pairs(form), n = pairs < most ? pairs : most;
    const unsigned char *sines = row + pairs * sizeof(float);
    const bool clears = type == INLAY_BF16;
    if (form == ROTATE_HALVES && pairs % VEC_LEN == 0 && !clears && !tile->inverse)
        return (struct rotate_angles){row, sines};
    for (size_t i = 0, at = 0; i < pairs; i += most, at += rotate_angle_bytes(form)) {
        const size_t first = (pairs - i >= n ? i : pairs - n) * sizeof(float);
        rotate_prepare_unit(row + first, n, form, clears, false, false, buffer->cos + at);
        rotate_prepare_unit(sines + first, n, form, clears, tile->inverse, true, buffer->sin + at);
    }
    return (struct rotate_angles){buffer->cos, buffer->sin};
}

VEC_INLINE struct rotate_angle rotate_load_angle(struct rotate_angles angles, size_t unit, enum rotate_form form)
{
    const size_t at = unit * rotate_angle_bytes(form), more = at + rotate_angle_bytes(form) - VEC_BYTES;
    return (struct rotate_angle){{vec_load(angles.cos + at), vec_load(angles.cos + more)},
                                 {vec_load(angles.sin + at), vec_load(angles.sin + more)}};
}

/* Rotates `pairs` of each head, at least a unit. If they don't fill whole units, the last unit overlaps the one before.
   In place, it must be read before that is written. `held`, `form` and `type` are constants. `held` is the number of
   whole units, or 0 if each head loads the angles again. */
VEC_INLINE void rotate_units(struct rotate_heads heads, struct rotate_angles angles, size_t pairs, size_t held,
                             enum rotate_form form, inlay_element_type type)
{
    const size_t unit_pairs = rotate_pairs(form), units = held > 0 ? held : pairs / unit_pairs;
    const size_t element = rotate_bytes(type), unit = unit_pairs * rotate_pair_bytes(form, type);
    const size_t apart = form == ROTATE_PAIRS ? VEC_LEN * element : pairs * element;
    const size_t last = (pairs - unit_pairs) * rotate_pair_bytes(form, type);
    const bool overlaps = pairs % unit_pairs != 0;
    struct rotate_angle angle[ROTATE_HELD];
    for (size_t i = 0; i < held; i++)
        angle[i] = rotate_load_angle(angles, i, form);
    for (size_t h = 0; h < heads.count; h++) {
        const unsigned char *in = heads.in + h * heads.in_bytes;
        unsigned char *out = heads.out + h * heads.out_bytes;
        struct vec_two end = {vec_set1(0), vec_set1(0)};
        if (overlaps)
            end = rotate_load(in + last, apart, form, type);
        for (size_t i = 0; i < units; i++) {
            const struct vec_two x = rotate_load(in + i * unit, apart, form, type);
            const struct rotate_angle by = held > 0 ? angle[i] : rotate_load_angle(angles, i, form);
            rotate_store(out + i * unit, apart, rotate_unit(x, by, form), form, type);
        }
        if (overlaps)
            rotate_store(out + last, apart, rotate_unit(end, rotate_load_angle(angles, units, form), form), form, type);
    }
}

/* Rotates heads with less than a unit of pairs, each in a buffer. */
VEC_INLINE void rotate_few(struct rotate_heads heads, struct rotate_angles angles, size_t pairs, enum rotate_form form,
                           inlay_element_type type)
{
    unsigned char few[2 * VEC_BYTES] = {0};
    const size_t half = pairs * rotate_bytes(type);
    const size_t second = form == ROTATE_PAIRS ? half : VEC_LEN * rotate_bytes(type);
    const struct rotate_heads one = {few, few, 1, 0, 0};
    for (size_t i = 0; i < heads.count; i++) {
        memcpy(few, heads.in + i * heads.in_bytes, half);
        memcpy(few + second, heads.in + i * heads.in_bytes + half, half);
        rotate_units(one, angles, VEC_LEN, 1, form, type);
        memcpy(heads.out + i * heads.out_bytes, few, half);
        memcpy(heads.out + i * heads.out_bytes + half, few + second, half);
    }
}

/* Rotates a token's heads, specialized for usual numbers of units. */
VEC_INLINE void rotate_heads(struct rotate_heads heads, struct rotate_angles angles, size_t pairs,
                             enum rotate_form form, inlay_element_type type)
{
    if (!rotate_is_whole(form) && pairs < VEC_LEN) {
        rotate_few(heads, angles, pairs, form, type);
        return;
    }
    switch (pairs / rotate_pairs(form)) {
    case 1:
        rotate_units(heads, angles, pairs, 1, form, type);
        break;
    case 2:
        rotate_units(heads, angles, pairs, 2, form, type);
        break;
    case 3:
        rotate_units(heads, angles, pairs, 3, form, type);
        break;
    case 4:
        rotate_units(heads, angles, pairs, 4, form, type);
        break;
    case ROTATE_HELD:
        rotate_units(heads, angles, pairs, ROTATE_HELD, form, type);
        break;
    default:
        rotate_units(heads, angles, pairs, 0, form, type);
    }
}

VEC_INLINE enum rotate_form rotate_form_of(const struct inlay_rotary_tile *tile, inlay_element_type type)
{
    if (tile->interleaved)
        return type == INLAY_BF16 && tile->pairs >= VEC_LEN ? ROTATE_WHOLE_PAIRS : ROTATE_PAIRS;
    return type == INLAY_BF16 && tile->pairs >= 2 * VEC_LEN ? ROTATE_WHOLE_HALVES : ROTATE_HALVES;
}

/* noinline, so each type gets its own register allocation. Structs are passed by pointer: copying them stalls on
   store forwarding. */
#define ROTATE_TYPE(name, type)                                                                                        \
    static __attribute__((noinline)) void NAME(name)(const struct inlay_rotary_tile *tile,                             \
                                                     const struct rotate_heads *heads,                                 \
                                                     const struct rotate_angles *angles, enum rotate_form form)        \
    {                                                                                                                  \
        if (form == ROTATE_HALVES)                                                                                     \
            rotate_heads(*heads, *angles, tile->pairs, ROTATE_HALVES, type);                                           \
        else if (form == ROTATE_PAIRS)                                                                                 \
            rotate_heads(*heads, *angles, tile->pairs, ROTATE_PAIRS, type);                                            \
        else if (type == INLAY_BF16 && form == ROTATE_WHOLE_HALVES)                                                    \
            rotate_heads(*heads, *angles, tile->pairs, ROTATE_WHOLE_HALVES, type);                                     \
        else if (type == INLAY_BF16)                                                                                   \
            rotate_heads(*heads, *angles, tile->pairs, ROTATE_WHOLE_PAIRS, type);                                      \
    }
ROTATE_TYPE(rotate_f32, INLAY_F32)
ROTATE_TYPE(rotate_f16, INLAY_F16)
ROTATE_TYPE(rotate_bf16, INLAY_BF16)
#undef ROTATE_TYPE

/* Rotates all tensors of a token before the next one: they may be parts of one array. */
static void NAME(rotate)(const struct inlay_rotary_tile *tile)
{
    struct rotate_buffer buffer;
    for (size_t t = 0; t < tile->tokens; t++) {
        struct rotate_angles angles = {NULL, NULL};
        for (size_t k = 0; k < tile->count; k++) {
            const struct inlay_rotary_heads *tensor = &tile->tensors[k];
            const inlay_element_type type = tensor->type;
            const enum rotate_form form = rotate_form_of(tile, type);
            const struct rotate_heads heads = {tensor->in + t * tensor->in_token_bytes,
                                               tensor->out + t * tensor->out_token_bytes, tensor->heads,
                                               tensor->in_head_bytes, tensor->out_head_bytes};
            if (k == 0 || type != tile->tensors[k - 1].type)
                angles = rotate_prepare(tile, tile->angles[t], form, type, &buffer);
            if (type == INLAY_F32)
                NAME(rotate_f32)(tile, &heads, &angles, form);
            else if (type == INLAY_F16)
                NAME(rotate_f16)(tile, &heads, &angles, form);
            else
                NAME(rotate_bf16)(tile, &heads, &angles, form);
            const size_t element = rotate_bytes(type), rotated = 2 * tile->pairs * element;
            if (heads.in != heads.out && tensor->columns * element > rotated)
                for (size_t h = 0; h < heads.count; h++)
                    memcpy(heads.out + h * heads.out_bytes + rotated, heads.in + h * heads.in_bytes + rotated,
                           tensor->columns * element - rotated);
        }
    }
}
