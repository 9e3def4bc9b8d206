# SPDX-License-Identifier: Apache-2.0
"""Cases of models that give items codes (semantic ids); see cases.py."""
import math

import torch

from blocks import F64, linear, mlp
from cases import case, group
from data import deep

NAMES = "u i r"
WIDTH = 11
LOSSES = " losses { recon_loss {} } losses { commitment_loss {} }\n"


def unit(x, eps=1e-12):
    return x / x.norm(dim=-1, keepdim=True).clamp_min(eps)


def distances(x, book, cosine):
    if cosine:
        return -unit(x) @ unit(book).T
    return ((x[:, None, :] - book[None, :, :])**2).sum(-1)


@torch.no_grad()
def balanced(d, iterations, sharpness):
    """Codes shared out over the rows (Sinkhorn and Knopp)."""
    rows, k = d.shape
    d = (d - d.mean()) / (d.std(unbiased=False) + 1e-12)
    q = torch.exp(-sharpness * (d - d.min())).T
    q = q / (q.sum() + 1e-8)
    for _ in range(iterations):
        q = q / (q.sum(1, keepdim=True) + 1e-8) / k
        q = q / (q.sum(0, keepdim=True) + 1e-8) / rows
    return (q * rows).argmax(0)


def walk(p, x, sizes, cosine=False, normalise=False, sinkhorn=None, trained=True):
    """Codes [B, layers] and the sums of their vectors after each layer; and what the last layer saw."""
    codes, latents, total = [], [], torch.zeros_like(x)
    if trained:
        p.buffers.setdefault("model._quantizer.initted", torch.ones(1, dtype=F64))
    for i, k in enumerate(sizes):
        at = f"model._quantizer.layers.{i}."
        if trained:
            book = p.get(at + "embedding.weight", (k, x.shape[1]), -1, 1)
        else:
            book = p.buffer(at + "centroids", (k, x.shape[1]), -0.6, 0.6)
            p.buffers.setdefault(at + "_is_initialized", torch.ones(1, dtype=F64))
        x = unit(x) if normalise else x
        d = distances(x, book, cosine).detach()
        ids = balanced(d, *sinkhorn) if sinkhorn and p.training else d.argmin(1)
        rest, e = x, book[ids]
        total = total + e
        codes.append(ids)
        latents.append(total)
        x = x - e.detach()
    return torch.stack(codes, 1), latents, rest, book


def apart(a, b, kind):
    if kind == "cos":
        return 1 - (a * b).sum(-1) / a.norm(dim=-1).clamp_min(1e-8) / b.norm(dim=-1).clamp_min(1e-8)
    return ((a - b).abs() if kind == "l1" else (a - b)**2).mean(-1)


def rotated(x, q):
    """x turned onto q and scaled to its length, as a linear map of x that is fixed."""
    x0, q = x.detach(), q.detach()
    nx, nq = x0.norm(dim=-1, keepdim=True), q.norm(dim=-1, keepdim=True)
    u, v = x0 / (nx + 1e-8), q / (nq + 1e-8)
    m = unit(u + v)
    return nq / (nx + 1e-8) * (x - 2 * (x * m).sum(-1, keepdim=True) * m + 2 * (x * u).sum(-1, keepdim=True) * v)


def one_pass(p, x, hidden, dim, sizes, rotate=False, **how):
    z = linear(p, "model._encoder.1", mlp(p, "model._encoder.0", x, hidden), dim)
    codes, latents, rest, book = walk(p, z.detach(), sizes, **how)
    q = latents[-1].detach()
    if p.training:
        q = rotated(z, q) if rotate else z + (q - z).detach()
    y = linear(p, "model._decoder.1", mlp(p, "model._decoder.0", q, hidden[::-1]), x.shape[1])
    return {"x": x, "z": z, "codes": codes, "latents": latents, "rest": rest, "book": book, "y": y}


def commitment(r, kind, weights):
    each = [weights[0] * apart(r["z"], q.detach(), kind) + weights[1] * apart(r["z"].detach(), q, kind)
            for q in r["latents"]]
    return sum(each) / len(each)


def results(r, recon="l2", kind="l2", weights=(1.0, 0.5)):
    return ({"codes": r["codes"].to(F64)},
            {"recon_loss": (apart(r["y"], r["x"], recon), None),
             "commitment_loss": (commitment(r, kind, weights), None)})


@case(group("all", NAMES) + LOSSES +
      " sid_rqvae { embed_dim: 5 hidden_dims: [8, 6] codebook: [4, 3, 5] sinkhorn_config { enabled: false } }\n")
def sid_rqvae(p, b):
    return results(one_pass(p, deep(p, b, NAMES.split()), [8, 6], 5, [4, 3, 5]))


@case(group("all", NAMES) + " losses { recon_loss { recon_type: 'l1' } }\n"
      " losses { commitment_loss { commitment_type: 'l1' latent_weight: [0.7, 0.4] } }\n"
      " sid_rqvae { embed_dim: 4 codebook: [3, 4] sinkhorn_config { iters: 3 epsilon: 4 } }\n")
def sid_rqvae_sinkhorn(p, b):
    r = one_pass(p, deep(p, b, NAMES.split()), [WIDTH // 2], 4, [3, 4], sinkhorn=(3, 4.0))
    return results(r, "l1", "l1", (0.7, 0.4))


@case(group("all", NAMES) + " losses { recon_loss { recon_type: 'cos' } }\n"
      " losses { commitment_loss { commitment_type: 'cos' } }\n"
      " sid_rqvae { embed_dim: 4 hidden_dims: [6] codebook: [4, 4] rotation_trick: true normalize_residuals: true"
      " distance_type: 'cosine' sinkhorn_config { enabled: false }"
      " candidate_output_config { enabled: true topk: 3 } }\n")
def sid_rqvae_rotation(p, b):
    r = one_pass(p, deep(p, b, NAMES.split()), [6], 4, [4, 4], rotate=True, cosine=True, normalise=True)
    outputs, losses = results(r, "cos", "cos")
    far, at = torch.sort(distances(r["rest"], r["book"], True).detach(), dim=1, stable=True)
    front = r["codes"][:, :1].repeat_interleave(3, 1)
    outputs["candidate_codes"] = torch.stack([front, at[:, :3]], 2).flatten(1).to(F64)
    outputs["candidate_scores"] = far[:, :3]
    return outputs, losses


@case(group("all", NAMES) + LOSSES +
      " sid_rqvae { embed_dim: 4 hidden_dims: [6] codebook: [4, 3] forward_mode: 'gumbel_softmax' }\n", random=True)
def sid_rqvae_gumbel(p, b):
    return results(one_pass(p, deep(p, b, NAMES.split()), [6], 4, [4, 3]))


def contrast(p, name, a, target_a, b, target_b, pairs):
    s = p.get("model._loss_modules.contrastive_loss." + name, (1,), 1.5, 2.5).clamp(max=math.log(100)).exp()
    at = torch.nonzero(pairs).flatten()
    if len(at) == 0:
        return s.sum() * 0
    total = 0
    for x, t in ((a, target_a), (b, target_b)):
        scores = s * x[at] @ t[at].T
        total = total - torch.log_softmax(scores, -1).diagonal().sum()
    return total / (2 * len(at))


@case(group("all", "i r") + group("pair", "j v") + group("flag", "p") + LOSSES + " losses { contrastive_loss {} }\n"
      " sid_rqvae { embed_dim: 4 hidden_dims: [6] codebook: [9, 8] sinkhorn_config { enabled: false }"
      " contrastive_config { pair_feature_group: 'pair' pair_flag_feature_group: 'flag' } }\n")
def sid_rqvae_contrastive(p, b):
    n = b["rows"]
    x, other = deep(p, b, ["i", "r"]), deep(p, b, ["j", "v"])
    one, two = one_pass(p, x, [6], 4, [9, 8]), one_pass(p, other, [6], 4, [9, 8])
    pairs = deep(p, b, ["p"])[:, 0] > 0.5
    outputs, losses = results(one)
    alone = (~pairs).to(F64)
    scale = n / alone.sum() if alone.sum() > 0 else 0.0
    losses["recon_loss"] = (losses["recon_loss"][0] * alone * scale, None)
    losses["commitment_loss"] = ((commitment(one, "l2", (1, 0.5)) + commitment(two, "l2", (1, 0.5))) / 2, None)
    u, v = unit(one["y"]), unit(two["y"])
    three = (contrast(p, "logit_scale_self", u, v, v, u, pairs) +
             contrast(p, "logit_scale_ori", u, other, v, x, pairs) +
             contrast(p, "logit_scale_cl", u, x, v, other, pairs)) / 3
    losses["contrastive_loss"] = (three.reshape(1), None)
    return outputs, losses


@case(group("all", NAMES) + " sid_rqkmeans { codebook: [4, 3] train_sample_size: 90"
      " candidate_output_config { enabled: true topk: 2 } }\n")
def sid_rqkmeans(p, b):
    """Training keeps the rows that it sees, as long as there is room."""
    x = deep(p, b, NAMES.split())
    codes, latents, rest, book = walk(p, x.detach(), [4, 3], trained=False)
    rows = p.buffers.setdefault("model._reservoir.rows", torch.zeros(90, WIDTH, dtype=F64))
    seen = p.buffers.setdefault("model._reservoir.seen", torch.zeros(2, dtype=F64))
    if p.training:
        at = int(seen[0])
        rows, seen = rows.clone(), seen.clone()
        rows[at:at + len(x)] = x.detach()
        seen[0] += len(x)
        p.buffers["model._reservoir.rows"], p.buffers["model._reservoir.seen"] = rows, seen
    far, at = torch.sort(distances(rest, book, False), dim=1, stable=True)
    front = codes[:, :1].repeat_interleave(2, 1)
    outputs = {"codes": codes.to(F64),
               "candidate_codes": torch.stack([front, at[:, :2]], 2).flatten(1).to(F64),
               "candidate_scores": far[:, :2]}
    return outputs, {"dummy_loss": (x.sum(1) * 0, None)}
