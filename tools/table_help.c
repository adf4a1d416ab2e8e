/* SPDX-License-Identifier: MIT */
/*
 * The text of table_help.h, in pieces: C promises string literals of 4095 characters only. Names of recipes come from
 * the library.
 */
#include "table_help.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <inlay/inlay.h>

enum { LINE_WIDTH = 78, INDENT = 23 };

static const char sinusoids[] = "Usage: inlay table --dim D --positions LIST [option ...]\n"
                                "\n"
                                "Computes a table [positions, D] of sinusoids, or with --rope a rotary table,\n"
                                "and prints it, unless --out, --plot or --compare says what becomes of it.\n"
                                "\n"
                                "  --dim D              columns\n"
                                "  --positions A:B      rows of positions A to B - 1, 0 <= A < B <= 2147483648\n"
                                "  --positions LIST     rows of real-valued positions of magnitude below 2^31\n"
                                "A LIST is X,Y,... or FILE.npy (float32, float64, int32 or int64 [n]) or @FILE,\n"
                                "a text with one number a line, where # begins a comment; @- is standard input.\n"
                                "\n"
                                "Sinusoids:\n"
                                "  --recipe NAME        whose arithmetic makes the table (default: exact), with\n"
                                "                       its layout, odd dims, shift and amplitude unless given:\n";

static const char more_sinusoids[] = "  --base X             base of the sinusoids, 1 to 1e30 (default: 10000)\n"
                                     "  --spacing dim|half   frequencies of exact: base^-(2i / D) (default), or\n"
                                     "                       base^-(i / max(floor(D / 2) - shift, 1))\n"
                                     "  --shift 0|1          of --spacing half (default: 0) and of --recipe diffusers\n"
                                     "  --layout interleaved|split|split-cos-first\n"
                                     "                       columns sin, cos, sin, cos, ..., all sines, then all\n"
                                     "                       cosines, or all cosines, then all sines\n"
                                     "  --odd formula|zero|wrap|error   the last column where D is odd: one frequency\n"
                                     "                       more, zeros, the first cosine again, or an error\n"
                                     "  --amplitude X        factor of every entry, 2^-20 to 2^10\n"
                                     "  --inv-freq LIST      frequencies in radians per position, one for each pair\n"
                                     "                       of columns, instead of a formula's\n"
                                     "  --float-angles       round those of --inv-freq or --rope, the position and\n"
                                     "                       their product to float32, as float32 frameworks do\n"
                                     "  --compare NAME       print how far the table is from that of another recipe,\n"
                                     "                       with the same dim, base, layout and odd dims; exact then\n"
                                     "                       is the formula that the first recipe approximates. For\n"
                                     "                       each decade of positions: the share of entries that\n"
                                     "                       differ, mean and maximum of the distance, and both in\n"
                                     "                       ULP, the step of float32 at the first table's entry\n";

static const char rope[] = "\n"
                           "Rotary tables, [2, positions, columns]: cosines, then sines:\n"
                           "  --rope default|linear|ntk|dynamic-ntk|llama3|yarn|longrope\n"
                           "                       frequencies of D rotary columns, stretched or not\n"
                           "  --rope-layout pairs|halves|interleaved   D / 2 columns, one per frequency; D,\n"
                           "                       all, then all once more (default); D, each twice\n"
                           "  --factor X           all but default: how far to stretch\n"
                           "  --original-length N  all from dynamic-ntk on: positions of training\n"
                           "  --length N           dynamic-ntk, longrope: tokens at hand\n"
                           "  --low-freq-factor X, --high-freq-factor X   llama3 (default: 1 and 4)\n"
                           "  --beta-fast X, --beta-slow X   yarn: ends of the ramp (default: 32 and 1), in\n"
                           "                       rotations over the original length\n"
                           "  --no-truncate        yarn: do not round the ends of the ramp to integers\n"
                           "  --mscale X, --mscale-all-dim X   yarn: weights of DeepSeek's attention factor\n"
                           "  --attention-factor X yarn, longrope: this instead of that of the formula\n"
                           "  --short-factors LIST, --long-factors LIST   longrope: a factor per frequency,\n"
                           "                       up to the original length and beyond it\n"
                           "  --print-frequencies  print the frequencies as --inv-freq reads them, and end\n"
                           "\n"
                           "Output:\n"
                           "  --dtype float32|float16|bfloat16   type of the entries (default: float32)\n"
                           "  --out FILE.npy       write '<f4', '<f2', or for bfloat16, which NumPy lacks,\n"
                           "                       its bits as '<u2'; - is standard output\n"
                           "  --plot FILE.png      draw a heat map\n"
                           "  --threads N          threads that make what is written or drawn (default: 1)\n"
                           "  --help               print this\n";

/* The names of all recipes, in lines. */
static void list_recipes(void)
{
    size_t column = 0;
    for (int i = 0; inlay_recipe_name((inlay_recipe)i) != NULL; i++) {
        const char *name = inlay_recipe_name((inlay_recipe)i);
        size_t width = strlen(name) + strlen(", ");
        if (i > 0 && column + width > LINE_WIDTH) {
            fputs(",\n", stdout);
            column = 0;
        } else if (i > 0) {
            fputs(", ", stdout);
        }
        if (column == 0) {
            printf("%*s", INDENT, "");
            column = INDENT;
        }
        printf("%s", name);
        column += width;
    }
    putchar('\n');
}

void table_help(void)
{
    fputs(sinusoids, stdout);
    list_recipes();
    fputs(more_sinusoids, stdout);
    fputs(rope, stdout);
}
