# SPDX-License-Identifier: Apache-2.0
"""The part of chaos.py that talks to a server: starts it again whenever it was killed, and
submits, stops and lists in the names of five users, each with a project of its own."""
import http.client
import json
import os
import socket
import subprocess
import time

USERS = 5
QUOTA = 2  # jobs of a project that run at a time


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, program, directory):
        self.program, self.dir, self.port = program, directory, free_port()
        self.proc, self.starts, self.most = None, 0, 0
        self.start()
        with open(os.path.join(directory, "admin.token"), encoding="ascii") as f:
            self.admin = f.read().strip()
        self.ask("POST", "/api/v1/datasets", {"name": "marks", "path": directory + ".marks", "writable": True})
        self.tokens = [self.make_user(i) for i in range(USERS)]

    def start(self):
        """(Again, if it is dead.)"""
        if self.proc and self.proc.poll() is None:
            return
        self.starts += 1
        with open(os.path.join(self.dir, "server.log"), "a", encoding="utf-8") as log:
            self.proc = subprocess.Popen(
                [self.program, "server", "--listen", f"127.0.0.1:{self.port}", "--rate", "0"], stderr=log)
        for _ in range(200):
            try:
                if self.once("GET", "/healthz")[0] == 200:
                    return
            except OSError:
                pass
            if self.proc.poll() is not None:
                return  # killed while it started
            time.sleep(0.05)

    def isolation(self):
        """How the server says that it isolates jobs."""
        with open(os.path.join(self.dir, "server.log"), encoding="utf-8") as log:
            lines = [line for line in log if line.startswith("isolation: ")]
        return lines[-1][len("isolation: "):].strip() if lines else "unknown"

    def once(self, method, path, body=None, token=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        head = {"Authorization": "Bearer " + token} if token else {}
        if body is not None:
            head["Content-Type"] = "application/json"
        try:
            c.request(method, path, None if body is None else json.dumps(body), head)
            r = c.getresponse()
            data = r.read()
        except http.client.HTTPException as e:
            raise OSError(str(e)) from e
        finally:
            c.close()
        return r.status, json.loads(data) if data else None

    def ask(self, method, path, body=None, token=None):
        """Until a server answers; what may have happened twice is safe to."""
        for _ in range(200):
            self.start()
            try:
                status, answer = self.once(method, path, body, token or self.admin)
                if status < 500:
                    return status, answer
            except (OSError, ValueError):
                pass
            time.sleep(0.05)
        raise SystemExit(f"{method} {path}: no answer")

    def make_user(self, i):
        self.ask("PUT", f"/api/v1/projects/p{i}", {"running": QUOTA})
        self.ask("POST", "/api/v1/users", {"name": f"u{i}", "role": "submitter", "projects": [f"p{i}"]})
        return self.ask("POST", f"/api/v1/users/u{i}/tokens", {})[1]["token"]

    def submit(self, number, spec):
        """One try; True when it was answered. The token makes another safe."""
        who = number % USERS
        self.start()
        try:
            status, answer = self.once("POST", "/api/v1/jobs", dict(spec, project=f"p{who}"), self.tokens[who])
        except (OSError, ValueError):
            return False
        if status >= 500:
            return False
        if status not in (200, 201):
            raise SystemExit(f"submission refused: {status} {answer}")
        return True

    def rows(self):
        jobs, cursor = [], ""
        while True:
            page = self.ask("GET", "/api/v1/jobs?limit=1000" + cursor)[1]
            jobs += page["jobs"]
            if "next" not in page:
                break
            cursor = f"&cursor={page['next']}"
        for i in range(USERS):
            now = sum(j["project"] == f"p{i}" and j["attempt"] > 0 and
                      j["state"] not in ("Queuing", "Succeeded", "Failed", "Stopped") for j in jobs)
            self.most = max(self.most, now)
        return jobs

    def stop_job(self, job):
        who = int(job["owner"][1:])
        return self.ask("POST", f"/api/v1/jobs/{job['id']}/stop", {}, self.tokens[who])[0] == 200

    def events(self, job):
        events, after = [], 0
        while True:
            page = self.ask("GET", f"/api/v1/jobs/{job}/events?limit=1000&after={after}")[1]
            events += page["events"]
            if "next" not in page:
                return events
            after = page["next"]

    def end(self):
        self.proc.terminate()
        self.proc.wait()
