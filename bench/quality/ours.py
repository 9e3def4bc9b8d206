# SPDX-License-Identifier: Apache-2.0
"""Our side of a case: trains, takes the epoch that is best on the valid set, and measures the test set."""
import json
import os
import subprocess
import sys

from cases import config


def measure(case):
    """What is compared: the exact AUC, or a metric that the case's config asks for."""
    return case.get('measure', 'exact_auc')


def result(lines, case):
    """The measure of each task of a line of JSON."""
    return [lines[f'{measure(case)}_{t}' if t else measure(case)] for t in case['tasks']]


def text_of(case, folder):
    """The pipeline.config of a case on the data in `folder`."""
    with open(f'{folder}/sizes.json') as f:
        sizes = json.load(f)
    with open(f'{folder}/train/part.csv') as f:
        numbers = sum(c.startswith('n') for c in f.readline().strip().split(','))
    return config(case, sizes, folder, numbers)


def said(command, name, run):
    done = subprocess.run(command, cwd=run, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f'{name}: {done.stderr}')
    return done.stdout


def run(program, out, name, case, seed, text, options):
    """The measure of each task; `options` are those of both commands."""
    folder, where = f"{out}/{case['data']}", f"{out}/run-{name.replace(' ', '-')}-{seed}"
    os.makedirs(where, exist_ok=True)
    subprocess.run(['rm', '-rf', f'{where}/m'], check=True)
    with open(f'{where}/pipeline.config', 'w') as f:
        f.write(text)
    said([program, 'train', 'pipeline.config', '--seed', str(seed), *options], name, where)
    with open(f'{where}/m/train_eval_result_v2.txt') as f:
        lines = [json.loads(x) for x in f]
    best = max(lines, key=lambda x: sum(result(x, case)))
    got = said([program, 'eval', 'pipeline.config', '--checkpoint', f"m/model.ckpt-{best['global_step']}",
                '--eval-input', f'{folder}/test/*.csv', '--json', *options], name, where)
    subprocess.run(['rm', '-rf', where], check=True)
    return result(json.loads(got), case)
