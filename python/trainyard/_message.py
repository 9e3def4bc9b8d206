# SPDX-License-Identifier: Apache-2.0
"""Messages of a config as objects. What fields there are, of which types, is asked of the program: its schema is the only one."""
from __future__ import annotations

import difflib
import functools
from typing import TYPE_CHECKING, Any, Dict, Generic, Iterable, Iterator, List, Mapping, Optional, Sequence, TypeVar, Union

from . import _program
from .errors import ConfigError, Problem

T = TypeVar("T")

_PYTHON = {"bool": bool, "int32": int, "int64": int, "uint32": int, "uint64": int, "float": float, "double": float, "string": str}


@functools.lru_cache(maxsize=None)
def _schema_of(program: str, family: str) -> Mapping[str, Any]:
    return dict(_program.parsed(_program.call(["explain", "--json", family])))


def schema(family: str = "pipeline") -> Mapping[str, Any]:
    """Messages and enums of a kind of file, as the program has them."""
    return _schema_of(_program.path(), family)


def _nearest(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f", did you mean {near[0]!r}?" if near else ""


def _refuse(code: str, message: str) -> ConfigError:
    return ConfigError(f"{message} [{code}]", problems=[Problem("error", code, message)])


def _default(field: Mapping[str, Any]) -> Any:
    text, kind = field.get("default"), field["type"]
    if field.get("enum"):
        return text or next(iter(schema()["enums"][kind]["values"]))
    if kind == "bool":
        return text == "true"
    made = _PYTHON.get(kind)
    return None if made is None else made(text) if text is not None else made()


def plain(value: Any) -> Any:
    """Without objects: what JSON has."""
    if isinstance(value, (Message, Repeated)):
        return value.to_plain()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.item() if hasattr(value, "item") and not isinstance(value, (int, float, str)) else value


def _check_scalar(place: str, field: Mapping[str, Any], value: Any) -> None:
    kind = field["type"]
    if field.get("enum"):
        known = list(schema()["enums"][kind]["values"])
        if value not in known:
            raise _refuse("E0123", f"{place}: {value!r} is not a value of {kind}{_nearest(str(value), known)}")
        return
    wanted = _PYTHON.get(kind)
    if wanted is None:
        return
    good = isinstance(value, wanted) or (wanted is float and isinstance(value, int))
    if not good or (isinstance(value, bool) and wanted is not bool):
        raise _refuse("E0123", f"{place}: {value!r} is not of type {kind}")
    if "min" in field and not field["min"] <= value <= (float("inf") if field["max"] is None else field["max"]):
        raise _refuse("E0123", f"{place}: {value!r} is outside [{field['min']:g}, {field['max']:g}]")
    if field.get("words") and value not in field["words"]:
        raise _refuse("E0123", f"{place}: {value!r} is none of {', '.join(field['words'])}")


def _check(place: str, field: Mapping[str, Any], value: Any) -> None:
    """Raises ConfigError unless the schema takes the value there."""
    if field["shape"] == "list" and isinstance(value, list):
        for i, one in enumerate(value):
            _check(f"{place}[{i}]", {**field, "shape": "single"}, one)
    elif field["shape"] == "map":
        return
    elif field.get("message"):
        if not isinstance(value, dict):
            raise _refuse("E0123", f"{place}: a {field['type']} is wanted, not {value!r}")
        for name, one in value.items():
            _check(f"{place}.{name}", find_field(field["type"], name), one)
    else:
        _check_scalar(place, field, value)


def find_field(message: str, name: str) -> Mapping[str, Any]:
    """A field of a message; ConfigError with the nearest name when there is none."""
    fields: Mapping[str, Mapping[str, Any]] = schema()["messages"][message]["fields"]
    if name not in fields:
        raise _refuse("E0121", f"{message} has no field {name!r}{_nearest(name, list(fields))}")
    return fields[name]


class Message:
    """A message of a config: its fields are attributes."""

    _config: Any
    _path: str
    _type: str

    def __init__(self, config: Any, path: str, kind: str) -> None:
        object.__setattr__(self, "_config", config)
        object.__setattr__(self, "_path", path)
        object.__setattr__(self, "_type", kind)

    def _at(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    if not TYPE_CHECKING:  # type checkers know the fields
        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            try:
                field = find_field(self._type, name)
            except ConfigError as e:
                raise AttributeError(e.message) from None
            if field["shape"] == "list":
                return Repeated(self._config, self._at(name), field)
            if field.get("message"):
                return Message(self._config, self._at(name), field["type"])
            found = self.to_plain().get(name)
            return found if found is not None else {} if field["shape"] == "map" else _default(field)

        def __setattr__(self, name: str, value: Any) -> None:
            value = plain(value)
            _check(self._at(name), find_field(self._type, name), value)
            self._config._override(self._at(name), value)

    def has(self, name: str) -> bool:
        """Is the field set, rather than at its default?"""
        find_field(self._type, name)
        return name in self.to_plain()

    def which(self, oneof: str) -> Optional[str]:
        """The field of a choice that is set: model_config.which("model")."""
        fields = schema()["messages"][self._type]["fields"]
        members = [name for name, field in fields.items() if field.get("oneof") == oneof]
        if not members:
            raise _refuse("E0121", f"{self._type} has no choice {oneof!r}")
        return next((name for name in members if name in self.to_plain()), None)

    def describe(self, name: Optional[str] = None) -> str:
        """What a field means, or the message."""
        return str(schema()["messages"][self._type]["doc"] if name is None else find_field(self._type, name)["doc"])

    def to_plain(self) -> Dict[str, Any]:
        """What is set, as dicts and lists."""
        found = self._config._look(self._path)
        return found if isinstance(found, dict) else {}

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *schema()["messages"][self._type]["fields"]})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Message, dict)) and self.to_plain() == plain(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self._type}({self.to_plain()!r})"


class Repeated(Generic[T]):
    """A list of a config."""

    def __init__(self, config: Any, path: str, field: Mapping[str, Any]) -> None:
        self._config, self._path, self._field = config, path, field

    def to_plain(self) -> List[Any]:
        """As a list of what JSON has."""
        found = self._config._look(self._path)
        return list(found) if isinstance(found, list) else []

    def __getitem__(self, index: Union[int, str]) -> T:
        """An element; of messages also by a slice or condition as text, to assign to all: [":"], ["id_feature.feature_name=age"]."""
        if self._field.get("message"):
            if isinstance(index, int):
                index = self._number(index)
            made: Any = Message(self._config, f"{self._path}[{index}]", self._field["type"])
            return made  # type: ignore[no-any-return]
        return self.to_plain()[index]  # type: ignore[index, no-any-return]

    def __setitem__(self, index: int, value: T) -> None:
        value = plain(value)
        _check(f"{self._path}[{index}]", {**self._field, "shape": "single"}, value)
        self._config._override(f"{self._path}[{index}]", value)

    def _number(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(f"{self._path}[{index}]: it has {len(self)} elements")
        return index % len(self)

    def __delitem__(self, index: int) -> None:
        index = self._number(index)
        self._config._override(self._path, [value for i, value in enumerate(self.to_plain()) if i != index])

    def pop(self, index: int = -1) -> Any:
        """Takes an element out; a message as a dict."""
        taken = self.to_plain()[index]
        del self[index]
        return taken

    def extend(self, values: Iterable[Union[T, Mapping[str, Any]]]) -> None:
        for value in values:
            self.append(value)

    def append(self, value: Union[T, Mapping[str, Any]]) -> None:
        """One more at the end; a dict for a message."""
        self[len(self)] = value  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.to_plain())

    def __iter__(self) -> Iterator[T]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Repeated, list, tuple)) and self.to_plain() == plain(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.to_plain())
