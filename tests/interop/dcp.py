#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dcp.py TRAINYARD - a model.ckpt-N as TorchEasyRec writes it, by two processes with tables cut by
rows, becomes a checkpoint that predicts and exports as the one that it was made from."""
import json
import os
import subprocess
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

import trainyard_ckpt as tc

TRAINYARD = sys.argv[1]
WORLD = 2
CONFIG = '''
train_input_path: "data/train" eval_input_path: "data/eval" model_dir: "ours"
train_config { num_epochs: 1
  sparse_optimizer { adagrad_optimizer { lr: 0.05 } constant_learning_rate {} }
  dense_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} } }
data_config { batch_size: 128 dataset_type: ParquetDataset fg_mode: FG_DAG label_fields: "clk" }
feature_configs { id_feature { feature_name: "user_id" expression: "user:user_id" hash_bucket_size: 501 embedding_dim: 8 } }
feature_configs { id_feature { feature_name: "cate_id" expression: "item:cate_id" hash_bucket_size: 100 embedding_dim: 8 } }
feature_configs { sequence_id_feature { feature_name: "seen" expression: "user:click_50_seq__cate_id" sequence_delim: "|"
  sequence_length: 20 hash_bucket_size: 100 embedding_dim: 8 embedding_name: "cate_id_emb" } }
model_config {
  feature_groups { group_name: "deep" group_type: DEEP feature_names: ["user_id", "cate_id"] }
  feature_groups { group_name: "seq" group_type: SEQUENCE feature_names: ["cate_id", "seen"] }
  multi_tower_din { towers { input: "deep" mlp { hidden_units: [16, 8] use_bn: true } }
    din_towers { input: "seq" attn_mlp { hidden_units: 8 activation: "Dice" } } final { hidden_units: 8 } }
  losses { binary_cross_entropy {} } metrics { auc {} } }
'''


def trainyard(*args):
    done = subprocess.run([TRAINYARD, *args], capture_output=True, text=True)
    assert done.returncode == 0, f'{args}: {done.stderr[-2000:]}'
    return done.stdout


def as_theirs(name, t):
    """Counters are whole numbers without axes there."""
    return name, t.long().reshape(()) if name.endswith('.num_batches_tracked') else t


# What a real run has beside the weights.
BESIDE = {'model._train_metric_modules.auc._metric_module.true_positives': torch.zeros(200),
          'model._train_metric_modules.auc._step_cnt': torch.tensor(3),
          'model.multiwindow_din.windows_len': torch.tensor([1, 2]),
          'model.multiwindow_din.cumsum_windows_len': torch.tensor([0, 1]),
          'model.group_variational_dropouts.deep.feature_dim_repeat': torch.tensor([8, 8], dtype=torch.int32)}


def check_names():
    """A convolution over one position is a matrix here, and no name has blanks."""
    name, _ = tc.as_ours('model.dense_embs.mlp#4#vdim#2#feature_name#            mv.weight', torch.zeros(8))
    assert name == 'model.dense_embs.mlp#4#vdim#2#feature_name#mv.weight', name
    name, t = tc.as_ours('model.cin.cin_layers.0.weight', torch.arange(36.).reshape(4, 9, 1))
    assert (name, tuple(t.shape)) == ('model.cin.cin_layers.0.weight', (4, 9)) and t[1, 0] == 9
    assert tc.as_ours('model.other.weight', torch.zeros(4, 9, 1))[1].shape == (4, 9, 1)


def save(rank, state, out):
    os.environ.update(MASTER_ADDR='127.0.0.1', MASTER_PORT='29517', RANK=str(rank), WORLD_SIZE=str(WORLD))
    dist.init_process_group('gloo', rank=rank, world_size=WORLD)
    mesh = init_device_mesh('cpu', (WORLD,))
    sharded = {name: distribute_tensor(t, mesh, [Shard(0)]) if '.embedding' in name and t.dim() == 2 else t
               for name, t in state.items()}
    dcp.save(sharded, checkpoint_id=os.path.join(out, 'model'))
    dist.destroy_process_group()


def main():
    check_names()
    with open('c.config', 'w', encoding='utf-8') as f:
        f.write(CONFIG)
    trainyard('data', 'gen', 'taobao', '--rows', '2000', '--files', '1', '--out', 'data')
    trainyard('train', 'c.config')
    ours = tc.Checkpoint('ours')
    weights = ours.torch('model')
    state = dict(as_theirs(name, t) for name, t in weights.items()) | BESIDE
    out = f'theirs/model.ckpt-{ours.step}'
    mp.spawn(save, (state, out), nprocs=WORLD)
    with open(f'{out}/plan', 'w', encoding='utf-8') as f:
        json.dump({}, f)
    parts = [x for x in os.listdir(f'{out}/model') if x.endswith('.distcp')]
    assert len(parts) == WORLD, parts

    tc.main(['from-dcp', out, 'converted'])
    got = tc.Checkpoint('converted')
    assert got.step == ours.step and set(got) == set(weights)
    for name in got:
        assert got[name].tobytes() == ours[name].tobytes(), name

    trainyard('predict', 'c.config', '--input', 'data/eval', '--output', 'a.csv')
    trainyard('predict', 'c.config', '--checkpoint', 'converted', '--input', 'data/eval', '--output', 'b.csv')
    trainyard('export', 'c.config', '--checkpoint', 'converted', '--export-dir', 'x')
    trainyard('predict', '--model', 'x', '--input', 'data/eval', '--output', 'c.csv')
    a, b, c = (open(x, 'rb').read() for x in ('a.csv', 'b.csv', 'c.csv'))
    assert a == b == c and a.count(b'\n') == 201
    want, have = (json.loads(trainyard('eval', 'c.config', '--json', *args)) for args in ((), ('--checkpoint', 'converted')))
    assert want == have, (want, have)
    trainyard('train', 'c.config', '--model-dir', 'tuned', '--fine-tune', 'converted')
    print(f'dcp.py: {len(state)} tensors of torch {torch.__version__}, written by {WORLD} processes, predict the same')


if __name__ == '__main__':
    main()
