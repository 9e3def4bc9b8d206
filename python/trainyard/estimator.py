# SPDX-License-Identifier: Apache-2.0
"""Training programs as jobs, in the manner of PAI's SDK.

    est = Estimator(command="python train.py $PAI_USER_ARGS", source_dir="src", hyperparameters={"lr": 0.01})
    est.fit(inputs={"train": "data/train.csv"})
    print(est.model_data())

An Estimator describes the job, fit() submits it. Nothing is asked of the network or of a session before.
"""
from __future__ import annotations

import json
import os
import random
import string
import subprocess
import tempfile
import time
import warnings
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from . import _program, frames, profiles
from .errors import ConfigError, DataError, TrainyardError
from .jobs import TrainingJob
from .session import Session, get_default_session
from .tensorboard import TensorBoard

__all__ = ["Estimator", "AlgorithmEstimator", "Processor", "CpfsFileSystemInput", "FileSystemInput"]

Command = Union[str, Sequence[str]]


class FileSystemInput:
    """A directory of a file system that the workers see."""

    def __init__(self, file_system_id: str, directory_path: str = "/") -> None:
        self.file_system_id = file_system_id
        self.directory_path = directory_path

    def __str__(self) -> str:
        return self.directory_path

    def to_input_uri(self) -> str:
        """The address of PAI."""
        return f"nas://{self.file_system_id}.{self._region()}/{self.directory_path.lstrip('/')}"

    def _region(self) -> Optional[str]:
        return get_default_session().region_id


class CpfsFileSystemInput(FileSystemInput):
    """The same of CPFS, by its protocol service and export."""

    def __init__(self, file_system_id: str, protocol_service_id: str, export_id: str) -> None:
        super().__init__(file_system_id, f"/{protocol_service_id}/{export_id}/")

    def to_input_uri(self) -> str:
        return f"cpfs://{self.file_system_id}.{self._region()}{self.directory_path}"


class _Described:
    """What Estimator and Processor have in common: a description that becomes a job."""

    prefix = "job"

    def __init__(self, image_uri: Optional[str], command: Command, source_dir: Optional[str], git_config: Optional[Mapping[str, str]],
                 job_type: str, values: Optional[Mapping[str, Any]], environments: Optional[Mapping[str, str]],
                 requirements: Optional[Sequence[str]], base_job_name: Optional[str], max_run_time: Optional[int],
                 instance_type: Optional[str], instance_count: Optional[int], labels: Optional[Mapping[str, str]],
                 session: Optional[Session], more: Mapping[str, Any]) -> None:
        if not command:
            raise ConfigError("command is empty")
        if not isinstance(command, (str, list, tuple)):
            raise ConfigError(f"command: a text or a list of words is wanted, not {type(command).__name__}")
        if values is not None and not isinstance(values, Mapping):
            raise ConfigError(f"hyperparameters: a dict is wanted, not {type(values).__name__}")
        self.image_uri = image_uri
        self.command = command
        self.source_dir = source_dir
        self.git_config = dict(git_config) if git_config else None
        self.job_type = job_type
        self.values: Dict[str, Any] = dict(values or {})
        self.environments = dict(environments or {})
        self.requirements = list(requirements or [])
        self.base_job_name = base_job_name
        self.max_run_time = max_run_time
        self.instance_type = instance_type
        self.instance_count = 1 if instance_count is None else frames.whole_number("instance_count", instance_count, 1, ConfigError)
        self.labels = dict(labels or {})
        self._session = Session(server=session) if isinstance(session, str) else session
        self.more = _job_fields(more)
        self.jobs: List[TrainingJob] = []

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.command!r}, {len(self.jobs)} jobs)"

    @property
    def session(self) -> Session:
        return self._session or get_default_session()

    @property
    def latest_job(self) -> Optional[TrainingJob]:
        return self.jobs[-1] if self.jobs else None

    latest_training_job = latest_job

    def _latest(self) -> TrainingJob:
        if not self.jobs:
            raise ConfigError("nothing was submitted yet")
        return self.jobs[-1]

    def job_name(self, given: Optional[str] = None) -> str:
        """The name that is given, else one with the time."""
        if given:
            return given
        now = time.time()
        stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
        return f"{_plain(self.base_job_name or self.prefix, '-.')}-{stamp}-{int(now * 1000) % 1000:03d}"

    def describe(self, inputs: Optional[Mapping[str, Any]] = None, outputs: Optional[Mapping[str, Any]] = None,
                 job_name: Optional[str] = None) -> Dict[str, Any]:
        """The job file that fit() submits."""
        values = {k: str(v) if isinstance(v, int) and not -2**63 <= v < 2**64 else v for k, v in self.values.items()}
        spec: Dict[str, Any] = {"name": self.job_name(job_name), "job_type": self.job_type, "workers": self.instance_count,
                                "command": self.command if isinstance(self.command, str) else list(self.command)}
        spec.update(profiles.resources(self.instance_type, self.image_uri, self.session.profiles))
        if self.source_dir and not self.git_config:
            spec["source"] = _directory(self.source_dir)
        for key, value in (("hp", values), ("env", self.environments), ("label", self.labels), ("requirement", self.requirements),
                           ("input", _channels("inputs", inputs)), ("output", _channels("outputs", outputs))):
            if value:
                spec[key] = value
        if self.max_run_time:
            spec["timeout"] = f"{int(self.max_run_time)}s"
        for key in ("project", "queue"):
            if getattr(self.session, key):
                spec[key] = getattr(self.session, key)
        spec.update(self.more)
        return spec

    def _submit(self, spec: Dict[str, Any]) -> TrainingJob:
        with tempfile.TemporaryDirectory(prefix="trainyard-") as place:
            if self.git_config:
                spec["source"] = _clone(self.git_config, self.source_dir, place)
            made = self._send(spec, place)
        job = TrainingJob(made["id"], self.session)
        self.jobs.append(job)
        return job

    def _send(self, spec: Dict[str, Any], place: str) -> Dict[str, Any]:
        path = os.path.join(place, "job.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(frames.whole_texts("job", spec), f, indent=1, default=frames.plain)
        try:
            return dict(_program.call_json(["job", "submit", *self.session.place(), path]))
        except TrainyardError as e:
            if e.code != "E3204" or not profiles.is_ecs(self.instance_type, self.session.profiles) or not spec.get("cpu"):
                raise e.reworded(lambda text: text.replace(path, "job")) from None
            warnings.warn(f"{self.instance_type} is larger than this machine; the job takes what there is", stacklevel=4)
            return self._send({k: v for k, v in spec.items() if k not in ("cpu", "memory")}, place)

    def wait(self, interval: float = 5, show_logs: bool = True, all_jobs: bool = False) -> None:
        """Waits for the latest job, or for all of them."""
        if not all_jobs:
            self._latest().wait(interval, show_logs)
            return
        for job in self.jobs:
            job.wait(interval, show_logs=False)
        for job in self.jobs:
            about = job.describe()
            print(f"{about['name']}  {about['id']}  {about['state']}")


class Estimator(_Described):
    """A training program, and how to run it; arguments as those of PAI's Estimator.

    Keyword arguments beyond these are fields of a job file (docs/jobs.md): retries, priority, after, cpu, memory, ...
    """

    prefix = "estimator"

    def __init__(self, image_uri: Optional[str] = None, command: Command = "", source_dir: Optional[str] = None,
                 git_config: Optional[Mapping[str, str]] = None, job_type: str = "PyTorchJob",
                 hyperparameters: Optional[Mapping[str, Any]] = None, environments: Optional[Mapping[str, str]] = None,
                 requirements: Optional[Sequence[str]] = None, base_job_name: Optional[str] = None,
                 max_run_time: Optional[int] = None, checkpoints_path: Optional[str] = None, output_path: Optional[str] = None,
                 metric_definitions: Optional[Sequence[Mapping[str, str]]] = None, instance_type: Optional[str] = None,
                 instance_count: Optional[int] = None, user_vpc_config: Any = None, experiment_config: Any = None,
                 resource_id: Optional[str] = None, session: Optional[Session] = None, labels: Optional[Mapping[str, str]] = None,
                 **more: Any) -> None:
        super().__init__(image_uri, command, source_dir, git_config, job_type, hyperparameters, environments, requirements,
                         base_job_name, max_run_time, instance_type, instance_count, labels, session, more)
        self.checkpoints_path = checkpoints_path
        self.output_path = output_path
        self.metric_definitions = [_metric(m) for m in metric_definitions or []]
        _without_effect(user_vpc_config=user_vpc_config, experiment_config=experiment_config, resource_id=resource_id)

    @property
    def hyperparameters(self) -> Dict[str, Any]:
        return self.values

    def set_hyperparameters(self, **values: Any) -> None:
        """Changes some; the others stay."""
        self.values.update(values)

    def describe(self, inputs: Optional[Mapping[str, Any]] = None, outputs: Optional[Mapping[str, Any]] = None,
                 job_name: Optional[str] = None) -> Dict[str, Any]:
        spec = super().describe(inputs, outputs, job_name)
        places: Dict[str, str] = {}
        if self.output_path:
            base = f"{_channel(self.output_path).rstrip('/')}/{_plain(str(spec['name']))}_{_random_word()}"
            places = {channel: f"{base}/{channel}/" for channel in ("model", "checkpoints", "tensorboard")}
        if self.checkpoints_path:
            places["checkpoints"] = _channel(self.checkpoints_path)
        places.update(spec.get("output", {}))
        if places:
            spec["output"] = places
        if self.metric_definitions:
            spec["metric"] = {m["Name"]: m["Regex"] for m in self.metric_definitions}
        return spec

    def fit(self, inputs: Optional[Mapping[str, Any]] = None, outputs: Optional[Mapping[str, Any]] = None, wait: bool = True,
            show_logs: bool = True, job_name: Optional[str] = None) -> TrainingJob:
        """Submits the job; with `wait` shows its log and returns when it has ended."""
        job = self._submit(self.describe(inputs, outputs, job_name))
        return job.wait(show_logs=show_logs) if wait else job

    def model_data(self) -> str:
        """Where the latest job's model is."""
        job = self._latest()
        if not job.is_succeeded():
            warnings.warn(f"job {job.id} has not succeeded: its model may be incomplete", stacklevel=2)
        return job.output_path("model")

    def checkpoints_data(self) -> str:
        return self._latest().output_path("checkpoints")

    def tensorboard_data(self) -> str:
        return self._latest().output_path("tensorboard")

    def tensorboard(self, wait: bool = True) -> TensorBoard:
        """TensorBoard on the latest job's logs, started on this machine; its app_uri is the address, delete() ends it."""
        return TensorBoard.create(self.tensorboard_data(), wait, session=self.session)


class AlgorithmEstimator(Estimator):
    """An algorithm out of a directory: NAME/VERSION/algorithm.json, in the words of PAI's AlgorithmSpec.

    The directory is `registry`, or TRAINYARD_ALGORITHMS. `algorithm_spec` gives the description itself.
    """

    prefix = "algorithm"

    def __init__(self, algorithm_name: Optional[str] = None, algorithm_version: Optional[str] = None,
                 algorithm_provider: Optional[str] = None, algorithm_spec: Optional[Mapping[str, Any]] = None,
                 hyperparameters: Optional[Mapping[str, Any]] = None, registry: Optional[str] = None, **more: Any) -> None:
        self.algorithm_provider = algorithm_provider
        if algorithm_name:
            if algorithm_spec:
                warnings.warn("algorithm_spec is ignored: algorithm_name is given", stacklevel=2)
            algorithm_spec, home = _read_algorithm(algorithm_name, algorithm_version, registry)
            more.setdefault("source_dir", home)
        if not algorithm_spec:
            raise ConfigError("algorithm_name or algorithm_spec is needed")
        self.spec = dict(algorithm_spec)
        more.setdefault("metric_definitions", self.spec.get("MetricDefinitions"))
        super().__init__(image_uri=self.spec.get("Image"), command=self.spec.get("Command", ""),
                         job_type=self.spec.get("JobType", "PyTorchJob"),
                         hyperparameters=_with_defaults(self.hyperparameter_definitions, hyperparameters or {}), **more)

    def fit(self, inputs: Optional[Mapping[str, Any]] = None, outputs: Optional[Mapping[str, Any]] = None, wait: bool = True,
            show_logs: bool = True, job_name: Optional[str] = None) -> TrainingJob:
        """As that of Estimator, with the channels that the algorithm requires."""
        _check_channels("input", self.input_channel_definitions, inputs or {})
        _check_channels("output", self.output_channel_definitions, outputs or {}, all_needed=False)
        return super().fit(inputs, outputs, wait, show_logs, job_name)

    @property
    def hyperparameter_definitions(self) -> List[Dict[str, Any]]:
        return list(self.spec.get("HyperParameters", []))

    @property
    def input_channel_definitions(self) -> List[Dict[str, Any]]:
        return list(self.spec.get("InputChannels", []))

    @property
    def output_channel_definitions(self) -> List[Dict[str, Any]]:
        return list(self.spec.get("OutputChannels", []))

    @property
    def supported_instance_types(self) -> List[str]:
        return list(self.spec.get("SupportedInstanceTypes", []))

    def get_outputs_data(self) -> Dict[str, str]:
        """Channel -> where its files are."""
        names = [c["Name"] for c in self.output_channel_definitions] or ["model"]
        return {name: self._latest().output_path(name) for name in names}


class Processor(_Described):
    """A program that makes data out of data."""

    prefix = "processor"

    def __init__(self, image_uri: Optional[str] = None, command: Command = "", source_dir: Optional[str] = None,
                 parameters: Optional[Mapping[str, Any]] = None, environments: Optional[Mapping[str, str]] = None,
                 requirements: Optional[Sequence[str]] = None, base_job_name: Optional[str] = None,
                 max_run_time: Optional[int] = None, instance_type: Optional[str] = None, instance_count: Optional[int] = None,
                 session: Optional[Session] = None, labels: Optional[Mapping[str, str]] = None, job_type: str = "PyTorchJob",
                 **more: Any) -> None:
        super().__init__(image_uri, command, source_dir, None, job_type, parameters, environments, requirements, base_job_name,
                         max_run_time, instance_type, instance_count, labels, session, more)
        self._outputs: List[str] = []

    @property
    def parameters(self) -> Dict[str, Any]:
        return self.values

    def run(self, inputs: Optional[Mapping[str, Any]] = None, outputs: Optional[Mapping[str, Any]] = None, wait: bool = True,
            show_logs: bool = True, job_name: Optional[str] = None) -> TrainingJob:
        """Submits the job; with `wait` shows its log and returns when it has ended."""
        self._outputs = list(outputs or {})
        job = self._submit(self.describe(inputs, outputs, job_name))
        return job.wait(show_logs=show_logs) if wait else job

    def get_outputs_data(self) -> Dict[str, str]:
        """Channel -> where its files are."""
        return {name: self._latest().output_path(name) for name in self._outputs}


_CLOUD_ONLY = ("spot_spec", "resource_type", "settings", "user_vpc_config", "experiment_config", "resource_id")


def _without_effect(**values: Any) -> None:
    for name, value in values.items():
        if value is not None:
            warnings.warn(f"{name} concerns PAI's cloud; it has no effect here", stacklevel=4)


def _job_fields(more: Mapping[str, Any]) -> Dict[str, Any]:
    _without_effect(**{k: v for k, v in more.items() if k in _CLOUD_ONLY})
    fields = {k: v for k, v in more.items() if k not in _CLOUD_ONLY}
    return {**_instance(fields.pop("instance_spec", None)), **fields}


def _instance(spec: Any) -> Dict[str, Any]:
    """cpu, memory and gpu of an instance_spec of PAI, which has memory in GiB.

    >>> _instance({"CPU": "4", "Memory": "8", "GPU": "1"})
    {'cpu': '4', 'memory': '8Gi', 'gpu': 1}
    """
    given = {k.lower(): v for k, v in (spec.to_dict() if hasattr(spec, "to_dict") else dict(spec or {})).items()}
    made: Dict[str, Any] = {"cpu": str(given["cpu"])} if given.get("cpu") else {}
    if given.get("memory"):
        memory = str(given["memory"])
        made["memory"] = memory + "Gi" if memory.isdigit() else memory
    if given.get("gpu"):
        made["gpu"] = int(given["gpu"])
    return made


def _metric(given: Any) -> Dict[str, str]:
    """A definition of a metric: {"Name": ..., "Regex": ...}."""
    given = given.to_dict() if hasattr(given, "to_dict") else given
    if not isinstance(given, Mapping):
        raise ConfigError(f"metric_definitions: a list of {{'Name': ..., 'Regex': ...}} is wanted, not one of {type(given).__name__}")
    found = dict(given)
    for name in ("Name", "Regex"):
        if not found.get(name):
            raise ConfigError(f"metric_definitions: {found} has no {name!r}: {{'Name': 'auc', 'Regex': r'auc=([0-9.]+)'}}")
    return found


def _directory(path: str) -> str:
    found = os.path.abspath(os.path.expanduser(path))
    if not os.path.isdir(found):
        raise ConfigError(f"source_dir: there is no directory {path!r}")
    return found


def _channels(kind: str, given: Optional[Mapping[str, Any]]) -> Dict[str, str]:
    if given is not None and not isinstance(given, Mapping):
        raise ConfigError(f"{kind}: a dict of channels and paths is wanted, not {type(given).__name__}")
    return {k: _channel(v) for k, v in (given or {}).items()}


def _channel(value: Any) -> str:
    """A path as an absolute one, URIs and datasets as they are; None is kept with the job."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple, dict)) or hasattr(value, "columns"):
        raise DataError(f"a channel is a path, a URI or a dataset, not {type(value).__name__}: write the data to a file")
    text = str(value)
    if not text:
        return text
    if text.startswith("file://"):
        text = text[len("file://"):]
    if "://" in text or text.startswith("dataset:"):
        return text
    kept = "/" if text.endswith("/") else ""
    return os.path.abspath(os.path.expanduser(text)) + kept


def _plain(name: str, more: str = "") -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "_" + more) else "_" for c in name)


def _random_word() -> str:
    return "".join(random.choices(string.ascii_lowercase + string.digits, k=6))


def _clone(config: Mapping[str, str], source_dir: Optional[str], place: str) -> str:
    """The tree of a git repository; source_dir is a directory inside it."""
    for key in config:
        if key not in ("repo", "branch", "commit", "username", "password", "token"):
            raise ConfigError(f"git_config has no {key!r}")
    if not config.get("repo"):
        raise ConfigError("git_config needs 'repo'")
    tree = os.path.join(place, "tree")
    clone = ["git", "clone", "--quiet"]
    if config.get("branch") or not config.get("commit"):
        clone.append(f"--branch={config.get('branch', 'master')}")
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", **_git_login(config)}
    for args in (clone + ["--", config["repo"], tree],
                 ["git", "-C", tree, "checkout", "--quiet", "--detach", config.get("commit", "HEAD"), "--"]):
        done = subprocess.run(args, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise ConfigError(f"git_config: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else 'git failed'}")
    found = os.path.realpath(os.path.join(tree, source_dir or "."))
    if os.path.commonpath([found, os.path.realpath(tree)]) != os.path.realpath(tree) or not os.path.isdir(found):
        raise ConfigError(f"source_dir: there is no directory {source_dir!r} in {config['repo']}")
    return found


def _git_login(config: Mapping[str, str]) -> Dict[str, str]:
    """Credentials in the environment of git alone, not in its command line."""
    user, word = config.get("username", "git"), config.get("token") or config.get("password")
    if not word:
        return {}
    helper = '!f() { test "$1" = get && printf "username=%s\\npassword=%s\\n" "$TRAINYARD_GIT_USER" "$TRAINYARD_GIT_WORD"; }; f'
    return {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "credential.helper", "GIT_CONFIG_VALUE_0": helper,
            "TRAINYARD_GIT_USER": user, "TRAINYARD_GIT_WORD": word}


def _read_algorithm(name: str, version: Optional[str], registry: Optional[str]) -> "tuple[Dict[str, Any], str]":
    root = registry or os.environ.get("TRAINYARD_ALGORITHMS")
    if not root:
        raise ConfigError(f"algorithm {name!r}: name a directory of algorithms (registry=, or TRAINYARD_ALGORITHMS)")
    home = os.path.join(root, name)
    versions = sorted(os.listdir(home)) if os.path.isdir(home) else []
    if not versions or (version and version not in versions):
        raise ConfigError(f"there is no algorithm {name!r}{f' of version {version!r}' if version else ''} in {root!r}")
    if not version:
        version = versions[-1]
        warnings.warn(f"algorithm {name!r}: no version given, {version!r} is taken", stacklevel=3)
    home = os.path.join(home, version)
    try:
        with open(os.path.join(home, "algorithm.json"), encoding="utf-8") as f:
            return dict(json.load(f)), home
    except (OSError, TypeError, ValueError) as e:
        raise ConfigError(f"algorithm {name!r}: {home}/algorithm.json cannot be read: {e}") from None


def _check_channels(kind: str, definitions: Sequence[Mapping[str, Any]], given: Mapping[str, Any], all_needed: bool = True) -> None:
    """Required ones are there; one that the algorithm does not define warns. Outputs that are not named are kept with the job."""
    missing = [str(d["Name"]) for d in definitions if all_needed and d.get("Required") and d["Name"] not in given]
    if missing:
        raise ConfigError(f"the algorithm requires the {kind} channel{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}")
    for name in given:
        if definitions and name not in {d["Name"] for d in definitions}:
            warnings.warn(f"the algorithm does not define the {kind} channel {name!r}", stacklevel=3)


def _with_defaults(definitions: Sequence[Mapping[str, Any]], given: Mapping[str, Any]) -> Dict[str, Any]:
    """Defaults of the algorithm, then what is given; an unknown name is kept, with a warning."""
    values: Dict[str, Any] = {}
    for d in definitions:
        if d.get("DefaultValue") not in (None, "") or d.get("Type") == "String":
            values[d["Name"]] = d.get("DefaultValue") or ""
        elif d.get("Required") and d["Name"] not in given:
            raise ConfigError(f"hyperparameter {d['Name']!r} is required")
    for name in given:
        if definitions and name not in {d["Name"] for d in definitions}:
            warnings.warn(f"the algorithm does not define the hyperparameter {name!r}", stacklevel=4)
    values.update(given)
    return values
