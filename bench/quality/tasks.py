# SPDX-License-Identifier: Apache-2.0
"""More models of several tasks in plain PyTorch, as torch_peer.py trains them."""
import torch
from torch import nn
from torch.nn.utils.parametrizations import orthogonal

from models import Tasks, tower
from parts import mlp


class Simple(Tasks):
    def __init__(self, case, sizes, numbers):
        super().__init__(case, sizes, numbers)
        self.towers = nn.ModuleList(tower(self.width, case['tower'], case) for _ in case['tasks'])

    def forward(self, b):
        x = self.input(b)
        return torch.cat([t(x) for t in self.towers], 1)


class ShareBottom(Tasks):
    def __init__(self, case, sizes, numbers):
        super().__init__(case, sizes, numbers)
        self.bottom = mlp(self.width, case['hidden'], case)
        self.towers = nn.ModuleList(tower(case['hidden'][-1], case['tower'], case) for _ in case['tasks'])

    def forward(self, b):
        x = self.bottom(self.input(b))
        return torch.cat([t(x) for t in self.towers], 1)


class Gate(nn.Module):
    """Between 0 and gamma, by what is known beside the values, which the gate does not move."""

    def __init__(self, knows, width, hidden, gamma):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(knows, hidden), nn.ReLU(), nn.Linear(hidden, width), nn.Sigmoid())
        self.gamma = gamma

    def forward(self, knows, x):
        return self.gamma * self.net(torch.cat([knows, x.detach()], 1))


class PepNet(Tasks):
    def __init__(self, case, sizes, numbers):
        super().__init__(case, sizes, numbers)
        d, units, gamma = case['dim'], case['hidden'], case['gamma']
        self.domain, self.user = case['domain'], case['user']
        self.scale = Gate(len(self.domain) * d + self.width, self.width, case['gate'], gamma)
        knows = len(self.user) * d + self.width
        self.layers = nn.ModuleList(nn.ModuleList(nn.Linear(a, u) for a, u in zip([self.width, *units], units))
                                    for _ in case['tasks'])
        self.gates = nn.ModuleList(nn.ModuleList(Gate(knows, u, u, gamma) for u in units) for _ in case['tasks'])
        self.towers = nn.ModuleList(tower(units[-1], case['tower'], case) for _ in case['tasks'])

    def forward(self, b):
        v = self.tables(b['x'])
        x = torch.cat([v.flatten(1), b['n']], 1)
        x = self.scale(v[:, self.domain].flatten(1), x) * x
        user, out = v[:, self.user].flatten(1), []
        for layers, gates, top in zip(self.layers, self.gates, self.towers):
            h = x
            for layer, gate in zip(layers, gates):
                h = torch.relu(layer(h)) * gate(user, x)
            out.append(top(h))
        return torch.cat(out, 1)


class Rotation(nn.Module):
    def __init__(self, width, rank):
        super().__init__()
        self.weight = nn.Parameter(nn.init.orthogonal_(torch.empty(width, rank)))

    def forward(self, x):
        return x @ self.weight


class Dc2vr(Tasks):
    """The second task is shifted by the first, which does not move."""

    def __init__(self, case, sizes, numbers):
        super().__init__(case, sizes, numbers)
        width = case['tower'][-1]
        self.bottom = mlp(self.width, case['hidden'], case)
        self.first, self.second = (mlp(case['hidden'][-1], case['tower'], case) for _ in range(2))
        self.own, self.source = (orthogonal(Rotation(width, case['rank'])) for _ in range(2))
        self.drop = nn.Dropout(case['drop'])
        self.outs = nn.ModuleList(nn.Linear(width, 1) for _ in range(2))

    def forward(self, b):
        x = self.bottom(self.input(b))
        first, second = self.first(x), self.second(x)
        gap = self.own(second) - self.source(first.detach())
        second = self.drop(gap @ self.own.weight.T + second)
        return torch.cat([self.outs[0](first), self.outs[1](second)], 1)
