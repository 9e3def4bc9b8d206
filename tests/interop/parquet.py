#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parquet against pyarrow, DuckDB and polars.

    parquet.py PQ_TOOL [--testing DIR] [--quick]

Files written by the others over the product of encodings, codecs, types, nullability and page versions
are read by PQ_TOOL and compared value by value; files written by PQ_TOOL are read by the others. With
--testing, every file in DIR/data (a checkout of apache/parquet-testing) is compared with pyarrow, and every
file in DIR/bad_data must be refused, unless pyarrow reads it too and finds the same values. Exits 1 when anything differs."""
import argparse, datetime, decimal, itertools, json, math, os, random, re, subprocess, sys, tempfile

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 1300
failures = []
counts = {}


def check(ok, what, detail=''):
    group = what.split(':')[0]
    counts[group] = counts.get(group, 0) + 1
    if not ok:
        failures.append(what)
        if len(failures) <= 20:
            print(f'DIFFERENT {what} {detail}'[:600], flush=True)


# What PQ_TOOL prints for a value of pyarrow's.
def norm(v, t):
    if v is None:
        return None
    if pa.types.is_dictionary(t):
        return norm(v, t.value_type)
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return [norm(x, t.value_type) for x in v]
    if pa.types.is_map(t):
        return {key(norm(k, t.key_type)): norm(x, t.item_type) for k, x in v}
    if pa.types.is_struct(t):
        return {f.name: norm(v[f.name], f.type) for f in t}
    if isinstance(v, float):
        if math.isnan(v):
            return 'NaN'
        if math.isinf(v):
            return 'Infinity' if v > 0 else '-Infinity'
        return float(np.float32(v)) if t in (pa.float32(), pa.float16()) else v
    if isinstance(v, decimal.Decimal):
        return float(v)
    if pa.types.is_timestamp(t) or pa.types.is_date(t) or pa.types.is_time(t):
        return v
    if isinstance(v, bytes):
        return v.decode('utf-8', 'replace')
    return v


def key(k):
    return k if isinstance(k, str) else json.dumps(k)


def iso(n, unit, utc):
    """Timestamp n as PQ_TOOL prints it."""
    per = {'s': 1, 'ms': 10**3, 'us': 10**6, 'ns': 10**9}[unit]
    if unit == 's':
        n, per, unit = n * 1000, 1000, 'ms'
    seconds, rest = divmod(n, per)
    day, clock = divmod(seconds, 86400)
    date = (datetime.date(1970, 1, 1) + datetime.timedelta(days=day)).isoformat()
    text = f'{date}T{clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02}'
    if rest:
        text += '.' + str(rest).zfill({'ms': 3, 'us': 6, 'ns': 9}[unit])
    return text + ('Z' if utc else '')


def clock(n, unit):
    per = {'ms': 10**3, 'us': 10**6, 'ns': 10**9}[unit]
    s, rest = divmod(n, per)
    text = f'{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}'
    return text + ('.' + str(rest).zfill({'ms': 3, 'us': 6, 'ns': 9}[unit]) if rest else '')


def expected_column(column):
    t = column.type
    if pa.types.is_timestamp(t):
        return [None if v is None else iso(v, t.unit, t.tz is not None) for v in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_time(t):
        ints = column.cast(pa.int32() if t.bit_width == 32 else pa.int64()).to_pylist()
        return [None if v is None else clock(v, t.unit) for v in ints]
    if pa.types.is_date(t):
        return [None if v is None else v.isoformat() for v in column.to_pylist()]
    return [norm(v, t) for v in column.to_pylist()]


def expected(table):
    columns = [expected_column(table.column(i)) for i in range(table.num_columns)]
    return [dict(zip(table.column_names, row)) for row in zip(*columns)]


memory = {}


def remembered(table):
    """expected(), once per table."""
    if id(table) not in memory:
        memory[id(table)] = (expected(table), table)
    return memory[id(table)][0]


def ours(path, *keys):
    p = subprocess.run([tool, 'head', path, *keys], capture_output=True, timeout=120)
    if p.returncode:
        return None, p.stderr.decode('utf-8', 'replace').strip()
    # Duplicate keys of a map: the last one wins on both sides.
    return [json.loads(line) for line in p.stdout.splitlines()], ''


def stamp(text):
    """A timestamp without the zeros at the end of its fraction, which tell the unit only."""
    return re.sub(r'(:\d\d\.\d*?)0+(Z?)$', r'\1\2', text)


def same(a, b):
    if isinstance(a, float) or isinstance(b, float):
        if isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool):
            return a == b or abs(a - b) <= 1e-15 * abs(a) or float(np.float32(a)) == float(np.float32(b))
        return a == b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return type(a) is type(b) and (a == b or isinstance(a, str) and stamp(a) == stamp(b))


def first_difference(got, want):
    if got is None or len(got) != len(want):
        return f'rows {got and len(got)} instead of {len(want)}'
    for i, (g, w) in enumerate(zip(got, want)):
        if not same(g, w):
            names = [k for k in w if not same(g.get(k), w[k])]
            return f'row {i} column {names[:3]}: {[g.get(k) for k in names[:3]]} instead of {[w[k] for k in names[:3]]}'
    return ''


def compare(path, table, what, modes=None):
    want = remembered(table)
    n = len(want)
    for keys, lo, hi in modes or MODES(n):
        got, error = ours(path, *keys)
        diff = error or first_difference(got, want[lo:hi])
        check(not diff, f'{what}: {" ".join(keys)}', diff)


def MODES(n):
    third = n // 3
    return [(('batch=1000',), 0, n), (('batch=37', 'dict=2'), 0, n), (('batch=4096', 'dict=1'), 0, n),
            ((f'from={third}', f'rows={third}', 'batch=211'), third, 2 * third),
            ((f'from={n - 1}', 'dict=2'), n - 1, n)]


random.seed(7)


def maybe(values, nulls):
    return [None if nulls and random.random() < nulls else v for v in values]


def word():
    return random.choice(['', 'a', 'bb', 'straße', 'x' * 17, 'seventeen letters', 'y' * 40]) + \
        (str(random.randrange(10**6)) if random.random() < .5 else '')


def integers(bits, signed):
    lo, hi = (-2**(bits - 1), 2**(bits - 1) - 1) if signed else (0, 2**bits - 1)
    return [random.choice([lo, hi, 0, 1, random.randint(lo, hi), random.randint(0, 100)]) for _ in range(ROWS)]


def flat_columns():
    yield 'bool', pa.bool_(), [random.random() < .3 for _ in range(ROWS)]
    for bits in (8, 16, 32, 64):
        yield f'i{bits}', getattr(pa, f'int{bits}')(), integers(bits, True)
        yield f'u{bits}', getattr(pa, f'uint{bits}')(), integers(bits, False)
    special = [0.0, -0.0, float('nan'), float('inf'), -float('inf'), 1.5, -1e-30]
    reals = [random.choice(special) if random.random() < .1 else random.gauss(0, 1e3) for _ in range(ROWS)]
    yield 'f16', pa.float16(), [np.float16(x / 100) for x in reals]
    yield 'f32', pa.float32(), reals
    yield 'f64', pa.float64(), reals
    yield 'str', pa.string(), [word() for _ in range(ROWS)]
    yield 'low', pa.string(), [f'category {random.randrange(20)}' for _ in range(ROWS)]
    yield 'bin', pa.binary(), [word().encode() for _ in range(ROWS)]
    yield 'fixed', pa.binary(7), [f'{random.randrange(10**7):07}'.encode() for _ in range(ROWS)]
    yield 'date', pa.date32(), [datetime.date(1970, 1, 1) + datetime.timedelta(random.randrange(-30000, 30000)) for _ in range(ROWS)]
    for unit in ('ms', 'us', 'ns'):
        stamps = [random.randrange(-2**60, 2**60) // {'ms': 10**6, 'us': 10**3, 'ns': 1}[unit] for _ in range(ROWS)]
        yield f'ts_{unit}', pa.timestamp(unit), stamps
        yield f'utc_{unit}', pa.timestamp(unit, 'UTC'), stamps
    yield 'time_ms', pa.time32('ms'), [random.randrange(86400000) for _ in range(ROWS)]
    yield 'time_us', pa.time64('us'), [random.randrange(86400000000) for _ in range(ROWS)]
    for p, s in ((5, 2), (15, 4), (30, 6)):
        yield f'dec{p}', pa.decimal128(p, s), [decimal.Decimal(random.randrange(-10**min(p, 15) + 1, 10**min(p, 15))).scaleb(-s) for _ in range(ROWS)]


def nested_columns(nulls):
    def ints(n):
        return maybe([random.randrange(-5, 10**12) for _ in range(n)], nulls)

    def strs(n):
        return maybe([word() for _ in range(n)], nulls)
    size = lambda: random.choice([0, 0, 1, 2, 3, 50 if random.random() < .05 else 4])
    yield 'list_i', pa.list_(pa.int64()), maybe([ints(size()) for _ in range(ROWS)], nulls)
    yield 'list_s', pa.list_(pa.string()), maybe([strs(size()) for _ in range(ROWS)], nulls)
    yield 'list_f', pa.list_(pa.float32()), maybe([[random.random() for _ in range(size())] for _ in range(ROWS)], nulls)
    yield 'list_list', pa.list_(pa.list_(pa.int64())), maybe([maybe([ints(size()) for _ in range(size())], nulls) for _ in range(ROWS)], nulls)
    yield 'map_si', pa.map_(pa.string(), pa.int64()), maybe([list(zip({word() for _ in range(size())}, ints(60))) for _ in range(ROWS)], nulls)
    yield 'map_if', pa.map_(pa.int64(), pa.float32()), maybe([[(i, v) for i, v in enumerate(maybe([1.5] * size(), nulls))] for _ in range(ROWS)], nulls)
    yield 'struct', pa.struct([('a', pa.int32()), ('b', pa.string()), ('c', pa.list_(pa.int32()))]), \
        maybe([{'a': maybe([7], nulls)[0], 'b': word(), 'c': maybe([3] * size(), nulls)} for _ in range(ROWS)], nulls)


def make_table(nested):
    fields, arrays = [], []
    for nulls, suffix in ((0, ''), (0.2, '_n'), (0.995, '_nn')):
        source = nested_columns(nulls) if nested else flat_columns()
        for name, t, values in source:
            if not nested:
                values = maybe(values, nulls)
            fields.append(pa.field(name + suffix, t, nullable=bool(nulls) or nested))
            arrays.append(pa.array(values, t))
    return pa.table(arrays, schema=pa.schema(fields))


ENCODINGS = {
    'PLAIN': lambda t: True,
    'DELTA_BINARY_PACKED': lambda t: pa.types.is_integer(t) or pa.types.is_temporal(t),
    'DELTA_LENGTH_BYTE_ARRAY': lambda t: t in (pa.string(), pa.binary()),
    'DELTA_BYTE_ARRAY': lambda t: t in (pa.string(), pa.binary(), pa.binary(7)),
    'BYTE_STREAM_SPLIT': lambda t: pa.types.is_integer(t) or pa.types.is_floating(t) or t == pa.binary(7) or pa.types.is_decimal(t),
    'RLE': lambda t: t == pa.bool_(),
}
CODECS = ['none', 'snappy', 'gzip', 'zstd', 'lz4', 'brotli']


def pyarrow_files(dir, quick):
    flat, nested = make_table(False), make_table(True)
    path = os.path.join(dir, 'pyarrow.parquet')
    common = dict(row_group_size=600, data_page_size=2000, write_batch_size=64)
    codecs = CODECS if not quick else ['none', 'zstd']
    for codec, version, index, crc in itertools.product(codecs, ('1.0', '2.0'), (False, True), (False, True)):
        if quick and index != crc:
            continue
        for table, name in ((flat, 'flat'), (nested, 'nested')):
            pq.write_table(table, path, compression=codec, data_page_version=version, write_page_index=index,
                           write_page_checksum=crc, dictionary_pagesize_limit=3000, **common)
            compare(path, table, f'pyarrow {name}: dictionary {codec} v{version} index={index} crc={crc}')
    for (encoding, fits), codec, version in itertools.product(ENCODINGS.items(), codecs, ('1.0', '2.0')):
        names = [f.name for f in flat.schema if fits(f.type) or (encoding == 'PLAIN')]
        part = flat.select(names)
        try:
            pq.write_table(part, path, compression=codec, data_page_version=version, use_dictionary=False,
                           column_encoding={n: encoding for n in names}, version='2.6', **common)
        except (OSError, pa.ArrowException) as e:
            print('skipped', encoding, e)
            continue
        compare(path, part, f'pyarrow flat: {encoding} {codec} v{version}')
    pq.write_table(flat, path, use_dictionary=False, compression='none')
    compare(path, flat, 'pyarrow flat: one row group, plain')
    pq.write_table(nested, path, use_compliant_nested_type=False)
    compare(path, nested, 'pyarrow nested: not compliant names')
    old = flat.select([n for n in flat.column_names if n.startswith('ts_ns')])
    pq.write_table(old, path, use_deprecated_int96_timestamps=True)
    compare(path, old, 'pyarrow int96')


def duckdb_files(dir):
    flat, nested = make_table(False), make_table(True)
    skip = ('f16', 'time_', 'fixed')
    path = os.path.join(dir, 'duckdb.parquet')
    con = duckdb.connect()
    for table, name in ((flat, 'flat'), (nested, 'nested')):
        table = table.select([n for n in table.column_names if not n.startswith(skip)])
        con.register('t', table)
        for codec, version in itertools.product(('uncompressed', 'snappy', 'gzip', 'zstd', 'lz4_raw', 'brotli'), ('V1', 'V2')):
            con.execute(f"copy t to '{path}' (format parquet, compression {codec}, row_group_size 2048, parquet_version {version})")
            compare(path, con.sql(f"from '{path}'").to_arrow_table(), f'duckdb {name}: {codec} {version}')


def polars_files(dir):
    path = os.path.join(dir, 'polars.parquet')
    for table, name in ((make_table(False), 'flat'), (make_table(True), 'nested')):
        bad = ('f16', 'map_', 'time_', 'fixed')
        frame = polars.from_arrow(table.select([n for n in table.column_names if not n.startswith(bad)]))
        for codec in ('uncompressed', 'snappy', 'gzip', 'zstd', 'lz4', 'brotli'):
            frame.write_parquet(path, compression=codec, row_group_size=900, data_page_size=3000)
            compare(path, pq.read_table(path), f'polars {name}: {codec}')


def plain(table):
    """Types as our columns have them: what is widened on reading is written so."""
    out = table
    for i, f in enumerate(table.schema):
        t, values = f.type, None
        if pa.types.is_integer(t) and t.bit_width < 32:
            values = table.column(i).cast(pa.int32() if pa.types.is_signed_integer(t) else pa.uint32())
        elif t == pa.float16():
            values = table.column(i).cast(pa.float32())
        elif pa.types.is_decimal(t):
            values = pa.chunked_array([pa.array([None if v is None else float(v) for v in table.column(i).to_pylist()], pa.float64())])
        elif pa.types.is_fixed_size_binary(t):
            values = table.column(i).cast(pa.binary())
        if values is not None:
            out = out.set_column(i, pa.field(f.name, values.type, f.nullable), values)
    return out


def our_files(dir):
    """Files that PQ_TOOL wrote, read by the others."""
    source, path = os.path.join(dir, 'source.parquet'), os.path.join(dir, 'ours.parquet')
    for name, table in (('flat', make_table(False)), ('nested', make_table(True))):
        table = plain(table)
        pq.write_table(table, source, version='2.6')
        table = pq.read_table(source)
        options = itertools.product(('none', 'snappy', 'zstd', 'gzip', 'lz4'), ('no_dict=0', 'no_dict=1'),
                                    ((), ('page_bytes=700', 'group_rows=1000', 'dict_bytes=900'), ('page_rows=3', 'crc=1', 'group_rows=300')))
        for codec, dict, limits in options:
            what = f'ours {name}: {codec} {dict} {" ".join(limits)}'
            p = subprocess.run([tool, 'copy', source, f'out={path}', f'codec={codec}', dict, *limits], capture_output=True)
            check(p.returncode == 0, what, p.stderr.decode())
            if p.returncode:
                continue
            back = pq.read_table(path)
            diff = first_difference(expected(back), remembered(table))
            check(not diff, what + ' by pyarrow', diff)
            file = pq.ParquetFile(path)
            types = [(f.name, f.type) for f in file.schema_arrow]
            check(types == [(f.name, f.type) for f in table.schema], what + ' types', str(types))
            check(file.metadata.row_group(0).column(0).has_offset_index, what + ' has an index')
            check_stats(file, table, what)
            names = [f.name for f in table.schema if not f.name.startswith(('time_', 'map_'))]
            want = [{n: row[n] for n in names} for row in remembered(table)]
            diff = first_difference(expected(duckdb.sql(f"from '{path}'").to_arrow_table().select(names)), want)
            check(not diff, what + ' by duckdb', diff)
            if name == 'flat':
                check_pruning(path, table, what)
                diff = first_difference(expected(polars.read_parquet(path, columns=names).to_arrow().select(names)), want)
                check(not diff, what + ' by polars', diff)
            compare(path, table, what + ' by us', MODES(table.num_rows)[3:4])


def check_stats(file, table, what):
    """Row group statistics hold for the rows."""
    meta, start = file.metadata, 0
    for g in range(meta.num_row_groups):
        group = meta.row_group(g)
        rows = table.slice(start, group.num_rows)
        start += group.num_rows
        for c in range(group.num_columns):
            column = group.column(c)
            s = column.statistics
            if '.' in column.path_in_schema or s is None:
                continue
            values = rows.column(column.path_in_schema)
            check(s.null_count == values.null_count, f'{what} null count of {column.path_in_schema}')
            numbers = [v for v in values.to_pylist() if v is not None and v == v] if pa.types.is_integer(values.type) else []
            if numbers:
                check(s.has_min_max and (s.min, s.max) == (min(numbers), max(numbers)), f'{what} range of {column.path_in_schema}',
                      f'{(s.min, s.max)} {(min(numbers), max(numbers))}')


def check_pruning(path, table, what):
    """A filter that uses statistics and page indexes finds what a scan finds."""
    values = [v for v in table.column('i32').to_pylist() if v is not None]
    probe = values[len(values) // 2]
    for f, value in (('i32', probe), ('low', 'category 7')):
        want = sum(v == value for v in table.column(f).to_pylist())
        got = duckdb.execute(f"select count(*) from '{path}' where {f} = ?", [value]).fetchall()[0][0]
        check(got == want, what + f' filter on {f} by duckdb', f'{got} {want}')
        got = polars.scan_parquet(path).filter(polars.col(f) == value).select(polars.len()).collect().item()
        check(got == want, what + f' filter on {f} by polars', f'{got} {want}')


def public_files(dir):
    data = os.path.join(dir, 'data')
    for name in sorted(os.listdir(data)):
        path = os.path.join(data, name)
        if not name.endswith('.parquet'):
            continue
        if name == 'large_string_map.brotli.parquet':  # two keys of a gibibyte each, too much for pyarrow
            check_large(path, name)
            continue
        if 'corrupt-checksum' in name:
            _, error = ours(path)
            check('E1007' in error, f'parquet-testing: {name}', error)
            continue
        try:
            table = pq.read_table(path, partitioning=None)
            want = expected(table)
        except Exception as e:
            got, error = ours(path)
            print(f'note: pyarrow refuses {name} ({type(e).__name__}); ours: {error or str(len(got)) + " rows"}')
            continue
        got, error = ours(path)
        if name == 'int96_from_spark.parquet':  # two rows do not fit 64 bits: pyarrow wraps around
            check(bool(got) and all(got[i]['a'].startswith('2262-04-11') for i in (2, 5)), f'parquet-testing: {name} is cut off', str(got))
            got, want = [[rows[i] for i in (0, 1, 3, 4)] for rows in (got, want)] if got else (got, want)
        diff = error or first_difference(got, want)
        check(not diff, f'parquet-testing: {name}', diff)
    bad = os.path.join(dir, 'bad_data')
    for name in sorted(os.listdir(bad)):
        if not name.endswith('.parquet'):
            continue
        path = os.path.join(bad, name)
        got, error = ours(path)
        print(f'bad_data/{name}:', error or 'read')
        if error:
            check(re.match('E10[0-9]{2}: ', error), f'parquet-testing bad: {name}', error)
            continue
        try:  # ARROW-GH-43605 is a sound file that an old reader choked on: codes of no bits, as Polars writes them
            diff = first_difference(got, expected(pq.read_table(path)))
        except Exception as e:
            diff = f'pyarrow refuses it: {e}'
        check(not diff, f'parquet-testing bad: {name}', diff)


def check_large(path, name):
    p = subprocess.run([os.environ['TRAINYARD'], 'data', 'stats', '--json', path], capture_output=True)
    keys = [c for c in json.loads(p.stdout)['columns'] if c['name'] == 'arr{key}'] if p.returncode == 0 else []
    check(keys and keys[0].get('length_max', 0) == 1 << 30 and keys[0]['distinct'] == 1, f'parquet-testing: {name}', f'{p.stderr} {keys}')


def main():
    global tool
    a = argparse.ArgumentParser()
    a.add_argument('tool')
    a.add_argument('--testing')
    a.add_argument('--quick', action='store_true', help='fewer codecs')
    a.add_argument('--only', choices=('pyarrow', 'duckdb', 'polars', 'ours', 'testing'))
    args = a.parse_args()
    tool = args.tool
    with tempfile.TemporaryDirectory() as dir:
        parts = {'pyarrow': lambda d: pyarrow_files(d, args.quick), 'duckdb': duckdb_files, 'polars': polars_files, 'ours': our_files}
        for name, part in parts.items():
            if args.only in (None, name):
                part(dir)
    if args.testing and args.only in (None, 'testing'):
        public_files(args.testing)
    elif not args.testing:
        print('SKIP apache/parquet-testing: no --testing DIR')
    print(json.dumps(counts, indent=1))
    print(f'{sum(counts.values())} comparisons, {len(failures)} different')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
