/* SPDX-License-Identifier: MIT */
/*
 * The fixture of the suites test_errors_*.c: a small table, its layer, an output between guard pages, and macros that
 * expect a status from a call.
 */
#pragma once

#include "support/support.h"

#include <errno.h>
#include <string.h>

enum { DIM = 4, ROWS = 8, BATCH = 2, SEQ = 3, TOKENS = BATCH * SEQ, ROW_BYTES = DIM * sizeof(float) };

extern float table[ROWS][DIM];
extern struct arena out;
extern inlay_sinusoid *sinusoid; /* of DIM columns */

void make_fixture(void);
void free_fixture(void);

/* Returns a view of `table`. */
inlay_table good_table(void);

/* Returns a layer with positions from a sinusoid, from a table, or none. */
inlay_layer *make_layer(const inlay_table *tokens, const inlay_sinusoid *formula, const inlay_table *learned);

/* The fault of the last create_layer() or forward(). */
extern inlay_fault blamed;

/* Creates a layer and destroys it again. Fails the test if a failed creation leaves a handle, or if
   inlay_layer_spec_check() returns another status. */
inlay_status create_layer(const inlay_layer_spec *spec);

/* Runs a layer with the fixture's output, without a fault and with one. */
inlay_status forward(const inlay_layer *layer, const inlay_batch *batch, inlay_fault *fault);

/* Expects a status from a call, unchanged output on errors, and unchanged errno. */
#define EXPECT_STATUS(call, wanted)                                                                                    \
    do {                                                                                                               \
        arena_place(&out, 0, AT_BEGIN, 0);                                                                             \
        errno = 0;                                                                                                     \
        inlay_status got = (call);                                                                                     \
        EXPECT(got == (wanted), "%s is \"%s\", not \"%s\"", #call, inlay_status_string(got),                           \
               inlay_status_string(wanted));                                                                           \
        EXPECT((wanted) == INLAY_OK || arena_untouched(&out), "%s wrote to its output", #call);                        \
        EXPECT(errno == 0, "%s touched errno", #call);                                                                 \
    } while (0)

/* Expects that the last call, if it failed, has blamed a field and given a reason. */
#define EXPECT_BLAMED(wanted, name)                                                                                    \
    EXPECT((wanted) == INLAY_OK || (strcmp(blamed.field, name) == 0 && strlen(blamed.reason) > 0),                     \
           "\"%s: %s\", not %s, is at fault", blamed.field, blamed.reason, name)

/* Expects a status from a call while one field of a struct that it reads has another value. */
#define EXPECT_WITH(wanted, object, field, value, call)                                                                \
    do {                                                                                                               \
        const __typeof__(object) kept = (object);                                                                      \
        (object).field = (value);                                                                                      \
        EXPECT_STATUS(call, wanted);                                                                                   \
        (object) = kept;                                                                                               \
    } while (0)
