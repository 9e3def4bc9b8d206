/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of trainyard/scoring.h. Rows are cut into pieces that are scored by the
 * threads of a pool, each with a scorer of its own out of those that are free; a piece is
 * never cut by the number of threads, and a score depends on its row alone.
 */
#include "trainyard/scoring.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "base/mem.h"
#include "lib/import.h"
#include "lib/report.h"
#include "lib/result.h"
#include "text/diag.h"
#include "train/blame.h"
#include "train/columns.h"
#include "train/export/export.h"

#define PIECE 256 /* rows */

struct spare {
    struct train_scorer *scorer;
    struct batch rows;
    struct spare *next;
};

struct ty_model {
    struct pool *pool;
    struct train_export *export;
    struct train_score_output *outputs;
    size_t n_outputs;
    pthread_mutex_t lock;
    struct spare *free; /* those that nobody uses */
};

int ty_model_open(const char *dir, int threads, struct ty_model **out,
                  struct ty_error *error)
{
    struct err err = {0};
    struct ty_model *m = mem_calloc(1, sizeof(*m));
    pthread_mutex_init(&m->lock, NULL);
    enum rc rc = pool_create(threads == 0 ? cpu_count() : threads, &m->pool, &err);
    if (!rc)
        rc = train_export_open(dir, EXPORT_NO_SAMPLES | EXPORT_NO_PLACES, m->pool,
                               &m->export, &err);
    if (!rc)
        m->outputs = train_scorer_outputs(train_export_session(m->export), &m->n_outputs);
    for (size_t i = 0; i < m->n_outputs && !rc; i++)
        if (m->outputs[i].axis != AXIS_BATCH)
            rc = err_coded(&err, RC_UNSUPPORTED, E2012,
                           "output '%s' has a value for each candidate of a row; this "
                           "library gives one per row (use predict or serve)",
                           m->outputs[i].name);
    if (rc)
        ty_model_close(m);
    else
        *out = m;
    return lib_report(rc, &err, error);
}

static void destroy_spare(struct spare *s)
{
    train_scorer_destroy(s->scorer);
    mem_free(s);
}

void ty_model_close(struct ty_model *model)
{
    if (!model)
        return;
    while (model->free) {
        struct spare *s = model->free;
        model->free = s->next;
        destroy_spare(s);
    }
    mem_free(model->outputs);
    train_export_close(model->export);
    pool_destroy(model->pool);
    pthread_mutex_destroy(&model->lock);
    mem_free(model);
}

const char *ty_version(void)
{
    return TY_VERSION;
}

static enum rc take_spare(struct ty_model *m, struct spare **out, struct err *err)
{
    pthread_mutex_lock(&m->lock);
    struct spare *s = m->free;
    if (s)
        m->free = s->next;
    pthread_mutex_unlock(&m->lock);
    enum rc rc = RC_OK;
    if (!s) {
        s = mem_calloc(1, sizeof(*s));
        rc = train_scorer_create(train_export_session(m->export), true, &s->scorer, err);
    }
    if (rc)
        mem_free(s);
    else
        *out = s;
    return rc;
}

static void give_spare(struct ty_model *m, struct spare *s)
{
    pthread_mutex_lock(&m->lock);
    s->next = m->free;
    m->free = s;
    pthread_mutex_unlock(&m->lock);
}

/* One call: the columns that the model reads, and where they are among those given. */
struct scoring {
    struct ty_model *model;
    const struct ArrowSchema *schema;
    const struct ArrowArray *rows;
    struct data_schema columns;
    int64_t *at;          /* [columns.n]: which child */
    const uint8_t *valid; /* of rows, or NULL: none is null */
    struct lib_result result;
    pthread_mutex_t lock; /* of the next two */
    enum rc rc;
    struct err err;
};

static void keep_failure(struct scoring *x, enum rc rc, const struct err *err)
{
    pthread_mutex_lock(&x->lock);
    if (!x->rc) {
        x->rc = rc;
        x->err = *err;
    }
    pthread_mutex_unlock(&x->lock);
}

static enum rc not_finite(const struct spare *s, const char *output, int64_t begin,
                          int64_t row, double value, struct err *err)
{
    struct buf what;
    buf_init(&what, ERR_MSG_SIZE);
    train_blame_output(s->scorer->session, s->scorer->features, row, output, value,
                       &what);
    enum rc rc = err_coded(err, RC_INVAL, E2017, "row %jd: %s",
                           (intmax_t)(begin + row) + 1, buf_str(&what));
    buf_release(&what);
    return rc;
}

/* Scores of rows [begin, begin + n). */
static enum rc copy_scores(struct scoring *x, const struct spare *s, int64_t begin,
                           int64_t n, struct err *err)
{
    for (size_t i = 0; i < x->model->n_outputs; i++) {
        const struct train_score_output *o = &x->model->outputs[i];
        struct view v = train_scorer_view(s->scorer, o->name);
        for (int64_t r = 0; r < n; r++) {
            const float *y = view_row(&v, r);
            for (int64_t k = 0; k < o->width; k++)
                if (!isfinite(y[k]))
                    return not_finite(s, o->name, begin, r, (double)y[k], err);
            memcpy(x->result.values[i] + (begin + r) * o->width, y,
                   (size_t)o->width * sizeof(float));
        }
    }
    return RC_OK;
}

static enum rc score_rows(struct scoring *x, struct spare *s, int64_t begin, int64_t end,
                          struct err *err)
{
    enum rc rc = RC_OK;
    batch_init(&s->rows, &x->columns);
    s->rows.n = end - begin;
    for (size_t i = 0; i < x->columns.n && !rc; i++)
        rc = lib_import_rows(x->schema->children[x->at[i]], x->rows->children[x->at[i]],
                             x->rows->offset + begin, end - begin, x->valid,
                             &s->rows.cols[i], err);
    if (!rc)
        rc = train_scorer_run(s->scorer, &s->rows, err);
    if (!rc)
        rc = copy_scores(x, s, begin, end - begin, err);
    batch_release(&s->rows);
    return rc;
}

static void score_piece(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct scoring *x = arg;
    struct spare *s = NULL;
    struct err err = {0};
    (void)chunk;
    enum rc rc = take_spare(x->model, &s, &err);
    if (rc) {
        keep_failure(x, rc, &err);
        return;
    }
    rc = score_rows(x, s, begin, end, &err);
    if (rc) {
        if (err.code != E2017) /* which names its row */
            err_wrap(&err, rc, "rows %jd to %jd", (intmax_t)begin + 1, (intmax_t)end);
        keep_failure(x, rc, &err);
    }
    give_spare(x->model, s);
}

static bool is_read(const struct ty_model *m, const char *name)
{
    size_t n;
    const struct feature_column *read =
        feature_plan_columns(train_export_session(m->export)->plan, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(read[i].name, name) == 0)
            return true;
    return false;
}

/* Are all columns there that the features read, and of the types that the model was
 * trained with?
 */
static enum rc check_columns(const struct scoring *x, struct err *err)
{
    struct diags diags = {0};
    struct train_session *s = train_export_session(x->model->export);
    enum rc rc = feature_plan_check(s->plan, &x->columns, &diags);
    if (rc && diags.list.n > 0)
        rc = err_coded(err, rc, diags.list.at[0].code, "%s", diags.list.at[0].msg);
    diags_release(&diags);
    return rc ? rc
              : train_columns_check(&s->columns, s->plan, &x->columns, false, "rows",
                                    err);
}

/* The type that the model was trained with, or NULL. */
static const struct type *known_type(const struct ty_model *m, const char *name)
{
    const struct data_schema *known = &train_export_session(m->export)->columns;
    int64_t at = data_schema_find(known, str_c(name));
    return at < 0 ? NULL : &known->at[at].type;
}

static enum rc find_columns(struct scoring *x, struct err *err)
{
    const struct ArrowSchema *s = x->schema;
    size_t n;
    enum rc rc = lib_import_struct(s, x->rows, &x->valid, err);
    if (rc)
        return rc;
    feature_plan_columns(train_export_session(x->model->export)->plan, &n);
    x->at = mem_calloc(n + 1, sizeof(*x->at));
    for (int64_t i = 0; i < s->n_children && !rc; i++) {
        struct type type;
        const char *name = s->children[i]->name ? s->children[i]->name : "";
        if (!is_read(x->model, name))
            continue;
        if (data_schema_find(&x->columns, str_c(name)) >= 0)
            return err_coded(err, RC_FORMAT, E2032, "there are several columns '%.100s'",
                             name);
        rc = lib_import_type(s->children[i], known_type(x->model, name), &x->columns.mem,
                             &type, err);
        if (!rc) {
            x->at[x->columns.n] = i;
            data_schema_add(&x->columns, str_c(name), &type);
        }
    }
    if (rc || (s->n_children == 0 && x->rows->length == 0))
        return rc; /* no rows have no columns to be wrong */
    return check_columns(x, err);
}

int ty_model_score(struct ty_model *model, const struct ArrowSchema *schema,
                   const struct ArrowArray *rows, struct ArrowSchema *out_schema,
                   struct ArrowArray *out, struct ty_error *error)
{
    struct scoring x = {.model = model, .schema = schema, .rows = rows};
    pthread_mutex_init(&x.lock, NULL);
    x.rc = find_columns(&x, &x.err);
    if (!x.rc)
        x.rc = lib_result_create(model->outputs, model->n_outputs, rows->length,
                                 &x.result, &x.err);
    if (!x.rc) {
        pool_for(model->pool, rows->length, PIECE, score_piece, &x);
        if (x.rc)
            lib_result_release(&x.result);
        else
            lib_result_export(&x.result, out_schema, out);
    }
    data_schema_release(&x.columns);
    mem_free(x.at);
    pthread_mutex_destroy(&x.lock);
    return lib_report(x.rc, &x.err, error);
}
