# SPDX-License-Identifier: Apache-2.0
"""The features of a pipeline.config as arrays, for models of your own.

    for batch in read("pipeline.config", "clicks.parquet"):
        ids = batch["user_id"]          # Jagged: values, offsets
        price = batch["price"]          # an array [rows]
        clicked = batch.labels["clicked"]

The readers and features are those of training, and run on threads of their own. `trainyard.torch` has the same as a
dataset of PyTorch.
"""
from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import tempfile
import warnings
import weakref
from dataclasses import dataclass, field, fields
from multiprocessing import context
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _tensors, frames
from ._tensors import Column
from .config import Config
from .errors import DataError, TrainyardError

__all__ = ["Batch", "Column", "Jagged", "Source", "read"]


class Jagged(NamedTuple):
    """Rows of different lengths: row r is values[offsets[r]:offsets[r + 1]].

    Rows of a sequence are lists of steps: row r has the steps steps[r] to steps[r + 1], and where a step is a list of ids,
    step s is values[step_offsets[s]:step_offsets[s + 1]].

    >>> jagged = Jagged([7, 8, 9], [0, 2, 2, 3])
    >>> jagged.row(0), jagged.row(1), jagged.lengths()
    ([7, 8], [], [2, 0, 1])
    """

    values: Any
    offsets: Any  #: [rows + 1]
    weights: Any = None  #: of ids, like values
    steps: Any = None  #: [rows + 1]; of sequences
    step_offsets: Any = None  #: [steps + 1]; of sequences of ids

    def row(self, r: int) -> Any:
        """The values of row r."""
        return self.values[self.offsets[r]:self.offsets[r + 1]]

    def lengths(self) -> Any:
        """How many values each row has."""
        if isinstance(self.offsets, list):
            return [b - a for a, b in zip(self.offsets, self.offsets[1:])]
        return self.offsets[1:] - self.offsets[:-1]

    def map(self, change: Callable[[Any], Any]) -> "Jagged":
        """The same with every array changed."""
        return Jagged(*[None if part is None else change(part) for part in self])


@dataclass
class Batch:
    """Rows: arrays of numbers, and Jagged for what differs in length.

    >>> batch = Batch(2, {"price": [0.5, 1.5]}, {"clicked": [0.0, 1.0]})
    >>> batch["price"], batch["clicked"], batch.map(len)["price"]
    ([0.5, 1.5], [0.0, 1.0], 2)
    """

    rows: int
    features: Dict[str, Any] = field(default_factory=dict)
    labels: Dict[str, Any] = field(default_factory=dict)
    weights: Dict[str, Any] = field(default_factory=dict)
    item_rows: int = 0  #: with a negative sampler: rows of the features of items
    common_negatives: int = 0  #: of those, behind the batch's: negatives of every row
    hard_negatives: Any = None  #: [rows + 1]: those behind them that are of row r alone
    position: str = ""  #: behind it, for Source(position=)

    def __getitem__(self, name: str) -> Any:
        """A feature, a label or a weight."""
        for group in (self.features, self.labels, self.weights):
            if name in group:
                return group[name]
        raise KeyError(name)

    def map(self, change: Callable[[Any], Any]) -> "Batch":
        """The same with every array changed."""
        made = {f.name: getattr(self, f.name) for f in fields(self)}
        for name in ("features", "labels", "weights"):
            made[name] = {k: v.map(change) if isinstance(v, Jagged) else change(v) for k, v in made[name].items()}
        if self.hard_negatives is not None:
            made["hard_negatives"] = change(self.hard_negatives)
        return type(self)(**made)


_PARTS = {  # of a column that is (sparse, sequence): which tensors make it
    (False, False): (_tensors.VALUES,),
    (True, False): (_tensors.VALUES, _tensors.OFFSETS, _tensors.WEIGHTS),
    (False, True): (_tensors.VALUES, _tensors.SEQ_OFFSETS),
    (True, True): (_tensors.VALUES, _tensors.OFFSETS, _tensors.WEIGHTS, _tensors.SEQ_OFFSETS, _tensors.STEP_OFFSETS),
}


def _value(part: _tensors.Part, i: int, column: Column, take: Callable[[Any], Any]) -> Any:
    if column.kind != "feature":
        offsets = part.tensor(i, _tensors.OFFSETS)
        values = take(part.tensor(i, _tensors.VALUES))
        return values if offsets is None else Jagged(values, take(offsets))
    made = [None if (t := part.tensor(i, p)) is None else take(t) for p in _PARTS[column.sparse, column.sequence]]
    if column.sparse:
        return Jagged(*made)
    return Jagged(made[0], made[1], None, made[1]) if column.sequence else made[0]


class Source:
    """Rows of a config's data as batches of features; each iteration is one pass.

    `data` is a path, a table or a list of dicts; without it the config's own input for `use`, which is "train" (shuffled and
    sampled as the config says), "eval" or "predict" (without labels). `features` names those that are wanted.
    """

    def __init__(self, config: Union[str, "os.PathLike[str]", Config], data: Any = None, use: str = "train",
                 batch_size: Optional[int] = None, set: Optional[Mapping[str, Any]] = None, seed: int = 0,
                 features: Optional[Sequence[str]] = None, positions: bool = False) -> None:
        self.config = Config.of(config).with_values(set)
        self.options = _tensors.options_of(use, batch_size=batch_size or 0, keep_positions=int(positions))
        self.seed = seed
        self.wanted = None if features is None else list(features)
        self.epoch = 0  #: passes begun before the next
        self._position = self._last = ""
        self._begun, self._here = _Begun(), False
        self._used = seed
        self._given = data is not None and not frames.is_path(data)  # a table, which lies in a file of our own
        self._input = self._store(data)
        self._columns: List[Column] = []

    def _store(self, data: Any) -> Optional[str]:
        if not self._given:
            return None if data is None else frames.write(data, "", "rows")
        place = tempfile.mkdtemp(prefix="trainyard-")
        weakref.finalize(self, _remove, place, os.getpid())
        return frames.write(data, place, "rows")

    def open(self, worker: int = 0, workers: int = 1, salt: int = 0) -> _tensors.Stream:
        """A stream of the rows of one of `workers`, one pass; `salt` goes into its random numbers."""
        self._used = self._used if self._position else (self.seed + self.epoch + salt) % 2**64
        with self._naming():
            return self._stream(worker, workers)

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        """Messages call a table by its name, not by the file in which it lies."""
        try:
            yield
        except TrainyardError as e:
            raise e.reworded(lambda text: frames.named(text, os.path.dirname(self._input or "."))) if self._given else e from None

    def _stream(self, worker: int, workers: int) -> _tensors.Stream:
        return _tensors.Stream(self.config.path, self.config.values, self._input, **self.options, epochs=1, seed=self._used,
                               worker=worker, workers=workers if workers > 1 else 0, position=self._position or None)

    def _next(self, stream: _tensors.Stream) -> Optional[_tensors.Part]:
        with self._naming():
            return stream.next()

    @property
    def columns(self) -> List[Column]:
        """What batches hold: names, kinds, sizes of tables."""
        if not self._columns:
            stream = self.open()
            self._columns = self._chosen(stream.columns())
            stream.close()
        return list(self._columns)

    def _chosen(self, columns: List[Column]) -> List[Column]:
        if self.wanted is None:
            return columns
        known = {c.name for c in columns if c.kind == "feature"}
        for name in self.wanted:
            if name not in known:
                raise DataError(f"there is no feature {name!r} in {self.config.path}")
        return [c for c in columns if c.kind != "feature" or c.name in self.wanted]

    def batches(self, take: Callable[[Any], Any], worker: int = 0, workers: int = 1, salt: int = 0,
                make: type = Batch) -> Iterator[Any]:
        """One pass; `take` makes an array of what speaks DLPack, `make` a batch of arrays."""
        stream = self.open(worker, workers, salt)
        self._begun.note()
        self._here = True
        self.epoch, self._position = self.epoch + 1, ""
        try:
            chosen = {(c.kind, c.name) for c in self._chosen(stream.columns())}
            columns = [(i, c) for i, c in enumerate(stream.columns()) if (c.kind, c.name) in chosen]
            while (part := self._next(stream)) is not None:
                self._last = part.position
                yield batch_of(part, columns, take, make)
            for line in stream.notes():
                warnings.warn(line, RuntimeWarning, stacklevel=3)
        finally:
            stream.close()

    def state_dict(self) -> Dict[str, Any]:
        """Where the data stands behind the last batch, for load_state_dict(); needs positions=True."""
        if (self._here or self._begun.elsewhere()) and not self.options["keep_positions"]:
            raise DataError("positions are not kept: give positions=True")
        if not self._here and self._begun.elsewhere():
            raise DataError("the rows are read by other processes, workers of a DataLoader, which alone know where they are: torchdata's "
                            "StatefulDataLoader asks them, and num_workers=0 reads here")
        return {"epoch": self.epoch - 1 if self._last else self.epoch, "seed": self._used, "position": self._last}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next pass goes on with exactly the rows behind that batch."""
        try:
            epoch, used, position = int(state["epoch"]), int(state["seed"]), str(state["position"])
        except (KeyError, TypeError, ValueError) as e:
            raise DataError(f"that is no state_dict() of rows: {type(e).__name__}: {e}") from None
        self.epoch, self._used, self._position, self._last = epoch, used, position, ""

    def __iter__(self) -> Iterator[Batch]:
        try:
            import numpy
        except ImportError:
            raise DataError("numpy is needed for arrays (pip install numpy)") from None
        yield from self.batches(numpy.from_dlpack)


class _Begun:
    """Whether another process, forked from this one or started by it, has begun to read."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._shared = mmap.mmap(-1, 1)

    def note(self) -> None:
        if os.getpid() != self._owner:
            self._shared[0] = 1

    def elsewhere(self) -> bool:
        return os.getpid() == self._owner and self._shared[0] != 0

    def __reduce__(self) -> Any:
        if context.get_spawning_popen() is not None:  # to a process that is started, which reads where we do not see it
            self._shared[0] = 1
        return _Begun, ()


def batch_of(part: _tensors.Part, columns: Sequence[Tuple[int, Column]], take: Callable[[Any], Any],
             make: type = Batch) -> Any:
    groups: Dict[str, Dict[str, Any]] = {"feature": {}, "label": {}, "weight": {}}
    for i, column in columns:
        groups[column.kind][column.name] = _value(part, i, column, take)
    hard = part.hard_negatives()
    return make(part.rows, groups["feature"], groups["label"], groups["weight"], part.item_rows, part.common_negatives,
                None if hard is None else take(hard), part.position)


def _remove(place: str, owner: int) -> None:
    if os.getpid() == owner:  # a forked worker leaves its parent's rows alone
        shutil.rmtree(place, ignore_errors=True)


def read(config: Union[str, "os.PathLike[str]", Config], data: Any = None, use: str = "train", **options: Any) -> Iterator[Batch]:
    """One pass over the rows as batches of numpy arrays; options are those of Source."""
    return iter(Source(config, data, use, **options))
