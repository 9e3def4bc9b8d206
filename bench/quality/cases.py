# SPDX-License-Identifier: Apache-2.0
"""What bench/quality compares: each case once as numbers, from which our config and the PyTorch
model are made. Learning rates are those of Adam, for tables and dense parameters alike."""

CASES = {
    'frappe LR': dict(data='frappe', kind='lr', tasks=[''], batch=1024, epochs=15, lr=.01),
    'frappe DeepFM': dict(data='frappe', kind='deepfm', tasks=[''], batch=1024, epochs=8, lr=.001, dim=10,
                          hidden=[400, 400], bn=True, dropout=.2),
    'census-income MMoE': dict(data='census', kind='mmoe', tasks=['income', 'single'], batch=1024, epochs=4,
                               lr=.001, dim=8, experts=3, hidden=[256, 128], tower=[64]),
    'ml-1m DeepFM': dict(data='ml1m', kind='deepfm', tasks=[''], batch=4096, epochs=3, lr=.001, dim=16,
                         hidden=[256, 128], bn=False, dropout=.2),
    'ml-1m DIN': dict(data='ml1m', kind='din', tasks=[''], batch=4096, epochs=3, lr=.001, dim=16,
                      hidden=[256, 128], attention=[64, 16], final=[64]),
    'ml-1m NCF': dict(data='ml1m', kind='ncf', tasks=[''], batch=4096, epochs=6, lr=.001, dim=16,
                      hidden=[32, 16, 8]),
}
FIRST = 0.01  # deviation of the first values of tables


def _id(name, rows, dim, more=''):
    return f'''feature_configs {{ id_feature {{ feature_name: "{name}" expression: "item:{name}" num_buckets: {rows}
  embedding_dim: {dim} init_fn: "nn.init.normal_,std={FIRST}" {more} }} }}
'''


def _mlp(units, case, more=''):
    text = ' '.join(f'hidden_units: {u}' for u in units)
    text += ' use_bn: true' if case.get('bn') else ''
    text += f" dropout_ratio: {case['dropout']}" if case.get('dropout') else ''
    return f'{{ {text} {more} }}'


def _model(case, names, numbers):
    dim = case.get('dim', 1)
    loss = 'losses { binary_cross_entropy {} } metrics { auc { thresholds: 10000 } }'
    wide = f'''feature_groups {{ group_name: "wide" group_type: WIDE feature_names: {names} }}
'''
    deep = f'''feature_groups {{ group_name: "deep" group_type: DEEP feature_names: {names + numbers} }}
'''
    if case['kind'] == 'lr':  # the deep part sees one constant: a bias
        return wide + '''feature_groups { group_name: "deep" group_type: DEEP feature_names: "zero" }
wide_and_deep { wide_embedding_dim: 1 wide_init_fn: "nn.init.zeros_" deep { hidden_units: 1 } }
''' + loss
    if case['kind'] == 'deepfm':
        return wide + deep + f'''deepfm {{ wide_embedding_dim: 1 wide_init_fn: "nn.init.zeros_"
  deep {_mlp(case['hidden'], case)} }}
''' + loss
    if case['kind'] == 'ncf':  # users and films alone
        groups = ''.join(f'''feature_groups {{ group_name: "{g}" group_type: DEEP feature_names: "{f}" }}
''' for g, f in (('user_mf', 'f0'), ('item_mf', 'f1'), ('user_mlp', 'f0'), ('item_mlp', 'f1')))
        return groups + f'''ncf {{ mlp {_mlp(case['hidden'], case)} }}
''' + loss
    if case['kind'] == 'mmoe':
        towers = ''.join(f'''  task_towers {{ tower_name: "{t}" label_name: "y{i}" mlp {_mlp(case['tower'], case)}
    losses {{ binary_cross_entropy {{}} }} metrics {{ auc {{ thresholds: 10000 }} }} }}
''' for i, t in enumerate(case['tasks']))
        return deep + f'''mmoe {{ expert_mlp {_mlp(case['hidden'], case)} num_expert: {case['experts']}
{towers} }}
'''
    return deep + f'''feature_groups {{ group_name: "seq" group_type: SEQUENCE feature_names: ["f1", "h"] }}
multi_tower_din {{ towers {{ input: "deep" mlp {_mlp(case['hidden'], case)} }}
  din_towers {{ input: "seq" attn_mlp {_mlp(case['attention'], case)} }}
  final {_mlp(case['final'], case)} }}
''' + loss


def config(case, sizes, data, n_numbers):
    """Our pipeline.config."""
    names = [f'f{i}' for i in range(len(sizes))]
    numbers = [f'n{i}' for i in range(n_numbers)]
    dim = case.get('dim', 1)
    din = case['kind'] == 'din'
    features = ''.join(_id(n, s, dim, 'embedding_name: "film"' if din and n == 'f1' else '')
                       for n, s in zip(names, sizes))
    for n in numbers:
        features += f'feature_configs {{ raw_feature {{ feature_name: "{n}" expression: "item:{n}" }} }}\n'
    if case['kind'] == 'lr':
        features += 'feature_configs { raw_feature { feature_name: "zero" expression: "item:zero" } }\n'
    if din:
        features += f'''feature_configs {{ sequence_id_feature {{ feature_name: "h" expression: "user:h"
  sequence_length: 20 sequence_delim: ";" num_buckets: {sizes[1]} embedding_dim: {dim}
  embedding_name: "film" init_fn: "nn.init.normal_,std={FIRST}" }} }}
'''
    labels = ' '.join(f'label_fields: "y{i}"' for i in range(len(case['tasks'])))
    adam = f"adam_optimizer {{ lr: {case['lr']} }} constant_learning_rate {{}}"
    q = str.replace
    return f'''train_input_path: "{data}/train/*.csv" eval_input_path: "{data}/valid/*.csv" model_dir: "m"
train_config {{ num_epochs: {case['epochs']} save_checkpoints_epochs: 1 log_step_count_steps: 1000
  sparse_optimizer {{ {adam} }} dense_optimizer {{ {adam} }} }}
data_config {{ batch_size: {case['batch']} dataset_type: CsvDataset with_header: true fg_mode: FG_DAG {labels}
  shuffle: true shuffle_buffer_size: 64 }}
{features}model_config {{
{q(_model(case, names, numbers), "'", '"')}
}}
'''
