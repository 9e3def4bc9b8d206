# SPDX-License-Identifier: Apache-2.0
"""torch_peer.py MODEL BATCH [THREADS] [SECONDS]: steps of the models of cases.py in PyTorch, written for speed: one
merged table with sparse gradients, products of all pairs at once, no loop over fields. As bench/engine/torch_peer.py.
"""
import pathlib
import sys

import torch
from torch import nn
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "engine"))
from torch_peer import Table, draw, main, net  # noqa: E402  of bench/engine

from cases import DIM, FFM_DIM, FIELDS, HISTORY, NUMBERS, ROWS  # noqa: E402

WIDTH, UNITS, STEPS = FIELDS * DIM, [256, 128], 50
I, J = torch.triu_indices(FIELDS, FIELDS, 1)
MODELS = {}


def model(cls):
    MODELS["".join("_" + c.lower() if c.isupper() else c for c in cls.__name__).lstrip("_")] = cls
    return cls


class Fields(nn.Module):
    """Vectors v [n, fields, dim], weights of first order, numbers."""
    dim, wide, dense = DIM, True, False

    def __init__(self):
        super().__init__()
        self.vectors = Table([ROWS] * FIELDS, self.dim) if self.dim else None
        self.weights = Table([ROWS] * FIELDS, 1) if self.wide else None
        self.bias = nn.Parameter(torch.zeros(1))
        self.make()

    def make(self):
        pass

    def batch(self, n):
        return draw(ROWS, (n, FIELDS)), torch.rand(n, NUMBERS)

    def forward(self, ids, dense):
        o = self.logit(self.vectors(ids) if self.vectors else None, dense, ids)
        return [o + self.weights(ids).sum(1) if self.wide else o]


@model
class LogisticRegression(Fields):
    dim = 0

    def make(self):
        self.numbers = nn.Linear(NUMBERS, 1, bias=False)

    def logit(self, v, dense, ids):
        return self.numbers(dense) + self.bias


def products(v):
    return 0.5 * (v.sum(1).square() - v.square().sum(1))


@model
class Fm(Fields):
    def logit(self, v, dense, ids):
        return products(v).sum(1, keepdim=True) + self.bias


@model
class Fnn(Fields):
    wide = False

    def make(self):
        self.scalars = Table([ROWS] * FIELDS, 1)
        self.net = net(WIDTH + FIELDS + NUMBERS, UNITS, 1)

    def logit(self, v, dense, ids):
        return self.net(torch.cat([v.flatten(1), self.scalars(ids).squeeze(2), dense], 1))


@model
class Nfm(Fields):
    def make(self):
        self.net = net(DIM, UNITS, 1)

    def logit(self, v, dense, ids):
        return self.net(products(v))


@model
class Pnn(Fields):
    def make(self):
        self.linear, self.net = nn.Linear(WIDTH, 50), net(50, UNITS, 1)
        self.theta = nn.Parameter(torch.rand(FIELDS, 50) - 0.5)

    def logit(self, v, dense, ids):
        lengths = (v.transpose(1, 2) @ self.theta).square().sum(1)
        return self.net(torch.relu(self.linear(v.flatten(1)) + lengths))


@model
class PnnOuter(Fields):
    def make(self):
        self.linear, self.net = nn.Linear(WIDTH, 50), net(50, UNITS, 1)
        self.outer = nn.Linear(DIM * DIM, 50, bias=False)

    def logit(self, v, dense, ids):
        s = v.sum(1)
        outer = (s.unsqueeze(2) * s.unsqueeze(1)).flatten(1)
        return self.net(torch.relu(self.linear(v.flatten(1)) + self.outer(outer)))


@model
class Ffm(Fields):
    dim = FFM_DIM

    def logit(self, v, dense, ids):
        x = v.view(len(v), FIELDS, FIELDS, -1)
        all_pairs = (x * x.transpose(1, 2)).sum(3)
        diagonal = torch.diagonal(all_pairs, dim1=1, dim2=2).sum(1)
        return 0.5 * (all_pairs.sum((1, 2)) - diagonal).unsqueeze(1) + self.bias


@model
class Afm(Fields):
    def make(self):
        self.attention, self.out = nn.Linear(DIM, 16), nn.Linear(DIM, 1)
        self.projection = nn.Linear(16, 1, bias=False)

    def logit(self, v, dense, ids):
        pairs = v[:, I] * v[:, J]
        a = torch.softmax(self.projection(torch.relu(self.attention(pairs))), 1)
        return self.out((a * pairs).sum(1))


@model
class Fwfm(Fields):
    def make(self):
        self.pairs = nn.Linear(len(I), 1)
        self.register_buffer("at", I * FIELDS + J)

    def logit(self, v, dense, ids):
        dots = torch.bmm(v, v.transpose(1, 2)).flatten(1).index_select(1, self.at)
        return self.pairs(dots)


@model
class Fibinet(Fields):
    wide, shared = False, False

    def make(self):
        self.senet = nn.Sequential(nn.Linear(FIELDS, FIELDS // 3), nn.ReLU(), nn.Linear(FIELDS // 3, FIELDS), nn.ReLU())
        self.maps = nn.ModuleList(nn.Linear(DIM, DIM) for _ in range(2)) if self.shared else None
        self.w = None if self.shared else nn.Parameter(torch.rand(2, len(I), DIM, DIM) - 0.5)
        self.b = None if self.shared else nn.Parameter(torch.zeros(2, 1, len(I), DIM))
        self.net = net(2 * len(I) * DIM + NUMBERS, UNITS, 1)

    def bilinear(self, v, k):
        if self.shared:
            return (self.maps[k](v)[:, I] * v[:, J]).flatten(1)
        left = torch.bmm(v[:, I].transpose(0, 1), self.w[k]).transpose(0, 1) + self.b[k]
        return (left * v[:, J]).flatten(1)

    def logit(self, v, dense, ids):
        gated = v * self.senet(v.mean(2)).unsqueeze(2)
        return self.net(torch.cat([self.bilinear(gated, 0), self.bilinear(v, 1), dense], 1))


@model
class FibinetAll(Fibinet):
    shared = True


def attend(q, k, v, heads, scale, mask=None):
    n, t, w = q.shape
    q, k, v = (x.view(n, t, heads, w // heads).transpose(1, 2) for x in (q, k, v))
    scores = q @ k.transpose(2, 3) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    return (torch.softmax(scores, 3) @ v).transpose(1, 2).reshape(n, t, w)


@model
class Autoint(Fields):
    wide = False

    def make(self):
        self.all = nn.Linear(DIM, 4 * 96, bias=False)
        self.out = nn.Linear(FIELDS * 96, 1)

    def logit(self, v, dense, ids):
        q, k, value, rest = self.all(v).split(96, 2)
        y = attend(q, k, value, 6, 96**-0.5) + rest
        return self.out(torch.relu(y).flatten(1))


@model
class Gatenet(Fields):
    wide = False

    def make(self):
        self.gate = nn.Parameter(torch.rand(FIELDS, DIM) - 0.5)
        sizes = [WIDTH + NUMBERS, *UNITS]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, UNITS))
        self.gates = nn.ModuleList(nn.Linear(b, b, bias=False) for b in UNITS)
        self.out = nn.Linear(UNITS[-1], 1)

    def logit(self, v, dense, ids):
        v = v * torch.sigmoid((v * self.gate).sum(2, keepdim=True))
        h = torch.cat([v.flatten(1), dense], 1)
        for layer, gate in zip(self.layers, self.gates):
            h = torch.relu(layer(h))
            h = h * torch.tanh(gate(h))
        return self.out(h)


@model
class Flen(Fields):
    wide = False

    def make(self):
        self.between, self.within = nn.Parameter(torch.rand(3, 1)), nn.Parameter(torch.rand(3, 1))
        self.interaction, self.net = net(DIM, [16]), net(WIDTH, UNITS)
        self.out = nn.Linear(16 + UNITS[-1], 1)

    def logit(self, v, dense, ids):
        groups = v.split([12, 3, 11], 1)
        s = torch.stack([g.sum(1) for g in groups], 1)
        between = (s[:, [0, 0, 1]] * s[:, [1, 2, 2]] * self.between).sum(1)
        within = (torch.stack([products(g) for g in groups], 1) * self.within).sum(1)
        return self.out(torch.cat([self.interaction(between + within), self.net(v.flatten(1))], 1))


@model
class DeepCrossing(Fields):
    wide = False

    def make(self):
        self.scalars = Table([ROWS] * FIELDS, 1)
        width = WIDTH + FIELDS
        self.units = nn.ModuleList(nn.Sequential(nn.Linear(width, 128), nn.ReLU(), nn.Linear(128, width))
                                   for _ in range(4))
        self.out = nn.Linear(width, 1)

    def logit(self, v, dense, ids):
        x = torch.cat([v.flatten(1), self.scalars(ids).squeeze(2)], 1)
        for unit in self.units:
            x = torch.relu(unit(x) + x)
        return self.out(x)


class Historic(nn.Module):
    """Fields beside an item and a history of 50; all rows are as long, so no mask is needed."""

    def __init__(self):
        super().__init__()
        self.vectors, self.history = Table([ROWS] * FIELDS), Table(list(HISTORY.values()))
        self.width = DIM * len(HISTORY)
        self.make()

    def batch(self, n):
        def ids(shape):
            return torch.stack([draw(rows, shape) for rows in HISTORY.values()], -1)
        return draw(ROWS, (n, FIELDS)), ids((n,)), ids((n, STEPS))

    def forward(self, ids, item, history):
        n = len(ids)
        q, s = self.history(item).view(n, -1), self.history(history).view(n, STEPS, -1)
        return [self.logit(self.vectors(ids).flatten(1), q, s)]


@model
class Bst(Historic):
    def make(self):
        w = self.width
        self.qkv, self.proj = nn.Linear(w, 96, bias=False), nn.Linear(32, w, bias=False)
        self.ffn = nn.Sequential(nn.Linear(w, 64), nn.ReLU(), nn.Linear(64, w))
        self.net = net(w + WIDTH, UNITS, 1)

    def logit(self, v, q, s):
        x = torch.cat([q.unsqueeze(1), s], 1)
        a, b, c = self.qkv(x).split(32, 2)
        x = x + self.proj(attend(a, b, c, 2, 32**-0.5))
        x = x + self.ffn(x)
        return self.net(torch.cat([x.sum(1), v], 1))


def din_scores(attention, q, s):
    rows = q.unsqueeze(1).expand_as(s)
    return attention(torch.cat([rows, s, rows - s, rows * s], 2)).squeeze(2)


@model
class Dien(Historic):
    def make(self):
        w = self.width
        self.extractor, self.evolution = (nn.GRU(w, w, batch_first=True) for _ in range(2))
        self.attention = net(4 * w, [80, 40], 1)
        self.net = net(2 * w + WIDTH, UNITS, 1)

    def logit(self, v, q, s):
        states, _ = self.extractor(s)
        a = torch.softmax(din_scores(self.attention, q, states) / self.width**0.5, 1)
        _, last = self.evolution(states * a.unsqueeze(2))
        return self.net(torch.cat([last[0], q, v], 1))


@model
class MultiTowerDin(Historic):
    def make(self):
        self.attention = net(4 * self.width, [80, 40], 1)
        self.deep, self.final = net(WIDTH, UNITS), net(UNITS[-1] + self.width, [64], 1)

    def logit(self, v, q, s):
        a = torch.softmax(din_scores(self.attention, q, s), 1)
        return self.final(torch.cat([self.deep(v), torch.bmm(a.unsqueeze(1), s).squeeze(1)], 1))


@model
class MultiTower(Fields):
    wide = False

    def make(self):
        self.a, self.b, self.final = net(WIDTH, UNITS), net(NUMBERS, [64]), net(UNITS[-1] + 64, [64], 1)

    def logit(self, v, dense, ids):
        return self.final(torch.cat([self.a(v.flatten(1)), self.b(dense)], 1))


@model
class WideAndDeep(Fields):
    def make(self):
        self.net = net(WIDTH, UNITS, 1)

    def logit(self, v, dense, ids):
        return self.net(v.flatten(1))


@model
class Deepfm(WideAndDeep):
    def logit(self, v, dense, ids):
        return self.net(v.flatten(1)) + products(v).sum(1, keepdim=True)


@model
class Dlrm(Fields):
    wide = False

    def make(self):
        self.bottom, self.top = net(NUMBERS, [64, DIM]), net(351 + DIM, UNITS, 1)
        i, j = torch.triu_indices(FIELDS + 1, FIELDS + 1, 1)
        self.register_buffer("at", i * (FIELDS + 1) + j)

    def logit(self, v, dense, ids):
        z = self.bottom(dense)
        x = torch.cat([z.unsqueeze(1), v], 1)
        dots = torch.bmm(x, x.transpose(1, 2)).flatten(1).index_select(1, self.at)
        return self.top(torch.cat([dots, z], 1))


class Crossed(Fields):
    wide = False

    def make(self):
        self.width = WIDTH + NUMBERS
        self.deep, self.final = net(self.width, UNITS), net(self.width + UNITS[-1], [64], 1)
        self.layers()

    def logit(self, v, dense, ids):
        x = torch.cat([v.flatten(1), dense], 1)
        return self.final(torch.cat([self.cross(x), self.deep(x)], 1))


class DcnOne(Crossed):
    def layers(self):
        self.w = nn.Parameter(torch.rand(3, self.width) * 0.1)
        self.b = nn.Parameter(torch.zeros(3, self.width))

    def cross(self, x0):
        x = x0
        for w, b in zip(self.w, self.b):
            x = torch.addcmul(b + x, x0, (x @ w).unsqueeze(1))
        return x


class DcnTwo(Crossed):
    def layers(self):
        self.u = nn.ModuleList(nn.Linear(self.width, 32, bias=False) for _ in range(3))
        self.v = nn.ModuleList(nn.Linear(32, self.width) for _ in range(3))

    def cross(self, x0):
        x = x0
        for u, v in zip(self.u, self.v):
            x = torch.addcmul(x, x0, v(u(x)))
        return x


MODELS["dcn_v1"], MODELS["dcn_v2"] = DcnOne, DcnTwo


@model
class Xdeepfm(Fields):
    wide = False

    def make(self):
        self.second = Table([ROWS] * FIELDS, DIM)
        self.cin = nn.ModuleList([nn.Conv1d(FIELDS * FIELDS, 16, 1), nn.Conv1d(FIELDS * 16, 16, 1)])
        self.deep, self.final = net(WIDTH, UNITS), net(32 + UNITS[-1], [64], 1)

    def logit(self, v, dense, ids):
        x0 = self.second(ids)
        x, outs = x0, []
        for conv in self.cin:
            x = conv((x.unsqueeze(2) * x0.unsqueeze(1)).flatten(1, 2))
            outs.append(x.sum(2))
        return self.final(torch.cat([*outs, self.deep(v.flatten(1))], 1))


@model
class MaskNet(Fields):
    wide = False

    def make(self):
        w = WIDTH + NUMBERS
        self.norm = nn.LayerNorm(w)
        self.masks = nn.ModuleList(nn.Sequential(nn.Linear(w, w), nn.ReLU(), nn.Linear(w, w)) for _ in range(3))
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(w, 128), nn.LayerNorm(128), nn.ReLU()) for _ in range(3))
        self.net, self.out = net(3 * 128, UNITS), nn.Linear(UNITS[-1], 1, bias=False)

    def logit(self, v, dense, ids):
        x = torch.cat([v.flatten(1), dense], 1)
        normed = self.norm(x)
        return self.out(self.net(torch.cat([b(normed * m(x)) for m, b in zip(self.masks, self.blocks)], 1)))


class WukongLayer(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.lcb, self.y = nn.Parameter(torch.rand(16, n) - 0.5), nn.Parameter(torch.rand(n, 16) - 0.5)
        self.norm, self.net = nn.LayerNorm(n * 16), net(n * 16, [64])
        self.out, self.last = nn.Linear(64, 16 * DIM), nn.LayerNorm(DIM)
        self.rest = nn.Parameter(torch.rand(32, n) - 0.5) if n != 32 else None

    def forward(self, x):
        f = torch.bmm(x, x.transpose(1, 2) @ self.y).flatten(1)
        f = self.out(self.net(self.norm(f))).view(len(x), 16, DIM)
        rest = x if self.rest is None else self.rest @ x
        return self.last(torch.cat([f, self.lcb @ x], 1) + rest)


@model
class Wukong(Fields):
    wide = False

    def make(self):
        self.bottom = net(NUMBERS, [64, DIM])
        self.layers = nn.Sequential(WukongLayer(FIELDS + 1), WukongLayer(32))
        self.net = net(32 * DIM, UNITS, 1)

    def logit(self, v, dense, ids):
        x = torch.cat([self.bottom(dense).unsqueeze(1), v], 1)
        return self.net(self.layers(x).flatten(1))


@model
class Mmoe(Fields):
    wide = False

    def make(self):
        w = WIDTH + NUMBERS
        self.experts = nn.ModuleList(net(w, UNITS) for _ in range(3))
        self.gates = nn.ModuleList(nn.Linear(w, 3) for _ in range(2))
        self.towers = nn.ModuleList(net(UNITS[-1], [64], 1) for _ in range(2))

    def forward(self, ids, dense):
        x = torch.cat([self.vectors(ids).flatten(1), dense], 1)
        experts = torch.stack([e(x) for e in self.experts], 1)
        return [tower(torch.bmm(torch.softmax(gate(x), 1).unsqueeze(1), experts).squeeze(1))
                for gate, tower in zip(self.gates, self.towers)]


class Tasks(Fields):
    """Two tasks on the vectors and numbers."""
    wide, width = False, WIDTH + NUMBERS

    def forward(self, ids, dense):
        return self.outputs(torch.cat([self.vectors(ids).flatten(1), dense], 1))


@model
class SimpleMultiTask(Tasks):
    def make(self):
        self.towers = nn.ModuleList(net(self.width, [64], 1) for _ in range(2))

    def outputs(self, x):
        return [tower(x) for tower in self.towers]


@model
class ShareBottom(Tasks):
    def make(self):
        self.bottom = net(self.width, UNITS)
        self.towers = nn.ModuleList(net(UNITS[-1], [64], 1) for _ in range(2))

    def outputs(self, x):
        h = self.bottom(x)
        return [tower(h) for tower in self.towers]


@model
class Dbmtl(Tasks):
    def make(self):
        self.bottom = net(self.width, UNITS)
        self.first, self.second = (net(UNITS[-1], [64]) for _ in range(2))
        self.relation = net(128, [64])
        self.outs = nn.ModuleList(nn.Linear(64, 1) for _ in range(2))

    def outputs(self, x):
        h = self.bottom(x)
        a = self.first(h)
        b = self.relation(torch.cat([self.second(h), a], 1))
        return [self.outs[0](a), self.outs[1](b)]


class PleLayer(nn.Module):
    """Two experts of each task and a shared one; gates of the tasks and, but in the last layer, of the shared part."""

    def __init__(self, width, final):
        super().__init__()
        self.experts = nn.ModuleList(net(width, UNITS) for _ in range(5))
        self.gates = nn.ModuleList([nn.Linear(width, 3), nn.Linear(width, 3)] + ([] if final else [nn.Linear(width, 5)]))

    def forward(self, xs):
        y = [e(xs[min(i // 2, 2)]) for i, e in enumerate(self.experts)]
        parts = [y[0:2] + y[4:], y[2:4] + y[4:], y]
        return [torch.bmm(torch.softmax(g(x), 1).unsqueeze(1), torch.stack(p, 1)).squeeze(1)
                for g, x, p in zip(self.gates, xs, parts)]


@model
class Ple(Tasks):
    def make(self):
        self.layers = nn.Sequential(PleLayer(self.width, False), PleLayer(UNITS[-1], True))
        self.towers = nn.ModuleList(net(UNITS[-1], [64], 1) for _ in range(2))

    def outputs(self, x):
        return [tower(h) for tower, h in zip(self.towers, self.layers([x, x, x]))]


@model
class Dmr(Historic):
    def make(self):
        self.match = Table([HISTORY["cate"]])
        self.align = nn.ModuleList([nn.Linear(DIM, DIM), nn.Linear(2 * DIM, DIM)])
        self.prelus = nn.ModuleList(nn.PReLU() for _ in range(3))
        self.attentions = nn.ModuleList(net(4 * DIM, [80, 40], 1) for _ in range(2))
        self.user = nn.Linear(DIM, DIM)
        self.net = net(4 * DIM + 2 + WIDTH, UNITS, 1)

    def forward(self, ids, item, history):
        n = len(ids)
        q = self.history(item)[:, 0]
        s = self.history(history)
        self.item = self.match(item[:, 1:]).view(n, -1)
        return [self.logit(self.vectors(ids).flatten(1), q, s)]

    def scores(self, k, source, s):
        q = self.prelus[k](self.align[k](source))
        return self.attentions[k](torch.cat([q, s, q - s, q * s], 2)).squeeze(2)

    def logit(self, v, q, both):
        s, said = both[:, :, 0], both[:, :, 1]
        a = torch.softmax(self.scores(0, said, s), 1)
        u = self.prelus[2](self.user(torch.bmm(a.unsqueeze(1), s).squeeze(1)))
        close = (u * self.item).sum(1, keepdim=True)
        a = self.scores(1, torch.cat([q.unsqueeze(1).expand_as(s), said], 2), s)
        total, pooled = s.sum(1), torch.bmm(torch.softmax(a, 1).unsqueeze(1), s).squeeze(1)
        return self.net(torch.cat([q, total, q * total, pooled, close, a.sum(1, keepdim=True), v], 1))


@model
class Dssm(Fields):
    wide = False

    def make(self):
        self.user, self.item = (net(WIDTH // 2, UNITS, 64) for _ in range(2))

    def forward(self, ids, dense):
        v = self.vectors(ids)
        u = F.normalize(self.user(v[:, :13].flatten(1)), dim=1)
        i = F.normalize(self.item(v[:, 13:].flatten(1)), dim=1)
        return [u @ i.T / 0.1]

    def loss(self, outputs):
        return F.cross_entropy(outputs[0], torch.arange(len(outputs[0])))


MODELS["dssm_v2"] = Dssm

if __name__ == "__main__":
    main(MODELS)
