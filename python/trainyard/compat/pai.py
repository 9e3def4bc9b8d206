# SPDX-License-Identifier: Apache-2.0
"""The names of PAI's Python SDK, for scripts that train.

    import trainyard.compat.pai
    trainyard.compat.pai.install()
    from pai.estimator import Estimator

or, with the script as it is: ``python -m trainyard.compat.pai submit_job.py``. A real `pai` is never replaced. What
concerns PAI's cloud alone (deployment, workspaces) says so when it is used.
"""
from __future__ import annotations

import os
import shutil
from typing import Any, Callable, Dict, Optional

from .. import (AlgorithmEstimator, Estimator, FileSystemInput, Processor, Session, TrainingJob, TrainingJobStatus,
                UnexpectedStatusException, get_default_session, setup_default_session)
from ..errors import UsageError
from ._modules import install as _install
from ._modules import run_script

__all__ = ["install"]


def _cloud_only(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise UsageError(f"{name} is part of PAI's cloud; there is nothing like it here")
    refuse.__name__ = name
    return refuse


class _Settings:
    """Groups of cloud settings that scripts make and hand over; they have no effect here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs


class SpotSpec(_Settings):
    """Prices of spot instances; no effect here."""


class UserVpcConfig(_Settings):
    """Networks of the cloud; no effect here."""


class ExperimentConfig(_Settings):
    """Which experiment of the cloud a job belongs to; no effect here."""


class Model:
    """Files of a model; download() copies them."""

    def __init__(self, model_data: str, inference_spec: Any = None, **kwargs: Any) -> None:
        self.model_data = model_data

    def download(self, to: str, force: bool = False) -> str:
        if os.path.isdir(to) and os.listdir(to) and not force:
            raise UsageError(f"{to!r} is not empty (force=True copies over it)")
        shutil.copytree(self.model_data, to, dirs_exist_ok=True)
        return to

    register = _cloud_only("Model.register")
    deploy = _cloud_only("Model.deploy")


def retrieve(framework_name: str, framework_version: str = "latest", accelerator_type: Optional[str] = None,
             **kwargs: Any) -> Any:
    raise UsageError(f"image.retrieve: the images of {framework_name} are in PAI's registries; give image_uri an image that this "
                     "machine can pull, or leave it out to run without a container")


def upload(source_path: str, oss_path: str = "", bucket: Any = None, **kwargs: Any) -> str:
    """Inputs need no upload here: the path itself."""
    return os.path.abspath(source_path)


def modules() -> Dict[str, Dict[str, Any]]:
    """Module -> its names."""
    jobs: Dict[str, Any] = {"TrainingJob": TrainingJob, "TrainingJobStatus": TrainingJobStatus, "SpotSpec": SpotSpec,
                            "UserVpcConfig": UserVpcConfig, "ExperimentConfig": ExperimentConfig}
    session = {"Session": Session, "setup_default_session": setup_default_session, "get_default_session": get_default_session}
    return {
        "pai": {"__version__": "0.4"},
        "pai.session": session,
        "pai.estimator": {"Estimator": Estimator, "AlgorithmEstimator": AlgorithmEstimator, "FileSystemInput": FileSystemInput},
        "pai.job": jobs,
        "pai.exception": {"UnexpectedStatusException": UnexpectedStatusException},
        "pai.processor": {"Processor": Processor},
        "pai.model": {"Model": Model, "RegisteredModel": _cloud_only("RegisteredModel"),
                      "InferenceSpec": _cloud_only("InferenceSpec"), "container_serving_spec": _cloud_only("container_serving_spec")},
        "pai.image": {"retrieve": retrieve, "list_images": _cloud_only("list_images")},
        "pai.experiment": {"Experiment": _cloud_only("Experiment"), "ExperimentConfig": ExperimentConfig},
        "pai.tensorboard": {"TensorBoard": _cloud_only("TensorBoard")},
        "pai.common": {},
        "pai.common.oss_utils": {"upload": upload, "download": _cloud_only("download")},
    }


def install() -> None:
    """Makes `import pai` work in this process."""
    _install("pai", modules())


if __name__ == "__main__":
    run_script("python -m trainyard.compat.pai", install)
