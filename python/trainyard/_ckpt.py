# SPDX-License-Identifier: Apache-2.0
"""Trainyard checkpoints in Python: the standard library and NumPy are all it needs.

    import trainyard_ckpt as tc
    c = tc.Checkpoint('experiments/din')          # a model_dir: the latest one
    w = c['embedding.user_id_emb.weight']         # a NumPy array, read only
    ids, rows = c.rows('user_id_emb')             # rows that training touched, nothing else
    arrays = tc.load('pretrained.safetensors')    # everything, as a dict
    tc.save('pretrain', {'embedding.weight': a})  # pretrain/model.ckpt-0

On the command line:

    trainyard_ckpt.py list CKPT                   names, types, shapes
    trainyard_ckpt.py to-torch CKPT OUT.pth       (needs torch, like the two below)
    trainyard_ckpt.py from-torch IN.pth MODEL_DIR [--step N]
    trainyard_ckpt.py from-dcp DIR MODEL_DIR [--step N]

from-dcp reads a directory of torch.distributed.checkpoint, or a model.ckpt-N of
TorchEasyRec, of which it takes model/ (the parameters, without the optimizer's state) and
the step. What comes out serves to predict, to export and to fine-tune. The form of a
checkpoint: docs/checkpoint-format.md.
"""
import argparse
import json
import math
import os
import re
import shutil
import struct
import sys
import zlib

import numpy as np

FORMAT, VERSION, SCHEMA = 'trainyard-checkpoint', 1, 1
HEADER_MAX = 64 << 20
PARTS = ('model', 'optimizer', 'state')
SEAL = '  "checksum": "'
STATE_NAMES = tuple(f'.weight.{x}' for x in ('used', 'counts', 'last', 'waiting.keys', 'waiting.counts', 'waiting.last',
                                             'history.ids', 'history.times'))

# What NumPy has no type for is kept as plain words.
DTYPES = {'BOOL': 'bool', 'U8': 'u1', 'I8': 'i1', 'F8_E4M3': 'u1', 'F8_E5M2': 'u1', 'I16': '<i2', 'U16': '<u2',
          'F16': '<f2', 'BF16': '<u2', 'I32': '<i4', 'U32': '<u4', 'F32': '<f4', 'F64': '<f8', 'I64': '<i8',
          'U64': '<u8', 'C64': '<c8'}
NAMES = {np.dtype(v): k for k, v in DTYPES.items() if not k.startswith(('F8', 'BF'))}


class CheckpointError(Exception):
    """A file that is not what it should be; the text says which and where."""


# --- checksums ---------------------------------------------------------------------------

def _apply(op, v):
    out = 0
    for i in range(32):
        if v >> i & 1:
            out ^= op[i]
    return out


def _square(op):
    return [_apply(op, column) for column in op]


def _zero_byte():
    """What one more byte of zero does to a register, as the images of its 32 bits."""
    out = [1 << i for i in range(32)]
    for _ in range(8):
        out = [(c >> 1) ^ (0x82F63B78 if c & 1 else 0) for c in out]
    return out


def _power(n):
    """What n bytes of zero do."""
    op, out = _zero_byte(), [1 << i for i in range(32)]
    while n:
        if n & 1:
            out = [_apply(op, x) for x in out]
        op = _square(op)
        n >>= 1
    return out


def _tables(op):
    """`op` over all values of the lower and of the upper 16 bits."""
    tables = np.zeros((2, 1 << 16), np.uint32)
    for half in range(2):
        for bit in range(16):
            step = 1 << bit
            tables[half, step:2 * step] = tables[half, :step] ^ np.uint32(op[16 * half + bit])
    return tables


def _apply_all(tables, v):
    return tables[0][v & np.uint32(0xffff)] ^ tables[1][v >> np.uint32(16)]


_WORD = _tables(_power(4))


def _register(block):
    """Of a register of zero, over a block: many stretches side by side, then folded in
    pairs. Zeros in front change nothing, so a block is filled up there."""
    lanes = 1
    while lanes * 512 < len(block) and lanes < 1 << 16:
        lanes *= 2
    width = -(-len(block) // (4 * lanes))
    padded = np.zeros(lanes * width * 4, np.uint8)
    padded[len(padded) - len(block):] = block
    v = np.zeros(lanes, np.uint32)
    for column in np.ascontiguousarray(padded.view('<u4').reshape(lanes, width).T):
        v = _apply_all(_WORD, v ^ column)
    op = _power(4 * width)
    while len(v) > 1:
        v = _apply_all(_tables(op), v[0::2]) ^ v[1::2]
        op = _square(op)
    return int(v[0])


def crc32c(data):
    """CRC-32C (Castagnoli) of bytes or an array of bytes."""
    data = np.frombuffer(data, np.uint8)
    state = 0xffffffff
    for at in range(0, len(data), 32 << 20):
        block = data[at:at + (32 << 20)]
        state = _apply(_power(len(block)), state) ^ _register(block)
    return state ^ 0xffffffff


def _checksum(kind, data):
    if kind == 'crc32':
        return zlib.crc32(data)
    if kind == 'crc32c':
        return crc32c(data)
    raise CheckpointError(f'unknown checksum {kind!r}')


def _matches(text, data):
    kind, _, value = text.partition(':')
    return f'{_checksum(kind, data):08x}' == value


# --- safetensors -------------------------------------------------------------------------

def _unique(pairs):
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError('a name occurs twice')
    return out


def _header(path, data):
    if len(data) < 8:
        raise CheckpointError(f'{path}: too short for a safetensors file')
    length = struct.unpack('<Q', data[:8].tobytes())[0]
    if length > min(HEADER_MAX, len(data) - 8):
        raise CheckpointError(f'{path}: a header of {length} bytes')
    try:
        header = json.loads(data[8:8 + length].tobytes().decode(), object_pairs_hook=_unique)
    except ValueError as e:
        raise CheckpointError(f'{path}: header: {e}') from None
    header.pop('__metadata__', None)
    return header, 8 + length


def _read_raw(path):
    """name -> (type, array); arrays are views of the mapped file."""
    size = os.path.getsize(path)
    data = np.memmap(path, np.uint8, 'r') if size else np.zeros(0, np.uint8)
    header, begin = _header(path, data)
    out, end = {}, begin
    for name, t in sorted(header.items(), key=lambda x: x[1]['data_offsets']):
        lo, hi = (begin + x for x in t['data_offsets'])
        dtype, shape = DTYPES.get(t['dtype']), t['shape']
        if dtype is None:
            raise CheckpointError(f"{path}: tensor '{name}': type '{t['dtype']}' is not supported")
        if lo != end or hi < lo or hi > len(data) or hi - lo != math.prod(shape) * np.dtype(dtype).itemsize:
            raise CheckpointError(f"{path}: tensor '{name}': its place, shape and type do not go together")
        out[name] = t['dtype'], data[lo:hi].view(dtype).reshape(shape)
        end = hi
    if end != len(data):
        raise CheckpointError(f'{path}: {len(data) - end} bytes behind the last tensor')
    return out


def _widen(kind, array):
    """BF16 as float32, which holds every value of it; the rest as it is."""
    if kind != 'BF16':
        return array
    return (array.astype(np.uint32) << 16).view(np.float32).reshape(array.shape)


def _narrow(value):
    """(type, contiguous array) of a NumPy array, a torch tensor, or what makes an array."""
    if hasattr(value, 'detach'):
        value = value.detach().cpu().contiguous()
        if str(value.dtype) == 'torch.bfloat16':
            import torch
            return 'BF16', value.view(torch.int16).numpy().view('<u2')
        value = value.numpy()
    array = np.asarray(value)
    if array.dtype.newbyteorder('<') not in NAMES:
        raise CheckpointError(f'values of type {array.dtype} cannot be stored')
    array = array.astype(array.dtype.newbyteorder('<'), copy=False)
    return NAMES[array.dtype], np.ascontiguousarray(array).reshape(array.shape)


def _write_raw(path, tensors):
    """tensors: (name, type, array). Returns bytes, checksum and name -> offset, checksum."""
    tensors = sorted(tensors, key=lambda t: -t[2].dtype.itemsize)
    header, at = {'__metadata__': {'producer': 'trainyard'}}, 0
    for name, kind, a in tensors:
        header[name] = {'dtype': kind, 'shape': list(a.shape), 'data_offsets': [at, at + a.nbytes]}
        at += a.nbytes
    text = json.dumps(header, ensure_ascii=False, separators=(',', ':')).encode()
    text += b' ' * (-(8 + len(text)) % 64)
    head = struct.pack('<Q', len(text)) + text
    total, places = zlib.crc32(head), {}
    with open(path, 'wb') as f:
        f.write(head)
        for name, _, a in tensors:
            data = memoryview(a.reshape(-1).view(np.uint8))
            places[name] = f.tell(), f'crc32:{zlib.crc32(data):08x}'
            total = zlib.crc32(data, total)
            f.write(data)
        f.flush()
        os.fsync(f.fileno())
        return f.tell(), f'crc32:{total:08x}', places


# --- initial values of tables --------------------------------------------------------------
#
# A row that training never touched has the values that it would start from: a function of
# (seed, stream, row), where stream is the XXH3 hash of the table's name. The blob 'tables'
# of a checkpoint says which: 'uniform(a, b), seed S, stream X', normal(mean, deviation),
# constant(a), truncated(mean, deviation, lowest, highest); a, b as %a prints them. Random
# words are Philox 4x32-10: key = seed, stream and step 0 mixed; counter = (number of the
# block, row), 64 bits each.

def _scramble(v):
    for _ in range(2):
        v = (v ^ v >> 32) * 0xd6e8feb86659fd93 & 0xffffffffffffffff
    return v ^ v >> 32


def _philox_key(seed, stream):
    key = _scramble(seed + 0x9e3779b97f4a7c15 & 0xffffffffffffffff)
    for v in (stream, 0):
        key = _scramble((key ^ v) + 0x9e3779b97f4a7c15 & 0xffffffffffffffff)
    return key


def _words(key, rows, n):
    """The first n random words of each row: uint32 [len(rows), n]."""
    rows = np.asarray(rows, np.uint64)
    blocks = np.arange(-(-n // 4), dtype=np.uint64)
    low = np.uint64(0xffffffff)
    shape = len(rows), len(blocks)
    c0, c1 = (np.broadcast_to(x, shape) for x in (blocks & low, blocks >> np.uint64(32)))
    c2, c3 = (np.broadcast_to(x[:, None], shape) for x in (rows & low, rows >> np.uint64(32)))
    k0, k1 = key & 0xffffffff, key >> 32
    for _ in range(10):
        a, b = c0 * np.uint64(0xd2511f53), c2 * np.uint64(0xcd9e8d57)
        c0, c2 = b >> np.uint64(32) ^ c1 ^ np.uint64(k0), a >> np.uint64(32) ^ c3 ^ np.uint64(k1)
        c1, c3 = b & low, a & low
        k0, k1 = k0 + 0x9e3779b9 & 0xffffffff, k1 + 0xbb67ae85 & 0xffffffff
    return np.stack((c0, c1, c2, c3), -1).reshape(len(rows), -1)[:, :n].astype(np.uint32)


def _logarithm(u):
    m, e = np.frexp(u)
    small = m < 0.70710678118654752
    m, e = np.where(small, m * 2, m), e - small
    s = (m - 1) / (m + 1)
    total = np.zeros_like(s)
    for k in range(10, -1, -1):
        total = total * (s * s) + 1.0 / (2 * k + 1)
    return 2 * s * total + e * 0.69314718055994531


def _circle(u):
    quarter = (u * 4 + 0.5).astype(np.int64)
    x = (u * 4 - quarter) * 1.57079632679489662
    sx, cx, x2 = np.zeros_like(x), np.zeros_like(x), x * x
    for k in range(7, -1, -1):
        sign = -1.0 if k % 2 else 1.0
        sx = sx * x2 + sign / math.factorial(2 * k + 1)
        cx = cx * x2 + sign / math.factorial(2 * k)
    sx = sx * x
    q = quarter % 4
    return np.choose(q, (sx, cx, -sx, -cx)), np.choose(q, (cx, -sx, -cx, sx))


def _normals(key, rows, n):
    w = _words(key, rows, n + n % 2).astype(np.float64)
    radius = np.sqrt(-2 * _logarithm((w[:, 0::2] + 0.5) * 2.0 ** -32))
    sine, cosine = _circle(w[:, 1::2] * 2.0 ** -32)
    return np.stack((radius * cosine, radius * sine), -1).reshape(len(w), -1)[:, :n]


def _truncated(key, row, dim, mean, deviation, low, high):
    drawn = mean + deviation * _normals(key, [row], 1000 * dim)[0]
    out, at = [], 0
    for _ in range(dim):
        tries = drawn[at:at + 1000]
        good = np.flatnonzero((tries >= low) & (tries <= high))
        at += int(good[0]) + 1 if len(good) else 1000
        out.append(drawn[at - 1] if len(good) else low if drawn[at - 1] < low else high)
    return np.array(out, np.float32)


def first_values(origin, rows, dim):
    """float32 [len(rows), dim]: what the given rows (or ids of a dynamic table) start from."""
    m = re.fullmatch(r'(\w+)\(([^)]*)\), seed (\d+), stream ([0-9a-f]{16})', origin)
    if not m or m[1] not in ('uniform', 'normal', 'constant', 'truncated'):
        raise CheckpointError(f'initial values {origin!r} are not known')
    args = [float.fromhex(x) for x in m[2].split(',')]
    key = _philox_key(int(m[3]), int(m[4], 16))
    if m[1] == 'constant':
        return np.full((len(rows), dim), args[0], np.float32)
    if m[1] == 'uniform':
        a, b = np.float32(args[0]), np.float32(args[1])
        unit = (_words(key, rows, dim) >> np.uint32(8)).astype(np.float32) * np.float32(2.0 ** -24)
        return a + (b - a) * unit
    args[:2] = [float(np.float32(x)) for x in args[:2]] if m[1] == 'normal' else args[:2]
    if m[1] == 'normal':
        return (args[0] + args[1] * _normals(key, rows, dim)).astype(np.float32)
    return np.array([_truncated(key, row, dim, *args) for row in rows], np.float32).reshape(len(rows), dim)


def _as_stored(kind, values):
    """Rounded to nearest in the type of the table, as float32."""
    if kind == 'F16':
        return values.astype(np.float16).astype(np.float32)
    if kind == 'BF16':
        bits = values.view(np.uint32)
        bits = bits + np.uint32(0x7fff) + (bits >> np.uint32(16) & np.uint32(1)) & np.uint32(0xffff0000)
        return bits.view(np.float32)
    return values


# --- checkpoints -------------------------------------------------------------------------

def steps(model_dir):
    """The steps of the checkpoints in a model_dir, ascending."""
    found = (re.fullmatch(r'model\.ckpt-(0|[1-9]\d*)', x) for x in os.listdir(model_dir))
    return sorted(int(m[1]) for m in found if m and os.path.isdir(os.path.join(model_dir, m[0])))


def _resolve(path):
    if not os.path.isdir(path) or os.path.exists(os.path.join(path, 'manifest.json')):
        return path
    if re.fullmatch(r'model\.ckpt-\d+', os.path.basename(os.path.normpath(path))):
        raise CheckpointError(f'{path}: it has no manifest.json')
    found = steps(path)
    if not found:
        raise CheckpointError(f'{path}: no checkpoint here')
    return os.path.join(path, f'model.ckpt-{found[-1]}')


def _read_manifest(path):
    with open(os.path.join(path, 'manifest.json'), 'rb') as f:
        text = f.read()
    at = text.rfind(SEAL.encode())
    try:
        m = json.loads(text.decode(), object_pairs_hook=_unique)
        good = m['format'] == FORMAT and _matches(m['checksum'], text[:at])
    except (ValueError, KeyError, TypeError) as e:
        raise CheckpointError(f'{path}/manifest.json: {e!r}') from None
    if not good:
        raise CheckpointError(f'{path}/manifest.json: its checksum does not match: it was changed')
    if m['version'] > VERSION:
        raise CheckpointError(f"{path}/manifest.json: version {m['version']} is newer than this program")
    return m


class Checkpoint:
    """A checkpoint, a model_dir (its latest one) or a .safetensors file, to read from.

    Attributes: path, step (None of a single file), epoch, config (text), state (dict of what
    JSON blobs hold), kinds (name -> type in the file), parts (name -> 'model', ...).
    """

    def __init__(self, path, verify=True):
        self.path = _resolve(path)
        self.step, self.epoch, self.config, self.state = None, 0, '', {}
        self.kinds, self.parts, self._raw = {}, {}, {}
        if os.path.isdir(self.path):
            self._open_dir(verify)
        else:
            self._add(self.path, 'model')

    def _open_dir(self, verify):
        m = _read_manifest(self.path)
        self.step, self.epoch, self.config, self.state = m['step'], m['epoch'], m['config'], m['state']
        for f in m['files']:
            path = os.path.join(self.path, f['name'])
            if os.path.basename(f['name']) != f['name']:
                raise CheckpointError(f"{self.path}: file name '{f['name']}'")
            if not os.path.exists(path) or os.path.getsize(path) != f['bytes']:
                raise CheckpointError(f"{path}: missing, or not of {f['bytes']} bytes")
            if verify and not _matches(f['checksum'], np.memmap(path, np.uint8, 'r')):
                raise CheckpointError(f'{path}: damaged, its checksum differs')
            part = f['name'].split('-')[0]
            self._add(path, part if part in PARTS else 'model')
        if set(self.kinds) != set(m['tensors']):
            raise CheckpointError(f'{self.path}: the manifest lists other tensors than the files hold')

    def _add(self, path, part):
        for name, (kind, array) in _read_raw(path).items():
            if name in self.kinds:
                raise CheckpointError(f"{path}: tensor '{name}' occurs twice")
            self.kinds[name], self.parts[name], self._raw[name] = kind, part, array

    def __iter__(self):
        return iter(self._raw)

    def __len__(self):
        return len(self._raw)

    def __contains__(self, name):
        return name in self._raw or self._listed(name)

    def __getitem__(self, name):
        if name not in self._raw and self._listed(name):
            return self._whole(name)
        return _widen(self.kinds[name], self._raw[name])

    def _weight(self, name):
        """The weights that a tensor of a table belongs to."""
        return re.sub(r'^optimizer\.(.*)\.momentum\d$', r'\1', name)

    def _listed(self, name):
        return f'{name}.rows' in self._raw and f'{self._weight(name)}.row_ids' in self._raw

    def _whole(self, name):
        """All rows of a table of which only used ones were written."""
        weight = self._weight(name)
        fact, ids, part = self.state['tables'][weight], self._raw[f'{weight}.row_ids'], self[f'{name}.rows']
        if weight != name:
            out = np.full((fact['rows'], *part.shape[1:]), fact['state_first'], np.float32)
        else:
            out = np.empty((fact['rows'], part.shape[1]), np.float32)
            rest = np.setdiff1d(np.arange(fact['rows']), ids, assume_unique=True)
            for at in range(0, len(rest), 1 << 16):
                some = rest[at:at + (1 << 16)]
                out[some] = _as_stored(self.kinds[f'{name}.rows'], first_values(fact['first'], some, part.shape[1]))
        out[ids] = part
        return out

    def _table(self, table):
        full = f'embedding.{table}.weight'
        return full if any(x in self._raw for x in (full, f'{full}.rows')) else table

    def rows(self, table):
        """(numbers or ids, vectors) of the rows of an embedding table that training touched;
        of a zch table without the row that the other ids share, which is c[name + '.rows'][-1]."""
        name = self._table(table)
        if f'{name}.keys' in self._raw:
            keys = self._raw[f'{name}.keys']
            return keys, self[f'{name}.rows'][:len(keys)]
        if self._listed(name):
            return self._raw[f'{name}.row_ids'], self[f'{name}.rows']
        ids = np.flatnonzero(self.used(name))
        return ids, self[name][ids]

    def used(self, table):
        """Which rows of an embedding table were ever used in training, as booleans. `table` is
        the name of its weights, or what stands between 'embedding.' and '.weight' in it."""
        name = self._table(table)
        if self._listed(name):
            out = np.zeros(self.state['tables'][name]['rows'], bool)
            out[self._raw[f'{name}.row_ids']] = True
            return out
        bits = np.unpackbits(self._raw[f'{name}.used'], bitorder='little')
        return bits[:len(self._raw[name])].astype(bool)

    def torch(self, part=None):
        """name -> torch tensor, copied; all parts, or one."""
        import torch
        out = {}
        for name, kind in self.kinds.items():
            if part in (None, self.parts[name]):
                array = np.array(self._raw[name])
                if kind == 'BF16':
                    out[name] = torch.from_numpy(array.view('<i2')).view(torch.bfloat16)
                else:
                    out[name] = torch.from_numpy(array)
        return out


def load(path, part=None, verify=True):
    """All tensors as a dict of NumPy arrays (mapped, read only); one part or all."""
    c = Checkpoint(path, verify)
    return {name: c[name] for name in c if part in (None, c.parts[name])}


def part_of(name):
    """The part that a name belongs to, by our naming."""
    if name.startswith('optimizer.'):
        return 'optimizer'
    return 'state' if name.endswith(STATE_NAMES) else 'model'


def _deal(tensors, shard_bytes):
    shards, filled = [], 0
    for t in tensors:
        if not shards or (filled and filled + t[2].nbytes > shard_bytes):
            shards.append([])
            filled = 0
        shards[-1].append(t)
        filled += t[2].nbytes
    return shards


def _sync_dir(path):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _fill(temp, tensors, parts, shard_bytes):
    files, index = [], {}
    for part in PARTS:
        shards = _deal([t for t in tensors if parts(t[0]) == part], shard_bytes)
        for i, shard in enumerate(shards):
            name = f'{part}-{i + 1:05d}-of-{len(shards):05d}.safetensors'
            size, checksum, places = _write_raw(os.path.join(temp, name), shard)
            for tensor, kind, a in shard:
                offset, own = places[tensor]
                index[tensor] = {'dtype': kind, 'shape': list(a.shape), 'file': len(files), 'offset': offset,
                                 'checksum': own}
            files.append({'name': name, 'bytes': size, 'checksum': checksum})
    return files, index


def save(model_dir, arrays, step=0, epoch=0, config='', state=None, parts=part_of, shard_bytes=4 << 30,
         overwrite=False):
    """Writes model_dir/model.ckpt-<step> from a dict of arrays or torch tensors, and returns
    its path. `parts` is a function from a name to 'model', 'optimizer' or 'state'."""
    path = os.path.join(model_dir, f'model.ckpt-{step}')
    if os.path.exists(path) and not overwrite:
        raise FileExistsError(f'{path} exists')
    tensors = [(name, *_narrow(v)) for name, v in arrays.items()]
    temp = path + '.tmp'
    shutil.rmtree(temp, ignore_errors=True)
    os.makedirs(temp)
    try:
        files, index = _fill(temp, tensors, parts, shard_bytes)
        fields = {'format': FORMAT, 'version': VERSION, 'schema': SCHEMA, 'step': step, 'epoch': epoch,
                  'config': config, 'files': files, 'tensors': index, 'state': state or {}}
        text = json.dumps(fields, indent=2, allow_nan=False)[:-2] + ',\n'
        text += f'{SEAL}crc32:{zlib.crc32(text.encode()):08x}"\n}}\n'
        with open(os.path.join(temp, 'manifest.json'), 'wb') as f:
            f.write(text.encode())
            f.flush()
            os.fsync(f.fileno())
        _sync_dir(temp)
        if os.path.exists(path):
            shutil.rmtree(path)
        os.rename(temp, path)
        _sync_dir(model_dir)
    except BaseException:
        shutil.rmtree(temp, ignore_errors=True)
        raise
    return path


# What TorchEasyRec stores beside the weights and the config says already: the running sums of
# train_metrics, the windows of multi-window DIN, the widths of features under variational dropout.
NOT_WEIGHTS = re.compile(r'(^|\.)_(train_)?metric_modules\.|\.(cumsum_)?windows_len$|\.feature_dim_repeat$')


def as_ours(name, tensor):
    """(name, tensor) as Trainyard names and shapes them; None of what is no weight here.
    Counters of batch norm are one float, a convolution over one position is a matrix, and
    names have no blanks (TorchEasyRec breaks a line within one)."""
    if NOT_WEIGHTS.search(name):
        return None
    if name.endswith('.num_batches_tracked'):
        tensor = tensor.float().reshape(1)
    if re.search(r'\.cin_layers\.\d+\.weight$', name) and tensor.ndim == 3 and tensor.shape[2] == 1:
        tensor = tensor.reshape(tensor.shape[:2])
    return re.sub(r'\s+', '', name), tensor


def from_dcp(path):
    """name -> torch tensor, from a directory of torch.distributed.checkpoint."""
    import torch
    import torch.distributed.checkpoint as dcp
    if os.path.exists(os.path.join(path, 'model', '.metadata')):
        path = os.path.join(path, 'model')
    if not os.path.exists(os.path.join(path, '.metadata')):
        raise CheckpointError(f'{path}: no directory of torch.distributed.checkpoint, it has no .metadata')
    reader = dcp.FileSystemReader(path)
    sizes = reader.read_metadata().state_dict_metadata
    out = {name: torch.empty(m.size, dtype=m.properties.dtype) for name, m in sizes.items() if hasattr(m, 'size')}
    if hasattr(dcp, 'load'):
        dcp.load(out, storage_reader=reader)
    else:
        dcp.load_state_dict(out, reader, no_dist=True)
    pairs = (as_ours(name, t) for name, t in out.items())
    return dict(pair for pair in pairs if pair)


def _step_of(path):
    """The N of model.ckpt-N, 0 of any other name."""
    m = re.fullmatch(r'model\.ckpt-(\d+)', os.path.basename(os.path.normpath(path)))
    return int(m[1]) if m else 0


def _tensors_of(value):
    return {name: v for name, v in value.items() if hasattr(v, 'detach')}


def main(argv=None):
    p = argparse.ArgumentParser(description='Trainyard checkpoints: list and convert.')
    sub = p.add_subparsers(dest='what', required=True)
    for what, names in (('list', ['ckpt']), ('to-torch', ['ckpt', 'out']), ('from-torch', ['file', 'model_dir']),
                        ('from-dcp', ['dir', 'model_dir'])):
        one = sub.add_parser(what)
        for name in names:
            one.add_argument(name)
        if what.startswith('from'):
            one.add_argument('--step', type=int)
    a = p.parse_args(argv)
    try:
        if a.what == 'list':
            c = Checkpoint(a.ckpt)
            for name in c:
                print(name, c.kinds[name], list(c._raw[name].shape))
        elif a.what == 'to-torch':
            import torch
            torch.save(Checkpoint(a.ckpt).torch(), a.out)
        elif a.what == 'from-torch':
            import torch
            print(save(a.model_dir, _tensors_of(torch.load(a.file, map_location='cpu', weights_only=True)),
                       a.step or 0))
        else:
            print(save(a.model_dir, from_dcp(a.dir), _step_of(a.dir) if a.step is None else a.step))
    except (CheckpointError, OSError) as e:
        sys.exit(f'trainyard_ckpt: {e}')
