# SPDX-License-Identifier: Apache-2.0
"""Ranking models on fields."""
import torch
import torch.nn.functional as F
from torch import nn

from cases import FFM_DIM, MAPS
from peer import DIM, FIELDS, I, J, NUMBERS, ROWS, UNITS, WIDTH, Fields, Table, attend, model, net, products


@model
class LogisticRegression(Fields):
    dim = 0

    def make(self):
        self.numbers = nn.Linear(NUMBERS, 1, bias=False)

    def logit(self, v, dense, ids):
        return self.numbers(dense) + self.bias


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


@model
class Fgcnn(Fields):
    """The largest of two is taken before the tanh, which does not change it: half as much to do."""
    wide = False

    def make(self):
        sizes = [1, *MAPS]
        self.convs = nn.ModuleList(nn.Conv2d(a, b, (9, 1), padding=(4, 0)) for a, b in zip(sizes, MAPS))
        left = [FIELDS >> i for i in range(1, len(MAPS) + 1)]
        self.new = nn.ModuleList(nn.Linear(n * DIM * m, n * DIM * 3) for n, m in zip(left, MAPS))
        n = FIELDS + 3 * sum(left)
        i, j = torch.triu_indices(n, n, 1)
        self.register_buffer("at", i * n + j)
        self.net = net(n * DIM + len(i), UNITS, 1)

    def logit(self, v, dense, ids):
        x, parts = v.unsqueeze(1), [v]
        for conv, new in zip(self.convs, self.new):
            x = torch.tanh(F.max_pool2d(conv(x), (2, 1)))
            parts.append(torch.tanh(new(x.flatten(1))).view(len(v), -1, DIM))
        v = torch.cat(parts, 1)
        dots = torch.bmm(v, v.transpose(1, 2)).flatten(1).index_select(1, self.at)
        return self.net(torch.cat([v.flatten(1), dots], 1))


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
