# SPDX-License-Identifier: Apache-2.0
"""PaddleRec's networks in plain Python, one number at a time, against what `run` trains.

    reference.py TRAINYARD NETWORK [THREADS [OPTIMIZER]]

Makes data and a small config.yaml in the current directory and runs it, saving behind the first step. From there
on it trains by itself, with derivatives of its own, and compares the loss of every step and all parameters behind the last one.
"""
import glob
import json
import math
import random
import re
import struct
import subprocess
import sys


class Num:
    """A number that remembers how it was made."""

    def __init__(self, v, of=()):
        self.v, self.of, self.d = v, of, 0.0

    def __add__(self, o):
        o = o if isinstance(o, Num) else Num(o)
        return Num(self.v + o.v, ((self, 1.0), (o, 1.0)))

    def __mul__(self, o):
        o = o if isinstance(o, Num) else Num(o)
        return Num(self.v * o.v, ((self, o.v), (o, self.v)))

    def __sub__(self, o):
        return self + (o * -1.0 if isinstance(o, Num) else -o)

    def fn(self, v, slope):
        return Num(v, ((self, slope),))

    def relu(self):
        return self.fn(max(self.v, 0.0), 1.0 if self.v > 0 else 0.0)

    def exp(self):
        return self.fn(math.exp(self.v), math.exp(self.v))

    def log(self):
        return self.fn(math.log(self.v), 1 / self.v)

    def over(self, o):
        return Num(self.v / o.v, ((self, 1 / o.v), (o, -self.v / o.v / o.v)))

    def sigmoid(self):
        p = 1 / (1 + math.exp(-self.v))
        return self.fn(p, p * (1 - p))


def total(nums):
    nums = list(nums)
    return Num(sum(n.v for n in nums), tuple((n, 1.0) for n in nums))


def backward(loss):
    order, seen, todo = [], set(), [(loss, False)]
    while todo:
        n, done = todo.pop()
        if done:
            order.append(n)
        elif id(n) not in seen:
            seen.add(id(n))
            todo.append((n, True))
            todo.extend((m, False) for m, _ in n.of)
    loss.d = 1.0
    for n in reversed(order):
        for m, slope in n.of:
            m.d += n.d * slope


def dot(w, x, b):
    """b + w . x as one number."""
    of = [(b, 1.0)]
    for a, c in zip(w, x):
        of += [(a, c.v), (c, a.v)]
    return Num(b.v + sum(a.v * c.v for a, c in zip(w, x)), of)


def softmax(x):
    e = [v.exp() for v in x]
    s = total(e)
    return [v.over(s) for v in e]


def fc(p, name, x, act=None):
    w, b = p[name + ".weight"], p[name + ".bias"]
    out = [dot(w[o * len(x):(o + 1) * len(x)], x, b[o]) for o in range(len(b))]
    return [act(v) for v in out] if act else out


def log_loss(z, y):
    p, e = z.sigmoid(), 1e-4
    return (p + e).log() * -1.0 if y else (p * -1.0 + (1 + e)).log() * -1.0


EMB = "model.embedding_group.seq_emb_impls.__BASE__.ec_dict."
BAGS = "model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags."
DIM, FIELDS, ROWS, TASK = 3, 4, 12, ("income", "marital")


def dnn(p, row):
    e = p[BAGS + "SparseFeatFactors.weight"]
    x = []
    for s in range(FIELDS):
        x += [total(e[i][k] for i in row["slots"][s]) for k in range(DIM)]
    x += [Num(v) for v in row["dense"]]
    for i in range(2):
        x = fc(p, f"model.towers.deep.mlp.{i}.perceptron.0", x, Num.relu)
    return softmax(fc(p, "model.output_mlp", x))[row["label"]].log() * -1.0


def first_order(p, row):
    w = p[BAGS + "feat_embeddings_wide.weight"]
    return total(w[i][0] * v for i, v in zip(row["ids"], row["values"]))


def vectors(p, row):
    e = p[BAGS + "feat_embeddings.weight"]
    return [[e[i][k] * v for k in range(DIM)] for i, v in zip(row["ids"], row["values"])]


def pairs(e):
    return total(total(e[i][k] * e[j][k] for k in range(DIM)) for i in range(FIELDS) for j in range(i))


def logistic_regression(p, row):
    return log_loss(first_order(p, row) + p["model.bias"][0], row["label"])


def fm(p, row):
    return log_loss(first_order(p, row) + pairs(vectors(p, row)) + p["model.bias"][0], row["label"])


def deepfm(p, row):
    e = vectors(p, row)
    x = [v for f in e for v in f]
    for i in range(2):
        x = fc(p, f"model.deep_mlp.mlp.{i}.perceptron.0", x, Num.relu)
    return log_loss(first_order(p, row) + pairs(e) + fc(p, "model.output_mlp", x)[0], row["label"])


def towers(p, row, inputs):
    loss = Num(0.0)
    for t in range(2):
        h = fc(p, f"model._task_tower.{t}.tower_mlp.mlp.0.perceptron.0", inputs[t], Num.relu)
        loss = loss + softmax(fc(p, f"model._task_tower.{t}.linear", h))[row[TASK[t]]].log() * -1.0
    return loss


def mmoe(p, row):
    x = [Num(v) for v in row["features"]]
    f = [fc(p, f"model.mmoe.expert_mlps.{i}.mlp.0.perceptron.0", x, Num.relu) for i in range(3)]
    mixed = []
    for t in range(2):
        g = softmax(fc(p, f"model.mmoe.gate_finals.{t}", x))
        mixed.append([total(g[i] * f[i][k] for i in range(3)) for k in range(len(f[0]))])
    return towers(p, row, mixed)


def share_bottom(p, row):
    h = fc(p, "model.bottom_mlp.mlp.0.perceptron.0", [Num(v) for v in row["features"]], Num.relu)
    return towers(p, row, [h, h])


def bce(z, y):
    p = z.sigmoid()
    return p.log() * -1.0 if y else (p * -1.0 + 1.0).log() * -1.0


def wide_deep(p, row):
    """z = fc(fc(wide)) + fc(MLP(deep)), each with a bias of its own."""
    x = [Num(v) for v in row["deep"]]
    for i in range(3):
        x = fc(p, f"model.towers.deep.mlp.{i}.perceptron.0", x, Num.relu)
    w = p["model.output_mlp.weight"]
    wide = fc(p, "model.towers.wide.mlp.0.perceptron.0", [Num(v) for v in row["wide"]])[0]
    z = wide * w[0] + p["model.output_mlp.bias.0"][0]
    return bce(z + total(w[i + 1] * x[i] for i in range(len(x))) + p["model.output_mlp.bias.1"][0], row["label"])


def esmm(p, row):
    """Towers of two classes; p(click and conversion) is the product of their second ones."""
    e = p[BAGS + "embedding.weight"]
    x = []
    for f in range(23):
        ids = row["fields"].get(f, [0])
        x += [total(e[i][k] for i in ids) for k in range(DIM)]
    probs = []
    for t in range(2):
        h = x
        for i in range(2):
            h = fc(p, f"model._task_tower.{t}.tower_mlp.mlp.{i}.perceptron.0", h, Num.relu)
        name = f"model._task_tower.{t}.linear"
        logits = [dot(p[f"{name}.weight.{c}"], h, p[f"{name}.bias.{c}"][0]) for c in (0, 1)]
        probs.append(softmax(logits)[1])
    both = probs[0] * probs[1]
    loss = probs[0].log() if row["click"] else (probs[0] * -1.0 + 1.0).log()
    return (loss + (both.log() if row["conversion"] else (both * -1.0 + 1.0).log())) * -1.0


def ncf(p, row):
    tables = {k: v for k, v in p.items() if "embedding_bags." in k}
    get = lambda name: next(v for k, v in tables.items() if f".{name}_emb" in k)
    vector = lambda who, n: get(f"{who}{n}")[row[who]]
    x = vector("user", 1) + vector("item", 1)
    for i in range(2):
        x = fc(p, f"model.mlp.mlp.{i}.perceptron.0", x, Num.relu)
    both = [a * b for a, b in zip(vector("user", 0), vector("item", 0))]
    return log_loss(fc(p, "model.output", both + x)[0], row["label"])


def youtube_dnn(p, row):
    x = [Num(v) for part in ("watch", "search", "other") for v in row[part]]
    for i in range(2):
        x = fc(p, f"model.towers.deep.mlp.{i}.perceptron.0", x, Num.relu)
    return softmax(fc(p, "model.output_mlp", x))[row["label"]].log() * -1.0


def flat(e):
    return [v for f in e for v in f]


def deep(p, x, layers=2, name="model.deep_mlp"):
    for i in range(layers):
        x = fc(p, f"{name}.mlp.{i}.perceptron.0", x, Num.relu)
    return x


def ffm(p, row):
    e = p[BAGS + "feat_embeddings.weight"]
    part = lambda f, g: [e[row["ids"][f]][g * DIM + k] * row["values"][f] for k in range(DIM)]
    both = total(total(a * b for a, b in zip(part(f, g), part(g, f))) for f in range(FIELDS) for g in range(f))
    return log_loss(first_order(p, row) + both + p["model.bias"][0], row["label"])


def with_weights(p, row):
    """Weights of first order beside the vectors, whatever the values; id 0 has none."""
    w = p[BAGS + "feat_embeddings_wide.weight"]
    return flat(vectors(p, row)) + [w[i][0] if i else Num(0.0) for i in row["ids"]]


def fnn(p, row):
    return log_loss(fc(p, "model.output_mlp", deep(p, with_weights(p, row)))[0], row["label"])


def deep_crossing(p, row):
    x = with_weights(p, row)
    for i in range(2):
        h = fc(p, f"model.residual_units.{i}.0", x, Num.relu)
        x = [(a + b).relu() for a, b in zip(fc(p, f"model.residual_units.{i}.1", h), x)]
    return log_loss(fc(p, "model.output_mlp", x)[0], row["label"])


def pnn(p, row):
    e, w, units = vectors(p, row), p["model.inner.weight"], 5
    z = fc(p, "model.linear", flat(e))
    for n in range(units):
        s = [total(w[f * units + n] * e[f][k] for f in range(FIELDS)) for k in range(DIM)]
        z[n] = (z[n] + total(v * v for v in s)).relu()
    return log_loss(first_order(p, row) + fc(p, "model.output_mlp", deep(p, z))[0], row["label"])


def products(e):
    return [[a * b for a, b in zip(e[i], e[j])] for i in range(len(e)) for j in range(i + 1, len(e))]


def nfm(p, row):
    x = [total(q[k] for q in products(vectors(p, row))) for k in range(DIM)]
    return log_loss(first_order(p, row) + fc(p, "model.output_mlp", deep(p, x))[0], row["label"])


def afm(p, row):
    both, zero = products(vectors(p, row)), Num(0.0)
    a = softmax([dot(p["model.projection.weight"], fc(p, "model.attention", q, Num.relu), zero) for q in both])
    x = [total(w * q[k] for w, q in zip(a, both)) for k in range(DIM)]
    return log_loss(first_order(p, row) + fc(p, "model.output_mlp", x)[0], row["label"])


def lin(p, name, x):
    w, zero = p[name + ".weight"], Num(0.0)
    return [dot(w[o * len(x):(o + 1) * len(x)], x, zero) for o in range(len(w) // len(x))]


def autoint(p, row):
    e, heads, width = vectors(p, row), 2, 2
    q, k, v, r = ([lin(p, f"model.attention.0.{n}", x) for x in e] for n in ("query", "key", "value", "residual"))
    out = []
    for f in range(FIELDS):
        for h in range(heads):
            at = slice(h * width, (h + 1) * width)
            zero = Num(0.0)
            a = softmax([dot(q[f][at], k[g][at], zero) * (heads * width) ** -0.5 for g in range(FIELDS)])
            for c in range(h * width, (h + 1) * width):
                out.append((total(a[g] * v[g][c] for g in range(FIELDS)) + r[f][c]).relu())
    return log_loss(fc(p, "model.output_mlp", out)[0], row["label"])


def xdeepfm(p, row):
    """Three biases, of the linear part, of the interaction and of the net."""
    e = vectors(p, row)
    x, pooled, zero = e, [], Num(0.0)
    for i, n in enumerate((3, 2)):
        w = p[f"model.cin.cin_layers.{i}.weight"]
        pairs_of = [[x[h][k] * e[f][k] for h in range(len(x)) for f in range(FIELDS)] for k in range(DIM)]
        wide = len(x) * FIELDS
        x = [[dot(w[o * wide:(o + 1) * wide], pairs_of[k], zero) for k in range(DIM)] for o in range(n)]
        pooled += [total(f) for f in x]
    z = total(a * b for a, b in zip(p["model.output_mlp.weight"], pooled + deep(p, flat(e), name="model.deep")))
    z = z + total(p[f"model.output_mlp.bias.{i}"][0] for i in range(3)) + first_order(p, row)
    q, e7 = z.sigmoid(), 1e-7
    return (q + e7).log() * -1.0 if row["label"] else (q * -1.0 + (1 + e7)).log() * -1.0


def sums(p, row):
    e = next(v for k, v in p.items() if k.startswith(BAGS))
    return [[total(e[i][k] for i in row["slots"][s]) for k in range(DIM)] for s in range(len(row["slots"]))]


def fibinet(p, row):
    e = sums(p, row)
    a = fc(p, "model.senet.1", fc(p, "model.senet.0", [total(f) * (1 / DIM) for f in e], Num.relu), Num.relu)
    out = []
    for name, x in (("gated", [[a[f] * v for v in e[f]] for f in range(len(e))]), ("raw", e)):
        w, b = p[f"model.{name}.interaction.weight"], p[f"model.{name}.bias"]
        n = 0
        for i in range(len(e)):
            for j in range(i + 1, len(e)):
                for o in range(DIM):
                    at = (n * DIM + o) * DIM
                    out.append(dot(w[at:at + DIM], x[i], b[n * DIM + o]) * x[j][o])
                n += 1
    return log_loss(fc(p, "model.output_mlp", deep(p, out + [Num(v) for v in row["dense"]], 3))[0], row["label"])


def dcn(p, row):
    x = [Num(v) for v in row["dense"]]
    for s in range(FIELDS):
        e = next(v for k, v in p.items() if k.startswith(BAGS + f"slot{s}_"))
        x += [total(e[i][k] for i in row["slots"][s]) for k in range(len(e[0]))]
    c = x
    for i in range(2):
        s = total(a * b for a, b in zip(p[f"model.cross.w.{i}.weight"], c))
        c = [x0 * s + b + v for x0, b, v in zip(x, p[f"model.cross.b.{i}"], c)]
    return log_loss(fc(p, "model.output_linear", c + deep(p, x, name="model.deep"))[0], row["label"])


def din(p, row):
    item, cat = p[EMB + "3.embeddings.item_emb.weight"], p[EMB + "2.embeddings.cat_emb.weight"]
    q = item[row["item"]] + cat[row["cat"]]
    h = [item[i] + cat[c] for i, c in zip(row["hist_item"], row["hist_cat"])]
    sig = Num.sigmoid

    def net(name, x, n):
        for i in range(n):
            x = fc(p, f"{name}.mlp.{i}.perceptron.0", x, sig)
        return x
    scores = []
    for s in h:
        x = q + s + [a - b for a, b in zip(q, s)] + [a * b for a, b in zip(q, s)]
        scores.append(fc(p, "model.attention.linear", net("model.attention.mlp", x, 2))[0] * len(q) ** -0.5)
    a = softmax(scores)
    u = fc(p, "model.interest", [total(w * s[k] for w, s in zip(a, h)) for k in range(len(q))])
    z = fc(p, "model.output_mlp", net("model.deep_mlp", u + q, 2))[0]
    return bce(z + p[BAGS + "item_emb_wide.weight"][row["item"]][0], row["label"])


def tanh(v):
    return v.fn(math.tanh(v.v), 1 - math.tanh(v.v) ** 2)


def largest(steps):
    return [max(column, key=lambda v: v.v) for column in zip(*steps)]


def windows(p, name, x, size):
    """sequence_conv: positions from size // 2 before one on, zeros where there are none; the largest of each filter."""
    none = [Num(0.0)] * len(x[0])
    at = lambda t: x[t] if 0 <= t < len(x) else none
    return largest([fc(p, name, [v for j in range(size) for v in at(t - size // 2 + j)], tanh) for t in range(len(x))])


def gru(p, name, x):
    wide, out = len(p[name + ".bias_ih_l0"]) // 3, []
    h = [Num(0.0)] * wide
    gate = lambda which, v: [dot(p[f"{name}.weight_{which}_l0"][o * len(v):(o + 1) * len(v)], v, p[f"{name}.bias_{which}_l0"][o])
                             for o in range(3 * wide)]
    for step in x:
        a, b = gate("ih", step), gate("hh", h)
        reset, update = ([(a[k * wide + i] + b[k * wide + i]).sigmoid() for i in range(wide)] for k in (0, 1))
        new = [tanh(a[2 * wide + i] + reset[i] * b[2 * wide + i]) for i in range(wide)]
        h = [n + u * (old - n) for n, u, old in zip(new, update, h)]
        out.append(h)
    return out


def cosine(a, b):
    root = lambda v: v.fn(math.sqrt(v.v), 0.5 / math.sqrt(v.v))
    return total(x * y for x, y in zip(a, b)).over(root(total(x * x for x in a)) * root(total(x * x for x in b)))


def hinge(margin, fits, others):
    return (max(others, key=lambda v: v.v) - fits + margin).relu()


def textcnn(p, row):
    x = [p[EMB + "3.embeddings.words.weight"][i] for i in row["words"]]
    h = [v for i, size in enumerate((1, 2, 3)) for v in windows(p, f"model.conv.{i}", x, size)]
    h = fc(p, "model.mlp.mlp.0.perceptron.0", h, tanh)
    return softmax(fc(p, "model.output", h))[row["label"]].log() * -1.0


def tagspace(p, row):
    x = [p[BAGS + "text_emb.weight"][i] for i in row["words"]]
    text = fc(p, "model.query_tower.output", windows(p, "model.query_tower.conv", x, 3))
    s = [cosine(text, tag) for _, tag in sorted(p[BAGS + "tag_emb.weight"].items())]
    return hinge(0.5, s[row["tag"]], s[:row["tag"]] + s[row["tag"] + 1:])


def simnet(p, row):
    e = p[BAGS + "emb.weight"]
    encode = {"query_tower": lambda x: largest(gru(p, "model.query_tower.gru", x)),
              "candidate_tower": lambda x: windows(p, "model.candidate_tower.conv", x, 3)}
    hidden = lambda tower, ids: fc(p, f"model.{tower}.output", encode[tower]([e[i] for i in ids]))
    query, title, other = hidden("query_tower", row["q"]), hidden("candidate_tower", row["t"]), hidden("candidate_tower", row["o"])
    return hinge(0.3, cosine(query, title), [cosine(query, other)])


def dssm(p, row):
    def tower(name, x):
        x = [Num(v) for v in x]
        for i in range(2):
            x = fc(p, f"model.{name}.mlp.mlp.{i}.perceptron.0", x, tanh)
        return x
    query = tower("query_tower", row["query"])
    scores = [cosine(query, tower(f"candidate_tower.{i}", d)) for i, d in enumerate(row["documents"])]
    return softmax(scores)[0].log() * -1.0


def ssr(p, row):
    e = p[BAGS + "item.weight"]
    user = fc(p, "model.query_tower.output", largest(gru(p, "model.query_tower.gru", [e[i] for i in row["session"][:-1]])))
    next_, other = (fc(p, "model.candidate_tower.output", e[row["session"][i]]) for i in (-1, 0))
    return hinge(0.8, cosine(user, next_), [cosine(user, other)])


def gru4rec(p, row):
    e = next(v for k, v in p.items() if k.endswith("emb.weight"))
    h = gru(p, "model.user_tower.gru", [e[i] for i in row["session"][:-1]])
    return total(softmax(fc(p, "model.output", s))[y].log() * -1.0 for s, y in zip(h, row["session"][1:]))


def look_alike(p, row):
    e, zero = p[BAGS + "user_emb.weight"], Num(0.0)
    s = [lin(p, "model.seeds", e[i]) for i in row["q"]]
    t = lin(p, "model.user", e[row["t"][0]])
    near = softmax([tanh(dot(lin(p, "model.local", x), t, zero)) for x in s])
    out = [total(a * x[k] for a, x in zip(near, s)) for k in range(len(t))]
    for x in s:
        q = [tanh(v) for v in lin(p, "model.global", x)]
        a = softmax([dot(q, y, zero) for y in s])
        out = [o + total(w * y[k] for w, y in zip(a, s)) for k, o in enumerate(out)]
    return log_loss(cosine(out, t), row["label"])


def film_vectors(p, row, which):
    e = p[BAGS + "emb.weight"]
    return [total(e[i][k] for i in row["slots"][s]) for s in which for k in range(DIM)]


def film_rank(p, row):
    x = film_vectors(p, row, range(7))
    for i in range(2):
        x = fc(p, f"model.towers.all.mlp.{i}.perceptron.0", x, Num.relu)
    d = fc(p, "model.output_mlp", x)[0].sigmoid() * 5.0 - float(row["label"])
    return d * d


def film_recall(p, row):
    x = {"query_tower": film_vectors(p, row, range(4)), "candidate_tower": film_vectors(p, row, range(4, 7))}
    for name in x:
        for i in range(2):
            x[name] = fc(p, f"model.{name}.mlp.mlp.{i}.perceptron.0", x[name], Num.relu)
    d = cosine(*x.values()) * 5.0 - float(row["label"])
    return d * d


# network: function, kind of data, whether the loss is a sum, hyper-parameters
FM = f"sparse_feature_number: {ROWS - 1}, sparse_feature_dim: {DIM}, num_field: {FIELDS}"
NETS = {
    "rank/dnn": (dnn, "slots", False, f"sparse_feature_number: {ROWS}, sparse_feature_dim: {DIM}, fc_sizes: [6, 4]"),
    "rank/logistic_regression": (logistic_regression, "fields", True, FM),
    "rank/fm": (fm, "fields", True, FM),
    "rank/deepfm": (deepfm, "fields", True, FM + ", fc_sizes: [6, 4], act: relu"),
    "rank/ffm": (ffm, "fields", True, FM),
    "rank/fnn": (fnn, "fields", True, FM + ", fc_sizes: [6, 4]"),
    "rank/fnn/fm_model": (fm, "fields", True, FM),
    "rank/deep_crossing": (deep_crossing, "fields", True, FM + ", residual_unit_num: 2, residual_w_dim: 5"),
    "rank/pnn": (pnn, "fields", True, FM + ", fc_sizes: [6, 4], act: relu, deep_input_size: 5, use_inner_product: True"),
    "rank/nfm": (nfm, "fields", True, FM + ", fc_sizes: [6, 4], act: relu"),
    "rank/afm": (afm, "fields", True, FM + ", hidden1_attention_size: 5, act: relu"),
    "rank/AutoInt": (autoint, "fields", True, FM + ", d_model: 4, d_key: 2, d_value: 2, n_head: 2, n_interacting_layers: 1"),
    "rank/xdeepfm": (xdeepfm, "fields", False, FM + ", layer_sizes_dnn: [6, 4], layer_sizes_cin: [3, 2], act: relu"),
    "rank/dcn": (dcn, "sizes", False, "cross_num: 2, dnn_hidden_units: [6, 4], cat_feat_num: sizes, l2_reg_cross: 0.00005"),
    "rank/fibinet": (fibinet, "slots", False, f"sparse_feature_number: {ROWS}, sparse_feature_dim: {DIM}, bilinear_type: all, "
                                              "reduction_ratio: 2, dropout_rate: 0.0"),
    "rank/din": (din, "din", False, "item_count: 6, cat_count: 6, item_emb_size: 3, cat_emb_size: 2, act: sigmoid"),
    "multitask/mmoe": (mmoe, "census", False, "feature_size: 5, expert_num: 3, gate_num: 2, expert_size: 4, tower_size: 3"),
    "multitask/share-bottom": (share_bottom, "census", False, "feature_size: 5, bottom_size: 4, tower_nums: 2, tower_size: 3"),
    "rank/wide_deep": (wide_deep, "wide", False, "hidden1_units: 5, hidden2_units: 4, hidden3_units: 3"),
    "multitask/esmm": (esmm, "esmm", False, f"vocab_size: {ROWS}, embed_size: {DIM}"),
    "recall/ncf": (ncf, "ncf", False, "num_users: 4, num_items: 4, latent_dim: 3, fc_layers: [6, 4, 2]"),
    "contentunderstanding/textcnn": (textcnn, "text", False, "dict_dim: 8, max_len: 5, cnn_dim: 3, cnn_filter_size1: 1, "
                                     "cnn_filter_size2: 2, cnn_filter_size3: 3, emb_dim: 3, hid_dim: 4, class_dim: 2"),
    "contentunderstanding/tagspace": (tagspace, "tags", False, "vocab_text_size: 8, vocab_tag_size: 3, emb_dim: 3, hid_dim: 4, "
                                      "win_size: 3, margin: 0.5"),
    "match/multiview-simnet": (simnet, "simnet", False, "query_encoder: gru, title_encoder: cnn, query_encode_dim: 3, "
                               "title_encode_dim: 4, sparse_feature_dim: 8, embedding_dim: 3, hidden_size: 4, margin: 0.3"),
    "match/dssm": (dssm, "documents", True, "trigram_d: 4, neg_num: 2, fc_sizes: [5, 3], fc_acts: [tanh, tanh]"),
    "recall/look-alike_recall": (look_alike, "seeds", True, "user_emb_size: 3, user_count: 8, transformed_size: 4"),
    "recall/ssr": (ssr, "visit", False, "vocab_size: 8, emb_dim: 3, hidden_size: 4"),
    "recall/gru4rec": (gru4rec, "steps", False, "vocab_size: 8, hid_size: 3, emb_lr_x: 2.0, gru_lr_x: 1.0, fc_lr_x: 1.0, "
                       "init_low_bound: -0.5, init_high_bound: 0.5, recall_k: 2"),
    "demo/movie_recommand/rank": (film_rank, "films", False, f"sparse_feature_number: {ROWS}, sparse_feature_dim: {DIM}, fc_sizes: [6, 4]"),
    "demo/movie_recommand/recall": (film_recall, "films", False,
                                    f"sparse_feature_number: {ROWS}, sparse_feature_dim: {DIM}, fc_sizes: [6, 4]"),
    "recall/youtube_dnn": (youtube_dnn, "youtube", False,
                           "watch_vec_size: 3, search_vec_size: 2, other_feat_size: 2, output_size: 4, layers: [5, 4]"),
}
BATCH, STEPS = 4, 8
ESMM_FIELDS = "101 109_14 110_14 127_14 150_14 121 122 124 125 126 127 128 129 205 206 207 210 216 508 509 702 853 301".split()
# What a network has twice and is one parameter here: factors of the two that make it.
TWINS = {"rank/wide_deep": ("model.output_mlp.bias", (0.5, 0.5)), "rank/xdeepfm": ("model.output_mlp.bias", (1 / 3, 1 / 3, 1 / 3)),
         "multitask/esmm": (".linear.", (-0.5, 0.5))}
DECAY = {"rank/wide_deep": "model.towers.wide.mlp.0.perceptron.0.weight", "recall/ncf": "model.mlp.", "rank/dcn": "model.cross.w."}
TABLE_RATE = {"multitask/esmm": 5, "rank/fibinet": 5, "recall/gru4rec": 2}
FILMS = "logid time userid gender age occupation movieid title genres label"


def make_row(r, kind, n):
    """The first rows hold every id, so that the first step touches all rows of a table."""
    label = r.randrange(2)
    number = lambda: round(r.uniform(-1, 1), 3) or 0.5
    some = lambda most, ids: [(n * 3 + k) % ids for k in range(most)] if n < BATCH else \
        [r.randrange(ids) for _ in range(r.randrange(1, most + 1))]
    if kind == "census":
        row = {"income": label, "marital": r.randrange(2), "features": [number() for _ in range(5)]}
        text = ",".join(map(str, [row["marital"], row["income"]] + row["features"]))
    elif kind == "wide":
        row = {"label": label, "wide": [number() for _ in range(3)], "deep": [number() for _ in range(4)]}
        text = " ".join([f"label:{label}"] + [f"w:{v}" for v in row["wide"]] + [f"x:{v}" for v in row["deep"]])
    elif kind == "esmm":
        fields = {r.randrange(23): [r.randrange(ROWS) for _ in range(r.randrange(1, 4))] for _ in range(6)}
        if n < BATCH:
            fields = {f: [(n * 6 + f) % ROWS, f] for f in range(6)}
        row = {"click": label, "conversion": label * r.randrange(2), "fields": fields}
        tokens = [f"{ESMM_FIELDS[f]}:{i}" for f, ids in fields.items() for i in ids]
        text = ",".join([str(n), str(row["click"]), str(row["conversion"])] + tokens)
    elif kind == "din":
        ids = [(n * 2 + k) % 6 if n < BATCH else r.randrange(6) for k in range(8)]
        m = 2 if n < BATCH else r.randrange(1, 4)
        row = {"item": ids[0], "cat": ids[1], "hist_item": ids[2:2 + m], "hist_cat": ids[5:5 + m], "label": label}
        text = ";".join(" ".join(map(str, v if isinstance(v, list) else [v]))
                        for v in (row["hist_item"], row["hist_cat"], row["item"], row["cat"], label))
    elif kind == "text":
        row = {"words": some(5, 8), "label": label}
        row["touch"] = {"words": row["words"]}
        text = " ".join(map(str, row["words"] + [0] * (5 - len(row["words"])) + [len(row["words"]), label]))
    elif kind == "tags":
        row = {"words": some(4, 8), "tag": r.randrange(3)}
        row["touch"] = {"text_emb": row["words"], "tag_emb": [0, 1, 2]}
        text = f"{row['tag']}," + " ".join(map(str, row["words"]))
    elif kind == "simnet":
        row = {"q": some(3, 8), "t": some(2, 8)[::-1], "o": [r.randrange(8) for _ in range(r.randrange(1, 5))]}
        row["touch"] = {"emb": row["q"] + row["t"] + row["o"]}
        text = " ".join(f"{s}:{i}" for s, k in enumerate("qto") for i in row[k])
    elif kind == "seeds":
        row = {"q": some(3, 8), "t": [(n * 3 + 1) % 8], "label": label}
        row["touch"] = {"user_emb": row["q"] + row["t"]}
        text = " ".join([f"label:{label}", f"target:{row['t'][0]}"] + [f"seeds:{i}" for i in row["q"]])
    elif kind == "documents":
        row = {"query": [number() for _ in range(4)], "documents": [[number() for _ in range(4)] for _ in range(3)]}
        text = "\t".join(",".join(map(str, d)) for d in [row["query"]] + row["documents"])
    elif kind == "visit":  # one item again and again: which of them is drawn does not tell
        first, last = (2 * n % 8, (2 * n + 1) % 8) if n < BATCH else (r.randrange(8), r.randrange(8))
        row = {"session": [first] * r.randrange(1, 4) + [last], "touch": {"item": [first, last]}}
        text = " ".join(map(str, row["session"]))
    elif kind == "steps":
        ids = some(4, 8)
        row = {"session": ids + [r.randrange(8)], "touch": {"emb": ids}, "steps": len(ids)}
        text = " ".join(map(str, row["session"]))
    elif kind == "films":
        slots = [[(n * 7 + s) % ROWS] + [r.randrange(ROWS)] * (s == 5) for s in range(7)]
        row = {"slots": slots, "label": r.randrange(1, 6)}
        names = FILMS.split()
        text = " ".join(["logid:1", "time:2"] + [f"{names[s + 2]}:{i}" for s in range(7) for i in slots[s]] + [f"label:{row['label']}"])
    elif kind == "ncf":
        row = {"user": n % 4, "item": n % 4 if n < BATCH else r.randrange(4), "label": label}
        text = f"{row['user']},{row['item']},{label}"
    elif kind == "youtube":
        row = {k: [number() for _ in range(d)] for k, d in (("watch", 3), ("search", 2), ("other", 2))}
        row["label"] = r.randrange(4)
        text = ";".join([",".join(map(str, row[k])) for k in ("watch", "search", "other")] + [str(row["label"])])
    elif kind == "fields":
        ids = [(n * FIELDS + f) % ROWS for f in range(FIELDS)] if n < BATCH else [r.randrange(ROWS) for _ in range(FIELDS)]
        row = {"label": label, "ids": ids, "values": [number() for _ in range(FIELDS)]}
        text = " ".join([f"label:{label}"] + [f"feat_idx:{i}" for i in ids] + [f"feat_value:{v}" for v in row["values"]])
    else:
        slots = [[(n * FIELDS + f) % ROWS] + [r.randrange(ROWS) for _ in range(r.randrange(3))] for f in range(FIELDS)]
        row = {"label": label, "slots": slots, "dense": [number() for _ in range(2)]}
        text = " ".join([f"click:{label}"] + [f"{f + 1}:{i}" for f in range(FIELDS) for i in slots[f]] +
                        [f"d:{v}" for v in row["dense"]])
    return row, text


def write_config(kind, hyper, network, threads, optimizer):
    source = {"slots": "sparse_slots: 'click 1 2 3 4', dense_slots: 'd:2'",
              "sizes": "sparse_slots: 'click 1 2 3 4', dense_slots: 'd:2'",
              "seeds": "sparse_slots: 'label seeds target'",
              "simnet": "sparse_slots: '0 1 2'",
              "films": f"sparse_slots: '{FILMS}'",
              "fields": "sparse_slots: 'label feat_idx', dense_slots: 'feat_value:4'",
              "wide": "sparse_slots: label, dense_slots: 'w:3 x:4'"}.get(kind, "data_converter: r.py")
    with open("config.yaml", "w") as f:
        f.write(f"""workspace: {network}
mode: train
dataset: [{{name: d, data_path: data, batch_size: {BATCH}, {source}}}]
hyper_parameters: {{optimizer: {{class: {optimizer}, learning_rate: 0.01}}, {hyper}}}
runner: [{{name: train, class: train, epochs: 1, print_interval: 1, phases: p, save_step_interval: {STEPS - 1},
  save_step_path: steps}}]
phase: [{{name: p, model: '{{workspace}}/model.py', dataset_name: d, thread_num: {threads}}}]
""")


def tensors(path):
    out = {}
    for name in glob.glob(path + "/model.ckpt-*/*.safetensors"):
        data = open(name, "rb").read()
        n = struct.unpack("<Q", data[:8])[0]
        for key, t in json.loads(data[8:8 + n]).items():
            if key != "__metadata__":
                raw = data[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]]
                kind = {"F32": "f", "I64": "q"}.get(t["dtype"])
                if kind:
                    out[key] = (t["shape"], struct.unpack(f"<{len(raw) // struct.calcsize(kind)}{kind}", raw))
    return out


def is_table(key):
    return "embedding_bags." in key or ".embeddings." in key


class State:
    """Parameters and what optimizers keep for them, as a checkpoint has them."""

    def __init__(self, path):
        self.all = {}  # name -> {key: [value, first, second]}
        found = tensors(path)
        for key, (shape, values) in found.items():
            if key.startswith("optimizer.") or key.endswith((".row_ids", ".rows")):
                continue
            get = lambda s, k=key: found.get(f"optimizer.state.{k}.{s}", (0, [0.0] * len(values)))[1]
            first, second = get("exp_avg"), get("exp_avg_sq")
            if f"optimizer.state.{key}.sum" in found:
                first = get("sum")
            if key.endswith(".weight") and is_table(key):
                continue
            self.all[key] = [[v, a, b] for v, a, b in zip(values, first, second)]
        for key in [k for k in found if is_table(k) and k.startswith("model.")]:
            self.add_table(found, key)

    def add_table(self, found, key):
        base = re.sub(r"\.(rows|row_ids)$", "", key)
        if base in self.all or key.endswith(".row_ids"):
            return
        shape, values = found[key]
        ids = found.get(base + ".row_ids", (0, range(shape[0])))[1]
        states = [found.get(f"optimizer.{base}.{m}.rows", found.get(f"optimizer.{base}.{m}", (0, [0.0] * len(values))))[1]
                  for m in ("momentum1", "momentum2")]
        d = shape[1]
        self.all[base] = {i: [[values[n * d + k], states[0][n * d + k], states[1][n * d + k]] for k in range(d)]
                          for n, i in enumerate(ids)}

    def split(self, part, factors):
        """Twins have the same gradient but for its sign, so each has the state of the one."""
        for key in [k for k in self.all if part in k]:
            for i, f in enumerate(factors):
                self.all[f"{key}.{i}"] = [[x[0] * f, math.copysign(x[1], x[1] * f), x[2]] for x in self.all[key]]
            del self.all[key]

    def join(self, part, factors):
        for key in {k[:-2] for k in self.all if part in k}:
            parts = [self.all.pop(f"{key}.{i}") for i in range(len(factors))]
            self.all[key] = [[sum(math.copysign(1, f) * x[0] for f, x in zip(factors, xs)), 0, 0] for xs in zip(*parts)]

    def nums(self):
        return {k: [Num(x[0]) for x in v] if isinstance(v, list) else {i: [Num(x[0]) for x in r] for i, r in v.items()}
                for k, v in self.all.items()}

    def update(self, nums, rule, touched, network):
        for key, values in self.all.items():
            decay = 1e-4 if network in DECAY and key.startswith(DECAY[network]) and key.endswith("weight") else 0
            if isinstance(values, list):
                for x, n in zip(values, nums[key]):
                    rule(x, n.d + decay * x[0], 1)
            else:
                for i, row in values.items():
                    if i in touched(key):  # lazy: rows of the batch alone
                        for x, n in zip(row, nums[key][i]):
                            rule(x, n.d, TABLE_RATE.get(network, 1))

    def flat(self):
        return {(k, i): x[0] for k, v in self.all.items() if isinstance(v, list) for i, x in enumerate(v)} | \
            {(k, i, c): x[0] for k, v in self.all.items() if not isinstance(v, list) for i, r in v.items() for c, x in enumerate(r)}


def rule_of(optimizer, t, rate):
    def adam(x, g, times):
        x[1] = 0.9 * x[1] + 0.1 * g
        x[2] = 0.999 * x[2] + 0.001 * g * g
        # PaddlePaddle adds the epsilon before the correction of x[2]; it tells where gradients are near 1e-8 only.
        x[0] -= times * rate * x[1] / (1 - 0.9 ** t) / (math.sqrt(x[2] / (1 - 0.999 ** t)) + 1e-8)

    def adagrad(x, g, times):
        x[1] += g * g
        x[0] -= times * rate * g / (math.sqrt(x[1]) + 1e-6)

    def sgd(x, g, times):
        x[0] -= times * rate * g
    return {"adam": adam, "adagrad": adagrad, "sgd": sgd}[optimizer]


def slots_of(row, table):
    own = re.search(r"\.slot(\d+)_emb", table)  # a slot with a table of its own
    return row["slots"][int(own.group(1))] if own else sum(row.get("slots", []), [])


def ids_of(batch, table):
    """Rows of a table that a batch reads."""
    out = set()
    for row in batch:
        for part, ids in row.get("touch", {}).items():
            out.update(ids if f".{part}.weight" in table else [])
        out.update(row.get("ids", []) + slots_of(row, table) + sum(row.get("fields", {}).values(), []))
        out.update({0} if len(row.get("fields", range(23))) < 23 else ())
        out.update([row["item"]] + ([] if "wide" in table else row["hist_item"]) if "hist_item" in row and "item_emb" in table else [])
        out.update([row["cat"]] + row["hist_cat"] if "hist_cat" in row and "cat_emb" in table else [])
        out.update({row["user"]} if "user" in row and ".user" in table else ())
        out.update({row["item"]} if "item" in row and ".item" in table else ())
    return out


def main(program, network, threads="1", optimizer="adam"):
    fn, kind, is_sum, hyper = NETS[network]
    r, rows, size = random.Random(7), [], BATCH * int(threads)
    subprocess.run(["mkdir", "-p", "data"], check=True)
    with open("data/a", "w") as f:
        for n in range(size * STEPS):
            row, text = make_row(r, kind, n)
            rows.append(row)
            f.write(text + "\n")
    with open("sizes", "w") as f:
        f.write("".join(f"{i + 1} {ROWS - 1}\n" for i in range(FIELDS)))
    write_config(kind, hyper, network, threads, optimizer)
    ran = subprocess.run([program, "run", "config.yaml"], capture_output=True, text=True)
    if ran.returncode:
        sys.exit(ran.stderr)
    told = {int(b): float(v) for b, v in re.findall(r"batch: (\d+),.*LOSS: \[([^]]*)\]", ran.stderr)}
    state = State("steps/epoch_0_batch_0")
    if network in TWINS:
        state.split(*TWINS[network])
    worst = 0.0
    for step in range(1, STEPS):
        nums = state.nums()
        batch = rows[step * size:(step + 1) * size]
        loss = total(fn(nums, row) for row in batch) * (1 / int(threads) if is_sum else 1 / sum(row.get("steps", 1) for row in batch))
        backward(loss)
        state.update(nums, rule_of(optimizer, step + 1, 0.01), lambda key: ids_of(batch, key), network)
        worst = max(worst, abs(loss.v - told[step]) / max(1.0, abs(loss.v)))
    if network in TWINS:
        state.join(*TWINS[network])
    last, ours = State(f"steps/epoch_0_batch_{STEPS - 1}").flat(), state.flat()
    assert last.keys() == ours.keys() and len(last) > 5, (len(ours), len(last))
    far = max(abs(last[k] - ours[k]) for k in last)
    print(f"{network} threads {threads} {optimizer}: losses within {worst:.1e}, {len(last)} parameters within {far:.1e}")
    if worst > 1e-5 or far > 2e-4:
        sys.exit("too far apart")


main(*sys.argv[1:])
