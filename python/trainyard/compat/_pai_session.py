# SPDX-License-Identifier: Apache-2.0
"""pai.session: sessions that also know what PAI's scripts ask them for."""
from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, replace
from typing import Any, List, NamedTuple, Optional, Tuple

from .. import profiles
from .. import session as _ours
from ..errors import ConfigError, UsageError

_default_session: Any = None
_ARGUMENTS = ("access_key_id", "access_key_secret", "security_token", "region_id", "credential_config", "oss_bucket_name",
              "oss_endpoint", "workspace_id", "network")


class Bucket(NamedTuple):
    """The names of a bucket; its objects are in the cloud."""

    bucket_name: Optional[str]
    endpoint: Optional[str]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise UsageError(f"oss_bucket.{name} is part of PAI's cloud; jobs here read and write files, or object stores by their URI")


@dataclass(frozen=True)
class Session(_ours.Session):
    """A session of Trainyard, by the names of PAI's; region, workspace and bucket are kept and have no effect."""

    @property
    def oss_bucket(self) -> Bucket:
        return Bucket(self.oss_bucket_name, self.oss_endpoint)

    @property
    def workspace_name(self) -> Optional[str]:
        return self.workspace_id

    @property
    def console_uri(self) -> Optional[str]:
        """The console of the server."""
        return self.server

    def get_oss_bucket(self, bucket_name: str, endpoint: Optional[str] = None) -> Bucket:
        return Bucket(bucket_name, endpoint or self.oss_endpoint)

    def patch_oss_endpoint(self, oss_uri: str) -> str:
        return oss_uri

    def get_storage_path_by_category(self, category: str, dir_name: Optional[str] = None) -> str:
        return f"pai/{category}/{dir_name or time.strftime('%Y%m%d_%H%M%S')}/"

    def is_supported_training_instance(self, instance_type: str) -> bool:
        try:
            profiles.resources(instance_type, None, self.profiles)
        except ConfigError:
            return False
        return True

    def is_gpu_training_instance(self, instance_type: str) -> bool:
        return bool(profiles.resources(instance_type, None, self.profiles).get("gpu"))

    def get_default_oss_storage(self, *args: Any, **kwargs: Any) -> Tuple[Optional[str], Optional[str]]:
        return self.oss_bucket_name, self.oss_endpoint

    @staticmethod
    def _get_default_credential_client() -> Any:
        """No credentials are needed here."""
        return None


def _of(session: Any) -> Any:
    """A session of Trainyard as one of these."""
    if isinstance(session, Session) or not isinstance(session, _ours.Session):
        return session
    return Session(**{name: getattr(session, name) for name in asdict(session)})


def _init_default_session_from_env() -> Optional[Session]:
    """Inside a job or an instance of PAI: its region and workspace."""
    if not (os.environ.get("DLC_JOB_ID") or os.environ.get("DSW_INSTANCE_ID")):
        return None
    return Session(region_id=os.environ.get("REGION") or os.environ.get("dsw_region"), workspace_id=os.environ.get("PAI_WORKSPACE_ID"))


def _saved() -> Optional[Session]:
    """What the SDK's own configuration tool has left."""
    try:
        with open(os.path.expanduser("~/.pai/config.json"), encoding="utf-8") as f:
            kept = json.load(f)
    except (OSError, ValueError):
        return None
    return Session(**{k: v for k, v in kept.items() if k in ("region_id", "workspace_id", "oss_bucket_name", "oss_endpoint")})


def get_default_session() -> Any:
    """The one set up, else the saved one, else that of the environment."""
    if _default_session is not None:
        return _default_session
    found = _of(_ours.get_default_session())
    if found == Session():
        return _saved() or _init_default_session_from_env() or found
    return found


def setup_default_session(*args: Any, **settings: Any) -> Any:
    """Makes a session the default one; what is not given stays as it was. Keys of the cloud have no effect."""
    global _default_session
    if len(args) > len(_ARGUMENTS):
        raise TypeError(f"{len(args)} arguments are more than there are")
    settings.update(zip(_ARGUMENTS, args))
    if settings.get("access_key_id") and settings.get("credential_config"):
        raise ValueError("an access key and a credential_config are given: one of them is enough")
    given = _known(settings)
    _default_session = replace(_of(get_default_session()), **given)
    _ours._default = _default_session
    return _default_session


def _known(settings: Any) -> Any:
    unknown: List[str] = [name for name in settings if name not in Session.__dataclass_fields__ and name not in _ARGUMENTS]
    if unknown:
        raise TypeError(f"a session has no {unknown[0]!r}")
    return {k: v for k, v in settings.items() if k in Session.__dataclass_fields__ and v is not None}
