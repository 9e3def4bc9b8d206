/* SPDX-License-Identifier: Apache-2.0 */
#include "functions.h"

#include <math.h>

#include "base/compiler.h"
#include "tune/point.h"

#define PI 3.14159265358979323846
#define U(name, low, high) \
    "\"" name "\": {\"_type\": \"uniform\", \"_value\": [" low ", " high "]}"
#define L(name, low, high) \
    "\"" name "\": {\"_type\": \"loguniform\", \"_value\": [" low ", " high "]}"

static double user(const struct nni_space *s, const double *x, int i)
{
    return tune_point_user(&s->at[i], x[i]);
}

static double branin(const struct nni_space *s, const double *x)
{
    double a = x[1] - 5.1 * x[0] * x[0] / (4 * PI * PI) + 5 * x[0] / PI - 6;
    return a * a + 10 * (1 - 1 / (8 * PI)) * cos(x[0]) + 10;
}

static double hartmann6(const struct nni_space *s, const double *x)
{
    static const double a[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                   {.05, 10, 17, .1, 8, 14},
                                   {3, 3.5, 1.7, 10, 17, 8},
                                   {17, 8, .05, 10, .1, 14}};
    static const double p[4][6] = {{1312, 1696, 5569, 124, 8283, 5886},
                                   {2329, 4135, 8307, 3736, 1004, 9991},
                                   {2348, 1451, 3522, 2883, 3047, 6650},
                                   {4047, 8828, 8732, 5743, 1091, 381}};
    static const double alpha[4] = {1, 1.2, 3, 3.2};
    double f = 0;
    for (int i = 0; i < 4; i++) {
        double d = 0;
        for (int j = 0; j < 6; j++)
            d += a[i][j] * (x[j] - p[i][j] * 1e-4) * (x[j] - p[i][j] * 1e-4);
        f -= alpha[i] * exp(-d);
    }
    return f;
}

static double rosenbrock4(const struct nni_space *s, const double *x)
{
    double f = 0;
    for (int i = 0; i < 3; i++)
        f += 100 * pow(x[i + 1] - x[i] * x[i], 2) + pow(1 - x[i], 2);
    return f;
}

static double ackley5(const struct nni_space *s, const double *x)
{
    double squares = 0, waves = 0;
    for (int i = 0; i < 5; i++) {
        squares += x[i] * x[i] / 5;
        waves += cos(2 * PI * x[i]) / 5;
    }
    return -20 * exp(-.2 * sqrt(squares)) - exp(waves) + 20 + exp(1);
}

static double mixed6(const struct nni_space *s, const double *x)
{
    static const double act[4] = {0, .02, .3, .8};
    double lr = log10(user(s, x, 0)), wd = log10(user(s, x, 1)), b = x[2] - 2;
    double layers = user(s, x, 4), drop = user(s, x, 5);
    return pow(lr + 2.5 - .3 * b, 2) + .3 * pow(wd + 3.5, 2) + act[(int)x[3]] +
           .15 * pow(layers - 3, 2) + 2 * pow(drop - .3, 2) + .05 * fabs(b);
}

/* Flat: opt, sgd/lr, sgd/momentum, adam/lr, adam/beta, ada/rho. */
static double nested(const struct nni_space *s, const double *x)
{
    if (x[0] == 0)
        return pow(log10(user(s, x, 1)) + 1, 2) + 4 * pow(x[2] - .9, 2);
    if (x[0] == 1)
        return .1 + pow(log10(user(s, x, 3)) + 3, 2) + .1 * pow(x[4] - .5, 2);
    return .5 + pow(x[5] - .2, 2);
}

static double ctr_like(const struct nni_space *s, const double *x)
{
    double g = log10(user(s, x, 0)) + 3, l2 = log10(user(s, x, 1)) + 5, dim = x[2] + 2;
    return .55 - .08 * exp(-g * g / .5) - .03 * exp(-pow(dim - 4 - .5 * g, 2) / 2) -
           .02 * exp(-l2 * l2) - .01 * (x[3] == 2) - .005 * (x[4] == 0) +
           .02 * fmax(0, user(s, x, 5) - .3);
}

/* Two levels: a kind of model, then a kind of schedule below one of them. */
static double nested2(const struct nni_space *s, const double *x)
{
    if (x[0] == 0)
        return .3 + pow(x[1] - .4, 2);
    double lr = pow(log10(user(s, x, 2)) + 2, 2);
    if (x[3] == 0)
        return .2 + lr;
    return lr + 3 * pow(x[4] - .7, 2) + pow(x[5] - .2, 2);
}

const struct function functions[] = {
    {"branin", "{" U("x", "-5", "10") ", " U("y", "0", "15") "}", 0.39788735772973816,
     branin},
    {"hartmann6",
     "{" U("a", "0", "1") ", " U("b", "0", "1") ", " U("c", "0", "1") ", " U(
         "d", "0", "1") ", " U("e", "0", "1") ", " U("f", "0", "1") "}",
     -3.32236801141551, hartmann6},
    {"rosenbrock4",
     "{" U("a", "-2", "2") ", " U("b", "-2", "2") ", " U("c", "-2", "2") ", " U("d", "-2",
                                                                                "2") "}",
     0, rosenbrock4},
    {"ackley5",
     "{" U("a", "-32.768", "32.768") ", " U("b", "-32.768", "32.768") ", " U(
         "c", "-32.768", "32.768") ", " U("d", "-32.768", "32.768") ", " U("e", "-32.768",
                                                                           "32.768") "}",
     0, ackley5},
    {"mixed6",
     "{" L("lr", "1e-5", "1") ", " L(
         "wd", "1e-6",
         "0.1") ", "
                "\"bs\": {\"_type\": \"choice\", \"_value\": [16, 32, 64, 128, 256]}, "
                "\"act\": {\"_type\": \"choice\", \"_value\": [\"relu\", \"gelu\", \"tanh\", \"sigmoid\"]}, "
                "\"layers\": {\"_type\": \"randint\", \"_value\": [1, 7]}, "
                "\"drop\": {\"_type\": \"quniform\", \"_value\": [0, 0.8, 0.1]}}",
     0, mixed6},
    {"nested",
     "{\"opt\": {\"_type\": \"choice\", \"_value\": ["
     "{\"_name\": \"sgd\", " L("lr", "1e-4", "1") ", " U(
         "momentum", "0", "1") "}, "
                               "{\"_name\": \"adam\", " L("lr", "1e-5", "0.1") ", " U(
                                   "beta", "0",
                                   "1") "}, "
                                        "{\"_name\": \"ada\", " U("rho", "0", "1") "}]}}",
     0, nested},
    {"nested2",
     "{\"model\": {\"_type\": \"choice\", \"_value\": ["
     "{\"_name\": \"wide\", " U(
         "l1", "0",
         "1") "}, "
              "{\"_name\": \"deep\", " L(
                  "lr", "1e-5",
                  "1") ", \"plan\": {\"_type\": \"choice\", \"_value\": [{\"_name\": \"flat\"}, "
                       "{\"_name\": \"cosine\", " U("warm", "0", "1") ", " U(
                           "end", "0", "1") "}]}}]}}",
     0, nested2},
    {"ctr_like",
     "{" L("lr", "1e-5", "0.1") ", " L(
         "l2", "1e-8",
         "0.1") ", "
                "\"dim\": {\"_type\": \"choice\", \"_value\": [4, 8, 16, 32, 64, 128]}, "
                "\"deep\": {\"_type\": \"choice\", \"_value\": [\"64\", \"128-64\", \"256-128\", \"512-256-128\"]}, "
                "\"opt\": {\"_type\": \"choice\", \"_value\": [\"adam\", \"adagrad\", \"sgd\"]}, "
                "\"dropout\": {\"_type\": \"quniform\", \"_value\": [0, 0.9, 0.1]}}",
     0.405, ctr_like},
};
const int n_functions = (int)ARRAY_LEN(functions);
