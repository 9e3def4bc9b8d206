# SPDX-License-Identifier: Apache-2.0
"""The names of PAI's Python SDK, for scripts that train.

    import trainyard.compat.pai
    trainyard.compat.pai.install()
    from pai.estimator import Estimator

or, with the script as it is: ``python -m trainyard.compat.pai submit_job.py``. A real `pai` is never replaced. What
concerns PAI's cloud alone (deployment, workspaces) says so when it is used.
"""
from __future__ import annotations

import types
from typing import Any, Callable, Dict, Mapping, Union

from .. import TrainingJob, TrainingJobStatus, UnexpectedStatusException
from ..errors import TrainyardError
from ..tensorboard import TensorBoard, TensorBoardStatus
from . import _pai_fields, _pai_jobs, _pai_logging, _pai_serving, _pai_session, _pai_uris
from ._modules import install as _install
from ._modules import run_script

__all__ = ["install"]

#: Modules of which only the cloud has what they describe.
CLOUD = ("pai.pipeline", "pai.pipeline.types", "pai.pipeline.types.artifact", "pai.pipeline.types.parameter", "pai.pipeline.types.spec",
         "pai.pipeline.component", "pai.predictor", "pai.dataset", "pai.serializers", "pai.dsw", "pai.toolkit", "pai.tracking",
         "pai.tracking.lineage", "pai.api")


def _cloud_module(module: str) -> Callable[[str], Any]:
    """Of a module that only the cloud has: every name of it says so when it is called."""
    def find(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _pai_jobs.cloud_only(f"{module}.{name}")
    return find


def _names(module: types.ModuleType, *names: str) -> Dict[str, Any]:
    return {name: getattr(module, name) for name in names}


class PredictionException(TrainyardError):
    """A service of the cloud refused."""


def modules() -> Dict[str, Union[types.ModuleType, Mapping[str, Any]]]:
    """Module -> its names, or the module itself."""
    jobs: Dict[str, Any] = {"TrainingJob": TrainingJob, "TrainingJobStatus": TrainingJobStatus, "LocalTrainingJob": TrainingJob,
                            **_pai_fields.NAMES}
    utils = {name: getattr(_pai_uris, name) for name in dir(_pai_uris)
             if name.startswith(("parse_", "is_", "generate_", "random_", "to_", "name_", "timestamp", "camel_", "snake_"))}
    model = _names(_pai_serving, "InferenceSpec", "container_serving_spec", "ResourceConfig", "OssStorageConfig", "NfsStorageConfig",
                   "NodeStorageConfig", "SharedMemoryConfig", "RawStorageConfig")
    cloud = {name: _pai_jobs.cloud_only(name) for name in ("RegisteredModel", "ModelTrainingRecipe", "ModelRecipe")}
    return {
        "pai": {"__version__": "0.4.13"},
        "pai.version": {"VERSION": "0.4.13"},
        "pai.session": _pai_session,
        "pai.estimator": {**_names(_pai_jobs, "Estimator", "AlgorithmEstimator", "CpfsFileSystemInput", "FileSystemInput"),
                          **_pai_fields.NAMES},
        "pai.job": jobs,
        "pai.job._training_job": jobs,
        "pai.exception": {"UnexpectedStatusException": UnexpectedStatusException, "PAIException": TrainyardError,
                          "PredictionException": PredictionException,
                          **_names(_pai_serving, "DuplicatedMountException", "MountPathIsOccupiedException")},
        "pai.processor": _names(_pai_jobs, "Processor"),
        "pai.model": {"Model": _pai_jobs.Model, **model, **cloud},
        "pai.image": _names(_pai_jobs, "ImageInfo", "ImageScope", "list_images", "retrieve"),
        "pai.experiment": {**_names(_pai_jobs, "Experiment"), "ExperimentConfig": _pai_fields.ExperimentConfig},
        "pai.tensorboard": {"TensorBoard": TensorBoard, "TensorBoardStatus": TensorBoardStatus},
        "pai.huggingface": {},
        "pai.huggingface.estimator": _names(_pai_jobs, "HuggingFaceEstimator"),
        "pai.modelscope": {},
        "pai.modelscope.estimator": _names(_pai_jobs, "ModelScopeEstimator"),
        "pai.common": {},
        "pai.common.logging": _pai_logging,
        "pai.common.utils": utils,
        "pai.common.oss_utils": {**_names(_pai_jobs, "upload", "download"), "is_oss_uri": _pai_uris.is_oss_uri},
        **{name: {"__getattr__": _cloud_module(name)} for name in CLOUD},
    }


def install() -> None:
    """Makes `import pai` work in this process."""
    _install("pai", modules())


if __name__ == "__main__":
    run_script("python -m trainyard.compat.pai", install)
