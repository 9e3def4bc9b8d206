# SPDX-License-Identifier: Apache-2.0
"""Ranking models with crosses of the whole input, masks, stacked layers."""
import torch
from torch import nn

from peer import DIM, FIELDS, MODELS, NUMBERS, ROWS, UNITS, WIDTH, Fields, Table, model, net


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
