# SPDX-License-Identifier: Apache-2.0
"""Times our Parquet reader and DuckDB's over the same files; see bench/data/run.

Files: 1M Criteo-shaped rows (label, 13 counts, 26 categories) written by pyarrow with its defaults, categories
as strings or as u32; snappy, zstd, uncompressed. Every column is decoded, in one thread. The peer
is DuckDB looking at every value (sum, max(length)): a scan that ends in values, as ours does. Its bare count of each
column, which makes no values, is printed beside it without a bar: for zstd it is mostly libzstd on both sides
(0.09 s of our 0.13 s; see zstd_alone.c). Ours makes batches of
8192 rows; string columns that the file stores as dictionaries stay encoded, as they do in DuckDB ("values":
decoded to plain strings instead). Seconds are processor time of the process, so that neighbours on the machine do not count;
best of REPEATS runs each, interleaved, files in the page cache.
"""
import json
import os
import platform
import subprocess
import sys
import time

import duckdb

ROWS = int(os.environ.get("ROWS", "1000000"))
REPEATS = 5
READ = "build/release/bench/data/parquet_read"
DATA = f"build/bench-data/parquet-{ROWS}"
BARS = {"str": 2.0, "u32": 1.5}


def make():
    if not os.path.exists(f"{DATA}/done"):
        os.makedirs(DATA, exist_ok=True)
        subprocess.run([sys.executable, "bench/data/gen.py", DATA, str(ROWS)], check=True)
        open(f"{DATA}/done", "w").close()


def ours(path, dict):
    out = subprocess.run([READ, path, str(dict), "3"], check=True, capture_output=True)
    got = json.loads(out.stdout)
    assert got["rows"] == ROWS, got
    return got["seconds"]


def query(path, kind):
    columns = [r[0] for r in con.sql(f"describe from '{path}'").fetchall()]
    text = "/str-" in path
    looks = {c: f"max(length({c}))" if text and c[0] == "C" else f"sum({c})" for c in columns}
    return "select " + ", ".join(f"count({c})" if kind == "count" else looks[c] for c in columns) + f" from '{path}'"


def theirs(sql):
    start = time.process_time()
    con.sql(sql).fetchall()
    return time.process_time() - start


def machine():
    cpu = next(l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name"))
    memory = int(open("/proc/meminfo").readline().split()[1]) // 1024
    return {"cpu": cpu, "cores": os.cpu_count(), "memory_mib": memory, "kernel": platform.release(),
            "duckdb": duckdb.__version__, "python": platform.python_version()}


def main():
    global con
    make()
    con = duckdb.connect()
    con.execute("PRAGMA threads=1")
    results, short = [], False
    print(f"{'case':34} {'peer':22} {'peer s':>8} {'ours s':>8} {'Mrow/s':>7} {'ratio':>6} {'bar':>5}")
    for kind in ("str", "u32"):
        for codec in ("snappy", "zstd", "none"):
            path = f"{DATA}/{kind}-{codec}.parquet"
            best = {}
            for _ in range(REPEATS):
                for name, f in (("count", lambda: theirs(query(path, "count"))), ("sum", lambda: theirs(query(path, "sum"))),
                                ("coded", lambda: ours(path, 1)), ("values", lambda: ours(path, 0))):
                    best[name] = min(best.get(name, 1e9), f())
            for form, peer, bar in (("coded", "count", None), ("coded", "sum", BARS[kind]), ("values", "sum", BARS[kind])):
                if kind == "u32" and form == "values":
                    continue
                ratio = best[peer] / best[form]
                verdict = "" if bar is None else "ok" if ratio >= bar else "short"
                short |= verdict == "short"
                label = f"{'strings' if kind == 'str' else 'u32'}, {codec}{' (values)' if form == 'values' else ''}"
                peer_label = "duckdb " + ("count" if peer == "count" else "sum, max(length)" if kind == "str" else "sum")
                print(f"{label:34} {peer_label:22} {best[peer]:8.3f} {best[form]:8.3f} {ROWS / 1e6 / best[form]:7.2f} {ratio:6.2f} "
                      f"{bar or '-':>5} {verdict}")
                results.append({"case": label, "peer": peer_label, "rows": ROWS, "bytes": os.path.getsize(path), "peer_seconds": round(best[peer], 4),
                                "our_seconds": round(best[form], 4), "our_mrows_per_s": round(ROWS / 1e6 / best[form], 3), "ratio": round(ratio, 2),
                                "bar": bar, "verdict": verdict})
    os.makedirs("bench/results", exist_ok=True)
    with open("bench/results/data.json.tmp", "w") as f:
        json.dump({"bench": "data", "threads": 1, "machine": machine(), "results": results}, f, indent=1)
        f.write("\n")
    os.rename("bench/results/data.json.tmp", "bench/results/data.json")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
