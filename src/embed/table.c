/* SPDX-License-Identifier: Apache-2.0 */
#include "embed/table.h"

#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"

#define DIM_MAX 1024 /* a gradient is summed on the stack */
#define STEP_INIT 0  /* of the random numbers: first values */

static void *map_zeros(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    madvise(p, bytes, MADV_HUGEPAGE); /* a hint only */
    return p;
}

static size_t used_words(const struct table *t)
{
    return (size_t)(t->conf.rows + 63) / 64;
}

size_t table_bytes(const struct table *t)
{
    return (size_t)(t->conf.rows * t->stride) * sizeof(float);
}

enum rc table_create(const struct table_conf *conf, struct table **out, struct err *err)
{
    if (conf->rows < 1 || conf->dim < 1 || conf->dim > DIM_MAX)
        return err_set(err, RC_INVAL, "table '%s': %jd rows of %jd values", conf->name,
                       (intmax_t)conf->rows, (intmax_t)conf->dim);
    int64_t stride =
        conf->dim + (conf->trainable ? row_opt_state(&conf->opt, conf->dim) : 0);
    if (conf->rows > INT64_MAX / 8 / stride)
        return err_set(err, RC_INVAL, "table '%s': %jd rows are too many", conf->name,
                       (intmax_t)conf->rows);
    struct table *t = mem_calloc(1, sizeof(*t));
    t->conf = *conf;
    t->name = mem_strdup(conf->name);
    t->conf.name = t->name;
    t->stride = stride;
    t->stream = hash_xxh3(t->name, strlen(t->name));
    t->data = map_zeros(table_bytes(t));
    t->used = mem_try_calloc(used_words(t), sizeof(*t->used));
    if (!t->data || !t->used) {
        size_t bytes = table_bytes(t);
        table_destroy(t);
        return err_set(err, RC_NOMEM, "table '%s': no memory for %jd rows (%zu bytes)",
                       conf->name, (intmax_t)conf->rows, bytes);
    }
    *out = t;
    return RC_OK;
}

void table_destroy(struct table *t)
{
    if (!t)
        return;
    if (t->data)
        munmap(t->data, table_bytes(t));
    mem_free(t->used);
    mem_free(t->name);
    mem_free(t);
}

void table_first(const struct table *t, int64_t row, float *out)
{
    struct rng r;
    size_t n = (size_t)t->conf.dim;
    rng_init(&r, t->conf.seed, t->stream, STEP_INIT, (uint64_t)row);
    switch (t->conf.init) {
    case TABLE_UNIFORM:
        rng_fill_uniform(&r, (float)t->conf.a, (float)t->conf.b, out, n);
        break;
    case TABLE_NORMAL:
        rng_fill_normal(&r, (float)t->conf.a, (float)t->conf.b, out, n);
        break;
    case TABLE_CONST:
        for (size_t i = 0; i < n; i++)
            out[i] = (float)t->conf.a;
        break;
    }
}

void table_use(struct table *t, int64_t row)
{
    float *w = table_row(t, row);
    table_first(t, row, w);
    if (t->conf.trainable)
        row_opt_init(&t->conf.opt, w + t->conf.dim, t->conf.dim);
    t->used[row >> 6] |= (uint64_t)1 << (row & 63);
}
