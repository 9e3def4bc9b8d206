# SPDX-License-Identifier: Apache-2.0
"""Cases of ranking models on fields without sequences."""

CASES = {}
for _data, _epochs, _dim, _batch in (('frappe', 8, 10, 1024), ('ml1m', 3, 16, 4096)):
    _name = {'ml1m': 'ml-1m'}.get(_data, _data)
    _all = dict(data=_data, tasks=[''], batch=_batch, epochs=_epochs, lr=.001, dim=_dim)
    CASES |= {
        f'{_name} FM': dict(_all, kind='fm', peer='fields.Fm', fields='', epochs=2 * _epochs),
        # the tables of NFM start slowly: for 6 epochs of frappe it is no better than LR, from seed to seed longer or shorter
        f'{_name} NFM': dict(_all, kind='nfm', peer='fields.Nfm', fields='deep %s', hidden=[128, 64],
                             epochs=3 * _epochs),
        f'{_name} PNN': dict(_all, kind='pnn', peer='fields.Pnn', fields='product_units: 50 deep %s', units=50,
                             hidden=[200, 200]),
        f'{_name} AutoInt': dict(_all, kind='autoint', peer='fields.AutoInt', layers=2, heads=2, head=8,
                                 fields='num_layers: 2 num_heads: 2 head_dim: 8 deep %s', hidden=[200, 200]),
    }
_frappe = dict(data='frappe', tasks=[''], batch=1024, epochs=8, lr=.001, dim=10)
CASES |= {
    'frappe FNN': dict(_frappe, kind='fnn', peer='fields.Fnn', fields='deep %s', hidden=[200, 200]),
    'frappe AFM': dict(_frappe, kind='afm', peer='fields.Afm', fields='attention_units: 16', units=16, epochs=16),
    'frappe FwFM': dict(_frappe, kind='fwfm', peer='fields.FwFm', fields='', epochs=16),
    'frappe FiBiNET': dict(_frappe, kind='fibinet', peer='fields.FiBiNet', fields='deep %s', ratio=3,
                           hidden=[200, 200]),
    'frappe GateNet': dict(_frappe, kind='gatenet', peer='fields.GateNet', fields='deep %s', hidden=[200, 200]),
}
