# SPDX-License-Identifier: Apache-2.0
"""Descriptions of services, as pai.model has them. Scripts make and change them beside training; only the cloud deploys them.

>>> spec = InferenceSpec(processor="pmml")
>>> spec.add_option("metadata.rpc.keepalive", 1000)
>>> spec.metadata.rpc.batching = True
>>> spec.to_dict()
{'processor': 'pmml', 'metadata': {'rpc': {'keepalive': 1000, 'batching': True}}}
"""
from __future__ import annotations

import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence

from ..errors import ConfigError, TrainyardError

CODE, MODEL, PORT = "/ml/usercode/", "/eas/workspace/model/", 8000


class DuplicatedMountException(TrainyardError):
    """The same source is mounted twice."""


class MountPathIsOccupiedException(TrainyardError):
    """Two sources are mounted at one path."""


class Node(dict):  # type: ignore[type-arg]
    """A dict whose keys are attributes; one that is missing is made when it is named."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self:
            self[name] = Node()
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = _nodes(value)


def _nodes(value: Any) -> Any:
    if isinstance(value, Mapping):
        return Node({k: _nodes(v) for k, v in value.items()})
    return [_nodes(v) for v in value] if isinstance(value, (list, tuple)) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list) else value


class InferenceSpec(Node):
    """How a model is served."""

    def __init__(self, *args: Mapping[str, Any], **fields: Any) -> None:
        super().__init__(_nodes({**dict(*args), **fields}))

    @classmethod
    def from_dict(cls, config: Optional[Mapping[str, Any]]) -> "InferenceSpec":
        return cls(config or {})

    def to_dict(self) -> Dict[str, Any]:
        return dict(_plain(self))

    def add_option(self, name: str, value: Any) -> None:
        """Sets the value at a path: add_option("metadata.rpc.keepalive", 1000)."""
        *path, last = name.split(".")
        at: Any = self
        for step in path:
            at = getattr(at, step)
        at[last] = _nodes(value)

    def merge_options(self, options: Mapping[str, Any]) -> None:
        for name, value in options.items():
            self.add_option(name, value)

    def is_container_serving(self) -> bool:
        return "containers" in self

    def mount(self, source: str, mount_path: str, session: Any = None, properties: Optional[Mapping[str, Any]] = None) -> Any:
        """Mounts a directory, in the place of what was there."""
        if not isinstance(source, str) or not (source.startswith("oss://") or os.path.exists(source)):
            raise ValueError(f"mount: {source!r} is neither an OSS URI nor a path that exists")
        source = _directory(source)
        others = [s for s in self.get("storage", []) if s.get("mount_path") != mount_path]
        if source in [s.get("oss", {}).get("path") for s in others]:
            raise DuplicatedMountException(f"{source} is mounted already")
        made = _nodes({"mount_path": mount_path, "oss": {"path": source}, **({"properties": properties} if properties else {})})
        self["storage"] = [*others, made]
        return made

    def set_model_data(self, model_data: Optional[str], mount_path: Optional[str] = None) -> None:
        """Where the model is; takes the place of the one set before."""
        if not model_data:
            return
        if not self.is_container_serving():
            self["model_path"] = model_data
            return
        for mounted in self.get("storage", []):
            if mounted.get("properties", {}).get("resource_type") == "model":
                mounted["oss"] = Node(path=_directory(model_data))
                return
        self.mount(model_data, mount_path or MODEL, properties={"resource_type": "model", "resource_use": "base"})

    def __repr__(self) -> str:
        return json.dumps(self.to_dict(), indent=4, sort_keys=True)


def _directory(source: str) -> str:
    """The directory of a file, as a service mounts it."""
    return source if source.endswith("/") or os.path.isdir(source) else source[:source.rfind("/") + 1]


class StorageConfig:
    """A storage that a service mounts."""

    def __init__(self, **config: Any) -> None:
        self.config = config

    def to_dict(self) -> Dict[str, Any]:
        return dict(self.config)


class RawStorageConfig(StorageConfig):
    """As it is."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(**config)


class OssStorageConfig(StorageConfig):
    """A path of OSS."""

    def __init__(self, mount_path: str, oss_path: str, oss_endpoint: Optional[str] = None) -> None:
        super().__init__(mount_path=mount_path, oss={"path": oss_path, **({"endpoint": oss_endpoint} if oss_endpoint else {})})


class NfsStorageConfig(StorageConfig):
    """A directory of a server of NFS."""

    def __init__(self, mount_path: str, nfs_server: str, nfs_path: str = "/", read_only: bool = False) -> None:
        super().__init__(mount_path=mount_path, nfs={"path": nfs_path, "readOnly": read_only, "server": nfs_server})


class NodeStorageConfig(StorageConfig):
    """A directory of the machine."""

    def __init__(self, mount_path: str) -> None:
        super().__init__(mount_path=mount_path, empty_dir={})


class SharedMemoryConfig(StorageConfig):
    """Memory shared by the processes of a service, in GiB."""

    def __init__(self, size_limit: int) -> None:
        super().__init__(mount_path="/dev/shm", empty_dir={"medium": "memory", "size_limit": size_limit})


class ResourceConfig(StorageConfig):
    """What a service may use; memory in MiB."""

    def __init__(self, cpu: int, memory: int, gpu: Optional[int] = None, gpu_memory: Optional[int] = None) -> None:
        given = {"cpu": cpu, "gpu": gpu, "memory": memory, "gpu_memory": gpu_memory}
        super().__init__(**{k: v for k, v in given.items() if v is not None})


def container_serving_spec(command: str, image_uri: Any, source_dir: Optional[str] = None, port: Optional[int] = None,
                           environment_variables: Optional[Mapping[str, Any]] = None, requirements: Optional[Sequence[str]] = None,
                           requirements_path: Optional[str] = None, health_check: Optional[Mapping[str, Any]] = None,
                           storage_configs: Optional[Sequence[StorageConfig]] = None, session: Any = None,
                           **more: Any) -> InferenceSpec:
    """A service that a command in a container offers."""
    if more:
        raise ConfigError(f"container_serving_spec: there is no {next(iter(more))!r} here")
    container: Dict[str, Any] = {"image": getattr(image_uri, "image_uri", image_uri), "port": port or PORT, "script": command,
                                 "env": [{"name": k, "value": str(v)} for k, v in (environment_variables or {}).items()]}
    if source_dir:
        if not os.path.isdir(source_dir):
            raise ValueError(f"source_dir: there is no directory {source_dir!r}")
        container["script"] = f"cd {CODE}\n{command}\n"
        if os.path.exists(os.path.join(source_dir, "requirements.txt")):
            requirements_path = requirements_path or f"{CODE}requirements.txt"
    if health_check:
        container["health_check"] = dict(health_check)
    if requirements:
        container["prepare"] = {"pythonRequirements": list(requirements)}
    elif requirements_path:
        container["prepare"] = {"pythonRequirementsPath": requirements_path}
    spec = InferenceSpec(containers=[container])
    mounted: List[Dict[str, Any]] = [s.to_dict() for s in storage_configs or []]
    if mounted:
        spec.storage = mounted
    if source_dir:
        spec.mount(source_dir, CODE)
    return spec
