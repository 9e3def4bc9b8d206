# SPDX-License-Identifier: Apache-2.0
"""The tunnel server of our tests, driven by PyODPS and by trainyard, so that both ends are checked:

what the real client uploads, trainyard reads; what trainyard uploads, the real client reads; and the
server, which checks every signature and checksum, understands both.
"""
import datetime
import decimal
import json
import os
import random
import subprocess
import sys
import time
import urllib.request

import odps
from odps import ODPS
from odps.tunnel import TableTunnel

ty, source = sys.argv[1:3]
checks = 0


def check(ok, what):
    global checks
    checks += 1
    if not ok:
        sys.exit(f"maxcompute: FAILED: {what}")


def run(*args, rc=0):
    p = subprocess.run([ty, *args], capture_output=True, text=True)
    check(p.returncode == rc, f"{args}: exit status {p.returncode}: {p.stderr}")
    return p


server = subprocess.Popen([sys.executable, f"{source}/tests/it/servers/tunnel.py", "port"])
try:
    while not os.path.exists("port"):
        time.sleep(0.05)
    at = f"http://127.0.0.1:{open('port').read()}"
    open_url = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
    table = {"name": "p/t", "columns": [
        ["id", "bigint"], ["i", "int"], ["x", "double"], ["f", "float"], ["b", "boolean"], ["s", "string"],
        ["d", "datetime"], ["day", "date"], ["dec", "decimal(20,4)"], ["l", "array<bigint>"],
        ["ll", "array<array<string>>"], ["m", "map<string,double>"]],
        "keys": [["dt", "string"], ["h", "string"]], "parts": {"dt=1,h=a": []}}
    open_url(urllib.request.Request(at + "/_table", data=json.dumps(table).encode()))
    plain = dict(table, name="p/plain", keys=[], parts={"": []})
    open_url(urllib.request.Request(at + "/_table", data=json.dumps(plain).encode()))

    odps.options.tunnel.use_instance_tunnel = False
    o = ODPS("testid", "testkey", project="p", endpoint=at + "/api")
    tunnel = TableTunnel(o)
    rng = random.Random(3)
    rows = []
    for k in range(3000):
        null = lambda v: None if rng.random() < 0.1 else v
        rows.append([k, null(rng.randrange(-2**31, 2**31)), null(rng.gauss(0, 1e6)),
                     null(rng.randrange(1000) / 8), null(rng.random() < 0.5),
                     null("é" * rng.randrange(5) + str(rng.random())),
                     null(datetime.datetime(2024, 1, 2, 3, 4, 5, 678000)),
                     null(datetime.date(1969, 7, rng.randrange(1, 31))),
                     null(decimal.Decimal(rng.randrange(-10**9, 10**9)) / 10000),
                     null([null(rng.randrange(-2**63, 2**63)) for _ in range(rng.randrange(4))]),
                     null([null(["a", "b"][: rng.randrange(3)]) for _ in range(rng.randrange(3))]),
                     null({f"k{j}": null(rng.random()) for j in range(rng.randrange(3))})])

    # PyODPS uploads two blocks, trainyard reads.
    up = tunnel.create_upload_session("t", partition_spec="dt=1,h=a")
    for block, part in enumerate((rows[:1700], rows[1700:])):
        with up.open_record_writer(block) as w:
            for r in part:
                w.write(up.new_record(r))
    up.commit([0, 1])
    os.environ.update(ODPS_ENDPOINT=at + "/api", ACCESS_ID="testid", ACCESS_KEY="testkey",
                      no_proxy="127.0.0.1", HOME=os.getcwd())
    out = run("data", "head", "--json", "-n", "3000", "odps://p/tables/t/dt=1/h=a").stdout
    got = [json.loads(line) for line in out.splitlines()]
    check(len(got) == 3000, "number of rows")
    for r, g in zip(rows, got):
        check(g["id"] == r[0] and g["i"] == r[1] and g["f"] == r[3] and g["b"] == r[4] and
              g["s"] == r[5] and g["l"] == r[9] and g["ll"] == r[10] and g["m"] == r[11], (r, g))
        check(g["x"] == r[2] and g["dt"] == "1" and g["h"] == "a", (r, g))
        check(g["day"] == (r[7] and r[7].isoformat()), (r, g))
        check((g["dec"] is None) == (r[8] is None) and (r[8] is None or abs(g["dec"] - float(r[8])) < 1e-9),
              (r, g))

    # PyODPS reads through the same server, a projection and a range of rows.
    down = tunnel.create_download_session("t", partition_spec="dt=1,h=a")
    check(down.count == 3000, "count")
    with down.open_record_reader(100, 50, columns=["id", "s", "l"]) as r:
        back = [[v for v in rec.values][:3] for rec in r]
    check(back == [[x[0], x[5], x[9]] for x in rows[100:150]], "a range as the client reads it")

    # trainyard uploads (one partition to another table), PyODPS reads.
    columns = "id,i,x,f,b,s,l,ll,m"
    run("data", "convert", "--columns", columns, "odps://p/tables/t/dt=1/h=a", "odps://p/tables/plain")
    down = tunnel.create_download_session("plain")
    check(down.count == 3000, "count of what we wrote")
    with down.open_record_reader(0, 3000) as r:
        for want, rec in zip(rows, r):
            v = list(rec.values)
            check(v[:6] == want[:6] and v[6:9] == [None] * 3 and v[9:] == want[9:], (want, v))
    # A new partition is made; a missing one is told to both alike.
    run("data", "convert", "--columns", "id,s", "odps://p/tables/t/dt=1/h=a", "odps://p/tables/t/dt=2/h=b")
    check(tunnel.create_download_session("t", partition_spec="dt=2,h=b").count == 3000, "a new partition")
    try:
        tunnel.create_download_session("t", partition_spec="dt=3,h=b")
        sys.exit("maxcompute: FAILED: a missing partition is there for the client")
    except odps.errors.ODPSError:
        checks += 1
    p = run("data", "head", "odps://p/tables/t/dt=3/h=b", rc=1)
    check("error[E1703]" in p.stderr, p.stderr)
    # A table that either of the two has created serves both.
    o.create_table("theirs", ("id bigint, s string", "dt string"), lifecycle=3)
    run("data", "convert", "--columns", "id,s", "odps://p/tables/t/dt=1/h=a", "odps://p/tables/theirs/dt=1")
    check(tunnel.create_download_session("theirs", partition_spec="dt=1").count == 3000, "a table of theirs")
    run("data", "convert", "--columns", "id,x,l", "odps://p/tables/t/dt=1/h=a", "odps://p/tables/ours/dt=1")
    down = tunnel.create_download_session("ours", partition_spec="dt=1")
    with down.open_record_reader(0, 3000) as r:
        for want, rec in zip(rows, r):
            v = list(rec.values)
            check(v[:3] == [want[0], want[2], want[9]], (want, v))
    print(f"maxcompute: {checks} checks with PyODPS {odps.__version__}")
finally:
    server.terminate()
    server.wait()
