# SPDX-License-Identifier: Apache-2.0
"""gen_for.py CONFIG OUT ROWS - random data of the shape that a pipeline.config reads.

Every input column of every feature gets values that the feature accepts; labels are drawn
from hidden effects of some of the columns, so that there is something to learn. Writes
OUT/train.jsonl and OUT/eval.jsonl, the tables of a sampler, if there is one, and
OUT/edits.json: what has to be set in the config to use them. Of a model of candidates
sequences of one history, or of the candidates, are equally long, and labels are lists.
Standard library only. Files that a config names are looked up from the current directory."""
import hashlib
import json
import math
import os
import random
import re
import sys

LIST, ENCODED_LIST = "\x1d", "\x03"  # between the values of one cell
LONGEST = 12  # sequences are cut to that
SAMPLED_ITEMS = 2000
TREE_LEAVES = 4096

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


# How the values of a column look: draw(rng) gives one as text or number. All are drawn
# with few frequent and many rare ones.


def rare(rng, n):
    return min(int(n ** rng.random()) - 1, n - 1)


class Ids:
    def __init__(self, size):
        self.size = max(1, size)

    def draw(self, rng):
        return rare(rng, self.size)


class Words:
    def __init__(self, words):
        self.words, self.size = words, len(words)

    def draw(self, rng):
        return self.words[rare(rng, len(self.words))]


class Numbers:
    def __init__(self, boundaries, scale=1.0):
        low, high = (min(boundaries), max(boundaries)) if boundaries else (0, 0)
        self.low, self.high = low - (high - low) / 3, high + (high - low) / 3
        self.size, self.scale = 50, scale

    def draw(self, rng):
        x = rng.uniform(self.low, self.high) if self.high > self.low else rng.expovariate(1 / self.scale)
        return round(x, 4)


class Text:
    size = 10**6

    def draw(self, rng):
        return " ".join(rng.choice("red blue old new small large shoe coat lamp desk".split())
                        for _ in range(rng.randint(1, 4)))


class Several:
    """Values of one kind in one cell."""

    lengths = {}  # of the row at hand, by key

    def __init__(self, of, least, most, between):
        self.of, self.least, self.most, self.between = of, least, most, between
        self.size = of.size * 100
        self.key = None  # those of one key are equally long

    def draw(self, rng):
        n = rng.randint(self.least, self.most)
        if self.key:
            n = self.lengths.setdefault(self.key, n)
        return self.between.join(str(self.of.draw(rng)) for _ in range(n))


class Actions:
    """A list with what was done with each candidate: bits, more likely for some items."""
    size = 10**6

    def __init__(self, name, columns):
        self.name = name
        self.items = next((k for k, c in columns.items() if isinstance(c, Several) and c.key == CANDIDATE), None)
        self.between = columns[self.items].between if self.items else ""

    def draw_beside(self, row, rng):
        items = row[self.items].split(self.between) if self.items else ["0"]
        return [sum(1 << b for b in range(8) if rng.random() < 0.3 + 0.2 * effect(f"{self.name}{b}", None, i))
                for i in items]


class Map:
    """key:value pairs; some of the keys."""
    size = 10**6

    def __init__(self, keys, values):
        self.keys, self.values = keys, values

    def draw(self, rng):
        keys = {str(self.keys.draw(rng)) for _ in range(3)}
        return LIST.join(f"{k}:{self.values.draw(rng)}" for k in sorted(keys))


class Nested:
    """first^second:value,second:value|first^..."""
    size = 10**6

    def __init__(self, first, second, values):
        self.first, self.second, self.values = first, second, values

    def draw(self, rng):
        def inner():
            keys = {str(self.second.draw(rng)) for _ in range(2)}
            return ",".join(f"{k}:{self.values.draw(rng)}" for k in sorted(keys))

        return "|".join(f"{k}^{inner()}" for k in sorted({str(self.first.draw(rng)) for _ in range(3)}))


CANDIDATE = "candidate"
OF_CANDIDATES = ("dlrm_hstu", "ultra_hstu", "hstu_match")


def same_lengths(config, columns):
    """Histories and candidates: which columns belong together."""
    model = one(config, "model_config", {})
    if not any(m in model for m in OF_CANDIDATES):
        return False
    for g in model.get("feature_groups", []):
        name = re.sub(r"_(action|watchtime|timestamp)$", "", one(g, "group_name"))
        for f in g.get("feature_names", []):
            c = columns.get(f) or next((c for k, c in columns.items() if k.replace("__", "_") == f), None)
            if one(g, "group_type") == "JAGGED_SEQUENCE" and isinstance(c, Several):
                c.key = name
    return True


def vocabulary(f):
    """The words of a feature that has a list of them, or None."""
    words = list(f.get("vocab_list", []))
    for entry in f.get("vocab_dict", []):
        words.append(one(entry, "key"))
    name = one(f, "vocab_file", "")
    if not words and name and os.path.exists(name) and not name.endswith((".json", ".model")):
        for line in open(name):
            words.append(line.strip().split()[0] if line.strip() else "")
    return [str(w) for w in words if w not in ("", "<OOV>")] or None


def rows_of(f):
    for key in ("num_buckets", "hash_bucket_size"):
        if key in f:
            return int(one(f, key))
    if "zch" in f:
        return int(one(one(f, "zch"), "zch_size"))
    if "dynamicemb" in f:
        return int(one(one(f, "dynamicemb"), "max_capacity"))
    return 1000


def values_of(f):
    """What a feature looks its ids or numbers up by."""
    if vocabulary(f):
        return Words(vocabulary(f))
    if any(k in f for k in ("num_buckets", "hash_bucket_size", "zch", "dynamicemb")):
        return Ids(min(rows_of(f), 1000))
    return Numbers([float(x) for x in f.get("boundaries", [])])


def column_name(text):
    """The column of "side:name"; None for what another feature makes."""
    side, _, name = text.rpartition(":")
    return None if side == "feature" else name


class Columns:
    def __init__(self, encoded):
        self.encoded, self.found, self.keys = encoded, {}, {}

    def add(self, name, kind, many=0, sequence=None):
        """many: how many values a cell has; -1: any number. sequence: (length, separator)."""
        between = ENCODED_LIST if self.encoded else LIST
        if name is None or name in self.found:
            return
        kind = self.keys.get(name, kind)
        if many > 1:
            kind = Several(kind, many, many, between)
        elif many < 0 and not sequence:
            kind = Several(kind, 1, 3, between)
        if sequence:
            kind = Several(kind, 1, min(sequence[0], LONGEST), sequence[1])
        self.found[name] = kind

    def find_keys(self, kind, f):
        """Columns that maps are looked up by have few values."""
        for field in ("key", "pkey", "skey"):
            for text in f.get(field, []):
                self.keys.setdefault(column_name(text), Ids(20))
        if kind == "id_feature" and vocabulary(f):
            for text in f.get("expression", []):
                self.keys[column_name(text)] = Words(vocabulary(f))

    def add_feature(self, kind, f, sequence=None, prefix=""):
        if "sequence_length" in f and not sequence:
            sequence = (int(one(f, "sequence_length")), one(f, "sequence_delim", ";"))
        bounds = [float(x) for x in f.get("boundaries", [])]
        many = int(one(f, "value_dim", 1))
        kind = kind.removeprefix("sequence_")
        if self.encoded:
            raw = kind == "raw_feature" and not bounds
            ids = Ids(len(bounds) + 1 if bounds else len(vocabulary(f) or []) or rows_of(f))
            self.add(prefix + one(f, "feature_name"), Numbers([]) if raw else ids, many, sequence)
            return
        names = {k: [column_name(x) for x in f.get(k, [])] for k in ("expression", "variables", "map", "key", "pkey",
                                                                     "skey", "nested_map", "query", "document", "title")}
        if kind == "id_feature":
            ids = Words(vocabulary(f)) if vocabulary(f) else Ids(rows_of(f))
            self.add(prefix + names["expression"][0], ids, -1 if many == 0 else many, sequence)
        elif kind == "raw_feature":
            self.add(prefix + names["expression"][0], Numbers(bounds, 10.0 if "normalizer" in f else 1.0), many, sequence)
        elif kind == "combo_feature":
            for name in names["expression"]:
                self.add(prefix + name, Ids(1000), 1, sequence)
        elif kind == "lookup_feature":
            key = self.keys.get(names["key"][0], Numbers([]))
            self.add(prefix + names["map"][0], Map(key, values_of(f)))
            if names["key"][0]:
                self.add(prefix + names["key"][0], Ids(20), 1, sequence)
        elif kind == "match_feature":
            first, second = (self.keys.get(names[k][0], Ids(20)) for k in ("pkey", "skey"))
            self.add(prefix + names["nested_map"][0], Nested(first, second, values_of(f)))
            self.add(prefix + names["pkey"][0], Ids(20), 1, sequence)
            self.add(prefix + names["skey"][0], Ids(20), 1, sequence)
        elif kind == "expr_feature":
            for name in names["variables"]:
                self.add(prefix + name, Numbers([]), 1, sequence)
        else:  # words: custom, tokenize, overlap, ...
            for k in ("expression", "query", "title", "document"):
                for name in names[k]:
                    self.add(prefix + name, Text() if name else None, 1, sequence)


def features_of(config):
    """(kind, feature, sequence, prefix) of all of them."""
    for entry in config.get("feature_configs", []):
        for kind, messages in entry.items():
            for f in messages:
                if kind != "sequence_feature":
                    yield kind, f, None, ""
                    continue
                sequence = (int(one(f, "sequence_length", 10)), one(f, "sequence_delim", ";"))
                for inner in f.get("features", []):
                    for inner_kind, fs in inner.items():
                        for g in fs:
                            yield inner_kind, g, sequence, one(f, "sequence_name") + "__"


def effect(name, kind, v):
    """What a value does to the label's log odds; fixed for ever."""
    if isinstance(kind, Numbers):
        return 0.5 * math.sin(3 * float(v) / kind.scale)
    h = hashlib.blake2b(f"{name}={v}".encode(), digest_size=4).digest()
    return int.from_bytes(h, "little") / 2**31 - 1


def write_rows(path, columns, labels, n, rng):
    """labels: name -> None, or how many values a column of domains has."""
    signal = sorted((k for k in columns if isinstance(columns[k], (Ids, Words, Numbers))),
                    key=lambda k: columns[k].size)[:6]
    with open(path, "w") as out:
        for _ in range(n):
            Several.lengths = {}
            row = {k: kind.draw(rng) for k, kind in columns.items()}
            odds = sum(effect(k, columns[k], row[k]) for k in signal)
            click = None
            for label, domains in labels.items():  # each is rarer than the one before
                p = 1 / (1 + math.exp(-(1.5 * odds - 0.3)))
                if isinstance(domains, Actions):
                    row[label] = domains.draw_beside(row, rng)
                elif domains:
                    row[label] = rng.randrange(domains)
                elif click is None:
                    row[label] = click = int(rng.random() < p)
                else:
                    row[label] = click = int(click and rng.random() < 0.3 + 0.5 * p)
            out.write(json.dumps(row) + "\n")


def write_items(sampler, path, columns, rng):
    attrs, item = sampler.get("attr_fields", []), one(sampler, "item_id_field")
    delim = one(sampler, "attr_delimiter", ":")
    if isinstance(columns[item], Several) and "__" in item:  # candidates: attributes without the prefix
        prefix, item = item.split("__", 1)
        columns = {k.removeprefix(prefix + "__"): c.of for k, c in columns.items() if k.startswith(prefix + "__")}
    ids = sorted({columns[item].draw(rng) for _ in range(SAMPLED_ITEMS)})
    with open(path, "w") as out:
        out.write("id:int64\tweight:float\tattrs:string\n")
        for i in ids:
            values = [str(i) if a == item else str(columns[a].draw(rng)) for a in attrs]
            out.write(f"{i}\t1.0\t{delim.join(values)}\n")
    return ids


def write_edges(sampler, path, columns, items, rng):
    users = {columns[one(sampler, "user_id_field")].draw(rng) for _ in range(2000)}
    with open(path, "w") as out:
        out.write("userid:int64\titemid:int64\tweight:float\n")
        for u in sorted(users):
            for i in sorted({rng.choice(items) for _ in range(2)}):
                out.write(f"{u}\t{i}\t1.0\n")


def write_tree(sampler, out_dir, columns, rng):
    """Nodes, and an edge from each leaf to each of its ancestors; below the level that has
    all leaves' places, a node has one child."""
    attrs, delim = sampler.get("attr_fields", []), one(sampler, "attr_delimiter", ":")
    levels, item = len(sampler["layer_num_sample"]), columns[one(sampler, "item_id_field")]
    leaves = min(2 ** (levels - 1), TREE_LEAVES, item.size // 2)
    counts = [min(2**k, leaves) for k in range(levels)]
    counts[-1] = leaves
    first = [0] * levels  # ids of leaves first, then level by level
    for k in range(levels - 1):
        first[k] = leaves + sum(counts[:k])
    with open(f"{out_dir}/nodes.txt", "w") as nodes:
        nodes.write("id:int64\tweight:float\tattrs:string\n")
        for k in range(levels):
            for i in range(first[k], first[k] + counts[k]):
                values = [str(k), str(i)] + [str(columns[a].draw(rng)) for a in attrs]
                nodes.write(f"{i}\t1.0\t{delim.join(values)}\n")
    with open(f"{out_dir}/ancestors.txt", "w") as edges:
        edges.write("id:int64\tdst_id:int64\tweight:float\n")
        for leaf in range(leaves):
            for k in range(levels - 1):
                edges.write(f"{leaf}\t{first[k] + leaf * counts[k] // leaves}\t1.0\n")
    columns[one(sampler, "item_id_field")] = Ids(leaves)


def sampler_tables(data, out, columns, rng):
    """Tables of the sampler, and where the config finds them."""
    edits = []
    for kind in ("negative_sampler", "negative_sampler_v2", "hard_negative_sampler", "hard_negative_sampler_v2"):
        if kind not in data:
            continue
        sampler = one(data, kind)
        items = write_items(sampler, f"{out}/items.txt", columns, rng)
        place = f"data_config.{kind}."
        edits.append(place + "num_sample=64")
        edits.append(place + ("input_path" if kind == "negative_sampler" else "item_input_path") + f"={out}/items.txt")
        if kind != "negative_sampler":
            write_edges(sampler, f"{out}/edges.txt", columns, items, rng)
            edits.append(f"{place}user_input_path={out}/items.txt")
        if kind.startswith("hard"):
            edits.append(f"{place}hard_neg_edge_input_path={out}/edges.txt")
        if kind.endswith("v2"):
            edits.append(f"{place}pos_edge_input_path={out}/edges.txt")
    if "tdm_sampler" in data:
        write_tree(one(data, "tdm_sampler"), out, columns, rng)
        place = "data_config.tdm_sampler."
        edits += [f"{place}item_input_path={out}/nodes.txt", f"{place}edge_input_path={out}/ancestors.txt",
                  f"{place}predict_edge_input_path={out}/ancestors.txt"]
    return edits


def labels_of(config, columns):
    data = one(config, "data_config", {})
    pepnet = one(one(config, "model_config", {}), "pepnet", {})
    domain, n = one(pepnet, "domain_input_name"), int(one(pepnet, "task_domain_num", 1))
    if domain in columns:
        columns[domain] = Ids(n)
    labels = {x: n if x == domain else None for x in data.get("label_fields", []) if x not in columns}
    if same_lengths(config, columns):
        labels = {x: Actions(x, columns) for x in labels}
    labels.update({x: 1 for x in data.get("sample_weight_fields", []) if x not in columns})
    return labels


def main():
    config = message(tokens(open(sys.argv[1]).read()))
    out, n, rng = sys.argv[2], int(sys.argv[3]), random.Random(1)
    data = one(config, "data_config", {})
    columns = Columns(one(data, "fg_mode", "FG_NONE") == "FG_NONE")
    for kind, f, _, _ in features_of(config):
        columns.find_keys(kind, f)
    for feature in features_of(config):
        columns.add_feature(*feature)
    os.makedirs(out, exist_ok=True)
    labels = labels_of(config, columns.found)
    edits = sampler_tables(data, out, columns.found, rng)
    if "tdm_sampler" in data:  # what is in the tree was chosen
        labels = {x: None for x in labels}
    write_rows(f"{out}/train.jsonl", columns.found, labels, n, rng)
    write_rows(f"{out}/eval.jsonl", columns.found, labels, n // 5, rng)
    with open(f"{out}/edits.json", "w") as f:
        json.dump(edits, f)


main()
