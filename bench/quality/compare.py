# SPDX-License-Identifier: Apache-2.0
"""compare.py TRAINYARD OUT PYTHON - for each case and seed our program and torch_peer.py in turn. Both
take the epoch that is best on the valid set and are compared by the exact AUC of the test set; the
bar is the difference of the means over the seeds."""
import hashlib
import json
import os
import platform
import subprocess
import sys

from cases import CASES, FIRST, config

TRAINYARD, OUT, PYTHON = sys.argv[1:4]
HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS = [int(x) for x in os.environ.get('SEEDS', '1' if os.environ.get('QUICK') else '1 2 3').split()]
ONLY = os.environ.get('CASES', '')
BAR = 0.002
TORCH = subprocess.run([PYTHON, '-c', 'import torch; print(torch.__version__)'], check=True, capture_output=True,
                       text=True).stdout.strip()


def mean(values):
    return sum(values) / len(values)


def result(lines, tasks):
    """exact_auc of each task of a line of JSON."""
    names = [f'exact_auc_{t}' if t else 'exact_auc' for t in tasks]
    return [lines[n] for n in names]


def ours(name, case, seed):
    folder, run = f"{OUT}/{case['data']}", f"{OUT}/run-{name.replace(' ', '-')}-{seed}"
    with open(f'{folder}/sizes.json') as f:
        sizes = json.load(f)
    os.makedirs(run, exist_ok=True)
    subprocess.run(['rm', '-rf', f'{run}/m'], check=True)
    with open(f'{folder}/train/part.csv') as f:
        numbers = sum(c.startswith('n') for c in f.readline().strip().split(','))
    with open(f'{run}/pipeline.config', 'w') as f:
        f.write(config(case, sizes, folder, numbers))
    command = [TRAINYARD, 'train', 'pipeline.config', '--seed', str(seed), '--threads', '2']
    done = subprocess.run(command, cwd=run, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'{name}: {done.stderr}')
    with open(f'{run}/m/train_eval_result_v2.txt') as f:
        lines = [json.loads(x) for x in f]
    best = max(lines, key=lambda x: sum(result(x, case['tasks'])))
    command = [TRAINYARD, 'eval', 'pipeline.config', '--checkpoint', f"m/model.ckpt-{best['global_step']}",
               '--eval-input', f'{folder}/test/*.csv', '--json', '--threads', '2']
    done = subprocess.run(command, cwd=run, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'{name}: {done.stderr}')
    subprocess.run(['rm', '-rf', run], check=True)
    return result(json.loads(done.stdout), case['tasks'])


def environment():
    """Debian's OpenBLAS does not know newer processors and would fall back to its oldest kernels."""
    with open('/proc/cpuinfo') as f:
        flags = f.read()
    known = 'SkylakeX' if 'avx512bw' in flags else 'Haswell' if 'avx2' in flags else ''
    return dict(os.environ, OPENBLAS_CORETYPE=known, OPENBLAS_NUM_THREADS='1')


def peer(name, case, seed):
    """PyTorch's side does not change with our program, so it is kept in OUT as long as its own
    code, the case, the data and PyTorch are the same."""
    sizes = {s: os.path.getsize(f"{OUT}/{case['data']}/{s}") for s in ('data.npz', 'sizes.json')}
    with open(f'{HERE}/torch_peer.py', 'rb') as f:
        key = f.read() + json.dumps([name, case, seed, FIRST, sizes, TORCH], sort_keys=True).encode()
    kept = f'{OUT}/peer-{hashlib.sha256(key).hexdigest()[:16]}.json'
    if not os.path.exists(kept):
        command = [PYTHON, f'{HERE}/torch_peer.py', f"{OUT}/{case['data']}", name, str(seed)]
        got = subprocess.run(command, check=True, capture_output=True, text=True, env=environment()).stdout
        with open(f'{kept}.part', 'w') as f:
            f.write(got)
        os.replace(f'{kept}.part', kept)
    with open(kept) as f:
        return json.load(f)


def main():
    rows, short = [], False
    print(f"{'AUC of the test set':30} {'PyTorch':>8} {'ours':>8} {'diff':>8} {'bar':>6}", flush=True)
    for name, case in CASES.items():
        if ONLY not in name:
            continue
        mine, theirs = [], []
        for seed in SEEDS:
            mine.append(ours(name, case, seed))
            theirs.append(peer(name, case, seed))
        for i, task in enumerate(case['tasks']):
            a, b = mean([x[i] for x in mine]), mean([x[i] for x in theirs])
            good = a - b >= -BAR
            short |= not good
            label = f'{name} {task}'.strip()
            rows.append({'case': label, 'peer': b, 'ours': a, 'diff': a - b, 'bar': -BAR, 'ok': good,
                         'seeds': SEEDS, 'peer_each': [x[i] for x in theirs], 'ours_each': [x[i] for x in mine]})
            print(f"{label:30} {b:8.4f} {a:8.4f} {a - b:+8.4f} {-BAR:6} {'ok' if good else 'short'}", flush=True)
    if not ONLY:
        os.makedirs('bench/results', exist_ok=True)
        with open('bench/results/quality.json', 'w') as f:
            json.dump({'machine': platform.processor() or platform.machine(), 'rows': rows}, f, indent=1)
            f.write('\n')
    sys.exit(1 if short else 0)


main()
