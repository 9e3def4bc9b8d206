/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as rows of MaxCompute: they are refused, or give as many rows in every
 * column; what was read is written and read again as the same.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "data/odps/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const types[] = {"bigint",
                                    "double",
                                    "float",
                                    "boolean",
                                    "string",
                                    "array<bigint>",
                                    "map<string,double>",
                                    "date"};
#define N 8

static bool read_all(const void *p, size_t n, const struct odps_type *t, struct batch *b)
{
    struct odps_wire w;
    struct column *cols[N];
    for (size_t i = 0; i < N; i++)
        cols[i] = &b->cols[i];
    odps_wire_init(&w, p, n);
    while (!w.ended)
        if (odps_wire_row(&w, t, cols, N, NULL))
            return false;
    for (size_t i = 0; i < N; i++)
        if (b->cols[i].n != w.rows)
            abort();
    b->n = w.rows;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena mem = {0};
    struct odps_type t[N];
    struct data_schema schema = {0};
    struct batch a, b;
    struct odps_out out;
    for (size_t i = 0; i < N; i++) {
        char name[2] = {(char)('a' + i), 0};
        if (odps_type_parse(str_c(types[i]), &mem, &t[i], NULL))
            abort();
        struct type ours = odps_type_ours(&t[i], &mem);
        data_schema_add(&schema, str_c(name), &ours);
    }
    batch_init(&a, &schema);
    batch_init(&b, &schema);
    odps_out_init(&out, (size_t)1 << 24);
    if (read_all(data, n, t, &a)) {
        for (int64_t i = 0; i < a.n; i++) {
            for (size_t k = 0; k < N; k++)
                odps_out_value(&out, k, &t[k], &a.cols[k], i);
            odps_out_row(&out);
        }
        if (odps_out_end(&out, NULL) || !read_all(out.bytes.p, out.bytes.n, t, &b) ||
            !batch_equal(&a, &b))
            abort();
    }
    odps_out_release(&out);
    batch_release(&a);
    batch_release(&b);
    data_schema_release(&schema);
    arena_release(&mem);
    return 0;
}
