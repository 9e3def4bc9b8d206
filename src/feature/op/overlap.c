/* SPDX-License-Identifier: Apache-2.0 */
/* overlap_feature: how much the terms of a query and a title have in common. One
 * function per method, found by name when the plan is made. Terms are compared pairwise:
 * queries and titles have tens of them. The distances of the proximity methods are those
 * of places in the title.
 */
#include <string.h>

#include "base/mem.h"
#include "feature/feature_private.h"

#define TERMS_MAX 4096 /* of one side, for the proximity measures */

/* Terms of one step. */
struct terms {
    const struct fg_cells *c;
    int64_t begin, n;
};

struct measure {
    const char *name;
    enum rc (*of)(struct fg_run *x, const struct terms *q, const struct terms *t,
                  double *out);
};

static bool same(const struct terms *a, int64_t i, const struct terms *b, int64_t k)
{
    struct cell_buf one, two;
    return str_eq(cell_text(a->c, a->begin + i, &one),
                  cell_text(b->c, b->begin + k, &two));
}

static bool occurs(const struct terms *a, int64_t i, const struct terms *in)
{
    for (int64_t k = 0; k < in->n; k++)
        if (same(a, i, in, k))
            return true;
    return false;
}

static double share(const struct terms *a, const struct terms *in)
{
    int64_t n = 0;
    for (int64_t i = 0; i < a->n; i++)
        n += occurs(a, i, in);
    return (double)n / (double)a->n;
}

static enum rc query_common_ratio(struct fg_run *x, const struct terms *q,
                                  const struct terms *t, double *out)
{
    *out = share(q, t);
    return RC_OK;
}

static enum rc title_common_ratio(struct fg_run *x, const struct terms *q,
                                  const struct terms *t, double *out)
{
    *out = share(t, q);
    return RC_OK;
}

static int64_t position(const struct terms *q, const struct terms *t)
{
    for (int64_t at = 0; at + q->n <= t->n; at++) {
        int64_t i = 0;
        while (i < q->n && same(q, i, t, at + i))
            i++;
        if (i == q->n)
            return at;
    }
    return -1;
}

static enum rc index_of(struct fg_run *x, const struct terms *q, const struct terms *t,
                        double *out)
{
    *out = (double)position(q, t);
    return RC_OK;
}

static enum rc is_contain(struct fg_run *x, const struct terms *q, const struct terms *t,
                          double *out)
{
    *out = position(q, t) >= 0;
    return RC_OK;
}

static enum rc is_equal(struct fg_run *x, const struct terms *q, const struct terms *t,
                        double *out)
{
    *out = q->n == t->n && position(q, t) == 0;
    return RC_OK;
}

/* which[i]: number of the distinct query term at place i of the title, or -1. */
static enum rc mark_title(struct fg_run *x, const struct terms *q, const struct terms *t,
                          int16_t *which, int *n_found)
{
    if (q->n > TERMS_MAX || t->n > TERMS_MAX)
        return fg_fail(x, NULL, RC_INVAL, E1320, "more than %d terms", TERMS_MAX);
    *n_found = 0;
    for (int64_t i = 0; i < t->n; i++)
        which[i] = -1;
    for (int64_t k = 0; k < q->n; k++) {
        bool found = false;
        for (int64_t i = 0; i < t->n; i++)
            if (which[i] < 0 && same(q, k, t, i)) {
                which[i] = (int16_t)*n_found;
                found = true;
            }
        *n_found += found;
    }
    return RC_OK;
}

/* The shortest stretch of the title that holds every query term found in it. */
static enum rc proximity_min_cover(struct fg_run *x, const struct terms *q,
                                   const struct terms *t, double *out)
{
    int16_t which[TERMS_MAX];
    int seen[TERMS_MAX] = {0}, n_found, have = 0;
    enum rc rc = mark_title(x, q, t, which, &n_found);
    int64_t best = 0, begin = 0;
    if (rc)
        return rc;
    for (int64_t end = 0; n_found && end < t->n; end++) {
        if (which[end] >= 0)
            have += seen[which[end]]++ == 0;
        while (have == n_found) {
            if (!best || end - begin + 1 < best)
                best = end - begin + 1;
            if (which[begin] >= 0)
                have -= --seen[which[begin]] == 0;
            begin++;
        }
    }
    *out = (double)best;
    return RC_OK;
}

/* For each pair of found terms the smallest distance of their places. */
static enum rc distances(struct fg_run *x, const struct terms *q, const struct terms *t,
                         double *least, double *most, double *mean)
{
    int16_t which[TERMS_MAX];
    int n_found;
    int64_t pairs = 0;
    double sum = 0;
    enum rc rc = mark_title(x, q, t, which, &n_found);
    *least = *most = *mean = (double)t->n + 1;
    for (int16_t a = 0; !rc && a < n_found; a++)
        for (int16_t b = (int16_t)(a + 1); b < n_found; b++) {
            int64_t last_a = -1, last_b = -1, near = t->n + 1;
            for (int64_t i = 0; i < t->n; i++) {
                last_a = which[i] == a ? i : last_a;
                last_b = which[i] == b ? i : last_b;
                int64_t d = last_a > last_b ? last_a - last_b : last_b - last_a;
                if (last_a >= 0 && last_b >= 0 && d < near)
                    near = d;
            }
            *least = pairs == 0 || (double)near < *least ? (double)near : *least;
            *most = pairs == 0 || (double)near > *most ? (double)near : *most;
            sum += (double)near;
            pairs++;
        }
    if (pairs)
        *mean = sum / (double)pairs;
    return rc;
}

static enum rc proximity_min_dist(struct fg_run *x, const struct terms *q,
                                  const struct terms *t, double *out)
{
    double most, mean;
    return distances(x, q, t, out, &most, &mean);
}

static enum rc proximity_max_dist(struct fg_run *x, const struct terms *q,
                                  const struct terms *t, double *out)
{
    double least, mean;
    return distances(x, q, t, &least, out, &mean);
}

static enum rc proximity_avg_dist(struct fg_run *x, const struct terms *q,
                                  const struct terms *t, double *out)
{
    double least, most;
    return distances(x, q, t, &least, &most, out);
}

#define MEASURE(fn) \
    {               \
#fn, fn     \
    }
static const struct measure measures[] = {
    MEASURE(query_common_ratio), MEASURE(title_common_ratio),
    MEASURE(is_contain),         MEASURE(is_equal),
    MEASURE(index_of),           MEASURE(proximity_min_cover),
    MEASURE(proximity_min_dist), MEASURE(proximity_max_dist),
    MEASURE(proximity_avg_dist),
};

static void overlap_compile(struct fg *f, struct feature_plan *p, struct diags *diags)
{
    const struct pc_OverlapFeature *m = (const void *)f->conf->msg;
    const struct measure **op = f->op = mem_calloc(1, sizeof(*op));
    for (size_t i = 0; i < ARRAY_LEN(measures); i++)
        if (strcmp(m->method, measures[i].name) == 0)
            *op = &measures[i];
    if (!*op)
        plan_report(diags, f, E1318, "method", "feature '%s': there is no method '%s'",
                    f->info.name, m->method);
    f->want = 1;
    f->in[0].form = f->in[1].form = FORM_TEXTS;
}

static enum rc overlap_step(struct fg_run *x, const struct fg_range *in)
{
    const struct measure *const *op = x->f->op;
    struct terms q = {&x->st->in[0], in[0].begin, in[0].end - in[0].begin};
    struct terms t = {&x->st->in[1], in[1].begin, in[1].end - in[1].begin};
    double v = 0;
    if (q.n == 0 || t.n == 0)
        return RC_OK;
    enum rc rc = (*op)->of(x, &q, &t, &v);
    return rc ? rc : sink_number(x, v, false);
}

static void json_write_overlap(struct fg_json *w)
{
    const struct pc_OverlapFeature *m = (const void *)w->f->msg;
    fg_json_text(w, "query", m->query);
    fg_json_text(w, "title", m->title);
    fg_json_text(w, "method", m->method);
    fg_json_text(w, "value_type", "float");
    fg_json_text(w, "separator", m->separator);
    fg_json_normalizer(w);
    fg_json_boundaries(w);
}

const struct fg_ops fg_overlap = {.compile = overlap_compile,
                                  .step = overlap_step,
                                  .release = mem_free,
                                  .json = {.write = json_write_overlap}};
