/* SPDX-License-Identifier: Apache-2.0 */
/* With G the gradients of the dense parameters, one row per loss, and c the least
 * weights: w solves (M'M) x = M z for M = [[GG', 1], [1', 0]], z = [-GG'c; 1 - sum c],
 * and is projected onto w >= 0, sum w = 1 - sum c. The weights are w + c.
 */
#include "train/pareto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define N (PARETO_MAX + 1)
#define SINGULAR 1e-12 /* of the largest pivot */

/* a x = b in place, with pivots; false when a is singular. */
static bool eliminate(double a[N][N], double *b, size_t n)
{
    double largest = 0;
    for (size_t k = 0; k < n; k++) {
        size_t pivot = k;
        for (size_t i = k + 1; i < n; i++)
            if (fabs(a[i][k]) > fabs(a[pivot][k]))
                pivot = i;
        largest = fmax(largest, fabs(a[pivot][k]));
        if (!(fabs(a[pivot][k]) > SINGULAR * largest))
            return false;
        for (size_t j = 0; j < n; j++) {
            double other = a[k][j];
            a[k][j] = a[pivot][j];
            a[pivot][j] = other;
        }
        double other = b[k];
        b[k] = b[pivot];
        b[pivot] = other;
        for (size_t i = k + 1; i < n; i++) {
            double f = a[i][k] / a[k][k];
            for (size_t j = k; j < n; j++)
                a[i][j] -= f * a[k][j];
            b[i] -= f * b[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t j = k + 1; j < n; j++)
            b[k] -= a[k][j] * b[j];
        b[k] /= a[k][k];
    }
    return true;
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The nearest point with w >= 0 and the given sum. */
static void project(double *w, size_t n, double total)
{
    double sorted[PARETO_MAX], sum = 0, shift = 0;
    memcpy(sorted, w, n * sizeof(*w));
    qsort(sorted, n, sizeof(*sorted), descending);
    for (size_t i = 0; i < n; i++) {
        sum += sorted[i];
        double t = (sum - total) / (double)(i + 1);
        if (sorted[i] - t > 0)
            shift = t;
    }
    for (size_t i = 0; i < n; i++)
        w[i] = fmax(w[i] - shift, 0);
}

void train_pareto_solve(const double *gram, const double *least, size_t n,
                        double *weights)
{
    double m[N][N] = {{0}}, mm[N][N], z[N] = {0}, b[N] = {0}, total = 1;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            m[i][j] = gram[i * n + j];
            z[i] -= gram[i * n + j] * least[j];
        }
        m[i][n] = m[n][i] = 1;
        total -= least[i];
    }
    z[n] = total;
    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; j <= n; j++) {
            mm[i][j] = 0;
            for (size_t k = 0; k <= n; k++)
                mm[i][j] += m[k][i] * m[k][j];
            b[i] += m[i][j] * z[j];
        }
    bool solved = eliminate(mm, b, n + 1);
    for (size_t i = 0; i < n; i++) {
        solved = solved && isfinite(b[i]);
        weights[i] = b[i];
    }
    for (size_t i = 0; !solved && i < n; i++)
        weights[i] = total / (double)n; /* gradients that are all alike */
    project(weights, n, total);
    for (size_t i = 0; i < n; i++)
        weights[i] += least[i];
}

struct train_pareto {
    size_t n;
    size_t loss[PARETO_MAX]; /* of the graph */
    double least[PARETO_MAX];
    int64_t floats; /* of all gradients */
    float *held;    /* those of the batches before */
    float *grads[PARETO_MAX];
};

void train_pareto_destroy(struct train_pareto *p)
{
    if (!p)
        return;
    mem_free(p->held);
    for (size_t i = 0; i < p->n; i++)
        mem_free(p->grads[i]);
    mem_free(p);
}

static enum rc allocate(struct train_pareto *p, const struct graph *g, struct err *err)
{
    size_t n;
    struct param *const *params = graph_params(g, &n);
    for (size_t i = 0; i < n; i++)
        p->floats += params[i]->grad ? params[i]->n : 0;
    p->held = mem_try_alloc((size_t)p->floats + 1, sizeof(float));
    bool good = p->held;
    for (size_t i = 0; i < p->n; i++) {
        p->grads[i] = mem_try_alloc((size_t)p->floats + 1, sizeof(float));
        good = good && p->grads[i];
    }
    return good ? RC_OK
                : err_set(err, RC_NOMEM, "no memory for the gradients of %zu losses",
                          p->n);
}

enum rc train_pareto_create(const struct model *m, struct train_pareto **out,
                            struct err *err)
{
    *out = NULL;
    if (!m->conf->model_config->use_pareto_loss_weight)
        return RC_OK;
    struct train_pareto *p = mem_calloc(1, sizeof(*p));
    for (size_t i = 0; i < m->tasks.n; i++)
        for (int64_t k = 0; !m->tasks.at[i].training && k < m->tasks.at[i].n_losses;
             k++) {
            if (p->n == PARETO_MAX) {
                train_pareto_destroy(p);
                return err_set(err, RC_UNSUPPORTED,
                               "use_pareto_loss_weight: more than %d losses", PARETO_MAX);
            }
            p->loss[p->n] = m->tasks.at[i].first_loss + (size_t)k;
            p->least[p->n++] = m->tasks.at[i].least_weight;
        }
    enum rc rc = allocate(p, m->graph, err);
    if (rc)
        train_pareto_destroy(p);
    else
        *out = p;
    return rc;
}

static void copy_grads(const struct graph *g, float *to)
{
    size_t n;
    struct param *const *params = graph_params(g, &n);
    for (size_t i = 0; i < n; i++)
        if (params[i]->grad) {
            param_get_grad(params[i], to);
            to += params[i]->n;
        }
}

static void restore_grads(const struct graph *g, const float *from)
{
    size_t n;
    struct param *const *params = graph_params(g, &n);
    for (size_t i = 0; i < n; i++)
        if (params[i]->grad) {
            param_set_grad(params[i], from);
            from += params[i]->n;
        }
}

static double product(const float *a, const float *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

void train_pareto_seed(struct train_pareto *p, struct graph *g, float scale)
{
    double gram[PARETO_MAX * PARETO_MAX], weights[PARETO_MAX];
    copy_grads(g, p->held);
    for (size_t k = 0; k < p->n; k++) {
        for (size_t i = 0; i < graph_n_losses(g); i++)
            graph_seed(g, i, i == p->loss[k] ? 1.0f : 0.0f);
        graph_backward(g, true);
        copy_grads(g, p->grads[k]);
    }
    restore_grads(g, p->held);
    for (size_t i = 0; i < p->n; i++)
        for (size_t j = 0; j <= i; j++)
            gram[i * p->n + j] = gram[j * p->n + i] =
                product(p->grads[i], p->grads[j], p->floats);
    train_pareto_solve(gram, p->least, p->n, weights);
    for (size_t i = 0; i < graph_n_losses(g); i++)
        graph_seed(g, i, scale);
    for (size_t k = 0; k < p->n; k++)
        graph_seed(g, p->loss[k], (float)weights[k] * scale);
}
