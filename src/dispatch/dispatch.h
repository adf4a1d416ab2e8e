/* SPDX-License-Identifier: MIT */
/*
 * Which kernels run. Included by the public functions, and by tests and bench, which choose for themselves.
 */
#ifndef INLAY_DISPATCH_H
#define INLAY_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct inlay_kernels;

/* The table in use; settles it at the first call. */
const struct inlay_kernels *inlay_dispatch(void);

/* The tables compiled in, best first, scalar last; null past the end. */
const struct inlay_kernels *inlay_dispatch_at(size_t index, bool *runs);

/* For tests and bench: these from now on. Null: choose again, by CPU and INLAY_ISA. */
void inlay_dispatch_use(const struct inlay_kernels *kernels);

#ifdef __cplusplus
}
#endif

#endif
