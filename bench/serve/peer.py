# SPDX-License-Identifier: Apache-2.0
"""peer.py EXPORT SECONDS OUTPUT... - onnxruntime on one thread: the graph of an export on its sample rows, again and
again. Features, lookups and padding are made before the clock starts. Prints a line of JSON."""
import json
import os
import statistics
import struct
import sys
import time

import numpy as np
import onnxruntime as ort

EXPORT, SECONDS, OUTPUTS = sys.argv[1], float(sys.argv[2]), sys.argv[3:]


def tensors(path):
    with open(path, 'rb') as f:
        head = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
        data = f.read()
    return {name: np.frombuffer(data[t['data_offsets'][0]:t['data_offsets'][1]], np.float32).reshape(t['shape'])
            for name, t in head.items() if name != '__metadata__'}


def session():
    o = ort.SessionOptions()
    o.intra_op_num_threads = o.inter_op_num_threads = 1
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    return ort.InferenceSession(f'{EXPORT}/model.onnx', o, providers=['CPUExecutionProvider'])


def main():
    os.sched_setaffinity(0, {0})
    s, samples = session(), tensors(f'{EXPORT}/samples.safetensors')
    inputs = {i.name: samples['input.' + i.name] for i in s.get_inputs()}
    got = s.run(OUTPUTS, inputs)
    worst = max(float(np.max(np.abs(g - samples['output.' + o]))) for g, o in zip(got, OUTPUTS))
    for _ in range(5):
        s.run(OUTPUTS, inputs)
    took, cpu, end = [], time.process_time(), time.monotonic() + SECONDS
    while time.monotonic() < end or len(took) < 20:
        start = time.perf_counter()
        s.run(OUTPUTS, inputs)
        took.append(time.perf_counter() - start)
    cpu = time.process_time() - cpu
    took.sort()
    print(json.dumps({'rows': len(got[0]), 'p50_ms': statistics.median(took) * 1e3, 'p99_ms': took[int(len(took) * .99)] * 1e3,
                      'requests_per_s': len(took) / sum(took), 'cpu_ms': cpu / len(took) * 1e3, 'difference': worst,
                      'onnxruntime': ort.__version__}))


main()
