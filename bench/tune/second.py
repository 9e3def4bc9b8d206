# SPDX-License-Identifier: Apache-2.0
"""The second set, second.c, for optimizers in Python: each asks `p` for its parameters.

No setting of a tuner was chosen on these functions.
"""
import math

LEAST = {"hartmann3": -3.86278214782076, "styblinski5": -195.83082851885,
         "noisy_camel2": -1.031628453489877, "noisy_net5": .3, "models3": .17}
NOISE = {"noisy_camel2": .2, "noisy_bowl4": .2, "noisy_net5": .02}


def effect(k, option):
    return (k * 73 + option * 151 + k * option * 37 + option * option * 29) % 101 / 101


def levy3(p):
    w = [1 + (p.uniform(n, -10, 10) - 1) / 4 for n in "abc"]
    return (math.sin(math.pi * w[0]) ** 2
            + sum((v - 1) ** 2 * (1 + 10 * math.sin(math.pi * v + 1) ** 2) for v in w[:2])
            + (w[2] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[2]) ** 2))


A = [[3, 10, 30], [.1, 10, 35], [3, 10, 30], [.1, 10, 35]]
P = [[.3689, .1170, .2673], [.4699, .4387, .7470], [.1091, .8732, .5547],
     [.0381, .5743, .8828]]


def hartmann3(p):
    x = [p.uniform(n, 0, 1) for n in "abc"]
    return -sum(alpha * math.exp(-sum(a * (v - q) ** 2 for a, v, q in zip(ai, x, pi)))
                for alpha, ai, pi in zip([1, 1.2, 3, 3.2], A, P))


def styblinski5(p):
    x = [p.uniform(n, -5, 5) for n in "abcde"]
    return sum((v ** 4 - 16 * v * v + 5 * v) / 2 for v in x)


def rastrigin4(p):
    x = [p.uniform(n, -5.12, 5.12) for n in "abcd"]
    return 40 + sum((v - .7) ** 2 - 10 * math.cos(2 * math.pi * (v - .7)) for v in x)


def ellipsoid8(p):
    z = [p.uniform(n, -5, 5) - i % 3 + .5 for i, n in enumerate("abcdefgh")]
    return sum(100 ** (i / 7) * (z[i] + .5 * z[(i + 1) % 8]) ** 2 for i in range(8))


def powers10(p):
    x = [p.uniform(n, -1, 1) for n in "abcdefghij"]
    return sum(abs(v - .1 * (i - 5)) ** (2 + i % 3) for i, v in enumerate(x))


def noisy_camel2(p):
    x, y = p.uniform("a", -2, 2), p.uniform("b", -1, 1)
    return (4 - 2.1 * x * x + x ** 4 / 3) * x * x + x * y + (4 * y * y - 4) * y * y


def noisy_bowl4(p):
    a, b, c, d = [p.uniform(n, 0, 1) for n in "abcd"]
    return (a - .3) ** 2 + 2 * (b - .8) ** 2 + 4 * (c - .55) ** 2 + 8 * (d - .15) ** 2


def noisy_net5(p):
    lr = math.log10(p.loguniform("lr", 1e-5, 1)) + 2.7
    wd = math.log10(p.loguniform("wd", 1e-7, .1)) + 4.5
    drop, mom = p.uniform("drop", 0, .8), p.uniform("mom", .5, .999)
    return (.3 + .05 * (lr + .4 * (mom - .9)) ** 2 + .01 * wd ** 2 + .2 * (drop - .25) ** 2
            + .1 * (mom - .85) ** 2 + .02 * (p.randint("layers", 1, 9) - 3 - .5 * lr) ** 2)


def log4(p):
    a = math.log10(p.loguniform("lr", 1e-6, 1)) + 3.3
    b = math.log10(p.loguniform("wd", 1e-8, 1)) + 5.2
    c = math.log10(p.loguniform("eps", 1e-10, .1)) + 7
    d = math.log2(p.loguniform("bs", 8, 4096)) - 7.5
    return ((a - .5 * b - .2 * d) ** 2 + .2 * b * b + .1 * (1 - math.cos(2 * a)) + .02 * c * c
            + .05 * (d + .3 * c) ** 2)


def choices7(p):
    o = [p.choice("a", [0, 1, 2])]
    o += ["pqrstuvw".index(p.choice(n, list("pqrstuvw"[:size])))
          for n, size in zip("bcdefg", (4, 5, 6, 7, 8, 4))]
    return (sum(effect(i + 1, o[i]) for i in range(7))
            + .8 * sum(effect(11 + i, o[i] * 8 + o[i + 3]) for i in range(4)))


def choice_number5(p):
    a, b, c = ["pqrst".index(p.choice(n, list("pqrst"[:size])))
               for n, size in zip("abc", (4, 5, 3))]
    lr = math.log10(p.loguniform("lr", 1e-5, 1)) + 1 + a * .9
    u = p.uniform("u", 0, 1) - .2 - .15 * b
    return (.3 * effect(3, a) + .3 * effect(5, b) + .2 * effect(7, c)
            + .4 * effect(9, a * 5 + b) + lr * lr * (1 + c) / 4 + 2 * u * u)


def integers6(p):
    n = [p.randint(name, low, high) for name, low, high in
         (("a", 1, 33), ("b", 1, 33), ("c", 0, 41), ("d", 0, 31), ("e", 0, 65), ("f", 1, 17))]
    return ((n[0] * n[1] - 96) ** 2 / 400 + (n[2] - 2 * n[3] + 5) ** 2 / 20
            + (n[3] - 11) ** 2 / 60 + abs(n[4] - 37) / 20 + (n[5] - n[0]) ** 2 / 50
            + (n[0] - 9) ** 2 / 90)


def steps5(p):
    a, b = p.quniform("a", 0, 1, .1) - .4, p.quniform("b", 0, 512, 8) / 64 - 2.5
    c, d = math.log2(p.randint("c", 1, 257)) - 5, p.quniform("d", 0, 4, .25) - 1.5
    e = p.randint("e", 0, 21)
    return (3 * a * a + (b - a) ** 2 + .1 * (c + b) ** 2 + d * d * (1 + .5 * c * c / 10)
            + .3 * (1 - math.cos(1.3 * (e - 6))) + .02 * (e - 6) ** 2)


def models3(p):
    model = p.choice("model", ["linear", "tree", "mlp"])
    if model == "linear":
        return .35 + .02 * (math.log10(p.loguniform("linear/l2", 1e-6, 10)) + 2) ** 2
    if model == "tree":
        return (.22 + .01 * (math.log2(p.loguniform("tree/leaves", 4, 1024)) - 6) ** 2
                + .05 * (math.log10(p.loguniform("tree/rate", .001, 1)) + 1.2) ** 2
                + .1 * (p.uniform("tree/bag", .2, 1) - .7) ** 2)
    lr = math.log10(p.loguniform("mlp/lr", 1e-5, 1)) + 3
    f = .2 + .06 * lr * lr + .2 * (p.uniform("mlp/drop", 0, .8) - .2 - .05 * lr) ** 2
    if p.choice("mlp/norm", ["none", "layer"]) == "none":
        return f
    return f - .03 + .01 * (math.log10(p.loguniform("layer/eps", 1e-8, .1)) + 5) ** 2


def forest():
    state, trees = 20231, []
    for _ in range(48):
        tree = []
        for _ in range(4):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
            i = (state >> 33) % 7
            state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
            tree.append((i, (1 + (state >> 33) % 15) / 16))
        trees.append(tree)
    return trees


FOREST = forest()


def smooth7(u):
    at = [.62, .35, .8, .2, .55, .5, .7]
    return (.4 * math.sin(5 * u[0] * u[1]) - .3 * u[4] * u[5]
            + sum((1 + .3 * i) * (u[i] - at[i]) ** 2 for i in range(7)))


def forest7(p):
    u = [math.log2(p.loguniform("leaves", 4, 1024) / 4) / 8,
         math.log10(p.loguniform("rate", .001, 1) / .001) / 3,
         (p.uniform("fraction", .2, 1) - .2) / .8,
         math.log10(p.loguniform("l1", 1e-6, 10) / 1e-6) / 7, (p.randint("depth", 2, 13) - 2) / 10,
         ["gbdt", "dart", "goss"].index(p.choice("kind", ["gbdt", "dart", "goss"])) / 2,
         ["63", "127", "255", "511"].index(p.choice("bins", ["63", "127", "255", "511"])) / 3]
    f = 0
    for tree in FOREST:
        low, high = [0.] * 7, [1.] * 7
        for i, part in tree:
            cut = low[i] + (high[i] - low[i]) * part
            if u[i] < cut:
                high[i] = cut
            else:
                low[i] = cut
        f += smooth7([(a + b) / 2 for a, b in zip(low, high)]) / 48
    return f


ALL = [levy3, hartmann3, styblinski5, rastrigin4, ellipsoid8, powers10, noisy_camel2,
       noisy_bowl4, noisy_net5, log4, choices7, choice_number5, integers6, steps5, models3,
       forest7]
