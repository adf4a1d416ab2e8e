/* SPDX-License-Identifier: MIT */
/*
 * Replaces a suite that does not apply to this system: prints the reason and reports a skip.
 */
#include <stdio.h>

int main(int argc, char **argv)
{
    printf("skipped: %s\n", argc > 1 ? argv[1] : "no reason is given");
    return 77;
}
