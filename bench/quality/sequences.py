# SPDX-License-Identifier: Apache-2.0
"""Ranking models on a history in plain PyTorch: h the films, 0 behind the last; g films that were not seen, p how
long ago each was."""
import torch
import torch.nn.functional as F
from torch import nn

from parts import FIRST, Tables, mlp
from torch_peer import scores


def table(rows, dim):
    made = nn.Embedding(rows, dim, sparse=True)
    nn.init.normal_(made.weight, 0, FIRST)
    return made


def last(x, mask):
    """The value of the last position that counts; zeros where none does."""
    n = mask.sum(1)
    return x[torch.arange(len(x)), (n - 1).clamp_min(0)] * (n > 0).unsqueeze(1)


class Historic(nn.Module):
    """A net on what the model makes of the history, the film and the vectors of all fields."""

    def __init__(self, case, sizes, numbers):
        super().__init__()
        self.case, self.d = case, case['dim']
        self.tables, self.film = Tables(sizes, self.d, FIRST), table(sizes[1], self.d)
        self.deep = mlp(len(sizes) * self.d + self.make(case, sizes), case['hidden'], case)
        self.out = nn.Linear(case['hidden'][-1], 1)

    def forward(self, b):
        h = self.history(b, self.film(b['x'][:, 1]), self.film(b['h']), b['h'] > 0)
        return self.out(self.deep(torch.cat([h, self.tables(b['x']).flatten(1)], 1)))

    def loss(self, b):
        logit = self(b)
        return F.binary_cross_entropy_with_logits(logit, b['y']) + self.case['aux'] * self.beside.mean()

    def measure(self, part):
        return scores(self, part, [0])


class Bst(Historic):
    def make(self, case, sizes):
        self.place, w, inner = table(21, self.d), 2 * self.d, case['heads'] * case['head']
        self.layers = nn.ModuleList()
        for _ in range(case['layers']):
            sides = [nn.Linear(w, inner, bias=False) for _ in range(3)] + [nn.Linear(inner, w, bias=False)]
            ffn = nn.Sequential(nn.Linear(w, case['ffn']), nn.ReLU(), nn.Linear(case['ffn'], w))
            self.layers.append(nn.ModuleList(sides + [ffn]))
        return w

    def history(self, b, q, s, mask):
        now = self.place(torch.zeros_like(b['x'][:, 1]))
        z = torch.cat([torch.cat([q, now], 1).unsqueeze(1), torch.cat([s, self.place(b['p'])], 2)], 1)
        mask = torch.cat([torch.ones_like(mask[:, :1]), mask], 1)
        n, t, heads = len(z), z.shape[1], self.case['heads']
        for query, key, value, out, ffn in self.layers:
            a, k, v = (m(z).view(n, t, heads, -1).transpose(1, 2) for m in (query, key, value))
            w = a @ k.transpose(2, 3) / (heads * self.case['head'])**.5
            w = torch.softmax(w.masked_fill(~mask[:, None, None], -1e30), 3)
            z = z + out((w @ v).transpose(1, 2).reshape(n, t, -1))
            z = z + ffn(z)
        return (z * mask.unsqueeze(2)).sum(1)


def told(net, q, s):
    """Scores of positions from q and s side by side, their difference and product."""
    return net(torch.cat([q, s, q - s, q * s], 2)).squeeze(2)


def attention(width, units, case):
    return nn.Sequential(mlp(width, units, case), nn.Linear(units[-1], 1))


class Dien(Historic):
    def make(self, case, sizes):
        self.extractor, self.evolution = (nn.GRU(self.d, self.d, batch_first=True) for _ in range(2))
        self.attention = attention(4 * self.d, case['attention'], case)
        return 2 * self.d

    def history(self, b, q, s, mask):
        states, _ = self.extractor(s)
        if self.training:
            before = states[:, :-1]
            yes, no = ((before * x[:, 1:]).sum(2) for x in (s, self.film(b['g'])))
            self.beside = ((F.softplus(-yes) + F.softplus(no)) * mask[:, 1:]).sum(1)
        w = told(self.attention, q.unsqueeze(1).expand_as(s), states) / self.d**.5
        w = torch.softmax(w.masked_fill(~mask, -1e30), 1)
        end, _ = self.evolution(states * w.unsqueeze(2))
        return torch.cat([last(end, mask), q], 1)


def shares(w, mask):
    return torch.softmax(w.masked_fill(~mask, -1e30), 1) * mask


class Dmr(Historic):
    def make(self, case, sizes):
        self.place, self.match = table(21, self.d), table(sizes[1], self.d)
        self.align = nn.ModuleList([nn.Linear(self.d, self.d), nn.Linear(2 * self.d, self.d)])
        self.prelus = nn.ModuleList(nn.PReLU() for _ in range(3))
        self.attentions = nn.ModuleList(attention(4 * self.d, case['attention'], case) for _ in range(2))
        self.user = nn.Linear(self.d, self.d)
        return 4 * self.d + 2

    def scores(self, k, source, s):
        return told(self.attentions[k], self.prelus[k](self.align[k](source)), s)

    def who(self, w, s):
        return self.prelus[2](self.user((w.unsqueeze(2) * s).sum(1)))

    def history(self, b, q, s, mask):
        said = self.place(b['p'])
        w = self.scores(0, said, s)
        if self.training:
            n = mask.sum(1, keepdim=True)
            u = self.who(shares(w, torch.arange(mask.shape[1]) < n - 1), s)
            yes, no = ((u * last(self.match(b[k]), mask)).sum(1) for k in 'hg')
            self.beside = (F.softplus(-yes) + F.softplus(no)) * (n[:, 0] > 1)
        near = (self.who(shares(w, mask), s) * self.match(b['x'][:, 1])).sum(1, keepdim=True)
        w = self.scores(1, torch.cat([q.unsqueeze(1).expand_as(s), said], 2), s)
        total = (s * mask.unsqueeze(2)).sum(1)
        pooled = (shares(w, mask).unsqueeze(2) * s).sum(1)
        return torch.cat([q, total, q * total, pooled, near, (w * mask).sum(1, keepdim=True)], 1)


class Tdm(Historic):
    """Positions weighed one by one; means over windows of them beside the film."""

    def make(self, case, sizes):
        self.attention = attention(3 * self.d, case['attention'], case)
        self.prelu = nn.PReLU()
        return (len(case['windows']) + 1) * self.d

    def history(self, b, q, s, mask):
        rows = q.unsqueeze(1).expand_as(s)
        w = self.prelu(self.attention(torch.cat([s, rows * s, rows], 2)))
        v, n = w * s * mask.unsqueeze(2), mask.sum(1, keepdim=True)
        out, start = [], 0
        for size in self.case['windows']:
            out.append(v[:, start:start + size].sum(1) / (n - start).clamp(1, size))
            start += size
        return torch.cat([*out, q], 1)
