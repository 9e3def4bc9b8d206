/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a matrix per call against gemm_ref on [x, x * q], at every level. */
#include "tensor/gemm_mix.h"

#include "base/cpu.h"
#include "tap.h"
#include "tensor/kernel.h"
#include "unit/tensor/random_floats.h"

struct bed {
    int64_t t, out, in, slack;
    struct guarded w, bias, q, x, y, dy, dx, dw, dq;
    struct guarded x2, dx2; /* for the reference */
};

static struct bed bed_create(struct rng *r, int64_t t, int64_t out, int64_t in,
                             int64_t slack)
{
    struct bed b = {.t = t, .out = out, .in = in, .slack = slack};
    int64_t shift = slack % 3;
    b.w = guarded_random(r, out * 2 * in, shift, -1, 1);
    b.bias = guarded_random(r, out, shift, -1, 1);
    b.q = guarded_random(r, in, shift, -1, 1);
    b.x = guarded_random(r, t * (in + slack), shift, -1, 1);
    b.y = guarded_random(r, t * (out + slack), shift, -1, 1);
    b.dy = guarded_random(r, t * (out + slack), shift, -1, 1);
    b.dx = guarded_random(r, t * (in + slack), shift, -1, 1);
    b.dw = guarded_random(r, out * 2 * in, shift, -1, 1);
    b.dq = guarded_random(r, in, shift, -1, 1);
    b.x2 = guarded_create(t * 2 * in, 0);
    b.dx2 = guarded_create(t * 2 * in, 0);
    for (int64_t k = 0; k < t; k++)
        for (int64_t i = 0; i < in; i++) {
            float v = b.x.at[k * (in + slack) + i];
            b.x2.at[k * 2 * in + i] = v;
            b.x2.at[k * 2 * in + in + i] = v * b.q.at[i];
        }
    return b;
}

static void bed_release(struct bed *b)
{
    struct guarded *all[] = {&b->w,  &b->bias, &b->q,  &b->x,  &b->y,  &b->dy,
                             &b->dx, &b->dw,   &b->dq, &b->x2, &b->dx2};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        guarded_release(all[i]);
}

static struct view wide(const struct bed *b, const struct guarded *g, int64_t width)
{
    return (struct view){
        .data = g->at, .rows = b->t, .width = width, .ld = width + b->slack};
}

static struct view twice(const struct bed *b, const struct guarded *g)
{
    return view_of(g->at, b->t, 2 * b->in);
}

/* Sums of k products of numbers in [-1, 1], where a matrix was rounded too. */
static bool near(double got, double want, int64_t k)
{
    bool good = fabs(got - want) <= 8e-6 * (4 + sqrt((double)k));
    if (!good)
        printf("# %.9g, not %.9g\n", got, want);
    return good;
}

static void compare_forward(struct bed *b, const struct gemm_mix *m,
                            const struct gemm_weight *ref)
{
    for (int act = GEMM_ACT_NONE; act <= GEMM_ACT_TANH; act++) {
        struct guarded want = guarded_create(b->y.n, 0);
        const float *bias = act % 2 ? b->bias.at : NULL;
        bool good = true;
        gemm_forward(ref, twice(b, &b->x2), bias, (enum gemm_act)act,
                     wide(b, &want, b->out));
        struct gemm_mix_part all = {.to = b->t, .q = b->q.at, .bias = bias};
        gemm_mix_forward(m, &all, 1, wide(b, &b->x, b->in), (enum gemm_act)act,
                         wide(b, &b->y, b->out));
        for (int64_t k = 0; k < b->t && good; k++)
            for (int64_t o = 0; o < b->out && good; o++) {
                int64_t at = k * (b->out + b->slack) + o;
                good = near((double)b->y.at[at], (double)want.at[at], 2 * b->in);
            }
        CHECK(good);
        CHECK(guarded_intact(&b->y));
        guarded_release(&want);
    }
}

static void compare_backward(struct bed *b, const struct gemm_mix *m,
                             const struct gemm_weight *ref, bool add)
{
    float *old = mem_calloc((size_t)b->dx.n, sizeof(float));
    memcpy(old, b->dx.at, (size_t)b->dx.n * sizeof(float));
    gemm_backward(ref, wide(b, &b->dy, b->out), false, twice(b, &b->dx2));
    struct gemm_mix_part all = {.to = b->t, .q = b->q.at};
    gemm_mix_backward(m, &all, 1, wide(b, &b->dy, b->out), add, wide(b, &b->dx, b->in));
    bool good = true;
    for (int64_t k = 0; k < b->t && good; k++)
        for (int64_t i = 0; i < b->in && good; i++) {
            const float *d = b->dx2.at + k * 2 * b->in;
            int64_t at = k * (b->in + b->slack) + i;
            double want = (double)d[i] + (double)b->q.at[i] * (double)d[b->in + i] +
                          (add ? (double)old[at] : 0.0);
            good = near((double)b->dx.at[at], want, 2 * b->out);
        }
    CHECK(good);
    CHECK(guarded_intact(&b->dx));
    mem_free(old);
}

static void compare_gradient(struct bed *b, const struct gemm_mix *m,
                             const struct gemm_weight *ref)
{
    struct guarded want = guarded_create(b->dw.n, 0), dq = guarded_create(b->dq.n, 0);
    memcpy(want.at, b->dw.at, (size_t)b->dw.n * sizeof(float));
    memcpy(dq.at, b->dq.at, (size_t)b->dq.n * sizeof(float));
    gemm_gradient(ref, wide(b, &b->dy, b->out), twice(b, &b->x2), want.at, NULL, NULL);
    struct gemm_mix_part all = {.to = b->t, .q = b->q.at, .dq = b->dq.at};
    gemm_mix_gradient(m, &all, 1, wide(b, &b->dy, b->out), wide(b, &b->x, b->in),
                      b->dw.at);
    bool good = true;
    for (int64_t i = 0; i < b->dw.n && good; i++)
        good = near((double)b->dw.at[i], (double)want.at[i], b->t);
    CHECK(good);
    for (int64_t i = 0; i < b->in && good; i++) {
        double sum = (double)dq.at[i];
        for (int64_t k = 0; k < b->t; k++)
            sum += (double)b->dx2.at[k * 2 * b->in + b->in + i] *
                   (double)b->x2.at[k * 2 * b->in + i];
        good = near((double)b->dq.at[i], sum, b->t * b->out);
    }
    CHECK(good);
    CHECK(guarded_intact(&b->dw) && guarded_intact(&b->dq));
    all.dq = NULL;
    gemm_mix_gradient(m, &all, 1, wide(b, &b->dy, b->out), wide(b, &b->x, b->in),
                      b->dw.at);
    guarded_release(&want);
    guarded_release(&dq);
}

static void compare(struct rng *r, int64_t t, int64_t out, int64_t in, int64_t slack)
{
    struct bed b = bed_create(r, t, out, in, slack);
    struct gemm_mix *m = NULL;
    struct gemm_weight *ref = NULL;
    CHECK(gemm_backend_use("own", NULL) == RC_OK);
    CHECK(gemm_mix_create(out, in, true, &m, NULL) == RC_OK && m);
    CHECK(gemm_backend_use("ref", NULL) == RC_OK);
    CHECK(gemm_weight_create(out, 2 * in, GEMM_F32, true, &ref, NULL) == RC_OK);
    CHECK(gemm_backend_use("own", NULL) == RC_OK);
    gemm_mix_pack(m, b.w.at);
    gemm_pack(ref, b.w.at);
    compare_forward(&b, m, ref);
    compare_backward(&b, m, ref, false);
    compare_backward(&b, m, ref, true);
    compare_gradient(&b, m, ref);
    gemm_mix_destroy(m);
    gemm_weight_destroy(ref);
    bed_release(&b);
}

#define PARTS 90

/* Many parts in one call against a call for each: every byte. */
static void compare_parts(struct rng *r, int64_t out, int64_t in)
{
    struct gemm_mix_part parts[PARTS], again[PARTS];
    int64_t t = 0;
    for (int i = 0; i < PARTS; i++) {
        parts[i] = (struct gemm_mix_part){.from = t, .to = t + (int64_t)rng_below(r, 80)};
        t = parts[i].to;
    }
    struct bed b = bed_create(r, t, out, in, 1);
    struct guarded q = guarded_random(r, PARTS * in, 0, -1, 1);
    struct guarded dq[2], dw[2], y[2], dx[2];
    for (int k = 0; k < 2; k++) {
        dq[k] = guarded_create(q.n, 0);
        dw[k] = guarded_create(b.dw.n, 0);
        y[k] = guarded_create(b.y.n, 0);
        dx[k] = guarded_create(b.dx.n, 0);
        memset(dq[k].at, 0, (size_t)q.n * sizeof(float));
        memset(dw[k].at, 0, (size_t)b.dw.n * sizeof(float));
    }
    for (int i = 0; i < PARTS; i++) {
        parts[i].q = q.at + i * in;
        parts[i].bias = b.bias.at;
        parts[i].dq = dq[0].at + i * in;
        again[i] = parts[i];
        again[i].dq = dq[1].at + i * in;
    }
    struct gemm_mix *m = NULL;
    struct view x = wide(&b, &b.x, in), dy = wide(&b, &b.dy, out);
    CHECK(gemm_mix_create(out, in, true, &m, NULL) == RC_OK && m);
    gemm_mix_pack(m, b.w.at);
    gemm_mix_forward(m, parts, PARTS, x, GEMM_ACT_TANH, wide(&b, &y[0], out));
    gemm_mix_backward(m, parts, PARTS, dy, false, wide(&b, &dx[0], in));
    gemm_mix_gradient(m, parts, PARTS, dy, x, dw[0].at);
    for (int i = 0; i < PARTS; i++) {
        gemm_mix_forward(m, &again[i], 1, x, GEMM_ACT_TANH, wide(&b, &y[1], out));
        gemm_mix_backward(m, &again[i], 1, dy, false, wide(&b, &dx[1], in));
        gemm_mix_gradient(m, &again[i], 1, dy, x, dw[1].at);
    }
    CHECK(memcmp(y[0].at, y[1].at, (size_t)y[0].n * sizeof(float)) == 0);
    CHECK(memcmp(dx[0].at, dx[1].at, (size_t)dx[0].n * sizeof(float)) == 0);
    CHECK(memcmp(dw[0].at, dw[1].at, (size_t)dw[0].n * sizeof(float)) == 0);
    CHECK(memcmp(dq[0].at, dq[1].at, (size_t)dq[0].n * sizeof(float)) == 0);
    for (int k = 0; k < 2; k++) {
        struct guarded *all[] = {&dq[k], &dw[k], &y[k], &dx[k]};
        for (size_t i = 0; i < ARRAY_LEN(all); i++) {
            CHECK(guarded_intact(all[i]));
            guarded_release(all[i]);
        }
    }
    gemm_mix_destroy(m);
    guarded_release(&q);
    bed_release(&b);
}

static void parts_do_not_depend_on_each_other(void)
{
    struct rng r;
    rng_init(&r, 29, 0, 0, 0);
    compare_parts(&r, 40, 48);
    compare_parts(&r, 16, 7);
    compare_parts(&r, 33, 256);
}

static void every_level_agrees_with_ref(void)
{
    for (int level = 0; level <= (int)cpu_level(); level++) {
        struct rng r;
        rng_init(&r, 23, (uint64_t)level, 0, 0);
        kernels_use((enum cpu_level)level);
        compare(&r, 50, 64, 48, 0);
        compare(&r, 1, 16, 1, 2);
        compare(&r, 65, 512, 3, 5);
        compare(&r, 13, 33, 256, 1);
        for (int i = 0; i < 12; i++)
            compare(&r, 1 + (int64_t)rng_below(&r, 150), 16 + (int64_t)rng_below(&r, 120),
                    1 + (int64_t)rng_below(&r, 90), (int64_t)rng_below(&r, 8));
    }
    kernels_use(CPU_LEVEL_AMX);
}

static void is_left_out_where_it_does_not_pay(void)
{
    struct gemm_mix *m = NULL;
    CHECK(gemm_mix_create(1, 48, true, &m, NULL) == RC_OK && !m);
    CHECK(gemm_mix_create(64, 5000, true, &m, NULL) == RC_OK && !m);
    CHECK(gemm_mix_create(5000, 48, true, &m, NULL) == RC_OK && !m);
    CHECK(gemm_backend_use("ref", NULL) == RC_OK);
    CHECK(gemm_mix_create(64, 48, true, &m, NULL) == RC_OK && !m);
    CHECK(gemm_backend_use("own", NULL) == RC_OK);
}

static void memory_may_run_out(void)
{
    int64_t live = mem_live();
    for (int64_t n = 1;; n++) {
        struct gemm_mix *m = NULL;
        struct err err = {0};
        mem_fail_at(n);
        enum rc rc = gemm_mix_create(32, 8, true, &m, &err);
        mem_fail_at(0);
        if (!rc) {
            CHECK(n == 6);
            gemm_mix_destroy(m);
            break;
        }
        CHECK(rc == RC_NOMEM && !m);
        CHECK_STR(err.msg, "no memory for matrices of 32 x 8");
    }
    CHECK_INT(mem_live(), live);
}

static const struct tap_case cases[] = {
    TAP(every_level_agrees_with_ref),
    TAP(parts_do_not_depend_on_each_other),
    TAP(is_left_out_where_it_does_not_pay),
    TAP(memory_may_run_out),
};
TAP_MAIN(cases)
