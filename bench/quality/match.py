# SPDX-License-Identifier: Apache-2.0
"""Retrieval models in plain PyTorch: the film that a user liked next, x[:, 1], from the history h (0 behind the last)
and the fields of the user, among the films of its batch."""
import torch
import torch.nn.functional as F
from torch import nn

from parts import FIRST, Tables, mlp
from sequences import last, table
from trainer import cut

USER, ITEM = [0, 2, 3, 4, 5], [1, 6, 7, 8]


class Match(nn.Module):
    def __init__(self, case, sizes, numbers):
        super().__init__()
        self.case, self.d = case, case['dim']
        self.users, self.items = (Tables([sizes[i] for i in some], self.d, FIRST) for some in (USER, ITEM))
        self.make(case, sizes)

    def scores(self, b):
        """Of each row the film of each row."""
        u, i = self.sides(b)
        return u @ i.T / self.case.get('temperature', 1)

    def loss(self, b):
        return F.cross_entropy(self.scores(b), torch.arange(len(b['x'])))

    def measure(self, part):
        """The share of rows whose own film is among the best of its batch; an equal one, such as itself in another
        row, counts against it."""
        hits, rows = 0, self.case['batch']
        for at in range(0, len(part['x']), rows):
            b = cut(part, at, rows)
            s, films = self.scores(b), b['x'][:, 1]
            before = (s >= s.diagonal().unsqueeze(1)) | (films.unsqueeze(1) == films)
            hits += int((before.sum(1) - 1 < self.case['top']).sum())
        return [hits / len(part['x'])]


def mean(x, mask):
    return (x * mask.unsqueeze(2)).sum(1) / mask.sum(1, keepdim=True)


def unit(x):
    return F.normalize(x, dim=-1)


def tower(width, case):
    return nn.Sequential(mlp(width, case['hidden'], case), nn.Linear(case['hidden'][-1], case['out']))


class Dssm(Match):
    def make(self, case, sizes):
        self.history = table(sizes[1], self.d)
        self.user = tower((len(USER) + 1) * self.d, case)
        self.item = tower(len(ITEM) * self.d, case)

    def inputs(self, b):
        seen = mean(self.history(b['h']), b['h'] > 0)
        return (torch.cat([self.users(b['x'][:, USER]).flatten(1), seen], 1), self.items(b['x'][:, ITEM]).flatten(1))

    def sides(self, b):
        u, i = self.inputs(b)
        return unit(self.user(u)), unit(self.item(i))


class DssmTwo(Dssm):
    """The films of the history have the vectors of the films."""

    def make(self, case, sizes):
        super().make(case, sizes)
        del self.history

    def inputs(self, b):
        seen = mean(self.items.weight(b['h']), b['h'] > 0)  # films are the first of the items' tables
        return (torch.cat([self.users(b['x'][:, USER]).flatten(1), seen], 1), self.items(b['x'][:, ITEM]).flatten(1))


class Dat(Dssm):
    """A vector of each user and film learns to be what the other side gives."""

    def make(self, case, sizes):
        super().make(case, sizes)
        self.more = nn.ModuleList(table(sizes[i], case['out']) for i in (0, 1))
        self.user = tower((len(USER) + 1) * self.d + case['out'], case)
        self.item = tower(len(ITEM) * self.d + case['out'], case)

    def loss(self, b):
        inputs, more = self.inputs(b), [t(b['x'][:, i]) for i, t in enumerate(self.more)]
        u, i = (unit(net(torch.cat([x, a], 1))) for net, x, a in zip((self.user, self.item), inputs, more))
        far = (unit(more[0]) - i.detach()).square().sum() + (unit(more[1]) - u.detach()).square().sum()
        own = F.cross_entropy(u @ i.T / self.case['temperature'], torch.arange(len(u)))
        return own + self.case['imitate'] * far

    def sides(self, b):
        inputs, more = self.inputs(b), [t(b['x'][:, i]) for i, t in enumerate(self.more)]
        return [unit(net(torch.cat([x, a], 1))) for net, x, a in zip((self.user, self.item), inputs, more)]


class Mind(Match):
    def make(self, case, sizes):
        self.history, high = table(sizes[1], self.d), case['high']
        first, then = case['user']
        self.user = nn.Sequential(nn.Linear(len(USER) * self.d, first), nn.ReLU(), nn.Linear(first, then))
        self.bilinear = nn.Parameter(torch.randn(self.d, high))
        self.both = nn.Sequential(mlp(then + high, case['hidden'], case))
        self.last = nn.Linear(case['hidden'][-1], case['out'], bias=False)
        self.item = tower(len(ITEM) * self.d, case)

    def capsules(self, s, used):
        """Routed from logits by chance; `there` says how many a history of its length has."""
        n = used.sum(1)
        there = torch.arange(self.case['capsules']) < torch.log2(n).clamp(1, self.case['capsules']).unsqueeze(1)
        low = (s * used.unsqueeze(2)) @ self.bilinear
        still = low.detach()
        w = torch.randn(*used.shape, self.case['capsules'])
        for i in range(3):
            w = w.masked_fill(~there.unsqueeze(1), float('-inf'))
            w = torch.softmax(w * 20, 2) * used.unsqueeze(2)
            if i < 2:
                w = w + torch.einsum('bkh,bsh->bsk', torch.einsum('bsh,bsk->bkh', still, w), unit(still))
        h = torch.einsum('bsh,bsk->bkh', low, w)
        size = h.norm(dim=2, keepdim=True).clamp_min(1e-7)
        return h * size / (1 + size**2) * there.unsqueeze(2), there

    def sides(self, b):
        u = self.user(self.users(b['x'][:, USER]).flatten(1))
        h, there = self.capsules(self.history(b['h']), b['h'] > 0)
        z = torch.cat([u.unsqueeze(1).expand(-1, h.shape[1], -1), h], 2) * there.unsqueeze(2)
        z = unit(self.last(self.both(z) * there.unsqueeze(2)))
        i = unit(self.item(self.items(b['x'][:, ITEM]).flatten(1)))
        w = (z * i.unsqueeze(1)).sum(2) * 10
        w = torch.softmax(w.masked_fill(~there, float('-inf')), 1)
        return (w.unsqueeze(2) * z).sum(1), i


class SrGnn(Match):
    """Films are nodes that lead to those behind them; no film comes twice in a history."""

    def make(self, case, sizes):
        d = self.d
        self.film = table(sizes[1], d)
        self.edge, self.input, self.hidden = nn.Linear(d, 2 * d), nn.Linear(2 * d, 3 * d), nn.Linear(d, 3 * d)
        self.one, self.two = nn.Linear(d, d), nn.Linear(d, d, bias=False)
        self.three, self.both = nn.Linear(d, 1, bias=False), nn.Linear(2 * d, d, bias=False)

    def sides(self, b):
        mask = (b['h'] > 0).unsqueeze(2)
        h = self.film(b['h'])
        come, go = (self.edge(h) * mask).chunk(2, 2)
        come, go = F.pad(come[:, :-1], (0, 0, 1, 0)), F.pad(go[:, 1:], (0, 0, 0, 1))
        a, g = self.input(torch.cat([come, go], 2)).chunk(3, 2), self.hidden(h).chunk(3, 2)
        r, z = torch.sigmoid(a[0] + g[0]), torch.sigmoid(a[1] + g[1])
        n = torch.tanh(a[2] + r * g[2])
        h = n + z * (h - n)
        end = last(h, mask[:, :, 0])
        w = self.three(torch.sigmoid(self.one(end).unsqueeze(1) + self.two(h))) * mask
        return self.both(torch.cat([(w * h).sum(1), end], 1)), self.film(b['x'][:, 1])


class Biased(Match):
    """The vector of a user against that of each film, which also has a bias of its own."""

    def make(self, case, sizes):
        self.film, self.bias, self.history = table(sizes[1], self.d), Tables([sizes[1]], 1, 0), table(sizes[1], self.d)
        self.net(case)

    def scores(self, b):
        film = b['x'][:, 1]
        return self.user(b) @ self.film(film).T + self.bias(film).T


class YoutubeDnn(Biased):
    def net(self, case):
        self.tower = nn.Sequential(mlp((len(USER) + 1) * self.d, case['hidden'], case),
                                   nn.Linear(case['hidden'][-1], self.d, bias=False))

    def user(self, b):
        seen = mean(self.history(b['h']), b['h'] > 0)
        return self.tower(torch.cat([self.users(b['x'][:, USER]).flatten(1), seen], 1))


class Gru(Biased):
    def net(self, case):
        self.gru = nn.GRU(self.d, self.d, batch_first=True)

    def user(self, b):
        states, _ = self.gru(self.history(b['h']))
        return last(states, b['h'] > 0)


class Word2Vec(Biased):
    """Of the history the last film alone, which is the word; each film of the batch is asked on its own whether it is
    the context."""

    def net(self, case):
        pass

    def user(self, b):
        return self.history(b['x'][:, 9])

    def loss(self, b):
        s = self.scores(b)
        return F.binary_cross_entropy_with_logits(s, torch.eye(len(s)), reduction='sum') / len(s)
