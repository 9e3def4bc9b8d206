# SPDX-License-Identifier: Apache-2.0
"""Store, queue and server; see bench/jobs/run. There is no peer: the bars are our own promises.

`drain`: 1,000 jobs of `true` are queued without an agent, then an agent starts with as many
processor slots as the machine has. Overhead per job is the time of the whole drain times
the slots, divided by the jobs: what one slot spends per job, the job itself included. Processor
time is what agent, supervisors and jobs used; unlike the other it does not depend on who else
uses the machine.

A verdict is `ok`, `short`, or `busy`: others had the processors, and the figure says nothing. The exit status is 1 when a
row is short and 2 when one was not shown; run it again on a quieter machine.
"""
import contextlib
import datetime
import json
import math
import os
import platform
import resource
import shutil
import statistics
import subprocess
import tempfile
import time

import server

BUILD = os.environ.get("BUILD", "build/release")
BENCH = f"{BUILD}/bench/jobs/jobs_bench"
PROGRAM = os.path.abspath(f"{BUILD}/trainyard")
JOBS = int(os.environ.get("JOBS", "100000"))
rows = []


def run(*args, **kw):
    return subprocess.run(args, check=True, capture_output=True, text=True, **kw).stdout


def row(case, value, unit, bar, ok, busy=False):
    """`busy`: others had the processors, so a value that misses the bar says nothing."""
    verdict = "ok" if ok else "busy" if busy else "short"
    rows.append({"case": case, "ours": round(value, 3), "unit": unit, "bar": bar,
                 "verdict": verdict})
    print(f"{case:44}  {value:10.2f} {unit:7}  bar {bar:>8}  {verdict}", flush=True)


def store(kind, where):
    rate = float(run(BENCH, "fill", where, str(JOBS)))
    row(f"{kind}: submit to the store", rate, "jobs/s", ">= 500", rate >= 500)
    for line in run(BENCH, "list", where).splitlines():
        ms, name = line.split(" ", 1)
        row(f"{kind}, {JOBS} jobs: {name}", float(ms), "ms", "< 50", float(ms) < 50)


def drained(place, n):
    """Seconds of wall clock and of processor time until a queue of n jobs is empty."""
    slots = os.cpu_count()
    env = dict(os.environ, TRAINYARD_DIR=place, TRAINYARD_SLOTS=f"cpu={slots}")
    begin, before = time.time(), resource.getrusage(resource.RUSAGE_CHILDREN)
    agent = subprocess.Popen([PROGRAM, "job", "agent", "--idle", "0s"], env=env, preexec_fn=prefer)
    agent.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    jobs = json.loads(run(PROGRAM, "job", "list", "--json", "--limit", str(n), env=env))
    assert len(jobs) == n and all(j["state"] == "Succeeded" for j in jobs)
    # Until the last job's end; the agent itself waits a moment for more.
    last = max(datetime.datetime.fromisoformat(j["finished"].replace("Z", "+00:00")) for j in jobs)
    seconds = last.timestamp() - begin
    used = sum(getattr(after, k) - getattr(before, k) for k in ("ru_utime", "ru_stime"))
    return seconds * slots / n * 1000, used / n * 1000


def drain(temp, n=1000):
    place = os.path.join(temp, "queue")
    os.makedirs(place)
    rate = float(run(BENCH, "submit", place, str(n)))
    row("submit by the whole way, in one process", rate, "jobs/s", ">= 500", rate >= 500)
    each, used = drained(place, n)
    row(f"queue of {n} drains: processor time per job", used, "ms", "< 20", used < 20)
    row(f"queue of {n} drains: time of a slot per job", each, "ms", "< 20", each < 20)


def is_busy():
    """Whether more wants to run than there are processors, before we add to it."""
    return os.getloadavg()[0] > 1.5 * os.cpu_count()


def prefer():
    """Ours go first on a machine that others use too, where we may ask for that."""
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)


def stretch():
    """Wall clock per processor time of a process that only computes: 1 on a machine of its own."""
    code = "import time\nw, c = time.time(), time.process_time()\nwhile time.process_time() - c < 0.05: pass\n" \
           "print((time.time() - w) / 0.05)"
    return float(run("python3", "-c", code, preexec_fn=prefer))


def interval(values):
    """Bounds of the median, right 19 times of 20 whatever the distribution (order statistics)."""
    ordered, n, k, tail = sorted(values), len(values), 0, 0.0
    while (tail := tail + math.comb(n, k) / 2 ** n) <= 0.025:
        k += 1
    return ordered[max(k - 1, 0)], ordered[n - max(k, 1)]


def judge(pairs, bar, stretched):
    """`ok`, `short`, or `busy` when these pairs cannot tell. Others on the machine make every job longer, the isolated one
    more, so they can hide that the bar is met but not that it is missed: the wall clock says `short` only on a quiet one."""
    low, high = interval(pairs)
    return "ok" if high < bar else "short" if low >= bar and stretched < 1.25 else "busy"


def isolation(temp, n=25, least=9, most=27, bar=15):
    """The same jobs with and without isolation, turn about, so that both meet the same load. What counts is the median of
    the differences of pairs, with its interval of confidence: pairs are added until the interval lies on one side of the bar."""
    each, used, kept_back = [], [], []
    while len(each) < least or len(each) < most and judge(each, bar, statistics.median(kept_back)) == "busy":
        got = {}
        for kind in ("submit", "isolated") if len(each) % 2 == 0 else ("isolated", "submit"):
            place = os.path.join(temp, f"{kind}-{len(each)}")
            os.makedirs(place)
            if subprocess.run([BENCH, kind, place, str(n)], capture_output=True).returncode == 3:
                print("isolation: not possible on this machine")
                return
            got[kind] = drained(place, n)
            shutil.rmtree(place, ignore_errors=True)
        kept_back.append(stretch())
        each.append(got["isolated"][0] - got["submit"][0])
        used.append(got["isolated"][1] - got["submit"][1])
    stretched = statistics.median(kept_back)
    print(f"  {len(each)} pairs of {n} jobs; others on the machine make a process {stretched:.2f} times as long")
    for name, pairs, by in (("wall clock", each, stretched), ("processor time", used, 1)):
        low, high = interval(pairs)
        verdict = judge(pairs, bar, by)
        print(f"  {name}: median of the differences {statistics.median(pairs):.2f} ms, between {low:.2f} and {high:.2f}")
        row(f"isolation: {name} per job", statistics.median(pairs), "ms", f"< {bar}", verdict == "ok", verdict == "busy")


def status():
    verdicts = {r["verdict"] for r in rows}
    return 1 if "short" in verdicts else 2 if "busy" in verdicts else 0


def main():
    temp = tempfile.mkdtemp(prefix="ty-bench-")
    if os.environ.get("ONLY") == "isolation": # a quick look that writes no results
        try:
            isolation(temp)
            server.load(PROGRAM, temp, row, is_busy())
        finally:
            shutil.rmtree(temp, ignore_errors=True)
        return status()
    try:
        store("SQLite", os.path.join(temp, "jobs.db"))
        got = subprocess.run(["tests/pg", "start", temp], capture_output=True, text=True)
        if got.returncode == 0:
            try:
                store("PostgreSQL", got.stdout.strip())
            finally:
                subprocess.run(["tests/pg", "stop", temp])
        else:
            print("PostgreSQL:", got.stdout.strip())
        drain(temp)
        isolation(temp)
        server.load(PROGRAM, temp, row, is_busy())
        server.measure(PROGRAM, temp, os.path.join(temp, "jobs.db"), JOBS, row)
    finally:
        shutil.rmtree(temp, ignore_errors=True)
    with open("bench/results/jobs.json", "w") as f:
        json.dump({"bench": "jobs", "machine": {
            "cores": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg()[0],
            "python": platform.python_version()}, "results": rows}, f, indent=1)
        f.write("\n")
    return status()


raise SystemExit(main())
