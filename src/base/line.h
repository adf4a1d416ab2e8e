/* SPDX-License-Identifier: MIT */
/*
 * The cache line of every CPU that inlay knows.
 */
#ifndef INLAY_BASE_LINE_H
#define INLAY_BASE_LINE_H

enum { INLAY_CACHE_LINE = 64 };

#endif
