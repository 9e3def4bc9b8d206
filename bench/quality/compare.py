# SPDX-License-Identifier: Apache-2.0
"""compare.py TRAINYARD OUT PYTHON RESULTS - for each case and seed our program and torch_peer.py in turn.
Both take the epoch that is best on the valid set and are compared by the exact AUC of the test set, or by
what the case names as its measure; the bar is the difference of the means over the seeds. Rows of the
cases that ran replace those in RESULTS, the others stay; each says with which seeds and which version of
the program it was made."""
import hashlib
import json
import os
import platform
import subprocess
import sys

from cases import CASES
from ours import measure, run, text_of
from source import closure
from texts import FIRST

TRAINYARD, OUT, PYTHON, RESULTS = sys.argv[1:5]
HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = [int(x) for x in os.environ.get('SEEDS', '1' if os.environ.get('QUICK') else '1 2 3').split()]
ONLY = os.environ.get('CASES', '').split(',')
THREADS = os.environ.get('THREADS', '2')
BAR = 0.002
TORCH = subprocess.run([PYTHON, '-c', 'import torch; print(torch.__version__)'], check=True, capture_output=True,
                       text=True).stdout.strip()
VERSION = subprocess.run([TRAINYARD, 'version'], check=True, capture_output=True, text=True).stdout.split('\n')[0]
with open(TRAINYARD, 'rb') as program:
    PROGRAM = hashlib.sha256(program.read()).hexdigest()


def mean(values):
    return sum(values) / len(values)


def kept(prefix, key, make):
    """A result is kept in OUT as long as what it was made from is the same."""
    path = f'{OUT}/{prefix}-{hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]}.json'
    if not os.path.exists(path):
        got = json.dumps(make())
        with open(f'{path}.part', 'w') as f:
            f.write(got)
        os.replace(f'{path}.part', path)
    with open(path) as f:
        return json.load(f)


def data_sizes(case):
    return {s: os.path.getsize(f"{OUT}/{case['data']}/{s}") for s in ('data.npz', 'sizes.json')}


def ours(name, case, seed):
    text = text_of(case, f"{OUT}/{case['data']}")
    return kept('ours', [PROGRAM, text, seed, data_sizes(case)],
                lambda: run(TRAINYARD, OUT, name, case, seed, text, ['--threads', THREADS]))


def environment():
    """Debian's OpenBLAS does not know newer processors and would fall back to its oldest kernels."""
    with open('/proc/cpuinfo') as f:
        flags = f.read()
    known = 'SkylakeX' if 'avx512bw' in flags else 'Haswell' if 'avx2' in flags else ''
    return dict(os.environ, OPENBLAS_CORETYPE=known, OPENBLAS_NUM_THREADS='1')


def peer(name, case, seed):
    """PyTorch's side depends on the model's code and the training loop, not on other models."""
    train = case.get('train', 'torch_peer.train')
    code = closure([tuple(case['peer'].split('.')), tuple(train.split('.'))], skip=['cases'])

    def make():
        command = [PYTHON, f'{HERE}/torch_peer.py', f"{OUT}/{case['data']}", name, str(seed)]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                                         env=environment()).stdout)

    return kept('peer', [code, name, case, seed, FIRST, data_sizes(case), TORCH], make)


def save(rows):
    """New rows instead of old ones of that name; in the order of the cases."""
    old = []
    if os.path.exists(RESULTS):
        with open(RESULTS) as f:
            old = json.load(f)['rows']
    order = [f'{name} {task}'.strip() for name, case in CASES.items() for task in case['tasks']]
    both = {r['case']: r for r in old + rows if r['case'] in order}
    os.makedirs(os.path.dirname(os.path.abspath(RESULTS)), exist_ok=True)
    with open(f'{RESULTS}.part', 'w') as f:
        json.dump({'machine': platform.processor() or platform.machine(), 'torch': TORCH,
                   'rows': sorted(both.values(), key=lambda r: order.index(r['case']))}, f, indent=1)
        f.write('\n')
    os.replace(f'{RESULTS}.part', RESULTS)


def main():
    short = False
    print(f"{'AUC or recall of the test set':30} {'PyTorch':>8} {'ours':>8} {'diff':>8} {'bar':>6}", flush=True)
    for name, case in CASES.items():
        if not any(x in name for x in ONLY):
            continue
        mine, theirs, rows = [], [], []
        for seed in SEEDS:
            mine.append(ours(name, case, seed))
            theirs.append(peer(name, case, seed))
        for i, task in enumerate(case['tasks']):
            a, b = mean([x[i] for x in mine]), mean([x[i] for x in theirs])
            good = a - b >= -BAR
            short |= not good
            label = f'{name} {task}'.strip()
            rows.append({'case': label, 'measure': measure(case), 'peer': b, 'ours': a, 'diff': a - b, 'bar': -BAR,
                         'ok': good, 'version': VERSION, 'seeds': SEEDS, 'peer_each': [x[i] for x in theirs],
                         'ours_each': [x[i] for x in mine]})
            print(f"{label:30} {b:8.4f} {a:8.4f} {a - b:+8.4f} {-BAR:6} {'ok' if good else 'short'}", flush=True)
        save(rows)
    sys.exit(1 if short else 0)


main()
