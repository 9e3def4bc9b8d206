# SPDX-License-Identifier: Apache-2.0
"""Training steps of every model beside PyTorch's, in one run on the same machine; see bench/zoo/run.

Programs take turns as in bench/engine/compare.py, whose peer `tuned` is the only one here."""
import argparse
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "engine"))
from compare import Program, THREADS, cpu_ratio, machine, together  # noqa: E402  of bench/engine

from cases import CASES, config  # noqa: E402

BAR, BATCH = 1.3, 2048


def one(name, o):
    """A row of the table. The ratio is that of processor time where asked for: neighbours count less in it."""
    path = f"build/bench-zoo/{name}.config"
    with open(path, "w") as f:
        f.write(config(name))
    ours, peer = Program("ours", path), Program("tuned", name, peer=str(HERE / "torch_peer.py"))
    ratio = together([ours, peer], o.rounds, o.burst)[peer]
    cpu = cpu_ratio(peer, ours)
    counts = cpu if o.cpu else ratio
    verdict = "no peer" if ratio is None else "ok" if counts >= BAR else "short"
    row = {"case": name, "peer_samples_per_s": peer.speed() and round(peer.speed()),
           "our_samples_per_s": ours.speed() and round(ours.speed()), "ratio": ratio and round(ratio, 3), "bar": BAR,
           "verdict": verdict, "cpu_ratio": cpu and round(cpu, 3), "note": peer.why or ours.why or ""}
    print(f"{name:20} {peer.speed() or 0:10.0f} {ours.speed() or 0:10.0f} {ratio or 0:6.2f} {BAR:5} {verdict:7} "
          f"{cpu or 0:6.2f} {row['note']}", flush=True)
    return row


def keep(o, at, row):
    """Replaces one row of the table in o.out, so that a run of some models, or one that was ended, counts."""
    rows = {}
    if os.path.exists(o.out):
        with open(o.out) as f:
            rows = {r["case"]: r for r in json.load(f)["results"]}
    rows[row["case"]] = dict(row, rounds=o.rounds, burst_s=o.burst)
    with open(f"{o.out}.part", "w") as f:
        json.dump({"bench": "zoo", "threads": int(THREADS), "batch": BATCH, "machine": at,
                   "results": [rows[n] for n in CASES if n in rows]}, f, indent=1)
        f.write("\n")
    os.replace(f"{o.out}.part", o.out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="short turns, few rounds")
    parser.add_argument("--cpu", action="store_true", help="judge by processor time: for a machine with neighbours")
    parser.add_argument("--out", default="bench/results/zoo.json")
    parser.add_argument("models", nargs="*", default=list(CASES))
    o = parser.parse_args()
    o.rounds, o.burst = (2, 0.4) if o.quick else (5, 0.7)
    os.makedirs("build/bench-zoo", exist_ok=True)
    at = machine()
    print(f"{at['cpu']}, {THREADS} threads, batch {BATCH}, load {at['load']:.1f} at the start; samples/s")
    print(f"{'model':20} {'PyTorch':>10} {'ours':>10} {'ratio':>6} {'bar':>5} {'':7} {'of cpu':>6}")
    rows = []
    for name in o.models:
        rows.append(one(name, o))
        keep(o, at, rows[-1])
    sys.exit(1 if any(r["verdict"] == "short" for r in rows) else 0)


main()
