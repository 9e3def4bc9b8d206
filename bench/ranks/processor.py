# SPDX-License-Identifier: Apache-2.0
"""Processor time of a training row: one rank, two ranks, the shards of four ranks on two, and PyTorch's.

Time of the processor in the program itself does not depend on who else uses the machine, as rows per second
do. It bounds what ranks can gain: two that take 1.1 times as long for a row as one are worth 2 / 1.1 = 1.8 of it
at most, when neither waits. Of each case a short and a long run are taken, both behind the first pass over the
data, which fills rows; the difference counts, the least of several. Runs in the directory that has the data.

    python3 processor.py TRAINYARD EXAMPLES REPEATS MODEL...    (NAME.ddp.* beside it: what ddp.py printed)
"""
import glob
import resource
import shutil
import subprocess
import sys

BATCH, SHORT, LONG = 1024, 60, 100
CASES = {"one": (1, 1), "two": (2, 2), "wide": (2, 4)}  # ranks and shards


def seconds(command):
    """User time of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    shutil.rmtree("m", ignore_errors=True)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def train(program, config, ranks, shards, steps):
    sets = [f"data_config.batch_size={BATCH}", "train_config.num_epochs=0", f"train_config.num_steps={steps}",
            "train_config.use_tensorboard=false", "train_config.save_checkpoints_steps=1000000"]
    start = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []
    return seconds(start + [program, "train", config, "--eval-input", "", "--model-dir", "m", "--threads", "1",
                            "--shards", str(shards)] + [x for s in sets for x in ("--set", s)])


def microseconds(program, config, repeats):
    """Of a row, case by case."""
    best = {}
    for _ in range(repeats):
        for name, (ranks, shards) in CASES.items():
            for steps in SHORT, LONG:
                took = train(program, config, ranks, shards, steps)
                best[name, steps] = min(best.get((name, steps), took), took)
    return {name: (best[name, LONG] - best[name, SHORT]) / ((LONG - SHORT) * BATCH * shards) * 1e6
            for name, (_, shards) in CASES.items()}


def main():
    program, examples, repeats = sys.argv[1], sys.argv[2], int(sys.argv[3])
    bad = 0
    print(f"{'us of a row':15} {'1 rank':>8} {'2 ranks':>8} {'4 shards':>8}   2 ranks allow       4 shards / 2       DDP / 2 ranks")
    for model in sys.argv[4:]:
        us = microseconds(program, f"{examples}/{model}.config", repeats)
        row = f"{model:15} {us['one']:8.1f} {us['two']:8.1f} {us['wide']:8.1f}"
        compared = [(2 * us["one"] / us["two"], 1.8, False), (us["wide"] / us["two"], 1.1, True)]
        ddp = min((float(open(p).read().split()[1]) for p in glob.glob(f"{model}.ddp.*")), default=0)
        if ddp:
            compared.append((ddp / us["two"], 3, False))
        for value, bar, most in compared:
            short = value > bar if most else value < bar
            bad += short
            row += f"   {value:5.2f} (bar {bar}{', short' if short else ''})"
        print(row, flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
