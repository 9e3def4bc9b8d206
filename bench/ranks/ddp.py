# SPDX-License-Identifier: Apache-2.0
"""The same step in PyTorch: DistributedDataParallel over gloo, one thread per rank.

Embeddings of `tables` tables with `dim` columns, one id per row and table, joined with
`dense` numbers; layers of the given widths; binary cross entropy; Adagrad for tables (sparse
gradients) and Adam for the rest. Prints rows per second of all ranks, and microseconds of
user time for a row.

    python3 ddp.py RANKS BATCH TABLES ROWS DIM DENSE WIDTH,WIDTH,...
"""
import os
import resource
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


class Model(torch.nn.Module):
    def __init__(self, tables, rows, dim, dense, widths):
        super().__init__()
        self.tables = torch.nn.ModuleList(
            torch.nn.EmbeddingBag(rows, dim, mode="sum", sparse=True) for _ in range(tables))
        layers, last = [], tables * dim + dense
        for width in widths:
            layers += [torch.nn.Linear(last, width), torch.nn.ReLU()]
            last = width
        self.layers = torch.nn.Sequential(*layers, torch.nn.Linear(last, 1))

    def forward(self, ids, numbers):
        vectors = [t(ids[i].unsqueeze(1)) for i, t in enumerate(self.tables)]
        return self.layers(torch.cat(vectors + [numbers], 1)).squeeze(1)


def work(rank, world, batch, tables, rows, dim, dense, widths, out):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(1)
    model = Model(tables, rows, dim, dense, widths)
    wrapped = torch.nn.parallel.DistributedDataParallel(model) if world > 1 else model
    sparse = torch.optim.Adagrad(model.tables.parameters(), lr=0.01)
    rest = torch.optim.Adam(model.layers.parameters(), lr=0.001)
    torch.manual_seed(2 + rank)
    data = [(torch.randint(0, rows, (tables, batch)), torch.rand(batch, dense),
             torch.randint(0, 2, (batch,)).float()) for _ in range(8)]
    best, steps, before = 0.0, int(os.environ.get("DDP_STEPS", "24")), 0.0
    for step in range(steps):
        start = time.monotonic()
        if step == 4:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        ids, numbers, labels = data[step % len(data)]
        sparse.zero_grad()
        rest.zero_grad()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(wrapped(ids, numbers), labels)
        loss.backward()
        sparse.step()
        rest.step()
        if step >= 4:
            best = max(best, batch * world / (time.monotonic() - start))
    used = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
    if rank == 0:
        out.put((best, used / ((steps - 4) * batch) * 1e6))
    dist.destroy_process_group()


def main():
    world, batch, tables, rows, dim, dense = map(int, sys.argv[1:7])
    widths = [int(w) for w in sys.argv[7].split(",")]
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    context = mp.get_context("spawn")
    out = context.SimpleQueue()
    mp.spawn(work, (world, batch, tables, rows, dim, dense, widths, out), nprocs=world)
    rows, us = out.get()
    print(f"{rows:.0f} {us:.1f}")


if __name__ == "__main__":
    main()
