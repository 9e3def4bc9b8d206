# SPDX-License-Identifier: Apache-2.0
"""The names of NNI's trial API and Experiment, for scripts on machines without nni.

``trainyard.compat.nni.install()`` or ``python -m trainyard.compat.nni trial.py``. For programs that start others, PYTHONPATH does:
``PYTHONPATH=$(python -m trainyard.compat.nni --path) python trial.py``. A real `nni` is never replaced.
"""
from __future__ import annotations

import os
import sys
from typing import Any, Dict

from .. import trial
from ..tune import Experiment, ExperimentConfig
from ._modules import install as _install
from ._modules import make as _make
from ._modules import run_script

__all__ = ["install"]


def modules() -> Dict[str, Dict[str, Any]]:
    """Module -> its names."""
    names = {name: getattr(trial, name) for name in [*trial.__all__, "get_next_parameters"]}
    experiment = {"Experiment": Experiment, "ExperimentConfig": ExperimentConfig}
    return {"nni": {**names, "__version__": "3.0", "NoMoreTrialError": NoMoreTrialError, "trace": trace},
            "nni.utils": {"merge_parameter": merge_parameter}, "nni.experiment": experiment,
            "nni.experiment.config": {"ExperimentConfig": ExperimentConfig}}


class NoMoreTrialError(Exception):
    """Of tuners that have nothing to suggest any more."""


def trace(cls_or_func: Any = None, **_options: Any) -> Any:
    """Leaves what it decorates as it is: its arguments are of use to NNI's searches of architectures alone."""
    return cls_or_func if cls_or_func is not None else lambda decorated: decorated


def merge_parameter(base_params: Any, override_params: Dict[str, Any]) -> Any:
    """A namespace, such as argparse's, or a dict, with the values that a trial got; it must have them, and of the same types.

    >>> import argparse
    >>> merge_parameter(argparse.Namespace(lr=0.1, epochs=3), {"lr": 0.01})
    Namespace(lr=0.01, epochs=3)
    """
    if override_params is None:
        return base_params
    values = base_params if isinstance(base_params, dict) else vars(base_params)
    for name, value in override_params.items():
        if name not in values:
            raise ValueError(f"the parameters have no {name!r}")
        if values[name] is not None and not isinstance(value, type(values[name])):
            raise TypeError(f"{name!r} is of type {type(values[name]).__name__}, not {type(value).__name__}")
        values[name] = value
    return base_params


def install() -> None:
    """Makes `import nni` work in this process."""
    _install("nni", modules())


def install_here() -> None:
    """The same from within an import of `nni`, which found nothing else."""
    _make("nni", modules())


def path() -> str:
    """The directory that makes `import nni` work when it is in PYTHONPATH."""
    return os.path.join(os.path.dirname(os.path.realpath(__file__)), "shim")


if __name__ == "__main__" and sys.argv[1:] == ["--path"]:
    print(path())
elif __name__ == "__main__":
    run_script("python -m trainyard.compat.nni", install)
