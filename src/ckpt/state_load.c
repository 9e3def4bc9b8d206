/* SPDX-License-Identifier: Apache-2.0 */
/* First a plan: every tensor that the model wants is looked up (through the map of names
 * if there is one) and compared, and what does not match goes into the report. Only a
 * plan without fault is carried out.
 */
#include <string.h>

#include "base/mem.h"
#include "ckpt/report.h"
#include "ckpt/state_private.h"

#define SHAPES_MAX 4096

struct dense_job {
    const struct st_tensor *from;
    float *to;
};

struct table_job {
    struct table *t;
    int64_t rows; /* to read */
    int n_cols;
    struct table_column cols[TABLE_COLUMNS_MAX];
    const struct st_tensor *from[TABLE_COLUMNS_MAX]; /* NULL: first values */
    const unsigned char *used;                       /* NULL: all rows are */
};

struct loader {
    const struct ckpt *c;
    const struct ckpt_load *how;
    struct ckpt_report *report;
    struct map taken; /* names in the checkpoint */
    size_t *hits;     /* per line of the map: 1 names that the model has, 2 also found */
    VEC(struct dense_job) dense;
    VEC(struct table_job) tables;
};

/* What stands before the name of the parameter that something belongs to. */
static const char *const owners[] = {"", "optimizer.", "ema."};

/* The name in the checkpoint; the caller's. */
static char *old_name(const struct loader *l, const char *name,
                      const struct ckpt_map_line **line)
{
    for (size_t i = 0; l->how->map && i < ARRAY_LEN(owners); i++) {
        const char *rest;
        if (!str_starts(name, owners[i]))
            continue;
        *line = ckpt_map_find(l->how->map, name + strlen(owners[i]), &rest);
        if (*line)
            return mem_printf("%s%s%s", owners[i], (*line)->old, rest);
    }
    return mem_strdup(name);
}

static const struct st_tensor *look_up(struct loader *l, const char *name)
{
    const struct ckpt_map_line *line = NULL;
    char *old = old_name(l, name, &line);
    const struct st_tensor *t = ckpt_find(l->c, old);
    if (line)
        l->hits[line - l->how->map->lines.at] |= t ? 3 : 1;
    if (t)
        map_put(&l->taken, str_c(old));
    mem_free(old);
    return t;
}

static void report_missing(struct loader *l, const char *name, const int64_t *dims,
                           int n_dims)
{
    struct buf b;
    enum st_type f32 = ST_F32;
    buf_init(&b, SHAPES_MAX);
    st_print_shape(&f32, dims, n_dims, &b);
    report_add(l->report, CKPT_MISSING, name, buf_str(&b));
    buf_release(&b);
}

static void report_shapes(struct loader *l, enum ckpt_diff_kind kind, const char *name,
                          const struct st_tensor *t, const int64_t *dims, int n_dims)
{
    struct buf b;
    enum st_type f32 = ST_F32;
    buf_init(&b, SHAPES_MAX);
    buf_puts(&b, "is ");
    st_print_shape(&t->type, t->dims, t->n_dims, &b);
    buf_puts(&b, " in the checkpoint, ");
    st_print_shape(&f32, dims, n_dims, &b);
    buf_puts(&b, " in the model");
    report_add(l->report, kind, name, buf_str(&b));
    buf_release(&b);
}

static bool type_fits(const struct loader *l, enum st_type t)
{
    return t == ST_F32 ||
           (l->how->partial && (t == ST_F64 || t == ST_F16 || t == ST_BF16));
}

static bool dims_fit(const struct st_tensor *t, const int64_t *dims, int n_dims)
{
    return t->n_dims == n_dims &&
           memcmp(t->dims, dims, (size_t)n_dims * sizeof(*dims)) == 0;
}

static void plan_dense(struct loader *l, const char *name, const int64_t *dims,
                       int n_dims, float *to)
{
    const struct st_tensor *t = look_up(l, name);
    if (!t)
        report_missing(l, name, dims, n_dims);
    else if (!type_fits(l, t->type) || !dims_fit(t, dims, n_dims))
        report_shapes(l, CKPT_SHAPE, name, t, dims, n_dims);
    else
        VEC_PUSH(&l->dense, ((struct dense_job){t, to}));
}

/* Of the table whose weights are `weight`, in the checkpoint; NULL when it says nothing.
 */
static const char *table_fact(const struct loader *l, const struct st_tensor *weight,
                              const char *key)
{
    const struct node *v =
        node_find(node_find(ckpt_json(l->c, "tables"), weight->name), key);
    return v && v->kind == NODE_STR ? v->text.p : NULL;
}

/* The bitmap counts only when unused rows would get the same values again. */
static const unsigned char *find_used(struct loader *l, const struct table *t,
                                      const struct st_tensor *weight)
{
    char *origin = table_origin(t), *name = table_used_name(t);
    const char *then = table_fact(l, weight, "first");
    const struct st_tensor *used = look_up(l, name);
    bool good = then && strcmp(then, origin) == 0 && used && used->type == ST_U8 &&
                used->bytes == (st_rows(weight) + 7) / 8;
    mem_free(origin);
    mem_free(name);
    return good ? used->data : NULL;
}

/* Whether state of the checkpoint means the same here. */
static bool same_optimizer(struct loader *l, const struct table *t,
                           const struct st_tensor *weight, const char *name)
{
    const char *then = table_fact(l, weight, "optimizer");
    const char *now = t->conf.trainable ? row_opt_name(t->conf.opt.kind) : "none";
    if (!then || strcmp(then, now) == 0)
        return true;
    char *text = mem_printf("was trained with %s, the model uses %s", then, now);
    if (!l->how->partial && !l->how->no_optimizer)
        report_add(l->report, CKPT_SHAPE, name, text);
    mem_free(text);
    return false;
}

static bool rows_fit(const struct loader *l, const struct st_tensor *t,
                     const int64_t *dims, int n_dims)
{
    return l->how->partial && t->n_dims == n_dims && t->dims[0] > 0 &&
           (n_dims == 1 || t->dims[1] == dims[1]);
}

/* Column i of the job; state also needs as many rows as the weights have. */
static void plan_column(struct loader *l, struct table_job *j, int i)
{
    const struct table_column *col = &j->cols[i];
    int64_t dims[2] = {j->t->conf.rows, col->width};
    int n_dims = col->flat ? 1 : 2;
    char *name = table_column_name(j->t, col);
    const struct st_tensor *t = look_up(l, name);
    bool like_weight = i == 0 || (t && j->from[0] && t->dims[0] == j->from[0]->dims[0]);
    if (!t) {
        report_missing(l, name, dims, n_dims);
    } else if (type_fits(l, t->type) && dims_fit(t, dims, n_dims) && like_weight) {
        j->from[i] = t;
    } else if (type_fits(l, t->type) && rows_fit(l, t, dims, n_dims) && like_weight) {
        j->from[i] = t;
        if (i == 0)
            report_shapes(l, CKPT_ROWS, name, t, dims, n_dims);
    } else {
        report_shapes(l, CKPT_SHAPE, name, t, dims, n_dims);
    }
    mem_free(name);
}

static void plan_table(struct loader *l, struct table *t)
{
    struct table_job j = {.t = t};
    j.n_cols = table_columns(t, j.cols);
    plan_column(l, &j, 0);
    const struct st_tensor *weight = j.from[0];
    char *name = table_column_name(t, &j.cols[0]);
    bool with_state =
        !l->how->no_optimizer && (!weight || same_optimizer(l, t, weight, name));
    mem_free(name);
    for (int i = 1; i < j.n_cols && with_state; i++)
        plan_column(l, &j, i);
    if (!weight)
        return;
    j.rows = weight->dims[0] < t->conf.rows ? weight->dims[0] : t->conf.rows;
    j.used = find_used(l, t, weight);
    VEC_PUSH(&l->tables, j);
}

/* Once with every line, so that what a line names can be missed by name. */
static enum rc check_map(const struct loader *l, struct err *err)
{
    const struct ckpt_map *m = l->how->map;
    for (size_t i = 0; m && i < m->lines.n; i++) {
        const struct ckpt_map_line *line = &m->lines.at[i];
        if (l->hits[i] == 0)
            return err_coded(err, RC_INVAL, E1512,
                             "file '%s': line %zu: the model has no parameter '%s'",
                             m->path, line->line, line->now);
        if (l->hits[i] == 1)
            return err_coded(err, RC_INVAL, E1512,
                             "file '%s': line %zu: the checkpoint has no parameter '%s'",
                             m->path, line->line, line->old);
    }
    return RC_OK;
}

static void find_extra(struct loader *l)
{
    enum ckpt_part last = l->how->no_optimizer ? CKPT_MODEL : CKPT_OPTIMIZER;
    for (size_t i = 0; i < ckpt_count(l->c); i++) {
        const struct st_tensor *t = ckpt_at(l->c, i);
        if (ckpt_part_at(l->c, i) > last || map_find(&l->taken, str_c(t->name)))
            continue;
        struct buf b;
        buf_init(&b, SHAPES_MAX);
        st_print_shape(&t->type, t->dims, t->n_dims, &b);
        report_add(l->report, CKPT_EXTRA, t->name, buf_str(&b));
        buf_release(&b);
    }
}

static enum rc plan(struct loader *l, const struct ckpt_state *s, struct err *err)
{
    for (size_t i = 0; i < s->n_params; i++) {
        const struct param *p = s->params[i];
        plan_dense(l, p->name, p->dims, p->n_dims, p->value);
    }
    for (int i = 0; s->embed && i < embed_n_tables(s->embed); i++)
        plan_table(l, embed_table_at(s->embed, i));
    for (size_t i = 0; i < s->n_arrays; i++) {
        const struct ckpt_array *a = &s->arrays[i];
        if (a->part == CKPT_OPTIMIZER && l->how->no_optimizer)
            continue;
        plan_dense(l, a->name, a->dims, a->n_dims, a->data);
    }
    find_extra(l);
    enum rc rc = check_map(l, err);
    if (rc)
        return rc;
    const struct ckpt_report *r = l->report;
    bool nothing = r->counts[CKPT_MISSING] && l->dense.n + l->tables.n == 0;
    if (r->counts[CKPT_SHAPE] || nothing || (!l->how->partial && r->diffs.n))
        return report_error(r, err);
    return RC_OK;
}

/* Weights and state of rows [row, row + n), all used from here on. */
static enum rc read_rows(const struct table_job *j, int64_t row, int64_t n,
                         struct err *err)
{
    struct table *t = j->t;
    enum rc rc = RC_OK;
    for (int i = 0; i < j->n_cols && !rc; i++)
        if (j->from[i])
            rc = st_read_f32(j->from[i], row, n, table_row(t, row) + j->cols[i].col,
                             t->stride, err);
    for (int64_t r = row; r < row + n; r++)
        t->used[r >> 6] |= (uint64_t)1 << (r & 63);
    return rc;
}

/* First values of state, for rows whose state is not in the checkpoint. */
static void init_state(const struct table_job *j, int64_t row, int64_t n)
{
    struct table *t = j->t;
    bool lacks = false;
    for (int i = 1; i < j->n_cols; i++)
        lacks |= !j->from[i];
    for (int64_t r = row; lacks && r < row + n; r++)
        row_opt_init(&t->conf.opt, table_row(t, r) + t->conf.dim, t->conf.dim);
}

static void forget_row(struct table *t, int64_t row)
{
    if (!table_used(t, row))
        return;
    memset(table_row(t, row), 0, (size_t)t->stride * sizeof(float));
    t->used[row >> 6] &= ~((uint64_t)1 << (row & 63));
}

static bool used_bit(const struct table_job *j, int64_t row)
{
    return !j->used || (j->used[row >> 3] >> (row & 7) & 1);
}

static enum rc read_table(const struct table_job *j, struct err *err)
{
    enum rc rc = RC_OK;
    for (int64_t row = 0, end; row < j->rows && !rc; row = end) {
        bool used = used_bit(j, row);
        for (end = row + 1; end < j->rows && used_bit(j, end) == used; end++)
            ;
        if (used) {
            init_state(j, row, end - row);
            rc = read_rows(j, row, end - row, err);
        } else {
            for (int64_t r = row; r < end; r++)
                forget_row(j->t, r);
        }
    }
    return rc;
}

static enum rc carry_out(struct loader *l, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < l->dense.n && !rc; i++) {
        const struct dense_job *j = &l->dense.at[i];
        rc = st_read_f32(j->from, 0, st_rows(j->from), j->to, st_width(j->from), err);
        l->report->n_loaded++;
        l->report->n_floats += st_rows(j->from) * st_width(j->from);
    }
    for (size_t i = 0; i < l->tables.n && !rc; i++) {
        const struct table_job *j = &l->tables.at[i];
        rc = read_table(j, err);
        for (int k = 0; k < j->n_cols; k++) {
            l->report->n_loaded += j->from[k] ? 1 : 0;
            l->report->n_floats += j->from[k] ? j->rows * j->cols[k].width : 0;
        }
    }
    return rc;
}

enum rc ckpt_load_state(const struct ckpt *c, const struct ckpt_state *s,
                        const struct ckpt_load *how, struct ckpt_report *report,
                        struct err *err)
{
    struct loader l = {.c = c, .how = how, .report = report};
    l.hits = mem_calloc(how->map ? how->map->lines.n + 1 : 1, sizeof(*l.hits));
    enum rc rc = plan(&l, s, err);
    if (!rc)
        rc = carry_out(&l, err);
    mem_free(l.hits);
    map_release(&l.taken);
    VEC_RELEASE(&l.dense);
    VEC_RELEASE(&l.tables);
    return rc ? err_wrap(err, rc, "checkpoint '%s'", ckpt_path(c)) : RC_OK;
}
