#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torchscript.py TRAINYARD PYTHON - scripted models, called as TorchEasyRec's predictor calls them, against
`predict` on the same rows. The batch is cut and put together again first, so that lengths and padding are
not those that the model was made with."""
import json
import os
import subprocess
import sys

import torch

TRAINYARD, PYTHON = sys.argv[1:3]
LIMIT = 1e-5
HERE = os.path.dirname(os.path.abspath(__file__))


def trainyard(*args, fails=None):
    r = subprocess.run([TRAINYARD, *args], capture_output=True, text=True)
    if (r.returncode != 0) != (fails is not None) or (fails and fails not in r.stderr):
        raise SystemExit('torchscript.py: %s: %s%s' % (' '.join(args), r.stdout, r.stderr))
    return r.stdout


def shared_cases():
    """HEAD and MODELS of export.py, which needs packages that are not here."""
    with open(os.path.join(HERE, 'export.py'), encoding='utf-8') as f:
        text = f.read()
    names = {}
    exec(text[text.index("HEAD = '''"):text.index('\ndef ')], names)  # pylint: disable=exec-used
    return names['HEAD'], names['MODELS']


def read_tensors(path):
    sys.path.insert(0, os.path.join(HERE, '..', '..', 'python'))
    import trainyard_torchscript
    return trainyard_torchscript.read_tensors(path)


# Every kind of input and the rarer ops: two histories, weights of attention, a loop, convolutions, two towers.
CASES = [('deepfm', 'f32'), ('deepfm', 'int8'), ('deepfm', 'int4'), ('deepfm', 'int2'), ('multi_tower_din', 'bf16'),
         ('dien:augru', 'f32'), ('fgcnn', 'f32'), ('dssm', 'f32'), ('bst', 'f32'),
         ('match_towers', 'f32'), ('text_cnn', 'f32')]


def rows_of(features, name, rows):
    """Tensors of one feature, for these rows only."""
    values, lengths = features[name + '.values'], features.get(name + '.lengths')
    if lengths is None:
        return {name + '.values': values[rows]}
    ends = torch.cumsum(lengths, 0)
    at = torch.cat([torch.arange(int(ends[r] - lengths[r]), int(ends[r])) for r in rows])
    return {name + '.values': values[at], name + '.lengths': lengths[rows]}


def call(model, features, rows):
    data = {}
    for key in features:
        if key.endswith('.values'):
            data.update(rows_of(features, key[:-len('.values')], rows))
    with torch.no_grad():
        return model(data, torch.device('cpu'))


def one(name, kind, head, text):
    where = name.replace(':', '-') + '-' + kind
    with open(where + '.config', 'w', encoding='utf-8') as f:
        f.write(head % (where, text))
    trainyard('train', where + '.config', '--set', 'train_config.num_steps=8')
    said = trainyard('export', where + '.config', '--export-dir', where + '.x', '--format', 'torchscript', '--python', PYTHON,
                     '--table-type', kind, '--no-cost', '--sample-rows', '40', '--json')
    assert json.loads(said)['torchscript']['difference'] <= LIMIT, said
    trainyard('predict', '--model', where + '.x', '--input', where + '.x/samples.parquet', '--output', where + '.jsonl')
    with open(where + '.jsonl', encoding='utf-8') as f:
        want = [json.loads(line) for line in f]
    model = torch.jit.load(where + '.x/scripted_model.pt', map_location='cpu')
    model.eval()
    features, worst = read_tensors(where + '.x/features.safetensors'), 0.0
    for rows in ([0], [3, 1, 7], list(range(39, -1, -1))):
        got = call(model, features, rows)
        assert sorted(got) == sorted(want[0]), (sorted(got), sorted(want[0]))
        for output, scores in got.items():
            expected = torch.tensor([want[r][output] for r in rows], dtype=torch.float32)
            assert scores.shape == expected.shape, (output, scores.shape, expected.shape)
            worst = max(worst, float((scores - expected).abs().max()))
    assert worst <= LIMIT, '%s: %g' % (where, worst)
    print('torchscript.py: %s: largest difference %.1e' % (where, worst))


def refusals(head, text):
    with open('bare.py', 'w', encoding='utf-8') as f:
        f.write('#!/bin/sh\necho "ModuleNotFoundError: No module named torch" >&2\nexit 1\n')
    os.chmod('bare.py', 0o755)
    common = ['export', 'deepfm-f32.config', '--format', 'torchscript', '--export-dir', 'no']
    trainyard(*common, '--python', './bare.py', fails='error[E2018]')
    trainyard(*common, '--python', './missing', fails='error[E2018]')
    trainyard(*common, '--python', PYTHON, '--sample-rows', '0', fails='error[E2019]')
    keyed = head.replace('"user_id" expression: "user:user_id" hash_bucket_size: 500',
                         '"user_id" expression: "user:user_id" zch { zch_size: 300 eviction_interval: 2 lfu {} }')
    with open('keyed.config', 'w', encoding='utf-8') as f:
        f.write(keyed % ('keyed', text))
    trainyard('train', 'keyed.config', '--set', 'train_config.num_steps=4')
    trainyard('export', 'keyed.config', '--format', 'torchscript', '--export-dir', 'no', '--python', PYTHON, fails='error[E2019]')
    assert not os.path.exists('no'), 'a failed export left a directory'


def main():
    head, models = shared_cases()
    trainyard('data', 'gen', 'taobao', '--rows', '2000', '--files', '1', '--out', 'data')
    for name, kind in CASES:
        one(name, kind, head, models[name])
    refusals(head, models['deepfm'])


main()
