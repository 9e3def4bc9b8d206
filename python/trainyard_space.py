# SPDX-License-Identifier: Apache-2.0
"""Collects the parameters that a trial's program asks for, for `trainyard tune space`.

Python loads this file by itself (as sitecustomize, from the front of PYTHONPATH) before the program. It waits
for the import of nni, the real package or, without one, a stand-in of it, and puts functions in the place of
nni.choice, nni.uniform and their kin that write down what they are called with and answer with the first
value. At the end of the program everything is added to the file that NNI_GEN_SEARCH_SPACE names.
"""
import atexit
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys

NUMERIC = {"randint": 2, "uniform": 2, "quniform": 3, "loguniform": 2, "qloguniform": 3, "normal": 2, "qnormal": 3,
           "lognormal": 2, "qlognormal": 3}
space = {}


def label_of(name):
    """Without a name the line tells calls apart."""
    return name if name is not None else f"line{sys._getframe(2).f_lineno}"


def note(label, kind, values):
    entry = {"_type": kind, "_value": values}
    if space.setdefault(label, entry) != entry:
        raise ValueError(f"nni.{kind}: two parameters are called {label!r}")


def choice(*options, name=None):
    """choice(a, b, name='x') or choice('x', [a, b])"""
    if name is None and len(options) == 2 and isinstance(options[0], str) and isinstance(options[1], (list, tuple)):
        name, options = options
    note(label_of(name), "choice", list(options))
    return options[0]


def numeric(kind, count):
    def call(*values, name=None):
        if values and isinstance(values[0], str):
            name, values = values[0], values[1:]
        if len(values) != count:
            raise TypeError(f"nni.{kind} takes {count} numbers")
        note(label_of(name), kind, list(values))
        return values[0]
    return call


def patch(module):
    module.choice = choice
    for kind, count in NUMERIC.items():
        setattr(module, kind, numeric(kind, count))


def nothing(*args, **kwargs):
    return None


class StandIn(importlib.abc.Loader):
    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.get_next_parameter = dict
        module.get_experiment_id = module.get_trial_id = lambda: "STANDALONE"
        module.get_sequence_id = lambda: 0
        module.report_intermediate_result = module.report_final_result = nothing
        patch(module)


class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name != "nni":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("nni")
        if spec is None or spec.loader is None:
            return importlib.machinery.ModuleSpec("nni", StandIn(), is_package=True)
        load = spec.loader.exec_module

        def exec_module(module):
            load(module)
            patch(module)
        spec.loader.exec_module = exec_module
        return spec


def write():
    path = os.environ["NNI_GEN_SEARCH_SPACE"]
    if not space:
        return
    found = {}
    if os.path.exists(path):
        with open(path) as f:
            found = json.load(f)
    found.update(space)
    with open(path + ".new", "w") as f:
        json.dump(found, f, indent=4)
        f.write("\n")
    os.replace(path + ".new", path)


if "NNI_GEN_SEARCH_SPACE" in os.environ:
    sys.meta_path.insert(0, Finder())
    atexit.register(write)
