# SPDX-License-Identifier: Apache-2.0
"""Addresses of data as PAI writes them, taken apart. None: it is no such address.

>>> parse_oss_uri("oss://b.oss-cn-hangzhou.aliyuncs.com/models/a.pth"), parse_oss_uri("oss://b/models/a.pth")
(('b', 'cn-hangzhou', 'models/a.pth'), None)
>>> parse_nas_uri("nas://06.cn-hangzhou/"), parse_odps_uri("odps://p/tables/t"), parse_pai_dataset_uri("pai://datasets/d-1/2")
(('nas://06.cn-hangzhou/', 'cn-hangzhou'), ('p', None, 't'), ('d-1', '2'))
>>> parse_local_file_uri("file:///mnt/a"), is_odps_table_uri("odps://p/tables/t"), is_filesystem_uri("nas://06.cn-hangzhou/")
('/mnt/a', True, True)
"""
from __future__ import annotations

import random
import re
import string
import time
from typing import Any, Optional, Tuple

_REGION = r"[a-z]{2}-[a-z0-9]+(?:-\d+)?"
_OSS = re.compile(rf"^oss://([^./]+)\.oss-({_REGION})(?:-internal)?\.aliyuncs\.com(?:/(.*))?$")
_ODPS = re.compile(r"^odps://([^/]+)/(?:([^/]+)/)?tables/([^/]+)/?(?:.*)$")
_DATASET = re.compile(r"^pai://datasets/([^/]+)(?:/([^/]+))?(?:/.*)?$")


def is_oss_uri(uri: Any) -> bool:
    return isinstance(uri, str) and uri.startswith("oss://")


def is_filesystem_uri(uri: Any) -> bool:
    return isinstance(uri, str) and uri.startswith(("nas://", "cpfs://", "bmcpfs://"))


def is_odps_table_uri(uri: Any) -> bool:
    return isinstance(uri, str) and _ODPS.match(uri) is not None


def parse_region_id_from_endpoint(endpoint: Optional[str]) -> Optional[str]:
    match = re.match(rf"^({_REGION}?)(?:-internal)?(?:\.aliyuncs\.com)?$", endpoint or "")
    return match[1] if match else None


def parse_oss_uri(uri: str) -> Optional[Tuple[str, str, str]]:
    match = _OSS.match(uri)
    return (match[1], match[2], match[3] or "/") if match else None


def _parse_file_system(scheme: str, uri: str) -> Optional[Tuple[str, str]]:
    match = re.match(rf"^{scheme}://[^./]+\.({_REGION})(?:[./].*)?$", uri)
    return (uri, match[1]) if match else None


def parse_nas_uri(uri: str) -> Optional[Tuple[str, str]]:
    return _parse_file_system("nas", uri)


def parse_cpfs_uri(uri: str) -> Optional[Tuple[str, str]]:
    return _parse_file_system("cpfs", uri)


def parse_bmcpfs_uri(uri: str) -> Optional[Tuple[str, str]]:
    return _parse_file_system("bmcpfs", uri)


def parse_local_file_uri(uri: str) -> Optional[str]:
    return uri[len("file://"):] if uri.startswith("file:///") else None


def parse_pai_dataset_uri(uri: str) -> Optional[Tuple[str, str]]:
    match = _DATASET.match(uri)
    return (match[1], match[2] or "1") if match else None


def parse_odps_uri(uri: str) -> Optional[Tuple[str, Optional[str], str]]:
    match = _ODPS.match(uri)
    return (match[1], match[2], match[3]) if match else None


def generate_repr(thing: Any, *names: str, **more: Any) -> str:
    """Its class, with the attributes named and what is given.

    >>> class Job:
    ...     name = "a"
    >>> generate_repr(Job(), "name", state="Running")
    'Job(name=a, state=Running)'
    """
    shown = [f"{name}={getattr(thing, name)}" for name in names] + [f"{name}={value}" for name, value in more.items()]
    return f"{type(thing).__name__}({', '.join(shown)})"


def is_nas_uri(uri: Any) -> bool:
    return isinstance(uri, str) and uri.startswith("nas://")


def is_dataset_id(item: Any) -> bool:
    return isinstance(item, str) and re.match(r"^d(?:ata)?-?[a-z0-9]{16,20}$", item) is not None


def is_local_run_instance_type(instance_type: Optional[str]) -> bool:
    return (instance_type or "").strip() in ("local", "local_gpu")


def random_str(n: int) -> str:
    """Letters and digits."""
    return "".join(random.choices(string.ascii_lowercase + string.digits, k=n))


def timestamp(sep: str = "-", utc: bool = False) -> str:
    now = time.time()
    stamp = time.strftime(f"%Y%m%d{sep}%H%M%S", time.gmtime(now) if utc else time.localtime(now))
    return f"{stamp}{sep}{int(now * 1000) % 1000:03d}"


def name_from_base(base_name: str, sep: str = "-") -> str:
    """A name with the time."""
    return f"{base_name}{sep}{timestamp(sep)}"


def to_plain_text(text: str, allowed_characters: str = string.ascii_letters + string.digits + "_", repl: str = "_") -> str:
    """The same with `repl` for what is not allowed.

    >>> to_plain_text("my-job 1")
    'my_job_1'
    """
    return "".join(c if c in allowed_characters else repl for c in text)


def camel_to_snake(name: str) -> str:
    """
    >>> camel_to_snake("InputChannels"), snake_to_camel("input_channels")
    ('input_channels', 'InputChannels')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def snake_to_camel(name: str) -> str:
    return "".join(word.title() for word in name.split("_"))
