#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ten steps of every dense optimizer, by PyTorch (Debian's python3-torch).

    tests/golden/optim.py > tests/golden/optim.txt

Two parameters, `tower.weight` and `tower.bias`, with fixed values and gradients that are
written along. Read by tests/unit/nn/test_optim.c.
"""
import math

import torch

STEPS = 10
KEEP = (1, 2, 5, 10)
NAMES = (('tower.weight', 19), ('tower.bias', 5))

torch.set_num_threads(1)


def sequence(n, seed):
    """Numbers between -1 and 1 without a pattern; the same on every machine."""
    x, out = seed, []
    for _ in range(n):
        x = (x * 1103515245 + 12345) % 2 ** 31
        out.append(x / 2 ** 30 - 1)
    return torch.tensor(out, dtype=torch.float32)


FIRST = [sequence(n, 7 + n) for _, n in NAMES]
GRADS = [[sequence(n, 1000 * t + n) * (3.0 if t % 4 == 0 else 0.5) for _, n in NAMES]
         for t in range(STEPS)]


def line(key, tensor):
    print(f'num {key} ' + ' '.join(f'{x:.9g}' for x in tensor.flatten().tolist()))


def show_params(suffix, params):
    for (name, _), p in zip(NAMES, params):
        line(f'{name}{suffix}', p.detach())


def run(name, conf, make):
    """One optimizer over both parameters."""
    params = [torch.nn.Parameter(x.clone()) for x in FIRST]
    optimizer = make(params)
    print(f'case {name}\ntext conf {conf} constant_learning_rate {{}}')
    for t in range(STEPS):
        for p, g in zip(params, GRADS[t]):
            p.grad = g.clone()
        optimizer.step()
        if t + 1 in KEEP:
            show_params(f'@{t + 1}', params)


def run_whole():
    """A part with its own optimizer, a schedule, clipping by norm, a moving average."""
    params = [torch.nn.Parameter(x.clone()) for x in FIRST]
    main = torch.optim.AdamW([params[0]], lr=0.05, weight_decay=0.1)
    part = torch.optim.SGD([params[1]], lr=0.2, momentum=0.5)
    avg = None
    print('case whole')
    print('text conf adamw_optimizer { lr: 0.05 weight_decay: 0.1 } '
          'cosine_annealing_learning_rate { T_max: 12 } ema { decay: 0.8 } part_optimizers { '
          'regex_pattern: "model\\\\..*\\\\.bias" sgd_optimizer { lr: 0.2 momentum: 0.5 } }')
    print('text clip clipping_type: "norm" max_gradient: 1.5')
    for t in range(STEPS):
        turn = 0.5 * (1 + math.cos(math.pi * t / 12))
        main.param_groups[0]['lr'] = 0.05 * turn
        part.param_groups[0]['lr'] = 0.2 * turn
        for p, g in zip(params, GRADS[t]):
            p.grad = g.clone()
        norm = torch.nn.utils.clip_grad_norm_(params, 1.5)
        main.step()
        part.step()
        now = [p.detach().clone() for p in params]
        avg = now if avg is None else [0.8 * a + 0.2 * p for a, p in zip(avg, now)]
        if t + 1 in KEEP:
            line(f'norm@{t + 1}', norm)
            show_params(f'@{t + 1}', params)
            show_params(f'.ema@{t + 1}', avg)


def run_clip(name, conf, clip):
    """What clipping makes of the first gradients."""
    params = [torch.nn.Parameter(x.clone()) for x in FIRST]
    for p, g in zip(params, GRADS[0]):
        p.grad = g.clone()
    norm = clip(params)
    print(f'case {name}\ntext clip {conf}')
    if norm is not None:
        line('norm', norm)
    show_params('.grad', [p.grad for p in params])


def main():
    o = torch.optim
    print('# written by tests/golden/optim.py')
    print('case inputs')
    show_params('', FIRST)
    for t in range(STEPS):
        show_params(f'.grad@{t + 1}', GRADS[t])
    run('sgd', 'sgd_optimizer { lr: 0.1 momentum: 0 weight_decay: 0.05 }',
        lambda p: o.SGD(p, lr=0.1, weight_decay=0.05))
    run('sgd default', 'sgd_optimizer { lr: 0.1 }', lambda p: o.SGD(p, lr=0.1, momentum=0.9))
    run('sgd dampened', 'sgd_optimizer { lr: 0.1 momentum: 0.8 dampening: 0.3 weight_decay: 0.01 }',
        lambda p: o.SGD(p, lr=0.1, momentum=0.8, dampening=0.3, weight_decay=0.01))
    run('sgd nesterov', 'sgd_optimizer { lr: 0.1 momentum: 0.8 nesterov: true weight_decay: 0.01 }',
        lambda p: o.SGD(p, lr=0.1, momentum=0.8, nesterov=True, weight_decay=0.01))
    run('adagrad', 'adagrad_optimizer { lr: 0.1 }', lambda p: o.Adagrad(p, lr=0.1))
    run('adagrad started', 'adagrad_optimizer { lr: 0.1 initial_accumulator_value: 0.2 '
        'weight_decay: 0.02 eps: 0.001 }',
        lambda p: o.Adagrad(p, lr=0.1, initial_accumulator_value=0.2, weight_decay=0.02, eps=1e-3))
    run('adam', 'adam_optimizer { lr: 0.05 }', lambda p: o.Adam(p, lr=0.05))
    run('adam decayed', 'adam_optimizer { lr: 0.05 beta1: 0.7 beta2: 0.95 weight_decay: 0.1 '
        'eps: 1e-4 }',
        lambda p: o.Adam(p, lr=0.05, betas=(0.7, 0.95), weight_decay=0.1, eps=1e-4))
    run('adam amsgrad', 'adam_optimizer { lr: 0.05 beta2: 0.9 amsgrad: true }',
        lambda p: o.Adam(p, lr=0.05, betas=(0.9, 0.9), amsgrad=True))
    run('adamw', 'adamw_optimizer { lr: 0.05 }', lambda p: o.AdamW(p, lr=0.05, weight_decay=0))
    run('adamw decayed', 'adamw_optimizer { lr: 0.05 weight_decay: 0.3 amsgrad: true }',
        lambda p: o.AdamW(p, lr=0.05, weight_decay=0.3, amsgrad=True))
    run('adadelta', 'adadelta_optimizer { lr: 1 weight_decay: 0.01 }',
        lambda p: o.Adadelta(p, lr=1, rho=0.95, eps=1e-6, weight_decay=0.01))
    run('rmsprop', 'rmsprop_optimizer { lr: 0.01 weight_decay: 0.01 }',
        lambda p: o.RMSprop(p, lr=0.01, weight_decay=0.01))
    run_whole()
    norm = torch.nn.utils.clip_grad_norm_
    for kind in (1.0, 2.0, 3.5, math.inf):
        run_clip(f'clip norm {kind}', f'clipping_type: "NORM" max_gradient: 0.25 norm_type: {kind}',
                 lambda p, kind=kind: norm(p, 0.25, norm_type=kind))
    run_clip('clip norm large', 'clipping_type: "norm" max_gradient: 1000',
             lambda p: norm(p, 1000.0))
    run_clip('clip value', 'clipping_type: "value" max_gradient: 0.25',
             lambda p: torch.nn.utils.clip_grad_value_(p, 0.25))


if __name__ == '__main__':
    main()
