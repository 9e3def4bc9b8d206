# SPDX-License-Identifier: Apache-2.0
"""Cases of models with several tasks; see cases.py."""
import torch

from blocks import activation, bce, din, layer_norm, linear, mlp, mmoe, normalised, softmax_ce
from cases import ENCODERS, LOSS, binary, case, group
from data import column, deep, sequence


def merged(parts):
    """Outputs and losses of several tasks together."""
    outputs, losses = {}, {}
    for o, l in parts:
        outputs.update(o)
        losses.update(l)
    return outputs, losses


def tower(p, t, x, units, n=1):
    h = mlp(p, f"model._task_tower.{t}.tower_mlp", x, units) if units else x
    return linear(p, f"model._task_tower.{t}.linear", h, n)


def in_space(b, indicator, inside, outside, factor=1.0, sample=None):
    hit = (column(b, indicator) > 0).double()
    w = inside * hit + outside * (1 - hit)
    return normalised(w * column(b, sample) if sample else w) * factor


TOWERS = (" task_towers { tower_name: 'ctr' label_name: 'clk' mlp { hidden_units: [4] }" + LOSS + " }\n"
          " task_towers { tower_name: 'cvr' label_name: 'buy' weight: 0.6 task_space_indicator_label: 'clk'"
          " in_task_space_weight: 1 out_task_space_weight: 0.25" + LOSS + " }\n")


def towers(p, b, first, second):
    """The two tasks of TOWERS."""
    w = in_space(b, "clk", 1, 0.25, 0.6)
    return merged([binary(tower(p, 0, first, [4]), b, suffix="_ctr"),
                   binary(tower(p, 1, second, None), b, w, "buy", "_cvr")])


@case(group("all", "u i c w p") + " simple_multi_task {\n" + TOWERS + " }\n")
def simple_multi_task(p, b):
    x = deep(p, b, "u i c w p".split())
    return towers(p, b, x, x)


@case(group("all", "u j v r") + " share_bottom { bottom_mlp { hidden_units: [6, 5] }\n" + TOWERS + " }\n")
def share_bottom(p, b):
    x = mlp(p, "model.bottom_mlp", deep(p, b, "u j v r".split()), [6, 5])
    return towers(p, b, x, x)


def extraction(p, at, xs, shared, own, common, units, last):
    """One layer: each task sees its own experts and the shared ones; the shared value sees all."""
    def gate(name, x, experts):
        g = torch.softmax(linear(p, at + name, x, len(experts)), -1)
        return (g.unsqueeze(-1) * torch.stack(experts, 1)).sum(1)

    both = [mlp(p, f"{at}_shared_layers.{i}", shared, units) for i in range(common)]
    private = [[mlp(p, f"{at}_task_layers.{t}.{i}", x, units) for i in range(own)] for t, x in enumerate(xs)]
    out = [gate(f"_task_gates.{t}", x, private[t] + both) for t, x in enumerate(xs)]
    everyone = [e for experts in private for e in experts] + both
    return out, None if last else gate("_shared_gate", shared, everyone)


def ple_net(name, own, common, units):
    text = ", ".join(map(str, units))
    return (f" extraction_networks {{ network_name: '{name}' expert_num_per_task: {own} share_num: {common}"
            f" task_expert_net {{ hidden_units: [{text}] }} share_expert_net {{ hidden_units: [{text}] }} }}\n")


@case(group("all", "u i c w p") + " ple {\n" + ple_net("a", 2, 1, [6, 5]) + ple_net("b", 1, 2, [4]) + TOWERS + " }\n")
def ple(p, b):
    x = deep(p, b, "u i c w p".split())
    xs, shared = extraction(p, "model._extraction_nets.0.", [x, x], x, 2, 1, [6, 5], False)
    xs, _ = extraction(p, "model._extraction_nets.1.", xs, shared, 1, 2, [4], True)
    return towers(p, b, *xs)


@case(group("all", "u j r") + " ple {\n" + ple_net("only", 2, 3, [5]) + TOWERS + " }\n")
def ple_single(p, b):
    x = deep(p, b, "u j r".split())
    xs, _ = extraction(p, "model._extraction_nets.0.", [x, x], x, 2, 3, [5], True)
    return towers(p, b, *xs)


@case(group("all", "u i c w p") + " esmm { bottom_mlp { hidden_units: [6] }\n"
      " ctr_tower { tower_name: 'ctr' label_name: 'clk' mlp { hidden_units: [4] }" + LOSS + " }\n"
      " cvr_tower { tower_name: 'cvr' label_name: 'buy' mlp { hidden_units: [5] } weight: 0.5" + LOSS + " } }\n")
def esmm(p, b):
    x = mlp(p, "model.bottom_mlp", deep(p, b, "u i c w p".split()), [6])
    ctr, cvr = tower(p, 0, x, [4]).squeeze(1), tower(p, 1, x, [5]).squeeze(1)
    both = torch.sigmoid(ctr) * torch.sigmoid(cvr)
    y = column(b, "buy")
    return ({"logits_ctr": ctr, "probs_ctr": torch.sigmoid(ctr), "probs_cvr": torch.sigmoid(cvr),
             "logits_ctcvr": torch.log(both) - torch.log(1 - both), "probs_ctcvr": both},
            {"binary_cross_entropy_ctr": (bce(ctr, column(b, "clk")), None),
             "binary_cross_entropy_ctcvr": (-y * torch.log(both) - (1 - y) * torch.log(1 - both),
                                            torch.full_like(y, 0.5))})


def bayes(p, b, xs, units, relations):
    """Tasks in their order: units of each task's net, and (earlier tasks, units) of its relation."""
    made, parts = [], []
    for t, (name, label) in enumerate([("ctr", "clk"), ("cvr", "buy"), ("far", "clk")][:len(xs)]):
        u = mlp(p, f"model.task_mlps.{name}", xs[t], units[t]) if units[t] else xs[t]
        if relations[t]:
            u = torch.cat([u] + [made[k] for k in relations[t][0]], -1)
            u = mlp(p, f"model.relation_mlps.{name}", u, relations[t][1])
        made.append(u)
        parts.append(binary(linear(p, f"model.task_outputs.{t}", u, 1), b, label=label, suffix="_" + name))
    return merged(parts)


@case(group("all", "u i c w p") + " dbmtl { bottom_mlp { hidden_units: [6] }\n"
      " task_towers { tower_name: 'ctr' label_name: 'clk' mlp { hidden_units: [5, 4] }" + LOSS + " }\n"
      " task_towers { tower_name: 'cvr' mlp { hidden_units: [4] } relation_tower_names: 'ctr'"
      " relation_mlp { hidden_units: [3] }" + LOSS + " }\n"
      " task_towers { tower_name: 'far' label_name: 'clk' relation_tower_names: ['cvr', 'ctr']"
      " relation_mlp { hidden_units: [4] }" + LOSS + " } }\n")
def dbmtl(p, b):
    x = mlp(p, "model.bottom_mlp", deep(p, b, "u i c w p".split()), [6])
    return bayes(p, b, [x, x, x], [[5, 4], [4], None], [None, ([0], [3]), ([1, 0], [4])])


def mask_net(p, at, e, hidden, units):
    """Two blocks beside each other on the normalised features."""
    x, outs = layer_norm(p, at + "ln_emb", e), []
    for i in range(2):
        name = f"{at}mask_blocks.{i}."
        m = torch.relu(linear(p, name + "mask_generator.0", e, x.shape[-1]))
        m = linear(p, name + "mask_generator.2", m, x.shape[-1])
        outs.append(torch.relu(layer_norm(p, name + "ffn.1", linear(p, name + "ffn.0", x * m, hidden))))
    return mlp(p, at + "top_mlp", torch.cat(outs, -1), units)


@case(" feature_groups { group_name: 'a' group_type: DEEP feature_names: ['u', 'p']\n"
      " sequence_groups { group_name: 'g' feature_names: ['i', 's__i', 's__c'] }\n"
      " sequence_encoders { din_encoder { input: 'g' attn_mlp { hidden_units: [5] } } } }\n"
      " dbmtl { mask_net { n_mask_blocks: 2 mask_block { hidden_dim: 5 } top_mlp { hidden_units: [6] } }\n"
      " bottom_mlp { hidden_units: [6] } expert_mlp { hidden_units: [5] } gate_mlp { hidden_units: [3] } num_expert: 2\n"
      " task_towers { tower_name: 'ctr' label_name: 'clk' mlp { hidden_units: [4] }" + LOSS + " }\n"
      " task_towers { tower_name: 'cvr' label_name: 'buy' mlp { hidden_units: [4] } relation_tower_names: 'ctr'"
      " relation_mlp { hidden_units: [3] }" + LOSS + " } }\n",
      free={ENCODERS + "0.linear.bias": [0, 1]})
def dbmtl_sequence(p, b):
    q, s, n = sequence(p, b, ["i"], ["s__i", "s__c"])
    x = torch.cat([deep(p, b, ["u", "p"]), din(p, ENCODERS + "0", q, s, n, [5])], -1)
    x = mlp(p, "model.bottom_mlp", mask_net(p, "model.mask_net.", x, 5, [6]), [6])
    xs = mmoe(p, "model.mmoe", x, 2, [5], 2, [3])
    return bayes(p, b, xs, [[4], [4]], [None, ([0], [3])])


def gate(p, name, x, hidden, out, gamma):
    h = torch.relu(linear(p, name + ".dense_layers.0", x, hidden))
    return gamma * torch.sigmoid(linear(p, name + ".dense_layers.2", h, out))


def ppnet(p, x, user, tasks, units, gamma, act):
    knows, out = torch.cat([user, x.detach()], -1), []
    for t in range(tasks):
        h = x
        for j, n in enumerate(units):
            k = t * len(units) + j
            h = activation(p, f"model.ppnet.activations.{k}", act, linear(p, f"model.ppnet.linears.{k}", h, n))
            h = h * gate(p, f"model.ppnet.gate_nus.{k}", knows, n, n, gamma)
        out.append(h)
    return out


@case(group("all", "u i c w p") + group("domain", "j p") + group("uia", "u i") +
      " pepnet { epnet_hidden_unit: 5 epnet_gamma: 1.5 ppnet_hidden_units: [6, 4] ppnet_activation: 'nn.PReLU'\n"
      " ppnet_gamma: 2.5\n" + TOWERS + " }\n")
def pepnet(p, b):
    x = deep(p, b, "u i c w p".split())
    g = torch.cat([deep(p, b, ["j", "p"]), x.detach()], -1)
    x = gate(p, "model.epnet.gate_nu", g, 5, x.shape[-1], 1.5) * x
    return towers(p, b, *ppnet(p, x, deep(p, b, ["u", "i"]), 2, [6, 4], 2.5, "nn.PReLU"))


@case(group("all", "u j w") + group("uia", "u i") +
      " pepnet { ppnet_hidden_units: [5] domain_input_name: 'kind' task_domain_num: 3\n"
      " task_towers { tower_name: 'ctr' label_name: 'clk' mlp { hidden_units: [4] }" + LOSS + " }\n"
      " task_towers { tower_name: 'time' label_name: 'stay' losses { l2_loss {} } } }\n")
def pepnet_domains(p, b):
    first, second = ppnet(p, deep(p, b, "u j w".split()), deep(p, b, ["u", "i"]), 2, [5], 2.0, "nn.ReLU")
    own = column(b, "kind").long().unsqueeze(1)
    logits = torch.cat([tower(p, d, first, [4]) for d in range(3)], -1)
    times = torch.cat([tower(p, 3 + d, second, None) for d in range(3)], -1)
    outputs = {}
    for d in range(3):
        outputs[f"logits_ctr_{d}"], outputs[f"probs_ctr_{d}"] = logits[:, d], torch.sigmoid(logits[:, d])
        outputs[f"y_time_{d}"] = times[:, d]
    return outputs, {
        "binary_cross_entropy_ctr": (bce(logits.gather(1, own).squeeze(1), column(b, "clk")), None),
        "l2_loss_time": ((times.gather(1, own).squeeze(1) - column(b, "stay"))**2, None)}


@case(group("all", "u j c") + group("domain", "i") + " pepnet {\n" + TOWERS + " }\n")
def pepnet_domain_gate(p, b):
    x = deep(p, b, "u j c".split())
    x = gate(p, "model.epnet.gate_nu", torch.cat([deep(p, b, ["i"]), x.detach()], -1), x.shape[-1], x.shape[-1], 2) * x
    return towers(p, b, x, x)


def hidden(p, name, x, units):
    return [mlp(p, name, x, units[:k + 1]) for k in range(len(units))]


def rocket(p, b, x, booster_units, light_units, pairs, classes, weights, cosine):
    """The booster is there in training alone."""
    booster, light = hidden(p, "model.booster_mlp", x, booster_units), hidden(p, "model.light_mlp", x.detach(), light_units)
    ob = linear(p, "model.booster_linear", booster[-1], classes)
    ol = linear(p, "model.light_linear", light[-1], classes)
    label = column(b, "clk")
    kind = "binary_cross_entropy" if classes == 1 else "softmax_cross_entropy"

    def loss(o):
        return bce(o.squeeze(1), label) if classes == 1 else softmax_ce(o, label)

    probs = torch.sigmoid(ol) if classes == 1 else torch.softmax(ol, -1)
    outputs = {"logits_light": ol, "probs_light": probs}
    losses = {kind + "_light": (loss(ol), weights)}
    if not p.training:
        return outputs, losses
    losses[kind + "_booster"] = (loss(ob), weights)
    losses["hint_l2_loss"] = (((ol - ob.detach())**2).mean(1), weights)
    for i, j in pairs:
        h, k = booster[j].detach(), light[i]
        if cosine:
            v = -0.1 * torch.nn.functional.cosine_similarity(h, k, eps=1e-12)
            losses[f"similarity_{i}_{j}"] = (v, weights)
        else:
            far = ((h - k)**2).sum(1) * (1 if weights is None else weights)
            losses[f"similarity_{i}_{j}"] = (torch.sqrt(far.sum()).reshape(1), None)
    return outputs, losses


@case(group("all", "u i c w p") + LOSS + " rocket_launching { share_mlp { hidden_units: [6] }"
      " booster_mlp { hidden_units: [8, 5, 4] } light_mlp { hidden_units: [5, 4] } feature_based_distillation: true }\n")
def rocket_launching(p, b):
    x = mlp(p, "model.share_mlp", deep(p, b, "u i c w p".split()), [6])
    return rocket(p, b, x, [8, 5, 4], [5, 4], [(0, 1), (1, 2)], 1, None, True)


@case(group("all", "u j w") + " num_class: 2 losses { softmax_cross_entropy {} }\n"
      " rocket_launching { booster_mlp { hidden_units: [6, 4] } light_mlp { hidden_units: [4] }"
      " feature_based_distillation: true feature_distillation_function: EUCLID }\n", sample_weight=True)
def rocket_launching_distance(p, b):
    x = deep(p, b, "u j w".split())
    return rocket(p, b, x, [6, 4], [4], [(0, 1)], 2, normalised(column(b, "sw")), False)


@case(group("all", "u i p") + LOSS +
      " rocket_launching { booster_mlp { hidden_units: [6, 4] } light_mlp { hidden_units: [4] } }\n", sample_weight=True)
def rocket_launching_plain(p, b):
    return rocket(p, b, deep(p, b, "u i p".split()), [6, 4], [4], [], 1, normalised(column(b, "sw")), True)


def rotation(p, name, n, r):
    """Reflections from below the diagonal, signs on it; torch's own product of them."""
    at = name + ".parametrizations.weight."
    if at + "original" not in p.dense:
        x = p.draw(at + "original", (n, r), -0.7, 0.7)
        x.diagonal().copy_(torch.tensor([-1.0, 1.0, -1.0][:r]))
        p.dense[at + "original"] = x.requires_grad_()
    x = p.dense[at + "original"]
    low = x.tril(-1)
    q = torch.linalg.householder_product(low, 2 / (1 + (low**2).sum(0)))
    return p.buffer(at + "0.base", (n, n), -0.6, 0.6) @ (q * x.detach().diagonal().unsqueeze(0))


def intervention(p, name, base, source, r):
    rb = rotation(p, name + ".base_rotate_layer", base.shape[-1], r)
    rs = rotation(p, name + ".source_rotate_layer", source.shape[-1], r)
    return (base @ rb - source.detach() @ rs) @ rb.T + base


def dc2vr_tower(name, units, rest=""):
    return f" task_towers {{ tower_name: '{name}' mlp {{ hidden_units: [{units}] }} dropout_ratio: 0 {rest}" + LOSS + " }\n"


def dc2vr_heads(p, b, made):
    names = [("ctr", "clk"), ("cvr", "buy"), ("far", "clk")]
    return merged([binary(linear(p, f"model.task_outputs.{t}", u, 1), b, label=label, suffix="_" + name)
                   for t, (u, (name, label)) in enumerate(zip(made, names))])


@case(group("all", "u i c w p") + " dc2vr { bottom_mlp { hidden_units: [7] }\n" +
      dc2vr_tower("ctr", "5", "label_name: 'clk'") +
      dc2vr_tower("cvr", "6", "intervention_tower_names: 'ctr' low_rank_dim: 2") +
      dc2vr_tower("far", "4", "label_name: 'clk' intervention_tower_names: ['ctr', 'cvr'] low_rank_dim: 3") + " }\n")
def dc2vr(p, b):
    x = mlp(p, "model.bottom_mlp", deep(p, b, "u i c w p".split()), [7])
    ctr, cvr, far = (mlp(p, f"model.task_mlps.{t}", x, [n]) for t, n in (("ctr", 5), ("cvr", 6), ("far", 4)))
    cvr = intervention(p, "model.intervention.cvr", cvr, ctr, 2)
    far = intervention(p, "model.intervention.far", far, torch.cat([ctr, cvr], -1), 3)
    return dc2vr_heads(p, b, [ctr, cvr, far])


@case(group("all", "u j r") + " dc2vr { expert_mlp { hidden_units: [5] } num_expert: 2\n" +
      dc2vr_tower("ctr", "5", "label_name: 'clk'") +
      dc2vr_tower("cvr", "4", "intervention_tower_names: 'ctr' low_rank_dim: 1") + " }\n")
def dc2vr_experts(p, b):
    xs = mmoe(p, "model.mmoe", deep(p, b, "u j r".split()), 2, [5], 2, None)
    ctr, cvr = mlp(p, "model.task_mlps.ctr", xs[0], [5]), mlp(p, "model.task_mlps.cvr", xs[1], [4])
    return dc2vr_heads(p, b, [ctr, intervention(p, "model.intervention.cvr", cvr, ctr, 1)])
