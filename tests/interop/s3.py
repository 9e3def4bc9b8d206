# SPDX-License-Identifier: Apache-2.0
"""s3:// against VersityGW: what boto3 wrote we read, and the other way round."""
import os
import socket
import subprocess
import sys
import time

import boto3
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from botocore.config import Config

ty, server = sys.argv[1:3]
checks = 0


def check(ok, what):
    global checks
    checks += 1
    if not ok:
        sys.exit(f"s3: FAILED: {what}")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(*args, rc=0):
    p = subprocess.run([ty, *args], capture_output=True, text=True)
    check(p.returncode == rc, f"{args}: exit status {p.returncode}: {p.stderr}")
    return p


os.mkdir("root")
os.mkdir("root/bucket")
port = free_port()
env = dict(os.environ, ROOT_ACCESS_KEY="interopkey", ROOT_SECRET_KEY="interopsecret/+=")
gw = subprocess.Popen([server, "--port", f"127.0.0.1:{port}", "posix", "root"], env=env,
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.1)
    os.environ.update(AWS_ACCESS_KEY_ID="interopkey", AWS_SECRET_ACCESS_KEY="interopsecret/+=",
                      AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}", AWS_REGION="us-east-1",
                      HOME=os.getcwd())
    s3 = boto3.client("s3", region_name="us-east-1", config=Config(s3={"addressing_style": "path"}))

    rng = np.random.default_rng(1)
    n = 400_000
    table = pa.table({"id": np.arange(n), "x": rng.random(n), "s": [f"v{i % 977}" for i in range(n)],
                      "l": pa.array([[i, i + 1] if i % 3 else [] for i in range(n)])})
    pq.write_table(table, "t.parquet", row_group_size=100_000)
    # boto3 writes, we read: names that need escaping, several files, patterns.
    for key in ("d/part one+&=.parquet", "d/e/ä.parquet", "d/_x/hidden.parquet"):
        s3.upload_file("t.parquet", "bucket", key)
    run("data", "convert", "s3://bucket/d/part one+&=.parquet", "back.parquet")
    check(pq.read_table("back.parquet").equals(table), "rows of one object")
    run("data", "convert", "--columns", "id,s", "s3://bucket/d", "both.parquet")
    both = pq.read_table("both.parquet")
    check(both.num_rows == 2 * n and both.column("id").to_pylist()[n:] == list(range(n)),
          "rows of a directory")
    out = run("data", "head", "-n", "2", "--json", "--columns", "id", "s3://bucket/**/ä.parquet").stdout
    check(out == '{"id": 0}\n{"id": 1}\n', "a pattern")
    # We write, boto3 reads: small (one request), large (parts), text.
    run("data", "convert", "--compression", "none", "t.parquet", "s3://bucket/out/big.parquet")
    check(s3.head_object(Bucket="bucket", Key="out/big.parquet")["ContentLength"] > 9 << 20, "size")
    s3.download_file("bucket", "out/big.parquet", "big.parquet")
    check(pq.read_table("big.parquet").equals(table), "an object written in parts")
    run("data", "convert", "--columns", "id,s", "s3://bucket/out/big.parquet", "s3://bucket/out/t.csv")
    s3.download_file("bucket", "out/t.csv", "t.csv")
    check(pyarrow.csv.read_csv("t.csv").equals(table.select(["id", "s"])), "text")
    check("Uploads" not in s3.list_multipart_uploads(Bucket="bucket"), "no upload is left over")
    # Replaced whole.
    run("data", "convert", "--overwrite", "--columns", "x", "t.parquet", "s3://bucket/out/big.parquet")
    s3.download_file("bucket", "out/big.parquet", "big.parquet")
    check(pq.read_table("big.parquet").equals(table.select(["x"])), "an object replaced")
    # A server of ours that keeps its artifacts there: moved, listed, fetched, collected.
    log = open("yard.log", "w+")
    yard = subprocess.Popen([ty, "server", "--listen", "127.0.0.1:0", "--dir", "yard", "--experiments", "none",
                             "--trust-submitters", "--artifacts", "s3://bucket/team", "--clean-every", "0"], stderr=log)
    try:
        at = ""
        for _ in range(200):
            lines = [l for l in open("yard.log") if l.startswith("listening on ")]
            if lines:
                at = lines[0].split()[-1]
                break
            time.sleep(0.1)
        os.environ.update(TRAINYARD_SERVER=at, TRAINYARD_TOKEN=open("yard/admin.token").read().strip())
        job = run("job", "submit", "--wait", "--", "head -c 20000000 /dev/urandom >$PAI_OUTPUT_MODEL/m; "
                  ": >$PAI_OUTPUT_MODEL/e").stdout.split()[0]
        for _ in range(300):
            if os.path.exists(f"yard/jobs/{job}/archived") and not os.path.exists(f"yard/jobs/{job}/ml/output/model"):
                break
            time.sleep(0.1)
        keys = [o["Key"] for o in s3.list_objects_v2(Bucket="bucket", Prefix=f"team/jobs/{job}/")["Contents"]]
        check(keys == [f"team/jobs/{job}/{k}" for k in ("output/model/e", "output/model/m", "outputs.json")], keys)
        run("job", "download", job, "fetched")
        s3.download_file("bucket", keys[1], "m")
        check(open("m", "rb").read() == open("fetched/model/m", "rb").read(), "an output through the store")
        run("model", "register", "ctr", "--job", job)
        s3.put_object(Bucket="bucket", Key="team/jobs/jb-000000000000/output/model/m", Body=b"x")
        time.sleep(2)
        out = run("gc", "--older-than", "0s", "--json").stdout
        check('"orphans":1' in out, out)
        run("job", "delete", job)
        left = [o["Key"] for o in s3.list_objects_v2(Bucket="bucket", Prefix="team/jobs/").get("Contents", [])]
        check(left == [], left)
        run("model", "download", "ctr:1", "model")
        check(open("m", "rb").read() == open("model/m", "rb").read(), "a model through the store")
    finally:
        yard.terminate()
        yard.wait()
        os.environ.pop("TRAINYARD_SERVER", None)
    # Refusals in the server's own words.
    os.environ["AWS_SECRET_ACCESS_KEY"] = "wrong"
    p = run("data", "head", "s3://bucket/out/t.csv", rc=1)
    check("error[E1606]" in p.stderr and "SignatureDoesNotMatch" in p.stderr, p.stderr)
    os.environ["AWS_SECRET_ACCESS_KEY"] = "interopsecret/+="
    p = run("data", "head", "s3://nobucket/out/t.csv", rc=1)
    check("error[E1604]" in p.stderr, p.stderr)
    p = run("data", "head", "s3://bucket/none.csv", rc=1)
    check("error[E1201]" in p.stderr, p.stderr)
    print(f"s3: {checks} checks against VersityGW and boto3 {boto3.__version__}")
finally:
    gw.terminate()
    gw.wait()
