"""A lab as a page of the site: python tools/site/labs.py MASTER PAGE.md

The text is the student's, without solutions. What stands below a cell is what it gave where the cells that are left to
the student had been filled in: their own outputs are not shown.
"""

from __future__ import annotations

import re
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

import nbclient
import nbformat

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "labs"))
import generate  # noqa: E402

from pacelab.lab.interactive import NO_CONTROLS, NOT_CHOSEN  # noqa: E402

LIMIT_S = 600
MOVED = "<p>In the notebook (<code>make notebooks</code>) it answers to controls.</p>"
UNSOLVED = "*Yours to solve. What follows was run with a solution in its place.*"
WITHOUT_CONTROLS = "import sys; sys.modules['ipywidgets'] = None"
"""A page has no kernel to answer a slider: figures are shown as they stand at first."""


def main(master: Path, page: Path) -> None:
    """Run the notebook and write the page."""
    shown, solved = (generate.make(master, who) for who in ("student", "instructor"))
    outputs = run(solved)
    parts = []
    for cell in shown.cells:
        if cell.cell_type == "markdown":
            parts.append(lists_apart(cell.source))
            continue
        parts.append(f"```python\n{cell.source}\n```")
        if {generate.EXERCISE, generate.TODO} & set(cell.metadata.get("tags", [])):
            parts.append(UNSOLVED)
        else:
            parts += map(show, outputs[cell.id])
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n\n".join(filter(None, parts)) + "\n", "utf-8")


def run(notebook: Any) -> dict[str, list[Any]]:
    """What each cell gives, by its id."""
    notebook.cells.insert(0, nbformat.v4.new_code_cell(WITHOUT_CONTROLS))
    with tempfile.TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        nbclient.NotebookClient(notebook, timeout=LIMIT_S, kernel_name="python3", resources=where).execute()
    return {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def show(output: Any) -> str:
    """An output as HTML within the page."""
    if output.output_type == "stream":
        return "" if output.name == "stderr" else plain(output.text)
    data = output.data
    if "text/html" in data:
        return block(data["text/html"].replace(NO_CONTROLS, MOVED))
    if "image/png" in data:
        said = escape(data.get("text/plain", "a figure"), quote=True)
        return block(f'<img alt="{said}" src="data:image/png;base64,{data["image/png"]}">')
    return plain(data["text/plain"]) if data.get("text/plain") else ""


def plain(text: str) -> str:
    """Text as it was printed; nobody can choose an answer on a page."""
    return block(f'<pre tabindex="0">{escape(text.replace(NOT_CHOSEN, "").rstrip())}</pre>')


def block(html: str) -> str:
    """Markdown leaves it as it is; an empty line would end it."""
    return f'<div class="output">{html}</div>'.replace("\n", "&#10;")


def lists_apart(text: str) -> str:
    """A list right below a paragraph is one to Jupyter; MkDocs' Markdown wants an empty line between."""
    return re.sub(r"(?m)^(?![*-] |\d+\. |\s|$)(.*)\n(?=[*-] |1\. )", r"\1\n\n", text)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
