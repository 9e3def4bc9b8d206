# SPDX-License-Identifier: Apache-2.0
"""Store, queue and server; see bench/jobs/run. There is no peer: the bars are our own promises.

`drain`: 1,000 jobs of `true` are queued without an agent, then an agent starts with as many
processor slots as the machine has. Overhead per job is the time of the whole drain times
the slots, divided by the jobs: what one slot spends per job, the job itself included. Processor
time is what agent, supervisors and jobs used; unlike the other it does not depend on who else
uses the machine.
"""
import datetime
import json
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
    agent = subprocess.Popen([PROGRAM, "job", "agent", "--idle", "0s"], env=env)
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


def isolation(temp, n=25, rounds=9):
    """The same jobs with and without isolation, turn about, so that both meet the same load; the difference of the
    medians over all rounds. Time of a slot depends on who else uses the machine, processor time hardly does: on a
    busy machine the second one counts alone."""
    busy = is_busy()
    each, used = {"submit": [], "isolated": []}, {"submit": [], "isolated": []}
    for i in range(rounds):
        kinds = ("submit", "isolated") if i % 2 == 0 else ("isolated", "submit")
        for kind in kinds:
            place = os.path.join(temp, f"{kind}-{i}")
            os.makedirs(place)
            if subprocess.run([BENCH, kind, place, str(n)], capture_output=True).returncode == 3:
                print("isolation: not possible on this machine")
                return
            wall, cpu = drained(place, n)
            each[kind].append(wall)
            used[kind].append(cpu)
            shutil.rmtree(place, ignore_errors=True)
    for name, got in (("time of a slot", each), ("processor time", used)):
        plain, kept = statistics.median(got["submit"]), statistics.median(got["isolated"])
        print(f"{'':2}{name} per job: plain {plain:.2f} ms (quartiles {quartiles(got['submit'])}), "
              f"isolated {kept:.2f} ms (quartiles {quartiles(got['isolated'])})")
        row(f"isolation: {name} per job", kept - plain, "ms", "< 15", kept - plain < 15, busy and got is each)


def quartiles(values):
    low, _, high = statistics.quantiles(values, n=4)
    return f"{low:.2f}, {high:.2f}"


def main():
    temp = tempfile.mkdtemp(prefix="ty-bench-")
    if os.environ.get("ONLY") == "isolation": # a quick look that writes no results
        try:
            isolation(temp)
            server.load(PROGRAM, temp, row, is_busy())
        finally:
            shutil.rmtree(temp, ignore_errors=True)
        return any(r["verdict"] == "short" for r in rows)
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
    return any(r["verdict"] == "short" for r in rows)


raise SystemExit(main())
