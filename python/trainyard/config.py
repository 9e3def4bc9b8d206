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
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Union

from . import _program, frames
from ._message import Message, Repeated
from .errors import ConfigError, Problem, from_output, keywords

if TYPE_CHECKING:
    from ._schema import EasyRecConfig
else:
    EasyRecConfig = Message

__all__ = ["Config", "Message", "Repeated"]

_EDITS = "--edit-config-json"  # the file that problems of overrides are in


class Config(EasyRecConfig):
    """A config file and overrides of its values; the file itself is not changed.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".config", delete=False) as file:
    ...     written = file.write('feature_configs { id_feature { feature_name: "a" expression: "user:a" num_buckets: 9 } }')
    >>> c = Config(file.name)
    >>> c.train_config.num_epochs = 3
    >>> c.feature_configs[":"].id_feature.embedding_dim = 8
    >>> c["data_config.label_fields"] = ["clk", "buy"]
    >>> c.values
    {'train_config.num_epochs': 3, 'feature_configs[:].id_feature.embedding_dim': 8, 'data_config.label_fields': ['clk', 'buy']}
    >>> c["feature_configs[id_feature.feature_name=a].id_feature.num_bucket"] = 7
    Traceback (most recent call last):
    trainyard.errors.ConfigError: IdFeature has no field 'num_bucket', did you mean 'num_buckets'? [E0121]
    >>> c.train_config.num_epoch = 3
    Traceback (most recent call last):
    trainyard.errors.ConfigError: TrainConfig has no field 'num_epoch', did you mean 'num_epochs'? [E0121]
    >>> c.data_config.batch_size = "many"
    Traceback (most recent call last):
    trainyard.errors.ConfigError: data_config.batch_size: 'many' is not of type uint32 [E0123]
    >>> os.unlink(c.path)
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], values: Optional[Mapping[str, Any]] = None) -> None:
        super().__init__(self, "", "EasyRecConfig")
        object.__setattr__(self, "path", os.fspath(path))
        object.__setattr__(self, "values", dict(values or {}))
        object.__setattr__(self, "_tree", None)
        self._there()

    path: str
    values: Dict[str, Any]
    _tree: Optional[Dict[str, Any]]

    @classmethod
    def of(cls, config: Union[str, "os.PathLike[str]", "Config"]) -> "Config":
        if not isinstance(config, (str, os.PathLike, Config)):
            raise ConfigError(f"config: the path of a pipeline.config or a Config is wanted, not {type(config).__name__}")
        return config if isinstance(config, Config) else cls(config)

    def __setitem__(self, path: str, value: Any) -> None:
        """An override by its path, as on the command line; refused as such, while check() looks at the whole config."""
        before = dict(self.values)
        self._override(path, value)
        try:
            wrong = [p for p in self._problems() if p.severity == "error" and p.file == _EDITS and (p.code or "")[:3] in ("E01", "E02")]
            if wrong:
                text = "; ".join(f"{p.message} [{p.code}]" for p in wrong)
                raise ConfigError(text, problems=[replace(p, file=None, line=None, column=None) for p in wrong])
        except ConfigError:
            object.__setattr__(self, "values", before)
            object.__setattr__(self, "_tree", None)
            raise

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
            copy._override(path, value)
        return copy

    def _there(self) -> None:
        """Refuses what is no file."""
        if not os.path.exists(self.path) or os.path.isdir(self.path):
            said = "it is a directory; a pipeline.config is wanted" if os.path.isdir(self.path) else "there is no such config"
            raise ConfigError(f"{self.path}: {said} [E0005]", problems=[Problem("error", "E0005", said, self.path)])

    def args(self) -> List[str]:
        """The file and its overrides as arguments of the program."""
        self._there()
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
        problems = self._problems()
        errors = [p for p in problems if p.severity == "error"]
        if errors:
            text = "; ".join(f"{p.file}:{p.line}: {p.message} [{p.code}]" for p in errors)
            raise ConfigError(text, problems=problems)
        return problems

    def _problems(self) -> List[Problem]:
        """Errors and warnings."""
        done = _program.run(["check", "--json", "--kind=pipeline", *self.args()])
        problems = [Problem(p["severity"], p["code"], _hinted(p), p["file"], p["line"], p["column"])
                    for p in map(_program.parsed, done.stdout.splitlines())]
        if done.returncode != 0 and not any(p.severity == "error" for p in problems):
            raise from_output(done.stderr, done.returncode).reworded(keywords)
        return problems

    def __repr__(self) -> str:
        return f"Config({self.path!r}, {self.values!r})"


def _hinted(problem: Mapping[str, Any]) -> str:
    """Its message, with the name that may be meant."""
    hint = str(problem.get("hint") or "")
    return str(problem["message"]) + (f", {hint}" if hint.startswith("did you mean") else "")
