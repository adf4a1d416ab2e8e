/* SPDX-License-Identifier: MIT */
/*
 * The rotation of queries and keys by their tokens' angles (rotary positions), written once over the vector operations
 * of vec.h. Included by simd/kernels.h after simd/cast.h; no intrinsics, no includes.
 *
 * A block of angles is loaded once and applied to all heads of a tensor. With halves, an angle is a cosine and a sine
 * for two columns. If interleaved, each column has its own: the cosine twice, and the sine with two signs.
 *
 * bfloat16 heads are loaded and stored as whole registers, if there are enough columns. A shift and a mask turn
 * the numbers in even and odd places into floats, so interleaved pairs need no shuffle and one angle per pair.
 */

/* Vectors of cosines, and of sines, in a block: as many as AVX-512 and NEON hold in registers. */
enum { ROTATE_VECS = 4 };

/* Heads that are rotated by all blocks before the next heads. If each block were applied to all heads of a token, the
   CPU's prefetchers would miss its strides: 4096 tokens took 1.7 times as long (Zen 4, AVX2, two blocks). */
enum { ROTATE_HEADS = 8 };

/* Angles [at, at + count) of a token, count >= unit. If they don't fill whole units, the last unit overlaps the one
   before it, in the same block. A block is loaded before it is stored, so heads can be rotated in place. */
struct rotate_block {
    const unsigned char *cos, *sin; /* float32, of the first angle in the block */
    size_t at, count;
    size_t unit; /* angles of a register of columns */
    bool whole;  /* registers are loaded whole, and have two bfloat16 numbers per lane */
};

/* The heads of one tensor at one token, from their first column on. */
struct rotate_heads {
    const unsigned char *in;
    unsigned char *out;
    size_t count, in_bytes, out_bytes;
};

VEC_INLINE size_t rotate_bytes(inlay_element_type type)
{
    return type == INLAY_F32 ? 4 : 2;
}

VEC_INLINE vec rotate_load(const unsigned char *from, inlay_element_type type)
{
    return type == INLAY_F32 ? vec_load(from) : type == INLAY_F16 ? vec_load_f16(from) : vec_load_bf16(from);
}

VEC_INLINE void rotate_store(unsigned char *to, vec x, inlay_element_type type)
{
    if (type == INLAY_F32)
        vec_store(to, x);
    else if (type == INLAY_F16)
        vec_store_f16(to, x);
    else /* a NaN has zeros in its lower half, as its operands had */
        vec_store_halves(to, vec_round_bf16(x));
}

/* Returns the first angle of unit i of a block: the last one ends with the block. */
VEC_INLINE size_t rotate_column(struct rotate_block block, size_t i, size_t units)
{
    return i + 1 < units ? i * block.unit : block.count - block.unit;
}

/* Loads cosines or sines. For bfloat16, the lower half of a NaN is cleared: results are rounded by adding to it, and a
   carry would turn a NaN in the caller's rows into a zero. */
VEC_INLINE vec rotate_load_angle(const unsigned char *from, inlay_element_type type)
{
    const vec_bits bits = (vec_bits)vec_load(from), nan = (vec_bits)((bits & 0x7fffffff) > 0x7f800000);
    return (vec)(type == INLAY_BF16 ? (bits & ~(nan & 0xffff)) | (nan & 0x400000) : bits);
}

VEC_INLINE void rotate_load_angles(vec *cos, vec *sin, struct rotate_block block, size_t vecs, inlay_element_type type)
{
    for (size_t i = 0; i < vecs; i++) {
        cos[i] = rotate_load_angle(block.cos + rotate_column(block, i, vecs) * sizeof(float), type);
        sin[i] = rotate_load_angle(block.sin + rotate_column(block, i, vecs) * sizeof(float), type);
    }
}

/* Rotates columns that are `apart` bytes apart. `vecs` is a constant. */
VEC_INLINE void rotate_halves(struct rotate_heads heads, struct rotate_block block, ptrdiff_t apart, size_t vecs,
                              inlay_element_type type)
{
    vec cos[ROTATE_VECS], sin[ROTATE_VECS], x[ROTATE_VECS], y[ROTATE_VECS];
    const size_t element = rotate_bytes(type);
    rotate_load_angles(cos, sin, block, vecs, type);
    const unsigned char *in = heads.in + block.at * element;
    unsigned char *out = heads.out + block.at * element;
    for (size_t left = heads.count; left > 0; left--) {
        for (size_t i = 0; i < vecs; i++) {
            const unsigned char *from = in + rotate_column(block, i, vecs) * element;
            x[i] = rotate_load(from, type);
            y[i] = rotate_load(from + apart, type);
        }
        for (size_t i = 0; i < vecs; i++) {
            unsigned char *to = out + rotate_column(block, i, vecs) * element;
            rotate_store(to, x[i] * cos[i] - y[i] * sin[i], type);
            rotate_store(to + apart, y[i] * cos[i] + x[i] * sin[i], type);
        }
        in += heads.in_bytes;
        out += heads.out_bytes;
    }
}

/* Rotates columns with their neighbors. `vecs` is a constant. */
VEC_INLINE void rotate_interleaved(struct rotate_heads heads, struct rotate_block block, size_t vecs,
                                   inlay_element_type type)
{
    vec cos[ROTATE_VECS], sin[ROTATE_VECS], x[ROTATE_VECS];
    const size_t element = rotate_bytes(type);
    rotate_load_angles(cos, sin, block, vecs, type);
    const unsigned char *in = heads.in + block.at * element;
    unsigned char *out = heads.out + block.at * element;
    for (size_t left = heads.count; left > 0; left--) {
        for (size_t i = 0; i < vecs; i++)
            x[i] = rotate_load(in + rotate_column(block, i, vecs) * element, type);
        for (size_t i = 0; i < vecs; i++)
            rotate_store(out + rotate_column(block, i, vecs) * element,
                         x[i] * cos[i] + vec_swap_neighbors(x[i]) * sin[i], type);
        in += heads.in_bytes;
        out += heads.out_bytes;
    }
}

/* Returns the bfloat16 numbers in even places, then those in odd places. */
VEC_INLINE struct vec_two rotate_split(vec x)
{
    return (struct vec_two){(vec)((vec_bits)x << 16), (vec)((vec_bits)x & 0xffff0000)};
}

/* Rounds rotated numbers to bfloat16, in even and in odd places. Rounds up if the lower half plus 0x7fff plus the last
   bit of the upper half carries: the average, half of that sum, then has its top bit. A NaN has zeros in its lower
   half, as its operands had, so it doesn't carry. */
VEC_INLINE vec rotate_join(vec even, vec odd)
{
    const struct vec_half_bits_two halves = vec_zip_halves(even, odd);
    const vec_half_bits average = vec_half_bits_average(halves.low, (halves.high & 1) | 0x7ffe);
    return (vec)(halves.high + (average >> 15));
}

/* Like rotate_halves(), with registers of bfloat16. */
VEC_INLINE void rotate_whole_halves(struct rotate_heads heads, struct rotate_block block, ptrdiff_t apart, size_t units)
{
    struct vec_two cos[ROTATE_VECS], sin[ROTATE_VECS];
    vec x[ROTATE_VECS], y[ROTATE_VECS];
    for (size_t i = 0; i < units; i++) {
        const size_t bytes = rotate_column(block, i, units) * sizeof(float);
        cos[i] = vec_deinterleave(rotate_load_angle(block.cos + bytes, INLAY_BF16),
                                  rotate_load_angle(block.cos + bytes + VEC_BYTES, INLAY_BF16));
        sin[i] = vec_deinterleave(rotate_load_angle(block.sin + bytes, INLAY_BF16),
                                  rotate_load_angle(block.sin + bytes + VEC_BYTES, INLAY_BF16));
    }
    const size_t element = rotate_bytes(INLAY_BF16);
    const unsigned char *in = heads.in + block.at * element;
    unsigned char *out = heads.out + block.at * element;
    for (size_t left = heads.count; left > 0; left--) {
        for (size_t i = 0; i < units; i++) {
            const unsigned char *from = in + rotate_column(block, i, units) * element;
            x[i] = vec_load(from);
            y[i] = vec_load(from + apart);
        }
        for (size_t i = 0; i < units; i++) {
            const struct vec_two a = rotate_split(x[i]), b = rotate_split(y[i]), c = cos[i], s = sin[i];
            unsigned char *to = out + rotate_column(block, i, units) * element;
            vec_store(to, rotate_join(a.low * c.low - b.low * s.low, a.high * c.high - b.high * s.high));
            vec_store(to + apart, rotate_join(b.low * c.low + a.low * s.low, b.high * c.high + a.high * s.high));
        }
        in += heads.in_bytes;
        out += heads.out_bytes;
    }
}

/* Like rotate_interleaved(), with registers of bfloat16, and one angle per pair. */
VEC_INLINE void rotate_whole_pairs(struct rotate_heads heads, struct rotate_block block, bool inverse, size_t units)
{
    vec cos[ROTATE_VECS], sin[ROTATE_VECS], x[ROTATE_VECS];
    const size_t pair = 2 * rotate_bytes(INLAY_BF16);
    rotate_load_angles(cos, sin, block, units, INLAY_BF16);
    for (size_t i = 0; i < units; i++)
        sin[i] = inverse ? -sin[i] : sin[i];
    const unsigned char *in = heads.in + block.at * pair;
    unsigned char *out = heads.out + block.at * pair;
    for (size_t left = heads.count; left > 0; left--) {
        for (size_t i = 0; i < units; i++)
            x[i] = vec_load(in + rotate_column(block, i, units) * pair);
        for (size_t i = 0; i < units; i++) {
            const struct vec_two a = rotate_split(x[i]);
            vec_store(out + rotate_column(block, i, units) * pair,
                      rotate_join(a.low * cos[i] - a.high * sin[i], a.high * cos[i] + a.low * sin[i]));
        }
        in += heads.in_bytes;
        out += heads.out_bytes;
    }
}

VEC_INLINE void rotate_vecs(const struct inlay_rotary_tile *tile, struct rotate_heads heads, struct rotate_block block,
                            ptrdiff_t apart, size_t vecs, inlay_element_type type)
{
    if (type == INLAY_BF16 && block.whole && tile->interleaved)
        rotate_whole_pairs(heads, block, tile->inverse, vecs);
    else if (type == INLAY_BF16 && block.whole)
        rotate_whole_halves(heads, block, apart, vecs);
    else if (tile->interleaved)
        rotate_interleaved(heads, block, vecs, type);
    else
        rotate_halves(heads, block, apart, vecs, type);
}

/* Rotates a block of all heads. Each type has its own functions. */
VEC_INLINE void rotate_block(const struct inlay_rotary_tile *tile, struct rotate_heads heads, struct rotate_block block,
                             ptrdiff_t apart, inlay_element_type type)
{
    switch ((block.count + block.unit - 1) / block.unit) {
    case 1:
        rotate_vecs(tile, heads, block, apart, 1, type);
        break;
    case 2:
        rotate_vecs(tile, heads, block, apart, 2, type);
        break;
    case 3:
        rotate_vecs(tile, heads, block, apart, 3, type);
        break;
    default:
        rotate_vecs(tile, heads, block, apart, ROTATE_VECS, type);
    }
}

/* Rotates heads whose angles don't fill a vector, each in a buffer. */
VEC_INLINE void rotate_few(const struct inlay_rotary_tile *tile, struct rotate_heads heads, struct rotate_block block,
                           inlay_element_type type)
{
    unsigned char few[2 * VEC_BYTES] = {0};
    const size_t half = tile->pairs * rotate_bytes(type), second = tile->interleaved ? half : VEC_BYTES;
    const ptrdiff_t apart = tile->inverse ? -VEC_BYTES : VEC_BYTES;
    unsigned char *first = tile->inverse && !tile->interleaved ? few + VEC_BYTES : few;
    const struct rotate_heads one = {first, first, 1, 0, 0};
    block.count = VEC_LEN;
    for (size_t i = 0; i < heads.count; i++) {
        memcpy(few, heads.in + i * heads.in_bytes, half);
        memcpy(few + second, heads.in + i * heads.in_bytes + half, half);
        rotate_vecs(tile, one, block, apart, 1, type);
        memcpy(heads.out + i * heads.out_bytes, few, half);
        memcpy(heads.out + i * heads.out_bytes + half, few + second, half);
    }
}

/* Rotates the heads of one tensor at one token, in blocks of all angles. The inverse with halves is the rotation of
   swapped halves. */
VEC_INLINE void rotate_tensor(const struct inlay_rotary_tile *tile, struct rotate_heads heads,
                              struct rotate_block angles, inlay_element_type type)
{
    if (angles.count < angles.unit) {
        rotate_few(tile, heads, angles, type);
        return;
    }
    ptrdiff_t apart = (ptrdiff_t)(tile->pairs * rotate_bytes(type));
    if (tile->inverse && !tile->interleaved) {
        heads.in += apart;
        heads.out += apart;
        apart = -apart;
    }
    const size_t all = angles.count, most = ROTATE_VECS * angles.unit, total = heads.count;
    const unsigned char *const cos = angles.cos, *const sin = angles.sin;
    for (size_t done = 0; done < total; done += heads.count) {
        heads.count = all > most && total - done > ROTATE_HEADS ? ROTATE_HEADS : total - done;
        for (size_t at = 0; at < all; at += angles.count) {
            angles.count = all - at;
            if (angles.count > most) /* leave none or at least a unit for the next block */
                angles.count = angles.count - most < angles.unit ? most - angles.unit : most;
            angles.at = at;
            angles.cos = cos + at * sizeof(float);
            angles.sin = sin + at * sizeof(float);
            rotate_block(tile, heads, angles, apart, type);
        }
        heads.in += heads.count * heads.in_bytes;
        heads.out += heads.count * heads.out_bytes;
    }
}

/* Not inlined, since each type has its own loops and registers. By pointer, since copies of structs wait for their
   fields to be stored. */
#define ROTATE_TYPE(name, type)                                                                                        \
    static __attribute__((noinline)) void NAME(name)(                                                                  \
        const struct inlay_rotary_tile *tile, const struct rotate_heads *heads, const struct rotate_block *angles)     \
    {                                                                                                                  \
        rotate_tensor(tile, *heads, *angles, type);                                                                    \
    }
ROTATE_TYPE(rotate_f32, INLAY_F32)
ROTATE_TYPE(rotate_f16, INLAY_F16)
ROTATE_TYPE(rotate_bf16, INLAY_BF16)
#undef ROTATE_TYPE

/* The angles of one token as blocks read them, padded to whole vectors. */
struct rotate_angles {
    _Alignas(INLAY_CACHE_LINE) unsigned char cos[INLAY_ROTARY_MAX_DIM * sizeof(float)];
    unsigned char sin[INLAY_ROTARY_MAX_DIM * sizeof(float)];
};

_Static_assert(INLAY_ROTARY_MAX_DIM % (2 * VEC_LEN) == 0, "padded angles fit");

/* Prepares one vector of cosines and one of sines, for pairs from `i` on. */
VEC_INLINE void rotate_prepare(const struct inlay_rotary_tile *tile, struct rotate_angles *angles, size_t i, vec cos,
                               vec sin)
{
    if (!tile->interleaved) {
        vec_store(angles->cos + i * sizeof(float), cos);
        vec_store(angles->sin + i * sizeof(float), sin);
        return;
    }
    const struct vec_two cosines = vec_interleave(cos, cos);
    const struct vec_two sines = tile->inverse ? vec_interleave(sin, -sin) : vec_interleave(-sin, sin);
    vec_store(angles->cos + 2 * i * sizeof(float), cosines.low);
    vec_store(angles->cos + 2 * i * sizeof(float) + VEC_BYTES, cosines.high);
    vec_store(angles->sin + 2 * i * sizeof(float), sines.low);
    vec_store(angles->sin + 2 * i * sizeof(float) + VEC_BYTES, sines.high);
}

/* Returns the angles of a token: its own row, or one prepared from it. */
VEC_INLINE struct rotate_block rotate_angles(const struct inlay_rotary_tile *tile, const unsigned char *cos,
                                             struct rotate_angles *prepared)
{
    const size_t pairs = tile->pairs, whole = pairs / VEC_LEN * VEC_LEN;
    const unsigned char *sin = cos + pairs * sizeof(float);
    if (!tile->interleaved && pairs >= VEC_LEN)
        return (struct rotate_block){cos, sin, 0, pairs, VEC_LEN, false};
    for (size_t i = 0; i < whole; i += VEC_LEN)
        rotate_prepare(tile, prepared, i, vec_load(cos + i * sizeof(float)), vec_load(sin + i * sizeof(float)));
    if (whole < pairs)
        rotate_prepare(tile, prepared, whole, vec_load_n(cos + whole * sizeof(float), pairs - whole),
                       vec_load_n(sin + whole * sizeof(float), pairs - whole));
    return (struct rotate_block){prepared->cos, prepared->sin, 0, tile->interleaved ? 2 * pairs : pairs,
                                 VEC_LEN,       false};
}

static void NAME(rotate)(const struct inlay_rotary_tile *tile)
{
    struct rotate_angles prepared;
    for (size_t t = 0; t < tile->tokens; t++) {
        struct rotate_block angles = {.count = 0}; /* prepared if a tensor needs it */
        const struct rotate_block whole = {tile->angles[t], tile->angles[t] + tile->pairs * sizeof(float), 0,
                                           tile->pairs,     tile->interleaved ? VEC_LEN : 2 * VEC_LEN,     true};
        for (size_t k = 0; k < tile->count; k++) {
            const struct inlay_rotary_heads *tensor = &tile->tensors[k];
            const struct rotate_heads heads = {tensor->in + t * tensor->in_token_bytes,
                                               tensor->out + t * tensor->out_token_bytes, tensor->heads,
                                               tensor->in_head_bytes, tensor->out_head_bytes};
            const bool is_whole = tensor->type == INLAY_BF16 && whole.count >= whole.unit;
            if (!is_whole && angles.count == 0)
                angles = rotate_angles(tile, tile->angles[t], &prepared);
            if (tensor->type == INLAY_F32)
                NAME(rotate_f32)(tile, &heads, &angles);
            else if (tensor->type == INLAY_F16)
                NAME(rotate_f16)(tile, &heads, &angles);
            else
                NAME(rotate_bf16)(tile, &heads, is_whole ? &whole : &angles);
            const size_t element = rotate_bytes(tensor->type), rotated = 2 * tile->pairs * element;
            if (heads.in != heads.out && tensor->columns * element > rotated)
                for (size_t h = 0; h < heads.count; h++)
                    memcpy(heads.out + h * heads.out_bytes + rotated, heads.in + h * heads.in_bytes + rotated,
                           tensor->columns * element - rotated);
        }
    }
}
