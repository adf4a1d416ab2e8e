/* SPDX-License-Identifier: MIT */
/*
 * The rotation of tensors: validation, parts along tokens, and the angles of each token, cached or computed.
 */
#include "base/executor.h"
#include "base/fpenv.h"
#include "base/minmax.h"
#include "dispatch/dispatch.h"
#include "positions/generator.h"
#include "positions/list.h"
#include "positions/rotary.h"
#include "table/element.h"
#include "table/sequences.h"

/* Tokens per call of the kernel, and room for the computed angles of at least 4 tokens, or 2 with several axes. */
enum { MAX_RUN = 32, BUFFER_FLOATS = 4 * INLAY_ROTARY_MAX_DIM };

/* A validated call. The heads of a tensor begin at its first token. */
struct rotation {
    const inlay_rotary *rotary;
    const struct inlay_kernels *kernels;
    inlay_batch batch;
    struct inlay_sequences sequences;
    size_t tokens, longest; /* tokens of all sequences, and of the longest one */
    size_t axes;            /* rows of position ids; 1 without them */
    size_t count;
    struct inlay_rotary_heads tensors[INLAY_ROTARY_MAX_TENSORS];
    size_t in_sequence_bytes[INLAY_ROTARY_MAX_TENSORS], out_sequence_bytes[INLAY_ROTARY_MAX_TENSORS]; /* 0: packed */
    bool inverse;
    size_t parts;
};

/* ---- Where the heads are ---------------------------------------------------------------------------------------- */

/* The heads of a tensor's data or output: axes of more than one element, by descending stride. */
struct heads_layout {
    struct axis {
        enum { AXIS_SEQUENCES, AXIS_TOKENS, AXIS_HEADS } of;
        size_t stride, count;
        size_t span; /* bytes of one element of this axis, with the gaps between its heads */
    } axes[3];
    size_t count;
    struct inlay_extent extent;
};

/* Adds an axis in order of strides. */
static void add_axis(struct heads_layout *layout, int of, size_t count, size_t stride)
{
    if (count <= 1)
        return;
    size_t i = layout->count++;
    for (; i > 0 && layout->axes[i - 1].stride < stride; i--)
        layout->axes[i] = layout->axes[i - 1];
    layout->axes[i] = (struct axis){of, stride, count, 0};
}

/* Sets the extent of heads, and the spans of their axes. Heads must not overlap each other. */
static inlay_status measure_layout(struct heads_layout *layout, const void *at, size_t head_bytes)
{
    size_t span = head_bytes, before;
    for (size_t i = layout->count; i-- > 0;) {
        struct axis *axis = &layout->axes[i];
        axis->span = span;
        if (axis->stride < span)
            return INLAY_ERROR_STRIDE;
        if (__builtin_mul_overflow(axis->stride, axis->count - 1, &before) ||
            __builtin_add_overflow(before, span, &span))
            return INLAY_ERROR_OVERFLOW;
    }
    return inlay_check_array(at, 1, span, &layout->extent);
}

static bool same_layout(const struct heads_layout *a, const struct heads_layout *b)
{
    bool same = a->extent.begin == b->extent.begin && a->extent.end == b->extent.end && a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = a->axes[i].of == b->axes[i].of && a->axes[i].stride == b->axes[i].stride;
    return same;
}

/* Returns true if heads overlap, or may overlap. Heads in each other's gaps don't if, from the largest stride on, both
   layouts have the same strides down to one whose elements are apart. */
static bool layouts_overlap(const struct heads_layout *a, const struct heads_layout *b)
{
    if (!inlay_extents_overlap(a->extent, b->extent))
        return false;
    const struct heads_layout *first = a->extent.begin <= b->extent.begin ? a : b, *second = first == a ? b : a;
    size_t distance = second->extent.begin - first->extent.begin;
    for (size_t i = 0; i < first->count && i < second->count; i++) {
        const size_t stride = first->axes[i].stride;
        if (second->axes[i].stride != stride)
            return true;
        distance %= stride;
        const bool apart = distance >= first->axes[i].span, within = distance <= stride - second->axes[i].span;
        if (apart && within)
            return false;
        if (within)
            continue;
        if (!apart)
            return true;
        const struct heads_layout *next = first;
        first = second;
        second = next;
        distance = stride - distance;
    }
    return true;
}

/* ---- Validation ------------------------------------------------------------------------------------------------- */

/* Resolves the stride of sequences, 0 if they are packed, and measures one side of a tensor. */
static inlay_status check_side(const struct rotation *work, const inlay_rotary_tensor *tensor, const void *at,
                               const inlay_rotary_strides *strides, size_t *sequence_bytes, struct heads_layout *layout)
{
    *sequence_bytes = strides->sequence;
    layout->count = 0;
    layout->extent = (struct inlay_extent){0, 0};
    if (strides->sequence == 0 && work->batch.padded_length > 0 && work->sequences.count > 1 &&
        __builtin_mul_overflow(work->batch.padded_length, strides->token, sequence_bytes))
        return INLAY_ERROR_OVERFLOW;
    if (work->tokens == 0 || tensor->heads == 0)
        return INLAY_OK;
    if (*sequence_bytes > 0)
        add_axis(layout, AXIS_SEQUENCES, work->sequences.count, *sequence_bytes);
    add_axis(layout, AXIS_TOKENS, *sequence_bytes > 0 ? work->longest : work->tokens, strides->token);
    add_axis(layout, AXIS_HEADS, tensor->heads, strides->head);
    return measure_layout(layout, at, tensor->columns * inlay_type_bytes(tensor->type));
}

/* Checks the tensors against each other and sets *written to the extents of their outputs. */
static inlay_status check_tensors(struct rotation *work, const inlay_rotary_tensor *tensors,
                                  struct inlay_extent *written, inlay_fault *fault)
{
    struct heads_layout data[INLAY_ROTARY_MAX_TENSORS], out[INLAY_ROTARY_MAX_TENSORS];
    for (size_t k = 0; k < work->count; k++) {
        const inlay_rotary_tensor *tensor = &tensors[k];
        const size_t element = inlay_type_bytes(tensor->type);
        if (element == 0)
            return inlay_blame_field(fault, INLAY_ERROR_OPTION, "type", "is not float32, float16 or bfloat16");
        if (tensor->reserved != 0)
            return inlay_blame_field(fault, INLAY_ERROR_OPTION, "reserved", "is not 0");
        if (tensor->columns < work->rotary->dim)
            return inlay_blame_field(fault, INLAY_ERROR_SHAPE, "columns", "is less than the rotary dim");
        if (tensor->columns > SIZE_MAX / element)
            return inlay_blame_field(fault, INLAY_ERROR_OVERFLOW, "columns", NULL);
        inlay_status status =
            check_side(work, tensor, tensor->data, &tensor->data_strides, &work->in_sequence_bytes[k], &data[k]);
        if (status != INLAY_OK)
            return inlay_blame_field(fault, status, status == INLAY_ERROR_STRIDE ? "data_strides" : "data", NULL);
        status = check_side(work, tensor, tensor->out, &tensor->out_strides, &work->out_sequence_bytes[k], &out[k]);
        if (status != INLAY_OK)
            return inlay_blame_field(fault, status, status == INLAY_ERROR_STRIDE ? "out_strides" : "out", NULL);
        written[k] = out[k].extent;
        work->tensors[k] = (struct inlay_rotary_heads){
            .type = tensor->type,
            .heads = tensor->heads,
            .columns = tensor->columns,
            .in = tensor->data,
            .in_token_bytes = tensor->data_strides.token,
            .in_head_bytes = tensor->data_strides.head,
            .out = tensor->out,
            .out_token_bytes = tensor->out_strides.token,
            .out_head_bytes = tensor->out_strides.head,
        };
    }
    for (size_t i = 0; i < work->count; i++)
        for (size_t k = 0; k < work->count; k++) {
            const bool in_place = i == k && same_layout(&out[i], &data[k]);
            if ((!in_place && layouts_overlap(&out[i], &data[k])) || (i != k && layouts_overlap(&out[i], &out[k])))
                return inlay_blame_field(fault, INLAY_ERROR_OVERLAP, "out", NULL);
        }
    return INLAY_OK;
}

/* Keeps only tensors with heads: the pointers of others may be null. */
static void drop_empty_tensors(struct rotation *work)
{
    size_t kept = 0;
    for (size_t k = 0; k < work->count; k++)
        if (work->tensors[k].heads > 0) {
            work->tensors[kept] = work->tensors[k];
            work->in_sequence_bytes[kept] = work->in_sequence_bytes[k];
            work->out_sequence_bytes[kept++] = work->out_sequence_bytes[k];
        }
    work->count = kept;
}

/* Checks that no output overlaps the handle or an array of the batch. */
static inlay_status check_reads(const struct rotation *work, struct inlay_extent written, inlay_fault *fault)
{
    const inlay_batch *batch = &work->batch;
    const inlay_rotary *rotary = work->rotary;
    inlay_status status = INLAY_OK;
    status =
        inlay_check_if_there(status, fault, "starts", batch->starts, batch->sequences, sizeof *batch->starts, written);
    status = inlay_check_if_there(status, fault, "offsets", batch->offsets, batch->sequences + 1,
                                  sizeof *batch->offsets, written);
    status = inlay_check_if_there(status, fault, "position_ids", batch->position_ids, work->tokens,
                                  work->axes * inlay_id_bytes(batch->position_id_type), written);
    const inlay_sinusoid *sinusoid = rotary->sinusoid;
    if (status == INLAY_OK &&
        (inlay_extents_overlap(written, inlay_bytes_at(rotary, sizeof *rotary)) ||
         inlay_extents_overlap(written, inlay_bytes_at(rotary->table, rotary->cached * rotary->dim * sizeof(float))) ||
         inlay_extents_overlap(written, inlay_bytes_at(sinusoid, sinusoid != NULL ? sinusoid->bytes : 0))))
        status = inlay_blame_field(fault, INLAY_ERROR_OVERLAP, "out", NULL);
    return status;
}

static uint64_t start_of(const struct rotation *work, size_t b)
{
    const int64_t *starts = work->batch.starts;
    return inlay_load_once((uint64_t)(starts != NULL ? inlay_id_at(starts, INLAY_ID_I64, b) : work->batch.start));
}

static inlay_status check_positions(const struct rotation *work, inlay_fault *fault)
{
    const inlay_batch *batch = &work->batch;
    if (batch->position_ids != NULL) {
        const size_t row_bytes = work->tokens * inlay_id_bytes(batch->position_id_type);
        for (size_t axis = 0; axis < work->axes; axis++)
            if (!inlay_ids_in(&work->sequences, (const char *)batch->position_ids + axis * row_bytes,
                              batch->position_id_type, work->tokens, work->rotary->limit, fault)) {
                fault->sequence += axis * batch->sequences;
                return inlay_blame_field(fault, INLAY_ERROR_POSITION, "position_ids", NULL);
            }
        return INLAY_OK;
    }
    /* Without starts and offsets, all sequences have the same positions. */
    const size_t different = batch->starts != NULL || batch->offsets != NULL ? batch->sequences : 1;
    for (size_t b = 0; b < different; b++) {
        const size_t n = inlay_sequence_tokens(&work->sequences, b).count;
        if (n > 0 && !inlay_positions_in((int64_t)start_of(work, b), n, work->rotary->limit, fault)) {
            fault->sequence = b;
            return inlay_blame_field(fault, INLAY_ERROR_POSITION, batch->starts != NULL ? "starts" : "start", NULL);
        }
    }
    return INLAY_OK;
}

static inlay_status check_batch(struct rotation *work, const inlay_batch *batch, const inlay_rotary_tensor *tensors,
                                inlay_fault *fault)
{
    if (!inlay_struct_known(batch, sizeof *batch))
        return inlay_blame_field(fault, INLAY_ERROR_OPTION, "size", INLAY_SIZE_UNKNOWN);
    if (batch->padded_length > 0 && batch->offsets == NULL)
        return inlay_blame_field(fault, INLAY_ERROR_OPTION, "padded_length", "needs offsets");
    if (batch->position_ids != NULL ? inlay_id_bytes(batch->position_id_type) == 0 : batch->position_id_type != 0)
        return inlay_blame_field(fault, INLAY_ERROR_OPTION, "position_id_type",
                                 "is not an inlay_id_type, or not 0 without ids");
    work->batch = *batch;
    work->axes = batch->position_ids != NULL ? work->rotary->axes : 1;
    work->sequences = (struct inlay_sequences){batch->sequences, batch->length, batch->offsets};
    const inlay_status status = inlay_count_tokens(&work->sequences, &work->tokens, fault);
    size_t heads = 0;
    for (size_t k = 0; k < work->count; k++)
        heads |= tensors[k].heads;
    if (heads == 0)
        work->tokens = 0; /* without output, no array is read */
    work->longest = work->sequences.length;
    if (status != INLAY_OK || batch->offsets == NULL || work->tokens == 0)
        return status;
    const size_t padded = batch->padded_length;
    return inlay_check_offsets(&work->sequences, padded > 0 ? padded : SIZE_MAX, &work->longest, fault);
}

static inlay_status check_call(struct rotation *work, const inlay_batch *batch, const inlay_rotary_tensor *tensors,
                               size_t count, inlay_rotary_direction direction, const inlay_executor *executor,
                               inlay_fault *fault)
{
    if (work->rotary == NULL || batch == NULL)
        return inlay_blame_field(fault, INLAY_ERROR_NULL, batch != NULL ? "rotary" : "batch", NULL);
    if (tensors == NULL && count > 0)
        return inlay_blame_field(fault, INLAY_ERROR_NULL, "tensors", NULL);
    if (count > INLAY_ROTARY_MAX_TENSORS)
        return inlay_blame_field(fault, INLAY_ERROR_OPTION, "count", "is larger than INLAY_ROTARY_MAX_TENSORS");
    if (direction != INLAY_ROTARY_FORWARD && direction != INLAY_ROTARY_INVERSE)
        return inlay_blame_field(fault, INLAY_ERROR_OPTION, "direction", "is not an inlay_rotary_direction");
    work->count = count;
    work->inverse = direction == INLAY_ROTARY_INVERSE;
    struct inlay_extent written[INLAY_ROTARY_MAX_TENSORS];
    inlay_status status = check_batch(work, batch, tensors, fault);
    if (status == INLAY_OK)
        status = check_tensors(work, tensors, written, fault);
    status = inlay_check_executor(status, executor, fault);
    for (size_t k = 0; k < count && work->tokens > 0 && status == INLAY_OK; k++)
        status = check_reads(work, written[k], fault);
    drop_empty_tensors(work);
    return status == INLAY_OK && work->tokens > 0 ? check_positions(work, fault) : status;
}

/* ---- Running ---------------------------------------------------------------------------------------------------- */

/* Returns the position of a token on an axis: token s of sequence b. It was validated, and is 0 if it has become
   invalid since. */
static uint64_t token_position(const struct rotation *work, size_t axis, size_t b, size_t s, size_t token)
{
    const inlay_batch *batch = &work->batch;
    const uint64_t position = batch->position_ids != NULL
                                  ? inlay_load_once((uint64_t)inlay_id_at(batch->position_ids, batch->position_id_type,
                                                                          axis * work->tokens + token))
                                  : start_of(work, b) + s;
    return position < work->rotary->limit ? position : 0;
}

/* Sets the rows of n positions, at most MAX_RUN: cached ones, or ones computed in `buffer`. Equal neighbors share a
   row. */
static void find_rows(const struct rotation *work, const uint64_t *positions, size_t n, const unsigned char **rows,
                      unsigned char *buffer)
{
    const inlay_rotary *rotary = work->rotary;
    const size_t row_bytes = rotary->dim * sizeof(float);
    int64_t computed[MAX_RUN];
    size_t missing = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t position = positions[i];
        if (position < rotary->cached) {
            rows[i] = rotary->table + (size_t)position * row_bytes;
            continue;
        }
        if (missing == 0 || computed[missing - 1] != (int64_t)position)
            computed[missing++] = (int64_t)position;
        rows[i] = buffer + (missing - 1) * row_bytes;
    }
    const struct inlay_positions list = {.list = computed, .type = INLAY_POSITION_I64};
    if (missing > 0)
        inlay_sinusoid_fill(work->kernels, rotary->sinusoid, list, missing, INLAY_F32, buffer, row_bytes, false);
}

/* Copies the cosines and sines of an axis to a row. */
static void copy_axis(const inlay_rotary *rotary, size_t axis, const unsigned char *from, unsigned char *to)
{
    const inlay_u32_in_memory *in = (const inlay_u32_in_memory *)(const void *)from;
    inlay_u32_in_memory *out = (inlay_u32_in_memory *)(void *)to;
    const size_t half = rotary->dim / 2, end = rotary->first_pair[axis + 1];
    for (size_t k = rotary->first_pair[axis]; k < end; k++) {
        const size_t i = rotary->pairs[k];
        out[i] = in[i];
        out[half + i] = in[half + i];
    }
}

/* Sets the angles of n tokens with several axes. A token with different positions gets a row of `mixed`: the columns of
   each axis come from the row of its position. Axis 0 is last, since it also sets the rows of all other tokens. */
static void mix_angles(const struct rotation *work, size_t b, size_t s, size_t token, size_t n,
                       const unsigned char **angles, unsigned char *computed, unsigned char *mixed)
{
    const inlay_rotary *rotary = work->rotary;
    const size_t row_bytes = rotary->dim * sizeof(float);
    uint64_t positions[INLAY_ROTARY_MAX_AXES][MAX_RUN];
    const unsigned char *rows[MAX_RUN];
    size_t differ[MAX_RUN], count = 0;
    for (size_t i = 0; i < n; i++) {
        bool equal = true;
        for (size_t axis = 0; axis < work->axes; axis++) {
            positions[axis][i] = token_position(work, axis, b, s + i, token + i);
            equal = equal && positions[axis][i] == positions[0][i];
        }
        if (!equal)
            differ[count++] = i;
    }
    for (size_t axis = work->axes; axis-- > 1;) {
        for (size_t k = 0; k < count; k++)
            positions[axis][k] = positions[axis][differ[k]];
        find_rows(work, positions[axis], count, rows, computed);
        for (size_t k = 0; k < count; k++)
            copy_axis(rotary, axis, rows[k], mixed + k * row_bytes);
    }
    find_rows(work, positions[0], n, angles, computed);
    for (size_t k = 0; k < count; k++) {
        copy_axis(rotary, 0, angles[differ[k]], mixed + k * row_bytes);
        angles[differ[k]] = mixed + k * row_bytes;
    }
}

/* Sets the angles of n tokens, at most MAX_RUN. Rows are computed in `buffer`, and mixed in its second half. */
static void find_angles(const struct rotation *work, size_t b, size_t s, size_t token, size_t n,
                        const unsigned char **angles, unsigned char *buffer)
{
    if (work->axes > 1) {
        mix_angles(work, b, s, token, n, angles, buffer, buffer + BUFFER_FLOATS / 2 * sizeof(float));
        return;
    }
    uint64_t positions[MAX_RUN];
    for (size_t i = 0; i < n; i++)
        positions[i] = token_position(work, 0, b, s + i, token + i);
    find_rows(work, positions, n, angles, buffer);
}

/* Returns the heads of a tensor from token s of sequence b on, which is `token` of all tokens. */
static struct inlay_rotary_heads heads_from(const struct rotation *work, size_t k, size_t b, size_t s, size_t token)
{
    const size_t in = work->in_sequence_bytes[k], out = work->out_sequence_bytes[k];
    struct inlay_rotary_heads heads = work->tensors[k];
    heads.in += in > 0 ? b * in + s * heads.in_token_bytes : token * heads.in_token_bytes;
    heads.out += out > 0 ? b * out + s * heads.out_token_bytes : token * heads.out_token_bytes;
    return heads;
}

/* Rotates n tokens of sequence b from its token s on, which is `token` of all tokens. */
static void rotate_run(const struct rotation *work, size_t b, size_t s, size_t token, size_t n)
{
    const size_t dim = work->rotary->dim, rows_of_token = work->axes > 1 ? 2 : 1;
    const size_t most = inlay_min(MAX_RUN, BUFFER_FLOATS / (dim * rows_of_token));
    unsigned char buffer[BUFFER_FLOATS * sizeof(float)];
    const unsigned char *angles[MAX_RUN];
    struct inlay_rotary_heads tensors[INLAY_ROTARY_MAX_TENSORS];
    struct inlay_rotary_tile tile = {.angles = angles,
                                     .pairs = dim / 2,
                                     .count = work->count,
                                     .interleaved = work->rotary->interleaved,
                                     .inverse = work->inverse};
    for (size_t done = 0; done < n; done += tile.tokens) {
        tile.tokens = inlay_min(n - done, most);
        for (size_t k = 0; k < work->count; k++)
            tensors[k] = heads_from(work, k, b, s + done, token + done);
        tile.tensors = tensors;
        find_angles(work, b, s + done, token + done, tile.tokens, angles, buffer);
        work->kernels->rotate(&tile);
    }
}

static void rotate_part(void *arg, size_t index)
{
    const struct rotation *work = arg;
    const size_t first = inlay_share_begin(work->tokens, work->parts, index);
    const size_t end = inlay_share_begin(work->tokens, work->parts, index + 1);
    const struct inlay_fpenv host = inlay_fpenv_enter();
    for (size_t b = inlay_sequence_at(&work->sequences, first); b < work->sequences.count; b++) {
        const struct inlay_sequence sequence = inlay_sequence_tokens(&work->sequences, b);
        if (sequence.first >= end)
            break;
        const size_t from = inlay_max(first, sequence.first);
        const size_t to = inlay_min(end, sequence.first + inlay_min(sequence.count, work->longest));
        if (from < to)
            rotate_run(work, b, from - sequence.first, from, to - from);
    }
    inlay_fpenv_leave(host);
}

inlay_status inlay_rotate(const inlay_rotary *rotary, const inlay_batch *batch, const inlay_rotary_tensor *tensors,
                          size_t count, inlay_rotary_direction direction, const inlay_executor *executor,
                          inlay_fault *fault)
{
    inlay_fault unused;
    struct rotation work; /* its arrays are set only up to the count: zeros would slow down small calls */
    work.rotary = rotary;
    work.tokens = 0;
    const inlay_status status =
        check_call(&work, batch, tensors, count, direction, executor, fault != NULL ? fault : &unused);
    if (status != INLAY_OK || work.tokens == 0)
        return status;
    size_t token_bytes = 0;
    for (size_t k = 0; k < count; k++)
        token_bytes += work.tensors[k].heads * work.tensors[k].columns * inlay_type_bytes(work.tensors[k].type);
    work.kernels = inlay_dispatch();
    work.parts = inlay_min(inlay_parts(executor, inlay_product(work.tokens, token_bytes)), work.tokens);
    inlay_run_parts(executor, work.parts, rotate_part, &work);
    return INLAY_OK;
}
