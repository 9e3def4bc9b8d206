# SPDX-License-Identifier: Apache-2.0
"""An object store for tests: the part of S3 and OSS that trainyard speaks, with faults.

    objects.py PORT_FILE [--region R]

Listens on a free port of 127.0.0.1, written to PORT_FILE. Both path style and virtual hosts
(bucket.localhost:PORT). Signatures (AWS version 4, OSS version 4) are computed here anew and must
be right: key "testkey", secret "testsecret"; a request with a token must have "testtoken". Buckets are
made by the first object put into them through /_put.

Control, not signed: POST /_put/BUCKET/KEY (body: the object), POST /_fault (JSON, below),
GET /_stats (JSON of counts and of unfinished uploads), GET /_get/BUCKET/KEY (the object), POST /_age/SECONDS
(all objects become so much older), POST /_reset.

A fault is {"on": "GET", "key": "part of the path", "times": 2, "do": KIND, "after": N}; N requests
that fit are let through first. Kinds: "500", "503", "403" .. (a status), "reset" (connection closed with
RST before the answer), "cut" (half of the body, then closed), "stall" (half of the body, then
nothing), "etag" (another ETag), "range" (another range than asked for), "whole" (200 and
everything), "error200" (status 200 with an error in the body), "garbage".
"""
import datetime
import email.utils
import hashlib
import hmac
import json
import socket
import struct
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRETS = {"testkey": "testsecret"}
TOKEN = "testtoken"


class Objects(dict):
    """(bucket, key): bytes; remembers when each was put."""

    def __init__(self):
        super().__init__()
        self.times = {}

    def __setitem__(self, at, body):
        self.times[at] = time.time()
        super().__setitem__(at, body)


class Store:
    def __init__(self):
        self.lock = threading.Lock()
        self.reset()

    def reset(self):
        self.objects, self.uploads, self.faults = Objects(), {}, []
        self.counts = {"requests": 0, "bytes_out": 0, "bytes_in": 0, "connections": 0}
        self.seen = []


STORE = Store()


def hmac_of(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def quote(s, keep):
    return urllib.parse.quote(s, safe="-._~" + keep)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def setup(self):
        super().setup()
        with STORE.lock:
            STORE.counts["connections"] += 1

    def log_message(self, *args):
        pass

    # -- answers

    def answer(self, status, body=b"", headers=(), cut=False):
        self.send_response(status)
        for k, v in headers:
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            half = body[: len(body) // 2] if cut else body
            with STORE.lock:
                STORE.counts["bytes_out"] += len(half)
            self.wfile.write(half)
            self.wfile.flush()
        if cut:
            self.close_connection = True

    def error(self, status, code, message, extra=""):
        body = (f'<?xml version="1.0" encoding="UTF-8"?><Error><Code>{code}</Code>'
                f"<Message>{message}</Message>{extra}</Error>")
        self.answer(status, body.encode(), [("Content-Type", "application/xml")])

    def xml(self, text):
        self.answer(200, ('<?xml version="1.0"?>' + text).encode())

    # -- signatures

    def headers_signed(self, names):
        return "".join(f"{n}:{' '.join((self.headers[n] or '').split())}\n" for n in names)

    def check_signature(self, bucket, key):
        if ANONYMOUS:
            return None
        auth = self.headers.get("Authorization", "")
        kind, _, rest = auth.partition(" ")
        fields = dict(f.strip().split("=", 1) for f in rest.split(",") if "=" in f)
        who, day, region, service, end = (fields.get("Credential", "////") + "////").split("/")[:5]
        if who not in SECRETS:
            return "InvalidAccessKeyId"
        aws = kind == "AWS4-HMAC-SHA256"
        date = self.headers.get("x-amz-date" if aws else "x-oss-date", "")
        query = urllib.parse.urlsplit(self.path).query
        pairs = sorted((quote(k, ""), quote(v, "")) for k, v in
                       urllib.parse.parse_qsl(query, keep_blank_values=True))
        payload = self.headers.get("x-amz-content-sha256" if aws else "x-oss-content-sha256", "")
        if aws:
            names = fields.get("SignedHeaders", "").split(";")
            if "host" not in names or sorted(names) != names:
                return "SignatureDoesNotMatch"
            path = urllib.parse.urlsplit(self.path).path
            text = "&".join(f"{k}={v}" for k, v in pairs)
            if payload != hashlib.sha256(self.body).hexdigest():
                return "XAmzContentSHA256Mismatch"
            prefix, last = "AWS4", ";".join(names)
        else:
            extra = [n for n in fields.get("AdditionalHeaders", "").split(";") if n]
            names = sorted(n.lower() for n in self.headers.keys()
                           if n.lower().startswith("x-oss-") or
                           n.lower() in ("content-type", "content-md5") or n.lower() in extra)
            path = quote(f"/{bucket}/{key}", "/")
            text = "&".join(f"{k}={v}" if v else k for k, v in pairs)
            prefix, last = "aliyun_v4", ";".join(extra)
            md5 = self.headers.get("Content-MD5")
            import base64
            if md5 and base64.b64decode(md5) != hashlib.md5(self.body).digest():
                return "InvalidDigest"
        canonical = "\n".join([self.command, path, text, self.headers_signed(names), last, payload])
        to_sign = "\n".join([kind, date, "/".join([day, region, service, end]),
                             hashlib.sha256(canonical.encode()).hexdigest()])
        k = (prefix + SECRETS[who]).encode()
        for part in (day, region, service, end):
            k = hmac_of(k, part)
        if hmac_of(k, to_sign).hex() != fields.get("Signature"):
            return "SignatureDoesNotMatch"
        token = self.headers.get("x-amz-security-token" if aws else "x-oss-security-token")
        if token is not None and token != TOKEN:
            return "InvalidToken"
        if region != REGION:
            return "AuthorizationHeaderMalformed"
        now = datetime.datetime.now(datetime.timezone.utc)
        sent = datetime.datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
        if abs((now - sent).total_seconds()) > 900:
            return "RequestTimeTooSkewed"
        return None

    # -- requests

    def handle_any(self):
        n = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(n)
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        if path.startswith("/_"):
            return self.control(path)
        host = self.headers["Host"].split(":")[0]
        if host.endswith(".localhost"):
            bucket, key = host[: -len(".localhost")], path[1:]
        else:
            bucket, _, key = path[1:].partition("/")
        with STORE.lock:
            STORE.counts["requests"] += 1
            STORE.counts["bytes_in"] += n
            STORE.seen.append(f"{self.command} {self.path} {self.headers.get('Range', '')}")
            fault = self.take_fault(path)
            known = any(b == bucket for b, _ in STORE.objects)
        if fault and self.act(fault):
            return None
        wrong = self.check_signature(bucket, key)
        if wrong == "AuthorizationHeaderMalformed":
            return self.error(400, wrong, "the region is wrong", f"<Region>{REGION}</Region>")
        if wrong:
            return self.error(403, wrong, "the request is refused")
        if not known:
            return self.error(404, "NoSuchBucket", "The specified bucket does not exist")
        q = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query,
                                        keep_blank_values=True))
        return getattr(self, "on_" + self.command.lower())(bucket, key, q, fault or "")

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any

    def control(self, path):
        if path.startswith("/_put/"):
            bucket, _, key = path[6:].partition("/")
            with STORE.lock:
                STORE.objects[bucket, key] = self.body
        elif path.startswith("/_get/"):
            bucket, _, key = path[6:].partition("/")
            body = STORE.objects.get((bucket, key))
            return self.answer(200 if body is not None else 404, body or b"")
        elif path.startswith("/_age/"):
            with STORE.lock:
                for at in STORE.objects.times:
                    STORE.objects.times[at] -= float(path[6:])
        elif path == "/_fault":
            STORE.faults.append(json.loads(self.body))
        elif path == "/_reset":
            STORE.reset()
        elif path.startswith("/_credentials"):
            return self.answer(200, json.dumps({
                "Code": "Success", "AccessKeyId": "testkey", "AccessKeySecret": "testsecret",
                "SecurityToken": TOKEN, "Expiration": "2099-01-01T00:00:00Z"}).encode())
        elif path == "/_stats":
            with STORE.lock:
                sizes = {f"{b}/{k}": len(v) for (b, k), v in STORE.objects.items()}
            return self.answer(200, json.dumps(dict(
                STORE.counts, uploads=len(STORE.uploads), seen=list(STORE.seen), objects=sizes)).encode())
        return self.answer(200)

    def take_fault(self, path):
        for f in STORE.faults:
            if f["on"] != self.command or f.get("key", "") not in self.path:
                continue
            if f.get("after", 0) > 0:
                f["after"] -= 1
                continue
            if f.get("times", 1) <= 0:
                continue
            f["times"] = f.get("times", 1) - 1
            return f["do"]
        return None

    def act(self, fault):
        if fault.isdigit():
            self.error(int(fault), {"500": "InternalError", "503": "SlowDown",
                                    "403": "AccessDenied"}.get(fault, "Odd"), "as told")
            return True
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return True
        if fault == "garbage":
            self.answer(200, b"<html>a page</html>")
            return True
        if fault == "error200":
            self.error(200, "InternalError", "We encountered an internal error.")
            return True
        return False

    def on_get(self, bucket, key, q, fault):
        if not key:
            return self.list(bucket, q)
        body = STORE.objects.get((bucket, key))
        if body is None:
            return self.error(404, "NoSuchKey", "The specified key does not exist.")
        etag = '"' + hashlib.md5(body).hexdigest() + '"'
        if self.headers.get("If-Match", etag) != etag:
            return self.error(412, "PreconditionFailed", "At least one condition did not hold")
        if fault == "etag":
            etag = '"changed"'
        head = [("ETag", etag), ("Accept-Ranges", "bytes"),
                ("Last-Modified", email.utils.formatdate(STORE.objects.times[bucket, key], usegmt=True))]
        spec = self.headers.get("Range")
        if not spec or fault == "whole":
            return self.answer(200, body, head)
        a, _, b = spec[len("bytes="):].partition("-")
        first, last = (int(a), min(int(b), len(body) - 1) if b else len(body) - 1) if a else \
            (max(0, len(body) - int(b)), len(body) - 1)
        if first >= len(body):
            return self.answer(416, b"", [("Content-Range", f"bytes */{len(body)}")])
        if fault == "range":
            first += 1
        part = body[first: last + 1]
        head.append(("Content-Range", f"bytes {first}-{last}/{len(body)}"))
        if fault == "stall":
            self.send_response(206)
            for k, v in head + [("Content-Length", str(len(part)))]:
                self.send_header(k, v)
            self.end_headers()
            self.wfile.write(part[: len(part) // 2])
            self.wfile.flush()
            time.sleep(3)
            self.close_connection = True
            return None
        return self.answer(206, part, head, cut=fault == "cut")

    def list(self, bucket, q):
        if q.get("list-type") != "2":
            return self.error(400, "InvalidArgument", "list-type")
        with STORE.lock:  # others put and delete meanwhile
            sizes = {k: (len(v), STORE.objects.times[b, k]) for (b, k), v in STORE.objects.items() if b == bucket}
        keys = sorted((k for k in sizes if k and k.startswith(q.get("prefix", ""))), key=lambda k: k.encode())
        n = min(int(q.get("max-keys", "1000")), PAGE)
        esc = lambda s: s.replace("&", "&amp;").replace("<", "&lt;")
        if "delimiter" in q:
            skip, mark = len(q.get("prefix", "")), q["delimiter"]
            keys = sorted({k[: k.index(mark, skip) + 1] if mark in k[skip:] else k for k in keys}, key=lambda k: k.encode())
        # The token is the last key in hexadecimal digits, so that pages fit whatever is deleted between them.
        after = bytes.fromhex(q.get("continuation-token", ""))
        keys = [k for k in keys if k.encode() > after]
        more = len(keys) > n
        text = "".join(self.entry(k, sizes.get(k), esc) for k in keys[:n])
        next_ = f"<NextContinuationToken>{keys[n - 1].encode().hex()}</NextContinuationToken>" if more else ""
        return self.xml(f'<ListBucketResult xmlns="x"><Name>{bucket}</Name><IsTruncated>'
                        f"{str(more).lower()}</IsTruncated>{next_}{text}</ListBucketResult>")

    def entry(self, key, is_object, esc):
        if not is_object:
            return f"<CommonPrefixes><Prefix>{esc(key)}</Prefix></CommonPrefixes>"
        size, put = is_object
        when = datetime.datetime.fromtimestamp(put, datetime.timezone.utc)
        return (f"<Contents><Key>{esc(key)}</Key><LastModified>{when:%Y-%m-%dT%H:%M:%S}.000Z</LastModified>"
                f"<Size>{size}</Size></Contents>")

    def on_put(self, bucket, key, q, fault):
        etag = '"' + hashlib.md5(self.body).hexdigest() + '"'
        with STORE.lock:
            if "uploadId" in q:
                if q["uploadId"] not in STORE.uploads:
                    return self.error(404, "NoSuchUpload", "gone")
                STORE.uploads[q["uploadId"]][int(q["partNumber"])] = (etag, self.body)
            else:
                STORE.objects[bucket, key] = self.body
        return self.answer(200, b"", [("ETag", etag)])

    def on_post(self, bucket, key, q, fault):
        if "uploads" in q:
            with STORE.lock:
                ident = f"up+/{len(STORE.uploads) + 1}"
                STORE.uploads[ident] = {}
            return self.xml(f"<InitiateMultipartUploadResult><UploadId>{ident}</UploadId>"
                            "</InitiateMultipartUploadResult>")
        import re
        parts = STORE.uploads.get(q.get("uploadId"))
        if parts is None:
            return self.error(404, "NoSuchUpload", "gone")
        asked = re.findall(r"<PartNumber>(\d+)</PartNumber><ETag>(.*?)</ETag>", self.body.decode())
        for i, (n, etag) in enumerate(asked):
            if parts.get(int(n), ("",))[0] != etag:
                return self.error(400, "InvalidPart", f"part {n}")
            if i + 1 < len(asked) and len(parts[int(n)][1]) < 5 << 20:
                return self.error(400, "EntityTooSmall", f"part {n}")
        with STORE.lock:
            STORE.objects[bucket, key] = b"".join(parts[int(n)][1] for n, _ in asked)
            del STORE.uploads[q["uploadId"]]
        return self.xml("<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")

    def on_delete(self, bucket, key, q, fault):
        with STORE.lock:
            STORE.uploads.pop(q.get("uploadId"), None)
            if "uploadId" not in q:
                STORE.objects.pop((bucket, key), None)
        return self.answer(204)


REGION = "us-east-1"
PAGE = 1000
ANONYMOUS = False


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass


def main():
    global REGION, PAGE, ANONYMOUS
    args = sys.argv[2:]
    while args:
        name = args.pop(0)
        if name == "--region":
            REGION = args.pop(0)
        elif name == "--page":
            PAGE = int(args.pop(0))
        elif name == "--anonymous":
            ANONYMOUS = True
    server = Server(("127.0.0.1", 0), Handler)
    with open(sys.argv[1] + ".new", "w") as f:
        f.write(str(server.server_address[1]))
    import os
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()


main()
