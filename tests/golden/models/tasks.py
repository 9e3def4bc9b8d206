# SPDX-License-Identifier: Apache-2.0
"""Cases of models with several tasks; see cases.py."""
import torch

from blocks import linear, mlp, normalised
from cases import LOSS, binary, case, group
from data import column, deep


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
