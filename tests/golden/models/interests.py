# SPDX-License-Identifier: Apache-2.0
"""Cases of ranking models on the history of a user (those of field_model.def); see cases.py."""
import torch
import torch.nn.functional as F

from blocks import activation, layer_norm, linear, mlp, valid
from cases import LOSS, binary, case, group
from data import deep, sequence
from fields import DENSE, WIDE, weights


def attention(p, at, x, ok, heads, d):
    n = heads * d
    q, k, v = (linear(p, at + name, x, n, bias=False) for name in ("query", "key", "value"))
    out = []
    for h in range(heads):
        cols = slice(h * d, (h + 1) * d)
        scores = q[..., cols] @ k[..., cols].transpose(1, 2) / n**0.5
        scores = scores.masked_fill(~ok.unsqueeze(1), -1e30)
        out.append(torch.softmax(scores, -1) @ v[..., cols])
    return linear(p, at + "out", torch.cat(out, -1), x.shape[-1], bias=False)


def bst_model(p, b, query, names, layers, heads, d, units, ln):
    q, s, lengths = sequence(p, b, query, names)
    x = torch.cat([q.unsqueeze(1), s], 1)
    ok = valid(x, lengths + 1)
    norm = (lambda name, v: layer_norm(p, name, v)) if ln else (lambda name, v: v)
    for i in range(layers):
        at = f"model.encoder.{i}."
        x = x + attention(p, at, norm(at + "norm1", x), ok, heads, d)
        h = torch.relu(linear(p, at + "ffn.0", norm(at + "norm2", x), units))
        x = x + linear(p, at + "ffn.1", h, x.shape[-1])
    return (norm("model.norm", x) * ok.unsqueeze(-1)).sum(1)


@case(group("seq", "i p s__i s__p", "SEQUENCE") + group("deep", "u c") + WIDE + DENSE + LOSS +
      " bst { num_heads: 2 head_dim: 3 ffn_units: 6 deep { hidden_units: [6, 4] } }\n")
def bst(p, b):
    h = bst_model(p, b, ["i", "p"], ["s__i", "s__p"], 1, 2, 3, 6, False)
    h = torch.cat([h, deep(p, b, ["u", "c"]), deep(p, b, ["p", "r"])], -1)
    o = linear(p, "model.output_mlp", mlp(p, "model.deep_mlp", h, [6, 4]), 1)
    return binary(o + weights(p, b).sum(1, keepdim=True), b)


@case(group("seq", "i s__i", "SEQUENCE") + LOSS +
      " bst { num_layers: 2 num_heads: 3 head_dim: 2 ffn_units: 5 use_ln: true deep { hidden_units: [6] } }\n")
def bst_norm(p, b):
    h = bst_model(p, b, ["i"], ["s__i"], 2, 3, 2, 5, True)
    return binary(linear(p, "model.output_mlp", mlp(p, "model.deep_mlp", h, [6]), 1), b)


def gru(p, at, layer, s, width, update=None):
    """States behind each position, of zeros before the first; `update`: how much each counts."""
    shape = ((3 * width, s.shape[-1]), (3 * width, width), (3 * width,), (3 * width,))
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    wi, wh, bi, bh = (p.get(f"{at}.{n}_l{layer}", z, -0.6, 0.6) for n, z in zip(names, shape))
    h, out = torch.zeros(s.shape[0], width, dtype=s.dtype), []
    for t in range(s.shape[1]):
        a, b = s[:, t] @ wi.T + bi, h @ wh.T + bh
        r = torch.sigmoid(a[:, :width] + b[:, :width])
        z = torch.sigmoid(a[:, width:2 * width] + b[:, width:2 * width])
        n = torch.tanh(a[:, 2 * width:] + r * b[:, 2 * width:])
        step = 1 - z if update is None else update[:, t:t + 1] * (1 - z)
        h = h + step * (n - h)
        out.append(h)
    return torch.stack(out, 1)


def last(x, lengths):
    at = torch.clamp(lengths - 1, min=0)
    return x[torch.arange(x.shape[0]), at] * (lengths > 0).unsqueeze(-1)


SHIFT = {"model.attention.linear.bias": [0, 1]}  # of all scores: changes no softmax


def dien_model(p, b, names, layers, units, kind, act="nn.ReLU"):
    q, s, lengths = sequence(p, b, ["i"], names)
    d = q.shape[-1]
    states = s[..., :d]
    ok = valid(s, lengths)
    for i in range(layers):
        states = gru(p, "model.extractor", i, states, d)
    aux = None
    if s.shape[-1] > d:
        pos = (states[:, :-1] * s[:, 1:, :d]).sum(-1)
        neg = (states[:, :-1] * s[:, 1:, d:]).sum(-1)
        aux = ((F.softplus(-pos) + F.softplus(neg)) * ok[:, 1:]).sum(1)
    rows = q.unsqueeze(1).expand_as(states)
    h = mlp(p, "model.attention.mlp", torch.cat([rows, states, rows - states, rows * states], -1), units, act)
    scores = linear(p, "model.attention.linear", h, 1).squeeze(-1) / d**0.5
    a = torch.softmax(scores.masked_fill(~ok, -1e30), -1)
    if kind == "AUGRU":
        y = gru(p, "model.evolution", 0, states, d, a)
    else:
        y = gru(p, "model.evolution", 0, states * a.unsqueeze(-1), d)
    return torch.cat([last(y, lengths), q], -1), aux


@case(group("seq", "i s__i s__c s__p", "SEQUENCE") + group("deep", "u c") + WIDE + LOSS +
      " dien { attn_mlp { hidden_units: [5] } aux_loss_weight: 0.5 deep { hidden_units: [6] } }\n",
      free=SHIFT)
def dien(p, b):
    h, aux = dien_model(p, b, ["s__i", "s__c", "s__p"], 1, [5], "AIGRU")
    h = torch.cat([h, deep(p, b, ["u", "c"])], -1)
    o = linear(p, "model.output_mlp", mlp(p, "model.deep_mlp", h, [6]), 1)
    outputs, losses = binary(o + weights(p, b).sum(1, keepdim=True), b)
    if p.training:
        losses["aux_loss"] = (0.5 * aux, None)
    return outputs, losses


@case(group("seq", "i s__i", "SEQUENCE") + LOSS +
      " dien { gru_layers: 2 attn_mlp { hidden_units: [5] activation: 'nn.Tanh' } evolution: 'AUGRU'"
      " deep { hidden_units: [6] } }\n", free=SHIFT)
def dien_augru(p, b):
    h, _ = dien_model(p, b, ["s__i"], 2, [5], "AUGRU", "nn.Tanh")
    return binary(linear(p, "model.output_mlp", mlp(p, "model.deep_mlp", h, [6]), 1), b)


def dmr_scores(p, at, source, s, units):
    q = activation(p, at + "prelu", "nn.PReLU", linear(p, at + "align", source, s.shape[-1]))
    h = mlp(p, at + "attention", torch.cat([q, s, q - s, q * s], -1), units, "nn.Tanh")
    return linear(p, at + "linear", h, 1).squeeze(-1)


def softmax_where(scores, ok):
    a = torch.softmax(scores.masked_fill(~ok, -1e30), -1)
    return a * ok


def dmr_model(p, b, context, others, units):
    q, s, lengths = sequence(p, b, ["i"], ["s__i", *context])
    v, m, _ = sequence(p, b, ["j"], ["s__i", *others])
    d, e = q.shape[-1], v.shape[-1]
    history, said, ok = s[..., :d], s[..., d:], valid(s, lengths)
    scores = dmr_scores(p, "model.user_to_item.", said, history, units)

    def user(a):
        u = linear(p, "model.user", (a.unsqueeze(-1) * history).sum(1), e)
        return activation(p, "model.user_prelu", "nn.PReLU", u)

    close = (user(softmax_where(scores, ok)) * v).sum(-1, keepdim=True)
    aux = None
    if p.training and m.shape[-1] > e:
        u = user(softmax_where(scores, valid(s, lengths - 1)))
        end = last(m, lengths)
        others = end[:, e:].reshape(len(end), -1, e)
        aux = F.softplus(-(u * end[:, :e]).sum(-1)) + F.softplus((u.unsqueeze(1) * others).sum(-1)).sum(-1)
        aux = aux * (lengths > 1)
    row = torch.cat([q.unsqueeze(1).expand(-1, s.shape[1], -1), said], -1)
    scores = dmr_scores(p, "model.item_to_item.", row, history, units)
    total = (history * ok.unsqueeze(-1)).sum(1)
    pooled = (softmax_where(scores, ok).unsqueeze(-1) * history).sum(1)
    return torch.cat([q, total, q * total, pooled, close, (scores * ok).sum(-1, keepdim=True)], -1), aux


@case(group("seq", "i s__i s__p", "SEQUENCE") + group("match", "j s__i s__c s__p", "SEQUENCE") +
      group("deep", "u c") + WIDE + LOSS +
      " dmr { attn_mlp { hidden_units: [5] activation: 'nn.Tanh' } aux_loss_weight: 0.3"
      " deep { hidden_units: [6] } }\n", free={"model.user_to_item.linear.bias": [0, 1]})
def dmr(p, b):
    h, aux = dmr_model(p, b, ["s__p"], ["s__c", "s__p"], [5])
    h = torch.cat([h, deep(p, b, ["u", "c"])], -1)
    o = linear(p, "model.output_mlp", mlp(p, "model.deep_mlp", h, [6]), 1)
    outputs, losses = binary(o + weights(p, b).sum(1, keepdim=True), b)
    if aux is not None:
        losses["aux_loss"] = (0.3 * aux, None)
    return outputs, losses


@case(group("seq", "i s__i s__c", "SEQUENCE") + group("match", "j s__i", "SEQUENCE") + LOSS +
      " dmr { attn_mlp { hidden_units: [5] activation: 'nn.Tanh' } deep { hidden_units: [6] } }\n",
      free={"model.user_to_item.linear.bias": [0, 1]})
def dmr_plain(p, b):
    h, _ = dmr_model(p, b, ["s__c"], [], [5])
    return binary(linear(p, "model.output_mlp", mlp(p, "model.deep_mlp", h, [6]), 1), b)
