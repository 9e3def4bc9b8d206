#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small stand-in for a Kubernetes cluster: the part of the API that the backend uses, with
pods that really run, each in a pid namespace by bubblewrap, and faults that a test asks for.

    kubernetes.py DIR [--tls CERT KEY CA]

writes DIR/port. Faults are files in DIR/fault, looked at with every request:
    forbid KIND      writes of this kind are answered with 403
    quota            pods cannot be made: the Job has an event
    busy N           so many requests are answered with 429
    down             connections are closed without an answer
    gone             watches end with 410 once, and versions before it are forgotten
    cut              watches break in the middle of a line, once
    garbage          watches have a line that is no JSON, once
    token TEXT       only this token is taken (401)
DIR/requests has a line per request of trainyard's, for tests that count them.
"""
import base64, datetime, http.server, json, os, re, signal, socket, ssl, subprocess, sys, tempfile, threading, time, uuid
from urllib.parse import parse_qs, urlsplit

DIR = sys.argv[1]
FAULT = os.path.join(DIR, "fault")
lock = threading.Condition()
objects = {}          # (kind, name) -> object
history = []          # (version, type, kind, object)
state = {"version": 1, "oldest": 0, "epoch": 0, "cut": 0, "garbage": 0}
logs = {}             # pod -> [(time, text)]
pids = {}             # pod -> pid of its first process, on this machine
KINDS = {"jobs": "Job", "pods": "Pod", "services": "Service", "secrets": "Secret", "events": "Event"}


def fault(name):
    try:
        return open(os.path.join(FAULT, name)).read().strip()
    except OSError:
        return None


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def put(kind, obj, event):
    """Under the lock."""
    state["version"] += 1
    obj["metadata"]["resourceVersion"] = str(state["version"])
    if event == "DELETED":
        objects.pop((kind, obj["metadata"]["name"]), None)
    else:
        objects[kind, obj["metadata"]["name"]] = obj
    history.append((state["version"], event, kind, json.loads(json.dumps(obj))))
    lock.notify_all()


def meta(name, labels, owner=None):
    m = {"name": name, "labels": dict(labels), "uid": str(uuid.uuid4()), "creationTimestamp": now()}
    if owner:
        m["ownerReferences"] = [{"kind": "Job", "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}]
    return m


def set_status(pod, **status):
    with lock:
        if ("pods", pod["metadata"]["name"]) in objects:
            pod["status"].update(status)
            put("pods", pod, "MODIFIED")


def warn(kind, name, reason, message):
    with lock:
        put("events", {"kind": "Event", "metadata": meta(name + "." + uuid.uuid4().hex[:8], {}), "type": "Warning", "reason": reason,
                       "message": message, "involvedObject": {"kind": kind, "name": name}}, "ADDED")


def make_pods(job):
    spec, name = job["spec"], job["metadata"]["name"]
    while fault("quota") is not None:
        warn("Job", name, "FailedCreate", 'pods "%s-0" is forbidden: exceeded quota: small' % name)
        time.sleep(0.3)
        if ("jobs", name) not in objects:
            return
    for i in range(spec["completions"]):
        template = spec["template"]
        labels = dict(template["metadata"]["labels"])
        if spec.get("completionMode") == "Indexed":
            labels["batch.kubernetes.io/job-completion-index"] = str(i)
        pod = {"kind": "Pod", "metadata": meta("%s-%d-%s" % (name, i, uuid.uuid4().hex[:5]), labels, job),
               "spec": json.loads(json.dumps(template["spec"])), "status": {"phase": "Pending"}}
        with lock:
            if ("jobs", name) not in objects:
                return
            put("pods", pod, "ADDED")
        threading.Thread(target=run_pod, args=(pod, i), daemon=True).start()


def arguments(pod, scratch):
    spec, container = pod["spec"], pod["spec"]["containers"][0]
    volumes = {v["name"]: v for v in spec["volumes"]}
    args = ["bwrap", "--unshare-pid", "--as-pid-1", "--die-with-parent", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for path in ("/usr", "/bin", "/lib", "/lib64", "/etc"):
        args += ["--symlink", os.readlink(path), path] if os.path.islink(path) else ["--ro-bind", path, path]
    for m in sorted(container["volumeMounts"], key=lambda m: m["mountPath"]):
        v = volumes[m["name"]]
        if "emptyDir" in v:
            args += ["--tmpfs", m["mountPath"]]
            continue
        if "secret" in v:
            data = objects["secrets", v["secret"]["secretName"]]["data"]
            source = os.path.join(scratch, v["name"])
            os.makedirs(source, exist_ok=True)
            for key, text in data.items():
                open(os.path.join(source, key), "wb").write(base64.b64decode(text))
        else:
            source = v["hostPath"]["path"]
        args += ["--ro-bind" if m.get("readOnly") else "--bind", source, m["mountPath"]]
    hosts = os.path.join(scratch, "hosts")
    with open(hosts, "w") as f:
        f.writelines("127.0.0.1 %s-%d.%s\n" % (spec["subdomain"], i, spec["subdomain"]) for i in range(16))
    return args + ["--ro-bind", hosts, "/etc/hosts"]


def follow(pod, out):
    for line in iter(out.readline, b""):
        with lock:
            logs[pod].append((time.time_ns(), line))
            lock.notify_all()


def run_pod(pod, index):
    name = pod["metadata"]["name"]
    image = pod["spec"]["containers"][0]["image"]
    if "missing" in image:
        set_status(pod, containerStatuses=[{"state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image " + image}}}])
        return
    if "huge" in image:
        set_status(pod, conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes are available: 1 Insufficient memory."}])
        return
    while ("secrets", pod["spec"]["volumes"][0].get("secret", {}).get("secretName")) not in objects:
        time.sleep(0.02)
        if ("pods", name) not in objects:
            return
    pod["spec"]["nodeName"] = "node-0"
    with tempfile.TemporaryDirectory() as scratch:
        r, w = os.pipe()
        os.set_inheritable(w, True)
        command = arguments(pod, scratch) + ["--info-fd", str(w)] + pod["spec"]["containers"][0]["command"]
        env = {"PATH": "/usr/bin:/bin", "JOB_COMPLETION_INDEX": str(index)}
        for e in pod["spec"]["containers"][0].get("env", []):
            env[e["name"]] = e["value"]
        p = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, pass_fds=(w,))
        os.close(w)
        with os.fdopen(r, "rb") as f:
            info = f.read()
        logs[name] = []
        pids[name] = json.loads(info)["child-pid"] if info else p.pid
        set_status(pod, phase="Running", containerStatuses=[{"state": {"running": {"startedAt": now()}}}])
        follow(name, p.stdout)
        code = p.wait()
        lost, code = code < 0, 137 if code < 0 else code
    ended = {"exitCode": code, "reason": "ContainerStatusUnknown" if lost else "Completed" if code == 0 else "OOMKilled" if "tight" in image else "Error", "finishedAt": now()}
    more = {"reason": "DeadlineExceeded"} if "activeDeadlineSeconds" in pod["spec"] else {}
    set_status(pod, phase="Failed" if code else "Succeeded", containerStatuses=[{"state": {"terminated": ended}}], **more)
    with lock:
        pids.pop(name, None)
        lock.notify_all()


def end_pod(pod, grace, delete):
    """TERM, and KILL when its time is over; then, if it is deleted, it is gone."""
    name = pod["metadata"]["name"]
    pid, until = pids.get(name), time.time() + grace
    if pid:
        try:
            os.kill(pid, signal.SIGTERM if grace else signal.SIGKILL)
            while name in pids and time.time() < until:
                time.sleep(0.05)
            if name in pids:
                os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
        while name in pids:
            time.sleep(0.02)
    if delete:
        with lock:
            if ("pods", name) in objects:
                put("pods", pod, "DELETED")


def delete(kind, obj, grace):
    name = obj["metadata"]["name"]
    if kind == "pods":
        grace = pod_grace(obj) if grace is None else grace
        with lock:
            obj["metadata"]["deletionTimestamp"] = now()
            put("pods", obj, "MODIFIED")
        threading.Thread(target=end_pod, args=(obj, grace, True), daemon=True).start()
        return
    with lock:
        put(kind, obj, "DELETED")
        parts = [(k, o) for (k, n), o in objects.items() if any(r["uid"] == obj["metadata"]["uid"] for r in o["metadata"].get("ownerReferences", []))]
    for k, o in parts:
        delete(k, o, None)


def pod_grace(pod):
    return pod["spec"].get("terminationGracePeriodSeconds", 30)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, code, body, **headers):
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for k, v in headers.items():
            self.send_header(k.replace("_", "-"), v)
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, code, reason, message, **headers):
        self.answer(code, {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}, **headers)

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def stream(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def begin(self):
        if self.headers.get("User-Agent", "").startswith("trainyard/"):
            with open(os.path.join(DIR, "requests"), "a") as f:
                f.write("%s %s\n" % (self.command, self.path))
        if fault("down") is not None:
            self.close_connection = True
            return False
        token = fault("token")
        if token and self.headers.get("Authorization") != "Bearer " + token:
            self.refuse(401, "Unauthorized", "Unauthorized")
            return False
        busy = fault("busy")
        if busy and int(busy) > 0:
            open(os.path.join(FAULT, "busy"), "w").write(str(int(busy) - 1))
            self.refuse(429, "TooManyRequests", "the server has too many requests", Retry_After="1")
            return False
        url = urlsplit(self.path)
        self.query = {k: v[0] for k, v in parse_qs(url.query).items()}
        m = re.match(r"^/(api/v1|apis/batch/v1)/namespaces/([^/]+)/(\w+)(?:/([^/]+))?(?:/(log))?$", url.path)
        if not m or m[3] not in KINDS:
            self.refuse(404, "NotFound", "the server could not find the requested resource")
            return False
        self.kind, self.name, self.sub = m[3], m[4], m[5]
        if fault("forbid") == self.kind and self.command != "GET":
            self.refuse(403, "Forbidden", '%s is forbidden: User "tester" cannot patch resource "%s"' % (self.kind, self.kind))
            return False
        return True

    def body(self):
        n = int(self.headers.get("Content-Length") or 0)
        return json.loads(self.rfile.read(n)) if n else {}

    def selected(self, obj):
        labels = obj["metadata"].get("labels", {})
        want = [p.split("=") for p in self.query.get("labelSelector", "").split(",") if p]
        return all(labels.get(k) == v for k, v in want)

    def do_GET(self):
        if not self.begin():
            return
        if self.sub:
            self.send_log()
        elif self.name:
            o = objects.get((self.kind, self.name))
            self.answer(200, o) if o else self.refuse(404, "NotFound", "%s %s not found" % (self.kind, self.name))
        elif "watch" in self.query:
            self.watch()
        else:
            with lock:
                items = [o for (k, n), o in sorted(objects.items()) if k == self.kind and self.selected(o)]
                self.answer(200, {"kind": KINDS[self.kind] + "List", "metadata": {"resourceVersion": str(state["version"])}, "items": items})

    def watch(self):
        self.stream()
        at, epoch = int(self.query["resourceVersion"]), state["epoch"]
        done = {w: state[w] for w in ("cut", "garbage")}
        until = time.time() + int(self.query.get("timeoutSeconds", "300"))
        if at < state["oldest"]:
            self.chunk(b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"}}\n')
            return self.chunk(b"")
        while time.time() < until:
            with lock:
                if not any(v > at for v, _, k, o in history[-200:]):
                    lock.wait(0.2)
                news = [(v, t, o) for v, t, k, o in history if v > at and k == self.kind and self.selected(o)]
                last = state["version"]
            for v, t, o in news:
                self.chunk(json.dumps({"type": t, "object": o}).encode() + b"\n")
            at = last if not news else max(last, news[-1][0])
            if state["epoch"] != epoch:
                self.chunk(b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"}}\n')
                break
            if state["cut"] != done["cut"] or fault("down") is not None:
                self.wfile.write(b'40\r\n{"type":"MODIF')
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            if state["garbage"] != done["garbage"]:
                self.chunk(b"<html>gateway</html>\n")
                break
        self.chunk(b"")

    def send_log(self):
        if self.name not in logs:
            if ("pods", self.name) in objects:
                return self.refuse(400, "BadRequest", "container is waiting to start: ContainerCreating")
            return self.refuse(404, "NotFound", "pods %s not found" % self.name)
        since = 0
        if "sinceTime" in self.query:
            since = int(datetime.datetime.strptime(self.query["sinceTime"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc).timestamp()) * 10**9
        self.stream()
        i, cut = 0, state["cut"]
        while True:
            with lock:
                lines, over = logs[self.name][i:], self.name not in pids
                if not lines and not over and self.query.get("follow") == "true" and state["cut"] == cut:
                    lock.wait(0.2)
                    continue
            i += len(lines)
            data = b"".join(datetime.datetime.fromtimestamp(t // 10**9, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S").encode()
                            + b".%09dZ " % (t % 10**9) + text for t, text in lines if t >= since)
            if data:
                self.chunk(data)
            if over or self.query.get("follow") != "true" or state["cut"] != cut:
                break
        self.chunk(b"")

    def do_PATCH(self):
        body = self.body()
        if not self.begin():
            return
        with lock:
            old = objects.get((self.kind, self.name))
            if self.headers["Content-Type"].startswith("application/apply-patch"):
                if old:
                    return self.answer(200, old)
                if any(r["uid"] == "@UID@" for r in body["metadata"].get("ownerReferences", [])):
                    return self.refuse(422, "Invalid", "an owner without a uid")
                body["metadata"].update({k: v for k, v in meta(self.name, body["metadata"]["labels"]).items() if k != "labels"})
                put(self.kind, body, "ADDED")
            elif not old:
                return self.refuse(404, "NotFound", "%s %s not found" % (self.kind, self.name))
            else:
                old["spec"].update(body["spec"])
                put(self.kind, old, "MODIFIED")
        if old:
            threading.Thread(target=end_pod, args=(old, pod_grace(old), False), daemon=True).start()
        elif self.kind == "jobs":
            threading.Thread(target=make_pods, args=(body,), daemon=True).start()
        self.answer(200 if old else 201, objects.get((self.kind, self.name), body))

    def do_DELETE(self):
        body = self.body()
        if not self.begin():
            return
        obj = objects.get((self.kind, self.name))
        if not obj:
            return self.refuse(404, "NotFound", "%s %s not found" % (self.kind, self.name))
        delete(self.kind, obj, body.get("gracePeriodSeconds"))
        self.answer(200, {"kind": "Status", "status": "Success"})

    def do_POST(self):
        """/fault/NAME: one that happens once."""
        what = self.path.split("/")[-1]
        with lock:
            if what == "gone":
                state["epoch"] += 1
                state["version"] += 10
                state["oldest"] = state["version"]
                history.clear()
            else:
                state[what] += 1
            lock.notify_all()
        self.answer(200, {})


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main():
    os.makedirs(FAULT, exist_ok=True)
    server = Server(("127.0.0.1", 0), Handler)
    if "--tls" in sys.argv:
        cert, key, ca = sys.argv[sys.argv.index("--tls") + 1:][:3]
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        context.load_verify_locations(ca)
        context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(os.path.join(DIR, "port.new"), "w") as f:
        f.write(str(server.server_port))
    os.rename(os.path.join(DIR, "port.new"), os.path.join(DIR, "port"))
    server.serve_forever()


main()
