# SPDX-License-Identifier: Apache-2.0
"""peer.py SEEDS CONCURRENCY [NAME...] - Optuna's TPE (multivariate, group, constant liar) on
the functions: a line per function as tune_bench prints it. Results come back in the order in
which they were asked for.
"""
import statistics
import sys
import warnings

import optuna

import functions

MARKS = (50, 100, 200)
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


def run(f, seed, concurrency):
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


def main():
    seeds, concurrency, names = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    for f in functions.ALL:
        if names and f.__name__ not in names:
            continue
        rows = list(zip(*(run(f, s, concurrency) for s in range(seeds))))
        print(f"{f.__name__:12} mean", *(f"{statistics.fmean(r):.6g}" for r in rows), "median",
              *(f"{statistics.median(r):.6g}" for r in rows), flush=True)


main()
