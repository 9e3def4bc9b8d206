# SPDX-License-Identifier: Apache-2.0
"""Encoded rows for the features of cases.py, as JSON lines: rows without ids, with several, weighted
ids, empty histories and steps that hold no id or several. KINDS: name -> function(random, rows)."""
import json
import random

WORDS = "\x03"  # between the values of a text


def ids(r, rows, least, most):
    return [r.randrange(rows) for _ in range(r.randint(least, most))]


def weights(r):
    return WORDS.join(f"{x}:{r.uniform(0.1, 2):.3f}" for x in ids(r, 6, 0, 3))


def numbers(r, n):
    return [round(r.uniform(-1, 1), 4) for _ in range(n)]


def row(r):
    n = r.choice([0, 1, 2, 3, 5, 7])
    u, i = r.randrange(11), r.randrange(13)
    clk = int(r.random() < 0.25 + 0.05 * (u % 5) + 0.03 * (i % 4))
    return {
        "u": u if r.random() < 0.8 else None, "i": i, "j": r.randrange(13), "c": ids(r, 5, 0, 3), "w": weights(r),
        "v": weights(r), "k": r.randrange(3), "p": numbers(r, 1)[0], "r": numbers(r, 3), "ad": numbers(r, 1)[0],
        "ml": numbers(r, 1)[0], "mv": numbers(r, 3), "s__i": ids(r, 13, n, n),
        "s__c": [ids(r, 5, 0 if n > 1 else 1, 3) for _ in range(n)], "s__p": numbers(r, n), "clk": clk,
        "buy": int(clk and r.random() < 0.5), "stay": round(r.uniform(0, 2), 3), "kind": r.randrange(3),
        "sw": round(r.uniform(0.2, 3), 3),
    }


def plain(r, n):
    return [row(r) for _ in range(n)]


def texts(r, n):
    """The same as texts: values with separators, steps with the delimiter."""
    out = plain(r, n)
    for x in out:
        x["u"] = "" if x["u"] is None else str(x["u"])
        x["c"] = WORDS.join(map(str, x["c"]))
        x["r"] = WORDS.join(map(str, x["r"]))
        x["s__i"] = ";".join(map(str, x["s__i"]))
        x["s__c"] = ";".join(WORDS.join(map(str, s or [0])) for s in x["s__c"])
        x["s__p"] = ";".join(map(str, x["s__p"]))
    return out


def uneven(r, n):
    """The second history is shorter or longer than the first."""
    out = plain(r, n)
    for x in out:
        k = r.randrange(8)
        x["s__c"] = [ids(r, 5, 1, 2) for _ in range(k)]
    return out


def even(r, n):
    """All histories are as long as each other: padded steps make the gradient of TorchEasyRec's self-attention NaN."""
    out = plain(r, n)
    for x in out:
        x.update({"s__i": ids(r, 13, 5, 5), "s__c": [ids(r, 5, 0, 3) for _ in range(5)], "s__p": numbers(r, 5)})
    return out


KINDS = {"even": even, "rows": plain, "texts": texts, "uneven": uneven}


def write(path, kind, seed, n):
    with open(path, "w") as f:
        for x in KINDS[kind](random.Random(f"{kind} {seed}"), n):
            f.write(json.dumps(x) + "\n")
