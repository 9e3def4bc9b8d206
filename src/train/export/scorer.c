/* SPDX-License-Identifier: Apache-2.0 */
#include "train/export/scorer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum rc train_scorer_create(struct train_session *s, bool share,
                            struct train_scorer **out, struct err *err)
{
    struct train_scorer *x = mem_calloc(1, sizeof(*x));
    x->session = s;
    if (share) {
        enum rc rc = train_session_share(s, &x->session, err);
        if (rc) {
            mem_free(x);
            return rc;
        }
    }
    x->own = share;
    x->scratch = feature_scratch_create(s->plan);
    x->features = feature_batch_create(s->plan);
    x->outputs = train_scorer_outputs(x->session, &x->n_outputs);
    x->views = mem_calloc(x->n_outputs + 1, sizeof(*x->views));
    *out = x;
    return RC_OK;
}

void train_scorer_destroy(struct train_scorer *s)
{
    if (!s)
        return;
    feature_batch_destroy(s->features);
    feature_scratch_destroy(s->scratch);
    mem_free(s->outputs);
    mem_free(s->views);
    if (s->own)
        train_session_destroy(s->session);
    mem_free(s);
}

/* Copies that failed are told by the wait behind them. */
static enum rc read_outputs(struct train_scorer *s, struct err *err)
{
    struct graph *g = s->session->model->graph;
    for (size_t i = 0; i < s->n_outputs; i++)
        s->views[i] = graph_read(g, s->outputs[i].val);
    return graph_wait(g, err);
}

enum rc train_scorer_run(struct train_scorer *s, const struct batch *rows,
                         struct err *err)
{
    double loss;
    enum rc rc = feature_run(s->session->plan, s->scratch, rows, NULL, s->features, err);
    if (!rc)
        rc = train_session_forward(s->session, s->features, false, &loss, err);
    return rc ? rc : read_outputs(s, err);
}

struct view train_scorer_view(const struct train_scorer *s, const char *output)
{
    for (size_t i = 0; i < s->n_outputs; i++)
        if (strcmp(s->outputs[i].name, output) == 0)
            return s->views[i];
    return (struct view){0};
}

static int by_name(const void *x, const void *y)
{
    const struct train_score_output *a = x, *b = y;
    return strcmp(a->name, b->name);
}

void train_scorer_span(const struct train_scorer *s, const struct train_score_output *o,
                       int64_t row, int64_t *from, int64_t *to)
{
    const int64_t *at = graph_batch_rows(s->session->model->graph)->offsets[o->axis];
    *from = o->axis == AXIS_BATCH ? row : at[row];
    *to = o->axis == AXIS_BATCH ? row + 1 : at[row + 1];
}

/* Whether an axis has a label of its own: that of candidates. */
static bool has_task(const struct model *m, int axis)
{
    for (size_t i = 0; i < m->tasks.n; i++)
        if (m->tasks.at[i].axis == axis && m->tasks.at[i].labels)
            return true;
    return false;
}

struct train_score_output *train_scorer_outputs(const struct train_session *s, size_t *n)
{
    const struct graph *g = s->model->graph;
    struct train_score_output *out =
        mem_calloc(graph_n_outputs(g) + 1, sizeof(struct train_score_output));
    *n = 0;
    for (size_t i = 0; i < graph_n_outputs(g); i++) {
        const char *name = graph_output_name(g, i);
        struct nn_val *v = graph_output(g, name);
        int axis = nn_val_shape(v)->axis;
        bool item = axis == s->model->match.items; /* nothing is sampled: one per row */
        if (axis == AXIS_BATCH || item || has_task(s->model, axis))
            out[(*n)++] =
                (struct train_score_output){.name = name,
                                            .val = v,
                                            .width = nn_shape_width(nn_val_shape(v)),
                                            .axis = axis,
                                            .whole = graph_output_whole(g, i)};
    }
    qsort(out, *n, sizeof(*out), by_name);
    return out;
}
