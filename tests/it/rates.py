# SPDX-License-Identifier: Apache-2.0
"""rates.py MODEL_DIR STEP RATE ... - learning rates of dense parameters as the event files have them."""
import glob
import struct
import sys


def varint(b, at):
    value = shift = 0
    while True:
        value |= (b[at] & 127) << shift
        shift += 7
        at += 1
        if b[at - 1] < 128:
            return value, at


def fields(b):
    """Numbers and contents of a message's fields."""
    at = 0
    while at < len(b):
        key, at = varint(b, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(b, at)
        else:
            n, at = (8, at) if kind == 1 else (4, at) if kind == 5 else varint(b, at)
            value, at = b[at:at + n], at + n
        yield key >> 3, value


def records(path):
    b = open(path, "rb").read()
    at = 0
    while at < len(b):
        n = struct.unpack("<Q", b[at:at + 8])[0]
        yield b[at + 12:at + 12 + n]
        at += n + 16


rates = {}
for path in sorted(glob.glob(sys.argv[1] + "/events.out.tfevents.*")):
    for record in records(path):
        event = dict(fields(record))
        for _, value in fields(event.get(5, b"")):
            value = dict(fields(value))
            if value.get(1) == b"lr/g1":
                rates[event.get(2, 0)] = struct.unpack("<f", value[2])[0]
for step, want in zip(sys.argv[2::2], sys.argv[3::2]):
    assert abs(rates[int(step)] - float(want)) < 1e-8, (step, want, rates)
