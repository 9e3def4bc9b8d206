/* SPDX-License-Identifier: Apache-2.0 */
/* A linear layer on an input some of whose columns take few values (see graph_codes()).
 *
 * forward   the product of each value with its columns of the weight, once per step; rows
 *           multiply the other columns and add the products of their values.
 * backward  gradients of rows with the same value are added up first; those sums make the
 *           gradient of the weight's columns and, times the weight, that of the value.
 *
 * The other columns are copied beside each other, so that they are one product. Sums run
 * over the rows in their order, for a block of units at a time: their bytes do not depend
 * on tiles or threads. In a batch without codes it is a linear layer like others.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "nn/cpu/coded.h"
#include "tensor/kernel.h"

#define LANES 16    /* floats of a floats16 */
#define BLOCK 64    /* units whose sums are taken at a time */
#define AT_ONCE 128 /* units of a row that are added up in registers */
#define AHEAD 8     /* rows */

/* Columns that are not coded, and where they stand when beside each other. */
struct run {
    int64_t col, at, width;
};

struct coded_state {
    struct gemm_weight *all, *rest; /* rest: NULL when all columns are coded */
    struct run runs[CODED_MAX + 1];
    int n_runs;
    int64_t width;            /* of the runs together */
    float *weight, *gradient; /* columns of the runs: [out, width]; the latter: zeros */
    float *values;            /* of each stretch: [n, its width], one behind the other */
    float *turned;            /* the same, [its width, n] */
    float *products;          /* [n_codes, out] */
    float *sums;              /* [blocks][n_codes, units of the block] */
};

static void coded_teardown(void *state)
{
    struct coded_state *s = state;
    gemm_weight_destroy(s->all);
    gemm_weight_destroy(s->rest);
    mem_free(s->weight);
    mem_free(s->gradient);
    mem_free(s->values);
    mem_free(s->turned);
    mem_free(s->products);
    mem_free(s->sums);
    mem_free(s);
}

/* Stretches stand in the order of their columns. */
static void find_runs(struct coded_state *s, const struct nn_cpu_coded *c, int64_t width)
{
    int64_t col = 0;
    for (int i = 0; i <= c->n; i++) {
        int64_t end = i < c->n ? c->at[i].col : width;
        if (end > col) {
            s->runs[s->n_runs++] =
                (struct run){.col = col, .at = s->width, .width = end - col};
            s->width += end - col;
        }
        col = i < c->n ? end + c->at[i].width : width;
    }
}

static enum rc make_weights(const struct nn_cpu_coded_conf *c, struct coded_state *s,
                            int64_t in, struct err *err)
{
    enum rc rc = gemm_weight_create(c->out, in, GEMM_F32, true, &s->all, err);
    if (!rc && s->width)
        rc = gemm_weight_create(c->out, s->width, GEMM_F32, true, &s->rest, err);
    return rc;
}

static enum rc coded_setup(const void *conf, const struct nn_shape *in,
                           const struct nn_shape *out, bool training, void **state,
                           struct err *err)
{
    const struct nn_cpu_coded_conf *c = conf;
    struct coded_state *s = mem_calloc(1, sizeof(*s));
    size_t values = 0, units = (size_t)c->out, codes = (size_t)c->coded->n_codes;
    for (int i = 0; i < c->coded->n; i++)
        values += (size_t)(c->coded->at[i].n * c->coded->at[i].width);
    find_runs(s, c->coded, in[0].dims[0]);
    enum rc rc = make_weights(c, s, in[0].dims[0], err);
    if (!rc) {
        s->weight = mem_try_calloc(units * (size_t)s->width + 1, sizeof(float));
        s->gradient = mem_try_calloc(units * (size_t)s->width + 1, sizeof(float));
        s->values = mem_try_calloc(values, sizeof(float));
        s->turned = mem_try_calloc(values, sizeof(float));
        s->products = mem_try_aligned(64, codes * units, sizeof(float));
        s->sums = mem_try_aligned(64, codes * units, sizeof(float));
    }
    if (!rc &&
        !(s->weight && s->gradient && s->values && s->turned && s->products && s->sums))
        rc = err_set(err, RC_NOMEM, "no memory for the products of %zu values", codes);
    if (rc)
        coded_teardown(s);
    else
        *state = s;
    return rc;
}

/* The values of a stretch, which stand in the first rows that have them. */
static void read_values(const struct nn_cpu_coded *c,
                        const struct nn_cpu_coded_stretch *t, const struct view *x,
                        float *values, float *turned)
{
    for (int64_t k = 0; k < t->n; k++) {
        int64_t row = c->first[t->from + k];
        float *v = values + k * t->width;
        if (row < 0)
            memset(v, 0, (size_t)t->width * sizeof(float));
        else
            memcpy(v, view_row(x, row) + t->col, (size_t)t->width * sizeof(float));
        for (int64_t j = 0; j < t->width; j++)
            turned[j * t->n + k] = v[j];
    }
}

/* The bias goes along with the products of the first stretch. */
static void start_products(const struct op_run *r, const struct nn_cpu_coded_stretch *t,
                           bool first)
{
    const struct nn_cpu_coded_conf *c = r->conf;
    const struct coded_state *s = r->state;
    size_t bytes = (size_t)c->out * sizeof(float);
    for (int64_t k = t->from; k <= t->from + t->n; k++)
        if (first && c->bias)
            memcpy(s->products + k * c->out, r->params[1]->value, bytes);
        else
            memset(s->products + k * c->out, 0, bytes);
}

static void coded_begin(const struct op_run *r)
{
    const struct nn_cpu_coded_conf *c = r->conf;
    const struct coded_state *s = r->state;
    const struct param *w = r->params[0];
    if (!c->coded->on) {
        gemm_pack(s->all, w->value);
        return;
    }
    for (int64_t u = 0; u < c->out; u++)
        for (int i = 0; i < s->n_runs; i++)
            memcpy(s->weight + u * s->width + s->runs[i].at,
                   w->value + u * w->dims[1] + s->runs[i].col,
                   (size_t)s->runs[i].width * sizeof(float));
    if (s->rest)
        gemm_pack(s->rest, s->weight);
    float *values = s->values, *turned = s->turned;
    for (int i = 0; i < c->coded->n; i++) {
        const struct nn_cpu_coded_stretch *t = &c->coded->at[i];
        read_values(c->coded, t, &r->in[0], values, turned);
        start_products(r, t, i == 0);
        gemm_small(&(struct gemm_small){.a = values,
                                        .lda = t->width,
                                        .b = w->value + t->col,
                                        .ldb = w->dims[1],
                                        .m = t->n,
                                        .n = c->out,
                                        .k = t->width,
                                        .turned = true},
                   true, s->products + t->from * c->out, c->out);
        values += t->n * t->width;
        turned += t->n * t->width;
    }
}

/* y += the products of n codes, for `lanes` vectors of units. */
static ALWAYS_INLINE void add_codes(float *y, const float *products, int64_t out,
                                    const int32_t *codes, int n, int lanes)
{
    floats16 sum[AT_ONCE / LANES];
    for (int i = 0; i < lanes; i++)
        sum[i] = ((const floats16 *)y)[i];
    for (int k = 0; k < n; k++) {
        const floats16 *p = (const floats16 *)(products + codes[k] * out);
        for (int i = 0; i < lanes; i++)
            sum[i] += p[i];
    }
    for (int i = 0; i < lanes; i++)
        ((floats16 *)y)[i] = sum[i];
}

CLONED static void add_products(struct view y, const float *products,
                                const int32_t *codes, int n, bool relu)
{
    for (int64_t r = 0; r < y.rows; r++, codes += n) {
        float *row = view_row(&y, r);
        int64_t u = 0;
        for (; u + AT_ONCE <= y.width; u += AT_ONCE)
            add_codes(row + u, products + u, y.width, codes, n, AT_ONCE / LANES);
        for (; u < y.width; u += LANES)
            add_codes(row + u, products + u, y.width, codes, n, 1);
        for (int64_t i = 0; relu && i < y.width; i++)
            row[i] = row[i] < 0.0f ? 0.0f : row[i];
    }
}

static void gather_runs(const struct coded_state *s, struct view x, struct view rest)
{
    for (int64_t i = 0; i < x.rows; i++)
        for (int k = 0; k < s->n_runs; k++)
            memcpy(view_row(&rest, i) + s->runs[k].at, view_row(&x, i) + s->runs[k].col,
                   (size_t)s->runs[k].width * sizeof(float));
}

static void coded_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct nn_cpu_coded_conf *c = r->conf;
    const struct coded_state *s = r->state;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    struct view x = view_rows(&r->in[0], from, to), y = view_rows(&r->out[0], from, to);
    if (!c->coded->on) {
        gemm_forward(s->all, x, c->bias ? r->params[1]->value : NULL, c->act, y);
        return;
    }
    if (s->rest) {
        struct view kept = view_rows(&r->keep, from, to);
        struct view rest = view_cols(&kept, 0, s->width);
        gather_runs(s, x, rest);
        gemm_forward(s->rest, rest, NULL, GEMM_ACT_NONE, y);
    }
    for (int64_t i = 0; !s->rest && i < y.rows; i++)
        memset(view_row(&y, i), 0, (size_t)y.width * sizeof(float));
    add_products(y, s->products, c->coded->codes + from * c->coded->n, c->coded->n,
                 c->act == GEMM_ACT_RELU);
    if (c->act != GEMM_ACT_RELU)
        gemm_apply_act(c->act, y);
}

/* Into the columns that are not coded; those that are get theirs when all rows are there.
 */
static void scatter_runs(const struct coded_state *s, const struct nn_cpu_coded *c,
                         struct view rest, bool fresh, struct view dx)
{
    for (int64_t i = 0; i < dx.rows; i++) {
        float *to = view_row(&dx, i);
        for (int k = 0; fresh && k < c->n; k++)
            memset(to + c->at[k].col, 0, (size_t)c->at[k].width * sizeof(float));
        for (int k = 0; k < s->n_runs; k++) {
            const struct run *run = &s->runs[k];
            const float *d = view_row(&rest, i) + run->at;
            if (fresh)
                memcpy(to + run->col, d, (size_t)run->width * sizeof(float));
            else
                kernels()->add(to + run->col, d, run->width);
        }
    }
}

/* d_out becomes the gradient before the activation, in place: nobody else reads it. */
static void coded_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct nn_cpu_coded_conf *c = r->conf;
    const struct coded_state *s = r->state;
    int64_t from, to;
    nn_cpu_rows(r->env, r->out_axis[0], begin, end, &from, &to);
    struct view dy = view_rows(&r->d_out[0], from, to);
    for (int64_t k = from; k < to && c->act != GEMM_ACT_NONE; k++)
        kernels()->act_grad_from_out[c->act](view_row(&r->out[0], k),
                                             view_row(&r->d_out[0], k), c->out);
    if (!r->d_in[0].data)
        return;
    struct view dx = view_rows(&r->d_in[0], from, to);
    if (!c->coded->on) {
        gemm_backward(s->all, dy, !r->d_in_fresh[0], dx);
        return;
    }
    struct view kept = view_rows(&r->keep, from, to), rest = {0};
    if (s->rest) {
        rest = view_cols(&kept, s->width, s->width);
        gemm_backward(s->rest, dy, false, rest);
    }
    scatter_runs(s, c->coded, rest, r->d_in_fresh[0], dx);
}

/* sums[code] += dy for the codes of each row, for `lanes` vectors of units. */
static ALWAYS_INLINE void add_by_code(struct view dy, const int32_t *codes, int n,
                                      float *sums, int lanes)
{
    for (int64_t r = 0; r < dy.rows; r++, codes += n) {
        const floats16 *d = (const floats16 *)view_row(&dy, r);
        floats16 row[BLOCK / LANES];
        for (int i = 0; i < lanes; i++) {
            if (r + AHEAD < dy.rows)
                __builtin_prefetch(view_row(&dy, r + AHEAD) + i * LANES);
            row[i] = d[i];
        }
        for (int k = 0; k < n; k++) {
            floats16 *sum = (floats16 *)(sums + (int64_t)codes[k] * lanes * LANES);
            for (int i = 0; i < lanes; i++)
                sum[i] += row[i];
        }
    }
}

CLONED static void sum_block(struct view dy, const int32_t *codes, int n, float *sums)
{
    if (dy.width == BLOCK)
        add_by_code(dy, codes, n, sums, BLOCK / LANES);
    else
        add_by_code(dy, codes, n, sums, 1);
}

/* Blocks of BLOCK units, and of LANES behind them. */
static struct view block_of(const struct op_run *r, int64_t block)
{
    const struct nn_cpu_coded_conf *c = r->conf;
    int64_t whole = c->out / BLOCK;
    return block < whole
               ? view_cols(&r->d_out[0], block * BLOCK, BLOCK)
               : view_cols(&r->d_out[0], whole * BLOCK + (block - whole) * LANES, LANES);
}

static int64_t n_blocks(const struct nn_cpu_coded_conf *c)
{
    return c->out / BLOCK + c->out % BLOCK / LANES;
}

/* What the sums of a block say about its units' weights. */
static void weight_block(const struct op_run *r, const struct view *dy, const float *sums)
{
    const struct nn_cpu_coded_conf *c = r->conf;
    const struct coded_state *s = r->state;
    const struct param *w = r->params[0];
    int64_t unit = dy->data - r->d_out[0].data;
    float part[GEMM_SMALL_K * BLOCK], *turned = s->turned;
    for (int i = 0; i < c->coded->n; i++) {
        const struct nn_cpu_coded_stretch *t = &c->coded->at[i];
        gemm_small(&(struct gemm_small){.a = turned,
                                        .lda = t->n,
                                        .b = sums + t->from * dy->width,
                                        .ldb = dy->width,
                                        .m = t->width,
                                        .n = dy->width,
                                        .k = t->n},
                   false, part, BLOCK);
        for (int64_t u = 0; u < dy->width; u++)
            for (int64_t j = 0; j < t->width; j++)
                w->grad[(unit + u) * w->dims[1] + t->col + j] += part[j * BLOCK + u];
        turned += t->n * t->width;
    }
    for (int64_t u = unit; u < unit + dy->width; u++) {
        float *d = s->gradient + u * s->width;
        for (int i = 0; i < s->n_runs; i++)
            kernels()->add(w->grad + u * w->dims[1] + s->runs[i].col, d + s->runs[i].at,
                           s->runs[i].width);
        if (s->width)
            memset(d, 0, (size_t)s->width * sizeof(float));
    }
}

static void sum_blocks(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    const struct nn_cpu_coded *c = ((const struct nn_cpu_coded_conf *)r->conf)->coded;
    const struct coded_state *s = r->state;
    for (int64_t b = begin; b < end; b++) {
        struct view dy = block_of(r, b);
        float *sums = s->sums + (dy.data - r->d_out[0].data) * c->n_codes;
        memset(sums, 0, (size_t)(c->n_codes * dy.width) * sizeof(float));
        sum_block(dy, c->codes, c->n, sums);
        if (r->params[0]->grad)
            weight_block(r, &dy, sums);
    }
}

/* The gradient of a value goes to the first row that has it. */
static void value_grads(void *arg, int64_t begin, int64_t end, int64_t chunk)
{
    const struct op_run *r = arg;
    const struct nn_cpu_coded_conf *c = r->conf;
    const struct coded_state *s = r->state;
    const struct param *w = r->params[0];
    float part[GEMM_SMALL_K * GEMM_SMALL_K];
    for (int64_t i = begin; i < end; i++) {
        const struct nn_cpu_coded_stretch *t = &c->coded->at[i];
        for (int64_t b = 0; b < n_blocks(c); b++) {
            struct view dy = block_of(r, b);
            int64_t unit = dy.data - r->d_out[0].data;
            gemm_small(&(struct gemm_small){.a = s->sums + unit * c->coded->n_codes +
                                                 t->from * dy.width,
                                            .lda = dy.width,
                                            .b = w->value + unit * w->dims[1] + t->col,
                                            .ldb = w->dims[1],
                                            .m = t->n,
                                            .n = t->width,
                                            .k = dy.width},
                       b > 0, part, t->width);
        }
        for (int64_t k = 0; k < t->n; k++)
            if (c->coded->first[t->from + k] >= 0)
                kernels()->add(view_row(&r->d_in[0], c->coded->first[t->from + k]) +
                                   t->col,
                               part + k * t->width, t->width);
    }
}

static void add_bias_grads(const struct op_run *r)
{
    for (int64_t i = 0; i < r->d_out[0].rows; i++)
        kernels()->add(r->params[1]->grad, view_row(&r->d_out[0], i), r->d_out[0].width);
}

static void coded_grads(const struct op_run *r)
{
    const struct nn_cpu_coded_conf *c = r->conf;
    const struct coded_state *s = r->state;
    float *bias = c->bias ? r->params[1]->grad : NULL;
    if (!c->coded->on) {
        if (r->params[0]->grad)
            gemm_gradient(s->all, r->d_out[0], r->in[0], r->params[0]->grad, bias,
                          r->env->pool);
        return;
    }
    if (r->params[0]->grad && s->rest)
        gemm_gradient(s->rest, r->d_out[0], view_cols(&r->keep, 0, s->width), s->gradient,
                      bias, r->env->pool);
    else if (r->params[0]->grad && bias)
        add_bias_grads(r);
    if (r->params[0]->grad || r->d_in[0].data)
        pool_for(r->env->pool, n_blocks(c), 1, sum_blocks, (void *)r);
    if (r->d_in[0].data)
        pool_for(r->env->pool, c->coded->n, 1, value_grads, (void *)r);
}

const struct nn_cpu_op nn_cpu_linear_coded = {
    .flags = CPU_WRITES | CPU_STRIDED,
    .setup = coded_setup,
    .teardown = coded_teardown,
    .begin = coded_begin,
    .forward = coded_forward,
    .backward = coded_backward,
    .grads = coded_grads,
};
