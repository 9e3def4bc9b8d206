/* SPDX-License-Identifier: Apache-2.0 */
/* How the CPU finds codes (op/codes.c says what they are). Balancing needs all rows, so the
 * choice is made in sync_forward: distances of all rows to all codes by one product with the
 * packed codebook, then per row the nearest code, a drawn one, or the one that Sinkhorn's
 * balancing gives. Rows keep their distances (or, drawn, the softmax that the gradient goes by)
 * and behind them the code. Sums over rows run in the order of fixed parts of them, whatever
 * the number of threads.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "nn/cpu/cpu.h"
#include "nn/op/codes.h"
#include "recall/kmeans.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

#define ROWS_GRAIN 64
#define NORM_EPS 1e-12
#define SINKHORN_EPS 1e-8
#define START_ITERATIONS 10
#define START_SEED 123
#define PARTS_MAX 256
#define RESTART_STREAM 0x64656164
#define COUNT_MAX 16777216.0f

struct code_state {
    struct gemm_weight *packed;
    float *book;   /* [k][d]: as packed, rows of length 1 for the cosine */
    double *sizes; /* [k]: |e|^2 of the codes; with the cosine 1 / |e| */
    double *sums;  /* [PARTS_MAX + 1][k]: of parts of the rows; factors of the codes */
};

static void code_teardown(void *state)
{
    struct code_state *s = state;
    if (!s)
        return;
    gemm_weight_destroy(s->packed);
    mem_free(s->book);
    mem_free(s->sizes);
    mem_free(s->sums);
    mem_free(s);
}

static enum rc code_setup(const void *conf, const struct nn_shape *in,
                          const struct nn_shape *out, bool training, void **state,
                          struct err *err)
{
    const struct op_code_conf *c = conf;
    struct code_state *s = mem_calloc(1, sizeof(*s));
    enum rc rc = gemm_weight_create(c->k, c->d, GEMM_F32, false, &s->packed, err);
    s->book = mem_try_alloc((size_t)(c->k * c->d), sizeof(float));
    s->sizes = mem_try_alloc((size_t)c->k, sizeof(double));
    s->sums =
        mem_try_calloc((size_t)(training ? (PARTS_MAX + 1) * c->k : 1), sizeof(double));
    if (!rc && (!s->book || !s->sizes || !s->sums))
        rc = err_set(err, RC_NOMEM, "no memory for %jd codes", (intmax_t)c->k);
    if (rc)
        code_teardown(s);
    else
        *state = s;
    return rc;
}

/* --- the start from the centres of a batch --- */

static void start_codes(const struct op_run *r)
{
    const struct op_code_conf *c = r->conf;
    struct view x = r->in[0];
    int64_t k = c->k < x.rows ? c->k : x.rows;
    float *rows = mem_try_alloc((size_t)(x.rows * c->d + 1), sizeof(float));
    int32_t *nearest = mem_try_alloc((size_t)x.rows + 1, sizeof(*nearest));
    struct kmeans_conf conf = {.k = k,
                               .iterations = START_ITERATIONS,
                               .seed = START_SEED,
                               .stream = r->id,
                               .pool = r->env->pool};
    for (int64_t i = 0; rows && i < x.rows; i++)
        memcpy(rows + i * c->d, view_row(&x, i), (size_t)c->d * sizeof(float));
    if (rows && nearest && k > 0)
        (void)!kmeans(rows, x.rows, c->d, &conf, r->params[CODE_BOOK]->value, nearest,
                      NULL);
    mem_free(rows);
    mem_free(nearest);
}

/* --- codes that nobody takes --- */

/* Codes that went without rows for too long become rows of this batch, one each as far as
 * there are any.
 */
static void restart_codes(const struct op_run *r)
{
    const struct op_code_conf *c = r->conf;
    float *unused = r->params[CODE_UNUSED]->value;
    int64_t rows = r->in[0].rows, n = 0;
    struct rng rng;
    if (rows == 0)
        return;
    rng_init(&rng, r->env->seed, r->id + 1, r->env->step, RESTART_STREAM);
    int64_t first = (int64_t)rng_below(&rng, (uint64_t)rows);
    for (int64_t k = 0; k < c->k; k++) {
        if (unused[k] < (float)c->c.restart)
            continue;
        memcpy(r->params[CODE_BOOK]->value + k * c->d,
               view_row(&r->in[0], (first + n++) % rows), (size_t)c->d * sizeof(float));
        unused[k] = 0;
    }
}

static int64_t code_of(const struct op_run *r, int64_t row)
{
    const struct op_code_conf *c = r->conf;
    return (int64_t)view_row(&r->keep, row)[c->k];
}

static void count_unused(const struct op_run *r)
{
    const struct op_code_conf *c = r->conf;
    float *unused = r->params[CODE_UNUSED]->value;
    for (int64_t k = 0; k < c->k; k++) /* whole numbers, exact as floats */
        unused[k] += unused[k] < COUNT_MAX ? 1 : 0;
    for (int64_t i = 0; i < r->in[0].rows; i++)
        unused[code_of(r, i)] = 0;
}

/* --- distances --- */

static void pack_codes(const struct op_run *r)
{
    const struct op_code_conf *c = r->conf;
    struct code_state *s = r->state;
    const float *book = r->params[CODE_BOOK]->value;
    for (int64_t k = 0; k < c->k; k++) {
        double size = kernels()->sum_squares(book + k * c->d, c->d);
        double root = sqrt(size);
        s->sizes[k] = c->c.cosine ? 1.0 / (root > NORM_EPS ? root : NORM_EPS) : size;
        kernels()->times(s->book + k * c->d, c->c.cosine ? (float)s->sizes[k] : 1.0f,
                         book + k * c->d, c->d);
    }
    gemm_pack(s->packed, s->book);
}

static double unit_of(const float *x, int64_t n)
{
    double root = sqrt(kernels()->sum_squares(x, n));
    return 1.0 / (root > NORM_EPS ? root : NORM_EPS);
}

static void measure_rows(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    const struct op_code_conf *c = r->conf;
    const struct code_state *s = r->state;
    struct view keep = view_rows(&r->keep, begin, end);
    keep.width = c->k;
    gemm_forward(s->packed, view_rows(&r->in[0], begin, end), NULL, GEMM_ACT_NONE, keep);
    for (int64_t i = begin; i < end; i++) {
        const float *x = view_row(&r->in[0], i);
        float *d = view_row(&r->keep, i);
        double own = c->c.cosine ? -unit_of(x, c->d) : kernels()->sum_squares(x, c->d);
        for (int64_t k = 0; k < c->k; k++)
            d[k] = (float)(c->c.cosine ? own * (double)d[k]
                                       : own + s->sizes[k] - 2.0 * (double)d[k]);
    }
}

static void choose_nearest(const struct op_run *r, int64_t row)
{
    const struct op_code_conf *c = r->conf;
    float *d = view_row(&r->keep, row);
    int64_t best = 0;
    for (int64_t k = 1; k < c->k; k++)
        best = d[k] < d[best] ? k : best;
    d[c->k] = (float)best;
}

static void nearest_rows(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    for (int64_t i = begin; i < end; i++)
        choose_nearest(arg, i);
}

/* --- drawn codes --- */

/* Distances become the softmax of -d + noise; the code is its largest. */
static void draw_rows(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    const struct op_code_conf *c = r->conf;
    for (int64_t i = begin; i < end; i++) {
        float *d = view_row(&r->keep, i);
        struct rng rng;
        rng_init(&rng, r->env->seed, r->id + 1, r->env->step, (uint64_t)i);
        for (int64_t k = 0; k < c->k; k++) {
            double u = rng_f64(&rng);
            d[k] = (float)(-(double)d[k] - log(-log(u > 0 ? u : DBL_MIN)));
        }
        int64_t best = 0;
        for (int64_t k = 1; k < c->k; k++)
            best = d[k] > d[best] ? k : best;
        kernels()->softmax(d, d, c->k, c->k);
        d[c->k] = (float)best;
    }
}

/* --- balanced codes --- */

/* A pass over all rows in at most PARTS_MAX parts. */
struct balance {
    const struct op_run *r;
    double mean, deviation;
    float least;
    float leasts[PARTS_MAX];
    double parts[PARTS_MAX];
};

static double *part_of(const struct op_run *r, int64_t part)
{
    const struct op_code_conf *c = r->conf;
    return ((struct code_state *)r->state)->sums + part * c->k;
}

static int64_t part_rows(const struct op_run *r)
{
    int64_t least = (r->in[0].rows + PARTS_MAX - 1) / PARTS_MAX;
    return least > ROWS_GRAIN ? least : ROWS_GRAIN;
}

static double sum_rows(void *arg, int64_t begin, int64_t end)
{
    const struct balance *b = arg;
    const struct op_code_conf *c = b->r->conf;
    double sum = 0;
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = 0; k < c->k; k++)
            sum += (double)view_row(&b->r->keep, i)[k];
    return sum;
}

static double square_rows(void *arg, int64_t begin, int64_t end)
{
    const struct balance *b = arg;
    const struct op_code_conf *c = b->r->conf;
    double sum = 0;
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = 0; k < c->k; k++) {
            double v = (double)view_row(&b->r->keep, i)[k] - b->mean;
            sum += v * v;
        }
    return sum;
}

static void least_part(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    struct balance *b = arg;
    const struct op_code_conf *c = b->r->conf;
    float least = INFINITY;
    for (int64_t i = begin; i < end; i++)
        for (int64_t k = 0; k < c->k; k++) {
            float v = view_row(&b->r->keep, i)[k];
            least = v < least ? v : least;
        }
    b->leasts[chunk] = least;
}

/* Mean, deviation and least of all distances. */
static void take_moments(struct balance *b)
{
    const struct op_run *r = b->r;
    const struct op_code_conf *c = r->conf;
    int64_t rows = r->in[0].rows, grain = part_rows(r);
    double n = (double)(rows * c->k);
    b->mean = pool_sum(r->env->pool, rows, grain, sum_rows, b, b->parts) / n;
    b->deviation =
        sqrt(pool_sum(r->env->pool, rows, grain, square_rows, b, b->parts) / n);
    pool_for(r->env->pool, rows, grain, least_part, b);
    b->least = INFINITY;
    for (int64_t p = 0; p < pool_chunks(rows, grain); p++)
        b->least = b->leasts[p] < b->least ? b->leasts[p] : b->least;
}

/* Distances become exp(-sharpness * (d - least) / deviation), summed per code. */
static void exp_part(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct balance *b = arg;
    const struct op_code_conf *c = b->r->conf;
    double scale = -(double)c->c.sharpness / (b->deviation + 1e-12);
    double *sums = part_of(b->r, chunk);
    memset(sums, 0, (size_t)c->k * sizeof(*sums));
    for (int64_t i = begin; i < end; i++) {
        float *q = view_row(&b->r->keep, i);
        for (int64_t k = 0; k < c->k; k++)
            q[k] = (float)(scale * ((double)q[k] - (double)b->least));
        kernels()->exp(q, q, c->k);
        for (int64_t k = 0; k < c->k; k++)
            sums[k] += (double)q[k];
    }
}

/* One round: codes are scaled by their factors, then rows to 1 / rows; the sums of codes
 * for the next one.
 */
static void round_part(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct balance *b = arg;
    const struct op_code_conf *c = b->r->conf;
    const double *factors = part_of(b->r, PARTS_MAX);
    double *sums = part_of(b->r, chunk), rows = (double)b->r->in[0].rows;
    memset(sums, 0, (size_t)c->k * sizeof(*sums));
    for (int64_t i = begin; i < end; i++) {
        float *q = view_row(&b->r->keep, i);
        double own = 0;
        for (int64_t k = 0; k < c->k; k++) {
            q[k] = (float)((double)q[k] * factors[k]);
            own += (double)q[k];
        }
        double by = 1.0 / (own + SINKHORN_EPS) / rows;
        for (int64_t k = 0; k < c->k; k++) {
            q[k] = (float)((double)q[k] * by);
            sums[k] += (double)q[k];
        }
    }
}

/* The factors of the next round from the sums of the parts, which count `scale`. */
static void code_factors(const struct op_run *r, double scale)
{
    const struct op_code_conf *c = r->conf;
    int64_t parts = pool_chunks(r->in[0].rows, part_rows(r));
    double *factors = part_of(r, PARTS_MAX);
    for (int64_t k = 0; k < c->k; k++) {
        double sum = 0;
        for (int64_t p = 0; p < parts; p++)
            sum += part_of(r, p)[k];
        factors[k] = scale / (scale * sum + SINKHORN_EPS) / (double)c->k;
    }
}

static double total_of(const struct op_run *r)
{
    const struct op_code_conf *c = r->conf;
    double sum = 0;
    for (int64_t p = 0; p < pool_chunks(r->in[0].rows, part_rows(r)); p++)
        for (int64_t k = 0; k < c->k; k++)
            sum += part_of(r, p)[k];
    return sum;
}

static void largest_rows(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    const struct op_code_conf *c = r->conf;
    for (int64_t i = begin; i < end; i++) {
        float *q = view_row(&r->keep, i);
        int64_t best = 0;
        for (int64_t k = 1; k < c->k; k++)
            best = q[k] > q[best] ? k : best;
        q[c->k] = (float)best;
    }
}

static void balance_codes(const struct op_run *r)
{
    const struct op_code_conf *c = r->conf;
    struct balance b = {.r = r};
    struct op_run copy = *r;
    int64_t rows = r->in[0].rows, grain = part_rows(r);
    take_moments(&b);
    pool_for(r->env->pool, rows, grain, exp_part, &b);
    double scale = 1.0 / (total_of(r) + SINKHORN_EPS);
    for (uint32_t i = 0; i < c->c.sinkhorn_iterations; i++, scale = 1.0) {
        code_factors(r, scale);
        pool_for(r->env->pool, rows, grain, round_part, &b);
    }
    pool_for(r->env->pool, rows, grain, largest_rows, &copy);
}

/* --- the op --- */

static void code_sync_forward(const struct op_run *r)
{
    const struct op_code_conf *c = r->conf;
    struct op_run copy = *r;
    float *started = r->params[CODE_STARTED]->value;
    if (r->env->training && c->c.starts && *started == 0.0f) {
        start_codes(r);
        *started = c->c.last ? 1.0f : 0.0f;
    }
    bool restarts = r->env->training && r->n_params > CODE_UNUSED;
    if (restarts)
        restart_codes(r);
    pack_codes(r);
    pool_for(r->env->pool, r->in[0].rows, ROWS_GRAIN, measure_rows, &copy);
    if (r->env->training && c->c.gumbel)
        pool_for(r->env->pool, r->in[0].rows, ROWS_GRAIN, draw_rows, &copy);
    else if (r->env->training && c->c.sinkhorn_iterations > 0 && r->in[0].rows > 0)
        balance_codes(r);
    else
        pool_for(r->env->pool, r->in[0].rows, ROWS_GRAIN, nearest_rows, &copy);
    if (restarts)
        count_unused(r);
}

static void code_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_code_conf *c = r->conf;
    const float *book = r->params[CODE_BOOK]->value;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t i = from; i < to; i++) {
        memcpy(view_row(&r->out[0], i), book + code_of(r, i) * c->d,
               (size_t)c->d * sizeof(float));
        *view_row(&r->out[1], i) = (float)code_of(r, i);
    }
}

/* What a drawn row's distance to code k gets: minus the softmax's gradient. The weights' own
 * gradients are dots of dy and the codes, of which `mean` is the mean by the softmax.
 */
static double slope_of(const struct op_run *r, int64_t row, int64_t k, double mean)
{
    const struct op_code_conf *c = r->conf;
    double dot = (double)kernels()->dot(view_row(&r->d_out[0], row),
                                        r->params[CODE_BOOK]->value + k * c->d, c->d);
    return -(double)view_row(&r->keep, row)[k] * (dot - mean);
}

static double mean_dot(const struct op_run *r, int64_t row)
{
    const struct op_code_conf *c = r->conf;
    double mean = 0;
    for (int64_t k = 0; k < c->k; k++)
        mean += (double)view_row(&r->keep, row)[k] *
                (double)kernels()->dot(view_row(&r->d_out[0], row),
                                       r->params[CODE_BOOK]->value + k * c->d, c->d);
    return mean;
}

/* y += slope * the derivative of the distance of a and b by a. */
static void add_slope(const struct op_code_conf *c, const float *a, const float *b,
                      double slope, float *y)
{
    if (!c->c.cosine) {
        kernels()->axpy(y, (float)(2 * slope), a, c->d);
        kernels()->axpy(y, (float)(-2 * slope), b, c->d);
        return;
    }
    double one_a = unit_of(a, c->d), one_b = unit_of(b, c->d);
    double cosine = (double)kernels()->dot(a, b, c->d) * one_a * one_b;
    kernels()->axpy(y, (float)(-slope * one_a * one_b), b, c->d);
    kernels()->axpy(y, (float)(slope * cosine * one_a * one_a), a, c->d);
}

static void code_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_code_conf *c = r->conf;
    int64_t from, to;
    if (!r->d_in[0].data || !c->c.gumbel || !r->env->training)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t i = from; i < to; i++) {
        double mean = mean_dot(r, i);
        for (int64_t k = 0; k < c->k; k++)
            add_slope(c, view_row(&r->in[0], i), r->params[CODE_BOOK]->value + k * c->d,
                      slope_of(r, i, k, mean), view_row(&r->d_in[0], i));
    }
}

/* Codes [begin, end), over all rows in their order. */
static void drawn_grads(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    const struct op_code_conf *c = r->conf;
    for (int64_t i = 0; i < r->in[0].rows; i++) {
        double mean = mean_dot(r, i);
        for (int64_t k = begin; k < end; k++)
            add_slope(c, r->params[CODE_BOOK]->value + k * c->d, view_row(&r->in[0], i),
                      slope_of(r, i, k, mean), r->params[CODE_BOOK]->grad + k * c->d);
    }
}

static void code_grads(const struct op_run *r)
{
    const struct op_code_conf *c = r->conf;
    struct op_run copy = *r;
    float *grad = r->params[CODE_BOOK]->grad;
    if (!grad)
        return;
    for (int64_t i = 0; i < r->in[0].rows; i++)
        kernels()->add(grad + code_of(r, i) * c->d, view_row(&r->d_out[0], i), c->d);
    if (c->c.gumbel && r->env->training)
        pool_for(r->env->pool, c->k, (c->k + 15) / 16, drawn_grads, &copy);
}

const struct nn_cpu_op nn_cpu_nearest_code = {
    .setup = code_setup,
    .teardown = code_teardown,
    .sync_forward = code_sync_forward,
    .forward = code_forward,
    .backward = code_backward,
    .grads = code_grads,
};

/* --- candidates --- */

static double far_of(const struct op_candidates_conf *c, const float *x, const float *e)
{
    double sum = 0;
    if (c->cosine)
        return -(double)kernels()->dot(x, e, c->d) * unit_of(x, c->d) * unit_of(e, c->d);
    for (int64_t i = 0; i < c->d; i++) {
        double v = (double)x[i] - (double)e[i];
        sum += v * v;
    }
    return sum;
}

/* The nearest codes in their order, each put into its place among those found so far. */
static void candidates_row(const struct op_run *r, int64_t row)
{
    const struct op_candidates_conf *c = r->conf;
    const float *x = view_row(&r->in[0], row), *codes = view_row(&r->in[1], row);
    float *y = view_row(&r->out[0], row), *far = view_row(&r->out[1], row);
    int64_t n = 0;
    for (int64_t k = 0; k < c->k; k++) {
        float d = (float)far_of(c, x, r->params[0]->value + k * c->d);
        int64_t at = n < c->top ? n : c->top - 1;
        if (n == c->top && !(d < far[at]))
            continue;
        for (; at > 0 && d < far[at - 1]; at--) {
            far[at] = far[at - 1];
            y[at * c->layers + c->layers - 1] = y[(at - 1) * c->layers + c->layers - 1];
        }
        far[at] = d;
        y[at * c->layers + c->layers - 1] = (float)k;
        n += n < c->top;
    }
    for (int64_t k = 0; k < c->top; k++)
        memcpy(y + k * c->layers, codes, (size_t)(c->layers - 1) * sizeof(float));
}

static void candidates_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t i = from; i < to; i++)
        candidates_row(r, i);
}

const struct nn_cpu_op nn_cpu_code_candidates = {.forward = candidates_forward};

/* --- gradients past the choice --- */

#define ROTATE_EPS 1e-8

static void through_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_through_conf *c = r->conf;
    int64_t from, to, n = r->in[0].width;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t i = from; i < to; i++) {
        memcpy(view_row(&r->out[0], i), view_row(&r->in[1], i),
               (size_t)n * sizeof(float));
        for (int k = 0; c->rotate && k < 2; k++)
            view_row(&r->keep, i)[k] =
                (float)sqrt(kernels()->sum_squares(view_row(&r->in[k], i), n));
    }
}

/* With unit vectors u of x and v of z, m of u + v: dx += l (d - 2 (d.m) m + 2 (d.v) u), l being
 * |z| / |x|.
 */
static void rotate_back(const struct op_run *r, int64_t row)
{
    int64_t n = r->in[0].width;
    const float *x = view_row(&r->in[0], row), *z = view_row(&r->in[1], row);
    const float *d = view_row(&r->d_out[0], row), *sizes = view_row(&r->keep, row);
    float *dx = view_row(&r->d_in[0], row);
    double u = 1 / ((double)sizes[0] + ROTATE_EPS),
           v = 1 / ((double)sizes[1] + ROTATE_EPS);
    double length = 0, along = 0, l = (double)sizes[1] * u;
    for (int64_t k = 0; k < n; k++) {
        double m = (double)x[k] * u + (double)z[k] * v;
        length += m * m;
        along += m * (double)d[k];
    }
    length = length > NORM_EPS * NORM_EPS ? length : NORM_EPS * NORM_EPS;
    double to_z = (double)kernels()->dot(d, z, n) * v;
    for (int64_t k = 0; k < n; k++) {
        double m = (double)x[k] * u + (double)z[k] * v;
        dx[k] += (float)(l * ((double)d[k] - 2 * along / length * m +
                              2 * to_z * (double)x[k] * u));
    }
}

static void through_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_through_conf *c = r->conf;
    int64_t from, to;
    if (!r->d_in[0].data)
        return;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    for (int64_t i = from; i < to; i++)
        if (c->rotate)
            rotate_back(r, i);
        else
            kernels()->add(view_row(&r->d_in[0], i), view_row(&r->d_out[0], i),
                           r->in[0].width);
}

const struct nn_cpu_op nn_cpu_through = {
    .forward = through_forward,
    .backward = through_backward,
};
