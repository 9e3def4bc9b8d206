# SPDX-License-Identifier: Apache-2.0
"""make.py - importance.json: trials of known functions, and how important Optuna finds each parameter.

Needs optuna and scikit-learn (pip). web/test/importance.mjs compares the console's forest with it.
"""
import json
import math
import os
import random

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.importance import FanovaImportanceEvaluator, get_param_importances

optuna.logging.set_verbosity(optuna.logging.WARNING)


def additive(p):
    return 3 * p["a"] + p["b"] + 0.1 * p["c"]


def curved(p):
    return (math.log10(p["lr"]) + 2) ** 2 + p["dropout"] ** 2 + (0.5 if p["units"] == "64" else 0)


def together(p):
    return p["x"] * p["y"] + 0.2 * p["z"]


# Shares of the variance that each parameter explains alone, by integration: log10(lr) is uniform on [-4, -1].
def exact_curved():
    lr = 2.2 - 1.0  # E[u^4] - E[u^2]^2 with u uniform on [-2, 1]
    dropout = 0.5 ** 4 / 5 - (0.5 ** 2 / 3) ** 2
    units = 0.25 * (1 / 3) * (2 / 3)
    total = lr + dropout + units
    return {"lr": lr / total, "dropout": dropout / total, "units": units / total}


EXACT = {"curved": exact_curved()}
CASES = {
    "additive": (additive, {k: FloatDistribution(0, 1) for k in "abc"}),
    "curved": (curved, {"lr": FloatDistribution(1e-4, 1e-1, log=True), "dropout": FloatDistribution(0, 0.5),
                        "units": CategoricalDistribution(["64", "128", "256"])}),
    "together": (together, {"x": FloatDistribution(-1, 1), "y": FloatDistribution(-1, 1), "z": FloatDistribution(0, 1)}),
}


def draw(d, rng):
    if isinstance(d, CategoricalDistribution):
        return rng.choice(d.choices)
    if d.log:
        return math.exp(rng.uniform(math.log(d.low), math.log(d.high)))
    return rng.uniform(d.low, d.high)


def one(name, n):
    function, space = CASES[name]
    rng = random.Random(name)
    study = optuna.create_study(direction="minimize")
    trials = []
    for _ in range(n):
        p = {k: draw(d, rng) for k, d in space.items()}
        v = function(p)
        study.add_trial(optuna.trial.create_trial(params=p, distributions=space, value=v))
        trials.append({"parameters": p, "value": v})
    shares = {k: 0.0 for k in space}
    for seed in range(5):
        found = get_param_importances(study, evaluator=FanovaImportanceEvaluator(seed=seed))
        for k, v in found.items():
            shares[k] += v / 5
    return {"trials": trials, "optuna": shares} | ({"exact": EXACT[name]} if name in EXACT else {})


here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "importance.json"), "w", encoding="utf-8") as f:
    json.dump({"optuna_version": optuna.__version__, "cases": {name: one(name, 120) for name in CASES}}, f, indent=1)
    f.write("\n")
