#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Metrics by brute force from their definitions (Debian's python3-numpy).

    tests/golden/metric.py > tests/golden/metric.txt

Every value is worked out over all thresholds or all pairs, slowly and plainly. `nan` is a
metric without a value. Read by tests/unit/nn/test_metric.c.
"""
import math

import numpy as np

f32 = np.float32


def sequence(n, seed):
    """Numbers in [0, 1) without a pattern; the same on every machine."""
    x, out = seed, []
    for _ in range(n):
        x = (x * 1103515245 + 12345) % 2 ** 31
        out.append((x >> 8) / 2 ** 23)
    return np.array(out)


def numbers(values):
    return ' '.join(f'{float(v):.9g}' for v in np.asarray(values).flatten())


def show(name, kind, conf, pred, label, values, batches=None, group=None):
    pred = np.asarray(pred, f32)
    print(f'case {name}\ntext kind {kind}\ntext conf {conf}')
    print(f'num width {1 if pred.ndim == 1 else pred.shape[1]}')
    print('num batches ' + numbers(batches or [len(pred)]))
    print('num pred ' + numbers(pred))
    print('num label ' + numbers(label))
    if group is not None:
        print('num group ' + ' '.join(str(int(g)) for g in group))
    print('num value ' + ' '.join(repr(float(v)) for v in np.atleast_1d(values)))


def thresholds(n):
    """torch.linspace(0, 1, n) in float32: from the nearer end, one rounding each."""
    step = float(f32(1) / f32(n - 1))
    return np.array([step * k if k < n // 2 else 1 - step * (n - 1 - k) for k in range(n)], f32)


def rates(pred, label, n):
    """False and true positives at each threshold, highest first."""
    pred, label = np.asarray(pred, f32), np.asarray(label)
    tau = thresholds(n)[::-1]
    return (np.array([np.sum((pred >= t) & (label == 0)) for t in tau], float),
            np.array([np.sum((pred >= t) & (label == 1)) for t in tau], float))


def area(fp, tp):
    if fp[-1] == 0 or tp[-1] == 0:
        return 0.0
    x, y = fp / fp[-1], tp / tp[-1]
    return float(np.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2))


def binned_auc(pred, label, n=200):
    if len(set(label)) < 2:
        return math.nan
    return area(*rates(pred, label, n))


def exact_auc(pred, label):
    positive = [p for p, y in zip(pred, label) if y == 1]
    negative = [p for p, y in zip(pred, label) if y == 0]
    if not positive or not negative:
        return math.nan
    won = sum((a > b) + 0.5 * (a == b) for a in positive for b in negative)
    return won / len(positive) / len(negative)


def right_pairs(pred, label):
    n = len(pred)
    right = sum((label[i] < label[j] and pred[i] < pred[j]) or
                (label[i] > label[j] and pred[i] > pred[j])
                for j in range(n) for i in range(j))
    return right / (n * (n - 1) / 2) if n > 1 else math.nan


def sigmoid(x):
    return (1 / (1 + np.exp(-np.asarray(x, float)))).astype(f32)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)).astype(f32)


def multiclass(pred, label, weighted, n=200):
    areas, support = [], []
    for c in range(pred.shape[1]):
        mine = (label == c).astype(int)
        areas.append(area(*rates(pred[:, c], mine, n)))
        support.append(mine.sum())
    return float(np.average(areas, weights=support if weighted else None))


def entropy(pred, label, eta=1e-12):
    p, y = np.asarray(pred, f32).astype(float), np.asarray(label, float)
    with np.errstate(divide='ignore'):
        loss = -(y * np.maximum(np.log(p), -100) + (1 - y) * np.maximum(np.log(1 - p), -100))
    r = min(max(y.mean(), eta), 1 - eta)
    return loss.sum() / -(y.sum() * math.log(r) + (1 - y).sum() * math.log(1 - r))


def ranked(pred, label, k):
    """Share of rows whose label is among the first k of a stable descending sort."""
    order = np.argsort(-pred, axis=1, kind='stable')
    return float(np.mean([label[i] in order[i, :k] for i in range(len(label))]))


def show_binary():
    n = 110
    pred = f32(sequence(n, 1))
    label = (sequence(n, 2) < 0.3 + 0.4 * pred).astype(int)
    rough = f32(np.round(pred * 20) / 20)          # ties, exact 0, 0.5 and 1
    low = f32(pred * 0.004)                        # crowded into the first bin
    for name, p in (('smooth', pred), ('rough', rough), ('low', low),
                    ('equal', f32(np.full(n, 0.25))), ('ones', f32(np.ones(n)))):
        for t in (2, 200, 1001):
            show(f'auc {name} {t}', 'metric', f'auc {{ thresholds: {t} }}', p, label,
                 binned_auc(p, label, t), [40, 1, 69])
        show(f'exact auc {name}', 'exact', '', p, label, exact_auc(p, label), [40, 1, 69])
    logits = f32(sequence(n, 3) * 8 - 4 + label)
    show('auc logits', 'metric', 'auc {}', logits, label, binned_auc(sigmoid(logits), label))
    show('exact auc logits', 'exact', '', logits, label, exact_auc(logits, label))
    # Only the second batch is taken for logits.
    mixed = np.concatenate([pred[:40], logits[40:]])
    show('auc mixed', 'metric', 'auc {}', mixed, label,
         binned_auc(np.concatenate([pred[:40], sigmoid(logits[40:])]), label), [40, 70])
    for y in (0, 1):
        one = np.full(n, y)
        for name, conf in (('auc', 'auc {}'), ('normalized entropy', 'normalized_entropy {}')):
            show(f'{name} all {y}', 'metric', conf, pred, one, math.nan)
        show(f'exact auc all {y}', 'exact', '', pred, one, math.nan)
    show('accuracy', 'metric', 'accuracy {}', rough, label, np.mean((rough > f32(.5)) == label))
    show('accuracy high', 'metric', 'accuracy { threshold: 0.8 }', rough, label,
         np.mean((rough > f32(.8)) == label), [50, 60])
    show('normalized entropy', 'metric', 'normalized_entropy {}', rough, label,
         entropy(rough, label), [50, 60])
    show('normalized entropy wide', 'metric', 'normalized_entropy { eta: 0.4 }', pred[:90],
         (np.arange(90) < 9).astype(int), entropy(pred[:90], (np.arange(90) < 9).astype(int), .4))
    group = (sequence(n, 4) * 20).astype(int) * 10 ** 12 - 7 * 10 ** 12
    for name, p in (('smooth', pred), ('rough', rough)):
        per = [exact_auc(p[group == g], label[group == g]) for g in sorted(set(group))]
        show(f'grouped auc {name}', 'metric', 'grouped_auc { grouping_key: "uid" }', p, label,
             np.mean([v for v in per if not math.isnan(v)]), [40, 1, 69], group)
    show('grouped auc one label each', 'metric', 'grouped_auc { grouping_key: "uid" }', pred[:4],
         [0, 1, 0, 1], math.nan, None, [5, 6, 5, 6])


def show_classes():
    n, classes = 60, 5
    raw = sequence(n * classes, 11).reshape(n, classes)
    pred = f32(raw / raw.sum(axis=1, keepdims=True))
    label = (sequence(n, 12) * 4).astype(int)      # the fifth class never occurs
    pred = f32(0.6 * pred + 0.4 * np.eye(classes)[(label + (sequence(n, 13) * 2).astype(int)) % 5])
    logits = f32(np.log(pred) * 3 + 1.5)
    for average in ('macro', 'weighted'):
        conf = f'multiclass_auc {{ average: "{average}" thresholds: 100 }}'
        show(f'multiclass auc {average}', 'metric', conf, pred, label,
             multiclass(pred, label, average == 'weighted', 100), [40, 20])
        show(f'multiclass auc {average} logits', 'metric', conf, logits, label,
             multiclass(softmax(logits.astype(float)), label, average == 'weighted', 100))
    show('multiclass auc one class', 'metric', 'multiclass_auc {}', pred, np.full(n, 2), math.nan)
    rough = f32(np.round(pred * 8) / 8)
    for k in (1, 2, 5):
        show(f'accuracy top {k}', 'metric', f'accuracy {{ top_k: {k} }}', rough, label,
             ranked(rough, label, k), [40, 20])
    for k in (1, 3):
        show(f'recall {k}', 'metric', f'recall_at_k {{ top_k: {k} }}', pred, label,
             ranked(pred, label, k), [40, 20])
    # A tie counts against the target: it is moved behind its equals.
    worst = rough.astype(float) - 1e-3 * np.eye(classes)[label]
    show('recall ties', 'metric', 'recall_at_k { top_k: 2 }', rough, label,
         ranked(worst, label, 2))
    some = label.copy()
    some[::3] = -1
    show('recall some without target', 'metric', 'recall_at_k { top_k: 2 }', pred, some,
         ranked(pred[some >= 0], some[some >= 0], 2))
    show('recall no targets', 'metric', 'recall_at_k {}', pred, np.full(n, -1), math.nan)


def show_values():
    n = 100
    label = f32(np.round(sequence(n, 21) * 12))    # ties
    pred = f32(np.round(label * 2 + sequence(n, 22) * 30) / 4)
    d = pred.astype(float) - label
    show('mean absolute error', 'metric', 'mean_absolute_error {}', pred, label,
         np.mean(np.abs(d)), [70, 30])
    show('mean squared error', 'metric', 'mean_squared_error {}', pred, label, np.mean(d * d),
         [70, 30])
    show('xauc in batch', 'metric', 'xauc { in_batch: true }', pred, label,
         np.mean([right_pairs(pred[:70], label[:70]), right_pairs(pred[70:99], label[70:99])]),
         [70, 29, 1])
    show('xauc all', 'metric', 'xauc { max_pairs: 1000000 }', pred, label,
         right_pairs(pred, label), [70, 30])
    show('xauc one row', 'metric', 'xauc {}', pred[:1], label[:1], math.nan)
    show('xauc few rows', 'metric', 'xauc {}', pred[:40], label[:40], math.nan)
    group = (sequence(n, 23) * 15).astype(int)
    total = weights = 0
    for g in sorted(set(group)):
        rows = group == g
        if rows.sum() > 1:
            total += rows.sum() * right_pairs(pred[rows], label[rows])
            weights += rows.sum()
    show('grouped xauc', 'metric', 'grouped_xauc { grouping_key: "uid" max_pairs_per_group: 1000 }',
         pred, label, total / weights, [70, 30], group)
    show('grouped xauc single rows', 'metric', 'grouped_xauc { grouping_key: "uid" }', pred[:3],
         label[:3], math.nan, None, [1, 2, 3])


def show_trained():
    """Values after each batch; decay 0.75, refreshed every second batch."""
    n, size = 108, 12
    pred = f32(sequence(n, 31))
    label = (sequence(n, 32) < 0.2 + 0.6 * pred).astype(int)
    parts = [slice(i, i + size) for i in range(0, n, size)]
    history, value, auc_values, mae_values = None, 0.0, [], []
    for i, part in enumerate(parts):
        if i % 2 == 1:
            both = slice(parts[i - 1].start, part.stop)
            new = np.array(rates(pred[both], label[both], 50))
            history = new if history is None else 0.75 * history + 0.25 * new
            v = float(np.mean(np.abs(pred[both].astype(float) - label[both])))
            value = v if value == 0 else 0.75 * value + 0.25 * v
        auc_values.append(math.nan if history is None else area(*history))
        mae_values.append(value or math.nan)
    show('train auc', 'train', 'auc { thresholds: 50 } decay_rate: 0.75 decay_step: 2', pred, label,
         auc_values, [size] * len(parts))
    show('train mean absolute error', 'train', 'mean_absolute_error {} decay_rate: 0.75 '
         'decay_step: 2', pred, label, mae_values, [size] * len(parts))


if __name__ == '__main__':
    print('# written by tests/golden/metric.py')
    show_binary()
    show_classes()
    show_values()
    show_trained()
