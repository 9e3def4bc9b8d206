# SPDX-License-Identifier: Apache-2.0
"""The building blocks of the models in PyTorch, written from their formulas.

Everything is computed in float64 from weights that are exact in float32, so that what is
left of a difference is the rounding of the implementation under test.

A Params object hands out parameters by name and makes them up on first use; the values
follow from the name alone.
"""
import random

import torch
import torch.nn.functional as F

F64 = torch.float64
PAD_SCORE = -(2.0**31) + 1


def exact32(values):
    return torch.tensor(values, dtype=torch.float32).to(F64)


class Params:
    """Dense parameters, buffers and embedding tables of one model."""

    def __init__(self):
        self.dense, self.buffers, self.tables = {}, {}, {}
        self.touched = {}  # table -> set of rows used by the current batch
        self.training = True
        self.dense_tables = ()  # tables that the dense optimizer trains, all rows at every step

    def draw(self, name, shape, low, high):
        r = random.Random(name)
        n = 1
        for s in shape:
            n *= s
        return exact32([r.uniform(low, high) for _ in range(n)]).reshape(shape)

    def get(self, name, shape, low, high):
        if name not in self.dense:
            self.dense[name] = self.draw(name, shape, low, high).requires_grad_()
        assert tuple(self.dense[name].shape) == tuple(shape), name
        return self.dense[name]

    def buffer(self, name, shape, low, high):
        if name not in self.buffers:
            self.buffers[name] = self.draw(name, shape, low, high)
        return self.buffers[name]

    def table(self, name, rows, dim):
        if name in self.dense_tables:
            return self.get(name, (rows, dim), -0.7, 0.7)
        if name not in self.tables:
            self.tables[name] = self.draw(name, (rows, dim), -0.7, 0.7).requires_grad_()
        assert tuple(self.tables[name].shape) == (rows, dim), name
        return self.tables[name]

    def touch(self, name, ids):
        if name in self.dense_tables:
            return
        self.touched.setdefault(name, set()).update(ids)


def linear(p, name, x, out, bias=True):
    n = x.shape[-1]
    bound = 1.5 / n**0.5
    y = x @ p.get(name + ".weight", (out, n), -bound, bound).T
    return y + p.get(name + ".bias", (out,), -bound, bound) if bias else y


def batch_norm(p, name, x, affine=True):
    """Over the last axis; every position counts, the padded ones of [B, T, n] too."""
    n = x.shape[-1]
    mean = p.buffer(name + ".running_mean", (n,), -0.2, 0.2)
    var = p.buffer(name + ".running_var", (n,), 0.5, 1.5)
    p.buffers.setdefault(name + ".num_batches_tracked", torch.zeros(1, dtype=F64))
    if p.training:
        flat = x.reshape(-1, n)
        m, v = flat.mean(0), flat.var(0, unbiased=False)
        with torch.no_grad():
            p.buffers[name + ".running_mean"] = 0.9 * mean + 0.1 * m
            p.buffers[name + ".running_var"] = 0.9 * var + 0.1 * flat.var(0, unbiased=True)
            p.buffers[name + ".num_batches_tracked"] = p.buffers[name + ".num_batches_tracked"] + 1
    else:
        m, v = mean, var
    y = (x - m) / torch.sqrt(v + 1e-5)
    if affine:
        y = y * p.get(name + ".weight", (n,), 0.5, 1.5) + p.get(name + ".bias", (n,), -0.3, 0.3)
    return y


def layer_norm(p, name, x):
    n = x.shape[-1]
    m, v = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
    y = (x - m) / torch.sqrt(v + 1e-5)
    return y * p.get(name + ".weight", (n,), 0.5, 1.5) + p.get(name + ".bias", (n,), -0.3, 0.3)


def activation(p, name, kind, x):
    if kind == "Dice":
        prob = torch.sigmoid(batch_norm(p, name + ".bn", x, affine=False))
        alpha = p.get(name + ".alpha", (x.shape[-1],), -0.4, 0.4)
        return alpha * (1 - prob) * x + prob * x
    if kind == "nn.PReLU":
        return torch.where(x > 0, x, p.get(name + ".weight", (1,), 0.1, 0.4) * x)
    plain = {
        "nn.ReLU": F.relu,
        "nn.GELU": F.gelu,
        "nn.SiLU": F.silu,
        "nn.Tanh": torch.tanh,
        "nn.Sigmoid": torch.sigmoid,
        "nn.SELU": F.selu,
        "nn.Mish": F.mish,
        "": lambda v: v,
        "nn.LeakyReLU(negative_slope=0.2)": lambda v: F.leaky_relu(v, 0.2),
    }
    return plain[kind](x)


def mlp(p, name, x, units, act="nn.ReLU", norm="", bias=True):
    """Linear, norm, activation; names count the modules that exist. On [B, T, n] the batch
    norm stands between two transpositions, which have numbers too."""
    for i, n in enumerate(units):
        at = f"{name}.mlp.{i}.perceptron."
        x = linear(p, at + "0", x, n, bias and norm != "bn")
        k = 1
        if norm == "bn":
            k = 2 if x.dim() == 3 else 1
            x = batch_norm(p, f"{at}{k}", x)
            k += 2 if x.dim() == 3 else 1
        elif norm == "ln":
            x = layer_norm(p, f"{at}{k}", x)
            k += 1
        x = activation(p, f"{at}{k}", act, x)
    return x


def fm(x):
    return 0.5 * (x.sum(1) ** 2 - (x**2).sum(1))


def interaction(x):
    n = x.shape[1]
    dots = x @ x.transpose(1, 2)
    i, j = torch.triu_indices(n, n, 1)
    return dots[:, i, j]


def cross_v1(p, name, x0, layers):
    x, n = x0, x0.shape[-1]
    for i in range(layers):
        w = p.get(f"{name}.w.{i}.weight", (1, n), -0.4, 0.4)
        b = p.get(f"{name}.b.{i}", (n,), -0.2, 0.2)
        x = x0 * (x @ w.T) + b + x
    return x


def cross_v2(p, name, x0, layers, rank):
    x = x0
    for i in range(layers):
        u = linear(p, f"{name}.u_kernels.{i}", x, rank, bias=False)
        x = x0 * linear(p, f"{name}.v_kernels.{i}", u, x0.shape[-1]) + x
    return x


def mmoe(p, name, x, experts, expert_units, tasks, gate_units):
    e = torch.stack([mlp(p, f"{name}.expert_mlps.{i}", x, expert_units) for i in range(experts)], 1)
    out = []
    for t in range(tasks):
        h = mlp(p, f"{name}.gate_mlps.{t}", x, gate_units) if gate_units else x
        gate = torch.softmax(linear(p, f"{name}.gate_finals.{t}", h, experts), -1)
        out.append((gate.unsqueeze(-1) * e).sum(1))
    return out


# Sequence encoders: q [B, dq], s [B, T, ds] padded with zeros, lengths [B].


def cut(s, lengths, most):
    if most > 0:
        return s[:, :most], torch.clamp(lengths, max=most)
    return s, lengths


def valid(s, lengths):
    return torch.arange(s.shape[1]).unsqueeze(0) < lengths.unsqueeze(1)


def attend(scores, s, lengths):
    scores = torch.where(valid(s, lengths), scores, torch.full_like(scores, PAD_SCORE))
    return (torch.softmax(scores, -1).unsqueeze(-1) * s).sum(1)


def widen(q, n):
    return F.pad(q, (0, n - q.shape[-1]))


def din(p, name, q, s, lengths, units, act="nn.ReLU", norm="", most=0):
    s, lengths = cut(s, lengths, most)
    q = widen(q, s.shape[-1]).unsqueeze(1).expand_as(s)
    h = mlp(p, name + ".mlp", torch.cat([q, s, q - s, q * s], -1), units, act, norm)
    return attend(linear(p, name + ".linear", h, 1).squeeze(-1), s, lengths)


def simple_attention(q, s, lengths, most=0):
    s, lengths = cut(s, lengths, most)
    return attend((s * q.unsqueeze(1)).sum(-1), s, lengths)


def pooling(s, lengths, kind, most=0):
    s, lengths = cut(s, lengths, most)
    total = s.sum(1)
    return total / torch.clamp(lengths, min=1).unsqueeze(1) if kind == "mean" else total


def self_attention(p, name, s, lengths, width, heads, most=0):
    """Positions of a row attend to each other; the mean over the positions that are used."""
    s, lengths = cut(s, lengths, most)
    q, k, v = (linear(p, f"{name}._{x}", s, width) for x in ("query", "key", "value"))
    at = name + "._multihead_attn."
    w = p.get(at + "in_proj_weight", (3 * width, width), -0.5, 0.5)
    b = p.get(at + "in_proj_bias", (3 * width,), -0.2, 0.2)
    q, k, v = (x @ w[i * width:(i + 1) * width].T + b[i * width:(i + 1) * width]
               for i, x in enumerate((q, k, v)))
    ok, d, out = valid(s, lengths), width // heads, []
    for h in range(heads):
        cols = slice(h * d, (h + 1) * d)
        scores = q[..., cols] @ k[..., cols].transpose(1, 2) / d**0.5
        scores = scores.masked_fill(~ok.unsqueeze(1), -1e30)
        out.append(torch.softmax(scores, -1) @ v[..., cols])
    y = torch.cat(out, -1) @ p.get(at + "out_proj.weight", (width, width), -0.5, 0.5).T
    y = (y + p.get(at + "out_proj.bias", (width,), -0.2, 0.2)) * ok.unsqueeze(-1)
    return y.sum(1) / torch.clamp(lengths, min=1).unsqueeze(1)


def multi_window_din(p, name, q, s, lengths, windows, units, act="nn.ReLU", norm=""):
    q0 = widen(q, s.shape[-1])
    q = q0.unsqueeze(1).expand_as(s)
    h = mlp(p, name + ".mlp", torch.cat([s, q * s, q], -1), units, act, norm)
    a = activation(p, name + ".active", "nn.PReLU", linear(p, name + ".linear", h, 1))
    v = a * valid(s, lengths).unsqueeze(-1) * s
    v = F.pad(v, (0, 0, 0, max(0, sum(windows) - v.shape[1])))
    out, start = [], 0
    for n in windows:
        count = torch.clamp(torch.clamp(lengths - start, max=n), min=1)
        out.append(v[:, start:start + n].sum(1) / count.unsqueeze(1))
        start += n
    return torch.cat(out + [q0], -1)


# Losses of one row each.


def bce(logit, label, smoothing=0.0):
    y = label * (1 - smoothing) + smoothing / 2
    return F.binary_cross_entropy_with_logits(logit, y, reduction="none")


def focal(logit, label, gamma=2.0, alpha=0.5):
    prob = torch.sigmoid(logit)
    w = alpha * label * (1 - prob) ** gamma + (1 - alpha) * (1 - label) * prob**gamma
    return w.detach() * bce(logit, label)


def softmax_ce(logits, label, smoothing=0.0):
    nll = -torch.log_softmax(logits, -1)
    hit = nll.gather(1, label.long().unsqueeze(1)).squeeze(1)
    return (1 - smoothing) * hit + smoothing / logits.shape[1] * nll.sum(1)


def jrc(logits, label, session, alpha=0.5):
    """Each row by the definition: a softmax over the batch with the others masked."""
    n, out = len(label), []
    ce = softmax_ce(logits, label)
    for i in range(n):
        y = int(label[i])
        mask = torch.zeros(n, dtype=F64)
        for j in range(n):
            mask[j] += -1e9 if session[j] != session[i] else 0
            mask[j] += -1e9 if j != i and label[j] == label[i] else 0
        out.append(-torch.log_softmax(logits[:, y] + mask, 0)[i])
    return alpha * ce + (1 - alpha) * torch.stack(out)


def normalised(w):
    """Weights divided by their mean; zeros when that is zero."""
    return w / w.mean() if w.mean() != 0 else torch.zeros_like(w)


# Optimizers.


class SparseAdagrad:
    """One update per row that occurred; the gradients of its occurrences are one sum."""

    def __init__(self, lr, initial=0.0, eps=1e-8):
        self.lr, self.initial, self.eps, self.state = lr, initial, eps, {}

    @torch.no_grad()
    def step(self, p):
        for name, rows in p.touched.items():
            t = p.tables[name]
            s = self.state.setdefault(name, torch.full_like(t, self.initial))
            for r in sorted(rows):
                g = t.grad[r]
                s[r] += g * g
                t[r] -= self.lr * g / (torch.sqrt(s[r]) + self.eps)


class Adam:
    def __init__(self, lr, beta1=0.9, beta2=0.999, eps=1e-8):
        self.lr, self.b1, self.b2, self.eps = lr, beta1, beta2, eps
        self.t, self.m, self.v = 0, {}, {}

    @torch.no_grad()
    def step(self, p):
        self.t += 1
        for name, w in p.dense.items():
            g = w.grad if w.grad is not None else torch.zeros_like(w)
            m = self.m.setdefault(name, torch.zeros_like(w))
            v = self.v.setdefault(name, torch.zeros_like(w))
            m.mul_(self.b1).add_(g, alpha=1 - self.b1)
            v.mul_(self.b2).add_(g * g, alpha=1 - self.b2)
            mh, vh = m / (1 - self.b1**self.t), v / (1 - self.b2**self.t)
            w -= self.lr * mh / (torch.sqrt(vh) + self.eps)
