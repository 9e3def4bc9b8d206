# SPDX-License-Identifier: Apache-2.0
"""The functions of functions.c for optimizers in Python: each asks `p` for its parameters."""
import math

LEAST = {"branin": 0.39788735772973816, "hartmann6": -3.32236801141551, "ctr_like": 0.405}


def branin(p):
    x, y = p.uniform("x", -5, 10), p.uniform("y", 0, 15)
    a = y - 5.1 * x * x / (4 * math.pi ** 2) + 5 * x / math.pi - 6
    return a * a + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


A = [[10, 3, 17, 3.5, 1.7, 8], [.05, 10, 17, .1, 8, 14], [3, 3.5, 1.7, 10, 17, 8],
     [17, 8, .05, 10, .1, 14]]
P = [[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
     [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]]


def hartmann6(p):
    x = [p.uniform(n, 0, 1) for n in "abcdef"]
    return -sum(alpha * math.exp(-sum(a * (v - q * 1e-4) ** 2 for a, v, q in zip(ai, x, pi)))
                for alpha, ai, pi in zip([1, 1.2, 3, 3.2], A, P))


def rosenbrock4(p):
    x = [p.uniform(n, -2, 2) for n in "abcd"]
    return sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(3))


def ackley5(p):
    x = [p.uniform(n, -32.768, 32.768) for n in "abcde"]
    return (-20 * math.exp(-.2 * math.sqrt(sum(v * v for v in x) / 5))
            - math.exp(sum(math.cos(2 * math.pi * v) for v in x) / 5) + 20 + math.e)


def mixed6(p):
    lr, wd = math.log10(p.loguniform("lr", 1e-5, 1)), math.log10(p.loguniform("wd", 1e-6, .1))
    b = math.log2(p.choice("bs", [16, 32, 64, 128, 256]) / 64)
    act = {"relu": 0, "gelu": .02, "tanh": .3, "sigmoid": .8}[
        p.choice("act", ["relu", "gelu", "tanh", "sigmoid"])]
    layers, drop = p.randint("layers", 1, 7), p.quniform("drop", 0, .8, .1)
    return ((lr + 2.5 - .3 * b) ** 2 + .3 * (wd + 3.5) ** 2 + act + .15 * (layers - 3) ** 2
            + 2 * (drop - .3) ** 2 + .05 * abs(b))


def nested(p):
    opt = p.choice("opt", ["sgd", "adam", "ada"])
    if opt == "sgd":
        return ((math.log10(p.loguniform("sgd/lr", 1e-4, 1)) + 1) ** 2
                + 4 * (p.uniform("sgd/momentum", 0, 1) - .9) ** 2)
    if opt == "adam":
        return (.1 + (math.log10(p.loguniform("adam/lr", 1e-5, .1)) + 3) ** 2
                + .1 * (p.uniform("adam/beta", 0, 1) - .5) ** 2)
    return .5 + (p.uniform("ada/rho", 0, 1) - .2) ** 2


def nested2(p):
    if p.choice("model", ["wide", "deep"]) == "wide":
        return .3 + (p.uniform("wide/l1", 0, 1) - .4) ** 2
    lr = (math.log10(p.loguniform("deep/lr", 1e-5, 1)) + 2) ** 2
    if p.choice("deep/plan", ["flat", "cosine"]) == "flat":
        return .2 + lr
    return (lr + 3 * (p.uniform("cosine/warm", 0, 1) - .7) ** 2
            + (p.uniform("cosine/end", 0, 1) - .2) ** 2)


def ctr_like(p):
    g = math.log10(p.loguniform("lr", 1e-5, .1)) + 3
    l2 = math.log10(p.loguniform("l2", 1e-8, .1)) + 5
    dim = math.log2(p.choice("dim", [4, 8, 16, 32, 64, 128]))
    deep = p.choice("deep", ["64", "128-64", "256-128", "512-256-128"])
    opt = p.choice("opt", ["adam", "adagrad", "sgd"])
    return (.55 - .08 * math.exp(-g * g / .5) - .03 * math.exp(-(dim - 4 - .5 * g) ** 2 / 2)
            - .02 * math.exp(-l2 * l2) - .01 * (deep == "256-128") - .005 * (opt == "adam")
            + .02 * max(0, p.quniform("dropout", 0, .9, .1) - .3))


ALL = [branin, hartmann6, rosenbrock4, ackley5, mixed6, nested, nested2, ctr_like]
