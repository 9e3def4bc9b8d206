# SPDX-License-Identifier: Apache-2.0
"""The server under load, asked by wrk on the same machine: both share its processors."""
import concurrent.futures
import json
import os
import re
import selectors
import shutil
import socket
import subprocess
import time
import urllib.request

SECONDS = os.environ.get("SECONDS_EACH", "5")


class Server:
    def __init__(self, program, directory, *flags, store=None):
        env = dict(os.environ, TRAINYARD_SLOTS="cpu=2")
        self.log = os.path.join(directory, "server.log")
        where = ["--dir", directory] + (["--store", store] if store else [])
        with open(self.log, "w", encoding="utf-8") as log:
            self.proc = subprocess.Popen(
                [program, "server", "--listen", "127.0.0.1:0", "--rate", "0", *where, *flags], stderr=log, env=env)
        self.url = None
        for _ in range(400):
            with open(self.log, encoding="utf-8") as f:
                found = re.search(r"^listening on (http://\S+)", f.read(), re.M)
            if found:
                self.url = found[1]
                break
            time.sleep(0.05)
        with open(os.path.join(directory, "admin.token"), encoding="ascii") as f:
            self.token = f.read().strip()

    def ask(self, method, path, body=None, token=None):
        q = urllib.request.Request(self.url + path, method=method,
                                   data=None if body is None else json.dumps(body).encode())
        q.add_header("Authorization", "Bearer " + (token or self.token))
        if body is not None:
            q.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(q) as r:
            return json.load(r)

    def wrk(self, path, script=None):
        """Requests per second; every answer must be a good one."""
        command = ["wrk", "-t1", "-c16", f"-d{SECONDS}s", "-H", "Authorization: Bearer " + self.token]
        if script:
            command += ["-s", script]
        out = subprocess.run(command + [self.url + path], check=True, capture_output=True, text=True).stdout
        assert "Non-2xx" not in out and "Socket errors" not in out, out
        return float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])

    def end(self):
        self.proc.terminate()
        self.proc.wait()


def followers(server, count):
    """Seconds from a line in the log to its arrival at the last of `count` followers."""
    job = server.ask("POST", "/api/v1/jobs", {
        "command": "echo ready; read x < $HOLD; echo now; sleep 1", "env": {"HOLD": server.hold}})["id"]
    host, port = server.url.removeprefix("http://").split(":")
    sel, socks = selectors.DefaultSelector(), []
    for _ in range(count):
        s = socket.create_connection((host, int(port)), timeout=30)
        s.sendall(f"GET /api/v1/jobs/{job}/logs/0?follow=true HTTP/1.1\r\nHost: localhost\r\n"
                  f"Authorization: Bearer {server.token}\r\n\r\n".encode())
        socks.append(s)
        sel.register(s, selectors.EVENT_READ, bytearray())

    def wait(mark):
        left = {s.fileno() for s in socks}
        deadline = time.time() + 60
        while left and time.time() < deadline:
            for key, _ in sel.select(1):
                key.data.extend(key.fileobj.recv(65536))
                if mark in key.data:
                    left.discard(key.fd)
        assert not left, f"{len(left)} followers did not see {mark}"

    wait(b"ready\\n")
    begin = time.time()
    with open(server.hold, "w", encoding="ascii") as f:
        f.write("go\n")
    wait(b"now\\n")
    took = time.time() - begin
    threads = len(os.listdir(f"/proc/{server.proc.pid}/task"))
    for s in socks:
        s.close()
    return took, threads


def users(server, count):
    """Tokens of new submitters."""
    made = []
    for i in range(count):
        server.ask("POST", "/api/v1/users", {"name": f"u{i}", "role": "submitter"})
        made.append(server.ask("POST", f"/api/v1/users/u{i}/tokens", {})["token"])
    return made


def load(program, temp, row, busy, count=100, people=5):
    """Jobs that several users submit at once to a server that isolates them, until the last has ended."""
    place = os.path.join(temp, "load")
    os.makedirs(place)
    server = Server(program, place)
    try:
        tokens = users(server, people)

        def submit(i):
            return server.ask("POST", "/api/v1/jobs", {"command": "true"}, tokens[i % people])["id"]

        begin = time.time()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            ids = list(pool.map(submit, range(count)))
        for _ in range(1200):
            ended = server.ask("GET", f"/api/v1/jobs?limit={count}&state=Succeeded,Failed,Stopped")["jobs"]
            if len(ended) == count:
                break
            time.sleep(0.1)
        took = time.time() - begin
    finally:
        server.end()
    assert {j["id"] for j in ended if j["state"] == "Succeeded"} == set(ids), ended
    apart = sum(os.path.exists(os.path.join(place, "jobs", i, "isolation.json")) for i in ids)
    if apart != count:
        print(f"server: {apart} of {count} jobs could be isolated on this machine: no row of its load")
        return
    row(f"server, isolated: {count} jobs of {people} users", count / took, "jobs/s", ">= 10", count / took >= 10,
        busy)


def measure(program, temp, store, jobs, row):
    """`store` holds `jobs` jobs."""
    if not shutil.which("wrk"):
        print("wrk is not installed: no rows of the server")
        return
    place = os.path.join(temp, "server")
    os.makedirs(place)
    server = Server(program, place, "--no-queue", store=store)
    try:
        some = server.ask("GET", "/api/v1/jobs?limit=1")["jobs"][0]["id"]
        rate = server.wrk(f"/api/v1/jobs/{some}")
        row("server: GET of a job", rate, "req/s", ">= 5000", rate >= 5000)
        rate = server.wrk(f"/api/v1/jobs/{some}/events")
        row("server: GET of its events", rate, "req/s", ">= 5000", rate >= 5000)
        rate = server.wrk("/api/v1/jobs?limit=20&state=Running")
        row(f"server, {jobs} jobs: a page of 20, filtered", rate, "req/s", "-", True)
        script = os.path.join(temp, "post.lua")
        with open(script, "w", encoding="ascii") as f:
            f.write('wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\n'
                    'wrk.body = \'{"command": "true"}\'\n')
        rate = server.wrk("/api/v1/jobs", script)
        row("server: POST of a job", rate, "req/s", ">= 300", rate >= 300)
    finally:
        server.end()
    place = os.path.join(temp, "follow")
    os.makedirs(place)
    server = Server(program, place)
    server.hold = os.path.join(temp, "hold")
    os.mkfifo(server.hold)
    try:
        took, threads = followers(server, 1000)
        row("server: a line reaches 1000 followers", took * 1000, "ms", "< 1000", took < 1)
        row("server: threads with 1000 followers", threads, "", "< 100", threads < 100)
    finally:
        server.end()
