# SPDX-License-Identifier: Apache-2.0
"""Cases of ranking models on fields (those of field_model.def); see cases.py."""
import torch
import torch.nn.functional as F

from blocks import batch_norm, fm as fm_of, interaction, linear, mlp
from cases import LOSS, binary, case, group
from data import deep

WIDE = group("wide", "u i c", "WIDE")
DENSE = group("dense", "p r")


def weights(p, b, names="u i c"):
    return deep(p, b, names.split(), wide=1)


def fields_of(p, b, names="u i c w"):
    return deep(p, b, names.split()).reshape(b["rows"], len(names.split()), -1)


def numbers(p, b):
    return linear(p, "model.dense_linear", deep(p, b, ["p", "r"]), 1, bias=False)


def bias(p):
    return p.get("model.bias", (1,), -0.3, 0.3)


def pairs_of(n):
    return torch.triu_indices(n, n, 1)


@case(WIDE + DENSE + LOSS + " logistic_regression {}\n")
def logistic_regression(p, b):
    return binary(weights(p, b).sum(1, keepdim=True) + bias(p) + numbers(p, b), b)


@case(group("wide", "u w", "WIDE") + LOSS + " logistic_regression {}\n", sample_weight=True)
def logistic_regression_plain(p, b):
    from blocks import normalised
    from data import column
    return binary(weights(p, b, "u w").sum(1, keepdim=True) + bias(p), b, normalised(column(b, "sw")))


@case(WIDE + group("deep", "u i c w") + DENSE + LOSS + " fm {}\n")
def fm(p, b):
    o = fm_of(fields_of(p, b)).sum(1, keepdim=True) + bias(p)
    return binary(o + weights(p, b).sum(1, keepdim=True) + numbers(p, b), b)


@case(WIDE + group("deep", "u i w") + group("dense", "p") + LOSS + " fnn { deep { hidden_units: [6, 4] } }\n")
def fnn(p, b):
    x = torch.cat([deep(p, b, "u i w".split()), weights(p, b), deep(p, b, ["p"])], -1)
    return binary(linear(p, "model.output_mlp", mlp(p, "model.deep_mlp", x, [6, 4]), 1), b)


@case(WIDE + group("deep", "u i c w") + LOSS + " nfm { deep { hidden_units: [6, 5] } }\n")
def nfm(p, b):
    h = mlp(p, "model.deep_mlp", fm_of(fields_of(p, b)), [6, 5])
    return binary(linear(p, "model.output_mlp", h, 1) + weights(p, b).sum(1, keepdim=True), b)


@case(WIDE + group("deep", "u i c w") + LOSS + " pnn { product_units: 5 deep { hidden_units: [6] } }\n")
def pnn(p, b):
    x = fields_of(p, b)
    z = linear(p, "model.linear", x.reshape(b["rows"], -1), 5)
    theta = p.get("model.inner.weight", (4, 5), -0.6, 0.6)
    length = (torch.einsum("bfd,fn->bnd", x, theta)**2).sum(-1)
    h = mlp(p, "model.deep_mlp", torch.relu(z + length), [6])
    return binary(linear(p, "model.output_mlp", h, 1) + weights(p, b).sum(1, keepdim=True), b)


@case(group("deep", "u i c") + LOSS +
      " pnn { product_units: 3 use_inner_product: false deep { hidden_units: [6] } }\n")
def pnn_outer(p, b):
    x = fields_of(p, b, "u i c")
    s = x.sum(1)
    w = p.get("model.outer.weight", (3, 16), -0.4, 0.4).reshape(3, 4, 4)
    z = linear(p, "model.linear", x.reshape(b["rows"], -1), 3)
    products = torch.einsum("bi,bj,nij->bn", s, s, w)
    return binary(linear(p, "model.output_mlp", mlp(p, "model.deep_mlp", torch.relu(z + products), [6]), 1), b)


@case(WIDE + group("deep", "u i c w") + DENSE + LOSS + " ffm {}\n")
def ffm(p, b):
    x = fields_of(p, b).reshape(b["rows"], 4, 4, -1)  # [field, for which field, 1]
    i, j = pairs_of(4)
    o = (x[:, i, j] * x[:, j, i]).sum((1, 2)).unsqueeze(1) + bias(p)
    return binary(o + weights(p, b).sum(1, keepdim=True) + numbers(p, b), b)


@case(group("deep", "u i") + LOSS + " ffm {}\n")
def ffm_two(p, b):
    x = fields_of(p, b, "u i").reshape(b["rows"], 2, 2, 2)
    return binary((x[:, 0, 1] * x[:, 1, 0]).sum(-1, keepdim=True) + bias(p), b)


@case(WIDE + group("deep", "u i c w") + LOSS + " afm { attention_units: 3 }\n")
def afm(p, b):
    x = fields_of(p, b)
    i, j = pairs_of(4)
    pairs = x[:, i] * x[:, j]
    a = linear(p, "model.projection", torch.relu(linear(p, "model.attention", pairs, 3)), 1, bias=False)
    pooled = (torch.softmax(a, 1) * pairs).sum(1)
    return binary(linear(p, "model.output_mlp", pooled, 1) + weights(p, b).sum(1, keepdim=True), b)


@case(WIDE + group("deep", "u i c w") + DENSE + LOSS + " fwfm {}\n")
def fwfm(p, b):
    o = linear(p, "model.pairs", interaction(fields_of(p, b)), 1)
    return binary(o + weights(p, b).sum(1, keepdim=True) + numbers(p, b), b)


def bilinear(p, name, x, kind):
    n, d = x.shape[1], x.shape[2]
    i, j = pairs_of(n)
    at = f"model.{name}."
    if kind == "all":
        return (linear(p, at + "all", x, d)[:, i] * x[:, j]).flatten(1)
    m = len(i) if kind == "interaction" else n
    w = p.get(f"{at}{kind}.weight", (m, d, d), -0.6, 0.6)
    c = p.get(at + "bias", (m, d), -0.3, 0.3)
    if kind == "interaction":
        left = torch.einsum("bpd,ped->bpe", x[:, i], w) + c
    else:
        left = (torch.einsum("bnd,ned->bne", x, w) + c)[:, i]
    return (left * x[:, j]).flatten(1)


def fibinet_model(p, b, names, kind, ratio, units, dense):
    x = fields_of(p, b, names)
    n = x.shape[1]
    z = torch.relu(linear(p, "model.senet.0", x.mean(-1), max(1, n // ratio)))
    z = torch.relu(linear(p, "model.senet.1", z, n))
    h = torch.cat([bilinear(p, "gated", x * z.unsqueeze(-1), kind), bilinear(p, "raw", x, kind)], -1)
    if dense:
        h = torch.cat([h, deep(p, b, ["p", "r"])], -1)
    return linear(p, "model.output_mlp", mlp(p, "model.deep_mlp", h, units), 1)


@case(WIDE + group("deep", "u i c w") + DENSE + LOSS +
      " fibinet { reduction_ratio: 2 deep { hidden_units: [7, 5] } }\n")
def fibinet(p, b):
    return binary(fibinet_model(p, b, "u i c w", "interaction", 2, [7, 5], True)
                  + weights(p, b).sum(1, keepdim=True), b)


@case(group("deep", "u i c") + LOSS + " fibinet { bilinear_type: 'each' deep { hidden_units: [6] } }\n")
def fibinet_each(p, b):
    return binary(fibinet_model(p, b, "u i c", "each", 3, [6], False), b)


@case(group("deep", "u i c w") + LOSS + " fibinet { bilinear_type: 'all' reduction_ratio: 2 deep { hidden_units: [6] } }\n")
def fibinet_all(p, b):
    return binary(fibinet_model(p, b, "u i c w", "all", 2, [6], False), b)


def fgcnn_model(p, b, names, source, layers, height, pool, maps, units, bn=False):
    """Fields are the height of a picture of width d, maps its channels."""
    x = fields_of(p, b, names)
    d, parts = x.shape[2], [x]
    h = source.unsqueeze(1)
    for i, filters in enumerate(layers):
        at = f"model.generation.{i}."
        bound = 1.5 / (h.shape[1] * height)**0.5
        w = p.get(at + "conv.weight", (filters, h.shape[1], height), -bound, bound).unsqueeze(-1)
        c = None if bn else p.get(at + "conv.bias", (filters,), -bound, bound)
        before = (height - 1) // 2
        h = F.conv2d(F.pad(h, (0, 0, before, height - 1 - before)), w, c)
        if bn:
            h = batch_norm(p, at + "bn", h.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        h = F.max_pool2d(torch.tanh(h), (pool, 1))
        flat = h.permute(0, 3, 2, 1).flatten(1)
        n = h.shape[2] * maps
        parts.append(torch.tanh(linear(p, at + "recombination", flat, n * d)).reshape(-1, n, d))
    x = torch.cat(parts, 1)
    return mlp(p, "model.deep_mlp", torch.cat([x.flatten(1), interaction(x)] + units[1:], -1), units[0])


@case(WIDE + group("deep", "u i c w j") + DENSE + LOSS +
      " fgcnn { conv_filters: [3, 2] conv_height: 3 new_maps: 2 deep { hidden_units: [7, 5] } }\n")
def fgcnn(p, b):
    h = fgcnn_model(p, b, "u i c w j", fields_of(p, b, "u i c w j"), [3, 2], 3, 2, 2, [[7, 5], deep(p, b, ["p", "r"])])
    return binary(linear(p, "model.output_mlp", h, 1) + weights(p, b).sum(1, keepdim=True), b)


@case(group("deep", "u i") + group("generate", "c w j k") + LOSS +
      " fgcnn { conv_filters: 4 pooling_height: 3 new_maps: 1 conv_height: 4 use_bn: true deep { hidden_units: [6] } }\n")
def fgcnn_bn(p, b):
    h = fgcnn_model(p, b, "u i", fields_of(p, b, "c w j k"), [4], 4, 3, 1, [[6]], bn=True)
    return binary(linear(p, "model.output_mlp", h, 1), b)


@case(WIDE + group("deep", "u i c w") + DENSE + LOSS + " gatenet { deep { hidden_units: [6, 5] } }\n")
def gatenet(p, b):
    x = fields_of(p, b)
    w = p.get("model.embedding_gate.weight", (4, 1, 4), -0.9, 0.9)
    x = x * torch.sigmoid((x * w.squeeze(1)).sum(-1, keepdim=True))
    h = torch.cat([x.flatten(1), deep(p, b, ["p", "r"])], -1)
    for i, n in enumerate([6, 5]):
        h = mlp(p, f"model.deep_mlp.{i}", h, [n])
        h = h * torch.tanh(linear(p, f"model.hidden_gate.{i}", h, n, bias=False))
    return binary(linear(p, "model.output_mlp", h, 1) + weights(p, b).sum(1, keepdim=True), b)


@case(group("deep", "u i c") + LOSS +
      " gatenet { use_embedding_gate: false use_hidden_gate: false deep { hidden_units: [6] } }\n")
def gatenet_plain(p, b):
    h = mlp(p, "model.deep_mlp", deep(p, b, "u i c".split()), [6])
    return binary(linear(p, "model.output_mlp", h, 1), b)


@case(WIDE + group("user", "u w") + group("item", "i c j") + group("more", "k") + group("dense", "p") + LOSS +
      " flen { interaction { hidden_units: [5] } deep { hidden_units: [6] } }\n")
def flen(p, b):
    groups = [fields_of(p, b, names) for names in ("u w", "i c j", "k")]
    s = torch.stack([x.sum(1) for x in groups], 1)
    i, j = pairs_of(3)
    between = linear(p, "model.between", (s[:, i] * s[:, j]).transpose(1, 2), 1, bias=False).squeeze(-1)
    inner = torch.stack([fm_of(x) for x in groups], 2)
    within = linear(p, "model.within", inner, 1, bias=False).squeeze(-1)
    h = torch.cat([x.flatten(1) for x in groups] + [deep(p, b, ["p"])], -1)
    both = torch.cat([mlp(p, "model.interaction", between + within, [5]), mlp(p, "model.deep_mlp", h, [6])], -1)
    return binary(linear(p, "model.output_mlp", both, 1) + weights(p, b).sum(1, keepdim=True), b)


@case(WIDE + group("deep", "u i p") + LOSS + " deep_crossing { residual_units: [5, 3] }\n")
def deep_crossing(p, b):
    x = torch.cat([deep(p, b, "u i p".split()), weights(p, b)], -1)
    for k, n in enumerate([5, 3]):
        at = f"model.residual_units.{k}."
        x = torch.relu(linear(p, at + "1", torch.relu(linear(p, at + "0", x, n)), x.shape[-1]) + x)
    return binary(linear(p, "model.output_mlp", x, 1), b)


def autoint_layer(p, at, x, heads, d):
    n = heads * d
    q, k, v, rest = (linear(p, f"{at}.{name}", x, n, bias=False) for name in ("query", "key", "value", "residual"))
    out = []
    for h in range(heads):
        cols = slice(h * d, (h + 1) * d)
        scores = q[..., cols] @ k[..., cols].transpose(1, 2) / n**0.5
        out.append(torch.softmax(scores, -1) @ v[..., cols])
    return torch.relu(torch.cat(out, -1) + rest)


@case(WIDE + group("deep", "u i c w") + DENSE + LOSS +
      " autoint { num_layers: 2 num_heads: 2 head_dim: 3 deep { hidden_units: [5] } }\n")
def autoint(p, b):
    x = fields_of(p, b)
    for i in range(2):
        x = autoint_layer(p, f"model.attention.{i}", x, 2, 3)
    h = mlp(p, "model.deep_mlp", torch.cat([deep(p, b, "u i c w".split()), deep(p, b, ["p", "r"])], -1), [5])
    o = linear(p, "model.output_mlp", torch.cat([x.flatten(1), h], -1), 1)
    return binary(o + weights(p, b).sum(1, keepdim=True), b)


@case(group("deep", "u i c") + LOSS + " autoint { num_heads: 3 head_dim: 2 }\n")
def autoint_plain(p, b):
    x = autoint_layer(p, "model.attention.0", fields_of(p, b, "u i c"), 3, 2)
    return binary(linear(p, "model.output_mlp", x.flatten(1), 1), b)
