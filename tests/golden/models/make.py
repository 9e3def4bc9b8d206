#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make.py DIR [CASE...] - write DIR/<case>.json for each case of cases.py.

A file holds the config, the weights before training, three batches, and what must come
out: for the first batch outputs, losses and every gradient; then the losses of ten
optimizer steps (batches in turn), all weights after them, and the outputs of the second
batch in evaluation mode. Format: tests/golden/README.md.
"""
import json
import pathlib
import sys

import torch

from blocks import Adam, Params, SparseAdagrad
from cases import CASES
from data import FEATURES, add_candidates, add_items, make_batch
import match  # noqa: F401  registers its cases
import recall  # noqa: F401
import fields  # noqa: F401
import hstu  # noqa: F401
import interests  # noqa: F401
import tasks  # noqa: F401
import sid  # noqa: F401
import zoo  # noqa: F401

STEPS = 10
# as in CONFIG of data.py
SPARSE = {"lr": 0.05, "initial": 0.1}
DENSE = {"lr": 0.01}


def number(x):
    return float(f"{float(x):.9g}")


def flat(t):
    return [number(x) for x in t.detach().reshape(-1).tolist()]


def offsets(rows):
    out = [0]
    for row in rows:
        out.append(out[-1] + len(row))
    return out


def feature_json(name, rows):
    """ids with offsets per row; a sequence has offsets of positions and of ids in them."""
    kind = FEATURES[name][0]
    if kind == "raw":
        return {"numbers": [number(x) for row in rows for x in row]}
    if kind == "seqraw":
        return {"positions": offsets(rows), "numbers": [number(x) for row in rows for at in row for x in at]}
    if kind == "seq":
        steps = [at for row in rows for at in row]
        return {"positions": offsets(rows), "offsets": offsets(steps), "ids": [x for at in steps for x in at]}
    out = {"offsets": offsets(rows)}
    if kind == "weighted":
        out["weights"] = [number(w) for row in rows for _, w in row]
        rows = [[x for x, _ in row] for row in rows]
    out["ids"] = [x for row in rows for x in row]
    return out


def task_of(loss):
    if loss == "aux_loss" or loss.startswith("amm_loss"):
        return ""
    for kind in ("binary_cross_entropy", "binary_focal_loss", "softmax_cross_entropy", "l2_loss", "jrc_loss"):
        if loss.startswith(kind):
            return loss[len(kind):].lstrip("_")
    raise ValueError(loss)


def run(case, p, b):
    """Outputs, losses, row weights by task, and the total."""
    p.touched.clear()
    outputs, losses = case["run"](p, b)
    mean = {k: (v if w is None else v * w).mean() for k, (v, w) in losses.items()}
    weights = {task_of(k): flat(w) for k, (_, w) in losses.items()
               if w is not None and not k.startswith(("hint", "similarity"))}
    return outputs, mean, weights, sum(mean.values())


def backward(p, total):
    for t in list(p.dense.values()) + list(p.tables.values()):
        t.grad = None
    total.backward()
    for t in p.tables.values():
        t.grad = torch.zeros_like(t) if t.grad is None else t.grad


def dense_json(p):
    return {k: flat(v) for k, v in sorted({**p.dense, **p.buffers}.items())}


def tables_json(p):
    return {k: flat(v) for k, v in sorted(p.tables.items())}


def make(case):
    batches = [make_batch(n, k) for k, n in enumerate([7, 5, 9])]
    for k, b in enumerate(batches if case["items"] else []):
        names, common, hard = case["items"]
        if "x__i" in names:
            add_candidates(b, k, common + k, hard(b["rows"]))
        else:
            add_items(b, k, names.split(), common + k, hard(b["rows"]))
    p = Params()
    p.training, p.dense_tables = False, case["dense_tables"]
    for b in batches:  # names and initial values
        run(case, p, b)
    p.training = True
    out = {"config": case["config"], "free": case["free"]}
    if case["dense_tables"]:
        out["dense_tables"] = case["dense_tables"]
    out["weights"], out["tables"] = dense_json(p), tables_json(p)
    out["batches"] = []
    for b in batches:
        kept, p.training = dict(p.buffers), not case["random"]
        weights = run(case, p, b)[2]
        p.buffers, p.training = kept, True
        names = [x for x in FEATURES if f"'{x}'" in case["config"].split("model_config")[1]]
        out["batches"].append({
            "rows": b["rows"],
            "features": {x: feature_json(x, b["features"][x]) for x in names},
            "columns": {k: [number(x) for x in v] for k, v in b["columns"].items()
                        if k not in ("acts", "stays") or f"'{k}'" in case["config"]},
            "row_weights": weights,
        })
        out["batches"][-1].update({k: b[k] for k in ("items", "common", "hard_at", "own_at") if b.get(k) is not None})
    if case["random"]:
        p.training = False
        outputs, losses, _, _ = run(case, p, batches[1])
        out["evaluation"] = {k: flat(v) for k, v in outputs.items()}
        out["evaluation_losses"] = {k: number(v) for k, v in losses.items()}
        return out
    kept = dict(p.buffers)
    outputs, losses, _, total = run(case, p, batches[0])
    backward(p, total)
    out["first"] = {
        "outputs": {k: flat(v) for k, v in outputs.items()},
        "losses": {k: number(v) for k, v in losses.items()},
        "gradients": {k: flat(v.grad) for k, v in sorted(p.dense.items())},
        "row_gradients": {k: flat(v.grad) for k, v in sorted(p.tables.items())},
    }
    p.buffers = kept
    sparse, dense, out["steps"] = SparseAdagrad(**SPARSE), Adam(**DENSE), []
    for k in range(STEPS):
        total = run(case, p, batches[k % len(batches)])[3]
        out["steps"].append(number(total))
        backward(p, total)
        sparse.step(p)
        dense.step(p)
    out["weights_after"], out["tables_after"] = dense_json(p), tables_json(p)
    p.training = False
    outputs, evaluated, _, total = run(case, p, batches[1])
    out["evaluation"] = {k: flat(v) for k, v in outputs.items()}
    if set(evaluated) != set(losses):
        out["evaluation_loss"] = number(total)
    return out


def main(args):
    where = pathlib.Path(args[0])
    for name in args[1:] or CASES:
        text = json.dumps(make(CASES[name]), separators=(",", ":"))
        (where / f"{name}.json").write_text(text.replace('],"', '],\n"').replace('},"', '},\n"') + "\n")
        print(f"{name}: {len(text)} bytes")


main(sys.argv[1:])
