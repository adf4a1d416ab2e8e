/* SPDX-License-Identifier: MIT */
/*
 * A clock for measuring parts of calls: a counter of the CPU where a program may read one, else the system's clock. Its
 * unit is unknown; only ratios of differences mean anything. Reading it makes no system call on Linux.
 */
#pragma once

#include <stdint.h>

uint64_t inlay_ticks(void);

/* Replaces the clock in tests; null restores it. */
void inlay_ticks_use(uint64_t (*clock)(void));
