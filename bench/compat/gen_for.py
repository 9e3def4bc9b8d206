# SPDX-License-Identifier: Apache-2.0
"""gen_for.py CONFIG OUT ROWS - random data of the shape that a pipeline.config reads.

Every input column of every feature gets values that the feature accepts; labels are drawn
from hidden effects of some of the columns, so that there is something to learn. Writes
OUT/train.csv and OUT/eval.csv, OUT/columns.json (which columns are text), and the item
table of a negative sampler, if there is one. Standard library only."""
import hashlib
import json
import math
import os
import random
import re
import sys

TOKEN = re.compile(
    r"""\s+|\#[^\n]*|(?P<str>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<word>[A-Za-z_][\w.]*)"""
    r"""|(?P<num>[-+]?[\w.]+(?:[-+]\d+)?)|(?P<punct>[{}\[\]<>:,;])"""
)


def tokens(text):
    at = 0
    while at < len(text):
        m = TOKEN.match(text, at)
        if not m:
            raise ValueError(f"cannot read {text[at:at + 20]!r}")
        at = m.end()
        if m.lastgroup:
            yield m.lastgroup, m.group()


def value(kind, word):
    if kind == "str":
        return word[1:-1].encode().decode("unicode_escape")
    if kind == "num":
        return float(word) if re.search(r"[.eE]|inf|nan", word) else int(word)
    return word


def message(ts):
    """A message as {field: [values]}, up to its closing brace."""
    out = {}
    for kind, word in ts:
        if word == "}" and kind == "punct":
            return out
        if kind != "word":
            continue
        name = word
        kind, word = next(ts)
        if word == ":" and kind == "punct":
            kind, word = next(ts)
        if kind == "punct" and word == "{":
            out.setdefault(name, []).append(message(ts))
        elif kind == "punct" and word == "[":
            for kind, word in ts:
                if word == "]" and kind == "punct":
                    break
                if kind == "punct" and word == "{":
                    out.setdefault(name, []).append(message(ts))
                elif kind != "punct":
                    out.setdefault(name, []).append(value(kind, word))
        else:
            out.setdefault(name, []).append(value(kind, word))
    return out


def one(m, name, default=None):
    return m.get(name, [default])[-1]


class Column:
    """How the values of one input column look."""

    def __init__(self, name, kind, size, sequence=None, delim=";"):
        self.name, self.kind, self.size = name, kind, size
        self.sequence, self.delim = sequence, delim

    def scalar(self, rng):
        if self.kind == "number":
            return round(rng.expovariate(0.1), 3)
        # few frequent, many rare
        return min(int(self.size ** rng.random()) - 1, self.size - 1)

    def draw(self, rng):
        if not self.sequence:
            return self.scalar(rng)
        return self.delim.join(str(self.scalar(rng)) for _ in range(rng.randint(1, self.sequence)))


def rows_of(f):
    for key in ("num_buckets", "hash_bucket_size"):
        if key in f:
            return int(one(f, key))
    if "zch" in f:
        return int(one(one(f, "zch"), "zch_size"))
    return max(len(f.get("vocab_list", [])), len(f.get("vocab_dict", []))) or 1000


def inputs_of(f):
    for key in ("expression", "variables", "map", "key", "user", "item", "query", "document"):
        for text in f.get(key, []):
            yield text.split(":", 1)[1] if ":" in text else text


def feature_columns(config, encoded):
    """All columns of all features, the first use of each."""
    found = {}

    def add(kind, f, sequence=None, delim=";", prefix=""):
        dense = kind.endswith("raw_feature") and not f.get("boundaries")
        # under FG_NONE the ids of bucketised numbers are already there
        what = "number" if kind.endswith("raw_feature") and (dense or not encoded) else "id"
        size = len(f["boundaries"]) + 1 if "boundaries" in f else rows_of(f)
        if "sequence_length" in f:
            sequence, delim = int(one(f, "sequence_length")), one(f, "sequence_delim", ";")
        names = [one(f, "feature_name")] if encoded else list(inputs_of(f))
        for name in names:
            found.setdefault(prefix + name, Column(prefix + name, what, size, sequence, delim))

    for entry in config.get("feature_configs", []):
        for kind, messages in entry.items():
            for f in messages:
                if kind != "sequence_feature":
                    add(kind, f)
                    continue
                for inner in f.get("features", []):
                    for inner_kind, fs in inner.items():
                        for g in fs:
                            add(inner_kind, g, int(one(f, "sequence_length", 10)),
                                one(f, "sequence_delim", ";"), one(f, "sequence_name") + "__")
    return found


def effect(column, v):
    """What a value does to the label's log odds; fixed for ever."""
    if column.kind == "number":
        return 0.5 * math.sin(float(v) / 5)
    first = str(v).split(column.delim)[0] if column.sequence else v
    h = hashlib.blake2b(f"{column.name}={first}".encode(), digest_size=4).digest()
    return int.from_bytes(h, "little") / 2**31 - 1


def write_rows(path, columns, labels, extra, n, rng):
    signal = sorted(columns, key=lambda c: (c.sequence is not None, c.size))[:8]
    names = [c.name for c in columns] + labels + extra
    with open(path, "w") as out:
        out.write("\x01".join(names) + "\n")
        for _ in range(n):
            row = {c.name: c.draw(rng) for c in columns}
            odds = sum(effect(c, row[c.name]) for c in signal)
            click = 0
            for i, label in enumerate(labels):  # each is rarer than the one before
                p = 1 / (1 + math.exp(-(1.5 * odds - 0.3 - i)))
                click = int(rng.random() < p) if i == 0 else int(click and rng.random() < p + 0.2)
                row[label] = click
            for name in extra:
                row[name] = 1
            out.write("\x01".join(str(row[k]) for k in names) + "\n")


def write_items(sampler, path, columns, rng, n=2000):
    by_name = {c.name: c for c in columns}
    attrs = sampler.get("attr_fields", [])
    item = one(sampler, "item_id_field")
    delim = one(sampler, "attr_delimiter", ":")
    ids = sorted({by_name[item].scalar(rng) for _ in range(n)})
    with open(path, "w") as out:
        out.write("id:int64\tweight:float\tattrs:string\n")
        for i in ids:
            values = [str(i) if a == item else str(by_name[a].draw(rng)) for a in attrs]
            out.write(f"{i}\t1.0\t{delim.join(values)}\n")


def main():
    config = message(tokens(open(sys.argv[1]).read()))
    out, n = sys.argv[2], int(sys.argv[3])
    data = one(config, "data_config", {})
    encoded = one(data, "fg_mode", "FG_NONE") == "FG_NONE"
    columns = list(feature_columns(config, encoded).values())
    names = {c.name for c in columns}
    labels = [x for x in data.get("label_fields", []) if x not in names]
    extra = [x for x in data.get("sample_weight_fields", []) if x not in names]
    rng = random.Random(1)
    os.makedirs(out, exist_ok=True)
    write_rows(f"{out}/train.csv", columns, labels, extra, n, rng)
    write_rows(f"{out}/eval.csv", columns, labels, extra, n // 5, rng)
    for kind in ("negative_sampler", "negative_sampler_v2", "hard_negative_sampler"):
        if kind in data:
            write_items(one(data, kind), f"{out}/items.txt", columns, rng)
    with open(f"{out}/columns.json", "w") as f:
        json.dump({"text": [c.name for c in columns if c.sequence], "labels": labels}, f)


main()
