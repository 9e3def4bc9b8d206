# SPDX-License-Identifier: Apache-2.0
"""An ordinary submitter, mallory, attacks a server and the job of another, alice, in every way that tests/it/hostile.sh
knows of. URL and TOKEN (the admin's) in the environment; arguments: the server's directory, its log. Every attack must
come to nothing; the server must answer and alice's job go on behind each part. Loops are bounded, and all traffic stays on the loopback."""
import base64
import ctypes
import hashlib
import json
import os
import resource
import socket
import sys
import threading
import time

from server_check import admin, ask, check, failures, url, user

YARD = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
SECRET = "alices-secret-" + "7c1f" * 4
tried = 0


def must(fine, *what):
    """One more attack, which must have come to nothing."""
    global tried
    tried += 1
    check(fine, "GAINED", *what)


def submit(token, command, **more):
    status, _, answer = ask("POST", "/api/v1/jobs", {"command": command, **more}, token=token)
    return answer["id"] if status == 201 else None


def wait(token, job, states=("Succeeded", "Failed", "Stopped"), seconds=60):
    for _ in range(seconds * 20):
        state = ask("GET", f"/api/v1/jobs/{job}", token=token)[2].get("state")
        if state in states:
            return state
        time.sleep(0.05)
    return state


def log(token, job):
    status, _, text = ask("GET", f"/api/v1/jobs/{job}/logs/0", token=token)
    return text if status == 200 else ""


VICTIM = """
import os, socket, time
open(os.environ["PAI_OUTPUT_MODEL"] + "/weights", "w").write("alices weights")
s = socket.create_server(("127.0.0.1", 0)); s.settimeout(0.2)
print("port", s.getsockname()[1], flush=True)
n = 0
while True:
    try: s.accept(); print("SOMEBODY CAME", flush=True)
    except OSError: pass
    n += 1; print("beat", n, flush=True)
"""


class Alice:
    def __init__(self):
        self.token = user("alice", "submitter", ["apples"])
        self.job = submit(self.token, ["python3", "-S", "-c", VICTIM, "alice-was-here"], secret=["S"], secret_values={"S": SECRET})
        for _ in range(400):
            if "beat" in log(self.token, self.job):
                break
            time.sleep(0.05)
        self.port = int(log(self.token, self.job).split("port ")[1].split()[0])
        _, _, events = ask("GET", f"/api/v1/jobs/{self.job}/events", token=self.token)
        self.pid = [e["data"]["pid"] for e in events["events"] if e["type"] == "WorkerStarted"][0]

    def beats(self):
        return log(self.token, self.job).count("beat")

    def unharmed(self, after):
        before = self.beats()
        for _ in range(100):
            if self.beats() > before:
                break
            time.sleep(0.1)
        check(self.beats() > before, "alice's job stands still after", after)
        check("SOMEBODY CAME" not in log(self.token, self.job), "alice's port was reached:", after)
        check(ask("GET", "/healthz", token=None)[0] == 200, "the server is gone after", after)


def bad_jobs(token):
    """Requests that must be refused as they are."""
    images = ("--volume=/:/host", "--privileged", "-v/:/host", "--", "-it", "oci:/etc", "dir:/", "docker-archive:x", "a b",
              "x\n--privileged", "x --privileged", "../x", "x@sha256:0", "$(id)", "X")
    jobs = [("image " + repr(i), {"image": i}) for i in images]
    jobs += [("variable " + repr(n), {"env": {n: "x"}}) for n in ("LD PRELOAD", "A=B", "A\nB", "", "-e", "A-B")]
    jobs += [
        ("a second line for a container", {"image": "x", "env": {"A": "1\nLD_PRELOAD=/x"}}),
        ("a working directory", {"workdir": "/"}),
        ("a path as source", {"source": YARD}),
        ("a path as input", {"input": {"x": "/etc"}}),
        ("a file as input", {"input": {"x": "file:///etc"}}),
        ("a relative path as input", {"input": {"x": "../../admin.token"}}),
        ("a bucket as input", {"input": {"x": "s3://bucket/x"}}),
        ("a path as output", {"output": {"x": "/etc"}}),
        ("a path as data", {"data": ["/etc:/mnt/etc"]}),
        ("a bucket as data", {"data": ["s3://bucket/x:/mnt/x"]}),
        ("a bucket of this machine as data", {"data": ["oss://b.127.0.0.1:1/x:/mnt/x"]}),
        ("the server's environment", {"inherit": True}),
        ("a file as secret", {"secret": ["X=file:/etc/shadow"]}),
        ("the server's variable as secret", {"secret": ["X=env:TY_SERVER_SECRET"]}),
        ("the server's variable by its name", {"secret": ["TY_SERVER_SECRET"]}),
        ("a channel outside", {"output": {"../../x": "dataset:none"}}),
        ("somebody's project", {"project": "apples"}),
        ("more than the highest priority", {"priority": 99}),
        ("markup as name", {"name": "<script>alert(1)</script>"}),
        ("a backend that is none", {"backend": "../../bin/sh"}),
        ("more workers than there can be", {"workers": 1000000}),
    ]
    for what, more in jobs:
        must(submit(token, "true", **more) is None, "a job with", what)


def bad_requests(token, alice):
    for method, path, body in (
            ("GET", f"/api/v1/jobs/{alice.job}", None), ("GET", f"/api/v1/jobs/{alice.job}/logs/0", None),
            ("GET", f"/api/v1/jobs/{alice.job}/events", None), ("GET", f"/api/v1/jobs/{alice.job}/script", None),
            ("GET", f"/api/v1/jobs/{alice.job}/metrics", None), ("GET", f"/api/v1/jobs/{alice.job}/why", None),
            ("POST", f"/api/v1/jobs/{alice.job}/stop", {"force": True}), ("POST", f"/api/v1/jobs/{alice.job}/suspend", None),
            ("POST", f"/api/v1/jobs/{alice.job}/rerun", None), ("GET", "/api/v1/users", None), ("GET", "/api/v1/audit", None),
            ("POST", "/api/v1/users", {"name": "m2", "role": "admin"}), ("PATCH", "/api/v1/users/mallory", {"role": "admin"}),
            ("POST", "/api/v1/users/admin/tokens", {}), ("POST", "/api/v1/users/mallory/tokens", {"role": "admin"}),
            ("DELETE", "/api/v1/users/alice", None), ("PUT", "/api/v1/projects/p", {"running": 100}),
            ("GET", "/api/v1/jobs/..%2f..%2fadmin.token", None), ("GET", f"/api/v1/jobs/{alice.job}%2f..%2f/logs/0", None),
            ("POST", "/api/v1/datasets", {"name": "m", "path": "/etc"}),
            ("POST", "/api/v1/datasets", {"name": "m", "path": YARD, "type": "nas"}),
            ("POST", "/api/v1/datasets", {"name": "m", "type": "oss", "path": "oss://b/x", "mount": "/mnt/a:/etc"}),
            ("POST", "/api/v1/datasets", {"name": "m", "type": "oss", "path": "oss://b/x", "mount": "/../etc"}),
            ("POST", "/api/v1/datasets", {"name": "m", "type": "oss", "path": "oss://b/x", "mount": "/proc"}),
            ("POST", "/api/v1/datasets", {"name": "m", "type": "oss", "path": YARD + "/a://.."}),
            ("POST", "/api/v1/datasets", {"name": "m", "type": "s3", "path": "/://../../../" + YARD}),
            ("POST", "/api/v1/datasets", {"name": "m", "type": "odps", "path": "/tmp/://../etc"})):
        status, _, answer = ask(method, path, body, token=token)
        must(status in (400, 403, 404, 409, 422) and SECRET not in str(answer), method, path, body, "->", status)
    # A dataset of another kind that names a file of the server.
    ask("POST", "/api/v1/datasets", {"name": "local", "type": "oss", "path": "file:///etc"}, token=token)
    must(submit(token, "cat /ml/input/data/x/passwd", input={"x": "dataset:local"}) is None, "file:// as a dataset")
    jobs = ask("GET", "/api/v1/jobs?owner=alice", token=token)[2]["jobs"]
    must(not jobs, "alice's jobs in a list")
    status, head, _ = ask("GET", "/api/v1/jobs?label=x%3D%3Cscript%3E", token=token)
    must(head["X-Content-Type-Options"] == "nosniff" and "json" in head["Content-Type"] and
         "'none'" in head["Content-Security-Policy"], "markup in an answer")


def snapshots(token):
    def send(lines):
        text = json.dumps(lines).encode() if not isinstance(lines, bytes) else lines
        name = hashlib.sha256(text).hexdigest()
        return name, ask("PUT", "/api/v1/snapshots/" + name, raw=text, token=token)[0]

    body = b"x"
    own = hashlib.sha256(body).hexdigest()
    ask("PUT", "/api/v1/objects/" + own, raw=body, token=token)
    must(ask("PUT", "/api/v1/objects/" + "0" * 64, raw=body, token=token)[0] >= 400, "an object under another name")
    for path in ("../x", "/etc/x", "a/../../x", "./x", "a//b", ".", "..", "", "a/", "a\0b", "a\0/../../x", "x" * 5000, "/dev/sda", "/proc/self/mem"):
        name, status = send([{"file": own, "path": path}])
        must(status >= 400 or submit(token, "true", source="snapshot:" + name) is None, "a snapshot with", repr(path))
    for what, lines in (("a device", [{"device": "1:1", "path": "d"}]), ("two kinds", [{"file": own, "link": "/etc", "path": "d"}]),
                        ("a way through a link", [{"link": "/etc", "path": "d"}, {"file": own, "path": "d/x"}]),
                        ("a link under a file", [{"link": "/etc/x", "path": "d"}, {"file": own, "path": "d"}]),
                        ("a NUL in a link", [{"link": "a\0b", "path": "d"}]), ("a NUL in a name", [{"file": own + "\0", "path": "d"}]),
                        ("no list", {"file": own, "path": "d"}), ("a number as path", [{"file": own, "path": 7}])):
        name, status = send(lines)
        must(status >= 400 or submit(token, "true", source="snapshot:" + name) is None, "a snapshot with", what)


def small_uploads_that_grow(token):
    """A list that names one object again and again is as large as the files that it makes."""
    one = put_object(token, bytes(1 << 20))
    for what, lines, more in (("a program", [{"file": one, "path": str(i)} for i in range(600)], "source"),
                              ("an input", [{"parts": [one] * 1100, "path": "x"}], "input")):
        text = json.dumps(lines).encode()
        name = "snapshot:" + hashlib.sha256(text).hexdigest()
        status, _, answer = ask("PUT", "/api/v1/snapshots/" + name[9:], raw=text, token=token)
        check(status < 300 and answer["bytes"] == (600 << 20 if more == "source" else 1100 << 20), "the size of", what, status, answer)
        must(submit(token, "true", **{more: name if more == "source" else {"x": name}}) is None, what, "of 1 MiB that fills the disk")


def floods_of_refusals(token):
    """What is refused again and again does not fill the store."""
    asked = [ask("GET", "/api/v1/users", token=token)[0] for _ in range(400)]
    check(set(asked) <= {403, 429}, "users for a submitter", set(asked))
    rows = ask("GET", "/api/v1/audit?who=mallory&action=list_users&limit=1000")[2]["entries"]
    must(0 < len(rows) < 300, "the store's disk, by refusals:", len(rows))


def arrays_of_others(token, alice):
    """Who says that a job belongs to somebody's array takes no place there."""
    own = submit(token, "sleep 60", array_element="ja-victimsarray,0,9,1")
    wait(token, own, states=("Running",), seconds=30)
    job = submit(alice.token, "true", array_element="ja-victimsarray,1,9,1")
    must(job and wait(alice.token, job, seconds=30) == "Succeeded", "the place of a job in alice's array")
    ask("POST", f"/api/v1/jobs/{own}/stop", {"force": True}, token=token)


def floods_of_jobs(token):
    """Jobs that wait take room: there are so many of a user, and none is described by a book."""
    must(submit(token, "true", env={"A": "x" * (2 << 20)}) is None, "room in the store, by one job")
    jobs = [submit(token, "sleep 60")]
    for _ in range(60):
        jobs.append(submit(token, "true", after=jobs[:1]))
    must(None in jobs, "room in the store, by many jobs")
    status, _, answer = ask("POST", "/api/v1/jobs", {"command": "true"}, token=token)
    must(status == 429 and answer["code"] == "E3023", "one more job", status, answer)
    for job in reversed([j for j in jobs if j]):
        ask("POST", f"/api/v1/jobs/{job}/stop", {"force": True}, token=token)
    for job in [j for j in jobs if j]:
        wait(token, job)


def snapshots_of_others(token, alice):
    """To know a SHA-256 is not to have what it names."""
    text = b"alices program, a secret"
    own = put_object(alice.token, text)
    listed = json.dumps([{"file": own, "path": "main.py"}]).encode()
    name = hashlib.sha256(listed).hexdigest()
    check(ask("PUT", "/api/v1/snapshots/" + name, raw=listed, token=alice.token)[2]["missing"] == [], "alice's own snapshot")
    must(submit(token, "cat main.py", source="snapshot:" + name) is None, "alice's snapshot by its name")
    must(submit(token, "cat /ml/input/data/x/*", input={"x": "snapshot:" + name}) is None, "alice's snapshot as an input")
    status, _, answer = ask("PUT", "/api/v1/snapshots/" + name, raw=listed, token=token)
    must(status < 300 and answer["missing"] == [own], "word of what alice has sent:", answer)
    must(submit(token, "cat main.py", source="snapshot:" + name) is None, "alice's object by a list of mallory's")
    status, _, answer = ask("PUT", "/api/v1/objects/" + own, raw=b"", token=token)
    must(status >= 400, "an object that was not sent")
    for method, path in (("GET", "/api/v1/objects/" + own), ("GET", "/api/v1/snapshots/" + name),
                         ("DELETE", "/api/v1/objects/" + own)):
        status, _, answer = ask(method, path, token=token)
        must(status in (404, 405) and text.decode() not in str(answer), method, path, status)
    for who, fine in ((alice.token, True), (token, False)):
        status, _, answer = ask("PUT", "/api/v1/snapshots/" + name, raw=listed, token=who)
        check((answer["missing"] == []) == fine, "what is there for whom", answer)


def links_under_mounts(token):
    """A link in the job's own tree must not lead root out of it when a dataset is put there."""
    target = os.path.join(os.path.dirname(YARD), "roots-own")
    os.makedirs(target, mode=0o700, exist_ok=True)
    data = os.path.join(os.path.dirname(YARD), "some-data")
    os.makedirs(data, mode=0o755, exist_ok=True)
    ask("POST", "/api/v1/datasets", {"name": "linked", "type": "local", "path": data}, token=admin)
    text = json.dumps([{"link": target, "path": "d"}]).encode()
    name = hashlib.sha256(text).hexdigest()
    status, _, answer = ask("PUT", "/api/v1/snapshots/" + name, raw=text, token=token)
    check(status < 300, "a snapshot with a link", status, answer)
    job = submit(token, "true", source="snapshot:" + name, data=["linked:/ml/usercode/d/made"])
    must(job is None or wait(token, job) == "Failed", "a dataset put through a link")
    job = submit(token, "rm -rf /tmp/d; ln -s " + target + " /tmp/d; exit 75", data=["linked:/tmp/d/made"], max_retries=1)
    must(job is None or wait(token, job) == "Failed", "a dataset put through a link of an earlier attempt")
    must(os.listdir(target) == [], "directories in", target, os.listdir(target))


def datasets_around_the_server(token):
    """An admin's directory that holds the server's: all of it is seen but that."""
    home = os.path.dirname(YARD)
    for name, target in (("around", home), ("inside", YARD + "/jobs")):
        must(ask("POST", "/api/v1/datasets", {"name": name, "type": "local", "path": target}, token=admin)[0] == 422, "a dataset at", target)
        place = os.path.join(home, "later-" + name)  # a link, once it is registered
        os.mkdir(place)
        check(ask("POST", "/api/v1/datasets", {"name": name, "type": "local", "path": place}, token=admin)[0] == 201, "a dataset", name)
        os.rmdir(place)
        os.symlink(target, place)
    job = submit(token, f"ls -A /mnt/a/{os.path.basename(YARD)}; echo end", data=["around:/mnt/a"])
    must(wait(token, job) == "Succeeded" and log(token, job) == "end\n", "the server's directory in a dataset around it:", log(token, job))
    job = submit(token, "ls /mnt/a", data=["inside:/mnt/a"])
    must(job is None or (wait(token, job) == "Failed" and "jb-" not in log(token, job)), "a dataset in the server's directory")
    job = submit(token, "grep ' /mnt/a ' /proc/self/mountinfo", data=["linked:/mnt/a"])
    wait(token, job)
    must("nosuid" in log(token, job) and "nodev" in log(token, job), "devices and set-uid bits of a dataset:", log(token, job))


SPY = """
import os, time
end = time.time() + 60
print("ready", flush=True)
while time.time() < end and not os.path.exists("/tmp/over"):
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or int(pid) in (1, os.getpid()): continue
        try: text = open(f"/proc/{pid}/environ", "rb").read()
        except OSError: continue
        if b"YEKREVRES"[::-1] in text: print("GAINED its environment", flush=True)
        for fd in os.listdir(f"/proc/{pid}/fd") if os.access(f"/proc/{pid}/fd", os.R_OK) else ():
            try: to = os.readlink(f"/proc/{pid}/fd/{fd}")
            except OSError: continue
            if "jobs.db" in to: print("GAINED", to, flush=True)
"""


def programs_beside(token):
    """A program that enters the job is the server's until it is executed; a long PATH gives the job time to look."""
    job = submit(token, ["/usr/bin/python3", "-S", "-c", SPY], env={"PATH": "/x:" * 30000 + "/usr/bin:/bin"})
    wait(token, job, ("Running", "Failed"), 120)
    for _ in range(1200):
        if "ready" in log(token, job):
            break
        time.sleep(0.05)
    for _ in range(3):
        status, _, answer = ask("POST", f"/api/v1/jobs/{job}/exec", {"command": ["true"]}, token=token)
        check(status in (200, 201), "a program beside one's own job", status, answer)
        time.sleep(1)
    ask("POST", f"/api/v1/jobs/{job}/exec", {"command": ["touch", "/tmp/over"]}, token=token)
    wait(token, job)
    must("ready" in log(token, job) and "GAINED" not in log(token, job), "what a program beside the job had:", log(token, job)[-300:])


def webhooks(token):
    """Messages to addresses inside: refused at once, or never delivered."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        s.settimeout(0.1)
        port = s.getsockname()[1]
        for host in ("127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f000001", "127.1", "0.0.0.0", "[::ffff:127.0.0.1]",
                     "169.254.169.254", socket.gethostname(), "localhost.", "127.0.0.1.nip.io"):
            ask("POST", "/api/v1/rules", {"on": ["job.ended"], "url": f"http://{host}:{port}/x", "webhook": f"http://{host}:{port}/x"},
                token=token)
        job = submit(token, "true")
        wait(token, job)
        came = 0
        for _ in range(20):
            try:
                s.accept()
                came += 1
            except OSError:
                pass
        must(came == 0, "a message to the loopback")


def talk(data, seconds=3):
    with socket.create_connection((url.hostname, url.port), timeout=seconds) as s:
        s.sendall(data)
        got = b""
        try:
            while len(got) < 65536:
                part = s.recv(65536)
                if not part:
                    break
                got += part
        except OSError:
            pass
        return got


def smuggling(token):
    head = f"Host: localhost\r\nAuthorization: Bearer {token}\r\n".encode()
    inner = b"GET /api/v1/me HTTP/1.1\r\n" + head + b"\r\n"
    n = str(len(inner)).encode()
    for what, data in (
            ("two lengths", b"GET /healthz HTTP/1.1\r\n" + head + b"Content-Length: 0\r\nContent-Length: " + n + b"\r\n\r\n" + inner),
            ("two lengths in one", b"GET /healthz HTTP/1.1\r\n" + head + b"Content-Length: 0, " + n + b"\r\n\r\n" + inner),
            ("length and chunks", b"GET /healthz HTTP/1.1\r\n" + head + b"Content-Length: " + n +
             b"\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner),
            ("chunks of another name", b"GET /healthz HTTP/1.1\r\n" + head + b"Transfer-Encoding: xchunked\r\nContent-Length: " + n +
             b"\r\n\r\n" + inner),
            ("chunks twice", b"GET /healthz HTTP/1.1\r\n" + head + b"Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n" + inner),
            ("a length with a sign", b"GET /healthz HTTP/1.1\r\n" + head + b"Content-Length: +0\r\n\r\n" + inner),
            ("a length in hex", b"GET /healthz HTTP/1.1\r\n" + head + b"Content-Length: 0x0\r\n\r\n" + inner),
            ("a bare line feed", b"GET /healthz HTTP/1.1\r\n" + head + b"X: y\nContent-Length: " + n + b"\r\n\r\n" + inner),
            ("a bare line feed behind the first line", b"GET /healthz HTTP/1.1\n" + head + b"\r\n" + inner),
            ("a bare carriage return", b"GET /healthz HTTP/1.1\r\n" + head + b"X: y\rContent-Length: " + n + b"\r\n\r\n" + inner),
            ("a bare line feed behind the last header", b"GET /healthz HTTP/1.1\r\n" + head[:-2] + b"\n\r\n" + inner),
            ("a bare line feed at the end of the head", b"GET /healthz HTTP/1.1\r\n" + head + b"\n" + inner),
            ("a bare line feed and nothing behind", b"GET /healthz HTTP/1.1\r\n" + head[:-2] + b"\n\r\n"),
            ("a header that goes on in the next line", b"GET /healthz HTTP/1.1\r\n" + head + b"X: y\r\n Content-Length: 9\r\n\r\n"),
            ("a blank before the colon", b"GET /healthz HTTP/1.1\r\n" + head + b"Content-Length : " + n + b"\r\n\r\n" + inner),
            ("two hosts", b"GET /healthz HTTP/1.1\r\n" + head + b"Host: localhost\r\n\r\n"),
            ("two tokens", b"GET /api/v1/me HTTP/1.1\r\n" + head + b"Authorization: Bearer x\r\n\r\n"),
            ("chunks with bare line feeds", b"POST /api/v1/jobs HTTP/1.1\r\n" + head + b"Transfer-Encoding: chunked\r\n\r\n0\n\n" + inner),
            ("the sizes of chunks", b"POST /api/v1/jobs HTTP/1.1\r\n" + head + b"Transfer-Encoding: chunked\r\n\r\n0;x=\n\r\n\r\n" + inner),
            ("a NUL", b"GET /healthz HTTP/1.1\r\n" + head + b"X: y\0z\r\n\r\n" + inner)):
        got = talk(data)
        must(b"HTTP/1.1 200" not in got, "smuggling by", what, got[:60], got.count(b"HTTP/1.1 "))


def resident():
    """MiB of memory that the server has."""
    with open(f"/proc/{os.environ['SERVER_PID']}/status", encoding="ascii") as f:
        return int(f.read().split("VmRSS:")[1].split()[0]) >> 10


def many_bodies(token):
    """Large bodies on many connections that never end: no more than twice the largest is held for one user."""
    before, part, socks = resident(), bytes(8 << 20), []
    for _ in range(32):
        s = socket.create_connection((url.hostname, url.port), timeout=2)
        socks.append(s)
        try:
            s.sendall(f"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
                      f"Content-Type: application/json\r\nContent-Length: {60 << 20}\r\n\r\n".encode())
            s.sendall(part)
        except OSError:
            pass  # it does not listen any more
    held = resident() - before
    must(held < 200, "memory of the server:", held, "MiB for 256 that were sent")
    for s in socks:
        s.close()
    for _ in range(100):
        if submit(token, "true"):
            return
        time.sleep(0.1)
    check(False, "requests are refused after they were closed")


def garbled(token):
    """What is not UTF-8 is named whole."""
    status, _, answer = ask("POST", "/api/v1/jobs", raw=b'{"command": "\xff\xfe"}', token=token, headers={"Content-Type": "application/json"})
    must(status == 400 and answer["message"] == "the body: line 1, column 14: not UTF-8 text", "a garbled message", answer)


def forgery(token):
    for what, more in (("another page", {"Origin": "http://evil.example"}), ("no page", {"Origin": "null"}),
                       ("a name that was rebound", {"Host": "evil.example"}),
                       ("a name behind ours", {"Host": "localhost.evil.example"})):
        status = ask("POST", "/api/v1/jobs", {"command": "true"}, token=token, headers=more)[0]
        must(status in (403, 421), "a request by", what, status)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        status = ask("POST", "/api/v1/jobs", raw=b'{"command": "true"}', token=token, headers={"Content-Type": kind})[0]
        must(status == 415, "a form", kind, status)


def guessing():
    statuses = {ask("GET", "/api/v1/me", token="ty_" + hashlib.sha256(b"%d" % i).hexdigest())[0] for i in range(60)}
    must(statuses <= {401, 429}, "guessed tokens", statuses)
    for near in (admin[:-1], admin[:-1] + ("0" if admin[-1] != "0" else "1"), admin.upper(), admin + "0", admin + "\t", "", "ty_",
                 base64.b64encode(admin.encode()).decode()):
        status = ask("GET", "/api/v1/me", token=near)[0]
        must(status in (401, 429), "a token near the admin's", status)

    def median(token):
        times = []
        for _ in range(21):
            start = time.perf_counter()
            ask("GET", "/api/v1/me", token=token)
            times.append(time.perf_counter() - start)
        return sorted(times)[10]

    near, far = median(admin[:-1] + "x"), median("ty_" + "f" * 64)
    must(abs(near - far) < 0.05, "time tells how much of a token is right", near, far)


def secrets_that_are_variables(token):
    """Names that would mean something to helpers stay the job's own."""
    names = {"LD_PRELOAD": "/trap", "PATH": "/trap", "HOME": "/trap", "TRAINYARD_S3_ENDPOINT": "http://127.0.0.1:1/trap",
             "AWS_ENDPOINT_URL": "http://127.0.0.1:1/trap", "PIP_INDEX_URL": "http://127.0.0.1:1/trap", "HTTPS_PROXY": "http://127.0.0.1:1/trap"}
    job = submit(token, ["/bin/echo", "none"], secret=list(names), secret_values=names)
    wait(token, job)
    for file in ("env.json", "access.json"):
        path = f"{YARD}/jobs/{job}/{file}"
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                must("trap" not in f.read(), "a secret in", file)


def datasets_of_the_server(token):
    """The server's keys open what administrators named, and nothing else."""
    def dataset(who, name, kind, path, **more):
        return ask("POST", "/api/v1/datasets", {"name": name, "type": kind, "path": path, **more}, token=who)[0]

    def refusal(command="true", **more):
        status, _, answer = ask("POST", "/api/v1/jobs", {"command": command, **more}, token=token)
        return status == 422 and answer["code"] == "E3302"

    check(dataset(admin, "team", "s3", "s3://team/data") == 201, "a dataset of the admin's")
    check(dataset(admin, "rows", "odps", "odps://p/tables/t") == 201, "a table of the admin's")
    check(dataset(admin, "models", "s3", "s3://team/models", writable=True) == 201, "a writable one")
    for name, kind, path in (("m-s3", "s3", "s3://team/data"), ("m-oss", "oss", "oss://team/data"), ("m-odps", "odps", "odps://p/tables/t")):
        dataset(token, name, kind, path)
        must(refusal(input={"x": "dataset:" + name}), "the server's key for an input at", path)
        must(refusal(output={"model": "dataset:" + name}) or kind == "odps", "the server's key for an output at", path)
        must(kind == "odps" or refusal(data=[name + ":/mnt/x"]), "the server's key for data at", path)
    must(dataset(token, "m-w", "s3", "s3://team/models", writable=True) == 403, "a dataset made writable")
    must(refusal(input={"x": "dataset:rows"}), "the server's key for a table")
    must(refusal(output={"model": "dataset:team"}), "an output over the team's data")
    must(refusal(output={"checkpoints": "dataset:team"}), "checkpoints over the team's data")
    must(refusal(output={"model": "pai://datasets/team/"}), "an output over the team's data by its other name")
    schedule = {"name": "m", "cron": "0 0 1 1 *", "job": {"command": "true", "input": {"x": "dataset:m-s3"}}}
    ask("POST", "/api/v1/schedules", schedule, token=token)
    status, _, run = ask("POST", "/api/v1/schedules/m/run", {}, token=token)
    must(status >= 400 or not run.get("job"), "the server's key by a schedule", status, run)
    # A key of one's own opens no more than it does anywhere; the server's must not stand in for it.
    own = {"AWS_ACCESS_KEY_ID": "mallory", "AWS_SECRET_ACCESS_KEY": "mallory", "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
           "AWS_SHARED_CREDENTIALS_FILE": "/root/.aws/credentials", "ALIBABA_CLOUD_CREDENTIALS_URI": "http://127.0.0.1:1/"}
    for names in (own, {"AWS_ACCESS_KEY_ID": "mallory"}, {"OSS_ACCESS_KEY_ID": "mallory"}):
        job = submit(token, "cat /ml/input/data/x/*", input={"x": "dataset:m-s3"}, secret=list(names),
                     secret_values={n: own.get(n, "mallory") for n in names})
        must(job is None or wait(token, job) == "Failed" and "rows" not in log(token, job), "the team's data with a key of", list(names))
    if not os.environ.get("ISOLATED"):
        return
    # What is meant to work: the admin's dataset is copied in, outputs go to the one that is writable.
    job = submit(token, "cat /ml/input/data/x/part-0; echo w > /ml/output/model/w", input={"x": "dataset:team"}, output={"model": "dataset:models"})
    check(wait(token, job) == "Succeeded" and "rows of the team" in log(token, job), "the team's dataset:", log(token, job))
    job = submit(token, "cat $PAI_ODPS_CREDENTIAL /ml/input/data/x/meta.json", input={"x": "dataset:rows"},
                 secret=["ODPS_ACCESS_ID", "ODPS_ACCESS_KEY"], secret_values={"ODPS_ACCESS_ID": "mallorys-id", "ODPS_ACCESS_KEY": "mallorys-key"})
    check(wait(token, job) == "Succeeded" and "AccessKeyId" in log(token, job), "a table with a key of one's own:", log(token, job))
    must("SERVERKEY" not in log(token, job), "the server's key of MaxCompute in", log(token, job))
    # Programs of packages run before the job does.
    code = "import os; open('/ml/usercode/seen', 'w').write(str(dict(os.environ)))\n"
    text = json.dumps([{"file": put_object(token, code.encode()), "path": "p/setup.py"},
                       {"file": put_object(token, b"./p\n"), "path": "requirements.txt"}]).encode()
    name = hashlib.sha256(text).hexdigest()
    check(ask("PUT", "/api/v1/snapshots/" + name, raw=text, token=token)[0] < 300, "a snapshot with a package")
    job = submit(token, "cat /ml/usercode/seen /ml/usercode/p/seen", source="snapshot:" + name, requirements_optional=True)
    wait(token, job)
    must("SERVERKEY" not in log(token, job) and "testsecret" not in log(token, job), "the server's keys in pip:", log(token, job))


class Aside(threading.Thread):
    """A request that takes long, asked while others go on."""
    def __init__(self, *args, **more):
        super().__init__(daemon=True)
        self.args, self.more, self.answer = args, more, None
        self.start()

    def run(self):
        self.answer = ask(*self.args, seconds=240, **self.more)


def silent_crowd(alice):
    """More connections than the server has room for, on which nothing is sent, do not shut others out."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20000), hard))
    crowd = []
    try:
        for _ in range(min(hard, 20000, 8800) - 100):
            s = socket.socket()
            s.setblocking(False)
            crowd.append(s)
            s.connect_ex((url.hostname, url.port))
            if len(crowd) % 100 == 0:
                time.sleep(0.02)
        got = [ask("GET", "/api/v1/me", token=alice.token)[0] for _ in range(5)]
        must(got == [200] * 5, "all connections of the server", got)
    except OSError as e:
        must(False, "all connections of the server:", e)
    for s in crowd:
        s.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def slow_logins(alice):
    """Whoever has no token makes the server wait for a provider, and nobody else."""
    waiting = [Aside("POST", "/api/v1/login", {"device_code": "x"}, token=None) for _ in range(12)]
    waiting += [Aside(method, path, token=None) for method, path in (("GET", "/api/v1/login"), ("POST", "/api/v1/login/device"))]
    time.sleep(0.5)
    read = [ask("GET", "/api/v1/me", token=alice.token)[0] for _ in range(8)]
    job = submit(alice.token, "true")
    must(read == [200] * 8 and job, "the server's time: slow logins hold up requests", read, job)
    must(all(w.answer is None for w in waiting), "nothing: a silent provider has answered")
    for w in waiting[:1]:
        w.join()
        must(w.answer[0] == 503, "an odd answer for a provider that is away", w.answer)


def slow_models(token, alice):
    """Outputs that take long to read hold up their owner alone; files of holes are not read at all."""
    make = "import os\nfor i in range(%d): os.truncate(os.open('/ml/output/model/%%d' %% i, os.O_CREAT | os.O_WRONLY), 8 << 20)\nos._exit(1)"
    job, holes = (submit(token, ["python3", "-S", "-c", make % n]) for n in (24, 200))
    check(wait(token, job) == "Failed" and wait(token, holes) == "Failed", "jobs with files of holes")
    waiting = [Aside("POST", "/api/v1/models", {"name": f"slow{i}", "job": job}, token=token) for i in range(3)]
    time.sleep(0.3)
    read = [ask("GET", "/api/v1/me", token=alice.token)[0] for _ in range(8)]
    made = submit(alice.token, "true")
    must(read == [200] * 8 and made and any(w.answer is None for w in waiting),
         "the server's only writer, by a model that takes long", read, made, [w.answer and w.answer[0] for w in waiting])
    for w in waiting:
        w.join()
    check(all(w.answer[0] == 201 for w in waiting), "models:", [w.answer for w in waiting])
    status, _, answer = ask("POST", "/api/v1/models", {"name": "holes", "job": holes}, token=token)
    must(status == 422 and answer["code"] == "E5505", "a model of nothing but holes", status, answer)


def switched_requirements(token):
    """Whoever still holds a directory of an ended attempt, as a second job of mallory's can, swaps a file in it for a link
    while the server reads it for the next attempt. The swaps are made from outside here."""
    key = os.path.join(os.path.dirname(YARD), "key-of-root")
    with open(key, "w", encoding="utf-8") as f:
        f.write("nosuchpackage-7c1f7c1f\n")
    job = submit(token, "sleep 0.2; exit 75", retries=10, backoff="100ms")
    check(wait(token, job, states=("Running", "Failed")) == "Running", "a job that is tried again")
    code = f"{YARD}/jobs/{job}/ml/usercode"
    libc = ctypes.CDLL(None)
    here = os.open(code, os.O_RDONLY | os.O_DIRECTORY)
    with open(code + "/requirements.txt", "w", encoding="utf-8") as f:
        f.write("\n")
    os.symlink(key, code + "/l")
    ended, swaps = time.time() + 40, 0
    while time.time() < ended:
        for _ in range(20000):
            swaps += libc.renameat2(here, b"requirements.txt", here, b"l", 2) == 0
        if ask("GET", f"/api/v1/jobs/{job}", token=token)[2].get("state") == "Failed":
            break
    os.close(here)
    check(swaps > 20000, "only", swaps, "swaps")
    logs = f"{YARD}/jobs/{job}/logs"
    for name in os.listdir(logs):
        with open(f"{logs}/{name}", errors="replace", encoding="utf-8") as f:
            must("7c1f7c1f" not in f.read(), "a file of root's as a list of packages, in", name)


def put_object(token, data):
    name = hashlib.sha256(data).hexdigest()
    check(ask("PUT", "/api/v1/objects/" + name, raw=data, token=token)[0] < 300, "an object")
    return name


def inside(token, alice):
    """What a job can do by itself; see hostile_job.py."""
    with open(os.path.join(HERE, "hostile_job.py"), encoding="utf-8") as f:
        code = f.read()
    job = submit(token, ["python3", "-S", "-c", code, YARD, alice.job, str(alice.port), str(alice.pid), str(url.port)],
                 memory="256Mi", grace="1s")
    state = wait(token, job)
    text = log(token, job)
    for line in text.splitlines():
        must(not line.startswith("GAINED"), line)
    check(state == "Succeeded" and "done 61" in text, "the job that attacks:", state, text[-600:])
    alice.unharmed("attacks from inside")


def bombs(token, alice):
    job = submit(token, ["python3", "-S", "-c", "import time\nx = []\nwhile len(x) < 64: x.append(bytearray(16 << 20))\ntime.sleep(20)\nprint('all')"], memory="64Mi")
    must(wait(token, job) == "Failed" and "all" not in log(token, job), "more memory than asked for")
    # A log of 8 MiB, and lines without an end.
    job = submit(token, ["python3", "-S", "-c", "for i in range(128): print('x' * 65536, end='' if i % 2 else '\\n', flush=True)"])
    must(wait(token, job) == "Succeeded", "a flood of lines")
    # Many files, each as large as is allowed.
    job = submit(token, ["python3", "-S", "-c", "import time\nfor i in range(24):\n open(f'/ml/output/model/{i}', 'wb').write(bytes(4 << 20))\n"
                         "time.sleep(40)"])
    must(wait(token, job) == "Failed" and ask("GET", f"/api/v1/jobs/{job}", token=token)[2]["reason"] == "QuotaExceeded", "files that fill the disk")
    # Files without contents take up files of the disk, of which there are only so many.
    job = submit(token, ["python3", "-S", "-c", "import os, time\nfor i in range(20000): os.close(os.open(f'/ml/output/model/{i}', os.O_CREAT))\ntime.sleep(40)"])
    must(wait(token, job) == "Failed" and ask("GET", f"/api/v1/jobs/{job}", token=token)[2]["reason"] == "QuotaExceeded", "all files that the disk can have")
    # Nested deeper than a walk goes, and in the directory of a table's key.
    job = submit(token, ["python3", "-S", "-c", "import os, time\nos.chdir('/ml/output/model')\nfor i in range(260): os.mkdir('d'); os.chdir('d')\n"
                         "for i in range(24): open(f'{i}', 'wb').write(bytes(4 << 20))\ntime.sleep(40)"])
    must(wait(token, job) == "Failed" and ask("GET", f"/api/v1/jobs/{job}", token=token)[2]["reason"] == "QuotaExceeded", "files that lie too deep to be counted")
    check(ask("DELETE", f"/api/v1/jobs/{job}", token=token)[0] == 204, "a job with deep directories")
    must(not os.path.exists(f"{YARD}/jobs/{job}"), "files that cannot be deleted")
    job = submit(token, ["python3", "-S", "-c", "import os, time\nheld = []\nfor i in range(24):\n f = open('/tmp/f', 'wb'); os.unlink('/tmp/f')\n"
                         " f.write(bytes(4 << 20)); f.flush(); held.append(f)\ntime.sleep(40)"])
    must(wait(token, job) == "Failed" and ask("GET", f"/api/v1/jobs/{job}", token=token)[2]["reason"] == "QuotaExceeded", "files without a name")
    must(submit(token, "true", data=["linked:/proc"]) is None, "a dataset over /proc")
    # Metric lines that fill the store.
    job = submit(token, ["python3", "-S", "-c", "import time\nnames = ' '.join(f'm{i}=0.5' for i in range(20))\n"
                         "for i in range(20000):\n print(f'::trainyard step={i} {names}', flush=True)\n if i % 2000 == 0: time.sleep(1)"])
    must(wait(token, job, seconds=120) == "Succeeded", "a flood of metrics")
    events = ask("GET", f"/api/v1/jobs/{job}/events?limit=100", token=token)[2]
    must("metric values are kept" in json.dumps(events), "a store without bound", str(events)[-300:])
    # Processes that leave the group and the session are gone with the job.
    job = submit(token, "for i in 1 2 3; do setsid sh -c 'trap \"\" TERM HUP; sleep 271828' & done; sleep 0.3")
    wait(token, job)
    left = [p for p in os.listdir("/proc") if p.isdigit() and b"271828" in cmdline(p)]
    must(not left, "processes that outlive their job", left)
    # Links in the outputs lead the server nowhere; a program's list of packages neither.
    job = submit(token, f"ln -s {YARD}/admin.token /ml/output/model/a; ln -s / /ml/output/model/b; rm -rf /ml/output/checkpoints; "
                 "ln -s /etc /ml/output/checkpoints; mkfifo /ml/output/model/c; ln -sf /etc/shadow /ml/usercode/requirements.txt; exit 75",
                 retries=1, backoff="100ms")
    wait(token, job)
    for root, _, names in os.walk(f"{YARD}/jobs/{job}"):
        for name in names:
            path = os.path.join(root, name)
            if os.path.isfile(path) and not os.path.islink(path) and os.path.getsize(path) < 1 << 20:
                with open(path, "rb") as f:
                    text = f.read()
                must(admin.encode() not in text and b"root:" not in text, "a link was followed into", path)
    # Mounts over places that matter change nothing for others.
    must(submit(token, "true", data=["nothing:/etc"]) is None, "a mount of nothing over /etc")
    # Another job's id does not make mallory's processes that job's.
    job = submit(token, "sleep 0.2", env={"TRAINYARD_JOB_ID": alice.job, "TRAINYARD_WORKER": "0"})
    must(wait(token, job) == "Succeeded", "an id of another's")
    alice.unharmed("bombs")


def cmdline(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read()
    except OSError:
        return b""


def main():
    alice = Alice()
    mallory = user("mallory", "submitter")
    bad_jobs(mallory)
    bad_requests(mallory, alice)
    snapshots(mallory)
    snapshots_of_others(mallory, alice)
    small_uploads_that_grow(mallory)
    arrays_of_others(mallory, alice)
    floods_of_jobs(mallory)
    links_under_mounts(mallory)
    smuggling(mallory)
    garbled(mallory)
    many_bodies(mallory)
    forgery(mallory)
    secrets_that_are_variables(mallory)
    datasets_of_the_server(mallory)
    alice.unharmed("requests")
    if os.environ.get("ISOLATED"):
        inside(mallory, alice)
        datasets_around_the_server(mallory)
        programs_beside(mallory)
        bombs(mallory, alice)
        switched_requirements(mallory)
        slow_models(mallory, alice)
    slow_logins(alice)
    silent_crowd(alice)
    webhooks(mallory)
    floods_of_refusals(mallory)
    guessing()
    alice.unharmed("everything")
    check(ask("POST", f"/api/v1/jobs/{alice.job}/stop", {"force": True}, token=alice.token)[0] == 200, "alice cannot stop her job")
    print(tried, "attacks")
    check(tried >= 60, "only", tried, "attacks")
    for f in failures:
        print(f)
    sys.exit(1 if failures else 0)


main()
