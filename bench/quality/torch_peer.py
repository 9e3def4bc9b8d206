# SPDX-License-Identifier: Apache-2.0
"""torch_peer.py DIR CASE SEED - the same model in plain PyTorch: sizes, first values, optimisers, order
of batches by chance. Prints the exact AUC of the test set after the epoch that was best on the valid
set, as JSON. Tables are updated where rows occurred, as ours are (SparseAdam)."""
import json
import sys

import numpy as np
import torch
from torch import nn

from cases import CASES, FIRST


def mlp(width, units, case):
    layers = []
    for u in units:
        layers.append(nn.Linear(width, u, bias=not case.get('bn')))
        if case.get('bn'):
            layers.append(nn.BatchNorm1d(u))
        layers.append(nn.ReLU())
        if case.get('dropout'):
            layers.append(nn.Dropout(case['dropout']))
        width = u
    return nn.Sequential(*layers)


class Tables(nn.Module):
    """All tables in one, with offsets."""

    def __init__(self, sizes, dim, deviation):
        super().__init__()
        self.register_buffer('offsets', torch.tensor(np.r_[0, np.cumsum(sizes)[:-1]]))
        self.weight = nn.Embedding(int(sum(sizes)), dim, sparse=True)
        nn.init.normal_(self.weight.weight, 0, deviation) if deviation else nn.init.zeros_(self.weight.weight)

    def forward(self, x):
        return self.weight(x + self.offsets)


class Lr(nn.Module):
    def __init__(self, case, sizes, numbers):
        super().__init__()
        self.wide, self.bias = Tables(sizes, 1, 0), nn.Linear(1, 1)

    def forward(self, b):
        return self.wide(b['x']).sum(1) + self.bias(torch.zeros(len(b['x']), 1))


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


def auc(label, score):
    order = np.argsort(score, kind='stable')
    s, y = score[order], label[order]
    starts = np.flatnonzero(np.r_[True, s[1:] != s[:-1]])
    ends = np.r_[starts[1:], len(s)]
    rank = np.repeat((starts + ends + 1) / 2, ends - starts)
    n = y.sum()
    return (rank[y > 0].sum() - n * (n + 1) / 2) / (n * (len(y) - n))


def scores(model, part):
    model.eval()
    with torch.no_grad():
        out = torch.cat([model({k: v[i:i + 8192] for k, v in part.items()}) for i in range(0, len(part['y']), 8192)])
    model.train()
    y, p = part['y'].numpy(), torch.sigmoid(out).numpy()
    return [auc(y[:, t], p[:, t]) for t in range(y.shape[1])]


def train(case, folder, seed):
    torch.manual_seed(seed)
    raw = np.load(f'{folder}/data.npz')
    parts = {s: {k[len(s) + 1:]: torch.tensor(raw[k]) for k in raw if k.startswith(s)} for s in ('train', 'valid', 'test')}
    with open(f'{folder}/sizes.json') as f:
        sizes = json.load(f)
    numbers = parts['train']['n'].shape[1] if 'n' in parts['train'] else 0
    model = {'lr': Lr, 'deepfm': DeepFm, 'mmoe': Mmoe, 'din': Din, 'ncf': Ncf}[case['kind']](case, sizes, numbers)
    tables = [p for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()]
    dense = [p for p in model.parameters() if all(p is not t for t in tables)]
    optims = [torch.optim.SparseAdam(tables, lr=case['lr']), torch.optim.Adam(dense, lr=case['lr'])]
    loss, n, best = nn.BCEWithLogitsLoss(), len(parts['train']['y']), (-1, None)
    for _ in range(case['epochs']):
        for at in torch.randperm(-(-n // case['batch'])).tolist():
            b = {k: v[at * case['batch']:(at + 1) * case['batch']] for k, v in parts['train'].items()}
            for o in optims:
                o.zero_grad()
            out = model(b)
            sum(loss(out[:, t], b['y'][:, t]) for t in range(out.shape[1])).backward()
            for o in optims:
                o.step()
        valid = sum(scores(model, parts['valid']))
        if valid > best[0]:
            best = valid, scores(model, parts['test'])
    return best[1]


torch.set_num_threads(2)
print(json.dumps(train(CASES[sys.argv[2]], sys.argv[1], int(sys.argv[3]))))
