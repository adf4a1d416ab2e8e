/* SPDX-License-Identifier: MIT */
/*
 * Variables of the environment. Only what runs once per process or makes a handle reads them: a program may change its
 * environment, which is no more safe for threads than the C library makes it.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

/* Returns the value of a variable, or null if there is none or if the process has more rights than who started it. */
const char *inlay_environment(const char *name);

/* Returns whether a variable has that value. */
static inline bool inlay_environment_is(const char *name, const char *value)
{
    const char *has = inlay_environment(name);
    return has != NULL && strcmp(has, value) == 0;
}
