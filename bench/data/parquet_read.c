/* SPDX-License-Identifier: Apache-2.0 */
/* parquet_read FILE DICT REPEATS - decodes every column of FILE in batches of 8192 rows,
 * in one thread; DICT as in enum parquet_dict. Prints rows and the least processor time
 * of one pass.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/str.h"
#include "data/parquet/parquet.h"

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum rc pass(struct parquet *r, struct batch *b, int64_t *rows, struct err *err)
{
    enum rc rc = parquet_seek(r, 0, err);
    *rows = 0;
    do {
        if (!rc)
            rc = parquet_next(r, 8192, b, err);
        *rows += b->n;
    } while (!rc && b->n);
    return rc;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct parquet *r;
    struct batch b;
    int64_t dict, repeats, rows = 0;
    if (argc != 4 || !str_to_i64(str_c(argv[2]), &dict) ||
        !str_to_i64(str_c(argv[3]), &repeats))
        return 2;
    struct parquet_options o = {.dict = (enum parquet_dict)dict};
    enum rc rc = parquet_open(argv[1], &o, &r, &err);
    if (!rc) {
        double best = 1e9;
        batch_init(&b, parquet_schema(r));
        for (int64_t i = 0; !rc && i < repeats; i++) {
            double start = cpu();
            rc = pass(r, &b, &rows, &err);
            double t = cpu() - start;
            best = t < best ? t : best;
        }
        batch_release(&b);
        parquet_close(r);
        if (!rc)
            printf("{\"rows\": %jd, \"seconds\": %.6f}\n", (intmax_t)rows, best);
    }
    if (rc)
        fprintf(stderr, "%s\n", err.msg);
    return rc ? 1 : 0;
}
