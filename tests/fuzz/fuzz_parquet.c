/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a Parquet file: no crash, no row that was not stored, bounded memory. What
 * reads at one batch size reads the same at another.
 */
#include <stdlib.h>

#include "data/parquet/parquet.h"

#define BATCHES 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void touch(const struct column *c)
{
    struct buf out;
    buf_init(&out, 1 << 16);
    for (int64_t i = 0; i < c->n && i < 3; i++)
        column_print_json(c, i, &out);
    for (int64_t i = c->n - 3; i >= 0 && i < c->n; i++)
        column_print_json(c, i, &out);
    buf_release(&out);
}

/* A sum over the values of the first rows, or 0 when they cannot be read. */
static uint64_t read_rows(const uint8_t *data, size_t n, int64_t from, int64_t step,
                          enum parquet_dict dict)
{
    struct parquet_options o = {.max_bytes = 1 << 20, .dict = dict};
    struct parquet *r;
    struct batch b;
    uint64_t rows = 0;
    if (parquet_open_memory("fuzz", data, n, &o, &r, NULL))
        return 0;
    batch_init(&b, parquet_schema(r));
    if (parquet_seek(r, from, NULL) == RC_OK)
        for (int i = 0; i < BATCHES; i++) {
            if (parquet_next(r, step, &b, NULL) || !b.n) {
                if (b.n)
                    abort();
                break;
            }
            for (size_t k = 0; k < b.n_cols; k++) {
                if (b.cols[k].n != b.n)
                    abort();
                touch(&b.cols[k]);
            }
            rows += (uint64_t)b.n;
        }
    batch_release(&b);
    parquet_close(r);
    return rows;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    read_rows(data, n, 0, 100, PARQUET_DICT_NONE);
    read_rows(data, n, 0, 7, PARQUET_DICT_ALL);
    read_rows(data, n, 11, 64, PARQUET_DICT_STRINGS);
    return 0;
}
