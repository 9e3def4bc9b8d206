# SPDX-License-Identifier: Apache-2.0
"""What bench/quality compares: each case once as numbers, from which our config and the PyTorch
model are made. Learning rates are those of Adam, for tables and dense parameters alike.

More cases lie in cases_*.py beside this file, each with CASES as here and, for kinds that config() does not know,
    KINDS = {kind: function(case, names, numbers) -> the feature groups and the model as text}
    FEATURES = {kind: function(case, names, sizes, numbers) -> all feature_configs as text}   (if the plain ones do not do)
where names are those of the id features and numbers those of the raw ones."""
import glob
import importlib
import os

from texts import FIRST, METRICS, group, id_feature, labels, mlp, raw_feature, towers

CASES = {
    'frappe LR': dict(data='frappe', kind='lr', peer='fields.Lr', tasks=[''], batch=1024, epochs=15, lr=.01),
    'frappe DeepFM': dict(data='frappe', kind='deepfm', peer='fields.DeepFm', tasks=[''], batch=1024, epochs=8, lr=.001,
                          dim=10, hidden=[400, 400], bn=True, dropout=.2),
    'census-income MMoE': dict(data='census', kind='mmoe', peer='models.Mmoe', tasks=['income', 'single'], batch=1024,
                               epochs=4, lr=.001, dim=8, experts=3, hidden=[256, 128], tower=[64]),
    'census-income PLE': dict(data='census', kind='ple', peer='models.Ple', tasks=['income', 'single'], batch=1024,
                              epochs=4, lr=.001, dim=8, own=1, shared=2, hidden=[[128], [64]], tower=[32]),
    'census-income ESMM': dict(data='census', kind='esmm', peer='models.Esmm', tasks=['single', 'both'], labels=[1, 2],
                               batch=1024, epochs=4, lr=.001, dim=8, hidden=[256, 128], tower=[64]),
    'census-income DBMTL': dict(data='census', kind='dbmtl', peer='models.Dbmtl', tasks=['single', 'income'],
                                labels=[1, 0], batch=1024, epochs=4, lr=.001, dim=8, hidden=[256, 128], tower=[64],
                                relation=[32]),
    'ml-1m DeepFM': dict(data='ml1m', kind='deepfm', peer='fields.DeepFm', tasks=[''], batch=4096, epochs=3, lr=.001,
                         dim=16, hidden=[256, 128], bn=False, dropout=.2),
    'ml-1m DIN': dict(data='ml1m', kind='din', peer='models.Din', tasks=[''], batch=4096, epochs=3, lr=.001, dim=16,
                      hidden=[256, 128], attention=[64, 16], final=[64]),
    'ml-1m NCF': dict(data='ml1m', kind='ncf', peer='models.Ncf', tasks=[''], batch=4096, epochs=6, lr=.001, dim=16,
                      hidden=[32, 16, 8]),
}
SHUFFLE = {'turns': 256, 'likes': 512}  # batches from which the next one is drawn: all of them, as in PyTorch
KINDS, FEATURES = {}, {}
for _file in sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'cases_*.py'))):
    _module = importlib.import_module(os.path.basename(_file)[:-3])
    CASES |= _module.CASES
    KINDS |= getattr(_module, 'KINDS', {})
    FEATURES |= getattr(_module, 'FEATURES', {})


def _tasks(case):
    """Models of several tasks beside MMoE."""
    if case['kind'] == 'ple':
        nets = ''.join(f'''  extraction_networks {{ network_name: "x" expert_num_per_task: {case['own']}
    share_num: {case['shared']} task_expert_net {mlp(u, case)} share_expert_net {mlp(u, case)} }}
''' for u in case['hidden'])
        return f'ple {{\n{nets}{towers(case)} }}\n'
    if case['kind'] == 'esmm':
        both = towers(case, ('ctr_tower', 'cvr_tower'), (case['tasks'][0], 'given'))
        return f"esmm {{ bottom_mlp {mlp(case['hidden'], case)} ctcvr_name: \"{case['tasks'][1]}\"\n{both} }}\n"
    relation = f"relation_tower_names: \"{case['tasks'][0]}\" relation_mlp {mlp(case['relation'], case)}"
    return f"dbmtl {{ bottom_mlp {mlp(case['hidden'], case)}\n{towers(case, more=('', relation))} }}\n"


def _model(case, names, numbers):
    if case['kind'] in KINDS:
        return KINDS[case['kind']](case, names, numbers)
    wide, deep = group('wide', names, 'WIDE'), group('deep', names + numbers)
    if case['kind'] == 'lr':
        return wide + 'logistic_regression { wide_init_fn: "nn.init.zeros_" }\n' + METRICS
    if 'fields' in case:  # a model of that name on the groups wide and deep
        text = case['fields'].replace('%s', mlp(case['hidden'], case)) if 'hidden' in case else case['fields']
        return wide + deep + case['kind'] + ' { wide_init_fn: "nn.init.zeros_" ' + text + ' }\n' + METRICS
    if case['kind'] == 'deepfm':
        return wide + deep + f'''deepfm {{ wide_embedding_dim: 1 wide_init_fn: "nn.init.zeros_"
  deep {mlp(case['hidden'], case)} }}
''' + METRICS
    if case['kind'] == 'ncf':  # users and films alone
        groups = ''.join(group(g, [f]) for g, f in (('user_mf', 'f0'), ('item_mf', 'f1'), ('user_mlp', 'f0'),
                                                    ('item_mlp', 'f1')))
        return groups + f'''ncf {{ mlp {mlp(case['hidden'], case)} }}
''' + METRICS
    if case['kind'] == 'mmoe':
        return deep + f'''mmoe {{ expert_mlp {mlp(case['hidden'], case)} num_expert: {case['experts']}
{towers(case)} }}
'''
    if case['kind'] in ('ple', 'esmm', 'dbmtl'):
        return deep + _tasks(case)
    return deep + group('seq', ['f1', 'h'], 'SEQUENCE') + f'''multi_tower_din {{
  towers {{ input: "deep" mlp {mlp(case['hidden'], case)} }}
  din_towers {{ input: "seq" attn_mlp {mlp(case['attention'], case)} }}
  final {mlp(case['final'], case)} }}
''' + METRICS


def _features(case, names, sizes, numbers):
    dim, din = case.get('dim', 1), case['kind'] == 'din'
    text = ''.join(id_feature(n, s, dim, 'embedding_name: "film"' if din and n == 'f1' else '')
                   for n, s in zip(names, sizes))
    text += ''.join(raw_feature(n) for n in numbers)
    if din:
        text += f'''feature_configs {{ sequence_id_feature {{ feature_name: "h" expression: "user:h"
  sequence_length: 20 sequence_delim: ";" num_buckets: {sizes[1]} embedding_dim: {dim}
  embedding_name: "film" init_fn: "nn.init.normal_,std={FIRST}" }} }}
'''
    return text


def config(case, sizes, data, n_numbers):
    """Our pipeline.config. The buffer holds all batches of an epoch, so that they come in any order, as PyTorch's do:
    batches that stay near their place learn more slowly, which showed in NFM."""
    names = [f'f{i}' for i in range(len(sizes))]
    numbers = [f'n{i}' for i in range(n_numbers)]
    features = FEATURES.get(case['kind'], _features)(case, names, sizes, numbers)
    fields = ' '.join(f'label_fields: "y{i}"' for i in labels(case))
    adam = f"adam_optimizer {{ lr: {case['lr']} }} constant_learning_rate {{}}"
    return f'''train_input_path: "{data}/train/*.csv" eval_input_path: "{data}/valid/*.csv" model_dir: "m"
train_config {{ num_epochs: {case['epochs']} save_checkpoints_epochs: 1 log_step_count_steps: 1000
  sparse_optimizer {{ {adam} }} dense_optimizer {{ {adam} }} }}
data_config {{ batch_size: {case['batch']} dataset_type: CsvDataset with_header: true fg_mode: FG_DAG {fields}
  shuffle: true shuffle_buffer_size: {case.get('buffer') or SHUFFLE.get(case['data'], 256)}{case.get('reading', '')} }}
{features}model_config {{
{_model(case, names, numbers)}
}}
'''
