# SPDX-License-Identifier: Apache-2.0
"""Batches of features out of libtrainyard.so, as tensors by DLPack: nothing is copied."""
from __future__ import annotations

import ctypes
import json
import os
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from . import _library, frames
from .errors import DataError

USES = {"train": 0, "eval": 1, "predict": 2}
VALUES, OFFSETS, WEIGHTS, SEQ_OFFSETS, STEP_OFFSETS = range(5)


class Options(Structure):
    """struct ty_features_options."""

    _fields_ = [("config", c_char_p), ("edits", c_char_p), ("input", c_char_p), ("position", c_char_p), ("use", c_int32),
                ("keep_positions", c_int32), ("worker", c_int64), ("workers", c_int64), ("batch_size", c_int64),
                ("epochs", c_int64), ("seed", c_uint64)]


class _About(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int32), ("sparse", c_int32), ("sequence", c_int32), ("weighted", c_int32),
                ("width", c_int64), ("rows", c_int64)]


class _Managed(Structure):
    """DLPack's DLManagedTensor."""


_deleter = ctypes.CFUNCTYPE(None, POINTER(_Managed))
_Managed._fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                     ("type_code", c_uint8), ("type_bits", c_uint8), ("type_lanes", c_uint16), ("shape", POINTER(c_int64)),
                     ("strides", POINTER(c_int64)), ("byte_offset", c_uint64), ("manager_ctx", c_void_p), ("deleter", _deleter)]


class Column(NamedTuple):
    """What a column of a batch is."""

    name: str
    kind: str  #: "feature", "label" or "weight"
    sparse: bool  #: ids of a table; else numbers
    sequence: bool  #: a row is a list of steps
    weighted: bool  #: ids have weights
    width: int  #: numbers per row or step
    num_embeddings: int  #: rows of the table that ids look up; 0 for numbers


_declared = False


def _lib() -> ctypes.CDLL:
    global _declared
    lib = _library._library()
    if not _declared:
        error = POINTER(_library._Error)
        for name, result, args in (
                ("ty_features_open", c_int, [POINTER(Options), POINTER(c_void_p), error]),
                ("ty_features_next", c_int, [c_void_p, POINTER(c_void_p), error]),
                ("ty_features_close", None, [c_void_p]), ("ty_features_columns", c_int64, [c_void_p]),
                ("ty_features_column", None, [c_void_p, c_int64, POINTER(_About)]), ("ty_features_rows", c_int64, [c_void_p]),
                ("ty_features_notes", c_char_p, [c_void_p]), ("ty_batch_release", None, [c_void_p]),
                ("ty_batch_rows", c_int64, [c_void_p]), ("ty_batch_item_rows", c_int64, [c_void_p]),
                ("ty_batch_common_negatives", c_int64, [c_void_p]), ("ty_batch_position", c_char_p, [c_void_p]),
                ("ty_batch_tensor", c_void_p, [c_void_p, c_int64, c_int]), ("ty_batch_hard_negatives", c_void_p, [c_void_p])):
            function = getattr(lib, name)
            function.restype, function.argtypes = result, args
        _declared = True
    return lib


_new_capsule: Any = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
_is_unused: Any = ctypes.pythonapi.PyCapsule_IsValid
_is_unused.restype, _is_unused.argtypes = c_int, [ctypes.py_object, c_char_p]


class Tensor:
    """Memory of a batch that `torch.from_dlpack` and `numpy.from_dlpack` take, once."""

    def __init__(self, address: int) -> None:
        self._address = address
        self._capsule: Any = None

    def __dlpack__(self, **_options: Any) -> Any:
        if self._capsule is not None:
            raise BufferError("the tensor was taken before")
        self._capsule = _new_capsule(self._address, b"dltensor", None)
        return self._capsule

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (1, 0)

    def __del__(self) -> None:
        if self._capsule is None or _is_unused(self._capsule, b"dltensor"):
            managed = _Managed.from_address(self._address)
            managed.deleter(byref(managed))


class Part:
    """One batch."""

    def __init__(self, batch: c_void_p) -> None:
        self._batch = batch
        self._owner = os.getpid()
        lib = _lib()
        self.rows: int = lib.ty_batch_rows(batch)
        self.item_rows: int = lib.ty_batch_item_rows(batch)
        self.common_negatives: int = lib.ty_batch_common_negatives(batch)
        self.position: str = lib.ty_batch_position(batch).decode()

    def tensor(self, column: int, part: int) -> Optional[Tensor]:
        address = _lib().ty_batch_tensor(self._batch, column, part)
        return Tensor(address) if address else None

    def hard_negatives(self) -> Optional[Tensor]:
        address = _lib().ty_batch_hard_negatives(self._batch)
        return Tensor(address) if address else None

    def __del__(self) -> None:
        if os.getpid() == self._owner:
            _lib().ty_batch_release(self._batch)


class Stream:
    """An open stream of batches."""

    def __init__(self, config: str, values: Mapping[str, Any], source: Optional[str], **more: Any) -> None:
        self._stream = c_void_p()
        self._owner = os.getpid()  # a forked process has none of its threads
        error = _library._Error()
        position = more.pop("position", None)
        options = Options(config=os.fsencode(config), edits=json.dumps(dict(values), default=frames.plain).encode() if values else None,
                          input=os.fsencode(source) if source is not None else None,
                          position=position.encode() if position else None, **more)
        _library._check(_lib().ty_features_open(byref(options), byref(self._stream), byref(error)), error)

    def columns(self) -> List[Column]:
        made = []
        for i in range(_lib().ty_features_columns(self._stream)):
            about = _About()
            _lib().ty_features_column(self._stream, i, byref(about))
            made.append(Column(about.name.decode(), ("feature", "label", "weight")[about.kind], bool(about.sparse),
                               bool(about.sequence), bool(about.weighted), int(about.width), int(about.rows)))
        return made

    def rows(self) -> int:
        return int(_lib().ty_features_rows(self._stream))

    def notes(self) -> List[str]:
        """Lines about ids that had no row in their table."""
        return [line for line in _lib().ty_features_notes(self._stream).decode(errors="replace").splitlines() if line]

    def next(self) -> Optional[Part]:
        """The next batch; None at the end of a pass. The interpreter's lock is given back meanwhile."""
        batch, error = c_void_p(), _library._Error()
        if not self._stream:
            raise DataError("the rows were closed")
        if os.getpid() != self._owner:
            raise DataError("rows are read by the process that opened them: iterate anew in this one")
        _library._check(_lib().ty_features_next(self._stream, byref(batch), byref(error)), error)
        return Part(batch) if batch else None

    def close(self) -> None:
        stream, self._stream = self._stream, c_void_p()
        if stream and os.getpid() == self._owner:
            _lib().ty_features_close(stream)

    __del__ = close


def options_of(use: str, **more: Any) -> Dict[str, Any]:
    if use not in USES:
        raise ValueError(f"use: {use!r} is none of {', '.join(USES)}")
    return {"use": USES[use], **more}
