# SPDX-License-Identifier: Apache-2.0
"""Cases of the HSTU family, written from the formulas of Zhai et al. 2024 and of TorchEasyRec's
options; see cases.py. One user at a time, with whole matrices and a mask worked out pair by pair."""
import math

import torch
import torch.nn.functional as F

from blocks import F64, bce, jrc, linear, mlp, softmax_ce
from cases import case, group
from data import BAGS, SEQS, column, vector
from match import RECALL, normalise, sampler

HEAD = "model._hstu_transducer."


def norm_by(p, name, x, shape, eps, weight="weight", bias="bias", low=0.5, high=1.5):
    m, v = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
    y = (x - m) / torch.sqrt(v + eps)
    w, b = p.get(name + weight, shape, low, high), p.get(name + bias, shape, -0.3, 0.3)
    return y * w.reshape(-1) + b.reshape(-1)


def layer_norm(p, name, x, eps=1e-5):
    return norm_by(p, name + ".", x, (x.shape[-1],), eps)


def swish_norm(p, name, x):
    return x * torch.sigmoid(layer_norm(p, name, x))


def swish_net(p, name, x, hidden, out):
    x = swish_norm(p, name + ".1", linear(p, name + ".0", x, hidden))
    return layer_norm(p, name + ".3", linear(p, name + ".2", x, out))


class Simple:
    def __init__(self, hidden):
        self.hidden = hidden

    def __call__(self, p, name, x, context, out):
        return swish_net(p, name + "._mlp", x, self.hidden, out)


class Steered:
    """The matrix follows from the context of the user."""

    def __init__(self, hidden):
        self.hidden = hidden

    def __call__(self, p, name, x, context, out):
        n = x.shape[-1]
        c = linear(p, name + "._dense_features_compress", context, self.hidden)
        a = linear(p, name + "._attn_raw_weights.0", c, n * out)
        a = norm_by(p, name + "._attn_weights_norm.", a, (n, out), 1e-5).reshape(n, out)
        r = swish_norm(p, name + "._res_weights.1", linear(p, name + "._res_weights.0", c, self.hidden))
        return x @ a + linear(p, name + "._res_weights.2", r, out)


def actions(p, name, action, watch, weights, thresholds, more, dim):
    table = p.get(name + "_action_embedding_table", (len(weights) + len(more), dim), -0.8, 0.8)
    target = p.get(name + "_target_action_embedding_table", (1, (len(weights) + len(more)) * dim), -0.8, 0.8)
    out = []
    for k, a in enumerate(action):
        bits = int(a)
        for t, m in zip(thresholds, more):
            bits |= m if watch[k] >= t else 0
        out.append(torch.cat([table[i] if bits & w else 0 * table[i] for i, w in enumerate(list(weights) + list(more))]))
    return (torch.stack(out) if out else torch.zeros(0, target.shape[1], dtype=F64)), target


def sees(n, targets, c, window=0, local=0, first=0):
    """[n, n] of which token sees which."""
    m = torch.zeros(n, n, dtype=F64)
    history = n - targets
    for i in range(n):
        for j in range(n):
            if local or first:
                k = max(first, c)
                yes = j < history if i >= history else j <= i and (j < k or j > i - local)
            else:
                number = lambda q: min(max(q - c + 1, 0) if c else q, history - c + 1 if c else history)
                a, b = number(i), number(j)
                yes = i == j or (a > b and (not window or a - b <= window))
                yes = yes or (c > 0 and a == 0 and b < history - c + 1)
            m[i, j] = float(yes)
    return m


def stu(p, name, x, targets, c, o):
    heads, h, a = o["heads"], o["hidden"], o["attention"]
    e, all_ = x.shape[1], 2 * heads * (h + a)
    n = norm_by(p, name, x, (e,), 1e-6, "_input_norm_weight", "_input_norm_bias")
    z = n @ p.get(name + "_uvqk_weight", (e, all_), -0.7, 0.7) + p.get(name + "_uvqk_beta", (all_,), -0.3, 0.3)
    u, v, q, k = z.split([heads * h, heads * h, heads * a, heads * a], 1)
    u = F.silu(u)
    mask = sees(len(x), targets, c, o.get("window", 0), o.get("local", 0), o.get("first", 0))
    bias = 0
    if "near" in o:  # a bias of distances; candidates stand right behind the history
        table = p.get(name + "_relative_position_bias", (o["near"],), -0.9, 0.9)
        place = torch.arange(len(x)).clamp(max=len(x) - targets)
        bias = table[(place[:, None] - place[None]).abs().clamp(max=o["near"] - 1)]
    parts = []
    for i in range(heads):
        at, vt = slice(i * a, (i + 1) * a), slice(i * h, (i + 1) * h)
        w = F.silu(o.get("alpha", a**-0.5) * q[:, at] @ k[:, at].T + bias) / o["n"] * mask
        parts.append(w @ v[:, vt])
    y = torch.cat(parts, 1)
    if o.get("groups"):
        w = p.get(name + "_output_norm_weight", (heads,), 0.5, 1.5)
        b = p.get(name + "_output_norm_bias", (heads,), -0.3, 0.3)
        each = []
        for i, part in enumerate(parts):
            m, s = part.mean(1, keepdim=True), part.var(1, unbiased=False, keepdim=True)
            each.append((part - m) / torch.sqrt(s + 1e-6) * w[i] + b[i])
        normed = torch.cat(each, 1)
    else:
        normed = norm_by(p, name, y, (heads * h,), 1e-6, "_output_norm_weight", "_output_norm_bias")
    return x + torch.cat([u, y, u * normed], 1) @ p.get(name + "_output_weight", (3 * heads * h, e), -0.5, 0.5)


def positions(p, name, x, times, query, targets, c, o):
    n, e = x.shape
    buckets = o["positions"]
    table = p.get(name + "_position_embeddings_weight", (buckets, e), -0.6, 0.6)
    history = n - targets
    if not o.get("times"):
        at = [min(i, min(history, buckets - 1)) for i in range(n)]
        return math.sqrt(e) * x + table[at]
    at = [i if i < c else min(history - min(i, history) + c, buckets - 1) for i in range(n)]
    k = o["times"]
    when = p.get(name + "_timestamp_embeddings_weight", (k + 1, e), -0.6, 0.6)
    d = (torch.tensor(query, dtype=torch.float32) - torch.tensor(times, dtype=torch.float32)).clamp(min=1e-6)
    d = d / o.get("increments", 60.0)
    d = torch.log(d) if o.get("log") else torch.sqrt(d)
    row = ((d / k).clamp(0, 1) * k).int().tolist()
    return math.sqrt(e) * x + table[at] + when[row]


def waves(times, units, per):
    t = torch.tensor(times, dtype=torch.float32).unsqueeze(1)
    u, q = torch.tensor(units, dtype=torch.float32), torch.tensor(per, dtype=torch.float32)
    angle = (torch.remainder(torch.div(t, u, rounding_mode="floor"), q) / q * 2 * 3.14).to(F64)
    return torch.stack([torch.cos(angle), torch.sin(angle)], -1).flatten(1)


def transducer(p, name, context, user, o):
    """What the model makes of one user's candidates, [T, E]. user: lists of vectors and numbers."""
    pre, e = name + "_input_preprocessor.", o["width"]
    history, target = user["history"], user.get("target")
    n_h, n_t = len(history), 0 if target is None else len(target)
    c = o["tokens"] if context is not None else 0
    parts = []
    if context is not None:
        d = context.shape[0] // c
        w = p.get(pre + "_batched_contextual_linear_weights", (c, d, e), -0.6, 0.6)
        b = p.get(pre + "_batched_contextual_linear_bias", (c, 1, e), -0.3, 0.3)
        parts.append(torch.einsum("cd,cde->ce", context.reshape(c, d), w) + b[:, 0])
    each = 1
    if o["content"] == "uih":
        x = linear(p, pre + "_input_projection", history, e)
        if "actions" in o:
            a, t = actions(p, pre + "_action_encoder.", user["action"], user["watch"], *o["actions"])
            x = x + o["action_net"](p, pre + "_action_embedding_mlp", a, context, e) + 0 * t.sum()
        parts.append(x)
    else:
        if o["content"] == "slice":
            target = target[:, :history.shape[1]]
        elif o["content"] == "pad":
            more = p.get(pre + "_content_encoder._target_enrich_dummy_embeddings",
                         (1, target.shape[1] - history.shape[1]), -0.8, 0.8)
            history = torch.cat([history, more.expand(n_h, -1)], 1)
        else:
            history = mlp(p, pre + "_content_encoder.uih_mlp", history, o["content"])
            target = mlp(p, pre + "_content_encoder.target_mlp", target, o["content"])
        net = lambda v: o["net"](p, pre + "_content_embedding_mlp", v, context, e)
        x, y = net(history), net(target)
        if "actions" in o:
            a, t = actions(p, pre + "_action_encoder.", user["action"], user["watch"], *o["actions"])
            act = lambda v: o["action_net"](p, pre + "_action_embedding_mlp", v, context, e)
            if o.get("interleave"):
                x = torch.stack([x, act(a)], 1).reshape(-1, e)
                # behind candidates, too, in training: nobody sees them
                y = y + 0 * act(t).sum()
                each = 2
            else:
                x, y = x + act(a), y + act(t.expand(n_t, -1))
        parts += [x, y]
    x = torch.cat(parts)
    times = [0.0] * c + [t for t in user["time"] for _ in range(each)] + list(user.get("target_time", []))
    query = user["query"] if "query" in user else times[-1] if times else 0.0
    x = positions(p, name + "_positional_encoder.", x, times, query, n_t, c, o)
    for i in range(o["layers"]):
        if o.get("split") == i and i:
            keep = list(range(c)) + list(range(max(c, c + n_h * each - o["tail"]), len(x)))
            x, times = x[keep], [times[k] for k in keep]
            n_h, each = min(n_h * each, o["tail"]), 1
        x = stu(p, f"{name}_stu_module._stu_layers.{i}.", x, n_t, c, o)
    if target is not None:
        x, times = x[len(x) - n_t:], times[len(times) - n_t:]
    post = name + "_output_postprocessor."
    if o["post"] == "l2":
        return x / x.norm(dim=1, keepdim=True).clamp_min(1e-6)
    if o["post"] != "norm":
        both = torch.cat([x, waves(times, *o["post"])], 1)
        x = linear(p, post + "_time_feature_combiner", both, e)
    return layer_norm(p, post + "_layer_norm", x)


def rows_of(p, b, names, k, seqs=SEQS):
    f = b["features"]
    n = len(f[names[0]][k])
    width = {"hi": 4, "li": 4, "xi": 4, "xc": 3}
    out = [torch.cat([vector(p, seqs, x, f[x][k][t]) for x in names]) for t in range(n)]
    return torch.stack(out) if out else torch.zeros(0, sum(width[x] for x in names), dtype=F64)


def numbers(b, name, k):
    return [at[0] for at in b["features"][name][k]]


def rank(p, b, channels, context, one_token=False, context_tables=BAGS, target="xi xc", newest_first=False):
    """What channels and item net say of all candidates, [all, sum of widths]."""
    out = []
    many = len(channels) > 1
    for k in range(b["rows"]):
        x = torch.cat([vector(p, context_tables, n, b["features"][n][k], query=context_tables == SEQS)
                       for n in context.split()])
        flip = (lambda v: v.flip(0) if torch.is_tensor(v) else v[::-1]) if newest_first else (lambda v: v)
        t = flip(rows_of(p, b, target.split(), k))
        users = []
        for i, (prefix, o) in enumerate(channels):
            o = dict(o, tokens=1 if one_token else len(context.split()))
            user = {"history": flip(rows_of(p, b, [prefix + "i"], k)), "target": t,
                    "time": flip(numbers(b, prefix + "t", k)), "target_time": flip(numbers(b, "xt", k)),
                    "action": flip(numbers(b, prefix + "a", k)), "watch": flip(numbers(b, prefix + "w", k))}
            name = HEAD + (f"_transducers.{i}." if many else "")
            users.append(transducer(p, name, x, user, o))
        user = torch.cat(users, 1)
        item = swish_net(p, "model._item_embedding_mlp", t, 6, user.shape[1])
        out.append(flip(user * item))
    return torch.cat(out)


def heads(p, b, f, tasks, units=None):
    """tasks: (name, column, mask, kind, weight); a column has a value per candidate."""
    if units:
        f = mlp(p, "model._multitask_module.tower_mlp", f, units)
    classes = [2 if kind in ("softmax", "jrc") else 1 for _, _, _, kind, _ in tasks]
    o = linear(p, "model._multitask_module.linear", f, sum(classes))
    outputs, losses, at = {}, {}, 0
    for (name, label, mask, kind, weight), n in zip(tasks, classes):
        z, y = o[:, at:at + n], column(b, label)
        at += n
        if mask:
            y = torch.tensor([float(int(v) & mask > 0) for v in y.tolist()], dtype=F64)
        w = None if weight is None else torch.full((len(f),), weight, dtype=F64)
        if kind == "l2":
            outputs["y_" + name] = z[:, 0]
            losses["l2_loss_" + name] = ((z[:, 0] - y)**2, w)
        elif kind == "bce":
            outputs.update({"logits_" + name: z[:, 0], "probs_" + name: torch.sigmoid(z[:, 0])})
            losses["binary_cross_entropy_" + name] = (bce(z[:, 0], y), w)
        else:
            probs = torch.softmax(z, 1)
            outputs.update({"logits_" + name: z, "probs_" + name: probs, "probs1_" + name: probs[:, 1]})
            if kind == "jrc":
                session = torch.tensor([b["features"]["k"][k][0] for k in range(b["rows"])
                                        for _ in b["features"]["xi"][k]])
                losses["jrc_loss_" + name] = (jrc(z, y, session, 0.5), w)
            else:
                losses["softmax_cross_entropy_" + name] = (softmax_ce(z, y), w)
    return outputs, losses


def groups(context="u i k", context_kind="DEEP", target="xi xc", prefixes=("h",), names=("uih",), more="t a w"):
    text = group("contextual", context, context_kind) + group("candidate", target, "JAGGED_SEQUENCE")
    text += group("candidate_timestamp", "xt", "JAGGED_SEQUENCE")
    what = {"t": "timestamp", "a": "action", "w": "watchtime"}
    for p, n in zip(prefixes, names):
        text += group(n, p + "i", "JAGGED_SEQUENCE")
        text += "".join(group(f"{n}_{what[k]}", p + k, "JAGGED_SEQUENCE") for k in more.split())
    return text


def task(name, label, loss, mask=None, more=""):
    bits = f" task_bitmask: {mask}" if mask else ""
    return f" task_configs {{ task_name: '{name}' label_name: '{label}'{bits} losses {{ {loss} }} {more} }}\n"


CLICK = task("click", "acts", "binary_cross_entropy {}", 1)
LIKE = task("like", "acts", "softmax_cross_entropy {}", 6, "num_class: 2")
STAY = task("stay", "stays", "l2_loss {}", None, "weight: 0.5")
TASKS = [("click", "acts", 1, "bce", None), ("like", "acts", 6, "softmax", None), ("stay", "stays", None, "l2", 0.5)]
ACTIONS = (" action_encoder { simple_action_encoder { action_embedding_dim: 3 action_weights: [1, 6]"
           " watchtime_to_action_thresholds: [5, 9] watchtime_to_action_weights: [8, 16] } }")
ACTION_LIST = ([1, 6], [5, 9], [8, 16], 3)
PLAIN = " input_dropout_ratio: 0 "


def shape(width, heads_, hidden, attention, more=""):
    return (f" stu {{ embedding_dim: {width} num_heads: {heads_} hidden_dim: {hidden} attention_dim: {attention}"
            f" output_dropout_ratio: 0 {more} }}")


MAIN = {"width": 6, "heads": 2, "hidden": 3, "attention": 4, "n": 20, "layers": 2, "content": "slice",
        "net": Simple(5), "actions": ACTION_LIST, "action_net": Simple(4), "positions": 8, "times": 9,
        "post": ([3600, 86400], [24, 7])}
MAIN_TEXT = ("hstu {" + PLAIN + shape(6, 2, 3, 4) + " attn_num_layers: 2"
             " positional_encoder { num_position_buckets: 8 num_time_buckets: 9 use_time_encoding: true }"
             " input_preprocessor { contextual_preprocessor {" + ACTIONS +
             " action_mlp { simple_mlp { hidden_dim: 4 } } content_encoder { slice_content_encoder {} }"
             " content_mlp { simple_mlp { hidden_dim: 5 } } } }"
             " output_postprocessor { timestamp_layernorm_postprocessor {"
             " time_duration_period_units: [3600, 86400] time_duration_units_per_period: [24, 7] } } %s }\n")


@case(groups() + " dlrm_hstu { " + MAIN_TEXT % "" + " fusion_mtl_tower { mlp { hidden_units: [5] }\n" +
      CLICK + LIKE + STAY + " } max_seq_len: 20 item_embedding_hidden_dim: 6 }\n", data="%LISTS%")
def dlrm_hstu(p, b):
    return heads(p, b, rank(p, b, [("h", MAIN)], "u i k"), TASKS, [5])


WOVEN = {"width": 4, "heads": 2, "hidden": 5, "attention": 3, "n": 50, "layers": 3, "content": "pad",
         "net": Simple(5), "actions": ([1, 2, 4], [], [], 2), "action_net": Simple(3), "positions": 6, "times": 5,
         "log": True, "increments": 7.0, "interleave": True, "groups": True, "window": 3, "split": 1, "tail": 5,
         "post": "norm"}

@case(groups("u k", more="t a") + " dlrm_hstu { hstu {" + PLAIN +
      shape(4, 2, 5, 3, "use_group_norm: true max_attn_len: 3") +
      " attn_num_layers: 3 attn_truncation_split_layer: 1 attn_truncation_tail_len: 5"
      " positional_encoder { num_position_buckets: 6 num_time_buckets: 5 use_time_encoding: true"
      " time_bucket_fn: 'log' time_bucket_increments: 7 }"
      " input_preprocessor { contextual_interleave_preprocessor {"
      " action_encoder { simple_action_encoder { action_embedding_dim: 2 action_weights: [1, 2, 4] } }"
      " action_mlp { simple_mlp { hidden_dim: 3 } } content_encoder { pad_content_encoder {} }"
      " content_mlp { simple_mlp { hidden_dim: 5 } } } }"
      " output_postprocessor { layernorm_postprocessor {} } }\n fusion_mtl_tower {\n" + CLICK +
      " } max_seq_len: 50 item_embedding_hidden_dim: 6 }\n", data="%LISTS%")
def dlrm_hstu_interleave(p, b):
    f = rank(p, b, [("h", WOVEN)], "u k")
    return heads(p, b, f, TASKS[:1])


STEERED = {"width": 5, "heads": 2, "hidden": 2, "attention": 2, "n": 7, "layers": 1, "content": [4, 3],
           "net": Steered(4), "actions": ACTION_LIST, "action_net": Steered(3), "positions": 12, "alpha": 0.3,
           "post": "l2"}


@case(groups("u v i") + " dlrm_hstu { hstu {" + PLAIN + shape(5, 2, 2, 2, "attn_alpha: 0.3 scaling_seqlen: 7") +
      " attn_num_layers: 1 positional_encoder { num_position_buckets: 12 }"
      " input_preprocessor { contextual_preprocessor {" + ACTIONS +
      " action_mlp { parameterized_mlp { hidden_dim: 3 contextual_dropout_ratio: 0 } }"
      " content_encoder { mlp_content_encoder { uih_mlp { hidden_units: [4, 3] } target_mlp { hidden_units: [4, 3] } } }"
      " content_mlp { parameterized_mlp { hidden_dim: 4 contextual_dropout_ratio: 0 } } } }"
      " output_postprocessor { l2norm_postprocessor {} } }\n fusion_mtl_tower {\n" + CLICK + STAY +
      " } max_seq_len: 20 item_embedding_hidden_dim: 6 concat_contextual_features: true"
      " sequence_timestamp_is_ascending: false }\n", data="%LISTS%")
def dlrm_hstu_steered(p, b):
    f = rank(p, b, [("h", STEERED)], "u v i", one_token=True, newest_first=True)
    return heads(p, b, f, [TASKS[0], TASKS[2]])


LOCAL = {"width": 4, "heads": 1, "hidden": 3, "attention": 2, "n": 20, "layers": 2, "content": "slice",
         "net": Simple(5), "positions": 9, "times": 4, "local": 2, "first": 4, "post": "norm"}


@case(groups("u k", "SEQUENCE", more="t") + " dlrm_hstu { hstu {" + PLAIN +
      shape(4, 1, 3, 2, "sla_k1: 2 sla_k2: 4") +
      " attn_num_layers: 2 positional_encoder { num_position_buckets: 9 num_time_buckets: 4 use_time_encoding: true }"
      " input_preprocessor { contextual_interleave_preprocessor { enable_interleaving: false"
      " content_encoder { slice_content_encoder {} } content_mlp { simple_mlp { hidden_dim: 5 } } } }"
      " output_postprocessor { layernorm_postprocessor {} } }\n fusion_mtl_tower {\n" +
      task("rank", "acts", "jrc_loss { session_name: 'k' }", 1, "num_class: 2") +
      " } max_seq_len: 20 item_embedding_hidden_dim: 6 sequence_timestamp_is_ascending: false }\n", data="%LISTS%")
def dlrm_hstu_local(p, b):
    f = rank(p, b, [("h", LOCAL)], "u k", context_tables=SEQS, newest_first=True)
    return heads(p, b, f, [("rank", "acts", 1, "jrc", None)])


NEAR = dict(LOCAL, heads=2, near=4, post="l2")
del NEAR["local"], NEAR["first"]


@case(groups("u k", more="t") + " dlrm_hstu { hstu {" + PLAIN +
      shape(4, 2, 3, 2, "relative_position_buckets: 4") +
      " attn_num_layers: 2 positional_encoder { num_position_buckets: 9 num_time_buckets: 4 use_time_encoding: true }"
      " input_preprocessor { contextual_interleave_preprocessor { enable_interleaving: false"
      " content_encoder { slice_content_encoder {} } content_mlp { simple_mlp { hidden_dim: 5 } } } }"
      " output_postprocessor { l2norm_postprocessor {} } }\n fusion_mtl_tower {\n" + CLICK +
      " } max_seq_len: 20 item_embedding_hidden_dim: 6 }\n", data="%LISTS%")
def dlrm_hstu_near(p, b):
    return heads(p, b, rank(p, b, [("h", NEAR)], "u k"), TASKS[:1])


SECOND = {"width": 4, "heads": 1, "hidden": 3, "attention": 2, "n": 20, "layers": 1, "content": "slice",
          "net": Simple(3), "positions": 7, "post": "norm"}


@case(groups(prefixes=("h", "l"), names=("near", "far")) + " ultra_hstu { " + MAIN_TEXT % "name: 'near'" +
      " hstu { name: 'far'" + PLAIN + shape(4, 1, 3, 2) +
      " attn_num_layers: 1 positional_encoder { num_position_buckets: 7 }"
      " input_preprocessor { contextual_preprocessor {"
      " content_encoder { slice_content_encoder {} } content_mlp { simple_mlp { hidden_dim: 3 } } } }"
      " output_postprocessor { layernorm_postprocessor {} } }\n fusion_mtl_tower {\n" + CLICK + STAY +
      " } max_seq_len: 20 item_embedding_hidden_dim: 6 }\n", data="%LISTS%")
def ultra_hstu(p, b):
    f = rank(p, b, [("h", MAIN), ("l", SECOND)], "u i k")
    return heads(p, b, f, [TASKS[0], TASKS[2]])


def last_tokens(p, b, o, context="", query=None, newest_first=False):
    """What the model makes of the last token of each user; zeros where there is none."""
    out = []
    for k in range(b["rows"]):
        flip = (lambda v: v.flip(0) if torch.is_tensor(v) else v[::-1]) if newest_first else (lambda v: v)
        x = None
        if context:
            x = torch.cat([vector(p, BAGS, n, b["features"][n][k]) for n in context.split()])
        user = {"history": flip(rows_of(p, b, ["hi"], k)), "time": flip(numbers(b, "ht", k)),
                "action": flip(numbers(b, "ha", k)), "watch": flip(numbers(b, "hw", k))}
        if query:
            user["query"] = b["features"][query][k][0]
        y = transducer(p, "model.user_tower._hstu_encoder.", x, user, dict(o, tokens=len(context.split())))
        out.append(y[-1] if len(y) else torch.zeros(o["width"], dtype=F64) + 0 * y.sum())
    return torch.stack(out)


def meet(p, b, user, items, temperature):
    """Each item of a row against those for all and those of the row."""
    own, hard, n = b["own_at"], b["hard_at"] or [0] * (b["rows"] + 1), b["own_at"][-1]
    most = max(hard[k + 1] - hard[k] for k in range(b["rows"]))
    common, rows = items[n:n + b["common"]], []
    for k in range(b["rows"]):
        of_row = items[n + b["common"] + hard[k]:n + b["common"] + hard[k + 1]]
        for i in range(own[k], own[k + 1]):
            rows.append(torch.cat([items[i:i + 1] @ user[k], common @ user[k], of_row @ user[k],
                                   torch.full((most - len(of_row),), -1e32, dtype=F64)]))
    scores = torch.stack(rows) / temperature
    return ({"similarity": scores, "user_tower_emb": user, "item_tower_emb": items},
            {"softmax_cross_entropy": (-torch.log_softmax(scores, 1)[:, 0], None)})


def items_of(p, b, rows="__BASE__"):
    table, f = SEQS.replace("__BASE__", rows), b["features"]
    return torch.stack([torch.cat([vector(p, table, n, f[n][k]) for n in ("x__i", "x__c")]) for k in range(b["items"])])


UIH = {"width": 6, "heads": 2, "hidden": 3, "attention": 4, "n": 20, "layers": 2, "content": "uih",
       "actions": ACTION_LIST, "action_net": Simple(4), "positions": 8, "times": 9, "post": "l2"}
CANDIDATES = group("candidate", "x__i x__c", "JAGGED_SEQUENCE")
LISTS_OF = sampler("negative_sampler", "i c", "force_base_data_group: true").replace("item_id_field: 'i'",
                                                                                    "item_id_field: 'x__i'")
HARD_OF = sampler("hard_negative_sampler", "i c").replace("item_id_field: 'i'", "item_id_field: 'x__i'")
HISTORY = "".join(group(n, f, "JAGGED_SEQUENCE") for n, f in (("uih", "hi"), ("uih_timestamp", "ht"), ("uih_action", "ha"),
                                                              ("uih_watchtime", "hw")))


@case(group("contextual", "u k") + HISTORY + CANDIDATES + group("query_time", "qt") + RECALL +
      " hstu_match { user_tower { input: 'uih' hstu {" + PLAIN + shape(6, 2, 3, 4) + " attn_num_layers: 2"
      " positional_encoder { num_position_buckets: 8 num_time_buckets: 9 use_time_encoding: true }"
      " input_preprocessor { uih_preprocessor {" + ACTIONS + " action_mlp { simple_mlp { hidden_dim: 4 } } } }"
      " output_postprocessor { l2norm_postprocessor {} } } max_seq_len: 20 }\n"
      " item_tower { input: 'candidate' mlp { hidden_units: [5, 6] activation: 'nn.Tanh' } }"
      " similarity: COSINE temperature: 0.2 }\n", data=LISTS_OF, items=("x__i x__c", 4, lambda n: [0] * n))
def hstu_match(p, b):
    user = normalise(last_tokens(p, b, UIH, "u k", "qt"))
    item = mlp(p, "model.item_tower.mlp", items_of(p, b), [5, 6], "nn.Tanh")
    return meet(p, b, user, normalise(item), 0.2)


TAIL = {"width": 5, "heads": 1, "hidden": 3, "attention": 2, "n": 30, "layers": 3, "content": "uih", "groups": True,
        "window": 4, "split": 2, "tail": 3, "positions": 5, "times": 6, "post": ([3600], [24])}


@case(HISTORY.split(" feature_groups { group_name: 'uih_action'")[0] + CANDIDATES + RECALL +
      " hstu_match { user_tower { input: 'uih' hstu {" + PLAIN +
      shape(5, 1, 3, 2, "use_group_norm: true max_attn_len: 4") +
      " attn_num_layers: 3 attn_truncation_split_layer: 2 attn_truncation_tail_len: 3"
      " positional_encoder { num_position_buckets: 5 num_time_buckets: 6 use_time_encoding: true }"
      " input_preprocessor { uih_preprocessor {} } output_postprocessor { timestamp_layernorm_postprocessor {"
      " time_duration_period_units: 3600 time_duration_units_per_period: 24 } } } max_seq_len: 30 }\n"
      " item_tower { input: 'candidate' } output_dim: 4 similarity: COSINE temperature: 0.5"
      " sequence_timestamp_is_ascending: false }\n",
      data=HARD_OF, items=("x__i x__c", 3, lambda n: [(2 * k) % 4 for k in range(n)]))
def hstu_match_hard(p, b):
    """Items have tables of their own; rows have up to three hard ones, which each of their items meets."""
    user = linear(p, "model.user_tower.output", last_tokens(p, b, TAIL, newest_first=True), 4)
    item = linear(p, "model.item_tower.output", items_of(p, b, "__NEG__"), 4)
    return meet(p, b, normalise(user), normalise(item), 0.5)
