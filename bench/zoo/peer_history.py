# SPDX-License-Identifier: Apache-2.0
"""Models on the history of a user."""
import torch
from torch import nn
import torch.nn.functional as F

from cases import WINDOWS
from peer import DIM, HISTORY, UNITS, WIDTH, Historic, Table, attend, din_scores, model, net


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
class Tdm(Historic):
    def make(self):
        w = self.width
        self.attention, self.prelu = net(3 * w, [80, 40], 1), nn.PReLU()
        self.net = net((len(WINDOWS) + 1) * w + WIDTH, UNITS, 2)

    def logit(self, v, q, s):
        rows = q.unsqueeze(1).expand_as(s)
        weighted = self.prelu(self.attention(torch.cat([s, rows * s, rows], 2))) * s
        return self.net(torch.cat([*(x.mean(1) for x in weighted.split(WINDOWS, 1)), q, v], 1))

    def loss(self, outputs, label):
        return F.cross_entropy(outputs[0], label.squeeze(1).long())
