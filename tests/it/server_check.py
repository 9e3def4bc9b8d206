# SPDX-License-Identifier: Apache-2.0
"""Checks of tests/it/server.sh against a running server: URL and TOKEN in the environment."""
import concurrent.futures
import glob
import http.client
import json
import os
import re
import socket
import sqlite3
import sys
import time
import urllib.parse

url = urllib.parse.urlsplit(os.environ["URL"])
admin = os.environ["TOKEN"]
failures = []


def check(fine, *what):
    if not fine:
        failures.append(" ".join(str(w) for w in what))


def ask(method, path, body=None, token=admin, headers=None, raw=None, seconds=20):
    """Status, headers, JSON or text."""
    c = http.client.HTTPConnection(url.hostname, url.port, timeout=seconds)
    head = dict(headers or {})
    if token:
        head["Authorization"] = "Bearer " + token
    if body is not None and raw is None:
        raw = json.dumps(body).encode()
        head.setdefault("Content-Type", "application/json")
    c.request(method, path, raw, head)
    r = c.getresponse()
    data = r.read()
    c.close()
    kind = r.headers.get("Content-Type", "")
    return r.status, r.headers, json.loads(data) if "json" in kind else data.decode("utf-8", "replace")


def user(name, role, projects=(), **token):
    status, _, _ = ask("POST", "/api/v1/users", {"name": name, "role": role, "projects": list(projects)})
    check(status == 201, "user", name, status)
    status, _, made = ask("POST", f"/api/v1/users/{name}/tokens", token)
    check(status == 201, "token", name, status)
    return made["token"]


EXAMPLES = {"asset": "", "experiment": "none0000", "first": "0", "last": "9", "nni": "check-status", "trial": "AAAAA",
            "job": "jb-000000000000", "channel": "model", "log": "0", "name": "nobody", "version": "1", "policy": "default", "rule": "nr-none", "run": "0" * 16, "session": "xs-000000000000", "sha256": "0" * 64, "token": "tk-none", "user": "nobody"}


def matrix():
    """Every route and method without, with a wrong, an expired and a weak token."""
    doc = ask("GET", "/api/v1/openapi.json", token=None)[2]
    EXAMPLES["asset"] = re.search(r"assets/([^\"]*)", ask("GET", "/", token=None)[2])[1]
    weaker = {"viewer": [], "submitter": ["viewer", "auditor"], "auditor": ["viewer", "submitter"], "admin": ["viewer", "auditor", "submitter"]}
    files = doc["paths"]["/api/v1/snapshots/{sha256}"]["put"]["requestBody"]["content"]["application/octet-stream"]["schema"]
    check(files["type"] == "array" and [list(x["properties"]) for x in files["items"]["oneOf"]] ==
          [["file", "path"], ["exec", "path"], ["link", "path"]], files)
    tokens = {"viewer": user("vi", "viewer"), "submitter": user("su", "submitter"), "auditor": user("au", "auditor")}
    expired = user("ex", "admin", expires_s=1)
    disabled = user("di", "admin")
    ask("PATCH", "/api/v1/users/di", {"disabled": True})
    deleted = user("de", "admin")
    ask("DELETE", "/api/v1/users/de")
    time.sleep(1.1)
    wrong = "ty_" + "0" * 64
    for path, item in doc["paths"].items():
        real = re.sub(r"{(\w+)}", lambda m: EXAMPLES[m[1]], path)
        methods = {m.upper(): op for m, op in item.items()}
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"):
            if method not in methods:
                status, head, answer = ask(method, real)
                check(status == 405, method, path, "->", status)
                check(set(head["Allow"].split(", ")) == set(methods), path, head["Allow"])
                continue
            role = methods[method]["x-role"]
            body = {} if method in ("POST", "PUT", "PATCH") else None
            if role == "none":
                # a login needs an OpenID provider, which this server does not have
                want = 409 if method == "POST" and "/login" in path else 400 if path.endswith("/session") else 200
                check(ask(method, real, {"device_code": "x"} if method == "POST" and not path.endswith("device") else None, token=None)[0] == want, method, path)
                continue
            for name, bad in (("none", None), ("wrong", wrong), ("expired", expired), ("short", "ty_1"),
                              ("disabled", disabled), ("deleted", deleted), ("cut", admin[:-1])):
                status, head, answer = ask(method, real, body, token=bad)
                check(status == 401, method, path, name, "->", status)
                check(head["WWW-Authenticate"] == 'Bearer realm="trainyard"', path, "WWW-Authenticate")
                check(answer["code"] == ("E5009" if name == "expired" else "E5008"), path, name, answer)
            for weak in weaker[role]:
                status, _, answer = ask(method, real, body, token=tokens[weak])
                check(status == 403 and answer["code"] == "E5010", method, path, weak, "->", status, answer)
            status = ask(method, real, body)[0]
            check(status not in (401, 403, 405, 500), method, path, "admin ->", status)
    status, _, log = ask("GET", "/api/v1/audit?limit=1000&who=vi")
    check(any(e["outcome"] == "403" for e in log["entries"]), "no refusal in the audit log")
    for secret in (admin, expired, tokens["viewer"]):
        check(secret not in json.dumps(ask("GET", "/api/v1/users/vi/tokens")[2]), "a token is shown")


def talk(data, wait=6):
    """Sends bytes as they are; what comes back until the other side closes."""
    s = socket.create_connection((url.hostname, url.port), timeout=wait)
    s.sendall(data)
    got = b""
    try:
        while True:
            part = s.recv(65536)
            if not part:
                break
            got += part
    except (TimeoutError, ConnectionResetError):
        pass
    s.close()
    return got


def hostile():
    for path in ("/api/v1/jobs/../../etc/passwd", "/api/v1/jobs/%2e%2e/%2e%2e/etc/passwd",
                 "/api/v1/jobs/jb-000000000000%00", "/%c0%ae%c0%ae/x", "//etc/passwd", "/api/v1/jobs/",
                 "/api/v1/jobs?limit=%zz", "/api/v1/jobs?name=%0d%0aSet-Cookie:%20x"):
        status, head, answer = ask("GET", path)
        check(status in (400, 404), path, "->", status)
        check("Set-Cookie" not in head, path, "header injected")
    for path in ("/api/v1/jobs/..%2f..%2fjobs.db", "/api/v1/jobs/jb-000000000000/logs/..%2f..%2fenv.json"):
        check(ask("GET", path)[0] == 404, path)
    status, _, answer = ask("GET", "/api/v1/jobs?name=" + "x" * 9000)
    check(status in (400, 413, 414, 431), "long address ->", status)
    # Bodies: announced too large, sent too large in pieces, broken, of another type.
    status, _, answer = ask("POST", "/api/v1/jobs", raw=b"x" * 70000, headers={"Content-Type": "application/json"})
    check(status == 413 and answer["code"] == "E5012", "large body ->", status)
    chunks = b"".join(b"1000\r\n" + b"y" * 4096 + b"\r\n" for _ in range(20)) + b"0\r\n\r\n"
    got = talk(b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + admin.encode() +
               b"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, 3)
    check(b" 411 " in got.split(b"\r\n")[0], "chunked large body ->", got[:60])
    for raw in (b"", b"{", b"[]", b"nul", b'{"command": "x"', b'{"a":1,"a":2}', b"\xff\xfe", b'"\\ud800"',
                b"[" * 5000, b"1e999999"):
        status, _, answer = ask("POST", "/api/v1/jobs", raw=raw, headers={"Content-Type": "application/json"})
        check(status == 400 and answer["code"] in ("E5014", "E5006"), raw[:20], "->", status, answer)
    status, _, answer = ask("POST", "/api/v1/jobs", raw=b"command=x",
                            headers={"Content-Type": "application/x-www-form-urlencoded"})
    check(status == 415 and answer["code"] == "E5013", "form ->", status)
    # Whom is it meant for, and who sent it there?
    for host, want in (("evil.example", 421), ("localhost", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("", 421)):
        status = ask("GET", "/api/v1/me", headers={"Host": host})[0]
        check(status == want, "Host", host, "->", status)
    for origin, want in (("http://evil.example", 403), ("null", 403), ("http://localhost:1", 200)):
        status = ask("GET", "/api/v1/me", headers={"Origin": origin, "Host": "localhost:1"})[0]
        check(status == want, "Origin", origin, "->", status)
    # Nonsense instead of HTTP, smuggling.
    nonsense = (b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n", b"G" * 100000, b"\r\n" * 1000,
                 b"POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
                 b"GET /api/v1/me HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n")
    with concurrent.futures.ThreadPoolExecutor(len(nonsense)) as pool:
        for data, got in zip(nonsense, pool.map(lambda x: talk(x, 4), nonsense)):
            check(b" 200 " not in got[:20], data[:30], "->", got[:40])
    # A head that never ends is closed, although a byte comes every now and then.
    s = socket.create_connection((url.hostname, url.port), timeout=1)
    s.sendall(b"GET /healthz HTTP/1.1\r\n")
    closed = False
    for i in range(40):
        try:
            s.sendall(b"X-%d: 1\r\n" % i)
            time.sleep(0.1)
            s.setblocking(False)
            try:
                closed = s.recv(10) == b""
            except BlockingIOError:
                pass
            s.setblocking(True)
        except (BrokenPipeError, ConnectionResetError):
            closed = True
        if closed:
            break
    check(closed, "a slow head was not closed")
    late = re.search(r"^trainyard_http_late_total (\d+)", ask("GET", "/metrics")[2], re.M)
    check(int(late[1]) >= 1, "no late connection counted")
    check(ask("GET", "/healthz", token=None)[0] == 200, "the server is gone")


def bad():
    table = [
        ("POST", "/api/v1/jobs", {"command": "x", "comand": 1}, 422, "has no"),
        ("POST", "/api/v1/jobs", {"command": 7}, 422, "command"),
        ("POST", "/api/v1/jobs", {"name": "x"}, 422, "command"),
        ("POST", "/api/v1/jobs", {"command": "x", "workers": 0}, 422, "workers"),
        ("POST", "/api/v1/jobs", {"command": "x", "workers": "many"}, 400, "workers"),
        ("POST", "/api/v1/jobs", {"command": "x", "label": {"a": 1}}, 400, "an object of texts"),
        ("POST", "/api/v1/jobs", {"command": "x", "name": None}, 400, "a text"),
        ("POST", "/api/v1/jobs", {"command": "x", "data": "d"}, 400, "a list of texts"),
        ("POST", "/api/v1/jobs", {"command": "x", "name": "a b; rm -rf /"}, 422, "name"),
        ("POST", "/api/v1/jobs", {"command": "a\0b"}, 400, "NUL"),
        ("POST", "/api/v1/jobs", {"command": "x", "cpu": "100000"}, 422, "100000 processors"),
        ("POST", "/api/v1/jobs", {"command": "x", "source": "/etc"}, 422, "snapshot"),
        ("POST", "/api/v1/jobs", {"command": "x", "source": "snapshot:" + "0" * 64}, 422, "no snapshot"),
        ("POST", "/api/v1/jobs", {"command": "x", "workdir": "/"}, 422, "workdir"),
        ("POST", "/api/v1/jobs", {"command": "x", "inherit": True}, 422, "inherit"),
        ("POST", "/api/v1/jobs", {"command": "x", "input": {"a": "/etc"}}, 422, "dataset:NAME"),
        ("POST", "/api/v1/jobs", {"command": "x", "output": {"a": "/tmp/x"}}, 422, "dataset:NAME"),
        ("POST", "/api/v1/jobs", {"command": "x", "data": ["/etc:/mnt/x"]}, 422, "dataset"),
        ("POST", "/api/v1/jobs", {"command": "x", "input": {"a": "dataset:none"}}, 404, "no dataset"),
        ("POST", "/api/v1/jobs", {"command": "x", "secret": ["PATH"]}, 422, "secret_values"),
        ("POST", "/api/v1/jobs", {"command": "x", "secret": ["A=file:/etc/shadow"]}, 422, "secret_values"),
        ("POST", "/api/v1/jobs", {"command": "x", "secret_values": [1]}, 400, "secret_values"),
        ("POST", "/api/v1/jobs", {"command": "x", "metric": {"m": "("}}, 422, "m"),
        ("POST", "/api/v1/jobs", {"command": "x", "project": "theirs"}, 201, None),
        ("GET", "/api/v1/jobs?state=Dancing", None, 400, "no state 'Dancing'"),
        ("GET", "/api/v1/jobs?limit=0", None, 400, "limit"),
        ("GET", "/api/v1/jobs?colour=red", None, 400, "colour"),
        ("GET", "/api/v1/jobs/jb-000000000000", None, 404, "no job"),
        ("POST", "/api/v1/jobs/jb-000000000000/stop", {}, 404, "no job"),
        ("POST", "/api/v1/jobs/jb-000000000000/stop", {"forse": True}, 400, "did you mean 'force'"),
        ("GET", "/api/v1/datasets/none", None, 404, "no dataset"),
        ("POST", "/api/v1/datasets", {"name": "d", "path": "relative"}, 422, "not a directory"),
        ("POST", "/api/v1/datasets", {"name": "d", "path": "/etc", "mount": "/../x"}, 422, "mount"),
        ("POST", "/api/v1/datasets", {"name": "d", "path": "x", "type": "s3"}, 422, "not a URI"),
        ("POST", "/api/v1/datasets", {"name": "d", "path": "/etc"}, 201, None),
        ("POST", "/api/v1/datasets", {"name": "d", "path": "/etc"}, 409, "already"),
        ("POST", "/api/v1/users", {"name": "admin", "role": "admin"}, 409, "already"),
        ("POST", "/api/v1/users", {"name": "x", "role": "god"}, 400, "not one of"),
        ("PATCH", "/api/v1/users/admin", {"role": "viewer"}, 409, "last admin"),
        ("DELETE", "/api/v1/users/admin", None, 409, "last admin"),
        ("PATCH", "/api/v1/users/ghost", {"role": "viewer"}, 404, "no user"),
        ("POST", "/api/v1/users/ghost/tokens", {}, 404, "no user"),
        ("DELETE", "/api/v1/tokens/tk-none", None, 404, "no token"),
        ("PUT", "/api/v1/projects/p", {"cpu_milli": -2}, 400, "outside"),
        ("PUT", "/api/v1/projects/p", {"cpu_milli": 4000}, 200, None),
        ("GET", "/api/v1/projects/q", None, 404, "no project"),
        ("POST", "/api/v1/schedules", {"name": "s", "cron": "61 * * * *", "job": {"command": "x"}}, 422, "61"),
        ("POST", "/api/v1/schedules", {"name": "s", "cron": "@daily", "job": {"command": 5}}, 422, "command"),
        ("POST", "/api/v1/schedules", {"name": "s", "cron": "@daily", "zone": "Moon/Sea", "job": {"command": "x"}},
         422, "Moon"),
        ("POST", "/api/v1/schedules", {"name": "s", "cron": "@daily", "job": {"command": "x"}}, 201, None),
        ("POST", "/api/v1/schedules", {"name": "s", "cron": "@daily", "job": {"command": "x"}}, 409, "s"),
        ("POST", "/api/v1/schedules/s/pause", None, 200, None),
        ("GET", "/api/v1/schedules/s/runs", None, 200, None),
        ("GET", "/api/v1/schedules/t", None, 404, "no schedule"),
        ("DELETE", "/api/v1/schedules/s", None, 204, None),
    ]
    for method, path, body, want, part in table:
        status, _, answer = ask(method, path, body)
        check(status == want, method, path, body, "->", status, answer)
        if want >= 400:
            check(set(answer) >= {"code", "title", "message"}, path, answer)
            check(part in json.dumps(answer), path, body, answer)
    # All that is wrong with a job at once, each with its place.
    answer = ask("POST", "/api/v1/jobs", {"command": "x", "workers": 0, "gpu": -1, "priority": 12})[2]
    check(len(answer["problems"]) == 3, answer)
    # Code that lies about itself, or wants to be written elsewhere.
    import hashlib
    check(ask("PUT", "/api/v1/objects/" + "0" * 64, raw=b"x")[0] == 422, "object of another hash")
    for path in ("../x", "/etc/x", "a/../../x", "", "a//b", "."):
        text = json.dumps([{"file": "0" * 64, "path": path}]).encode()
        name = hashlib.sha256(text).hexdigest()
        status, _, answer = ask("PUT", "/api/v1/snapshots/" + name, raw=text)
        check(status == 422, "snapshot path", path, "->", status, answer)
    for second in ("a", "a/b"):
        text = json.dumps([{"link": "/etc", "path": "a"}, {"file": "0" * 64, "path": second}]).encode()
        status = ask("PUT", "/api/v1/snapshots/" + hashlib.sha256(text).hexdigest(), raw=text)[0]
        check(status == 422, "snapshot through a link ->", status)
    # The same client token is the same job.
    first = ask("POST", "/api/v1/jobs", {"command": "true", "client_token": "once"})
    again = ask("POST", "/api/v1/jobs", {"command": "other", "client_token": "once"})
    check((first[0], again[0]) == (201, 200) and first[2]["id"] == again[2]["id"], first[0], again[0])
    # Pages.
    for i in range(5):
        ask("POST", "/api/v1/jobs", {"command": "true", "name": f"page-{i}", "label": {"k": "v"}})
    seen, cursor = [], None
    while True:
        page = ask("GET", "/api/v1/jobs?label=k%3Dv&limit=2" + (f"&cursor={cursor}" if cursor else ""))[2]
        seen += [j["name"] for j in page["jobs"]]
        cursor = page.get("next")
        if not cursor:
            break
    check(seen == [f"page-{i}" for i in (4, 3, 2, 1, 0)], seen)
    check("workdir" not in json.dumps(ask("GET", "/api/v1/jobs/" + first[2]["id"])[2]), "a path is shown")


def owners():
    ann = user("ann", "submitter", ["shared"])
    bob = user("bob", "submitter", ["shared"])
    eve = user("eve", "submitter")
    vic = user("vic", "viewer", ["shared"])
    own = ask("POST", "/api/v1/jobs", {"command": "true"}, token=ann)[2]["id"]
    ours = ask("POST", "/api/v1/jobs", {"command": "true", "project": "shared"}, token=ann)[2]["id"]
    status, _, answer = ask("POST", "/api/v1/jobs", {"command": "true", "project": "shared"}, token=eve)
    check(status == 403 and "not a member" in answer["message"], "foreign project ->", status)

    def ids(token):
        return {j["id"] for j in ask("GET", "/api/v1/jobs", token=token)[2]["jobs"]}

    check(ids(ann) == {own, ours}, "ann", ids(ann))
    check(ids(bob) == {ours} and ids(vic) == {ours}, "bob", ids(bob))
    check(ids(eve) == set(), "eve", ids(eve))
    check(ids(admin) == {own, ours}, "admin")
    for path in ("", "/events", "/metrics", "/logs", "/logs/0", "/why", "/script", "/outputs"):
        check(ask("GET", f"/api/v1/jobs/{ours}{path}", token=bob)[0] == 200, "bob", path)
        check(ask("GET", f"/api/v1/jobs/{ours}{path}", token=eve)[0] == 404, "eve", path)
        check(ask("GET", f"/api/v1/jobs/{own}{path}", token=bob)[0] == 404, "bob own", path)
    check(ask("POST", f"/api/v1/jobs/{own}/stop", {}, token=eve)[0] == 404, "eve stops")
    check(ask("POST", f"/api/v1/jobs/{ours}/stop", {}, token=vic)[0] == 403, "vic stops")
    check(ask("POST", f"/api/v1/jobs/{ours}/suspend", token=bob)[0] == 200, "bob suspends")
    check(ask("POST", f"/api/v1/jobs/{ours}/suspend", token=bob)[0] == 409, "twice")
    check(ask("POST", f"/api/v1/jobs/{ours}/resume", token=bob)[0] == 200, "bob resumes")
    answer = ask("POST", f"/api/v1/jobs/{ours}/stop", {}, token=bob)[2]
    check(answer["state"] == "Stopped", answer)
    status, _, answer = ask("POST", f"/api/v1/jobs/{ours}/stop", {}, token=bob)
    check(status == 200 and answer["ended"], answer)
    status, _, answer = ask("POST", f"/api/v1/jobs/{own}/rerun", token=ann)
    check(status == 201 and answer["owner"] == "ann", answer)
    check(ask("GET", "/api/v1/counts", token=eve)[2] == {"counts": {}}, "eve's counts")
    check(ask("GET", "/api/v1/counts", token=bob)[2] == {"counts": {"Stopped": 1}}, "bob's counts")
    check(ask("POST", "/api/v1/datasets", {"name": "x", "path": "/etc"}, token=ann)[0] == 403, "local dataset")
    check(ask("POST", "/api/v1/datasets", {"name": "x", "type": "s3", "path": "s3://b/x"}, token=ann)[0] == 201, "s3")
    check(ask("DELETE", "/api/v1/datasets/x", token=bob)[0] == 403, "bob deletes ann's dataset")
    check(ask("DELETE", "/api/v1/datasets/x", token=ann)[0] == 204, "ann deletes it")
    check(ask("GET", "/api/v1/projects", token=eve)[2] == {"projects": []}, "eve's projects")
    check([u["name"] for u in ask("GET", "/api/v1/usage", token=eve)[2]["usage"]] == [], "eve's usage")
    # What is changed counts at once.
    ask("PATCH", "/api/v1/users/bob", {"projects": []})
    check(ids(bob) == set(), "bob was removed")
    listed = ask("GET", "/api/v1/users/ann/tokens")[2]["tokens"]
    ask("DELETE", "/api/v1/tokens/" + listed[0]["id"])
    check(ask("GET", "/api/v1/me", token=ann)[0] == 401, "ann's token was deleted")


def wait_for_end(job, seconds=20):
    for _ in range(seconds * 10):
        answer = ask("GET", "/api/v1/jobs/" + job)[2]
        if answer["state"] in ("Succeeded", "Failed", "Stopped"):
            return answer
        time.sleep(0.1)
    check(False, job, "did not end:", answer["state"])
    return answer


def secrets():
    value = "s3cr3t-value-0123"
    status, _, job = ask("POST", "/api/v1/jobs", {
        "command": 'echo "it is $TOKEN"; echo "$TOKEN" >&2; test "$TOKEN" = ' + value[:0] + '"$TOKEN"',
        "secret": ["TOKEN"], "secret_values": {"TOKEN": value}})
    check(status == 201, status, job)
    end = wait_for_end(job["id"])
    check(end["state"] == "Succeeded", end)
    log = ask("GET", f"/api/v1/jobs/{job['id']}/logs/0")[2]
    check("it is ***" in log, "log:", log)
    for path in ("", "/events", "/logs/0", "/script", "/why", "/metrics"):
        text = json.dumps(ask("GET", f"/api/v1/jobs/{job['id']}{path}")[2])
        check(value not in text, path, "shows the secret")
    check(value not in json.dumps(ask("GET", "/api/v1/audit")[2]), "audit log shows it")
    time.sleep(0.5)
    for root in sys.argv[2:]:
        for name in [root] + glob.glob(root + "/**", recursive=True):
            if os.path.isfile(name):
                with open(name, "rb") as f:
                    check(value.encode() not in f.read(), name, "holds the secret")
    # Names and messages cannot break a line of the log.
    ask("GET", "/api/v1/users/x", headers={"X-Forwarded-For": "a\tb"})
    with open(sys.argv[3], encoding="utf-8") as f:
        for line in f:
            check(line.startswith(("trainyard: ", "created the user", "listening", "isolation: ", "warning: ")), "log line:", line)


def stream(path, last=None, limit=100):
    """Events of a stream until it ends: (id, event, data)."""
    c = http.client.HTTPConnection(url.hostname, url.port, timeout=20)
    head = {"Authorization": "Bearer " + admin}
    if last:
        head["Last-Event-ID"] = last
    c.request("GET", path, headers=head)
    r = c.getresponse()
    check(r.status == 200 and r.headers["Content-Type"] == "text/event-stream", path, r.status)
    got, now = [], {}
    for line in r:
        line = line.decode().rstrip("\n")
        if line.startswith(":") or line.startswith("retry"):
            continue
        if line:
            key, _, value = line.partition(": ")
            now[key] = value
        elif "event" in now:
            got.append((now.get("id"), now["event"], json.loads(now["data"])))
            now = {}
            if len(got) == limit:
                break
    c.close()
    return got


def follow():
    job = ask("POST", "/api/v1/jobs", {
        "command": "echo one; sleep 0.5; printf 'tw\\303'; sleep 0.3; printf '\\266\\n'; "
                   "test $TRAINYARD_ATTEMPT = 2 || exit 75",
        "retries": 1, "backoff": "0.2s"})[2]["id"]
    path = f"/api/v1/jobs/{job}/logs/0?follow=true"
    first = stream(path, limit=1)
    check(first[0][2]["text"] == "one\n" and first[0][0] == "1.4", first)
    rest = stream(path, last=first[0][0])
    text = "".join(e[2]["text"] for e in rest if e[1] == "log")
    check(text == "tw\u00f6\none\ntw\u00f6\n", repr(text))  # both attempts
    check(rest[-1][1:] == ("end", {"state": "Succeeded"}), rest[-1])
    again = stream(path)
    check("".join(e[2]["text"] for e in again if e[1] == "log") == "one\n" + text, again)
    only = stream(path + "&attempt=1")
    check("".join(e[2]["text"] for e in only if e[1] == "log") == "one\ntw\u00f6\n", only)
    tail = stream(path + "&tail=1")
    check("".join(e[2]["text"] for e in tail if e[1] == "log") == "tw\u00f6\n", tail)
    status, head, text = ask("GET", f"/api/v1/jobs/{job}/logs/0?attempt=1&offset=4&limit=2")
    check(text == "tw" and head["Log-Size"] == "9" and head["Log-Over"] == "true", text, head.items())
    check(ask("GET", f"/api/v1/jobs/{job}/logs/1")[0] == 404, "worker 1")
    logs = ask("GET", f"/api/v1/jobs/{job}/logs")[2]["logs"]
    check([x["attempt"] for x in logs if x["log"] == "0"] == [1, 2], logs)
    # Many followers of one log, then the end of all.
    slow = ask("POST", "/api/v1/jobs", {"command": "echo begin; sleep 2; echo over"})[2]["id"]
    socks = []
    for _ in range(200):
        s = socket.create_connection((url.hostname, url.port), timeout=15)
        s.sendall((f"GET /api/v1/jobs/{slow}/logs/0?follow=true HTTP/1.1\r\nHost: localhost\r\n"
                   f"Authorization: Bearer {admin}\r\n\r\n").encode())
        socks.append(s)
    for s in socks:
        got = b""
        while b"event: end" not in got:
            part = s.recv(65536)
            if not part:
                break
            got += part
        check(b"begin" in got and b"over" in got and b"event: end" in got, got)
        s.close()


def rate():
    codes = [ask("GET", "/api/v1/me")[0] for _ in range(20)]
    check(codes.count(200) >= 10 and 429 in codes, codes)
    status, head, answer = ask("GET", "/api/v1/me")
    check(status == 429 and head["Retry-After"] == "1" and answer["code"] == "E5011", status)
    codes = [ask("GET", "/api/v1/me", token="ty_0")[0] for _ in range(5)]
    check(codes[0] == 401 and codes[-1] == 429, codes)  # guessing is slower still


def locked():
    db = sqlite3.connect(sys.argv[2], isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    check(ask("GET", "/api/v1/jobs")[0] == 200, "reading waits for a writer")
    status, head, answer = ask("POST", "/api/v1/jobs", {"command": "true"})
    check(status == 503 and answer["code"] == "E3102" and head["Retry-After"] == "1", status, answer)
    db.execute("ROLLBACK")
    check(ask("POST", "/api/v1/jobs", {"command": "true"})[0] == 201, "after the lock")


def full():
    status, _, answer = ask("POST", "/api/v1/jobs", {"command": "x" * 20000})
    check(status == 507 and answer["code"] == "E3108", "submit ->", status, answer)
    check(ask("GET", "/api/v1/jobs")[0] == 200, "reading needs space")
    os.truncate(sys.argv[2], 0)
    check(ask("POST", "/api/v1/jobs", {"command": "true"})[0] == 201, "after some was freed")


def submit():
    for i in range(int(sys.argv[2])):
        status = ask("POST", "/api/v1/jobs", {"command": sys.argv[3], "client_token": f"k{i}", "cpu": "0.1"})[0]
        check(status == 201, status)


def ended():
    jobs = ask("GET", "/api/v1/jobs")[2]["jobs"]
    check(len(jobs) == int(sys.argv[2]), jobs)
    for j in jobs:
        end = wait_for_end(j["id"])
        check(end["state"] == "Succeeded" and end["attempt"] == 1, end)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    for f in failures[:20]:
        print(f[:400])
    sys.exit(1 if failures else 0)
