# SPDX-License-Identifier: Apache-2.0
"""One case per model or variant: its config, and its forward pass from the formulas.

run(p, b) returns {output name: tensor} and {loss name: (per-row loss, weights or None)}.
A weight is what multiplies a row's loss before the mean.
"""
import torch

from blocks import (bce, cross_v1, cross_v2, din, fm, focal, interaction, jrc, linear,
                    mlp, mmoe, multi_window_din, normalised, pooling, self_attention, simple_attention, softmax_ce)
from data import BAGS, SEQS, column, config, deep, sequence

CASES = {}


def case(model, sample_weight=False, free=None, random=False, data="", items=None, dense_tables=()):
    """Registers a case; `free` gives ranges of parameters that the loss does not depend on.
    Training that draws random numbers is not compared, evaluation is. `data` goes into
    data_config. `items`: (names, common, hard) of what a sampler adds, hard(rows) -> how
    many per row. `dense_tables`: names of tables that the dense optimizer trains."""

    def add(fn):
        CASES[fn.__name__] = {
            "config": config(model, sample_weight, data),
            "items": items,
            "run": fn,
            "free": free or {},
            "random": random,
            "dense_tables": list(dense_tables),
        }
        return fn

    return add


def group(name, features, kind="DEEP"):
    names = ", ".join(f"'{x}'" for x in features.split())
    return f" feature_groups {{ group_name: '{name}' group_type: {kind} feature_names: [{names}] }}\n"


LOSS = " losses { binary_cross_entropy {} }\n"


def binary(logit, b, weights=None, label="clk", suffix="", smoothing=0.0):
    o = logit.squeeze(1)
    return ({"logits" + suffix: o, "probs" + suffix: torch.sigmoid(o)},
            {"binary_cross_entropy" + suffix: (bce(o, column(b, label), smoothing), weights)})


@case(group("all", "u i c w v p") + LOSS +
      " dcn_v1 { cross { cross_num: 2 } deep { hidden_units: [6, 5] } final { hidden_units: [4] } }\n",
      sample_weight=True)
def dcn_v1(p, b):
    x = deep(p, b, "u i c w v p".split())
    h = torch.cat([cross_v1(p, "model.cross", x, 2), mlp(p, "model.deep", x, [6, 5])], -1)
    o = linear(p, "model.output_linear", mlp(p, "model.final_dnn", h, [4]), 1, bias=False)
    return binary(o, b, normalised(column(b, "sw")))


@case(group("all", "u j c i r") + " losses { binary_cross_entropy { label_smoothing: 0.1 } }\n"
      " dcn_v2 { backbone { hidden_units: [7] activation: 'nn.SiLU' } cross { cross_num: 2 low_rank: 3 }"
      " deep { hidden_units: [6] use_ln: true } final { hidden_units: [5] bias: false } }\n")
def dcn_v2(p, b):
    x = deep(p, b, "u j c i r".split())
    n = mlp(p, "model.backbone", x, [7], "nn.SiLU")
    n = torch.cat([cross_v2(p, "model.cross", n, 2, 3), mlp(p, "model.deep", x, [6], norm="ln")], -1)
    o = linear(p, "model.output_mlp", mlp(p, "model.final", n, [5], bias=False), 1, bias=False)
    return binary(o, b, smoothing=0.1)


@case(group("all", "u c w") + LOSS +
      " dcn_v2 { cross { low_rank: 2 } final { hidden_units: [5] activation: 'nn.LeakyReLU(negative_slope=0.2)' } }\n")
def dcn_v2_plain(p, b):
    x = cross_v2(p, "model.cross", deep(p, b, "u c w".split()), 3, 2)
    h = mlp(p, "model.final", x, [5], "nn.LeakyReLU(negative_slope=0.2)")
    return binary(linear(p, "model.output_mlp", h, 1, bias=False), b)


@case(group("wide", "u i c", "WIDE") + group("deep", "u i w p") + group("fm", "u i c j") + LOSS +
      " deepfm { deep { hidden_units: [6, 4] } final { hidden_units: [5] } }\n")
def deepfm(p, b):
    n = b["rows"]
    y_w = deep(p, b, "u i c".split(), wide=4).sum(1, keepdim=True)
    y_fm = fm(deep(p, b, "u i c j".split()).reshape(n, 4, 4))
    y_d = mlp(p, "model.deep_mlp", deep(p, b, "u i w p".split()), [6, 4])
    h = mlp(p, "model.final_mlp", torch.cat([y_w, y_fm, y_d], -1), [5])
    return binary(linear(p, "model.output_mlp", h, 1), b)


@case(group("wide", "u w", "WIDE") + group("deep", "u i c w") +
      " losses { binary_focal_loss { gamma: 1.5 alpha: 0.3 } }\n"
      " deepfm { deep { hidden_units: [6] } wide_embedding_dim: 2 }\n")
def deepfm_plain(p, b):
    y_w = deep(p, b, "u w".split(), wide=2).sum(1, keepdim=True)
    x = deep(p, b, "u i c w".split())
    y_fm = fm(x.reshape(b["rows"], 4, 4)).sum(1, keepdim=True)
    o = (y_w + y_fm + linear(p, "model.output_mlp", mlp(p, "model.deep_mlp", x, [6]), 1)).squeeze(1)
    return ({"logits": o, "probs": torch.sigmoid(o)},
            {"binary_focal_loss": (focal(o, column(b, "clk"), 1.5, 0.3), None)})


def classes(o, b):
    probs = torch.softmax(o, -1)
    return ({"logits": o, "probs": probs, "probs1": probs[:, 1]},
            {"softmax_cross_entropy": (softmax_ce(o, column(b, "clk"), 0), None)})


@case(group("wide", "u w", "WIDE") + group("deep", "u i c") + " num_class: 2 losses { softmax_cross_entropy {} }\n"
      " deepfm { deep { hidden_units: [5] activation: 'torch.nn.LeakyReLU(negative_slope=0.2,inplace=True)' } }\n")
def deepfm_classes(p, b):
    """What is added to the logit is added to that of every class."""
    y_w = deep(p, b, "u w".split(), wide=4).sum(1, keepdim=True)
    x = deep(p, b, "u i c".split())
    y_fm = fm(x.reshape(b["rows"], 3, 4)).sum(1, keepdim=True)
    h = torch.nn.functional.leaky_relu(mlp(p, "model.deep_mlp", x, [5], ""), 0.2)
    return classes(y_w + y_fm + linear(p, "model.output_mlp", h, 2), b)


@case(group("sparse", "u i c w") + group("dense", "p r") + LOSS +
      " dlrm { dense_mlp { hidden_units: [6, 4] } final { hidden_units: [7] } }\n")
def dlrm(p, b):
    n = b["rows"]
    sparse = deep(p, b, "u i c w".split())
    z = mlp(p, "model.dense_mlp", deep(p, b, "p r".split()), [6, 4])
    x = torch.cat([z.unsqueeze(1), sparse.reshape(n, 4, 4)], 1)
    h = mlp(p, "model.final_mlp", torch.cat([interaction(x), z, sparse], -1), [7])
    return binary(linear(p, "model.output_mlp", h, 1), b)


@case(group("only", "u i j c") + LOSS + " dlrm { arch_with_sparse: false final { hidden_units: [5] use_bn: true } }\n")
def dlrm_single(p, b):
    x = deep(p, b, "u i j c".split()).reshape(b["rows"], 4, 4)
    h = mlp(p, "model.final_mlp", interaction(x), [5], norm="bn")
    return binary(linear(p, "model.output_mlp", h, 1), b)


@case(group("all", "u i c w p") + " mmoe { expert_mlp { hidden_units: [6, 4] } gate_mlp { hidden_units: [3] }"
      " num_expert: 3\n"
      " task_towers { tower_name: 'ctr' label_name: 'clk' mlp { hidden_units: [4] }" + LOSS + " }\n"
      " task_towers { tower_name: 'cvr' label_name: 'buy' mlp { hidden_units: [3] } weight: 0.7"
      " sample_weight_name: 'sw' task_space_indicator_label: 'clk' in_task_space_weight: 2"
      " out_task_space_weight: 0.5" + LOSS + " } }\n", sample_weight=True)
def mmoe_two(p, b):
    x = deep(p, b, "u i c w p".split())
    first, second = mmoe(p, "model.mmoe", x, 3, [6, 4], 2, [3])

    def tower(t, h, units):
        return linear(p, f"model._task_tower.{t}.linear", mlp(p, f"model._task_tower.{t}.tower_mlp", h, units), 1)

    inside = (column(b, "clk") > 0).double()
    w = normalised(column(b, "sw") * (2 * inside + 0.5 * (1 - inside))) * 0.7
    outputs, losses = binary(tower(0, first, [4]), b, suffix="_ctr")
    more, more_losses = binary(tower(1, second, [3]), b, w, "buy", "_cvr")
    return {**outputs, **more}, {**losses, **more_losses}


@case(group("all", "u j c r") + " mmoe { expert_mlp { hidden_units: [5] } num_expert: 2\n"
      " task_towers { tower_name: 'sort' label_name: 'kind' num_class: 3 losses { softmax_cross_entropy"
      " { label_smoothing: 0.2 } } }\n"
      " task_towers { tower_name: 'time' label_name: 'stay' mlp { hidden_units: [4] activation: 'nn.Tanh' }"
      " weight: 0.25 losses { l2_loss {} } } }\n")
def mmoe_mixed(p, b):
    x = deep(p, b, "u j c r".split())
    first, second = mmoe(p, "model.mmoe", x, 2, [5], 2, None)
    o = linear(p, "model._task_tower.0.linear", first, 3)
    h = mlp(p, "model._task_tower.1.tower_mlp", second, [4], "nn.Tanh")
    y = linear(p, "model._task_tower.1.linear", h, 1).squeeze(1)
    quarter = torch.full_like(y, 0.25)
    return ({"logits_sort": o, "probs_sort": torch.softmax(o, -1), "y_time": y},
            {"softmax_cross_entropy_sort": (softmax_ce(o, column(b, "kind"), 0.2), None),
             "l2_loss_time": ((y - column(b, "stay"))**2, quarter)})


@case(group("a", "u p r") + group("b", "i c v") + LOSS +
      " multi_tower { towers { input: 'a' mlp { hidden_units: [6, 5] use_bn: true activation: 'nn.PReLU' } }\n"
      " towers { input: 'b' mlp { hidden_units: [5] use_ln: true activation: 'nn.GELU' } }\n"
      " final { hidden_units: [6] activation: 'Dice' } }\n", sample_weight=True)
def multi_tower(p, b):
    first = mlp(p, "model.towers.a", deep(p, b, "u p r".split()), [6, 5], "nn.PReLU", "bn")
    second = mlp(p, "model.towers.b", deep(p, b, "i c v".split()), [5], "nn.GELU", "ln")
    h = mlp(p, "model.final_mlp", torch.cat([first, second], -1), [6], "Dice")
    return binary(linear(p, "model.output_mlp", h, 1), b, normalised(column(b, "sw")))


@case(group("a", "u i j") + " num_class: 2 losses { softmax_cross_entropy { label_smoothing: 0.1 } }\n"
      " multi_tower { towers { input: 'a' mlp { hidden_units: [5] activation: '' } } }\n")
def multi_tower_softmax(p, b):
    h = mlp(p, "model.towers.a", deep(p, b, "u i j".split()), [5], "")
    o = linear(p, "model.output_mlp", h, 2)
    probs = torch.softmax(o, -1)
    return ({"logits": o, "probs": probs, "probs1": probs[:, 1]},
            {"softmax_cross_entropy": (softmax_ce(o, column(b, "clk"), 0.1), None)})


def jrc_model(p, b, weights):
    h = mlp(p, "model.towers.a", deep(p, b, "u i k".split()), [5])
    o = linear(p, "model.output_mlp", h, 2)
    probs = torch.softmax(o, -1)
    session = [row[0] for row in b["features"]["k"]]
    return ({"logits": o, "probs": probs, "probs1": probs[:, 1]},
            {"jrc_loss": (jrc(o, column(b, "clk"), session, 0.3), weights)})


JRC = (group("a", "u i k") + " num_class: 2 losses { jrc_loss { session_name: 'k' alpha: 0.3 } }\n"
       " multi_tower { towers { input: 'a' mlp { hidden_units: [5] } } }\n")


@case(JRC)
def multi_tower_jrc(p, b):
    return jrc_model(p, b, None)


@case(JRC, sample_weight=True)
def multi_tower_jrc_weighted(p, b):
    return jrc_model(p, b, normalised(column(b, "sw")))


def din_config(attn, query="i c"):
    return (group("a", "u i p") + group("s", query + " s__i s__c s__p", "SEQUENCE") + LOSS +
            " multi_tower_din { towers { input: 'a' mlp { hidden_units: [5] } }"
            " din_towers { input: 's' attn_mlp { " + attn + " } } final { hidden_units: [6] } }\n")


def din_model(p, b, units, act, norm, query="i c"):
    x = mlp(p, "model.towers.a", deep(p, b, "u i p".split()), [5])
    q, s, lengths = sequence(p, b, query.split(), "s__i s__c s__p".split())
    y = din(p, "model.din_towers.0", q, s, lengths, units, act, norm)
    h = mlp(p, "model.final_mlp", torch.cat([x, y], -1), [6])
    return binary(linear(p, "model.output_mlp", h, 1), b)


# The scores go through a softmax, so a bias added to all of them changes nothing.
SHIFT = {"model.din_towers.0.linear.bias": [0, 1]}


@case(din_config("hidden_units: [6, 4]"), free=SHIFT)
def multi_tower_din(p, b):
    return din_model(p, b, [6, 4], "nn.ReLU", "")


@case(din_config("hidden_units: [6, 4]"), free=SHIFT,
      dense_tables=[SEQS % 4 + "i_emb.weight", SEQS % 4 + "c_emb.weight", SEQS % 3 + "s__c_emb.weight",
                    BAGS + "u_emb.weight"])
def multi_tower_din_tables(p, b):
    return din_model(p, b, [6, 4], "nn.ReLU", "")


@case(din_config("hidden_units: [6, 4] activation: 'Dice'", "i"), free=SHIFT)
def multi_tower_din_dice(p, b):
    return din_model(p, b, [6, 4], "Dice", "", "i")


@case(din_config("hidden_units: [6, 4] use_bn: true activation: 'nn.PReLU'"), free=SHIFT)
def multi_tower_din_bn(p, b):
    return din_model(p, b, [6, 4], "nn.PReLU", "bn")


@case(din_config("hidden_units: [5, 4] use_bn: true activation: 'Dice'"), free=SHIFT)
def multi_tower_din_bn_dice(p, b):
    return din_model(p, b, [5, 4], "Dice", "bn")


@case(din_config("hidden_units: [6] use_ln: true activation: 'nn.Sigmoid'"), free=SHIFT)
def multi_tower_din_ln(p, b):
    return din_model(p, b, [6], "nn.Sigmoid", "ln")


@case(group("a", "u i j c v w") + LOSS + " multi_tower { towers { input: 'a' mlp { hidden_units: [6] } } }\n",
      dense_tables=[BAGS + x + "_emb.weight" for x in "icvw"])
def multi_tower_tables(p, b):
    h = mlp(p, "model.towers.a", deep(p, b, "u i j c v w".split()), [6])
    return binary(linear(p, "model.output_mlp", h, 1), b)


@case(group("wide", "u i c w", "WIDE") + group("deep", "u i v p") + LOSS +
      " wide_and_deep { deep { hidden_units: [6, 4] } }\n")
def wide_and_deep(p, b):
    y_w = deep(p, b, "u i c w".split(), wide=4).sum(1, keepdim=True)
    y_d = mlp(p, "model.deep_mlp", deep(p, b, "u i v p".split()), [6, 4])
    return binary(y_w + linear(p, "model.output_mlp", y_d, 1), b)


@case(group("wide", "u j", "WIDE") + group("deep", "u i p") + " losses { l2_loss {} }\n"
      " wide_and_deep { deep { hidden_units: [6] } final { hidden_units: [4] } wide_embedding_dim: 3 }\n")
def wide_and_deep_final(p, b):
    y_w = deep(p, b, "u j".split(), wide=3).sum(1, keepdim=True)
    y_d = mlp(p, "model.deep_mlp", deep(p, b, "u i p".split()), [6])
    h = mlp(p, "model.final_mlp", torch.cat([y_w, y_d], -1), [4])
    y = linear(p, "model.output_mlp", h, 1).squeeze(1)
    return {"y": y}, {"l2_loss": ((y - column(b, "clk"))**2, None)}


@case(group("wide", "u j", "WIDE") + group("deep", "u i p") + " num_class: 2 losses { softmax_cross_entropy {} }\n"
      " wide_and_deep { deep { hidden_units: [6] activation: 'torch.nn.PReLU' } }\n")
def wide_and_deep_classes(p, b):
    y_w = deep(p, b, "u j".split(), wide=4).sum(1, keepdim=True)
    h = mlp(p, "model.deep_mlp", deep(p, b, "u i p".split()), [6], "nn.PReLU")
    return classes(y_w + linear(p, "model.output_mlp", h, 2), b)


ENCODERS = "model.embedding_group._group_name_to_seq_encoders.a."


@case(" feature_groups { group_name: 'a' group_type: DEEP feature_names: ['u', 'p']\n"
      " sequence_groups { group_name: 'g' feature_names: ['i', 's__i', 's__c'] }\n"
      " sequence_groups { group_name: 'h' feature_names: ['j', 's__i'] }\n"
      " sequence_encoders { pooling_encoder { input: 'g' max_seq_length: 3 } }\n"
      " sequence_encoders { pooling_encoder { input: 'g' pooling_type: 'sum' } }\n"
      " sequence_encoders { simple_attention { input: 'h' max_seq_length: 4 } }\n"
      " sequence_encoders { din_encoder { input: 'g' attn_mlp { hidden_units: [5] } } }\n"
      " sequence_encoders { din_encoder { input: 'h' max_seq_length: 4 attn_mlp { hidden_units: [4] use_bn: true } } } }\n"
      + LOSS + " multi_tower { towers { input: 'a' mlp { hidden_units: [6] } } final { hidden_units: [5] } }\n",
      free={ENCODERS + "3.linear.bias": [0, 1], ENCODERS + "4.linear.bias": [0, 1]})
def encoders(p, b):
    q, s, n = sequence(p, b, ["i"], ["s__i", "s__c"])
    q2, s2, n2 = sequence(p, b, ["j"], ["s__i"])
    x = torch.cat([
        deep(p, b, ["u", "p"]),
        pooling(s, n, "mean", 3),
        pooling(s, n, "sum"),
        simple_attention(q2, s2, n2, 4),
        din(p, ENCODERS + "3", q, s, n, [5]),
        din(p, ENCODERS + "4", q2, s2, n2, [4], norm="bn", most=4),
    ], -1)
    h = mlp(p, "model.final_mlp", mlp(p, "model.towers.a", x, [6]), [5])
    return binary(linear(p, "model.output_mlp", h, 1), b)


@case(" feature_groups { group_name: 'a' group_type: DEEP feature_names: ['u', 'p']\n"
      " sequence_groups { group_name: 'g' feature_names: ['i', 's__i', 's__c'] }\n"
      " sequence_encoders { self_attention_encoder { input: 'g' multihead_attn_dim: 6 num_heads: 2 } }\n"
      " sequence_encoders { self_attention_encoder { input: 'g' multihead_attn_dim: 4 num_heads: 1 max_seq_length: 4 } }\n"
      " sequence_encoders { multi_window_din_encoder { input: 'g' windows_len: [1, 2, 2] attn_mlp { hidden_units: [5] } } }\n"
      " sequence_encoders { multi_window_din_encoder { input: 'g' windows_len: [3, 6]"
      " attn_mlp { hidden_units: [5, 4] use_bn: true activation: 'Dice' } } } }\n"
      + LOSS + " multi_tower { towers { input: 'a' mlp { hidden_units: [6] } } }\n",
      free={  # what is added to all keys alike
          ENCODERS + "0._key.bias": [0, 6],
          ENCODERS + "0._multihead_attn.in_proj_bias": [6, 12],
          ENCODERS + "1._key.bias": [0, 4],
          ENCODERS + "1._multihead_attn.in_proj_bias": [4, 8],
      })
def encoders_attention(p, b):
    q, s, n = sequence(p, b, ["i"], ["s__i", "s__c"])
    x = torch.cat([
        deep(p, b, ["u", "p"]),
        self_attention(p, ENCODERS + "0", s, n, 6, 2),
        self_attention(p, ENCODERS + "1", s, n, 4, 1, 4),
        multi_window_din(p, ENCODERS + "2", q, s, n, [1, 2, 2], [5]),
        multi_window_din(p, ENCODERS + "3", q, s, n, [3, 6], [5, 4], "Dice", "bn"),
    ], -1)
    return binary(linear(p, "model.output_mlp", mlp(p, "model.towers.a", x, [6]), 1), b)


def feature_dropout(p, name, x, widths, b, lam):
    """In evaluation: features scaled by 1 - q, and the loss, as it counts in the mean."""
    q = torch.sigmoid(p.get(f"model.group_variational_dropouts.{name}.feature_p", (len(widths),), -2, 2))
    blocks = [v * (1 - q[i]) for i, v in enumerate(torch.split(x, widths, -1))]
    return torch.cat(blocks, -1), (torch.full((b["rows"],), float(lam / b["rows"] * (1 - q).sum()), dtype=q.dtype), None)


@case(" feature_groups { group_name: 'a' group_type: DEEP feature_names: ['u', 'c', 'p']\n"
      " sequence_groups { feature_names: ['i', 's__i'] } sequence_encoders { pooling_encoder { pooling_type: 'sum' } } }\n"
      + group("b", "r") + " variational_dropout { regularization_lambda: 0.2 }\n" + LOSS +
      " multi_tower { towers { input: 'a' mlp { hidden_units: [5] } } towers { input: 'b' mlp { hidden_units: [3] } } }\n",
      random=True)
def multi_tower_feature_dropout(p, b):
    _, s, n = sequence(p, b, ["i"], ["s__i"])
    x = torch.cat([deep(p, b, ["u", "c", "p"]), pooling(s, n, "sum")], -1)
    x, loss = feature_dropout(p, "a", x, [4, 4, 1, 4], b, 0.2)
    h = torch.cat([mlp(p, "model.towers.a", x, [5]), mlp(p, "model.towers.b", deep(p, b, ["r"]), [3])], -1)
    outputs, losses = binary(linear(p, "model.output_mlp", h, 1), b)
    return outputs, {**losses, "a_feature_p_loss": loss}


@case(group("a", "u ad ml p") + group("b", "mv c ad") + LOSS +
      " multi_tower { towers { input: 'a' mlp { hidden_units: [6] } } towers { input: 'b' mlp { hidden_units: [5] } }"
      " final { hidden_units: [4] } }\n")
def multi_tower_dense_embed(p, b):
    one = mlp(p, "model.towers.a", deep(p, b, "u ad ml p".split()), [6])
    two = mlp(p, "model.towers.b", deep(p, b, "mv c ad".split()), [5])
    h = mlp(p, "model.final_mlp", torch.cat([one, two], -1), [4])
    return binary(linear(p, "model.output_mlp", h, 1), b)
