# SPDX-License-Identifier: Apache-2.0
"""Cases of the retrieval models; see cases.py."""
import torch

from blocks import F64, linear, mlp, normalised
from cases import case, group
from data import BAGS, SEQS, column, deep, sequence

RECALL = " losses { softmax_cross_entropy {} } metrics { recall_at_k { top_k: 2 } }\n"


def sampler(kind, names, more=""):
    paths = {"negative_sampler": "input_path: 'x'",
             "hard_negative_sampler": "user_input_path: 'x' item_input_path: 'x' hard_neg_edge_input_path: 'x'"
                                      " num_hard_sample: 3 user_id_field: 'u'"}[kind]
    attrs = " ".join(f"attr_fields: '{x}'" for x in names.split())
    return f"{kind} {{ {paths} num_sample: 4 item_id_field: 'i' {attrs} }} {more}"


def normalise(x):
    return x / x.norm(dim=-1, keepdim=True).clamp_min(1e-12)


def tower(p, name, x, units, out, cosine, **how):
    x = mlp(p, f"model.{name}.mlp", x, units, **how)
    if out > 0:
        x = linear(p, f"model.{name}.output", x, out)
    return normalise(x) if cosine else x


def own_bags(name, rows="__BASE__"):
    return BAGS.replace("model.", f"model.{name}.").replace("__BASE__", rows)


def match(b, user, item, temperature=1.0, in_batch=False, weights=None):
    """Scores of users against items, and the cross entropy of their own."""
    n = b["rows"]
    if in_batch:
        scores = user @ item[:n].T
        target = torch.arange(n)
    else:
        common = item[n:n + b["common"]]
        parts = [(user * item[:n]).sum(-1, keepdim=True), user @ common.T]
        at = b["hard_at"] or [0] * (n + 1)
        most = max(at[k + 1] - at[k] for k in range(n))
        if most:
            rows = []
            for k in range(n):
                own = item[n + b["common"] + at[k]:n + b["common"] + at[k + 1]] @ user[k]
                rows.append(torch.cat([own, torch.full((most - len(own),), -1e32, dtype=F64)]))
            parts.append(torch.stack(rows))
        scores = torch.cat(parts, -1)
        target = torch.zeros(n, dtype=torch.long)
    scores = scores / temperature
    loss = -torch.log_softmax(scores, -1)[torch.arange(n), target]
    return {"similarity": scores}, {"softmax_cross_entropy": (loss, weights)}


@case(group("user", "u c") + group("item", "i w p") + RECALL +
      " dssm { user_tower { input: 'user' mlp { hidden_units: [6, 5] } }"
      " item_tower { input: 'item' mlp { hidden_units: [7, 5] activation: 'nn.Tanh' } } output_dim: 0 }\n",
      data=sampler("negative_sampler", "i w p"), items=("i w p", 4, lambda n: [0] * n))
def dssm(p, b):
    u = deep(p, b, ["u", "c"], bags=own_bags("user_tower"))
    i = deep(p, b, ["i", "w", "p"], bags=own_bags("item_tower", "__NEG__"), rows=b["items"])
    return match(b, tower(p, "user_tower", u, [6, 5], 0, False),
                 tower(p, "item_tower", i, [7, 5], 0, False, act="nn.Tanh"))


@case(group("user", "u c") + group("item", "i c") + RECALL +
      " dssm { user_tower { input: 'user' mlp { hidden_units: [6] activation: 'nn.Tanh' } }"
      " item_tower { input: 'item' mlp { hidden_units: [6] activation: 'nn.Tanh' } } output_dim: 0"
      " similarity: COSINE temperature: 0.2 in_batch_negative: true }\n", sample_weight=True)
def dssm_in_batch(p, b):
    u = deep(p, b, ["u", "c"], bags=own_bags("user_tower"))
    i = deep(p, b, ["i", "c"], bags=own_bags("item_tower"))
    return match(b, tower(p, "user_tower", u, [6], 0, True, act="nn.Tanh"),
                 tower(p, "item_tower", i, [6], 0, True, act="nn.Tanh"), 0.2, True,
                 normalised(column(b, "sw")))


@case(group("user", "u") + group("item", "i c r") + RECALL +
      " dssm { user_tower { input: 'user' mlp { hidden_units: [5] use_bn: true } }"
      " item_tower { input: 'item' mlp { hidden_units: [6, 5] use_bn: true } } output_dim: 3"
      " similarity: COSINE temperature: 0.1 }\n", sample_weight=True,
      data=sampler("hard_negative_sampler", "i c r"),
      items=("i c r", 3, lambda n: [(2 * k) % 4 for k in range(n)]))
def dssm_hard(p, b):
    u = deep(p, b, ["u"], bags=own_bags("user_tower"))
    i = deep(p, b, ["i", "c", "r"], bags=own_bags("item_tower", "__NEG__"), rows=b["items"])
    return match(b, tower(p, "user_tower", u, [5], 3, True, norm="bn"),
                 tower(p, "item_tower", i, [6, 5], 3, True, norm="bn"), 0.1, False,
                 normalised(column(b, "sw")))


@case(group("user", "u j") + group("item", "i c") + RECALL +
      " dssm_v2 { user_tower { input: 'user' mlp { hidden_units: [6] } }"
      " item_tower { input: 'item' mlp { hidden_units: [5] } } output_dim: 4 temperature: 0.5 similarity: COSINE }\n",
      data=sampler("negative_sampler", "i c", "force_base_data_group: true"),
      items=("i c", 5, lambda n: [0] * n))
def dssm_v2(p, b):
    u = deep(p, b, ["u", "j"])
    i = deep(p, b, ["i", "c"], rows=b["items"])
    return match(b, tower(p, "user_tower", u, [6], 4, True), tower(p, "item_tower", i, [5], 4, True), 0.5)


@case(group("user", "u") + group("user_aug", "j") + group("item", "i p") + group("item_aug", "c") + RECALL +
      " dat { user_tower { input: 'user' augment_input: 'user_aug' mlp { hidden_units: [6] activation: 'nn.Tanh' } }"
      " item_tower { input: 'item' augment_input: 'item_aug' mlp { hidden_units: [5] activation: 'nn.Tanh' } }"
      " output_dim: 4 similarity: COSINE temperature: 0.5 amm_u_weight: 0.3 amm_i_weight: 0.7 }\n",
      data=sampler("negative_sampler", "i p c"), items=("i p c", 4, lambda n: [0] * n))
def dat(p, b):
    """Two towers; a vector beside each input learns to be what the other tower gives."""
    n = b["rows"]
    u = deep(p, b, ["u"], bags=own_bags("user_tower"))
    ua = deep(p, b, ["j"], bags=own_bags("user_tower"))
    i = deep(p, b, ["i", "p"], bags=own_bags("item_tower", "__NEG__"), rows=b["items"])
    ia = deep(p, b, ["c"], bags=own_bags("item_tower", "__NEG__"), rows=b["items"])
    user = tower(p, "user_tower", torch.cat([u, ua], -1), [6], 4, True, act="nn.Tanh")
    item = tower(p, "item_tower", torch.cat([i, ia], -1), [5], 4, True, act="nn.Tanh")
    outputs, losses = match(b, user, item, 0.5)
    if p.training:
        # sums over the batch; what is averaged here is multiplied by the rows
        losses["amm_loss_u"] = (0.3 * n * ((normalise(ua) - item[:n].detach())**2).sum(-1), None)
        losses["amm_loss_i"] = (0.7 * n * ((normalise(ia[:n]) - user.detach())**2).sum(-1), None)
    return outputs, losses


def squash(h, power):
    """Vectors shorter than 1e-7 count as that long."""
    size = (h**2).sum(-1, keepdim=True)
    small = size <= 1e-14
    size = torch.sqrt(torch.where(small, torch.full_like(size, 1e-14), size))
    return h * ((size**2 / (1 + size**2))**power / size)


def capsules(p, s, lengths, longest, k, high, iters, scale, power, const):
    """[B, k, high] from the first `longest` positions, and which of them count."""
    n = len(lengths)
    s = torch.cat([s, torch.zeros(n, longest, s.shape[2], dtype=F64)], 1)[:, :longest]
    used = torch.arange(longest)[None, :] < lengths[:, None]
    many = torch.full((n,), float(k), dtype=F64) if const else torch.log2(lengths.to(F64)).clamp(1, k)
    mask = torch.arange(k)[None, :] < many[:, None]
    c = (s * used[..., None]) @ p.get("model.user_tower._capsule_layer.bilinear_matrix", (s.shape[2], high), -1, 1)
    fixed, b = c.detach(), torch.zeros(n, longest, k, dtype=F64)
    for i in range(iters):
        b = torch.softmax(b.masked_fill(~mask[:, None, :], float("-inf")) * scale, 2) * used[..., None]
        if i + 1 < iters:
            b = b + torch.einsum("bkh,bsh->bsk", torch.einsum("bsh,bsk->bkh", fixed, b), normalise(fixed))
    return squash(torch.einsum("bsh,bsk->bkh", c, b), power) * mask[..., None], mask


def mind_model(p, b, hist_units, bn, out, longest, k, const, power, simi_pow, **how):
    n, at = b["rows"], "model.user_tower."
    u = deep(p, b, ["u", "p"], bags=own_bags("user_tower"))
    u = linear(p, at + "user_mlp_out", mlp(p, at + "user_mlp", u, [6]), 5)
    _, s, lengths = sequence(p, b, [], ["s__i", "s__c"], SEQS.replace("model.", at))
    if len(hist_units) > 1:
        s = mlp(p, at + "_hist_seq_mlp", s, hist_units[:-1], norm="bn" if bn else "", bias=False)
        s = linear(p, at + "_hist_seq_mlp_out", s, hist_units[-1], bias=False)
    elif hist_units:
        s = linear(p, at + "_hist_seq_mlp", s, hist_units[-1], bias=False)
    h, mask = capsules(p, s, lengths, longest, k, 6, 3, 2.0, power, const)
    z = torch.cat([u[:, None, :].expand(n, k, 5), h], -1) * mask[..., None]
    z = mlp(p, at + "_concat_mlp", z, [7], act="nn.Tanh", norm="ln" if bn else "") * mask[..., None]
    if out > 0:
        z = linear(p, at + "output", z, out, bias=False)
    z = normalise(z)
    item = deep(p, b, ["i", "c"], bags=own_bags("item_tower", "__NEG__"), rows=b["items"])
    item = tower(p, "item_tower", item, [out or 7], out, True, act="nn.Tanh")
    weights = torch.einsum("bkd,bd->bk", z, item[:n]) * simi_pow
    weights = torch.softmax(weights.masked_fill(~mask, float("-inf")), -1)
    return match(b, torch.einsum("bk,bkd->bd", weights, z), item, **how)


def mind_config(hist, out, longest, more, capsule, item):
    return (group("user", "u p") + group("hist", "s__i s__c", "SEQUENCE") + group("item", "i c") + RECALL +
            " mind { user_tower { input: 'user' history_input: 'hist' user_mlp { hidden_units: [6, 5] } " + hist +
            f" capsule_config {{ max_seq_len: {longest} high_dim: 6 num_iters: 3 routing_logits_scale: 2"
            f" routing_init_method: 'zeros' {capsule} }}"
            f" concat_mlp {{ hidden_units: [7] activation: 'nn.Tanh' {more} }} }}"
            f" item_tower {{ input: 'item' mlp {{ hidden_units: [{item}] activation: 'nn.Tanh' }} }}"
            f" output_dim: {out} ")


@case(mind_config("hist_seq_mlp { hidden_units: [5, 4] }", 4, 9, "", "max_k: 3", 4) +
      "simi_pow: 4 temperature: 0.5 }\n",
      data=sampler("negative_sampler", "i c"), items=("i c", 4, lambda n: [0] * n))
def mind(p, b):
    return mind_model(p, b, [5, 4], False, 4, 9, 3, False, 1.0, 4.0, temperature=0.5)


@case(mind_config("hist_seq_mlp { hidden_units: [5, 4] use_bn: true }", 0, 9, "use_ln: true",
                  "max_k: 4 const_caps_num: true squash_pow: 0.7", 7) + "}\n", sample_weight=True,
      data=sampler("hard_negative_sampler", "i c"),
      items=("i c", 3, lambda n: [(2 * k) % 4 for k in range(n)]))
def mind_hard(p, b):
    return mind_model(p, b, [5, 4], True, 0, 9, 4, True, 0.7, 10.0, weights=normalised(column(b, "sw")))


@case(mind_config("", 4, 4, "", "max_k: 3", 4) + "simi_pow: 4 temperature: 0.5 }\n",
      data=sampler("negative_sampler", "i c"), items=("i c", 4, lambda n: [0] * n))
def mind_short(p, b):
    """Fewer positions are routed than there are, but all of them count."""
    return mind_model(p, b, [], False, 4, 4, 3, False, 1.0, 4.0, temperature=0.5)
