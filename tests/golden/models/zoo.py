# SPDX-License-Identifier: Apache-2.0
"""Cases of further ranking models; see cases.py."""
import torch

from blocks import layer_norm, linear, mlp, multi_window_din, softmax_ce
from cases import LOSS, binary, case, group
from data import column, deep, sequence


def mask_net_model(p, b, names, units, ratio, agg, hidden, parallel):
    e = deep(p, b, names.split())
    at = "model.mask_net_layer."
    normed = layer_norm(p, at + "ln_emb", e)
    x, outs = normed, []
    for i in range(2):
        name = f"{at}mask_blocks.{i}."
        source = normed if parallel else x
        wide = source.shape[-1]
        m = torch.relu(linear(p, name + "mask_generator.0", e, int(wide * ratio) if ratio else agg))
        m = linear(p, name + "mask_generator.2", m, wide)
        x = torch.relu(layer_norm(p, name + "ffn.1", linear(p, name + "ffn.0", source * m, hidden)))
        outs.append(x)
    h = mlp(p, at + "top_mlp", torch.cat(outs, -1) if parallel else x, units)
    return binary(linear(p, "model.output_linear", h, 1, bias=False), b)


@case(group("all", "u i c p") + LOSS + " mask_net { mask_net_module { n_mask_blocks: 2"
      " mask_block { reduction_ratio: 1.5 hidden_dim: 6 } top_mlp { hidden_units: [5] } } }\n")
def mask_net(p, b):
    return mask_net_model(p, b, "u i c p", [5], 1.5, 0, 6, True)


@case(group("all", "u i w") + LOSS + " mask_net { mask_net_module { n_mask_blocks: 2 use_parallel: false"
      " mask_block { reduction_ratio: 0 aggregation_dim: 7 hidden_dim: 5 } top_mlp { hidden_units: [6, 4] } } }\n")
def mask_net_serial(p, b):
    return mask_net_model(p, b, "u i w", [6, 4], 0, 7, 5, False)


@case(group("wide", "u i c", "WIDE") + group("deep", "u i w p") + LOSS +
      " xdeepfm { cin { cin_layer_size: [4, 3] } deep { hidden_units: [6] } final { hidden_units: [5] }"
      " wide_embedding_dim: 5 }\n")
def xdeepfm(p, b):
    n = b["rows"]
    x0 = deep(p, b, "u i c".split(), wide=5).reshape(n, 3, 5)
    x, outs = x0, []
    for i, size in enumerate([4, 3]):
        z = torch.einsum("bhd,bfd->bhfd", x, x0).reshape(n, -1, 5)
        x = linear(p, f"model.cin.cin_layers.{i}", z.transpose(1, 2), size).transpose(1, 2)
        outs.append(x.sum(-1))
    h = torch.cat(outs + [mlp(p, "model.deep", deep(p, b, "u i w p".split()), [6])], -1)
    return binary(linear(p, "model.output_mlp", mlp(p, "model.final", h, [5]), 1), b)


def wukong_layer(p, at, x, n_l, n_f, k, units):
    n, fields, d = x.shape
    lcb = torch.einsum("bnd,nj->bjd", x, p.get(at + "lcb.weight", (fields, n_l), -0.6, 0.6))
    y = p.get(at + "fmb.weight", (fields, k), -0.6, 0.6)
    f = (x @ (x.transpose(1, 2) @ y)).reshape(n, fields * k)
    f = mlp(p, at + "fmb.mlp", layer_norm(p, at + "fmb.norm", f), units)
    f = linear(p, at + "fmb.feature_out_liner", f, n_f * d).reshape(n, n_f, d)
    rest = x
    if fields != n_l + n_f:
        rest = torch.einsum("bnd,nj->bjd", x, p.get(at + "residual_projection.weight", (fields, n_l + n_f), -0.6, 0.6))
    return layer_norm(p, at + "norm", torch.cat([f, lcb], 1) + rest)


@case(group("sparse", "u i c w") + group("dense", "p r") + LOSS +
      " wukong { dense_mlp { hidden_units: [6, 4] } final { hidden_units: [6] }"
      " wukong_layers { lcb_feature_num: 2 fmb_feature_num: 3 compressed_feature_num: 2"
      " feature_num_mlp { hidden_units: [7] } }"
      " wukong_layers { lcb_feature_num: 1 fmb_feature_num: 2 compressed_feature_num: 3"
      " feature_num_mlp { hidden_units: [5] } } }\n")
def wukong(p, b):
    n = b["rows"]
    z = mlp(p, "model.dense_mlp", deep(p, b, "p r".split()), [6, 4])
    x = torch.cat([z.unsqueeze(1), deep(p, b, "u i c w".split()).reshape(n, 4, 4)], 1)
    x = wukong_layer(p, "model._wukong_layers.0.", x, 2, 3, 2, [7])
    x = wukong_layer(p, "model._wukong_layers.1.", x, 1, 2, 3, [5])
    h = mlp(p, "model.final_mlp", x.reshape(n, -1), [6])
    return binary(linear(p, "model.output_mlp", h, 1), b)


@case(group("user", "u p") + group("seq", "i s__i s__c", "SEQUENCE") + group("more", "w") +
      " num_class: 2 losses { softmax_cross_entropy {} }\n"
      " tdm { multiwindow_din { windows_len: [1, 2, 4] attn_mlp { hidden_units: [5] } }"
      " final { hidden_units: [6, 4] } }\n")
def tdm(p, b):
    q, s, n = sequence(p, b, ["i"], ["s__i", "s__c"])
    h = torch.cat([multi_window_din(p, "model.multiwindow_din", q, s, n, [1, 2, 4], [5]),
                   deep(p, b, ["u", "p"]), deep(p, b, ["w"])], -1)
    o = linear(p, "model.output_mlp", mlp(p, "model.deep_mlp", h, [6, 4]), 2)
    probs = torch.softmax(o, -1)
    return ({"logits": o, "probs": probs, "probs1": probs[:, 1]},
            {"softmax_cross_entropy": (softmax_ce(o, column(b, "clk").long()), None)})
