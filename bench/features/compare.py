# SPDX-License-Identifier: Apache-2.0
"""Times the feature generator; see bench/features/run.

din: the features of examples/din-taobao.config (16, and a grouped sequence of three, at most 50 steps) over rows of
`trainyard data gen taobao` in Parquet, whose sequences are texts with '|' between ids; mean length as printed. "columns": as the
Parquet reader hands them over, the generator alone, beside the same in NumPy (peer.py). "file": decoding included.
criteo: 13 counts through a logarithm and 26 hashed categories, from the original's TSV form to finished features, all included.
Seconds are processor time of one thread, so that neighbours on the machine do not count; best of REPEATS runs, interleaved with the
peer, files in the page cache.
"""
import json
import os
import platform
import subprocess
import sys

ROWS = int(os.environ.get("ROWS", "500000"))
REPEATS = 3
BIN = "build/release/"
DATA = f"build/bench-data/features-{ROWS}"
DIN = "examples/din-taobao.config"
PARQUET, TSV, CRITEO = f"{DATA}/taobao/train/part-0.parquet", f"{DATA}/criteo.tsv", f"{DATA}/criteo.config"


def make():
    if os.path.exists(f"{DATA}/done"):
        return
    os.makedirs(DATA, exist_ok=True)
    subprocess.run([BIN + "trainyard", "data", "gen", "taobao", "--rows", str(ROWS), "--eval-fraction", "0", "--out", f"{DATA}/taobao", "--overwrite"],
                   check=True, stdout=subprocess.DEVNULL)
    with open(TSV, "wb") as f:
        subprocess.run([BIN + "bench/csv/csv_gen", "criteo", str(ROWS)], stdout=f, check=True)
    with open(CRITEO, "w") as f:
        f.write("data_config { fg_mode: FG_DAG label_fields: 'c0' }\n")
        for i in range(1, 14):
            f.write(f"feature_configs {{ raw_feature {{ feature_name: 'c{i}' expression: 'item:c{i}' normalizer: "
                    "'method=log10,threshold=0,default=0' } }\n")
        for i in range(14, 40):
            f.write(f"feature_configs {{ id_feature {{ feature_name: 'c{i}' expression: 'item:c{i}' hash_bucket_size: 100000 "
                    "embedding_dim: 16 } }\n")
    open(f"{DATA}/done", "w").close()


def ours(config, path, what, *types):
    out = subprocess.run([BIN + "bench/features/feature_read", config, path, what, "3", *types], check=True, capture_output=True)
    return json.loads(out.stdout)


def numpy():
    return json.loads(subprocess.run([sys.executable, "bench/features/peer.py", PARQUET, "1"], check=True, capture_output=True).stdout)


def machine():
    cpu = next(l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name"))
    memory = int(open("/proc/meminfo").readline().split()[1]) // 1024
    return {"cpu": cpu, "cores": os.cpu_count(), "memory_mib": memory, "kernel": platform.release(), "load": os.getloadavg()[0]}


def main():
    make()
    cases = {"din, from columns": lambda: ours(DIN, PARQUET, "features"), "numpy": numpy,
             "din, from a Parquet file": lambda: ours(DIN, PARQUET, "all"),
             "criteo, from a TSV file": lambda: ours(CRITEO, TSV, "all", "l" * 14 + "s" * 26)}
    best = {}
    for _ in range(REPEATS):
        for name, f in cases.items():
            got = f()
            got["rate"] = got["rows"] / got["seconds"] / 1e6
            if name not in best or got["rate"] > best[name]["rate"]:
                best[name] = got
    steps = (best["din, from columns"]["ids_per_row"] - 16) / 3
    rows, short = [], False
    print(f"sequences of {steps:.1f} steps on average; load {os.getloadavg()[0]:.1f}")
    print(f"{'case':28} {'peer':8} {'Mrow/s':>7} {'ratio':>6} {'bar':>10}  allocations per pass")
    for name, peer, bar, unit in (("din, from columns", None, 1, "Mrow/s"), ("din, from columns", "numpy", 10, "x"),
                                  ("din, from a Parquet file", None, None, ""), ("criteo, from a TSV file", None, 4, "Mrow/s")):
        got = best[name]
        ratio = got["rate"] / best[peer]["rate"] if peer else None
        verdict = "" if bar is None else "ok" if (ratio if peer else got["rate"]) >= bar else "short"
        short |= verdict == "short"
        print(f"{name:28} {peer or '-':8} {got['rate']:7.2f} {'' if ratio is None else f'{ratio:.1f}x':>6} "
              f"{'' if bar is None else f'{bar} {unit}':>10}  {got['allocations']} {verdict}")
        rows.append({"case": name, "peer": peer, "rows": got["rows"], "our_mrows_per_s": round(got["rate"], 3),
                     "peer_mrows_per_s": round(best[peer]["rate"], 3) if peer else None, "ratio": round(ratio, 2) if ratio else None,
                     "bar": bar, "bar_unit": unit, "mean_steps": round(steps, 2), "allocations": got["allocations"], "verdict": verdict})
    os.makedirs("bench/results", exist_ok=True)
    with open("bench/results/features.json.tmp", "w") as f:
        json.dump({"bench": "features", "threads": 1, "machine": machine(), "results": rows}, f, indent=1)
        f.write("\n")
    os.rename("bench/results/features.json.tmp", "bench/results/features.json")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
