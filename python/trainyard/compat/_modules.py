# SPDX-License-Identifier: Apache-2.0
"""Modules that exist only in this process, and scripts run with them."""
from __future__ import annotations

import importlib.util
import os
import runpy
import sys
import types
from typing import Any, Mapping, Union

from ..errors import UsageError


def install(package: str, modules: Mapping[str, Union[types.ModuleType, Mapping[str, Any]]]) -> None:
    """Makes `package` and its modules importable; refused when a package of that name is installed."""
    there = sys.modules.get(package)
    if there is not None and getattr(there, "_trainyard", False):
        return
    if there is not None or _is_installed(package):
        raise UsageError(f"a package {package!r} is installed already; it is not replaced")
    make(package, modules)


def _is_installed(package: str) -> bool:
    """A package, not a mere directory of that name."""
    found = importlib.util.find_spec(package)
    return found is not None and found.origin is not None


def make(package: str, modules: Mapping[str, Union[types.ModuleType, Mapping[str, Any]]]) -> None:
    """Makes them, whatever else there is."""
    for name, members in modules.items():
        if isinstance(members, types.ModuleType):
            module = members
        else:
            module = types.ModuleType(name, f"{name}, as Trainyard offers it.")
            module.__dict__.update(members)
            module.__dict__.update(_trainyard=True, __path__=[])
        sys.modules[name] = module
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, module)


def run_script(usage: str, prepare: Any) -> None:
    """python -m MODULE SCRIPT [ARGUMENTS]: the script, after prepare()."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(f"usage: {usage} SCRIPT [ARGUMENTS]", file=sys.stderr)
        raise SystemExit(0 if len(sys.argv) > 1 else 2)
    prepare()
    del sys.argv[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")
