# SPDX-License-Identifier: Apache-2.0
"""The cases of bench/compat/against: a pipeline.config and a kind of data each.

Models are those of tests/golden/models that TorchEasyRec has and that draw no random numbers; the
others change one thing of a small model: an optimizer, a schedule, a loss, how rows are encoded.
cases() returns {name: (config, data)}; data is a key of rows.KINDS."""
import json
import os

GOLDENS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tests/golden/models")
BATCH, STEPS = 64, 11

# Without those that TorchEasyRec cannot build itself: DC2VR, RocketLaunching without a share_mlp, SimpleMultiTask.
MODELS = """dbmtl_sequence dcn_v1 dcn_v2 dcn_v2_plain deepfm deepfm_classes deepfm_plain
 dlrm dlrm_single dssm_in_batch encoders encoders_attention mask_net mask_net_serial mmoe_mixed mmoe_two multi_tower
 multi_tower_dense_embed multi_tower_din multi_tower_din_bn multi_tower_din_bn_dice multi_tower_din_dice
 multi_tower_din_ln multi_tower_jrc multi_tower_softmax pepnet pepnet_domain_gate pepnet_domains
 ple ple_single rocket_launching wide_and_deep wide_and_deep_classes wide_and_deep_final wukong xdeepfm""".split()

SPARSE = "adagrad_optimizer { lr: 0.05 initial_accumulator_value: 0.1 }"
DENSE = "adam_optimizer { lr: 0.01 }"
CONSTANT = "constant_learning_rate {}"

SPARSE_OPTIMIZERS = {
    "sgd": "sgd_optimizer { lr: 0.1 }",
    "adagrad": "adagrad_optimizer { lr: 0.1 initial_accumulator_value: 0.1 }",
    "adam": "adam_optimizer { lr: 0.02 beta1: 0.8 beta2: 0.99 }",
    "adam_decay": "adam_optimizer { lr: 0.02 weight_decay: 0.1 }",
    "lars": "lars_sgd_optimizer { lr: 0.5 momentum: 0.5 }",
    "lamb": "lamb_optimizer { lr: 0.02 }",
    "partial_lamb": "partial_rowwise_lamb_optimizer { lr: 0.02 }",
    "partial_adam": "partial_rowwise_adam_optimizer { lr: 0.02 }",
    "rowwise_adagrad": "rowwise_adagrad_optimizer { lr: 0.05 }",
    "clamped": "sgd_optimizer { lr: 0.5 gradient_clipping: true max_gradient: 0.001 }",
}
DENSE_OPTIMIZERS = {
    "sgd": "sgd_optimizer { lr: 0.1 momentum: 0 }",
    "momentum": "sgd_optimizer { lr: 0.05 momentum: 0.9 weight_decay: 0.01 }",
    "adagrad": "adagrad_optimizer { lr: 0.05 }",
    "adam_decay": "adam_optimizer { lr: 0.01 weight_decay: 0.1 }",
    "adamw": "adamw_optimizer { lr: 0.01 weight_decay: 0.1 }",
    "rmsprop": "rmsprop_optimizer { lr: 0.005 }",
}
SCHEDULES = {
    "decay": "exponential_decay_learning_rate { decay_size: 3 decay_factor: 0.5 }",
    "decay_stairs": "exponential_decay_learning_rate { decay_size: 3 decay_factor: 0.5 staircase: true warmup_size: 4 }",
    "manual": "manual_step_learning_rate { schedule_sizes: [3, 7] learning_rates: [0.01, 0.002] }",
    "cosine": "cosine_annealing_learning_rate { T_max: 9 min_learning_rate: 0.001 }",
    "restarts": "cosine_annealing_warm_restarts_learning_rate { T_0: 4 T_mult: 2 min_learning_rate: 0.001 }",
}
TRAINING = {
    "clip_norm": "grad_clipping { clipping_type: 'norm' max_gradient: 0.1 }",
    "clip_value": "grad_clipping { clipping_type: 'value' max_gradient: 0.005 }",
    "accumulate": "gradient_accumulation_steps: 3",
    "accumulate_clip": "gradient_accumulation_steps: 2 grad_clipping { clipping_type: 'norm' max_gradient: 0.1 }",
}

HEAD = """train_input_path: 'train.parquet' eval_input_path: 'eval.parquet' model_dir: 'm'
train_config {{ num_steps: {steps} log_step_count_steps: 1 save_checkpoints_steps: 1000 use_tensorboard: false {training}
 sparse_optimizer {{ {sparse} {sparse_rate} }}
 dense_optimizer {{ {dense} {dense_rate} }} }}
eval_config {{}}
data_config {{ batch_size: {batch} dataset_type: ParquetDataset fg_mode: FG_NONE num_workers: 1
 label_fields: 'clk' label_fields: 'buy' label_fields: 'stay' label_fields: 'kind' {data} }}
feature_configs {{ id_feature {{ feature_name: 'u' expression: 'user:u' embedding_dim: 4 num_buckets: 11 value_dim: 1 {u} }} }}
feature_configs {{ id_feature {{ feature_name: 'i' expression: 'item:i' embedding_dim: 4 num_buckets: 13 value_dim: 1 }} }}
feature_configs {{ id_feature {{ feature_name: 'j' expression: 'item:j' embedding_dim: 4 num_buckets: 13 value_dim: 1 embedding_name: 'i_emb' }} }}
feature_configs {{ id_feature {{ feature_name: 'c' expression: 'item:c' embedding_dim: 4 num_buckets: 5 pooling: 'mean' {c} }} }}
feature_configs {{ id_feature {{ feature_name: 'w' expression: 'item:w' embedding_dim: 4 num_buckets: 6 weighted: true }} }}
feature_configs {{ id_feature {{ feature_name: 'v' expression: 'item:v' embedding_dim: 3 num_buckets: 6 weighted: true pooling: 'mean' }} }}
feature_configs {{ raw_feature {{ feature_name: 'p' expression: 'item:p' }} }}
feature_configs {{ raw_feature {{ feature_name: 'r' expression: 'item:r' value_dim: 3 }} }}
feature_configs {{ sequence_feature {{ sequence_name: 's' sequence_length: 9 sequence_delim: ';'
 features {{ id_feature {{ feature_name: 'i' expression: 'item:i' embedding_dim: 4 num_buckets: 13 embedding_name: 'i_emb' {s_i} }} }}
 features {{ id_feature {{ feature_name: 'c' expression: 'item:c' embedding_dim: 3 num_buckets: 5 value_dim: 0 pooling: 'mean' {s_c} }} }}
 features {{ raw_feature {{ feature_name: 'p' expression: 'item:p' }} }} }} }}
"""
MORE = {
    "ad": "raw_feature { feature_name: 'ad' expression: 'item:ad' embedding_dim: 4"
          " autodis { num_channels: 3 keep_prob: 0.6 temperature: 0.5 } }",
    "ml": "raw_feature { feature_name: 'ml' expression: 'item:ml' embedding_dim: 4 mlp {} }",
    "mv": "raw_feature { feature_name: 'mv' expression: 'item:mv' embedding_dim: 5 value_dim: 3 mlp {} }",
    "k": "id_feature { feature_name: 'k' expression: 'user:k' embedding_dim: 4 num_buckets: 3 }",
}
DEFAULTS = dict(steps=STEPS, batch=BATCH, training="", sparse=SPARSE, dense=DENSE, sparse_rate=CONSTANT,
                dense_rate=CONSTANT, data="", u="", c="", s_i="", s_c="")


def config(model, **changes):
    more = "".join(f"feature_configs {{ {text} }}\n" for x, text in MORE.items() if f"'{x}'" in model)
    return HEAD.format(**{**DEFAULTS, **changes}) + more + "model_config {\n" + model + "}\n"


def group(name, features, kind="DEEP", more=""):
    names = ", ".join(f"'{x}'" for x in features.split())
    return f" feature_groups {{ group_name: '{name}' group_type: {kind} feature_names: [{names}] {more} }}\n"


def tower(features, losses="binary_cross_entropy {}", more="", encoder="", metric="auc"):
    return (group("a", features, more=more + encoder) + f" losses {{ {losses} }} metrics {{ {metric} {{}} }}\n"
            " multi_tower { towers { input: 'a' mlp { hidden_units: [6] } } final { hidden_units: [5] } }\n")


def encoded(encoder, query="i", steps="s__i s__c"):
    """A tower over a sequence group and one encoder."""
    names = ", ".join(f"'{x}'" for x in f"{query} {steps}".split())
    return tower("u p", more=f" sequence_groups {{ group_name: 'g' feature_names: [{names}] }} ",
                 encoder=f"sequence_encoders {{ {encoder} }}")


ENCODERS = {
    "mean": "pooling_encoder { input: 'g' }",
    "sum": "pooling_encoder { input: 'g' pooling_type: 'sum' }",
    "din": "din_encoder { input: 'g' attn_mlp { hidden_units: [5] } }",
    "self": "self_attention_encoder { input: 'g' multihead_attn_dim: 6 num_heads: 2 }",
    "simple": "simple_attention { input: 'g' }",
    "windows": "multi_window_din_encoder { input: 'g' windows_len: [1, 2, 2] attn_mlp { hidden_units: [5] } }",
}
PLAIN = tower("u i c w p")
FILL = "fg_encoded_default_value: '0'"


def golden(name):
    with open(f"{GOLDENS}/{name}.json") as f:
        text = json.load(f)["config"]
    model = text[text.index("model_config {") + len("model_config {"):text.rindex("}")]
    if "metrics" not in model and "task_towers" not in model and " losses {" in model and "l2_loss" not in model:
        model += " metrics { auc {} }\n"
    weighted = "sample_weight_fields: 'sw'" if "sample_weight_fields" in text else ""
    return config(model, data=weighted)


def cases():
    out = {f"model {name}": (golden(name), "even" if "attention" in name else "rows") for name in MODELS}

    def add(name, text, data="rows"):
        out[name] = (text, data)

    for name, text in SPARSE_OPTIMIZERS.items():
        add(f"tables {name}", config(PLAIN, sparse=text))
    for name, text in DENSE_OPTIMIZERS.items():
        add(f"dense {name}", config(PLAIN, dense=text))
    for name, text in SCHEDULES.items():
        add(f"schedule {name}", config(PLAIN, sparse_rate=text, dense_rate=text))
    for name, text in TRAINING.items():
        add(f"training {name}", config(PLAIN, training=text))
    # not `ema`: on CPU, with tables that are data_parallel, TorchEasyRec stops at its first evaluation
    add("training parts", config(PLAIN, dense_rate=CONSTANT + " part_optimizers { regex_pattern: '.*final.*'"
                                 " sgd_optimizer { lr: 0.1 } constant_learning_rate {} }"))
    add("loss focal", config(tower("u i c p", "binary_focal_loss { gamma: 2 alpha: 0.4 }")))
    add("loss square", config(tower("u i c p", "l2_loss {}", metric="mean_squared_error")))
    add("loss smooth", config(tower("u i c p", "binary_cross_entropy { label_smoothing: 0.2 }")))
    add("loss weighted", config(tower("u i c p"), data="sample_weight_fields: 'sw'"))
    add("pooled weights", config(tower("u w v")))
    add("shared table", config(tower("i j")))
    add("numbers alone", config(tower("p r")))
    add("missing ids", config(tower("u i c w"), u=FILL, c=FILL))
    add("text columns", config(PLAIN), "texts")
    add("two workers", config(PLAIN, data="num_workers: 2").replace("num_workers: 1\n", "\n"))
    for name, text in ENCODERS.items():
        steps = "s__i" if name == "simple" else "s__i s__c"
        add(f"steps {name}", config(encoded(text, steps=steps)), "even" if name == "self" else "rows")
    for name in ("mean", "sum", "din"):
        add(f"default on both {name}", config(encoded(ENCODERS[name]), s_i=FILL, s_c=FILL))
        add(f"default on second {name}", config(encoded(ENCODERS[name]), s_c=FILL))
    add("default on first din", config(encoded(ENCODERS["din"]), s_i=FILL))
    add("uneven sum", config(encoded(ENCODERS["sum"])), "uneven")
    add("uneven din", config(encoded(ENCODERS["din"])), "uneven")
    add("weighted query", config(encoded(ENCODERS["din"], query="w")))
    return out


if __name__ == "__main__":
    print("\n".join(cases()))
