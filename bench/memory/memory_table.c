/* SPDX-License-Identifier: Apache-2.0 */
/* memory_table ROWS DIM: trains once on every row of a table with adagrad, through the
 * embedding layer; prints what the process then holds and what weights and state take.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "embed/embed.h"

#define BATCH 8192

static int64_t resident(void)
{
    long long total = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f || fscanf(f, "%lld %lld", &total, &pages) != 2)
        pages = -1;
    if (f)
        fclose(f);
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static enum rc train(struct embed *e, int64_t rows, int64_t dim, struct err *err)
{
    int64_t *ids = mem_calloc(BATCH, sizeof(*ids));
    float *out = mem_calloc((size_t)(BATCH * dim), sizeof(*out));
    struct view view = view_of(out, BATCH, dim);
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < BATCH * dim; i++)
        out[i] = 0.01f;
    for (int64_t at = 0; at < rows && !rc; at += BATCH) {
        struct embed_slot_ids slot = {.ids = ids, .rows = BATCH};
        for (int64_t i = 0; i < BATCH; i++) /* a permutation, so that pages fill slowly */
            ids[i] = (int64_t)((uint64_t)(at + i) * 7368787u % (uint64_t)rows);
        rc = embed_batch(e, &slot, true, err);
        if (!rc)
            embed_backward(e, &view,
                           &(struct embed_row_step){.lr = 0.1, .step = (uint64_t)at + 1});
    }
    mem_free(ids);
    mem_free(out);
    return rc;
}

int main(int argc, char **argv)
{
    int64_t rows, dim;
    struct err err = {0};
    struct pool *pool = NULL;
    if (argc != 3 || !str_to_i64(str_c(argv[1]), &rows) ||
        !str_to_i64(str_c(argv[2]), &dim) || pool_create(2, &pool, &err))
        return 2;
    struct embed *e = embed_create(pool);
    struct embed_table_conf conf = {.name = "t",
                                    .rows = rows,
                                    .dim = dim,
                                    .a = -0.01,
                                    .b = 0.01,
                                    .trainable = true,
                                    .seed = 1,
                                    .opt = {.kind = ROW_ADAGRAD, .eps = 1e-8}};
    int table = embed_add_table(e, &conf, &err);
    if (table >= 0)
        embed_add_slot(e, &(struct embed_slot_conf){.feature = "f", .table = table});
    if (table < 0 || train(e, rows, dim, &err)) {
        fprintf(stderr, "memory_table: %s\n", err.msg);
        return 1;
    }
    printf("{\"resident\": %jd, \"needed\": %zu}\n", (intmax_t)resident(),
           embed_table_bytes(embed_table_at(e, table)));
    embed_destroy(e);
    pool_destroy(pool);
    return 0;
}
