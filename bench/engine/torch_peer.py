# SPDX-License-Identifier: Apache-2.0
"""torch_peer.py MODEL BATCH [bf16] [varlen] [THREADS|default] [SECONDS]: the same steps in PyTorch.

The shapes of step.c: embeddings in one merged table with sparse gradients and Adagrad on the
rows, dense parameters with Adam, batches in memory, log-uniform ids. Prints one line of JSON; with - for SECONDS one for each line of its
input, which says how many.
"""
import json
import statistics
import sys
import time

import torch
from torch import nn

TAOBAO = {
    "user_id": 1141730, "cms_segid": 98, "cms_group_id": 14, "final_gender_code": 3,
    "age_level": 8, "pvalue_level": 5, "shopping_level": 5, "occupation": 3,
    "new_user_class_level": 6, "pid": 20, "adgroup_id": 846812, "cate_id": 12961,
    "campaign_id": 423438, "customer": 255877, "brand": 461498, "price": 99,
}
QUERY = ["adgroup_id", "cate_id", "brand"]
DIM, STEPS = 16, 50


def draw(rows, shape):
    x = torch.pow(float(rows), torch.rand(shape, dtype=torch.float64)).long() - 1
    return x * 2654435761 % rows if rows > 100 else x % rows


def net(width, units, out=None):
    layers = []
    for unit in units:
        layers += [nn.Linear(width, unit), nn.ReLU()]
        width = unit
    return nn.Sequential(*layers, *([nn.Linear(width, out)] if out else []))


class Table(nn.Module):
    """All features in one table: the fastest form that plain PyTorch has."""

    def __init__(self, sizes, dim=DIM):
        super().__init__()
        starts = torch.tensor([0] + sizes[:-1]).cumsum(0)
        self.register_buffer("starts", starts)
        self.table = nn.Embedding(sum(sizes), dim, sparse=True)
        nn.init.uniform_(self.table.weight, -0.01, 0.01)

    def forward(self, ids):
        return self.table(ids + self.starts)


class Dlrm(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = Table([100000] * 26)
        self.bottom = net(13, [512, 256, 16])
        self.top = net(351 + 16, [512, 256], 1)
        self.register_buffer("pairs", torch.triu_indices(27, 27, 1)[0] * 27
                             + torch.triu_indices(27, 27, 1)[1])

    def batch(self, n):
        return torch.rand(n, 13), draw(100000, (n, 26))

    def forward(self, dense, ids):
        z = self.bottom(dense)
        x = torch.cat([z.unsqueeze(1), self.table(ids)], 1)
        dots = torch.bmm(x, x.transpose(1, 2)).flatten(1).index_select(1, self.pairs)
        return [self.top(torch.cat([dots, z], 1))]


class DeepFm(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.wide = Table([100000] * 26), Table([100000] * 26, 1)
        self.deep = net(26 * DIM + 13, [512, 256, 128])
        self.final = net(1 + DIM + 128, [64], 1)

    def batch(self, n):
        return torch.rand(n, 13), draw(100000, (n, 26))

    def forward(self, dense, ids):
        v = self.table(ids)
        fm = 0.5 * (v.sum(1).square() - v.square().sum(1))
        deep = self.deep(torch.cat([v.flatten(1), dense], 1))
        return [self.final(torch.cat([self.wide(ids).sum(1), fm, deep], 1))]


class Mmoe(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = Table(list(TAOBAO.values()))
        self.experts = nn.ModuleList(net(256, [512, 256, 128]) for _ in range(3))
        self.gates = nn.ModuleList(nn.Linear(256, 3) for _ in range(2))
        self.towers = nn.ModuleList(net(128, [256, 128, 64], 1) for _ in range(2))

    def batch(self, n):
        return (torch.stack([draw(v, (n,)) for v in TAOBAO.values()], 1),)

    def forward(self, ids):
        x = self.table(ids).flatten(1)
        experts = torch.stack([e(x) for e in self.experts], 1)
        out = []
        for gate, tower in zip(self.gates, self.towers):
            mixed = (torch.softmax(gate(x), 1).unsqueeze(2) * experts).sum(1)
            out.append(tower(mixed))
        return out


class Din(nn.Module):
    def __init__(self):
        super().__init__()
        names = list(TAOBAO)
        self.query = [names.index(q) for q in QUERY]
        self.table = Table(list(TAOBAO.values()))
        self.history = Table([TAOBAO[q] for q in QUERY])
        self.deep = net(256, [512, 256, 128])
        self.attention = net(4 * 48, [256, 64], 1)
        self.final = net(128 + 48, [64], 1)

    def batch(self, n):
        length = torch.randint(1, STEPS + 1, (n,)) if "varlen" in sys.argv else torch.full((n,), STEPS)
        mask = torch.arange(STEPS).unsqueeze(0) < length.unsqueeze(1)
        history = torch.stack([draw(TAOBAO[q], (n * STEPS,)) for q in QUERY], 1)
        return mask, torch.stack([draw(v, (n,)) for v in TAOBAO.values()], 1), history

    def forward(self, mask, ids, history):
        v = self.table(ids)
        q = v[:, self.query].flatten(1).unsqueeze(1).expand(-1, STEPS, -1)
        k = self.history(history).view(len(ids), STEPS, 48)
        score = self.attention(torch.cat([q, k, q - k, q * k], 2)).squeeze(2)
        weight = torch.softmax(score.masked_fill(~mask, -2.0**31 + 1), 1)
        pooled = torch.bmm(weight.unsqueeze(1).to(k.dtype), k).squeeze(1)
        return [self.final(torch.cat([self.deep(v.flatten(1)), pooled], 1))]


class Lookup(nn.Module):
    """The embedding layer of dlrm alone: the gradient of its output is given."""

    def __init__(self):
        super().__init__()
        self.table = Table([100000] * 26)
        self.gradient = None

    def batch(self, n):
        self.gradient = torch.rand(n, 26, DIM) * 0.02 - 0.01
        return (draw(100000, (n, 26)),)

    def forward(self, ids):
        return [self.table(ids)]


def step_of(model, optimizers, bf16):
    loss_of = nn.BCEWithLogitsLoss()

    def step(inputs, label):
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            outputs = model(*inputs)
        if isinstance(model, Lookup):
            outputs[0].backward(model.gradient)
        elif hasattr(model, "loss"):
            model.loss(outputs, label).backward()
        else:
            sum(loss_of(o.float(), label) for o in outputs).backward()
        for o in optimizers:
            o.step()
            o.zero_grad(set_to_none=True)

    return step


def run(step, batches, seconds, done):
    """Seconds and processor seconds of steps, which go on from where they were."""
    times, cpu, end = [], [], None
    while end is None or not times or time.perf_counter() < end:
        inputs, label = batches[done % 4]
        start, before = time.perf_counter(), time.process_time()
        step(inputs, label)
        done += 1
        if done > 8:
            times.append(time.perf_counter() - start)
            cpu.append(time.process_time() - before)
        if done >= 8 and end is None:
            end = time.perf_counter() + seconds
    return times, cpu, done


MODELS = {"dlrm": Dlrm, "deepfm": DeepFm, "mmoe": Mmoe, "din": Din, "lookup": Lookup}


def main(models=None):
    model_name, rows = sys.argv[1], int(sys.argv[2])
    numbers = [a for a in sys.argv[3:] if a not in ("bf16", "varlen")]
    if numbers[:1] != ["default"]:
        torch.set_num_threads(int(numbers[0]) if numbers else 2)
    seconds = numbers[1] if len(numbers) > 1 else "4"
    torch.manual_seed(1)
    model = (models or MODELS)[model_name]()
    sparse = [p for n, p in model.named_parameters() if n.endswith("table.weight")]
    dense = [p for n, p in model.named_parameters() if not n.endswith("table.weight")]
    optimizers = [torch.optim.Adagrad(sparse, lr=0.01)]
    if dense:
        optimizers.append(torch.optim.Adam(dense, lr=0.001))
    batches = [(model.batch(rows), torch.rand(rows, 1).lt(0.25).float()) for _ in range(4)]
    step, done = step_of(model, optimizers, "bf16" in sys.argv), 0
    for line in sys.stdin if seconds == "-" else [seconds]:
        times, cpu, done = run(step, batches, float(line), done)
        print(json.dumps({"model": model_name, "batch": rows, "torch": torch.__version__,
                          "samples_per_s": rows / statistics.median(times),
                          "best": rows / min(times), "cpu_ms": [statistics.mean(cpu) * 1e3, min(cpu) * 1e3],
                          "steps": len(times)}), flush=True)


if __name__ == "__main__":
    main()
