# SPDX-License-Identifier: Apache-2.0
"""The Python package measured; see bench/python/run.

Scoring: rows per second of Model.score() over an Arrow table in memory, beside those of `predict` over the same rows in a
file, without the time that the program takes to start. Features: rows per second of FeatureDataset, beside the usual pipeline of
the same features (log10 of 13 numbers, hashes of 26 texts): pandas reads and transforms whole columns, a Dataset hands out
rows, a DataLoader collates them into batches. The same with batches cut out of whole columns is shown as well, as the best
that pandas can do. All by the clock and, for a machine that does other work, by processor time."""
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time

import numpy
import pandas
import pyarrow.parquet
import torch
from torch.utils.data import DataLoader, Dataset

import trainyard
from trainyard.torch import FeatureDataset

TRAINYARD = os.path.abspath(os.environ.get('TRAINYARD', 'build/release/trainyard'))
ROWS = int(os.environ.get('ROWS', '400000'))
BATCH = 4096
NUMBERS = [f'int_{i}' for i in range(13)]
TEXTS = [f'cat_{i}' for i in range(26)]


def processor():
    """Processor time of this process and of those that it waited for."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def best(n, fn):
    """The least time of n turns: by the clock, and of processors, which holds on a busy machine."""
    times = []
    for _ in range(n):
        start = time.perf_counter(), processor()
        fn()
        times.append((time.perf_counter() - start[0], processor() - start[1]))
    return numpy.array(times).min(0)


class Rows(Dataset):
    """The features of a file, made by pandas."""

    def __init__(self, path):
        frame = pandas.read_parquet(path)
        self.columns = {'label': frame['label'].to_numpy(numpy.float32)}
        for name in NUMBERS:
            values = frame[name].fillna(0).to_numpy(numpy.float32)
            self.columns[name] = numpy.log10(numpy.maximum(values, 1e-10)).astype(numpy.float32)
        for name in TEXTS:
            hashed = pandas.util.hash_array(frame[name].fillna('').astype(str).to_numpy(object), categorize=True)
            self.columns[name] = (hashed % 100000).astype(numpy.int64)

    def __len__(self):
        return len(self.columns['label'])

    def __getitem__(self, i):
        return {name: column[i] for name, column in self.columns.items()}


def pandas_rows(path):
    n = sum(len(batch['label']) for batch in DataLoader(Rows(path), batch_size=BATCH))
    assert n == pyarrow.parquet.ParquetFile(path).metadata.num_rows


def pandas_columns(path):
    rows = Rows(path)
    for at in range(0, len(rows), BATCH):
        {name: torch.from_numpy(column[at:at + BATCH]) for name, column in rows.columns.items()}


def ours(config, path):
    n = 0
    for batch in DataLoader(FeatureDataset(config, path, use='eval', batch_size=BATCH), batch_size=None):
        assert batch['cat_0'].values.dtype == torch.int64
        n += batch.rows
    assert n == pyarrow.parquet.ParquetFile(path).metadata.num_rows


def features(config, path, n):
    slow = best(1, lambda: pandas_rows(path))
    columns = best(2, lambda: pandas_columns(path))
    fast = best(3, lambda: ours(config, path))
    return [('features: rows, DataLoader', n / slow, n / fast, 10), ('features: whole columns', n / columns, n / fast, 5)]


def predict(model, path, threads):
    subprocess.run([TRAINYARD, 'predict', '--model', model, '--input', path, '--output', 'scores.parquet', '--overwrite',
                    '--threads', str(threads)], check=True, capture_output=True)


def scoring(config, path, n):
    subprocess.run([TRAINYARD, 'train', config, '--set', 'train_config.num_steps=20'], check=True, capture_output=True)
    subprocess.run([TRAINYARD, 'export', config, '--export-dir', 'export'], check=True, capture_output=True)
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(table.slice(0, 1), 'one.parquet')
    made = []
    for threads in (1, os.cpu_count()):
        start = best(3, lambda: predict('export', 'one.parquet', threads))
        theirs = best(3, lambda: predict('export', path, threads)) - start
        model = trainyard.Model.load('export')
        model.score(table.slice(0, 10000), threads=threads)
        mine = best(3, lambda: model.score(table))
        made.append((f'score: {threads} thread{"s"[:threads > 1]}', n / theirs, n / mine, 0.95))
    return made


def cpu():
    with open('/proc/cpuinfo', encoding='utf-8') as f:
        m = re.search(r'model name\s*: (.*)', f.read())
    return m[1] if m else platform.machine()


def main():
    source = os.getcwd()
    os.environ['TRAINYARD'] = TRAINYARD
    config = f'{source}/examples/dlrm-criteo.config'
    with tempfile.TemporaryDirectory() as top:
        os.chdir(top)
        subprocess.run([TRAINYARD, 'data', 'gen', 'criteo', '--rows', str(ROWS), '--out', 'criteo'], check=True, capture_output=True)
        path = 'criteo/train/part-0.parquet'
        n = pyarrow.parquet.ParquetFile(path).metadata.num_rows
        rows = features(config, path, n) + scoring(config, path, n)
        os.chdir(source)
    print(f"{'case':28} {'peer rows/s':>12} {'ours rows/s':>12} {'ratio':>7} {'by processor':>12} {'bar':>5}")
    short, kept = False, []
    for case, (peer, peer_cpu), (mine, mine_cpu), bar in rows:
        good = mine / peer >= bar
        short |= not good
        kept.append({'case': case, 'peer_rows_per_s': peer, 'ours_rows_per_s': mine, 'ratio': mine / peer,
                     'ratio_by_processor_time': mine_cpu / peer_cpu, 'bar': bar, 'ok': bool(good)})
        print(f"{case:28} {peer:12.0f} {mine:12.0f} {mine / peer:7.2f} {mine_cpu / peer_cpu:12.2f} {bar:5.2f} {'ok' if good else 'short'}")
    with open('bench/results/python.json', 'w', encoding='utf-8') as f:
        json.dump({'machine': cpu(), 'load': os.getloadavg()[0], 'rows_of_file': ROWS, 'when': time.strftime('%Y-%m-%d'), 'torch': torch.__version__,
                   'pandas': pandas.__version__, 'rows': kept}, f, indent=1)
        f.write('\n')
    sys.exit(short)


main()
