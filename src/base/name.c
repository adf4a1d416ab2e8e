/* SPDX-License-Identifier: MIT */
/*
 * Comparison of names, in ASCII regardless of the locale.
 */
#include <inlay/base.h>

#include <string.h>

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

int inlay_name_equal(const char *a, const char *b)
{
    for (; a != NULL && b != NULL; a++, b++) {
        a += strspn(a, "-_");
        b += strspn(b, "-_");
        if (lower(*a) != lower(*b))
            return 0;
        if (*a == '\0')
            return 1;
    }
    return 0;
}
