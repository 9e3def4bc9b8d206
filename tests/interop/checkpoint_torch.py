#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""checkpoint_torch.py TRAINYARD CKPT_TOOL - to torch and back, unchanged; and a directory of
torch.distributed.checkpoint into a checkpoint."""
import subprocess
import sys

import numpy as np
import torch

import trainyard_ckpt as tc

TRAINYARD, TOOL = sys.argv[1:3]


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def distributed():
    try:
        import torch.distributed.checkpoint as dcp
    except ImportError:
        print(f'checkpoint_torch.py: torch {torch.__version__} has no distributed.checkpoint, from-dcp was not run')
        return
    state = {'embedding.weight': torch.randn(50, 4), 'fc.bias': torch.randn(3)}
    writer = dcp.FileSystemWriter('dcp')
    if hasattr(dcp, 'save'):
        dcp.save(state, storage_writer=writer)
    else:
        dcp.save_state_dict(state, writer, no_dist=True)
    tc.main(['from-dcp', 'dcp', 'pretrain'])
    got = tc.Checkpoint('pretrain').torch()
    assert set(got) == set(state) and all(torch.equal(got[k], state[k]) for k in state)


def main():
    subprocess.run([TOOL, 'write', 'torch_in'], check=True)
    tc.main(['to-torch', 'torch_in', 'all.pth'])
    tc.main(['from-torch', 'all.pth', 'torch_out', '--step', '7'])
    a, b = tc.Checkpoint('torch_in'), tc.Checkpoint('torch_out')
    assert set(a) == set(b) and b.step == 7
    for name in a:
        assert same(a[name], b[name]), name
    subprocess.run([TRAINYARD, 'params', 'torch_out'], check=True, stdout=subprocess.DEVNULL)

    half = torch.arange(-3, 3, dtype=torch.float32).div(7).bfloat16().reshape(2, 3)
    c = tc.Checkpoint(tc.save('bf16', {'h': half}))
    assert c.kinds['h'] == 'BF16' and torch.equal(c.torch()['h'], half)
    assert np.array_equal(c['h'], half.float().numpy())

    distributed()
    print(f'checkpoint_torch.py: {len(a)} tensors to torch {torch.__version__} and back')


main()
