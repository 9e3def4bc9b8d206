#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Walks the fields of a pipeline.config as docs/reference/pipeline.md lists them, gives each a
set of odd values, and compares what `check` and `train` say of each config: both take it,
or both refuse it. Prints the configs about which they differ; exit status 1 if there are any.

    check_train.py TRAINYARD REFERENCE [PART]    PART: only cases whose name holds it
"""
import concurrent.futures
import os
import re
import subprocess
import sys

NUMBERS = {
    'uint32': ['0', '3', '4294967295', '4294967296'],
    'uint64': ['0', '3', '18446744073709551615'],
    'int32': ['0', '-1', '2147483648'],
    'int64': ['0', '-1', '9223372036854775808'],
    'float': ['0', '-1', '2', 'nan'],
    'double': ['0', '-1', '2', 'nan'],
    'bool': ['true', 'false'],
    'string': ['""', '"x"'],
}
# What only the machine and the data tell: memory, columns and checkpoints that are not there, values
# that do not fit, a loss that is not finite.
RUN_ONLY = ('E1102', 'E1109', 'E1204', 'E1301', 'E1302', 'E1303', 'E1305', 'E1401', 'E1404', 'E1408', 'E1504')

BASE = {
    'root': 'train_input_path: "t.parquet" eval_input_path: "t.parquet" model_dir: "%s"',
    'train_config': {'num_steps': '2', 'log_step_count_steps': '1'},
    'sparse': 'adagrad_optimizer { lr: 0.01 } constant_learning_rate {}',
    'dense': 'adam_optimizer { lr: 0.01 } constant_learning_rate {}',
    'data_config': {'batch_size': '8', 'dataset_type': 'ParquetDataset', 'fg_mode': 'FG_DAG',
                    'label_fields': '"clk"'},
    'extra': '',
    'eval_config': '',
    'export_config': '',
    'model': 'multi_tower { towers { input: "deep" mlp { hidden_units: [4] } } final { hidden_units: 4 } }',
}
SEQ = 'sequence_delim: "|" sequence_length: 5 '
FEATURES = {
    'id_feature': {'expression': '"item:cat"', 'embedding_dim': '4', 'hash_bucket_size': '10'},
    'raw_feature': {'expression': '"item:price"'},
    'combo_feature': {'expression': '["item:cat", "user:uid"]', 'embedding_dim': '4', 'hash_bucket_size': '10'},
    'lookup_feature': {'map': '"user:m"', 'key': '"item:k"', 'embedding_dim': '4', 'hash_bucket_size': '10'},
    'match_feature': {'nested_map': '"user:nm"', 'pkey': '"item:k"', 'skey': '"item:cat"',
                      'embedding_dim': '4', 'hash_bucket_size': '10'},
    'expr_feature': {'expression': '"price + uid"', 'variables': '["item:price", "user:uid"]'},
    'overlap_feature': {'query': '"user:text"', 'title': '"item:text"', 'method': '"query_common_ratio"'},
    'kv_dot_product': {'query': '"user:m"', 'document': '"item:m"'},
    'bool_mask_feature': {'expression': '["item:many", "item:mask"]', 'separator': '","', 'embedding_dim': '4',
                          'hash_bucket_size': '10'},
    'combine_feature': {'expression': '"item:price"'},
}
# How large something is, or how long it takes: a valid large value says nothing of the two.
SIZES = re.compile('(embedding_dim|num_buckets|hash_bucket_size|zch_size|max_capacity|value_dim|num_channels|'
                   'init_capacity_per_rank|max_hbm.*|num_steps|num_epochs|batch_size|buffer_size)$')
CSV = {'batch_size': '8', 'dataset_type': 'CsvDataset', 'fg_mode': 'FG_DAG', 'label_fields': '"clk"'}

TYPES = 'uid:INT64;cat:STRING;price:DOUBLE;clk:DOUBLE'


def schema(path):
    messages, enums, at = {}, {}, None
    for line in open(path, encoding='utf-8'):
        if line.startswith('## '):
            at = line[3:].strip()
        cells = [c.strip() for c in line.strip().strip('|').split('|')]
        if at is None or not line.startswith('| `') or len(cells) < 3:
            continue
        name = cells[0].strip('`')
        if len(cells) == 3 and re.fullmatch(r'-?\d+', cells[1]):
            enums.setdefault(at, []).append(name)
        else:
            kind = re.sub(r'\[(.*)\]\(.*\)', r'\1', cells[1]).replace('&lt;', '<')
            messages.setdefault(at, []).append((name, kind, ' | '.join(cells[3:])))
    return messages, enums


def block(fields):
    return ' '.join('%s: %s' % f for f in fields.items())


def config(parts):
    p = {**BASE, **parts}
    feature = p.get('feature', 'raw_feature { feature_name: "f" expression: "item:price" }')
    return '''%s
train_config { %s sparse_optimizer { %s } dense_optimizer { %s } %s }
data_config { %s }
feature_configs { id_feature { feature_name: "u" expression: "user:uid" embedding_dim: 4 hash_bucket_size: 10 } }
feature_configs { %s }
model_config { feature_groups { group_name: "deep" group_type: DEEP feature_names: ["u"%s] }
 %s %s losses { binary_cross_entropy {} } metrics { auc {} } }
%s %s
''' % (p['root'], block(p['train_config']), p['sparse'], p['dense'], p['extra'], block(p['data_config']),
       feature, '' if p.get('stub') else ', "f"', p.get('groups', ''), p['model'], p['eval_config'],
       p['export_config'])


class Walk:
    def __init__(self, messages, enums):
        self.messages, self.enums, self.cases, self.walked = messages, enums, {}, set()

    def values(self, kind, meaning):
        base = kind[:-2] if kind.endswith('[]') else kind
        found = NUMBERS.get(base) or [*self.enums.get(base, []), 'NO_SUCH_VALUE'] if base in NUMBERS or base in self.enums else []
        choices = re.search(r"one of ('[^)]*')", meaning)
        if choices and base == 'string':
            found = found + ['"%s"' % c for c in re.findall("'([^']*)'", choices.group(1))]
        return ['[%s]' % v for v in found] if kind.endswith('[]') else found

    def add(self, name, parts):
        self.cases[name] = config(parts)

    def fields(self, message, base, put, name, nested=True):
        """put(fields as text) makes the parts of a config."""
        for field, kind, meaning in self.messages.get(message, []):
            for v in self.values(kind, meaning):
                if v == 'SlotDataset':
                    continue  # a fault of the data, which are of other kinds here
                if not (SIZES.search(field) and len(v) > 6):
                    self.add('%s.%s=%s' % (name, field, v), put({**base, field: v}))
            if nested and kind in self.messages and not (kind in self.walked and 'Feature' in message):
                self.walked.add(kind)
                self.nested(kind, field, base, put, name + '.' + field)

    def nested(self, message, field, base, put, name):
        base = {k: v for k, v in base.items() if k != field}
        def inner(fields):
            return put({**base, field + ' ': '{ %s }' % block(fields)})
        self.add(name, inner({}))
        for f, kind, meaning in self.messages[message]:
            for v in self.values(kind, meaning):
                if not (SIZES.search(f) and len(v) > 6):
                    self.add('%s.%s=%s' % (name, f, v), inner({f: v}))

    def optimizers(self, message, part):
        opts, rates = {}, {}
        for field, kind, meaning in self.messages[message]:
            if '[one of optimizer]' in meaning:
                opts[field] = kind
            elif '[one of learning_rate]' in meaning:
                rates[field] = kind
        for field, kind in opts.items():
            self.fields(kind, {'lr': '0.01'}, lambda f, o=field: {
                part: '%s { %s } constant_learning_rate {}' % (o, block(f))}, part + '.' + field)
        usual = BASE[part].split(' constant')[0]
        needs = {'exponential_decay_learning_rate': {'decay_size': '10', 'decay_factor': '0.5'},
                 'manual_step_learning_rate': {'schedule_sizes': '[1]', 'learning_rates': '[0.01, 0.02]'},
                 'cosine_annealing_learning_rate': {'t_max': '5'},
                 'cosine_annealing_warm_restarts_learning_rate': {'t_0': '5'}}
        for field, kind in rates.items():
            self.fields(kind, needs.get(field, {}), lambda f, r=field: {
                part: '%s %s { %s }' % (usual, r, block(f))}, part + '.' + field)

    def features(self):
        kinds = {f: k for f, k, _ in self.messages['FeatureConfig']}
        for kind, base in FEATURES.items():
            def put(fields, kind=kind):
                return {'feature': '%s { feature_name: "f" %s }' % (kind, block(fields).replace(' :', '')),
                        'stub': fields.get('stub_type') == 'true'}
            self.fields(kinds[kind], base, put, kind)

    def all(self):
        self.add('base', {})
        self.fields('DataConfig', BASE['data_config'], lambda f: {'data_config': f}, 'data_config')
        root = BASE['root'].replace('t.parquet', 't.csv')
        self.fields('DataConfig', {**CSV, 'with_header': 'true'},
                    lambda f: {'root': root, 'data_config': f}, 'data_config with a header', False)
        self.fields('DataConfig', {**CSV, 'input_fields_str': '"%s"' % TYPES},
                    lambda f: {'root': root.replace('t.csv', 'bare.csv'), 'data_config': f},
                    'data_config without a header', False)
        self.add('data_config without names', {'root': root, 'data_config': CSV})
        self.fields('TrainConfig', BASE['train_config'], lambda f: {'train_config': f}, 'train_config')
        self.optimizers('SparseOptimizer', 'sparse')
        self.optimizers('DenseOptimizer', 'dense')
        self.fields('EvalConfig', {}, lambda f: {'eval_config': 'eval_config { %s }' % block(f)}, 'eval_config')
        self.fields('ExportConfig', {}, lambda f: {'export_config': 'export_config { %s }' % block(f)}, 'export_config')
        self.features()
        return self.cases


def verdict(program, command, path):
    try:
        r = subprocess.run([program, command, path], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired: # it trains, if not for two steps
        return 0, [], ''
    text = r.stdout + r.stderr
    return r.returncode, re.findall(r'error\[(E\d+)\]', text), text


def compare(program, at, name, text):
    path = 'case-%d.config' % at
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text % ('m-%d' % at) if '%s' in text else text)
    check = verdict(program, 'check', path)
    # train opens a config by the same function: of those that are refused every eighth is enough
    train = check if check[0] == 2 and at % 8 else verdict(program, 'train', path)
    subprocess.run(['rm', '-rf', 'm-%d' % at, path])
    if train[1] and train[1][-1] in RUN_ONLY:
        return None
    if check[0] < 0 or train[0] < 0:
        return '%s: killed by a signal: %s' % (name, (check, train))
    if (check[0] == 0) != (train[0] == 0):
        return '%s: check %d, train %d: %s' % (name, check[0], train[0], (train if check[0] == 0 else check)[2].strip()[-400:])
    return None


def main():
    program, reference, part = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else ''
    cases = Walk(*schema(reference)).all()
    cases = {n: c for n, c in cases.items() if part in n}
    with concurrent.futures.ThreadPoolExecutor(max(1, min(4, os.cpu_count() or 1))) as pool:
        faults = [f for f in pool.map(lambda x: compare(program, x[0], *x[1]), enumerate(cases.items())) if f]
    print('%d configs, %d about which check and train differ' % (len(cases), len(faults)))
    for f in faults:
        print(f)
    sys.exit(1 if faults or not cases else 0)


main()
