# SPDX-License-Identifier: Apache-2.0
"""How notebooks show things. What comes from data is text, never markup."""
from __future__ import annotations

import sys
import time
from html import escape
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

Points = Sequence[Tuple[float, float]]

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


class Plot:
    """Curves, as notebooks show them; text elsewhere."""

    def __init__(self, curves: Mapping[str, Points]) -> None:
        self.curves = {name: [(float(x), float(y)) for x, y in points if x == x and y == y] for name, points in curves.items()}

    def _repr_html_(self) -> str:
        style = ' style="display:inline-block;margin:4px"'
        return "".join(f"<figure{style}><figcaption>{escape(name)}</figcaption>{curve_svg(points)}</figure>"
                       for name, points in self.curves.items())

    def __repr__(self) -> str:
        return "\n".join(f"{name}: " + ", ".join(f"{y:g}" for _, y in points[-8:]) for name, points in self.curves.items())


def curve_svg(points: Points, width: int = 320, height: int = 120) -> str:
    """A curve with the values at its ends and its extremes.

    >>> "polyline" in curve_svg([(0, 1.0), (1, 0.5), (2, 0.25)]), curve_svg([])
    (True, '<svg width="320" height="120"></svg>')
    """
    if not points:
        return f'<svg width="{width}" height="{height}"></svg>'
    xs, ys = [x for x, _ in points], [y for _, y in points]
    left, right, low, high = min(xs), max(xs), min(ys), max(ys)
    at = [((x - left) / ((right - left) or 1) * (width - 70) + 5, (high - y) / ((high - low) or 1) * (height - 20) + 10) for x, y in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    marks = "".join(f'<text x="{width - 60}" y="{y}" font-size="11">{value:.4g}</text>' for y, value in ((14, high), (height - 6, low)))
    end = f'<circle cx="{at[-1][0]:.1f}" cy="{at[-1][1]:.1f}" r="3" fill="#0969da"><title>{ys[-1]:.6g}</title></circle>'
    return (f'<svg width="{width}" height="{height}"><polyline points="{line}" fill="none" stroke="#0969da" stroke-width="1.5"/>'
            f"{end}{marks}</svg>")


def curves_of(rows: Sequence[Mapping[str, Any]]) -> Dict[str, List[Tuple[float, float]]]:
    """Values of metrics by name, by step where they have one, else in their order.

    >>> curves_of([{"name": "auc", "value": 0.5, "step": None}, {"name": "auc", "value": 0.75, "step": None}])
    {'auc': [(0.0, 0.5), (1.0, 0.75)]}
    """
    made: Dict[str, List[Tuple[float, float]]] = {}
    for row in rows:
        curve = made.setdefault(str(row["name"]), [])
        curve.append((float(len(curve) if row.get("step") is None else row["step"]), float(row["value"])))
    return made


def in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython
    return getattr(get_ipython(), "kernel", None) is not None


class Live:
    """What is shown while something runs: one output of a notebook that changes. Elsewhere nothing."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown = 0.0
        if in_notebook():
            from IPython.display import HTML, display
            self._html = HTML
            self._handle = display(HTML(""), display_id=True)

    @property
    def on(self) -> bool:
        return self._handle is not None

    def due(self, every: float = 1.0) -> bool:
        return self.on and time.monotonic() - self._shown >= every

    def show(self, html: Optional[str]) -> None:
        if self._handle is not None and html is not None:
            self._handle.update(self._html(html))
            self._shown = time.monotonic()
