# SPDX-License-Identifier: Apache-2.0
"""Writes the Arrow messages of this directory with pyarrow.

    python3 arrow.py            (pyarrow 26)

Rows of all good ones: id 1..5; see tests/unit/arrow/test_ipc.c.
"""
import os

import pyarrow as pa

os.chdir(os.path.dirname(os.path.abspath(__file__)))

schema = pa.schema([
    ("id", pa.int64()), ("i", pa.int32()), ("f", pa.float32()), ("d", pa.float64()), ("s", pa.string()),
    ("b", pa.bool_()), ("l", pa.list_(pa.int64())), ("ll", pa.list_(pa.list_(pa.string()))),
    ("m", pa.map_(pa.string(), pa.float32())), ("st", pa.struct([("x", pa.int32()), ("y", pa.string())]))])
batch = pa.record_batch([
    [1, 2, 3, 4, 5], [-1, None, 3, None, 2**31 - 1], [0.5, 1.5, None, -2.0, 0.0], [1e300, None, -0.5, 0.25, 3.0],
    ["a", "", None, "héllo", "e"], [True, False, None, True, True], [[1, None], [], None, [-3], [4, 5, 6]],
    [[["a"], None, []], [], None, [["b", None]], [["c"]]],
    [[("k", 1.5), ("z", None)], [], None, [("q", 2.0)], []], [{"x": 1, "y": "p"}, None, {"x": None, "y": ""},
                                                              {"x": 4, "y": None}, {"x": 5, "y": "t"}]],
    schema=schema)


def stream(name, *batches, options=None):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema, options=options) as w:
        for b in batches:
            w.write_batch(b)
    with open(name, "wb") as f:
        f.write(sink.getvalue())


stream("types.stream", batch)
stream("sliced.stream", pa.record_batch([c for c in pa.concat_batches([batch, batch]).slice(5, 5)], schema=schema))
stream("lz4.stream", batch, options=pa.ipc.IpcWriteOptions(compression="lz4"))
stream("zstd.stream", batch, options=pa.ipc.IpcWriteOptions(compression="zstd"))
stream("legacy.stream", batch, options=pa.ipc.IpcWriteOptions(use_legacy_format=True))
stream("two.stream", batch.slice(0, 2), batch.slice(2, 3))
stream("empty.stream", batch.slice(0, 0))
with open("bare.batch", "wb") as f:
    f.write(batch.serialize())
extra = pa.record_batch([["x"] * 5] + [batch.column(i) for i in reversed(range(10))],
                        names=["extra"] + list(reversed(schema.names)))
stream("reordered.stream", extra)
odd = pa.record_batch([
    pa.array([1] * 5, pa.int8()), pa.array([None] * 5), pa.array(["a"] * 5).dictionary_encode(),
    pa.array([[1, 2]] * 5, pa.list_(pa.int16(), 2)), pa.array(["a"] * 5, pa.large_string()),
    pa.array([0] * 5, pa.timestamp("ms")), pa.array([[1]] * 5, pa.large_list(pa.int64())), batch.column(0),
    batch.column(4)], names=["i8", "n", "dict", "fixed", "large", "ts", "ll", "id", "s"])
stream("odd.stream", odd)
stream("missing.stream", batch.select(["id", "i"]))
stream("retyped.stream", pa.record_batch([pa.array([1, 2, 3, 4, 5], pa.int32()), batch.column(4)], names=["id", "s"]))
for k in range(6):
    n = 3
    stream(f"rows{k}.stream", pa.record_batch(
        [pa.array(range(k * n, k * n + n), pa.int64()), pa.array([f"m{k}"] * n)], names=["id", "msg"]))
