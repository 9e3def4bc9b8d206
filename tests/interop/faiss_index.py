# SPDX-License-Identifier: Apache-2.0
"""Indexes that trainyard writes, opened and searched by faiss.

Flat ones find what faiss' own finds; an inverted file does so when all its lists are looked into; a
graph finds nearly all, and about as many as a graph that faiss built itself; vectors can be added.
"""
import subprocess
import sys

import faiss
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ty = sys.argv[1]
checks = 0


def check(ok, what):
    global checks
    checks += 1
    if not ok:
        sys.exit(f"faiss: FAILED: {what}")


rng = np.random.default_rng(7)
n, d, k = 20000, 24, 10
x = rng.standard_normal((n, d)).astype(np.float32)
q = rng.standard_normal((200, d)).astype(np.float32)
ids = [f"item{i * 3}" for i in range(n)]
pq.write_table(pa.table({"id": ids, "v": pa.array(list(x), pa.list_(pa.float32()))}), "items.parquet")


def made(kind, *more):
    subprocess.run([ty, "index", "create", "items.parquet", "--id", "id", "--embedding", "v", "--output-dir", kind,
                    "--index-type", kind, *more], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    check(open(f"{kind}/id_mapping").read().split() == ids, f"{kind}: ids")
    return faiss.read_index(f"{kind}/faiss_index")


def recall(found, want):
    return np.mean([len(set(a) & set(b)) / k for a, b in zip(found, want)])


for metric, flat in (("IP", faiss.IndexFlatIP(d)), ("L2", faiss.IndexFlatL2(d))):
    flat.add(x)
    far, want = flat.search(q, k)
    i = made("Flat" + metric)
    check(i.ntotal == n and i.d == d and np.array_equal(i.search(q, k)[1], want), "flat " + metric)
    i = made("IVFFlat" + metric, "--lists", "100")
    check(i.ntotal == n and i.nlist == 100 and i.is_trained and i.metric_type == flat.metric_type, "ivf " + metric)
    i.nprobe = 100
    got_far, got = i.search(q, k)
    check(recall(got, want) == 1 and np.allclose(got_far, far, atol=1e-3), "ivf with all lists " + metric)
    i.nprobe = 20
    few = recall(i.search(q, k)[1], want)
    own = faiss.IndexIVFFlat(type(flat)(d), d, 100, flat.metric_type)
    own.train(x)
    own.add(x)
    own.nprobe = 20
    check(few > recall(own.search(q, k)[1], want) - 0.05, f"ivf finds {few} " + metric)
    i.add(q)
    check(i.ntotal == n + len(q), "ivf grows " + metric)
    g = made("HNSWFlat" + metric, "--links", "16", "--ef-construction", "100")
    check(g.ntotal == n and g.hnsw.efConstruction == 100 and g.metric_type == flat.metric_type, "hnsw " + metric)
    own = faiss.IndexHNSWFlat(d, 16, flat.metric_type)
    own.hnsw.efConstruction = 100
    own.add(x)
    for ef in (16, 64, 256):
        g.hnsw.efSearch = own.hnsw.efSearch = ef
        ours, theirs = recall(g.search(q, k)[1], want), recall(own.search(q, k)[1], want)
        check(ours > theirs - 0.03, f"hnsw {metric} with ef {ef}: {ours}, faiss' own {theirs}")
    check(ours > 0.97, f"hnsw {metric} finds {ours}")
    g.add(q)
    near = g.search(q, 1)[1][:, 0] if metric == "L2" else None
    check(metric != "L2" or np.mean(near == np.arange(n, n + len(q))) > 0.95, "hnsw grows")
print(f"faiss: {checks} checks with faiss {faiss.__version__}")
