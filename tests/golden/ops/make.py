#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make.py DIR - write DIR/ops.json: single ops with PyTorch's own modules, in float64.

Inputs are [rows, width]. The quantity that is differentiated is sum(out * d_out).
"""
import json
import pathlib
import random
import sys

import torch
import torch.nn.functional as F
from torch import nn

F64 = torch.float64


def draw(name, rows, width, low, high):
    r = random.Random(name)
    values = [r.uniform(low, high) for _ in range(rows * width)]
    return torch.tensor(values, dtype=torch.float32).to(F64).reshape(rows, width)


def flat(t):
    return [float(f"{x:.9g}") for x in t.detach().reshape(-1).tolist()]


class Dice(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.alpha = nn.Parameter(torch.zeros(n))
        self.bn = nn.BatchNorm1d(n, eps=1e-5, momentum=0.1, affine=False)

    def forward(self, x):
        p = torch.sigmoid(self.bn(x))
        return self.alpha * (1 - p) * x + p * x


def focal(x, y, gamma, alpha):
    p = torch.sigmoid(x)
    w = alpha * y * (1 - p)**gamma + (1 - alpha) * (1 - y) * p**gamma
    return w.detach() * F.binary_cross_entropy_with_logits(x, y, reduction="none")


def smoothed_bce(x, y, s):
    return F.binary_cross_entropy_with_logits(x, y * (1 - s) + s / 2, reduction="none")


def cross_entropy(x, y, s):
    return F.cross_entropy(x, y.squeeze(1).long(), label_smoothing=s, reduction="none").unsqueeze(1)


ROWS = 9
# name: (function or module, width, low, high)
MODULES = {
    "batch_norm": (nn.BatchNorm1d(5), 5, -3, 3),
    "batch_norm_one_channel": (nn.BatchNorm1d(1), 1, -3, 3),
    "layer_norm": (nn.LayerNorm(7), 7, -3, 3),
    "layer_norm_three": (nn.LayerNorm(3), 3, 1, 2),
    "prelu": (nn.PReLU(), 5, -3, 3),
    "dice": (Dice(5), 5, -3, 3),
    "leaky_relu": (nn.LeakyReLU(0.2), 4, -3, 3),
    "elu": (nn.ELU(0.7), 4, -3, 3),
    "selu": (nn.SELU(), 4, -3, 3),
    "gelu": (nn.GELU(), 4, -4, 4),
    "gelu_tanh": (nn.GELU(approximate="tanh"), 4, -4, 4),
    "silu": (nn.SiLU(), 4, -4, 4),
    "sigmoid": (nn.Sigmoid(), 4, -9, 9),
    "tanh": (nn.Tanh(), 4, -4, 4),
    "softplus": (nn.Softplus(), 4, -30, 30),
    "mish": (nn.Mish(), 4, -9, 9),
    "hardswish": (nn.Hardswish(), 4, -4, 4),
    "softsign": (nn.Softsign(), 4, -4, 4),
    "relu6": (nn.ReLU6(), 4, -3, 9),
    "softmax": (nn.Softmax(-1), 6, -9, 9),
    "l2_normalise": (lambda x: F.normalize(x, eps=1e-12), 5, -2, 2),
    "l2_normalise_short": (lambda x: F.normalize(x, eps=2.0), 5, -2, 2),
}
# name: (function of prediction and label, width, classes)
LOSSES = {
    "bce": (lambda x, y: smoothed_bce(x, y, 0.0), 1, 2),
    "bce_smoothed": (lambda x, y: smoothed_bce(x, y, 0.1), 1, 2),
    "focal": (lambda x, y: focal(x, y, 2.0, 0.5), 1, 2),
    "focal_other": (lambda x, y: focal(x, y, 1.5, 0.3), 1, 2),
    "softmax_ce": (lambda x, y: cross_entropy(x, y, 0.0), 4, 4),
    "softmax_ce_smoothed": (lambda x, y: cross_entropy(x, y, 0.2), 4, 4),
    "l2_loss": (lambda x, y: (x - y)**2, 1, 2),
}


def fill(name, module):
    for key, p in module.named_parameters():
        p.data = draw(f"{name}.{key}", 1, p.numel(), 0.2, 1.2).reshape(p.shape)
    for key, b in module.named_buffers():
        if b.dtype.is_floating_point:
            low, high = (0.5, 1.5) if "var" in key else (-0.4, 0.4)
            b.data = draw(f"{name}.{key}", 1, b.numel(), low, high).reshape(b.shape)


def buffers(module):
    return {k: flat(b.to(F64)) for k, b in module.named_buffers()}


def module_case(name, module, width, low, high):
    x = draw(name, ROWS, width, low, high).requires_grad_()
    d_out = draw(name + " d", ROWS, width, -1, 1)
    out = {"rows": ROWS, "in": [flat(x)], "params": {}, "buffers": {}, "d_params": {}}
    is_module = isinstance(module, nn.Module)
    if is_module:
        module = module.to(F64)
        fill(name, module)
        out["params"] = {k: flat(p) for k, p in module.named_parameters()}
        out["buffers"] = buffers(module)
        module.train()
    y = module(x)
    (y * d_out).sum().backward()
    out.update({"out": flat(y), "d_out": flat(d_out), "d_in": flat(x.grad)})
    if is_module:
        out["d_params"] = {k: flat(p.grad) for k, p in module.named_parameters()}
        out["buffers_after"] = buffers(module)
        module.eval()
        out["eval"] = flat(module(x))
    else:
        out["buffers_after"], out["eval"] = {}, out["out"]
    return out


def loss_case(name, fn, width, classes, weighted):
    x = draw(name, ROWS, width, -9, 9).requires_grad_()
    r = random.Random(name + " labels")
    y = torch.tensor([[float(r.randrange(classes))] for _ in range(ROWS)], dtype=F64)
    w = draw(name + " w", ROWS, 1, 0, 2) if weighted else torch.full((ROWS, 1), 1 / ROWS, dtype=F64)
    value = fn(x, y) * w
    value.sum().backward()
    out = {"rows": ROWS, "in": [flat(x), flat(y)] + ([flat(w)] if weighted else []), "params": {}, "buffers": {},
           "d_params": {}, "buffers_after": {}, "out": flat(value), "d_out": [1.0] * ROWS, "d_in": flat(x.grad)}
    out["eval"] = out["out"]
    return out


def main(where):
    out = {k: module_case(k, *v) for k, v in MODULES.items()}
    for k, v in LOSSES.items():
        out[k] = loss_case(k, *v, False)
        out[k + "_weighted"] = loss_case(k + "_weighted", *v, True)
    text = json.dumps(out, separators=(",", ":")).replace('],"', '],\n"').replace('},"', '},\n"') + "\n"
    (pathlib.Path(where) / "ops.json").write_text(text)
    print(f"ops: {len(text)} bytes")


main(sys.argv[1])
