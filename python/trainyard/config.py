# SPDX-License-Identifier: Apache-2.0
"""A pipeline.config with overrides, checked by the program's own schema.

    config = Config("pipeline.config")
    config.train_config.num_epochs = 3
    config["feature_configs[*].embedding_dim"] = 32
    config.check()
"""
from __future__ import annotations

import json
import os
import re
from typing import Any, Dict, List, Mapping, Optional, Union

from . import _program
from .errors import ConfigError, Problem

__all__ = ["Config"]


class _Path:
    """A place in the config; assigning to an attribute of it records an override."""

    _config: "Config"
    _path: str

    def __init__(self, config: "Config", path: str) -> None:
        object.__setattr__(self, "_config", config)
        object.__setattr__(self, "_path", path)

    def __getattr__(self, name: str) -> "_Path":
        if name.startswith("_"):
            raise AttributeError(name)
        return _Path(self._config, f"{self._path}.{name}")

    def __getitem__(self, index: Union[int, str]) -> "_Path":
        return _Path(self._config, f"{self._path}[{index}]")

    def __setattr__(self, name: str, value: Any) -> None:
        self._config[f"{self._path}.{name}"] = value

    def __repr__(self) -> str:
        return f"<{self._path} of {self._config.path}>"


class Config:
    """A config file and overrides of its values; the file itself is not changed.

    >>> c = Config("a.config")
    >>> c.train_config.num_epochs = 3
    >>> c.feature_configs[0].id_feature.embedding_dim = 8
    >>> c["data_config.label_fields"] = ["clk", "buy"]
    >>> c.values
    {'train_config.num_epochs': 3, 'feature_configs[0].id_feature.embedding_dim': 8, 'data_config.label_fields': ['clk', 'buy']}
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], values: Optional[Mapping[str, Any]] = None) -> None:
        object.__setattr__(self, "path", os.fspath(path))
        object.__setattr__(self, "values", dict(values or {}))

    path: str
    values: Dict[str, Any]

    @classmethod
    def of(cls, config: Union[str, "os.PathLike[str]", "Config"]) -> "Config":
        return config if isinstance(config, Config) else cls(config)

    def __getattr__(self, name: str) -> _Path:
        if name.startswith("_"):
            raise AttributeError(name)
        return _Path(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __setitem__(self, path: str, value: Any) -> None:
        self.values[path] = value

    def with_values(self, values: Optional[Mapping[str, Any]]) -> "Config":
        """A copy with more overrides."""
        return Config(self.path, {**self.values, **(values or {})})

    def args(self) -> List[str]:
        """The file and its overrides as arguments of the program."""
        path = self.path if not self.path.startswith("-") else os.path.join(".", self.path)
        return [path] + ([f"--edit-config-json={json.dumps(self.values)}"] if self.values else [])

    def text(self) -> str:
        """The config with its overrides."""
        return _program.call(["check", "--print", *self.args()])

    def get(self, name: str) -> Optional[str]:
        """A text at the top of the config, such as model_dir."""
        found = re.search(rf'^{re.escape(name)}: "((?:[^"\\]|\\.)*)"', self.text(), re.MULTILINE)
        return str(json.loads(f'"{found[1]}"')) if found else None

    def check(self) -> List[Problem]:
        """Warnings; raises ConfigError, with every problem, when it cannot be trained."""
        import subprocess
        done = subprocess.run([_program.path(), "check", "--json", *self.args()], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
        problems = [Problem(p["severity"], p["code"], p["message"], p["file"], p["line"], p["column"])
                    for p in map(json.loads, done.stdout.splitlines())]
        errors = [p for p in problems if p.severity == "error"]
        if errors or done.returncode != 0:
            text = "; ".join(f"{p.file}:{p.line}: {p.message} [{p.code}]" for p in errors) or done.stderr.strip()
            raise ConfigError(text, problems=problems or None, exit_status=done.returncode)
        return problems

    def __repr__(self) -> str:
        return f"Config({self.path!r}, {self.values!r})"
