/* SPDX-License-Identifier: Apache-2.0 */
/* The second set: no setting of a tuner was chosen on these functions. second.py holds
 * the same for other optimizers; `tune_bench --points` shows that they agree.
 */
#include <math.h>
#include <stdint.h>

#include "base/compiler.h"
#include "functions.h"
#include "tune/point.h"

#define PI 3.14159265358979323846
#define N(name, type, values) \
    "\"" name "\": {\"_type\": \"" type "\", \"_value\": [" values "]}"
#define U(name, low, high) N(name, "uniform", low ", " high)
#define L(name, low, high) N(name, "loguniform", low ", " high)
#define C(name, options) N(name, "choice", options)

static double user(const struct nni_space *s, const double *x, int i)
{
    return tune_point_user(&s->at[i], x[i]);
}

static double square(double v)
{
    return v * v;
}

/* A number in [0, 1) that looks arbitrary: the effect of option `option` of choice `k`. */
static double effect(int64_t k, int64_t option)
{
    return (double)((k * 73 + option * 151 + k * option * 37 + option * option * 29) %
                    101) /
           101;
}

static double levy3(const struct nni_space *s, const double *x)
{
    double w[3];
    for (int i = 0; i < 3; i++)
        w[i] = 1 + (x[i] - 1) / 4;
    double f = square(sin(PI * w[0]));
    for (int i = 0; i < 2; i++)
        f += square(w[i] - 1) * (1 + 10 * square(sin(PI * w[i] + 1)));
    return f + square(w[2] - 1) * (1 + square(sin(2 * PI * w[2])));
}

static double hartmann3(const struct nni_space *s, const double *x)
{
    static const double a[4][3] = {{3, 10, 30}, {.1, 10, 35}, {3, 10, 30}, {.1, 10, 35}};
    static const double p[4][3] = {{.3689, .1170, .2673},
                                   {.4699, .4387, .7470},
                                   {.1091, .8732, .5547},
                                   {.0381, .5743, .8828}};
    static const double alpha[4] = {1, 1.2, 3, 3.2};
    double f = 0;
    for (int i = 0; i < 4; i++) {
        double d = 0;
        for (int j = 0; j < 3; j++)
            d += a[i][j] * square(x[j] - p[i][j]);
        f -= alpha[i] * exp(-d);
    }
    return f;
}

static double styblinski5(const struct nni_space *s, const double *x)
{
    double f = 0;
    for (int i = 0; i < 5; i++)
        f += (square(x[i] * x[i]) - 16 * x[i] * x[i] + 5 * x[i]) / 2;
    return f;
}

static double rastrigin4(const struct nni_space *s, const double *x)
{
    double f = 40;
    for (int i = 0; i < 4; i++)
        f += square(x[i] - .7) - 10 * cos(2 * PI * (x[i] - .7));
    return f;
}

static double ellipsoid8(const struct nni_space *s, const double *x)
{
    double f = 0;
    for (int i = 0; i < 8; i++) {
        double z = x[i] - (i % 3) + .5, next = x[(i + 1) % 8] - ((i + 1) % 8 % 3) + .5;
        f += pow(100, i / 7.0) * square(z + .5 * next);
    }
    return f;
}

static double powers10(const struct nni_space *s, const double *x)
{
    double f = 0;
    for (int i = 0; i < 10; i++)
        f += pow(fabs(x[i] - .1 * (i - 5)), 2 + i % 3);
    return f;
}

static double camel2(const struct nni_space *s, const double *x)
{
    double a = x[0] * x[0], b = x[1] * x[1];
    return (4 - 2.1 * a + a * a / 3) * a + x[0] * x[1] + (4 * b - 4) * b;
}

static double bowl4(const struct nni_space *s, const double *x)
{
    return square(x[0] - .3) + 2 * square(x[1] - .8) + 4 * square(x[2] - .55) +
           8 * square(x[3] - .15);
}

/* lr, weight decay, dropout, momentum, layers. */
static double noisy_net5(const struct nni_space *s, const double *x)
{
    double lr = log10(user(s, x, 0)) + 2.7, wd = log10(user(s, x, 1)) + 4.5;
    return .3 + .05 * square(lr + .4 * (x[3] - .9)) + .01 * square(wd) +
           .2 * square(x[2] - .25) + .1 * square(x[3] - .85) +
           .02 * square(user(s, x, 4) - 3 - .5 * lr);
}

static double log4(const struct nni_space *s, const double *x)
{
    double a = log10(user(s, x, 0)) + 3.3, b = log10(user(s, x, 1)) + 5.2;
    double c = log10(user(s, x, 2)) + 7, d = log2(user(s, x, 3)) - 7.5;
    return square(a - .5 * b - .2 * d) + .2 * b * b + .1 * (1 - cos(2 * a)) +
           .02 * c * c + .05 * square(d + .3 * c);
}

/* Seven choices of 3 to 8 options: each alone, and four pairs. */
static double choices7(const struct nni_space *s, const double *x)
{
    double f = 0;
    int64_t o[7];
    for (int64_t i = 0; i < 7; i++) {
        o[i] = (int64_t)x[i];
        f += effect(i + 1, o[i]);
    }
    for (int64_t i = 0; i < 4; i++)
        f += .8 * effect(11 + i, o[i] * 8 + o[i + 3]);
    return f;
}

/* Three choices that move the best place of two numbers. */
static double choice_number5(const struct nni_space *s, const double *x)
{
    int64_t a = (int64_t)x[0], b = (int64_t)x[1], c = (int64_t)x[2];
    double lr = log10(user(s, x, 3)) + 1 + (double)a * .9,
           u = x[4] - .2 - .15 * (double)b;
    return .3 * effect(3, a) + .3 * effect(5, b) + .2 * effect(7, c) +
           .4 * effect(9, a * 5 + b) + square(lr) * (1 + (double)c) / 4 + 2 * u * u;
}

static double integers6(const struct nni_space *s, const double *x)
{
    double n[6];
    for (int i = 0; i < 6; i++)
        n[i] = user(s, x, i);
    return square(n[0] * n[1] - 96) / 400 + square(n[2] - 2 * n[3] + 5) / 20 +
           square(n[3] - 11) / 60 + fabs(n[4] - 37) / 20 + square(n[5] - n[0]) / 50 +
           square(n[0] - 9) / 90;
}

/* Steps of .1, of 8, of a factor, and a waved one. */
static double steps5(const struct nni_space *s, const double *x)
{
    double a = user(s, x, 0) - .4, b = user(s, x, 1) / 64 - 2.5;
    double c = log2(user(s, x, 2)) - 5, d = user(s, x, 3) - 1.5, e = user(s, x, 4);
    return 3 * a * a + square(b - a) + .1 * square(c + b) +
           d * d * (1 + .5 * c * c / 10) + .3 * (1 - cos(1.3 * (e - 6))) +
           .02 * square(e - 6);
}

/* Flat: model, linear/l2, tree/leaves, tree/rate, tree/bag, mlp/lr, mlp/drop, mlp/norm,
 * layer/eps.
 */
static double models3(const struct nni_space *s, const double *x)
{
    if (x[0] == 0)
        return .35 + .02 * square(log10(user(s, x, 1)) + 2);
    if (x[0] == 1)
        return .22 + .01 * square(log2(user(s, x, 2)) - 6) +
               .05 * square(log10(user(s, x, 3)) + 1.2) + .1 * square(x[4] - .7);
    double lr = log10(user(s, x, 5)) + 3;
    double f = .2 + .06 * lr * lr + .2 * square(x[6] - .2 - .05 * lr);
    return x[7] == 0 ? f : f - .03 + .01 * square(log10(user(s, x, 8)) + 5);
}

/* Boosted trees as a surface: 48 trees that ask four questions each. A leaf holds what a
 * smooth function is in the middle of it. Coordinates in [0, 1]: leaves, rate, fraction,
 * l1, depth, kind, bins.
 */
static double smooth7(const double *u)
{
    static const double at[7] = {.62, .35, .8, .2, .55, .5, .7};
    double f = .4 * sin(5 * u[0] * u[1]) - .3 * u[4] * u[5];
    for (int i = 0; i < 7; i++)
        f += (1 + .3 * i) * square(u[i] - at[i]);
    return f;
}

static uint64_t next_of(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static double forest7(const struct nni_space *s, const double *x)
{
    double u[7] = {log2(user(s, x, 0) / 4) / 8,
                   log10(user(s, x, 1) / .001) / 3,
                   (user(s, x, 2) - .2) / .8,
                   log10(user(s, x, 3) / 1e-6) / 7,
                   (user(s, x, 4) - 2) / 10,
                   x[5] / 2,
                   x[6] / 3};
    uint64_t state = 20231;
    double f = 0;
    for (int t = 0; t < 48; t++) {
        double low[7] = {0}, high[7] = {1, 1, 1, 1, 1, 1, 1}, middle[7];
        for (int q = 0; q < 4; q++) {
            uint64_t i = next_of(&state) % 7;
            double part = (double)(1 + next_of(&state) % 15) / 16;
            double cut = low[i] + (high[i] - low[i]) * part;
            if (u[i] < cut)
                high[i] = cut;
            else
                low[i] = cut;
        }
        for (int i = 0; i < 7; i++)
            middle[i] = (low[i] + high[i]) / 2;
        f += smooth7(middle) / 48;
    }
    return f;
}

#define U4(low, high) \
    U("a", low, high) ", " U("b", low, high) ", " U("c", low, high) ", " U("d", low, high)

/* clang-format off */
const struct function second_functions[] = {
    {"levy3", "{" U("a", "-10", "10") ", " U("b", "-10", "10") ", " U("c", "-10", "10") "}", 0,
     levy3, 0},
    {"hartmann3", "{" U("a", "0", "1") ", " U("b", "0", "1") ", " U("c", "0", "1") "}",
     -3.86278214782076, hartmann3, 0},
    {"styblinski5", "{" U4("-5", "5") ", " U("e", "-5", "5") "}", -195.83082851885,
     styblinski5, 0},
    {"rastrigin4", "{" U4("-5.12", "5.12") "}", 0, rastrigin4, 0},
    {"ellipsoid8",
     "{" U4("-5", "5") ", " U("e", "-5", "5") ", " U("f", "-5", "5") ", " U("g", "-5", "5") ", "
     U("h", "-5", "5") "}", 0, ellipsoid8, 0},
    {"powers10",
     "{" U4("-1", "1") ", " U("e", "-1", "1") ", " U("f", "-1", "1") ", " U("g", "-1", "1") ", "
     U("h", "-1", "1") ", " U("i", "-1", "1") ", " U("j", "-1", "1") "}", 0, powers10, 0},
    {"noisy_camel2", "{" U("a", "-2", "2") ", " U("b", "-1", "1") "}", -1.031628453489877,
     camel2, .2},
    {"noisy_bowl4", "{" U4("0", "1") "}", 0, bowl4, .2},
    {"noisy_net5",
     "{" L("lr", "1e-5", "1") ", " L("wd", "1e-7", "0.1") ", " U("drop", "0", "0.8") ", "
     U("mom", "0.5", "0.999") ", " N("layers", "randint", "1, 9") "}", .3, noisy_net5, .02},
    {"log4",
     "{" L("lr", "1e-6", "1") ", " L("wd", "1e-8", "1") ", " L("eps", "1e-10", "0.1") ", "
     L("bs", "8", "4096") "}", 0, log4, 0},
    {"choices7",
     "{" C("a", "0, 1, 2") ", " C("b", "\"p\", \"q\", \"r\", \"s\"") ", "
     C("c", "\"p\", \"q\", \"r\", \"s\", \"t\"") ", " C("d", "\"p\", \"q\", \"r\", \"s\", \"t\", \"u\"")
     ", " C("e", "\"p\", \"q\", \"r\", \"s\", \"t\", \"u\", \"v\"") ", "
     C("f", "\"p\", \"q\", \"r\", \"s\", \"t\", \"u\", \"v\", \"w\"") ", " C("g", "\"p\", \"q\", \"r\", \"s\"")
     "}", 0, choices7, 0},
    {"choice_number5",
     "{" C("a", "\"p\", \"q\", \"r\", \"s\"") ", " C("b", "\"p\", \"q\", \"r\", \"s\", \"t\"") ", "
     C("c", "\"p\", \"q\", \"r\"") ", " L("lr", "1e-5", "1") ", " U("u", "0", "1") "}", 0,
     choice_number5, 0},
    {"integers6",
     "{" N("a", "randint", "1, 33") ", " N("b", "randint", "1, 33") ", "
     N("c", "randint", "0, 41") ", " N("d", "randint", "0, 31") ", "
     N("e", "randint", "0, 65") ", " N("f", "randint", "1, 17") "}", 0, integers6, 0},
    {"steps5",
     "{" N("a", "quniform", "0, 1, 0.1") ", " N("b", "quniform", "0, 512, 8") ", "
     N("c", "randint", "1, 257") ", " N("d", "quniform", "0, 4, 0.25") ", "
     N("e", "randint", "0, 21") "}", 0, steps5, 0},
    {"models3",
     "{\"model\": {\"_type\": \"choice\", \"_value\": ["
     "{\"_name\": \"linear\", " L("l2", "1e-6", "10") "}, "
     "{\"_name\": \"tree\", " L("leaves", "4", "1024") ", " L("rate", "0.001", "1") ", "
     U("bag", "0.2", "1") "}, "
     "{\"_name\": \"mlp\", " L("lr", "1e-5", "1") ", " U("drop", "0", "0.8") ", "
     "\"norm\": {\"_type\": \"choice\", \"_value\": [{\"_name\": \"none\"}, {\"_name\": \"layer\", "
     L("eps", "1e-8", "0.1") "}]}}]}}", 0.17, models3, 0},
    {"forest7",
     "{" L("leaves", "4", "1024") ", " L("rate", "0.001", "1") ", " U("fraction", "0.2", "1") ", "
     L("l1", "1e-6", "10") ", " N("depth", "randint", "2, 13") ", "
     C("kind", "\"gbdt\", \"dart\", \"goss\"") ", " C("bins", "\"63\", \"127\", \"255\", \"511\"") "}",
     0, forest7, 0},
};
/* clang-format on */
const int n_second_functions = (int)ARRAY_LEN(second_functions);
