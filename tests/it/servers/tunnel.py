# SPDX-License-Identifier: Apache-2.0
"""MaxCompute for tests: the tunnel protocol as the public client speaks it, with faults.

    tunnel.py PORT_FILE [ADDRESS]

Listens on a free port of 127.0.0.1, written to PORT_FILE; the endpoint is http://127.0.0.1:PORT/api,
and the service says itself where its tunnel is. With ADDRESS, on all addresses, and it says that one. Signatures are computed anew and must be right: id
"testid", key "testkey"; a token must be "testtoken".

Control, not signed: POST /_table {"name": "project/table" or "project/schema.table", "columns":
[[name, type]..], "keys": [[name, type]..], "parts": {"": rows} or {"pt=a,sub=b": rows}}, a row being a
list of JSON values (bytes of binary columns as text); POST /_fault as in objects.py with the kinds
of status, "cut", "crc" (a flipped checksum), "count" (one row too few), "forget" (sessions are gone),
"spoil" (a damaged end of what is compressed), "lose" (a block is not kept); POST /_deny (no table is
created any more); GET /_stats, GET /_rows/NAME?PART, GET /_table/NAME.
"""
import base64
import hashlib
import hmac
import json
import os
import re
import struct
import subprocess
import sys
import threading
import urllib.parse
import xml.etree.ElementTree as ElementTree
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

IDS = {"testid": "testkey"}
SHELL = {"x-lz4-frame": ["lz4", "-c", "-q"], "zstd": ["zstd", "-c", "-q"]}
ROW_END, METRICS_END, COUNT, CHECKSUM = 33553408, 33554176, 33554430, 33554431

TABLE = []
for i in range(256):
    c = i
    for _ in range(8):
        c = c >> 1 ^ (0x82F63B78 if c & 1 else 0)
    TABLE.append(c)


def crc32c(crc, data):
    crc ^= 0xFFFFFFFF
    for b in data:
        crc = TABLE[(crc ^ b) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


# -- types: ("array", [kid]) and so on

def split_top(text):
    depth, part, out = 0, "", []
    for ch in text:
        depth += ch in "<(" and 1 or ch in ">)" and -1 or 0
        if ch == "," and depth == 0:
            out.append(part)
            part = ""
        else:
            part += ch
    return out + [part]


def parse_type(text):
    text = text.strip().lower()
    m = re.match(r"(array|map|struct)<(.*)>$", text)
    if not m:
        return text.split("(")[0], []
    parts = split_top(m.group(2))
    if m.group(1) == "struct":
        return "struct", [parse_type(p.split(":", 1)[1]) for p in parts]
    return m.group(1), [parse_type(p) for p in parts]


INTS = ("bigint", "int", "smallint", "tinyint", "datetime", "date", "interval_year_month")
TEXTS = ("string", "varchar", "char", "json", "binary", "decimal")


class Encoder:
    def __init__(self):
        self.out, self.crc, self.all, self.rows = bytearray(), 0, 0, 0

    def varint(self, v):
        while v >= 128:
            self.out.append(v & 127 | 128)
            v >>= 7
        self.out.append(v)

    def signed(self, v):
        self.varint((v << 1 ^ v >> 63) & (1 << 64) - 1)

    def add_crc(self, data):
        self.crc = crc32c(self.crc, data)

    def long(self, v):
        self.add_crc(struct.pack("<q", v))
        self.signed(v)

    def value(self, t, v):
        kind, kids = t
        if kind in INTS:
            self.long(v)
        elif kind == "boolean":
            self.add_crc(bytes([bool(v)]))
            self.varint(int(bool(v)))
        elif kind in ("float", "double"):
            data = struct.pack("<f" if kind == "float" else "<d", v)
            self.add_crc(data)
            self.out += data
        elif kind in TEXTS:
            data = v if isinstance(v, bytes) else str(v).encode()
            self.add_crc(data)
            self.varint(len(data))
            self.out += data
        elif kind in ("timestamp", "timestamp_ntz"):
            self.long(v[0])
            self.add_crc(struct.pack("<i", v[1]))
            self.signed(v[1])
        elif kind == "array":
            self.elements(kids[0], v)
        elif kind == "map":
            self.elements(kids[0], [k for k, _ in v])
            self.elements(kids[1], [x for _, x in v])
        else:
            for kid, x in zip(kids, v):
                self.optional(kid, x)

    def optional(self, t, v):
        self.varint(int(v is None))
        if v is not None:
            self.value(t, v)

    def elements(self, t, values):
        self.varint(len(values))
        for v in values:
            self.optional(t, v)

    def row(self, types, values, spoil=False):
        for i, (t, v) in enumerate(zip(types, values)):
            if v is None:
                continue
            self.add_crc(struct.pack("<i", i + 1))
            wire = 0 if t[0] in INTS + ("boolean",) else \
                5 if t[0] == "float" else 1 if t[0] == "double" else 2
            self.varint((i + 1) << 3 | wire)
            self.value(t, v)
        self.varint(ROW_END << 3)
        self.varint(self.crc ^ int(spoil))
        self.all = crc32c(self.all, struct.pack("<I", self.crc))
        self.crc = 0
        self.rows += 1

    def end(self, metrics=None):
        self.varint(COUNT << 3)
        self.signed(self.rows)
        if metrics:
            self.varint(1 << 3 | 2)
            data = metrics.encode()
            crc = crc32c(crc32c(0, struct.pack("<i", 1)), data)
            self.varint(len(data))
            self.out += data
            self.varint(METRICS_END << 3)
            self.varint(crc)
        self.varint(CHECKSUM << 3)
        self.varint(self.all)
        return bytes(self.out)


class Decoder:
    def __init__(self, data):
        self.d, self.p, self.crc, self.all = data, 0, 0, 0

    def varint(self):
        v = shift = 0
        while True:
            b = self.d[self.p]
            self.p += 1
            v |= (b & 127) << shift
            shift += 7
            if b < 128:
                return v

    def signed(self):
        v = self.varint()
        return v >> 1 ^ -(v & 1)

    def add_crc(self, data):
        self.crc = crc32c(self.crc, data)

    def raw(self, n):
        self.p += n
        return self.d[self.p - n: self.p]

    def value(self, t):
        kind, kids = t
        if kind in INTS:
            v = self.signed()
            self.add_crc(struct.pack("<q", v))
            return v
        if kind == "boolean":
            v = self.varint()
            self.add_crc(bytes([v]))
            return bool(v)
        if kind in ("float", "double"):
            data = self.raw(4 if kind == "float" else 8)
            self.add_crc(data)
            return struct.unpack("<f" if kind == "float" else "<d", data)[0]
        if kind in TEXTS:
            data = self.raw(self.varint())
            self.add_crc(data)
            return data.decode(errors="replace")
        if kind in ("timestamp", "timestamp_ntz"):
            s = self.signed()
            ns = self.signed()
            self.add_crc(struct.pack("<q", s))
            self.add_crc(struct.pack("<i", ns))
            return [s, ns]
        if kind == "array":
            return self.elements(kids[0])
        if kind == "map":
            keys = self.elements(kids[0])
            return [list(kv) for kv in zip(keys, self.elements(kids[1]))]
        return [self.optional(k) for k in kids]

    def optional(self, t):
        return None if self.varint() else self.value(t)

    def elements(self, t):
        return [self.optional(t) for _ in range(self.varint())]

    def rows(self, types):
        out, row = [], [None] * len(types)
        while True:
            number = self.varint() >> 3
            if number == ROW_END:
                assert self.varint() & 0xFFFFFFFF == self.crc, "checksum of a row"
                self.all = crc32c(self.all, struct.pack("<I", self.crc))
                self.crc = 0
                out.append(row)
                row = [None] * len(types)
            elif number == COUNT:
                assert self.signed() == len(out), "count"
                assert self.varint() >> 3 == CHECKSUM, "no checksum"
                # The client extends the sign of a checksum to 64 bits.
                assert self.varint() & 0xFFFFFFFF == self.all, "checksum"
                assert self.p == len(self.d), "bytes behind the end"
                return out
            else:
                self.add_crc(struct.pack("<i", number))
                row[number - 1] = self.value(types[number - 1])


class State:
    def __init__(self):
        self.lock = threading.Lock()
        self.tables, self.sessions, self.instances, self.faults = {}, {}, {}, []
        self.counts = {"requests": 0, "sessions": 0, "rows_out": 0, "bytes_out": 0, "max_rows": 0}
        self.seen = []


S = State()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", headers=(), cut=False):
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("x-odps-request-id", "test")
        for k, v in headers:
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.wfile.flush()
        if cut:
            self.close_connection = True

    def error(self, status, code, message):
        self.answer(status, f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{message}"
                    "</Message><RequestId>test</RequestId></Error>".encode())

    def read_body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            out = b""
            while True:
                n = int(self.rfile.readline().split(b";")[0], 16)
                data = self.rfile.read(n)
                self.rfile.readline()
                if n == 0:
                    return out
                out += data
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def check(self, url):
        """The signature: over the address without the endpoint, unescaped."""
        path = urllib.parse.unquote(url.path)
        if path.startswith("/api/"):
            path = path[4:]
        params = sorted(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        resource = path + ("?" + "&".join(k + ("=" + v if v else "") for k, v in params)
                           if params else "")
        signed = {k.lower(): v for k, v in self.headers.items() if k.lower().startswith("x-odps-")}
        lines = [self.command, self.headers.get("Content-MD5", ""),
                 self.headers.get("Content-Type", ""), self.headers.get("Date", "")]
        lines += [f"{k}:{signed[k]}" for k in sorted(signed)] + [resource]
        m = re.match(r"ODPS ([^:]+):(.*)", self.headers.get("Authorization", ""))
        if not m or m.group(1) not in IDS:
            return "InvalidAccessKeyId"
        want = base64.b64encode(hmac.new(IDS[m.group(1)].encode(), "\n".join(lines).encode(),
                                         hashlib.sha1).digest()).decode()
        if want != m.group(2):
            return "SignatureNotMatch"
        if self.headers.get("authorization-sts-token", "testtoken") != "testtoken":
            return "InvalidStsToken"
        return None

    def take_fault(self):
        for f in S.faults:
            if f["on"] != self.command or f.get("key", "") not in urllib.parse.unquote(self.path):
                continue
            if f.get("after", 0) > 0:
                f["after"] -= 1
            elif f.get("times", 1) > 0:
                f["times"] = f.get("times", 1) - 1
                return f["do"]
        return ""

    def any(self):
        self.body = self.read_body()
        url = urllib.parse.urlsplit(self.path)
        if url.path.startswith("/_"):
            return self.control(url)
        with S.lock:
            S.counts["requests"] += 1
            S.seen.append(self.command + " " + urllib.parse.unquote(self.path))
            fault = self.take_fault()
        if fault.isdigit():
            return self.error(int(fault), "InternalServerError" if fault[0] == "5" else "NoPermission",
                              "as told")
        wrong = self.check(url)
        if wrong:
            return self.error(401, wrong, "the request is refused")
        q = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        path = urllib.parse.unquote(url.path)
        path = path[4:] if path.startswith("/api/") else path
        m = re.match(r"/projects/([^/]+)/tunnel$", path)
        if m and "service" in q:
            return self.answer(200, f"{ADDRESS}:{PORT}".encode())
        m = re.match(r"/projects/([^/]+)/instances(?:/(\w+))?$", path)
        if m:
            return self.on_instance(m.group(1), m.group(2), q)
        m = re.match(r"/projects/([^/]+)(?:/schemas/([^/]+))?/tables/([^/]+)$", path)
        name = m and f"{m.group(1)}/{m.group(2) + '.' if m.group(2) else ''}{m.group(3)}"
        if name not in S.tables:
            return self.error(404, "NoSuchTable", f"the table {name} does not exist")
        return self.on_table(S.tables[name], q, fault)

    do_GET = do_POST = do_PUT = any

    def control(self, url):
        if url.path == "/_table":
            t = json.loads(self.body)
            t.setdefault("keys", [])
            S.tables[t["name"]] = t
        elif url.path == "/_fault":
            S.faults.append(json.loads(self.body))
        elif url.path == "/_deny":
            S.counts["deny"] = 1
        elif url.path.startswith("/_table/"):
            return self.answer(200, dict(S.tables[url.path[8:]], parts=None))
        elif url.path == "/_stats":
            return self.answer(200, dict(S.counts, seen=S.seen))
        elif url.path.startswith("/_rows/"):
            return self.answer(200, S.tables[url.path[7:]]["parts"].get(
                urllib.parse.unquote(url.query), []))
        elif url.path.startswith("/_credentials"):
            return self.answer(200, {"Code": "Success", "AccessKeyId": "testid",
                                     "AccessKeySecret": "testkey", "SecurityToken": "testtoken",
                                     "Expiration": "2099-01-01T00:00:00Z"})
        return self.answer(200)

    def create_table(self, project, sql):
        """None, or what is wrong with the statement."""
        m = re.match(r"CREATE TABLE (?:IF NOT EXISTS )?(.*?) *\((.*?)\)(?: *PARTITIONED BY *\((.*?)\))?"
                     r"(?: *LIFECYCLE (\d+))? *;?$", " ".join(sql.split()))
        if not m:
            return "ODPS-0130161: Parse exception: " + sql
        if S.counts.get("deny"):
            return "ODPS-0420095: Access Denied - no CreateTable on project " + project
        names = m.group(1).replace("`", "").split(".")
        columns = lambda text: [c.replace("`", "").split(None, 1) for c in split_top(text)] if text else []
        with S.lock:
            S.tables.setdefault(f"{names[0]}/{'.'.join(names[1:])}", {
                "name": m.group(1), "columns": columns(m.group(2)), "keys": columns(m.group(3)),
                "parts": {} if m.group(3) else {"": []}, "lifecycle": m.group(4)})
        return None

    def on_instance(self, project, ident, q):
        """Statements of SQL; each is still running when it is asked about for the first time."""
        if self.command == "POST":
            if self.headers.get("Content-Type") != "application/xml":
                return self.error(400, "InvalidArgument", "no XML")
            root = ElementTree.fromstring(self.body)
            task = root.find("Job/Tasks/SQL")
            ident = f"instance{len(S.instances)}"
            S.instances[ident] = {"name": task.find("Name").text, "asked": 0,
                                  "wrong": self.create_table(project, task.find("Query").text)}
            return self.answer(201, headers=[("Location", f"http://{ADDRESS}:{PORT}/api/projects/{project}"
                                                          f"/instances/{ident}")])
        i = S.instances.get(ident)
        if not i:
            return self.error(404, "NoSuchObject", "no such instance")
        i["asked"] += 1
        status = "Terminated" if i["asked"] > 1 else "Running"
        name = f"<Name>{i['name']}</Name>"
        if "taskstatus" in q:
            body = (f"<Instance><Status>{status}</Status><Tasks><Task Type='SQL'>{name}<Status>"
                    f"{'Failed' if i['wrong'] else 'Success'}</Status></Task></Tasks></Instance>")
        elif "result" in q:
            body = (f"<Instance><Tasks><Task Type='SQL'>{name}<Result Transform='' Format='text'><![CDATA["
                    f"{i['wrong'] or ''}]]></Result></Task></Tasks></Instance>")
        else:
            body = f"<Instance><Status>{status}</Status></Instance>"
        return self.answer(200, ("<?xml version='1.0'?>" + body).encode(),
                           headers=[("x-odps-owner", "me"), ("x-odps-start-time", "Wed, 01 May 2024 00:00:00 GMT")])

    def describe(self, session):
        t = session["table"]
        cols = lambda c: [{"name": n, "type": k, "comment": "", "nullable": "true"} for n, k in c]
        out = {"Status": session["status"], "Owner": "me", "Initiated": "now", "QuotaName": "",
               "Schema": {"IsVirtualView": False, "columns": cols(t["columns"]),
                          "partitionKeys": cols(t["keys"])}}
        if "blocks" in session:
            out.update(UploadID=session["id"], MaxFieldSize=8 << 20,
                       UploadedBlockList=[{"BlockID": k, "Date": "", "CreateTime": 0, "FileName": ""}
                                          for k in session["blocks"]])
        else:
            out.update(DownloadID=session["id"], RecordCount=len(session["rows"]))
        return out

    def on_table(self, t, q, fault):
        part = q.get("partition", "").replace("'", "")
        if "downloads" in q or "uploads" in q:
            if bool(part) != bool(t["keys"]):
                return self.error(400, "InvalidPartitionSpec", "the partition does not fit the table")
            if part and part not in t["parts"] and "create_partition" not in q:
                return self.error(404, "NoSuchPartition", f"the partition {part} does not exist")
            with S.lock:
                S.counts["sessions"] += 1
                ident = f"session{S.counts['sessions']:04d}"
                s = {"id": ident, "table": t, "part": part, "status": "normal"}
                if "downloads" in q:
                    s["rows"] = list(t["parts"][part])
                    if q.get("asyncmode") == "true":
                        s["status"] = "initiating"
                else:
                    s["blocks"] = {}
                    s["overwrite"] = q.get("overwrite") == "true"
                S.sessions[ident] = s
                return self.answer(200, self.describe(s))
        s = S.sessions.get(q.get("downloadid") or q.get("uploadid"))
        if s is None or fault == "forget":
            return self.error(400, "InvalidDownloadId", "the session has expired")
        if "data" in q:
            return self.send_rows(s, q, fault)
        if self.command == "PUT":
            types = [parse_type(k) for _, k in t["columns"]]
            try:
                rows = Decoder(self.body).rows(types)
            except (AssertionError, IndexError) as e:
                return self.error(400, "InvalidData", f"{e}")
            if fault != "lose":
                s["blocks"][int(q["blockid"])] = rows
            return self.answer(200)
        if self.command == "POST":
            with S.lock:
                rows = [r for k in sorted(s["blocks"]) for r in s["blocks"][k]]
                t["parts"][s["part"]] = ([] if s["overwrite"] else t["parts"].get(s["part"], [])) + rows
                s["status"] = "closed"
            return self.answer(200, self.describe(s))
        out = self.describe(s)
        s["status"] = "normal"
        out["Status"] = "normal"
        return self.answer(200, out)

    def send_rows(self, s, q, fault):
        t = s["table"]
        start, n = map(int, re.match(r"\((\d+),(\d+)\)", q["rowrange"]).groups())
        columns = [c for c, _ in t["columns"]]
        names = q["columns"].split(",") if q.get("columns") else columns
        at = [columns.index(c) for c in names]
        types = [parse_type(t["columns"][i][1]) for i in at]
        e = Encoder()
        rows = s["rows"][start: start + n]
        if fault == "count":
            rows = rows[:-1]
        for i, r in enumerate(rows):
            e.row(types, [r[k] for k in at], fault == "crc" and i == len(rows) - 1)
        data = e.end('{"PanguIOCost":1,"ServerIOCost":1,"ServerTotalCost":1}'
                     if q.get("downloadid", "").endswith("2") else None)
        with S.lock:
            S.counts["rows_out"] += len(rows)
            S.counts["bytes_out"] += len(data)
            S.counts["max_rows"] = max(S.counts["max_rows"], len(rows))
        wanted = self.headers.get("Accept-Encoding", "")
        headers = []
        if wanted in SHELL:
            data = subprocess.run(SHELL[wanted], input=data, stdout=subprocess.PIPE, check=True).stdout
            if fault == "spoil":
                data = data[:-12]
            headers = [("Content-Encoding", wanted)]
            with S.lock:
                S.counts["compressed"] = S.counts.get("compressed", 0) + 1
        return self.answer(200, data, headers, cut=fault == "cut")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass


ADDRESS = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
server = Server(("0.0.0.0" if len(sys.argv) > 2 else ADDRESS, 0), Handler)
PORT = server.server_address[1]
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(PORT))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
