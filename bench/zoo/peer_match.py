# SPDX-License-Identifier: Apache-2.0
"""Models of retrieval."""
import torch
from torch import nn
import torch.nn.functional as F

from cases import CAPSULES, NEGATIVES, SESSION_DIM
from peer import DIM, FIELDS, HISTORY, MODELS, ROWS, STEPS, UNITS, WIDTH, Fields, Table, draw, model, net


def in_batch(scores):
    return F.cross_entropy(scores, torch.arange(len(scores)))


def normed(x):
    return F.normalize(x, dim=-1)


@model
class Dssm(Fields):
    wide = False

    def make(self):
        self.user, self.item = (net(WIDTH // 2, UNITS, 64) for _ in range(2))

    def forward(self, ids, dense):
        v = self.vectors(ids)
        u = normed(self.user(v[:, :13].flatten(1)))
        i = normed(self.item(v[:, 13:].flatten(1)))
        return [u @ i.T / 0.1]

    def loss(self, outputs, label):
        return in_batch(outputs[0])


MODELS["dssm_v2"] = Dssm


@model
class Dat(Fields):
    """The last four fields of each side are its augment vector."""
    wide = False

    def make(self):
        self.user, self.item = (net(WIDTH // 2, UNITS, 4 * DIM) for _ in range(2))

    def forward(self, ids, dense):
        v = self.vectors(ids).flatten(1)
        u, i = v.split(WIDTH // 2, 1)
        return [normed(self.user(u)), normed(self.item(i)), normed(u[:, -4 * DIM:]), normed(i[:, -4 * DIM:])]

    def loss(self, outputs, label):
        u, i, like_i, like_u = outputs
        return (in_batch(u @ i.T / 0.1) + 0.5 * F.mse_loss(like_i, i.detach(), reduction="sum")
                + 0.5 * F.mse_loss(like_u, u.detach(), reduction="sum"))


@model
class Mind(Fields):
    """All histories are as long, so that all have as many capsules."""
    wide, high = False, 64

    def make(self):
        self.history = Table(list(HISTORY.values()))
        self.user, self.item = net(WIDTH // 2, [256], 128), net(WIDTH // 2, UNITS, 64)
        self.each = nn.Linear(DIM * len(HISTORY), 64, bias=False)
        self.bilinear = nn.Parameter(torch.randn(64, self.high))
        self.both, self.out = net(128 + self.high, [128]), nn.Linear(128, 64, bias=False)

    def batch(self, n):
        return (draw(ROWS, (n, FIELDS)),
                torch.stack([draw(rows, (n, STEPS)) for rows in HISTORY.values()], -1))

    def route(self, x):
        """Shares of the positions in the capsules, found without gradients."""
        unit, b = normed(x), torch.randn(len(x), STEPS, CAPSULES)
        for left in (2, 1, 0):
            b = torch.softmax(20 * b, 2)
            if left:
                b = torch.baddbmm(b, unit, torch.bmm(b.transpose(1, 2), x).transpose(1, 2))
        return b

    def forward(self, ids, history):
        n = len(ids)
        u, i = self.vectors(ids).flatten(1).split(WIDTH // 2, 1)
        x = self.each(self.history(history).view(n, STEPS, -1)) @ self.bilinear
        with torch.no_grad():
            shares = self.route(x)
        h = torch.bmm(shares.transpose(1, 2), x)
        size = h.square().sum(2, keepdim=True)
        h = h * (size.sqrt() / (1 + size))
        u = self.user(u).unsqueeze(1).expand(-1, CAPSULES, -1)
        z, i = normed(self.out(self.both(torch.cat([u, h], 2)))), normed(self.item(i))
        near = torch.softmax(10 * torch.bmm(z, i.unsqueeze(2)), 1)
        return [(near * z).sum(1) @ i.T]

    def loss(self, outputs, label):
        return in_batch(outputs[0])


@model
class Ncf(nn.Module):
    def __init__(self):
        super().__init__()
        self.product, self.vectors = (Table([ROWS] * 2) for _ in range(2))
        self.net, self.out = net(2 * DIM, UNITS), nn.Linear(DIM + UNITS[-1], 1)

    def batch(self, n):
        return (draw(ROWS, (n, 2)),)

    def forward(self, ids):
        return [self.out(torch.cat([self.product(ids).prod(1), self.net(self.vectors(ids).flatten(1))], 1))]


class Sampled(nn.Module):
    """Users against their own item, the first of a row, and items that a sampler drew for the batch."""
    dim, bias = DIM, True

    def __init__(self):
        super().__init__()
        self.items = Table([HISTORY["item"]], self.dim)
        self.biases = Table([HISTORY["item"]], 1) if self.bias else None
        self.make()

    def batch(self, n):
        return self.rows(n), draw(HISTORY["item"], (n + NEGATIVES, 1))

    def forward(self, rows, items):
        n = len(items) - NEGATIVES
        u, i = self.user(*rows), self.items(items).squeeze(1)
        own, others = (u * i[:n]).sum(1, keepdim=True), u @ i[n:].T
        if self.bias:
            b = self.biases(items).squeeze(2)
            own, others = own + b[:n], others + b[n:].T
        return [own, others]

    def loss(self, outputs, label):
        return F.cross_entropy(torch.cat(outputs, 1), torch.zeros(len(label), dtype=torch.long))


@model
class YoutubeDnn(Sampled):
    def make(self):
        self.vectors, self.net = Table([ROWS] * FIELDS), net(WIDTH, UNITS)
        self.out = nn.Linear(UNITS[-1], DIM, bias=False)

    def rows(self, n):
        return (draw(ROWS, (n, FIELDS)),)

    def user(self, ids):
        return self.out(self.net(self.vectors(ids).flatten(1)))


@model
class Word2vec(Sampled):
    def make(self):
        self.words = Table([ROWS])

    def rows(self, n):
        return (draw(ROWS, (n, 1)),)

    def user(self, ids):
        return self.words(ids).squeeze(1)

    def loss(self, outputs, label):
        own, others = outputs
        return (F.softplus(-own).sum() + F.softplus(others).sum()) / len(own)


@model
class Gru4rec(Sampled):
    dim = SESSION_DIM

    def make(self):
        self.gru = nn.GRU(self.dim, self.dim, batch_first=True)

    def rows(self, n):
        return (draw(HISTORY["item"], (n, STEPS, 1)),)

    def user(self, session):
        return self.gru(self.items(session).squeeze(2))[1][0]


@model
class Srgnn(Sampled):
    """Over the distinct items of a session, with the matrices of their graph in the batch, as its authors have it."""
    dim, bias = SESSION_DIM, False

    def make(self):
        d = self.dim
        self.edge, self.input, self.hidden = nn.Linear(d, 2 * d), nn.Linear(2 * d, 3 * d), nn.Linear(d, 3 * d)
        self.one, self.two, self.three = nn.Linear(d, d), nn.Linear(d, d, bias=False), nn.Linear(d, 1, bias=False)
        self.transform = nn.Linear(2 * d, d, bias=False)

    def rows(self, n):
        nodes, at = torch.zeros(n, STEPS, dtype=torch.long), torch.zeros(n, STEPS, dtype=torch.long)
        edges = torch.zeros(n, STEPS, STEPS)
        for row, session in enumerate(draw(HISTORY["item"], (n, STEPS))):
            distinct, at[row] = torch.unique(session, return_inverse=True)
            nodes[row, :len(distinct)] = distinct
            edges[row, at[row, :-1], at[row, 1:]] = 1
        come = (edges / edges.sum(1, keepdim=True).clamp(min=1)).transpose(1, 2).contiguous()
        return nodes.unsqueeze(2), at, come, edges / edges.sum(2, keepdim=True).clamp(min=1)

    def user(self, nodes, at, come, go):
        h = self.items(nodes).squeeze(2)
        back, forth = self.edge(h).chunk(2, 2)
        a = self.input(torch.cat([torch.bmm(come, back), torch.bmm(go, forth)], 2)).chunk(3, 2)
        b = self.hidden(h).chunk(3, 2)
        reset, keep = torch.sigmoid(a[0] + b[0]), torch.sigmoid(a[1] + b[1])
        new = torch.tanh(a[2] + reset * b[2])
        h = torch.gather(new + keep * (h - new), 1, at.unsqueeze(2).expand(-1, -1, self.dim))
        last = h[:, -1]
        weight = self.three(torch.sigmoid(self.one(last).unsqueeze(1) + self.two(h)))
        return self.transform(torch.cat([torch.bmm(weight.transpose(1, 2), h).squeeze(1), last], 1))
