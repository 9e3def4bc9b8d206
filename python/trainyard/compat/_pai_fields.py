# SPDX-License-Identifier: Apache-2.0
"""Groups of settings as pai.job has them: named fields, which to_dict() writes as the service spells them.

>>> Channel(name="train", required=True).to_dict()
{'Name': 'train', 'Required': True}
>>> AlgorithmSpec(command=["sh"], hyperparameter_definitions=[HyperParameterDefinition(name="lr", default_value="0.1")]).to_dict()
{'Command': ['sh'], 'HyperParameters': [{'Name': 'lr', 'DefaultValue': '0.1'}]}
>>> Channel(nmae="train")
Traceback (most recent call last):
TypeError: Channel has no field 'nmae'
"""
from __future__ import annotations

from enum import Enum
from typing import Any, Dict, List, Tuple

_SPELLED = {"cpu": "CPU", "gpu": "GPU", "hyperparameter_definitions": "HyperParameters"}


class Fields:
    """Named values."""

    names: Tuple[str, ...] = ()

    def __init__(self, *args: Any, **given: Any) -> None:
        given.update(zip(self.names, args))
        for name in given:
            if name not in self.names:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
        for name in self.names:
            setattr(self, name, given.get(name))

    def to_dict(self) -> Dict[str, Any]:
        """What is set, in the service's spelling."""
        spelled = {name: _SPELLED.get(name) or "".join(word.title() for word in name.split("_")) for name in self.names}
        return {spelled[name]: _plain(value) for name in self.names if (value := getattr(self, name)) is not None}

    model_dump = to_dict

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name in self.names if (value := getattr(self, name)) is not None)
        return f"{type(self).__name__}({shown})"


def _plain(value: Any) -> Any:
    if isinstance(value, Fields):
        return value.to_dict()
    if isinstance(value, Enum):
        return value.value
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


class SpotStrategy(str, Enum):
    """How spot instances are bid for."""

    SpotWithPriceLimit = "SpotWithPriceLimit"
    SpotAsPriceGo = "SpotAsPriceGo"


class ResourceType(str, Enum):
    """Kinds of the cloud's machines."""

    Lingjun = "Lingjun"
    General = "General"


class SpotSpec(Fields):
    """Prices of spot instances; no effect here."""

    names = ("spot_strategy", "spot_discount_limit")


class UserVpcConfig(Fields):
    """Networks of the cloud; no effect here."""

    names = ("vpc_id", "security_group_id", "switch_id", "extended_cidrs")


class ExperimentConfig(Fields):
    """Which experiment a job belongs to."""

    names = ("experiment_id", "experiment_name")


class InstanceSpec(Fields):
    """The size of a worker; memory in GiB."""

    names = ("memory", "cpu", "gpu", "shared_memory")


class DatasetConfig(Fields):
    """A dataset as an input."""

    names = ("dataset_id", "name", "dataset_name")

    def __str__(self) -> str:
        return f"dataset:{self.dataset_id}"  # type: ignore[attr-defined]


class UriInput(Fields):
    """A place as an input."""

    names = ("name", "input_uri")

    def __str__(self) -> str:
        return str(self.input_uri)  # type: ignore[attr-defined]


class UriOutput(Fields):
    """A place as an output."""

    names = ("name", "output_uri")

    def __str__(self) -> str:
        return str(self.output_uri)  # type: ignore[attr-defined]


class OssLocation(Fields):
    """A place in OSS."""

    names = ("bucket", "key", "endpoint")


class CodeDir(Fields):
    """Where an algorithm's code is."""

    names = ("location_value", "location_type")


class Channel(Fields):
    """An input or an output of an algorithm."""

    names = ("name", "description", "required", "supported_channel_types", "properties")


class HyperParameterDefinition(Fields):
    """A hyperparameter of an algorithm."""

    names = ("name", "type", "default_value", "description", "required", "range")


class MetricDefinition(Fields):
    """A metric in the log of an algorithm."""

    names = ("name", "regex", "description")


class AlgorithmSpec(Fields):
    """An algorithm: command, image, channels, hyperparameters."""

    names = ("command", "image", "supported_channel_types", "output_channels", "input_channels", "supports_distributed_training",
             "supported_instance_types", "metric_definitions", "hyperparameter_definitions", "job_type", "code_dir", "customization")


_KINDS: List[type] = [SpotStrategy, ResourceType, *Fields.__subclasses__()]
NAMES = {kind.__name__: kind for kind in _KINDS}
