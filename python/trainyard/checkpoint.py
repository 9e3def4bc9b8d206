# SPDX-License-Identifier: Apache-2.0
"""What checkpoints and exports hold, as arrays of numpy and state dicts of PyTorch.

    vectors = embeddings("experiments/din", "item_id")
    vectors.ids, vectors.vectors                     # rows that training touched

    state = state_dict("experiments/din")            # name -> torch tensor; everything that training goes on from
    torch.save(state, "din.pth")
    save_state_dict(torch.load("din.pth"), "experiments/other")

numpy is needed, and torch for state dicts.
"""
from __future__ import annotations

import importlib
import json
import os
import re
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional

from . import frames
from .errors import CheckpointError, DataError, UsageError

__all__ = ["Embeddings", "embeddings", "save_state_dict", "state_dict", "tables"]

MANIFEST = "trainyard.manifest"  #: of a state dict: what a checkpoint has beside tensors, as JSON in bytes


class Embeddings(NamedTuple):
    """Rows of an embedding table."""

    ids: Any  #: numbers of the rows; of tables that map keys (zch, dynamicemb) the keys
    vectors: Any  #: [len(ids), dim], float32

    def nearest(self, vector: Any, k: int = 10) -> "Embeddings":
        """The k rows of the largest inner product with a vector, best first."""
        import numpy
        wanted = numpy.asarray(vector, numpy.float32)
        if wanted.shape != self.vectors.shape[1:] or not numpy.isfinite(wanted).all():
            raise DataError(f"nearest: a vector of {self.vectors.shape[1]} finite numbers is wanted")
        if k < 0:
            raise UsageError(f"nearest: k is {k}")
        scores = self.vectors @ wanted
        best = numpy.argsort(-scores, kind="stable")[:k]
        return Embeddings(self.ids[best], self.vectors[best])


def _store() -> Any:
    try:
        return importlib.import_module("trainyard._ckpt")
    except ImportError as e:
        raise CheckpointError(f"checkpoints are read with numpy (pip install numpy): {e}") from None


def _open(path: str) -> Any:
    store = _store()
    try:
        return store.Checkpoint(os.fspath(path))
    except store.CheckpointError as e:
        raise CheckpointError(str(e)) from None
    except FileNotFoundError as e:
        raise CheckpointError(f"{e.filename}: no such checkpoint") from None


_TABLE = re.compile(r"^(?:.*\.)?([^.]+)\.weight$")


def _is_export(path: str) -> bool:
    return os.path.exists(os.path.join(path, "tables.safetensors"))


def _names(path: str) -> Dict[str, str]:
    """Short name -> tensor, of the tables of a checkpoint or an export."""
    if _is_export(path):
        with open(os.path.join(path, "manifest.json"), encoding="utf-8") as f:
            full = [str(table["tensor"]) for table in json.load(f)["tables"]]
    else:
        opened = _open(path)
        full = list(dict.fromkeys(_tables_of(opened)))
    found: Dict[str, str] = {}
    for name in full:
        match = _TABLE.match(name)
        short = match[1] if match else name
        found[name if short in found else short] = name
    return found


def _tables_of(opened: Any) -> Iterator[str]:
    for name in opened:
        for end in (".row_ids", ".keys", ".used"):
            if name.endswith(".weight" + end):
                yield name[:-len(end)]


def tables(path: str) -> List[str]:
    """The embedding tables of a checkpoint, a model_dir (its latest checkpoint) or an export."""
    return sorted(_names(path))


def _find(path: str, table: str) -> str:
    known = _names(path)
    for name in (table, f"{table}_emb"):
        if name in known:
            return known[name]
    if table in known.values():
        return table
    raise CheckpointError(f"{path}: there is no table {table!r}; there are {', '.join(sorted(known))}")


def embeddings(path: str, table: str) -> Embeddings:
    """The rows of a table that training touched; of an export, all its rows.

    `path` is a checkpoint, a model_dir (its latest one) or an export, `table` the name of a table or of a feature.
    """
    path = os.fspath(path)
    name = _find(path, table)
    if _is_export(path):
        return _exported(path, name)
    ids, vectors = _open(path).rows(name)
    return Embeddings(ids, vectors)


def _exported(path: str, name: str) -> Embeddings:
    import numpy
    raw = _store()._read_raw(os.path.join(path, "tables.safetensors"))
    with open(os.path.join(path, "manifest.json"), encoding="utf-8") as f:
        about = next(t for t in json.load(f)["tables"] if t["tensor"] == name)
    kind, stored = raw[name]
    if about["type"] in ("int4", "int2"):
        values = _unpacked(stored, int(about["type"][3:]), raw[f"{name}.{about['type']}"][1], about["dim"])
    elif about["type"] == "int8":
        values = stored.astype(numpy.float32) * raw[f"{name}.scale"][1][:, None]
    else:
        values = numpy.asarray(_store()._widen(kind, stored), numpy.float32)
    keys = raw.get(f"{name}.keys")
    ids = keys[1] if keys else numpy.arange(len(values))
    return Embeddings(ids, values[:len(ids)])


def _unpacked(packed: Any, bits: int, scale: Any, dim: int) -> Any:
    """Numbers of 4 or 2 bits, the first in the lowest; value = number * step + least."""
    import numpy
    shifts: Any = numpy.arange(0, 8, bits, dtype=numpy.uint8)
    numbers = (packed[:, :, None] >> shifts & ((1 << bits) - 1)).reshape(len(packed), -1)[:, :dim]
    step, least = scale.astype(numpy.float32).T
    return (numbers * step[:, None] + least[:, None]).astype(numpy.float32)


def state_dict(path: str, part: Optional[str] = None) -> Dict[str, Any]:
    """A checkpoint as a state dict: name -> torch tensor, copied.

    Without `part` it is everything, and save_state_dict() makes a checkpoint of it that training goes on from as if nothing had
    been. part="model" gives the weights alone, with every row of every table, for load_state_dict() of a module.
    """
    import torch
    opened = _open(path)
    if part is not None:
        if part not in ("model", "optimizer"):
            raise CheckpointError(f"part: {part!r} is neither 'model' nor 'optimizer'")
        return {name: torch.from_numpy(opened[name].copy()) for name in _whole_names(opened, part)}
    kept = {"step": opened.step, "epoch": opened.epoch, "config": opened.config, "state": opened.state,
            "parts": dict(opened.parts)}
    made = dict(opened.torch())
    made[MANIFEST] = torch.tensor(list(json.dumps(kept).encode()), dtype=torch.uint8)
    return made


def _whole_names(opened: Any, part: str) -> Iterator[str]:
    for name in opened:
        if opened.parts[name] != part or name.endswith((".row_ids", ".keys")):
            continue
        whole = name[:-len(".rows")] if name.endswith(".rows") else name
        yield whole if whole in opened else name


def save_state_dict(state: Mapping[str, Any], model_dir: str, like: Optional[str] = None, step: Optional[int] = None,
                    overwrite: bool = False) -> str:
    """Writes model_dir/model.ckpt-STEP from a state dict, and returns its path.

    A whole one of state_dict() becomes the checkpoint that it was. Weights of a module take the place of those in the checkpoint
    `like`, the rest of which stays. Without either it serves to predict, to export and to fine-tune.
    """
    store = _store()
    if step is not None:
        step = frames.whole_number("step", step, 0, CheckpointError)
    for name, value in state.items():
        if not hasattr(value, "shape"):
            raise CheckpointError(f"{name}: a tensor is wanted, not {type(value).__name__}")
    tensors: Dict[str, Any] = {name: value for name, value in state.items() if name != MANIFEST}
    about: Dict[str, Any] = {}
    if like is not None:
        opened = _open(like)
        about = {"step": opened.step, "epoch": opened.epoch, "config": opened.config, "state": opened.state,
                 "parts": dict(opened.parts)}
        tensors = _merged(opened, tensors)
    elif MANIFEST in state:
        about = json.loads(bytes(state[MANIFEST].tolist()))
    parts = about.get("parts", {})
    os.makedirs(model_dir, exist_ok=True)
    try:
        return str(store.save(model_dir, tensors, about.get("step", 0) if step is None else step, about.get("epoch", 0),
                              about.get("config", ""), about.get("state"), lambda name: parts.get(name) or store.part_of(name),
                              overwrite=overwrite))
    except (store.CheckpointError, FileExistsError) as e:
        raise CheckpointError(str(e)) from None


def _merged(opened: Any, tensors: Mapping[str, Any]) -> Dict[str, Any]:
    """All of a checkpoint, with values of `tensors` in place of its own."""
    made: Dict[str, Any] = dict(opened.torch())
    for name, value in tensors.items():
        if name in opened.kinds:
            _same_shape(name, opened[name].shape, value.shape)
            made[name] = value
        elif name in opened:
            _same_shape(name, opened[name].shape, value.shape)
            made.update(_rows_of(opened, name, value))
        else:
            raise CheckpointError(f"{opened.path}: there is no tensor {name!r}")
    return made


def _same_shape(name: str, old: Any, new: Any) -> None:
    if tuple(old) != tuple(new):
        raise CheckpointError(f"{name}: its shape is {tuple(new)}, the checkpoint's {tuple(old)}")


def _rows_of(opened: Any, name: str, value: Any) -> Dict[str, Any]:
    """A whole table as the rows that are written of it: those that were, and those that are no longer initial values."""
    import numpy
    given = value.detach().cpu().numpy().astype(numpy.float32)
    old = opened[name]
    ids = numpy.union1d(opened._raw[f"{name}.row_ids"], numpy.flatnonzero((given != old).any(axis=1)))
    made = {f"{name}.row_ids": ids.astype(numpy.int64), f"{name}.rows": given[ids]}
    for other in opened:
        if other.endswith(".rows") and opened._weight(other[:-len(".rows")]) == name and other[:-len(".rows")] != name:
            made[other] = opened[other[:-len(".rows")]][ids]
    return made
