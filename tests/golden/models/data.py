# SPDX-License-Identifier: Apache-2.0
"""Features and batches that all models share, and how a feature becomes a vector.

Each batch has rows without ids, rows with several, weighted ids, empty sequences, and
positions of a sequence that hold no id or several.
"""
import random

import torch

from blocks import F64, exact32

# name: (kind, rows, dim, pooling); numbers: (kind, None, dim, None)
FEATURES = {
    "u": ("id", 11, 4, "sum"),
    "i": ("id", 13, 4, "sum"),
    "j": ("id", 13, 4, "sum"),
    "c": ("id", 5, 4, "mean"),
    "w": ("weighted", 6, 4, "sum"),
    "v": ("weighted", 6, 3, "mean"),
    "k": ("id", 3, 4, "sum"),
    "p": ("raw", None, 1, None),
    "r": ("raw", None, 3, None),
    "s__i": ("seq", 13, 4, "sum"),
    "s__c": ("seq", 5, 3, "mean"),
    "s__p": ("seqraw", None, 1, None),
    "ad": ("raw", None, 1, None),
    "ml": ("raw", None, 1, None),
    "mv": ("raw", None, 3, None),
    "sn": ("seqraw", None, 1, None),
    # histories h and l, candidates x: item, category, time, what was done, for how long
    **{f"{h}{k}": (("seq", 13, 4, "sum") if k == "i" else ("seqraw", None, 1, None)) for h in "hl" for k in "itaw"},
    "xi": ("seq", 13, 4, "sum"),
    "xc": ("seq", 5, 3, "sum"),
    "xt": ("seqraw", None, 1, None),
    "qt": ("raw", None, 1, None),
    # candidates whose items a sampler takes apart: a row per item
    "x__i": ("id", 13, 4, "sum"),
    "x__c": ("id", 5, 3, "sum"),
}
# numbers that become vectors: width, and of autodis channels, keep_prob, temperature
DENSE = {"ad": (4, 3, 0.6, 0.5), "ml": (4,), "mv": (5,)}
TABLE = {name: name + "_emb" for name in FEATURES}
TABLE["j"] = "i_emb"  # shares the table of i
TABLE["hi"] = TABLE["li"] = TABLE["xi"] = "i_emb"
TABLE["x__i"] = "i_emb"
TABLE["s__i"] = "i_emb"  # and so does the sequence, among the sequence tables
SINGLE = {"u", "i", "j"}  # value_dim 1: as a query only the first id counts

CONFIG = """train_input_path: 'a' eval_input_path: 'b' model_dir: 'm'
train_config { num_epochs: 1
 sparse_optimizer { adagrad_optimizer { lr: 0.05 initial_accumulator_value: 0.1 } constant_learning_rate {} }
 dense_optimizer { adam_optimizer { lr: 0.01 } constant_learning_rate {} } }
data_config { dataset_type: ParquetDataset label_fields: 'clk' label_fields: 'buy' label_fields: 'stay' label_fields: 'kind' %s }
feature_configs { id_feature { feature_name: 'u' expression: 'user:u' embedding_dim: 4 num_buckets: 11 value_dim: 1 } }
feature_configs { id_feature { feature_name: 'i' expression: 'item:i' embedding_dim: 4 num_buckets: 13 value_dim: 1 } }
feature_configs { id_feature { feature_name: 'j' expression: 'item:j' embedding_dim: 4 num_buckets: 13 value_dim: 1 embedding_name: 'i_emb' } }
feature_configs { id_feature { feature_name: 'c' expression: 'item:c' embedding_dim: 4 num_buckets: 5 pooling: 'mean' } }
feature_configs { id_feature { feature_name: 'w' expression: 'item:w' embedding_dim: 4 num_buckets: 6 weighted: true } }
feature_configs { id_feature { feature_name: 'v' expression: 'item:v' embedding_dim: 3 num_buckets: 6 weighted: true pooling: 'mean' } }
feature_configs { raw_feature { feature_name: 'p' expression: 'item:p' } }
feature_configs { raw_feature { feature_name: 'r' expression: 'item:r' value_dim: 3 } }
feature_configs { sequence_feature { sequence_name: 's' sequence_length: 9 sequence_delim: ';'
 features { id_feature { feature_name: 'i' expression: 'item:i' embedding_dim: 4 num_buckets: 13 embedding_name: 'i_emb' } }
 features { id_feature { feature_name: 'c' expression: 'item:c' embedding_dim: 3 num_buckets: 5 value_dim: 0 pooling: 'mean' } }
 features { raw_feature { feature_name: 'p' expression: 'item:p' } } } }
"""


# Written into a config whose model names the feature.
MORE = {
    "ad": "raw_feature { feature_name: 'ad' expression: 'item:ad' embedding_dim: 4"
          " autodis { num_channels: 3 keep_prob: 0.6 temperature: 0.5 } }",
    "ml": "raw_feature { feature_name: 'ml' expression: 'item:ml' embedding_dim: 4 mlp {} }",
    "mv": "raw_feature { feature_name: 'mv' expression: 'item:mv' embedding_dim: 5 value_dim: 3 mlp {} }",
    "sn": "sequence_raw_feature { feature_name: 'sn' expression: 'user:sn' sequence_length: 9 sequence_delim: ';' }",
}
for _name in ("hi", "li", "xi", "xc"):
    _rows, _dim = FEATURES[_name][1:3]
    MORE[_name] = (f"sequence_id_feature {{ feature_name: '{_name}' expression: 'user:{_name}' sequence_length: 9"
                   f" sequence_delim: ';' embedding_dim: {_dim} num_buckets: {_rows}"
                   f" embedding_name: '{TABLE[_name]}' }}")
for _name in ("ht", "ha", "hw", "lt", "la", "lw", "xt"):
    MORE[_name] = (f"sequence_raw_feature {{ feature_name: '{_name}' expression: 'user:{_name}' sequence_length: 9"
                   " sequence_delim: ';' }")
MORE["x__i"] = ("sequence_feature { sequence_name: 'x' sequence_length: 9 sequence_delim: ';'"
                " features { id_feature { feature_name: 'i' expression: 'item:i' embedding_dim: 4 num_buckets: 13"
                " embedding_name: 'i_emb' } }"
                " features { id_feature { feature_name: 'c' expression: 'item:c' embedding_dim: 3 num_buckets: 5 } } }")
MORE["qt"] = "raw_feature { feature_name: 'qt' expression: 'user:qt' }"
SESSION = "feature_configs { id_feature { feature_name: 'k' expression: 'user:k' embedding_dim: 4 num_buckets: 3 } }\n"


def config(model, sample_weight=False, data=""):
    lists = "%LISTS%" in data
    data = "" if lists else data
    extra = " ".join((["sample_weight_fields: 'sw'"] if sample_weight else []) + ([data] if data else []))
    session = SESSION if "'k'" in model else ""
    session += "".join(f"feature_configs {{ {text} }}\n" for x, text in MORE.items() if f"'{x}'" in model)
    text = CONFIG % extra
    if lists:  # labels of candidates
        text = text.replace("label_fields: 'clk' label_fields: 'buy' label_fields: 'stay' label_fields: 'kind'",
                            "label_fields: 'acts' label_fields: 'stays'")
    return text + session + "model_config {\n" + model + "}\n"


def lists(r, n, rows, least, most):
    return [[r.randrange(rows) for _ in range(r.randint(least, most))] for _ in range(n)]


def make_batch(n, seed):
    """Feature name -> per row a list of ids, of (id, weight), of numbers, or of positions."""
    r = random.Random(f"batch {seed}")
    b = {"rows": n, "features": {}, "columns": {}}
    f = b["features"]
    f["u"] = [[r.randrange(11)] if r.random() < 0.8 else [] for _ in range(n)]
    f["i"] = [[r.randrange(13)] for _ in range(n)]
    f["i"][1] = [4, 9]
    f["i"][2] = []
    f["j"] = lists(r, n, 13, 1, 1)
    f["c"] = lists(r, n, 5, 0, 3)
    f["c"][0] = [2, 2, 1]
    for name in "wv":
        f[name] = [[(x, float(exact32([r.uniform(0.1, 2)]))) for x in row] for row in lists(r, n, 6, 0, 3)]
    f["p"] = [exact32([r.uniform(-1, 1)]).tolist() for _ in range(n)]
    f["r"] = [exact32([r.uniform(-1, 1) for _ in range(3)]).tolist() for _ in range(n)]
    lengths = [r.randint(0, 6) for _ in range(n)]
    lengths[0], lengths[1] = 0, 7
    f["s__i"] = [[[r.randrange(13)] for _ in range(k)] for k in lengths]
    f["s__i"][1][2] = []
    f["s__c"] = [lists(r, k, 5, 0, 3) for k in lengths]
    f["s__p"] = [[exact32([r.uniform(-1, 1)]).tolist() for _ in range(k)] for k in lengths]
    c = b["columns"]
    c["clk"] = [float(r.random() < 0.4) for _ in range(n)]
    c["buy"] = [float(r.random() < 0.3) for _ in range(n)]
    c["clk"][0], c["clk"][1] = 1.0, 0.0
    c["stay"] = exact32([r.uniform(0, 2) for _ in range(n)]).tolist()
    c["kind"] = [float(r.randrange(3)) for _ in range(n)]
    c["sw"] = exact32([r.uniform(0, 3) for _ in range(n)]).tolist()
    f["k"] = lists(r, n, 3, 1, 1)
    for name in ("ad", "ml"):
        f[name] = [exact32([r.uniform(-2, 2)]).tolist() for _ in range(n)]
    f["sn"] = [[[float(at[0] % 5) if at else 7.0] for at in row] for row in f["s__i"]]  # some are the same
    f["mv"] = [exact32([r.uniform(-2, 2) for _ in range(3)]).tolist() for _ in range(n)]
    add_users(b, random.Random(f"users {seed}"))
    return b


def add_users(b, r):
    """Histories and candidates, some of them empty, and labels of candidates."""
    f, n = b["features"], b["rows"]
    for h in "hlx":
        lengths = [r.randint(0, 7 if h != "x" else 4) for _ in range(n)]
        lengths[0], lengths[1], lengths[2] = (0, 7, 1) if h == "h" else (3, 2, 0)
        f[h + "i"] = [[[r.randrange(13)] for _ in range(k)] for k in lengths]
        f[h + "t"] = [[[float(90000 + 1000 * k + r.randrange(50) * (t + 1) * 17)] for t in range(m)]
                      for k, m in enumerate(lengths)]
        f[h + "a"] = [[[float(r.randrange(8))] for _ in range(m)] for m in lengths]
        f[h + "w"] = [[[float(r.randrange(12))] for _ in range(m)] for m in lengths]
    f["xc"] = [[[r.randrange(5)] for _ in row] for row in f["xi"]]
    f["qt"] = [[float(200000 + r.randrange(9000))] for _ in range(n)]
    total = sum(len(row) for row in f["xi"])
    b["columns"]["acts"] = [float(r.randrange(8)) for _ in range(total)]
    b["columns"]["acts"][:2] = [1.0, 6.0]
    b["columns"]["stays"] = exact32([r.uniform(0, 2) for _ in range(total)]).tolist()


def add_candidates(b, seed, common, hard):
    """Rows have several items, some none; behind them `common` for all and hard[k] of row k."""
    r = random.Random(f"candidates {seed}")
    own = [2, 0, 3] + [r.randint(0, 3) for _ in range(b["rows"] - 3)]
    n = sum(own) + common + sum(hard)
    b["features"]["x__i"] = lists(r, n, 13, 1, 1)
    b["features"]["x__c"] = lists(r, n, 5, 1, 1)
    b["items"], b["common"] = n, common
    b["own_at"] = [sum(own[:k]) for k in range(b["rows"] + 1)]
    b["hard_at"] = [sum(hard[:k]) for k in range(b["rows"] + 1)] if any(hard) else None


def add_items(b, seed, names, common, hard):
    """Rows of items behind those of the batch: `common` for all, then hard[k] of row k."""
    more = make_batch(max(common + sum(hard), 3), f"items {seed}")
    for name in names:
        b["features"][name] = b["features"][name] + more["features"][name][:common + sum(hard)]
    b["items"] = b["rows"] + common + sum(hard)
    b["common"] = common
    b["hard_at"] = [sum(hard[:k]) for k in range(b["rows"] + 1)] if any(hard) else None
    return b


def pooled(p, table, rows, dim, kind, ids, weights=None):
    """One vector for a list of ids; the mean divides by their number, not their weight."""
    t = p.table(table, rows, dim)
    p.touch(table, ids)
    if not ids:
        return torch.zeros(dim, dtype=F64)
    picked = t[torch.tensor(ids)]
    if weights is not None:
        picked = picked * torch.tensor(weights, dtype=F64).unsqueeze(1)
    return picked.mean(0) if kind == "mean" else picked.sum(0)


def dense_vector(p, prefix, name, x):
    """A number times a learnt vector; or AutoDis: a mixture of the vectors of channels."""
    dim, v = DENSE[name][0], len(x)
    at = prefix.replace("ebc.embedding_bags.", "dense_ec.dense_embs.")
    if len(DENSE[name]) == 1:
        key = f"mlp#{dim}" if v == 1 else f"mlp#{dim}#vdim#{v}#feature_name#{name}"
        w = p.get(f"{at}{key}.proj_w_{name}.weight", (dim,) if v == 1 else (v, dim), -0.8, 0.8)
        return x * w if v == 1 else x @ w
    _, c, keep, temperature = DENSE[name]
    key = f"autodis#{dim}#{c}#{keep:.6f}#{temperature:.6f}".replace(".", "_")
    w = p.get(f"{at}{key}.proj_w_{name}.weight", (c,), -0.8, 0.8)
    m = p.get(f"{at}{key}.proj_m_{name}.weight", (c, c), -0.8, 0.8)
    e = p.get(f"{at}{key}.meta_emb_{name}.weight", (c, dim), -1, 1)
    h = torch.nn.functional.leaky_relu(x * w, 0.01)
    return torch.softmax((m @ h + keep * h) / temperature, -1) @ e


def vector(p, prefix, name, value, wide=0, query=False):
    kind, rows, dim, how = FEATURES[name]
    if name in DENSE:
        return dense_vector(p, prefix, name, torch.tensor(value, dtype=F64))
    if kind in ("raw", "seqraw"):
        return torch.tensor(value, dtype=F64)
    table = prefix % (wide or dim) if "%d" in prefix else prefix
    table += TABLE[name] + ("_wide" if wide else "") + ".weight"
    ids, weights = value, None
    if kind == "weighted":
        ids, weights = [x for x, _ in value], [y for _, y in value]
    if query and name in SINGLE:
        ids = ids[:1]
    return pooled(p, table, rows, wide or dim, how, ids, weights)


BAGS = "model.embedding_group.emb_impls.__BASE__.ebc.embedding_bags."
SEQS = "model.embedding_group.seq_emb_impls.__BASE__.ec_dict.%d.embeddings."


def deep(p, b, names, wide=0, bags=BAGS, rows=None):
    f = b["features"]
    return torch.stack(
        [torch.cat([vector(p, bags, x, f[x][k], wide) for x in names]) for k in range(rows or b["rows"])])


def sequence(p, b, query, names, seqs=SEQS):
    """query [B, dq], sequence [B, T, ds] padded with zeros, lengths of the first feature."""
    f, n = b["features"], b["rows"]
    lengths = torch.tensor([len(row) for row in f[names[0]]])
    longest = int(lengths.max())
    width = sum(FEATURES[x][2] for x in names)
    rows = []
    for k in range(n):
        at = [torch.cat([vector(p, seqs, x, f[x][k][t]) for x in names]) for t in range(int(lengths[k]))]
        rows.append(torch.stack(at + [torch.zeros(width, dtype=F64)] * (longest - len(at))))
    q = None
    if query:
        q = torch.stack([torch.cat([vector(p, seqs, x, f[x][k], query=True) for x in query]) for k in range(n)])
    return q, torch.stack(rows), lengths


def column(b, name):
    return torch.tensor(b["columns"][name], dtype=F64)
