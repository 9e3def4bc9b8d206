# SPDX-License-Identifier: Apache-2.0
"""How fast both programs train: DeepFM on rows like Criteo's (13 numbers, 26 ids), DIN on histories of up to 50 steps.
Rows are encoded (FG_NONE), so that the generator of features, which is no open source there, has no part in it."""
import json
import os
import random
import subprocess
import time

ROWS = int(os.environ.get("SPEED_ROWS", "100000"))
BATCH = 2048
# what ours must reach, as a multiple of theirs: rows per second, and the whole command
BARS = {"deepfm": (2.5, 4.0), "din": (8.0, 0.0)}

HEAD = """train_input_path: 'train.parquet' model_dir: 'm'
train_config { num_epochs: 1 log_step_count_steps: 1000 save_checkpoints_steps: 100000 use_tensorboard: false
 sparse_optimizer { adagrad_optimizer { lr: 0.01 } constant_learning_rate {} }
 dense_optimizer { adam_optimizer { lr: 0.001 } constant_learning_rate {} } }
data_config { batch_size: %d dataset_type: ParquetDataset fg_mode: FG_NONE num_workers: 1 label_fields: 'label' }
""" % BATCH
END = " losses { binary_cross_entropy {} } metrics { auc {} }\n"


def listed(names):
    return ", ".join(f"'{n}'" for n in names)


def deepfm():
    raw, ids = [f"n{k}" for k in range(13)], [f"c{k}" for k in range(26)]
    text = "".join(f"feature_configs {{ raw_feature {{ feature_name: '{n}' expression: 'user:{n}' }} }}\n" for n in raw)
    text += "".join(f"feature_configs {{ id_feature {{ feature_name: '{n}' expression: 'user:{n}' num_buckets: 100000"
                    " embedding_dim: 16 } }\n" for n in ids)
    text += (f"model_config {{ feature_groups {{ group_name: 'wide' feature_names: [{listed(ids)}] group_type: WIDE }}\n"
             f" feature_groups {{ group_name: 'fm' feature_names: [{listed(ids)}] group_type: DEEP }}\n"
             f" feature_groups {{ group_name: 'deep' feature_names: [{listed(raw + ids)}] group_type: DEEP }}\n"
             " deepfm { deep { hidden_units: [512, 256, 128] } final { hidden_units: [64] } }" + END + "}\n")

    def row(r):
        out = {n: round(r.random(), 4) for n in raw}
        out.update((n, int(r.random() ** 3 * 100000)) for n in ids)
        return out
    return HEAD + text, row


def din():
    text = ("feature_configs { id_feature { feature_name: 'user' expression: 'user:user' num_buckets: 10000 embedding_dim: 16 } }\n"
            "feature_configs { id_feature { feature_name: 'item' expression: 'item:item' num_buckets: 50000 embedding_dim: 16"
            " embedding_name: 'item_emb' } }\n"
            "feature_configs { sequence_id_feature { feature_name: 'seen' expression: 'user:seen' num_buckets: 50000"
            " embedding_dim: 16 embedding_name: 'item_emb' sequence_length: 50 sequence_delim: ';' } }\n"
            "model_config { feature_groups { group_name: 'deep' feature_names: ['user', 'item'] group_type: DEEP }\n"
            " feature_groups { group_name: 'seq' feature_names: ['item', 'seen'] group_type: SEQUENCE }\n"
            " multi_tower_din { towers { input: 'deep' mlp { hidden_units: [256, 128] } }"
            " din_towers { input: 'seq' attn_mlp { hidden_units: [64, 32] } } final { hidden_units: [64] } }" + END + "}\n")

    def row(r):
        return {"user": r.randrange(10000), "item": r.randrange(50000),
                "seen": [int(r.random() ** 3 * 50000) for _ in range(r.randint(1, 50))]}
    return HEAD + text, row


def make(program, at, config, row):
    os.makedirs(at)
    r = random.Random(1)
    with open(f"{at}/c.config", "w") as f:
        f.write(config)
    with open(f"{at}/rows.jsonl", "w") as f:
        for _ in range(ROWS):
            f.write(json.dumps({"label": int(r.random() < 0.25), **row(r)}) + "\n")
    subprocess.run([program, "data", "convert", f"{at}/rows.jsonl", f"{at}/train.parquet"], check=True, capture_output=True)
    os.remove(f"{at}/rows.jsonl")


def ours(program, at):
    start = time.perf_counter()
    r = subprocess.run([program, "train", "c.config", "--log", "json", "--model-dir", "ours"], cwd=at, capture_output=True,
                       text=True, check=True)
    whole = time.perf_counter() - start
    end = [json.loads(x) for x in r.stderr.splitlines() if x.startswith('{"event": "end"')][-1]
    return end["rows"] / end["seconds"], whole


def measure(program, checkout, python, work, drive, result):
    """Prints a table; whether every bar is met."""
    good = True
    print(f"\n{'':8} {'rows/s there':>14} {'here':>10} {'times':>7} {'whole command there':>20} {'here':>8} {'times':>7}")
    for name, kind in (("deepfm", deepfm), ("din", din)):
        at = f"{work}/speed-{name}"
        make(program, at, *kind())
        start = time.perf_counter()
        os.environ["PATIENCE"] = "600"
        drive(python, checkout, work, [f"speed-{name}"])
        whole, theirs = time.perf_counter() - start, result(at)
        if "error" in theirs:
            print(f"{name:8} TorchEasyRec: {theirs['error']}")
            good = False
            continue
        rate, took = ours(program, at)
        there = ROWS / theirs["seconds"]
        bar = BARS[name]
        good = good and rate / there >= bar[0] and whole / took >= bar[1]
        print(f"{name:8} {there:14.0f} {rate:10.0f} {rate / there:6.1f}x {whole:18.1f} s {took:6.1f} s {whole / took:6.1f}x"
              f"   bars {bar[0]}x, {bar[1]}x")
    return good
