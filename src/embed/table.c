/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table, one behind the other in one mapping: weights, then optimizer state. The
 * mapping starts as zeros that cost nothing; a bitmap says which rows are used, and a row
 * gets its initial values when training first uses it. Rows in 16 bits are widened to be
 * updated and rounded by chance on the way back. Which pages the mapping has is decided
 * by how much of it is used: see embed_table_settle().
 */
#include "embed/table.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rng.h"
#include "embed/pages.h"

#define STEP_INIT 0 /* of the random numbers: initial values */
#define TRUNCATE_TRIES 1000
#define LARGE_AT_ONCE ((size_t)256 << 20) /* bytes of a table */
#define DENSE 16                          /* one row in so many is used */
#define LARGE_PAGE ((size_t)2 << 20)
#define SMALL_PAGE ((size_t)4 << 10)
#define SLICE ((size_t)64 << 20) /* bytes that get large pages per batch */

uint64_t embed_table_stream(const struct embed_table_conf *conf)
{
    const char *name = conf->cut.of ? conf->cut.of : conf->name;
    return hash_xxh3(name, strlen(name));
}

int64_t embed_table_state_at(const struct embed_table_conf *conf)
{
    return conf->type == DT_F32 ? conf->dim : (conf->dim + 1) / 2;
}

int64_t embed_table_stride(const struct embed_table_conf *conf)
{
    int64_t state = conf->trainable ? embed_row_opt_state(&conf->opt, conf->dim) : 0;
    return embed_table_state_at(conf) + state;
}

static size_t used_words(const struct embed_table *t)
{
    return (size_t)(t->conf.rows + 63) / 64;
}

size_t embed_table_bytes(const struct embed_table *t)
{
    return (size_t)(t->conf.rows * t->stride) * sizeof(float);
}

/* Drawn again until it lies within; far outside, the nearer bound. */
static float truncated(struct rng *r, const struct embed_values *v)
{
    double x = v->a;
    for (int i = 0; i < TRUNCATE_TRIES; i++) {
        x = v->a + v->b * rng_normal(r);
        if (x >= v->lo && x <= v->hi)
            return (float)x;
    }
    return (float)(x < v->lo ? v->lo : v->hi);
}

void embed_values_draw(const struct embed_values *v, uint64_t seed, uint64_t stream,
                       int64_t at, float *out, int64_t dim)
{
    struct rng r;
    size_t n = (size_t)dim;
    rng_init(&r, seed, stream, STEP_INIT, (uint64_t)at);
    switch (v->init) {
    case EMBED_UNIFORM:
        rng_fill_uniform(&r, (float)v->a, (float)v->b, out, n);
        break;
    case EMBED_NORMAL:
        rng_fill_normal(&r, (float)v->a, (float)v->b, out, n);
        break;
    case EMBED_CONST:
        for (size_t i = 0; i < n; i++)
            out[i] = (float)v->a;
        break;
    case EMBED_TRUNCATED:
        for (size_t i = 0; i < n; i++)
            out[i] = truncated(&r, v);
        break;
    }
}

void embed_table_draw(const struct embed_table_conf *conf, const struct embed_values *v,
                      uint64_t seed, uint64_t stream, int64_t at, float *out)
{
    float whole[EMBED_DIM_MAX];
    if (!conf->cut.of) {
        embed_values_draw(v, seed, stream, at, out, conf->dim);
        return;
    }
    embed_values_draw(v, seed, stream, at, whole, conf->cut.dim);
    memcpy(out, whole + conf->cut.first, (size_t)conf->dim * sizeof(float));
}

static uint16_t narrow(enum dtype type, float v)
{
    return type == DT_F16 ? f16_from_f32(v) : bf16_from_f32(v);
}

static float widen(enum dtype type, uint16_t v)
{
    return type == DT_F16 ? f16_to_f32(v) : bf16_to_f32(v);
}

void embed_table_load(const struct embed_table *t, int64_t row, float *out)
{
    if (t->conf.type == DT_F32) {
        memcpy(out, embed_table_row(t, row), (size_t)t->conf.dim * sizeof(float));
        return;
    }
    const uint16_t *h = (const uint16_t *)embed_table_row(t, row);
    for (int64_t i = 0; i < t->conf.dim; i++)
        out[i] = widen(t->conf.type, h[i]);
}

static void put_row(const struct embed_table *t, float *at, const float *w)
{
    if (t->conf.type == DT_F32) {
        memcpy(at, w, (size_t)t->conf.dim * sizeof(float));
        return;
    }
    uint16_t *h = (uint16_t *)at;
    for (int64_t i = 0; i < t->conf.dim; i++)
        h[i] = narrow(t->conf.type, w[i]);
}

void embed_table_store(struct embed_table *t, int64_t row, const float *w)
{
    put_row(t, embed_table_row(t, row), w);
}

/* Row number or id: what random numbers of a row depend on. */
static int64_t identity(const struct embed_table *t, int64_t row)
{
    if (!t->keyed)
        return row;
    return row < t->keyed->ids.n ? t->keyed->ids.keys[row] : INT64_MAX;
}

/* One of the two neighbours, the nearer one more often; `chance` in [0, 1). */
static uint16_t rounded(enum dtype type, float v, float chance)
{
    uint16_t h = narrow(type, v), inf = type == DT_F16 ? 0x7c00 : 0x7f80;
    float back = widen(type, h), size = fabsf(v);
    if (back == v || !isfinite(v))
        return h;
    uint16_t low = fabsf(back) > size ? (uint16_t)(h - 1) : h;
    uint16_t high = (uint16_t)(low + 1);
    if ((high & 0x7fff) >= inf)
        return low; /* the greatest there is */
    float a = fabsf(widen(type, low)), b = fabsf(widen(type, high));
    return chance * (b - a) < size - a ? high : low;
}

void embed_table_store_step(struct embed_table *t, int64_t row, const float *w,
                            uint64_t step)
{
    if (t->conf.type == DT_F32) {
        embed_table_store(t, row, w);
        return;
    }
    struct rng r;
    uint16_t *h = (uint16_t *)embed_table_row(t, row);
    rng_init(&r, t->conf.seed, t->stream, step, (uint64_t)identity(t, row));
    for (int64_t i = 0; i < t->conf.cut.first; i++)
        rng_f32(&r); /* of the columns before */
    for (int64_t i = 0; i < t->conf.dim; i++)
        h[i] = rounded(t->conf.type, w[i], rng_f32(&r));
}

/* Rows that no id owns and that training leaves alone. */
static void fill_others(struct embed_table *t)
{
    const struct embed_values *from[] = {&t->conf.stranger, &t->conf.unknown};
    float values[EMBED_DIM_MAX];
    for (int64_t i = 0; i < 2 && t->conf.keyed.kind == KEYED_GROWING; i++) {
        int64_t row = t->conf.keyed.capacity + i;
        embed_values_draw(from[i], t->conf.seed, t->stream, row, values, t->conf.dim);
        embed_table_store(t, row, values);
        t->used[row >> 6] |= (uint64_t)1 << (row & 63);
    }
}

/* A keyed table is filled from the front; one of up to LARGE_AT_ONCE bytes may waste
 * them; a file has the pages of its file system.
 */
static void choose_pages(struct embed_table *t, bool file)
{
    if (!file && (t->conf.keyed.kind || embed_table_bytes(t) <= LARGE_AT_ONCE))
        embed_pages_enlarge(t->data, embed_table_bytes(t));
    else if (!file)
        return;
    t->settled = embed_table_bytes(t);
}

static bool is_dense(const struct embed_table *t)
{
    int64_t n = 0, words = (t->conf.rows + 63) / 64;
    for (int64_t i = 0; i < words; i++)
        n += POPCOUNT64(t->used[i]);
    return n >= t->conf.rows / DENSE;
}

size_t embed_table_reach_bytes(const struct embed_table *t, int64_t rows)
{
    size_t all = embed_table_bytes(t), page = t->settled >= all ? LARGE_PAGE : SMALL_PAGE;
    if (rows >= t->conf.rows / DENSE || (size_t)rows >= all / page)
        return all;
    return (size_t)rows * page;
}

void embed_table_settle(struct embed_table *t)
{
    size_t all = embed_table_bytes(t);
    if (t->settled >= all)
        return;
    t->looked++;
    if (!t->dense && (t->looked & (t->looked - 1)) == 0)
        t->dense = is_dense(t);
    if (!t->dense)
        return;
    size_t slice = all - t->settled < SLICE ? all - t->settled : SLICE;
    embed_pages_gather((char *)t->data + t->settled, slice);
    t->settled += slice;
}

static enum rc allocate(struct embed_table *t, struct err *err)
{
    void *data = NULL;
    char *what = mem_printf("table '%s' of %jd rows", t->name, (intmax_t)t->conf.rows);
    enum rc rc = embed_pages_map(what, t->conf.dir, embed_table_bytes(t), &data, err);
    t->data = data;
    if (!rc)
        choose_pages(t, t->conf.dir && t->conf.dir[0]);
    t->used = rc ? NULL : mem_try_calloc(used_words(t), sizeof(*t->used));
    if (!rc && !t->used)
        rc = err_coded(err, RC_NOMEM, E2304, "%s: no memory", what);
    if (!rc && t->conf.keyed.kind)
        rc = embed_keyed_create(&t->conf.keyed, t->name, t->used, &t->keyed, err);
    if (!rc)
        fill_others(t);
    mem_free(what);
    return rc;
}

enum rc embed_table_create(const struct embed_table_conf *conf, struct embed_table **out,
                           struct err *err)
{
    if (conf->rows < 1 || conf->dim < 1 || conf->dim > EMBED_DIM_MAX)
        return err_set(err, RC_INVAL, "table '%s': %jd rows of %jd values", conf->name,
                       (intmax_t)conf->rows, (intmax_t)conf->dim);
    int64_t state_at = embed_table_state_at(conf), stride = embed_table_stride(conf);
    if (conf->rows > INT64_MAX / 8 / stride)
        return err_set(err, RC_INVAL, "table '%s': %jd rows are too many", conf->name,
                       (intmax_t)conf->rows);
    struct embed_table *t = mem_calloc(1, sizeof(*t));
    t->conf = *conf;
    t->name = mem_strdup(conf->name);
    t->conf.name = t->name;
    t->stride = stride;
    t->state_at = state_at;
    t->stream = embed_table_stream(conf);
    t->conf.keyed.seed = conf->seed;
    t->conf.keyed.stream = ~t->stream;
    enum rc rc = allocate(t, err);
    t->conf.dir = NULL;
    if (rc)
        embed_table_destroy(t);
    else
        *out = t;
    return rc;
}

void embed_table_destroy(struct embed_table *t)
{
    if (!t)
        return;
    embed_keyed_destroy(t->keyed);
    embed_touched_destroy(t->touched);
    embed_pages_unmap(t->data, embed_table_bytes(t));
    mem_free(t->used);
    mem_free(t->name);
    mem_free(t);
}

int64_t embed_table_find(const struct embed_table *t, int64_t id)
{
    if (t->keyed)
        return embed_keyed_find(t->keyed, id);
    return id < t->conf.rows ? id : -1;
}

void embed_table_initial(const struct embed_table *t, int64_t row, float *out)
{
    const struct embed_values v = {t->conf.init, t->conf.a, t->conf.b, t->conf.lo,
                                   t->conf.hi};
    embed_table_draw(&t->conf, &v, t->conf.seed, t->stream, identity(t, row), out);
    for (int64_t i = 0; t->conf.type != DT_F32 && i < t->conf.dim; i++)
        out[i] = widen(t->conf.type, narrow(t->conf.type, out[i]));
}

void embed_table_fill(const struct embed_table *t, int64_t row, float *out)
{
    float first[EMBED_DIM_MAX];
    embed_table_initial(t, row, first);
    put_row(t, out, first);
    if (t->conf.trainable)
        embed_row_opt_init(&t->conf.opt, out + t->state_at, t->conf.dim);
}

void embed_table_use(struct embed_table *t, int64_t row)
{
    embed_table_fill(t, row, embed_table_row(t, row));
    t->used[row >> 6] |= (uint64_t)1 << (row & 63);
}

void embed_table_get(const struct embed_table *t, int64_t row, float *out)
{
    if (embed_table_used(t, row))
        embed_table_load(t, row, out);
    else
        embed_table_initial(t, row, out);
}

void embed_table_set(struct embed_table *t, int64_t row, const float *weights)
{
    if (!embed_table_used(t, row))
        embed_table_use(t, row);
    embed_table_store(t, row, weights);
}
