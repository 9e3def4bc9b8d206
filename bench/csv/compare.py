# SPDX-License-Identifier: Apache-2.0
"""Times our reader, DuckDB and pandas over the same files; see bench/csv/run.

Every reader gets the same types (declared, nothing inferred) and must produce every listed
column in typed form, in one thread. DuckDB counts the non-null values of each column, the
cheapest query that reads them all; pandas makes its data frame; ours makes batches of 8192
rows. Seconds are processor time of the process, all its threads included, so that neighbours
on the machine do not count; best of REPEATS runs each, interleaved, files in the page cache.
"""
import json
import os
import platform
import subprocess
import time

import duckdb
import pandas

ROWS = int(os.environ.get("ROWS", "1000000"))
REPEATS = 3
BIN = "build/release/bench/csv/"
DATA = "build/bench-data/"

# name, file kind, letters of the columns (as csv_read takes them), bars (DuckDB, pandas)
CASES = [
    ("criteo: 40 columns", "criteo", "l" * 14 + "s" * 26, (4, 15)),
    ("criteo: 6 of 40 columns", "criteo", "l" * 4 + "-" * 10 + "ss" + "-" * 24, (None, None)),
    ("quoted text, 10 columns", "quoted", "lssssss" + "lll", (None, None)),
    ("numbers, 20 DOUBLE", "floats", "d" * 20, (None, None)),
]
SQL = {"l": "BIGINT", "d": "DOUBLE", "s": "VARCHAR", "-": "VARCHAR"}
DTYPE = {"l": "float64", "d": "float64", "s": "str"}  # pandas: the fastest that holds nulls


def make(kind):
    os.makedirs(DATA, exist_ok=True)
    path = f"{DATA}{kind}-{ROWS}.{'tsv' if kind == 'criteo' else 'csv'}"
    if not os.path.exists(path):
        with open(path + ".tmp", "wb") as f:
            subprocess.run([BIN + "csv_gen", kind, str(ROWS)], stdout=f, check=True)
        os.rename(path + ".tmp", path)
    with open(path, "rb") as f:  # into the page cache
        while f.read(1 << 24):
            pass
    return path


def ours(path, letters):
    out = subprocess.run([BIN + "csv_read", path, "1", letters], check=True, capture_output=True)
    got = json.loads(out.stdout)
    assert got["rows"] == ROWS, got
    return got["seconds"]


def with_duckdb(path, letters):
    delim = "\t" if path.endswith(".tsv") else ","
    columns = {f"c{k}": SQL[t] for k, t in enumerate(letters)}
    counts = ", ".join(f"count(c{k})" for k, t in enumerate(letters) if t != "-")
    con = duckdb.connect()
    con.execute("PRAGMA threads=1")
    start = time.process_time()
    con.execute(
        f"select count(*), {counts} from read_csv('{path}', delim='{delim}', header=false,"
        f" columns={columns}, auto_detect=false, quote='\"', escape='\"')"
    )
    assert con.fetchall()[0][0] == ROWS
    return time.process_time() - start


def with_pandas(path, letters):
    sep = "\t" if path.endswith(".tsv") else ","
    used = [k for k, t in enumerate(letters) if t != "-"]
    start = time.process_time()
    frame = pandas.read_csv(
        path, sep=sep, header=None, usecols=used, dtype={k: DTYPE[letters[k]] for k in used}, engine="c"
    )
    took = time.process_time() - start
    assert len(frame) == ROWS
    return took


def machine():
    model = "unknown"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    with open("/proc/meminfo") as f:
        mem = int(f.readline().split()[1]) // 1024
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_mib": mem,
        "kernel": platform.release(),
        "duckdb": duckdb.__version__,
        "pandas": pandas.__version__,
        "python": platform.python_version(),
    }


def main():
    rows = []
    print(f"{'case':26} {'peer':8} {'peer s':>8} {'ours s':>8} {'ours Mrow/s':>12} {'ratio':>7} {'bar':>5}")
    for name, kind, letters, bars in CASES:
        path = make(kind)
        best = {"ours": 1e9, "duckdb": 1e9, "pandas": 1e9}
        for i in range(REPEATS):
            best["ours"] = min(best["ours"], ours(path, letters))
            best["duckdb"] = min(best["duckdb"], with_duckdb(path, letters))
            if i < 2:
                best["pandas"] = min(best["pandas"], with_pandas(path, letters))
        for peer, bar in zip(("duckdb", "pandas"), bars):
            ratio = best[peer] / best["ours"]
            verdict = "" if bar is None else "ok" if ratio >= bar else "short"
            print(
                f"{name:26} {peer:8} {best[peer]:8.3f} {best['ours']:8.3f} {ROWS / best['ours'] / 1e6:12.2f}"
                f" {ratio:6.1f}x {'' if bar is None else bar:>5} {verdict}"
            )
            rows.append(
                {
                    "case": name,
                    "peer": peer,
                    "rows": ROWS,
                    "bytes": os.path.getsize(path),
                    "peer_seconds": round(best[peer], 4),
                    "our_seconds": round(best["ours"], 4),
                    "our_mrows_per_s": round(ROWS / best["ours"] / 1e6, 3),
                    "ratio": round(ratio, 2),
                    "bar": bar,
                    "verdict": verdict,
                }
            )
    os.makedirs("bench/results", exist_ok=True)
    with open("bench/results/csv.json", "w") as f:
        json.dump({"bench": "csv", "threads": 1, "machine": machine(), "results": rows}, f, indent=1)
        f.write("\n")
    return 1 if any(r["verdict"] == "short" for r in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
