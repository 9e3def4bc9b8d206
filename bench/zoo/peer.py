# SPDX-License-Identifier: Apache-2.0
"""What the models of torch_peer.py are put together from: inputs, losses, attention."""
import pathlib
import sys

import torch
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "engine"))
from torch_peer import Table, draw, main, net  # noqa: E402,F401  of bench/engine

from cases import DIM, FIELDS, HISTORY, NUMBERS, ROWS  # noqa: E402,F401

WIDTH, UNITS, STEPS = FIELDS * DIM, [256, 128], 50
I, J = torch.triu_indices(FIELDS, FIELDS, 1)
MODELS = {}


def model(cls):
    MODELS["".join("_" + c.lower() if c.isupper() else c for c in cls.__name__).lstrip("_")] = cls
    return cls


class Fields(nn.Module):
    """Vectors v [n, fields, dim], weights of first order, numbers."""
    dim, wide, dense = DIM, True, False

    def __init__(self):
        super().__init__()
        self.vectors = Table([ROWS] * FIELDS, self.dim) if self.dim else None
        self.weights = Table([ROWS] * FIELDS, 1) if self.wide else None
        self.bias = nn.Parameter(torch.zeros(1))
        self.make()

    def make(self):
        pass

    def batch(self, n):
        return draw(ROWS, (n, FIELDS)), torch.rand(n, NUMBERS)

    def forward(self, ids, dense):
        o = self.logit(self.vectors(ids) if self.vectors else None, dense, ids)
        return [o + self.weights(ids).sum(1) if self.wide else o]


def products(v):
    return 0.5 * (v.sum(1).square() - v.square().sum(1))


def attend(q, k, v, heads, scale, mask=None):
    n, t, w = q.shape
    q, k, v = (x.view(n, t, heads, w // heads).transpose(1, 2) for x in (q, k, v))
    scores = q @ k.transpose(2, 3) * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    return (torch.softmax(scores, 3) @ v).transpose(1, 2).reshape(n, t, w)


class Historic(nn.Module):
    """Fields beside an item and a history of 50; all rows are as long, so no mask is needed."""

    def __init__(self):
        super().__init__()
        self.vectors, self.history = Table([ROWS] * FIELDS), Table(list(HISTORY.values()))
        self.width = DIM * len(HISTORY)
        self.make()

    def batch(self, n):
        def ids(shape):
            return torch.stack([draw(rows, shape) for rows in HISTORY.values()], -1)
        return draw(ROWS, (n, FIELDS)), ids((n,)), ids((n, STEPS))

    def forward(self, ids, item, history):
        n = len(ids)
        q, s = self.history(item).view(n, -1), self.history(history).view(n, STEPS, -1)
        return [self.logit(self.vectors(ids).flatten(1), q, s)]


def din_scores(attention, q, s):
    rows = q.unsqueeze(1).expand_as(s)
    return attention(torch.cat([rows, s, rows - s, rows * s], 2)).squeeze(2)
