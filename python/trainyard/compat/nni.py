# SPDX-License-Identifier: Apache-2.0
"""The names of NNI's trial API and Experiment, for scripts on machines without nni.

``trainyard.compat.nni.install()`` or ``python -m trainyard.compat.nni trial.py``. A real `nni` is never replaced.
"""
from __future__ import annotations

from typing import Any, Dict

from .. import trial
from ..tune import Experiment, ExperimentConfig
from ._modules import install as _install
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


if __name__ == "__main__":
    run_script("python -m trainyard.compat.nni", install)
