# SPDX-License-Identifier: Apache-2.0
"""What bench/quality compares: each case once as numbers, from which our config and the PyTorch
model are made. Learning rates are those of Adam, for tables and dense parameters alike."""

CASES = {
    'frappe LR': dict(data='frappe', kind='lr', tasks=[''], batch=1024, epochs=15, lr=.01),
    'frappe DeepFM': dict(data='frappe', kind='deepfm', tasks=[''], batch=1024, epochs=8, lr=.001, dim=10,
                          hidden=[400, 400], bn=True, dropout=.2),
    'census-income MMoE': dict(data='census', kind='mmoe', tasks=['income', 'single'], batch=1024, epochs=4,
                               lr=.001, dim=8, experts=3, hidden=[256, 128], tower=[64]),
    'census-income PLE': dict(data='census', kind='ple', tasks=['income', 'single'], batch=1024, epochs=4,
                              lr=.001, dim=8, own=1, shared=2, hidden=[[128], [64]], tower=[32]),
    'census-income ESMM': dict(data='census', kind='esmm', tasks=['single', 'both'], labels=[1, 2], batch=1024,
                               epochs=4, lr=.001, dim=8, hidden=[256, 128], tower=[64]),
    'census-income DBMTL': dict(data='census', kind='dbmtl', tasks=['single', 'income'], labels=[1, 0], batch=1024,
                                epochs=4, lr=.001, dim=8, hidden=[256, 128], tower=[64], relation=[32]),
    'ml-1m DeepFM': dict(data='ml1m', kind='deepfm', tasks=[''], batch=4096, epochs=3, lr=.001, dim=16,
                         hidden=[256, 128], bn=False, dropout=.2),
    'ml-1m DIN': dict(data='ml1m', kind='din', tasks=[''], batch=4096, epochs=3, lr=.001, dim=16,
                      hidden=[256, 128], attention=[64, 16], final=[64]),
    'ml-1m NCF': dict(data='ml1m', kind='ncf', tasks=[''], batch=4096, epochs=6, lr=.001, dim=16,
                      hidden=[32, 16, 8]),
}
for _data, _epochs, _dim, _batch in (('frappe', 8, 10, 1024), ('ml1m', 3, 16, 4096)):
    _name = {'ml1m': 'ml-1m'}.get(_data, _data)
    _all = dict(data=_data, tasks=[''], batch=_batch, epochs=_epochs, lr=.001, dim=_dim)
    CASES |= {
        f'{_name} FM': dict(_all, kind='fm', fields='', epochs=2 * _epochs),
        f'{_name} NFM': dict(_all, kind='nfm', fields='deep %s', hidden=[128, 64]),
        f'{_name} PNN': dict(_all, kind='pnn', fields='product_units: 50 deep %s', units=50, hidden=[200, 200]),
        f'{_name} AutoInt': dict(_all, kind='autoint', fields='num_layers: 2 num_heads: 2 head_dim: 8 deep %s',
                                 layers=2, heads=2, head=8, hidden=[200, 200]),
    }
_frappe = dict(data='frappe', tasks=[''], batch=1024, epochs=8, lr=.001, dim=10)
CASES |= {
    'frappe FNN': dict(_frappe, kind='fnn', fields='deep %s', hidden=[200, 200]),
    'frappe AFM': dict(_frappe, kind='afm', fields='attention_units: 16', units=16, epochs=16),
    'frappe FwFM': dict(_frappe, kind='fwfm', fields='', epochs=16),
    'frappe FiBiNET': dict(_frappe, kind='fibinet', fields='deep %s', ratio=3, hidden=[200, 200]),
    'frappe GateNet': dict(_frappe, kind='gatenet', fields='deep %s', hidden=[200, 200]),
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


def labels(case):
    """Which column of labels each task has."""
    return case.get('labels', list(range(len(case['tasks']))))


def _towers(case, fields=('task_towers', 'task_towers'), names=None, more=('', '')):
    return ''.join(f'''  {field} {{ tower_name: "{t}" label_name: "y{y}" mlp {_mlp(case['tower'], case)} {extra}
    losses {{ binary_cross_entropy {{}} }} metrics {{ auc {{ thresholds: 10000 }} }} }}
''' for t, y, field, extra in zip(names or case['tasks'], labels(case), fields, more))


def _tasks(case):
    """Models of several tasks beside MMoE."""
    if case['kind'] == 'ple':
        nets = ''.join(f'''  extraction_networks {{ network_name: "x" expert_num_per_task: {case['own']}
    share_num: {case['shared']} task_expert_net {_mlp(u, case)} share_expert_net {_mlp(u, case)} }}
''' for u in case['hidden'])
        return f'ple {{\n{nets}{_towers(case)} }}\n'
    if case['kind'] == 'esmm':
        towers = _towers(case, ('ctr_tower', 'cvr_tower'), (case['tasks'][0], 'given'))
        return f"esmm {{ bottom_mlp {_mlp(case['hidden'], case)} ctcvr_name: \"{case['tasks'][1]}\"\n{towers} }}\n"
    relation = f"relation_tower_names: \"{case['tasks'][0]}\" relation_mlp {_mlp(case['relation'], case)}"
    return f"dbmtl {{ bottom_mlp {_mlp(case['hidden'], case)}\n{_towers(case, more=('', relation))} }}\n"


def _model(case, names, numbers):
    dim = case.get('dim', 1)
    loss = 'losses { binary_cross_entropy {} } metrics { auc { thresholds: 10000 } }'
    wide = f'''feature_groups {{ group_name: "wide" group_type: WIDE feature_names: {names} }}
'''
    deep = f'''feature_groups {{ group_name: "deep" group_type: DEEP feature_names: {names + numbers} }}
'''
    if case['kind'] == 'lr':
        return wide + 'logistic_regression { wide_init_fn: "nn.init.zeros_" }\n' + loss
    if 'fields' in case:  # a model of that name on the groups wide and deep
        text = case['fields'].replace('%s', _mlp(case['hidden'], case)) if 'hidden' in case else case['fields']
        return wide + deep + case['kind'] + ' { wide_init_fn: "nn.init.zeros_" ' + text + ' }\n' + loss
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
        return deep + f'''mmoe {{ expert_mlp {_mlp(case['hidden'], case)} num_expert: {case['experts']}
{_towers(case)} }}
'''
    if case['kind'] in ('ple', 'esmm', 'dbmtl'):
        return deep + _tasks(case)
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
    if din:
        features += f'''feature_configs {{ sequence_id_feature {{ feature_name: "h" expression: "user:h"
  sequence_length: 20 sequence_delim: ";" num_buckets: {sizes[1]} embedding_dim: {dim}
  embedding_name: "film" init_fn: "nn.init.normal_,std={FIRST}" }} }}
'''
    fields = ' '.join(f'label_fields: "y{i}"' for i in labels(case))
    adam = f"adam_optimizer {{ lr: {case['lr']} }} constant_learning_rate {{}}"
    q = str.replace
    return f'''train_input_path: "{data}/train/*.csv" eval_input_path: "{data}/valid/*.csv" model_dir: "m"
train_config {{ num_epochs: {case['epochs']} save_checkpoints_epochs: 1 log_step_count_steps: 1000
  sparse_optimizer {{ {adam} }} dense_optimizer {{ {adam} }} }}
data_config {{ batch_size: {case['batch']} dataset_type: CsvDataset with_header: true fg_mode: FG_DAG {fields}
  shuffle: true shuffle_buffer_size: 64 }}
{features}model_config {{
{q(_model(case, names, numbers), "'", '"')}
}}
'''
