# SPDX-License-Identifier: Apache-2.0
"""Tables of Python's libraries as files that the program reads, and back."""
from __future__ import annotations

import json
import os
from typing import Any, Iterator, List, Mapping, Sequence

from .errors import DataError


def write(data: Any, directory: str, name: str) -> str:
    """A path as it is; a DataFrame of pandas or polars, a table of pyarrow or a list of dicts as a file below `directory`."""
    if isinstance(data, (str, os.PathLike)):
        return os.fspath(data)
    path = os.path.join(directory, f"{name}.parquet")
    if hasattr(data, "write_parquet"):  # polars
        data.write_parquet(path)
    elif hasattr(data, "to_parquet"):  # pandas
        _write_pandas(data, path)
    elif type(data).__module__.startswith("pyarrow") and hasattr(data, "schema"):
        import pyarrow.parquet
        pyarrow.parquet.write_table(data, path)
    elif isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        path = os.path.join(directory, f"{name}.jsonl")
        _write_rows(data, path)
    else:
        raise DataError(f"{name}: a path, a DataFrame, a pyarrow table or a list of dicts is wanted, not {type(data).__name__}")
    return path


def _write_pandas(data: Any, path: str) -> None:
    try:
        data.to_parquet(path, index=False)
    except ImportError:
        raise DataError("a DataFrame of pandas needs pyarrow (pip install pyarrow)") from None


def _write_rows(rows: Sequence[Mapping[str, Any]], path: str) -> None:
    with open(path, "w", encoding="utf-8") as f:
        for row in rows:
            f.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")


def head(data: Any, rows: int = 128) -> Any:
    """Its first rows."""
    if type(data).__module__.startswith("pyarrow"):
        return data.slice(0, rows)
    return data.head(rows) if hasattr(data, "head") else data[:rows]


def read_like(data: Any, path: str) -> Any:
    """The Parquet file or JSON lines at `path` in the kind of `data`; a list of dicts for paths and lists."""
    if hasattr(data, "write_parquet"):
        import polars
        return polars.read_parquet(path)
    if hasattr(data, "to_parquet"):
        import pandas
        return pandas.read_parquet(path)
    if type(data).__module__.startswith("pyarrow"):
        import pyarrow.parquet
        return pyarrow.parquet.read_table(path)
    return list(rows_of(path))


def suffix_like(data: Any) -> str:
    """The kind of file that read_like() takes for `data`."""
    return ".parquet" if hasattr(data, "to_parquet") or hasattr(data, "write_parquet") or hasattr(data, "schema") else ".jsonl"


def rows_of(path: str) -> Iterator[Mapping[str, Any]]:
    with open(path, encoding="utf-8") as f:
        for line in f:
            yield json.loads(line)


def columns_of(data: Any) -> List[str]:
    """The names of its columns; none for paths."""
    if isinstance(data, (str, os.PathLike)):
        return []
    if hasattr(data, "column_names"):
        return list(data.column_names)
    if hasattr(data, "columns"):
        return [str(c) for c in data.columns]
    return list(data[0]) if data else []
