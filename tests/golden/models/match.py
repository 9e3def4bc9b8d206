# SPDX-License-Identifier: Apache-2.0
"""Cases of the retrieval models; see cases.py."""
import torch

from blocks import F64, linear, mlp, normalised
from cases import case, group
from data import BAGS, column, deep

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
