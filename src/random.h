/* SPDX-License-Identifier: MIT */
#ifndef INLAY_RANDOM_H
#define INLAY_RANDOM_H
#include <stddef.h>
#include <stdint.h>
void inlay_dropout(unsigned char *row, size_t columns, uint64_t first_element, uint64_t key, uint64_t offset, float p);
#endif
