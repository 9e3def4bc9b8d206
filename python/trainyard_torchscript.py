# SPDX-License-Identifier: Apache-2.0
"""trainyard_torchscript.py EXPORT - write EXPORT/scripted_model.pt, which TorchEasyRec's predictor loads.

`trainyard export --format torchscript` runs this with a Python that has torch. The model is made of
what the directory holds: tables (tables.safetensors), the graph (model.onnx) and which feature fills
which columns of its inputs (manifest.json). It is source of TorchScript, a statement per node of the
graph, with tables and parameters as buffers:

    forward(data: Dict[str, Tensor], device: torch.device) -> Dict[str, Tensor]

`data` is what TorchEasyRec's Batch.to_dict() gives: <feature>.values, .lengths, .weights, .key_lengths.
What was saved is loaded again and must give, for the sample rows, the scores of the export.
With --probe it only says whether torch can be imported.
"""
import json
import os
import struct
import sys

LIMIT = 1e-4  # the largest difference of a score; sums are in another order


class Unfit(Exception):
    """What the user is told, and nothing else."""


# --- files ---

def read_varint(b, at):
    value = shift = 0
    while True:
        byte = b[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(b):
    """Number and value of each field of a message of protocol buffers."""
    at = 0
    while at < len(b):
        key, at = read_varint(b, at)
        kind = key & 7
        if kind == 0:
            value, at = read_varint(b, at)
        elif kind == 2:
            size, at = read_varint(b, at)
            value, at = b[at:at + size], at + size
        elif kind == 5:
            value, at = struct.unpack('<f', b[at:at + 4])[0], at + 4
        else:
            raise Unfit('model.onnx has a field of kind %d' % kind)
        yield key >> 3, value


def text(b):
    return bytes(b).decode('utf-8')


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Node:
    def __init__(self, message):
        self.inputs, self.outputs, self.attrs = [], [], {}
        for number, value in fields(message):
            if number == 1:
                self.inputs.append(text(value))
            elif number == 2:
                self.outputs.append(text(value))
            elif number == 4:
                self.type = text(value)
            elif number == 5:
                self.add_attr(value)

    def add_attr(self, message):
        name, ints, other = '', [], None
        for number, value in fields(message):
            if number == 1:
                name = text(value)
            elif number == 2:
                other = value
            elif number == 3:
                other = signed(value)
            elif number == 6:
                other = Graph(value)
            elif number == 8:
                ints.append(signed(value))
        self.attrs[name] = ints if ints else other


class Graph:
    """A graph of ONNX: its nodes in order, constants as (dims, type, bytes), names of inputs, outputs."""

    def __init__(self, message):
        self.nodes, self.constants, self.inputs, self.outputs = [], {}, [], []
        for number, value in fields(message):
            if number == 1:
                self.nodes.append(Node(value))
            elif number == 5:
                self.add_constant(value)
            elif number in (11, 12):
                name = next(text(v) for n, v in fields(value) if n == 1)
                (self.inputs if number == 11 else self.outputs).append(name)

    def add_constant(self, message):
        name, dims, kind, raw = '', [], 1, b''
        for number, value in fields(message):
            if number == 1:
                dims.append(value)
            elif number == 2:
                kind = value
            elif number == 8:
                name = text(value)
            elif number == 9:
                raw = value
        self.constants[name] = dims, kind, raw


def read_graph(path):
    with open(path, 'rb') as f:
        model = memoryview(f.read())
    return next(Graph(value) for number, value in fields(model) if number == 7)


def read_tensors(path):
    """A safetensors file: name -> tensor."""
    import torch
    types = {'F32': torch.float32, 'BF16': torch.bfloat16, 'F16': torch.float16, 'I8': torch.int8,
             'U8': torch.uint8, 'I64': torch.int64}
    out = {}
    with open(path, 'rb') as f:
        head = json.loads(f.read(struct.unpack('<Q', f.read(8))[0]))
        base = f.tell()
        for name, t in head.items():
            if name == '__metadata__':
                continue
            begin, end = t['data_offsets']
            f.seek(base + begin)
            out[name] = tensor_of(bytearray(f.read(end - begin)), types[t['dtype']], t['shape'])
    return out


def tensor_of(raw, dtype, shape):
    import torch
    return torch.frombuffer(raw, dtype=dtype).reshape(shape) if raw else torch.empty(shape, dtype=dtype)


# --- TorchScript for a graph: a method of Writer per kind of node ---

class Writer:
    """Source of a function body, and the buffers that it reads."""

    def __init__(self):
        self.lines, self.buffers, self.names, self.ints, self.indent = [], {}, {}, {}, '    '

    def put(self, line):
        self.lines.append(self.indent + line)

    def let(self, name, expression):
        """A variable for a value of the graph."""
        variable = self.names[name] = 'v%d' % len(self.names)
        self.put('%s = %s' % (variable, expression))

    def buffer(self, tensor):
        name = 'b%d' % len(self.buffers)
        self.buffers[name] = tensor
        return 'self.' + name

    def add_constants(self, graph):
        import torch
        for name, (dims, kind, raw) in graph.constants.items():
            t = tensor_of(bytearray(raw), {1: torch.float32, 7: torch.int64}[kind], dims)
            if kind == 7:
                self.ints[name] = t.flatten().tolist()
            self.names[name] = self.buffer(t)

    def write(self, node):
        fn = getattr(self, 'on_' + node.type, None)
        x = [self.names[i] for i in node.inputs]
        if fn:
            self.let(node.outputs[0], fn(node, *x)) if node.type != 'Scan' else fn(node, *x)
        elif node.type in PLAIN:
            self.let(node.outputs[0], PLAIN[node.type].format(*x, **node.attrs))
        else:
            raise Unfit("model.onnx: there is no form in TorchScript for op '%s'" % node.type)

    def fixed(self, node, at):
        """Whole numbers that are known when the model is written."""
        if node.inputs[at] not in self.ints:
            raise Unfit('model.onnx: %s with numbers that are computed' % node.type)
        return self.ints[node.inputs[at]]

    def on_Concat(self, node, *x):
        return 'torch.cat([%s], %d)' % (', '.join(x), node.attrs['axis'])

    def on_Reshape(self, node, a, _):
        sizes = ['%s.size(%d)' % (a, i) if n == 0 else str(n) for i, n in enumerate(self.fixed(node, 1))]
        return '%s.reshape([%s])' % (a, ', '.join(sizes))

    def on_ReduceSum(self, node, a, _):
        return 'torch.sum(%s, %s, %s)' % (a, self.fixed(node, 1), bool(node.attrs.get('keepdims', 1)))

    def on_ReduceMax(self, node, a):
        return 'torch.amax(%s, %s, %s)' % (a, node.attrs['axes'], bool(node.attrs.get('keepdims', 1)))

    def on_ReduceLogSumExp(self, node, a):
        return 'torch.logsumexp(%s, %s, %s)' % (a, node.attrs['axes'], bool(node.attrs.get('keepdims', 1)))

    def on_Unsqueeze(self, node, a, _):
        for axis in sorted(self.fixed(node, 1)):
            a += '.unsqueeze(%d)' % axis
        return a

    def on_Squeeze(self, node, a, _):
        for axis in sorted(self.fixed(node, 1), reverse=True):
            a += '.squeeze(%d)' % axis
        return a

    def on_Transpose(self, node, a):
        perm = node.attrs.get('perm')
        return '%s.permute(%s)' % (a, perm) if perm else '%s.permute(self._reversed(%s.dim()))' % (a, a)

    def on_Slice(self, node, a, *_):
        starts, ends = self.fixed(node, 1), self.fixed(node, 2)
        axes = self.fixed(node, 3) if len(node.inputs) > 3 else list(range(len(starts)))
        steps = self.fixed(node, 4) if len(node.inputs) > 4 else [1] * len(starts)
        for start, end, axis, step in zip(starts, ends, axes, steps):
            if step < 1:
                raise Unfit('model.onnx: Slice with a step of %d' % step)
            a = 'self._cut(%s, %d, %d, %d, %d)' % (a, axis, start, end, step)
        return a

    def on_Gather(self, node, a, at):
        at = self.buffer(self.buffers[at[5:]].flatten()) if at.startswith('self.') else at
        return 'torch.index_select(%s, %d, %s)' % (a, node.attrs.get('axis', 0), at)

    def on_GatherElements(self, node, a, at):
        return 'torch.gather(%s, %d, %s)' % (a, node.attrs.get('axis', 0), at)

    def on_Cast(self, node, a):
        return '%s.to(torch.%s)' % (a, {1: 'float32', 7: 'int64'}[node.attrs['to']])

    def on_CumSum(self, node, a, _):
        return 'torch.cumsum(%s, %d)' % (a, self.fixed(node, 1)[0])

    def on_Shape(self, node, a):
        return 'torch.tensor(%s.size())' % a

    def on_Expand(self, node, a, shape):
        return '%s * torch.ones(self._sizes(%s), device=%s.device)' % (a, shape, a)

    def on_ConstantOfShape(self, node, shape):
        return 'torch.zeros(self._sizes(%s), device=self.place.device)' % shape

    def on_Pad(self, node, a, _):
        pads = self.fixed(node, 1)
        half, out = len(pads) // 2, []
        for i in reversed(range(half)):
            out += [pads[i], pads[half + i]]
        return 'torch.constant_pad_nd(%s, %s)' % (a, out)

    def on_Trilu(self, node, a, *k):
        return 'torch.%s(%s, %d)' % ('triu' if node.attrs.get('upper', 1) else 'tril', a,
                                     self.fixed(node, 1)[0] if k else 0)

    def on_Conv(self, node, a, w, *bias):
        top, left, bottom, right = node.attrs.get('pads', [0, 0, 0, 0])
        return 'torch.conv2d(torch.constant_pad_nd(%s, %s), %s, %s)' % (
            a, [left, right, top, bottom], w, bias[0] if bias else 'None')

    def on_MaxPool(self, node, a):
        kernel = node.attrs['kernel_shape']
        return 'torch.max_pool2d(%s, %s, %s)' % (a, kernel, node.attrs.get('strides', [1, 1]))

    def on_LayerNormalization(self, node, a, w, *bias):
        return 'torch.layer_norm(%s, %s.size(), %s, %s, %r)' % (
            a, w, w, bias[0] if bias else 'None', node.attrs.get('epsilon', 1e-5))

    def on_Softmax(self, node, a):
        return 'torch.softmax(%s, %d)' % (a, node.attrs.get('axis', -1))

    def on_Elu(self, node, a):
        return 'torch.elu(%s, %r)' % (a, node.attrs.get('alpha', 1.0))

    def on_LeakyRelu(self, node, a):
        return 'torch.leaky_relu(%s, %r)' % (a, node.attrs.get('alpha', 0.01))

    def on_RandomNormalLike(self, node, a):
        return 'torch.randn_like(%s) * %r' % (a, node.attrs.get('scale', 1.0))

    def on_GRU(self, node, x, w, r, b):
        if not node.attrs.get('linear_before_reset'):
            raise Unfit('model.onnx: GRU whose reset comes before the product')
        return 'self._gru(%s, %s, %s, %s, %d)' % (x, w, r, b, node.attrs['hidden_size'])

    def on_Scan(self, node, first, *x):
        body, state, seen = node.attrs['body'], self.fresh(), self.fresh()
        self.put('%s = %s' % (state, first))
        self.put('%s: List[Tensor] = []' % seen)
        at = self.fresh()
        self.put('for %s in range(%s.size(0)):' % (at, x[0]))
        outer, self.indent = self.indent, self.indent + '    '
        self.names[body.inputs[0]] = state
        for name, value in zip(body.inputs[1:], x):
            self.let(name, '%s[%s]' % (value, at))
        self.add_constants(body)
        for n in body.nodes:
            self.write(n)
        self.put('%s = %s' % (state, self.names[body.outputs[0]]))
        self.put('%s.append(%s)' % (seen, self.names[body.outputs[1]]))
        self.indent = outer
        self.names[node.outputs[0]] = state
        self.let(node.outputs[1], 'torch.stack(%s)' % seen)

    def fresh(self):
        name = 'w%d' % len(self.names)
        self.names['#' + name] = name
        return name


PLAIN = {
    'Add': '{0} + {1}', 'Sub': '{0} - {1}', 'Mul': '{0} * {1}', 'Div': '{0} / {1}', 'Neg': '-{0}',
    'MatMul': 'torch.matmul({0}, {1})', 'Max': 'torch.maximum({0}, {1})', 'Min': 'torch.minimum({0}, {1})',
    'Pow': 'torch.pow({0}, {1})', 'Sqrt': 'torch.sqrt({0})', 'Erf': 'torch.erf({0})', 'Exp': 'torch.exp({0})',
    'Log': 'torch.log({0})', 'Equal': '{0} == {1}', 'Identity': '{0}', 'Relu': 'torch.relu({0})',
    'Sigmoid': 'torch.sigmoid({0})', 'Tanh': 'torch.tanh({0})', 'Selu': 'torch.selu({0})',
    'Softplus': 'torch.nn.functional.softplus({0})', 'Softsign': '{0} / (1.0 + torch.abs({0}))',
    'HardSwish': '{0} * torch.clamp({0} / 6.0 + 0.5, 0.0, 1.0)',
    'PRelu': 'torch.where({0} < 0, {0} * {1}, {0})',
    'Clip': 'torch.minimum(torch.maximum({0}, {1}), {2})',
}

# What the statements of a graph and the lookups call. `rows` of a table are whole rows of floats
# once they have been taken from it; a table of integers has a scale (int8) or step and least value.
HELPERS = '''
def _reversed(self, n: int) -> List[int]:
    out: List[int] = []
    for i in range(n):
        out.append(n - 1 - i)
    return out

def _sizes(self, shape: Tensor) -> List[int]:
    out: List[int] = []
    for i in range(shape.numel()):
        out.append(int(shape[i]))
    return out

def _cut(self, x: Tensor, axis: int, begin: int, end: int, step: int) -> Tensor:
    n = x.size(axis)
    first = min(n, begin if begin >= 0 else max(0, n + begin))
    last = min(n, end if end >= 0 else max(0, n + end))
    if step == 1:
        return torch.narrow(x, axis, first, max(0, last - first))
    return torch.index_select(x, axis, torch.arange(first, last, step, device=x.device))

def _gru(self, x: Tensor, w: Tensor, r: Tensor, b: Tensor, n: int) -> Tensor:
    bias_x = b[0][:3 * n]
    bias_h = b[0][3 * n:]
    h = torch.zeros([x.size(1), n], device=x.device)
    out: List[Tensor] = []
    for t in range(x.size(0)):
        a = torch.matmul(x[t], w[0].t()) + bias_x
        c = torch.matmul(h, r[0].t()) + bias_h
        z = torch.sigmoid(a[:, :n] + c[:, :n])
        k = torch.sigmoid(a[:, n:2 * n] + c[:, n:2 * n])
        new = torch.tanh(a[:, 2 * n:] + k * c[:, 2 * n:])
        h = (1.0 - z) * new + z * h
        out.append(h)
    return torch.stack(out).unsqueeze(1)

def _rows(self, table: Tensor, scale: Tensor, bits: int, dim: int, ids: Tensor) -> Tensor:
    x = torch.index_select(table, 0, ids)
    if bits == 0:
        return x.to(torch.float32)
    s = torch.index_select(scale, 0, ids).to(torch.float32)
    if bits == 8:
        return x.to(torch.float32) * s.unsqueeze(1)
    parts: List[Tensor] = []
    for k in range(8 // bits):
        part = torch.div(x.to(torch.int32), 1 << (bits * k), rounding_mode='floor')
        parts.append(torch.bitwise_and(part, (1 << bits) - 1))
    y = torch.stack(parts, 2).flatten(1)[:, :dim].to(torch.float32)
    return y * s[:, :1] + s[:, 1:]

def _pool(self, rows: Tensor, lengths: Tensor, weights: Optional[Tensor], mean: bool) -> Tensor:
    n = lengths.numel()
    x = rows
    if weights is not None:
        x = x * weights.to(torch.float32).reshape([-1, 1])
    at = torch.repeat_interleave(torch.arange(n, device=lengths.device), lengths)
    y = torch.zeros([n, x.size(1)], device=x.device).index_add(0, at, x)
    if mean:
        y = y / torch.clamp(lengths, min=1).to(torch.float32).unsqueeze(1)
    return y

def _bag(self, table: Tensor, ids: Tensor, lengths: Tensor, weights: Optional[Tensor], mean: bool) -> Tensor:
    w = weights
    if w is not None:
        w = w.to(torch.float32).flatten()
    y = torch.embedding_bag(table, ids, torch.cumsum(lengths, 0) - lengths, False, 0, False, w)[0]
    if mean:
        y = y / torch.clamp(lengths, min=1).to(torch.float32).unsqueeze(1)
    return y

def _first(self, rows: Tensor, lengths: Tensor) -> Tensor:
    begin = torch.cumsum(lengths, 0) - lengths
    if rows.size(0) == 0:
        return torch.zeros([lengths.numel(), rows.size(1)], device=rows.device)
    y = torch.index_select(rows, 0, torch.clamp(begin, max=rows.size(0) - 1))
    return y * (lengths > 0).to(torch.float32).unsqueeze(1)

def _padded(self, steps: Tensor, lengths: Tensor, most: int) -> Tensor:
    n = lengths.numel()
    row = torch.repeat_interleave(torch.arange(n, device=lengths.device), lengths)
    at = torch.arange(row.numel(), device=row.device) - (torch.cumsum(lengths, 0) - lengths)[row]
    keep = torch.nonzero(at < most).flatten()
    y = torch.zeros([n * most, steps.size(1)], device=steps.device)
    y = y.index_copy(0, (row * most + at)[keep], steps[keep])
    return y.reshape([n, most, steps.size(1)])
'''


def quoted(name):
    return json.dumps(name)


class Model(Writer):
    """forward() of one graph: features to its inputs, its nodes, its outputs."""

    def __init__(self, manifest, tables):
        super().__init__()
        self.manifest, self.tables, self.at_table = manifest, tables, {}
        self.axes = {a['name']: a for a in manifest['onnx'].get('axes', [])}

    def get(self, feature, what):
        return 'data[%s].to(place)' % quoted('%s.%s' % (feature, what))

    def maybe(self, feature, what):
        key = quoted('%s.%s' % (feature, what))
        name = self.fresh()
        self.put('%s: Optional[Tensor] = None' % name)
        self.put('if %s in data:' % key)
        self.put('    %s = data[%s].to(place)' % (name, key))
        return name

    def table(self, name):
        """Buffers of a table, its scale, bits (0: floats) and width."""
        if name not in self.at_table:
            info = next(t for t in self.manifest['tables'] if t['tensor'] == name)
            if info.get('keyed'):
                raise Unfit("table '%s' has rows by id (zch or dynamicemb), which only Trainyard can look up" % name)
            kind = info['type']
            scale = {'int8': '.scale', 'int4': '.int4', 'int2': '.int2'}.get(kind)
            bits = int(kind[3:]) if scale else 0
            self.at_table[name] = (self.buffer(self.tables[name]),
                                   self.buffer(self.tables[name + scale]) if scale else 'self.place',
                                   bits, info['dim'], kind == 'f32')
        return self.at_table[name]

    def lookup(self, c):
        table, scale, bits, dim, plain = self.table(c['table'])
        feature, mean = c['feature'], 'mean' in c['pooling']
        ids = self.get(feature, 'values') + '.to(torch.int64).flatten()'
        weights = 'None' if c.get('unweighted') else self.maybe(feature, 'weights')
        rows = 'self._rows(%s, %s, %d, %d, %s)' % (table, scale, bits, dim, ids)
        lengths = self.get(feature, 'lengths') + '.to(torch.int64)'
        if c['pooling'].startswith('step'):
            return self.steps(feature, rows, weights, mean)
        if c.get('first_only'):
            return 'self._first(%s, %s)' % (rows, lengths)
        if plain:
            return 'self._bag(%s, %s, %s, %s, %s)' % (table, ids, lengths, weights, mean)
        return 'self._pool(%s, %s, %s, %s)' % (rows, lengths, weights, mean)

    def steps(self, feature, rows, weights, mean):
        """A row per step: key_lengths says how many ids a step has, where that is not one."""
        name, counts = self.fresh(), self.maybe(feature, 'key_lengths')
        self.put('%s = %s' % (name, rows))
        self.put('if %s is None:' % counts)
        self.put('    %s = torch.ones([%s.size(0)], dtype=torch.int64, device=place)' % (counts, name))
        self.put('%s = self._pool(%s, %s.to(torch.int64), %s, %s)' % (name, name, counts, weights, mean))
        return name

    def longest(self, axis):
        """Positions of an axis in this batch, by the feature that leads it."""
        a = self.axes.get(axis)
        if not a:
            raise Unfit("nothing leads the sequence '%s'" % axis)
        if 'most' not in a:
            lengths, a['most'], a['lengths'] = self.fresh(), self.fresh(), ''
            a['lengths'] = lengths
            self.put('%s = %s.to(torch.int64)' % (lengths, self.get(a['leader'], 'lengths')))
            if a['max_length']:
                self.put('%s = torch.clamp(%s, max=%d)' % (lengths, lengths, a['max_length']))
            self.put('%s = 1' % a['most'])
            self.put('if %s.numel() > 0:' % lengths)
            self.put('    %s = max(1, int(%s.max()))' % (a['most'], lengths))
        return a

    def column(self, i, c):
        """The columns that one feature fills."""
        if 'table' in c:
            x = self.lookup(c)
        else:
            x = '%s.to(torch.float32).reshape([-1, %d])' % (self.get(c['feature'], 'values'), c['width'])
        if i['axis'] == 'batch':
            return x
        a = self.longest(i['axis'])
        return 'self._padded(%s, %s.to(torch.int64), %s)' % (x, self.get(c['feature'], 'lengths'), a['most'])

    def input(self, i):
        columns, at = sorted(i['columns'], key=lambda c: c['from']), 0
        for c in columns:
            if c['from'] != at:
                break
            at += c['width']
        if at != i['width']:
            raise Unfit("columns of the graph's input '%s' come from no feature" % i['name'])
        parts = []
        for c in columns:
            name = self.fresh()
            self.put('%s = %s' % (name, self.column(i, c)))
            parts.append(name)
        joined = parts[0] if len(parts) == 1 else 'torch.cat([%s], -1)' % ', '.join(parts)
        shape = i.get('dims', [i['width']])
        if len(shape) > 1:
            lead = '%s.size(0)' % parts[0] + ('' if i['axis'] == 'batch' else ', %s.size(1)' % parts[0])
            joined = '%s.reshape([%s, %s])' % (joined, lead, ', '.join(str(d) for d in shape))
        self.let(i['name'], joined)

    def mask(self, name):
        a = self.longest(name[:-len('.mask')])
        self.let(name, '(torch.arange(%s, device=place).unsqueeze(0) < %s.unsqueeze(1)).to(torch.float32)'
                 % (a['most'], a['lengths']))

    def forward(self, graph):
        for a in self.axes.values():
            a.pop('most', None)
        self.put('place = self.place.device')
        inputs = {i['name']: i for i in self.manifest['onnx']['inputs']}
        for name in graph.inputs:
            self.mask(name) if name not in inputs else self.input(inputs[name])
        self.add_constants(graph)
        for node in graph.nodes:
            self.write(node)
        self.put('return {%s}' % ', '.join('%s: %s' % (quoted(o), self.names[o]) for o in graph.outputs))
        return ('def forward(self, data: Dict[str, Tensor], device: Device) -> Dict[str, Tensor]:\n'
                + '\n'.join(self.lines) + '\n')


def scripted(manifest, tables, graph):
    import torch
    writer = Model(manifest, tables)
    source = writer.forward(graph)
    module = type('Scripted', (torch.nn.Module,), {})()
    module.register_buffer('place', torch.zeros([0]))
    for name, tensor in writer.buffers.items():
        module.register_buffer(name, tensor.contiguous())
    module = torch.jit.script(module.eval())
    module.define(HELPERS + source)
    return module


# --- an export ---

def check(path, features, samples, outputs):
    """Loads what was written and compares scores of the sample rows; the largest difference."""
    import torch
    model = torch.jit.load(path, map_location='cpu')
    with torch.no_grad():
        got = model(features, torch.device('cpu'))
    worst = 0.0
    for name in outputs:
        want = samples['output.' + name]
        if got[name].numel() != want.numel():
            raise Unfit("output '%s' has %d numbers, not %d" % (name, got[name].numel(), want.numel()))
        far = (got[name].reshape(-1) - want.reshape(-1)).abs() / (1 + want.reshape(-1).abs())
        worst = max(worst, float(far.max()))
        if not worst <= LIMIT:
            raise Unfit("output '%s' of the scripted model differs by %g from the scores of the export" % (name, worst))
    return worst


def write_one(export, where, graph_file, manifest, tables, samples, features):
    graph = read_graph(os.path.join(export, graph_file))
    path = os.path.join(where, 'scripted_model.pt')
    scripted(manifest, tables, graph).save(path)
    with open(os.path.join(where, 'model_acc.json'), 'w', encoding='utf-8') as f:
        json.dump({'ENABLE_AOT': '0', 'ENABLE_TRT': '0', 'INPUT_TILE': '0', 'QUANT_EMB': '0'}, f)
        f.write('\n')
    return check(path, features, samples, graph.outputs)


def write(export):
    with open(os.path.join(export, 'manifest.json'), encoding='utf-8') as f:
        manifest = json.load(f)
    if not manifest['onnx']['file']:
        raise Unfit('the model has an op without a form in ONNX, of which the scripted model is made')
    tables = read_tensors(os.path.join(export, 'tables.safetensors'))
    samples = read_tensors(os.path.join(export, 'samples.safetensors'))
    features = read_tensors(os.path.join(export, 'features.safetensors'))
    worst = write_one(export, export, 'model.onnx', manifest, tables, samples, features)
    return worst


def main():
    try:
        import torch
    except ImportError as e:
        sys.exit('no torch: %s' % e)
    if sys.argv[1:] == ['--probe']:
        print(torch.__version__)
        return
    try:
        worst = write(sys.argv[1])
    except Unfit as e:
        sys.exit(str(e))
    except RuntimeError as e:  # of torch: several lines, of which the last cause counts
        lines = [line for line in str(e).splitlines() if line.strip()] or [repr(e)]
        causes = [line for line in lines if 'Error: ' in line]
        sys.exit('torch: %s' % (causes or lines)[-1 if causes else 0].strip())
    print(json.dumps({'torch': torch.__version__, 'difference': worst}))


if __name__ == '__main__':
    main()
