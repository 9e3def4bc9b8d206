# SPDX-License-Identifier: Apache-2.0
"""Our training step on a card beside PyTorch's; see bench/gpu/run.

A case is one shape. Ours runs TURNS times for SECONDS, after a warm-up, and its speed is the median of the turns' medians;
the peer likewise, eager and compiled, in f32 with TF32 products and in bf16, and the best of them counts. Ours has the
precision that a row names.
"""
import json
import os
import statistics
import subprocess
import sys

STEP = os.environ.get("TY_STEP", "build/cuda/bench/engine/engine_step")
PLUGIN = os.environ.get("TY_PLUGIN", "build/cuda/libtrainyard_cuda.so")
THREADS = str(os.cpu_count() or 1)
TURNS, SECONDS = 5, 1.0
# name: our words, the peer's words, bar (ours over the peer's best)
CASES = {
    "dlrm dim 16, batch 8192": (["dlrm", "8192", "bf16", "uniform", "rows=1000000"], ["dlrm", "8192", "16"], 4.0),
    "dlrm dim 16, batch 65536": (["dlrm", "65536", "bf16", "uniform", "rows=1000000"], ["dlrm", "65536", "16"], 3.0),
    "dlrm dim 128, batch 8192": (["dlrm", "8192", "bf16", "uniform", "rows=1000000", "dim=128"], ["dlrm", "8192", "128"], 4.0),
    "dlrm dim 128, batch 65536": (["dlrm", "65536", "bf16", "uniform", "rows=1000000", "dim=128"], ["dlrm", "65536", "128"], 5.0),
    "din, batch 8192": (["din", "8192", "bf16"], ["din", "8192", "16"], 5.0),
    "mmoe, batch 65536": (["mmoe", "65536", "bf16"], ["mmoe", "65536", "16"], 3.0),
    "deepfm, batch 8192": (["deepfm", "8192", "bf16", "uniform", "rows=1000000"], None, None),
    "lookup dim 16, batch 65536": (["lookup", "65536", "uniform", "rows=1000000"], ["lookup", "65536", "16"], None),
    "lookup dim 128, batch 40330, 350 k rows": (["lookup", "40330", "uniform", "rows=13500", "dim=128"],
                                                ["lookup", "40330", "128"], None),
    "lookup dim 128 by Adam, 350 k rows": (["lookup", "40330", "adam", "uniform", "rows=13500", "dim=128"],
                                           ["lookup-adam", "40330", "128"], None),
}
# Milliseconds of a step at most.
MOST_MS = {"lookup dim 128 by Adam, 350 k rows": 0.75}


def ours(words):
    model, batch, *rest = words
    command = [STEP, model, batch, THREADS, *rest, f"device={PLUGIN}", "-"]
    program = subprocess.run(command, input=f"{SECONDS}\n" * TURNS, capture_output=True, text=True)
    if program.returncode:
        return None, program.stderr.strip().splitlines()[-1:]
    turns = [json.loads(line) for line in program.stdout.splitlines()]
    # rows alone are not waited for step by step, so that single steps have no time
    speed = "whole" if model == "lookup" else "samples_per_s"
    return statistics.median(t[speed] for t in turns), turns[-1]


def verdict_of(case, batch, speed, ratio, bar):
    """A bar is a ratio, or milliseconds."""
    if speed and case in MOST_MS:
        return "ok" if batch / speed * 1e3 <= MOST_MS[case] else "short"
    return "" if bar is None or ratio is None else "ok" if ratio >= bar else "short"


def peer(words):
    """The best of eager and compiled; None without PyTorch."""
    program = subprocess.run([sys.executable, "bench/gpu/torch_peer.py", *words], capture_output=True, text=True)
    lines = [json.loads(line) for line in program.stdout.splitlines() if line.startswith("{")]
    return max(lines, key=lambda line: line["samples_per_s"]) if lines else None


def card():
    query = "--query-gpu=name,driver_version,memory.total"
    name, driver, memory = subprocess.run(["nvidia-smi", query, "--format=csv,noheader"], capture_output=True,
                                          text=True, check=True).stdout.splitlines()[0].split(", ")
    return {"name": name, "driver": driver, "memory": memory}


def main():
    chosen = [c for c in CASES if not sys.argv[1:] or any(word in c for word in sys.argv[1:])]
    rows, short = [], 0
    print(f"{'case':42} {'ours M/s':>9} {'torch M/s':>9} {'':>9} {'ratio':>6} {'bar':>5}")
    for case in chosen:
        words, other, bar = CASES[case]
        speed, detail = ours(words)
        best = peer(other) if other else None
        ratio = speed / best["samples_per_s"] if speed and best else None
        batch = int(words[1])
        verdict = verdict_of(case, batch, speed, ratio, bar)
        short += verdict == "short" or speed is None
        rows.append({"case": case, "our_samples_per_s": speed and round(speed),
                     "our_ms": speed and round(batch / speed * 1e3, 4), "bar_ms": MOST_MS.get(case), "our_step": detail, "peer": best,
                     "ratio": ratio and round(ratio, 3), "bar": bar, "verdict": verdict})
        print(f"{case:42} {(speed or 0) / 1e6:9.2f} {best['samples_per_s'] / 1e6 if best else 0:9.2f} "
              f"{best['how'] if best else '':>9} {ratio or 0:6.2f} {bar or 0:5.1f} {verdict}", flush=True)
    with open("bench/results/gpu.json", "w", encoding="utf-8") as out:
        json.dump({"bench": "gpu", "card": card(), "threads": int(THREADS), "turns": TURNS, "turn_s": SECONDS,
                   "results": rows}, out, indent=1)
        out.write("\n")
    return short > 0


if __name__ == "__main__":
    sys.exit(main())
