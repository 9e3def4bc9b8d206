# SPDX-License-Identifier: Apache-2.0
"""python -m trainyard._stubs [--check] FILE - the types of a config's fields, out of the program's schema.

Editors and type checkers read _schema.pyi; nothing does at run time. A test compares it with the program.
"""
from __future__ import annotations

import sys
from typing import Any, Iterator, List, Mapping

from ._message import schema

HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Made by `python -m trainyard._stubs python/trainyard/_schema.pyi`; do not edit.
from typing import Any, Dict, Literal, Mapping, Sequence, Union

from ._message import Message, Repeated

'''
_TYPES = {"bool": "bool", "int32": "int", "int64": "int", "uint32": "int", "uint64": "int", "float": "float", "double": "float",
          "string": "str"}


def _type(field: Mapping[str, Any]) -> str:
    if field.get("enum") or field.get("message"):
        return str(field["type"])
    if field.get("words"):
        return "Literal[" + ", ".join(repr(w).replace("'", '"') for w in field["words"]) + "]"
    return _TYPES.get(field["type"], "Any")


def _doc(text: str, indent: str) -> str:
    safe = text.replace("\\", "\\\\").replace('"""', "'''").rstrip('"')
    return f'{indent}"""{safe}"""\n'


def _field(name: str, field: Mapping[str, Any]) -> str:
    kind = _type(field)
    if field["shape"] == "map":
        return f"    {name}: Dict[str, {kind}]\n" + _doc(field["doc"], "    ")
    if field["shape"] == "single" and not field.get("message"):
        return f"    {name}: {kind}\n" + _doc(field["doc"], "    ")
    given = f"Union[{kind}, Mapping[str, Any]]" if field.get("message") else kind
    read, wanted = (kind, given) if field["shape"] == "single" else (f"Repeated[{kind}]", f"Union[Repeated[{kind}], Sequence[{given}]]")
    return (f"    @property\n    def {name}(self) -> {read}:\n{_doc(field['doc'], '        ')}        ...\n"
            f"    @{name}.setter\n    def {name}(self, value: {wanted}) -> None: ...\n")


def _lines() -> Iterator[str]:
    known = schema()
    yield HEAD
    for name, enum in known["enums"].items():
        values = ", ".join(f'"{value}"' for value in enum["values"])
        yield f"{name} = Literal[{values}]\n"
    for name, message in known["messages"].items():
        yield f"\n\nclass {name}(Message):\n" + _doc(message["doc"], "    ")
        for field, about in message["fields"].items():
            yield _field(field, about)


def text() -> str:
    """The stub."""
    return "".join(_lines())


def main(args: List[str]) -> int:
    check = args[:1] == ["--check"]
    path = args[-1]
    if check:
        with open(path, encoding="utf-8") as f:
            fresh = f.read() == text()
        if not fresh:
            print(f"{path} differs from the program's schema: make it again with python -m trainyard._stubs {path}", file=sys.stderr)
        return 0 if fresh else 1
    made = text()
    with open(path, "w", encoding="utf-8") as f:
        f.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
