# SPDX-License-Identifier: Apache-2.0
"""Runs every config.yaml of a checkout of PaddleRec 1.8.5 and prints what came of it.

    run_all.py TRAINYARD CHECKOUT [NAME...]

A config runs as it is, but for the number of epochs (EPOCHS, 8) and where it saves. A row of the table: the first and the
last epoch's mean loss, the metric behind the last, seconds per epoch. `falls`: the loss of the last epoch is below
the first one's; `refused`: the first line of why. Exit status 1 when a config that trains does not learn.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

ANSWER = re.compile(r"epoch (\d+) done, use time: ([0-9.e-]+)(?:, global metrics: (.*))?")
LOSS = re.compile(r"epoch: (\d+),.*LOSS: \[([^\]]*)\]")


def first_runner(path):
    """The name of the runner that `mode` names first."""
    text = open(path, encoding="utf-8").read()
    mode = re.search(r"^mode:\s*\[?\s*['\"]?([\w.-]+)", text, re.M)
    return mode.group(1) if mode else ""


def run(program, checkout, path, epochs):
    runner = first_runner(os.path.join(checkout, path))
    with tempfile.TemporaryDirectory() as out:
        words = [program, "run", path, "--set", f"mode=[{runner}]", "--set", f"runner[name={runner}].epochs={epochs}",
                 "--set", f"runner[name={runner}].device=cpu", "--set", f"runner[name={runner}].print_interval=1",
                 "--set", f"runner[name={runner}].save_checkpoint_path={out}/m"]
        ran = subprocess.run(words, cwd=checkout, capture_output=True, text=True, timeout=1800)
    if ran.returncode:
        why = next((li for li in ran.stderr.splitlines() if "error[" in li or "error:" in li), ran.stderr[-200:].strip())
        return {"refused": re.sub(r"^.*?(error.*)", r"\1", why)[:110]}
    losses = {}
    for epoch, v in LOSS.findall(ran.stderr):
        losses.setdefault(int(epoch), []).append(float(v))
    means = [sum(v) / len(v) for _, v in sorted(losses.items())]
    times = [(float(t), m or "") for _, t, m in ANSWER.findall(ran.stdout)]
    return {"losses": means, "seconds": min(t for t, _ in times), "metric": re.sub(r",? ?LOSS=\[[^]]*\]", "", times[-1][1])}


def main(program, checkout, *names):
    configs = sorted(os.path.relpath(p, checkout) for p in glob.glob(f"{checkout}/models/**/config*.yaml", recursive=True))
    epochs, bad, trained = int(os.environ.get("EPOCHS", "8")), 0, 0
    print(f"{'config':48} {'loss':>10} {'last':>10} {'s/epoch':>8}  metric")
    for path in configs:
        name = path[len("models/"):].replace("/config.yaml", "")
        if names and not any(n in name for n in names):
            continue
        got = run(program, checkout, path, epochs)
        if "refused" in got:
            print(f"{name:48} refused: {got['refused']}", flush=True)
            continue
        trained += 1
        means = got["losses"]
        falls = len(means) > 1 and means[-1] < means[0]
        bad += not falls
        first, last = (f"{means[0]:10.5f}", f"{means[-1]:10.5f}") if means else ("-", "-")
        print(f"{name:48} {first:>10} {last:>10} {got['seconds']:8.3f}  {got['metric']} {'falls' if falls else 'DOES NOT FALL'}",
              flush=True)
    print(f"{trained} train, {bad} of them without falling loss")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
