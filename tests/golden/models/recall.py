# SPDX-License-Identifier: Apache-2.0
"""Cases of our own retrieval models; see cases.py."""
import torch

from blocks import F64, linear, mlp, normalised, softmax_ce
from cases import LOSS, binary, case, group
from data import BAGS, SEQS, column, deep, sequence
from match import RECALL, match, own_bags, sampler

LOGISTIC = " losses { binary_cross_entropy {} } metrics { recall_at_k { top_k: 2 } }\n"


def gru(p, name, s, width, layer=0):
    """[B, T, in] -> [B, T, width], from the formulas of the gates."""
    w_i, w_h = (p.get(f"{name}.weight_{x}_l{layer}", (3 * width, k), -0.7, 0.7) for x, k in
                (("ih", s.shape[2]), ("hh", width)))
    b_i, b_h = (p.get(f"{name}.bias_{x}_l{layer}", (3 * width,), -0.5, 0.5) for x in ("ih", "hh"))
    h, out = torch.zeros(s.shape[0], width, dtype=F64), []
    for t in range(s.shape[1]):
        a, b = s[:, t] @ w_i.T + b_i, h @ w_h.T + b_h
        r = torch.sigmoid(a[:, :width] + b[:, :width])
        z = torch.sigmoid(a[:, width:2 * width] + b[:, width:2 * width])
        n = torch.tanh(a[:, 2 * width:] + r * b[:, 2 * width:])
        h = (1 - z) * n + z * h
        out.append(h)
    return torch.stack(out, 1)


def last(h, lengths):
    """The state behind the last position; zeros where there is none."""
    picked = h[torch.arange(len(lengths)), (lengths - 1).clamp_min(0)]
    return torch.where((lengths > 0)[:, None], picked, torch.zeros_like(picked))


def with_bias(user, item, bias):
    return torch.cat([user, torch.ones(len(user), 1, dtype=F64)], -1), torch.cat([item, bias.sum(-1, keepdim=True)], -1)


@case(group("user", "u v p") + group("item", "i c") + RECALL +
      " youtube_dnn { user_tower { input: 'user' mlp { hidden_units: [6, 5] } } item_input: 'item' item_bias: true"
      " temperature: 0.5 }\n", data=sampler("negative_sampler", "i c"), items=("i c", 4, lambda n: [0] * n))
def youtube_dnn(p, b):
    u = mlp(p, "model.user_tower.mlp", deep(p, b, "u v p".split(), bags=own_bags("user_tower")), [6, 5])
    u = linear(p, "model.user_tower.output", u, 8, bias=False)
    bags = own_bags("item_tower", "__NEG__")
    i = deep(p, b, ["i", "c"], bags=bags, rows=b["items"])
    return match(b, *with_bias(u, i, deep(p, b, ["i", "c"], wide=1, bags=bags, rows=b["items"])), 0.5)


@case(group("user", "u c p") + " losses { softmax_cross_entropy {} } num_class: 3\n"
      " youtube_dnn { user_tower { input: 'user' mlp { hidden_units: [6, 5] } } }\n")
def youtube_dnn_classes(p, b):
    u = mlp(p, "model.user_tower.mlp", deep(p, b, "u c p".split(), bags=own_bags("user_tower")), [6, 5])
    o = linear(p, "model.output", u, 3)
    return ({"logits": o, "probs": torch.softmax(o, -1)},
            {"softmax_cross_entropy": (softmax_ce(o, column(b, "clk")), None)})


@case(group("session", "s__i s__c", "SEQUENCE") + group("item", "i") + RECALL +
      " gru4rec { input: 'session' hidden_units: [5, 4] item_input: 'item' in_batch_negative: true }\n",
      sample_weight=True)
def gru4rec(p, b):
    _, s, n = sequence(p, b, [], ["s__i", "s__c"], SEQS.replace("model.", "model.user_tower."))
    h = gru(p, "model.user_tower.gru", gru(p, "model.user_tower.gru", s, 5), 4, 1)
    i = deep(p, b, ["i"], bags=own_bags("item_tower"))
    return match(b, last(h, n), i, in_batch=True, weights=normalised(column(b, "sw")))


@case(group("session", "s__i", "SEQUENCE") + group("item", "i") + RECALL +
      " gru4rec { input: 'session' hidden_units: 6 item_input: 'item' item_bias: true share_tables: true }\n",
      data=sampler("negative_sampler", "i"), items=("i", 5, lambda n: [0] * n))
def gru4rec_shared(p, b):
    """One table of items for session and target."""
    _, s, n = sequence(p, b, [], ["s__i"], BAGS)
    u = linear(p, "model.user_tower.output", last(gru(p, "model.user_tower.gru", s, 6), n), 4, bias=False)
    i = deep(p, b, ["i"], rows=b["items"])
    bias = deep(p, b, ["i"], wide=1, bags=own_bags("item_tower"), rows=b["items"])
    return match(b, *with_bias(u, i, bias))


def widest(h, lengths):
    """The largest over the positions; zeros where there are none."""
    there = torch.arange(h.shape[1])[None] < lengths[:, None]
    h = h.masked_fill(~there[..., None], -1e30).max(1).values
    return torch.where((lengths > 0)[:, None], h, torch.zeros_like(h))


def conv(p, name, s, lengths, window, filters):
    """Windows around each position of a sequence, the largest of each filter."""
    before, n = window // 2, s.shape[1]
    wide = torch.nn.functional.pad(s, (0, 0, before, window - 1 - before))
    x = torch.cat([wide[:, k:k + n] for k in range(window)], -1)
    return widest(torch.tanh(linear(p, name, x, filters)), lengths)


def compared(query, candidates):
    unit = torch.nn.functional.normalize
    return torch.stack([(unit(query, dim=-1) * unit(c, dim=-1)).sum(-1) for c in candidates], -1)


def chosen(o, loss, name):
    probs = torch.softmax(o, -1)
    return {"logits": o, "probs": probs, "probs1": probs[:, 1]}, {name: (loss, None)}


@case(group("q", "s__i", "SEQUENCE") + group("a", "i") + group("b", "u") +
      " num_class: 2 losses { hinge_loss { margin: 0.4 } }\n"
      " match_towers { query_input: 'q' query_tower { encoder: 'gru' units: 5 output_dim: 3 }\n"
      " candidate_inputs: 'a' candidate_inputs: 'b' candidate_tower { mlp { hidden_units: [6] } output_dim: 3 } }\n")
def match_towers(p, b):
    _, s, n = sequence(p, b, [], ["s__i"], BAGS)
    q = linear(p, "model.query_tower.output", widest(gru(p, "model.query_tower.gru", s, 5), n), 3)

    def tower(name):
        return linear(p, "model.candidate_tower.output", mlp(p, "model.candidate_tower.mlp", deep(p, b, [name]), [6]), 3)
    o = compared(q, [tower("i"), tower("u")])
    y = column(b, "clk").long()[:, None]
    right, other = o.gather(1, y)[:, 0], o.gather(1, 1 - y)[:, 0]
    return chosen(o, torch.clamp(0.4 - right + other, min=0), "hinge_loss")


@case(group("q", "s__i", "SEQUENCE") + group("a", "s__c", "SEQUENCE") + group("b", "c") +
      " num_class: 2 losses { softmax_cross_entropy { reduction: 'sum' scale: 0.5 } }\n"
      " match_towers { query_input: 'q' query_tower { encoder: 'cnn' units: 3 window: 2 }\n"
      " candidate_inputs: 'a' candidate_inputs: 'b' candidate_tower { output_dim: 3 } share_candidate_tower: false"
      " scale: 4 }\n")
def match_towers_apart(p, b):
    _, s, n = sequence(p, b, [], ["s__i"], BAGS)
    _, t, _ = sequence(p, b, [], ["s__c"], BAGS)
    a = linear(p, "model.candidate_tower.0.output", t.sum(1), 3)
    c = linear(p, "model.candidate_tower.1.output", deep(p, b, ["c"]), 3)
    o = 4 * compared(conv(p, "model.query_tower.conv", s, n, 2, 3), [a, c])
    return chosen(o, softmax_ce(o, column(b, "clk")) * b["rows"] / 2, "softmax_cross_entropy")


@case(group("seeds", "s__i", "SEQUENCE") + group("user", "i") + LOSS +
      " look_alike { seeds_input: 'seeds' user_input: 'user' units: 3 }\n")
def look_alike(p, b):
    """Row by row: nothing is padded."""
    _, s, lengths = sequence(p, b, [], ["s__i"], BAGS)
    t = linear(p, "model.user", deep(p, b, ["i"]), 3, bias=False)
    unit, towers = torch.nn.functional.normalize, []
    for k in range(b["rows"]):
        x = linear(p, "model.seeds", s[k, :int(lengths[k])], 3, bias=False)
        near = torch.softmax(torch.tanh(linear(p, "model.local", x, 3, bias=False) @ t[k]), -1)
        all_ = torch.softmax(torch.tanh(linear(p, "model.global", x, 3, bias=False)) @ x.T, -1)
        towers.append(near @ x + (all_ @ x).sum(0))
    return binary((unit(torch.stack(towers), dim=-1, eps=1e-12) * unit(t, dim=-1)).sum(-1, keepdim=True), b)


@case(group("text", "s__i s__c", "SEQUENCE") + " losses { l2_loss { sigmoid_scale: 3 } }\n"
      " text_cnn { input: 'text' windows: 1 windows: 3 windows: 4 filters: 3 mlp { hidden_units: [4] } }\n")
def text_cnn(p, b):
    _, s, n = sequence(p, b, [], ["s__i", "s__c"])
    h = torch.cat([conv(p, f"model.conv.{i}", s, n, k, 3) for i, k in enumerate((1, 3, 4))], -1)
    y = 3 * torch.sigmoid(linear(p, "model.output", mlp(p, "model.mlp", h, [4]), 1).squeeze(1))
    return {"y": y}, {"l2_loss": ((y - column(b, "clk"))**2, None)}


@case(group("user_mf", "u") + group("item_mf", "i") + group("user_mlp", "u p") + group("item_mlp", "i c") + LOSS +
      " ncf { mlp { hidden_units: [6, 3] } }\n")
def ncf(p, b):
    mf = [deep(p, b, [x], bags=own_bags("mf")) for x in ("u", "i")]
    net = torch.cat([deep(p, b, x.split(), bags=own_bags("mlp")) for x in ("u p", "i c")], -1)
    h = torch.cat([mf[0] * mf[1], mlp(p, "model.mlp", net, [6, 3])], -1)
    return binary(linear(p, "model.output", h, 1), b)


@case(group("a", "u") + group("b", "i") + LOSS + " ncf { user_mf: 'a' item_mf: 'b' user_mlp: '' }\n")
def ncf_product(p, b):
    mf = [deep(p, b, [x], bags=own_bags("mf")) for x in ("u", "i")]
    return binary(linear(p, "model.output", mf[0] * mf[1], 1), b)


@case(group("word", "u") + group("context", "i") + LOGISTIC + " word2vec { input: 'word' context_input: 'context' }\n",
      sample_weight=True, data=sampler("negative_sampler", "i"), items=("i", 5, lambda n: [0] * n))
def word2vec(p, b):
    u = deep(p, b, ["u"], bags=own_bags("user_tower"))
    bags = own_bags("item_tower", "__NEG__")
    i = deep(p, b, ["i"], bags=bags, rows=b["items"])
    user, item = with_bias(u, i, deep(p, b, ["i"], wide=1, bags=bags, rows=b["items"]))
    outputs, _ = match(b, user, item)
    s = outputs["similarity"]
    own = torch.zeros_like(s)
    own[:, 0] = 1
    loss = torch.nn.functional.binary_cross_entropy_with_logits(s, own, reduction="none").sum(-1)
    return outputs, {"binary_cross_entropy": (loss, normalised(column(b, "sw")))}


def session_graph(x, nodes):
    """[T, 2H] and T numbers: matrices as the paper has them, over the distinct items."""
    half, names = x.shape[1] // 2, list(dict.fromkeys(nodes))
    edges = torch.zeros(len(names), len(names), dtype=F64)
    for a, b in zip(nodes, nodes[1:]):
        edges[names.index(a), names.index(b)] = 1
    first = x[[nodes.index(n) for n in names]]
    come, go = edges.sum(0).clamp_min(1), edges.sum(1).clamp_min(1)
    got = torch.cat([(edges / come).T @ first[:, :half], (edges / go[:, None]) @ first[:, half:]], -1)
    return got[[names.index(n) for n in nodes]]


@case(group("session", "s__i sn", "SEQUENCE") + group("item", "i") + RECALL +
      " srgnn { input: 'session' node_feature: 'sn' steps: 2 item_input: 'item' temperature: 0.5 }\n",
      data=sampler("negative_sampler", "i"), items=("i", 5, lambda n: [0] * n))
def srgnn(p, b):
    """Row by row: nothing is padded."""
    at, users = "model.user_tower.", []
    _, s, lengths = sequence(p, b, [], ["s__i"], BAGS)
    for k in range(b["rows"]):
        h, nodes = s[k, :int(lengths[k])], [v[0] for v in b["features"]["sn"][k]]
        for i in range(2):
            both = linear(p, f"{at}gnn.{i}.edge", h, 8)
            a = linear(p, f"{at}gnn.{i}.input", session_graph(both, nodes) if nodes else both, 12)
            g = linear(p, f"{at}gnn.{i}.hidden", h, 12)
            r, z = torch.sigmoid(a[:, :4] + g[:, :4]), torch.sigmoid(a[:, 4:8] + g[:, 4:8])
            n = torch.tanh(a[:, 8:] + r * g[:, 8:])
            h = n + z * (h - n)
        end = h[-1:] if nodes else torch.zeros(1, 4, dtype=F64)
        seen = linear(p, at + "linear_one", end, 4) + linear(p, at + "linear_two", h, 4, bias=False)
        weight = linear(p, at + "linear_three", torch.sigmoid(seen), 1, bias=False)
        both = torch.cat([(weight * h).sum(0, keepdim=True), end], -1)
        users.append(linear(p, at + "linear_transform", both, 4, bias=False))
    return match(b, torch.cat(users), deep(p, b, ["i"], rows=b["items"]), 0.5)
