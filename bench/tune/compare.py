# SPDX-License-Identifier: Apache-2.0
"""Our default TPE beside Optuna's and beside NNI's rules; see bench/tune/run.

The value is the distance of the best of 200 evaluations from the minimum, median over the
seeds; less is better. Both sides are noisy estimates, so a row is short only when ours is
worse by more than SLACK.
"""
import json
import os
import platform
import re
import subprocess
import sys

SEEDS = os.environ.get("SEEDS", "100")
BENCH = "build/release/bench/tune/tune_bench"
NNI = '{"tpe_args": {"multivariate": false, "constant_liar_type": "best"}}'
SLACK = 1.10


def table(command):
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: [float(v) for v in line.split()[6:9]] for line in out.splitlines()}


def main():
    rows, short = [], False
    print(f"{'case':22} {'Optuna/bar':>10} {'NNI rules':>10} {'ours':>10}")
    for c in ("1", "8"):
        ours = table([BENCH, "TPE", "{}", SEEDS, c])
        nni = table([BENCH, "TPE", NNI, SEEDS, c])
        optuna = table([sys.executable, "bench/tune/peer.py", SEEDS, c])
        for name, mine in ours.items():
            a, b, o = optuna[name][2], nni[name][2], mine[2]
            good = o <= a * SLACK and o <= b * SLACK
            short |= not good
            rows.append({"function": name, "concurrency": int(c), "optuna": a, "nni_rules": b,
                         "ours": o, "ok": good})
            print(f"{name + ', ' + c + ' at a time':22} {a:10.5g} {b:10.5g} {o:10.5g} "
                  f"{'ok' if good else 'short'}", flush=True)
    for label, command, bars in (
            ("10,000 trials", ["--scale", "TPE", "10000"], {"ms": (r"([\d.]+) ms", 5), "MB": (r"(\d+) MB", 200)}),
            ("replay of them", ["--replay", "10000"], {"s": (r"in ([\d.]+) s", 2), "MB": (r"(\d+) MB", 200)})):
        out = subprocess.run([BENCH, *command], check=True, capture_output=True, text=True).stdout
        for unit, (pattern, most) in bars.items():
            value = float(re.search(pattern, out).group(1))
            short |= value > most
            rows.append({"case": label, "unit": unit, "most": most, "ours": value, "ok": value <= most})
            print(f"{label + ', ' + unit:22} {most:10.5g} {'':10} {value:10.5g} "
                  f"{'ok' if value <= most else 'short'}", flush=True)
    os.makedirs("bench/results", exist_ok=True)
    with open("bench/results/tune.json", "w") as f:
        json.dump({"machine": platform.processor() or platform.machine(), "seeds": int(SEEDS),
                   "rows": rows}, f, indent=1)
        f.write("\n")
    sys.exit(1 if short else 0)


main()
