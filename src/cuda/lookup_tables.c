/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tables on the card. Tables that agree in width and optimizer lie one behind the
 * other in one array, each from a multiple of 64 rows on, so that a bitmap has words of one
 * table only. All rows have their initial values from the start, drawn by the card as the CPU
 * draws them; which rows training has used is a bitmap beside them.
 *
 * The host's lookup has every table, too: rows that only the host keeps, and for the others
 * room that images are made from and restored into. That room is address space until the first
 * checkpoint.
 */
#include <cuda_runtime_api.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "cuda/lookup_private.h"

#define ALIGN_ROWS 64
#define GROUP_ROWS_MAX ((int64_t)1 << 31) /* keys have 32 bits */
#define PULL_ROWS ((int64_t)1 << 20)      /* of a padded table, at a time */
#define PUSH_BYTES ((int64_t)64 << 20)    /* that lie on the card in passing */

bool cuda_room_card(struct cuda_room *r, size_t bytes)
{
    if (bytes <= r->bytes)
        return true;
    cudaDeviceSynchronize();
    cudaFree(r->at);
    *r = (struct cuda_room){0};
    bytes += bytes / 4;
    if (cudaMalloc(&r->at, bytes) != cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    r->bytes = bytes;
    return true;
}

bool cuda_room_host(struct cuda_room *r, size_t bytes)
{
    if (bytes <= r->bytes)
        return true;
    cudaDeviceSynchronize();
    cudaFreeHost(r->at);
    *r = (struct cuda_room){0};
    bytes += bytes / 4;
    if (cudaMallocHost(&r->at, bytes) != cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    r->bytes = bytes;
    return true;
}

void cuda_room_release(struct cuda_room *r, bool host)
{
    if (host)
        cudaFreeHost(r->at);
    else
        cudaFree(r->at);
    *r = (struct cuda_room){0};
}

const char *cuda_tables_refuse(const struct embed_table_conf *conf)
{
    if (conf->keyed.kind != KEYED_NONE)
        return "dynamic";
    if (conf->type != DT_F32)
        return dtype_name(conf->type);
    if (conf->dir && conf->dir[0])
        return "in a file";
    return conf->rows >= GROUP_ROWS_MAX ? "rows beyond 32 bits" : NULL;
}

static bool same_opt(const struct embed_row_opt *a, const struct embed_row_opt *b)
{
    return a->kind == b->kind && a->beta1 == b->beta1 && a->beta2 == b->beta2 &&
           a->eps == b->eps && a->weight_decay == b->weight_decay &&
           a->decay_mode == b->decay_mode && a->momentum == b->momentum &&
           a->rho == b->rho && a->alpha == b->alpha &&
           a->initial_accumulator == b->initial_accumulator;
}

static int64_t padded_rows(int64_t rows)
{
    return (rows + ALIGN_ROWS - 1) / ALIGN_ROWS * ALIGN_ROWS;
}

static int find_group(const struct cuda_tables *t, const struct embed_table_conf *conf)
{
    for (size_t i = 0; i < t->groups.n; i++) {
        const struct cuda_group *g = &t->groups.at[i];
        if (g->rows.dim == conf->dim && g->trainable == conf->trainable &&
            same_opt(&g->opt, &conf->opt) &&
            g->rows.rows + padded_rows(conf->rows) < GROUP_ROWS_MAX)
            return (int)i;
    }
    return -1;
}

/* Rows of a multiple of four floats begin where 16 bytes can be read at once. */
static int64_t stride_of(const struct embed_table_conf *conf)
{
    int64_t stride = embed_table_stride(conf);
    return conf->dim % 4 == 0 ? (stride + 3) / 4 * 4 : stride;
}

void cuda_tables_add(struct cuda_tables *t, const struct embed_table_conf *conf)
{
    struct cuda_home home = {.group = -1};
    if (!cuda_tables_refuse(conf)) {
        home.group = find_group(t, conf);
        if (home.group < 0) {
            home.group = (int)t->groups.n;
            struct cuda_table rows = {.dim = conf->dim, .stride = stride_of(conf)};
            VEC_PUSH(&t->groups, ((struct cuda_group){rows, conf->trainable, conf->opt}));
        }
        home.base = t->groups.at[home.group].rows.rows;
        t->groups.at[home.group].rows.rows += (uint32_t)padded_rows(conf->rows);
    }
    VEC_PUSH(&t->homes, home);
}

static size_t bit_bytes(const struct cuda_table *r)
{
    return (size_t)r->rows / 8;
}

static size_t group_bytes(const struct cuda_group *g)
{
    return (size_t)(g->rows.rows * g->rows.stride) * sizeof(float) + bit_bytes(&g->rows);
}

static const struct embed_table_conf *conf_of(const struct cuda_tables *t, int table)
{
    return lookup_table(t->host, table);
}

static const struct embed_table_conf *largest(const struct cuda_tables *t)
{
    const struct embed_table_conf *found = NULL;
    for (size_t i = 0; i < t->homes.n; i++) {
        const struct embed_table_conf *c = conf_of(t, (int)i);
        if (t->homes.at[i].group >= 0 &&
            (!found ||
             c->rows * embed_table_stride(c) > found->rows * embed_table_stride(found)))
            found = c;
    }
    return found;
}

static enum rc no_room(const struct cuda_tables *t, struct err *err)
{
    const double gb = 1e9;
    const struct embed_table_conf *c = largest(t);
    size_t want = 0, free_bytes = 0, all = 0;
    for (size_t i = 0; i < t->groups.n; i++)
        want += group_bytes(&t->groups.at[i]);
    cudaMemGetInfo(&free_bytes, &all);
    return err_coded(err, RC_NOMEM, E2304,
                     "tables and their optimizer state take %.1f GB, and %s has %.1f GB "
                     "free of %.1f; the largest is '%s': %jd rows of %jd floats, %.1f GB",
                     (double)want / gb, cuda_of(t->device)->name, (double)free_bytes / gb,
                     (double)all / gb, c ? c->name : "", (intmax_t)(c ? c->rows : 0),
                     (intmax_t)(c ? embed_table_stride(c) : 0),
                     c ? (double)(c->rows * embed_table_stride(c)) * 4 / gb : 0);
}

static bool take(void **at, size_t bytes)
{
    if (cudaMalloc(at, bytes) == cudaSuccess)
        return true;
    cudaGetLastError(); /* being out of memory is no failure of the card */
    return false;
}

static void init_table(const struct cuda_tables *t, int table)
{
    const struct cuda_home *h = &t->homes.at[table];
    const struct embed_table_conf *c = conf_of(t, table);
    const struct cuda_table *r = &t->groups.at[h->group].rows;
    struct rng rng;
    rng_init(&rng, c->seed, embed_table_stream(c), 0, 0);
    struct cuda_init init = {.a = c->a, .b = c->b, .lo = c->lo, .hi = c->hi};
    static const enum cuda_init_kind kinds[] = {[EMBED_UNIFORM] = CUDA_UNIFORM,
                                                [EMBED_NORMAL] = CUDA_NORMAL,
                                                [EMBED_CONST] = CUDA_CONST,
                                                [EMBED_TRUNCATED] = CUDA_TRUNCATED};
    init.kind = kinds[c->init];
    init.key[0] = rng.key[0];
    init.key[1] = rng.key[1];
    init.state = (float)embed_row_opt_initial(&c->opt);
    cuda_rows_init(cuda_of(t->device)->stream, init,
                   r->data + (int64_t)h->base * r->stride, c->rows, r->dim, r->stride);
}

enum rc cuda_tables_settle(struct cuda_tables *t, struct err *err)
{
    struct cuda *c = cuda_of(t->device);
    if (t->settled)
        return RC_OK;
    for (size_t i = 0; i < t->groups.n; i++) {
        struct cuda_group *g = &t->groups.at[i];
        size_t bytes = group_bytes(g) - bit_bytes(&g->rows);
        if (!take((void **)&g->rows.data, bytes) ||
            !take((void **)&g->rows.used, bit_bytes(&g->rows)))
            return no_room(t, err);
        cuda_note(c, (int)cudaMemsetAsync(g->rows.data, 0, bytes, c->stream));
        cuda_note(c,
                  (int)cudaMemsetAsync(g->rows.used, 0, bit_bytes(&g->rows), c->stream));
    }
    for (size_t i = 0; i < t->homes.n; i++)
        if (t->homes.at[i].group >= 0)
            init_table(t, (int)i);
    t->settled = true;
    return t->device->ops->synchronise(t->device, err);
}

void cuda_tables_release(struct cuda_tables *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->groups.n; i++) {
        cudaFree(t->groups.at[i].rows.data);
        cudaFree(t->groups.at[i].rows.used);
        cudaFree(t->groups.at[i].rows.touched);
    }
    lookup_destroy(t->host);
    VEC_RELEASE(&t->groups);
    VEC_RELEASE(&t->homes);
    mem_free(t);
}

static size_t word_bytes(int64_t rows)
{
    return (size_t)(rows + 63) / 64 * sizeof(uint64_t);
}

static void copy_out(struct cuda *c, void *to, const void *from, size_t bytes)
{
    cuda_note(c,
              (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, c->stream));
}

static void copy_in(struct cuda *c, void *to, const void *from, size_t bytes)
{
    cuda_note(c,
              (int)cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, c->stream));
}

static void pull_rows(struct cuda *c, const struct embed_table *copy,
                      const struct cuda_table *r, int64_t base)
{
    const float *from = r->data + base * r->stride;
    size_t width = (size_t)copy->stride * sizeof(float);
    if (r->stride == copy->stride) {
        copy_out(c, copy->data, from, (size_t)copy->conf.rows * width);
        return;
    }
    for (int64_t row = 0; row < copy->conf.rows; row += PULL_ROWS) {
        int64_t left = copy->conf.rows - row, n = left < PULL_ROWS ? left : PULL_ROWS;
        cuda_note(c, (int)cudaMemcpy2DAsync(
                         embed_table_row(copy, row), width, from + row * r->stride,
                         (size_t)r->stride * sizeof(float), width, (size_t)n,
                         cudaMemcpyDeviceToHost, c->stream));
    }
}

enum rc cuda_tables_pull(struct cuda_tables *t, int table, struct err *err)
{
    struct cuda_home *h = &t->homes.at[table];
    struct cuda *c = cuda_of(t->device);
    enum rc rc = cuda_tables_settle(t, err);
    if (rc || h->group < 0 || !h->stale)
        return rc;
    struct embed_table *copy = embed_table_at(embed_of(t->host), table);
    const struct cuda_table *r = &t->groups.at[h->group].rows;
    pull_rows(c, copy, r, h->base);
    copy_out(c, copy->used, r->used + h->base / 32, word_bytes(copy->conf.rows));
    if (copy->touched && r->touched)
        copy_out(c, copy->touched->bits, r->touched + h->base / 32,
                 word_bytes(copy->conf.rows));
    h->stale = false;
    return t->device->ops->synchronise(t->device, err);
}

/* Used rows of the host's copy; others keep their initial values. */
static void push_rows(const struct cuda_tables *t, int table, float *passing)
{
    const struct cuda_home *h = &t->homes.at[table];
    const struct embed_table *copy = embed_table_at(embed_of(t->host), table);
    const struct cuda_table *r = &t->groups.at[h->group].rows;
    struct cuda *c = cuda_of(t->device);
    int64_t at_once = PUSH_BYTES / (int64_t)sizeof(float) / copy->stride,
            rows = copy->conf.rows;
    for (int64_t row = 0; row < rows; row += at_once) {
        int64_t n = rows - row < at_once ? rows - row : at_once;
        copy_in(c, passing, embed_table_row(copy, row),
                (size_t)(n * copy->stride) * sizeof(float));
        cuda_rows_merge(c->stream, r->data + (h->base + row) * r->stride, r->stride,
                        passing, copy->stride, n, r->used + h->base / 32, row);
    }
}

enum rc cuda_tables_push(struct cuda_tables *t, int table, struct err *err)
{
    struct cuda_home *h = &t->homes.at[table];
    struct cuda *c = cuda_of(t->device);
    void *passing = NULL;
    enum rc rc = cuda_tables_settle(t, err);
    if (rc || h->group < 0)
        return rc;
    const struct embed_table *copy = embed_table_at(embed_of(t->host), table);
    const struct cuda_table *r = &t->groups.at[h->group].rows;
    if (!take(&passing, (size_t)PUSH_BYTES))
        return no_room(t, err);
    init_table(t, table);
    copy_in(c, r->used + h->base / 32, copy->used, word_bytes(copy->conf.rows));
    if (copy->touched && r->touched)
        copy_in(c, r->touched + h->base / 32, copy->touched->bits,
                word_bytes(copy->conf.rows));
    push_rows(t, table, passing);
    h->stale = false;
    rc = t->device->ops->synchronise(t->device, err);
    cudaFree(passing);
    return rc;
}

bool cuda_tables_peek(const struct cuda_tables *t, int table, int64_t id, float *out)
{
    const struct cuda_home *h = &t->homes.at[table];
    const struct cuda_table *r = &t->groups.at[h->group].rows;
    struct cuda *c = cuda_of(t->device);
    if (!t->settled || id >= conf_of(t, table)->rows)
        return false;
    copy_out(c, out, r->data + (h->base + id) * r->stride,
             (size_t)r->dim * sizeof(float));
    cuda_note(c, (int)cudaStreamSynchronize(c->stream));
    return true;
}

enum rc cuda_tables_track(struct cuda_tables *t, struct err *err)
{
    struct cuda *c = cuda_of(t->device);
    enum rc rc = lookup_track(t->host, err);
    for (size_t i = 0; i < t->groups.n && !rc; i++) {
        struct cuda_table *r = &t->groups.at[i].rows;
        if (!r->touched && !take((void **)&r->touched, bit_bytes(r)))
            rc = no_room(t, err);
        if (!rc)
            cuda_note(c, (int)cudaMemsetAsync(r->touched, 0, bit_bytes(r), c->stream));
    }
    t->tracks = !rc;
    return rc;
}

void cuda_tables_forget(struct cuda_tables *t)
{
    struct cuda *c = cuda_of(t->device);
    lookup_forget_touched(t->host);
    for (size_t i = 0; t->tracks && i < t->groups.n; i++)
        cuda_note(c, (int)cudaMemsetAsync(t->groups.at[i].rows.touched, 0,
                                          bit_bytes(&t->groups.at[i].rows), c->stream));
}
