# SPDX-License-Identifier: Apache-2.0
"""Datasets of PyTorch over our readers and features.

    from torch.utils.data import DataLoader
    from trainyard.torch import FeatureDataset

    data = FeatureDataset("pipeline.config", "clicks.parquet", batch_size=4096)
    for batch in DataLoader(data, batch_size=None):
        vectors = torch.nn.functional.embedding_bag(batch["user_id"].values, table, batch["user_id"].offsets[:-1])
        loss = criterion(model(vectors, batch["price"]), batch.labels["clicked"])

The library reads and computes on threads of its own, ahead of the loop, so `num_workers=0` is the fastest: tensors are the
library's memory, while those of worker processes are copied to reach you.
"""
from __future__ import annotations

import os
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import torch
from torch.utils.data import IterableDataset, get_worker_info

from .config import Config
from .features import Batch, Column, Jagged, Source

__all__ = ["Batch", "Column", "FeatureDataset", "Jagged", "TorchBatch"]


class TorchBatch(Batch):
    """A batch of tensors, which a DataLoader can pin and a step can move."""

    def to(self, device: Any, non_blocking: bool = False) -> "TorchBatch":
        """The batch on a device."""
        moved = self.map(lambda tensor: tensor.to(device, non_blocking=non_blocking))
        assert isinstance(moved, TorchBatch)
        return moved

    def pin_memory(self) -> "TorchBatch":
        """A copy in pinned memory, from which copies to a card overlap with its work."""
        pinned = self.map(lambda tensor: tensor.pin_memory())
        assert isinstance(pinned, TorchBatch)
        return pinned


def _ranks(rank: Optional[int], world_size: Optional[int]) -> Tuple[int, int]:
    if rank is not None or world_size is not None:
        return rank or 0, world_size or 1
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


class FeatureDataset(IterableDataset):  # type: ignore[misc, type-arg, unused-ignore]
    """Batches of features as tensors; each iteration is one pass. Give it to a DataLoader with batch_size=None.

    The rows are divided among the ranks of torch.distributed (or `rank` of `world_size`) and the workers of a DataLoader: each
    row comes once. `pin_memory` pins batches here, for loops without a DataLoader. With `positions`, state_dict() and
    load_state_dict() go on with exactly the next row; otherwise the arguments are those of trainyard.features.Source.
    """

    def __init__(self, config: Union[str, "os.PathLike[str]", Config], data: Any = None, use: str = "train",
                 batch_size: Optional[int] = None, set: Optional[Mapping[str, Any]] = None, seed: int = 0,
                 features: Optional[Sequence[str]] = None, positions: bool = False, pin_memory: bool = False,
                 rank: Optional[int] = None, world_size: Optional[int] = None) -> None:
        super().__init__()
        self.source = Source(config, data, use, batch_size, set, seed, features, positions)
        self.pin_memory = pin_memory
        self.rank, self.world_size = rank, world_size

    @property
    def columns(self) -> List[Column]:
        """What batches hold: names, kinds, sizes of tables."""
        return self.source.columns

    def set_epoch(self, epoch: int) -> None:
        """The number of the next pass, which decides about its order; passes are counted unless this is called."""
        self.source.epoch = epoch

    def state_dict(self) -> Dict[str, Any]:
        """Where this process, or worker, stands in the data."""
        return self.source.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.source.load_state_dict(state)

    def __iter__(self) -> Iterator[TorchBatch]:
        rank, world = _ranks(self.rank, self.world_size)
        info = get_worker_info()
        workers = 1 if info is None else int(info.num_workers)
        worker = rank * workers + (0 if info is None else int(info.id))
        # A DataLoader draws a seed per pass, the same for all its workers but for their number.
        salt = 0 if info is None else int(info.seed) - int(info.id)
        for batch in self.source.batches(torch.from_dlpack, worker, world * workers, salt, TorchBatch):
            yield batch.pin_memory() if self.pin_memory else batch

    def __repr__(self) -> str:
        return f"FeatureDataset({self.source.config.path!r})"
