# SPDX-License-Identifier: Apache-2.0
"""Cases of ranking models on a history of films. f1 is the film, h its history, g films that were not seen, p how
long ago each was (0: now)."""
from texts import FIRST, METRICS, group, id_feature, mlp

_turns = dict(data='turns', tasks=[''], batch=2048, epochs=3, lr=.001, dim=16, hidden=[128, 64])
_fast = _turns | dict(lr=.002, epochs=2)
CASES = {
    'ml-1m BST': dict(_turns, kind='bst', peer='sequences.Bst', layers=1, heads=2, head=16, ffn=64),
    'ml-1m DIEN': dict(_fast, kind='dien', peer='sequences.Dien', train='trainer.train', attention=[32], aux=.1),
    'ml-1m DMR': dict(_fast, kind='dmr', peer='sequences.Dmr', train='trainer.train', attention=[32], aux=.1),
    'ml-1m TDM': dict(_fast, kind='tdm', peer='sequences.Tdm', attention=[32], windows=[4, 6, 10]),
}


def sequence(name, rows, dim, table):
    return f'''feature_configs {{ sequence_id_feature {{ feature_name: "{name}" expression: "user:{name}"
  sequence_length: 20 sequence_delim: ";" num_buckets: {rows} embedding_dim: {dim}
  embedding_name: "{table}" init_fn: "nn.init.normal_,std={FIRST}" }} }}
'''


def features(case, names, sizes, numbers):
    """Those that the model names."""
    dim = case['dim']
    made = {n: id_feature(n, s, dim, 'embedding_name: "film"' if n == 'f1' else '') for n, s in zip(names, sizes)}
    made |= {n: sequence(n, sizes[1], dim, 'film') for n in 'hg'}
    made |= {'zero': id_feature('zero', 21, dim, 'embedding_name: "place"'), 'p': sequence('p', 21, dim, 'place')}
    model = KINDS[case['kind']](case, names, numbers)
    return ''.join(text for name, text in made.items() if f'"{name}"' in model)


def _model(case, names, seq, text):
    return group('deep', names) + group('seq', seq, 'SEQUENCE') + f"{case['kind']} {{ {text} }}\n" + METRICS


def _bst(case, names, numbers):
    return _model(case, names, ['f1', 'zero', 'h', 'p'], f'''num_layers: {case['layers']} num_heads: {case['heads']}
  head_dim: {case['head']} ffn_units: {case['ffn']} deep {mlp(case['hidden'], case)}''')


def _interest(case):
    return f"attn_mlp {mlp(case['attention'], case)} aux_loss_weight: {case['aux']} deep {mlp(case['hidden'], case)}"


def _dien(case, names, numbers):
    return _model(case, names, ['f1', 'h', 'g'], _interest(case))


def _dmr(case, names, numbers):
    match = group('match', ['f1', 'h', 'g'], 'SEQUENCE')
    match = match.replace('group_type', 'embedding_name_suffix: "m" group_type')  # tables of its own
    return match + _model(case, names, ['f1', 'h', 'p'], _interest(case))


def _tdm(case, names, numbers):
    windows = ' '.join(f'windows_len: {n}' for n in case['windows'])
    return _model(case, names, ['f1', 'h'], f'''multiwindow_din {{ {windows}
    attn_mlp {mlp(case['attention'], case)} }} final {mlp(case['hidden'], case)}''')


KINDS = {'bst': _bst, 'dien': _dien, 'dmr': _dmr, 'tdm': _tdm}
FEATURES = {kind: features for kind in KINDS}
