#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Learning rates of every schedule, from the published formulas.

    tests/golden/schedule.py > tests/golden/schedule.txt

Plain Python without other modules; whole-number arithmetic where a formula has a floor of
a logarithm. Read by tests/unit/nn/test_schedule.c.
"""
import math


def warm(o, k):
    return o['wl'] + (o['b'] - o['wl']) * k / o['w']


def exponential(o, k):
    if k < o['w']:
        return warm(o, k)
    p = (k - o['w']) / o['size']
    return max(o['b'] * o['factor'] ** (math.floor(p) if o['stair'] else p), o['m'])


def manual(o, k):
    past = [rate for size, rate in zip(o['sizes'], o['rates']) if size < k]
    if past:
        return past[-1]
    return o['b'] + (o['rates'][0] - o['b']) * k / o['sizes'][0] if o['warm'] else o['b']


def half_cosine(o, at, period):
    return o['m'] + (o['b'] - o['m']) * 0.5 * (1 + math.cos(math.pi * at / period))


def cosine(o, k):
    return warm(o, k) if k < o['w'] else half_cosine(o, min(k - o['w'], o['size']), o['size'])


def restarts(o, k):
    if k < o['w']:
        return warm(o, k)
    e, mult, n = k - o['w'], o['mult'], 0
    if mult == 1:
        return half_cosine(o, e % o['size'], o['size'])
    # The largest n with size * (mult^n - 1) / (mult - 1) <= e.
    while o['size'] * (mult ** (n + 1) - 1) // (mult - 1) <= e:
        n += 1
    begin = o['size'] * (mult ** n - 1) // (mult - 1)
    return half_cosine(o, e - begin, o['size'] * mult ** n)


def show(name, text, by_epoch, lr, o, counts):
    print(f'case {name}')
    print(f'text conf {text}')
    print(f'num by_epoch {int(by_epoch)}')
    print('num k ' + ' '.join(map(str, counts)))
    print('num lr ' + ' '.join(repr(0.0 if o['b'] == 0 else float(lr(o, k))) for k in counts))


def main():
    print('# written by tests/golden/schedule.py')
    few, far = list(range(13)), [0, 1, 7, 99, 100, 101, 1000, 12345, 999999, 10 ** 9]
    show('constant', 'sgd_optimizer { lr: 0.1 } constant_learning_rate {}', True,
         lambda o, k: o['b'], {'b': 0.1}, few + far)

    e = 'exponential_decay_learning_rate'
    base = {'b': .01, 'w': 0, 'wl': 0, 'm': 0, 'size': 1, 'factor': .7, 'stair': True}
    show('exponential', f'sgd_optimizer {{ lr: 0.01 }} {e} {{ decay_size: 1 decay_factor: 0.7 }}',
         False, exponential, base, few)
    show('exponential warmed', f'sgd_optimizer {{ lr: 0.01 }} {e} {{ decay_size: 1 decay_factor: '
         '0.7 warmup_size: 2 warmup_learning_rate: 0.005 }', False, exponential,
         {**base, 'w': 2, 'wl': .005}, few)
    show('exponential stairs', f'sgd_optimizer {{ lr: 0.3 }} {e} {{ decay_size: 100 '
         'min_learning_rate: 0.001 by_epoch: true }', True, exponential,
         {**base, 'b': .3, 'size': 100, 'factor': .95, 'm': .001}, far)
    show('exponential smooth', f'sgd_optimizer {{ lr: 0.3 }} {e} {{ decay_size: 7 staircase: '
         'false warmup_size: 3 }', False, exponential,
         {**base, 'b': .3, 'size': 7, 'factor': .95, 'w': 3, 'stair': False}, few + far)
    show('exponential of zero', f'sgd_optimizer {{ lr: 0 }} {e} {{ decay_size: 7 '
         'warmup_size: 3 warmup_learning_rate: 0.5 min_learning_rate: 0.1 }', False, exponential,
         {**base, 'b': 0.0}, few)

    e = 'manual_step_learning_rate'
    lists = 'schedule_sizes: [2, 4, 8] learning_rates: [0.008, 0.004, 0.002]'
    base = {'b': .01, 'sizes': [2, 4, 8], 'rates': [.008, .004, .002], 'warm': False}
    show('manual', f'sgd_optimizer {{ lr: 0.01 }} {e} {{ {lists} }}', False, manual, base,
         few + far)
    show('manual warmed', f'sgd_optimizer {{ lr: 0.004 }} {e} {{ {lists} warmup: true by_epoch: '
         'true }', True, manual, {**base, 'b': .004, 'warm': True}, few + far)

    e = 'cosine_annealing_learning_rate'
    base = {'b': .01, 'w': 0, 'wl': 0, 'm': 0, 'size': 4}
    show('cosine', f'sgd_optimizer {{ lr: 0.01 }} {e} {{ T_max: 4 }}', False, cosine, base,
         few + far)
    show('cosine warmed', f'sgd_optimizer {{ lr: 0.02 }} {e} {{ T_max: 5000 warmup_size: 50 '
         'warmup_learning_rate: 1e-4 min_learning_rate: 2e-5 by_epoch: true }', True, cosine,
         {**base, 'b': .02, 'size': 5000, 'w': 50, 'wl': 1e-4, 'm': 2e-5}, few + far)

    e = 'cosine_annealing_warm_restarts_learning_rate'
    base = {'b': .01, 'w': 0, 'wl': 0, 'm': 0, 'size': 2, 'mult': 2}
    show('restarts', f'sgd_optimizer {{ lr: 0.01 }} {e} {{ T_0: 2 T_mult: 2 }}', False, restarts,
         base, few + far)
    show('restarts alike', f'sgd_optimizer {{ lr: 0.01 }} {e} {{ T_0: 3 warmup_size: 4 '
         'warmup_learning_rate: 0.003 min_learning_rate: 0.001 }', False, restarts,
         {**base, 'size': 3, 'mult': 1, 'w': 4, 'wl': .003, 'm': .001}, few + far)
    # Periods that triple: 121 = 1 + 3 + 9 + 27 + 81 steps pass before the fifth restart.
    show('restarts tripled', f'sgd_optimizer {{ lr: 0.01 }} {e} {{ T_0: 1 T_mult: 3 }}', False,
         restarts, {**base, 'size': 1, 'mult': 3}, few + [120, 121, 122, 363, 364, 365, 10 ** 15])


if __name__ == '__main__':
    main()
