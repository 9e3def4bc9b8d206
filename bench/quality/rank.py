# SPDX-License-Identifier: Apache-2.0
"""TorchEasyRec's ranking models, FLEN, FFM and DeepCrossing in plain PyTorch, as torch_peer.py trains them. e is all
vectors side by side, then the numbers; initial values are those of nn.Linear unless said otherwise."""
import torch
import torch.nn.functional as F
from torch import nn

from fields import Fields, products
from parts import FIRST, Tables, mlp
from torch_peer import scores


def pairs_of(n):
    return torch.triu_indices(n, n, 1)


def kaiming(*shape):
    """He's uniform values, as nn.init takes them for a matrix."""
    return nn.Parameter(nn.init.kaiming_uniform_(torch.empty(*shape)))


class Rank(nn.Module):
    def __init__(self, case, sizes, numbers):
        super().__init__()
        self.n, self.d, self.case, self.numbers = len(sizes), case['dim'], case, numbers
        self.tables, self.sizes = Tables(sizes, self.d, FIRST), sizes
        self.width = self.n * self.d + numbers
        self.make()

    def net(self, width, units):
        return mlp(width, units, self.case)

    def input(self, b):
        v = self.tables(b['x'])
        return v, torch.cat([v.flatten(1), b['n']], 1) if self.numbers else v.flatten(1)

    def forward(self, b):
        return self.logit(*self.input(b), b)


class WideAndDeep(Rank):
    def make(self):
        units = self.case['hidden']
        self.wide, self.deep, self.out = Tables(self.sizes, 1, 0), self.net(self.width, units), nn.Linear(units[-1], 1)

    def logit(self, v, e, b):
        return self.wide(b['x']).sum(1) + self.out(self.deep(e))


class MultiTower(Rank):
    """Each tower reads some fields; the last one the numbers, if there are any."""

    def make(self):
        c = self.case
        widths = [len(g) * self.d for g in c['groups']] + [self.numbers] * (self.numbers > 0)
        self.towers = nn.ModuleList(self.net(w, c['hidden']) for w in widths)
        self.final = self.net(len(widths) * c['hidden'][-1], c['final'])
        self.out = nn.Linear(c['final'][-1], 1)

    def logit(self, v, e, b):
        parts = [v[:, g].flatten(1) for g in self.case['groups']] + ([b['n']] if self.numbers else [])
        return self.out(self.final(torch.cat([t(x) for t, x in zip(self.towers, parts)], 1)))


class Dlrm(Rank):
    def make(self):
        c, n = self.case, self.n + (self.numbers > 0)
        self.bottom = self.net(self.numbers, c['dense']) if self.numbers else None
        self.register_buffer('pairs', pairs_of(n))
        self.final = self.net(n * (n - 1) // 2 + n * self.d, c['hidden'])
        self.out = nn.Linear(c['hidden'][-1], 1)

    def logit(self, v, e, b):
        x, z = v, v.flatten(1)
        if self.bottom:
            dense = self.bottom(b['n'])
            x, z = torch.cat([dense.unsqueeze(1), v], 1), torch.cat([dense, z], 1)
        dots = (x @ x.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.out(self.final(torch.cat([dots, z], 1)))


class DcnV1(Rank):
    """The weights of the cross start by Xavier's rule, its biases at 0."""

    def make(self):
        c = self.case
        self.w = nn.ParameterList(nn.Parameter(nn.init.xavier_uniform_(torch.empty(self.width, 1)))
                                  for _ in range(c['cross']))
        self.b = nn.ParameterList(nn.Parameter(torch.zeros(self.width)) for _ in range(c['cross']))
        self.deep = self.net(self.width, c['hidden'])
        self.final = self.net(self.width + c['hidden'][-1], c['final'])
        self.out = nn.Linear(c['final'][-1], 1, bias=False)

    def logit(self, v, e, b):
        x = e
        for w, c in zip(self.w, self.b):
            x = e * (x @ w) + c + x
        return self.out(self.final(torch.cat([x, self.deep(e)], 1)))


class DcnV2(Rank):
    def make(self):
        c = self.case
        self.u = nn.ModuleList(nn.Linear(self.width, c['rank'], bias=False) for _ in range(c['cross']))
        self.v = nn.ModuleList(nn.Linear(c['rank'], self.width) for _ in range(c['cross']))
        self.deep = self.net(self.width, c['hidden'])
        self.final = self.net(self.width + c['hidden'][-1], c['final'])
        self.out = nn.Linear(c['final'][-1], 1, bias=False)

    def logit(self, v, e, b):
        x = e
        for down, up in zip(self.u, self.v):
            x = e * up(down(x)) + x
        return self.out(self.final(torch.cat([x, self.deep(e)], 1)))


class XDeepFm(Rank):
    """The cross network reads tables of its own."""

    def make(self):
        c, fields = self.case, self.n
        self.own, layers = Tables(self.sizes, self.d, FIRST), []
        for size in c['cin']:
            layers.append(nn.Linear(fields * self.n, size))
            fields = size
        self.cin = nn.ModuleList(layers)
        self.deep = self.net(self.width, c['hidden'])
        self.final = self.net(sum(c['cin']) + c['hidden'][-1], c['final'])
        self.out = nn.Linear(c['final'][-1], 1)

    def logit(self, v, e, b):
        first = self.own(b['x']).transpose(1, 2)  # [rows, width, fields]
        x, parts = first, []
        for layer in self.cin:
            x = layer((x.unsqueeze(3) * first.unsqueeze(2)).flatten(2))
            parts.append(x.sum(1))
        return self.out(self.final(torch.cat([*parts, self.deep(e)], 1)))


class MaskNet(Rank):
    """Blocks side by side."""

    def make(self):
        c, w = self.case, self.width
        self.norm = nn.LayerNorm(w)
        self.masks = nn.ModuleList(nn.Sequential(nn.Linear(w, int(w * c['ratio'])), nn.ReLU(),
                                                 nn.Linear(int(w * c['ratio']), w)) for _ in range(c['blocks']))
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(w, c['block']), nn.LayerNorm(c['block']), nn.ReLU())
                                    for _ in range(c['blocks']))
        self.top = self.net(c['blocks'] * c['block'], c['hidden'])
        self.out = nn.Linear(c['hidden'][-1], 1, bias=False)

    def logit(self, v, e, b):
        x = self.norm(e)
        return self.out(self.top(torch.cat([g(x * m(e)) for m, g in zip(self.masks, self.blocks)], 1)))


class WuKongLayer(nn.Module):
    """Fields in, l + f fields out: l mixed, f from a factorisation machine."""

    def __init__(self, case, fields, d):
        super().__init__()
        l, f, k, units = case['linear'], case['machine'], case['compressed'], case['inner']
        self.mix, self.compress, self.rest = kaiming(fields, l), kaiming(fields, k), None
        if fields != l + f:
            self.rest = kaiming(fields, l + f)
        self.norm_in, self.norm_out = nn.LayerNorm(fields * k), nn.LayerNorm(d)
        self.net, self.out = mlp(fields * k, units, case), nn.Linear(units[-1], f * d)

    def forward(self, x):
        machine = x @ (x.transpose(1, 2) @ self.compress)
        machine = self.out(self.net(self.norm_in(machine.flatten(1)))).view(len(x), -1, x.shape[2])
        mixed = torch.einsum('bnd,nj->bjd', x, self.mix)
        rest = x if self.rest is None else torch.einsum('bnd,nj->bjd', x, self.rest)
        return self.norm_out(torch.cat([machine, mixed], 1) + rest)


class WuKong(Rank):
    def make(self):
        c, fields, layers = self.case, self.n + (self.numbers > 0), []
        self.bottom = self.net(self.numbers, c['dense']) if self.numbers else None
        for _ in range(c['layers']):
            layers.append(WuKongLayer(c, fields, self.d))
            fields = c['linear'] + c['machine']
        self.layers = nn.Sequential(*layers)
        self.final, self.out = self.net(fields * self.d, c['hidden']), nn.Linear(c['hidden'][-1], 1)

    def logit(self, v, e, b):
        x = torch.cat([self.bottom(b['n']).unsqueeze(1), v], 1) if self.bottom else v
        return self.out(self.final(self.layers(x).flatten(1)))


class Rocket(Rank):
    """The light net is compared; beside its own loss it follows the booster's logits and layers of its widths."""

    def make(self):
        c = self.case
        self.share = self.net(self.width, c['share'])
        self.booster, self.light = (nn.ModuleList(self.net(a, [u]) for a, u in zip([c['share'][-1], *c[k]], c[k]))
                                    for k in ('booster', 'light'))
        self.outs = nn.ModuleList(nn.Linear(c[k][-1], 1) for k in ('booster', 'light'))

    @staticmethod
    def through(layers, x):
        outs = []
        for layer in layers:
            x = layer(x)
            outs.append(x)
        return outs

    def forward(self, b):
        return self.outs[1](self.through(self.light, self.share(self.input(b)[1]))[-1])

    def loss(self, b):
        x = self.share(self.input(b)[1])
        large, small = self.through(self.booster, x), self.through(self.light, x.detach())
        big, out = self.outs[0](large[-1]), self.outs[1](small[-1])
        loss = sum(F.binary_cross_entropy_with_logits(o, b['y'][:, :1]) for o in (big, out))
        loss = loss + (out - big.detach()).square().mean()
        for layer, units in zip(small, self.case['light']):
            if units in self.case['booster']:
                other = large[self.case['booster'].index(units)].detach()
                loss = loss - .1 * F.cosine_similarity(layer, other, 1, 1e-12).mean()
        return loss

    def measure(self, part):
        return scores(self, part, [0])


class Ffm(Fields):
    """d holds a vector for each field."""

    def logit(self, v, b):
        x = v.view(len(v), self.n, self.n, -1)
        i, j = self.pairs
        return (x[:, i, j] * x[:, j, i]).sum((1, 2)).unsqueeze(1) + self.bias


class Flen(Fields):
    def make(self):
        c, groups = self.case, len(self.case['groups'])
        self.register_buffer('couples', pairs_of(groups))
        self.between, self.within = (nn.Linear(n, 1, bias=False) for n in (self.couples.shape[1], groups))
        self.interaction, self.deep = mlp(self.d, c['interaction'], c), mlp(self.n * self.d, c['hidden'], c)
        self.out = nn.Linear(c['interaction'][-1] + c['hidden'][-1], 1)

    def logit(self, v, b):
        groups = [v[:, g] for g in self.case['groups']]
        s = torch.stack([g.sum(1) for g in groups], 2)  # [rows, width, groups]
        within = self.within(torch.stack([products(g) for g in groups], 2))
        both = (self.between(s[:, :, self.couples[0]] * s[:, :, self.couples[1]]) + within).squeeze(2)
        return self.out(torch.cat([self.interaction(both), self.deep(torch.cat(groups, 1).flatten(1))], 1))


class DeepCrossing(Fields):
    def make(self):
        width = self.n * (self.d + 1)
        self.units = nn.ModuleList(nn.Sequential(nn.Linear(width, u), nn.ReLU(), nn.Linear(u, width))
                                   for u in self.case['units'])
        self.out = nn.Linear(width, 1)

    def forward(self, b):
        x = torch.cat([self.tables(b['x']).flatten(1), self.wide(b['x']).flatten(1)], 1)
        for unit in self.units:
            x = torch.relu(unit(x) + x)
        return self.out(x)
