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
    return {"nni": {**names, "__version__": "3.0"}, "nni.experiment": experiment,
            "nni.experiment.config": {"ExperimentConfig": ExperimentConfig}}


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
