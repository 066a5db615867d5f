"""Generated pages: python tools/site/pages.py drawn|live|claims PAGES, or lab MASTER PAGE.md

drawn    every topology, and figures of runs, each with its command. The commands on the page are run in this process,
         in another folder
live     the live pages, each in a file of its own, and the page that lists them
claims   the papers' claims from the stored results of full runs: a page for each paper, and the page that lists them
lab      a lab. The text is the student's, without solutions. The outputs are those of the solved notebook, without the
         outputs of the cells that the student fills in
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import nbclient
import nbformat

from pacelab.claims.figures import caption, render_svg
from pacelab.claims.load import load_paper, select_claims
from pacelab.claims.outcome import all_outcomes, load_pictures, standings
from pacelab.claims.picture import Picture
from pacelab.claims.report import claims_page, standing_lines
from pacelab.cli.main import main as pacelab
from pacelab.demo.catalog import DEMOS
from pacelab.demo.editor import export_editor, open_editor
from pacelab.demo.page import export
from pacelab.demo.problems import PROBLEMS
from pacelab.figures.page import script
from pacelab_labs.interactive import NO_BUTTONS, NO_CONTROLS
from pacelab_topologies.registry import KINDS

ROOT = Path(__file__).parents[2]
LITE = ROOT / "build" / "lite" / "index.html"
"""The first page of `make lite`, which the site contains as lite/index.html."""
sys.path.insert(0, str(ROOT / "labs"))
import generate  # noqa: E402

DRAWN = (
    (
        "The air over time",
        "Two senders that cannot hear each other, without and with RTS/CTS: crossed blocks are collisions.",
        ("pacelab timeline hidden --rts both --rate 2 --out timeline-hidden.png",),
    ),
    (
        "A chain over time",
        "Thirty milliseconds of a TCP flow over four hops: its first ACK arrives and releases two packets.",
        ("pacelab timeline chain --hops 4 --from 245 --to 276 --out timeline-chain.png",),
    ),
    (
        "Schemes side by side",
        "Goodput against hops with 95 % intervals, and the gain over NewReno.",
        ("pacelab compare chain --schemes newreno,tcp-gap --hops 1..7 --seeds 3 --seconds 30 --out compare",),
    ),
    (
        "A sweep",
        "Goodput against TCP's window, with one line per length of the chain.",
        (
            "pacelab sweep chain --hops 4..7 --window 1..8 --schemes newreno --seconds 30 --out windows",
            "pacelab plot windows --x window --y goodput_bps --by hops --out sweep.svg",
        ),
    ),
    (
        "A run over time",
        "NewReno's congestion window over seven hops.",
        (
            "pacelab run chain --hops 7 --rate 2 --seconds 30 --out seven-hops",
            "pacelab plot seven-hops --y cwnd_pkts --out cwnd.svg",
        ),
    ),
)
"""Heading, description, commands. The `--out` of the last command is the figure, or a folder with the figure."""


def drawn(pages: Path) -> None:
    """Draw the figures and write their page."""
    figures = pages / "gallery"
    figures.mkdir(parents=True, exist_ok=True)
    parts = ["# Gallery", "The command below each figure drew it.", "## Pictures of runs"]
    os.chdir(tempfile.mkdtemp(prefix="gallery-"))
    for title, about, commands in DRAWN:
        parts += [f"### {title}", about, figure(figures, about, commands)]
    parts.append("## Topologies")
    for name, kind in KINDS.items():
        about = kind.summary[0].upper() + kind.summary[1:] + (f" ({kind.source})." if kind.source else ".")
        parts += [f"### {name}", about, figure(figures, about, (f"pacelab topologies {name} --plot --out {name}.svg",))]
    (pages / "gallery.md").write_text("\n\n".join(parts) + "\n", "utf-8")


def figure(figures: Path, about: str, commands: tuple[str, ...]) -> str:
    """Run the commands. Returns the figure with the commands below it."""
    for command in commands:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = pacelab(shlex.split(command)[1:])
        if code:
            raise SystemExit(f"{command}: {said.getvalue()}")
    out = Path(shlex.split(commands[-1])[-1])
    file = out if out.is_file() else next(iter(sorted(out.glob("*.svg")) or sorted(out.glob("*.png"))))
    name = f"{out.stem}{file.suffix}"
    (figures / name).write_bytes(file.read_bytes())
    alt = about.replace("[", "(").replace("]", ")")
    return "\n".join([f"![{alt}](gallery/{name})", "", *(f"    {command}" for command in commands)])


LIVE = ("chain", "newreno,tcp-gap")
"""A network for the editor, and its schemes. TCP-GAP has hooks in Python, for which the page needs Pyodide."""
WITHOUT_PYTHON = "newreno,delayed-ack"
"""The schemes of the editor otherwise, so that the whole page is live."""


def live(pages: Path) -> None:
    """Write the live pages, each a file of its own, and the page that lists them."""
    (pages / "live").mkdir(exist_ok=True)
    topology, schemes = LIVE if LITE.is_file() else (LIVE[0], WITHOUT_PYTHON)
    pyodide = "../lite/static/pyodide/" if LITE.is_file() else ""
    export_editor(open_editor(topology, schemes.split(",")), pages / "live" / "editor.html", pyodide=pyodide)
    rows = [
        "## A network of your own\n\nDraw nodes, wires and flows, compare two schemes, and save the network as a "
        "file for `pacelab run`.\n\n[Open the editor](live/editor.html): the engine runs in the page"
        f"{', and so does TCP-GAP, in Python' if pyodide else ''}. "
        "[More](docs/demos.md#any-network). On your computer, this command writes the page:\n\n"
        f"    pacelab demo {topology} --scheme {schemes} --export editor.html\n"
    ]
    for name, demo in DEMOS.items():
        export(demo, pages / "live" / f"{name}.html")
        holds = " It has the results of every setting with three seeds." if demo.python else ""
        rows.append(
            f"## {demo.title}\n\n{escape(demo.question)}\n\n"
            f"[Open the demonstration](live/{name}.html).{holds} On your computer, this command writes the page:\n\n"
            f"    pacelab demo {name} --export {name}.html\n"
        )
    for name in PROBLEMS:
        export_editor(open_editor(name, ["newreno"]), pages / "live" / f"{name}.html")
    problems = "\n".join(f"- [{each.title}](live/{name}.html): {each.question}" for name, each in PROBLEMS.items())
    rows.append(
        "## Design problems\n\nChange a network until it does what the page asks. The page marks each goal that is "
        f"met.\n\n{problems}\n\nOn your computer: `pacelab demo {next(iter(PROBLEMS))}`.\n"
    )
    text = (
        "# Live demonstrations\n\nEach demonstration is one file. You can save it and show it without a network. "
        "[How to use them](docs/demos.md) in a lecture, on slides or in a notebook.\n\n"
    )
    (pages / "live.md").write_text(text + "\n".join(rows), "utf-8")


def claims(pages: Path) -> None:
    """Write a page for each paper with its claims and their figures, and the page that lists the papers."""
    everything = select_claims("all")
    found = all_outcomes(everything)
    names = list(dict.fromkeys(claim.paper for claim in everything))
    for name in names:
        of_paper = [claim for claim in everything if claim.paper == name]
        pictures = load_pictures(name)
        images = pages / "claims" / name
        images.mkdir(parents=True, exist_ok=True)
        for claim in of_paper:
            if claim.id in pictures:
                (images / f"{claim.id}.svg").write_bytes(render_svg(pictures[claim.id], captioned=False))
        text = claims_page(of_paper, found, name, pictures, title=f"Claims of {heading(name)}")
        text = show_svg(text, pictures)
        images.with_suffix(".md").write_text(f"---\nhide: [navigation]\n---\n{text}", "utf-8")  # the tables are wide
    lines = [
        "# Claims of the papers",
        "",
        f"PaceLab checks {len(everything)} claims of {len(names)} papers. The rules were "
        "[written before the runs](docs/verdicts.md). Each paper has a page with its claims, the numbers of full runs, "
        "and figures. The [book of claims](book/report.html) has all of this in one file.",
        "",
    ]
    for name in names:
        paper, number = load_paper(name), sum(claim.paper == name for claim in everything)
        lines += [
            f"- [{heading(name)}](claims/{name}.md): {number} claims. {paper.authors}: *{paper.title}*. {paper.venue}."
        ]
    lines += ["", "## Verdicts", "", *standing_lines(standings(everything, found))]
    (pages / "claims.md").write_text("\n".join(lines) + "\n", "utf-8")


CLAIMS_FIGURE = re.compile(r"^(!\[.*\]\(\S+/(\S+))\.png\)$", re.MULTILINE)
"""A figure of `claims_page`. The site has the SVG files that the book also shows, and their captions as text."""


def show_svg(text: str, pictures: Mapping[str, Picture]) -> str:
    """The page with the SVG files and the captions of its figures."""
    return CLAIMS_FIGURE.sub(lambda figure: f"{figure[1]}.svg)\n\n*{caption(pictures[figure[2]])}*", text)


def heading(paper: str) -> str:
    """A paper's short name as it is written in text."""
    return PAPERS.get(paper, paper.capitalize())


PAPERS = {"tcp-gap": "TCP-GAP", "vagp": "VAGP", "fu": "Fu et al.", "le": "Le et al.", "lee": "Lee"}
"""The short names that are not their ids with a capital letter."""


LIMIT_S = 600
MOVED = "<p>In the notebook this figure has controls.</p>"
UNSOLVED = "*This cell is yours to solve. The outputs below come from a run with a solution.*"
FOLD_HERE = generate.FOLD.replace("<details>", '<details markdown="1">')
"""MkDocs parses Markdown within HTML only with this attribute."""
WITHOUT_KERNEL = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import explored
explored.install()
"""
"""A page has no kernel. It contains the drawings of a figure with controls at every setting."""
IN_BROWSER = (
    '<p><a class="md-button md-button--primary" href="../../../lite/notebooks/index.html?path={name}.ipynb">'
    "Open this lab in your browser</a></p>"
)
"""HTML instead of a Markdown link: MkDocs does not know the notebooks, which are beside its pages."""


def lab(master: Path, page: Path) -> None:
    """Run the notebook and write the page. If `make lite` has made the notebooks, the page opens its notebook."""
    shown, solved = (generate.make(master, who) for who in ("student", "instructor"))
    outputs = run(solved)
    parts = []
    for number, cell in enumerate(shown.cells):
        if cell.cell_type == "markdown":
            text = lists_apart(cell.source).replace(generate.FOLD, FOLD_HERE)
            if number == 0 and LITE.is_file():
                title, _, rest = text.partition("\n")
                text = f"{title}\n\n{IN_BROWSER.format(name=master.stem)}\n\n{rest}"
            parts.append(text)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        if {generate.EXERCISE, generate.TODO} & set(cell.metadata.get("tags", [])):
            parts.append(UNSOLVED)
        else:
            parts += map(show, outputs[cell.id])
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n\n".join(filter(None, parts)) + "\n", "utf-8")


def run(notebook: Any) -> dict[str, list[Any]]:
    """The outputs of each cell, by its id."""
    notebook.cells.insert(0, nbformat.v4.new_code_cell(WITHOUT_KERNEL))
    with tempfile.TemporaryDirectory() as folder:
        generate.record_choices(Path(folder))
        where = {"metadata": {"path": folder}}
        nbclient.NotebookClient(notebook, timeout=LIMIT_S, kernel_name="python3", resources=where).execute()
    return {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def show(output: Any) -> str:
    """An output as HTML within the page."""
    if output.output_type == "stream":
        return "" if output.name == "stderr" else plain(output.text)
    data = output.data
    if "text/html" in data:
        return block(data["text/html"].replace(NO_CONTROLS, MOVED).replace(NO_BUTTONS, "").replace(script(), ""))
    if "image/png" in data:
        said = escape(data.get("text/plain", "a figure"), quote=True)
        return block(f'<img alt="{said}" src="data:image/png;base64,{data["image/png"]}">')
    return plain(data["text/plain"]) if data.get("text/plain") else ""


def plain(text: str) -> str:
    """Printed text."""
    return block(f'<pre tabindex="0">{escape(text.rstrip())}</pre>')


def block(html: str) -> str:
    """HTML that Markdown leaves unchanged: an empty line would end it."""
    return f'<div class="output">{html}</div>'.replace("\n", "&#10;")


def lists_apart(text: str) -> str:
    """Insert an empty line between a paragraph and a list: MkDocs needs it, Jupyter does not."""
    return re.sub(r"(?m)^(?![*-] |\d+\. |\s|$)(.*)\n(?=[*-] |1\. )", r"\1\n\n", text)


if __name__ == "__main__":
    {"drawn": drawn, "live": live, "claims": claims, "lab": lab}[sys.argv[1]](
        *(Path(path).resolve() for path in sys.argv[2:])
    )
