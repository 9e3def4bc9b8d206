# SPDX-License-Identifier: Apache-2.0
"""Models of several tasks, DIN and NCF in plain PyTorch, as torch_peer.py trains them."""
import torch
from torch import nn

from parts import FIRST, Tables, mlp


class Mmoe(nn.Module):
    def __init__(self, case, sizes, numbers):
        super().__init__()
        width, tasks = len(sizes) * case['dim'] + numbers, range(len(case['tasks']))
        self.tables = Tables(sizes, case['dim'], FIRST)
        self.experts = nn.ModuleList(mlp(width, case['hidden'], case) for _ in range(case['experts']))
        self.gates = nn.ModuleList(nn.Linear(width, case['experts']) for _ in tasks)
        self.towers = nn.ModuleList(nn.Sequential(mlp(case['hidden'][-1], case['tower'], case),
                                                  nn.Linear(case['tower'][-1], 1)) for _ in tasks)

    def forward(self, b):
        z = torch.cat([self.tables(b['x']).flatten(1), b['n']], 1)
        e = torch.stack([x(z) for x in self.experts], 1)
        return torch.cat([t((torch.softmax(g(z), 1).unsqueeze(2) * e).sum(1))
                          for g, t in zip(self.gates, self.towers)], 1)


def tower(width, units, case):
    return nn.Sequential(mlp(width, units, case), nn.Linear(units[-1], 1))


class Tasks(nn.Module):
    """What models of several tasks read: all vectors and numbers side by side."""

    def __init__(self, case, sizes, numbers):
        super().__init__()
        self.tables = Tables(sizes, case['dim'], FIRST)
        self.width = len(sizes) * case['dim'] + numbers

    def input(self, b):
        return torch.cat([self.tables(b['x']).flatten(1), b['n']], 1)


class Extraction(nn.Module):
    """Private and shared experts; without `on` nothing shared goes on."""

    def __init__(self, case, width, units, tasks, on):
        super().__init__()
        own, shared = case['own'], case['shared']
        self.private = nn.ModuleList(nn.ModuleList(mlp(width, units, case) for _ in range(own)) for _ in range(tasks))
        self.shared = nn.ModuleList(mlp(width, units, case) for _ in range(shared))
        self.gates = nn.ModuleList(nn.Linear(width, own + shared) for _ in range(tasks))
        self.on = nn.Linear(width, tasks * own + shared) if on else None

    def forward(self, xs, s):
        def mix(gate, x, experts):
            return (torch.softmax(gate(x), 1).unsqueeze(2) * torch.stack(experts, 1)).sum(1)

        shared = [e(s) for e in self.shared]
        private = [[e(x) for e in es] for es, x in zip(self.private, xs)]
        out = [mix(g, x, p + shared) for g, x, p in zip(self.gates, xs, private)]
        return out, mix(self.on, s, sum(private, []) + shared) if self.on else None


class Ple(Tasks):
    def __init__(self, case, sizes, numbers):
        super().__init__(case, sizes, numbers)
        n, width, layers = len(case['tasks']), self.width, []
        for i, units in enumerate(case['hidden']):
            layers.append(Extraction(case, width, units, n, i + 1 < len(case['hidden'])))
            width = units[-1]
        self.layers = nn.ModuleList(layers)
        self.towers = nn.ModuleList(tower(width, case['tower'], case) for _ in range(n))

    def forward(self, b):
        x = self.input(b)
        xs, s = [x] * len(self.towers), x
        for layer in self.layers:
            xs, s = layer(xs, s)
        return torch.cat([t(x) for t, x in zip(self.towers, xs)], 1)


class Esmm(Tasks):
    def __init__(self, case, sizes, numbers):
        super().__init__(case, sizes, numbers)
        self.bottom = mlp(self.width, case['hidden'], case)
        self.ctr, self.cvr = (tower(case['hidden'][-1], case['tower'], case) for _ in range(2))

    def forward(self, b):
        x = self.bottom(self.input(b))
        a, c = self.ctr(x), self.cvr(x)
        both = torch.sigmoid(a.double()) * torch.sigmoid(c.double())
        return torch.cat([a, torch.logit(both, eps=1e-12).float()], 1)


class Dbmtl(Tasks):
    def __init__(self, case, sizes, numbers):
        super().__init__(case, sizes, numbers)
        self.bottom = mlp(self.width, case['hidden'], case)
        self.first, self.second = (mlp(case['hidden'][-1], case['tower'], case) for _ in range(2))
        self.relation = mlp(2 * case['tower'][-1], case['relation'], case)
        self.outs = nn.ModuleList([nn.Linear(case['tower'][-1], 1), nn.Linear(case['relation'][-1], 1)])

    def forward(self, b):
        x = self.bottom(self.input(b))
        first, second = self.first(x), self.second(x)
        return torch.cat([self.outs[0](first), self.outs[1](self.relation(torch.cat([second, first], 1)))], 1)


class Din(nn.Module):
    def __init__(self, case, sizes, numbers):
        super().__init__()
        dim = case['dim']
        self.tables = Tables(sizes, dim, FIRST)
        self.film = nn.Embedding(sizes[1], dim, sparse=True)
        nn.init.normal_(self.film.weight, 0, FIRST)
        self.deep = mlp(len(sizes) * dim, case['hidden'], case)
        self.attention = nn.Sequential(mlp(4 * dim, case['attention'], case), nn.Linear(case['attention'][-1], 1))
        self.final = mlp(case['hidden'][-1] + dim, case['final'], case)
        self.out = nn.Linear(case['final'][-1], 1)

    def forward(self, b):
        k, mask = self.film(b['h']), b['h'] > 0
        q = self.film(b['x'][:, 1]).unsqueeze(1).expand_as(k)
        w = self.attention(torch.cat([q, k, q - k, q * k], -1)).squeeze(-1).masked_fill(~mask, -2.0 ** 31 + 1)
        w = torch.softmax(w, 1) * mask
        pooled = (w.unsqueeze(2) * k).sum(1)
        return self.out(self.final(torch.cat([self.deep(self.tables(b['x']).flatten(1)), pooled], 1)))


class Ncf(nn.Module):
    def __init__(self, case, sizes, numbers):
        super().__init__()
        self.product, self.both = (Tables(sizes[:2], case['dim'], FIRST) for _ in range(2))
        self.deep = mlp(2 * case['dim'], case['hidden'], case)
        self.out = nn.Linear(case['dim'] + case['hidden'][-1], 1)

    def forward(self, b):
        v = self.product(b['x'][:, :2])
        return self.out(torch.cat([v[:, 0] * v[:, 1], self.deep(self.both(b['x'][:, :2]).flatten(1))], 1))
