# SPDX-License-Identifier: Apache-2.0
"""Estimators, experiments, models and images by the names and habits of PAI's SDK."""
from __future__ import annotations

import json
import os
import shutil
import tarfile
import uuid
import warnings
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional

from .. import estimator as _ours
from ..errors import JobError, UsageError
from ..jobs import TrainingJob
from ..tensorboard import TensorBoard
from ._pai_fields import ExperimentConfig
from ._pai_serving import InferenceSpec
from ._pai_session import get_default_session


def cloud_only(name: str) -> Callable[..., Any]:
    """A function that says that it is of the cloud."""
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise UsageError(f"{name} is part of PAI's cloud; there is nothing like it here")
    refuse.__name__ = name
    return refuse


class Model:
    """Files of a model; download() copies them."""

    def __init__(self, model_data: str, inference_spec: Optional[InferenceSpec] = None, session: Any = None, **kwargs: Any) -> None:
        self.model_data = model_data
        self.inference_spec = inference_spec

    def download(self, target_dir: str, force: bool = False) -> str:
        """Copies the files to a directory, which is returned."""
        if os.path.isdir(target_dir) and os.listdir(target_dir) and not force:
            raise UsageError(f"{target_dir!r} is not empty (force=True copies over it)")
        return download(self.model_data, target_dir)

    def list_model_files(self) -> Iterator[str]:
        """Their names."""
        for directory, _, files in os.walk(self.model_data):
            yield from (os.path.relpath(os.path.join(directory, name), self.model_data) for name in sorted(files))

    register = cloud_only("Model.register")
    deploy = cloud_only("Model.deploy")


class Experiment:
    """Jobs whose outputs go below one directory; kept in a file of this machine."""

    def __init__(self, experiment_id: str, name: str, artifact_uri: str, session: Any = None) -> None:
        self.experiment_id = experiment_id
        self.name = name
        self.artifact_uri = artifact_uri
        self.session = session

    @staticmethod
    def _path() -> str:
        return os.path.expanduser("~/.local/share/trainyard/pai-experiments.json")

    @classmethod
    def _kept(cls) -> Dict[str, Dict[str, str]]:
        try:
            with open(cls._path(), encoding="utf-8") as f:
                return dict(json.load(f))
        except FileNotFoundError:
            return {}

    @classmethod
    def _keep(cls, kept: Mapping[str, Mapping[str, str]]) -> None:
        os.makedirs(os.path.dirname(cls._path()), exist_ok=True)
        new = f"{cls._path()}.{os.getpid()}"
        with open(new, "w", encoding="utf-8") as f:
            json.dump(kept, f, indent=1)
        os.replace(new, cls._path())

    @classmethod
    def create(cls, artifact_uri: str, name: str, session: Any = None) -> "Experiment":
        """A new one; its name is its own."""
        kept = cls._kept()
        if any(e["name"] == name for e in kept.values()):
            raise UsageError(f"there is an experiment {name!r} already")
        made = cls(f"exp-{uuid.uuid4().hex[:12]}", name, _ours._channel(artifact_uri).rstrip("/") + "/", session)
        cls._keep({**kept, made.experiment_id: {"name": name, "artifact_uri": made.artifact_uri}})
        return made

    @classmethod
    def get(cls, experiment_id: str) -> "Experiment":
        kept = cls._kept().get(experiment_id)
        if not kept:
            raise UsageError(f"there is no experiment {experiment_id!r}")
        return cls(experiment_id, **kept)

    @classmethod
    def list(cls, name: Optional[str] = None, session: Any = None) -> "Iterator[Experiment]":
        for experiment_id, kept in cls._kept().items():
            if name is None or name in kept["name"]:
                yield cls(experiment_id, **kept)

    @classmethod
    def get_by_name(cls, name: str, session: Any = None) -> "Optional[Experiment]":
        return next((e for e in cls.list() if e.name == name), None)

    def update(self, name: str) -> "Experiment":
        self.name = name
        self._keep({**self._kept(), self.experiment_id: {"name": name, "artifact_uri": self.artifact_uri}})
        return self

    def delete(self) -> None:
        """Forgets it; its files stay."""
        self._keep({k: v for k, v in self._kept().items() if k != self.experiment_id})

    def tensorboard_data(self) -> str:
        return f"{self.artifact_uri}tensorboard/"

    def tensorboard(self, wait: bool = True) -> TensorBoard:
        """TensorBoard on the logs of all its jobs."""
        return TensorBoard.create(self.tensorboard_data())

    def outputs(self) -> "Dict[str, str]":
        """Where one more of its jobs writes."""
        word = _ours._random_word()
        places = {channel: f"{self.artifact_uri}{word}/{channel}/" for channel in ("model", "checkpoints")}
        return {**places, "tensorboard": f"{self.tensorboard_data()}{word}/"}

    def __repr__(self) -> str:
        return f"Experiment({self.name!r}, {self.artifact_uri!r})"


def _experiment(config: Optional[ExperimentConfig]) -> Optional[Experiment]:
    if config is None:
        return None
    given = vars(config)
    if given.get("experiment_id"):
        return Experiment.get(given["experiment_id"])
    found = Experiment.get_by_name(str(given.get("experiment_name")))
    if found is None:
        raise UsageError(f"there is no experiment {given.get('experiment_name')!r}")
    return found


class _Habits:
    """What estimators of PAI take and do beside ours."""

    def __init__(self, *args: Any, experiment_config: Optional[ExperimentConfig] = None, **given: Any) -> None:
        self.experiment_config = experiment_config
        self._experiment = _experiment(experiment_config)
        super().__init__(*args, **{k: getattr(v, "image_uri", v) for k, v in given.items()})

    @property
    def session(self) -> Any:
        return getattr(self, "_session", None) or get_default_session()

    def describe(self, inputs: Optional[Mapping[str, Any]] = None, outputs: Optional[Mapping[str, Any]] = None,
                 job_name: Optional[str] = None) -> Dict[str, Any]:
        spec: Dict[str, Any] = super().describe(inputs, outputs, job_name)  # type: ignore[misc]
        if self._experiment:
            spec["label"] = {**spec.get("label", {}), "experiment": self._experiment.name}
            places = self._experiment.outputs()
            chosen = {"tensorboard": places["tensorboard"]} if getattr(self, "output_path", None) else places
            spec["output"] = {**spec.get("output", {}), **chosen, **{k: _ours._channel(v) for k, v in (outputs or {}).items()}}
        return spec


class Estimator(_Habits, _ours.Estimator):
    """Estimator, with create_model(); deploy() is the cloud's."""

    def create_model(self, inference_spec: Optional[InferenceSpec] = None) -> Model:
        return Model(self.model_data(), inference_spec)

    deploy = cloud_only("Estimator.deploy")


class AlgorithmEstimator(_Habits, _ours.AlgorithmEstimator):
    """AlgorithmEstimator, whose spec may be an AlgorithmSpec."""

    def __init__(self, algorithm_name: Optional[str] = None, algorithm_version: Optional[str] = None,
                 algorithm_provider: Optional[str] = None, algorithm_spec: Any = None, **given: Any) -> None:
        spec = algorithm_spec.to_dict() if hasattr(algorithm_spec, "to_dict") else algorithm_spec
        super().__init__(algorithm_name, algorithm_version, algorithm_provider, spec, **given)

    create_model = Estimator.create_model
    deploy = cloud_only("AlgorithmEstimator.deploy")


class Processor(_Habits, _ours.Processor):
    """Processor; channels of the cloud's experimental API are those of run()."""

    def set_input_channels(self, channels: Any) -> None:
        """Kept for scripts of PAI: run(inputs=) names them."""

    def set_output_channels(self, channels: Any) -> None:
        """Kept for scripts of PAI: run(outputs=) names them."""


class HuggingFaceEstimator(Estimator):
    """Estimator with an image for transformers, where the session names one."""

    framework = "huggingface"

    def __init__(self, command: Any = "", source_dir: Optional[str] = None, transformers_version: Optional[str] = None,
                 image_uri: Optional[str] = None, **given: Any) -> None:
        image = image_uri or retrieve(self.framework, transformers_version or "latest").image_uri
        super().__init__(image_uri=image, command=command, source_dir=source_dir, **given)


class ModelScopeEstimator(Estimator):
    """Estimator with an image for ModelScope, where the session names one."""

    def __init__(self, command: Any = "", source_dir: Optional[str] = None, modelscope_version: Optional[str] = None,
                 image_uri: Optional[str] = None, **given: Any) -> None:
        image = image_uri or retrieve("modelscope", modelscope_version or "latest").image_uri
        super().__init__(image_uri=image, command=command, source_dir=source_dir, **given)


class FileSystemInput(_ours.FileSystemInput):
    """A directory of a file system that the workers see."""

    def _region(self) -> Any:
        return get_default_session().region_id


class CpfsFileSystemInput(_ours.CpfsFileSystemInput):
    """The same of CPFS."""

    def _region(self) -> Any:
        return get_default_session().region_id


class ImageScope:
    """What an image is for."""

    TRAINING = "training"
    INFERENCE = "inference"
    DEVELOP = "develop"


class ImageInfo:
    """An image; image_uri is empty where a job runs without a container."""

    def __init__(self, image_uri: str, framework_name: str, framework_version: str = "latest", accelerator_type: Optional[str] = None,
                 image_scope: str = ImageScope.TRAINING) -> None:
        self.image_uri = self.image_name = image_uri
        self.framework_name = framework_name
        self.framework_version = framework_version
        self.accelerator_type = accelerator_type
        self.image_scope = image_scope

    def __repr__(self) -> str:
        return f"ImageInfo({self.framework_name}:{self.framework_version}, {self.image_uri or 'no container'})"


def retrieve(framework_name: str, framework_version: str = "latest", accelerator_type: Optional[str] = "CPU",
             image_scope: str = ImageScope.TRAINING, session: Any = None) -> ImageInfo:
    """The image that the session names for a framework; without one jobs run in no container, with this machine's Python."""
    named: Mapping[str, str] = {k.lower(): v for k, v in getattr(session or get_default_session(), "images", {}).items()}
    for key in (f"{framework_name}:{framework_version}:{accelerator_type}", f"{framework_name}:{framework_version}",
                f"{framework_name}::{accelerator_type}", framework_name):
        if key.lower() in named:
            return ImageInfo(named[key.lower()], framework_name, framework_version, accelerator_type, image_scope)
    warnings.warn(f"the images of {framework_name} are in PAI's registries: the job runs without a container, with the programs of this "
                  f"machine (Session(images={{{framework_name!r}: IMAGE}}) names one that it can pull)", stacklevel=2)
    return ImageInfo("", framework_name, framework_version, accelerator_type, image_scope)


def list_images(framework_name: Optional[str] = None, session: Any = None, **filters: Any) -> List[ImageInfo]:
    """The images that the session names."""
    found = []
    for key, image in getattr(session or get_default_session(), "images", {}).items():
        name, _, rest = key.partition(":")
        if framework_name is None or name.lower() == framework_name.lower():
            version, _, accelerator = rest.partition(":")
            found.append(ImageInfo(image, name, version or "latest", accelerator or None))
    return found


def upload(source_path: Optional[str] = None, oss_path: str = "", bucket: Any = None, is_tar: bool = False,
           local_path: Optional[str] = None) -> str:
    """Inputs and code need no upload here: the path itself, a directory with a slash at its end."""
    path = os.path.abspath(os.path.expanduser(source_path or local_path or ""))
    if not (source_path or local_path) or not os.path.exists(path):
        raise UsageError(f"upload: there is no {source_path or local_path!r}")
    if is_tar:
        raise UsageError("upload: is_tar packs for PAI's cloud; hand over the directory itself")
    return path + "/" if os.path.isdir(path) else path


def download(oss_path: str, local_path: str, bucket: Any = None, un_tar: bool = False) -> str:
    """Copies what a path or job://ID/CHANNEL/ names to a directory, which is returned."""
    if oss_path.startswith("job://"):
        job_id, _, channel = oss_path[len("job://"):].strip("/").partition("/")
        return _download_outputs(job_id, channel or "model", local_path)
    if "://" in oss_path and not oss_path.startswith("file://"):
        raise UsageError(f"download: {oss_path!r} is in an object store; a job reads it as an input")
    path = oss_path[len("file://"):] if oss_path.startswith("file://") else oss_path
    if os.path.isdir(path):
        shutil.copytree(path, local_path, dirs_exist_ok=True)
    elif not os.path.exists(path):
        raise UsageError(f"download: there is no {path!r}")
    elif un_tar and path.endswith(".tar.gz"):
        with tarfile.open(path) as packed:
            _unpack(packed, local_path)
    else:
        os.makedirs(local_path, exist_ok=True)
        shutil.copy(path, local_path)
    return local_path


def _unpack(packed: tarfile.TarFile, to: str) -> None:
    if hasattr(tarfile, "data_filter"):
        packed.extractall(to, filter="data")
        return
    for member in packed.getmembers():
        inside = os.path.realpath(os.path.join(to, member.name)).startswith(os.path.realpath(to) + os.sep)
        if not inside or member.issym() or member.islnk() or member.isdev():
            raise UsageError(f"download: {member.name!r} is not unpacked")
    packed.extractall(to)


def _download_outputs(job_id: str, channel: str, to: str) -> str:
    job = TrainingJob(job_id, get_default_session())
    if not job.outputs(channel):
        raise JobError(f"job {job_id} has no files in {channel!r}")
    job.download(to + ".part", channel)
    shutil.copytree(os.path.join(to + ".part", channel), to, dirs_exist_ok=True)
    shutil.rmtree(to + ".part")
    return to
