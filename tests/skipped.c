/* SPDX-License-Identifier: MIT */
/*
 * Stands for a suite that has no meaning on this system: says why, and reports a skip.
 */
#include <stdio.h>

int main(int argc, char **argv)
{
    printf("skipped: %s\n", argc > 1 ? argv[1] : "no reason is given");
    return 77;
}
