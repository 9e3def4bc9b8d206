# SPDX-License-Identifier: Apache-2.0
"""Where jobs live: on this machine, or at a server."""
from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Optional

__all__ = ["Session", "setup_default_session", "get_default_session"]


@dataclass(frozen=True)
class Session:
    """Where jobs go, and what instance types mean.

    Without arguments it is this machine, or the server that `trainyard login` or TRAINYARD_SERVER named.
    """

    server: Optional[str] = None  #: URL of a server; "local": this machine, whatever the login
    directory: Optional[str] = None  #: jobs directory of this machine
    project: Optional[str] = None
    queue: Optional[str] = None
    profiles: Dict[str, Dict[str, Any]] = field(default_factory=dict)  #: instance type -> {"cpu", "memory", "gpu", "image"}
    images: Dict[str, str] = field(default_factory=dict)  #: framework, or framework:version[:accelerator] -> image, for pai.image
    region_id: Optional[str] = None  #: kept for scripts of PAI; has no effect
    workspace_id: Optional[str] = None  #: kept for scripts of PAI; has no effect
    oss_bucket_name: Optional[str] = None  #: kept for scripts of PAI; has no effect
    oss_endpoint: Optional[str] = None  #: kept for scripts of PAI; has no effect

    def place(self) -> List[str]:
        """The options that say where jobs are."""
        found = []
        if self.server:
            found.append(f"--server={self.server}")
        if self.directory:
            found.append(f"--dir={self.directory}")
        return found

    def save_config(self, path: Optional[str] = None) -> str:
        """Writes it where get_default_session() reads it."""
        path = path or config_path()
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        kept = {k: v for k, v in self.__dict__.items() if v}
        with open(path, "w", encoding="utf-8") as f:
            json.dump(kept, f, indent=4)
        return path


def config_path() -> str:
    return os.environ.get("PAI_CONFIG_PATH") or os.path.expanduser("~/.config/trainyard/python.json")


_default: Optional[Session] = None


def setup_default_session(**settings: Any) -> Session:
    """Makes a session the default one; what is not given stays as it was.

    >>> setup_default_session(server="local", region_id="cn-hangzhou").region_id
    'cn-hangzhou'
    >>> setup_default_session(project="ads").server
    'local'
    >>> setup_default_session(projct="ads")
    Traceback (most recent call last):
    TypeError: a session has no 'projct'
    """
    global _default
    known = Session.__dataclass_fields__
    for name in settings:
        if name not in known and name not in _CLOUD_ONLY:
            raise TypeError(f"a session has no {name!r}")
    _default = replace(get_default_session(), **{k: v for k, v in settings.items() if k in known})
    return _default


#: Arguments of PAI's function that concern its cloud alone; accepted, without effect.
_CLOUD_ONLY = {"access_key_id", "access_key_secret", "security_token", "credential_config", "network"}


def get_default_session() -> Session:
    """The default session: the one set up, else the saved one, else this machine or the login's server."""
    if _default:
        return _default
    try:
        with open(config_path(), encoding="utf-8") as f:
            saved = json.load(f)
    except FileNotFoundError:
        return Session()
    return Session(**{k: v for k, v in saved.items() if k in Session.__dataclass_fields__})
