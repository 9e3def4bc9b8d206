# SPDX-License-Identifier: Apache-2.0
"""Trains two example models for a few steps, exports and serves them, and lets wrk ask; see
bench/serve/run. One thread of the server on the first core, one connection of wrk on the second:
what is measured is the time of a request, not a queue. A row is short when the processor time of a
request is above the bar, in milliseconds: neighbours on the machine change the latency more.

The peer is onnxruntime with one thread in a process of its own, on the graph of the same export and the rows of the first
request; it gets the inputs of the graph, ours makes them from JSON. A row is short when ours answers fewer than PEER_BAR
times the requests of the peer; processor time is beside it, for machines with neighbours."""
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time

TRAINYARD = os.path.abspath(os.environ.get('TRAINYARD', 'build/release/trainyard'))
SECONDS = os.environ.get('SECONDS_EACH', '10')
ONLY = os.environ.get('ONLY')  # one case, e.g. 'din f32'; nothing is written then
ITEMS = 200
PEER_BAR = 1.5
# case, example, what export is told, bar of the processor time in ms
CASES = [
    ('din f32', 'din-taobao', [], 8.0),
    ('din bf16', 'din-taobao', ['--set', 'export_config.mixed_precision=BF16', '--table-type', 'bf16'], 5.0),
    ('mmoe f32', 'mmoe-taobao', [], 6.0),
    ('mmoe bf16', 'mmoe-taobao', ['--set', 'export_config.mixed_precision=BF16', '--table-type', 'bf16'], 3.5),
]


def trainyard(*args):
    subprocess.run([TRAINYARD, *args], check=True, capture_output=True)


def pinned(core, command, **more):
    return subprocess.Popen(['taskset', '-c', str(core), *command], **more)


def start(export):
    server = pinned(0, [TRAINYARD, 'serve', '--model', export, '--listen', '127.0.0.1:0', '--threads', '1',
                        '--watch', '0'], stderr=subprocess.PIPE, text=True)
    for line in server.stderr:
        m = re.match(r'listening on (\S+)', line)
        if m:
            return server, m[1]
    raise SystemExit('the server did not start')


def cpu_seconds(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8') as f:
        fields = f.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def measure(export, script):
    server, url = start(export)
    try:
        wrk = ['wrk', '-t1', '-c1', '-s', script, url]
        subprocess.run(['taskset', '-c', '1', *wrk, '-d1s'], check=True, capture_output=True)
        before = cpu_seconds(server.pid)
        out = subprocess.run(['taskset', '-c', '1', *wrk, f'-d{SECONDS}s'], check=True, capture_output=True,
                             text=True).stdout
        used = cpu_seconds(server.pid) - before
    finally:
        server.terminate()
        server.wait()
    n, us, p50, p99, mean, errors = (float(x) for x in re.search(r'^RESULT (.*)$', out, re.M)[1].split())
    return {'requests_per_s': n / us * 1e6, 'p50_ms': p50 / 1e3, 'p99_ms': p99 / 1e3, 'mean_ms': mean / 1e3,
            'cpu_ms': used / n * 1e3, 'errors': int(errors)}


def ask_peer(source, config, i, options):
    """The same model with the rows of a request as samples, under onnxruntime."""
    trainyard('data', 'convert', 'request.jsonl', 'request.parquet', '--overwrite')
    trainyard('export', config, '--export-dir', f'p{i}', '--sample-input', 'request.parquet', '--sample-rows', str(ITEMS),
              *options)
    with open(f'p{i}/manifest.json', encoding='utf-8') as f:
        names = [o['name'] for o in json.load(f)['onnx']['outputs']]
    outputs = [o for o in ('probs', 'probs_ctr') if o in names]
    out = subprocess.run([sys.executable, f'{source}/bench/serve/peer.py', f'p{i}', SECONDS, *outputs], check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out)


def cpu():
    with open('/proc/cpuinfo', encoding='utf-8') as f:
        m = re.search(r'model name\s*: (.*)', f.read())
    return m[1] if m else platform.machine()


def main():
    source, rows, short = os.getcwd(), [], False
    with tempfile.TemporaryDirectory() as top:
        os.chdir(top)
        trainyard('data', 'gen', 'taobao', '--rows', '20000', '--files', '1', '--out', 'taobao')
        trainyard('data', 'convert', 'taobao/eval', 'rows.jsonl')
        print(f"{'case':10} {'p50 ms':>8} {'p99 ms':>8} {'requests/s':>11} {'items/s':>10} {'cpu ms':>7} {'bar':>5}      "
              f"{'onnxruntime p50':>15} {'p99':>8} {'requests/s':>11} {'cpu ms':>7} {'ours':>6} (bar {PEER_BAR}x)")
        trained = set()
        for i, (case, example, options, bar) in enumerate(CASES):
            if ONLY and ONLY != case:
                continue
            config = f'{source}/examples/{example}.config'
            if example not in trained:
                trainyard('train', config, '--set', 'train_config.num_steps=15')
                trained.add(example)
            trainyard('export', config, '--export-dir', f'x{i}', *options)
            subprocess.run([sys.executable, f'{source}/bench/serve/bodies.py', f'x{i}', 'rows.jsonl', str(ITEMS),
                            'wrk.lua', 'request.jsonl'], check=True, capture_output=True)
            r = measure(f'x{i}', 'wrk.lua')
            p = ask_peer(source, config, i, options)
            times = r['requests_per_s'] / p['requests_per_s']
            good, ahead = r['cpu_ms'] <= bar and r['errors'] == 0, times >= PEER_BAR
            short |= not (good and ahead)
            rows.append({'case': case, 'items': ITEMS, **r, 'bar_cpu_ms': bar, 'ok': good, 'peer': p, 'times_peer': times,
                         'bar_times_peer': PEER_BAR, 'ok_peer': ahead})
            print(f"{case:10} {r['p50_ms']:8.2f} {r['p99_ms']:8.2f} {r['requests_per_s']:11.1f} "
                  f"{r['requests_per_s'] * ITEMS:10.0f} {r['cpu_ms']:7.2f} {bar:5.1f} {'ok' if good else 'short':5} "
                  f"{p['p50_ms']:14.2f} {p['p99_ms']:8.2f} {p['requests_per_s']:11.1f} {p['cpu_ms']:7.2f} {times:5.2f}x {'ok' if ahead else 'short'}",
                  flush=True)
        os.chdir(source)
    if ONLY:
        sys.exit(short)
    with open('bench/results/serve.json', 'w', encoding='utf-8') as f:
        json.dump({'machine': cpu(), 'load': os.getloadavg()[0], 'when': time.strftime('%Y-%m-%d'), 'rows': rows},
                  f, indent=1)
        f.write('\n')
    sys.exit(short)


main()
