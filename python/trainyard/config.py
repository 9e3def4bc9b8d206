# SPDX-License-Identifier: Apache-2.0
"""A pipeline.config as objects, checked by the program's own schema.

    config = Config("pipeline.config")
    config.train_config.num_epochs = 3                                   # a wrong name or type is refused here
    config.feature_configs[":"].id_feature.embedding_dim = 32            # all of them
    [f.id_feature.feature_name for f in config.feature_configs]
    config.check()                                                       # everything else
    config.save("other.config")
"""
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Union

from . import _program, frames
from ._message import Message, Repeated
from .errors import ConfigError, Problem, from_output, keywords

if TYPE_CHECKING:
    from ._schema import EasyRecConfig
else:
    EasyRecConfig = Message

__all__ = ["Config", "Message", "Repeated"]


class Config(EasyRecConfig):
    """A config file and overrides of its values; the file itself is not changed.

    >>> c = Config("a.config")
    >>> c.train_config.num_epochs = 3
    >>> c.feature_configs[":"].id_feature.embedding_dim = 8
    >>> c["data_config.label_fields"] = ["clk", "buy"]
    >>> c.values
    {'train_config.num_epochs': 3, 'feature_configs[:].id_feature.embedding_dim': 8, 'data_config.label_fields': ['clk', 'buy']}
    >>> c.train_config.num_epoch = 3
    Traceback (most recent call last):
    trainyard.errors.ConfigError: TrainConfig has no field 'num_epoch', did you mean 'num_epochs'? [E0121]
    >>> c.data_config.batch_size = "many"
    Traceback (most recent call last):
    trainyard.errors.ConfigError: data_config.batch_size: 'many' is not of type uint32 [E0123]
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], values: Optional[Mapping[str, Any]] = None) -> None:
        super().__init__(self, "", "EasyRecConfig")
        object.__setattr__(self, "path", os.fspath(path))
        object.__setattr__(self, "values", dict(values or {}))
        object.__setattr__(self, "_tree", None)

    path: str
    values: Dict[str, Any]
    _tree: Optional[Dict[str, Any]]

    @classmethod
    def of(cls, config: Union[str, "os.PathLike[str]", "Config"]) -> "Config":
        if not isinstance(config, (str, os.PathLike, Config)):
            raise ConfigError(f"config: the path of a pipeline.config or a Config is wanted, not {type(config).__name__}")
        return config if isinstance(config, Config) else cls(config)

    def __setitem__(self, path: str, value: Any) -> None:
        """An override by its path, as on the command line; check() says what is wrong with it."""
        self._override(path, value)

    def __getitem__(self, path: str) -> Any:
        """The value at a path, or None."""
        return self._look(path)

    def _override(self, path: str, value: Any) -> None:
        self.values.pop(path, None)  # overrides are applied in the order of this dict
        self.values[path] = value
        object.__setattr__(self, "_tree", None)

    def _look(self, path: str) -> Any:
        found: Any = self.to_plain_all()
        for step in path.replace("[", ".[").split(".") if path else []:
            if step.startswith("["):
                at = step[1:-1]
                if not at.lstrip("-").isdigit():
                    raise ConfigError(f"{path}: several elements cannot be read at once")
                found = found[int(at)] if isinstance(found, list) and -len(found) <= int(at) < len(found) else None
            else:
                found = found.get(step) if isinstance(found, dict) else None
        return found

    def to_plain_all(self) -> Dict[str, Any]:
        """The whole config with its overrides, as dicts and lists."""
        if self._tree is None:
            done = _program.run(["check", "--print-json", "--kind=pipeline", *self.args()])
            if not done.stdout.strip():
                raise from_output(done.stderr, done.returncode).reworded(keywords)
            object.__setattr__(self, "_tree", _program.parsed(done.stdout))
        return self._tree or {}

    def with_values(self, values: Optional[Mapping[str, Any]]) -> "Config":
        """A copy with more overrides."""
        copy = Config(self.path, self.values)
        for path, value in (values or {}).items():
            copy[path] = value
        return copy

    def args(self) -> List[str]:
        """The file and its overrides as arguments of the program."""
        if not os.path.exists(self.path):
            problem = Problem("error", "E0005", "there is no such config", self.path)
            raise ConfigError(f"{self.path}: {problem.message} [E0005]", problems=[problem])
        path = self.path if not self.path.startswith("-") else os.path.join(".", self.path)
        return [path] + ([f"--edit-config-json={self._edits()}"] if self.values else [])

    def _edits(self) -> str:
        try:
            return json.dumps(self.values, default=frames.plain)
        except (TypeError, ValueError) as e:
            raise ConfigError(f"set: {e}") from None

    def text(self) -> str:
        """The config with its overrides, in the form of the file."""
        return _program.call(["check", "--print", *self.args()])

    def save(self, path: Union[str, "os.PathLike[str]"]) -> "Config":
        """Writes the config with its overrides, and returns that one."""
        text = self.text()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return Config(path)

    def get(self, name: str) -> Optional[Any]:
        """The value at a path, such as model_dir; None when it is not set."""
        return self._look(name)

    def check(self) -> List[Problem]:
        """Warnings; raises ConfigError, with every problem, when it cannot be trained."""
        done = _program.run(["check", "--json", *self.args()])
        problems = [Problem(p["severity"], p["code"], p["message"], p["file"], p["line"], p["column"])
                    for p in map(_program.parsed, done.stdout.splitlines())]
        errors = [p for p in problems if p.severity == "error"]
        if errors:
            text = "; ".join(f"{p.file}:{p.line}: {p.message} [{p.code}]" for p in errors)
            raise ConfigError(text, problems=problems, exit_status=done.returncode)
        if done.returncode != 0:
            raise from_output(done.stderr, done.returncode).reworded(keywords)
        return problems

    def __repr__(self) -> str:
        return f"Config({self.path!r}, {self.values!r})"
