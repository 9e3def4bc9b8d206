# SPDX-License-Identifier: Apache-2.0
"""Adam for the rows of tables by the rule of the fused kernels that TorchEasyRec trains with, which is ours:
w -= lr * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps), where rows that did not occur keep m and v.

torch.optim.SparseAdam differs in one place: it adds eps to sqrt(v) before the correction by 1 - b2^t, which makes eps
30 times larger in the first steps. That shows where gradients are small at the start, as in NFM, whose tables get
theirs through products of small values: SparseAdam hardly moves them then."""
import torch

BETA1, BETA2, EPS = .9, .999, 1e-8


class RowAdam(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, dict(lr=lr))
        self.steps = 0

    @torch.no_grad()
    def step(self):
        self.steps += 1
        first, second = 1 - BETA1**self.steps, 1 - BETA2**self.steps
        for group in self.param_groups:
            for p in group['params']:
                if p.grad is not None:
                    self.rows(p, p.grad.coalesce(), group['lr'] / first, second)

    def rows(self, p, grad, lr, second):
        rows, g, s = grad._indices()[0], grad._values(), self.state[p]
        if not s:
            s['m'], s['v'] = torch.zeros_like(p), torch.zeros_like(p)
        m, v = s['m'][rows].lerp_(g, 1 - BETA1), s['v'][rows].mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
        s['m'][rows], s['v'][rows] = m, v
        p.index_add_(0, rows, m / (v / second).sqrt_().add_(EPS), alpha=-lr)
