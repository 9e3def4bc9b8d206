# SPDX-License-Identifier: Apache-2.0
"""bench/init/compare.py TRAINYARD DATA WORK RESULTS - called by bench/init/run.

Each set goes through `trainyard init` as it is; the options below only say what the file does not: names of columns, which
of them is the label. The rows that init wrote are then split at random, several times for small sets: 80 % to train
on, 10 % for early stopping, 10 % that neither side sees until the end. LightGBM trains on the same 80 %, with its
defaults and text columns as categories. What is compared is the mean AUC of the last 10 %."""
import json
import os
import platform
import shutil
import subprocess
import sys

import lightgbm
import numpy
import pandas

TRAINYARD, DATA, WORK, RESULTS = os.path.abspath(sys.argv[1]), *map(os.path.abspath, sys.argv[2:5])
BAR = .003
ADULT = ('age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex,capital_gain,'
         'capital_loss,hours_per_week,native_country,income')
CENSUS = ','.join(['age', 'class_of_worker', 'industry', 'occupation', 'education', 'wage_per_hour', 'enrolled', 'marital',
                   'major_industry', 'major_occupation', 'race', 'hispanic', 'sex', 'union', 'unemployment_reason',
                   'employment', 'capital_gains', 'capital_losses', 'dividends', 'tax_filer', 'previous_region',
                   'previous_state', 'household', 'household_summary', 'instance_weight', 'migration_msa',
                   'migration_reg', 'migration_within', 'same_house', 'sunbelt', 'employees', 'under_18', 'father',
                   'mother', 'self', 'citizenship', 'business', 'questionnaire', 'veterans', 'weeks_worked', 'year',
                   'income'])
CASES = {
    'adult': ('adult/adult.data', ['--names', ADULT]),
    'frappe': ('frappe/x1like.train.csv', []),
    'criteo': ('criteo/criteo_kaggle_first10000.txt', ['--header', 'none', '--label', 'c0']),
    'avazu': ('avazu/avazu_sample.csv', []),
    'census': ('census-income/census-income.data', ['--names', CENSUS]),
}
ONLY = os.environ.get('CASES', '').split(',') if os.environ.get('CASES') else list(CASES)
CAP = int(os.environ.get('ROWS', '0'))


def auc(label, score):
    label, rank = numpy.asarray(label), pandas.Series(score).rank().to_numpy()
    one = label.sum()
    return float((rank[label == 1].sum() - one * (one + 1) / 2) / (one * (len(label) - one)))


def call(work, *args):
    done = subprocess.run([TRAINYARD, *args], cwd=work, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench init: {' '.join(args)}: {done.stderr}")
    return done


def peer(parts, label):
    """LightGBM as it comes: 100 trees of 31 leaves."""
    parts = [p.copy() for p in parts]
    for name in parts[0].columns:
        if not pandas.api.types.is_numeric_dtype(parts[0][name]):
            codes = {v: i for i, v in enumerate(parts[0][name].dropna().unique())}
            for p in parts:
                p[name] = pandas.Categorical.from_codes([codes.get(v, -1) for v in p[name]], list(codes))
    train, test = parts[0], parts[2]
    made = lightgbm.train({'objective': 'binary', 'verbose': -1, 'num_threads': 2},
                          lightgbm.Dataset(train.drop(columns=label), train[label]), 100)
    return auc(test[label], made.predict(test.drop(columns=label)))


def ours(work, parts, label, split):
    for part, name in zip(parts, ('train', 'valid', 'test')):
        part.to_parquet(f'{work}/{name}.parquet', index=False)
    shutil.rmtree(f'{work}/m', ignore_errors=True)
    call(work, 'train', 'pipeline.config', '--train-input', 'train.parquet', '--eval-input', 'valid.parquet', '--model-dir',
         'm', '--patience', '3', '--seed', str(split + 1), '--threads', '2')
    call(work, 'export', 'm/pipeline.config', '--export-dir', 'm/export')
    call(work, 'predict', '--model', 'm/export', '--input', 'test.parquet', '--output', 'scores.parquet', '--reserved-columns',
         label, '--overwrite')
    scores = pandas.read_parquet(f'{work}/scores.parquet')
    return auc(scores[label], scores['probs'])


def used(work):
    """The label, and the columns that the config reads: LightGBM gets no others either."""
    with open(f'{work}/pipeline.config') as f:
        text = f.read()
    label = text.split('label_fields: ["')[1].split('"')[0]
    names = pandas.read_parquet(f'{work}/all.parquet').columns
    return label, [c for c in names if c == label or f'item:{c}"' in text or f'user:{c}"' in text]


def prepare(name, path, options):
    work = f'{WORK}/{name}'
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    raw = f'{work}/{name}.csv'
    if os.path.exists(path):
        shutil.copy(path, raw)
    else:
        with open(raw, 'wb') as f:
            subprocess.run(['zstd', '-dcq', f'{path}.zst'], stdout=f, check=True)
    said = call(work, 'init', f'{name}.csv', *options).stderr
    rows = pandas.concat(pandas.read_parquet(f'{work}/{name}-data/{s}.parquet') for s in ('train', 'eval'))
    rows.to_parquet(f'{work}/all.parquet', index=False)
    return work, rows.reset_index(drop=True), said


def compare(name):
    path, options = CASES[name]
    work, rows, _ = prepare(name, f'{DATA}/{path}', options)
    if CAP:
        rows = rows.sample(min(CAP, len(rows)), random_state=1).reset_index(drop=True)
    label, columns = used(work)
    rows = rows[columns]
    splits = int(os.environ.get('SPLITS', 0)) or (5 if len(rows) < 20000 else 3 if len(rows) < 100000 else 1)
    mine, theirs = [], []
    for split in range(splits):
        u = numpy.random.default_rng(split).random(len(rows))
        parts = [rows[u < .8], rows[(u >= .8) & (u < .9)], rows[u >= .9]]
        theirs.append(peer(parts, label))
        mine.append(ours(work, parts, label, split))
    a, b = float(numpy.mean(mine)), float(numpy.mean(theirs))
    return {'case': name, 'rows': len(rows), 'splits': splits, 'lightgbm': b, 'ours': a, 'diff': a - b, 'bar': -BAR,
            'ok': a - b >= -BAR, 'ours_each': mine, 'lightgbm_each': theirs}


def save(rows):
    old = []
    if os.path.exists(RESULTS):
        with open(RESULTS) as f:
            old = json.load(f)['rows']
    both = {r['case']: r for r in old + rows}
    with open(f'{RESULTS}.part', 'w') as f:
        json.dump({'machine': platform.processor() or platform.machine(), 'lightgbm': lightgbm.__version__,
                   'rows': [both[c] for c in CASES if c in both]}, f, indent=1)
        f.write('\n')
    os.replace(f'{RESULTS}.part', RESULTS)


def main():
    short, rows = False, []
    print(f"{'AUC of held-out rows':12} {'rows':>8} {'splits':>6} {'LightGBM':>9} {'init':>8} {'diff':>8} {'bar':>6}")
    for name in ONLY:
        path = f'{DATA}/{CASES[name][0]}'
        if not os.path.exists(path) and not os.path.exists(f'{path}.zst'):
            print(f'{name:20} no file {path}')
            continue
        r = compare(name)
        rows.append(r)
        short |= not r['ok']
        print(f"{name:20} {r['rows']:8} {r['splits']:6} {r['lightgbm']:9.4f} {r['ours']:8.4f} {r['diff']:+8.4f} {-BAR:6} "
              f"{'ok' if r['ok'] else 'short'}", flush=True)
    if not rows:
        print('bench init: none of the sets is there')
    elif not CAP:
        save(rows)
    sys.exit(1 if short or not rows else 0)


main()
