# SPDX-License-Identifier: Apache-2.0
"""How notebooks show things. What comes from data is text, never markup."""
from __future__ import annotations

from html import escape
from typing import Any, Mapping, Sequence, Tuple

_COLOURS = {"Succeeded": "#1a7f37", "Running": "#0969da", "Failed": "#cf222e", "Stopped": "#9a6700"}


def table_html(rows: Sequence[Tuple[str, str]]) -> str:
    """Rows of name and value.

    >>> table_html([("name", "<script>")])
    '<table><tr><th style="text-align:left">name</th><td style="text-align:left">&lt;script&gt;</td></tr></table>'
    """
    left = ' style="text-align:left"'
    return "<table>" + "".join(f"<tr><th{left}>{escape(a)}</th><td{left}>{escape(b)}</td></tr>" for a, b in rows) + "</table>"


def job_html(about: Mapping[str, Any]) -> str:
    state = str(about["state"])
    rows = [("job", f"{about['name']} ({about['id']})"), ("state", state + (f": {about['reason']}" if about.get("reason") else ""))]
    for name in ("owner", "backend", "workers", "created", "started", "finished"):
        if about.get(name):
            rows.append((name, str(about[name])))
    for name, last in about.get("metrics", {}).items():
        rows.append((name, str(last["value"])))
    return f'<div style="border-left:4px solid {_COLOURS.get(state, "#888")};padding-left:8px">{table_html(rows)}</div>'
