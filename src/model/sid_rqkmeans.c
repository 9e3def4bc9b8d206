/* SPDX-License-Identifier: Apache-2.0 */
/* Residual k-means: training only collects a uniform sample of the items' vectors; at its end
 * each layer's codes are the centres of what the layers before leave of the sample. Neither
 * trains anything by gradients: the loss is 0.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "model/parts.h"
#include "nn/op/reservoir.h"
#include "recall/kmeans.h"

#define MAX_POINTS 256 /* per centre, as FAISS has it */
#define ITERATIONS 25
#define SEED 1234

static int64_t largest(const struct pc_SidRqkmeans *c)
{
    uint32_t most = 1;
    for (int64_t i = 0; i < c->n_codebook; i++)
        most = c->codebook[i] > most ? c->codebook[i] : most;
    return most;
}

static int64_t sample_size(const struct pc_SidRqkmeans *c)
{
    const struct pc_FaissKmeansConfig *k = c->faiss_kmeans_kwargs;
    int64_t points = k && k->has_max_points_per_centroid
                         ? (int64_t)k->max_points_per_centroid
                         : MAX_POINTS;
    return c->train_sample_size ? (int64_t)c->train_sample_size : largest(c) * points;
}

static void sid_rqkmeans_build(struct model *m)
{
    const struct pc_SidRqkmeans *c = (const void *)m->message;
    struct part_sid_conf conf = {.codebook = c->codebook,
                                 .layers = c->n_codebook,
                                 .normalise = c->normalize_residuals,
                                 .candidates = c->candidate_output_config};
    struct group first;
    struct part_sid_walk w;
    m->one_shard = "sid_rqkmeans";
    if (!part_first_group(m, &first))
        return;
    struct nn_val *x = nn_stop_gradient(m->graph, first.deep);
    if (!part_sid_walk(m, &conf, x, &w))
        return;
    nn_loss(m->graph, "dummy_loss",
            nn_reservoir(m->graph, "_reservoir", x, sample_size(c)));
    head_sid(m, &conf, &w, w.latents[conf.layers - 1], x);
}

/* The fit of all layers on a sample, which is used up. */
struct fit {
    const struct pc_SidRqkmeans *c;
    struct model *m;
    float *x, *chosen; /* [n][d]: what is left; the points that a layer is fitted to */
    int32_t *nearest;
    int64_t n, d;
};

static void unit_rows(struct fit *f, float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double size = 0;
        for (int64_t k = 0; k < f->d; k++)
            size += (double)x[i * f->d + k] * (double)x[i * f->d + k];
        size = sqrt(size) > 1e-12 ? sqrt(size) : 1e-12;
        for (int64_t k = 0; k < f->d; k++)
            x[i * f->d + k] = (float)((double)x[i * f->d + k] / size);
    }
}

/* At most so many points per centre, evenly over the sample. */
static int64_t choose_points(const struct fit *f, int64_t k, int64_t most)
{
    int64_t n = f->n < k * most ? f->n : k * most;
    for (int64_t i = 0; i < n; i++)
        memcpy(f->chosen + i * f->d, f->x + i * f->n / n * f->d,
               (size_t)f->d * sizeof(float));
    return n;
}

static double error_of(const struct fit *f, const float *centres, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < f->d; k++) {
            double v = (double)f->chosen[i * f->d + k] -
                       (double)centres[f->nearest[i] * f->d + k];
            sum += v * v;
        }
    return sum;
}

/* The best of `nredo` runs into centres[k][d]. */
static enum rc fit_layer(struct fit *f, int64_t layer, float *centres, float *try,
                         struct err *err)
{
    const struct pc_FaissKmeansConfig *o = f->c->faiss_kmeans_kwargs;
    int64_t k = f->c->codebook[layer];
    int64_t most = o && o->has_max_points_per_centroid
                       ? (int64_t)o->max_points_per_centroid
                       : MAX_POINTS;
    int64_t runs = o && o->has_nredo && o->nredo > 1 ? (int64_t)o->nredo : 1;
    int64_t n = choose_points(f, k, most > 0 ? most : 1);
    double best = INFINITY;
    for (int64_t i = 0; i < runs; i++) {
        struct kmeans_conf conf = {.k = k,
                                   .iterations =
                                       o && o->has_niter ? (int64_t)o->niter : ITERATIONS,
                                   .seed = o && o->has_seed ? o->seed : SEED,
                                   .stream = (uint64_t)(layer * 1024 + i),
                                   .pool = f->m->options.graph.pool};
        enum rc rc = kmeans(f->chosen, n, f->d, &conf, try, f->nearest, err);
        if (rc)
            return rc;
        if (o && o->spherical)
            unit_rows(f, try, k);
        double error = error_of(f, try, n);
        if (error < best)
            memcpy(centres, try, (size_t)(k * f->d) * sizeof(float));
        best = error < best ? error : best;
    }
    return RC_OK;
}

/* What is left of all points when the layer's codes are taken away. */
static enum rc take_layer(struct fit *f, const float *centres, int64_t k, struct err *err)
{
    enum rc rc = kmeans_nearest(f->x, f->n, f->d, centres, k, f->m->options.graph.pool,
                                f->nearest, err);
    for (int64_t i = 0; i < f->n && !rc; i++)
        for (int64_t j = 0; j < f->d; j++)
            f->x[i * f->d + j] -= centres[f->nearest[i] * f->d + j];
    return rc;
}

static enum rc fit_layers(struct fit *f, struct err *err)
{
    float *try = mem_try_alloc((size_t)(largest(f->c) * f->d), sizeof(float));
    enum rc rc = try ? RC_OK : err_set(err, RC_NOMEM, "no memory for centres");
    for (int64_t i = 0; i < f->c->n_codebook && !rc; i++) {
        struct param *p =
            graph_param(f->m->graph, arena_printf(&f->m->arena,
                                                  "model._quantizer.layers.%jd.centroids",
                                                  (intmax_t)i));
        if (f->c->normalize_residuals)
            unit_rows(f, f->x, f->n);
        float *centres = param_write_begin(p);
        rc = fit_layer(f, i, centres, try, err);
        if (!rc)
            rc = take_layer(f, centres, f->c->codebook[i], err);
        param_write_end(p);
        p = graph_param(f->m->graph,
                        arena_printf(&f->m->arena,
                                     "model._quantizer.layers.%jd._is_initialized",
                                     (intmax_t)i));
        param_set(p, &(const float){1});
    }
    mem_free(try);
    return rc;
}

static enum rc sid_rqkmeans_settle(struct model *m, bool last, struct err *err)
{
    const struct pc_SidRqkmeans *c = (const void *)m->message;
    struct param *rows = graph_param(m->graph, "model._reservoir.rows");
    struct param *seen = graph_param(m->graph, "model._reservoir.seen");
    if (!rows || !seen)
        return RC_OK;
    int64_t n = op_reservoir_seen(param_read(seen)), d = rows->dims[1];
    n = n < rows->dims[0] ? n : rows->dims[0];
    if (n < largest(c) && !last)
        return RC_OK; /* there may be more */
    if (n < largest(c))
        return err_coded(err, RC_INVAL, E0395,
                         "%jd rows were seen, fewer than the %jd codes of a layer",
                         (intmax_t)n, (intmax_t)largest(c));
    if (last)
        return RC_OK; /* done before the last checkpoint */
    struct fit f = {.c = c, .m = m, .n = n, .d = d};
    f.x = mem_try_alloc((size_t)(n * d), sizeof(float));
    f.chosen = mem_try_alloc((size_t)(n * d), sizeof(float));
    f.nearest = mem_try_alloc((size_t)n, sizeof(*f.nearest));
    enum rc rc = f.x && f.chosen && f.nearest
                     ? RC_OK
                     : err_set(err, RC_NOMEM, "no memory for %jd points", (intmax_t)n);
    if (!rc) {
        memcpy(f.x, param_read(rows), (size_t)(n * d) * sizeof(float));
        rc = fit_layers(&f, err);
    }
    mem_free(f.x);
    mem_free(f.chosen);
    mem_free(f.nearest);
    return rc;
}

const struct model_ops model_sid_rqkmeans = {
    .name = "sid_rqkmeans",
    .build = sid_rqkmeans_build,
    .settle = sid_rqkmeans_settle,
};
