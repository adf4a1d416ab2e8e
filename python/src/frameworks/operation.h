/* SPDX-License-Identifier: MIT */
/*
 * A call of a layer that is made for this call alone: what operators of frameworks run, whose graphs must hold nothing
 * but tensors and numbers. Nothing here knows Python or a framework; every function may be called from any thread.
 */
#pragma once

#include "arrays/dtype.h"
#include "arrays/view.h"
#include "module/errors.h"

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
    OPERAND_TABLES,    /* how many they are */
    OPERAND_IDS = OPERAND_TABLES,
    OPERAND_POSITION_IDS, /* shaped as ids */
    OPERAND_SEGMENT_IDS,  /* shaped as ids */
    OPERAND_GAMMA,        /* [dim] */
    OPERAND_BETA,         /* [dim] */
    /* These two are ONNX Runtime's alone. */
    OPERAND_SCALES, /* [vocab, groups] of a table of 4-bit groups, which is bytes [vocab, dim / 2] */
    OPERAND_ZEROS,  /* the bytes of its zero points */
    OPERANDS,
};

/* Holds pointers to itself once it is checked, so it must not be copied then. */
struct operation {
    struct tensor operands[OPERANDS];
    struct tensor out;     /* shaped as ids, and dim; an absent one may have a type */
    inlay_layer_spec spec; /* the caller sets numbers; operation_check() fills in tables, gamma, beta and out_type */
    inlay_batch batch;     /* the caller sets start; operation_check() fills in shapes and arrays */
    inlay_table tables[OPERAND_TABLES];
    inlay_element_type grouped; /* of the table, where it has scales: INLAY_U4_GROUPED or INLAY_U4_GROUPED_FLAT */
    uint32_t group;             /* columns of a scale */
    /* Positions are added as frameworks broadcast: one row to every token, or as many rows as a sequence has tokens. */
    bool broadcast_positions;
};

/* Sets the shape of a contiguous tensor. Returns false if it has more than VIEW_DIMS dimensions. */
bool tensor_set_shape(struct tensor *tensor, size_t dims, const int64_t *shape);

/* Makes an operation without operands, whose numbers are those of inlay_layer_spec_default() and inlay_batch_i32(). */
void operation_init(struct operation *operation);

/* Checks types and shapes, also those of `out`, or sets them if `out` is absent: its type is that of the table unless
   it has one. Like the functions below, writes to `text` what is wrong unless it returns INLAY_OK. */
inlay_status operation_check(struct operation *operation, char text[ERROR_TEXT_BYTES]);

/* Writes the output of an operation that was checked. */
inlay_status operation_run(const struct operation *operation, char text[ERROR_TEXT_BYTES]);
