/* SPDX-License-Identifier: Apache-2.0 */
/* Every table against `ref`: random data, odd sizes, odd starts, guards around arrays. */
#include "base/compiler.h"
#include "tap.h"
#include "tensor/kernel.h"
#include "unit/tensor/random_floats.h"

#define ARRAYS 8

/* What an op works on: arrays of n floats, and what it returns. */
struct bed {
    struct guarded g[ARRAYS];
    float *a[ARRAYS]; /* a[4] and a[5] are positive */
    int64_t n;
    uint8_t keep[8192];
    double result;
};

static struct bed *bed_create(int64_t n, int64_t shift, uint64_t seed)
{
    struct bed *b = mem_calloc(1, sizeof(*b));
    struct rng r;
    rng_init(&r, seed, (uint64_t)n, 0, 0);
    b->n = n;
    for (int i = 0; i < ARRAYS; i++) {
        float low = i == 4 || i == 5 ? 0.1f : -2.0f;
        b->g[i] = guarded_random(&r, n, (shift + i) % 4 * (shift > 0), low, 2.0f);
        b->a[i] = b->g[i].at;
    }
    for (int64_t i = 0; i < n; i++)
        b->keep[i] = rng_below(&r, 3) > 0;
    return b;
}

static void bed_destroy(struct bed *b)
{
    for (int i = 0; i < ARRAYS; i++)
        guarded_release(&b->g[i]);
    mem_free(b);
}

static bool near(double got, double want, double tol)
{
    return (isnan(got) && isnan(want)) || got == want ||
           fabs(got - want) <= tol * fmax(1.0, fabs(want));
}

typedef void op_fn(const struct kernels *k, struct bed *b);

#define COMMA ,
#define OP(name, call)                                            \
    static void op_##name(const struct kernels *k, struct bed *b) \
    {                                                             \
        int64_t n = b->n;                                         \
        float *const *a = b->a;                                   \
        (void)a;                                                  \
        call;                                                     \
    }
static const struct kernel_optim_step plain = {.lr = 0.1,
                                               .weight_decay = 0.02,
                                               .eps = 1e-8,
                                               .rate1 = 0.9,
                                               .rate2 = 0.99,
                                               .bias1 = 0.271,
                                               .bias2 = 0.0297},
                                      first = {.lr = 0.1, .rate1 = 0.9, .first = true},
                                      fancy = {.lr = 0.1,
                                               .weight_decay = 0.02,
                                               .eps = 1e-6,
                                               .rate1 = 0.9,
                                               .rate2 = 0.1,
                                               .bias1 = 0.5,
                                               .bias2 = 0.5,
                                               .nesterov = true,
                                               .decoupled = true};

OP(add, k->add(a[0], a[1], n))
OP(axpy, k->axpy(a[0], 0.7f, a[1], n))
OP(times, k->times(a[0], 0.7f, a[1], n))
OP(axpby, k->axpby(a[0], 0.7f, a[1], -0.3f, n))
OP(scale, k->scale(a[0], 1.7f, n))
OP(mul, k->mul(a[0], a[1], a[2], n))
OP(mul_add, k->mul_add(a[0], a[1], a[2], n))
OP(mul_in_place, k->mul(a[0], a[0], a[2], n))
OP(clamp, k->clamp(a[0], -0.5f, 0.25f, n))
OP(scale_shift, k->scale_shift(a[0], a[1], a[2], a[3], n))
OP(dot, b->result = (double)k->dot(a[0], a[1], n))
OP(dot_rows, if (n > 3) k->dot_rows(a[0], a[1], n / 11, n > 10 ? 10 : 1, a[2], n / 11))
OP(add_rows, k->add_rows(a[0], a[1], n / 3, 3, a[2], 2, n / 3))
OP(add_rows_alone, k->add_rows(a[0], a[1], n / 3, 3, NULL, 0, n / 3))
OP(sum, b->result = (double)k->sum(a[0], n))
OP(sum_squares, b->result = k->sum_squares(a[0], n))
OP(max, b->result = (double)k->max(a[0], n))
OP(max_nan, if (n) a[0][n / 2] = NAN; b->result = (double)k->max(a[0], n))
OP(finite, b->result = k->finite(a[0], n))
OP(finite_nan, if (n) a[0][n - 1] = NAN; b->result = k->finite(a[0], n))
OP(finite_inf, if (n) a[0][0] = -INFINITY; b->result = k->finite(a[0], n))
OP(exp, k->exp(a[0], a[1], n))
OP(log, k->log(a[0], a[4], n))
OP(round_bf16, k->round_bf16(a[0], a[1], n))
OP(softmax, k->softmax(a[0], a[1], n, n))
OP(softmax_part, k->softmax(a[0], a[1], n / 2, n))
OP(softmax_in_place, k->softmax(a[0], a[0], n - n / 3, n))
OP(softmax_masked, k->softmax_masked(a[0], a[1], b->keep, n))
OP(softmax_none, memset(b->keep, 0, sizeof(b->keep));
   k->softmax_masked(a[0], a[1], b->keep, n))
OP(softmax_nan, if (n) a[1][n / 3] = NAN; k->softmax(a[0], a[1], n, n))
OP(softmax_grad, k->softmax_grad(a[0], a[4], a[2], n))
OP(layer_norm, float stats[2]; k->layer_norm(a[0], a[1], a[2], a[3], 1e-5f, stats, n);
   b->result = (double)(stats[0] + stats[1]) * (n > 1))
OP(layer_norm_bare, float stats[2];
   k->layer_norm(a[0], a[1], NULL, NULL, 1e-3f, stats, n))
OP(layer_norm_grad, const float stats[2] = {0.1f COMMA 0.9f};
   k->layer_norm_grad(a[0], a[1], a[2], a[3], stats, n))
OP(layer_norm_grad_bare, const float stats[2] = {0.1f COMMA 0.9f};
   k->layer_norm_grad(a[0], a[1], a[2], NULL, stats, n))
OP(layer_norm_params, const float stats[2] = {0.1f COMMA 0.9f};
   k->layer_norm_params(a[0], a[1], a[2], a[3], stats, n))
OP(deviations, k->deviations(a[0], a[1], a[2], n))
OP(norm_sums, k->norm_sums(a[0], a[1], a[2], a[3], a[4], n))
OP(norm_grad, k->norm_grad(a[0], a[1], a[2], a[3], a[4], a[5], n))
OP(dice, k->dice(a[0], a[1], a[2], a[3], n))
OP(dice_grad, k->dice_grad(a[0], a[1], a[2], a[3], a[4], a[5], a[6], n))
OP(sgd, k->sgd(a[0], a[1], NULL, &plain, n))
OP(sgd_momentum, k->sgd(a[0], a[1], a[2], &plain, n))
OP(sgd_first, k->sgd(a[0], a[1], a[2], &first, n))
OP(sgd_nesterov, k->sgd(a[0], a[1], a[2], &fancy, n))
OP(adam, k->adam(a[0], a[1], a[2], a[4], NULL, &plain, n))
OP(adamw, k->adam(a[0], a[1], a[2], a[4], NULL, &fancy, n))
OP(amsgrad, k->adam(a[0], a[1], a[2], a[4], a[5], &plain, n))
OP(adagrad, k->adagrad(a[0], a[1], a[4], &plain, n))
OP(rmsprop, k->rmsprop(a[0], a[1], a[4], &plain, n))
OP(adadelta, k->adadelta(a[0], a[1], a[4], a[5], &fancy, n))
OP(none_out, k->act_grad_from_out[0](a[0], a[1], n))
OP(relu_out, k->act_grad_from_out[1](a[0], a[1], n))
OP(sigmoid_out, k->act_grad_from_out[2](a[0], a[1], n))
OP(tanh_out, k->act_grad_from_out[3](a[0], a[1], n))
#undef OP

/* Every number and every guard; `what` for the message. */
static bool beds_agree(const struct bed *got, const struct bed *want, double tol)
{
    if (!near(got->result, want->result, tol)) {
        printf("# returned %.9g, not %.9g\n", got->result, want->result);
        return false;
    }
    for (int i = 0; i < ARRAYS; i++) {
        if (!guarded_intact(&got->g[i])) {
            printf("# array %d: its guard was written\n", i);
            return false;
        }
        for (int64_t j = 0; j < got->n; j++)
            if (!near((double)got->a[i][j], (double)want->a[i][j], tol)) {
                printf("# array %d at %jd: %.9g, not %.9g\n", i, (intmax_t)j,
                       (double)got->a[i][j], (double)want->a[i][j]);
                return false;
            }
    }
    return true;
}

static bool same_as_ref(const struct kernels *k, op_fn *op, int64_t n, int64_t shift,
                        double tol)
{
    struct bed *got = bed_create(n, shift, 5), *want = bed_create(n, shift, 5);
    op(k, got);
    op(kernels_ref(), want);
    bool ok = beds_agree(got, want, tol);
    bed_destroy(got);
    bed_destroy(want);
    return ok;
}

/* Relative for numbers above 1, absolute below; sums of n terms are allowed more. */
static const struct {
    const char *name;
    op_fn *op;
    double tol;
    bool sums;
} ops[] = {
#define EXACT(name)                \
    {                              \
#name, op_##name, 0, false \
    }
#define CLOSE(name)                   \
    {                                 \
#name, op_##name, 5e-7, false \
    }
#define SUMS(name)                   \
    {                                \
#name, op_##name, 5e-7, true \
    }
    EXACT(add),
    CLOSE(axpy),
    EXACT(times),
    CLOSE(axpby),
    EXACT(scale),
    EXACT(mul),
    CLOSE(mul_add),
    EXACT(mul_in_place),
    EXACT(clamp),
    CLOSE(scale_shift),
    SUMS(dot),
    SUMS(dot_rows),
    SUMS(add_rows),
    EXACT(add_rows_alone),
    SUMS(sum),
    SUMS(sum_squares),
    EXACT(max),
    EXACT(max_nan),
    EXACT(finite),
    EXACT(finite_nan),
    EXACT(finite_inf),
    CLOSE(exp),
    CLOSE(log),
    EXACT(round_bf16),
    CLOSE(softmax),
    CLOSE(softmax_part),
    CLOSE(softmax_in_place),
    CLOSE(softmax_masked),
    EXACT(softmax_none),
    EXACT(softmax_nan),
    SUMS(softmax_grad),
    {"layer_norm", op_layer_norm, 5e-6, false},
    {"layer_norm_bare", op_layer_norm_bare, 5e-6, false},
    SUMS(layer_norm_grad),
    SUMS(layer_norm_grad_bare),
    CLOSE(layer_norm_params),
    CLOSE(deviations),
    CLOSE(norm_sums),
    {"norm_grad", op_norm_grad, 2e-6, false},
    {"dice", op_dice, 2e-6, false},
    {"dice_grad", op_dice_grad, 2e-6, false},
    CLOSE(sgd),
    CLOSE(sgd_momentum),
    CLOSE(sgd_first),
    CLOSE(sgd_nesterov),
    CLOSE(adam),
    CLOSE(adamw),
    CLOSE(amsgrad),
    CLOSE(adagrad),
    CLOSE(rmsprop),
    {"adadelta", op_adadelta, 2e-6, false},
    EXACT(none_out),
    EXACT(relu_out),
    CLOSE(sigmoid_out),
    CLOSE(tanh_out),
};

/* Calls fn with every table that this processor can run. */
static void with_every_table(void (*fn)(const struct kernels *k))
{
    for (int level = 0; level <= (int)cpu_level(); level++)
        if (kernels_of((enum cpu_level)level))
            fn(kernels_of((enum cpu_level)level));
}

static void compare_ops(const struct kernels *k)
{
    static const int64_t large[] = {127, 1000, 5003};
    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        for (int64_t n = 0; n < 71 + (int64_t)ARRAY_LEN(large); n++) {
            int64_t size = n < 71 ? n : large[n - 71];
            double tol = ops[i].tol * (ops[i].sums ? 1 + sqrt((double)size) : 1);
            bool ok = same_as_ref(k, ops[i].op, size, n % 5, tol);
            if (!ok)
                printf("# in %s.%s of %jd\n", k->name, ops[i].name, (intmax_t)size);
            CHECK(ok);
        }
}

static void every_table_agrees_with_ref(void)
{
    with_every_table(compare_ops);
}

/* Floats of every size and sign, with those that need care. */
static size_t special_floats(float *out)
{
    static const float named[] = {
        0.0f,      -0.0f,  NAN,    INFINITY, -INFINITY, 1.0f,           -1.0f,  0x1p-149f,
        0x1p-126f, 88.72f, 88.73f, -87.3f,   -103.9f,   -104.1f,        0.625f, -0.625f,
        3.0f,      -3.0f,  6.0f,   20.0f,    -0.34f,    0x1.fffffep127f};
    size_t n = 0;
    for (; n < ARRAY_LEN(named); n++)
        out[n] = named[n];
    for (uint64_t bits = 0; bits < UINT32_MAX; bits += 299993) {
        uint32_t u = (uint32_t)bits;
        memcpy(&out[n++], &u, sizeof(u));
    }
    for (int i = -30000; i < 30000; i++)
        out[n++] = (float)i * 1e-3f;
    return n;
}

#define SPECIAL_MAX 80000

static void check_errors(const char *what, const float *x, const float *got,
                         const float *want, size_t n, double rel, double abs_tol)
{
    double worst = 0;
    int bad = 0;
    for (size_t i = 0; i < n; i++) {
        double g = (double)got[i], w = (double)want[i];
        if ((isnan(g) && isnan(w)) || g == w)
            continue;
        double most = fmax(rel * fabs(w), abs_tol);
        if (!(fabs(g - w) <= most) && bad++ == 0)
            printf("# %s(%.9g) = %.9g, not %.9g\n", what, (double)x[i], g, w);
        if (fabs(w) > 1e-30 && fabs(g - w) / fabs(w) > worst)
            worst = fabs(g - w) / fabs(w);
    }
    CHECK_INT(bad, 0);
    if (bad)
        printf("# %s: worst relative error %.3g, %d bad\n", what, worst, bad);
}

static void compare_functions(const struct kernels *k)
{
    float *x = mem_calloc(3 * SPECIAL_MAX, sizeof(float)), *got = x + SPECIAL_MAX,
          *want = got + SPECIAL_MAX;
    size_t n = special_floats(x);
    CHECK(n < SPECIAL_MAX);
    k->exp(got, x, (int64_t)n);
    kernels_ref()->exp(want, x, (int64_t)n);
    check_errors("exp", x, got, want, n, 2.5e-7, 1.2e-38);
    k->log(got, x, (int64_t)n);
    kernels_ref()->log(want, x, (int64_t)n);
    check_errors("log", x, got, want, n, 2.5e-7, 0);
    for (int a = 0; a < KERNEL_ACT_COUNT; a++) {
        char name[32];
        k->act[a].value(got, x, 0.3f, (int64_t)n);
        kernels_ref()->act[a].value(want, x, 0.3f, (int64_t)n);
        snprintf(name, sizeof(name), "%s act %d", k->name, a);
        check_errors(name, x, got, want, n, 5e-7, 2e-7);
        for (size_t i = 0; i < n; i++)
            got[i] = want[i] = 0;
        float *one = mem_calloc(n, sizeof(float));
        for (size_t i = 0; i < n; i++)
            one[i] = 1.0f;
        k->act[a].grad(got, one, x, 0.3f, (int64_t)n);
        kernels_ref()->act[a].grad(want, one, x, 0.3f, (int64_t)n);
        snprintf(name, sizeof(name), "%s slope %d", k->name, a);
        check_errors(name, x, got, want, n, 5e-7, 3e-7);
        mem_free(one);
    }
    mem_free(x);
}

static void functions_keep_their_stated_errors(void)
{
    with_every_table(compare_functions);
}

/* Also odd lengths, and dx that held something before. */
static void compare_acts(const struct kernels *k)
{
    for (int a = 0; a < KERNEL_ACT_COUNT; a++)
        for (int64_t n = 0; n < 40; n++) {
            struct bed *got = bed_create(n, n % 3, 9), *want = bed_create(n, n % 3, 9);
            k->act[a].value(got->a[0], got->a[1], 0.2f, n);
            k->act[a].grad(got->a[2], got->a[3], got->a[1], 0.2f, n);
            kernels_ref()->act[a].value(want->a[0], want->a[1], 0.2f, n);
            kernels_ref()->act[a].grad(want->a[2], want->a[3], want->a[1], 0.2f, n);
            CHECK(beds_agree(got, want, 1e-6));
            bed_destroy(got);
            bed_destroy(want);
        }
}

static void activations_of_odd_lengths(void)
{
    with_every_table(compare_acts);
}

static void compare_rows(const struct kernels *k)
{
    struct rng r;
    rng_init(&r, 4, 0, 0, 0);
    for (int64_t width = 1; width < 40; width++) {
        int64_t at[50], ld = width + width % 3, n = 3 + width;
        struct guarded table = guarded_random(&r, 30 * ld, 1, -1, 1),
                       x = guarded_random(&r, 50 * ld, 0, -1, 1),
                       want = guarded_create(30 * ld, 1), y = guarded_create(50 * ld, 3);
        memcpy(want.at, table.at, (size_t)(30 * ld) * sizeof(float));
        for (int64_t i = 0; i < n; i++)
            at[i] = (int64_t)rng_below(&r, 30);
        k->gather(y.at, ld, table.at, ld, at, n, width);
        for (int64_t i = 0; i < n; i++)
            CHECK(memcmp(y.at + i * ld, table.at + at[i] * ld,
                         (size_t)width * sizeof(float)) == 0);
        k->scatter_add(table.at, ld, at, x.at, ld, n, width);
        kernels_ref()->scatter_add(want.at, ld, at, x.at, ld, n, width);
        CHECK(memcmp(table.at, want.at, (size_t)(30 * ld) * sizeof(float)) == 0);
        CHECK(guarded_intact(&table) && guarded_intact(&y));
        guarded_release(&table);
        guarded_release(&x);
        guarded_release(&want);
        guarded_release(&y);
    }
}

static void rows_are_gathered_and_added(void)
{
    with_every_table(compare_rows);
}

static bool same_half(uint16_t a, uint16_t b, uint16_t exponent)
{
    bool nan_a = (a & 0x7fff) > exponent, nan_b = (b & 0x7fff) > exponent;
    return a == b || (nan_a && nan_b);
}

static void compare_halves(const struct kernels *k)
{
    const struct kernels *ref = kernels_ref();
    float *x = mem_calloc(3 * SPECIAL_MAX, sizeof(float)), *got = x + SPECIAL_MAX,
          *want = got + SPECIAL_MAX;
    uint16_t *h = mem_calloc(2 * SPECIAL_MAX, sizeof(*h)), *g = h + SPECIAL_MAX;
    int64_t n = (int64_t)special_floats(x);
    int bad = 0;
    for (int64_t i = 0; i < 70; i++) /* odd lengths do not write further */
    {
        g[i] = h[i] = 77;
        k->to_bf16(g, x, i);
        k->to_f16(h, x, i);
        bad += g[i] != 77 || h[i] != 77;
    }
    k->to_bf16(h, x, n);
    ref->to_bf16(g, x, n);
    for (int64_t i = 0; i < n; i++)
        bad += !same_half(h[i], g[i], 0x7f80);
    k->to_f16(h, x, n);
    ref->to_f16(g, x, n);
    for (int64_t i = 0; i < n; i++)
        bad += !same_half(h[i], g[i], 0x7c00);
    for (int64_t i = 0; i < 65536; i++)
        h[i] = (uint16_t)i;
    k->from_f16(got, h, 65535);
    ref->from_f16(want, h, 65535);
    for (int64_t i = 0; i < 65535; i++)
        bad += !near((double)got[i], (double)want[i], 0);
    k->from_bf16(got, h, 65531);
    ref->from_bf16(want, h, 65531);
    for (int64_t i = 0; i < 65531; i++)
        bad += !near((double)got[i], (double)want[i], 0);
    CHECK_INT(bad, 0);
    mem_free(x);
    mem_free(h);
}

static void halves_are_rounded_alike(void)
{
    with_every_table(compare_halves);
}

static void compare_bits(const struct kernels *k)
{
    static const uint64_t starts[] = {0, 1, 3, 64, 4 * ((UINT64_C(1) << 32) - 9) + 2};
    for (size_t s = 0; s < ARRAY_LEN(starts); s++)
        for (int64_t n = 0; n < 300; n += n < 70 ? 1 : 37) {
            struct rng a, b;
            uint32_t got[301], want[301];
            rng_init(&a, 1, 2, 3, UINT64_C(1) << 40);
            rng_seek(&a, starts[s]);
            b = a;
            got[n] = 5;
            k->random_bits(&a, got, n);
            rng_fill_u32(&b, want, (size_t)n);
            CHECK(memcmp(got, want, (size_t)n * sizeof(*got)) == 0 && got[n] == 5);
            CHECK(rng_u32(&a) == rng_u32(&b));
        }
}

static void random_bits_are_those_of_rng(void)
{
    with_every_table(compare_bits);
}

static void compare_dropout(const struct kernels *k)
{
    struct rng r;
    rng_init(&r, 1, 2, 3, 4);
    for (int64_t n = 0; n < 700; n += n < 70 ? 1 : 111) {
        struct bed *got = bed_create(n, n % 3, 9), *want = bed_create(n, n % 3, 9);
        k->dropout(got->a[0], got->a[1], &r, 0.3f, n);
        k->dropout_add(got->a[2], got->a[3], &r, 0.3f, n);
        k->dropout(got->a[4], got->a[4], &r, 0.0f, n);
        kernels_ref()->dropout(want->a[0], want->a[1], &r, 0.3f, n);
        kernels_ref()->dropout_add(want->a[2], want->a[3], &r, 0.3f, n);
        CHECK(beds_agree(got, want, 0));
        bed_destroy(got);
        bed_destroy(want);
    }
}

static void dropout_goes_by_the_counter(void)
{
    with_every_table(compare_dropout);
    /* about p of them, and the mean stays */
    float x[20000], sum = 0;
    int dropped = 0;
    for (int i = 0; i < 20000; i++)
        x[i] = 1;
    struct rng r;
    rng_init(&r, 8, 2, 3, 4);
    kernels()->dropout(x, x, &r, 0.2f, 20000);
    for (int i = 0; i < 20000; i++) {
        dropped += x[i] == 0;
        sum += x[i];
    }
    CHECK(dropped > 3800 && dropped < 4200);
    CHECK_NEAR(sum, 20000, 300);
}

static void the_level_is_settled_once(void)
{
    cpu_limit(CPU_LEVEL_BASE);
    CHECK_INT(kernels_level(), CPU_LEVEL_BASE);
    CHECK(kernels() == kernels_ref());
    cpu_limit(CPU_LEVEL_AMX);
    CHECK(kernels() == kernels_ref());
    kernels_use(CPU_LEVEL_AMX);
    CHECK_INT(kernels_level(), cpu_level());
    CHECK(cpu_level() < CPU_LEVEL_AVX2 || kernels() != kernels_ref());
}

static const struct tap_case cases[] = {
    TAP(the_level_is_settled_once),          TAP(every_table_agrees_with_ref),
    TAP(functions_keep_their_stated_errors), TAP(activations_of_odd_lengths),
    TAP(rows_are_gathered_and_added),        TAP(halves_are_rounded_alike),
    TAP(random_bits_are_those_of_rng),       TAP(dropout_goes_by_the_counter),
};
TAP_MAIN(cases)
