# SPDX-License-Identifier: Apache-2.0
"""quality.py PROGRAM DATA [CASE...] - models on real data, trained on the CPU and on a card from the same seeds, compared by
the test set's AUC or recall as bench/quality does. DATA is what bench/quality/prepare.py has written. The bar is the
difference of the means over the seeds; rows go to bench/results/gpu-quality.json. Exit status 1 when one is short."""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "quality"))

from cases import CASES  # noqa: E402
from ours import measure, run, text_of  # noqa: E402

SEEDS = [int(x) for x in os.environ.get("SEEDS", "1 2 3").split()]
BAR = 0.001
DEFAULT = ["frappe DeepFM", "frappe DCNv2", "frappe AutoInt", "census-income MMoE", "census-income PLE", "ml-1m DeepFM",
           "ml-1m DIN", "ml-1m DSSM"]
WAYS = {"cpu": ["--device", "cpu"], "cuda": ["--device", "cuda"]}


def mean(values):
    return sum(values) / len(values)


def row_of(name, case, got, i, task):
    means = {way: mean([each[i] for each in got[way]]) for way in WAYS}
    diff = means["cuda"] - means["cpu"]
    return {"case": f"{name} {task}".strip(), "measure": measure(case), **means, "diff": diff, "bar": -BAR,
            "ok": diff >= -BAR, "seeds": SEEDS, "each": {way: [x[i] for x in got[way]] for way in WAYS}}


def main():
    program, data, chosen = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:] or DEFAULT
    card = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True,
                          check=True).stdout.splitlines()[0]
    rows = []
    print(f"{'measure of the test set':34} {'CPU':>8} {'card':>8} {'diff':>8} {'bar':>7}", flush=True)
    for name in chosen:
        case = CASES[name]
        text = text_of(case, f"{data}/{case['data']}")
        got = {way: [run(program, data, name, case, seed, text, words) for seed in SEEDS] for way, words in WAYS.items()}
        for i, task in enumerate(case["tasks"]):
            rows.append(row_of(name, case, got, i, task))
            r = rows[-1]
            print(f"{r['case']:34} {r['cpu']:8.4f} {r['cuda']:8.4f} {r['diff']:+8.4f} {r['bar']:7} {'ok' if r['ok'] else 'short'}",
                  flush=True)
    with open(os.path.join(HERE, "..", "results", "gpu-quality.json"), "w", encoding="ascii") as f:
        json.dump({"bench": "gpu-quality", "card": card, "rows": rows}, f, indent=1)
        f.write("\n")
    sys.exit(0 if all(r["ok"] for r in rows) else 1)


main()
