# SPDX-License-Identifier: Apache-2.0
"""Cases of retrieval models: the film that a user liked next. The measure is the share of rows whose film is among
the best ten of the films of its batch, which are 1024 or, for Word2Vec, 256; rows are read by one reader, so that both
sides form the same batches."""
from cases_sequences import sequence
from texts import group, id_feature, mlp

USER, ITEM = ['f0', 'f2', 'f3', 'f4', 'f5'], ['f1', 'f6', 'f7', 'f8']
_likes = dict(data='likes', train='trainer.train', tasks=[''], batch=1024, lr=.001, dim=16, reading=' num_workers: 1',
              measure='recall@10', top=10)
_pair = dict(_likes, hidden=[64], out=32, temperature=.1, epochs=6)
_fast = dict(lr=.002, epochs=4)
CASES = {
    'ml-1m DSSM': dict(_pair, kind='dssm', peer='match.Dssm'),
    'ml-1m YoutubeDNN': dict(_likes | _fast, kind='youtube_dnn', peer='match.YoutubeDnn', dim=32, hidden=[128, 64]),
    'ml-1m MIND': dict(_pair | _fast, kind='mind', peer='match.Mind', user=[64, 32], high=32, capsules=3),
    # with steps of .002 these epochs end where recall still rises by a tenth in each, and a seed moves it by .003
    'ml-1m GRU4Rec': dict(_likes, kind='gru4rec', peer='match.Gru', dim=32, lr=.005, epochs=4),
    'ml-1m DSSMv2': dict(_pair, kind='dssm_v2', peer='match.DssmTwo'),
    'ml-1m SR-GNN': dict(_likes | _fast, kind='srgnn', peer='match.SrGnn', dim=32),
    'ml-1m DAT': dict(_pair | _fast, kind='dat', peer='match.Dat', imitate=.001),
    # each film of a batch answers on its own whether it comes next: the more there are, the longer it takes until more
    # than their share is learned
    'ml-1m Word2Vec': dict(_likes, kind='word2vec', peer='match.Word2Vec', batch=256, buffer=2048, lr=.02, epochs=8),
}
_MATCH = 'losses { softmax_cross_entropy {} } metrics { recall_at_k { top_k: 10 } }'


def features(case, names, sizes, numbers):
    """Those that the model names."""
    dim, films = case['dim'], sizes[1]
    own = 'embedding_name: "film" pooling: "mean"'
    made = {n: id_feature(n, s, dim, own if n == 'f1' else '') for n, s in zip(names, sizes)}
    made['bag'] = id_feature('bag', films, dim, own + ' separator: ";"').replace('item:bag', 'user:h')
    made['a0'] = id_feature('a0', sizes[0], case.get('out')).replace('item:a0', 'item:f0')
    made['a1'] = id_feature('a1', films, case.get('out')).replace('item:a1', 'item:f1')
    made['h'] = sequence('h', films, dim, 'film')
    made['number'] = '''feature_configs { sequence_raw_feature { feature_name: "number" expression: "user:h"
  sequence_length: 20 sequence_delim: ";" } }
'''
    model = KINDS[case['kind']](case, names, numbers)
    return ''.join(text for name, text in made.items() if f'"{name}"' in model)


def _sides(case, more=('', '')):
    return f'''user_tower {{ input: "user" {more[0]} mlp {mlp(case['hidden'], case)} }}
  item_tower {{ input: "item" {more[1]} mlp {mlp(case['hidden'], case)} }} {_how(case)}'''


def _how(case):
    return f"output_dim: {case['out']} similarity: COSINE temperature: {case['temperature']} in_batch_negative: true"


def _dssm(case, names, numbers):
    return group('user', [*USER, 'bag']) + group('item', ITEM) + f"{case['kind']} {{ {_sides(case)} }}\n" + _MATCH


def _dat(case, names, numbers):
    groups = group('user', [*USER, 'bag']) + group('item', ITEM) + group('u', ['a0']) + group('i', ['a1'])
    sides = _sides(case, ('augment_input: "u"', 'augment_input: "i"'))
    return groups + f"dat {{ {sides} amm_u_weight: {case['imitate']} amm_i_weight: {case['imitate']} }}\n" + _MATCH


def _mind(case, names, numbers):
    user = ' '.join(f'hidden_units: {u}' for u in case['user'])
    return group('user', USER) + group('item', ITEM) + group('history', ['h'], 'SEQUENCE') + f'''mind {{
  user_tower {{ input: "user" history_input: "history" user_mlp {{ {user} }}
    capsule_config {{ max_k: {case['capsules']} max_seq_len: 20 high_dim: {case['high']} }}
    concat_mlp {mlp(case['hidden'], case)} }}
  item_tower {{ input: "item" mlp {mlp(case['hidden'], case)} }} {_how(case)} }}
''' + _MATCH


def _srgnn(case, names, numbers):
    return group('session', ['h', 'number'], 'SEQUENCE') + group('item', ['f1']) + '''srgnn { input: "session"
  node_feature: "number" item_input: "item" in_batch_negative: true }
''' + _MATCH


def _youtube(case, names, numbers):
    return group('user', [*USER, 'bag']) + group('item', ['f1']) + f'''youtube_dnn {{
  user_tower {{ input: "user" mlp {mlp(case['hidden'], case)} }} item_input: "item" item_bias: true
  in_batch_negative: true }}
''' + _MATCH


def _gru4rec(case, names, numbers):
    return group('session', ['h'], 'SEQUENCE') + group('item', ['f1']) + f'''gru4rec {{ input: "session"
  hidden_units: {case['dim']} item_input: "item" item_bias: true in_batch_negative: true }}
''' + _MATCH


def _word2vec(case, names, numbers):
    """A word is the film liked before, its context the one liked next."""
    return group('word', ['f9']) + group('context', ['f1']) + '''word2vec { input: "word" context_input: "context"
  context_bias: true in_batch_negative: true }
losses { binary_cross_entropy {} } metrics { recall_at_k { top_k: 10 } }'''


KINDS = {'dssm': _dssm, 'dssm_v2': _dssm, 'dat': _dat, 'mind': _mind, 'srgnn': _srgnn,
         'youtube_dnn': _youtube, 'gru4rec': _gru4rec, 'word2vec': _word2vec}
FEATURES = {kind: features for kind in KINDS}
