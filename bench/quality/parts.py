# SPDX-License-Identifier: Apache-2.0
"""What the PyTorch models are put together from."""
import numpy as np
import torch
from torch import nn

from texts import FIRST  # noqa: F401 - models take it from here


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
