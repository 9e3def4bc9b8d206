# SPDX-License-Identifier: Apache-2.0
"""More cases of several tasks: income and never married of the census, or both together."""
from texts import group, mlp, towers

_census = dict(data='census', tasks=['income', 'single'], batch=1024, epochs=4, lr=.001, dim=8)
CASES = {
    'census-income SimpleMultiTask': dict(_census, kind='simple_multi_task', peer='tasks.Simple', tower=[128, 64]),
    'census-income ShareBottom': dict(_census, kind='share_bottom', peer='tasks.ShareBottom', hidden=[256, 128],
                                      tower=[64]),
    'census-income PEPNet': dict(_census, kind='pepnet', peer='tasks.PepNet', gate=64, gamma=2, hidden=[128, 64],
                                 tower=[32], domain=[0], user=[1, 2]),  # by class of worker; industry, occupation
    'census-income DC2VR': dict(_census, kind='dc2vr', peer='tasks.Dc2vr', tasks=['single', 'both'], labels=[1, 2],
                                hidden=[256, 128], tower=[64], rank=8, drop=.1),
}


def _simple(case, names, numbers):
    return group('all', names + numbers) + f'simple_multi_task {{\n{towers(case)} }}\n'


def _share_bottom(case, names, numbers):
    return group('all', names + numbers) + f'''share_bottom {{ bottom_mlp {mlp(case['hidden'], case)}
{towers(case)} }}
'''


def _pepnet(case, names, numbers):
    groups = group('all', names + numbers) + group('domain', [names[i] for i in case['domain']])
    groups += group('uia', [names[i] for i in case['user']])
    units = ' '.join(f'ppnet_hidden_units: {u}' for u in case['hidden'])
    return groups + f'''pepnet {{ epnet_hidden_unit: {case['gate']} epnet_gamma: {case['gamma']}
  {units} ppnet_gamma: {case['gamma']}
{towers(case)} }}
'''


def _dc2vr(case, names, numbers):
    shift = f'''intervention_tower_names: "{case['tasks'][0]}" low_rank_dim: {case['rank']}
    dropout_ratio: {case['drop']}'''
    return group('all', names + numbers) + f'''dc2vr {{ bottom_mlp {mlp(case['hidden'], case)}
{towers(case, more=('', shift))} }}
'''


KINDS = {'simple_multi_task': _simple, 'share_bottom': _share_bottom, 'pepnet': _pepnet, 'dc2vr': _dc2vr}
