# SPDX-License-Identifier: Apache-2.0
"""Models on fields in plain PyTorch, as torch_peer.py trains them: weights of first order, which start at 0, and
what each makes of the vectors v [n, fields, dim]. Initial values are those of nn.Linear."""
import torch
from torch import nn

from parts import FIRST, Tables, mlp


def uniform(width, *shape):
    return nn.Parameter((torch.rand(*shape) * 2 - 1) / width**.5)


class Lr(nn.Module):
    def __init__(self, case, sizes, numbers):
        super().__init__()
        self.wide, self.bias = Tables(sizes, 1, 0), nn.Parameter(torch.zeros(1))

    def forward(self, b):
        return self.wide(b['x']).sum(1) + self.bias


class DeepFm(nn.Module):
    def __init__(self, case, sizes, numbers):
        super().__init__()
        self.wide, self.tables = Tables(sizes, 1, 0), Tables(sizes, case['dim'], FIRST)
        self.deep = mlp(len(sizes) * case['dim'], case['hidden'], case)
        self.out = nn.Linear(case['hidden'][-1], 1)

    def forward(self, b):
        v = self.tables(b['x'])
        fm = .5 * (v.sum(1) ** 2 - (v ** 2).sum(1)).sum(1, keepdim=True)
        return self.wide(b['x']).sum(1) + fm + self.out(self.deep(v.flatten(1)))


class Fields(nn.Module):
    def __init__(self, case, sizes, numbers):
        super().__init__()
        self.n, self.d, self.case = len(sizes), case['dim'], case
        self.wide, self.tables = Tables(sizes, 1, 0), Tables(sizes, self.d, FIRST)
        self.register_buffer('pairs', torch.triu_indices(self.n, self.n, 1))
        self.bias = nn.Parameter(torch.zeros(1))
        self.make()

    def make(self):
        pass

    def net(self, width):
        return nn.Sequential(mlp(width, self.case['hidden'], self.case), nn.Linear(self.case['hidden'][-1], 1))

    def forward(self, b):
        return self.logit(self.tables(b['x']), b) + self.wide(b['x']).sum(1)


def products(v):
    return .5 * (v.sum(1)**2 - (v**2).sum(1))


class Fm(Fields):
    def logit(self, v, b):
        return products(v).sum(1, keepdim=True) + self.bias


class Nfm(Fields):
    def make(self):
        self.deep = self.net(self.d)

    def logit(self, v, b):
        return self.deep(products(v))


class Fnn(Fields):
    def make(self):
        self.deep = self.net(self.n * (self.d + 1))

    def forward(self, b):
        return self.deep(torch.cat([self.tables(b['x']).flatten(1), self.wide(b['x']).flatten(1)], 1))


class Pnn(Fields):
    def make(self):
        units = self.case['units']
        self.linear, self.theta = nn.Linear(self.n * self.d, units), uniform(self.n, self.n, units)
        self.deep = self.net(units)

    def logit(self, v, b):
        lengths = (v.transpose(1, 2) @ self.theta).square().sum(1)
        return self.deep(torch.relu(self.linear(v.flatten(1)) + lengths))


class Afm(Fields):
    def make(self):
        units = self.case['units']
        self.attention, self.projection = nn.Linear(self.d, units), nn.Linear(units, 1, bias=False)
        self.out = nn.Linear(self.d, 1)

    def logit(self, v, b):
        pairs = v[:, self.pairs[0]] * v[:, self.pairs[1]]
        a = torch.softmax(self.projection(torch.relu(self.attention(pairs))), 1)
        return self.out((a * pairs).sum(1))


class FwFm(Fields):
    def make(self):
        self.out = nn.Linear(self.pairs.shape[1], 1)

    def logit(self, v, b):
        return self.out((v[:, self.pairs[0]] * v[:, self.pairs[1]]).sum(2))


class FiBiNet(Fields):
    def make(self):
        n, d, p = self.n, self.d, self.pairs.shape[1]
        small = max(1, n // self.case['ratio'])
        self.senet = nn.Sequential(nn.Linear(n, small), nn.ReLU(), nn.Linear(small, n), nn.ReLU())
        self.w, self.b = uniform(d, 2, p, d, d), nn.Parameter(torch.zeros(2, p, d))
        self.deep = self.net(2 * p * d)

    def bilinear(self, v, k):
        left = torch.einsum('npd,ped->npe', v[:, self.pairs[0]], self.w[k]) + self.b[k]
        return (left * v[:, self.pairs[1]]).flatten(1)

    def logit(self, v, b):
        gated = v * self.senet(v.mean(2)).unsqueeze(2)
        return self.deep(torch.cat([self.bilinear(gated, 0), self.bilinear(v, 1)], 1))


class Fgcnn(Fields):
    def make(self):
        c, n, total, before = self.case, self.n, self.n, 1
        self.convs, self.new = nn.ModuleList(), nn.ModuleList()
        for maps in c['maps']:
            self.convs.append(nn.Conv2d(before, maps, (c['height'], 1), padding=(c['height'] // 2, 0)))
            n, before = n // 2, maps
            self.new.append(nn.Linear(maps * n * self.d, c['new'] * n * self.d))
            total += c['new'] * n
        self.register_buffer('all', torch.triu_indices(total, total, 1))
        self.deep = self.net(total * self.d + self.all.shape[1])

    def logit(self, v, b):
        x, parts = v.unsqueeze(1), [v]
        for conv, new in zip(self.convs, self.new):
            x = nn.functional.max_pool2d(torch.tanh(conv(x)), (2, 1))
            parts.append(torch.tanh(new(x.flatten(1))).view(len(v), -1, self.d))
        v = torch.cat(parts, 1)
        dots = (v @ v.transpose(1, 2))[:, self.all[0], self.all[1]]
        return self.deep(torch.cat([v.flatten(1), dots], 1))


class AutoInt(Fields):
    def make(self):
        c, width, layers = self.case, self.d, []
        self.inner = c['heads'] * c['head']
        for _ in range(c['layers']):
            layers.append(nn.ModuleList(nn.Linear(width, self.inner, bias=False) for _ in range(4)))
            width = self.inner
        self.layers = nn.ModuleList(layers)
        self.deep = mlp(self.n * self.d, c['hidden'], c)
        self.out = nn.Linear(self.n * self.inner + c['hidden'][-1], 1)

    def logit(self, v, b):
        x, heads = v, self.case['heads']
        for query, key, value, rest in self.layers:
            q, k, y = (m(x).view(len(x), self.n, heads, -1).transpose(1, 2) for m in (query, key, value))
            a = torch.softmax(q @ k.transpose(2, 3) / self.inner**.5, 3)
            x = torch.relu((a @ y).transpose(1, 2).reshape(len(x), self.n, -1) + rest(x))
        return self.out(torch.cat([x.flatten(1), self.deep(v.flatten(1))], 1))


class GateNet(Fields):
    def make(self):
        units, c = self.case['hidden'], self.case
        self.gate = uniform(self.d, self.n, self.d)
        widths = [self.n * self.d, *units]
        self.layers = nn.ModuleList(mlp(a, [u], c) for a, u in zip(widths, units))
        self.gates = nn.ModuleList(nn.Linear(u, u, bias=False) for u in units)
        self.out = nn.Linear(units[-1], 1)

    def logit(self, v, b):
        h = (v * torch.sigmoid((v * self.gate).sum(2, keepdim=True))).flatten(1)
        for layer, gate in zip(self.layers, self.gates):
            h = layer(h)
            h = h * torch.tanh(gate(h))
        return self.out(h)
