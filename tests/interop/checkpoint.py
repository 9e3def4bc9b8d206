#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""checkpoint.py TRAINYARD CKPT_TOOL - our files in the safetensors package and in
trainyard_ckpt.py, theirs in ours. Works in the current directory; exits 1 when anything
differs."""
import glob
import json
import os
import subprocess
import sys

import numpy as np
import safetensors
import safetensors.numpy as sn

import trainyard_ckpt as tc

TRAINYARD, TOOL = sys.argv[1:3]
checks = 0


def check(ok, what):
    global checks
    checks += 1
    if not ok:
        sys.exit(f'DIFFERENT: {what}')


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def params(path):
    out = subprocess.run([TRAINYARD, 'params', '--json', path], check=True, capture_output=True).stdout
    return {t['name']: t for t in json.loads(out)['tensors']}


def values(path, name):
    out = subprocess.run([TOOL, 'values', path, name], check=True, capture_output=True, text=True).stdout
    return np.array([float.fromhex(x) for x in out.split()], np.float32)


def theirs(path):
    out = {}
    for file in sorted(glob.glob(f'{path}/*.safetensors')):
        with safetensors.safe_open(file, 'numpy') as f:
            for name in f.keys():
                out[name] = f.get_tensor(name)
    return out


def ours_in_theirs():
    subprocess.run([TOOL, 'write', 'ours'], check=True)
    ckpt = 'ours/model.ckpt-7'
    mine, other, listed = tc.Checkpoint('ours'), theirs(ckpt), params('ours')
    check(set(mine) == set(other) == set(listed), 'names of a checkpoint of ours')
    check(len(glob.glob(f'{ckpt}/model-*.safetensors')) > 2, 'number of shards')
    for name in mine:
        check(same(mine[name], other[name]), name)
        check(listed[name]['shape'] == list(other[name].shape), f'shape of {name}')
    check(mine.step == 7 and mine.epoch == 1 and mine.config == 'model_dir: "é"\n', 'step, epoch, config')
    check(mine.state['cursor'] == {'row': 5, 'x': 0.1}, 'blob')
    check(same(mine['fc.weight'], (np.arange(24, dtype=np.float32) / np.float32(3)).reshape(2, 3, 4)), 'fc.weight')
    w, used = mine['embedding.user.weight'], mine.used('user')
    check(used.sum() == 334 and used[0] and used[999] and not used[1], 'used rows')
    check((w[used, 0] == np.flatnonzero(used)).all(), 'used rows hold what training left')
    check((np.abs(w[~used]) <= 0.5).all() and (w[~used] != 0).all(), 'unused rows hold initial values')
    check(mine['optimizer.embedding.item "ä".weight.momentum1'].shape == (1000,), 'rowwise state')
    for name in ('fc.weight', 'embedding.user.weight'):
        check(same(values(ckpt, name), other[name].reshape(-1)), f'{name} as floats')


def theirs_in_ours():
    rng = np.random.default_rng(1)
    arrays = {'f32': rng.normal(size=(3, 5)).astype(np.float32), 'f16': rng.normal(size=7).astype(np.float16),
              'f64': rng.normal(size=(2, 2)), 'scalar': np.array(2.5, np.float32), 'none': np.zeros((0, 3), np.float32),
              'i64': np.arange(4), 'bool': np.array([True, False]), 'u8': np.arange(9, dtype=np.uint8),
              'é"\\': np.ones(1, np.float32)}
    sn.save_file(arrays, 'theirs.safetensors', metadata={'format': 'np'})
    listed, read = params('theirs.safetensors'), tc.load('theirs.safetensors')
    check(set(listed) == set(arrays) == set(read), 'names of a file of theirs')
    for name, a in arrays.items():
        check(same(read[name], a), f'{name} of theirs')
        check(listed[name]['bytes'] == a.nbytes and listed[name]['shape'] == list(a.shape), f'{name} listed')
        if a.dtype.kind == 'f':
            check(same(values('theirs.safetensors', name), a.astype(np.float32).reshape(-1)), f'{name} as floats')


def through_python():
    """A checkpoint read and written by the module is the same to all three."""
    first = tc.Checkpoint('ours')
    path = tc.save('copy', tc.load('ours'), step=7, epoch=1, config=first.config, state=first.state,
                   parts=first.parts.get, shard_bytes=20000)
    again, other, listed = tc.Checkpoint('copy'), theirs(path), params('copy')
    check(set(first) == set(again) == set(other) == set(listed), 'names of the copy')
    for name in first:
        check(same(first[name], again[name]) and same(first[name], other[name]), f'{name} of the copy')
        check(first.parts[name] == again.parts[name] == listed[name]['part'], f'part of {name}')
    names = sorted(os.path.basename(x) for x in glob.glob('ours/model.ckpt-7/*'))
    check(names == sorted(os.path.basename(x) for x in glob.glob(f'{path}/*')), 'file names of the copy')


def damage_is_seen():
    file = sorted(glob.glob('copy/model.ckpt-7/model-*'))[0]
    with open(file, 'r+b') as f:
        f.seek(-5, 2)
        byte = f.read(1)
        f.seek(-5, 2)
        f.write(bytes([byte[0] ^ 1]))
    try:
        tc.Checkpoint('copy')
        check(False, 'damage seen by the module')
    except tc.CheckpointError as e:
        check('damaged' in str(e), str(e))
    run = subprocess.run([TRAINYARD, 'params', 'copy'], capture_output=True, text=True)
    check(run.returncode == 1 and 'E1507' in run.stderr and 'is damaged' in run.stderr, run.stderr)
    tc.Checkpoint('copy', verify=False)


ours_in_theirs()
theirs_in_ours()
through_python()
damage_is_seen()
print(f'checkpoint.py: {checks} comparisons with safetensors {safetensors.__version__}')
