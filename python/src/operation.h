/* SPDX-License-Identifier: MIT */
/*
 * A call of a layer that is made for this call alone: what operators of frameworks run, whose graphs must hold nothing
 * but tensors and numbers. Nothing here knows Python or a framework; every function may be called from any thread.
 */
#ifndef INLAY_PYTHON_OPERATION_H
#define INLAY_PYTHON_OPERATION_H

#include "dtype.h"
#include "errors.h"
#include "view.h"

/* A contiguous tensor. All zeros: an absent one. */
struct tensor {
    void *data;
    bool given;
    enum dtype dtype;
    int dims;
    Py_ssize_t shape[VIEW_DIMS];
};

enum operand {
    OPERAND_TABLE,     /* [vocab, dim] */
    OPERAND_POSITIONS, /* [rows, dim]; dimensions before these must be 1 */
    OPERAND_SEGMENTS,  /* likewise */
    OPERAND_IDS,
    OPERAND_POSITION_IDS, /* shaped as ids */
    OPERAND_SEGMENT_IDS,  /* shaped as ids */
    OPERAND_GAMMA,        /* [dim] */
    OPERAND_BETA,         /* [dim] */
    OPERANDS,
};

struct operation {
    struct tensor operands[OPERANDS];
    struct tensor out; /* shaped as ids, and dim */
    float scale, epsilon;
    inlay_norm norm;
    int64_t start;
    bool segments_first;
    /* Positions are added as frameworks broadcast: one row to every token, or as many rows as a sequence has tokens. */
    bool broadcast_positions;
};

/* Sets the shape of a tensor. Returns false if it has more than VIEW_DIMS dimensions. */
bool tensor_set_shape(struct tensor *tensor, size_t dims, const int64_t *shape);

/* Runs the operation. Writes to `text` why it failed unless it returns INLAY_OK. */
inlay_status operation_run(const struct operation *operation, char text[ERROR_TEXT_BYTES]);

#endif
