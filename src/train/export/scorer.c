/* SPDX-License-Identifier: Apache-2.0 */
#include "train/export/scorer.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum rc scorer_create(struct session *s, bool share, struct scorer **out, struct err *err)
{
    struct scorer *x = mem_calloc(1, sizeof(*x));
    x->session = s;
    if (share) {
        enum rc rc = session_share(s, &x->session, err);
        if (rc) {
            mem_free(x);
            return rc;
        }
    }
    x->own = share;
    x->scratch = feature_scratch_create(s->plan);
    x->features = feature_batch_create(s->plan);
    *out = x;
    return RC_OK;
}

void scorer_destroy(struct scorer *s)
{
    if (!s)
        return;
    feature_batch_destroy(s->features);
    feature_scratch_destroy(s->scratch);
    if (s->own)
        session_destroy(s->session);
    mem_free(s);
}

enum rc scorer_run(struct scorer *s, const struct batch *rows, struct err *err)
{
    double loss;
    enum rc rc = feature_run(s->session->plan, s->scratch, rows, NULL, s->features, err);
    if (!rc)
        rc = session_forward(s->session, s->features, false, &loss, err);
    return rc;
}

struct view scorer_view(const struct scorer *s, const char *output)
{
    struct graph *g = s->session->model->graph;
    return graph_read(g, graph_output(g, output));
}

static int by_name(const void *x, const void *y)
{
    const struct score_output *a = x, *b = y;
    return strcmp(a->name, b->name);
}

struct score_output *scorer_outputs(const struct session *s, size_t *n)
{
    const struct graph *g = s->model->graph;
    struct score_output *out =
        mem_calloc(graph_n_outputs(g) + 1, sizeof(struct score_output));
    *n = 0;
    for (size_t i = 0; i < graph_n_outputs(g); i++) {
        const char *name = graph_output_name(g, i);
        struct val *v = graph_output(g, name);
        if (val_shape(v)->axis == AXIS_BATCH)
            out[(*n)++] = (struct score_output){
                .name = name, .val = v, .width = shape_width(val_shape(v))};
    }
    qsort(out, *n, sizeof(*out), by_name);
    return out;
}
