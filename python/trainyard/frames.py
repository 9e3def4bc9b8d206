# SPDX-License-Identifier: Apache-2.0
"""Tables of Python's libraries as files that the program reads, and back."""
from __future__ import annotations

import datetime
import decimal
import json
import operator
import os
import re
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence

from .errors import DataError, UsageError


_WANTED = "a path, a DataFrame, an Arrow table, a list of dicts or a dict of lists is wanted"


def write(data: Any, directory: str, name: str, times: bool = False) -> str:
    """A path as it is; a table as a file below `directory`. With `times`, those of rows stay dates, for init() to find.

    Tables are DataFrames of pandas and polars, what speaks Arrow's C stream (pyarrow, DuckDB), lists of dicts, dicts of lists.
    """
    if is_path(data):
        return ",".join(os.fsdecode(p) for p in data) if isinstance(data, (list, tuple)) else os.fsdecode(data)
    refuse_series(data, name)
    whole_texts(name, _column_names(data))
    path = os.path.join(directory, f"{name}.parquet")
    data = of_polars(data)
    if hasattr(data, "write_parquet") and not hasattr(data, "query"):  # polars
        (data.fill_nan(None) if hasattr(data, "fill_nan") else data).write_parquet(path)
    elif hasattr(data, "to_parquet") and hasattr(data, "columns") and hasattr(data, "index"):  # pandas
        _write_pandas(data, path, name)
    elif hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        _write_arrow(data, path, name)
    else:
        path = os.path.join(directory, f"{name}.jsonl")
        _write_rows(_rows(data, name), path, name, plain if times else cell)
    return path


def _column_names(data: Any) -> Sequence[Any]:
    """Of a table that has them at hand."""
    if hasattr(data, "collect_schema"):  # polars; a lazy frame warns of its columns
        return list(data.collect_schema().names())
    found = getattr(data, "column_names", None) if hasattr(data, "__arrow_c_stream__") else None
    found = getattr(data, "columns", ()) if found is None else found
    return [c for c in found if isinstance(c, str)] if isinstance(found, Iterable) else []


def of_polars(data: Any) -> Any:
    """Lazy frames of polars as frames; integers of 128 bits, which it makes of those beyond 2^63, as 64 bits or, where they do not fit,
    text. Anything else as it is.
    """
    if hasattr(data, "collect") and hasattr(data, "sink_parquet"):
        data = data.collect()
    wide = [name for name, kind in data.schema.items() if str(kind) in ("Int128", "UInt128")] if hasattr(data, "write_parquet") and \
        hasattr(data, "hstack") else []
    if wide:
        import polars
        for name in wide:
            column, kinds = data[name], (polars.Int64, polars.UInt64, polars.String)
            cast = (column.cast(kind, strict=False) for kind in kinds)
            data = data.with_columns(next(made for made in cast if made.null_count() == column.null_count()).alias(name))
    return data


def kept(data: Any) -> Any:
    """What can be read once, such as pyarrow's RecordBatchReader, as a table."""
    if hasattr(data, "read_next_batch") and hasattr(data, "__arrow_c_stream__"):
        import pyarrow
        return pyarrow.table(data)
    return data


def path_of(name: str, given: Any) -> str:
    """A path as text.

    >>> path_of("model_dir", b"run1")
    'run1'
    >>> path_of("model_dir", 3)
    Traceback (most recent call last):
    trainyard.errors.UsageError: model_dir: a path is wanted, not int
    """
    try:
        return os.fsdecode(given)
    except TypeError:
        raise UsageError(f"{name}: a path is wanted, not {type(given).__name__}") from None


def is_series(data: Any) -> bool:
    """One column or one row of a DataFrame."""
    return hasattr(data, "to_frame") and not hasattr(data, "columns")


def refuse_series(data: Any, name: str) -> None:
    """One column or one row is no table."""
    if is_series(data):
        raise DataError(f"{name}: a Series is one column or one row; give a DataFrame (df.iloc[[0]] is one of one row)")


def refuse_twice(data: Any, name: str) -> None:
    """Columns of a DataFrame of pandas may have one name."""
    twice = [str(c) for c in data.columns[data.columns.duplicated()]]
    if twice:
        raise DataError(f"{name}: there are several columns {twice[0]!r}")


def named(text: str, place: str) -> str:
    """A message in which tables that write() put into the directory `place` have their names.

    >>> named("column 'a' is not in '/tmp/x1/train.parquet'", "/tmp/x1")
    "column 'a' is not in 'train'"
    """
    return re.sub(re.escape(place + os.sep) + r"(\w+)\.(?:parquet|jsonl|json)\b", r"\1", text)


def whole_texts(what: str, value: Any) -> Any:
    """What is given, without a NUL in a text or a key, which would end there for the program.

    >>> whole_texts("job", {"command": ["echo"], "hp": {"a": 1}})
    {'command': ['echo'], 'hp': {'a': 1}}
    """
    if isinstance(value, str) and "\0" in value:
        raise UsageError(f"{what}: {value!r} holds a NUL character")
    if isinstance(value, Mapping):
        for k, v in value.items():
            whole_texts(what, k)
            whole_texts(what, v)
    elif isinstance(value, (list, tuple)):
        for v in value:
            whole_texts(what, v)
    return value


def whole_number(what: str, value: Any, least: int, error: Callable[[str], Exception]) -> int:
    """A number as an int, numpy's too; True is none.

    >>> whole_number("step", 5, 0, DataError)
    5
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise error(f"{what}: a number from {least} on is wanted, not {value!r}")
    return number


def is_path(data: Any) -> bool:
    """A path, or some."""
    if isinstance(data, (list, tuple)) and data:
        return all(isinstance(p, (str, os.PathLike)) for p in data)
    return isinstance(data, (str, os.PathLike))


def _write_pandas(data: Any, path: str, name: str) -> None:
    if all(level is not None for level in data.index.names):  # set_index() made them of columns, or kept those
        data = data.reset_index([level for level in data.index.names if level not in data.columns])
    refuse_twice(data, name)
    sparse = [c for c in data.columns if type(data[c].dtype).__name__ == "SparseDtype"]
    if sparse:  # Arrow has none
        data = data.assign(**{c: data[c].sparse.to_dense() for c in sparse})
    try:
        data.to_parquet(path, index=False)
    except ImportError:
        raise DataError("a DataFrame of pandas needs pyarrow (pip install pyarrow)") from None
    except (NotImplementedError, OverflowError, TypeError, ValueError) as e:  # pyarrow's own are these
        raise DataError(f"{name}: {'; '.join(str(a) for a in reversed(e.args))}") from None


def _write_arrow(data: Any, path: str, name: str) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise DataError(f"{name}: a table of type {type(data).__name__} needs pyarrow (pip install pyarrow)") from None
    try:
        table = data if isinstance(data, pyarrow.Table) else pyarrow.table(data)
    except (TypeError, ValueError) as e:
        raise DataError(f"{name}: {_WANTED}, not {type(data).__name__} ({e})") from None
    twice = [c for c in dict.fromkeys(table.column_names) if table.column_names.count(c) > 1]
    if twice:
        raise DataError(f"{name}: there are several columns {twice[0]!r}")
    try:
        pyarrow.parquet.write_table(_without_nan(table), path)
    except (NotImplementedError, TypeError, ValueError) as e:
        raise DataError(f"{name}: {e}") from None


def _without_nan(table: Any) -> Any:
    """An Arrow table in which NaN is null, as it is in other tables."""
    import pyarrow
    import pyarrow.compute
    for i, column in enumerate(table.columns):
        if pyarrow.types.is_floating(column.type) and pyarrow.compute.any(pyarrow.compute.is_nan(column)).as_py():
            kept = pyarrow.compute.if_else(pyarrow.compute.is_nan(column), pyarrow.scalar(None, column.type), column)
            table = table.set_column(i, table.field(i).with_nullable(True), kept)
    return table


def _rows(data: Any, name: str) -> Sequence[Mapping[str, Any]]:
    """Dicts, one per row."""
    if isinstance(data, Mapping):
        columns = {str(k): list(v) for k, v in data.items() if isinstance(v, Iterable) and not isinstance(v, (str, bytes))}
        if len(columns) < len(data) or len({len(v) for v in columns.values()}) > 1:
            raise DataError(f"{name}: the values of a dict are lists of one length, a column each")
        return [dict(zip(columns, row)) for row in zip(*columns.values())]
    if isinstance(data, Sequence) and not isinstance(data, bytes) and all(isinstance(row, Mapping) for row in data):
        return data
    raise DataError(f"{name}: {_WANTED}, not {type(data).__name__}")


def plain(value: Any) -> Any:
    """Scalars and arrays of numpy, and what else has tolist() or item(), as Python's own; for json.dumps(default=).

    >>> import array
    >>> json.dumps({"a": array.array("i", [1, 2])}, default=plain)
    '{"a": [1, 2]}'
    """
    for name in ("tolist", "item", "isoformat"):
        if hasattr(value, name):
            return getattr(value, name)()
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"values of type {type(value).__name__} are not written")


def seconds(value: Any) -> Optional[int]:
    """A date or a time as features read those of tables: whole seconds since 1970; None of anything else.

    >>> seconds(datetime.datetime(1970, 1, 2, 0, 0, 5)), seconds(datetime.date(1970, 1, 2)), seconds("1970-01-02")
    (86405, 86400, None)
    """
    if is_missing(value):
        return None
    if isinstance(value, datetime.datetime):
        return int((value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)).timestamp())
    if isinstance(value, datetime.date):
        return (value - datetime.date(1970, 1, 1)).days * 86400
    if getattr(getattr(value, "dtype", None), "kind", "") == "M" and not getattr(value, "ndim", 0):
        return int(value.astype("datetime64[s]").astype(int))
    return None


def cell(value: Any) -> Any:
    """A value of a row, for json.dumps(default=)."""
    found = seconds(value)
    return plain(value) if found is None else found


def _write_rows(rows: Sequence[Mapping[str, Any]], path: str, name: str, default: Callable[[Any], Any]) -> None:
    with open(path, "w", encoding="utf-8") as f:
        for i, row in enumerate(rows):
            try:
                f.write(json.dumps({k: None if is_missing(v) else v for k, v in row.items()} if any(map(is_missing, row.values())) else row,
                                   ensure_ascii=False, allow_nan=False, default=default) + "\n")
            except (TypeError, ValueError) as e:
                raise DataError(f"{name}: row {i}: {_reason(row, e)}") from None


def is_missing(value: Any) -> bool:
    """None, and how tables write that there is no value: NaN, and pandas' NA and NaT.

    >>> is_missing(float("nan")), is_missing(0.0), is_missing("")
    (True, False, False)
    """
    if value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType"):
        return True
    # float32 and the like of numpy are no floats, and its dates have a NaT of their own
    return getattr(getattr(value, "dtype", None), "kind", "") in ("f", "M") and not getattr(value, "ndim", 1) and bool(value != value)


def _reason(row: Mapping[str, Any], error: Exception) -> str:
    """The error, with the column it is about."""
    for column, value in row.items():
        if isinstance(value, float) and value in (float("inf"), float("-inf")):
            return f"column {column!r} is infinite"
        try:
            json.dumps(None if is_missing(value) else value, allow_nan=False, default=plain, ensure_ascii=False).encode()
        except (TypeError, ValueError) as e:
            return f"column {column!r}: {e}"
    return str(error)


def is_empty(data: Any) -> bool:
    """A table without a row.

    >>> is_empty([]), is_empty({"a": []}), is_empty({"a": [1]}), is_empty("rows.parquet")
    (True, True, False, False)
    """
    if is_path(data) or isinstance(data, (bytes, set, frozenset)) or not hasattr(data, "__len__") or is_series(data):
        return False
    if isinstance(data, Mapping):
        return all(hasattr(v, "__len__") and not isinstance(v, (str, bytes)) and len(v) == 0 for v in data.values())
    return len(data) == 0


def empty_like(data: Any, scores: Sequence[str], columns: Sequence[str]) -> Any:
    """No scores of no rows, in the kind of `data`, with columns of it."""
    if hasattr(data, "columns") or hasattr(data, "column_names"):
        for name in columns:
            if name not in getattr(data, "column_names", data.columns):
                raise DataError(f"rows: there is no column {name!r}")
    if hasattr(data, "write_parquet"):
        import polars
        return polars.DataFrame(schema={name: polars.Float32 for name in scores}).hstack(data.select(columns))
    if hasattr(data, "to_parquet"):
        import pandas
        made = pandas.DataFrame({name: pandas.Series(dtype="float32") for name in scores}, index=data.index)
        return made.assign(**{name: data[name] for name in columns})
    if suffix_like(data) == ".parquet":
        import pyarrow
        made = pyarrow.table({name: pyarrow.array([], pyarrow.float32()) for name in scores})
        for name in columns:
            made = made.append_column(name, pyarrow.table(data)[name])
        return made
    return {name: [] for name in [*scores, *columns]} if isinstance(data, Mapping) else []


def head(data: Any, rows: int = 128) -> Any:
    """Its first rows."""
    if isinstance(data, Mapping):
        return {k: v[:rows] for k, v in data.items()}
    if hasattr(data, "head"):
        return data.head(rows)
    return data.slice(0, rows) if hasattr(data, "slice") else data[:rows] if isinstance(data, Sequence) else data


def read_like(data: Any, path: str) -> Any:
    """The Parquet file or JSON lines at `path` in the kind of `data`; a list of dicts for paths and lists."""
    if hasattr(data, "write_parquet") or hasattr(data, "sink_parquet"):
        import polars
        return polars.read_parquet(path)
    if hasattr(data, "to_parquet"):
        import pandas
        read = pandas.read_parquet(path)
        return read.set_axis(data.index) if len(read) == len(data) else read
    if suffix_like(data) == ".parquet":
        import pyarrow.parquet
        return pyarrow.parquet.read_table(path)
    read = list(rows_of(path))
    return {name: [row[name] for row in read] for name in (read[0] if read else {})} if isinstance(data, Mapping) else read


def suffix_like(data: Any) -> str:
    """The kind of file that read_like() takes for `data`."""
    tables = ("to_parquet", "write_parquet", "sink_parquet", "__arrow_c_stream__", "__arrow_c_array__")
    return ".parquet" if any(hasattr(data, name) for name in tables) else ".jsonl"


def rows_of(path: str) -> Iterator[Mapping[str, Any]]:
    with open(path, encoding="utf-8") as f:
        for line in f:
            yield json.loads(line)
