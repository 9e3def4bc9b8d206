# SPDX-License-Identifier: Apache-2.0
"""libtrainyard.so: scoring inside this process, rows and scores by Arrow's C data interface.

ctypes gives the interpreter's lock back during a call, so threads score at the same time.
"""
from __future__ import annotations

import array
import ctypes
import json
import os
from ctypes import POINTER, Structure, byref, c_char, c_char_p, c_int, c_int64, c_void_p, cast, pointer
from typing import AbstractSet, Any, Dict, FrozenSet, Iterator, List, Mapping, Optional, Sequence, Tuple

from . import _program, errors, frames

__all__ = ["Scorer"]


class ArrowSchema(Structure):
    """The C structure of that name."""


class ArrowArray(Structure):
    """The C structure of that name."""


class ArrowArrayStream(Structure):
    """The C structure of that name."""


_release_schema = ctypes.CFUNCTYPE(None, POINTER(ArrowSchema))
_release_array = ctypes.CFUNCTYPE(None, POINTER(ArrowArray))
ArrowSchema._fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_char_p), ("flags", c_int64), ("n_children", c_int64),
                        ("children", POINTER(POINTER(ArrowSchema))), ("dictionary", POINTER(ArrowSchema)),
                        ("release", _release_schema), ("private_data", c_void_p)]
ArrowArray._fields_ = [("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64),
                       ("n_children", c_int64), ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(ArrowArray))),
                       ("dictionary", POINTER(ArrowArray)), ("release", _release_array), ("private_data", c_void_p)]
_get_schema = ctypes.CFUNCTYPE(c_int, POINTER(ArrowArrayStream), POINTER(ArrowSchema))
_get_next = ctypes.CFUNCTYPE(c_int, POINTER(ArrowArrayStream), POINTER(ArrowArray))
_last_error = ctypes.CFUNCTYPE(c_char_p, POINTER(ArrowArrayStream))
ArrowArrayStream._fields_ = [("get_schema", _get_schema), ("get_next", _get_next), ("get_last_error", _last_error),
                             ("release", c_void_p), ("private_data", c_void_p)]


_release_stream = ctypes.CFUNCTYPE(None, POINTER(ArrowArrayStream))
_keep_schema = _release_schema(lambda _: None)  # of structures whose memory is Python's; none of them would say that they were released
_keep_array = _release_array(lambda _: None)


class _Error(Structure):
    _fields_ = [("code", c_char * 8), ("message", c_char * 2048), ("file", c_char * 1024), ("line", c_int64), ("column", c_int64)]


def path() -> str:
    """The library: $TRAINYARD_LIBRARY, that of this package, or the one beside the program."""
    named = os.environ.get("TRAINYARD_LIBRARY")
    if named:
        return named
    for directory in (os.path.join(os.path.dirname(__file__), "lib"), os.path.dirname(os.path.realpath(_program.path()))):
        found = os.path.join(directory, "libtrainyard.so.0")
        if os.path.exists(found):
            return found
    return "libtrainyard.so.0"


_loaded: Optional[ctypes.CDLL] = None


def _library() -> ctypes.CDLL:
    global _loaded
    if _loaded is None:
        try:
            _loaded = ctypes.CDLL(path())
        except OSError as e:
            raise errors.ProgramNotFound(f"libtrainyard.so.0 cannot be loaded: {e}") from None
        _loaded.ty_model_open.argtypes = [c_char_p, c_int, POINTER(c_void_p), POINTER(_Error)]
        _loaded.ty_model_score.argtypes = [c_void_p, POINTER(ArrowSchema), POINTER(ArrowArray), POINTER(ArrowSchema),
                                           POINTER(ArrowArray), POINTER(_Error)]
        _loaded.ty_model_close.argtypes = [c_void_p]
        _loaded.ty_model_close.restype = None
    return _loaded


def _check(failed: int, error: _Error) -> None:
    if failed:
        code, message = error.code.decode() or None, error.message.decode(errors="replace")
        file = error.file.decode(errors="replace") or None
        problem = errors.Problem("error", code, message, file, error.line or None, error.column or None)
        where = f"{file}:{error.line}: " if file else ""
        raise errors.of_code(code)(where + (f"{message} [{code}]" if code else message), problems=[problem])


class Scorer:
    """A model in this process. Any number of threads may use it."""

    def __init__(self, directory: str, threads: int = 0) -> None:
        self._model = c_void_p()
        if not isinstance(threads, int) or not 0 <= threads <= 1024:
            raise errors.UsageError(f"threads: a number up to 1024 is wanted, not {threads!r}")
        self.threads = threads
        self.whole = _whole(directory)
        error = _Error()
        _check(_library().ty_model_open(os.fsencode(directory), threads, byref(self._model), byref(error)), error)

    def close(self) -> None:
        model, self._model = getattr(self, "_model", None), c_void_p()
        if model and _loaded is not None:
            _loaded.ty_model_close(model)

    __del__ = close

    def score(self, data: Any) -> Dict[str, Any]:
        """Output -> one score per row: arrays of numpy where it is there, else array.array; [rows, width] or lists for vectors."""
        unread: Dict[str, str] = {}
        parts: List[Dict[str, Tuple[array.array[float], int]]] = []
        try:
            for schema, rows, _keep in batches(data, unread, self.whole):
                parts.append(self._score_batch(schema, rows))
        except errors.DataError as e:
            missing = [why for name, why in unread.items() if e.code == "E1301" and f"no column {name!r}" in e.message]
            raise errors.DataError(missing[0]) if missing else e from None
        return {name: _present([part[name][0] for part in parts], parts[0][name][1]) for name in parts[0]}

    def _score_batch(self, schema: Any, rows: Any) -> Dict[str, Tuple[array.array[float], int]]:
        out_schema, out, error = ArrowSchema(), ArrowArray(), _Error()
        if not self._model:
            raise errors.UsageError("the model was closed")
        _check(_library().ty_model_score(self._model, schema, rows, byref(out_schema), byref(out), byref(error)), error)
        try:
            return {out_schema.children[i].contents.name.decode(): _floats(out_schema.children[i].contents, out.children[i].contents)
                    for i in range(out.n_children)}
        finally:
            out.release(byref(out))
            out_schema.release(byref(out_schema))


def _floats(schema: ArrowSchema, column: ArrowArray) -> "Tuple[array.array[float], int]":
    width = int(schema.format.decode().partition(":")[2] or 1)
    values = column.children[0].contents if column.n_children else column
    made = array.array("f")
    if values.length:
        made.frombytes(ctypes.string_at(values.buffers[1], values.length * 4))
    return made, width


def _present(parts: "List[array.array[float]]", width: int) -> Any:
    joined = parts[0]
    for part in parts[1:]:
        joined.extend(part)
    try:
        import numpy
    except ImportError:
        return joined if width == 1 else [joined[i:i + width] for i in range(0, len(joined), width)]
    values = numpy.frombuffer(joined, dtype=numpy.float32) if joined else numpy.empty(0, numpy.float32)
    return values if width == 1 else values.reshape(-1, width)


def _whole(directory: str) -> FrozenSet[str]:
    """Columns that were whole numbers when the model was trained."""
    try:
        with open(os.path.join(directory, "manifest.json"), encoding="utf-8") as f:
            known = json.load(f).get("columns", {})
        return frozenset(name for name, kind in known.items() if kind.startswith(("int", "uint")))
    except (OSError, ValueError, AttributeError):
        return frozenset()  # opening it says what is wrong


def batches(data: Any, unread: Optional[Dict[str, str]] = None, whole: AbstractSet[str] = frozenset()) -> Iterator[Tuple[Any, Any, Any]]:
    """(schema, rows, what must live as long), at least one: tables that speak Arrow, lists of dicts, dicts of lists.

    Columns of values that Arrow cannot hold are left out; `unread` gets the reason of each. Python's own fractions without a fraction
    are whole numbers in the columns `whole`.
    """
    unread = {} if unread is None else unread
    data = frames.of_polars(data)
    frames.refuse_series(data, "rows")
    if hasattr(data, "__arrow_c_array__"):
        capsules = _arrow_array(data)
        yield _capsule(capsules[0], b"arrow_schema", ArrowSchema), _capsule(capsules[1], b"arrow_array", ArrowArray), capsules
        return
    capsule = _arrow_stream(data)
    if capsule is not None:
        yield from _stream(capsule)
    elif hasattr(data, "iloc") and hasattr(data, "columns"):  # pandas without Arrow
        frames.refuse_twice(data, "rows")
        yield _built({str(name): _present_only(data[name]) for name in data.columns}, unread)
    elif isinstance(data, Mapping):
        one = bool(data) and all(isinstance(v, (str, bytes)) or not hasattr(v, "__iter__") for v in data.values())
        yield _built({str(k): [v] if one else _listed(str(k), v) for k, v in data.items()}, unread, whole=whole)
    elif isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data):
        names = list(dict.fromkeys(name for row in data for name in row))
        yield _built({str(name): [row.get(name) for row in data] for name in names}, unread, len(data), whole)
    else:
        raise errors.DataError(f"rows are a DataFrame, an Arrow table, a list of dicts or a dict of lists, not {type(data).__name__}")


def _arrow_array(data: Any) -> Tuple[Any, Any]:
    """Capsules of a schema and of an array."""
    try:
        schema, rows = data.__arrow_c_array__()
    except (ImportError, NotImplementedError, TypeError, ValueError) as e:
        raise errors.DataError(f"rows: {e}") from None
    return schema, rows


def _arrow_stream(data: Any) -> Any:
    """A stream of what speaks Arrow; None of what does not, and of a DataFrame of pandas that it cannot hold, or without pyarrow."""
    if not hasattr(data, "__arrow_c_stream__"):
        return None
    try:
        return data.__arrow_c_stream__()
    except (ImportError, NotImplementedError, TypeError, ValueError) as e:
        if hasattr(data, "iloc"):
            return None
        raise errors.DataError(f"rows: {e}") from None


def _present_only(column: Any) -> List[Any]:
    """Values of a Series of pandas, None for those that are missing."""
    return [None if missing else value for value, missing in zip(column.tolist(), column.isna().tolist())]


def _listed(name: str, values: Any) -> List[Any]:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise errors.DataError(f"column {name!r} is one value, others are lists: a dict has lists, or one value of each; "
                               "a row with lists is given as [row]")
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _capsule(capsule: Any, name: bytes, kind: Any) -> Any:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = c_void_p, [ctypes.py_object, c_char_p]
    try:
        found = cast(get(capsule, name), POINTER(kind))
    except (TypeError, ValueError) as e:
        raise errors.DataError(f"rows: a capsule {name.decode()!r} is wanted: {e}") from None
    if not found.contents.release:
        raise errors.DataError("rows were read already: a capsule of Arrow is read once")
    return found


def _stream(capsule: Any) -> Iterator[Tuple[Any, Any, Any]]:
    stream = _capsule(capsule, b"arrow_array_stream", ArrowArrayStream)
    schema = ArrowSchema()
    _read(stream, stream.contents.get_schema(stream, byref(schema)))
    some = False
    try:
        while True:
            rows = ArrowArray()
            _read(stream, stream.contents.get_next(stream, byref(rows)))
            if not rows.release:
                if not some:  # no rows, but columns
                    none = ArrowArray(release=_keep_array)
                    kids = (POINTER(ArrowArray) * schema.n_children)(*[pointer(none)] * schema.n_children)
                    yield pointer(schema), pointer(ArrowArray(n_children=len(kids), children=kids, release=_keep_array)), capsule
                return
            some = True
            try:
                yield pointer(schema), pointer(rows), capsule
            finally:
                rows.release(byref(rows))
    finally:
        schema.release(byref(schema))
        _release_stream(stream.contents.release)(stream)  # it has nothing more to say: a second call is told


def _read(stream: Any, failed: int) -> None:
    if failed:
        said = stream.contents.get_last_error(stream)
        raise errors.DataError((said or b"the rows cannot be read").decode(errors="replace"))


def _built(columns: Mapping[str, List[Any]], unread: Dict[str, str], rows: int = 0,
           whole: AbstractSet[str] = frozenset()) -> Tuple[Any, Any, Any]:
    """A struct array of Python's own values; `rows` where there is no column."""
    keep: List[Any] = []
    made = []
    length = len(next(iter(columns.values()), [None] * rows))
    if any(len(values) != length for values in columns.values()):
        raise errors.DataError("columns have different lengths")
    for name, values in columns.items():
        try:
            made.append(_column(name, _without_fractions([_value(v) for v in values]) if name in whole else
                                [_value(v) for v in values], keep))
        except errors.DataError as e:
            unread[name] = str(e)
        except (TypeError, ValueError, OverflowError) as e:
            unread[name] = f"column {name!r}: {e}"
    return (*_struct(made, length, keep), keep)


def _without_fractions(values: List[Any]) -> List[Any]:
    """3.0 as 3, which is how pandas and JSON write whole numbers beside missing ones.

    >>> _without_fractions([3.0, None, 4]), _without_fractions([3.0, 3.5])
    ([3, None, 4], [3.0, 3.5])
    """
    if not any(isinstance(v, float) for v in values) or not all(v.is_integer() for v in values if isinstance(v, float)):
        return values
    return [int(v) if isinstance(v, float) else v for v in values]


def _value(given: Any) -> Any:
    """None of what is missing; times as seconds."""
    if isinstance(given, (int, str, float)) and given == given:  # most of them
        return given
    if frames.is_missing(given):
        return None
    found = frames.seconds(given)
    if found is None and hasattr(given, "item") and not getattr(given, "ndim", 1):
        return given.item()  # a scalar of numpy
    return given if found is None else found


def _struct(made: Sequence[Tuple[ArrowSchema, ArrowArray]], length: int, keep: List[Any]) -> Tuple[Any, Any]:
    schemas = (POINTER(ArrowSchema) * len(made))(*[pointer(s) for s, _ in made])
    arrays = (POINTER(ArrowArray) * len(made))(*[pointer(a) for _, a in made])
    schema = ArrowSchema(format=b"+s", name=b"", n_children=len(made), children=schemas, release=_keep_schema)
    buffers = (c_void_p * 1)(None)
    rows = ArrowArray(length=length, n_buffers=1, n_children=len(made), buffers=buffers, children=arrays, release=_keep_array)
    keep.extend([schemas, arrays, buffers, schema, rows])
    return pointer(schema), pointer(rows)


def _valid(values: Sequence[Any]) -> Optional[bytearray]:
    if all(v is not None for v in values):
        return None
    bits = bytearray((len(values) + 7) // 8)
    for i, v in enumerate(values):
        if v is not None:
            bits[i >> 3] |= 1 << (i & 7)
    return bits


def _address(buffer: Any, keep: List[Any]) -> Optional[int]:
    if buffer is None:
        return None
    held = (c_char * max(1, len(memoryview(buffer).cast("B")))).from_buffer(buffer if len(buffer) else bytearray(1))
    keep.append((buffer, held))
    return ctypes.addressof(held)


_LAST = 2**63 - 1  # of integers with sign


def _column(name: str, values: Sequence[Any], keep: List[Any]) -> Tuple[ArrowSchema, ArrowArray]:
    kind = _kind(name, values)
    if kind == "l" and any(v is not None and v > _LAST for v in values):
        kind = "L"  # ids without sign
    buffers: List[Any] = [_valid(values)] if kind != "n" else []
    child: Optional[Tuple[ArrowSchema, ArrowArray]] = None
    if kind == "+l":
        child = _column("item", [x for v in values if v is not None for x in v], keep)
        buffers.append(_offsets([0 if v is None else len(v) for v in values]))
    elif kind in ("u", "z"):
        raw = [b"" if v is None else v.encode() if isinstance(v, str) else bytes(v) for v in values]
        buffers += [_offsets([len(v) for v in raw]), bytearray(b"".join(raw))]
    elif kind != "n":
        buffers.append(array.array({"l": "q", "L": "Q", "g": "d"}[kind], [0 if v is None else v for v in values]))
    schema = ArrowSchema(format=kind.encode(), name=name.encode(), flags=2, release=_keep_schema)
    rows = ArrowArray(length=len(values), null_count=-1 if not buffers or buffers[0] is not None else 0, n_buffers=len(buffers),
                      release=_keep_array)
    held = (c_void_p * len(buffers))(*[_address(b, keep) for b in buffers])
    rows.buffers = held
    if child:
        kids = ((POINTER(ArrowSchema) * 1)(pointer(child[0])), (POINTER(ArrowArray) * 1)(pointer(child[1])))
        schema.n_children = rows.n_children = 1
        schema.children, rows.children = kids
        keep.append(kids)
    keep.extend([held, schema, rows])
    return schema, rows


def _offsets(lengths: Sequence[int]) -> "array.array[int]":
    made, at = array.array("i", [0]), 0
    for n in lengths:
        at += n
        made.append(at)
    return made


def _kind(name: str, values: Sequence[Any]) -> str:
    """Arrow's format of Python's values; a column of nothing but None has the type that the model knows.

    >>> _kind("a", [None, 1]), _kind("a", [1, 2.5]), _kind("a", ["x"]), _kind("a", [[1], None]), _kind("a", [None])
    ('l', 'g', 'u', '+l', 'n')
    """
    seen = {bool: "l", int: "l", float: "g", str: "u", bytes: "z", list: "+l", tuple: "+l"}
    kinds = set()
    for v in values:
        if v is not None:
            found = seen.get(type(v)) or next((k for t, k in seen.items() if isinstance(v, t)), None)
            if found is None and hasattr(v, "tolist") and getattr(v, "ndim", None):
                found = "+l"  # an array
            if found is None and (hasattr(v, "__index__") or hasattr(v, "__float__")):
                found = "l" if hasattr(v, "__index__") else "g"
            if found is None:
                raise errors.DataError(f"column {name!r}: values of type {type(v).__name__} are not read")
            kinds.add(found)
    if kinds == {"l", "g"}:
        return "g"
    if len(kinds) > 1:
        raise errors.DataError(f"column {name!r}: values of different kinds")
    return kinds.pop() if kinds else "n"
