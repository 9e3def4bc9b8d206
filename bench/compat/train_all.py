# SPDX-License-Identifier: Apache-2.0
"""train_all.py PROGRAM CHECKOUT [NAME...] - train each config of a checkout of TorchEasyRec
on generated data of its shape: those of examples/, of the benchmarks and of the tests.

Prints a table: the config, its model, the loss over the first and over the last tenth of
the steps, and the AUC (or recall) on rows that were not trained on. Tables of more than
TABLE_ROWS rows get that many, batches BATCH rows, one epoch is STEPS of them, so that the
list runs on a small machine. Names choose configs that contain one of them. Exits 1 when a
config does not train or its loss does not fall."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH = int(os.environ.get("BATCH", "256"))
STEPS = int(os.environ.get("STEPS", "64"))
TABLE_ROWS = int(os.environ.get("TABLE_ROWS", "1000000"))
SMALL_BATCH = 16  # where a row becomes hundreds
LONGEST = 128  # memory is laid out for the longest sequence; the data has shorter ones

FOLDERS = ("examples", "tzrec/benchmark/configs", "tzrec/tests/configs")
# Trains nothing by gradients: its codes must be used, and stand for the items.
FITTED = "sid_rqkmeans"
# What a config needs to be trained at all.
EDITS = {
    # TorchEasyRec refuses it, too: the dense net must end as wide as the sparse vectors
    "examples/wukong_criteo": ["model_config.wukong.dense_mlp.hidden_units[2]=16"],
}


def smaller(config, work):
    """A copy of the config with tables and sequences of bounded size."""
    def bound(most):
        return lambda m: m.group(1) + str(min(int(m.group(2)), most))

    path = f"{work}/{os.path.basename(config)}"
    text = re.sub(r"((?:num_buckets|hash_bucket_size|zch_size|max_capacity)\s*:\s*)(\d+)", bound(TABLE_ROWS), open(config).read())
    text = re.sub(r"(sequence_length\s*:\s*)(\d+)", bound(LONGEST), text)
    with open(path, "w") as f:
        f.write(text)
    return path


def make_data(program, checkout, config, work, rows):
    subprocess.run([sys.executable, f"{HERE}/gen_for.py", config, work, str(rows)], check=True, cwd=checkout)
    for part in ("train", "eval"):
        subprocess.run([program, "data", "convert", f"{work}/{part}.jsonl", f"{work}/{part}.parquet", "--overwrite"], check=True,
                       capture_output=True)
    return json.load(open(f"{work}/edits.json"))


def train(program, checkout, name, config, work):
    batch = SMALL_BATCH if "tdm_sampler" in open(config).read() else BATCH
    edits = make_data(program, checkout, config, work, batch * STEPS) + EDITS.get(name, [])
    edits += ["data_config.dataset_type=ParquetDataset", f"data_config.batch_size={batch}",
              "train_config.num_epochs=1", "train_config.log_step_count_steps=1",
              "train_config.use_tensorboard=false"]
    command = [program, "train", config, "--log", "json", "--train-input", f"{work}/train.parquet",
               "--eval-input", f"{work}/eval.parquet", "--model-dir", f"{work}/m"]
    for e in edits:
        command += ["--set", e]
    return subprocess.run(command, capture_output=True, text=True, cwd=checkout)


def reason(stderr):
    lines = [line for line in stderr.splitlines() if "error[" in line]
    return lines[-1].split("error[", 1)[1].replace("]", "", 1) if lines else stderr.strip()[-100:]


def row_of(r):
    """Model, steps, first and last loss, scores."""
    events = [json.loads(line) for line in r.stderr.splitlines() if line.startswith("{")]
    start = next(e for e in events if e.get("event") == "start")
    losses = [e["loss"] for e in events if e.get("event") == "progress"]
    tenth = max(1, len(losses) // 10)
    final = [e for e in events if e.get("event") == "evaluation"][-1]
    scores = "  ".join(f"{k} {v:.3f}" for k, v in final.items()
                       if isinstance(v, float) and k.startswith(("auc", "recall", "mse", "unique_sid", "codebook_use")) and "exact" not in k)
    return start["model"], len(losses), sum(losses[:tenth]) / tenth, sum(losses[-tenth:]) / tenth, scores


def configs_of(checkout, chosen):
    for folder in FOLDERS:
        for path in sorted(pathlib.Path(checkout, folder).rglob("*.config")):
            name = str(path.relative_to(checkout)).removesuffix(".config")
            if not chosen or any(c in name for c in chosen):
                yield name, str(path)


def main():
    program, checkout, bad = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), []
    print(f"{'config':62} {'model':16} {'steps':>5} {'first':>8} {'last':>8}  verdict")
    for name, path in configs_of(checkout, sys.argv[3:]):
        with tempfile.TemporaryDirectory() as work:
            r = train(program, checkout, name, smaller(path, work), work)
        if r.returncode != 0:
            bad.append(name)
            print(f"{name:62} {'-':16} {'-':>5} {'-':>8} {'-':>8}  failed: {reason(r.stderr)[:140]}", flush=True)
            continue
        model, steps, first, last, scores = row_of(r)
        falls = last < first or (model == FITTED and "codebook_use_0 1.000" in scores)
        if not falls:
            bad.append(name)
        print(f"{name:62} {model:16} {steps:5} {first:8.4f} {last:8.4f}  "
              f"{'falls' if falls else 'DOES NOT FALL'}  {scores}", flush=True)
    print(f"\n{len(bad)} not as they should be{': ' if bad else ''}{', '.join(bad)}")
    sys.exit(1 if bad else 0)


main()
