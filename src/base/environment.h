/* SPDX-License-Identifier: MIT */
/*
 * Variables of the environment. Only what runs once per process or makes a handle reads them: a program may change its
 * environment, which is no more safe for threads than the C library makes it.
 */
#pragma once

#include <stdbool.h>

/* Returns whether a variable has that value: never if the process has more rights than who started it. */
bool inlay_environment_is(const char *name, const char *value);
