# SPDX-License-Identifier: Apache-2.0
"""stu.py PROGRAM [STEPS [LENGTHS...]] - a layer of transduction units (HSTU), forward and backward, beside PyTorch's padded one.

PROGRAM is engine_stu of a release build. Both sides run on one thread and are measured by processor time of the
fastest step, which holds on a busy machine. PyTorch runs it eagerly, and compiled where torch.compile works; the
better one counts. Exits 1 when the ratio is below 2."""
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

WIDTH, HEADS, HIDDEN, ATTENTION = 256, 4, 64, 64
LENGTHS = {"jagged": [b * 7919 % 201 for b in range(64)], "long": [1000] * 8}


class Layer(torch.nn.Module):
    def __init__(self, longest):
        super().__init__()
        self.uvqk = torch.nn.Linear(WIDTH, 2 * HEADS * (HIDDEN + ATTENTION))
        self.norm_in = torch.nn.LayerNorm(WIDTH, eps=1e-6)
        self.norm_out = torch.nn.LayerNorm(HEADS * HIDDEN, eps=1e-6)
        self.out = torch.nn.Linear(3 * HEADS * HIDDEN, WIDTH, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(longest, longest)))

    def forward(self, x, valid):
        made = HEADS * HIDDEN
        u, v, q, k = self.uvqk(self.norm_in(x)).split([made, made, HEADS * ATTENTION, HEADS * ATTENTION], -1)
        split = lambda t: t.unflatten(-1, (HEADS, -1)).transpose(1, 2)
        a = F.silu(split(q) @ split(k).transpose(-1, -2) * 0.125) * (1e-3 * self.mask)
        o = (a @ split(v)).transpose(1, 2).flatten(-2)
        u = F.silu(u)
        return (x + self.out(torch.cat([u, o, u * self.norm_out(o)], -1))) * valid


def peer(lengths, compiled, steps):
    longest = max(lengths)
    layer = Layer(longest)
    run = torch.compile(layer) if compiled else layer
    valid = (torch.arange(longest)[None] < torch.tensor(lengths)[:, None]).float()[..., None]
    x = ((torch.rand(len(lengths), longest, WIDTH) * 2 - 1) * valid).requires_grad_()
    times = []
    for i in range(steps + 2):
        for t in [x, *layer.parameters()]:
            t.grad = None
        start = time.process_time()
        run(x, valid).sum().backward()
        times.append(time.process_time() - start)
    return min(times[2:]) * 1e3


def main():
    program, steps, bad = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10, False
    torch.set_num_threads(1)
    torch.manual_seed(1)
    print(f"{'lengths':8} {'ours ms':>9} {'eager ms':>9} {'compiled':>9} {'ratio':>6}")
    for name in sys.argv[3:] or LENGTHS:
        lengths = LENGTHS[name]
        ours = float(subprocess.run([program, name, str(steps)], capture_output=True, text=True, check=True).stdout.split()[0])
        eager = peer(lengths, False, steps)
        try:
            compiled = peer(lengths, True, steps)
        except Exception as e:  # no compiler there
            print(f"{name}: torch.compile: {str(e).splitlines()[0][:100]}", file=sys.stderr)
            compiled = float("inf")
        ratio = min(eager, compiled) / ours
        bad = bad or ratio < 2
        print(f"{name:8} {ours:9.2f} {eager:9.2f} {compiled:9.2f} {ratio:6.2f}", flush=True)
    sys.exit(1 if bad else 0)


main()
