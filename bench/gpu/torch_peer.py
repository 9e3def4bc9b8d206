# SPDX-License-Identifier: Apache-2.0
"""torch_peer.py MODEL BATCH DIM: the shapes of bench/engine/step.c in PyTorch on one card.

One merged table with sparse gradients and Adagrad (lookup-adam: SparseAdam) on its rows, fused Adam for the dense parameters, ids and inputs already on
the card. Prints a line of JSON for each of eager and compiled, TF32 and bf16 autocast: the median of five turns.
"""
import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional

DEVICE, ROWS, HISTORY = "cuda", 26_000_000, 50


def tower(width, units, out=None):
    layers = []
    for unit in units:
        layers += [nn.Linear(width, unit), nn.ReLU()]
        width = unit
    return nn.Sequential(*layers, *([nn.Linear(width, out)] if out else []))


class Dlrm(nn.Module):
    slots = 26

    def __init__(self, dim):
        super().__init__()
        self.bottom, self.top = tower(13, [512, 256, dim]), tower(dim + 351, [512, 256], 1)
        self.register_buffer("pairs", torch.triu_indices(27, 27, 1)[0] * 27 + torch.triu_indices(27, 27, 1)[1])

    def forward(self, dense, vectors):
        own = self.bottom(dense)
        fields = torch.cat([own.unsqueeze(1), vectors], 1)
        dots = torch.bmm(fields, fields.transpose(1, 2)).flatten(1)[:, self.pairs]
        return self.top(torch.cat([own, dots], 1))


class Mmoe(nn.Module):
    slots, tasks = 16, 2

    def __init__(self, dim):
        super().__init__()
        width = self.slots * dim
        self.experts = nn.ModuleList(tower(width, [512, 256, 128]) for _ in range(3))
        self.gates = nn.ModuleList(nn.Linear(width, 3) for _ in range(2))
        self.towers = nn.ModuleList(tower(128, [256, 128, 64], 1) for _ in range(2))

    def forward(self, _, vectors):
        x = vectors.flatten(1)
        experts = torch.stack([e(x) for e in self.experts], 1)
        mixed = [(functional.softmax(g(x), 1).unsqueeze(2) * experts).sum(1) for g in self.gates]
        return torch.cat([t(m) for t, m in zip(self.towers, mixed)], 1)


class Din(nn.Module):
    """16 features, the first three of which are the query of a history of three."""
    slots = 16 + 3 * HISTORY

    def __init__(self, dim):
        super().__init__()
        self.deep, self.final = tower(16 * dim, [512, 256, 128]), tower(128 + 6 * dim, [64], 1)
        self.attention = tower(4 * 3 * dim, [256, 64], 1)

    def forward(self, _, vectors):
        rows, dim = vectors.shape[0], vectors.shape[2]
        own, history = vectors[:, :16], vectors[:, 16:].reshape(rows, HISTORY, 3 * dim)
        query = own[:, :3].reshape(rows, 1, 3 * dim).expand(-1, HISTORY, -1)
        weights = self.attention(torch.cat([query, history, query - history, query * history], 2))
        pooled = (functional.softmax(weights, 1) * history).sum(1)
        return self.final(torch.cat([self.deep(own.flatten(1)), pooled, query[:, 0]], 1))


class Bench:
    def __init__(self, model, batch, dim, compiled, bf16):
        kinds = {"dlrm": Dlrm, "mmoe": Mmoe, "din": Din, "lookup": Dlrm, "lookup-adam": Dlrm}
        rows_alone = model.startswith("lookup")
        rows = 351_000 if rows_alone and dim == 128 else ROWS if model == "dlrm" or rows_alone else 3_150_000
        self.batch, self.bf16, self.alone = batch, bf16, rows_alone
        net = kinds[model](dim).to(DEVICE)
        self.net = torch.compile(net) if compiled else net
        self.table = nn.Embedding(rows, dim, sparse=True, device=DEVICE)
        kind = torch.optim.SparseAdam if model == "lookup-adam" else torch.optim.Adagrad
        self.rows = kind(list(self.table.parameters()), lr=0.01)
        self.dense = torch.optim.Adam(net.parameters(), lr=0.001, fused=True)
        self.ids = [torch.randint(0, rows, (batch, net.slots), device=DEVICE) for _ in range(4)]
        self.inputs = torch.rand(batch, 13, device=DEVICE)
        self.labels = (torch.rand(batch, getattr(net, "tasks", 1), device=DEVICE) < 0.25).float()
        self.given = torch.randn(batch, net.slots, dim, device=DEVICE) * 0.01 if self.alone else None

    def step(self, k):
        vectors = self.table(self.ids[k % 4])
        self.rows.zero_grad(set_to_none=True)
        self.dense.zero_grad(set_to_none=True)
        if self.alone:
            vectors.backward(self.given)
        else:
            with torch.autocast(DEVICE, torch.bfloat16, enabled=self.bf16):
                logits = self.net(self.inputs, vectors)
            functional.binary_cross_entropy_with_logits(logits.float(), self.labels).backward()
            self.dense.step()
        self.rows.step()

    def turn(self, steps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for k in range(steps):
            self.step(k)
        torch.cuda.synchronize()
        return self.batch * steps / (time.perf_counter() - start)


def main():
    model, batch, dim = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.backends.cuda.matmul.allow_tf32 = True
    ways = [(False, False)] if model.startswith("lookup") else [(c, b) for c in (False, True) for b in (False, True)]
    for compiled, bf16 in ways:
        torch.manual_seed(1)
        bench = Bench(model, batch, dim, compiled, bf16)
        bench.turn(8)
        speed = statistics.median(bench.turn(20) for _ in range(5))
        print(json.dumps({"how": f"{'compiled' if compiled else 'eager'}{' bf16' if bf16 else ''}",
                          "torch": torch.__version__, "samples_per_s": round(speed)}), flush=True)
        del bench
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
