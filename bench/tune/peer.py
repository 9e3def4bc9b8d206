# SPDX-License-Identifier: Apache-2.0
"""peer.py SEEDS CONCURRENCY [NAME...] - Optuna's TPE (multivariate, group, constant liar) on
the functions: a line per function as tune_bench prints it. Results come back in the order in
which they were asked for.

Optuna needs seconds for a run, so each run's result is kept in bench/tune/optuna.csv, under
Optuna's version; what is there already is not computed again. `peer.py --fill SEEDS` adds
what is missing, seed by seed, and prints nothing.
"""
import csv
import os
import statistics
import sys
import warnings

import optuna

import functions

MARKS = (50, 100, 200)
CACHE = os.environ.get("OPTUNA_CACHE", os.path.join(os.path.dirname(__file__), "optuna.csv"))
optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.filterwarnings("ignore")


class Asked:
    def __init__(self, trial):
        self.t = trial

    def uniform(self, name, low, high):
        return self.t.suggest_float(name, low, high)

    def loguniform(self, name, low, high):
        return self.t.suggest_float(name, low, high, log=True)

    def quniform(self, name, low, high, q):
        return self.t.suggest_float(name, low, high, step=q)

    def randint(self, name, low, high):
        return self.t.suggest_int(name, low, high - 1)

    def choice(self, name, options):
        return self.t.suggest_categorical(name, options)


def compute(f, seed, concurrency):
    sampler = optuna.samplers.TPESampler(multivariate=True, group=True, constant_liar=True,
                                         seed=seed)
    study = optuna.create_study(sampler=sampler)
    flight, least, marks = [], float("inf"), []
    for n in range(1, MARKS[-1] + 1):
        while len(flight) < concurrency:
            trial = study.ask()
            flight.append((trial, f(Asked(trial))))
        trial, value = flight.pop(0)
        study.tell(trial, value)
        least = min(least, value)
        if n in MARKS:
            marks.append(least - functions.LEAST.get(f.__name__, 0))
    return marks


def load():
    known = {}
    if os.path.exists(CACHE):
        with open(CACHE, newline="") as f:
            for version, name, c, seed, *marks in csv.reader(f):
                if version == optuna.__version__:
                    known[name, int(c), int(seed)] = [float(m) for m in marks]
    return known


def run(known, f, seed, concurrency):
    key = f.__name__, concurrency, seed
    if key not in known:
        known[key] = compute(f, seed, concurrency)
        with open(CACHE, "a") as out:
            print(optuna.__version__, *key[:2], seed, *(f"{m:.8g}" for m in known[key]),
                  sep=",", file=out)
    return known[key]


def main():
    known = load()
    if sys.argv[1] == "--fill":
        for seed in range(int(sys.argv[2])):
            for f in functions.ALL:
                for c in (1, 8):
                    run(known, f, seed, c)
        return
    seeds, concurrency, names = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    for f in functions.ALL:
        if names and f.__name__ not in names:
            continue
        rows = list(zip(*(run(known, f, s, concurrency) for s in range(seeds))))
        print(f"{f.__name__:12} mean", *(f"{statistics.fmean(r):.6g}" for r in rows), "median",
              *(f"{statistics.median(r):.6g}" for r in rows), flush=True)


main()
