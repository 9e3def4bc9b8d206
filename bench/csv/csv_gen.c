/* SPDX-License-Identifier: Apache-2.0 */
/* csv_gen KIND ROWS - writes made-up rows to stdout.
 *
 * criteo   TSV: label, 13 integers, 26 hexadecimal ids, with the empty shares and the
 *          long tails of the public Criteo logs
 * quoted   CSV: id, 6 quoted texts with commas and doubled quotes, 3 integers
 * floats   CSV: 20 numbers of 1 to 17 digits
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 42;

static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)((state * 0x2545f4914f6cdd1du) >> 11) * 0x1p-53;
}

static void criteo_row(FILE *out)
{
    static const double no_int[13] = {.45, 0,   .21, .22, .03, .22, .04,
                                      0,   .04, .45, .04, .77, .22};
    static const double scale[13] = {3, 100, 10, 8, 10000, 100, 20, 10, 100, 2, 5, 3, 8};
    static const double no_id[26] = {0,   0,   .03, .03, 0, .12, 0,   0,  0,
                                     0,   0,   .03, 0,   0, 0,   .03, 0,  0,
                                     .44, .44, .03, .76, 0, .03, .44, .44};
    fprintf(out, "%d", uniform() < 0.25);
    for (int k = 0; k < 13; k++) {
        double v = -scale[k] * log(1 - uniform() * 0.9999);
        if (uniform() < no_int[k])
            fputc('\t', out);
        else if (k == 1)
            fprintf(out, "\t%d", (int)v - 2);
        else
            fprintf(out, "\t%d", (int)v);
    }
    for (int k = 0; k < 26; k++) {
        double v = exp(uniform() * log(1e5 + k * 30000.0));
        uint32_t id = (uint32_t)(((uint64_t)v * 26 + (uint64_t)k) * 2654435761u);
        if (uniform() < no_id[k])
            fputc('\t', out);
        else
            fprintf(out, "\t%08x", id);
    }
    fputc('\n', out);
}

static void quoted_row(FILE *out, long i)
{
    static const char *const texts[] = {"red, large",
                                        "blue",
                                        "say \"\"hi\"\"",
                                        "a,b,c",
                                        "nothing special about this one",
                                        ""};
    fprintf(out, "%ld", i);
    for (int k = 0; k < 6; k++)
        fprintf(out, ",\"%s %d\"", texts[(int)(uniform() * 6)], (int)(uniform() * 1000));
    for (int k = 0; k < 3; k++)
        fprintf(out, ",%d", (int)(uniform() * 1e6));
    fputc('\n', out);
}

static void floats_row(FILE *out)
{
    for (int k = 0; k < 20; k++) {
        double v = exp(uniform() * 20 - 10);
        fprintf(out, "%s%.*g", k ? "," : "", k < 10 ? 6 : k < 15 ? 9 : 17, v);
    }
    fputc('\n', out);
}

int main(int argc, char **argv)
{
    long rows = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    if (rows <= 0) {
        fprintf(stderr, "usage: csv_gen criteo|quoted|floats ROWS\n");
        return 2;
    }
    for (long i = 0; i < rows; i++) {
        if (strcmp(argv[1], "quoted") == 0)
            quoted_row(stdout, i);
        else if (strcmp(argv[1], "floats") == 0)
            floats_row(stdout);
        else
            criteo_row(stdout);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
