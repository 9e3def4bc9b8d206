# SPDX-License-Identifier: Apache-2.0
"""What the configs of the cases are put together from."""

FIRST = 0.01  # deviation of the initial values of tables
METRICS = 'losses { binary_cross_entropy {} } metrics { auc { thresholds: 10000 } }'


def id_feature(name, rows, dim, more=''):
    return f'''feature_configs {{ id_feature {{ feature_name: "{name}" expression: "item:{name}" num_buckets: {rows}
  embedding_dim: {dim} init_fn: "nn.init.normal_,std={FIRST}" {more} }} }}
'''


def raw_feature(name):
    return f'feature_configs {{ raw_feature {{ feature_name: "{name}" expression: "item:{name}" }} }}\n'


def group(name, features, kind='DEEP'):
    return f'''feature_groups {{ group_name: "{name}" group_type: {kind} feature_names: {features} }}
'''.replace("'", '"')


def mlp(units, case, more=''):
    text = ' '.join(f'hidden_units: {u}' for u in units)
    text += ' use_bn: true' if case.get('bn') else ''
    text += f" dropout_ratio: {case['dropout']}" if case.get('dropout') else ''
    return f'{{ {text} {more} }}'


def labels(case):
    """Which column of labels each task has."""
    return case.get('labels', list(range(len(case['tasks']))))


def towers(case, fields=('task_towers', 'task_towers'), names=None, more=('', '')):
    return ''.join(f'''  {field} {{ tower_name: "{t}" label_name: "y{y}" mlp {mlp(case['tower'], case)} {extra}
    {METRICS} }}
''' for t, y, field, extra in zip(names or case['tasks'], labels(case), fields, more))
