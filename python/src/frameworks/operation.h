/* SPDX-License-Identifier: MIT */
/*
 * One call of a temporary layer. Operators of frameworks make a layer per call, because their graphs hold only tensors
 * and numbers. Nothing here depends on Python or on a framework; every function may be called from any thread.
 */
#pragma once

#include "arrays/dtype.h"
#include "arrays/view.h"
#include "module/errors.h"

/* A contiguous tensor. All zeros: not given. */
struct tensor {
    void *data;
    bool given;
    enum dtype dtype;
    int dims;
    Py_ssize_t shape[VIEW_DIMS];
};

enum operand {
    OPERAND_TABLE,     /* [vocab, dim] */
    OPERAND_POSITIONS, /* [rows, dim], or [1, ..., 1, rows, dim] */
    OPERAND_SEGMENTS,  /* same */
    OPERAND_TABLES,    /* number of tables */
    OPERAND_IDS = OPERAND_TABLES,
    OPERAND_POSITION_IDS, /* same shape as ids */
    OPERAND_SEGMENT_IDS,  /* same shape as ids */
    OPERAND_GAMMA,        /* [dim] */
    OPERAND_BETA,         /* [dim] */
    /* Only ONNX Runtime passes these two, for a table in groups: bytes [vocab, bytes per row]. */
    OPERAND_SCALES, /* [vocab, groups] */
    OPERAND_ZEROS,  /* bytes of the zero points */
    OPERANDS,
};

/* A checked operation contains pointers to itself. Don't copy it. */
struct operation {
    struct tensor operands[OPERANDS];
    struct tensor out;     /* [shape of ids, dim]; if not given, its dtype may still be set */
    inlay_layer_spec spec; /* the caller sets numbers; operation_check() fills in tables, gamma, beta and out_type */
    inlay_batch batch;     /* the caller sets start; operation_check() fills in shapes and arrays */
    inlay_table tables[OPERAND_TABLES];
    inlay_element_type grouped; /* type of a table with scales */
    uint32_t group;             /* columns per scale */
    bool broadcast_positions;   /* positions must have one row, or one row per token of a sequence */
};

/* Sets the shape of a contiguous tensor. Returns false if it has more than VIEW_DIMS dimensions. */
bool tensor_set_shape(struct tensor *tensor, size_t dims, const int64_t *shape);

/* Returns the number of elements. */
size_t tensor_count(const struct tensor *tensor);

/* Returns an element of a tensor of int32 or int64. */
static inline int64_t tensor_integer(const struct tensor *tensor, size_t i)
{
    return tensor->dtype == DTYPE_I64 ? ((const int64_t *)tensor->data)[i] : ((const int32_t *)tensor->data)[i];
}

/* Makes an operation without operands, with the defaults of inlay_layer_spec_default() and inlay_batch_i32(). */
void operation_init(struct operation *operation);

/* Checks types and shapes. If `out` isn't given, sets its shape. If it has no dtype, sets it to the table's. On error,
   this function and operation_run() write the reason to `text`. */
inlay_status operation_check(struct operation *operation, char text[ERROR_TEXT_BYTES]);

/* Writes the output of a checked operation. */
inlay_status operation_run(const struct operation *operation, char text[ERROR_TEXT_BYTES]);
