# SPDX-License-Identifier: Apache-2.0
"""Our tuners beside Optuna's samplers; see bench/tune/run.

The second set, on which no setting was chosen: how often our default, Auto, ends nearer to
the minimum than Optuna's TPE, GP and CMA-ES with the same seed. A tie is half a win; with
noise, what each side calls its best trial counts by its value without the noise. Bars: 60 % of
all runs, and 45 % of those of each function. Only runs that both sides have are compared, so
PEERS=cached takes what second.csv has and computes nothing.

The first set, on which the settings of TPE were chosen (SETS=1 or SETS=2 for one of them): the
distance of the best of 200 evaluations from the minimum, median over the seeds; less is better.
Both sides are noisy estimates, so a row is short only when ours is worse by more than SLACK.
"""
import json
import os
import platform
import re
import subprocess
import sys

SEEDS = os.environ.get("SEEDS", "100")
SEEDS_PAIRED = os.environ.get("SEEDS_PAIRED", "60")
SETS = os.environ.get("SETS", "2,1").split(",")
PEERS = ("tpe", "gp", "cmaes")
BENCH = "build/release/bench/tune/tune_bench"
NNI = '{"tpe_args": {"multivariate": false, "constant_liar_type": "best"}}'
SLACK = 1.10


def table(command):
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: [float(v) for v in line.split()[6:9]] for line in out.splitlines()}


def lines(command):
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = {}
    for line in out.splitlines():
        name, seed, *values = line.split()
        found[name, int(seed)] = [float(v) for v in values]
    return found


def wins(ours, peer, names, mark):
    """How many runs both sides have, and how many of them ours won; a tie is half."""
    pairs = [(ours[k][mark], peer[k][mark]) for k in ours
             if k in peer and k[0] in names and len(peer[k]) > mark]
    won = sum(1 if a < b else .5 if a == b else 0 for a, b in pairs)
    return len(pairs), won


def second_set(rows):
    python = [sys.executable, "bench/tune/peer.py"]
    subprocess.run([*python, "--check", BENCH], check=True)
    short = False
    for c in ("1", "8"):
        ours = lines([BENCH, "--paired", "Auto", "{}", SEEDS_PAIRED, c])
        names = list(dict.fromkeys(name for name, _ in ours))
        for peer in PEERS:
            cached = os.environ.get("PEERS") == "cached"
            theirs = lines([*python, "--cached" if cached else "--paired", peer, SEEDS_PAIRED, c])
            for mark, trials in ((1, 100), (2, 200)):
                for name in [*names, "all"]:
                    n, won = wins(ours, theirs, names if name == "all" else [name], mark)
                    if n == 0:
                        continue
                    bar = .6 if name == "all" else .45
                    good = won / n >= bar
                    short |= not good
                    rows.append({"function": name, "peer": peer, "concurrency": int(c), "trials": trials,
                                 "runs": n, "won": won / n, "bar": bar, "ok": good})
                    print(f"{name:15} {peer:6} {c} at a time, {trials} trials: won {won / n:4.0%} of {n:4} "
                          f"{'ok' if good else 'short'}", flush=True)
    return short


def keep(name, seeds, rows):
    os.makedirs("bench/results", exist_ok=True)
    with open(f"bench/results/{name}.json", "w") as f:
        json.dump({"machine": platform.processor() or platform.machine(), "seeds": int(seeds),
                   "rows": rows}, f, indent=1)
        f.write("\n")


def main():
    short = False
    if "2" in SETS:
        rows = []
        short |= second_set(rows)
        keep("tune_second", SEEDS_PAIRED, rows)
    if "1" in SETS:
        rows = []
        short |= first_set(rows)
        keep("tune", SEEDS, rows)
    sys.exit(1 if short else 0)


def first_set(rows):
    short = False
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
            ("the same of Auto", ["--scale", "Auto", "10000"], {"ms": (r"([\d.]+) ms", 5), "MB": (r"(\d+) MB", 200)}),
            ("replay of them", ["--replay", "10000"], {"s": (r"in ([\d.]+) s", 2), "MB": (r"(\d+) MB", 200)})):
        out = subprocess.run([BENCH, *command], check=True, capture_output=True, text=True).stdout
        for unit, (pattern, most) in bars.items():
            value = float(re.search(pattern, out).group(1))
            short |= value > most
            rows.append({"case": label, "unit": unit, "most": most, "ours": value, "ok": value <= most})
            print(f"{label + ', ' + unit:22} {most:10.5g} {'':10} {value:10.5g} "
                  f"{'ok' if value <= most else 'short'}", flush=True)
    return short


if __name__ == "__main__":
    main()
