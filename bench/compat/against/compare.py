# SPDX-License-Identifier: Apache-2.0
"""compare.py PROGRAM CHECKOUT PYTHON [NAME...] - trains the cases of cases.py with TorchEasyRec and
with Trainyard, from the same weights on the same rows, and compares the loss of every step and the
evaluation behind them; then measures how fast each trains DeepFM and DIN.

Exit status 1 when a case differs by more than float rounding."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import cases
import rows
import speed

HERE = os.path.dirname(os.path.abspath(__file__))
CLOSE = 2e-4  # relative; eleven steps of float32 in another order
GROUP = 30  # cases of one process
TRAIN_ROWS, EVAL_ROWS = cases.BATCH * cases.STEPS, 256


def slug(name):
    return name.replace(" ", "-")


def prepare(program, work, name, config, kind):
    at = f"{work}/{slug(name)}"
    os.makedirs(at)
    with open(f"{at}/c.config", "w") as f:
        f.write(config)
    for part, n in (("train", TRAIN_ROWS), ("eval", EVAL_ROWS)):
        made = f"{work}/{kind}.{part}.parquet"
        if not os.path.exists(made):
            rows.write(f"{work}/{kind}.{part}.jsonl", kind, part, n)
            subprocess.run([program, "data", "convert", f"{work}/{kind}.{part}.jsonl", made], check=True,
                           capture_output=True)
        os.symlink(made, f"{at}/{part}.parquet")
    return at


def last_checkpoint(at):
    """Of the reference, whose plan of tables lies in it."""
    return max((f"{at}/m/{d}" for d in os.listdir(f"{at}/m") if d.startswith("model.ckpt-")),
               key=lambda d: int(d.rsplit("-", 1)[1]))


def ours(program, at):
    like = ["--like-reference", "all", "--reference-plan", last_checkpoint(at)]
    command = [program, "train", "c.config", "--log", "json", "--model-dir", "ours", "--fine-tune",
               "first/model.ckpt-0", *like]
    start = time.perf_counter()
    r = subprocess.run(command, cwd=at, capture_output=True, text=True)
    took = time.perf_counter() - start
    if r.returncode:
        bad = [line for line in r.stderr.splitlines() if "error[" in line]
        return {"error": bad[-1] if bad else r.stderr[-200:]}
    events = [json.loads(line) for line in r.stderr.splitlines() if line.startswith("{")]
    final = [e for e in events if e.get("event") == "evaluation"]
    return {"losses": [e["loss"] for e in events if e.get("event") == "progress"],
            "metrics": final[-1] if final else {}, "whole": took}


def apart(a, b):
    return abs(a - b) / max(abs(a), abs(b), 1e-2)


def differs(theirs, mine):
    """'' or what is different."""
    if "error" in theirs:
        return "TorchEasyRec: " + theirs["error"]
    if "error" in mine:
        return mine["error"]
    if len(theirs["losses"]) != len(mine["losses"]):
        return f"{len(theirs['losses'])} and {len(mine['losses'])} losses"
    for step, (a, b) in enumerate(zip(theirs["losses"], mine["losses"])):
        if not apart(a, b) < CLOSE:
            return f"loss of step {step}: {a:.7f} and {b:.7f}"
    for key, a in theirs["metrics"].items():
        b = mine["metrics"].get(key)
        ranks = key.startswith("recall")  # equal items are ordered by chance
        if isinstance(b, float) and isinstance(a, float) and not ranks and not apart(a, b) < 10 * CLOSE:
            return f"{key}: {a:.7f} and {b:.7f}"
    return ""


def drive(python, checkout, work, names):
    """The cases in groups, a process each: one that hangs is ended, and its cases run alone."""
    def run(group):
        with open(f"{work}/reference.log", "a") as log:
            try:
                subprocess.run([python, f"{HERE}/drive.py", checkout, work, *group], stdout=log, stderr=log,
                               timeout=120 + 180 * len(group), env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
            except subprocess.TimeoutExpired:
                log.write("== ended: too long\n")

    for i in range(0, len(names), GROUP):
        run(names[i:i + GROUP])
        for name in names[i:i + GROUP]:
            if not os.path.exists(f"{work}/{name}/reference.json"):
                shutil.rmtree(f"{work}/{name}/m", ignore_errors=True)
                shutil.rmtree(f"{work}/{name}/first", ignore_errors=True)
                run([name])


def result(at):
    try:
        with open(f"{at}/reference.json") as f:
            return json.load(f)
    except OSError:
        return {"error": "no result; see reference.log"}


def compare(program, at):
    """'' or what is different."""
    theirs = result(at)
    return differs(theirs, ours(program, at) if "error" not in theirs else {})


def main():
    if len(sys.argv) < 4 or not os.path.isdir(f"{sys.argv[2]}/tzrec"):
        sys.exit("usage: make bench-torcheasyrec CHECKOUT=DIR PYTHON=PROGRAM: a checkout of TorchEasyRec and the Python of "
                 "an environment with its requirements (docs/compat.md)")
    program, checkout, python = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
    chosen = {n: c for n, c in cases.cases().items() if not sys.argv[4:] or any(w in n for w in sys.argv[4:])}
    work = tempfile.mkdtemp(prefix="against-")
    places = {name: prepare(program, work, name, *c) for name, c in chosen.items()}
    drive(python, checkout, work, [slug(n) for n in places])
    bad = 0
    for name, at in places.items():
        why = compare(program, at)
        bad += bool(why)
        print(f"{name:34} {'DIFFERS  ' + why if why else 'agrees'}", flush=True)
    print(f"\n{len(places) - bad} of {len(places)} cases agree")
    timed = not sys.argv[4:] or "speed" in sys.argv[4:]
    slow = timed and not speed.measure(program, checkout, python, work, drive, result)
    if os.environ.get("KEEP") or bad:
        print(f"kept in {work}")
    else:
        shutil.rmtree(work)
    sys.exit(1 if bad or slow else 0)


main()
