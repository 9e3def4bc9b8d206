# SPDX-License-Identifier: Apache-2.0
"""train_all.py PROGRAM CONFIG... - train each config on generated data of its shape.

Prints a table: what was trained, the loss of the first and of the last tenth of the
steps, and the AUC on rows that were not trained on. A config that this version does not
run is listed with the reason. Tables of more than TABLE_ROWS rows get that many, so that
the whole list runs on a small machine. Exits 1 when a loss did not fall."""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = int(os.environ.get("ROWS", "20000"))
BATCH = int(os.environ.get("BATCH", "256"))
EPOCHS = int(os.environ.get("EPOCHS", "2"))
TABLE_ROWS = int(os.environ.get("TABLE_ROWS", "1000000"))


def smaller(config, work):
    """A copy of the config with tables of bounded size."""
    def bound(m):
        return m.group(1) + str(min(int(m.group(2)), TABLE_ROWS))

    path = f"{work}/{os.path.basename(config)}"
    text = re.sub(r"((?:num_buckets|hash_bucket_size)\s*:\s*)(\d+)", bound, open(config).read())
    with open(path, "w") as f:
        f.write(text)
    return path


def make_data(program, config, work):
    subprocess.run([sys.executable, f"{HERE}/gen_for.py", config, work, str(ROWS)], check=True)
    for part in ("train", "eval"):
        subprocess.run([program, "data", "convert", f"{work}/{part}.csv", f"{work}/{part}.parquet",
                        "--delimiter", "\x01"], check=True, capture_output=True)


def train(program, config, work):
    edits = ["data_config.dataset_type=ParquetDataset", f"data_config.batch_size={BATCH}",
             f"train_config.num_epochs={EPOCHS}", "train_config.log_step_count_steps=1",
             "train_config.use_tensorboard=false"]
    if os.path.exists(f"{work}/items.txt"):
        kind = next(k for k in ("negative_sampler", "negative_sampler_v2", "hard_negative_sampler")
                    if k in open(config).read())
        edits += [f"data_config.{kind}.input_path={work}/items.txt",
                  f"data_config.{kind}.num_sample=64"]
    command = [program, "train", config, "--log", "json", "--train-input", f"{work}/train.parquet",
               "--eval-input", f"{work}/eval.parquet", "--model-dir", f"{work}/m"]
    for e in edits:
        command += ["--set", e]
    return subprocess.run(command, capture_output=True, text=True)


def reason(stderr):
    lines = [l for l in stderr.splitlines() if "error[" in l]
    return lines[-1].split("error[", 1)[1].replace("]", "", 1) if lines else "?"


def main():
    program, bad = sys.argv[1], 0
    print(f"{'config':28} {'model':18} {'steps':>5} {'loss at first':>13} {'at last':>8}  result")
    for config in sys.argv[2:]:
        name = os.path.basename(config).removesuffix(".config")
        with tempfile.TemporaryDirectory() as work:
            config = smaller(config, work)
            make_data(program, config, work)
            r = train(program, config, work)
        if r.returncode != 0:
            print(f"{name:28} {'-':18} {'-':>5} {'-':>13} {'-':>8}  {reason(r.stderr)[:100]}")
            continue
        events = [json.loads(l) for l in r.stderr.splitlines() if l.startswith("{")]
        start = next(e for e in events if e["event"] == "start")
        losses = [e["loss"] for e in events if e["event"] == "progress"]
        tenth = max(1, len(losses) // 10)
        first, last = sum(losses[:tenth]) / tenth, sum(losses[-tenth:]) / tenth
        final = [e for e in events if e["event"] == "evaluation"][-1]
        scores = "  ".join(f"{k} {v:.4f}" for k, v in final.items()
                           if isinstance(v, float) and k not in ("seconds", "loss"))
        falls = last < first
        bad += not falls
        print(f"{name:28} {start['model']:18} {len(losses):5} {first:13.4f} {last:8.4f}  "
              f"{scores}{'' if falls else '  THE LOSS DID NOT FALL'}", flush=True)
    sys.exit(1 if bad else 0)


main()
