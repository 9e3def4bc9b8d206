# SPDX-License-Identifier: Apache-2.0
"""prepare.py DATA OUT NAME - a public data set as numbers: OUT/NAME/{train,valid,test}.csv for us,
OUT/NAME/data.npz for PyTorch, OUT/NAME/sizes.json. Both sides read the same rows in the same order.

    frappe   app usage, the split 7:2:1 of the Frappe_x1 protocol
    census   Census-Income; the official test set halved into valid and test; tasks income, never
             married, and both together
    ml1m     MovieLens-1M, rating >= 4, each user's ratings split 80/10/10 by time; history of 20 liked films
    turns    every second user of ml1m; beside each film of the history one drawn by chance, and how many
             films ago it was
    likes    what was liked in ml1m with a history before it: the film is the label, the last film of the
             history one more field; all rows are shuffled

Values that training never saw are number 0. Rows are shuffled once, by a fixed seed.
"""
import csv
import io
import json
import os
import subprocess
import sys

import numpy as np

DONE = 'done-2'  # counts what the files hold


def lines(path):
    if path.endswith('.zst'):
        data = subprocess.run(['zstd', '-dcq', path], check=True, capture_output=True).stdout
    else:
        with open(path, 'rb') as f:
            data = f.read()
    return io.StringIO(data.decode('latin-1'))


def numbered(column, known):
    """Texts to numbers from 1 on, as they first occur in training."""
    return np.array([known.get(v, 0) for v in column], np.int64)


def vocabulary(column):
    return {v: i + 1 for i, v in enumerate(dict.fromkeys(column))}


def frappe(data):
    parts = []
    for name in ('train', 'valid', 'test'):
        rows = list(csv.reader(lines(f'{data}/frappe/x1like.{name}.csv.zst')))
        parts.append((rows[0], list(zip(*rows[1:]))))
    names = parts[0][0][1:]
    known = [vocabulary(parts[0][1][i + 1]) for i in range(len(names))]
    out = [{'x': np.stack([numbered(p[i + 1], known[i]) for i in range(len(names))], 1),
            'y': np.array(p[0], np.float32)[:, None]} for _, p in parts]
    return out, [len(k) + 1 for k in known]


def census(data):
    numbers = [0, 5, 16, 17, 18, 30, 39]
    texts = [c for c in range(41) if c not in numbers + [24, 7]]
    parts = []
    for name in ('data', 'test'):
        rows = [r for r in csv.reader(lines(f'{data}/census-income/census-income.{name}.zst'),
                                      skipinitialspace=True) if r]
        parts.append(list(zip(*rows)))
    known = [vocabulary(parts[0][c]) for c in texts]
    both = []
    for p in parts:
        both.append({'x': np.stack([numbered(p[c], k) for c, k in zip(texts, known)], 1),
                     'n': np.log1p(np.stack([np.array(p[c], np.float32) for c in numbers], 1)),
                     'y': np.stack([['50000+' in v for v in p[41]], ['Never married' in v for v in p[7]],
                                    ['50000+' in v and 'Never married' in w for v, w in zip(p[41], p[7])]], 1)
                     .astype(np.float32)})
    half = len(both[1]['y']) // 2
    return [both[0], {k: v[:half] for k, v in both[1].items()}, {k: v[half:] for k, v in both[1].items()}], \
        [len(k) + 1 for k in known]


def ml1m(data):
    users = {r[0]: r[1:] for r in (x.rstrip('\n').split('::') for x in lines(f'{data}/ml-1m/users.dat'))}
    films = {}
    for x in lines(f'{data}/ml-1m/movies.dat'):
        film, title, genres = x.rstrip('\n').split('::')
        genres = (genres.split('|') + [''])[:2]
        films[film] = [title[-5:-1], *genres]
    ratings = [(r['user_id'], int(r['rank']), r['movie_id'], float(r['rating']))
               for r in csv.DictReader(lines(f'{data}/ml-1m/ratings.csv.zst'))]
    ratings.sort(key=lambda r: (int(r[0]), r[1]))
    most = {}
    for user, rank, _, _ in ratings:
        most[user] = max(most.get(user, 0), rank)
    columns = [[], [], [], [], [], [], [], [], []]
    share, y, film_of = [], [], []
    for user, rank, film, rating in ratings:
        gender, age, job, zipcode = users[user]
        for c, v in zip(columns, (user, film, gender, age, job, zipcode[:3], *films[film])):
            c.append(v)
        share.append(rank / (most[user] + 1))
        y.append(rating >= 4)
    known = [vocabulary(c) for c in columns]  # of all rows: every user and film is known
    x = np.stack([numbered(c, k) for c, k in zip(columns, known)], 1)
    history = np.zeros((len(x), 20), np.int64)
    before, last = [], None
    for i in range(len(x)):
        if x[i, 0] != last:
            before, last = [], x[i, 0]
        some = before[-20:]
        history[i, :len(some)] = some
        if y[i]:
            before.append(x[i, 1])
    share, y = np.array(share), np.array(y, np.float32)[:, None]
    masks = share < .8, (share >= .8) & (share < .9), share >= .9
    return [{'x': x[m], 'h': history[m], 'y': y[m]} for m in masks], [len(k) + 1 for k in known]


def turns(data):
    parts, sizes = ml1m(data)
    chance, out = np.random.RandomState(2), []
    for part in parts:
        part = {k: v[part['x'][:, 0] % 2 == 0] for k, v in part.items()}
        used = part['h'] > 0
        part['g'] = np.where(used, chance.randint(1, sizes[1], used.shape), 0)
        part['p'] = np.where(used, used.sum(1, keepdims=True) - np.arange(used.shape[1]), 0)
        out.append(part)
    return out, sizes


def likes(data):
    parts, sizes = ml1m(data)
    chance, out = np.random.RandomState(3), []
    for part in parts:
        some = np.flatnonzero((part['y'][:, 0] > 0) & (part['h'][:, 0] > 0))
        x, h = part['x'][some], part['h'][some]
        last = h[np.arange(len(h)), (h > 0).sum(1) - 1]
        order = chance.permutation(len(x))
        x = np.c_[x, last][order]
        out.append({'x': x, 'h': h[order], 'y': x[:, 1:2].astype(np.float32)})
    return out, [*sizes, sizes[1]]


def write_csv(path, part):
    header = [f'y{i}' for i in range(part['y'].shape[1])] + [f'f{i}' for i in range(part['x'].shape[1])]
    header += [f'n{i}' for i in range(part['n'].shape[1])] if 'n' in part else []
    sequences = [k for k in 'hgp' if k in part]
    header += sequences
    header += ['zero']
    with open(path, 'w') as f:
        f.write(','.join(header) + '\n')
        for i in range(len(part['x'])):
            row = [str(int(v)) for v in part['y'][i]] + [str(v) for v in part['x'][i]]
            row += [repr(float(v)) for v in part['n'][i]] if 'n' in part else []
            row += [';'.join(str(v) for v in part[k][i] if v) for k in sequences]
            f.write(','.join(row) + ',0\n')


def main():
    data, out, name = sys.argv[1:4]
    target = f'{out}/{name}'
    if os.path.exists(f'{target}/{DONE}'):
        return
    parts, sizes = {'frappe': frappe, 'census': census, 'ml1m': ml1m, 'turns': turns, 'likes': likes}[name](data)
    order = np.random.RandomState(1).permutation(len(parts[0]['y']))
    parts[0] = {k: v[order] for k, v in parts[0].items()}
    arrays = {}
    for split, part in zip(('train', 'valid', 'test'), parts):
        os.makedirs(f'{target}/{split}', exist_ok=True)
        write_csv(f'{target}/{split}/part.csv', part)
        arrays.update({f'{split}_{k}': v for k, v in part.items()})
    np.savez(f'{target}/data.npz', **arrays)
    with open(f'{target}/sizes.json', 'w') as f:
        json.dump(sizes, f)
    open(f'{target}/{DONE}', 'w').close()


main()
