/* SPDX-License-Identifier: MIT */
/*
 * Which kernels run: chosen by CPU at the first call. Tests and benchmarks choose for themselves.
 */
#ifndef INLAY_DISPATCH_H
#define INLAY_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct inlay_kernels;

/* Returns the table in use, which the first call chooses. */
const struct inlay_kernels *inlay_dispatch(void);

/* Returns the tables that are compiled in, the best first and scalar last; null past the end. Sets *runs to whether
   this CPU runs that table. */
const struct inlay_kernels *inlay_dispatch_at(size_t index, bool *runs);

/* For tests and benchmarks: uses this table from now on. Null chooses again, by CPU and INLAY_ISA. */
void inlay_dispatch_use(const struct inlay_kernels *kernels);

#ifdef __cplusplus
}
#endif

#endif
