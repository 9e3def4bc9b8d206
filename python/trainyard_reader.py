# SPDX-License-Identifier: Apache-2.0
"""trainyard_reader.py READER CLASS SEED LIMIT - lines of stdin through a reader of PaddleRec to lines of slots.

`trainyard run` starts this for a data_converter of the user's own, as `cat FILE | python reader.py` would, in a sandbox.
READER is the file, CLASS its class, which has init() and generate_sample(line). TRAINYARD_READER_CONFIG is the config.yaml
as JSON, which the reader sees by way of paddlerec.core.utils.envs. Neither paddlerec nor paddle is needed: what readers
import of paddlerec is made here. At most LIMIT samples (0: all) are written, `slot:value ...`, floats with a point.
Status 3: a line could not be converted, or the reader not be loaded; the last line of stderr says why.
"""
import importlib.util
import json
import os
import random
import sys
import traceback
import types

FORBIDDEN = set(" :\t\n\r(),=")


class ReaderBase:
    """What a reader inherits from."""

    def __init__(self, config=None):
        pass

    def init(self):
        """A reader's own preparation."""

    def generate_sample(self, line):
        raise NotImplementedError("the reader has no generate_sample(line)")


def flatten(node, prefix, out):
    """Keys as PaddleRec has them: lists of things with names are keyed by these."""
    for key, value in node.items():
        name = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict):
            flatten(value, name, out)
        elif key in ("dataset", "runner", "phase") and not prefix:
            for one in value:
                flatten({k: v for k, v in one.items() if k != "name"}, f"{name}.{one['name']}", out)
        else:
            out[name] = value
    return out


def install(config):
    """Modules paddlerec.core.reader and paddlerec.core.utils.envs."""
    workspace = str(config.get("workspace", ""))
    config = {k: v.replace("{workspace}", workspace) if isinstance(v, str) else v for k, v in config.items()}

    def get_global_env(name, default_value=None, namespace=None):
        return config.get(f"{namespace}.{name}" if namespace else name, default_value)

    parts = {"paddlerec": {}, "paddlerec.core": {}, "paddlerec.core.utils": {},
             "paddlerec.core.reader": {"ReaderBase": ReaderBase},
             "paddlerec.core.utils.envs": {"get_global_env": get_global_env, "get_runtime_environ": os.environ.get}}
    for name, members in parts.items():
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = []
        vars(module).update(members)
        if "." in name:
            setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], module)


def load(path, name):
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("reader", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["reader"] = module
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        raise AttributeError(f"there is no class {name}")
    reader = getattr(module, name)(None)
    reader.init()
    return reader


def number(name, value):
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"slot '{name}' holds {value!r}, which is no number")
    if isinstance(value, float):
        if value - value != 0:
            raise ValueError(f"slot '{name}' holds {value!r}")
        return repr(value)
    return str(value)


def tokens(sample):
    """One sample, pairs of a name and a list of numbers, as a line."""
    out = []
    for name, values in sample:
        if not isinstance(name, str) or not name or FORBIDDEN & set(name):
            raise ValueError(f"{name!r} cannot be the name of a slot")
        values = list(values) if hasattr(values, "__iter__") else [values]
        if not values:
            raise ValueError(f"slot '{name}' holds nothing")
        out.extend(f"{name}:{number(name, v)}" for v in values)
    return " ".join(out)


def fault(path, what, error):
    """One line: where in the reader it was, and what."""
    at = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    where = f"{path}:{at[-1].lineno}: " if at else f"{path}: "
    text = str(error).splitlines()
    sys.stdout.flush()
    print(f"{where}{what}{type(error).__name__}{': ' + text[0] if text else ''}", file=sys.stderr)
    sys.exit(3)


def main(path, name, seed, limit):
    random.seed(int(seed))
    install(flatten(json.loads(os.environ.get("TRAINYARD_READER_CONFIG", "{}")), "", {}))
    try:
        reader = load(path, name)
    except Exception as error:
        fault(path, "", error)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(int(seed) % 2**32)
    written, limit = 0, int(limit)
    for n, line in enumerate(sys.stdin, 1):
        try:
            for sample in reader.generate_sample(line)():
                if sample is not None:
                    sys.stdout.write(tokens(sample) + "\n")
                    written += 1
                if written == limit:
                    return
        except Exception as error:
            fault(path, f"line {n} of the data: ", error)


if __name__ == "__main__":
    main(*sys.argv[1:])
