# SPDX-License-Identifier: Apache-2.0
"""What an instance type means here: processors, memory, cards."""
from __future__ import annotations

import re
from typing import Any, Dict, Mapping, Optional

from .errors import ConfigError

_SIZES = {"large": 2, "xlarge": 4}
_ECS = re.compile(r"^ecs\.(?P<family>[a-z]+)(?P<generation>\d+)?[a-z]*(?:-c(?P<cpu>\d+)g(?P<gpu>\d+))?\.(?P<times>\d*)(?P<size>x?large)$")
#: GiB of memory per processor of the common families: compute, general, memory.
_GIB = {"c": 2, "g": 4, "r": 8}


def resources(instance_type: Optional[str], image: Optional[str], profiles: Mapping[str, Mapping[str, Any]]) -> Dict[str, Any]:
    """The fields cpu, memory, gpu and image of a job.

    >>> resources("ecs.c6.xlarge", None, {})
    {'cpu': '4', 'memory': '8Gi'}
    >>> resources("ecs.gn6v-c10g1.20xlarge", "img", {})
    {'gpu': 1, 'cpu': '10', 'image': 'img'}
    >>> resources("small", "img", {"small": {"cpu": 1, "image": "ignore"}})
    {'cpu': '1'}
    >>> resources(None, None, {})
    {}
    >>> resources("big", None, {})
    Traceback (most recent call last):
    trainyard.errors.ConfigError: instance_type 'big': this is neither local, local_gpu, an ECS type nor a profile of the session
    """
    found: Dict[str, Any] = {}
    profile = profiles.get(instance_type or "")
    if profile is not None:
        found = {k: (v if k == "gpu" else str(v)) for k, v in profile.items() if k in ("cpu", "memory", "gpu")}
        if profile.get("image") == "ignore":
            image = None
        elif profile.get("image"):
            image = str(profile["image"])
    elif instance_type == "local_gpu":
        found = {"gpu": 1}
    elif instance_type and instance_type != "local":
        found = _ecs(instance_type)
    if image:
        found["image"] = image
    return found


def is_ecs(instance_type: Optional[str], profiles: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether its size is that of PAI's cloud, rather than one that somebody chose for here."""
    return bool(instance_type and instance_type not in profiles and _ECS.match(instance_type))


def _ecs(name: str) -> Dict[str, Any]:
    match = _ECS.match(name)
    if not match:
        raise ConfigError(f"instance_type {name!r}: this is neither local, local_gpu, an ECS type nor a profile of the session")
    if match["cpu"]:
        return {"gpu": int(match["gpu"]), "cpu": match["cpu"]}
    cpus = _SIZES[match["size"]] * int(match["times"] or 1)
    found: Dict[str, Any] = {"gpu": 1} if match["family"].startswith("g") and len(match["family"]) > 1 else {}
    found["cpu"] = str(cpus)
    if match["family"] in _GIB:
        found["memory"] = f"{_GIB[match['family']] * cpus}Gi"
    return found
