# SPDX-License-Identifier: Apache-2.0
"""Our training step beside PyTorch's, in one run on the same machine; see bench/engine/run.

All programs of a case are started once and then take turns of BURST seconds, round after round: a
neighbour on the machine meets all of them. A program's speed is the median of its turns' medians; a
ratio is the median of the ratios within a round. `of cpu` is the same ratio by processor time: on a machine with
neighbours it is the steadier one, with one thread (THREADS=1), where nobody waits in a spin.

Peers: `tuned` is Debian's python3-torch 1.13 with OpenMP OpenBLAS and tcmalloc, tables merged into one:
the fastest form that plain PyTorch 1.13 has, and the one that bars refer to. Debian's OpenBLAS does not know newer
processors and would fall back to kernels of 2004; it is told which of its kernels to use. oneDNN (both
the old and the new) fails to make its AMX kernels on some guests, so bf16 of all peers is kept to AVX-512. `default` is the same package without the two libraries.
`newest` is PyTorch as PyPI gives it; it has no bar.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile

LIB = "/usr/lib/x86_64-linux-gnu"
STEP = "build/release/bench/engine/engine_step"
TRAINYARD = "build/release/trainyard"
LIMIT = "build/release/bench/engine/engine_limit"
PEER = "bench/engine/torch_peer.py"
NEWEST = os.environ.get("TY_TORCH", "build/bench-torch/bin/python")
BATCH = {"dlrm": 2048, "deepfm": 2048, "mmoe": 2048, "din": 1024}
BARS = {"f32": {"dlrm": 1.7, "deepfm": 1.6, "mmoe": 1.25, "din": 2.7},
        "bf16": {"dlrm": 1.8, "deepfm": 1.9, "mmoe": 1.25, "din": 3.0}}
THREADS = os.environ.get("THREADS", str(min(2, os.cpu_count() or 1)))


def coretype():
    flags = open("/proc/cpuinfo").read()
    return "SkylakeX" if "avx512bw" in flags else "Haswell" if "avx2" in flags else ""


def environment(kind, bf16):
    env = dict(os.environ, OMP_NUM_THREADS=THREADS)
    if kind in ("tuned", "default"):
        env["OPENBLAS_CORETYPE"] = coretype()
    if kind != "ours" and bf16:
        env["DNNL_MAX_CPU_ISA"] = env["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"
    if kind == "default":
        del env["OMP_NUM_THREADS"]
    if kind == "tuned":
        env["LD_LIBRARY_PATH"] = f"{LIB}/openblas-openmp"
        env["LD_PRELOAD"] = f"{LIB}/libtcmalloc_minimal.so.4"
    return env


class Program:
    """A benchmark that runs steps for as long as each line on its input says."""

    def __init__(self, kind, model, *words, peer=PEER):
        self.kind, self.turns, self.why = kind, [], None
        more = [*words, "-"]
        command = ([STEP, model, str(BATCH.get(model, 2048)), THREADS, *more] if kind == "ours" else
                   [NEWEST if kind == "newest" else "/usr/bin/python3", peer, model,
                    str(BATCH.get(model, 2048)), *words, "default" if kind == "default" else THREADS, "-"])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=environment(kind, "bf16" in words))

    def turn(self, seconds):
        line = ""
        try:
            self.process.stdin.write(f"{seconds}\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            pass
        if not line:
            errors = self.process.stderr.read().strip().splitlines()
            self.why = self.why or (errors[-1] if errors else f"ended with status {self.process.wait()}")
            return None
        self.turns.append(json.loads(line))
        return self.turns[-1]["samples_per_s"]

    def speed(self):
        return statistics.median(t["samples_per_s"] for t in self.turns) if self.turns else None

    def cpu(self):
        """Processor milliseconds of a step, all threads together; waiting in a spin counts."""
        return statistics.median(t["cpu_ms"][0] for t in self.turns) if self.turns else None

    def close(self):
        self.process.kill()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait()


def together(programs, rounds, burst):
    """Turns in rounds; per peer the ratio of speeds, ours over it."""
    ratios = {p: [] for p in programs[1:]}
    for p in programs:
        p.turn(burst / 4)
        p.turns.clear()
    for _ in range(rounds):
        got = {p: p.turn(burst) for p in programs}
        for p in ratios:
            if got[p] and got[programs[0]]:
                ratios[p].append(got[programs[0]] / got[p])
    for p in programs:
        p.close()
    return {p: statistics.median(r) if r else None for p, r in ratios.items()}


ROWS = []


def row(case, peer, theirs, ours, ratio, bar=None, note="", cpu=None):
    verdict = "" if bar is None else "no peer" if ratio is None else "ok" if ratio >= bar else "short"
    ROWS.append({"case": case, "peer": peer, "peer_samples_per_s": theirs and round(theirs),
                 "our_samples_per_s": ours and round(ours), "ratio": ratio and round(ratio, 3), "bar": bar,
                 "verdict": verdict, "cpu_ratio": cpu and round(cpu, 3), "note": note})
    print(f"{case:22} {peer:16} {theirs or 0:9.0f} {ours or 0:9.0f} {ratio or 0:6.2f} {bar or '':>5} {verdict:7} {cpu or 0:6.2f} {note}",
          flush=True)


def cpu_ratio(peer, ours):
    return peer.cpu() / ours.cpu() if peer.turns and ours.turns else None


def training(o):
    """f32 and bf16 side by side: ours in both, each peer in its precision."""
    for model in o.models:
        f32, bf16 = Program("ours", model), Program("ours", model, "bf16")
        peers = [Program("tuned", model), Program("newest", model)]
        ratios = together([f32] + peers, o.rounds, o.burst)
        for p in peers:
            row(f"{model} f32", p.kind, p.speed(), f32.speed(), ratios[p],
                BARS["f32"][model] if p.kind == "tuned" else None, p.why or "", cpu_ratio(p, f32))
        limit(o, model, "f32", f32)
        peers = [Program("tuned", model, "bf16"), Program("newest", model, "bf16"), Program("default", model)]
        ratios = together([bf16] + peers, o.rounds, o.burst)
        for p in peers:
            name = "default f32" if p.kind == "default" else p.kind
            bar = {"tuned": BARS["bf16"][model], "default": 5.0}.get(p.kind)
            note = "" if p.kind == "default" else "oneDNN without AMX"
            row(f"{model} bf16", name, p.speed(), bf16.speed(), ratios[p], bar, p.why or note, cpu_ratio(p, bf16))
        limit(o, model, "bf16", bf16)


def limit(o, model, precision, ours):
    """The products of a step alone, by the best library for each, and the rows: what could be reached."""
    words = ["bf16"] if precision == "bf16" else []
    out = subprocess.run([LIMIT, model, str(BATCH[model]), THREADS, *words, str(o.burst)],
                         capture_output=True, text=True, check=True)
    # the best of both: a limit that a neighbour slowed down would flatter us
    rows = min(t["lookup_ms"][1] + t["rows_ms"][1] for t in ours.turns)
    products = json.loads(out.stdout)
    at = BATCH[model] / (products["products_ms"] + rows) * 1e3
    best = max(t["best"] for t in ours.turns)
    cpu = (products["cpu_ms"] + rows * int(THREADS)) / min(t["cpu_ms"][1] for t in ours.turns)
    row(f"{model} {precision}", "machine's limit", at, best, best / at, 0.7, "best steps of both", cpu)


def others(o):
    ours, peer = Program("ours", "lookup"), Program("tuned", "lookup")
    ratio = together([ours, peer], max(o.rounds, 5), max(o.burst, 2.0))[peer]
    row("lookup + update", "tuned", peer.speed(), ours.speed(), ratio, 9.0, peer.why or "sparse Adagrad", cpu_ratio(peer, ours))
    for precision in ([], ["bf16"]):
        jagged, padded = Program("ours", "din", *precision, "varlen"), Program("ours", "din", *precision)
        ratio = together([jagged, padded], max(o.rounds, 5), max(o.burst, 2.0))[padded]
        row(f"din {precision[0] if precision else 'f32'}, mean length 25", "ours, length 50", padded.speed(), jagged.speed(),
            ratio, 1.8, f"arithmetic alone: {arithmetic_of_lengths(not precision):.2f}", cpu_ratio(padded, jagged))


def arithmetic_of_lengths(f32):
    """Multiplications of DIN at length 50 over those at the mean of lengths 1 to 50: its towers do not get shorter.
    In f32 ten of the sixteen features are not multiplied row by row, since they take few values."""
    position = 48 * 256 + 256 * 64 + 64
    sample = (6 * 16 if f32 else 256) * 512 + 512 * 256 + 256 * 128 + 48 * 256 + 176 * 64 + 64
    return (sample + 50 * position) / (sample + 25.5 * position)


def end_to_end(o):
    """DLRM from Parquet files (decode, features, training) beside the same steps on batches in memory."""
    rows, where = (200_000, "build/bench-data/criteo-200k") if o.quick else (1_000_000, "build/bench-data/criteo-1m")
    if not os.path.exists(f"{where}/gen.json"):
        subprocess.run([TRAINYARD, "data", "gen", "criteo", "--rows", str(rows), "--out", where], check=True,
                       capture_output=True)
    command = [TRAINYARD, "train", "examples/dlrm-criteo.config", "--threads", THREADS, "--log", "json",
               "--train-input", f"{where}/train", "--eval-input", f"{where}/eval",
               "--set", "model_config.dlrm.arch_with_sparse=false", "--set", "eval_config.num_steps=1",
               "--set", "train_config.log_step_count_steps=10"]
    if o.quick:
        command += ["--set", "train_config.num_epochs=3"]
    memory, speeds, ratios = Program("ours", "dlrm"), [], []
    for _ in range(max(o.rounds, 7)):  # a reader beside two threads: each round differs by 10 %
        before = memory.turn(o.burst)
        with tempfile.TemporaryDirectory(dir="build") as scratch:
            out = subprocess.run([*command, "--model-dir", f"{scratch}/run"], check=True, capture_output=True, text=True)
        after = memory.turn(o.burst)
        lines = [json.loads(l) for l in (out.stdout + out.stderr).splitlines() if l.startswith("{")]
        windows = [l["rows_per_s"] for l in lines if "rows_per_s" in l and "step" in l][2:]
        speeds.append(statistics.median(windows))
        ratios.append(speeds[-1] / statistics.median([before, after]))
    memory.close()
    row("dlrm f32, Parquet", "ours, memory", memory.speed(), statistics.median(speeds), statistics.median(ratios), 0.9,
        "has a thread for reading beside: on a busy machine it gets more of it")


def machine():
    cpu = next(l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name"))
    return {"cpu": cpu, "cores": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg()[0]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="short turns, few rounds")
    parser.add_argument("--out", default="bench/results/engine.json")
    parser.add_argument("models", nargs="*", default=list(BATCH))
    o = parser.parse_args()
    o.rounds, o.burst = (3, 1.0) if o.quick else (7, 2.0)
    at = machine()
    print(f"{at['cpu']}, {THREADS} threads, load {at['load']:.1f} at the start; samples/s")
    print(f"{'case':22} {'peer':16} {'peer':>9} {'ours':>9} {'ratio':>6} {'bar':>5} {'':7} {'of cpu':>6}")
    training(o)
    others(o)
    end_to_end(o)
    with open(o.out, "w") as f:
        json.dump({"bench": "engine", "threads": int(THREADS), "machine": at, "rounds": o.rounds,
                   "burst_s": o.burst, "results": ROWS}, f, indent=1)
        f.write("\n")
    sys.exit(1 if any(r["verdict"] == "short" for r in ROWS) else 0)


if __name__ == "__main__":
    main()
