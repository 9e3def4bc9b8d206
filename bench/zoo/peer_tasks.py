# SPDX-License-Identifier: Apache-2.0
"""Models of several tasks."""
import torch
from torch import nn
import torch.nn.functional as F

from peer import DIM, NUMBERS, UNITS, WIDTH, Fields, model, net


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
class Esmm(ShareBottom):
    def loss(self, outputs, label):
        click, buy = outputs
        both = torch.sigmoid(click) * torch.sigmoid(buy)
        return F.binary_cross_entropy_with_logits(click, label) + F.binary_cross_entropy(both, label)


class Rotation(nn.Module):
    """Columns that stay orthonormal, by torch's own parametrization."""

    def __init__(self, rows, columns):
        super().__init__()
        self.weight = nn.Parameter(nn.init.orthogonal_(torch.empty(rows, columns)))

    def forward(self, x):
        return x @ self.weight


@model
class Dc2vr(ShareBottom):
    def make(self):
        self.bottom = net(self.width, UNITS)
        self.towers = nn.ModuleList(net(UNITS[-1], [64]) for _ in range(2))
        self.base, self.source = (nn.utils.parametrizations.orthogonal(Rotation(64, 8)) for _ in range(2))
        self.outs = nn.ModuleList(nn.Linear(64, 1) for _ in range(2))

    def outputs(self, x):
        a, b = super().outputs(x)
        with nn.utils.parametrize.cached():
            shift = (self.base(b) - self.source(a.detach())) @ self.base.weight.T
        return [self.outs[0](a), self.outs[1](b + shift)]


def gate(width, hidden, out):
    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, out), nn.Sigmoid())


@model
class Pepnet(Tasks):
    """Fields 0 and 1 are the domain, 2 to 5 the user; tables of their own are not needed."""

    def make(self):
        self.domain = gate(2 * DIM + self.width, 64, self.width)
        sizes = [self.width, *UNITS]
        self.layers = nn.ModuleList(nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, UNITS)) for _ in range(2))
        self.gates = nn.ModuleList(nn.ModuleList(gate(4 * DIM + self.width, b, b) for b in UNITS) for _ in range(2))
        self.towers = nn.ModuleList(net(UNITS[-1], [64], 1) for _ in range(2))

    def outputs(self, x):
        domain, user = x[:, :2 * DIM], x[:, 2 * DIM:6 * DIM]
        x = 2 * self.domain(torch.cat([domain, x.detach()], 1)) * x
        knows = torch.cat([user, x.detach()], 1)
        made = []
        for layers, gates, tower in zip(self.layers, self.gates, self.towers):
            h = x
            for layer, g in zip(layers, gates):
                h = 2 * torch.relu(layer(h)) * g(knows)
            made.append(tower(h))
        return made


@model
class RocketLaunching(Tasks):
    def make(self):
        self.shared = net(self.width, [256])
        self.booster = nn.ModuleList([net(256, [256]), net(256, [128])])
        self.light = net(256, [128])
        self.outs = nn.ModuleList(nn.Linear(128, 1) for _ in range(2))

    def outputs(self, x):
        x = self.shared(x)
        big, small = self.booster[1](self.booster[0](x)), self.light(x.detach())
        return [self.outs[0](big), self.outs[1](small), big.detach(), small]

    def loss(self, outputs, label):
        booster, light, big, small = outputs
        return (F.binary_cross_entropy_with_logits(booster, label) + F.binary_cross_entropy_with_logits(light, label)
                + F.mse_loss(light, booster.detach()) - 0.1 * F.cosine_similarity(big, small, eps=1e-12).mean())
