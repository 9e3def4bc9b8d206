/* SPDX-License-Identifier: Apache-2.0 */
/* csv_read FILE [REPEATS [TYPES]] - reads a file without header in one thread and prints
 * rows, best seconds of processor time and a checksum. Names that end in .tsv have tabs,
 * others commas. TYPES is one letter per column (i INT32, l INT64, f FLOAT, d DOUBLE, s
 * STRING, - not read); without it the types are inferred.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "data/csv/csv.h"

#define BATCH 8192
#define COLUMNS_MAX 1000

/* Processor time: neighbours on the machine do not count. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Touches every column, so that nothing can be left out. */
static uint64_t check(const struct batch *b)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < b->n_cols; k++) {
        const struct column *c = &b->cols[k];
        int64_t last = b->n - 1;
        sum = sum * 31 + (uint64_t)c->n_null;
        if (c->type->id == TYPE_STR)
            sum += (uint64_t)c->offsets[b->n];
        else if (c->type->id == TYPE_I64)
            sum += (uint64_t)column_i64(c, last);
        else if (c->type->id == TYPE_I32)
            sum += (uint64_t)column_i32(c, last);
    }
    return sum;
}

static enum rc read_all(const char *path, const struct csv_conf *conf, int64_t *rows,
                        uint64_t *sum, struct err *err)
{
    struct csv_reader *r = NULL;
    struct batch b;
    enum rc rc = csv_open(path, conf, &r, err);
    if (rc)
        return rc;
    batch_init(&b, csv_schema(r));
    *rows = 0;
    *sum = 0;
    do {
        rc = csv_next(r, BATCH, &b, err);
        *rows += b.n;
        *sum += b.n ? check(&b) : 0;
    } while (rc == RC_OK && b.n);
    batch_release(&b);
    csv_close(r);
    return rc;
}

int main(int argc, char **argv)
{
    static struct csv_field fields[COLUMNS_MAX];
    static char names[COLUMNS_MAX][16];
    static const char *want[COLUMNS_MAX];
    struct csv_conf conf = {.names = CSV_NAMES_NUMBER};
    const char *letters = "ilfds";
    static const enum type_id types[] = {TYPE_I32, TYPE_I64, TYPE_F32, TYPE_F64,
                                         TYPE_STR};
    if (argc < 2 || argc > 4 || (argc > 3 && strlen(argv[3]) > COLUMNS_MAX)) {
        fprintf(stderr, "usage: csv_read FILE [REPEATS [TYPES]]\n");
        return 2;
    }
    conf.delim = str_ends(argv[1], ".tsv") ? '\t' : ',';
    for (size_t k = 0; argc > 3 && argv[3][k]; k++) {
        const char *at = strchr(letters, argv[3][k]);
        snprintf(names[k], sizeof(names[k]), "c%zu", k);
        fields[k] = (struct csv_field){.name = names[k], .type = TYPE_STR};
        if (at)
            fields[k].type = types[at - letters];
        if (at)
            want[conf.n_want++] = names[k];
        conf.n_fields = k + 1;
        conf.fields = fields;
        conf.want = want;
    }
    long repeats = argc > 2 ? strtol(argv[2], NULL, 10) : 5;
    double best = 1e30;
    int64_t rows = 0;
    uint64_t sum = 0;
    for (long i = 0; i < repeats; i++) {
        struct err err = {0};
        double from = now();
        if (read_all(argv[1], &conf, &rows, &sum, &err)) {
            fprintf(stderr, "csv_read: %s\n", err.msg);
            return 1;
        }
        double took = now() - from;
        best = took < best ? took : best;
    }
    printf("{\"rows\": %jd, \"seconds\": %.6f, \"mrows_per_s\": %.3f, \"sum\": %ju}\n",
           (intmax_t)rows, best, (double)rows / best / 1e6, (uintmax_t)sum);
    return 0;
}
