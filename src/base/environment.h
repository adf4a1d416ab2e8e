/* SPDX-License-Identifier: MIT */
/*
 * Environment variables. They are read only once per process or when a handle is created: a program may change its
 * environment at any time, and the C library's thread safety applies.
 */
#pragma once

#include <stdbool.h>

/* Returns true if a variable has that value; always false in a privileged process. */
bool inlay_environment_is(const char *name, const char *value);
