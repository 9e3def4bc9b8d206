/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel level against gemm_ref on random odd shapes, in both precisions. */
#include "base/cpu.h"
#include "base/pool.h"
#include "tap.h"
#include "tensor/gemm.h"
#include "tensor/kernel.h"
#include "unit/tensor/random_floats.h"

struct shape3 {
    int64_t m, out, in;
};

/* One product with all its operands; x, y and so on are views with some slack. */
struct bed {
    struct shape3 s;
    struct guarded w, bias, x, y, dy, dx, dw, db;
    int64_t ld_in, ld_out;
};

static struct bed bed_create(struct rng *r, struct shape3 s, int64_t slack)
{
    struct bed b = {.s = s, .ld_in = s.in + slack, .ld_out = s.out + slack};
    int64_t shift = slack % 3;
    b.w = guarded_random(r, s.out * s.in, shift, -1, 1);
    b.bias = guarded_random(r, s.out, shift, -1, 1);
    b.x = guarded_random(r, s.m * b.ld_in, shift, -1, 1);
    b.dy = guarded_random(r, s.m * b.ld_out, shift, -1, 1);
    b.y = guarded_random(r, s.m * b.ld_out, shift, -1, 1);
    b.dx = guarded_random(r, s.m * b.ld_in, shift, -1, 1);
    b.dw = guarded_random(r, s.out * s.in, shift, -1, 1);
    b.db = guarded_random(r, s.out, shift, -1, 1);
    return b;
}

static void bed_release(struct bed *b)
{
    struct guarded *all[] = {&b->w,  &b->bias, &b->x,  &b->y,
                             &b->dy, &b->dx,   &b->dw, &b->db};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        guarded_release(all[i]);
}

static bool bed_intact(const struct bed *b)
{
    return guarded_intact(&b->y) && guarded_intact(&b->dx) && guarded_intact(&b->dw) &&
           guarded_intact(&b->db);
}

static struct view in_view(const struct bed *b, const struct guarded *g)
{
    return (struct view){.data = g->at, .rows = b->s.m, .width = b->s.in, .ld = b->ld_in};
}

static struct view out_view(const struct bed *b, const struct guarded *g)
{
    return (struct view){
        .data = g->at, .rows = b->s.m, .width = b->s.out, .ld = b->ld_out};
}

static struct gemm_weight *weight_of(const struct bed *b, const char *backend,
                                     enum gemm_precision precision)
{
    struct gemm_weight *w = NULL;
    struct err err = {0};
    CHECK(gemm_backend_use(backend, &err) == RC_OK);
    CHECK(gemm_weight_create(b->s.out, b->s.in, precision, true, &w, &err) == RC_OK);
    gemm_pack(w, b->w.at);
    return w;
}

static struct guarded copy_of(const struct guarded *g)
{
    struct guarded c = guarded_create(g->n, g->shift);
    memcpy(c.at, g->at, (size_t)g->n * sizeof(float));
    return c;
}

/* Sums of k products of numbers in [-1, 1]: the error grows with the root of k. */
static double tolerance(int64_t k)
{
    return 4e-6 * (4 + sqrt((double)k));
}

static bool near(const struct guarded *a, const struct guarded *b, double tol)
{
    for (int64_t i = 0; i < a->n; i++)
        if (!(fabs((double)a->at[i] - (double)b->at[i]) <= tol)) {
            printf("# at %jd: %.9g, not %.9g\n", (intmax_t)i, (double)a->at[i],
                   (double)b->at[i]);
            return false;
        }
    return true;
}

static void compare_forward(struct bed *b, const struct gemm_weight *ref,
                            const struct gemm_weight *own)
{
    for (int act = GEMM_ACT_NONE; act <= GEMM_ACT_TANH; act++) {
        struct guarded want = copy_of(&b->y);
        const float *bias = act % 2 ? b->bias.at : NULL;
        gemm_forward(ref, in_view(b, &b->x), bias, (enum gemm_act)act,
                     out_view(b, &want));
        gemm_forward(own, in_view(b, &b->x), bias, (enum gemm_act)act,
                     out_view(b, &b->y));
        CHECK(near(&b->y, &want, tolerance(b->s.in)));
        guarded_release(&want);
    }
}

static void compare_backward(struct bed *b, const struct gemm_weight *ref,
                             const struct gemm_weight *own)
{
    for (int add = 0; add < 2; add++) {
        /* what was there before does not matter unless it is added to */
        for (int64_t r = 0; !add && r < b->s.m; r++)
            for (int64_t i = 0; i < b->s.in; i++) {
                struct view dx = in_view(b, &b->dx);
                view_row(&dx, r)[i] = NAN;
            }
        struct guarded want = copy_of(&b->dx);
        gemm_backward(ref, out_view(b, &b->dy), add, in_view(b, &want));
        gemm_backward(own, out_view(b, &b->dy), add, in_view(b, &b->dx));
        CHECK(near(&b->dx, &want, tolerance(b->s.out)));
        guarded_release(&want);
    }
}

static void compare_gradient(struct bed *b, const struct gemm_weight *ref,
                             const struct gemm_weight *own)
{
    for (int bias = 0; bias < 2; bias++) {
        struct guarded dw = copy_of(&b->dw), db = copy_of(&b->db);
        gemm_gradient(ref, out_view(b, &b->dy), in_view(b, &b->x), dw.at,
                      bias ? db.at : NULL, NULL);
        gemm_gradient(own, out_view(b, &b->dy), in_view(b, &b->x), b->dw.at,
                      bias ? b->db.at : NULL, NULL);
        CHECK(near(&b->dw, &dw, tolerance(b->s.m)));
        CHECK(near(&b->db, &db, tolerance(b->s.m)));
        guarded_release(&dw);
        guarded_release(&db);
    }
}

static void compare_backend(struct rng *r, const char *backend, struct shape3 s,
                            enum gemm_precision precision)
{
    int before = tap_failed;
    struct bed b = bed_create(r, s, (int64_t)rng_below(r, 6));
    struct gemm_weight *ref = weight_of(&b, "ref", precision);
    struct gemm_weight *own = weight_of(&b, backend, precision);
    compare_forward(&b, ref, own);
    compare_backward(&b, ref, own);
    compare_gradient(&b, ref, own);
    CHECK(bed_intact(&b));
    if (tap_failed != before)
        printf("# in %s, %s with %jd rows, out %jd, in %jd, precision %d\n", backend,
               cpu_level_name(kernels_level()), (intmax_t)s.m, (intmax_t)s.out,
               (intmax_t)s.in, (int)precision);
    gemm_weight_destroy(ref);
    gemm_weight_destroy(own);
    bed_release(&b);
}

static void compare_shape(struct rng *r, struct shape3 s, enum gemm_precision precision)
{
    compare_backend(r, "own", s, precision);
}

static struct shape3 random_shape(struct rng *r)
{
    struct shape3 s = {.m = 1 + (int64_t)rng_below(r, 70),
                       .out = 1 + (int64_t)rng_below(r, 70),
                       .in = 1 + (int64_t)rng_below(r, 300)};
    if (rng_below(r, 4) == 0)
        s.out = 1 + (int64_t)rng_below(r, 8);
    if (rng_below(r, 4) == 0)
        s.in = 1 + (int64_t)rng_below(r, 8);
    return s;
}

static const struct shape3 odd_shapes[] = {{1, 1, 1},     {0, 5, 7},       {1, 257, 511},
                                           {300, 33, 17}, {67, 130, 1100}, {530, 49, 70},
                                           {3, 2, 2100},  {40, 1, 64},     {33, 200, 1}};

static void at_every_level(void (*fn)(struct rng *r))
{
    for (int level = 0; level <= (int)cpu_level(); level++) {
        struct rng r;
        rng_init(&r, 17, (uint64_t)level, 0, 0);
        kernels_use((enum cpu_level)level);
        fn(&r);
    }
    kernels_use(CPU_LEVEL_AMX);
}

static void compare_all(struct rng *r)
{
    for (int precision = GEMM_F32; precision <= GEMM_BF16; precision++) {
        for (size_t i = 0; i < ARRAY_LEN(odd_shapes); i++)
            compare_shape(r, odd_shapes[i], (enum gemm_precision)precision);
        for (int i = 0; i < 25; i++)
            compare_shape(r, random_shape(r), (enum gemm_precision)precision);
    }
}

static void every_level_agrees_with_ref(void)
{
    at_every_level(compare_all);
}

static void compare_library(const char *backend, bool bf16)
{
    static const struct shape3 shapes[] = {{1, 1, 1}, {50, 33, 17}, {67, 130, 300}};
    struct err err = {0};
    struct rng r;
    enum rc rc = gemm_backend_use(backend, &err);
    rng_init(&r, 23, 0, 0, 0);
    if (rc) {
        tap_skip("its library is not here");
        CHECK(rc == RC_NOTFOUND || rc == RC_INVAL);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        compare_backend(&r, backend, shapes[i], GEMM_F32);
        if (bf16)
            compare_backend(&r, backend, shapes[i], GEMM_BF16);
    }
}

static void onednn_agrees_with_ref(void)
{
    compare_library("onednn", true);
}

static void openblas_agrees_with_ref(void)
{
    struct gemm_weight *w = NULL;
    struct err err = {0};
    compare_library("openblas", false);
    if (gemm_backend_use("openblas", NULL))
        return;
    CHECK(gemm_weight_create(5, 5, GEMM_BF16, true, &w, &err) == RC_UNSUPPORTED);
    CHECK_STR(err.msg, "openblas has no bf16 products");
}

static void same_in_pieces(struct rng *r, enum gemm_precision precision)
{
    struct shape3 s = random_shape(r);
    struct bed b = bed_create(r, s, 3);
    struct gemm_weight *w = weight_of(&b, "own", precision);
    struct view x = in_view(&b, &b.x), dy = out_view(&b, &b.dy);
    struct guarded y = copy_of(&b.y), dx = copy_of(&b.dx);
    struct view y1 = out_view(&b, &b.y), y2 = out_view(&b, &y), dx1 = in_view(&b, &b.dx),
                dx2 = in_view(&b, &dx);
    gemm_forward(w, x, b.bias.at, GEMM_ACT_SIGMOID, y1);
    gemm_backward(w, dy, true, dx1);
    for (int64_t from = 0, to; from < s.m; from = to) {
        to = from + 1 + (int64_t)rng_below(r, 15);
        to = to < s.m ? to : s.m;
        gemm_forward(w, view_rows(&x, from, to), b.bias.at, GEMM_ACT_SIGMOID,
                     view_rows(&y2, from, to));
        gemm_backward(w, view_rows(&dy, from, to), true, view_rows(&dx2, from, to));
    }
    CHECK(memcmp(y.at, b.y.at, (size_t)y.n * sizeof(float)) == 0);
    CHECK(memcmp(dx.at, b.dx.at, (size_t)dx.n * sizeof(float)) == 0);
    guarded_release(&y);
    guarded_release(&dx);
    gemm_weight_destroy(w);
    bed_release(&b);
}

static void cut_rows(struct rng *r)
{
    for (int i = 0; i < 30; i++) {
        same_in_pieces(r, GEMM_F32);
        same_in_pieces(r, GEMM_BF16);
    }
}

static void rows_do_not_depend_on_the_cut(void)
{
    at_every_level(cut_rows);
}

static void same_on_threads(struct rng *r, struct shape3 s, enum gemm_precision precision)
{
    static const int threads[] = {1, 2, 5};
    struct bed b = bed_create(r, s, 1);
    struct gemm_weight *w = weight_of(&b, "own", precision);
    struct guarded dw[3], db[3];
    for (int i = 0; i < 3; i++) {
        struct pool *pool = NULL;
        struct err err = {0};
        CHECK(pool_create(threads[i], &pool, &err) == RC_OK);
        dw[i] = copy_of(&b.dw);
        db[i] = copy_of(&b.db);
        gemm_gradient(w, out_view(&b, &b.dy), in_view(&b, &b.x), dw[i].at, db[i].at,
                      pool);
        CHECK(memcmp(dw[0].at, dw[i].at, (size_t)dw[i].n * sizeof(float)) == 0);
        CHECK(memcmp(db[0].at, db[i].at, (size_t)db[i].n * sizeof(float)) == 0);
        pool_destroy(pool);
    }
    for (int i = 0; i < 3; i++) {
        guarded_release(&dw[i]);
        guarded_release(&db[i]);
    }
    gemm_weight_destroy(w);
    bed_release(&b);
}

static void cut_units(struct rng *r)
{
    same_on_threads(r, (struct shape3){700, 300, 290}, GEMM_F32);
    same_on_threads(r, (struct shape3){700, 300, 290}, GEMM_BF16);
    same_on_threads(r, (struct shape3){300, 1, 90}, GEMM_F32);
    same_on_threads(r, (struct shape3){65, 97, 5}, GEMM_F32);
}

static void the_gradient_does_not_depend_on_threads(void)
{
    at_every_level(cut_units);
}

/* Rows that hold no number leave the other rows alone, and are seen in the result. */
static void not_a_number_stays_in_its_row(void)
{
    struct rng r;
    rng_init(&r, 3, 0, 0, 0);
    for (int precision = GEMM_F32; precision <= GEMM_BF16; precision++) {
        struct bed b = bed_create(&r, (struct shape3){20, 40, 30}, 0);
        struct gemm_weight *w = weight_of(&b, "own", (enum gemm_precision)precision);
        b.x.at[7 * 30 + 11] = NAN;
        b.x.at[9 * 30 + 2] = INFINITY;
        gemm_forward(w, in_view(&b, &b.x), b.bias.at, GEMM_ACT_NONE, out_view(&b, &b.y));
        int bad = 0;
        for (int i = 0; i < 20 * 40; i++) {
            bool odd = i / 40 == 7 || i / 40 == 9;
            bad += (bool)isfinite(b.y.at[i]) == odd;
            bad += i / 40 == 7 && !isnan(b.y.at[i]);
        }
        CHECK_INT(bad, 0);
        gemm_weight_destroy(w);
        bed_release(&b);
    }
}

static void memory_may_run_out(void)
{
    struct err err = {0};
    int64_t live = mem_live();
    for (int n = 1; n < 8; n++) {
        struct gemm_weight *w = NULL;
        mem_fail_at(n);
        enum rc rc =
            gemm_weight_create(40, 50, n % 2 ? GEMM_BF16 : GEMM_F32, true, &w, &err);
        mem_fail_at(0);
        CHECK(rc == RC_OK || rc == RC_NOMEM);
        if (rc)
            CHECK_STR(err.msg, "no memory for a matrix of 40 x 50");
        gemm_weight_destroy(w);
        CHECK_INT(mem_live(), live);
    }
}

static void an_unknown_backend_is_refused(void)
{
    struct err err = {0};
    CHECK(gemm_backend_use("abacus", &err) == RC_INVAL);
    CHECK_STR(err.msg, "no matrix product backend is named 'abacus'");
    CHECK(gemm_backend_use("auto", &err) == RC_OK);
    CHECK_STR(gemm_backend(), "own");
}

static void compare_small(struct rng *r, int64_t m, int64_t n, int64_t k, int64_t slack)
{
    struct guarded a = guarded_random(r, m * (k + slack), slack % 3, -1, 1);
    struct guarded b = guarded_random(r, k * n + (k + n) * slack, slack % 5, -1, 1);
    for (int way = 0; way < 4; way++) {
        bool turned = way & 1, add = way & 2, good = true;
        struct gemm_small p = {.a = a.at,
                               .lda = k + slack,
                               .b = b.at,
                               .ldb = (turned ? k : n) + slack,
                               .m = m,
                               .n = n,
                               .k = k,
                               .turned = turned};
        struct guarded c = guarded_random(r, m * (n + slack), slack % 7, -1, 1);
        struct guarded old = copy_of(&c);
        gemm_small(&p, add, c.at, n + slack);
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n + slack && good; j++) {
                double want = add || j >= n ? (double)old.at[i * (n + slack) + j] : 0.0;
                for (int64_t x = 0; x < k && j < n; x++)
                    want += (double)a.at[i * p.lda + x] *
                            (double)b.at[turned ? j * p.ldb + x : x * p.ldb + j];
                good = fabs((double)c.at[i * (n + slack) + j] - want) <= tolerance(k);
            }
        CHECK(good);
        CHECK(guarded_intact(&c));
        guarded_release(&c);
        guarded_release(&old);
    }
    guarded_release(&a);
    guarded_release(&b);
}

static void compare_smalls(struct rng *r)
{
    compare_small(r, 27, 27, 16, 0);
    compare_small(r, 27, 16, 27, 0);
    compare_small(r, 1, 1, 1, 3);
    compare_small(r, 64, 70, GEMM_SMALL_K, 1);
    for (int i = 0; i < 20; i++)
        compare_small(r, 1 + (int64_t)rng_below(r, 40), 1 + (int64_t)rng_below(r, 80),
                      1 + (int64_t)rng_below(r, GEMM_SMALL_K), (int64_t)rng_below(r, 9));
}

static void small_products_agree_with_plain_loops(void)
{
    at_every_level(compare_smalls);
}

/* Floats as bf16, two in the place of one, between guards. */
static struct guarded halved(const struct guarded *g)
{
    struct guarded h = guarded_create(g->n / 2, g->shift);
    kernels()->to_bf16((uint16_t *)h.at, g->at, g->n);
    return h;
}

static struct view halved_view(const struct guarded *g, int64_t rows, int64_t width)
{
    return (struct view){
        .data = g->at, .rows = rows, .width = width, .ld = width / 2, .dtype = DT_BF16};
}

static bool same_bytes(const struct guarded *a, const struct guarded *b)
{
    return memcmp(a->at, b->at, (size_t)a->n * sizeof(float)) == 0 && guarded_intact(a) &&
           guarded_intact(b);
}

/* Rounds what it holds to what bf16 has. */
static void round_all(struct guarded *g)
{
    kernels()->round_bf16(g->at, g->at, g->n);
}

/* x and y of bf16 against floats that have the same values. */
static void halves_forward(struct bed *b, const struct gemm_weight *w)
{
    struct guarded x = halved(&b->x), y = copy_of(&b->y);
    struct view half = halved_view(&x, b->s.m, b->s.in);
    bool in = gemm_bf16_in(w);
    gemm_forward(w, in_view(b, &b->x), b->bias.at, GEMM_ACT_RELU, out_view(b, &b->y));
    gemm_forward(w, in ? half : in_view(b, &b->x), b->bias.at, GEMM_ACT_RELU,
                 out_view(b, &y));
    CHECK(same_bytes(&y, &b->y));
    if (gemm_bf16_out(w)) {
        struct guarded want = halved(&b->y), got = guarded_create(b->y.n / 2, 1);
        gemm_forward(w, in ? half : in_view(b, &b->x), b->bias.at, GEMM_ACT_RELU,
                     halved_view(&got, b->s.m, b->s.out));
        CHECK(same_bytes(&got, &want));
        guarded_release(&want);
        guarded_release(&got);
    }
    guarded_release(&x);
    guarded_release(&y);
}

static void halves_backward(struct bed *b, const struct gemm_weight *w)
{
    struct guarded dy = halved(&b->dy), dx = copy_of(&b->dx);
    struct view half =
        gemm_bf16_out(w) ? halved_view(&dy, b->s.m, b->s.out) : out_view(b, &b->dy);
    gemm_backward(w, out_view(b, &b->dy), true, in_view(b, &b->dx));
    gemm_backward(w, half, true, in_view(b, &dx));
    CHECK(same_bytes(&dx, &b->dx));
    if (gemm_bf16_in(w)) {
        gemm_backward(w, half, false, in_view(b, &b->dx));
        struct guarded want = halved(&b->dx), got = guarded_create(b->dx.n / 2, 1);
        gemm_backward(w, half, false, halved_view(&got, b->s.m, b->s.in));
        CHECK(same_bytes(&got, &want));
        guarded_release(&want);
        guarded_release(&got);
    }
    guarded_release(&dy);
    guarded_release(&dx);
}

static void halves_gradient(struct bed *b, const struct gemm_weight *w)
{
    struct guarded x = halved(&b->x), dy = halved(&b->dy);
    for (int way = 0; way < 4; way++) {
        struct guarded dw = copy_of(&b->dw), db = copy_of(&b->db);
        struct guarded want_w = copy_of(&b->dw), want_b = copy_of(&b->db);
        struct view at_x = in_view(b, &b->x), at_dy = out_view(b, &b->dy);
        if ((way & 1) && gemm_bf16_in(w))
            at_x = halved_view(&x, b->s.m, b->s.in);
        if ((way & 2) && gemm_bf16_out(w))
            at_dy = halved_view(&dy, b->s.m, b->s.out);
        gemm_gradient(w, out_view(b, &b->dy), in_view(b, &b->x), want_w.at, want_b.at,
                      NULL);
        gemm_gradient(w, at_dy, at_x, dw.at, db.at, NULL);
        CHECK(same_bytes(&dw, &want_w));
        CHECK(same_bytes(&db, &want_b));
        struct guarded *all[] = {&dw, &db, &want_w, &want_b};
        for (size_t i = 0; i < ARRAY_LEN(all); i++)
            guarded_release(all[i]);
    }
    guarded_release(&x);
    guarded_release(&dy);
}

static void compare_halves(struct rng *r)
{
    static const struct shape3 shapes[] = {
        {1, 2, 2},      {70, 64, 32}, {33, 8, 100},   {129, 96, 64},  {40, 1, 64},
        {65, 30, 1026}, {50, 3, 514}, {17, 1030, 34}, {300, 258, 288}};
    bool halves = kernels_level() >= CPU_LEVEL_BF16;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        struct shape3 s = shapes[i];
        struct bed b = bed_create(r, s, 0);
        struct gemm_weight *w = weight_of(&b, "own", GEMM_BF16);
        CHECK(gemm_bf16_in(w) == (halves && s.out <= 1024));
        CHECK(gemm_bf16_out(w) ==
              (halves && s.in <= 1024 && s.out % 2 == 0 && s.out > 4));
        round_all(&b.x);
        round_all(&b.dy);
        halves_forward(&b, w);
        halves_backward(&b, w);
        halves_gradient(&b, w);
        gemm_weight_destroy(w);
        bed_release(&b);
    }
}

static void rows_of_bf16_give_the_same(void)
{
    struct bed b;
    struct rng r;
    rng_init(&r, 1, 0, 0, 0);
    at_every_level(compare_halves);
    b = bed_create(&r, (struct shape3){4, 6, 8}, 0);
    struct gemm_weight *f32 = weight_of(&b, "own", GEMM_F32),
                       *ref = weight_of(&b, "ref", GEMM_BF16);
    CHECK(!gemm_bf16_in(f32) && !gemm_bf16_out(f32));
    CHECK(!gemm_bf16_in(ref) && !gemm_bf16_out(ref));
    gemm_weight_destroy(f32);
    gemm_weight_destroy(ref);
    bed_release(&b);
}

static const struct tap_case cases[] = {
    TAP(rows_of_bf16_give_the_same),
    TAP(small_products_agree_with_plain_loops),
    TAP(every_level_agrees_with_ref),
    TAP(onednn_agrees_with_ref),
    TAP(openblas_agrees_with_ref),
    TAP(rows_do_not_depend_on_the_cut),
    TAP(the_gradient_does_not_depend_on_threads),
    TAP(not_a_number_stays_in_its_row),
    TAP(memory_may_run_out),
    TAP(an_unknown_backend_is_refused),
};
TAP_MAIN(cases)
