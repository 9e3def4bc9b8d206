# SPDX-License-Identifier: Apache-2.0
"""Optuna's samplers on the functions of bench/tune.

    peer.py SEEDS CONCURRENCY [NAME...]   TPE on the first set: a line per function as
                                          tune_bench prints it
    peer.py --paired SAMPLER SEEDS CONCURRENCY [NAME...]
                                          TPE, GP or CMA-ES on the second set: a line per run,
                                          as `tune_bench --paired` prints it
    peer.py --cached SAMPLER SEEDS CONCURRENCY
                                          the same of what is there already
    peer.py --check TUNE_BENCH            whether second.py and second.c are the same functions

Results come back in the order in which they were asked for. Where a function has noise, a
run's value is what the trial that Optuna calls best is without it.

Optuna needs seconds for a run, and its GP minutes, so each run's result is kept in
bench/tune/optuna.csv and second.csv, under Optuna's version; what is there already is not
computed again; TRIALS=100 makes shorter runs. `peer.py --fill SEEDS` adds what is missing of the first set, seed by seed, and
`peer.py --fill-paired SAMPLER FROM TO CONCURRENCY [NAME...]` of the second, and print nothing.
"""
import contextlib
import csv
import json
import math
import os
import statistics
import subprocess
import sys
import warnings

import optuna

import functions
import second

TRIALS = int(os.environ.get("TRIALS", "200"))
MARKS = tuple(m for m in (50, 100, 200) if m <= TRIALS)
HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.environ.get("OPTUNA_CACHE", os.path.join(HERE, "optuna.csv"))
SECOND = os.environ.get("SECOND_CACHE", os.path.join(HERE, "second.csv"))
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


class Given:
    """A point as a trial gets it: {"lr": 0.1, "opt": {"_name": "sgd", "lr": 1}}."""

    def __init__(self, params):
        self.at = {}
        self.add("", params)

    def add(self, prefix, params):
        for name, v in params.items():
            if isinstance(v, dict):
                self.at[prefix + name] = v["_name"]
                self.add(v["_name"] + "/", {k: w for k, w in v.items() if k != "_name"})
            else:
                self.at[prefix + name] = v

    def uniform(self, name, *_):
        return self.at[name]

    loguniform = quniform = randint = choice = uniform


def mix(z):
    z = (z + 0x9E3779B97F4A7C15) % 2 ** 64
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2 ** 64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2 ** 64
    return z ^ (z >> 31)


def noise(seed, n):
    """The normal deviate of result n of a run; tune_bench has the same."""
    a = mix(seed * 1000003 + n)
    u, v = (a >> 11) / 2 ** 53, (mix(a) >> 11) / 2 ** 53
    return math.sqrt(-2 * math.log(u + 2 ** -54)) * math.cos(2 * math.pi * v)


class OldTorch:
    """torch before 2 for Optuna's GP, which asks for its processor as a context."""

    def __init__(self, torch):
        self.torch = torch

    def device(self, name):
        return contextlib.nullcontext()

    def __getattr__(self, name):
        return getattr(self.torch, name)


def sampler_of(name, seed):
    if name == "gp":
        import torch
        from optuna.samplers._gp import sampler
        torch.set_num_threads(1)
        if int(torch.__version__.split(".")[0]) < 2:
            sampler.torch = OldTorch(torch)
        return optuna.samplers.GPSampler(seed=seed, deterministic_objective=False)
    if name == "cmaes":
        return optuna.samplers.CmaEsSampler(seed=seed)
    return optuna.samplers.TPESampler(multivariate=True, group=True, constant_liar=True, seed=seed)


def compute(f, seed, concurrency, sampler="tpe", sd=0, least=0):
    study = optuna.create_study(sampler=sampler_of(sampler, seed))
    flight, low, chosen, marks = [], float("inf"), 0, []
    for n in range(1, MARKS[-1] + 1):
        while len(flight) < concurrency:
            trial = study.ask()
            flight.append((trial, f(Asked(trial))))
        trial, value = flight.pop(0)
        seen = value + sd * noise(seed, n) if sd else value
        study.tell(trial, seen)
        if seen < low:
            low, chosen = seen, value
        if n in MARKS:
            marks.append(chosen - least)
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
        known[key] = compute(f, seed, concurrency, least=functions.LEAST.get(f.__name__, 0))
        with open(CACHE, "a") as out:
            print(optuna.__version__, *key[:2], seed, *(f"{m:.8g}" for m in known[key]),
                  sep=",", file=out)
    return known[key]


def load_second():
    known = {}
    if os.path.exists(SECOND):
        with open(SECOND, newline="") as f:
            for version, sampler, name, c, seed, *marks in csv.reader(f):
                key = sampler, name, int(c), int(seed)
                if version == optuna.__version__ and len(marks) > len(known.get(key, ())):
                    known[key] = [float(m) for m in marks]
    return known


def run_second(known, sampler, f, seed, concurrency):
    key = sampler, f.__name__, concurrency, seed
    if len(known.get(key, ())) < len(MARKS):
        known[key] = compute(f, seed, concurrency, sampler, second.NOISE.get(f.__name__, 0),
                             second.LEAST.get(f.__name__, 0))
        with open(SECOND, "a") as out:
            print(optuna.__version__, *key, *(f"{m:.8g}" for m in known[key]), sep=",", file=out)
    return known[key]


def paired(sampler, seeds, concurrency, names, shown):
    known = load_second()
    for seed in seeds:
        for f in second.ALL:
            if names and f.__name__ not in names:
                continue
            marks = run_second(known, sampler, f, seed, concurrency)
            if shown:
                print(f.__name__, seed, *(f"{m:.8g}" for m in marks), flush=True)


def cached(sampler, seeds, concurrency):
    for (by, name, c, seed), marks in load_second().items():
        if by == sampler and c == concurrency and seed < seeds:
            print(name, seed, *(f"{m:.8g}" for m in marks))


def check(bench):
    wrong = 0
    for f in second.ALL:
        out = subprocess.run([bench, "--points", f.__name__, "40"], check=True,
                             capture_output=True, text=True).stdout
        for line in out.splitlines():
            value, params = line.split(" ", 1)
            mine = f(Given(json.loads(params)))
            if abs(mine - float(value)) > 1e-9 * max(1, abs(mine)):
                print(f"{f.__name__}: {value} there, {mine!r} here: {params}")
                wrong += 1
    for seed, n in ((0, 1), (7, 200), (59, 123)):
        out = subprocess.run([bench, "--noise", str(seed), str(n)], check=True,
                             capture_output=True, text=True).stdout
        if abs(float(out) - noise(seed, n)) > 1e-9:
            print(f"noise {seed} {n}: {out.strip()} there, {noise(seed, n)!r} here")
            wrong += 1
    return 1 if wrong else 0


def main():
    if sys.argv[1] == "--check":
        sys.exit(check(sys.argv[2]))
    if sys.argv[1] == "--cached":
        cached(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return
    if sys.argv[1] == "--paired":
        paired(sys.argv[2], range(int(sys.argv[3])), int(sys.argv[4]), sys.argv[5:], True)
        return
    if sys.argv[1] == "--fill-paired":
        paired(sys.argv[2], range(int(sys.argv[3]), int(sys.argv[4])), int(sys.argv[5]),
               sys.argv[6:], False)
        return
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


if __name__ == "__main__":
    main()
