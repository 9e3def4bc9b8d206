#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""chaos.py JOBS SEED - jobs under random SIGKILL of everything that belongs to them.

Submits JOBS jobs of several kinds, and meanwhile kills agents, supervisors, workers and
submitting programs at random. Then checks: every job ends once, in a state that its kind
allows; the events fold (numbers without holes, one final state at the end, no move that is
not in the table); a worker never ran twice at a time; no process is left.

With CHAOS_SERVER set, everything goes through a server, by five users with quotas, and the
server is killed, too; quotas must never be exceeded. The server isolates jobs where the machine
lets it, as root always; then every job must have been isolated.

TRAINYARD is the program, TRAINYARD_DIR and TRAINYARD_STORE say where.
"""
import collections
import json
import os
import random
import signal
import subprocess
import sys
import time

import chaos_server

PROGRAM = os.environ["TRAINYARD"]
DIR = os.environ["TRAINYARD_DIR"]
COUNT, SEED = int(sys.argv[1]), int(sys.argv[2])
FINAL = {"Succeeded", "Failed", "Stopped"}
MOVES = {
    "Creating": "Queuing EnvPreparing Failed Stopping",
    "Queuing": "EnvPreparing Running Suspended Failed Stopping",
    "EnvPreparing": "Running Queuing Restarting Failed Stopping",
    "Running": "Succeeded Failed Restarting Suspended Queuing Stopping",
    "Restarting": "Queuing EnvPreparing Running Failed Stopping",
    "Suspended": "Queuing Running Failed Stopping",
    "Stopping": "Stopped Succeeded Failed",
}
# A worker holds a lock while anything of it lives: a second one at the same time is seen. flock itself may be killed.
BODY = ('exec 9>"$MARK/$TRAINYARD_JOB_ID-$RANK"; flock -n 9; '
        'case $? in 0) ;; 1) echo twice >>"$MARK/twice"; exit 99 ;; *) exit 143 ;; esac; trap "exit 143" TERM; {}')
# kind: command, flags, states that are right whatever is killed
KINDS = {
    "good": ("sleep 0.{r}; echo fine", ["--retries", "50"], {"Succeeded"}),
    "two": ("sleep 0.{r}; echo fine", ["--retries", "50", "--workers", "2", "--cpu", "0.5"],
            {"Succeeded"}),
    "alone": ("sleep 0.{r}; echo fine",
              ["--retries", "50", "--workers", "2", "--cpu", "0.5", "--restart", "worker"], {"Succeeded"}),
    "bad": ("exit 3", ["--retries", "50"], {"Failed"}),
    "stopped": ("while :; do sleep 0.05; done", ["--retries", "50"], {"Stopped"}),
}


def run(*args):
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True)


class Answered:
    """Stands for a submitting program that has ended."""

    def __init__(self, returncode):
        self.returncode = returncode

    def poll(self):
        return self.returncode


def processes():
    """pid, kind and job of every process of ours."""
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or int(pid) == os.getpid():
            continue
        try:
            line = open(f"/proc/{pid}/cmdline").read().split("\0")
            env = open(f"/proc/{pid}/environ", errors="replace").read().split("\0")
            name = open(f"/proc/{pid}/comm").read().strip()
        except OSError:
            continue
        job = next((e.partition("=")[2] for e in env if e.startswith("TRAINYARD_JOB_ID=")), "")
        ours = bool(job) and os.path.isdir(os.path.join(DIR, "jobs", job))  # an isolated one knows no path of ours
        if "TRAINYARD_DIR=" + DIR not in env and not ours:
            continue
        if job:
            yield int(pid), "worker"
        elif name == "ty-forkserver":
            yield int(pid), "fork server"
        elif name.startswith("jb-") or name == "ty-worker" or "--job" in line:
            yield int(pid), "supervisor"  # or the parent of a worker
        elif line[1:3] == ["job", "agent"]:
            yield int(pid), "agent"
        elif line[1:3] == ["job", "submit"]:
            yield int(pid), "submitter"
        elif line[1:2] == ["server"]:
            yield int(pid), "server"


def submit(kind, number):
    command, flags, _ = KINDS[kind]
    text = BODY.format(command.format(r=random.randint(1, 9)))
    if SERVER:
        spec = {f.lstrip("-"): int(v) if v.isdigit() else v for f, v in zip(flags[::2], flags[1::2])}
        spec.update(name=kind, backoff="10ms", backoff_max="50ms", grace="300ms", command=text,
                    client_token=f"chaos-{SEED}-{number}", env={"MARK": "/mnt/marks"}, data=["marks:/mnt/marks"])
        return Answered(0 if SERVER.submit(number, spec) else 1)
    return subprocess.Popen(
        [PROGRAM, "job", "submit", "--name", kind, "--backoff", "10ms", "--backoff-max", "50ms",
         "--grace", "300ms", "--client-token", f"chaos-{SEED}-{number}", "--env", "MARK=" + MARK,
         *flags, "--", text],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def rows():
    if SERVER:
        return SERVER.rows()
    out = run("job", "list", "--json", "--limit", "5000")
    return json.loads(out.stdout) if out.returncode == 0 else []


def chaos():
    kinds = [random.choice(["good", "good", "good", "two", "alone", "bad", "stopped"]) for _ in range(COUNT)]
    waiting = list(enumerate(kinds))
    open_submits, kills, asked = {}, collections.Counter(), set()
    deadline = time.time() + float(os.environ.get("CHAOS_SECONDS", "240"))
    quiet_after = None
    while time.time() < deadline:
        while waiting and len(open_submits) < 4:
            number, kind = waiting.pop(0)
            open_submits[number] = (kind, submit(kind, number))
        for number, (kind, proc) in list(open_submits.items()):
            if proc.poll() is None:
                continue
            del open_submits[number]
            if proc.returncode != 0:  # killed: the token makes another try safe
                waiting.append((number, kind))
        done = rows()
        for j in done:
            if j["name"] == "stopped" and j["state"] == "Running" and j["id"] not in asked:
                if SERVER.stop_job(j) if SERVER else run("job", "stop", j["id"]).returncode == 0:
                    asked.add(j["id"])
        if not waiting and not open_submits and quiet_after is None:
            quiet_after = time.time() + 3  # some more killing, then peace
        peace = quiet_after is not None and time.time() > quiet_after
        if peace and len(done) == COUNT and all(j["state"] in FINAL for j in done):
            break
        if not peace:
            alive = list(processes())
            for pid, kind in random.sample(alive, min(len(alive), random.randint(0, 3))):
                # A job that fails by itself must not be helped along.
                try:
                    os.kill(pid, signal.SIGKILL)
                    kills[kind] += 1
                except OSError:
                    pass
    return kinds, kills


def check_events(job, problems):
    if SERVER:
        got, events = job, SERVER.events(job["id"])
    else:
        got = json.loads(run("job", "get", "--json", "--events", job["id"]).stdout)
        events = got["events"]
    if [e["seq"] for e in events] != list(range(1, len(events) + 1)):
        problems.append(f"{job['id']}: numbers of events have holes")
    state, ended, attempt = "Creating", 0, 0
    for e in events:
        if e["type"] == "StateChanged":
            to = e["data"]["state"]
            if to not in MOVES.get(state, "").split():
                problems.append(f"{job['id']}: {state} -> {to}")
            state = to
            ended += to in FINAL
            if to == "EnvPreparing":
                attempt += 1
                if e["attempt"] != attempt:
                    problems.append(f"{job['id']}: attempt {e['attempt']}, want {attempt}")
        elif ended and not e["type"].endswith("Requested"):
            problems.append(f"{job['id']}: {e['type']} after the end")
    if ended != 1 or state != got["state"]:
        problems.append(f"{job['id']}: ended {ended} times, fold {state}, shown {got['state']}")


def main():
    random.seed(SEED)
    kinds, kills = chaos()
    problems = []
    found = rows()
    if len(found) != COUNT:
        problems.append(f"{len(found)} jobs, want {COUNT}")
    for j in found:
        if j["state"] not in KINDS[j["name"]][2]:
            why = run("job", "why", j["id"]).stdout.strip()
            problems.append(f"{j['id']} ({j['name']}): {j['state']} {j['reason']}: {why}")
        check_events(j, problems)
    if os.path.exists(os.path.join(MARK, "twice")):
        problems.append("a worker was alive twice")
    for _ in range(100):
        left = [p for p in processes() if p[1] in ("worker", "supervisor")]
        if not left:
            break
        time.sleep(0.05)
    if left:
        problems.append(f"processes are left: {left}")
    for pid, kind in processes():  # nothing is left to do for them
        if kind == "agent":
            os.kill(pid, signal.SIGTERM)
    if SERVER:
        print("server started", SERVER.starts, "times; most of a project at a time:", SERVER.most)
        if SERVER.most > chaos_server.QUOTA:
            problems.append(f"{SERVER.most} jobs of a project ran at a time, quota {chaos_server.QUOTA}")
        if {j["owner"] for j in found} != {f"u{i}" for i in range(min(COUNT, chaos_server.USERS))}:
            problems.append("owners: " + str({j["owner"] for j in found}))
        apart = sum(os.path.exists(os.path.join(DIR, "jobs", j["id"], "isolation.json")) for j in found)
        print("isolation:", SERVER.isolation(), "-", apart, "of", len(found), "jobs isolated")
        if os.geteuid() == 0 and apart != len(found):
            problems.append("a server of root ran jobs without isolation")
        SERVER.end()
    states = collections.Counter((j["name"], j["state"]) for j in found)
    print("killed", dict(kills), "states", {f"{a} {b}": n for (a, b), n in sorted(states.items())})
    for p in problems[:30]:
        print("problem:", p)
    return 1 if problems else 0


MARK = DIR + ".marks"  # no job mounts what lies in the server's own directory
os.makedirs(MARK, exist_ok=True)
os.makedirs(DIR, mode=0o700, exist_ok=True)
os.chmod(MARK, 0o1777)  # jobs of a server have accounts of their own
SERVER = chaos_server.Server(PROGRAM, DIR) if os.environ.get("CHAOS_SERVER") else None
sys.exit(main())
