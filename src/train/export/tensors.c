/* SPDX-License-Identifier: Apache-2.0 */
/* Tables are written row by row from memory, converted on the way. An int8 row is its
 * values divided by the row's scale, which is the largest of them over 127; scales are a
 * tensor of their own, `<table>.scale`.
 */
#include <math.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "ckpt/state.h"
#include "train/export/export_private.h"

#define CHUNK_ROWS 4096 /* of a table, converted at a time on reading */
#define INT8_MOST 127

const char *export_tables_name(enum export_tables t)
{
    static const char *const names[] = {
        [EXPORT_F32] = "f32", [EXPORT_BF16] = "bf16", [EXPORT_INT8] = "int8"};
    return names[t];
}

/* --- writing --- */

struct table_source {
    const struct embed_table *t;
    int64_t n;  /* rows that are written */
    float *row; /* [dim] */
    char *name, *scale_name, *keys_name;
};

/* Of a keyed table the rows of its ids, in order, and the one that all others share. */
static int64_t rows_of(const struct embed_table *t)
{
    if (!t->keyed)
        return t->conf.rows;
    return t->keyed->ids.n + (t->conf.keyed.kind == KEYED_ZCH);
}

static int64_t place_of(const struct embed_table *t, int64_t i)
{
    return !t->keyed || i < t->keyed->ids.n ? i : embed_keyed_other(&t->conf.keyed, true);
}

static void read_row(const struct table_source *s, int64_t i, float *out)
{
    embed_table_get(s->t, place_of(s->t, i), out);
}

static uint16_t to_bf16(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof(u));
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)(u >> 16 | 0x40); /* stays NaN */
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static float scale_of(const float *row, int64_t n)
{
    float most = 0;
    for (int64_t i = 0; i < n; i++)
        most = fabsf(row[i]) > most ? fabsf(row[i]) : most;
    return most / INT8_MOST;
}

static const void *f32_rows(const void *arg, int64_t row, int64_t n, void *scratch)
{
    const struct table_source *s = arg;
    for (int64_t i = 0; i < n; i++)
        read_row(s, row + i, (float *)scratch + i * s->t->conf.dim);
    return scratch;
}

static const void *bf16_rows(const void *arg, int64_t row, int64_t n, void *scratch)
{
    const struct table_source *s = arg;
    uint16_t *to = scratch;
    for (int64_t i = 0; i < n; i++) {
        read_row(s, row + i, s->row);
        for (int64_t k = 0; k < s->t->conf.dim; k++)
            *to++ = to_bf16(s->row[k]);
    }
    return scratch;
}

static const void *int8_rows(const void *arg, int64_t row, int64_t n, void *scratch)
{
    const struct table_source *s = arg;
    int8_t *to = scratch;
    for (int64_t i = 0; i < n; i++) {
        read_row(s, row + i, s->row);
        float scale = scale_of(s->row, s->t->conf.dim);
        for (int64_t k = 0; k < s->t->conf.dim; k++)
            *to++ = scale > 0 ? (int8_t)lrintf(s->row[k] / scale) : 0;
    }
    return scratch;
}

static const void *scale_rows(const void *arg, int64_t row, int64_t n, void *scratch)
{
    const struct table_source *s = arg;
    float *to = scratch;
    for (int64_t i = 0; i < n; i++) {
        read_row(s, row + i, s->row);
        to[i] = scale_of(s->row, s->t->conf.dim);
    }
    return scratch;
}

static struct st_source weights_source(const struct table_source *s,
                                       enum export_tables type)
{
    static const struct {
        enum st_type type;
        st_rows_fn *fn;
    } kinds[] = {[EXPORT_F32] = {ST_F32, f32_rows},
                 [EXPORT_BF16] = {ST_BF16, bf16_rows},
                 [EXPORT_INT8] = {ST_I8, int8_rows}};
    return (struct st_source){.name = s->name,
                              .type = kinds[type].type,
                              .n_dims = 2,
                              .dims = {s->n, s->t->conf.dim},
                              .rows = s->n,
                              .row_bytes =
                                  (size_t)s->t->conf.dim * st_type_size(kinds[type].type),
                              .fn = kinds[type].fn,
                              .arg = s};
}

static struct st_source scale_source(const struct table_source *s)
{
    return (struct st_source){.name = s->scale_name,
                              .type = ST_F32,
                              .n_dims = 1,
                              .dims = {s->n},
                              .rows = s->n,
                              .row_bytes = sizeof(float),
                              .fn = scale_rows,
                              .arg = s};
}

static const void *key_rows(const void *arg, int64_t row, int64_t n, void *scratch)
{
    const struct table_source *s = arg;
    int64_t *to = scratch;
    for (int64_t i = 0; i < n; i++)
        to[i] = s->t->keyed->ids.keys[row + i];
    return scratch;
}

static struct st_source keys_source(const struct table_source *s)
{
    return (struct st_source){.name = s->keys_name,
                              .type = ST_I64,
                              .n_dims = 1,
                              .dims = {s->t->keyed->ids.n},
                              .rows = s->t->keyed->ids.n,
                              .row_bytes = sizeof(int64_t),
                              .fn = key_rows,
                              .arg = s};
}

static enum rc put_all(const char *dir, const char *name, struct st_source *sources,
                       size_t n, struct err *err)
{
    struct st_source **list = mem_calloc(n + 1, sizeof(*list));
    struct st_sum sum;
    char *path = fs_join(dir, name);
    for (size_t i = 0; i < n; i++)
        list[i] = &sources[i];
    enum rc rc = st_write(path, list, n, &sum, err);
    mem_free(path);
    mem_free(list);
    return rc;
}

static enum rc put_tables(const struct session *s, const char *dir,
                          enum export_tables type, struct err *err)
{
    const struct embed *e = s->model->embed;
    size_t n_tables = (size_t)embed_n_tables(e), n = 0;
    struct table_source *from = mem_calloc(n_tables + 1, sizeof(*from));
    struct st_source *sources = mem_calloc(3 * n_tables + 1, sizeof(*sources));
    for (size_t i = 0; i < n_tables; i++) {
        from[i].t = embed_table_at(e, (int)i);
        from[i].n = rows_of(from[i].t);
        from[i].row = mem_calloc((size_t)from[i].t->conf.dim, sizeof(float));
        from[i].name = ckpt_table_name(from[i].t);
        from[i].scale_name = mem_printf("%s.scale", from[i].name);
        from[i].keys_name = mem_printf("%s.keys", from[i].name);
        sources[n++] = weights_source(&from[i], type);
        if (type == EXPORT_INT8)
            sources[n++] = scale_source(&from[i]);
        if (from[i].t->keyed)
            sources[n++] = keys_source(&from[i]);
    }
    enum rc rc = put_all(dir, EXPORT_TABLES, sources, n, err);
    for (size_t i = 0; i < n_tables; i++) {
        mem_free(from[i].row);
        mem_free(from[i].name);
        mem_free(from[i].scale_name);
        mem_free(from[i].keys_name);
    }
    mem_free(from);
    mem_free(sources);
    return rc;
}

static const void *param_rows(const void *arg, int64_t row, int64_t n, void *scratch)
{
    return (const float *)arg + row;
}

static enum rc put_dense(const struct session *s, const char *dir, struct err *err)
{
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    struct st_source *sources = mem_calloc(n + 1, sizeof(*sources));
    for (size_t i = 0; i < n; i++) {
        const struct param *p = params[i];
        sources[i] = (struct st_source){.name = p->name,
                                        .type = ST_F32,
                                        .n_dims = p->n_dims,
                                        .rows = p->n,
                                        .row_bytes = sizeof(float),
                                        .fn = param_rows,
                                        .arg = param_read(params[i])};
        memcpy(sources[i].dims, p->dims, (size_t)p->n_dims * sizeof(*p->dims));
    }
    enum rc rc = put_all(dir, EXPORT_DENSE, sources, n, err);
    mem_free(sources);
    return rc;
}

enum rc export_put_tensors(const struct session *s, const char *dir,
                           enum export_tables type, struct err *err)
{
    enum rc rc = put_tables(s, dir, type, err);
    return rc ? rc : put_dense(s, dir, err);
}

/* --- reading --- */

static enum rc misfit(const struct st_tensor *t, const char *name, const char *want,
                      struct err *err)
{
    struct buf have;
    if (!t)
        return err_coded(err, RC_FORMAT, E2007, "there is no tensor '%s'", name);
    buf_init(&have, 256);
    st_print_shape(&t->type, t->dims, t->n_dims, &have);
    enum rc rc = err_coded(err, RC_FORMAT, E2007, "tensor '%s' is %s, the model wants %s",
                           name, buf_str(&have), want);
    buf_release(&have);
    return rc;
}

static enum rc get_param(const struct st_file *f, struct param *p, struct err *err)
{
    const struct st_tensor *t = st_find(f, str_c(p->name));
    bool fits = t && t->n_dims == p->n_dims &&
                memcmp(t->dims, p->dims, (size_t)p->n_dims * sizeof(*p->dims)) == 0;
    if (!fits) {
        struct buf want;
        buf_init(&want, 256);
        st_print_shape(NULL, p->dims, p->n_dims, &want);
        enum rc rc = misfit(t, p->name, buf_str(&want), err);
        buf_release(&want);
        return rc;
    }
    enum rc rc = st_read_f32(t, 0, st_rows(t), param_write_begin(p), st_width(t), err);
    param_write_end(p);
    return rc;
}

static enum rc get_dense(struct session *s, const char *dir, struct err *err)
{
    size_t n;
    struct param *const *params = graph_params(s->model->graph, &n);
    struct st_file *f = NULL;
    char *path = fs_join(dir, EXPORT_DENSE);
    enum rc rc = st_open(path, &f, err);
    for (size_t i = 0; i < n && !rc; i++)
        rc = get_param(f, params[i], err);
    st_close(f);
    mem_free(path);
    return rc;
}

static void scale_back(const struct st_tensor *t, const float *scales, int64_t row,
                       int64_t n, float *to)
{
    const int8_t *from = (const int8_t *)t->data + row * t->dims[1];
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < t->dims[1]; k++)
            *to++ = (float)*from++ * scales[row + i];
}

static enum rc get_rows(const struct st_tensor *t, const struct st_tensor *scale,
                        struct embed_table *to, struct err *err)
{
    int64_t dim = to->conf.dim, rows = rows_of(to);
    float *room = mem_try_alloc((size_t)(CHUNK_ROWS * dim), sizeof(*room));
    enum rc rc = room ? RC_OK : err_set(err, RC_NOMEM, "out of memory");
    for (int64_t row = 0; row < rows && !rc; row += CHUNK_ROWS) {
        int64_t n = rows - row < CHUNK_ROWS ? rows - row : CHUNK_ROWS;
        if (scale)
            scale_back(t, (const float *)(const void *)scale->data, row, n, room);
        else
            rc = st_read_f32(t, row, n, room, dim, err);
        for (int64_t i = 0; i < n && !rc; i++)
            embed_table_set(to, place_of(to, row + i), room + i * dim);
    }
    mem_free(room);
    return rc;
}

/* The ids of a keyed table, before its rows. */
static enum rc get_keys(const struct st_file *f, const char *name, struct embed_table *to,
                        struct err *err)
{
    char *keys_name = mem_printf("%s.keys", name);
    const struct st_tensor *keys = st_find(f, str_c(keys_name));
    enum rc rc = RC_OK;
    if (!keys || keys->type != ST_I64 || keys->n_dims != 1) {
        rc = err_coded(err, RC_FORMAT, E2007, "there are no ids '%s'", keys_name);
    } else {
        embed_keyed_clear(to->keyed);
        for (int64_t i = 0; i < keys->dims[0] && !rc; i++) {
            int64_t key;
            memcpy(&key, keys->data + i * (int64_t)sizeof(key), sizeof(key));
            rc = embed_keyed_restore(&to->keyed->ids, key, 0, 0, err);
        }
    }
    mem_free(keys_name);
    return rc;
}

static enum rc get_table(const struct st_file *f, struct embed_table *to, struct err *err)
{
    char *name = ckpt_table_name(to), *scale_name = mem_printf("%s.scale", name);
    const struct st_tensor *t = st_find(f, str_c(name)), *scale = NULL;
    enum rc rc = to->keyed ? get_keys(f, name, to, err) : RC_OK;
    int64_t dims[] = {rows_of(to), to->conf.dim};
    bool fits = t && t->n_dims == 2 && t->dims[0] == dims[0] && t->dims[1] == dims[1];
    if (fits && t->type == ST_I8) {
        scale = st_find(f, str_c(scale_name));
        fits = scale && scale->type == ST_F32 && scale->n_dims == 1 &&
               scale->dims[0] == dims[0];
    }
    if (!rc && !fits) {
        struct buf want;
        buf_init(&want, 256);
        st_print_shape(NULL, dims, 2, &want);
        rc = misfit(t, name, buf_str(&want), err);
        buf_release(&want);
    }
    if (!rc)
        rc = get_rows(t, scale, to, err);
    mem_free(name);
    mem_free(scale_name);
    return rc;
}

enum rc export_get_tensors(struct session *s, const char *dir, struct err *err)
{
    struct st_file *f = NULL;
    char *path = fs_join(dir, EXPORT_TABLES);
    enum rc rc = st_open(path, &f, err);
    for (int i = 0; !rc && i < embed_n_tables(s->model->embed); i++)
        rc = get_table(f, embed_table_at(s->model->embed, i), err);
    st_close(f);
    mem_free(path);
    return rc ? rc : get_dense(s, dir, err);
}
