#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the Criteo-shaped files that bench/data/run reads: label, 13 counts, 26 categories.

    gen.py DIR ROWS

Categories are Zipf-distributed ids, as 8 hexadecimal digits (strings) and as u32, with nulls as in the
original; snappy, zstd and uncompressed, all by pyarrow with its defaults."""
import os, sys
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def main(dir, rows):
    rng = np.random.default_rng(1)
    base = {'label': pa.array(rng.random(rows) < 0.25, pa.bool_()).cast(pa.int32())}
    for i in range(13):
        values = np.floor(np.exp(rng.normal(2, 2, rows))).astype(np.int64)
        mask = rng.random(rows) < (0.45 if i % 4 == 3 else 0.05)
        base[f'I{i + 1}'] = pa.array(np.minimum(values, 2**31 - 1).astype(np.int32), mask=mask)
    strings, numbers = dict(base), dict(base)
    sizes = [1460, 583, 2000000, 2000000, 305, 24, 12517, 633, 3, 93145, 5683, 2000000, 3194, 27, 14992, 2000000, 10, 5652, 2173, 4, 2000000, 18, 15, 286181, 105, 142572]
    for i, n in enumerate(sizes):
        rank = np.minimum(np.floor(n ** rng.random(rows)), n - 1).astype(np.uint64)
        ids = ((rank * np.uint64(2654435761) + np.uint64(i * 977)) & np.uint64(0xffffffff)).astype(np.uint32)
        mask = rng.random(rows) < (0.4 if i in (18, 19, 24, 25) else 0.03 if i in (2, 3, 11, 15, 20, 23) else 0)
        mask = mask if mask.any() else None
        numbers[f'C{i + 1}'] = pa.array(ids, mask=mask)
        strings[f'C{i + 1}'] = pa.array(np.char.mod('%08x', ids), pa.string(), mask=mask)
    for name, columns in (('str', strings), ('u32', numbers)):
        table = pa.table(columns)
        for codec in ('snappy', 'zstd', 'none'):
            pq.write_table(table, os.path.join(dir, f'{name}-{codec}.parquet'), compression=codec, row_group_size=250000)


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]))
