/* SPDX-License-Identifier: MIT */
/**
 * @file rotary.h
 * Rotary positions, applied: one call rotates the queries and keys of a batch, in place or into another array, e.g. a
 * key-value cache. positions.h has the frequencies and tables. The conventions of inlay.h apply.
 */
#ifndef INLAY_ROTARY_H
#define INLAY_ROTARY_H

#include <inlay/base.h>
#include <inlay/layer.h>
#include <inlay/positions.h>
#include <inlay/table.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The handle -------------------------------------------------------------------------------------------------- */

enum {
    INLAY_ROTARY_MAX_DIM = 1024,  /**< largest inlay_rotary_spec.dim of a handle */
    INLAY_ROTARY_MAX_AXES = 4,    /**< most rows of position ids */
    INLAY_ROTARY_MAX_TENSORS = 8, /**< most tensors per call */
};

/** Frequencies with the cosines and sines of the first positions, or only the caller's cosines and sines. Immutable:
    any number of threads may share it. */
typedef struct inlay_rotary inlay_rotary;

/**
 * Makes a rotary handle.
 *
 * Without float_angles, cosines and sines are correctly rounded to float32 at every position below 2^31, as in
 * inlay_sinusoid_rows(). Without scaling, the frequencies are exact real numbers. Those of the other scalings are
 * rounded to double first. Positions that aren't cached are computed in each call, which takes several times as long
 * with float_angles.
 *
 * @param spec       frequencies, layout and cached positions; copied, with its arrays
 * @param allocator  null: malloc and free
 * @param rotary     set to the new handle, or to null if the call fails
 * @return as inlay_rotary_frequencies(); also INLAY_ERROR_OPTION for an invalid frequency, layout, float_angles, axes
 *         or axis of a pair; INLAY_ERROR_NULL for several axes without pair_axes; INLAY_ERROR_SHAPE if dim is larger
 *         than INLAY_ROTARY_MAX_DIM; INLAY_ERROR_OVERFLOW; INLAY_ERROR_NO_MEMORY
 */
INLAY_API inlay_status inlay_rotary_create(const inlay_rotary_spec *spec, const inlay_allocator *allocator,
                                           inlay_rotary **rotary);

/**
 * Makes a rotary handle from the caller's cosines and sines, e.g. those of a model with its own formula.
 *
 * @param rows       float32 [count, dim], contiguous: row p has the dim / 2 cosines of position p, then its dim / 2
 *                   sines. Not copied: they must outlive the handle, and no output may overlap them
 * @param count      number of rows. inlay_rotate() rejects positions >= count with INLAY_ERROR_POSITION
 * @param dim        columns of a head that rotate: two per pair
 * @param layout     INLAY_ROTARY_HALVES or INLAY_ROTARY_INTERLEAVED
 * @param allocator  null: malloc and free
 * @param rotary     set to the new handle, or to null if the call fails
 * @return INLAY_OK; INLAY_ERROR_NULL; INLAY_ERROR_OPTION for the layout; INLAY_ERROR_SHAPE if dim is 0, odd, or larger
 *         than INLAY_ROTARY_MAX_DIM; INLAY_ERROR_OVERFLOW; INLAY_ERROR_NO_MEMORY
 */
INLAY_API inlay_status inlay_rotary_from_rows(const float *rows, size_t count, size_t dim, inlay_rotary_layout layout,
                                              const inlay_allocator *allocator, inlay_rotary **rotary);

/** Destroys a rotary handle. Null is ignored. No call may be using the handle. */
INLAY_API void inlay_rotary_destroy(inlay_rotary *rotary);

/* ---- Rotations --------------------------------------------------------------------------------------------------- */

/** The direction of a rotation. */
typedef enum inlay_rotary_direction {
    INLAY_ROTARY_FORWARD = 0, /**< by the angles */
    INLAY_ROTARY_INVERSE = 1, /**< by the negative angles: undoes a rotation, up to rounding and the square of the
                                   attention factor. Also the gradient of a rotation */
} inlay_rotary_direction;

/** Where the heads of a tensor are: head h of token s of sequence b is at b * sequence + s * token + h * head bytes.
   Each stride counts only if there is more than one of its kind. Heads must not overlap. Heads of other tensors may be
   in the gaps if all their strides are the same, e.g. in packed queries, keys and values. */
typedef struct inlay_rotary_strides {
    size_t sequence; /**< bytes between sequences; 0: without offsets `length` tokens, with padded_length as many
                          tokens, else sequences are packed */
    size_t token;    /**< bytes between tokens of a sequence */
    size_t head;     /**< bytes between heads of a token */
} inlay_rotary_strides;

/** A tensor to rotate, e.g. the queries or the keys. Start from inlay_rotary_in_place(). */
typedef struct inlay_rotary_tensor {
    const void *data;                  /**< the heads, of any alignment */
    void *out;                         /**< the rotated heads: `data` itself with the same strides, or heads that don't
                                            overlap the data of any tensor */
    inlay_element_type type;           /**< of both: INLAY_F32, INLAY_F16 or INLAY_BF16 */
    uint32_t reserved;                 /**< 0 */
    size_t heads;                      /**< heads per token, >= 0 */
    size_t columns;                    /**< columns of a head, >= dim. Columns from dim on are copied, or left
                                            untouched in place */
    inlay_rotary_strides data_strides; /**< of `data` */
    inlay_rotary_strides out_strides;  /**< of `out` */
} inlay_rotary_tensor;

/** Returns a tensor [tokens, heads, columns] that is rotated in place. Set `out` and `out_strides` to write elsewhere,
    and the strides for other orders, e.g. [sequences, heads, length, columns]. */
static inline inlay_rotary_tensor inlay_rotary_in_place(inlay_element_type type, void *data, size_t heads,
                                                        size_t columns)
{
    inlay_rotary_tensor tensor;
    const size_t element_bytes = type == INLAY_F32 ? sizeof(float) : sizeof(uint16_t);
    tensor.data = data;
    tensor.out = data;
    tensor.type = type;
    tensor.reserved = 0;
    tensor.heads = heads;
    tensor.columns = columns;
    tensor.data_strides.sequence = 0;
    tensor.data_strides.token = heads * columns * element_bytes;
    tensor.data_strides.head = columns * element_bytes;
    tensor.out_strides = tensor.data_strides;
    return tensor;
}

/**
 * Rotates all heads of some tensors with the same tokens: pair (x, y) of columns becomes (x * cos - y * sin,
 * y * cos + x * sin), with the cosine and sine of the token's angle. Elements are converted to float32. Each product
 * and each sum is rounded, without fused multiply-add. 16-bit results are then rounded to nearest even.
 *
 * The tokens and their positions are those of a batch, as for inlay_forward(): sequences, length, offsets,
 * padded_length, start, starts and position_ids are used. All other fields are ignored, so you can pass the batch of
 * the input layer, or inlay_batch_i32(NULL, sequences, length, start). Positions are in [0, 2^31), or in [0, count) if
 * inlay_rotary_from_rows() made the handle. Outputs don't move with starts: if sequences have different pasts in a
 * key-value cache, rotate each in its own call.
 *
 * With several axes, position_ids has a row per axis: [axes, sequences, length], or [axes, length] with offsets. The
 * angle of each pair comes from its axis in pair_axes. A fault counts sequences through all rows: sequence b of row r
 * is r * sequences + b. Without position_ids, all axes have the same positions, as for text.
 *
 * If another thread changes the arrays of the batch during the call, outputs may be wrong, but nothing is read or
 * written out of bounds, with the exception documented at inlay_forward().
 *
 * @param rotary     from inlay_rotary_create() or inlay_rotary_from_rows()
 * @param batch      the tokens; its arrays must not overlap any output
 * @param tensors    [count]; their outputs must not overlap each other
 * @param count      number of tensors, 0 <= count <= INLAY_ROTARY_MAX_TENSORS
 * @param direction  forward or inverse
 * @param executor   null, or a thread pool; tokens are divided among its threads
 * @param fault      null, or receives the bad argument and the location of the bad element
 * @return INLAY_OK; INLAY_ERROR_NULL, _OPTION, _SHAPE, _STRIDE, _OVERFLOW or _OVERLAP for an argument;
 *         INLAY_ERROR_POSITION or _OFFSETS for an element of an array
 */
INLAY_API inlay_status inlay_rotate(const inlay_rotary *rotary, const inlay_batch *batch,
                                    const inlay_rotary_tensor *tensors, size_t count, inlay_rotary_direction direction,
                                    const inlay_executor *executor, inlay_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
