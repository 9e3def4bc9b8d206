# SPDX-License-Identifier: Apache-2.0
"""torch_peer.py DIR CASE SEED - the same model in plain PyTorch: sizes, initial values, optimizers, order
of batches by chance. Prints the exact AUC of the test set after the epoch that was best on the valid
set, as JSON. Tables are updated where rows occurred, as ours are. A case names its model as
peer='module.Class'; the class takes (case, sizes of the tables, count of numbers), its forward a batch
{x, n, h, y} and gives logits [rows, tasks]. A case that is not trained so names a function as
train='module.function', which takes (case, folder of the data, seed)."""
import importlib
import json
import sys

import numpy as np
import torch
from torch import nn

from cases import CASES
from row_adam import RowAdam
from texts import labels


def auc(label, score):
    order = np.argsort(score, kind='stable')
    s, y = score[order], label[order]
    starts = np.flatnonzero(np.r_[True, s[1:] != s[:-1]])
    ends = np.r_[starts[1:], len(s)]
    rank = np.repeat((starts + ends + 1) / 2, ends - starts)
    n = y.sum()
    return (rank[y > 0].sum() - n * (n + 1) / 2) / (n * (len(y) - n))


def scores(model, part, columns):
    model.eval()
    with torch.no_grad():
        out = torch.cat([model({k: v[i:i + 8192] for k, v in part.items()}) for i in range(0, len(part['y']), 8192)])
    model.train()
    y, p = part['y'].numpy(), torch.sigmoid(out).numpy()
    return [auc(y[:, c], p[:, t]) for t, c in enumerate(columns)]


def train(case, folder, seed):
    torch.manual_seed(seed)
    raw = np.load(f'{folder}/data.npz')
    parts = {s: {k[len(s) + 1:]: torch.tensor(raw[k]) for k in raw if k.startswith(s)} for s in ('train', 'valid', 'test')}
    with open(f'{folder}/sizes.json') as f:
        sizes = json.load(f)
    numbers = parts['train']['n'].shape[1] if 'n' in parts['train'] else 0
    module, name = case['peer'].split('.')
    model, columns = getattr(importlib.import_module(module), name)(case, sizes, numbers), labels(case)
    tables = [p for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()]
    dense = [p for p in model.parameters() if all(p is not t for t in tables)]
    optims = [RowAdam(tables, case['lr']), torch.optim.Adam(dense, lr=case['lr'])]
    loss, n, best = nn.BCEWithLogitsLoss(), len(parts['train']['y']), (-1, None)
    for _ in range(case['epochs']):
        for at in torch.randperm(-(-n // case['batch'])).tolist():
            b = {k: v[at * case['batch']:(at + 1) * case['batch']] for k, v in parts['train'].items()}
            for o in optims:
                o.zero_grad()
            out = model(b)
            sum(loss(out[:, t], b['y'][:, c]) for t, c in enumerate(columns)).backward()
            for o in optims:
                o.step()
        valid = sum(scores(model, parts['valid'], columns))
        if valid > best[0]:
            best = valid, scores(model, parts['test'], columns)
    return best[1]


if __name__ == '__main__':
    torch.set_num_threads(1)  # batches are small: two threads would wait for each other
    _case = CASES[sys.argv[2]]
    _module, _name = _case.get('train', 'torch_peer.train').split('.')
    print(json.dumps(getattr(importlib.import_module(_module), _name)(_case, sys.argv[1], int(sys.argv[3]))))
