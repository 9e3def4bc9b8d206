/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution along fields, and the largest of neighbouring fields.
 *
 * A row is [d, n, maps]: for each place of a vector all fields, for each field its maps.
 * So the fields that one result is made of lie behind each other, and for one place and
 * one field a batch is a matrix that a product reads where it lies: nothing is laid out
 * anew. Near the ends fields are missing; there the product has fewer columns, with
 * weights packed for those that are left.
 */
#include <string.h>

#include "base/mem.h"
#include "nn/cpu/cpu.h"
#include "nn/op/field_conv.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"

/* Fields next to each other that see the same part of the weights. */
struct field_span {
    int64_t from, to;     /* fields */
    int64_t first, count; /* heights that meet a field */
    struct gemm_weight *w;
};

/* Gradients are summed up by parts, each of some places, and the parts in order: so many
 * at most, and fewer where they are large.
 */
#define PARTS_MAX 16
#define PARTS_FLOATS_MAX ((int64_t)1 << 23)

struct conv_state {
    float *span;   /* [out][height * in]: weights of a span, to be packed */
    float *parts;  /* [parts][part_size()]; NULL outside training */
    int64_t grain; /* places of a part */
    int64_t n_spans;
    struct field_span spans[]; /* at most as many as fields */
};

static void conv_teardown(void *state)
{
    struct conv_state *s = state;
    for (int64_t i = 0; s && i < s->n_spans; i++)
        gemm_weight_destroy(s->spans[i].w);
    if (s) {
        mem_free(s->span);
        mem_free(s->parts);
    }
    mem_free(s);
}

static struct field_span span_of(const struct op_conv_conf *c, int64_t field)
{
    int64_t first = c->pad > field ? c->pad - field : 0, end = c->n + c->pad - field;
    return (struct field_span){.from = field,
                               .to = field + 1,
                               .first = first,
                               .count = (end < c->height ? end : c->height) - first};
}

static void find_spans(const struct op_conv_conf *c, struct conv_state *s)
{
    for (int64_t f = 0; f < c->n; f++) {
        struct field_span now = span_of(c, f);
        struct field_span *last = s->n_spans ? &s->spans[s->n_spans - 1] : NULL;
        if (last && last->first == now.first && last->count == now.count)
            last->to++;
        else
            s->spans[s->n_spans++] = now;
    }
}

/* Floats of the weights, and of a part: the gradients of weights and bias, and room for
 * those of a span.
 */
static int64_t weights_of(const struct op_conv_conf *c)
{
    return c->out * c->in * c->height;
}

static int64_t part_size(const struct op_conv_conf *c)
{
    return 2 * weights_of(c) + c->out;
}

static bool make_room(const struct op_conv_conf *c, bool training, struct conv_state *s)
{
    int64_t n = PARTS_FLOATS_MAX / part_size(c);
    n = n < 1 ? 1 : n > PARTS_MAX ? PARTS_MAX : n;
    s->grain = (c->d + n - 1) / n;
    s->span = mem_try_alloc((size_t)weights_of(c), sizeof(float));
    if (training)
        s->parts = mem_try_alloc((size_t)pool_chunks(c->d, s->grain),
                                 (size_t)part_size(c) * sizeof(float));
    return s->span && (s->parts || !training);
}

static enum rc conv_setup(const void *conf, const struct nn_shape *in,
                          const struct nn_shape *out, bool training, void **state,
                          struct err *err)
{
    const struct op_conv_conf *c = conf;
    struct conv_state *s =
        mem_calloc(1, sizeof(*s) + (size_t)c->n * sizeof(struct field_span));
    enum rc rc = RC_OK;
    find_spans(c, s);
    if (!make_room(c, training, s))
        rc = err_set(err, RC_NOMEM, "no memory for a convolution of %jd x %jd x %jd",
                     (intmax_t)c->out, (intmax_t)c->in, (intmax_t)c->height);
    for (int64_t i = 0; !rc && i < s->n_spans; i++)
        rc = gemm_weight_create(c->out, s->spans[i].count * c->in, c->precision, training,
                                &s->spans[i].w, err);
    if (rc)
        conv_teardown(s);
    else
        *state = s;
    return rc;
}

/* Where weight [unit][map][height] of the parameter is in those of a span. */
static int64_t span_at(const struct op_conv_conf *c, const struct field_span *s,
                       int64_t unit, int64_t map, int64_t height)
{
    return (unit * s->count + height - s->first) * c->in + map;
}

static void conv_begin(const struct op_run *r)
{
    const struct op_conv_conf *c = r->conf;
    struct conv_state *state = r->state;
    for (int64_t i = 0; i < state->n_spans; i++) {
        const struct field_span *s = &state->spans[i];
        for (int64_t u = 0; u < c->out; u++)
            for (int64_t m = 0; m < c->in; m++)
                for (int64_t h = s->first; h < s->first + s->count; h++)
                    state->span[span_at(c, s, u, m, h)] =
                        r->params[0]->value[(u * c->in + m) * c->height + h];
        gemm_pack(s->w, state->span);
    }
}

/* What field f is made of at place k. */
static struct view seen(const struct op_conv_conf *c, const struct field_span *s,
                        const struct view *x, int64_t k, int64_t f)
{
    return view_cols(x, (k * c->n + f + s->first - c->pad) * c->in, s->count * c->in);
}

static struct view made(const struct op_conv_conf *c, const struct view *y, int64_t k,
                        int64_t f)
{
    return view_cols(y, (k * c->n + f) * c->out, c->out);
}

static void conv_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_conv_conf *c = r->conf;
    const struct conv_state *state = r->state;
    const float *bias = r->n_params > 1 ? r->params[1]->value : NULL;
    struct view x = view_rows(&r->in[0], begin, end),
                y = view_rows(&r->out[0], begin, end);
    for (int64_t k = 0; k < c->d; k++)
        for (int64_t i = 0; i < state->n_spans; i++) {
            const struct field_span *s = &state->spans[i];
            for (int64_t f = s->from; f < s->to; f++)
                gemm_forward(s->w, seen(c, s, &x, k, f), bias, GEMM_ACT_NONE,
                             made(c, &y, k, f));
        }
}

static void conv_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_conv_conf *c = r->conf;
    const struct conv_state *state = r->state;
    if (!r->d_in[0].data)
        return;
    struct view dx = view_rows(&r->d_in[0], begin, end);
    struct view dy = view_rows(&r->d_out[0], begin, end);
    for (int64_t k = 0; k < c->d; k++)
        for (int64_t i = 0; i < state->n_spans; i++) {
            const struct field_span *s = &state->spans[i];
            for (int64_t f = s->from; f < s->to; f++)
                gemm_backward(s->w, made(c, &dy, k, f), true, seen(c, s, &dx, k, f));
        }
}

/* Adds what the fields of a span say at places [begin, end) to the gradients. */
static void span_grads(const struct op_run *r, const struct field_span *s, int64_t begin,
                       int64_t end, float *dw, float *db, float *room)
{
    const struct op_conv_conf *c = r->conf;
    /* One part alone leaves the threads to the products. */
    struct pool *pool = end - begin == c->d ? r->env->pool : NULL;
    memset(room, 0, (size_t)(c->out * s->count * c->in) * sizeof(float));
    for (int64_t k = begin; k < end; k++)
        for (int64_t f = s->from; f < s->to; f++)
            gemm_gradient(s->w, made(c, &r->d_out[0], k, f), seen(c, s, &r->in[0], k, f),
                          room, db, pool);
    for (int64_t u = 0; u < c->out; u++)
        for (int64_t m = 0; m < c->in; m++)
            for (int64_t h = s->first; h < s->first + s->count; h++)
                dw[(u * c->in + m) * c->height + h] += room[span_at(c, s, u, m, h)];
}

struct sums {
    const struct op_run *r;
};

static void part_grads(void *arg, int64_t begin, int64_t end, void *part)
{
    const struct op_run *r = ((const struct sums *)arg)->r;
    const struct op_conv_conf *c = r->conf;
    const struct conv_state *state = r->state;
    float *dw = part, *db = dw + weights_of(c), *room = db + c->out;
    memset(dw, 0, (size_t)(weights_of(c) + c->out) * sizeof(float));
    for (int64_t i = 0; i < state->n_spans; i++)
        span_grads(r, &state->spans[i], begin, end, dw, db, room);
}

static void join_grads(void *arg, const void *part)
{
    const struct op_run *r = ((const struct sums *)arg)->r;
    const struct op_conv_conf *c = r->conf;
    const float *dw = part;
    if (r->params[0]->grad)
        kernels()->add(r->params[0]->grad, dw, weights_of(c));
    if (r->n_params > 1 && r->params[1]->grad)
        kernels()->add(r->params[1]->grad, dw + weights_of(c), c->out);
}

static void conv_grads(const struct op_run *r)
{
    const struct op_conv_conf *c = r->conf;
    const struct conv_state *state = r->state;
    struct sums sums = {r};
    bool one = pool_chunks(c->d, state->grain) == 1;
    if (r->params[0]->grad || (r->n_params > 1 && r->params[1]->grad))
        pool_reduce(one ? NULL : r->env->pool, c->d, state->grain, part_grads, join_grads,
                    &sums, state->parts, (size_t)part_size(c) * sizeof(float));
}

const struct nn_cpu_op nn_cpu_field_conv = {
    .setup = conv_setup,
    .teardown = conv_teardown,
    .begin = conv_begin,
    .forward = conv_forward,
    .backward = conv_backward,
    .grads = conv_grads,
};

/* NaN stays. */
static void larger(float *y, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = y[i] >= x[i] || y[i] != y[i] ? y[i] : x[i];
}

static void max_forward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_max_conf *c = r->conf;
    int64_t left = c->n / c->height;
    for (int64_t b = begin; b < end; b++)
        for (int64_t k = 0; k < c->d; k++)
            for (int64_t f = 0; f < left; f++) {
                const float *x =
                    view_row(&r->in[0], b) + (k * c->n + f * c->height) * c->maps;
                float *y = view_row(&r->out[0], b) + (k * left + f) * c->maps;
                memcpy(y, x, (size_t)c->maps * sizeof(float));
                for (int64_t h = 1; h < c->height; h++)
                    larger(y, x + h * c->maps, c->maps);
            }
}

/* To the first of the fields that none is larger than. */
static void max_fields_backward(const struct op_max_conf *c, const float *x,
                                const float *y, const float *dy, float *dx)
{
    for (int64_t i = 0; i < c->maps; i++) {
        int64_t h = 0;
        while (h + 1 < c->height && x[h * c->maps + i] < y[i])
            h++;
        dx[h * c->maps + i] += dy[i];
    }
}

static void max_backward(const struct op_run *r, int64_t begin, int64_t end)
{
    const struct op_max_conf *c = r->conf;
    int64_t left = c->n / c->height;
    for (int64_t b = begin; r->d_in[0].data && b < end; b++)
        for (int64_t k = 0; k < c->d; k++)
            for (int64_t f = 0; f < left; f++) {
                int64_t at = (k * c->n + f * c->height) * c->maps;
                int64_t to = (k * left + f) * c->maps;
                max_fields_backward(
                    c, view_row(&r->in[0], b) + at, view_row(&r->out[0], b) + to,
                    view_row(&r->d_out[0], b) + to, view_row(&r->d_in[0], b) + at);
            }
}

const struct nn_cpu_op nn_cpu_field_max = {
    .forward = max_forward,
    .backward = max_backward,
};
