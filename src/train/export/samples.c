/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the data, the inputs of the graph that they become (padded as the ONNX model
 * wants them), and all outputs. Inputs are for others, who have no features and no
 * tables; this program checks rows against outputs.
 */
#include <math.h>
#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "data/reader.h"
#include "data/writer.h"
#include "nn/onnx.h"
#include "train/columns.h"
#include "train/export/export_private.h"
#include "train/source.h"

#define TOLERANCE 1e-4 /* other processors add up in another order */

/* One tensor of samples.safetensors. */
struct sample_tensor {
    char *name;
    float *data;
    struct ckpt_st_source source;
};

struct tensors {
    VEC(struct sample_tensor) list;
};

static void tensors_release(struct tensors *t)
{
    for (size_t i = 0; i < t->list.n; i++) {
        mem_free(t->list.at[i].name);
        mem_free(t->list.at[i].data);
    }
    VEC_RELEASE(&t->list);
}

static const void *rows_of(const void *arg, int64_t row, int64_t n, void *scratch,
                           struct err *err)
{
    return (const float *)arg + row;
}

/* Room for [dims], zeroed; NULL without memory. */
static float *add_tensor(struct tensors *t, char *name, const int64_t *dims, int n_dims)
{
    struct sample_tensor x = {.name = name};
    size_t n = 1;
    for (int i = 0; i < n_dims; i++)
        n *= (size_t)dims[i];
    x.data = mem_try_calloc(n + 1, sizeof(*x.data));
    x.source = (struct ckpt_st_source){.name = name,
                                       .type = ST_F32,
                                       .n_dims = n_dims,
                                       .rows = (int64_t)n,
                                       .row_bytes = sizeof(float),
                                       .fn = rows_of,
                                       .arg = x.data};
    memcpy(x.source.dims, dims, (size_t)n_dims * sizeof(*dims));
    VEC_PUSH(&t->list, x);
    return x.data;
}

static int64_t longest(const int64_t *offsets, int64_t rows)
{
    int64_t most = 1; /* an axis without positions is of no use to others */
    for (int64_t r = 0; r < rows; r++)
        most = offsets[r + 1] - offsets[r] > most ? offsets[r + 1] - offsets[r] : most;
    return most;
}

static enum rc no_memory(struct err *err)
{
    return err_set(err, RC_NOMEM, "no memory for the sample rows");
}

/* A value of the graph as a tensor: [rows, dims..] or [rows, longest, dims..]. */
static enum rc add_value(struct tensors *t, struct graph *g, const char *prefix,
                         const char *name, const struct nn_val *v, struct err *err)
{
    const struct nn_batch_rows *rows = graph_batch_rows(g);
    const struct nn_shape *s = nn_val_shape(v);
    const int64_t *offsets = rows->offsets[s->axis];
    struct view view = graph_read(g, v);
    int64_t n = rows->n[AXIS_BATCH], dims[5] = {n}, width = nn_shape_width(s), most = 1;
    int n_dims = 1;
    if (s->axis != AXIS_BATCH)
        dims[n_dims++] = most = longest(offsets, n);
    for (int i = 0; i < s->n_dims; i++)
        dims[n_dims++] = s->dims[i];
    float *to = add_tensor(t, mem_printf("%s%s", prefix, name), dims, n_dims);
    if (!to)
        return no_memory(err);
    for (int64_t r = 0; r < n; r++) {
        int64_t from = offsets ? offsets[r] : r, end = offsets ? offsets[r + 1] : r + 1;
        for (int64_t k = from; k < end; k++)
            memcpy(to + (r * most + k - from) * width, view_row(&view, k),
                   (size_t)width * sizeof(float));
    }
    return RC_OK;
}

static enum rc add_mask(struct tensors *t, const struct graph *g, int axis,
                        struct err *err)
{
    const struct nn_batch_rows *rows = graph_batch_rows(g);
    const int64_t *offsets = rows->offsets[axis];
    int64_t n = rows->n[AXIS_BATCH], dims[] = {n, longest(offsets, n)};
    float *to =
        add_tensor(t, mem_printf("input.%s.mask", graph_axis_name(g, axis)), dims, 2);
    for (int64_t r = 0; to && r < n; r++)
        for (int64_t k = 0; k < offsets[r + 1] - offsets[r]; k++)
            to[r * dims[1] + k] = 1;
    return to ? RC_OK : no_memory(err);
}

static enum rc collect(struct tensors *t, struct graph *g, const char *const *outputs,
                       size_t n, struct err *err)
{
    struct onnx_inputs in;
    enum rc rc = onnx_inputs(g, outputs, n, &in, err);
    for (size_t i = 0; i < in.n && !rc; i++)
        rc = add_value(t, g, "input.", nn_val_name(in.vals[i]), in.vals[i], err);
    for (int i = 1; i < AXES_MAX && !rc; i++)
        if (in.mask[i])
            rc = add_mask(t, g, i, err);
    for (size_t i = 0; i < n && !rc; i++) {
        const struct nn_val *v = graph_output(g, outputs[i]);
        bool one =
            nn_val_shape(v)->axis == AXIS_BATCH && nn_shape_width(nn_val_shape(v)) == 1;
        rc = add_value(t, g, "output.", outputs[i], v, err);
        if (!rc && one) /* [rows], as in the ONNX model */
            t->list.at[t->list.n - 1].source.n_dims = 1;
    }
    return rc;
}

static enum rc write_tensors(struct tensors *t, const char *path, struct err *err)
{
    struct ckpt_st_source **list = mem_calloc(t->list.n + 1, sizeof(*list));
    struct ckpt_st_sum sum;
    for (size_t i = 0; i < t->list.n; i++)
        list[i] = &t->list.at[i].source;
    enum rc rc = ckpt_st_write(path, list, t->list.n, &sum, err);
    mem_free(list);
    return rc;
}

enum rc train_export_put_graph(struct graph *g, const char *const *outputs, size_t n,
                               const char *path, struct err *err)
{
    struct tensors t = {0};
    enum rc rc = collect(&t, g, outputs, n, err);
    if (!rc)
        rc = write_tensors(&t, path, err);
    tensors_release(&t);
    return rc;
}

/* All outputs of the session. */
static enum rc put_outputs(const struct train_session *s, const char *dir,
                           struct err *err)
{
    size_t n;
    struct train_score_output *outputs = train_scorer_outputs(s, &n);
    const char **names = mem_calloc(n + 1, sizeof(*names));
    char *path = fs_join(dir, EXPORT_SAMPLES);
    for (size_t i = 0; i < n; i++)
        names[i] = outputs[i].name;
    enum rc rc = train_export_put_graph(s->model->graph, names, n, path, err);
    mem_free(path);
    mem_free(names);
    mem_free(outputs);
    return rc;
}

static enum rc write_rows(const struct batch *b, const char *dir, struct err *err)
{
    struct writer *w = NULL;
    char *path = fs_join(dir, EXPORT_ROWS);
    enum rc rc =
        writer_open(path, &writer_parquet, b->schema, &(struct writer_conf){0}, &w, err);
    if (!rc) {
        rc = writer_add(w, b, err);
        if (rc)
            writer_abandon(w);
        else
            rc = writer_commit(w, err);
    }
    mem_free(path);
    return rc;
}

static enum rc check_types(const struct train_session *s, const struct dataset *d,
                           struct err *err)
{
    const char *format, *path = dataset_first_file(d, &format);
    return train_columns_check(&s->columns, s->plan, dataset_schema(d),
                               reader_find(format)->text, path, err);
}

/* The first rows of the data; `a` and *data stay with the caller. */
static enum rc first_rows(const struct train_session *s,
                          const struct train_export_options *o, struct arena *a,
                          struct dataset **data, const struct batch **b, struct err *err)
{
    const struct pc_EasyRecConfig *c = s->conf;
    const char *path = o->sample_input          ? o->sample_input
                       : c->train_input_path[0] ? c->train_input_path
                                                : c->eval_input_path;
    struct dataset_conf conf;
    enum rc rc = train_source_conf(c->data_config, s->plan, path, SOURCE_PREDICT, 0,
                                   (struct train_source_share){0}, a, &conf, err);
    if (!rc)
        train_columns_conf(&s->columns, s->plan, a, &conf.reader);
    conf.batch_size = o->sample_rows;
    conf.batch_cost = 0;
    conf.threads = 0;
    if (!rc)
        rc = dataset_open(&conf, data, err);
    if (!rc)
        rc = check_types(s, *data, err);
    if (!rc)
        rc = dataset_next(*data, b, err);
    if (!rc && !*b)
        rc = err_set(err, RC_INVAL, "no rows in '%s'", path);
    if (!rc)
        return RC_OK;
    err_wrap(err, rc, "sample rows");
    err->code = E2006;
    return rc;
}

enum rc train_export_put_samples(struct train_session *s,
                                 const struct train_export_options *o, const char *dir,
                                 int64_t *rows, struct err *err)
{
    struct arena a = {0};
    struct dataset *data = NULL;
    const struct batch *b = NULL;
    struct train_scorer *scorer = NULL;
    *rows = 0;
    if (o->sample_rows == 0)
        return RC_OK;
    enum rc rc = first_rows(s, o, &a, &data, &b, err);
    if (!rc)
        rc = train_scorer_create(s, false, &scorer, err);
    if (!rc)
        rc = train_scorer_run(scorer, b, err);
    if (!rc)
        rc = put_outputs(s, dir, err);
    if (!rc && o->torchscript)
        rc = train_export_put_features(s->plan, scorer->features, dir, err);
    if (!rc)
        rc = write_rows(b, dir, err);
    if (!rc)
        rc = train_export_put_samples_json(scorer, b, dir, err);
    if (!rc)
        *rows = b->n;
    train_scorer_destroy(scorer);
    dataset_close(data);
    arena_release(&a);
    return rc;
}

static bool near(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= TOLERANCE * (1 + fabs(b));
}

/* Rows [at, at + n) of one output. */
static enum rc compare(const struct train_scorer *s, const struct ckpt_st_file *f,
                       const struct train_score_output *o, int64_t at, int64_t n,
                       struct err *err)
{
    struct buf name;
    buf_init(&name, 4096);
    buf_printf(&name, "output.%s", o->name);
    const struct ckpt_st_tensor *t = ckpt_st_find(f, str_c(buf_str(&name)));
    buf_release(&name);
    int64_t width = t ? ckpt_st_width(t) : 0; /* of all candidates of a row */
    if (!t || t->type != ST_F32 || ckpt_st_rows(t) < at + n ||
        (o->axis == AXIS_BATCH ? width != o->width : width % o->width != 0))
        return err_coded(err, RC_FORMAT, E2005, "there are no samples of output '%s'",
                         o->name);
    struct view v = train_scorer_view(s, o->name);
    const float *want = (const float *)(const void *)t->data + at * width;
    for (int64_t r = 0; r < n; r++, want += width) {
        int64_t from, to;
        train_scorer_span(s, o, r, &from, &to);
        for (int64_t k = 0; k < (to - from) * o->width; k++) {
            double is = (double)view_row(&v, from + k / o->width)[k % o->width];
            double was = k < width ? (double)want[k] : (double)NAN;
            if (!near(is, was))
                return err_coded(err, RC_FORMAT, E2005,
                                 "sample row %jd: %s is %g, was %g when it was exported",
                                 (intmax_t)(at + r), o->name, is, was);
        }
    }
    return RC_OK;
}

static enum rc check_rows(struct train_scorer *s, struct reader *rows,
                          const struct ckpt_st_file *f, struct err *err)
{
    size_t n;
    struct train_score_output *outputs = train_scorer_outputs(s->session, &n);
    struct batch b;
    int64_t at = 0;
    enum rc rc = RC_OK;
    batch_init(&b, reader_schema(rows));
    while (!rc) {
        rc = reader_next(rows, 1024, &b, err);
        if (rc || b.n == 0)
            break;
        rc = train_scorer_run(s, &b, err);
        for (size_t i = 0; i < n && !rc; i++)
            rc = compare(s, f, &outputs[i], at, b.n, err);
        at += b.n;
    }
    batch_release(&b);
    mem_free(outputs);
    return rc;
}

enum rc train_export_check_samples(struct train_session *s, const char *dir,
                                   struct err *err)
{
    char *rows_path = fs_join(dir, EXPORT_ROWS), *path = fs_join(dir, EXPORT_SAMPLES);
    struct ckpt_st_file *f = NULL;
    struct reader *rows = NULL;
    struct train_scorer *scorer = NULL;
    enum rc rc = RC_OK;
    if (fs_exists(path)) {
        rc = ckpt_st_open(path, &f, err);
        if (!rc)
            rc = reader_open(rows_path, &reader_parquet, &(struct reader_conf){0}, &rows,
                             err);
        if (!rc)
            rc = train_scorer_create(s, false, &scorer, err);
        if (!rc)
            rc = check_rows(scorer, rows, f, err);
    }
    train_scorer_destroy(scorer);
    reader_close(rows);
    ckpt_st_close(f);
    mem_free(rows_path);
    mem_free(path);
    return rc;
}
