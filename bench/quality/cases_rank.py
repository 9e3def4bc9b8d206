# SPDX-License-Identifier: Apache-2.0
"""Cases of ranking models on fields without sequences."""
from texts import FIRST, METRICS, group, mlp

# epochs of frappe are short: with smaller steps many models are no better than LR after ten of them, and leave that
# level at a time that depends on the seed
CASES, SETS = {}, (('frappe', 10, 10, 1024, .005), ('ml1m', 3, 16, 4096, .001))
for _data, _epochs, _dim, _batch, _lr in SETS:
    _name = {'ml1m': 'ml-1m'}.get(_data, _data)
    _all = dict(data=_data, tasks=[''], batch=_batch, epochs=_epochs, lr=_lr, dim=_dim)
    _slow = dict(_all, lr=.01, epochs=12) if _data == 'frappe' else dict(_all, epochs=6)
    CASES |= {
        f'{_name} FM': dict(_slow, kind='fm', peer='fields.Fm', fields=''),
        f'{_name} NFM': dict(_slow, kind='nfm', peer='fields.Nfm', fields='deep %s', hidden=[128, 64],
                             epochs={'frappe': 12, 'ml1m': 9}[_data]),
        f'{_name} PNN': dict(_all, kind='pnn', peer='fields.Pnn', fields='product_units: 50 deep %s', units=50,
                             hidden=[200, 200]),
        f'{_name} AutoInt': dict(_slow if _data == 'frappe' else _all, kind='autoint', peer='fields.AutoInt',
                                 layers=2, heads=2, head=8, fields='num_layers: 2 num_heads: 2 head_dim: 8 deep %s',
                                 hidden=[200, 200]),
    }
_frappe = dict(data='frappe', tasks=[''], batch=1024, epochs=10, lr=.005, dim=10)
CASES |= {
    'frappe FNN': dict(_frappe, kind='fnn', peer='fields.Fnn', fields='deep %s', hidden=[200, 200]),
    'frappe AFM': dict(_frappe, kind='afm', peer='fields.Afm', fields='attention_units: 16', units=16,
                       epochs=20, lr=.01),
    'frappe FwFM': dict(_frappe, kind='fwfm', peer='fields.FwFm', fields='', epochs=12, lr=.01),
    'frappe FiBiNET': dict(_frappe, kind='fibinet', peer='fields.FiBiNet', fields='deep %s', ratio=3, epochs=8,
                           hidden=[100, 50]),
    'frappe GateNet': dict(_frappe, kind='gatenet', peer='fields.GateNet', fields='deep %s', epochs=10,
                           hidden=[100, 50]),
    'frappe FGCNN': dict(_frappe, kind='fgcnn', peer='fields.Fgcnn', maps=[6, 8], height=5, new=3, epochs=8,
                         hidden=[100, 50], fields='conv_filters: [6, 8] conv_height: 5 new_maps: 3 deep %s'),
}


def _groups(case, names):
    return {f'g{i}': [names[f] for f in g] for i, g in enumerate(case['groups'])}


def _wide_and_deep(case, names, numbers):
    return group('wide', names, 'WIDE') + group('deep', names + numbers) + f'''wide_and_deep {{
  wide_embedding_dim: 1 wide_init_fn: "nn.init.zeros_" deep {mlp(case['hidden'], case)} }}
''' + METRICS


def _multi_tower(case, names, numbers):
    groups = _groups(case, names) | ({'numbers': numbers} if numbers else {})
    towers = ''.join(f'''  towers {{ input: "{g}" mlp {mlp(case['hidden'], case)} }}
''' for g in groups)
    return ''.join(group(g, f) for g, f in groups.items()) + f'''multi_tower {{
{towers}  final {mlp(case['final'], case)} }}
''' + METRICS


def _sparse_dense(case, names, numbers):
    """The groups of DLRM and WuKong, and the net on the numbers."""
    return group('sparse', names) + (group('dense', numbers) if numbers else ''), \
        f"dense_mlp {mlp(case['dense'], case)}" if numbers else ''


def _dlrm(case, names, numbers):
    groups, dense = _sparse_dense(case, names, numbers)
    return groups + f"dlrm {{ {dense} final {mlp(case['hidden'], case)} }}\n" + METRICS


def _wukong(case, names, numbers):
    groups, dense = _sparse_dense(case, names, numbers)
    layer = f'''  wukong_layers {{ lcb_feature_num: {case['linear']} fmb_feature_num: {case['machine']}
    compressed_feature_num: {case['compressed']} feature_num_mlp {mlp(case['inner'], case)} }}
'''
    return groups + f"wukong {{ {dense}\n{layer * case['layers']} final {mlp(case['hidden'], case)} }}\n" + METRICS


def _dcn(case, names, numbers):
    rank = f" low_rank: {case['rank']}" if 'rank' in case else ''
    return group('deep', names + numbers) + f'''{case['kind']} {{ cross {{ cross_num: {case['cross']}{rank} }}
  deep {mlp(case['hidden'], case)} final {mlp(case['final'], case)} }}
''' + METRICS


def _xdeepfm(case, names, numbers):
    return group('wide', names, 'WIDE') + group('deep', names + numbers) + f'''xdeepfm {{
  cin {{ cin_layer_size: {case['cin']} }} deep {mlp(case['hidden'], case)} final {mlp(case['final'], case)}
  wide_embedding_dim: {case['dim']} wide_init_fn: "nn.init.normal_,std={FIRST}" }}
''' + METRICS


def _mask_net(case, names, numbers):
    return group('deep', names + numbers) + f'''mask_net {{ mask_net_module {{ n_mask_blocks: {case['blocks']}
  mask_block {{ reduction_ratio: {case['ratio']} hidden_dim: {case['block']} }} top_mlp {mlp(case['hidden'], case)} }} }}
''' + METRICS


def _rocket(case, names, numbers):
    return group('deep', names + numbers) + f'''rocket_launching {{ feature_based_distillation: true
  share_mlp {mlp(case['share'], case)} booster_mlp {mlp(case['booster'], case)} light_mlp {mlp(case['light'], case)} }}
''' + METRICS


def _flen(case, names, numbers):
    return group('wide', names, 'WIDE') + ''.join(group(g, f) for g, f in _groups(case, names).items()) + f'''flen {{
  wide_init_fn: "nn.init.zeros_" interaction {mlp(case['interaction'], case)} deep {mlp(case['hidden'], case)} }}
''' + METRICS


KINDS = {'wide_and_deep': _wide_and_deep, 'multi_tower': _multi_tower, 'dlrm': _dlrm, 'wukong': _wukong,
         'dcn_v1': _dcn, 'dcn_v2': _dcn, 'xdeepfm': _xdeepfm, 'mask_net': _mask_net, 'rocket_launching': _rocket,
         'flen': _flen}
USER_ITEM = {'frappe': [[0, 8, 9], [1, 6], [2, 3, 4, 5, 7]], 'ml1m': [[0, 2, 3, 4, 5], [1, 6, 7, 8]]}
for _data, _, _dim, _batch, _lr in SETS:
    _name, _count = {'ml1m': 'ml-1m'}.get(_data, _data), {'frappe': 10, 'ml1m': 9}[_data]
    _all = dict(data=_data, tasks=[''], batch=_batch, epochs={'frappe': 12, 'ml1m': 3}[_data], lr=_lr, dim=_dim)
    _slow = dict(_all, lr=.01, epochs=10) if _data == 'frappe' else dict(_all, epochs=6)
    CASES |= {
        f'{_name} WideAndDeep': dict(_all, kind='wide_and_deep', peer='rank.WideAndDeep', hidden=[100, 50]),
        f'{_name} MultiTower': dict(_all, kind='multi_tower', peer='rank.MultiTower', groups=USER_ITEM[_data],
                                    hidden=[100, 50], final=[64], epochs={'frappe': 16, 'ml1m': 3}[_data]),
        f'{_name} DCNv1': dict(_all, kind='dcn_v1', peer='rank.DcnV1', cross=3, hidden=[100, 50], final=[64]),
        f'{_name} DCNv2': dict(_all, kind='dcn_v2', peer='rank.DcnV2', cross=3, rank=32, hidden=[100, 50], final=[64]),
        f'{_name} xDeepFM': dict(_all, kind='xdeepfm', peer='rank.XDeepFm', cin=[16, 16], hidden=[100, 50],
                                 final=[64]),
        f'{_name} MaskNet': dict(_all, kind='mask_net', peer='rank.MaskNet', blocks=2, ratio=1, block=64, hidden=[64],
                                 epochs={'frappe': 8, 'ml1m': 3}[_data]),
        f'{_name} FFM': dict(_slow, kind='ffm', peer='rank.Ffm', fields='', dim=4 * _count),
        f'{_name} FLEN': dict(_all, kind='flen', peer='rank.Flen', groups=USER_ITEM[_data], interaction=[32],
                              hidden=[100, 50]),
        f'{_name} DeepCrossing': dict(_all, kind='deep_crossing', peer='rank.DeepCrossing', units=[64, 64, 64],
                                      fields='residual_units: [64, 64, 64]'),
        f'{_name} RocketLaunching': dict(_all, tasks=['light'], kind='rocket_launching', peer='rank.Rocket',
                                         train='trainer.train', share=[100], booster=[200, 100, 50], light=[50, 20]),
    }
_layer = dict(linear=8, machine=8, compressed=8, inner=[64], layers=2, hidden=[100, 50])
_census = dict(data='census', tasks=[''], batch=1024, epochs=3, lr=.002, dim=8, dense=[64, 8])
CASES |= {
    'frappe DLRM': dict(_frappe, epochs=12, kind='dlrm', peer='rank.Dlrm', hidden=[100, 50]),
    'frappe WuKong': dict(_frappe, epochs=8, kind='wukong', peer='rank.WuKong', **_layer),
    'census-income DLRM': dict(_census, kind='dlrm', peer='rank.Dlrm', hidden=[100, 50]),
    'census-income WuKong': dict(_census, kind='wukong', peer='rank.WuKong', **_layer),
    'census-income MultiTower': dict(_census, kind='multi_tower', peer='rank.MultiTower', groups=[list(range(32))],
                                     hidden=[100, 50], final=[64]),
}
