# SPDX-License-Identifier: Apache-2.0
"""Training for models that bring their own loss(batch) and measure(part) -> a number per task; else as in
torch_peer.py."""
import importlib
import json

import numpy as np
import torch
from torch import nn

from row_adam import RowAdam


def load(folder):
    raw = np.load(f'{folder}/data.npz')
    parts = {s: {k[len(s) + 1:]: torch.tensor(raw[k]) for k in raw if k.startswith(s)}
             for s in ('train', 'valid', 'test')}
    with open(f'{folder}/sizes.json') as f:
        return parts, json.load(f)


def cut(part, start, rows):
    return {k: v[start:start + rows] for k, v in part.items()}


def measured(model, part):
    model.eval()
    with torch.no_grad():
        got = model.measure(part)
    model.train()
    return got


def train(case, folder, seed):
    torch.manual_seed(seed)
    parts, sizes = load(folder)
    module, name = case['peer'].split('.')
    model = getattr(importlib.import_module(module), name)(case, sizes, 0)
    tables = [p for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()]
    dense = [p for p in model.parameters() if all(p is not t for t in tables)]
    optims = [RowAdam(tables, case['lr'])]
    optims += [torch.optim.Adam(dense, lr=case['lr'])] if dense else []
    n, best = len(parts['train']['y']), (-1, None)
    for _ in range(case['epochs']):
        for at in torch.randperm(-(-n // case['batch'])).tolist():
            for o in optims:
                o.zero_grad()
            model.loss(cut(parts['train'], at * case['batch'], case['batch'])).backward()
            for o in optims:
                o.step()
        valid = sum(measured(model, parts['valid']))
        if valid > best[0]:
            best = valid, measured(model, parts['test'])
    return best[1]
