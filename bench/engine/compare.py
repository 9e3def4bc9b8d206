# SPDX-License-Identifier: Apache-2.0
"""Runs step.c and torch_peer.py in turn and prints what they reached; see bench/engine/run.

The peer is PyTorch as PyPI gives it, with the threads of this run and its tables merged into
one, which is the fastest form that plain PyTorch has. Each pair runs ROUNDS times, interleaved,
and the best median of each side counts: neighbours on the machine only ever slow a run down.
"""
import json
import os
import platform
import subprocess
import sys

SECONDS = os.environ.get("SECONDS_EACH", "6")
THREADS = os.environ.get("THREADS", str(min(2, os.cpu_count() or 1)))
ROUNDS = int(os.environ.get("ROUNDS", "2"))
# model, batch, precision, bar as a ratio to the peer of the same precision
CASES = [
    ("dlrm", 2048, "f32", 1.7), ("deepfm", 2048, "f32", 1.6),
    ("mmoe", 2048, "f32", 1.25), ("din", 1024, "f32", 2.7),
    ("dlrm", 2048, "bf16", 1.8), ("deepfm", 2048, "bf16", 1.9),
    ("mmoe", 2048, "bf16", 1.25), ("din", 1024, "bf16", 3.0),
]


def run(command):
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(out.stdout)


def ours(model, batch, precision, *more):
    words = [precision] if precision == "bf16" else []
    return run(["build/release/bench/engine/engine_step", model, str(batch), THREADS, *words,
                *more, SECONDS])


def peer(model, batch, precision):
    """0 samples when PyTorch cannot run the case on this machine."""
    words = [precision] if precision == "bf16" else []
    try:
        return run([sys.executable, "bench/engine/torch_peer.py", model, str(batch), *words,
                    THREADS, SECONDS])
    except subprocess.CalledProcessError as e:
        why = (e.stderr.strip().splitlines() or [f"ended with status {e.returncode}"])[-1]
        print(f"PyTorch: {model} {precision}: {why}")
        return {"samples_per_s": 0.0}


def main():
    rows, short = [], False
    print(f"{'case':22} {'PyTorch':>10} {'ours':>10} {'ratio':>6} {'bar':>5}")
    for model, batch, precision, bar in CASES:
        best = {"ours": 0.0, "peer": 0.0}
        for _ in range(ROUNDS):
            best["ours"] = max(best["ours"], ours(model, batch, precision)["samples_per_s"])
            best["peer"] = max(best["peer"], peer(model, batch, precision)["samples_per_s"])
        ratio = best["ours"] / best["peer"] if best["peer"] else None
        good = ratio is not None and ratio >= bar
        short |= ratio is not None and not good
        rows.append({"model": model, "batch": batch, "precision": precision, **best,
                     "ratio": ratio, "bar": bar, "ok": good})
        print(f"{model + ' ' + precision + ' ' + str(batch):22} {best['peer']:10.0f} "
              f"{best['ours']:10.0f} {ratio or 0:6.2f} {bar:5} "
              f"{'no peer' if ratio is None else 'ok' if good else 'short'}", flush=True)
    padded = max(ours("din", 1024, "f32")["samples_per_s"] for _ in range(ROUNDS))
    jagged = max(ours("din", 1024, "f32", "varlen")["samples_per_s"] for _ in range(ROUNDS))
    good = jagged / padded >= 1.8
    short |= not good
    print(f"{'din, mean length 25':22} {padded:10.0f} {jagged:10.0f} {jagged / padded:6.2f} "
          f"{1.8:5} {'ok' if good else 'short'}  (against our own at length 50)")
    rows.append({"model": "din jagged", "padded": padded, "ours": jagged, "bar": 1.8, "ok": good})
    os.makedirs("bench/results", exist_ok=True)
    with open("bench/results/engine.json", "w") as f:
        json.dump({"machine": platform.processor() or platform.machine(), "threads": THREADS,
                   "rows": rows}, f, indent=1)
        f.write("\n")
    sys.exit(1 if short else 0)


main()
