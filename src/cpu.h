/* SPDX-License-Identifier: MIT */
/*
 * Where CPUs that run the same kernels differ. Included by what cuts work.
 */
#ifndef INLAY_CPU_H
#define INLAY_CPU_H

#include <stdbool.h>

/* Whether float32 rows had better go through L2 by 32 bytes at once, where registers are longer. */
bool inlay_cpu_narrow(void);

#endif
