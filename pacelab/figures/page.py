"""Charts on pages: the element that holds a chart's data, and the module that draws all such elements."""

from __future__ import annotations

import json
import re
from functools import cache
from html import escape
from importlib.resources import files

from pacelab.figures.chart import Chart, as_json

UNDRAWN = "The figure appears when its cell is run, or when the notebook is trusted."


def element(chart: Chart, text: str) -> str:
    """HTML of the chart. `text` gives the same facts in words, for screen readers."""
    data = json.dumps(as_json(chart), ensure_ascii=False, separators=(",", ":"))
    data = data.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;")
    return f'<pacelab-figure role="figure" aria-label="{escape(text)}" data-chart=\'{data}\'>{UNDRAWN}</pacelab-figure>'


@cache
def module() -> str:
    """The ES module that draws the elements, without comments and indents. It also has the widget's `render`."""
    source = files("pacelab.figures").joinpath("chart.js").read_text("utf-8")
    return re.sub(r"^\s*(//.*\n?)?", "", source, flags=re.MULTILINE)


def classic_script() -> str:
    """The same module without exports, as a classic script: browsers load no modules into pages opened as files."""
    body = re.sub(r"^export (default .*;\n)?", "", module(), flags=re.MULTILINE)
    return f"(() => {{\n{body}}})();\n"


def script() -> str:
    """HTML that loads the module. A page may hold it any number of times."""
    return f'<script type="module">{module()}</script>'
