/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides get the same columns. The one is built as training builds it, from the
 * config inside the checkpoint and with optimizers and all; the other is the export.
 */
#include "train/export/parity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "train/export/export_private.h"
#include "train/export/predict_private.h"
#include "train/save.h"

struct parity {
    struct train_scorer *train, *export;
    struct train_score_output *outputs; /* of the export */
    size_t n_outputs;
    const struct train_parity_options *o;
    struct train_parity_result *result;
    const char *file;
    int64_t first; /* row of the file that the batch begins with */
    struct train_where where;
    struct err *err;
};

static enum rc feature_differs(const struct parity *p, const char *name, int64_t row,
                               const char *what, double train, double export)
{
    return err_coded(p->err, RC_INVAL, E2021,
                     "%s: row %jd: feature '%s': %s is %.9g in training, %.9g in the "
                     "export",
                     p->file, (intmax_t)(p->first + row + 1), name, what, train, export);
}

/* Ids, weights or numbers [a, a_end) against [b, b_end). */
static enum rc compare_ids(const struct parity *p, const char *name, int64_t row,
                           const struct feature_out *a, const struct feature_out *b)
{
    int64_t n = a->offsets[row + 1] - a->offsets[row];
    int64_t m = b->offsets[row + 1] - b->offsets[row];
    if (n != m)
        return feature_differs(p, name, row, "the number of ids", (double)n, (double)m);
    for (int64_t i = 0; i < n; i++) {
        int64_t x = a->ids[a->offsets[row] + i], y = b->ids[b->offsets[row] + i];
        if (x != y)
            return feature_differs(p, name, row, "an id", (double)x, (double)y);
        float v = a->weights ? a->weights[a->offsets[row] + i] : 1;
        float w = b->weights ? b->weights[b->offsets[row] + i] : 1;
        if (memcmp(&v, &w, sizeof(v)) != 0)
            return feature_differs(p, name, row, "a weight", (double)v, (double)w);
    }
    return RC_OK;
}

static enum rc compare_values(const struct parity *p, const struct feature_info *info,
                              int64_t row, const struct feature_out *a,
                              const struct feature_out *b)
{
    int64_t from = info->sequence ? a->seq_offsets[row] : row;
    int64_t to = info->sequence ? a->seq_offsets[row + 1] : row + 1;
    int64_t other = info->sequence ? b->seq_offsets[row] : row;
    for (int64_t i = 0; i < (to - from) * info->value_dim; i++) {
        float v = a->values[from * info->value_dim + i];
        float w = b->values[other * info->value_dim + i];
        if (memcmp(&v, &w, sizeof(v)) != 0 && !(isnan(v) && isnan(w)))
            return feature_differs(p, info->name, row, "a value", (double)v, (double)w);
    }
    return RC_OK;
}

static enum rc compare_feature(const struct parity *p, const struct feature_info *info,
                               int64_t row, const struct feature_out *a,
                               const struct feature_out *b)
{
    if (info->sequence) {
        int64_t n = a->seq_offsets[row + 1] - a->seq_offsets[row];
        int64_t m = b->seq_offsets[row + 1] - b->seq_offsets[row];
        if (n != m)
            return feature_differs(p, info->name, row, "the length", (double)n,
                                   (double)m);
    }
    return info->sparse ? compare_ids(p, info->name, row, a, b)
                        : compare_values(p, info, row, a, b);
}

static enum rc compare_features(const struct parity *p, int64_t row)
{
    const struct feature_plan *train = p->train->session->plan;
    const struct feature_plan *export = p->export->session->plan;
    for (size_t i = 0; i < feature_plan_count(train); i++) {
        const struct feature_info *info = feature_plan_info(train, i);
        int64_t at = feature_plan_find(export, str_c(info->name));
        if (info->stub)
            continue;
        if (at < 0)
            return err_coded(p->err, RC_INVAL, E2021,
                             "feature '%s' of training is not in the export", info->name);
        enum rc rc = compare_feature(p, info, row, &p->train->features->at[i],
                                     &p->export->features->at[at]);
        if (rc)
            return rc;
    }
    return RC_OK;
}

static enum rc compare_output(const struct parity *p, const struct train_score_output *o,
                              int64_t row)
{
    struct view a = train_scorer_view(p->train, o->name),
                b = train_scorer_view(p->export, o->name);
    int64_t from, to, from_b, to_b;
    train_scorer_span(p->train, o, row, &from, &to);
    train_scorer_span(p->export, o, row, &from_b, &to_b);
    for (int64_t i = 0; i < (to - from) * o->width; i++) {
        double x = (double)view_row(&a, from + i / o->width)[i % o->width],
               y = (double)view_row(&b, from_b + i / o->width)[i % o->width];
        double d = fabs(x - y);
        if (isnan(x) && isnan(y))
            continue;
        if (d > p->result->largest) {
            p->result->largest = d;
            snprintf(p->result->where, sizeof(p->result->where), "%s, row %jd", o->name,
                     (intmax_t)(p->first + row + 1));
        }
        if (!(d <= p->o->tolerance * (1 + fabs(x))))
            return err_coded(
                p->err, RC_INVAL, E2021,
                "%s: row %jd: output '%s' is %.9g in training, %.9g in the export",
                p->file, (intmax_t)(p->first + row + 1), o->name, x, y);
    }
    return RC_OK;
}

static enum rc compare_batch(const struct parity *p, const struct batch *b)
{
    enum rc rc = train_scorer_run(p->train, b, p->err);
    if (rc) {
        train_where_name(&p->where, p->err);
        return err_wrap(p->err, rc, "training");
    }
    rc = train_scorer_run(p->export, b, p->err);
    if (rc) {
        train_where_name(&p->where, p->err);
        return err_wrap(p->err, rc, "export");
    }
    for (int64_t r = 0; r < b->n && !rc; r++) {
        rc = compare_features(p, r);
        for (size_t i = 0; i < p->n_outputs && !rc; i++)
            rc = compare_output(p, &p->outputs[i], r);
    }
    p->result->rows += b->n;
    return rc;
}

static enum rc compare_all(struct parity *p, struct train_export *x, struct diags *diags)
{
    struct train_predict_options o = {.input = p->o->input,
                                      .data = train_export_conf(x)->data_config};
    struct train_predict_input in;
    struct data_schema schema = {0};
    struct batch b = {0};
    int64_t file = -1;
    enum rc rc =
        train_predict_input_open(&in, p->export->session, NULL, &o, diags, p->err);
    while (!rc) {
        int64_t before = in.place.file == file ? in.place.at.row : 0;
        rc = train_predict_input_next(&in, &schema, &file, &b, p->err);
        if (rc || b.n == 0)
            break;
        p->file = train_predict_input_file(&in);
        p->first = in.place.at.row >= b.n ? in.place.at.row - b.n : before;
        train_predict_input_where(&in, b.n, &p->where);
        rc = compare_batch(p, &b);
    }
    if (!rc && p->result->rows == 0)
        rc = err_coded(p->err, RC_INVAL, E2014, "no rows in '%s'", p->o->input);
    batch_release(&b);
    data_schema_release(&schema);
    train_predict_input_release(&in);
    train_where_release(&p->where);
    return rc;
}

/* The run as it was: config of the checkpoint, everything restored, averages in place. */
static enum rc train_session(const char *path, struct pool *pool, bool farm_hash,
                             struct conf *conf, struct train_session **out,
                             struct err *err)
{
    struct diags diags = {0};
    struct conf_options co = {.kind = &conf_kind_pipeline, .ignore_unknown = true};
    struct train_session_options so = {.pool = pool,
                                       .training = true,
                                       .alone = true,
                                       .no_labels = true,
                                       .farm_hash = farm_hash};
    struct arena a = {0};
    struct ckpt *c = NULL;
    const char *position;
    enum rc rc = ckpt_open(path, 0, &c, NULL, err);
    if (rc) {
        if (err)
            err->code = E2022;
        return rc;
    }
    rc = conf_from("the checkpoint's config", ckpt_config(c), strlen(ckpt_config(c)), &co,
                   conf, &diags, err);
    if (!rc)
        rc = train_session_saved_seed(c, &so.seed, err);
    if (!rc)
        rc = train_session_create(conf->data, &so, out, &diags, err);
    train_export_first_error(&diags, rc, err);
    diags_release(&diags);
    if (!rc)
        rc = train_session_resume(*out, c, false, &a, &position, err);
    const struct pc_EasyRecConfig *pc = conf->data;
    const struct pc_ExportConfig *xc = rc ? NULL : pc->export_config;
    if (!rc && (*out)->ema && (!xc || !xc->has_use_dense_ema || xc->use_dense_ema))
        optim_ema_swap((*out)->ema);
    ckpt_close(c);
    arena_release(&a);
    return rc;
}

enum rc train_parity_run(struct train_export *x, const struct train_parity_options *o,
                         struct train_parity_result *out, struct diags *diags,
                         struct err *err)
{
    const char *path = o->checkpoint ? o->checkpoint : train_export_checkpoint(x);
    struct parity p = {.o = o, .result = out, .err = err};
    struct conf conf = {0};
    struct train_session *train = NULL;
    *out = (struct train_parity_result){0};
    enum rc rc = train_session(path, o->pool, train_export_session(x)->options.farm_hash,
                               &conf, &train, err);
    if (!rc)
        rc = train_scorer_create(train, false, &p.train, err);
    if (!rc)
        rc = train_scorer_create(train_export_session(x), false, &p.export, err);
    if (!rc) {
        p.outputs = train_scorer_outputs(train_export_session(x), &p.n_outputs);
        out->outputs = p.n_outputs;
        out->features = feature_plan_count(train->plan);
        rc = compare_all(&p, x, diags);
    }
    mem_free(p.outputs);
    train_scorer_destroy(p.export);
    train_scorer_destroy(p.train);
    train_session_destroy(train);
    conf_release(&conf);
    return rc;
}
